"""Makes of a heading, as it is written, what a reader sees of it."""

import html
import re
from dataclasses import dataclass

_ATTRIBUTES = re.compile(
    r"\{:?[ \t]*(?:[#.:][^{}]*|-|[\w-]+=[\"'][^{}]*)\}$"
    r"|(?<=\s)\{:?[ \t]*(?:(?:id|class|data-[\w-]+)=[^\s{}]+|data-[\w-]+)[ \t]*\}$"
)
"""`{ #anchor .class key="value" }` after a title, as Pandoc and Python-Markdown write it; without
quotation marks, names that nothing but HTML has."""

_INLINE_ELEMENTS = (
    "a|abbr|b|bdi|bdo|big|br|button|center|cite|code|data|del|dfn|div|em|font|i|img|input|ins|kbd"
    "|label|mark|nobr|p|picture|q|s|samp|small|source|span|strike|strong|sub|summary|sup|svg|time"
    "|tt|u|var|wbr"
)
_TAG = (
    rf"</?(?:{_INLINE_ELEMENTS})(?:\s[^<>]*)?/?>"
    r"|<[A-Za-z][\w.:-]*\s[^<>]*=\s*[\"'][^<>]*>"
    r"|<[A-Za-z][\w.:-]*\s*/>"
    r"|</[A-Za-z][\w.:-]*\s*>"
    r"|<(?P<pair>[A-Za-z][\w.:-]*)(?:\s[^<>]*)?>"
    r"(?=(?:[^<]++|<(?!/?(?P=pair)\b)){0,50}+</(?P=pair)\s*>)"
)
"""Not `<T>` and `<String>` that nothing closes, which are types far more often than elements; it is
looked for past a few tags, as for each of many tags all others would take quadratic time."""

_SHORTCODE = r"\{\{(?:<[^{}]*>|%[^{}]*%)\}\}"
_INCLUDE = r"\{%-?[ \t]*include(?:_relative|_cached)?[ \t][^{}%]*%\}"
"""Of Hugo and of Jekyll: what they put in its place is not known, icons and badges mostly."""

_TEMPLATE = r"\{\{[^{}]*\}\}|\{%[^{}%]*%\}"
"""What Hugo or Jekyll puts into the address of a link; blanks stand in it."""

_TARGET = rf"(?:<[^<>]*>|(?:{_TEMPLATE}|[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*+)"
_LINK_TITLE = r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
_MARKDOWN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|\{[A-Za-z][\w:+.-]*\}(?P<marked>`+)(?!`)(?P<role>.+?)(?<!`)(?P=marked)(?!`)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|`+"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)"
    r"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>"
    rf"|(?P<placed>{_SHORTCODE}|{_INCLUDE})"
    rf"|<!--.*?-->|\{{/\*.*?\*/\s*\}}|(?P<break><(?:br|img)\b[^<>]*>)|{_TAG}"
    r"|\[\^[^\[\]\s]+\]"
    r"|(?<!\w)(?P<name>__[a-z][a-z0-9]*(?:_[a-z0-9]+)*__)(?!\w)"
    r"|(?P<marks>\*+|_+|(?<!~)~~(?!~))"
    r"|(?<!\w)!?\[\[(?=[^\s\[\]])(?:[^\[\]|]*\|)?(?P<page>[^\[\]|]*[^\s\[\]|])\]\](?![\[(])"
    r"|(?P<opening>!?\[)"
    rf"|\](?P<link>\(\s*{_TARGET}{_LINK_TITLE}\s*\))"
    r"|(?P<closing>\](?:\[[^\[\]]*\])?)"
)
_REST = re.compile(
    r"\\(?P<escaped>.?)"
    r"|``(?P<literal>.+?)``(?!\w)"
    r"|(?<!\w)(?::[\w.+:-]+:|_)?`(?P<text>[^`]+)`(?::[\w.+:-]+:|__?)?"
    r"|(?<![^\s'\"(\[{<\-/:])(?P<reference>[^\W_]++(?:[-._+:][^\W_]++)*+)__?"
    r"(?![^\s'\")\]}>\-/:.,;!?])"
    r"|(?<!\w)\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*(?!\w)"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?!\w)"
    r"|\s*\[(?:#[\w-]*|\*|\d+)\]_(?!\w)"
)
_MARKUP = re.compile(r"[\\{`&<*_~\[\]]")
"""What all markup has at least one of, in Markdown as in reStructuredText."""
_ROLE_TARGET = re.compile(r"(?<=\S)\s*<[^<>]*>$")


def plain_heading(title: str, *, is_rest: bool = False) -> str:
    """The heading on one line, without the markup of Markdown, or else of reStructuredText.

    Links are their text, those of Obsidian and wikis (`[[Page|text]]`) among them, and so are roles
    as MyST writes them in Markdown; emphasis, code and what is struck out lose their marks, HTML,
    comments of MDX and footnotes go, escapes and entities are what they stand for. What stands in
    code stays as it is, and so do names like `__init__`, which Markdown would make bold. Badges,
    which are links of nothing but images, are left out where anything else is left, as are
    shortcodes of Hugo and what Jekyll is to include.
    """
    if not _MARKUP.search(title):
        return " ".join(title.split())
    text = _REST.sub(_rest_text, title) if is_rest else _MarkdownTitle().read(title)
    return " ".join(text.split())


def _rest_text(match: re.Match[str]) -> str:
    if match["text"] is None:
        names = ("literal", "reference", "strong", "emphasis", "escaped")
        found = (match[name] for name in names)
        return next((text for text in found if text is not None), "").rstrip()
    return _role_text(match["text"])


def _role_text(text: str) -> str:
    """What is seen of the text of a role: no target, and of a name `~a.b` its last part."""
    text = _ROLE_TARGET.sub("", text)
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.removeprefix("!")


@dataclass
class _Marks:
    """A run of `*` or `_` that may begin emphasis, or `~~` that may begin what is struck out."""

    piece: int
    count: int


@dataclass(frozen=True)
class _Bracket:
    """An opening bracket that may begin a link or an image."""

    piece: int
    is_in_word: bool
    is_image: bool


class _MarkdownTitle:
    """Reads one title from left to right, as CommonMark reads what stands in a line."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._openings: dict[str, list[_Marks]] = {"*": [], "_": [], "~": []}
        self._brackets: list[_Bracket] = []
        self._images: list[tuple[int, int]] = []
        self._badges: list[tuple[int, int]] = []

    def read(self, title: str) -> str:
        """What is seen of the title."""
        title = _ATTRIBUTES.sub("", title.strip())
        position = 0
        for token in _MARKDOWN.finditer(title):
            self._pieces.append(title[position : token.start()])
            self._pieces.append("")  # marks and brackets remember where they stand
            self._pieces[-1] = self._shown(token)
            position = token.end()
        self._pieces.append(title[position:])
        return self._without_badges() or "".join(self._pieces)

    def _shown(self, token: re.Match[str]) -> str:
        kind = token.lastgroup
        if kind in {"escaped", "code", "name", "address", "page"}:
            return token[kind]
        if kind in {"role", "entity"}:
            return _role_text(token["role"]) if kind == "role" else html.unescape(token[0])
        if kind == "marks":
            return self._emphasis(token)
        if kind in {"opening", "placed"}:
            return self._opening(token) if kind == "opening" else self._badge(token)
        if kind in {"link", "closing"}:
            return self._closing(token)
        return " " if kind == "break" else ""

    def _opening(self, token: re.Match[str]) -> str:
        is_in_word, is_image = _is_word(_before(token)), token[0] == "!["
        self._brackets.append(_Bracket(len(self._pieces) - 1, is_in_word, is_image))
        return token[0]

    def _badge(self, token: re.Match[str]) -> str:
        self._badges.append((len(self._pieces) - 1, len(self._pieces)))
        return token[0]

    def _closing(self, token: re.Match[str]) -> str:
        """A bracket that closes; what follows it tells whether it is a link's."""
        if not self._brackets:
            return token[0]
        opening = self._brackets.pop()
        is_reference = token["closing"] not in {None, "]"} and not opening.is_in_word
        if not token["link"] and not is_reference:
            return token[0]
        self._pieces[opening.piece] = ""
        if opening.is_image:
            self._images.append((opening.piece, len(self._pieces)))
        elif self._is_of_images(opening.piece):
            self._badges.append((opening.piece, len(self._pieces)))
        return ""

    def _is_of_images(self, start: int) -> bool:
        """Whether there are images after this piece, and nothing else."""
        end = len(self._pieces)
        while self._images and not "".join(self._pieces[self._images[-1][1] : end]).strip():
            end, _ = self._images.pop()
            if end < start:
                return False
            if not "".join(self._pieces[start:end]).strip():
                return True
        return False

    def _without_badges(self) -> str:
        pieces = list(self._pieces)
        for start, end in self._badges:
            pieces[start:end] = [""] * (end - start)
        return "".join(pieces).strip()

    def _emphasis(self, token: re.Match[str]) -> str:
        """What is left of marks, once they have closed what they can."""
        mark, count = token[0][0], len(token[0])
        can_open, can_close = _flanks(token)
        openings = self._openings[mark]
        while can_close and count and openings:
            opening = openings[-1]
            used = min(opening.count, count, 2)
            count -= used
            opening.count -= used
            self._pieces[opening.piece] = mark * opening.count
            if not opening.count:
                openings.pop()
        if can_open and count:
            openings.append(_Marks(len(self._pieces) - 1, count))
        return mark * count


def _flanks(token: re.Match[str]) -> tuple[bool, bool]:
    """Whether marks may open and may close emphasis, by what stands beside them."""
    before, after = _before(token), token.string[token.end() : token.end() + 1] or " "
    left = not after.isspace() and (_is_word(after) or not _is_word(before))
    right = not before.isspace() and (_is_word(before) or not _is_word(after))
    if token[0][0] != "_":
        return left, right
    return left and not _is_word(before), right and not _is_word(after)


def _before(token: re.Match[str]) -> str:
    return token.string[max(token.start() - 1, 0) : token.start()] or " "


def _is_word(character: str) -> bool:
    return character.isalnum()
