"""Who types an error message, a heading or a version finds where it stands, without quotes."""

from pathlib import Path

import pytest

from app.container import Container
from app.knowledge.items import ItemDraft
from app.search.requests import SearchRequest

PROSE = "Buoys float beyond the quay, where gulls watch the ferry leave for the island at dawn."
ABOUT = """A lock is not to be opened from outside. Locks of the ferry that cannot be opened stay
locked, and whoever opens a lock of the ferry has to lock it again."""
FILES = {
    "ferries.md": ABOUT,
    "log.md": f"{PROSE} {PROSE}\n\n    E17: cannot open the lock of a ferry: not locked\n\n{PROSE}",
    "releases.md": "\n\n".join(
        f"## 0.{n}.0\n\nFerries {n} and 0 were mended. {PROSE}" for n in range(90, 110)
    ),
    **{f"tides/{n}.md": f"Tide {n} opens no lock. {PROSE} {ABOUT}" for n in range(12)},
}


@pytest.fixture
def container(container: Container, source_root: Path) -> Container:
    for key, text in FILES.items():
        (source_root / key).parent.mkdir(parents=True, exist_ok=True)
        (source_root / key).write_text(text)
    item = container.knowledge.create(ItemDraft("docs", str(source_root), "folder"))
    assert container.indexer.index(item.id).success
    return container


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("cannot open the lock of a ferry: not locked", "E17"),
        ("why is it: Cannot open the lock of a ferry", "E17"),
        ("E17 cannot open the lock of a ferry", "E17"),
        ("0.100.0 ferries", "0.100.0"),
    ],
)
def test_where_it_stands_as_it_was_typed_comes_first(container, mode, query, said):
    results = container.searcher.search(SearchRequest(query, mode=mode)).results
    assert said in "\n".join([results[0].content, *results[0].heading_path])
