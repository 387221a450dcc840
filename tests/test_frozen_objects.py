"""What is kept from the garbage collector is freed all the same once it is dropped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
TIMEOUT_SECONDS = 120


def told_by(script: str, *arguments: str) -> dict[str, Any]:
    """What a script prints, in a process of its own: the collector is there for all of one."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
        cwd=PROJECT,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


CIRCLES = """
import gc, json, weakref
from app.frozen_objects import collect_dropped, keep_for_good

class Node:
    def __init__(self):
        self.itself = self

dropped, lasting = Node(), Node()
{before}
gone = weakref.ref(dropped)
del dropped
later = Node()
collect_dropped()
looked_at = gc.get_objects()  # without what is frozen
print(json.dumps({{
    "gone": gone() is None,
    "looked at": [any(each is one for each in looked_at) for one in (lasting, later)],
}}))
"""


def test_what_was_kept_for_good_and_dropped_is_freed_and_the_rest_is_kept() -> None:
    told = told_by(CIRCLES.format(before="keep_for_good()"))
    assert told == {"gone": True, "looked at": [False, False]}


def test_where_nothing_was_kept_for_good_nothing_is() -> None:
    assert told_by(CIRCLES.format(before="")) == {"gone": True, "looked at": [True, True]}


def test_what_a_host_has_frozen_is_left_as_it_is() -> None:
    told = told_by(CIRCLES.format(before="gc.freeze()"))
    assert told == {"gone": False, "looked at": [False, True]}


SWITCHING = """
import json, sys, weakref
from pathlib import Path
from app.container import Container
from app.frozen_objects import keep_for_good
from app.knowledge.items import ItemDraft
from app.settings import Settings
from tests.fakes import FakeEmbedder

folder = Path(sys.argv[1])
page = folder / "page.md"
page.write_text("The harbour gate and its keys. " * 40)
settings = Settings(
    _env_file=None, data_dir=folder / "data", database_url=f"sqlite:///{folder}/g.db",
    source_roots=[folder], vector_index="exact", chunk_size=200, overlap=40,
    disable_auto_indexing=True,
)
container = Container.open(settings, embedder=FakeEmbedder())
item = container.knowledge.create(ItemDraft("Page", str(page), "markdown"))
assert container.indexer.index(item.id).success
container.close()

changed = settings.model_copy(update={"chunk_size": 300})
container = Container.open(changed, embedder=FakeEmbedder(), run_jobs=False)
keep_for_good()
parts = container.parts
former = {
    "parts": parts, "vector index": parts.vector_index, "lexical index": parts.lexical_index,
    "retriever": parts.retriever,
}
former = {name: weakref.ref(part) for name, part in former.items()}
del parts
assert container.renew()
print(json.dumps({name: part() is None for name, part in former.items()}))
container.close()
"""


def test_after_a_switch_the_former_indexes_are_freed_though_they_were_kept_for_good(
    tmp_path: Path,
) -> None:
    (tmp_path / "data").mkdir()
    told = told_by(SWITCHING, str(tmp_path))
    assert told == dict.fromkeys(("parts", "vector index", "lexical index", "retriever"), True)
