"""What each HTML element is to a reader: text, code, a sign that leads somewhere, or nothing."""

import re
from collections.abc import Set
from enum import Enum, auto
from functools import lru_cache

VOID = {
    "br",
    "hr",
    "img",
    "wbr",
    "input",
    "link",
    "base",
    "meta",
    "source",
    "track",
    "col",
    "embed",
    "area",
}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
KNOWN = {
    *("article", "main", "section", "div", "p", "pre", "blockquote", "figcaption"),
    *HEADINGS,
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "tr", "td", "th"),
    *("a", "abbr", "b", "strong", "i", "em", "code", "kbd", "samp", "q", "s", "del", "sub", "sup"),
}
"""What is written out as it is. The rest becomes a span: markdownify takes the names of tags for
those of its methods, and counts the rows of a thead anew for each of them."""

INDENTING = {"blockquote", "li", "dd"}
"""What writes something before every line of its text."""

ROW_GROUPS = {"thead", "tbody", "tfoot"}
"""They are not written: the rows of a table are then what stands in it, one beside the other."""

FIRST_OF_GROUP = "data-first-of-group"
"""The attribute that is written to the first row of a group, where no cell from above reaches."""

BUTTON = "data-button"
"""The attribute that is written to tabs that are buttons."""

ASIDE = "data-aside"
"""The attribute that is written to asides, which become a div."""

TAB_LABEL = "data-tab-label"
"""The attribute that is written to code that a tab shows by itself: a label in it would be code."""

LANGUAGE_ATTRIBUTES = ("data-lang", "data-language")
"""Of code, as Hugo, Asciidoctor and Expressive Code write them."""

BRUSH = "data-syntaxhighlighter-params"
"""The attribute in which Confluence names the language of code, as SyntaxHighlighter's classes."""

KEPT_ATTRIBUTES = {
    "class",
    "role",
    "alt",
    FIRST_OF_GROUP,
    BUTTON,
    ASIDE,
    *LANGUAGE_ATTRIBUTES,
    BRUSH,
}
DIGITS = {"colspan": 2, "start": 4, "rowspan": 4}
"""Attributes that are kept as numbers, with the most digits they may have."""

DROPPED = {
    # Not text, or not for reading.
    *("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"),
    *("audio", "video", "select", "textarea", "button", "option", "datalist", "dialog"),
    *("rt", "rp"),  # how a word is pronounced, which would stand in its middle
    "title",  # kept apart; it stands outside the head where a page has no tag for that
}
FIELDS = {"input", "select", "textarea"}
CONTROLS = FIELDS | {"button"}
NO_CLASSES: Set[str] = frozenset()
"""Of most elements; the others are asked for their classes several times, one after another."""
PERMALINK_CLASSES = {
    *("headerlink", "header-anchor", "heading-anchor", "hash-link", "anchor-link"),
    *("doc-anchor", "sl-anchor-link"),
}
"""Of links to a heading, beside its text or around it."""

SIGN_CLASSES = {"anchor", "selflink"}
"""As above, of rustdoc, GitHub and Haddock; others give them to links within a text, so only signs
count."""

LINK_SIGNS = frozenset("\u21a9\u21b5\u2191\u2934\u00b6\u00a7\u25c6\ufe0e\ufe0f \xa0\n\t")
"""What links within a page that only lead back or to themselves are written with, and nothing
else: arrows (of footnotes, mostly), pilcrows, and Doxygen's diamond."""

JUMPS = {"top", "back to top", "link", "#"}
"""What such links say after a heading or the name of a definition, as in the pages of man7.org and
PostgreSQL, and images that lead to a place in the page, as in those of Apache; elsewhere, these are
words of a text."""

BACK_LINK_CLASSES = {
    *("footnote-backref", "footnote-back", "footnote-return", "reversefootnote"),
    *("data-footnote-backref", "mw-cite-backlink", "backrefs"),
}
"""Of what leads from a note back to its text, and may number the places there."""

EDIT_LINK_CLASSES = {"mw-editsection"}
"""Of links to where what is below a heading is edited."""

SOURCE_LINK_CLASSES = {"viewcode-link", "viewcode-back", "srclink", "sourcelink"}
"""Of what leads from a signature to its source code and back, as Sphinx writes it right after the
one and into the other, GNOME's gi-docgen into headings, and pydoctor into signatures."""

LINK_TO_SOURCE = "src"
"""As above, of links to a page of RUST_SOURCE."""

RUST_SOURCE = ".rs.html"
"""What the pages of rustdoc that show source code end in."""

HADDOCK_SOURCE = re.compile(r"(?:.*/)?src/[^/]+\.html#.+")
"""Where a link of the class `link` leads to that Haddock writes into each signature; it says
"Source"."""

REPEATING_CLASSES = {"katex-html"}
"""Of formulas that stand beside it a second time."""

LINE_NUMBER_CLASSES = {
    *("linenos", "lineno", "linenodiv", "rouge-gutter", "line-numbers-wrapper"),
    *("source-line-no", "sourcelineno"),
}
"""Of the numbers beside the lines of code, as Pygments, Rouge, VuePress and javadoc write them."""

LINE_NUMBERS_IN_CODE = {"ln", "lnt", "linenumber", "line-number"}
"""As above, of words that stand for other things outside code; of Chroma and others."""

LINE_NUMBER_CELLS = {
    *("gutter", "lines-num", "blob-num", "hljs-ln-numbers"),
    *("line_numbers", "crayon-nums"),
}
"""As above, of cells of a table; of Hexo, Gitea, GitHub, highlight.js, WP-Syntax and Crayon."""

CODE_OF_LINES = "fragment"
"""Doxygen's class for code, whose lines are its children of the class `line`."""

LINE_OF_CODE_CELLS = {"lines-code", "blob-code", "hljs-ln-code"}
"""Of the cells beside those, each of which is a line."""

POPUP_CLASSES = {"copy-popup-wrapper"}
"""Of what is shown when a link has been copied, as Dokka writes it beside each name."""

TOOLTIP_CLASSES = {"ttc", "notable-traits", "important-traits"}
"""Of what Doxygen shows of a name when a pointer rests on it, and writes behind each piece of code,
into the same element; and of what rustdoc wrote so into signatures until Rust 1.68."""

ADVICE_CLASSES = {"method-click-advice", "test-arrow"}
"""Of what RDoc writes beside each method, "click to toggle source", and rustdoc beside its code:
"Run"."""

UNFOLDING_CLASSES = {"hideme"}
"""Of summaries that only say how to unfold what they head; of rustdoc, which writes them into its
code, too."""

BADGE_CLASSES = {"stab", "signature-attributes", "attribute-access-type"}
"""Of what only its looks part from the name before it, such as "Deprecated" in rustdoc, "opt" of a
parameter in JSDoc, and "[RW]" of an attribute in RDoc."""

SIGNS_OF_NOTES = {"icon-note", "icon-tip", "icon-warning", "icon-caution", "icon-important"}
"""Classes of signs of a font that stand for a word, their title, as Asciidoctor writes them."""

METHOD_CLASS = "http-verb"
"""Of what begins a request to an interface, GET /lamps, which Redoc writes into a button."""

NEVER_READ_CLASSES = (
    EDIT_LINK_CLASSES
    | SOURCE_LINK_CLASSES
    | REPEATING_CLASSES
    | POPUP_CLASSES
    | TOOLTIP_CLASSES
    | ADVICE_CLASSES
    | LINE_NUMBER_CLASSES
    | BACK_LINK_CLASSES
)

CLOSES = {
    # Elements whose end tags HTML lets authors leave out: what ends them, and where that stops.
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
    "rt": ({"rt", "rp"}, {"ruby"}),
    "rp": ({"rt", "rp"}, {"ruby"}),
}
CLOSES_PARAGRAPH = {
    *("address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figure"),
    *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol"),
    *("p", "pre", "section", "table", "ul"),
}
INLINE = {
    *("a", "abbr", "b", "cite", "code", "em", "i", "q", "s", "small", "span", "strong", "u"),
    *("ruby", "rt", "rp"),
}
BLOCKS = {
    *("body", "nav", "aside", "header", "footer", "form", "fieldset", "legend", "hgroup"),
    *("center", "address", "figure", "details", "summary"),
}
"""What becomes a div, so that its text stays apart from what is around it."""


class LinkKind(Enum):
    """What makes a link a sign that is not read."""

    PERMALINK = auto()
    """It leads to the heading that it stands in, which may be its text."""
    SIGN = auto()
    """As above if there is no word in it."""
    WITHIN_PAGE = auto()
    """Nothing is in it but LINK_SIGNS."""
    LINE_NUMBER = auto()
    """Nothing is in it but the number of the line of code that it stands before."""
    SOURCE = auto()
    """It leads to source code if that is what it says."""


def is_never_read(tag: str, given: dict[str, str], *, in_code: bool) -> bool:
    """Whether an element is no text on any page."""
    if tag in DROPPED or tag == "head" or (tag == "img" and given.get("aria-hidden") == "true"):
        return True
    classes = classes_of(given)
    return bool(classes) and bool(
        classes & NEVER_READ_CLASSES
        or (in_code and classes & LINE_NUMBERS_IN_CODE)
        or (tag == "td" and classes & LINE_NUMBER_CELLS)
        or (tag == "summary" and classes & UNFOLDING_CLASSES)
        or (tag == "a" and LINK_TO_SOURCE in classes and RUST_SOURCE in given.get("href", ""))
    )


def is_tab(given: dict[str, str]) -> bool:
    """Whether an element with these attributes is the label of a tab."""
    return given.get("role", "").lower() == "tab"


def is_badge(given: dict[str, str]) -> bool:
    """Whether an element with these attributes is a word of its own behind a name."""
    return not BADGE_CLASSES.isdisjoint(classes_of(given))


def is_sign_of_note(given: dict[str, str]) -> bool:
    """Whether an element with these attributes says what kind of note it is in by its title."""
    return "title" in given and not SIGNS_OF_NOTES.isdisjoint(classes_of(given))


def is_method_of_request(given: dict[str, str]) -> bool:
    """Whether an element with these attributes is followed by what the request is for."""
    return METHOD_CLASS in classes_of(given)


def is_code_of_lines(tag: str, given: dict[str, str]) -> bool:
    """Whether an element is code if each of its children is a line."""
    return tag == "div" and CODE_OF_LINES in classes_of(given)


def is_line(given: dict[str, str]) -> bool:
    """Whether an element in such code is a line of it."""
    return "line" in classes_of(given)


def is_code(tag: str, given: dict[str, str]) -> bool:
    """Whether the blanks and lines of an element are shown as they are written."""
    return tag == "pre" or (tag == "td" and not LINE_OF_CODE_CELLS.isdisjoint(classes_of(given)))


def link_kind(tag: str, given: dict[str, str]) -> LinkKind | None:
    """What a link with these attributes may be there for, other than to be read."""
    classes = classes_of(given)
    if PERMALINK_CLASSES & classes:
        return LinkKind.PERMALINK
    if tag == "a" and given.get("href", "").startswith("#"):
        return LinkKind.SIGN if SIGN_CLASSES & classes else LinkKind.WITHIN_PAGE
    is_source = tag == "a" and "link" in classes and HADDOCK_SOURCE.fullmatch(given.get("href", ""))
    return LinkKind.SOURCE if is_source else None


def classes_of(given: dict[str, str]) -> Set[str]:
    """The classes that an element's attributes give it, in lower case."""
    return _classes(given["class"]) if "class" in given else NO_CLASSES


@lru_cache(maxsize=1)
def _classes(written: str) -> Set[str]:
    return frozenset(written.lower().split())
