"""Makes headings of those that head a part of a page only: not in its notes, but in its lists.

Each stands before all that is said of what it names.
"""

from itertools import chain, islice

from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement

from app.adapters.loading.html_elements import ASIDE, HEADINGS
from app.adapters.loading.page_tree import children_of, class_names, elements_in, holds
from app.adapters.splitting.html_headings import names_a_box

TITLES_OF_BOXES = HEADINGS - {"h1"}
OF_PAGES = {"article", "main"}
"""Which are no boxes, whatever their class."""

NOT_IN_BOLD = {"b", "strong", "p", "div", "pre"}

LISTS_OF_SECTIONS = {"blocklist", "blocklistlast"}
"""Classes of lists of a single section each, as javadoc wrote them until Java 15."""

RIGHT_OF_NAMES = {"rightside", "sub-heading"}
"""Classes of what rustdoc shows at the right of a name, or below the title of a page. Other pages
have them for their subtitles and notes."""

BESIDE_NAMES = {"since", "src"}
"""Classes of what rustdoc shows there: since when it is so, and a link to the source."""

SECTIONS = {"article", "section"}
MOST_OTHER_ITEMS = 10
"""A list is one of sections if no more than one item in so many begins without a heading."""


def put_versions_below_names(soup: BeautifulSoup) -> None:
    """Exchange a heading and what is shown at its right: it would end the section above.

    Pages of rustdoc write there since which version something is stable.
    """
    for beside in [found for found in elements_in(soup, {"span"}) if _is_of_rustdoc(found)]:
        texts = list(beside.contents)
        if texts and isinstance(texts[-1], str) and texts[-1].strip() == "·":  # before "Source"
            texts.pop()
        heading = next((node for node in beside.next_siblings if _is_seen(node)), None)
        if isinstance(heading, Tag) and heading.name in HEADINGS:
            title = list(heading.contents)
            heading.clear()
            beside.clear()
            beside.name, heading.name = heading.name, "p"
            beside.attrs, heading.attrs = heading.attrs, beside.attrs
            beside.extend(title)
            heading.extend(texts)
        elif len(texts) < len(beside.contents):
            beside.clear()
            beside.extend(texts)


def _is_of_rustdoc(span: Tag) -> bool:
    if RIGHT_OF_NAMES.isdisjoint(class_names(span)):
        return False
    shown = chain([span], elements_in(span, {"span", "a"}))
    return any(not BESIDE_NAMES.isdisjoint(class_names(element)) for element in shown)


def _is_seen(node: PageElement) -> bool:
    return isinstance(node, Tag) or _is_text(node)


def make_titles_of_boxes(soup: BeautifulSoup) -> None:
    """Make paragraphs of the headings of notes, and of those in asides: the text goes on below."""
    has_one_heading: dict[int, bool] = {}
    headings = elements_in(soup, TITLES_OF_BOXES)
    for heading in [found for found in headings if _is_title_of_box(found, has_one_heading)]:
        heading.name = "p"
        if not holds(heading, NOT_IN_BOLD):
            bold = soup.new_tag("strong")
            children = list(heading.contents)
            heading.clear()
            bold.extend(children)
            heading.append(bold)


def _is_title_of_box(heading: Tag, has_one_heading: dict[int, bool]) -> bool:
    if any(ASIDE in around.attrs for around in heading.parents):
        return True
    box = _box_of(heading)
    if box is None or box.name in OF_PAGES:
        return False
    # A wrapper of the whole page may have such a class, too, but not for a single heading.
    if id(box) not in has_one_heading:
        has_one_heading[id(box)] = len(list(islice(elements_in(box, HEADINGS), 2))) == 1
    return has_one_heading[id(box)]


def _box_of(heading: Tag) -> Tag | None:
    """The nearest box that a heading may be the title of, by its class and those around it."""
    parent = heading.parent
    if parent is None or has_box_word(heading) or has_box_word(parent):
        return parent
    around = parent.parent
    return around if around is not None and has_box_word(around) else None


def has_box_word(element: Tag) -> bool:
    """Whether the class of an element says that it is a note, or the title of one."""
    classes = class_names(element)
    return bool(classes) and names_a_box(" ".join(classes))


def unfold_lists_of_sections(soup: BeautifulSoup) -> None:
    """Make blocks of lists whose items begin with a heading: in an item, it heads nothing."""
    for found in list(elements_in(soup, {"ul", "ol"})):
        items = children_of(found, {"li"})
        others = sum(not _begins_with_heading(item) for item in items)
        has_sections = MOST_OTHER_ITEMS * others <= len(items)
        if items and has_sections and (len(items) > 1 or _holds_section(found, items[0])):
            for element in (found, *items):
                element.name = "div"


def _begins_with_heading(item: Tag) -> bool:
    """Whether the first text of an item stands in a heading in it."""
    first = next((node for node in item.descendants if _is_text(node)), None)
    for around in first.parents if first is not None else ():
        if around is item:
            return False
        if around.name in HEADINGS:
            return True
    return False


def _is_text(node: PageElement) -> bool:
    return isinstance(node, str) and bool(node.strip())


def _holds_section(found: Tag, item: Tag) -> bool:
    """Whether the only item of a list is a part of the page and no item, by its markup."""
    classes = {name.lower() for name in class_names(found)}
    first = next((node for node in item.children if isinstance(node, Tag)), None)
    return not LISTS_OF_SECTIONS.isdisjoint(classes) or (
        first is not None and first.name in SECTIONS
    )
