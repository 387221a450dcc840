"""Endings of words that a stemmer knows only with the accents that `fold` takes away.

With an accent or without, a word is one term here, so the ending is given back to both, and then to
the stemmer. Plurals whose ending Snowball keeps apart from that of the singular are given that one:
`versões` and `versão`.
"""

import regex

_PORTUGUESE = {
    "cao": "ção",
    "coes": "ção",
    "ao": "ão",
    "oes": "ão",
    "avel": "ável",
    "aveis": "áveis",
    "ivel": "ível",
    "iveis": "íveis",
}
_CATALAN = {"cio": "ció", "sio": "sió"}
_FRENCH = {
    "ee": "ée",
    "ees": "ées",
    "iere": "ière",
    "ieres": "ières",
    "ierement": "ièrement",
}
_WRITTEN = {"portuguese": _PORTUGUESE, "catalan": _CATALAN, "french": _FRENCH}
"""Only those that no other word ends in without the accent, or hardly any."""


class Endings:
    """Those of one language; none of most."""

    def __init__(self, language: str) -> None:
        """Any name of a language."""
        self._written = _WRITTEN.get(language, {})
        self._folded = regex.compile(rf"(?<=.)(?:{'|'.join(self._written)})$")

    def __bool__(self) -> bool:
        """Whether the language has any."""
        return bool(self._written)

    def restore(self, word: str) -> str:
        """A folded word with its ending as the stemmer knows it."""
        found = self._folded.search(word, concurrent=False)
        return word[: found.start()] + self._written[found[0]] if found else word
