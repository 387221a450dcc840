"""Labels are written in one way, whether an item has them or a document gives them itself."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.adapters.loading.frontmatter import read_frontmatter
from app.labels import MOST_CATEGORY_CHARACTERS, MOST_TAG_CHARACTERS, normalise_category, tidy_tags

WRITTEN = st.text(alphabet="abÉ\N{COMBINING ACUTE ACCENT}/,-", max_size=40)
"""One blank in a row at most is left of several in frontmatter, so none stand here."""


@given(WRITTEN, st.lists(WRITTEN, max_size=5))
def test_a_document_has_the_labels_that_an_item_would_have(category: str, tags: list[str]) -> None:
    fields = json.dumps({"category": category, "tags": tags})
    told = read_frontmatter(f"---\n{fields}\n---\nText.\n")
    assert told.category == normalise_category(category)
    assert list(told.tags) == tidy_tags(tags)


def test_labels_of_a_document_that_are_too_long_for_an_item_are_cut() -> None:
    told = read_frontmatter(f"---\ncategory: {'c' * 600}\ntags: [{'t' * 300}]\n---\nText.\n")
    assert told.category == "c" * MOST_CATEGORY_CHARACTERS
    assert told.tags == ("t" * MOST_TAG_CHARACTERS,)
