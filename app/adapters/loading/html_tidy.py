"""Reads hostile HTML in one linear pass, and gives it back small, balanced and shallow."""

import html
import re
from collections.abc import Set

from app.adapters.loading.code_lines import CodeLines
from app.adapters.loading.html_elements import (
    ASIDE,
    BLOCKS,
    BUTTON,
    CONTROLS,
    DIGITS,
    FIELDS,
    FIRST_OF_GROUP,
    HEADINGS,
    INDENTING,
    JUMPS,
    KEPT_ATTRIBUTES,
    KNOWN,
    LINK_SIGNS,
    ROW_GROUPS,
    LinkKind,
    is_badge,
    is_code,
    is_code_of_lines,
    is_line,
    is_method_of_request,
    is_never_read,
    is_sign_of_note,
    is_tab,
    link_kind,
)
from app.adapters.loading.html_parser import StandardParser
from app.adapters.loading.page_buttons import Button
from app.adapters.loading.page_head import PageHead
from app.adapters.loading.page_mathml import Formula
from app.adapters.loading.page_parts import Part, Tally, TidyPage, Written
from app.adapters.loading.page_roles import CONTENT_ROLES, FOOTER, Role, role_of, turns_page
from app.errors import SourceUnreadableError

MAX_INDENTS = 10
"""Of what writes something before every line of its text, deeper ones become a div: a hundred in
one another would write two hundred times the page."""

MAX_TAGS = 400_000
"""Parsing takes about 5 seconds for a million."""

LONGEST_LABEL = 300
"""A text of more letters, with no field in it, is not there to explain one."""

NAMES = HEADINGS | {"dt"}
NOT_SHOWN = {Role.HIDDEN, Role.UNSPOKEN}
SECTIONS = {"main", "article", "section"}
"""What has a header of its own."""
QUOTING = {"blockquote", "figure"}
"""Whose footer names the source, as pages did before HTML said otherwise."""

BLANKS = re.compile(r"[ \t]+")
IMAGE_ALT = re.compile(r'<img(?: [^<>]*)? alt="([^"]*)"')


def tidy(page: str, *, is_xml: bool = False) -> TidyPage:
    """Tidy a page, perhaps one of XHTML.

    Raises SourceUnreadableError for one of more than MAX_TAGS tags.
    """
    if page.count("<") > MAX_TAGS:
        raise SourceUnreadableError(
            f"The page holds more than {MAX_TAGS:,} HTML tags; index its parts one by one."
        )
    parser = _Tidy(is_xml=is_xml)
    parser.feed(page)
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
        title=parser.head.title,
        canonical=parser.head.canonical,
        base=parser.head.base or "",
        language=parser.head.language,
        refresh=parser.head.refresh,
    )


class _Tidy(StandardParser):
    """Writes `pieces` while it reads."""

    def __init__(self, *, is_xml: bool) -> None:
        super().__init__(is_xml=is_xml)
        self.pieces: list[str] = []
        self.parts: list[Part] = []
        self.headings: list[tuple[int, list[str]]] = []
        self.head = PageHead()
        self._counts = dict.fromkeys(Tally._fields, 0)
        self._open_parts: list[tuple[int, Part]] = []
        self._muted_at: int | None = None
        self._code_at: int | None = None
        self._code_lines = CodeLines()
        """Of the code that is open."""
        self._question_at = -1
        """Where the button is, if one is open, that stands by itself above what it unfolds."""
        self._lines_at = -1
        """Where the element is, if one is open, that becomes code with its first line."""
        self._indents = 0
        """How many elements of the stack write something before every line of their text."""
        self._starts: list[int] = []
        """The number of pieces before each element of the stack."""
        self._since_field = 0
        """The letters that count as running text if more follow before the next field."""
        self._last_word = -1
        """The number of pieces before the last text with a letter or digit."""
        self._group_begins = False
        """Whether the next row is the first of its group."""
        self._sign: tuple[int, Written, LinkKind] | None = None
        """The outermost link that may be one."""
        self._formula: Formula | None = None

    def tally(self) -> Tally:
        """Of what has been read so far."""
        return Tally(*self._counts.values())

    def stands_alone(self, tag: str, given: dict[str, str]) -> None:
        """Write the tag of an element that can hold nothing."""
        self.head.note(tag, given, self.stack)
        if self._muted_at is None and not self._is_never_read(tag, given):
            self._count(tag, given)
            self.pieces.append(_start_tag(tag, given))
            if tag == "br" and self._code_at is not None:
                self._code_lines.break_line()

    def begins(self, tag: str, given: dict[str, str]) -> None:
        """Write the tag of an element, if it is read."""
        self.head.note(tag, given, self.stack)
        start = len(self.pieces)
        if is_method_of_request(given) and self._is_in_muted_button():
            self._muted_at, self._question_at = None, len(self.stack) - 1
            self.pieces.append("<div>")
        if self._muted_at is None:
            self._open(tag, given)
        elif self._formula:
            self._formula.begins(tag, given)
        self._starts.append(start)
        self._indents += tag in INDENTING

    def _open(self, tag: str, given: dict[str, str]) -> None:
        """Write the tag of an element that is about to be put on the stack."""
        if self._is_never_read(tag, given):
            self._muted_at = len(self.stack)
            self._counts["controls"] += tag in CONTROLS
            self._since_field = 0 if tag in FIELDS else self._since_field
            self._formula = Formula(given) if tag == "math" else None
            return
        if self._code_at is not None:
            self._code_lines.begins(tag)
        if self._sign is None and (kind := self._kind_of_sign(tag, given)):
            self._sign = (len(self.stack), self._written_so_far(), kind)
        if is_badge(given):
            self.pieces.append(" ")
        if is_sign_of_note(given):
            self.stands_alone("img", {"alt": given["title"]})
        self._open_part(tag, given)
        if tag == "h1" and "h1" not in self.stack:
            self.headings.append((len(self.pieces), []))
        if self._code_at is None and self._lines_at == len(self.stack) - 1 and is_line(given):
            self._code_at, self._code_lines = self._lines_at, CodeLines()
            self.pieces.append("<pre>")
        self._lines_at = len(self.stack) if is_code_of_lines(tag, given) else self._lines_at
        if tag in ROW_GROUPS:
            self._group_begins = True
        else:
            self._count(tag, given)
            if tag == "button" and self._question_at < 0 and self._button(given).is_question:
                self._question_at = len(self.stack)
            self.pieces.append(_start_tag(self._written(tag), self._marked(tag, given)))
        if self._code_at is None and is_code(tag, given):
            self._code_at, self._code_lines = len(self.stack), CodeLines()
            if tag != "pre":
                self.pieces.append("<pre>")

    def _marked(self, tag: str, given: dict[str, str]) -> dict[str, str]:
        """The attributes of an element, with the one that says what its name will not."""
        if tag == "tr" and self._group_begins:
            self._group_begins = False
            return {**given, FIRST_OF_GROUP: ""}
        if tag == "button" and is_tab(given):
            return {**given, BUTTON: ""}
        return {**given, ASIDE: ""} if tag == "aside" else given

    def _open_part(self, tag: str, given: dict[str, str]) -> None:
        """Begin a part of the page, if the element is one."""
        may_depend = tag == "header" or "id" in given or FOOTER in given.get("class", "")
        in_section = may_depend and self._is_in_section()
        is_source = tag == "footer" and not QUOTING.isdisjoint(self.stack)
        role = role_of("div" if is_source else tag, given, in_section=in_section)
        if role:
            in_content = self._is_in_any(CONTENT_ROLES)
            in_code = self._code_at is not None
            part = Part(role, len(self.pieces), in_content, in_code, tally=self.tally())
            self.parts.append(part)
            self._open_parts.append((len(self.stack), part))
            self._counts["mains"] += role is Role.MAIN
            self._counts["menus"] += role is Role.AROUND or role is Role.MENU

    def _kind_of_sign(self, tag: str, given: dict[str, str]) -> LinkKind | None:
        """What an element that is about to be put on the stack may be, if not text."""
        if self._code_at is not None and self._code_lines.may_be_number(tag, given):
            return LinkKind.LINE_NUMBER
        return link_kind(tag, given)

    def _is_never_read(self, tag: str, given: dict[str, str]) -> bool:
        in_code = self._code_at is not None
        if tag == "button" and (is_tab(given) or (not in_code and self._button(given).is_text)):
            tag = "span"
        return is_never_read(tag, given, in_code=in_code)

    def _is_in_muted_button(self) -> bool:
        """Whether what is about to be put on the stack is a child of a button that is not read."""
        is_in_muted = self._muted_at is not None and self._muted_at == len(self.stack) - 1
        return is_in_muted and self.stack[-1] == "button" and self._question_at < 0

    def _button(self, given: dict[str, str]) -> Button:
        """A button that is about to be put on the stack."""
        in_heading = not HEADINGS.isdisjoint(self.stack)
        follows_heading = in_heading and self._last_word >= self._starts_of_headings()[-1]
        return Button(given, self.stack, self._open_roles(), follows_heading)

    def _is_in_section(self) -> bool:
        return not SECTIONS.isdisjoint(self.stack) or self._is_in_any(CONTENT_ROLES)

    def _is_in_any(self, roles: Set[Role]) -> bool:
        """Whether a part that is open has one of these roles."""
        return any(part.role in roles for _, part in self._open_parts)

    def _open_roles(self) -> set[Role]:
        """What the parts are that are open."""
        return {part.role for _, part in self._open_parts}

    def _count(self, tag: str, given: dict[str, str]) -> None:
        self._counts["elements"] += 1
        self._counts["titles"] += tag == "h1"
        self._counts["turns"] += turns_page(tag, given)
        self._counts["paragraphs"] += tag == "p"
        self._counts["items"] += tag in {"li", "tr"}
        is_shown_input = tag == "input" and given.get("type", "").lower() != "hidden"
        self._counts["controls"] += is_shown_input or tag == "button"
        self._since_field = 0 if is_shown_input else self._since_field

    def says(self, text: str) -> None:
        if "title" in self.stack[-2:] and "svg" not in self.stack:
            self.head.titles[-1].append(text)
        if self._muted_at is not None:
            if self._formula:
                self._formula.take(text)
            return
        if "h1" in self.stack:
            self.headings[-1][1].append(text)
        if letters := len(text.strip()):
            self._count_letters(letters)
            if any(map(str.isalnum, text)):
                self._last_word = len(self.pieces)
        if shown := self._with_single_blanks(text):
            self.pieces.append(html.escape(shown, quote=False))

    def _count_letters(self, letters: int) -> None:
        self._counts["letters"] += letters
        self._counts["headed"] += 0 if HEADINGS.isdisjoint(self.stack) else letters
        if "a" in self.stack:
            self._counts["linked"] += letters
        elif not self._is_in_any(NOT_SHOWN):
            self._count_running(letters)

    def _count_running(self, letters: int) -> None:
        was_label = self._since_field <= LONGEST_LABEL
        self._since_field += letters
        if self._since_field > LONGEST_LABEL:
            self._counts["running"] += self._since_field if was_label else letters

    def _with_single_blanks(self, data: str) -> str:
        """Text as a browser shows it, but for its lines; what comments part comes in pieces.

        Markdownify takes quadratic time on long runs of blanks.
        """
        if self._code_at is not None:
            self._code_lines.take(data)
            return data
        data = BLANKS.sub(" ", data)
        return data.removeprefix(" ") if self.pieces and self.pieces[-1].endswith(" ") else data

    def _written(self, tag: str) -> str:
        """What a tag is written as in the elements of the stack."""
        if tag in INDENTING and self._indents >= MAX_INDENTS:
            return "div"
        if len(self.stack) == self._question_at:
            return "div"
        return tag if tag in KNOWN else "div" if tag in BLOCKS else "span"

    def ends(self, tag: str) -> None:
        """Write the end tag of an element, if it is read."""
        depth = len(self.stack)
        self._indents -= tag in INDENTING
        if depth == self._code_at:
            self._code_at = None
            if tag != "pre":
                self.pieces.append("</pre>")
        if depth == self._lines_at:
            self._lines_at = -1
        if tag in ROW_GROUPS or tag == "table":
            self._group_begins = tag != "table"
        if self._muted_at is None:
            if tag not in ROW_GROUPS:
                self.pieces.append(f"</{self._written(tag)}>")
            self._question_at = -1 if depth == self._question_at else self._question_at
        elif depth == self._muted_at:
            formula, self._muted_at, self._formula = self._formula, None, None
            if formula and (written := formula.written()):
                self.says(written)
        elif self._formula:
            self._formula.ends()
        if self._open_parts and self._open_parts[-1][0] == depth:
            _, part = self._open_parts.pop()
            part.end = len(self.pieces)
            part.tally = self.tally() - part.tally
        self._starts.pop()
        if self._sign and self._sign[0] == depth:
            (_, before, kind), self._sign = self._sign, None
            if self._is_for_looks(before, kind):
                self._take_back(before)

    def _is_for_looks(self, before: Written, kind: LinkKind) -> bool:
        """Whether a link of this kind, all that was written since, is a sign to be left out."""
        written = self.pieces[before.pieces :]
        texts = "".join(piece for piece in written if not piece.startswith("<"))
        if kind is LinkKind.LINE_NUMBER:
            return self._code_lines.is_number(texts)
        said = texts.strip().lower()
        if kind is LinkKind.SOURCE:
            return said == "source"
        if said in JUMPS and self._is_after_name(before):
            return True
        if self._last_word >= before.pieces:
            return kind is LinkKind.PERMALINK and self._is_beside_text(before)
        if kind is not LinkKind.WITHIN_PAGE:
            return True
        images = set() if said else set(IMAGE_ALT.findall("".join(written).lower()))
        return LINK_SIGNS.issuperset(texts) if said else bool(images) and images <= JUMPS

    def _is_after_name(self, before: Written) -> bool:
        """Whether something is to be read before in a heading, or a name to be defined."""
        starts = self._starts_of(NAMES)
        return bool(starts) and before.last_word >= starts[-1]

    def _is_beside_text(self, before: Written) -> bool:
        """Whether the heading (or else the element) that a permalink stands in has text before."""
        headings = self._starts_of_headings()
        if not headings and self._counts["headed"] > before.tally.headed:
            return False
        around = headings or self._starts
        return bool(around) and before.last_word >= around[-1]

    def _starts_of_headings(self) -> list[int]:
        """The number of pieces before each heading that is open."""
        return self._starts_of(HEADINGS)

    def _starts_of(self, tags: set[str]) -> list[int]:
        """As above, before each element of these names."""
        return [start for start, tag in zip(self._starts, self.stack, strict=True) if tag in tags]

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


def _start_tag(tag: str, given: dict[str, str]) -> str:
    if not given:
        return f"<{tag}>"
    kept = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in given.items()
        if name in KEPT_ATTRIBUTES
        or (value.isascii() and value.isdigit() and len(value) <= DIGITS.get(name, 0))
    )
    return f"<{tag}{kept}>"
