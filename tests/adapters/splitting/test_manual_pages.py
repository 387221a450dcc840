"""Manual pages as `man` writes them are read by their indents, and no other text is."""

import time

import pytest

from app.adapters.loading.titles import find_title
from app.adapters.splitting.recursive import RecursiveTextSplitter
from tests.processor_speed import is_within

MANUAL = """\
LS(1)                            User Commands                           LS(1)

NAME
       ls - list directory contents

SYNOPSIS
       ls [OPTION]... [FILE]...

DESCRIPTION
       List information about the FILEs.

       -a, --all
              do not ignore entries starting with .

   Exit status:
       0      if OK,

       2      if serious trouble
       ---------

Reporting bugs
       Somewhere.

GNU coreutils 9.1               September 2022                           LS(1)
"""


def paths_of(text, name="ls.1.txt"):
    chunks = RecursiveTextSplitter(50, 0).split_text(text, name=name)
    assert "".join(chunk.content for chunk in chunks) == text
    return list(dict.fromkeys(chunk.heading_path for chunk in chunks))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_sections_and_subsections_of_a_manual_page_are_headings(ending):
    assert paths_of(MANUAL.replace("\n", ending)) == [
        (),
        ("NAME",),
        ("SYNOPSIS",),
        ("DESCRIPTION",),
        ("DESCRIPTION", "Exit status:"),
        ("Reporting bugs",),
    ]


@pytest.mark.parametrize(
    ("header", "title"),
    [
        ("LS(1)    User Commands    LS(1)", "LS(1)"),
        ("\n\nopenssl-x509(1SSL)  OpenSSL  openssl-x509(1SSL)", "openssl-x509(1SSL)"),
        ("printf(3)       printf(3)  ", "printf(3)"),
        ("LS(1)    User Commands    CP(1)", None),
        ("LS(1) and LS(1)", None),
        ("The page  LS(1)    User Commands    LS(1)", None),
        ("LS()    User Commands    LS()", None),
    ],
)
def test_the_title_of_a_manual_page_is_its_name(header, title):
    text = f"{header}\n\nNAME\n       ls - list the contents of directories as they are\n"
    assert find_title(text, ".txt") == title
    assert (("NAME",) in paths_of(text)) == (title is not None)


@pytest.mark.parametrize("name", ["ls.md", "ls.rst"])
def test_a_text_whose_language_is_told_is_no_manual_page(name):
    assert paths_of(MANUAL, name) != paths_of(MANUAL)
    assert ("NAME",) not in paths_of(MANUAL, name)


@pytest.mark.parametrize(
    "text",
    [
        "LS(1)  a" + " " * 200_000 + "b",
        "LS(1)  LS(1)\n\n" + "A\n   b\n\n" * 20_000,
        "LS(1)  LS(1)\n\n" + "   a" * 50_000,
    ],
)
def test_a_manual_page_of_any_size_is_read_in_good_time(text):
    started = time.process_time()
    RecursiveTextSplitter(1000, 200).split_text(text, name="ls.txt")
    assert is_within(4, started)
