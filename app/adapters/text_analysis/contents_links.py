"""Links to a place of the same page that say its name twice, as lists of contents do.

`[Rate limits](#rate-limits)` says *rate limits* once to a reader. Counted twice, a list of contents
would say every name of the page oftener than the places do that it points to.
"""

import re
from urllib.parse import unquote

_LINK = re.compile(r"\[(?P<text>[^\[\]\n]+)\]\(#(?P<anchor>[^\s()]+)\)")


def without_repeating_anchors(text: str) -> str:
    """The text; links to a place in it whose anchor has the letters of its text lose the anchor."""
    return _LINK.sub(_once, text) if "](#" in text else text


def _once(link: re.Match[str]) -> str:
    if _letters(unquote(link["anchor"])) != _letters(link["text"]):
        return link[0]
    return f"[{link['text']}]"


def _letters(text: str) -> str:
    """Letters and digits, without case: what every generator of anchors keeps of a heading."""
    return "".join(filter(str.isalnum, text.casefold()))
