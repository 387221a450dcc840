"""Reads ignore files, and decides as git does which paths they exclude."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SPECIAL = frozenset(b"*?[\\")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
ALL_BYTES = frozenset(range(1, 256))
SLASH = ord("/")

CHARACTER_CLASSES = {
    # In the C locale, in which git reads them.
    b"alnum": frozenset(b for b in range(128) if chr(b).isalnum()),
    b"alpha": frozenset(b for b in range(128) if chr(b).isalpha()),
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset([*range(1, 32), 127]),
    b"digit": frozenset(b"0123456789"),
    b"graph": frozenset(range(33, 127)),
    b"lower": frozenset(range(ord("a"), ord("z") + 1)),
    b"print": frozenset(range(32, 127)),
    b"punct": frozenset(b for b in range(33, 127) if not chr(b).isalnum()),
    b"space": frozenset(b" \t\n\v\f\r"),
    b"upper": frozenset(range(ord("A"), ord("Z") + 1)),
    b"xdigit": frozenset(b"0123456789abcdefABCDEF"),
}

PatternToken = Literal["*", "**", "/"] | frozenset[int]
"""Part of a pattern: a star, two or more stars, a slash, or one byte out of a set."""


@dataclass(frozen=True)
class IgnoreRule:
    """One line of an ignore file."""

    negated: bool
    folders_only: bool
    name_only: bool
    """Matched against the last name of a path, since the line has no slash but at its end."""
    matcher: re.Pattern[bytes]

    def matches(self, path: bytes, name: bytes, is_folder: bool) -> bool:
        """Whether the line means this path, relative to the ignore file's folder."""
        if self.folders_only and not is_folder:
            return False
        return self.matcher.match(name if self.name_only else path) is not None


@dataclass(frozen=True)
class IgnoreFile:
    """The rules of one ignore file, and the folder they hold for."""

    folder: bytes
    """The folder's path and a final slash, or empty; every path asked about starts with it."""
    rules: tuple[IgnoreRule, ...]
    source: str
    """The file's name, for messages."""

    def decision(self, path: bytes, is_folder: bool) -> bool | None:
        """True: excluded, False: taken in again, None: no rule means this path."""
        if not path.startswith(self.folder):
            return None
        relative = path[len(self.folder) :]
        name = relative[relative.rfind(b"/") + 1 :]
        for rule in reversed(self.rules):
            if rule.matches(relative, name, is_folder):
                return not rule.negated
        return None


def deciding_file(
    files: Sequence[IgnoreFile], path: bytes, is_folder: bool
) -> tuple[IgnoreFile, bool] | None:
    """The last file with a rule for this path, and whether it excludes it; None: no rule.

    `files` stand from the outermost to the innermost. As in git, what lies in an excluded folder
    must not be asked about: it is excluded with it.
    """
    for file in reversed(files):
        decision = file.decision(path, is_folder)
        if decision is not None:
            return file, decision
    return None


def parse_ignore_file(data: bytes, folder: bytes, source: str) -> IgnoreFile:
    """Read an ignore file; lines that can match nothing are left out."""
    lines = data.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    rules = (_parse_line(line.removesuffix(b"\r")) for line in lines)
    return IgnoreFile(folder, tuple(rule for rule in rules if rule), source)


def _parse_line(line: bytes) -> IgnoreRule | None:
    pattern = _without_trailing_spaces(line.partition(b"\0")[0])
    if not pattern or pattern.startswith(b"#"):
        return None
    negated = pattern.startswith(b"!")
    pattern = pattern.removeprefix(b"!")
    folders_only = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    name_only = b"/" not in pattern
    matcher = _compile(pattern.removeprefix(b"/"), name_only)
    if not pattern or matcher is None:
        return None
    return IgnoreRule(negated, folders_only, name_only, matcher)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Without its trailing spaces, but for one that a backslash protects."""
    end = len(line.rstrip(b" "))
    if end == len(line):
        return line
    backslashes = end - len(line[:end].rstrip(b"\\"))
    return line[: end + backslashes % 2]


def _compile(pattern: bytes, name_only: bool) -> re.Pattern[bytes] | None:
    """A regular expression for a pattern, or None when it can match nothing.

    Git compares everything before the first special byte literally and matches the rest as a
    pattern of its own; so in `a/b**/c`, `**` counts as if it stood at the start of a name.
    """
    start = next((i for i, byte in enumerate(pattern) if byte in SPECIAL), len(pattern))
    tokens = _tokens(pattern[start:])
    if tokens is None:
        return None
    names: list[list[PatternToken]] = [[]]
    for part in tokens:
        if part == "/":
            names.append([])
        else:
            names[-1].append("*" if name_only and part == "**" else part)
    # A group that cannot be re-entered (?>…) keeps hostile patterns from taking exponential time.
    expression = re.escape(pattern[:start]) + _names_expression(names) + rb"\Z"
    return re.compile(expression, re.DOTALL)


def _names_expression(names: list[list[PatternToken]]) -> bytes:
    """The expression for names with slashes between; a name `**` is any number of names."""
    runs: list[list[bytes]] = [[]]
    for position, name in enumerate(names):
        last = position == len(names) - 1
        if name == ["**"] and last:
            # After a name it means everything inside, but not the folder itself.
            follows_a_name = any(earlier != ["**"] for earlier in names[:position])
            runs[-1].append(rb".+" if follows_a_name else rb".*")
        elif name == ["**"]:
            runs.append([])
        else:
            runs[-1].append(_name_expression(name) + (b"" if last else b"/"))
    first, *middle = runs
    if not middle:
        return b"".join(first)
    *middle, end = middle
    expression = b"".join(first)
    for run in middle:
        if run:
            # The first place where a run fits leaves the most room for what follows.
            expression += rb"(?>(?:[^/]*/)*?" + b"".join(run) + b")"
    return expression + rb"(?:[^/]*/)*" + b"".join(end)


def _name_expression(tokens: list[PatternToken]) -> bytes:
    """The expression for one name of a path, in which stars match no slash."""
    pieces: list[bytes] = [b""]
    for token in tokens:
        if isinstance(token, frozenset):
            pieces[-1] += _byte_expression(token)
        else:
            pieces.append(b"")
    first, *rest = pieces
    if not rest:
        return first
    middle = b"".join(b"(?>[^/]*?" + piece + b")" for piece in rest[:-1] if piece)
    return first + middle + b"(?>[^/]*" + rest[-1] + rb"(?=/|\Z))"


def _byte_expression(allowed: frozenset[int]) -> bytes:
    if len(allowed) == 1:
        return re.escape(bytes(allowed))
    # Within one name of a path a set never means the slash.
    escaped = b"".join(b"\\x%02x" % byte for byte in sorted(allowed - {SLASH}))
    return b"[" + escaped + b"]" if escaped else b"(?!)"


def _tokens(pattern: bytes) -> list[PatternToken] | None:
    """Take a pattern apart; None when it is malformed and so matches nothing."""
    tokens: list[PatternToken] = []
    position = 0
    while position < len(pattern):
        byte = pattern[position : position + 1]
        position += 1
        if byte == b"*":
            stars = len(pattern) - len(pattern[position:].lstrip(b"*"))
            tokens.append("**" if stars > position else "*")
            position = stars
        elif byte == b"/":
            tokens.append("/")
        elif byte == b"?":
            tokens.append(ALL_BYTES)
        elif byte == b"[":
            read = _read_set(pattern, position)
            if read is None:
                return None
            allowed, position = read
            tokens.append(allowed)
        elif byte == b"\\":
            if position == len(pattern):
                return None
            escaped = pattern[position]
            tokens.append("/" if escaped == SLASH else frozenset([escaped]))
            position += 1
        else:
            tokens.append(frozenset(byte))
    return tokens


def _read_set(pattern: bytes, position: int) -> tuple[frozenset[int], int] | None:
    """Read `[…]` from behind its bracket: the bytes it means, and the position behind it."""
    negated = pattern[position : position + 1] in {b"!", b"^"}
    position += negated
    allowed: set[int] = set()
    previous: int | None = None
    first = True
    while first or pattern[position : position + 1] != b"]":
        first = False
        named = _named_class(pattern, position)
        if named:
            name, position = named
            if name not in CHARACTER_CLASSES:
                return None
            allowed |= CHARACTER_CLASSES[name]
            previous = None
            continue
        is_range = (
            pattern[position : position + 1] == b"-"
            and previous is not None
            and pattern[position + 1 : position + 2] not in {b"", b"]"}
        )
        read = _read_byte(pattern, position + is_range)
        if read is None:
            return None
        byte, position = read
        allowed.update(range(previous, byte + 1) if is_range and previous is not None else [byte])
        previous = None if is_range else byte
    return (ALL_BYTES - allowed if negated else frozenset(allowed)), position + 1


def _named_class(pattern: bytes, position: int) -> tuple[bytes, int] | None:
    """Read `[:name:]` inside a set: the name, and the position behind it."""
    if not pattern.startswith(b"[:", position):
        return None
    end = pattern.find(b"]", position + 2)
    if end < position + 3 or pattern[end - 1 : end] != b":":
        return None
    return pattern[position + 2 : end - 1], end + 1


def _read_byte(pattern: bytes, position: int) -> tuple[int, int] | None:
    position += pattern[position : position + 1] == b"\\"
    if position >= len(pattern):
        return None
    return pattern[position], position + 1
