"""Text that was written for a terminal or a printer, as these show it."""

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, and where the cursor goes
    r"|\x1b\][^\x07\x1b\r\n\t]*(?:\x07|\x1b\\)"  # the address of a link, the title of a window
    r"|\x1b[()][0-9A-B]"  # which signs are shown
)
_STRUCK_OVER = re.compile(r"[^\s\x08]\x08(?=[^\s\x08_])|\x08_|(?<=_)\x08 ")
"""Bold is a letter upon itself (`N`, backspace, `N`), underlined is one upon a line."""


def as_shown(text: str) -> str:
    """The text without escape sequences, and without the letters that others are printed upon.

    `man` and logs in colour are full of both, between the letters of words. Lines stay.
    """
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return _STRUCK_OVER.sub("", text) if "\x08" in text else text
