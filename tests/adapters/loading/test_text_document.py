import hashlib
import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.adapters.loading.frontmatter import read_frontmatter
from app.adapters.loading.text_document import document_from_bytes
from app.adapters.loading.titles import find_title
from app.errors import SourceUnreadableError
from app.search.licences import is_permissive
from tests.processor_speed import is_within


def document(text, name="guide.md"):
    return document_from_bytes(text.encode(), name=name, document_id=name, source_uri=f"/d/{name}")


def framed(block):
    """The block between the lines of its language, with a text below it."""
    rule = "+++" if "=" in block else "---"
    return f"{rule}\n{block}\n{rule}\ntext"


FULL = """---
title: Configuration Guide
document_id: config-guide-v1
source_url: https://docs.example.com/config
category: Engineering/Security
tags: [auth, " oauth ", auth]
license: MIT
---

# Other heading

Content here...
"""

FULL_IN_TOML = """+++
title = 'Configuration Guide'
document_id = "config-guide-v1"  # anything unique
source_url = "https://docs.example.com/config"
category = "Engineering/Security"
tags = ["auth", " oauth ",
  "auth"]
license = "MIT"

[params]
title = "Not this one"
+++

# Other heading

Content here...
"""


FULL_IN_JSON = """{
  "title": "Configuration Guide",
  "document_id": "config-guide-v1",
  "source_url": "https://docs.example.com/config",
  "category": "Engineering/Security",
  "tags": ["auth", " oauth ", "auth"],
  "license": "MIT",
  "params": {"title": "Not this one", "weight": 1.10, "menu": null}
}

# Other heading

Content here...
"""


@pytest.mark.parametrize("text", [FULL, FULL_IN_TOML, FULL_IN_JSON], ids=["YAML", "TOML", "JSON"])
def test_frontmatter_is_read_and_is_not_text(text):
    loaded = document(text)
    assert loaded.title == "Configuration Guide"
    assert loaded.document_id == "config-guide-v1"
    assert loaded.source_uri == "https://docs.example.com/config"
    assert loaded.category == "Engineering/Security"
    assert loaded.tags == ("auth", "oauth")
    assert loaded.licence == "MIT"
    assert loaded.content == "\n# Other heading\n\nContent here...\n"
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    "block",
    [
        "Title: Guide\nTags: a, b\nLICENSE: MIT",
        'Title = "Guide"\nTags = ["a", "b"]\nLICENSE = "MIT"',
    ],
    ids=["YAML", "TOML"],
)
def test_names_of_frontmatter_may_be_capitalised(block):
    loaded = document(framed(block))
    assert (loaded.title, loaded.tags, loaded.licence) == ("Guide", ("a", "b"), "MIT")


@pytest.mark.parametrize("names", [("title", "Title"), ("Title", "title")])
def test_a_name_of_frontmatter_in_lower_case_comes_before_the_same_in_capitals(names):
    block = "\n".join(f"{name}: {name}" for name in names)
    assert document(framed(block)).title == "title"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("# Große Straße\n\n".encode() + b"gr\xfcn, " + "äöüÄÖÜ".encode(), 3),
        ("---\ntitle: ä\n---\nüöäüöä".encode() + b"\xff\r\nend", 4),
        (b"\xef\xbb\xbfgood\rbad \xff", 2),
        (b"\xef\xbb\xbfwritten \xef\xbf\xbd\nbad \xff", 2),
        ("\ufeffgood\nodd".encode("utf-16-le") + b"x", 2),
    ],
)
def test_bytes_that_cannot_be_read_cost_a_warning_that_says_where(data, line):
    loaded = document_from_bytes(data, name="a.md", document_id="a.md", source_uri="/d/a.md")
    assert "\ufffd" in loaded.content
    assert len(loaded.warnings) == 1
    assert loaded.warnings[0].startswith(f"In line {line} stand bytes that are no utf-")


def test_a_replacement_character_that_the_author_wrote_is_no_damage():
    assert document("A decoder shows \ufffd for what it cannot read.").warnings == ()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("category: [Engineering]", "category is a list"),
        ("title: {en: Guide}", "title is a list or a mapping"),
        ("license:\n  name: MIT", "license is a list or a mapping"),
        ("tags: {a: b}", "tags are a mapping"),
        ("tags: [a, [b], {c: d}]", "tags hold lists or mappings"),
        (f"tags: {list(range(101))}", "tags are more than 100"),
        ("date: 2026-02-30", "date is no date"),
        ("updated: last week\ndate: 2026-11-22", "updated is no date"),
        (f"lang: {'x' * 65}", "lang is too long"),
        ("licence: <b>MIT</b>", "licence is not written as SPDX"),
        ("category = ['Engineering']", "category is a list"),
        ("[title]\nen = 'Guide'", "title is a list or a mapping"),
        ("license.name = 'MIT'", "license is a list or a mapping"),
        ("tags = {a = 'b'}", "tags are a mapping"),
        ("tags = ['a', ['b'], {c = 'd'}]", "tags hold lists or mappings"),
        (f"tags = {list(range(101))}", "tags are more than 100"),
    ],
)
def test_what_frontmatter_says_and_nobody_can_use_costs_a_warning(lines, problem):
    (warning,) = document(framed(lines)).warnings
    assert warning.startswith(f"The frontmatter's {problem}")


def test_fields_without_a_value_and_names_that_nobody_knows_cost_no_warning():
    lines = "title:\ntags: null\ncategory: ~\nlayout: {a: b}\nkeywords: [c]"
    assert document(framed(lines)).warnings == ()
    assert document(framed("title = ''\ntags = []\nlayout = {a = 1}\ndraft = true")).warnings == ()


@pytest.mark.parametrize(
    ("line", "language"),
    [
        *(("lang: en", "en"), ("language: pt-BR", "pt-BR"), ("lang: [a]", None)),
        *(("lang = 'en'", "en"), ("language = 'pt-BR'", "pt-BR"), ("lang = ['a']", None)),
    ],
)
def test_the_language_is_that_of_the_frontmatter(line, language):
    assert document(framed(line)).language == language


def test_a_licence_too_long_to_be_stored_is_none_that_permits_anything():
    cut = document("---\nlicence: " + "MIT OR " * 40 + "MIT\n---\ntext").licence
    assert len(cut) == 200
    assert not is_permissive(cut)
    whole = " OR ".join(["MIT"] * 28)
    assert document(f"---\nlicence: {whole}\n---\ntext").licence == whole


def lines_from(text, first_line):
    """The text from this line on, as any editor counts lines."""
    return "".join(re.findall(r"[^\r\n]*(?:\r\n|\n|\r|\Z)", text)[first_line - 1 :])


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
@pytest.mark.parametrize(
    ("text", "first_line"),
    [(FULL, 9), (FULL_IN_TOML, 13), (FULL_IN_JSON, 10)],
    ids=["YAML", "TOML", "JSON"],
)
def test_content_is_the_file_from_its_first_line_on(text, first_line, ending):
    text = text.replace("\n", ending)
    loaded = document(text)
    assert (loaded.title, loaded.tags) == ("Configuration Guide", ("auth", "oauth"))
    assert loaded.first_line == first_line
    assert loaded.content == lines_from(text, first_line)


@given(
    st.sampled_from(["---", "+++"]),
    st.text(alphabet="-+a:=. \n\r\t'\"[]{}&*!#\\", max_size=60),
    st.sampled_from(["\n", "\r"]),
)
@example("---", "---\rtext", "\r")
@example("---", "a: b\r---\ntext", "\r")
@example("+++", "+++\rtext", "\r")
@example("+++", "a = 'b'\r+++ \ntext", "\r")
def test_whatever_the_frontmatter_no_line_of_text_moves(rule, block, ending):
    text = f"{rule}{ending}{block}"
    told = read_frontmatter(text)
    assert not told.text or told.text == lines_from(text, told.first_line)


def test_the_hash_is_sha256_of_the_content():
    loaded = document("---\ntitle: x\n---\nGröße")
    assert loaded.content_hash == hashlib.sha256("Größe".encode()).hexdigest()


def test_values_are_taken_as_they_are_written():
    loaded = document("---\ntitle: 2024-01-01\ndocument_id: 007\ntags: a, yes,, 1.0\n---\ntext")
    assert (loaded.title, loaded.document_id) == ("2024-01-01", "007")
    assert loaded.tags == ("a", "yes", "1.0")


def test_values_of_toml_that_are_no_text_are_taken_as_such():
    lines = (
        "title = 2024-01-01T10:00:00Z\ndocument_id = 7\ntags = [true, 1.10, 10:30:00]\nlang = nan"
    )
    loaded = document(framed(lines))
    assert (loaded.title, loaded.document_id) == ("2024-01-01T10:00:00+00:00", "7")
    assert (loaded.tags, loaded.language) == (("true", "1.10", "10:30:00"), "nan")


def test_values_of_json_that_are_no_text_are_taken_as_such():
    block = '"title": 1.10, "document_id": 7,\n"tags": [true, 12, "a, b"], "lang": null'
    loaded = document(f"{{\n{block}\n}}\ntext")
    assert (loaded.title, loaded.document_id, loaded.language) == ("1.10", "7", None)
    assert (loaded.tags, loaded.warnings, loaded.content) == (("true", "12", "a", "b"), (), "text")


@pytest.mark.parametrize(
    "text",
    [
        *('{\n"title": 1\n}\n', "{\ntitle: 1\n}\ntext", '{ "title": 1 }\ntext'),
        *('{\n"title": 1\n }\ntext', '{\n"name": "x",\n"version": 1\n}\n{\n"name": "y"\n}\n'),
    ],
)
def test_braces_that_hold_no_frontmatter_are_text(text):
    assert (document(text).content, document(text).warnings) == (text, ())


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ('"title": "Secret" "b"', "Expecting ',' delimiter in line 2."),
        ('"a": 1,\n\n"b": Secret', "Expecting value in line 4."),
        ('"a": ' + "[" * 1000, "more than 20 levels deep."),
        ('"a": ' + '{"a": ' * 500, "more than 20 levels deep."),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_broken_json_costs_a_warning_and_stays_in_the_text(block, reason, ending):
    text = f"{{\n{block}\n}}\n# Heading\n".replace("\n", ending)
    loaded = document(text)
    (warning,) = loaded.warnings
    assert warning.startswith("The frontmatter cannot be read: ")
    assert warning.endswith(reason)
    assert "Secret" not in warning
    assert (loaded.content, loaded.first_line, loaded.title) == (text, 1, "Heading")


@pytest.mark.parametrize("empty", ["", "~", "null", "''", "[]", "{}", "[[a]]"])
def test_values_that_say_nothing_leave_the_defaults(empty):
    field = f"title: {empty}\ndocument_id: {empty}\ntags: {empty}\nsource_url: {empty}"
    loaded = document(f"---\n{field}\n---\n# Heading")
    assert (loaded.title, loaded.document_id, loaded.tags) == ("Heading", "guide.md", ())
    assert loaded.source_uri == "/d/guide.md"


@pytest.mark.parametrize(
    "block",
    [
        "title: [unclosed",
        "title: a: b: c",
        "\ttabs: 1",
        "just words",
        "# Welcome",
        "\n# no field, but a remark\n",
        "- a\n- list",
        "a: *unknown",
        "a: " + "[" * 1000,
        "a: " + "{a: " * 500,
        "!!python/object/apply:os.system [echo]\nx",
    ],
)
def test_broken_frontmatter_costs_a_warning_and_stays_in_the_text(block):
    text = f"---\n{block}\n---\n# Heading\n"
    loaded = document(text)
    assert len(loaded.warnings) == 1
    assert "frontmatter" in loaded.warnings[0]
    assert (loaded.content, loaded.first_line) == (text, 1)


@pytest.mark.parametrize(
    ("block", "title", "tags", "category"),
    [
        ("title: Docker: a guide\ntags: [a, b]\ncategory: Ops", "Docker: a guide", "ab", "Ops"),
        ("# why\nTitle: [Beta] Guide\n\ntags:\n- a\n  # and\n- b", "[Beta] Guide", "ab", None),
        ("title: @remix-run/node\ntags: a", "@remix-run/node", "a", None),
        ("title: One\ntitle: bind:", "bind:", "", None),
        ('description: Use it when: never\ntitle: "A guide"', "A guide", "", None),
        ("title: {#if ...}\ntags: [a,\n  b\n]\ncategory: *unknown", "{#if ...}", "ab", None),
        ("title: 'What's new'\ntags: a", "What's new", "a", None),
        ("title: {{ replace .Name }}\ntags: a", "Heading", "a", None),
        ("title: A guide\n  in: two: lines\ntags: a: b", "Heading", "", None),
        ("tags: a\nA sentence.\ntitle: a: b", "Heading", "a", None),
        ("A sentence.\ntitle: a: b", "Heading", "", None),
        ("title: " + "[" * 1000, "[" * 300, "", None),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_fields_that_can_be_read_by_themselves_are_in_broken_yaml(
    block, title, tags, category, ending
):
    text = f"---\n{block}\n---\n# Heading\n".replace("\n", ending)
    loaded = document(text)
    assert (loaded.title[:300], loaded.tags, loaded.category) == (title, tuple(tags), category)
    assert len(loaded.warnings) == 1
    assert (loaded.content, loaded.first_line) == (text, 1)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_a_heading_between_two_rules_stays_a_title(ending):
    text = "---\n# Welcome\n---\n\nBody\n".replace("\n", ending)
    loaded = document(text)
    assert (loaded.title, loaded.content) == ("Welcome", text)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_broken_yaml_is_broken_in_a_line_of_the_file(ending):
    block = 'title: "a\u2028b"\nx: \u0085 y\ntags: [a'
    (warning,) = document(f"---\n{block}\n---\n# Heading\n".replace("\n", ending)).warnings
    assert warning.endswith(" in line 5.")  # where the block ends and the list does not


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("title = 'a'\ntitle = 'b'", "(at line 3, column"),
        ("title = [unclosed", "(at line 2, column"),
        ("title: of YAML", "(at line 2, column"),
        ("date = 2024-02-30", "(at line 2, column"),
        ("number = 0x" + "f" * 10_000, "digits"),
        ("a = " + "[" * 1000, "more than 20 levels"),
        ("a = " + "{a = " * 500, "more than 20 levels"),
        ("a.'b c'.\"d\" ." * 10 + "a = 1", "more than 20 levels"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_broken_toml_costs_a_warning_and_stays_in_the_text(block, reason, ending):
    text = f"+++\n{block}\n+++\n# Heading\n".replace("\n", ending)
    loaded = document(text)
    (warning,) = loaded.warnings
    assert warning.startswith("The frontmatter cannot be read: ")
    assert reason in warning
    assert (loaded.content, loaded.first_line) == (text, 1)


@pytest.mark.parametrize(
    "text",
    [
        "---\na: *Secret\n---\nText",
        "---\na: *-Secret\n---\nText",
        "---\na: !Secret!b c\n---\nText",
        "+++\n[Secret]\na = 1\n[Secret]\n+++\nText",
        '+++\n["a\'b".Secret]\na = 1\n["a\'b".Secret]\n+++\nText',
        "+++\nSecret = {a = 1}\nSecret.b = 1\n+++\nText",
        "+++\na = {Secret = 1, Secret = 2}\n+++\nText",
        '+++\na = {"b\'Secret" = 1, "b\'Secret" = 2}\n+++\nText',
    ],
)
def test_what_is_told_of_a_broken_frontmatter_quotes_no_names_in_it(text):
    (warning,) = document(text).warnings
    assert " line " in warning
    assert "Secret" not in warning


@pytest.mark.parametrize(
    "block",
    [
        'a = "' + "b.[{" * 30 + '"',
        "a = '" + "b.[{" * 30 + "'",
        'a = """\n' + 'b.[{"\\"""' * 30 + '"""',
        "a = '''\n" + "b.[{'" * 30 + "'''",
        "# " + "b.[{" * 30 + "\na = 1",
        "a = [" + "1.5, [2.5], " * 30 + "]",
        "[b.c]\n" + "".join(f"x.y{number} = 1\n" for number in range(30)),
    ],
)
def test_what_only_looks_nested_is_read(block):
    loaded = document(framed(f"title = 'Guide'\n{block}"))
    assert (loaded.title, loaded.warnings) == ("Guide", ())


@pytest.mark.parametrize(
    "block",
    [
        *("a." * 32_000 + "a = 1", "[" + "a." * 16_000 + "a]\n" + "b = 1\n" * 5000),
        *('"""\\' * 16_000 + "=", '"\\' * 30_000 + "=", "='" * 30_000, "a = [" + "[]," * 20_000),
        *("tags: a: b\n" * 5000, "tags:\n" + "- a: b: c\n" * 5000, "title: " + "x: " * 20_000),
    ],
)
def test_frontmatter_made_to_take_long_is_judged_in_good_time(block):
    started = time.process_time()
    assert document(framed(block)).warnings
    assert is_within(1, started)


def test_python_tags_build_nothing():
    loaded = document("---\ntitle: !!python/name:os.system x\nn: !!int abc\n---\ntext")
    assert (loaded.title, loaded.warnings) == ("x", ())


def test_an_alias_bomb_stays_small():
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    block = "\n".join(["a0: &a0 [x]", *levels, "title: *a11", "tags: *a11"])
    loaded = document(f"---\n{block}\n---\n# Heading")
    assert (loaded.title, loaded.tags) == ("Heading", ())


def test_escapes_cannot_bring_in_what_bytes_could_not():
    loaded = document('---\ntitle: "a\\0b\\ud800c"\ncategory: "x\\ny"\n---\ntext')
    assert loaded.title == "a b?c"
    assert loaded.category == "x y"


def test_a_source_url_that_is_no_web_address_is_not_used():
    loaded = document("---\nsource_url: javascript:alert(1)\n---\ntext")
    assert loaded.source_uri == "/d/guide.md"
    assert len(loaded.warnings) == 1


@pytest.mark.parametrize(
    "text",
    [
        *("---\nno end\n", "text\n---\na: b\n---\n", "----\na: b\n----\nx"),
        *("+++\na = 1\n", "text\n+++\na = 1\n+++\n", "++++\na = 1\n++++\nx"),
        *("+++\na = 1\n---\nx", "---\na: b\n+++\nx", " +++\na = 1\n+++\nx"),
    ],
)
def test_rules_that_frame_no_frontmatter_are_text(text):
    assert document(text).content == text


def test_only_markdown_has_frontmatter():
    text = "---\ntitle: x\n---\ntext"
    assert document(text, "notes.txt").content == text


@pytest.mark.parametrize("text", ["", " \n\t\n", "\ufeff", "---\ntitle: x\n---\n\n"])
def test_a_document_without_text_is_refused(text):
    with pytest.raises(SourceUnreadableError) as refused:
        document(text)
    assert refused.value.detail == "No content to index"


@pytest.mark.parametrize(
    ("text", "suffix", "title"),
    [
        ("intro\n\n## Second level ##\n# First", ".md", "Second level"),
        ("```\n# code\n```\n# Real { #anchor .x }", ".md", "Real"),
        ("~~~~\n# code\n~~~\n# code\n~~~~~\n# Real", ".md", "Real"),
        ("````\n# never closed", ".md", None),
        ("1. ```sh\n   # code\n   ```\n\n# Real", ".md", "Real"),
        ("- ~~~\n      ~~~\n  # code\n  ~~~\n# Real", ".md", "Real"),
        ("- ``` never closed\n\n# Real", ".md", "Real"),
        ("```\n    ```\n# code\n```\n# Real", ".md", "Real"),
        ("Title\r\n=====\r\n", ".md", "Title"),
        ("Title\n---", ".md", "Title"),
        ("- item\n---\n\n# Real", ".md", "Real"),
        ("# **Bold** `code` and [link](x)", ".md", "Bold code and link"),
        ("# The `__init__` method", ".md", "The __init__ method"),
        ("# ``a ` b`` and `**`", ".md", "a ` b and **"),
        ("# __Bold__ snake__case [`__doc__`](x)", ".md", "Bold snake__case __doc__"),
        ("# One ` mark", ".md", "One mark"),
        ("# my\\_func \\<T\\> and C\\#", ".md", "my_func <T> and C#"),
        ("# AT&amp;T &copy;", ".md", "AT&T ©"),
        ("# [Foo][1]", ".md", "Foo"),
        ("# T <!-- c -->", ".md", "T"),
        ("# *Foo* _bar_", ".md", "Foo bar"),
        ("# GET /items/{id}", ".md", "GET /items/{id}"),
        ("<h1>&amp;lt; is \\*less*</h1>", ".md", "&lt; is \\*less*"),
        ("The ``x`` of :mod:`a.b` &amp; *c*\n===", ".rst", None),
        ("A longer title\n====\n\nx\n\nSub\n---", ".rst", "A longer title"),
        ("====\nA longer title\n====\n\nx\n\nSub\n---", ".rst", "A longer title"),
        ("Go\n==\n\nx\n\nSub\n---", ".rst", "Go"),
        ("The repository [#repo]_\n=======================", ".rst", "The repository"),
        (":mod:`shelve` it\n================\n\n.. note::\n   x", ".txt", "shelve it"),
        ("text\n\nTitle\n=====", ".txt", None),
        ("\n.. _label:\n.. a comment\n   of two lines\n\nTitle\n=====", ".txt", "Title"),
        (":tocdepth: 2\n:orphan:\n\n.. _label:\n\n=====\nTitle\n=====", ".txt", "Title"),
        (".. _label:\n\ntext\n\nTitle\n=====", ".txt", None),
        ("...\n\nTitle\n=====", ".txt", None),
        ("# a comment\ntext", ".txt", None),
        ("a <!-- " * 9000 + "\n---", ".md", None),
        (
            "The ``x`` of :mod:`a.b` &amp; *c*\n=================================",
            ".rst",
            "The x of a.b &amp; c",
        ),
        ('<h1 align="center">Superproject</h1>\n\n## Install', ".md", "Superproject"),
        (
            '<div>\n    <H1\n  id=x><img src="a">Super <b>p</b>roject\n&amp; co</H1>\n</div>',
            ".md",
            "Super project & co",
        ),
        ("<h1><img src=logo.png></h1>\n\n## Install", ".md", "Install"),
        ("<h1>\n\nIn *two* lines\n\n</h1>", ".md", "In *two* lines"),
        ("# First\n<h1>Second</h1>", ".md", "First"),
        ("text about <h1>x</h1>\n\n    <h1>code</h1>\n\n# Real", ".md", "Real"),
        ("```\n<h1>code</h1>\n```\n<!-- <h1>x</h1> -->\n<h2>No</h2>\n# Real", ".md", "Real"),
        ("<h1>never closed\n\n# Real", ".md", "Real"),
        ('<a></a>\n\n<div>\n  <h3 align="x">\n Best\n</h3>\n</div>\n\n## About', ".md", "Best"),
        ("<h6>A tagline</h6>\n\nReal\n====", ".md", "Real"),
        ("<h2>Real</h2>\n\nIn it\n---\n\n# No", ".md", "Real"),
        ("<h2>Real</h2>", ".md", "Real"),
        ("<h1>\n\n![Real](logo.svg)\n\n</h1>\n\n## No", ".md", "Real"),
        ("<h1>Real</h1>\n# No", ".md", "Real"),
        ("# <a id='x'></a>\n\n# Real", ".md", "Real"),
        ("#hashtag\n    # indented\n", ".md", None),
        ("#\n# Real", ".md", "Real"),
        ("<!--\n# TODO rewrite\n\n```\n-->\n\n# Real", ".md", "Real"),
        ("<!-- one line -->\n# Real", ".md", "Real"),
        ("{% comment %}\n# no\n{% endcomment %}\n%%\n# no\n%%\n# Real", ".md", "Real"),
        ("   <!--\nNo\n==\n--> # no\n# Real", ".md", "Real"),
        ("<PRE class='x'>\n\n# no\n</pre>\n# Real", ".md", "Real"),
        ("<style>\n# no\n</style>\nReal\n---", ".md", "Real"),
        ("```\n<!--\n```\n# Real", ".md", "Real"),
        ("<preface>\n\n# Real", ".md", "Real"),
        ("<!--\n# never closed", ".md", None),
        ("{/*\n# TODO rewrite\n\n```\n*/}\n\n# Real", ".mdx", "Real"),
        ("Notes on the\n<script> tag\n\n# Real", ".md", "Real"),
        ("{% highlight sh %}\n# no\n\n```\n{% endhighlight %}\n# Real", ".md", "Real"),
        ("1. {{< highlight sh >}}\n# no\n{{< /highlight >}}\n# Real", ".md", "Real"),
        (":::{code-block} sh\n# no\n:::\n# Real", ".md", "Real"),
        ("$$\na\n=\nb\n$$\n# Real", ".md", "Real"),
        ("$$ a pid\n\n# Real\n$$", ".md", "Real"),
        ("{% highlight sh %}\n:::{code}\n# Real", ".md", "Real"),
        ("```\n$$\n```\n# Real\n$$", ".md", "Real"),
        ("# " + "x" * 1000, ".md", "x" * 300),
        (
            "PEP: 8\nTitle: Style Guide\n for Code\nAuthor: x\n\nIntro\n=====",
            ".rst",
            "Style Guide for Code",
        ),
        ("=====\nTitle\n=====\n", ".rst", "Title"),
        (".. _anchor:\n\nTitle\n-----\n", ".rst", "Title"),
        ("==== ====\na    b\n==== ====\n\nTitle\n~~~~~", ".rst", "Title"),
        ("Title\n==", ".rst", None),
        ("# no heading in reST", ".rst", None),
        ("My notes\n========\n", ".txt", "My notes"),
        ("# a comment\nrequirement", ".txt", None),
        ("", ".md", None),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["Unix", "Windows", "old Mac"])
def test_the_title_is_the_first_heading(text, suffix, title, ending):
    assert find_title(text.replace("\r\n", "\n").replace("\n", ending), suffix) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("% podman-run 1\n\n## NAME\npodman\\-run - Run\n", "podman-run 1"),
        ("% git(1) *User* Manuals\n% A. Author\n% June 2014\n\n# NAME\n", "git(1) User Manuals"),
        ("% A title\n  in two lines\n% A. Author\n\n# Introduction\n", "A title in two lines"),
        ("%\n% A. Author\n\n# Introduction\n", "Introduction"),
        ("%% a remark\n\n# Guide\n", "Guide"),
        ("%title\n\n# Guide\n", "Guide"),
        ("Text.\n\n% no title\n\n# Guide\n", "Guide"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["Unix", "Windows"])
def test_a_title_block_of_pandoc_comes_before_the_first_heading(text, title, ending):
    assert document(text.replace("\n", ending)).title == title


BROKEN = "---\ntitle: Guide: how to deploy\ntags: [a]\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"{BROKEN}---\n\n# Real Title", "Real Title"),
        (f"{BROKEN}...\n\nReal\n----\n", "Real"),
        (f"{BROKEN}--- \n\ntext", None),
        (f"---\n# a comment\n\n{BROKEN[4:]}---\n# Real Title", "Real Title"),
        ('---\n"quoted: name": [\n---\n# Real Title', "Real Title"),
        (f"{BROKEN}\n# Never closed", "Never closed"),
        ("---\n\n# Between\n\nText of it.\n\n---\n\n## Below", "Between"),
        ("---\n\nBetween two rules: no\n\n---\n\n# Below", "Below"),
        ("---", None),
        ("---\n---\n# Real Title", "Real Title"),
        ("+++\n# a comment\ntitle = Guide\n\n# more\n[x]\n+++ \n\n# Real Title", "Real Title"),
        ("+++\n[params]\n# a comment\n+++\n\ntext", None),
        ("+++\n\n# Between\n\nText of it.\n\n+++\n\n## Below", "Between"),
    ],
)
def test_a_frontmatter_that_cannot_be_read_gives_no_title(text, title):
    assert find_title(text, ".md") == title


def test_the_label_of_a_tab_is_no_title():
    assert find_title("# [CLI](#tab/cli)\n\nRun it.\n\n---\n\n# Clean up\n", ".md") == "Clean up"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Graph view shows notes.\n\n## Settings\n", None),
        ("`BRPOPLPUSH` waits, as [`RPOPLPUSH`](x.md) does not.\n\n## Pattern: Queue\n", None),
        ("See `SCAN`.\n\n## Example\n", None),
        ("它会保存录音。\n\n## 设置\n", None),
        ("Released on 2022/07/22.\n\n## Improvements\n", None),
        ("_It was written for Python 3._\n\n## Install\n", None),
        ("এটি গ্রাফ দেখায়।\n\n## সেটিং\n", None),
        ("இது வரைபடம் உள்ளது.\n\n## அமைப்பு\n", None),
        ("នេះជាក្រាហ្វ។\n\n## ការកំណត់\n", None),
        ("ما هذا؟\n\n## إعدادات\n", None),
        ("เรียนรู้วิธีเปลี่ยนรูปลักษณ์ของโน้ตโดยใช้ธีมที่สร้างโดยชุมชน\n\n## การตั้งค่า\n", None),
        ("[หน้าแรก](a.md) | [การตั้งค่า](b.md)\n\n## โน้ต\n", "โน้ต"),
        ("Part 1.\nVersion: 2.0.\n\n## Guide\n", "Guide"),
        ("<p align=center>A fast client.</p>\n\n<h2>Install</h2>\n", None),
        ("Graph view shows notes.\n\n# Graph view\n\n## Settings\n", "Graph view"),
        ("![Logo](https://a.b/c.svg)\n[Home](../README.md) | v1.2\n\n## Guide\n", "Guide"),
        ("1. [Install](#install)\n2. [Use](#use)\n\n## Guide\n", "Guide"),
        ("import X from './x.js';\n\n## Guide\n", "Guide"),
        ("<!--\nLicensed as is. No warranty.\n-->\n\n## Guide\n", "Guide"),
        ("<style>\n/* Wide. Very. */\n</style>\n\n## Guide\n", "Guide"),
        ("---\nlayout: guide: how\nsummary: Do it. Now.\n---\n\n## Guide\n", "Guide"),
        ("> This is out of date.\n\n## Guide\n", "Guide"),
        ("[//]: # (This file is made. Do not edit.)\n\n## Guide\n", "Guide"),
        ("[a]: https://a.b 'A page. Of it.'\n\n## Guide\n", "Guide"),
        ("```yaml\nabout: How to. Now.\n```\n\n## Guide\n", "Guide"),
        ("| Date |\n| --- |\n| Soon. |\n\n## Guide\n", "Guide"),
        ("[a] shows it.\n\n## Settings\n", None),
        ("```\ncode\n```\n\nIt shows notes.\n\n## Settings\n", None),
        ("## Guide\n\nText.\n\n## More\n", "Guide"),
    ],
)
def test_a_lesser_heading_below_a_sentence_is_a_sections(text, title):
    assert find_title(text, ".md") == title
    assert document(text, "Graph view.md").title == (title or "Graph view")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("One title\nin two lines\n===\n", "One title in two lines"),
        ("Text:\n\nA title\n---\n", "A title"),
        ("```\ncode\n```\nA title\n---\n", "A title"),
        ("- item\nstill the item\n===\n", None),
        ("1. One\n======\n\nText\n\n1.1 Scope\n---------\n", "1. One"),
        ("1. One\n======\nfoo\n1.1 Scope\n---------\n", "1. One"),
        ("Text.\n\n*The* one\n=========\n", "The one"),
        ("1. item\n---\n\n1. item\n2. item\n-------\n\n# Real", "Real"),
        ("- item\n------\n\n# Real", "Real"),
        ("Title\n=====\n\nText\n\n1. One\n------", "Title"),
    ],
)
def test_a_title_may_be_underlined_in_several_lines(text, title):
    assert find_title(text, ".md") == title


@pytest.mark.parametrize("name", ["guide.qmd", "guide.Rmd", "guide.mkd"])
def test_frontmatter_is_read_in_markdown_under_any_name(name):
    loaded = document("---\ntitle: Lamps\ntags: [red]\n---\ntext\n", name)
    assert (loaded.title, loaded.tags) == ("Lamps", ("red",))
    assert (loaded.content, loaded.first_line) == ("text\n", 5)


@pytest.mark.parametrize(
    "name",
    [
        "lamps.yaml",
        "lamps.txt",
        "lamps.rst",
        "Dockerfile",
        "lamps.py",
        "deploy",
        "values.yaml.tmpl",
    ],
)
def test_what_looks_like_frontmatter_elsewhere_is_text(name):
    text = "---\ntitle: Lamps\nkind: Service\n---\ntext\n"
    loaded = document(text, name)
    assert (loaded.content, loaded.warnings) == (text, ())


@pytest.mark.parametrize("name", ["app.py", "app.YML", "app.toml"])
def test_the_title_of_code_is_the_name_of_its_file_whatever_comments_it_begins_with(name):
    assert document("# -*- coding: utf-8 -*-\n\n# Copyright\n\nx = 1\n", name).title == "app"


def test_without_a_heading_the_title_is_the_name_of_the_file():
    assert document("text", "read.me.md").title == "read.me"


@given(st.text(), st.sampled_from([".md", ".rst", ".txt"]))
def test_any_text_has_a_title_of_one_short_line_or_none(text, suffix):
    title = find_title(text, suffix)
    assert title is None or (
        title == title.strip() and not set("\r\n") & set(title) and 0 < len(title) <= 300
    )


@pytest.mark.parametrize(
    "line", ["# x" + " " * 100_000 + "y", "# x {" + " " * 100_000 + "{", "# x" + "` `` " * 20_000]
)
def test_a_title_in_a_line_of_any_length_is_found_in_good_time(line):
    started = time.process_time()
    assert (find_title(line, ".md") or "").startswith("x")
    assert is_within(2, started)


def test_a_title_of_many_long_lines_is_found_in_good_time():
    started = time.process_time()
    assert find_title(("a <!-- " * 250 + "\n") * 400 + "---", ".md") is None
    assert find_title(("a <!-- " * 250 + "\n") * 398 + "\n# Real", ".md") == "Real"
    assert is_within(2, started)


def test_headings_in_html_that_nothing_closes_take_no_time():
    started = time.process_time()
    assert find_title(("<h1>" * 500 + "\n") * 400, ".md") is None
    assert is_within(2, started)


def test_a_pointer_of_git_lfs_is_refused_with_what_to_do():
    """Its three lines would be found in the place of the handbook that they stand for."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    with pytest.raises(SourceUnreadableError, match="git lfs pull"):
        document(pointer, "handbook.md")
    assert document(f"A pointer begins so:\n\n    {pointer}").title == "guide"
