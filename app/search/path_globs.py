"""Which documents are meant by paths: by their keys, or by globs as git has them."""

import fnmatch
import functools
import re
from collections.abc import Iterable, Iterator

from app.accents import composed

ANY_FOLDERS = "**"

_BRACE = r"\{[^\u0000{},/]*([}/][^\u0000{]*|,[^\u0000{}/]*(/[^\u0000{]*)?)?"
"""A brace that opens no alternatives, and what stands before the next one."""

_WITHOUT_STAR = (
    r"\s[^\u0000*]*[^\u0000*\s][^\u0000*]*|[^\u0000.*\s][^\u0000*]*|\.([^\u0000/*][^\u0000*]*)?"
)
_WITHOUT_ALTERNATIVES = (
    r"(\s+[^\u0000\s{][^\u0000{]*|[^\u0000\s.{][^\u0000{]*|\.([^\u0000/{][^\u0000{]*)?"
    rf"|\s*{_BRACE})({_BRACE})*"
)
PATTERN_OF_GLOBS = f"^({_WITHOUT_STAR}|{_WITHOUT_ALTERNATIVES})$"
"""For the schema: what `require_a_glob` lets pass, if it is any text. It looks neither ahead nor
back, which the regular expressions of Rust (and so Pydantic's) and of Go do not know."""

_ALTERNATIVES = re.compile(r"\{[^{}/]*,[^{}/]*\}")

_CLASS = re.compile(r"\[(\^?)(\]?[^\]]*\])")
"""A class of characters; git negates one with `^` as with `!`."""
_ASCII_START = re.compile(r"[^\x80-\U0010ffffK;`]*")
"""Without the ASCII that NFC makes of other signs: of U+212A, U+037E and U+1FEF."""


def require_a_glob(path: str) -> str:
    """The same path; raises ValueError for what other tools match and no key ever would here.

    A key may hold braces, and an address commas between them: those are alternatives beside a star
    only.
    """
    if path.startswith("./"):
        raise ValueError(f"begins with ./, as no path does; write {path[1:]!r}")
    if "*" in path and _ALTERNATIVES.search(path):
        raise ValueError(
            "has alternatives in braces, which globs do not have here; write a path for each, as "
            'in ["*.md", "*.txt"]'
        )
    return path


class PathFilter:
    """What paths allow: the document of just that key, and all whose keys a glob matches.

    A key may hold signs of globs, as `app/[id]/page.md` does. Keys are those of the file system,
    which may take accents apart from their letters; both are compared in NFC.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        wanted = [composed(path) for path in paths]
        self._keys = frozenset(wanted)
        self._globs = tuple(map(PathGlob, wanted))

    def __bool__(self) -> bool:
        """Whether any path is named; without one, every document is allowed."""
        return bool(self._globs)

    @property
    def literal_starts(self) -> tuple[str, ...]:
        """With one of these every allowed key begins, however its accents are written."""
        starts = (_ASCII_START.match(glob.literal_start) for glob in self._globs)
        return tuple(start[0] for start in starts if start)

    def allows(self, key: str) -> bool:
        """Whether the key is one of the paths, or one of them matches it."""
        if not self._globs:
            return True
        key = composed(key)
        return key in self._keys or any(glob.matches(key) for glob in self._globs)


class PathGlob:
    """One glob: `*` and `?` stay within a folder, `**` stands for any number of folders.

    A glob without `/` matches in every folder: `*.md`, `README*`. `docs/**` and `docs/` mean what
    is in the folder, not a document called `docs`. There is no escape: `[*]` is a star. Matching
    takes time in proportion to glob times key at most, whatever they are.
    """

    def __init__(self, glob: str) -> None:
        self.glob = glob
        self._parts = _parts(glob)

    @property
    def literal_start(self) -> str:
        """What every key that matches begins with."""
        if "/" not in self.glob:
            return ""
        return re.split(r"[*?\[]", self.glob.removeprefix("/"), maxsplit=1)[0]

    def matches(self, key: str) -> bool:
        """Whether the glob matches a whole key."""
        last = self._parts[-1]
        if last is None or not last.match(key.rpartition("/")[2]):
            return False  # the usual answer, and for `*.md` the only question
        if len(self._parts) == 2 and self._parts[0] is None:
            return True
        reached = {0}
        for name in key.split("/"):
            reached = set(self._after(name, reached))
            if not reached:
                return False
        return len(self._parts) in reached

    def _after(self, name: str, reached: Iterable[int]) -> Iterator[int]:
        """The parts that may come next, once the key's next name was read."""
        for place in reached:
            if place == len(self._parts):
                continue
            pattern = self._parts[place]
            if pattern is None:
                yield place
                following = self._parts[place + 1]  # never `**` again, nor the end
                if following is not None and following.match(name):
                    yield place + 2
            elif pattern.match(name):
                yield place + 1


def _parts(glob: str) -> list[re.Pattern[str] | None]:
    """The glob's names; None is `**`, which never comes last, nor twice in a row."""
    names = glob.removeprefix("/").split("/")
    if "/" not in glob:
        names.insert(0, ANY_FOLDERS)
    if names[-1] in ("", ANY_FOLDERS):
        names[-1:] = [ANY_FOLDERS, "*"]  # `docs/` means what is in it, at any depth
    return [
        None if name == ANY_FOLDERS else _name_pattern(name)
        for place, name in enumerate(names)
        if name != ANY_FOLDERS or names[place - 1 : place] != [ANY_FOLDERS]
    ]


@functools.lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    """fnmatch writes patterns that never backtrack further than the last star."""
    return re.compile(fnmatch.translate(_CLASS.sub(_as_fnmatch_has_it, name)))


def _as_fnmatch_has_it(found: re.Match[str]) -> str:
    return f"[{'!' if found[1] else ''}{found[2]}"
