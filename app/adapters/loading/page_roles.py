"""Recognises, by their markup, the main content of a page and the parts around it."""

import re
from collections.abc import Set
from enum import StrEnum, auto

from app.adapters.loading.html_elements import classes_of

AROUND_CONTENT = {"nav", "footer", "menu", "search"}
ROLES_AROUND_CONTENT = {
    *("navigation", "search", "banner", "contentinfo", "menu", "menubar"),
    *("dialog", "alertdialog"),
}
CLASSES_AROUND_CONTENT = {
    *("bd-sidebar-secondary", "col-sidebar", "onlyprint", "navpath", "printfooter"),
}
"""Classes of what surrounds the content: side columns of Sphinx's theme PyData and of TypeDoc,
which may hold more text than links; additions for printing, of Jupyter Book (title and contents
again) and of MediaWiki (the address); and breadcrumbs of Doxygen, which end with the page's own
name and the program's version."""

FOOTER = "footer"
"""The class or id of a page footer that is no `footer` element, as Asciidoctor, gtk-doc and Doxygen
write it. A section of the text may have it, too; such a section begins with a heading."""
FOOTER_TAGS = {"div", "address", "p", "table"}

HEADER_ID = "titlearea"
"""The id of the banner of Doxygen's pages, with the name and version of the project."""

MODAL_CLASS = "modal"
MENU_CLASSES = {
    *("sidebar", "side-bar", "sidenav", "side-nav", "leftnav", "left-nav", "topnav", "top-nav"),
    *("nav", "navbar", "nav-menu", "navigation", "menu", "main-menu", "breadcrumb", "breadcrumbs"),
    *("toc", "table-of-contents", "theme-doc-toc-desktop", "theme-doc-toc-mobile", "page-toc"),
    *("navigationbar", "dropdown-menu", "tsd-breadcrumb", "t-navbar"),
    *("sphinxsidebar", "docs-sidebar"),
}
"""Classes of elements that are menus if most of their text is in links. The last two lines are of
Qt, Bootstrap, TypeDoc, cppreference, Sphinx's older themes and the theme of OpenStack."""

MENU_IDS = {
    *("sidebar", "toc", "TOC", "nav", "navbar", "navigation", "menu", "breadcrumb", "breadcrumbs"),
    *("column2", "page-header", "path", "page-menu"),
}
"""The same by id, only outside of sections: within them, an id may be the anchor of a heading. The
last line is of Node.js, Apache and Haddock."""

MENU_TAGS = {"div", "ul", "ol", "table", "details", "p"}
"""Elements that such an id makes a menu; headings and sections have ids made from their titles."""

PAGE_TURN_CLASSES = {
    *("navheader", "navfooter", "docnav", "nav-panel", "header", "spirit-nav"),
    *("prev-next-area", "prev-next-bottom"),
}
"""Classes of the links to the next and previous page, as DocBook, Publican, Texinfo, Boost and
Sphinx's theme PyData write them. They contain the titles of those pages, and links are not always
most of their text."""

PAGE_TURN_KEYS = {"n", "p", "u"}
PAGE_TURN_RELATIONS = {"next", "prev", "previous", "up", "contents", "index"}
PAGE_TURN_LINKS = {"left-prev", "right-next"}
"""Access keys, relations (`rel`) and classes of such links."""

AD_CLASSES = {"ad", "ads", "advert", "advertisement", "sponsor", "sponsors", "sponsored", "promo"}
"""Classes of advertisements."""

NOTE_CLASSES = {"footnote", "footnote-list"}
NOTE_ROLES = {"note", "doc-footnote", "doc-endnotes"}
"""Classes and roles of asides that are notes to the text, as docutils writes them. They are content
even on a page that does not mark its main content."""

LABEL_CLASS = "starlight-aside__title"
"""The class of the title of an aside in Starlight. It is hidden from screen readers, which read it
as the label of the aside."""

NOT_DISPLAYED = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


class Role(StrEnum):
    """What an element is to its page: its main content, or something that may be left out."""

    MAIN = auto()
    ARTICLE = auto()
    AROUND = auto()
    """Navigation, footers, dialogs and advertisements."""
    ASIDE = auto()
    HEADER = auto()
    """The header of the page, or of a part that is not marked as content."""
    SECTION_HEADER = auto()
    """The header of a section or article."""
    FOOTER = auto()
    """By its class or id only."""
    FORM = auto()
    MENU = auto()
    """By its class or id only."""
    PAGE_TURN = auto()
    """By its class and the links in it."""
    HIDDEN = auto()
    """Hidden until a script shows it: panels of tabs, and collapsed answers."""
    UNSPOKEN = auto()
    """Hidden from screen readers: icons, repeated text, or a collapsed answer."""


CONTENT_ROLES = {Role.MAIN, Role.ARTICLE}

ROLES_OF_TAGS = {"article": Role.ARTICLE, "form": Role.FORM, "header": Role.SECTION_HEADER}
"""Roles that follow from the tag alone. A header outside of sections has got another role
before."""

TAGS_WITH_ROLES = {"main", "aside", *AROUND_CONTENT, *ROLES_OF_TAGS}
"""Of others, the attributes give them one."""


def role_of(tag: str, given: dict[str, str], *, in_section: bool) -> Role | None:
    """The role of an element with these attributes, if it has one.

    `in_section`: whether it stands in a part that has a header of its own.
    """
    if not given and tag not in TAGS_WITH_ROLES:
        return None
    role, classes = given.get("role", "").lower(), classes_of(given)
    if tag == "main" or role == "main":
        return Role.MAIN
    is_dialog = given.get("aria-modal", "").lower() == "true" or _is_modal(given, classes)
    is_around = tag in AROUND_CONTENT or role in ROLES_AROUND_CONTENT
    if is_around or is_dialog or not classes.isdisjoint(CLASSES_AROUND_CONTENT):
        return Role.AROUND
    return (
        _role_of_hidden(given, role, classes)
        or _role_by_place(tag, role, given, classes, in_section=in_section)
        or _role_of_links(tag, role, given, classes, in_section=in_section)
        or ROLES_OF_TAGS.get(tag)
    )


def _is_modal(given: dict[str, str], classes: Set[str]) -> bool:
    """Whether an element is a dialog as Bootstrap writes it, whose role a script adds."""
    return MODAL_CLASS in classes and given.get("aria-hidden") == "true"


def _role_of_hidden(given: dict[str, str], role: str, classes: Set[str]) -> Role | None:
    if role == "tabpanel" or LABEL_CLASS in classes:
        return None
    if given.get("aria-hidden") == "true":
        return Role.UNSPOKEN
    is_hidden = given.get("hidden", "until-found") != "until-found" or bool(
        NOT_DISPLAYED.search(given.get("style", ""))
    )
    return Role.HIDDEN if is_hidden else None


def _role_by_place(
    tag: str, role: str, given: dict[str, str], classes: Set[str], *, in_section: bool
) -> Role | None:
    if role in NOTE_ROLES or not classes.isdisjoint(NOTE_CLASSES):
        return None
    if tag == "aside" or role == "complementary":
        return Role.ASIDE if AD_CLASSES.isdisjoint(classes) else Role.AROUND
    if in_section:
        return None
    if tag == "header" or given.get("id") == HEADER_ID:
        return Role.HEADER
    is_footer = tag in FOOTER_TAGS and (FOOTER in classes or given.get("id") == FOOTER)
    return Role.FOOTER if is_footer else None


def _role_of_links(
    tag: str, role: str, given: dict[str, str], classes: Set[str], *, in_section: bool
) -> Role | None:
    has_menu_class = not classes.isdisjoint(MENU_CLASSES)
    has_menu_id = tag in MENU_TAGS and given.get("id") in MENU_IDS and not in_section
    if role != "tablist" and (has_menu_class or has_menu_id):
        return Role.MENU
    return None if PAGE_TURN_CLASSES.isdisjoint(classes) else Role.PAGE_TURN


def turns_page(tag: str, given: dict[str, str]) -> bool:
    """Whether an element is a link to the next page, the one before, or the whole they are of."""
    if tag != "a":
        return False
    relations = given.get("rel", "").lower().split()
    has_key = given.get("accesskey", "").lower() in PAGE_TURN_KEYS
    has_class = not PAGE_TURN_LINKS.isdisjoint(classes_of(given))
    return has_key or has_class or not PAGE_TURN_RELATIONS.isdisjoint(relations)
