"""Parts words of web pages that only their looks part from what is right behind them."""

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import INLINE, METHOD_CLASS
from app.adapters.loading.page_tree import children_of, class_names, elements_in

WORD_CLASSES = {"eqno", "tsd-tag", METHOD_CLASS}
"""Of such words: the number of a formula in Sphinx, in TypeDoc what a name is, as Optional, and the
method of a request."""

SIGN_CLASS = "sep"
"""Of an element between two words that has no text: GNOME's gi-docgen parts the names in its titles
with a sign of its stylesheet."""

LINES_CLASS = "t-lines"
"""Of an element each of whose children is a line, as cppreference writes names that go together."""


def part_words(soup: BeautifulSoup) -> None:
    """Write a blank behind each of these words, and between words that images stand for."""
    elements = list(elements_in(soup))
    with_classes = [element for element in elements if "class" in element.attrs]
    for word in with_classes:
        if not WORD_CLASSES.isdisjoint(class_names(word)):
            word.append(" ")
    for lines in with_classes:
        if LINES_CLASS in class_names(lines):
            for line in children_of(lines, {"span"}):
                line.append(" ")
    for sign in with_classes:
        if SIGN_CLASS in class_names(sign) and not sign.contents:
            sign.append(" ")
    for image in elements:
        if image.name == "img" and "alt" in image.attrs and _is_right_behind_image(image):
            image["alt"] = f" {image['alt']}"  # a text before it would take quadratic time


def _is_right_behind_image(image: Tag) -> bool:
    """Whether nothing but the ends and beginnings of elements is between an image and another."""
    before = image.previous_element
    while isinstance(before, Tag) and before.name in INLINE:
        before = before.previous_element
    return isinstance(before, Tag) and before.name == "img" and bool(before.get("alt"))
