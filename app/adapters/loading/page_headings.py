"""Tells headings of a page from titles of the boxes in it, which head nothing that follows."""

import re

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import ASIDE, HEADINGS

BOX_WORDS = {
    *("alert", "admonition", "callout", "note", "notice"),
    *("tip", "warning", "caution", "important"),
}
"""Of which one is in the class of a box, of what holds its title, or of the title itself."""

BETWEEN_WORDS = re.compile("[-_]")
TITLES_OF_BOXES = sorted(HEADINGS - {"h1"})
OF_PAGES = {"article", "main"}
"""Which are no boxes, whatever their class."""

NOT_IN_BOLD = ["b", "strong", "p", "div", "pre"]


def make_titles_of_boxes(soup: BeautifulSoup) -> None:
    """Make paragraphs of the headings of notes, and of those in asides: the text goes on below."""
    has_one_heading: dict[int, bool] = {}
    headings = soup.find_all(TITLES_OF_BOXES)
    for heading in [found for found in headings if _is_title_of_box(found, has_one_heading)]:
        heading.name = "p"
        if heading.find(NOT_IN_BOLD) is None:
            bold = soup.new_tag("strong")
            children = list(heading.contents)
            heading.clear()
            bold.extend(children)
            heading.append(bold)


def _is_title_of_box(heading: Tag, has_one_heading: dict[int, bool]) -> bool:
    if heading.find_parent(attrs={ASIDE: True}) is not None:
        return True
    box = _box_of(heading)
    if box is None or box.name in OF_PAGES:
        return False
    # A wrapper of the whole page may have such a class, too, but not for a single heading.
    if id(box) not in has_one_heading:
        has_one_heading[id(box)] = len(box.find_all(sorted(HEADINGS), limit=2)) == 1
    return has_one_heading[id(box)]


def _box_of(heading: Tag) -> Tag | None:
    """The nearest box that a heading may be the title of, by its class and those around it."""
    parent = heading.parent
    if parent is None or _has_box_word(heading) or _has_box_word(parent):
        return parent
    around = parent.parent
    return around if around is not None and _has_box_word(around) else None


def _has_box_word(element: Tag) -> bool:
    classes = " ".join(element.get("class") or ()).lower()
    return not BOX_WORDS.isdisjoint(BETWEEN_WORDS.sub(" ", classes).split())
