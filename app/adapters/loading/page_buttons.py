"""Tells the buttons of a page that are read, as a part of its text or as a question to unfold."""

from collections.abc import Sequence, Set
from dataclasses import dataclass

from app.adapters.loading.html_elements import (
    HEADINGS,
    classes_of,
    is_tab,
)
from app.adapters.loading.page_roles import CONTENT_ROLES, Role

READ_BUTTONS = HEADINGS | {"dt", "summary", "p"}
"""In which a button is part of the text: a question to unfold, or a word of a sentence; but one
after the text of a heading does something with it, unless it unfolds what is below."""

UNFOLDING_ATTRIBUTES = {"aria-expanded", "aria-controls"}
"""Of buttons that unfold something."""

UNFOLDING_CLASSES = ("accordion", "expand-control")
"""As above, what their classes begin with; of W3Schools and others, and of Confluence."""

WITHOUT_QUESTIONS = {Role.AROUND, Role.HEADER, Role.FORM, Role.MENU}
"""In which what a button unfolds is a menu or a field, and no answer."""


@dataclass(frozen=True)
class Button:
    """A button, and where on its page it stands."""

    given: dict[str, str]
    """Its attributes."""
    around: Sequence[str]
    """The names of the elements that it stands in."""
    roles: Set[Role]
    """What the parts of the page are that it stands in."""
    follows_heading: bool
    """Whether it stands in a heading, behind a text."""

    @property
    def is_text(self) -> bool:
        """Whether it is in a text, or a question; in code it is neither."""
        if READ_BUTTONS.isdisjoint(self.around):
            return self.is_question
        return not self.follows_heading or not UNFOLDING_ATTRIBUTES.isdisjoint(self.given)

    @property
    def is_question(self) -> bool:
        """Whether it stands by itself in the content, above what it unfolds."""
        if is_tab(self.given) or not unfolds(self.given):
            return False
        if not READ_BUTTONS.isdisjoint(self.around) or "header" in self.around:
            return False
        is_in_content = not CONTENT_ROLES.isdisjoint(self.roles)
        return is_in_content and WITHOUT_QUESTIONS.isdisjoint(self.roles)


def unfolds(given: dict[str, str]) -> bool:
    """Whether a button with these attributes unfolds what stands below it, and opens no menu."""
    if given.get("aria-haspopup", "false").lower() != "false":
        return False
    has_class = any(name.startswith(UNFOLDING_CLASSES) for name in classes_of(given))
    return has_class or not UNFOLDING_ATTRIBUTES.isdisjoint(given)
