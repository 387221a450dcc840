"""Reads hostile HTML in one linear pass, and gives it back small, balanced and shallow."""

import html
import re
from collections import Counter
from html.parser import HTMLParser

from app.adapters.loading.html_elements import (
    BLOCKS,
    CLOSES,
    CLOSES_PARAGRAPH,
    CONTROLS,
    DIGITS,
    DROPPED,
    INDENTING,
    INLINE,
    KEPT_ATTRIBUTES,
    KNOWN,
    NOT_WRITTEN,
    READ_BUTTONS,
    VOID,
    Role,
    is_code,
    is_never_read,
    is_permalink,
    role_of,
)
from app.adapters.loading.page_parts import Part, Tally, TidyPage, Written
from app.errors import SourceUnreadableError

MAX_DEPTH = 100
"""Elements deeper than this lose their tags, not their text: markdownify fails at about 330."""

MAX_INDENTS = 10
"""Of what writes something before every line of its text, deeper ones become a div: a hundred in
one another would write two hundred times the page."""

MAX_TAGS = 400_000
"""Parsing takes about 5 seconds for a million."""

CONTENT_ROLES = {Role.MAIN, Role.ARTICLE}
SECTIONS = {"main", "article", "section"}
"""What has a header of its own."""

TEX = "application/x-tex"
"""The encoding of an annotation that MathML gives to a formula."""

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}

COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
"""By the HTML standard (13.2.5.43 on); the parser of Python 3.11 follows an older one."""

BLANKS = re.compile(r"[ \t]+")


def tidy(page: str) -> TidyPage:
    """Tidy a page; raises SourceUnreadableError for one of more than MAX_TAGS tags."""
    if page.count("<") > MAX_TAGS:
        raise SourceUnreadableError(
            f"The page holds more than {MAX_TAGS:,} HTML tags; index its parts one by one."
        )
    parser = _Tidy()
    parser.feed(page)
    # Not close(): it takes quadratic time on what is left when a page ends inside a tag.
    parser.finish()
    return TidyPage(
        pieces=parser.pieces,
        parts=parser.parts,
        tally=parser.tally(),
        headings=[
            (first, heading)
            for first, texts in parser.headings
            if (heading := " ".join("".join(texts).split()))
        ],
        title=parser.title_of_head(),
        canonical=parser.canonical,
        base=parser.base or "",
        language=parser.language,
        refresh=parser.refresh,
    )


class _Tidy(HTMLParser):
    """Writes `pieces` while it reads; `stack` holds the elements that are open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.parts: list[Part] = []
        self.headings: list[tuple[int, list[str]]] = []
        self.canonical: str | None = None
        self.base: str | None = None
        self.language: str | None = None
        self.refresh: str | None = None
        self._counts = dict.fromkeys(Tally._fields, 0)
        self._social_title: str | None = None
        self._title: list[str] = []
        self._stack: list[str] = []
        self._open_parts: list[tuple[int, Part]] = []
        self._muted_at: int | None = None
        self._code_at: int | None = None
        self._starts: list[int] = []
        """The number of pieces before each element of the stack."""
        self._last_word = -1
        """The number of pieces before the last text with a letter or digit."""
        self._permalink: tuple[int, Written] | None = None
        self._formula = ""
        self._annotation: list[str] = []
        self._tex_at: int | None = None
        self._too_deep: Counter[str] = Counter()

    def tally(self) -> Tally:
        """Of what has been read so far."""
        return Tally(*self._counts.values())

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
            if self._muted_at is None and not self._is_never_read(tag, given):
                self._count(tag, given)
                self.pieces.append(_start_tag(tag, given))
            return
        self._close_implied(tag)
        if tag in HEADINGS and self._stack and self._stack[-1] in HEADINGS:
            self._close_down_to(len(self._stack) - 1)
        start = len(self.pieces)
        if len(self._stack) >= MAX_DEPTH:
            self._too_deep[tag] += 1
            return
        if self._muted_at is None:
            self._open(tag, given)
        elif tag == "annotation" and given.get("encoding", "").lower() == TEX:
            self._tex_at = len(self._stack) + 1
        self._stack.append(tag)
        self._starts.append(start)

    def _open(self, tag: str, given: dict[str, str]) -> None:
        """Write the tag of an element that is about to be put on the stack."""
        if self._is_never_read(tag, given):
            self._muted_at = len(self._stack)
            self._counts["controls"] += tag in CONTROLS
            self._formula, self._annotation = given.get("alttext", ""), []
            return
        if self._permalink is None and is_permalink(given):
            self._permalink = (len(self._stack), self._written_so_far())
        in_section = tag == "header" and not SECTIONS.isdisjoint(self._stack)
        role = role_of(tag, given, in_section=in_section)
        if role:
            in_content = any(part.role in CONTENT_ROLES for _, part in self._open_parts)
            in_code = self._code_at is not None
            part = Part(role, len(self.pieces), in_content, in_code, tally=self.tally())
            self.parts.append(part)
            self._open_parts.append((len(self._stack), part))
            self._counts["mains"] += role is Role.MAIN
            self._counts["menus"] += role in {Role.AROUND, Role.MENU}
        if tag == "h1" and "h1" not in self._stack:
            self.headings.append((len(self.pieces), []))
        if tag not in NOT_WRITTEN:
            self._count(tag, given)
            self.pieces.append(_start_tag(self._written(tag), given))
        if self._code_at is None and is_code(tag, given):
            self._code_at = len(self._stack)
            if tag != "pre":
                self.pieces.append("<pre>")

    def _is_never_read(self, tag: str, given: dict[str, str]) -> bool:
        in_code = self._code_at is not None
        if tag == "button" and not in_code and not READ_BUTTONS.isdisjoint(self._stack):
            tag = "span"
        return is_never_read(tag, given, in_code=in_code)

    def _count(self, tag: str, given: dict[str, str]) -> None:
        self._counts["elements"] += 1
        self._counts["titles"] += tag == "h1"
        self._counts["paragraphs"] += tag == "p"
        self._counts["items"] += tag == "li"
        is_shown_input = tag == "input" and given.get("type", "").lower() != "hidden"
        self._counts["controls"] += is_shown_input or tag == "button"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID and tag in {"svg", "math", "path", "use"}:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._too_deep[tag]:
            self._too_deep[tag] -= 1
            return
        # By the HTML standard (13.2.6.4.7), the end of any heading ends the open one.
        ended = HEADINGS if tag in HEADINGS else {tag}
        for position in range(len(self._stack) - 1, -1, -1):
            if self._stack[position] in ended:
                self._close_down_to(position)
                return

    def handle_data(self, data: str) -> None:
        if "title" in self._stack[-2:] and "svg" not in self._stack:
            self._title.append(data)
        if self._muted_at is not None:
            if len(self._stack) == self._tex_at:
                self._annotation.append(data)
            return
        if "h1" in self._stack:
            self.headings[-1][1].append(data)
        letters = len(data.strip())
        self._counts["letters"] += letters
        self._counts["linked"] += letters if "a" in self._stack else 0
        self._counts["headed"] += 0 if HEADINGS.isdisjoint(self._stack) else letters
        if any(map(str.isalnum, data)):
            self._last_word = len(self.pieces)
        if shown := self._with_single_blanks(data):
            self.pieces.append(html.escape(shown, quote=False))

    def _with_single_blanks(self, data: str) -> str:
        """Text as a browser shows it, but for its lines; what comments part comes in pieces.

        Markdownify takes quadratic time on long runs of blanks.
        """
        if self._code_at is not None:
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
        elif tag == "base" and self.base is None and "href" in given:
            self.base = given["href"].strip()
        elif tag == "link" and "canonical" in given.get("rel", "").lower().split():
            self.canonical = self.canonical or given.get("href", "").strip() or None
        elif tag == "meta" and given.get("property") == "og:title":
            self._social_title = " ".join(given.get("content", "").split()) or None
        elif tag == "meta" and given.get("http-equiv", "").strip().lower() == "refresh":
            content = given.get("content", "") if DROPPED.isdisjoint(self._stack) else None
            self.refresh = content if self.refresh is None else self.refresh

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
            if len(self._stack) == self._code_at:
                self._code_at = None
                if tag != "pre":
                    self.pieces.append("</pre>")
            if self._muted_at is None:
                if tag not in NOT_WRITTEN:
                    self.pieces.append(f"</{self._written(tag)}>")
            elif len(self._stack) == self._muted_at:
                self._muted_at = None
                if tag == "math":
                    self._write_formula()
            if self._open_parts and self._open_parts[-1][0] == len(self._stack):
                _, part = self._open_parts.pop()
                part.end = len(self.pieces)
                part.tally = self.tally() - part.tally
            start = self._starts.pop()
            if self._permalink and self._permalink[0] == len(self._stack):
                before, self._permalink = self._permalink[1], None
                if self._last_word < start or self._is_beside_text(before):
                    self._take_back(before)

    def _is_beside_text(self, before: Written) -> bool:
        """Whether the heading (or else the element) that a permalink stands in has text before."""
        headings = [
            start for start, tag in zip(self._starts, self._stack, strict=True) if tag in HEADINGS
        ]
        if not headings and self._counts["headed"] > before.tally.headed:
            return False
        around = headings or self._starts
        return bool(around) and before.last_word >= around[-1]

    def _written_so_far(self) -> Written:
        texts = len(self.headings[-1][1]) if self.headings else 0
        sizes = (len(self.pieces), len(self.parts), len(self.headings), texts)
        return Written(*sizes, self._last_word, self.tally())

    def _take_back(self, before: Written) -> None:
        """Leave out what has been written since."""
        del self.pieces[before.pieces :], self.parts[before.parts :]
        del self.headings[before.headings :]
        if self.headings:
            del self.headings[-1][1][before.heading_texts :]
        self._last_word = before.last_word
        self._counts = before.tally._asdict()

    def _write_formula(self) -> None:
        """The TeX of the formula that has ended, if the page gives it, in place of its drawing."""
        formula = " ".join((self._formula or "".join(self._annotation)).split())
        self._tex_at = None
        if formula:
            self.handle_data(f"${formula}$")


def _start_tag(tag: str, given: dict[str, str]) -> str:
    kept = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in given.items()
        if name in KEPT_ATTRIBUTES
        or (value.isascii() and value.isdigit() and len(value) <= DIGITS.get(name, 0))
    )
    return f"<{tag}{kept}>"
