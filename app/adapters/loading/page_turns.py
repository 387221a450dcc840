"""Leaves out links to the pages around a page that only their words tell: Next, Up, Contents."""

import re
from collections.abc import Iterable, Iterator, Set
from itertools import islice, takewhile

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement

from app.adapters.loading.html_elements import INLINE
from app.adapters.loading.page_tree import elements_in

TURNS = {"next", "previous", "prev"}
PLACES = {
    *("up", "top", "home", "contents", "index", "toc", "summary", "references", "search"),
    *("table", "of", "book", "chapter", "section", "page", "first", "last", "start"),
}
"""What else such links say, as LinuxDoc, LaTeX2HTML, GAP, Scribble and SWI-Prolog write them."""
WORDS_OF_TURNS = TURNS | PLACES

SIGNS = re.compile(r"[A-Z\[<>\u00ab\u00bb\u2039\u203a\u2190-\u21ff\u25c0\u25b6]")
"""One of these, or an image, is in what such links say: methods may be called next and previous."""

WORD = re.compile(r"\w+")
MOST_CHARACTERS = 60
"""Of a text that may be one of such links."""
MOST_IN_LINE = 40
"""On either side of such a link: to look at more for each of many takes quadratic time."""
IN_LINE = INLINE | {"img"}


def drop_page_turns(soup: BeautifulSoup) -> None:
    """Leave out each part of a page that says nothing but where the pages around it are."""
    known: dict[int, bool] = {}
    tried: set[int] = set()
    words: dict[int, Set[str] | None] = {}
    for said in list(elements_in(soup, {"a", "b"})):
        if said.decomposed or not _turns(said, words) or _is_name(said):
            continue
        part = said
        while part.parent is not None and part.parent.parent is not None:
            around = part.parent
            if id(around) not in known:
                known[id(around)] = _says_turns([around], least=1)
            if not known[id(around)]:
                break
            part = around
        if id(part) in tried:
            continue  # many links may be in it: to look at it for each takes quadratic time
        tried.add(id(part))
        found = [part] if part.name not in IN_LINE else _line_of(part)
        if _says_turns(found, least=2):
            for node in found:
                if isinstance(node, Tag):
                    node.decompose()
                else:
                    node.extract()


def _turns(element: Tag, known: dict[int, Set[str] | None]) -> bool:
    """Whether a link, or a label in bold type, says that it leads to the next page or the last."""
    words = _words_of_turns(element, known)
    return words is not None and not words.isdisjoint(TURNS)


def _words_of_turns(node: PageElement, known: dict[int, Set[str] | None]) -> Set[str] | None:
    """The words in an element or text if all are such as links around a page say, else None.

    `known` are those of elements that have been looked at: many may be in one another.
    """
    if not isinstance(node, Tag) or node.name == "img":
        said = str(node.get("alt") or "") if isinstance(node, Tag) else str(node)
        words = set(WORD.findall(said.lower()))
        return words if words <= WORDS_OF_TURNS else None
    if id(node) not in known:
        known[id(node)] = _all_words(_words_of_turns(child, known) for child in node.children)
    return known[id(node)]


def _all_words(found: Iterable[Set[str] | None]) -> Set[str] | None:
    """All that have been found; None as soon as there is one of other words."""
    words: set[str] = set()
    for some in found:
        if some is None:
            return None
        words |= some
    return words


def _is_name(element: Tag) -> bool:
    """Whether a link or a label says code, or stands in code or in a name to be defined."""
    around = any(part.name in {"code", "dt"} for part in element.parents)
    within = (part.name for part in element.descendants if isinstance(part, Tag))
    return around or "code" in within


def _line_of(part: Tag) -> list[PageElement]:
    """What stands in one line with a link: all up to the next block on either side."""
    before = list(islice(takewhile(_is_in_line, part.previous_siblings), MOST_IN_LINE + 1))
    if len(before) > MOST_IN_LINE:
        return [part]
    after = list(islice(takewhile(_is_in_line, part.next_siblings), MOST_IN_LINE + 1))
    return [part] if len(after) > MOST_IN_LINE else [*reversed(before), part, *after]


def _is_in_line(node: PageElement) -> bool:
    return not isinstance(node, Tag) or node.name in IN_LINE


def _says_turns(nodes: Iterable[PageElement], *, least: int) -> bool:
    """Whether these say so many places or more, with a sign of being such, and nothing else.

    Behind a label as `Next:`, a link may say what the page is called. Where nothing is a link,
    nothing leads anywhere: buttons of a program are called so, too.
    """
    places, has_link, has_sign, is_label = 0, False, False, False
    for text, is_link in _said(nodes):
        has_link = has_link or is_link
        words = WORD.findall(text.lower())
        if not words:
            has_sign = has_sign or SIGNS.search(text) is not None
        elif is_label and is_link:
            is_label = False
        elif len(text) > MOST_CHARACTERS or not set(words) <= WORDS_OF_TURNS:
            return False
        else:
            places += 1
            has_sign = has_sign or SIGNS.search(text) is not None
            is_label = not is_link and text.rstrip().endswith(":")
    return places >= least and has_sign and (has_link or least == 1)


def _said(nodes: Iterable[PageElement]) -> Iterator[tuple[str, bool]]:
    """What is read of these, one text for each link, and whether it is one."""
    waiting = [iter(nodes)]  # not recursive: each text would be handed on through all levels
    while waiting:
        node = next(waiting[-1], None)
        if node is None:
            waiting.pop()
        elif not isinstance(node, Tag):
            yield str(node), False
        elif node.name == "a":
            yield " ".join(text for text, _ in _said(node.children)), True
        elif node.name == "img":
            yield f"[{node.get('alt') or ''}]", False
        else:
            waiting.append(iter(node.children))
