"""A document says each thing in one place: what was pasted twice has its headings twice."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
HEADING = re.compile(r"^#{1,6} .+$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_no_heading_stands_twice(document: Path) -> None:
    text = FENCED.sub("", document.read_text(encoding="utf-8"))
    counts = Counter(HEADING.findall(text))
    assert counts, "every document has a heading"
    assert [heading for heading, count in counts.items() if count > 1] == []
