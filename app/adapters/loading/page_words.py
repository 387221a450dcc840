"""Parts words of web pages that only their looks part from what is right behind them."""

from bs4 import BeautifulSoup

from app.adapters.loading.html_elements import METHOD_CLASS

WORD_CLASSES = ["eqno", "tsd-tag", METHOD_CLASS]
"""Of such words: the number of a formula in Sphinx, in TypeDoc what a name is, as Optional, and the
method of a request."""

SIGN_CLASS = "sep"
"""Of an element between two words that has no text: GNOME's gi-docgen parts the names in its titles
with a sign of its stylesheet."""


def part_words(soup: BeautifulSoup) -> None:
    """Write a blank behind each of these words, and where a sign of a stylesheet parts two."""
    for word in soup.find_all(class_=WORD_CLASSES):
        word.append(" ")
    for sign in soup.find_all(class_=SIGN_CLASS):
        if not sign.contents:
            sign.append(" ")
