"""Notes what a page says of itself: its title, its language, its address and where it leads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from app.adapters.loading.html_elements import DROPPED


@dataclass
class PageHead:
    """What the elements that have been noted say; of most, the first counts."""

    canonical: str | None = None
    base: str | None = None
    language: str | None = None
    refresh: str | None = None
    social_title: str | None = None
    titles: list[list[str]] = field(default_factory=list)
    """The text of each <title>, as it comes."""

    @property
    def title(self) -> str | None:
        """The first <title> with a text, else og:title."""
        texts = (" ".join("".join(title).split()) for title in self.titles)
        return next(filter(None, texts), self.social_title)

    def note(self, tag: str, given: dict[str, str], within: Sequence[str]) -> None:
        """Note what an element says that stands within others of these names."""
        if tag == "html":
            self.language = self.language or given.get("lang", "").strip() or None
        elif tag == "title" and "svg" not in within:
            self.titles.append([])
        elif tag == "base" and self.base is None and "href" in given:
            self.base = given["href"].strip()
        elif tag == "link" and "canonical" in given.get("rel", "").lower().split():
            self.canonical = self.canonical or given.get("href", "").strip() or None
        elif tag == "meta" and given.get("property") == "og:title":
            self.social_title = " ".join(given.get("content", "").split()) or None
        elif tag == "meta" and given.get("http-equiv", "").strip().lower() == "refresh":
            # What is for readers without scripts leads the others nowhere.
            content = given.get("content", "") if DROPPED.isdisjoint(within) else None
            self.refresh = content if self.refresh is None else self.refresh
