"""A heading is what a reader sees of it, in Markdown and in reStructuredText."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.splitting.plain_headings import plain_heading
from app.adapters.splitting.recursive import RecursiveTextSplitter
from tests.processor_speed import is_within


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("[1.4.0](https://example.org/v1.3.0...v1.4.0) (2024-01-01)", "1.4.0 (2024-01-01)"),
        ("[Foo][1] [bar][]", "Foo bar"),
        ("[![Build](b.svg)](x 'y') [a [b] c](<d e>)", "a [b] c"),
        ("express [![NPM V][n]][u] [![Build](x.svg)](y) ![Logo](z)", "express Logo"),
        ("[![a](b) *![c][d]* ](e) [**![f](g)**](h) i [j ![k](l)](m)", "i j k"),
        ("![a](b) [](c) [ ![d](e) f](g) [![h](i)]", "a d f [h]"),
        ("[![Logo](logo.png)](x) [![Build](b.svg)](y)", "Logo Build"),
        ("[x](https://example.org/A_(b)) <https://example.org/c_d>", "x https://example.org/c_d"),
        ("![Logo](logo.png) Foo[^1]", "Logo Foo"),
        ('**core:** Bug <a name="foo"></a>', "core: Bug"),
        ("***both*** and **a *b* c**, __d__", "both and a b c, __d__"),
        ("*Foo* _bar_ **open _a_b_", "Foo bar **open a_b"),
        ("Use `{/*x*/}` {/*use-x*/} {/* a */ }b {/*", "Use {/*x*/} b {/*"),
        ("~~`old`~~ ~~a *b*~~ c~~d~~ ~~open `~~x~~`", "old a b cd ~~open ~~x~~"),
        ("`__init__` ``a ` b`` `<T>` `&lt;` `\\*`", "__init__ a ` b <T> &lt; \\*"),
        ("a<br>b <kbd>Ctrl</kbd> <Badge text='x' /> <A HREF='y'>c</A> <!-- d -->", "a b Ctrl c"),
        ("`tags` <Beta>New</Beta> in <my-el at=x>a *b*</my-el> <T> <K>", "tags New in a b <T> <K>"),
        ("The {py:func}`open` of {class}`~a.b.C`, H{sub}`2`O", "The open of C, H2O"),
        ("{ref}`text <target>` {doc}``a ` b <c>`` {term}`x", "text a ` b {term}x"),
        ("`{py:func}` \\{a}`b <c>` {}`d <e>` {f g}`h`", "{py:func} {a}b <c> {}d <e> {f g}h"),
        ("my\\_func \\<T\\> C\\# \\`x\\` C# foo\\", "my_func <T> C# `x` C# foo\\"),
        ("AT&amp;T &copy; &#35; &x &lt;T&gt;", "AT&T © # &x <T>"),
        ("`a`  b { #anchor .class }", "a b"),
        ("Foo {#bar}", "Foo"),
        ("<a id='x'></a>", ""),
        ("{{% icon-bug %}} Fails at `x` {{<new-in 0.120.0 />}} {#31081}", "Fails at x"),
        ("Sorting {%- include badge.html version=\"4.0\" -%}", "Sorting"),
        ("[A]({{< ref \"/a/b.md\" >}}) [of]({{ '/docs/' | relative_url }}) b", "A of b"),
        ("[A]({{ site.baseurl }}/a/) [of]({% link _docs/a(b).md %}#c \"d\") b", "A of b"),
        ("How a[[0]] is read", "How a[[0]] is read"),
        ("See [[Page|words]], [[Other page]] ![[a.png]] [[a/b#C|d e]] `[[f]]`",
            "See words, Other page a.png d e [[f]]"),
        ("[[1.2.0]](https://a.b) [[docs][1]] [[x]][1] [[ y ]] [[z|]]",
            "[1.2.0] [docs] [x] [[ y ]] [[z|]]"),
        ("Changes to *.html { data-search-exclude }", "Changes to *.html"),
        ("Breadcrumbs { id=navigation-path }", "Breadcrumbs"),
        ("[A]({{< relref \"a.md\" >}}#c) ![b]({{page.img}})", "A b"),
    ],
)  # fmt: skip
def test_of_markdown_a_reader_sees_the_text(title, expected):
    assert plain_heading(title) == expected


@pytest.mark.parametrize(
    "title",
    [
        "snake_case, __init__, *args, **kwargs, 2 * 3 * 4",
        "List<T>, Map<K, V>, <T extends Foo>, a < b > c",
        "[1.0] - 2024, a[i][j] and a](b)",
        *(
            "{{< meta tool-name >}}",
            "{{ page.title }}",
            "{% include a.html %}",
            "The {% url %} tag",
        ),
        *(
            "C#",
            "GET /items/{id}",
            "/a{id=b} {job=c}",
            "f(*args, **kwargs)",
            "~/.bashrc",
            "~5 ~~ ~~~a~~~",
            "Q&A",
            "a*",
        ),
    ],
)
def test_what_is_no_markup_stays(title):
    assert plain_heading(title) == title


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("``asyncio`` and ``*args``", "asyncio and *args"),
        (":mod:`x.y` -- :class:`~a.b.C`, `z`:sub:", "x.y -- C, z"),
        ("`text <https://example.org>`_ `a`__", "text a"),
        ("HTML `<form>` and :ref:`<b>`", "HTML <form> and <b>"),
        ("*emph* **strong** __init__ *a and **b", "emph strong __init__ *a and **b"),
        ("C\\ # \\*args", "C# *args"),
        ("The code [#code]_ of [1]_ a [x]", "The code of a [x]"),
        ("Docutils_ of Python-3.x_, `a b`_ and it__", "Docutils of Python-3.x, a b and it"),
        ("MODULE_LICENSE, _`Target` and x_y_z", "MODULE_LICENSE, Target and x_y_z"),
        ("__init__ _private H_2 ``code_`` name\\_", "__init__ _private H_2 code_ name_"),
        ("unregister_*probe and GET_{FD,ID}", "unregister_*probe and GET_{FD,ID}"),
        ("[Foo](bar) <T> &amp;", "[Foo](bar) <T> &amp;"),
    ],
)  # fmt: skip
def test_of_restructuredtext_a_reader_sees_the_text(title, expected):
    assert plain_heading(title, is_rest=True) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("# Changelog\n\n## [1.0](https://example.org)\n\ntext", "", ("Changelog", "1.0")),
        ("`a` & *b*\n=========\n\ntext", "", ("a & b",)),
        ("`a` &amp; [b](c)\n---\n\ntext", "", ("a & b",)),
        ("`a` &amp; [b](c)\n~~~~~~~~~~~~~~~~\n\ntext", "", ("a &amp; [b](c)",)),
        ("# A\n\n## <a id='x'></a>\n\ntext", "", ("A",)),
        (":mod:`a` &amp; `b`\n==================\n\ntext", "a.rst", ("a &amp; b",)),
        ("# [x](" + "y" * 300 + ") z\n\ntext", "", ("x z",)),
        ("# x " + "[![b](https://example.org/b.svg)](y) " * 40 + "\n\ntext", "", ("x",)),
    ],
)
def test_heading_paths_hold_what_a_reader_sees(text, name, expected):
    chunk = RecursiveTextSplitter(20, 0).split_text(text, name=name)[-1]
    assert chunk.heading_path == expected


@given(st.text("ab_*`[](){}<>!&;\\\"':#/= ~^") | st.text(), st.booleans())
def test_any_heading_is_one_line(title, is_rest):
    plain = plain_heading(title, is_rest=is_rest)
    assert plain == " ".join(plain.split())


@given(st.text("abc XYZ.,:?", max_size=60), st.booleans())
def test_words_without_marks_stay(title, is_rest):
    assert plain_heading(title, is_rest=is_rest) == " ".join(title.split())


@pytest.mark.parametrize("is_rest", [False, True])
@pytest.mark.parametrize(
    "unit",
    [
        *("*a ", "_", "*", "**a*", "`", "` ``", ":a:`", ":", "[", "![", "](", "](a", "](a ", "a-"),
        *("~~", "~~a", "~~a~~ ", "{a}`", "{a}`b <", "{a"),
        *("[![a](b)", "![](b)", "[](b", "[![](b)](c)"),
        *("[[", "[[a", "[[a|", "[[|", "]]", "{ data-a", " { id=a"),
        *("<!--", "{/*", "{/**/", "<a ", "<a b='", "{#", "\\", "&a"),
    ],
)
def test_a_heading_of_any_marks_is_read_in_good_time(unit, is_rest):
    title = (unit * 2000)[:2000]
    started = time.process_time()
    plain_heading(title, is_rest=is_rest)
    assert is_within(0.5, started)


def test_a_paragraph_of_many_different_tags_is_read_in_good_time():
    paragraph = "".join(f"<x{number}>" for number in range(660))
    started = time.process_time()
    assert {plain_heading(paragraph) for _ in range(20)} == {paragraph}
    assert is_within(0.5, started)
