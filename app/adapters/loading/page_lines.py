"""Writes the lines of a page's Markdown so that only its elements give it structure."""

import re
import string

WRITTEN = "\x02"
"""What stands before a heading, a rule or a fence that an element was written as; no page's text
holds it once that is clean, and none is left in the lines that are given back."""

_BEFORE = r"(?P<before>(?>(?:[ >]|[-+*:] |[0-9]{1,9}[.)] )*))"
"""What may stand before structure on its line: quotes, and the marks of items and definitions."""

WRITTEN_FENCE = re.compile(rf"{_BEFORE}{WRITTEN}(?P<fence>`{{3,}}+)[\w+#-]*")
WRITTEN_LINE = re.compile(rf"{_BEFORE}{WRITTEN}(?:#|---\Z)")

STRUCTURE = re.compile(
    rf"{_BEFORE}(?=#{{1,6}}(?:[ \t]|\Z)|\{{/\*|~{{3}}|`{{3,}}+[^`]*\Z|=++ [= ]*+\Z"
    r"|<(?:!--|(?:script|pre|style|textarea)(?:[ \t>]|\Z))"
    r"|(?><[a-z][^<>]*+>[ \t]*+)*<h[1-6](?:[ \t>]|\Z))",
    re.IGNORECASE,
)
"""A text that would be a heading, a fence, or the ruler of a table, or make raw HTML or a comment
of the lines after it and hide their headings."""

RULES = frozenset("*_")
UNDERLINES = frozenset("=-")
OTHER_UNDERLINES = frozenset(string.punctuation) - RULES - UNDERLINES - frozenset("`\\")
"""Of reStructuredText, where they are as long as what stands above."""

LEAST_SIGNS = 3
"""Of a rule, and of an underline in reStructuredText."""


def tidied_lines(text: str) -> str:
    """Markdown with at most one blank line at a time but in blocks of code, and all else as text.

    A backslash stands before each sign that would give the page a structure it does not have.
    """
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if fence:
            fence = "" if line.lstrip(" >") == WRITTEN + fence else fence
            kept.append(line.replace(WRITTEN, ""))
        elif opening := WRITTEN_FENCE.fullmatch(line):
            fence = opening["fence"]
            kept.append(line.replace(WRITTEN, ""))
        elif WRITTEN_LINE.match(line):
            kept.append(line.replace(WRITTEN, ""))
        elif line or not kept or kept[-1]:
            kept.append(_as_text(line.replace(WRITTEN, ""), kept[-1] if kept else ""))
    return "\n".join(kept).strip()


def _as_text(line: str, above: str) -> str:
    """A line of text, below another, with a backslash before a sign that Markdown would read."""
    if found := STRUCTURE.match(line):
        at = found.end()
    elif _is_underline(line, above):
        at = len(line) - len(line.lstrip(" >") or line.lstrip())
    else:
        return line
    return f"{line[:at]}\\{line[at:]}"


def _is_underline(line: str, above: str) -> bool:
    """Whether a line makes a heading of the one above, or parts it from what follows."""
    body = line.lstrip(" >") or line.strip()
    title = above.strip(" >")
    if not title or not body or body.strip(body[0]):
        return False
    if body[0] in UNDERLINES:
        return True
    is_long = body[0] in RULES or (body[0] in OTHER_UNDERLINES and len(body) >= len(title))
    return is_long and len(body) >= LEAST_SIGNS
