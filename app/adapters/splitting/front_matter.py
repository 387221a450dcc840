"""Recognises front matter that could not be read, and so is still part of the text."""

import re
from dataclasses import dataclass

from app.adapters.splitting.lines import Lines


@dataclass(frozen=True)
class _Form:
    opening: re.Pattern[str]
    field: re.Pattern[str]
    """What a line begins with that names one."""
    closing: re.Pattern[str]


_FORMS = (
    _Form(
        re.compile(r"---[ \t]*$"),
        re.compile(r"[\"']?\w[\w .-]*[\"']?[ \t]*:(?:[ \t]|$)"),
        re.compile(r"(?:---|\.\.\.)[ \t]*$"),
    ),
    _Form(
        re.compile(r"\+\+\+[ \t]*$"),
        re.compile(r"[\"']?\w[\w .-]*[\"']?[ \t]*=|\["),
        re.compile(r"\+\+\+[ \t]*$"),
    ),
)
"""YAML and TOML."""

_GOES_ON = re.compile(r"[ \t#\]}-]")
"""What a line below a blank line or a comment may begin with, other than a field."""


def front_matter_end(lines: Lines) -> int:
    """The index after the front matter that the text begins with; 0 where there is none.

    Its last line would look like an underline, and its comments like headings. It is text between
    two rules if it begins with a blank line, if its first line other than a comment names no field,
    or if prose follows a blank line or a comment in it.
    """
    form = next((form for form in _FORMS if form.opening.match(lines.text(0))), None)
    if form is None or lines.start(0) > 0 or not lines.follows(1):
        return 0
    names_any = is_comment = False
    for index in range(1, len(lines)):
        line = lines.text(index)
        if form.closing.match(line):
            return index + 1 if names_any else 0
        is_field = bool(form.field.match(line))
        begins = is_comment or not names_any or not lines.follows(index)
        if begins and not is_field and not _GOES_ON.match(line):
            return 0
        is_comment = line.startswith("#")
        if not names_any and not is_comment:
            if not is_field:
                return 0
            names_any = True
    return 0
