"""Reads which elements of a page are open, by the HTML standard where Python's parser is not."""

import html
import re
from abc import ABC, abstractmethod
from collections import Counter
from html.parser import HTMLParser

from app.adapters.loading.html_elements import (
    CLOSES,
    CLOSES_PARAGRAPH,
    HEADINGS,
    INLINE,
    VOID,
)

MAX_DEPTH = 100
"""Elements deeper than this lose their tags, not their text: markdownify fails at about 330."""

FOREIGN = {
    *("svg", "path", "use"),
    *("math", "mrow", "mi", "mn", "mo", "mtd", "mspace", "none", "mprescripts"),
}
"""Elements that `/>` ends; in HTML it ends none."""
FOREIGN_ROOTS = {"svg", "math"}

COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)", re.DOTALL)
"""By the HTML standard (13.2.5.43 on); older patches of Python follow an older one."""


WITH_REFERENCES = {"title", "textarea"}
"""In their text no tag begins, but `&lt;` is a character (13.2.5.2, RCDATA)."""
WITHOUT_TAGS = WITH_REFERENCES | {"iframe", "xmp"}
"""Nor does one in these, beside `script` and `style`. Python's parser knows these two alone, or
in newer patches (such as 3.13.6) more than are read so here, `noframes` among them: the version is
not to decide what a page says."""
_SCRIPTS = {"script", "style"}

_PLAIN_START = re.compile("<([a-zA-Z][a-zA-Z0-9]*)>")
_PLAIN_END = re.compile("</([a-zA-Z][a-zA-Z0-9]*)>")
"""Tags that hold nothing but their names, which are most: Python's parser takes several steps."""

_LEADING_ZEROS = re.compile("&#0+(?=[0-9])")
_TOO_LARGE = re.compile("&#[0-9]{8,};?")
"""A number that no character has, which the standard reads as U+FFFD. Python's parser makes a
number of all its digits, which fails above 4,300 of them."""


class StandardParser(HTMLParser, ABC):
    """Knows the elements that are open, and tells when one begins or ends.

    Those who derive from it say what becomes of elements (`begins`, `ends`, `stands_alone`) and of
    the text in them (`says`). After `feed` comes `finish`, and not `close`: that takes
    quadratic time on what is left when a page ends inside a tag.
    """

    def __init__(self, *, is_xml: bool = False) -> None:
        """`is_xml`: `/>` ends any element, as it does where a page is XHTML by its media type."""
        super().__init__(convert_charrefs=True)
        self._is_xml = is_xml
        self.stack: list[str] = []
        """The names of the elements that are open, the outermost first."""
        self._too_deep: Counter[str] = Counter()
        self._unended: set[str] = set()
        """Of WITHOUT_TAGS, those that nothing ends from here on."""

    def feed(self, data: str) -> None:
        """Read some of the page."""
        super().feed(_TOO_LARGE.sub("\ufffd", _LEADING_ZEROS.sub("&#", data)))

    def updatepos(self, i: int, j: int) -> int:  # noqa: ARG002
        """Where reading goes on; nobody asks in which line that is."""
        return j

    @abstractmethod
    def begins(self, tag: str, given: dict[str, str]) -> None:
        """An element with these attributes is about to be put on the stack."""

    @abstractmethod
    def ends(self, tag: str) -> None:
        """An element has just been taken from the stack."""

    @abstractmethod
    def stands_alone(self, tag: str, given: dict[str, str]) -> None:
        """There is an element that can hold nothing."""

    @abstractmethod
    def says(self, text: str) -> None:
        """There is text in the innermost element that is open."""

    def handle_data(self, data: str) -> None:
        """Read the references where the parser has left them.

        Comments in a title are text by the standard, and some frameworks write them all the same.
        """
        if self.cdata_elem == "title":
            data = COMMENT.sub("", data)
        self.says(html.unescape(data) if self.cdata_elem in WITH_REFERENCES else data)

    def finish(self) -> None:
        """Take in what is left where the page ends inside a tag, and end all elements."""
        rest = self.rawdata
        if rest and not self.cdata_elem and not rest.startswith("<!"):
            self.says(html.unescape(re.sub(r"<[^<>]*>?", " ", rest)))
        self._end_down_to(0)

    def parse_comment(self, i: int, report: bool = True) -> int:  # noqa: ARG002
        """Where the comment ends that begins at `i`; -1: nowhere."""
        comment = COMMENT.match(self.rawdata, i)
        return comment.end() if comment else -1

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """As above, for `<![…`: what is no CDATA ends with the next bracket."""
        if self.rawdata.startswith("<![CDATA[", i):
            return super().parse_marked_section(i, report)
        return self.parse_bogus_comment(i, report)

    def parse_starttag(self, i: int) -> int:
        """Where the tag ends that begins at `i`, or below nought; no text follows `<style/>`."""
        if plain := _PLAIN_START.match(self.rawdata, i):
            tag, end = plain[1].lower(), plain.end()
            self.handle_starttag(tag, [])
            if tag in _SCRIPTS:
                self.set_cdata_mode(tag)
        else:
            end = super().parse_starttag(i)
        if self.cdata_elem not in _SCRIPTS:
            self.clear_cdata_mode()
        if end > 0 and self.rawdata.endswith("/>", i, end):
            if self._is_xml:
                self.clear_cdata_mode()
        elif end > 0 and self.stack and self.stack[-1] in WITHOUT_TAGS:
            self._read_without_tags(self.stack[-1], end)
        return end

    def set_cdata_mode(self, elem: str, *, escapable: bool = False) -> None:  # noqa: ARG002
        """Take what follows for text up to an end tag of this name, as it stands."""
        super().set_cdata_mode(elem)
        self.interesting = re.compile(rf"</{self.cdata_elem}(?=[\t\n\f\r />])", re.I | re.A)

    def parse_endtag(self, i: int) -> int:
        """Where the tag ends that begins at `i`, or below nought; after text, as `</script x>`."""
        if not self.cdata_elem:
            if plain := _PLAIN_END.match(self.rawdata, i):
                self.handle_endtag(plain[1].lower())
                return plain.end()
            return super().parse_endtag(i)
        end = self.rawdata.find(">", i)
        if end >= 0:
            self.handle_endtag(self.cdata_elem)
            self.clear_cdata_mode()
        return end + 1 if end >= 0 else end

    def _read_without_tags(self, tag: str, start: int) -> None:
        """Take what follows for text up to the end of the element.

        Not where nothing ends it: by the standard, that would swallow the rest of the page.
        """
        is_markup = self._is_xml or not FOREIGN_ROOTS.isdisjoint(self.stack)
        if not is_markup and tag not in self._unended:
            self.set_cdata_mode(tag)
            if self.interesting.search(self.rawdata, start):
                return
            self._unended.add(tag)
        self.clear_cdata_mode()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Put an element on the stack, and end what ends where it begins."""
        given = {name: value or "" for name, value in attrs}
        if tag in VOID:
            self.stands_alone(tag, given)
            return
        self._end_implied(tag)
        if tag in HEADINGS and self.stack and self.stack[-1] in HEADINGS:
            self._end_down_to(len(self.stack) - 1)
        if len(self.stack) >= MAX_DEPTH:
            self._too_deep[tag] += 1
            return
        self.begins(tag, given)
        self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """As above, for `<x/>`."""
        self.handle_starttag(tag, attrs)
        if tag in FOREIGN or (self._is_xml and tag not in VOID):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Take the element that ends from the stack, with all that is open in it."""
        if self._too_deep[tag]:
            self._too_deep[tag] -= 1
            return
        # By the HTML standard (13.2.6.4.7), the end of any heading ends the open one.
        ended = HEADINGS if tag in HEADINGS else {tag}
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] in ended:
                self._end_down_to(position)
                return

    def _end_implied(self, tag: str) -> None:
        """End what ends before such an element, since HTML lets authors leave out its end tag."""
        if tag == "body" and "head" in self.stack:
            self._end_down_to(self.stack.index("head"))
        if tag in CLOSES_PARAGRAPH:
            self._end_paragraph()
        if tag not in CLOSES:
            return
        closed, boundary = CLOSES[tag]
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] in boundary:
                return
            if self.stack[position] in closed:
                self._end_down_to(position)
                if tag != "tr":
                    return

    def _end_paragraph(self) -> None:
        """End the paragraph that is open, if nothing but elements within a line are open in it."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] not in INLINE:
                if self.stack[position] == "p":
                    self._end_down_to(position)
                return

    def _end_down_to(self, size: int) -> None:
        while len(self.stack) > size:
            self.ends(self.stack.pop())
