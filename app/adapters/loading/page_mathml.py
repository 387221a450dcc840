"""Reads the formulas of web pages: as the TeX that they give, or else written in one line."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

TEX = "application/x-tex"
"""The encoding of an annotation that MathML gives to a formula."""

TOKENS = {"mi", "mn", "mo", "mtext", "ms"}
NOT_SHOWN = {"annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts"}
OPENING, CLOSING = frozenset("([{\u27e8\u2308\u230a"), frozenset(")]}\u27e9\u2309\u230b!%'\u2032")
SEPARATORS = frozenset(",;")
GLUED = frozenset("|\u2016/.\u2032'")
"""Operators without blanks around them."""

PRIMES = frozenset("'\u2032\u2033\u2034")
LARGE = frozenset("\u2211\u220f\u222b\u222c\u222e\u22c3\u22c2\u2207\u2202")
"""Sums, products and the like, which stand before what they are applied to."""

INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b\u200c\u200d\ufeff"))
"""Signs that say what is meant where nothing is written."""

ATOM = re.compile(r"\w*|[^\w\s]|\([^()]*\)|\[[^\[\]]*\]")
"""What needs no brackets around it."""


class _Term(NamedTuple):
    """A part of a formula as it is written."""

    text: str
    is_operator: bool = False

    @property
    def awaits_term(self) -> bool:
        """Whether a term begins after it, so that an operator there is the sign of one."""
        return self.is_operator and self.text not in CLOSING | GLUED


BEGINNING = _Term("(", is_operator=True)
"""What stands before the first part of a row."""


@dataclass
class _Open:
    """An element that is being read, and the parts in it so far."""

    tag: str
    given: dict[str, str]
    parts: list[_Term] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


class Formula:
    """A `<math>` element, whose elements and texts come one after another."""

    def __init__(self, given: dict[str, str]) -> None:
        self._alternative = given.get("alttext", "")
        self._is_hidden = given.get("aria-hidden") == "true"
        self._tex: list[str] = []
        self._stack = [_Open("math", given)]

    def begins(self, tag: str, given: dict[str, str]) -> None:
        """An element begins within the formula."""
        self._stack.append(_Open(tag, given))

    def take(self, text: str) -> None:
        """There is a text in the element that began last."""
        element = self._stack[-1]
        if element.tag in TOKENS:
            element.texts.append(text)
        elif element.tag != "annotation":
            if text.strip():
                element.parts.append(_Term(_single_spaced(text)))
        elif element.given.get("encoding", "").lower() == TEX:
            self._tex.append(text)

    def ends(self) -> None:
        """The element that began last has ended."""
        element = self._stack.pop()
        self._stack[-1].parts.append(_term(element))

    def written(self) -> str:
        """The formula's TeX if the page gives it, or else its signs in one line."""
        tex = " ".join((self._alternative or "".join(self._tex)).split())
        if tex or self._is_hidden:
            return f"${tex}$" if tex else ""
        return _row(self._stack[0].parts)


def _term(element: _Open) -> _Term:
    tag = element.tag
    if tag in TOKENS:
        text = _single_spaced("".join(element.texts).translate(INVISIBLE))
        return _Term(text, tag == "mo" and not text.isalnum() and text not in LARGE)
    if tag in NOT_SHOWN:
        return _Term("")
    parts = element.parts[:1] if tag == "semantics" else element.parts
    if tag == "msqrt":
        return _Term(f"\u221a{_grouped(_row(parts))}")
    written = _written(element.given, tag, [part.text for part in parts])
    if written is not None:
        return _Term(written)
    # An operator in a row of its own stays one.
    return parts[0] if len(parts) == 1 else _Term(_row(parts))


def _written(given: dict[str, str], tag: str, texts: list[str]) -> str | None:
    """How an element of these parts is written; None where they only follow each other."""
    if tag in SEPARATED:
        return SEPARATED[tag].join(filter(None, texts))
    if tag == "mfenced":
        inner = ", ".join(filter(None, texts))
        return f"{given.get('open', '(')}{inner}{given.get('close', ')')}"
    if tag == "mfrac" and given.get("linethickness", "1").startswith("0"):
        return " choose ".join(texts)
    arguments, write = WRITTEN.get(tag, (0, _grouped))
    return write(*texts) if arguments and len(texts) == arguments else None


def _row(parts: Sequence[_Term]) -> str:
    """Terms one after another, with blanks around what is calculated with."""
    written: list[str] = []
    before = BEGINNING
    for part in parts:
        if part.text:
            written.append(" " * _are_apart(before, part) + part.text)
            is_sign = part.is_operator and part.text not in SEPARATORS and before.awaits_term
            before = BEGINNING if is_sign else part
    return "".join(written)


def _are_apart(before: _Term, part: _Term) -> bool:
    if part.is_operator and part.text in CLOSING | SEPARATORS:
        return False
    if part.is_operator and part.text in OPENING | GLUED:
        return before.awaits_term and before.text not in OPENING
    if before.is_operator and before.text in GLUED:
        return part.is_operator
    return not before.is_operator or before.text not in OPENING


def _scripts(base: str, lower: str, upper: str) -> str:
    lower = f"_{_grouped(lower)}" if lower else ""
    upper = upper if PRIMES.issuperset(upper) else f"^{_grouped(upper)}"
    return f"{_grouped(base)}{lower}{upper}"


def _over(base: str, upper: str) -> str:
    is_accent = len(upper) == 1 and not upper.isalnum()
    return f"{_grouped(base)}{upper}" if is_accent else _scripts(base, "", upper)


def _grouped(text: str) -> str:
    return text if ATOM.fullmatch(text) else f"({text})"


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


SEPARATED = {"mtable": "; ", "mtr": ", ", "mlabeledtr": ", "}
"""What stands between the parts of an element."""

WRITTEN: dict[str, tuple[int, Callable[..., str]]] = {
    "msup": (2, lambda base, upper: _scripts(base, "", upper)),
    "msub": (2, lambda base, lower: _scripts(base, lower, "")),
    "msubsup": (3, _scripts),
    "munder": (2, lambda base, lower: _scripts(base, lower, "")),
    "mover": (2, _over),
    "munderover": (3, _scripts),
    "mfrac": (2, lambda above, below: f"{_grouped(above)}/{_grouped(below)}"),
    "mroot": (2, lambda base, degree: f"{_grouped(base)}^(1/{_grouped(degree)})"),
}
"""How elements of so many parts are written."""
