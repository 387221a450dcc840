"""The kinds of jobs, and what is to be said of the work that each of them promises."""

INDEX_JOB = "index"
INDEX_ALL_JOB = "index_all"


def index_arguments(knowledge_id: int, *, force: bool) -> dict[str, object]:
    """The arguments of an INDEX_JOB."""
    return {"knowledge_id": knowledge_id, "force": force}


def index_all_arguments(status: str | None, *, force: bool) -> dict[str, object]:
    """The arguments of an INDEX_ALL_JOB; without a status, all but archived items are meant."""
    return {"status": status, "force": force}
