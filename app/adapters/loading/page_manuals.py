"""Writes a manual page that a web page shows as `man` does, with headings for its sections."""

from app.adapters.loading.page_code import fenced
from app.adapters.loading.page_lines import WRITTEN
from app.adapters.splitting.boundaries import map_lines
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.manual_pages import manual_name, read_manual

DEEPEST = 6
"""The lowest level of a heading in Markdown."""


def manual_page(text: str, level: int) -> str | None:
    """A block of preformatted text by its sections, below a heading of this level (0: of none).

    Their text stays as it is. Where there is no heading yet, the page's name is one. None if the
    block is no manual page.
    """
    if not text.lstrip().partition("\n")[0].rstrip().endswith(")"):
        return None  # as almost all blocks: to map their text takes time
    lines = Lines(text, map_lines(text))
    sections, name = read_manual(lines), manual_name(lines)
    if not sections or name is None:
        return None
    header = text[: sections[0].start]
    written = []
    if level == 0:
        written.append(_heading(1, name))
        level = 1
        says_more = header.replace(name, "").strip()
        header = header if says_more else ""
    written.append(fenced(header, ""))
    ends = [section.start for section in sections[1:]] + [len(text)]
    for section, end in zip(sections, ends, strict=True):
        written.append(_heading(level + section.hashes, section.title))
        written.append(fenced(text[section.end : end], ""))
    return "".join(written)


def _heading(level: int, title: str) -> str:
    return f"\n\n{WRITTEN}{'#' * min(level, DEEPEST)} {title}\n\n"
