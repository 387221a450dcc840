"""A tidied page as pieces, its parts that may be left out, and how much stands in each."""

from dataclasses import dataclass, field
from operator import sub
from typing import NamedTuple

from app.adapters.loading.page_roles import Role


class Tally(NamedTuple):
    """How much there is of what; the difference of two tells what stands between them."""

    letters: int = 0
    linked: int = 0
    """The letters that are in links."""
    headed: int = 0
    """The letters that are in headings."""
    running: int = 0
    """The letters that are shown and in no link, of texts too long for the label of a field."""
    elements: int = 0
    titles: int = 0
    """Headings of the first level."""
    paragraphs: int = 0
    items: int = 0
    """Of lists, and rows of tables."""
    controls: int = 0
    menus: int = 0
    mains: int = 0
    turns: int = 0
    """Links to the next page, and the like."""

    @property
    def prose(self) -> int:
        """The letters that are in no link."""
        return self.letters - self.linked

    @property
    def is_mostly_links(self) -> bool:
        """Whether more than half of the letters are in links."""
        return 2 * self.linked > self.letters

    def __sub__(self, other: "Tally") -> "Tally":
        return Tally(*map(sub, self, other))


class Written(NamedTuple):
    """How far a page has been written: how many there are of what, and where its last word is."""

    pieces: int
    parts: int
    headings: int
    heading_texts: int
    last_word: int
    tally: Tally


@dataclass
class Part:
    """An element with a role: `pieces[first:end]` of its page."""

    role: Role
    first: int
    in_content: bool
    """Whether it stands in the main element or an article."""
    in_code: bool
    end: int = 0
    tally: Tally = field(default_factory=Tally)
    """Of what stands in it; while it is open, of what stands before it."""


@dataclass(frozen=True)
class TidyPage:
    """A page's text as balanced HTML, the parts it has, and what its head says."""

    pieces: list[str]
    """Tags, and the text between them; joined they are the page."""
    parts: list[Part]
    """In the order in which they begin."""
    tally: Tally
    headings: list[tuple[int, str]]
    """The text of each h1, with the number of pieces before it."""
    title: str | None
    canonical: str | None
    base: str
    """What the page's addresses are relative to, as it is written; empty where that is its own."""
    language: str | None
    refresh: str | None
    """The content of its first <meta http-equiv="refresh">, but for readers without scripts."""

    @property
    def html(self) -> str:
        """The whole page."""
        return "".join(self.pieces)
