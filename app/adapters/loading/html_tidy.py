"""Reads hostile HTML in one linear pass, and gives it back small, balanced and shallow."""

import html
import re
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser

from app.errors import SourceUnreadableError

MAX_DEPTH = 100
"""Elements deeper than this lose their tags, not their text: markdownify fails at about 330."""

INDENTING = {"blockquote", "li", "dd"}
MAX_INDENTS = 10
"""Of these in one another, deeper ones become a div: each writes something before every line of its
text, a hundred of them two hundred times the page."""

MAX_TAGS = 400_000
"""Parsing takes about 5 seconds for a million."""

VOID = {
    "br",
    "hr",
    "img",
    "wbr",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "col",
    "embed",
    "area",
}
KNOWN = {
    *("article", "main", "section", "div", "p", "pre", "blockquote", "figcaption"),
    *("h1", "h2", "h3", "h4", "h5", "h6"),
    *("ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "tr", "td", "th"),
    *("a", "abbr", "b", "strong", "i", "em", "code", "kbd", "samp", "q", "s", "del", "sub", "sup"),
}
"""What is written out as it is. The rest becomes a span: markdownify takes the names of tags for
those of its methods, and counts the rows of a thead anew for each of them."""

NOT_WRITTEN = {"thead", "tbody", "tfoot"}
"""Groups of rows: the rows of a table are then what stands in it, one beside the other."""

KEPT_ATTRIBUTES = {"class", "role", "alt"}
SMALL_NUMBERS = {"colspan", "start"}
DROPPED = {
    # Not text, or not for reading.
    *("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"),
    *("audio", "video", "select", "textarea", "button", "option", "datalist", "dialog"),
    "title",  # kept apart; it stands outside the head where a page has no tag for that
}
AROUND_CONTENT = {"nav", "footer", "aside", "form", "menu"}
ROLES_AROUND_CONTENT = {
    *("navigation", "search", "banner", "contentinfo", "complementary", "menu", "menubar"),
}
PERMALINK_CLASSES = {"headerlink", "header-anchor", "heading-anchor", "hash-link", "anchor-link"}
LINE_NUMBER_CLASSES = {"linenos", "lineno", "linenodiv", "rouge-gutter"}
"""Of the numbers beside the lines of code, as Pygments and Rouge write them."""

CLOSES = {
    # Elements whose end tags HTML lets authors leave out: what ends them, and where that stops.
    "li": ({"li"}, {"ul", "ol", "menu"}),
    "dt": ({"dt", "dd"}, {"dl"}),
    "dd": ({"dt", "dd"}, {"dl"}),
    "tr": ({"tr", "td", "th"}, {"table"}),
    "td": ({"td", "th"}, {"tr", "table"}),
    "th": ({"td", "th"}, {"tr", "table"}),
}
CLOSES_PARAGRAPH = {
    *("address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figure"),
    *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "nav", "ol"),
    *("p", "pre", "section", "table", "ul"),
}
INLINE = {"a", "abbr", "b", "cite", "code", "em", "i", "q", "s", "small", "span", "strong", "u"}
BLOCKS = {
    *("body", "nav", "aside", "header", "footer", "form", "fieldset", "legend", "hgroup"),
    *("center", "address", "figure", "details", "summary"),
}
"""What becomes a div, so that its text stays apart from what is around it."""

COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
"""By the HTML standard (13.2.5.43 on); the parser of Python 3.11 follows an older one."""

BLANKS = re.compile(r"[ \t]+")
NOT_DISPLAYED = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


@dataclass(frozen=True)
class TidyPage:
    """A page's visible content as balanced HTML, and what its head says."""

    html: str
    has_left_out: bool
    """Whether there was text in what was taken for menus and the like."""
    elements: int
    """How many elements `html` holds."""
    title: str | None
    heading: str | None
    """The text of the first h1, wherever it stands."""
    canonical: str | None
    language: str | None


def tidy(page: str, *, content_only: bool = True) -> TidyPage:
    """Tidy a page; without `content_only`, menus, asides and footers stay in too.

    Raises SourceUnreadableError for a page of more than MAX_TAGS tags.
    """
    if page.count("<") > MAX_TAGS:
        raise SourceUnreadableError(
            f"The page holds more than {MAX_TAGS:,} HTML tags; index its parts one by one."
        )
    parser = _Tidy(content_only)
    parser.feed(page)
    # Not close(): it takes quadratic time on what is left when a page ends inside a tag.
    parser.finish()
    return TidyPage(
        html="".join(parser.pieces),
        has_left_out=parser.has_left_out,
        elements=parser.elements,
        title=parser.title_of_head(),
        heading=" ".join("".join(parser.heading).split()) or None,
        canonical=parser.canonical,
        language=parser.language,
    )


class _Tidy(HTMLParser):
    """Writes `pieces` while it reads; `stack` holds the elements that are open."""

    def __init__(self, content_only: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.heading: list[str] = []
        self.elements = 0
        self.has_left_out = False
        self.canonical: str | None = None
        self.language: str | None = None
        self._content_only = content_only
        self._social_title: str | None = None
        self._title: list[str] = []
        self._heading_done = False
        self._stack: list[str] = []
        self._muted_at: int | None = None
        self._too_deep: Counter[str] = Counter()

    def title_of_head(self) -> str | None:
        """The <title>, else og:title."""
        return " ".join("".join(self._title).split()) or self._social_title

    def finish(self) -> None:
        """Take in what is left where the page ends inside a tag, and close all elements."""
        rest = self.rawdata
        if rest and not self.cdata_elem and not rest.startswith("<!"):
            self.handle_data(html.unescape(re.sub(r"<[^<>]*>?", " ", rest)))
        self._close_down_to(0)

    def parse_comment(self, i: int, report: bool = True) -> int:  # noqa: ARG002
        """Where the comment ends that begins at `i`; -1: nowhere."""
        comment = COMMENT.match(self.rawdata, i)
        return comment.end() if comment else -1

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """As above, for `<![…`: what is no CDATA ends with the next bracket."""
        if self.rawdata.startswith("<![CDATA[", i):
            return super().parse_marked_section(i, report)
        return self.parse_bogus_comment(i, report)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._note_head(tag, given)
        if tag in VOID:
            if self._muted_at is None:
                self.elements += 1
                self.pieces.append(_start_tag(tag, given))
            return
        self._close_implied(tag)
        if len(self._stack) >= MAX_DEPTH:
            self._too_deep[tag] += 1
            return
        if self._muted_at is None and self._is_dropped(tag, given):
            self._muted_at = len(self._stack)
        if self._muted_at is None and tag not in NOT_WRITTEN:
            self.elements += 1
            self.pieces.append(_start_tag(self._written(tag), given))
        self._stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID and tag in {"svg", "math", "path", "use"}:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._too_deep[tag]:
            self._too_deep[tag] -= 1
        elif tag in self._stack:
            self._close_down_to(len(self._stack) - 1 - self._stack[::-1].index(tag))

    def handle_data(self, data: str) -> None:
        if "title" in self._stack[-2:] and "svg" not in self._stack:
            self._title.append(data)
        if self._muted_at is not None:
            self.has_left_out = self.has_left_out or bool(data.strip())
            return
        if not self._heading_done and "h1" in self._stack:
            self.heading.append(data)
        if shown := self._with_single_blanks(data):
            self.pieces.append(html.escape(shown, quote=False))

    def _with_single_blanks(self, data: str) -> str:
        """Text as a browser shows it, but for its lines; what comments part comes in pieces.

        Markdownify takes quadratic time on long runs of blanks.
        """
        if "pre" in self._stack:
            return data
        data = BLANKS.sub(" ", data)
        return data.removeprefix(" ") if self.pieces and self.pieces[-1].endswith(" ") else data

    def _written(self, tag: str) -> str:
        """What a tag is written as in the elements of the stack."""
        if tag in INDENTING and sum(map(self._stack.count, INDENTING)) >= MAX_INDENTS:
            return "div"
        return tag if tag in KNOWN else "div" if tag in BLOCKS else "span"

    def _note_head(self, tag: str, given: dict[str, str]) -> None:
        if tag == "html":
            self.language = self.language or given.get("lang", "").strip() or None
        elif tag == "link" and "canonical" in given.get("rel", "").lower().split():
            self.canonical = self.canonical or given.get("href", "").strip() or None
        elif tag == "meta" and given.get("property") == "og:title":
            self._social_title = " ".join(given.get("content", "").split()) or None

    def _is_dropped(self, tag: str, given: dict[str, str]) -> bool:
        if tag in DROPPED or tag == "head":
            return True
        if not self._content_only:
            return False
        if tag in AROUND_CONTENT or given.get("role") in ROLES_AROUND_CONTENT:
            return True
        if tag == "header":
            # A page's header is a menu; that of an article holds its heading.
            return not {"main", "article"} & set(self._stack)
        if (PERMALINK_CLASSES | LINE_NUMBER_CLASSES) & set(given.get("class", "").split()):
            return True
        is_hidden = given.get("hidden", "until-found") != "until-found"
        return (
            is_hidden
            or given.get("aria-hidden") == "true"
            or bool(NOT_DISPLAYED.search(given.get("style", "")))
        )

    def _close_implied(self, tag: str) -> None:
        if tag == "body" and "head" in self._stack:
            self._close_down_to(self._stack.index("head"))
        closed, boundary = CLOSES.get(tag, (set(), set()))
        if tag in CLOSES_PARAGRAPH:
            closed, boundary = {"p"}, set(self._stack) - {"p"} - INLINE
        for position in range(len(self._stack) - 1, -1, -1):
            if self._stack[position] in boundary:
                return
            if self._stack[position] in closed:
                self._close_down_to(position)
                if tag != "tr":
                    return

    def _close_down_to(self, size: int) -> None:
        while len(self._stack) > size:
            tag = self._stack.pop()
            if self._muted_at is None:
                if tag not in NOT_WRITTEN:
                    self.pieces.append(f"</{self._written(tag)}>")
            elif len(self._stack) == self._muted_at:
                self._muted_at = None
            if tag == "h1" and self.heading:
                self._heading_done = True


def _start_tag(tag: str, given: dict[str, str]) -> str:
    kept = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in given.items()
        if name in KEPT_ATTRIBUTES
        or (name in SMALL_NUMBERS and value.isascii() and value.isdigit() and len(value) < 3)
    )
    return f"<{tag}{kept}>"
