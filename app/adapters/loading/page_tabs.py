"""Writes the labels of tabs where they are needed: each above what its tab shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, Tag

from app.adapters.loading.html_elements import BUTTON, TAB_LABEL
from app.adapters.loading.page_tree import class_names, elements_in, has_element

TAB_LIST_CLASSES = {"tabbed-labels"}
"""Of the labels of tabs that have no role, as MkDocs Material writes them."""

PANEL_CLASSES = {"tabbed-block"}
"""Of what those tabs show."""

CODE_GROUP = "vp-code-group"
"""VitePress's class for tabs of code: their labels stand in its child of the class `tabs`, and each
child of its child of the class `blocks` is what one of them shows."""

LONGEST_LABEL = 100
"""A list of more letters for each of its tabs is a text: some pages give that role to whatever can
be unfolded."""


@dataclass
class _Tabs:
    """A list of tabs, and the panels that follow beside it, in their order."""

    tab_list: Tag
    tabs: list[Tag] = field(default_factory=list)
    panels: list[Tag] = field(default_factory=list)
    is_unfolding: bool = False
    """Whether the panels stand in the list, each below its tab already."""


def place_labels(soup: BeautifulSoup) -> None:
    """Move each label to its panel; where they do not match, leave out what only switches.

    What is left out is emptied: to take an element from its place takes linear time.
    """
    for found in _tabs_of(soup):
        if len(found.tab_list.get_text(strip=True)) > LONGEST_LABEL * len(found.tabs):
            continue
        labels = [label for tab in found.tabs if (label := tab.get_text(" ", strip=True))]
        if len(labels) == len(found.panels):
            for label, panel in zip(labels, found.panels, strict=True):
                _place(soup, label, panel)
        if found.panels or all(map(_is_switch, found.tabs)):
            found.tab_list.clear()
            continue
        for tab in found.tabs:
            if tab.name != "li":
                tab.name = "div"


def _place(soup: BeautifulSoup, label: str, panel: Tag) -> None:
    """Write a label to where it stands above what its panel shows."""
    if panel.name == "pre":
        panel[TAB_LABEL] = " ".join(label.split())
        return
    paragraph = soup.new_tag("p")
    paragraph.string = label
    panel.insert(0, paragraph)


def _tabs_of(soup: BeautifulSoup) -> list[_Tabs]:
    """All lists of tabs; a panel belongs to the last one before it in the nearest element.

    A list within a list is none, and a tab within a tab is none: each text is looked at once.
    """
    lists: dict[int, _Tabs] = {}
    beside: dict[int, _Tabs] = {}
    tabs: set[int] = set()
    for element in filter(_is_of_tabs, elements_in(soup)):
        around = [id(parent) for parent in element.parents]
        of = next((lists[parent] for parent in around if parent in lists), None)
        if _is_panel(element):
            if of:
                of.is_unfolding = True
            elif found := next((beside[parent] for parent in around if parent in beside), None):
                found.panels.append(element)
        elif of is None and _is_tab_list(element):
            lists[id(element)] = beside[id(_container(element))] = _Tabs(element)
        elif of and _is_tab(element) and tabs.isdisjoint(around):
            of.tabs.append(element)
            tabs.add(id(element))
    return [found for found in lists.values() if not found.is_unfolding]


def _is_switch(tab: Tag) -> bool:
    """Whether a tab leads elsewhere, or does something."""
    return tab.name == "a" or tab.has_attr(BUTTON)


def _container(tab_list: Tag) -> Tag | None:
    """What holds the panels as well: the list's parent, or its, where the list stands alone."""
    parent = tab_list.parent
    while parent is not None and parent.name == "div" and not has_element(tab_list.next_siblings):
        tab_list, parent = parent, parent.parent
    return parent


def _is_of_tabs(element: Tag) -> bool:
    parent = element.parent
    if not element.attrs and (parent is None or not parent.attrs):
        return False
    return _is_tab_list(element) or _is_tab(element) or _is_panel(element)


def _is_tab(element: Tag) -> bool:
    """Whether an element is the label of a tab; in lists that have no role, all children are."""
    parent = element.parent
    is_child = parent is not None and not parent.has_attr("role") and _is_tab_list(parent)
    return element.get("role") == "tab" or is_child


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


def _classes(element: Tag | None) -> Sequence[str]:
    return class_names(element) if element is not None else ()
