"""Manual pages that web pages show as `man` does have their sections as headings."""

import html
import time

import pytest

from app.adapters.loading.web_page import read_page
from app.adapters.splitting.recursive import RecursiveTextSplitter
from tests.processor_speed import is_within

BODY = """
NAME
       lamp - turn lamps on and off

SYNOPSIS
       lamp [-a] <name>

DESCRIPTION
       Turns lamps on.

       -a     All of them.

   Exit status:
       0      if they burn
"""
PLAIN_HEADER = "LAMP(1)                          LAMP(1)\n"
HEADER = "LAMP(1)       User Commands       LAMP(1)\n"
FOOTER = "\nLamps 2                 June                 LAMP(1)\n"


def markdown(text, before=""):
    shown = html.escape(text).replace("NAME", "<b><a name='n'>NAME</a></b>")
    return read_page(f"<body>{before}<pre>\n{shown}</pre>", "https://example.org/lamp").markdown


def test_the_sections_of_a_manual_page_are_headings_and_their_text_stays_as_it_is():
    assert markdown(PLAIN_HEADER + BODY) == (
        "# LAMP(1)\n\n"
        "## NAME\n\n```\n       lamp - turn lamps on and off\n```\n\n"
        "## SYNOPSIS\n\n```\n       lamp [-a] <name>\n```\n\n"
        "## DESCRIPTION\n\n```\n       Turns lamps on.\n\n       -a     All of them.\n```\n\n"
        "### Exit status:\n\n```\n       0      if they burn\n```"
    )


def test_what_header_and_footer_say_is_kept():
    read = markdown(HEADER + BODY + FOOTER)
    assert read.startswith(f"# LAMP(1)\n\n```\n{HEADER}```\n\n## NAME\n")
    assert read.endswith(f"burn\n{FOOTER}```")


def test_a_manual_page_below_a_heading_goes_on_below_it():
    read = markdown(PLAIN_HEADER + BODY, "<h1>Lamps</h1><h3>Commands</h3>")
    chunks = RecursiveTextSplitter(60, 0).split_text(read)
    paths = {chunk.heading_path for chunk in chunks}
    assert ("Lamps", "Commands", "DESCRIPTION", "Exit status:") in paths
    assert PLAIN_HEADER.strip() in read


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"LAMP(1)\n{BODY}",
        f"See lamp(1)      lamp(1)\n{BODY}",
        f"{PLAIN_HEADER}\nlamp - turn lamps on and off\n",
    ],
)
def test_other_blocks_are_code_as_they_were(text):
    assert markdown(text) == f"```\n{text.strip()}\n```"


@pytest.mark.parametrize("around", ["<ul><li>", "<blockquote>", "<dl><dt>a<dd>"])
def test_a_manual_page_within_a_list_or_quote_is_code(around):
    assert "# NAME" not in markdown(PLAIN_HEADER + BODY, around)


def test_many_manual_pages_are_read_in_linear_time():
    page = f"<pre>{PLAIN_HEADER}{BODY}</pre>" * 1_000
    started = time.process_time()
    assert read_page(page, "https://example.org/lamp").markdown.count("# NAME") == 1_000
    assert is_within(5, started)
