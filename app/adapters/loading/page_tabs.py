"""Writes the labels of tabs where they are needed: each above what its tab shows."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import BUTTON

TAB_LIST_CLASSES = {"tabbed-labels"}
"""Of the labels of tabs that have no role, as MkDocs Material writes them."""

PANEL_CLASSES = {"tabbed-block"}
"""Of what those tabs show."""

CODE_GROUP = "vp-code-group"
"""VitePress's class for tabs of code: their labels stand in its child of the class `tabs`, and each
child of its child of the class `blocks` is what one of them shows."""

LONGEST_LABEL = 100
"""A tab of more letters is no switch: some pages give that role to whatever can be unfolded."""


@dataclass
class _Tabs:
    """The tabs of a list, and the panels that follow beside it, in their order."""

    tab_list: Tag
    tabs: list[Tag]
    panels: list[Tag] = field(default_factory=list)


def place_labels(soup: BeautifulSoup) -> None:
    """Move each label to its panel; where they do not match, leave out what only switches.

    What is left out is emptied: to take an element from its place takes linear time.
    """
    for found in _tabs_of(soup):
        labels = [tab.get_text(" ", strip=True) for tab in found.tabs]
        if max(map(len, labels), default=0) > LONGEST_LABEL:
            continue
        if len(labels) == len(found.panels):
            for label, panel in zip(labels, found.panels, strict=True):
                if label and panel.name != "pre":
                    paragraph = soup.new_tag("p")
                    paragraph.string = label
                    panel.insert(0, paragraph)
        if found.panels or all(map(_is_switch, found.tabs)):
            found.tab_list.clear()
            continue
        for tab in found.tabs:
            if tab.name != "li":
                tab.name = "div"


def _tabs_of(soup: BeautifulSoup) -> list[_Tabs]:
    """All lists of tabs; a panel belongs to the last one before it in the nearest element."""
    found: list[_Tabs] = []
    nearest: dict[int, _Tabs] = {}
    for element in soup.find_all(_is_tab_list_or_panel):
        if _is_panel(element):
            around = (nearest.get(id(parent)) for parent in element.parents)
            if tabs := next(filter(None, around), None):
                tabs.panels.append(element)
        elif element.find(_is_panel) is None:
            tabs = _Tabs(element, list(_labels(element)))
            found.append(tabs)
            nearest[id(_container(element))] = tabs
    return found


def _is_switch(tab: Tag) -> bool:
    """Whether a tab leads elsewhere, or does something."""
    return tab.name == "a" or tab.has_attr(BUTTON)


def _labels(tab_list: Tag) -> Iterator[Tag]:
    by_role = tab_list.find_all(attrs={"role": "tab"})
    yield from by_role or tab_list.find_all(_has_text, recursive=False)


def _has_text(element: Tag) -> bool:
    return bool(element.get_text(strip=True))


def _container(tab_list: Tag) -> Tag | None:
    """What holds the panels as well: the list's parent, or its, where the list stands alone."""
    parent = tab_list.parent
    while parent is not None and tab_list.find_next_sibling() is None and parent.name == "div":
        tab_list, parent = parent, parent.parent
    return parent


def _is_tab_list_or_panel(element: Tag) -> bool:
    return _is_tab_list(element) or _is_panel(element)


def _is_tab_list(element: Tag) -> bool:
    classes = _classes(element)
    if element.get("role") == "tablist" or not TAB_LIST_CLASSES.isdisjoint(classes):
        return True
    return "tabs" in classes and CODE_GROUP in _classes(element.parent)


def _is_panel(element: Tag) -> bool:
    if element.get("role") == "tabpanel" or not PANEL_CLASSES.isdisjoint(_classes(element)):
        return True
    blocks = element.parent
    if blocks is None or "blocks" not in _classes(blocks):
        return False
    return CODE_GROUP in _classes(blocks.parent)


def _classes(element: Tag | None) -> set[str]:
    return set((element.get("class") or ()) if element is not None else ())
