"""Turns a web page into Markdown: its main content, with title, language and canonical address."""

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from app.adapters.loading.encoding import clean
from app.adapters.loading.html_tidy import tidy
from app.adapters.loading.page_content import content_of
from app.adapters.loading.page_markdown import markdown_of
from app.adapters.loading.page_streams import with_streams_in_place
from app.adapters.loading.text_document import is_on_host_of
from app.adapters.loading.titles import MAX_TITLE_CHARACTERS

XHTML = "application/xhtml+xml"
HTML_TYPES = {"text/html", XHTML}

_NO_TAGS = re.compile(
    rb"<!--(?:-?>|.*?--!?>|.*)|<(script|style|noscript|title)(?=[\s/>]).*?(?:</\1|\Z)",
    re.DOTALL | re.IGNORECASE,
)
"""Where what looks like a tag is none that counts."""
_META = re.compile(rb"""<meta(?=[\s/])((?:[^>"']|"[^"]*"|'[^']*')*+)>""", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_XML_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml(?=\s)[^>]*?\sencoding\s*=\s*["']([\w.:-]{1,40})["']""", re.ASCII
)
_CHARSET = re.compile(rb"\s*([\w.:-]{1,40})")
_TYPE_WITH_CHARSET = re.compile(
    rb"""\s*[\w.+-]+/[\w.+-]+\s*[;,].*?charset\s*=\s*["']?\s*([\w.:-]{1,40})""",
    re.IGNORECASE | re.DOTALL,
)
CHARSET_WINDOW_BYTES = 4096
"""Where a declaration may stand; the HTML standard says the first 1,024 bytes."""

HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?>(?:<\?xml[^>]*>\s*|(?><!--(?:-?>|.*?--!?>))\s*)*)<(?:!doctype\s+html|html|head)\b",
    re.IGNORECASE | re.DOTALL,
)
HTML_START_BYTES = 2048

_COMMENT = r"<!--(?:[^-]++|-(?!->))*+-->"
DECLARED_WITHIN = re.compile(
    rf"\A((?:[^<]++|<\?[^<>]*+>|{_COMMENT})*+<!doctype[^<>\[\]]*+)"
    rf"\[(?:[^\[\]\"'<]++|\"[^\"]*+\"|'[^']*+'|{_COMMENT}|<(?!!--))*+\]",
    re.IGNORECASE,
)
"""What a document type declares in brackets, as XHTML with MathML does (`<!ENTITY mathml "…">`). In
HTML the type ends at the first `>`, and `]>` became the first words of the page."""

LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class WebPage:
    """The readable content of a web page."""

    markdown: str
    title: str | None
    canonical: str | None
    """The address that the page gives for itself, when it is on the same host."""
    language: str | None


def begins_like_html(data: bytes) -> bool:
    """Whether data of no declared type is a web page."""
    return bool(HTML_START.match(data[:HTML_START_BYTES]))


def declared_charset(data: bytes) -> str | None:
    """The charset that a page's <meta> declares, or else `<?xml encoding="…"?>` at its start."""
    beginning = data[:CHARSET_WINDOW_BYTES]
    metas = _META.finditer(_NO_TAGS.sub(b"", beginning))
    name = next(filter(None, map(_charset_of, metas)), None)
    if name is None and (declaration := _XML_DECLARATION.match(beginning)):
        name = declaration[1].decode("ascii")
    # A page whose ASCII can be read like this is not in UTF-16, whatever it says.
    return "utf-8" if name and name.lower().startswith("utf-16") else name


def _charset_of(meta: re.Match[bytes]) -> str | None:
    """What a <meta> declares: by `charset`, or by a media type; no words about charsets do."""
    given = {name.lower(): b"".join(values) for name, *values in _ATTRIBUTE.findall(meta[1])}
    content = given.get(b"content", b"") if b"http-equiv" in given else b""
    found = _CHARSET.match(given.get(b"charset", b"")) or _TYPE_WITH_CHARSET.match(content)
    return found[1].decode("ascii", "ignore") if found else None


def read_page(page: str, address: str, *, is_xml: bool = False) -> WebPage:
    """Convert a page fetched from `address`; `markdown` is empty when nothing is to be read.

    `is_xml`: it came as XHTML and not as HTML, which gives `<p/>` another meaning. All ends of
    lines are line feeds first, as the HTML standard has it (13.2.3.5). Raises SourceUnreadableError
    for a page with too many tags.
    """
    page = DECLARED_WITHIN.sub(r"\1", page.replace("\r\n", "\n").replace("\r", "\n"))
    tidied = tidy(with_streams_in_place(page), is_xml=is_xml)
    content = content_of(tidied)
    title = tidied.title or content.heading
    language = tidied.language
    return WebPage(
        markdown=markdown_of(content.html, content.elements),
        title=clean(title)[:MAX_TITLE_CHARACTERS] if title else None,
        canonical=_canonical(tidied.canonical, tidied.base, address),
        language=language if language and LANGUAGE_TAG.fullmatch(language) else None,
    )


def _canonical(link: str | None, base: str, address: str) -> str | None:
    if not link:
        return None
    try:
        target = urljoin(urljoin(address, base), link)
    except ValueError:
        return None
    return clean(target) if is_on_host_of(target, address) else None
