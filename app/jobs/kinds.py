"""The kinds of jobs, and what is to be said of the work that each of them promises."""

from collections.abc import Mapping

INDEX_JOB = "index"
INDEX_ALL_JOB = "index_all"
UNREADABLE_JOB = "unreadable"
"""Of a job whose kind cannot be read any more; nobody promises one."""


def index_arguments(knowledge_id: int, *, force: bool) -> dict[str, object]:
    """The arguments of an INDEX_JOB."""
    return {"knowledge_id": knowledge_id, "force": force}


def index_all_arguments(status: str | None, *, force: bool) -> dict[str, object]:
    """The arguments of an INDEX_ALL_JOB; without a status, all but archived items are meant."""
    return {"status": status, "force": force}


def item_of(arguments: Mapping[str, object]) -> object:
    """The id of the item that a job is about; None: it is about no single one.

    Arguments of every kind name it `knowledge_id`. Jobs about one item run one after the other, and
    so do those of a kind that are about none.
    """
    return arguments.get("knowledge_id")
