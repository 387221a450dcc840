"""Path globs on documents' keys, with git's meaning of `*`, `**` and `/`."""

import fnmatch
import functools
import re
from collections.abc import Sequence


class PathGlob:
    """One glob: `*` and `?` stay within a folder, `**` stands for any number of folders.

    A glob without `/` matches in every folder: `*.md`, `README*`. Matching takes time in
    proportion to glob and key, whatever they are.
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
        reached = [True] + [False] * len(self._parts)
        self._skip_folders(reached)
        for name in key.split("/"):
            ahead = [False] * len(reached)
            for place, pattern in enumerate(self._parts):
                if not reached[place]:
                    continue
                if pattern is None:
                    ahead[place] = True
                elif pattern.match(name):
                    ahead[place + 1] = True
            self._skip_folders(ahead)
            reached = ahead
        return reached[-1]

    def _skip_folders(self, reached: list[bool]) -> None:
        for place, pattern in enumerate(self._parts):
            if pattern is None and reached[place]:
                reached[place + 1] = True


def _parts(glob: str) -> Sequence[re.Pattern[str] | None]:
    """The glob's folders; None is `**`. fnmatch writes patterns that never backtrack."""
    names = glob.removeprefix("/").split("/")
    if "/" not in glob:
        names = ["**", *names]
    if names[-1] == "":
        names[-1] = "**"  # `docs/` means what is in it
    return [None if name == "**" else _name_pattern(name) for name in names]


@functools.lru_cache(maxsize=256)
def _name_pattern(name: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(name))
