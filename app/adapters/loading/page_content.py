"""Chooses what of a page is its content, by how much text is where."""

from bisect import bisect
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum, auto
from operator import add

from app.adapters.loading.page_parts import Part, Tally, TidyPage
from app.adapters.loading.page_roles import Role

MAIN_SHARE = 10
"""A main element is the content if it holds a tenth of what there is to read, menus and links
around it aside: short pages have notices on cookies that are longer than they are, but where less
is in it, it is an empty frame, and the text stands elsewhere."""

ARTICLE_SHARE = 3
"""As above, a third, for a page's only article: that may be a box of news beside the content."""

DOUBTFUL_SHARE = 10
"""What may be around the content is taken back where less than a tenth would be left without."""

LETTERS_PER_CONTROL = 100
"""A form of fewer letters for each of its fields and buttons is there to be filled in; one of more,
or one that holds the page's heading, is a text: some servers put a form around every page."""

LETTERS_OF_TEXT = 500
"""Of a form with so many letters of running text, that is what a reader comes for where there is
less to read without it: some servers put a page and the fields to change it with into one form."""

LETTERS_OF_ANSWER = 40
"""What is hidden from those who listen is a folded answer if it holds so many letters in
paragraphs, lists or tables: icons and words that stand there twice have fewer, or none of these."""


class LeftOut(Enum):
    """How a part that is not read has been recognised."""

    AROUND = auto()
    """By what it says of itself, or by its class and links to the pages around this one."""
    MENU = auto()
    """By its class and its links."""
    DOUBTFUL = auto()
    """By where it stands, or by not being shown."""


_Parts = Sequence[tuple[Part, LeftOut | None]]
"""The parts of a page, and why each is no content, if it is none."""

READINGS: tuple[Set[LeftOut], ...] = (
    {LeftOut.AROUND, LeftOut.MENU},
    {LeftOut.AROUND},
    set(),
)
"""What is left out, from one reading to the next, where the one before leaves nothing."""


@dataclass(frozen=True)
class PageContent:
    """What of a page is to be read, as tidied HTML."""

    html: str
    elements: int
    heading: str | None
    """The text of the page's first h1 that is not left out."""


@dataclass(frozen=True)
class _Reading:
    """`pieces[first:end]` of a page without some of its parts."""

    first: int
    end: int
    without: list[Part]
    """In their order, none within another."""
    letters: int
    prose: int
    running: int
    headed: int
    elements: int

    @property
    def has_text(self) -> bool:
        """Whether there is more to read than headings."""
        return self.letters > self.headed

    def is_enough(self, prose_beside: int, share: int) -> bool:
        """Whether it is this share (a tenth for 10) of all there is to read."""
        return self.letters > 0 and share * self.letters >= self.letters + prose_beside


def content_of(page: TidyPage) -> PageContent:
    """The main element if it holds enough of the text, or else the page without what is around."""
    parts = [(part, _why_left_out(part, page.tally.titles)) for part in page.parts]
    whole = 0, len(page.pieces), page.tally
    strict = _reading(parts, *whole, set(LeftOut))
    main = _main(page, parts, strict)
    if main:
        return _content(page, main, strict)
    readings = [_reading(parts, *whole, left_out) for left_out in READINGS]
    if strict.has_text and strict.is_enough(readings[0].prose - strict.prose, DOUBTFUL_SHARE):
        return _content(page, strict, strict)
    # Under its headings, a page may be a list of links; what is around it is no text of its own.
    with_text = [reading for reading in readings[:-1] if reading.has_text]
    chosen = [*with_text, *(reading for reading in readings if reading.letters), strict][0]
    return _content(page, chosen, chosen)


def _main(page: TidyPage, parts: _Parts, whole: _Reading) -> _Reading | None:
    """What is in the only main element, or else in the only article; None without enough in it."""
    of_headings = None
    for role, share in ((Role.MAIN, MAIN_SHARE), (Role.ARTICLE, ARTICLE_SHARE)):
        found = [part for part, _ in parts if part.role is role]
        if len(found) == 1:
            part = found[0]
            if role is Role.ARTICLE:
                part = _with_header(page, part)
                if _is_in_section(page, part, whole):
                    continue
            for left_out in (set(LeftOut), set(LeftOut) - {LeftOut.MENU}):
                reading = _reading(parts, part.first, part.end, part.tally, left_out)
                if reading.is_enough(whole.prose - reading.prose, share):
                    if reading.has_text:
                        return reading
                    of_headings = of_headings or reading
    return of_headings


def _with_header(page: TidyPage, article: Part) -> Part:
    """An article, from the header of its section on if that is right before it and is no menu.

    JSDoc writes the name of a class and what it is for there.
    """
    headers = [part for part in page.parts if part.role is Role.SECTION_HEADER]
    before = [part for part in headers if part.end <= article.first]
    header = max(before, key=lambda part: part.end, default=None)
    if header is None or "".join(page.pieces[header.end : article.first]).strip():
        return article
    tally = header.tally
    if not tally.headed or tally.menus or tally.is_mostly_links:
        return article
    return replace(article, first=header.first, tally=Tally(*map(add, tally, article.tally)))


def _is_in_section(page: TidyPage, article: Part, whole: _Reading) -> bool:
    """Whether an article with lesser headings goes on below one of the text around it.

    Erlang's pages have an article for each function, and only one where a module has no more. A
    heading of the first level may be the site's, and so may one in a header.
    """
    headers = [part for part in page.parts if part.role in {Role.HEADER, Role.SECTION_HEADER}]
    unheaded = _without(headers, whole.first, whole.end, page.tally)
    above = [
        level
        for piece, level in _heading_levels(page, 0, article.first)
        if _is_read(piece, whole) and _is_read(piece, unheaded)
    ]
    within = [level for _, level in _heading_levels(page, article.first, article.end)]
    return bool(above and within) and 1 < above[-1] < min(within)


def _heading_levels(page: TidyPage, first: int, end: int) -> Iterable[tuple[int, int]]:
    """Where headings begin among these pieces, and their levels."""
    for piece in range(first, end):
        tag = page.pieces[piece][:3]
        if tag.startswith("<h") and tag[2:].isdecimal():
            yield piece, int(tag[2:])


def _reading(parts: _Parts, first: int, end: int, tally: Tally, left_out: Set[LeftOut]) -> _Reading:
    """What is read without what is left out, but with the forms that hold most of the text."""
    without = [part for part, why in parts if why in left_out]
    reading = _without(without, first, end, tally)
    if not any(map(_has_text, without)):
        return reading
    with_forms = _without([part for part in without if not _has_text(part)], first, end, tally)
    gained = with_forms.running - reading.running
    return with_forms if gained >= max(LETTERS_OF_TEXT, reading.prose) else reading


def _has_text(part: Part) -> bool:
    return part.role is Role.FORM and part.tally.running >= LETTERS_OF_TEXT


def _without(parts: Iterable[Part], first: int, end: int, tally: Tally) -> _Reading:
    """`pieces[first:end]`, of which this is the tally, without these of its parts."""
    without: list[Part] = []
    at = first
    for part in parts:
        if part.first >= at and part.end <= end:
            without.append(part)
            at = part.end
    return _Reading(
        first,
        end,
        without,
        letters=tally.letters - sum(part.tally.letters for part in without),
        prose=tally.prose - sum(part.tally.prose for part in without),
        running=tally.running - sum(part.tally.running for part in without),
        headed=tally.headed - sum(part.tally.headed for part in without),
        elements=tally.elements - sum(part.tally.elements for part in without),
    )


def _why_left_out(part: Part, titles: int) -> LeftOut | None:
    """Why a part is no content, on a page of so many headings of the first level; None if it is."""
    if part.role is Role.AROUND:
        return LeftOut.AROUND
    tally = part.tally
    if part.role is Role.PAGE_TURN:
        return LeftOut.AROUND if tally.turns and not tally.headed else None
    if part.role is Role.MENU or (part.in_content and _may_be_content(part.role, tally)):
        is_menu = tally.is_mostly_links and (part.role is Role.MENU or tally.items > 0)
        # Links that are images have no letters: GNOME's gtk-doc wrote such beside its titles.
        is_menu = is_menu or (part.role is Role.MENU and tally.turns > 0 and not tally.headed)
        return LeftOut.MENU if is_menu else None
    return LeftOut.DOUBTFUL if _is_doubtful(part.role, tally, titles) else None


def _may_be_content(role: Role, tally: Tally) -> bool:
    """Whether such a part of the content is read, unless it is a menu."""
    if role is Role.UNSPOKEN:
        has_blocks = tally.paragraphs + tally.items > 0
        return has_blocks and tally.prose - tally.headed >= LETTERS_OF_ANSWER
    return role in {Role.ASIDE, Role.HIDDEN, Role.FOOTER}


def _is_doubtful(role: Role, tally: Tally, titles: int) -> bool:
    if role is Role.HIDDEN or role is Role.UNSPOKEN:
        # A script may show the frame of a whole page once that has been built.
        return not tally.mains
    if role is Role.HEADER:
        has_only_title = tally.titles == titles > 0
        has_text = tally.paragraphs > 0 or has_only_title
        return not has_text or tally.menus > 0 or tally.is_mostly_links
    if role is Role.FOOTER:
        return not (tally.headed or tally.mains)
    if role is Role.FORM:
        is_short = tally.prose < LETTERS_PER_CONTROL * tally.controls
        return is_short and not (tally.titles or tally.mains)
    return role is Role.ASIDE


def _content(page: TidyPage, reading: _Reading, around: _Reading) -> PageContent:
    """What is read, under the first heading that `around` does not leave out."""
    return PageContent(
        html="".join(_written(page, reading)),
        elements=reading.elements,
        heading=next((text for first, text in page.headings if _is_read(first, around)), None),
    )


def _is_read(piece: int, reading: _Reading) -> bool:
    before = bisect(reading.without, piece, key=lambda part: part.first)
    return not before or reading.without[before - 1].end <= piece


def _written(page: TidyPage, reading: _Reading) -> Iterable[str]:
    """The pieces that are read; where a part was, no two blanks meet."""
    at, is_blank_before = reading.first, False
    for end, follows, in_code in (
        *((part.first, part.end, part.in_code) for part in reading.without),
        (reading.end, reading.end, False),
    ):
        if at < end:
            beginning = page.pieces[at]
            yield beginning.removeprefix(" ") if is_blank_before else beginning
            yield from page.pieces[at + 1 : end]
            is_blank_before = page.pieces[end - 1].endswith(" ")
        at, is_blank_before = follows, is_blank_before and not in_code
