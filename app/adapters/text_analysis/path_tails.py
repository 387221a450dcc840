"""File names and paths: the terms that the key of a document gives, and those a query asks for.

A document is named by its key or by the last parts of it, in upper or lower case, and where nothing
else is said also without the ending: `docs/guide/Index.md`, `guide/index.md`, `guide/index`. A
longer path names it if it ends with the whole key: `/srv/docs/guide/index.md`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.adapters.text_analysis.analyser import Analyser, fold
from app.adapters.text_analysis.terms import Word

MOST_PARTS = 16
"""Of a path, the last ones; the others are not looked at."""
MOST_CHARACTERS = 256
"""Of a term, and of what may be a path."""
MOST_PATHS = 4
"""That are looked for in one query, the first ones; as many numbered documents beside them."""

ROOT = "/"
"""Before a term that is a whole key."""
NO_ENDING = "."
"""Behind a term from which the ending is taken away: `node.js` is no `node.js.md`."""

ENDING = re.compile(r"(?<=[^/])\.[a-z]\w{0,9}$", re.IGNORECASE)
_SIGN_WITHIN = re.compile(r"[^./][./]\w|\w[-_]+\w")
_PLACE = re.compile(r"(?:#.*|:\d+(?:[-:]\d+)*)$")
"""Where in the document: `#L3-L12`, `:42:7`."""
_HERE = re.compile(r"^(?:(?:~|\.\.?)?/+)+")
_SIGNS_BEFORE = "([{<'\"`@"
_SIGNS_AFTER = ")]}>'\"`.,;:!?"


@dataclass(frozen=True, slots=True)
class AskedPath:
    """A file name or path in a query."""

    ways: tuple[str, ...]
    """Terms for it, the likeliest first."""
    words: tuple[Word, ...]
    """What it says."""


def path_tails(key: str) -> list[str]:
    """The terms for the key of a document: what a query may call it."""
    path = _plain(key)
    named = [*_tails(path), ROOT + path]
    terms = [term for name in named for term in (name, ENDING.sub("", name) + NO_ENDING)]
    return [term for term in terms if len(term) <= MOST_CHARACTERS]


def asked_paths(text: str, analyser: Analyser) -> tuple[AskedPath, ...]:
    """The file names and paths in the plain text of a query.

    A word with an ending or a scheme is one, and so is all of the text, which may have blanks in
    it: then the last parts of it name a document only if these have blanks, too, as those of a
    sentence that ends with a path do not. One word that is all of the text need only have a sign
    within: `pep-0572`, `v1.5.11`, `guide/index`. In a sentence such words (`and/or`, `3.11`) are
    mostly no paths.
    """
    written = text.split()
    alone = len(written) == 1
    if not (alone or "." in text or "://" in text):
        return ()
    asked: dict[tuple[str, ...], AskedPath] = {}
    for said in dict.fromkeys((text.strip(), *written)):
        ways = tuple(dict.fromkeys(_ways(said, alone=alone)))
        if ways and ways not in asked and (words := tuple(analyser.words(said))):
            asked[ways] = AskedPath(ways, words)
            if len(asked) == MOST_PATHS:
                break
    return tuple(asked.values())


# Inside ----------------------------------------------------------------------------------------


def _ways(said: str, *, alone: bool) -> Iterator[str]:
    """As it is written, without signs around it, without the place; then what it may end with."""
    if len(said) > MOST_CHARACTERS:
        return
    bare = said.lstrip(_SIGNS_BEFORE).rstrip(_SIGNS_AFTER)
    for path in dict.fromkeys((said, bare, _PLACE.sub("", bare))):
        has_ending = ENDING.search(path) is not None
        if not (has_ending or "://" in path or (alone and _SIGN_WITHIN.search(path))):
            continue
        whole, *others = _tails(_plain(path))
        yield whole
        if alone:
            yield whole + NO_ENDING
        for tail in others:
            if _has_blank(said) and not _has_blank(_last_parts(path, tail.count("/") + 1)):
                continue  # of a sentence that ends with a path: asked for as a word
            if has_ending:
                yield ROOT + tail
            if alone and "/" in tail:
                yield ROOT + tail + NO_ENDING


def _has_blank(text: str) -> bool:
    return len(text.split()) > 1


def _last_parts(path: str, count: int) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-count:])


def _plain(path: str) -> str:
    """Folded, without blanks, and without what stands before the first name or after the last."""
    storable = path.encode(errors="ignore").decode()  # half a pair of surrogates is in no term
    folded = "".join(fold(storable.replace("\\", "/")).split())
    return _HERE.sub("", folded.rpartition("://")[2]).rstrip("/")


def _tails(path: str) -> list[str]:
    """The longest first."""
    parts = path.split("/")[-MOST_PARTS:]
    return ["/".join(parts[start:]) for start in range(len(parts))]
