"""The splitter's choices: natural cuts, overlaps, lines, headings, blocks, limits."""

import time
from itertools import pairwise

import pytest
from token_meters import BytesMeter, PatternMeter, word_piece_meter

from app.adapters.loading.titles import find_title
from app.adapters.splitting.recursive import RecursiveTextSplitter
from app.protocols import TextSplitter
from tests.processor_speed import is_within
from tests.slow import slow


def contents(text: str, size: int, overlap: int = 0) -> list[str]:
    return [chunk.content for chunk in RecursiveTextSplitter(size, overlap).split_text(text)]


def test_a_text_that_fits_is_one_chunk():
    chunk = RecursiveTextSplitter().split_text("One.\n\nTwo.\n")[0]
    assert (chunk.content, chunk.start_index, chunk.end_index) == ("One.\n\nTwo.\n", 0, 11)
    assert (chunk.start_line, chunk.end_line, chunk.chunk_index) == (1, 3, 0)


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n \t\u3000", "\n" * 5000])
def test_empty_text_and_white_space_give_no_chunks(text):
    assert RecursiveTextSplitter(10, 2).split_text(text) == []


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("aa bb cc\n\ndd ee ff\ngg", 11, ["aa bb cc\n\n", "dd ee ff\ngg"]),
        ("aa. bb cc\ndd. ee fff", 11, ["aa. bb cc\n", "dd. ee fff"]),
        ("aa bb cc. dd ee ff gg", 13, ["aa bb cc. ", "dd ee ff gg"]),
        ("aa bb cc) dd ee ff gg", 13, ["aa bb cc) dd ", "ee ff gg"]),
        ("aabbccddeeffgghhii", 13, ["aabbccddeeffg", "ghhii"]),
        ("文字。文字です。文字文字文字文字", 13, ["文字。文字です。", "文字文字文字文字"]),
        ("Er sagt: «Ja.» Und geht weg", 18, ["Er sagt: «Ja.» ", "Und geht weg"]),
    ],
    ids=["paragraph", "line", "sentence", "word", "character", "full-width", "quoted"],
)
def test_the_best_boundary_that_fills_the_chunk_is_taken(text, size, expected):
    assert contents(text, size) == expected


def test_a_better_boundary_that_leaves_the_chunk_nearly_empty_is_passed_over():
    assert contents("Hi\n\n" + "word " * 12, 30)[0] == "Hi\n\nword word word word word "


def test_neighbours_share_whole_sentences_up_to_the_overlap():
    text = "".join(f"Sentence number {number:02}. " for number in range(30))
    chunks = RecursiveTextSplitter(110, 50).split_text(text)
    assert len(chunks) > 5
    for before, after in pairwise(chunks):
        shared = before.end_index - after.start_index
        assert shared == 40
        assert after.content.startswith("Sentence")


def test_no_chunk_begins_with_a_blank_line_where_words_follow():
    text = "\n\n\n".join(f"Paragraph {number} of some words" for number in range(50))
    chunks = RecursiveTextSplitter(100, 60).split_text(text)
    assert len(chunks) > 10
    assert all(chunk.content.startswith("Paragraph") for chunk in chunks)


def test_nothing_is_shared_without_overlap_or_across_the_start_of_a_section():
    prose = "Some words in a row. " * 4
    plain = RecursiveTextSplitter(100, 0).split_text(prose * 5)
    assert all(a.end_index == b.start_index for a, b in pairwise(plain))
    chunks = RecursiveTextSplitter(110, 50).split_text(f"{prose}\n\n# Next\n\n{prose}")
    assert chunks[1].content.startswith("# Next")


def test_overlap_takes_no_more_than_half_of_a_chunk_that_tokens_keep_short():
    chunks = RecursiveTextSplitter(1000, 200, PatternMeter(r"\S+", 20)).split_text("ab " * 1000)
    shares = [a.end_index - b.start_index for a, b in pairwise(chunks)]
    assert max(shares) == 30


def test_a_heading_does_not_end_a_chunk():
    text = "Words in a row here. " * 4 + "\n\n## A heading\n\nText below it. " + "More words. " * 9
    chunks = RecursiveTextSplitter(110, 0).split_text(text)
    assert chunks[1].content.startswith("## A heading\n\nText below it.")


@pytest.mark.parametrize(
    "block",
    [
        "```python\ndef f():\n\n    return 1\n```",
        "    ~~~~\n    ```\n\n    text\n    ~~~~",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |",
        "| a | b |\n|---|---|\n| of | two\nlines or\nthree |\n| 1 | 2 |",
        "a | b\n--|--\n1 | 2\n3 | 4",
        "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+",
        "===  ===\na    b\n===  ===\n1    2\n\n3    4\n===  ===",
        "> ```py\n> def f():\n>\n>     return 1\n> ```",
        "> > ~~~\n> > ```\n> > a b c\n> > d e f\n> > ~~~",
        "> | a | b |\n> |---|:-:|\n> | 1 | 2 |\n> | 3 | 4 |",
        ">+---+---+\n>| a | b |\n>+===+===+\n>| 1 | 2 |\n>+---+---+",
        "{% highlight python %}\ndef f():\n\n    return 1\n{% endhighlight %}",
        "{{< highlight python >}}\ndef f():\n\n    return 1\n{{< / highlight >}}",
        "   :::{code-block} python\n   def f():\n\n       return 1\n   :::",
        "$$\na + b\n= c + d\n= e + f\n$$",
        "```md\n=== C\n\n    ``` c\n    f()\n    ```\n\n=== D\n```",
    ],
    ids=[
        *("fence", "indented tildes", "pipes", "row without a pipe"),
        *("bare pipes", "grid", "columns"),
        *("quoted fence", "tildes in two quotes", "quoted pipes", "quoted grid"),
        *("Jekyll's tag", "Hugo's shortcode", "directive between colons", "formula"),
        "fence with deeper ones",
    ],
)
def test_a_block_that_fits_is_not_cut(block):
    for filler in range(0, 80, 7):
        text = "word " * (filler // 5) + "x" * (filler % 5) + f"\n\n{block}\n\n" + "word " * 20
        assert any(block in content for content in contents(text, len(block) + 5, 20)), filler


def test_literal_code_of_restructuredtext_that_fits_is_not_cut():
    block = "    if a:\n\n        b()\n    c()"
    for filler in range(10):
        text = "word " * filler + f"\n\nSo::\n\n{block}\n\n" + "word " * 20
        assert any(block in content for content in contents(text, 50, 10)), filler


def test_a_block_that_does_not_fit_is_cut_at_lines():
    text = "```\n" + "".join(f"line = {number}\n" for number in range(100)) + "```\n"
    chunks = contents(text, 100, 30)
    assert len(chunks) > 10
    assert all(chunk.endswith("\n") for chunk in chunks)
    assert all(chunk.startswith(("line", "```")) for chunk in chunks)


def path_at(text: str, word: str, name: str = "") -> tuple[str, ...]:
    """The heading path of a text that begins with this word, far from what stands before it."""
    spread = text.replace(word, word + " filler" * 400)
    chunks = RecursiveTextSplitter(300, 0).split_text(spread, name=name)
    return chunks[-1].heading_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n## B ##\n### C\n## D #\nHERE", ("A", "D")),
        ("# C#\nHERE", ("C#",)),
        ("# A\n## B\n\n# [CLI](#tab/cli)\n\nx\n\n### [C](#tab/c/d)\n\n---\n\nHERE", ("A", "B")),
        ("# A\n## B\n\n# [CLI](#tab/cli)\n\n### C\n\n---\n\n## D\n\nHERE", ("A", "D")),
        ("# A\n## [B](#tables)\nHERE", ("A", "B")),
        ("A\n=\nB\n--\nHERE", ("A", "B")),
        ("# A\n\nB\n-\n\nHERE", ("A",)),
        (f"A [![b](https://example.org/{'c' * 99})](d)\n===\n\n{'x' * 101}\n---\n\nHERE", ("A",)),
        (
            "1.2.0 / 2020-01-01\n=======\n\n1) x\n---\n\n1. long\n---\n\nHERE",
            ("1.2.0 / 2020-01-01",),
        ),
        ("# A\n\n--\nB\n--\n\nHERE", ("A",)),
        ("# A\n## B\n### C\n##\nHERE", ("A",)),
        ("# A\n# #\nHERE", ()),
        ("A\n===\nB\n^^^\n\n#\n\n#\n\nHERE", ("A", "B")),
        ("# A { #anchor .class }\n## {x}\nHERE", ("A", "{x}")),
        ("A\n===\nB\n---\nHERE", ("A", "B")),
        ("# Top\n\nLonger than its underline\n---\nHERE", ("Top", "Longer than its underline")),
        ("====\nDoc\n====\n\nOne\n====\n\nTwo\n----\n\nThree\n====\n\nHERE", ("Doc", "Three")),
        ("One\n~~~~\n\nTwo\n```\n# no\n```\n\nHERE", ("One",)),
        ("One\n~~~~~\n\nTwo\n^^^^^\n\nHERE", ("One", "Two")),
        ("A\n===\n\nB\n---\n\n~~~\nls\n~~~\n\n~~~~\nls -l\n~~~~\n\nHERE", ("A", "B")),
        ("A\n===\n\n~~~\nls\n~~~\n~~~\nB\n===\n~~~\n\nHERE", ("A",)),
        ("# A\n```\n# no\n```\nHERE", ("A",)),
        ("# A\n~~~~\n# no\n~~~\n# no\n~~~~\nHERE", ("A",)),
        ("# A\n\n```\n# in a fence that nothing closes\nHERE", ("A",)),
        ("# A\n\nwords\n\n---\n\nHERE", ("A",)),
        ("# A\n\n- item\n---\nHERE", ("A",)),
        ("# A\n\n```yaml\n---\na: b\n---\n# no\n```\n## B\nHERE", ("A", "B")),
        ("# A\n\n~~~yml\n------\na: b\n~~~\n## B\nHERE", ("A", "B")),
        ("# A\n\n|a|\n|-|\n|b|\n## B\n\n|a|\n|-|\nb\n```\n# no\n```\nHERE", ("A", "B")),
        ("# A\n\n```text\n********\n# no\n```\n## B\nHERE", ("A", "B")),
        ("``` `` ``` A\n---\nHERE", ("`` A",)),
        ("# A\n\n- x\n---\n\n> y\n---\n\n* z\n-----\n\nHERE", ("A",)),
        ("# A\n\n[b]: https://c.d\n----\n\n[e]:  <f> 'G'\n---\n\n[^h]: i j\n---\n\nHERE", ("A",)),
        ("# A\n\n[b]: c\n[d]: e\n===\n\nHERE", ("A",)),
        ("# A\n\n[b]: c\n[d]: e\nF\n===\n\nHERE", ("F",)),
        ("# A\n\n[^b]: c\nd\n===\n\nHERE", ("A",)),
        ("# A\n\nB and\n[c]: d\n===\n\nHERE", ("B and [c]: d",)),
        ("# A\n\n[1.0]: The first\n---\n\nHERE", ("A", "[1.0]: The first")),
        ("A\n===\n\n[1.0]: 2024\n-----------\n\nHERE", ("A", "[1.0]: 2024")),
        ("A\n===\n\n-x\n---\n\nHERE", ("A", "-x")),
        ("# A\n\n\t# code\n\n  \t# code\n\n   # B\n\nHERE", ("B",)),
        ("# A\n\n\t# code\n#\tB\n\t## code\nHERE", ("B",)),
        ("---\ntitle: no\n---\nHERE", ()),
        ("| a |\n|---|\n| b |\n\nHERE", ()),
        ("===  ===\na    b\n===  ===\n1    2\n===  ===\n\nHERE", ()),
        ("a paragraph\nof two lines\n------------\nHERE", ()),
        ("So::\n\n  # comment\n\nHERE", ()),
        ("#no\n#\n####### seven\n    # code\nHERE", ()),
        ("Title\r\n=====\r\n\r\nSub\r\n---\r\n\r\nHERE", ("Title", "Sub")),
        ("Title\r=====\rHERE", ("Title",)),
        ("Abstract\n========\n\nHERE", ("Abstract",)),
        ("# A\n<!--\n# TODO\n\n## more\n-->\n\nHERE", ("A",)),
        ("<!--\nTODO\n====\n```\n-->\nB\n===\nHERE", ("B",)),
        ("# A\n<!-- a\n--------\n-->\n## B <!--\nHERE", ("A", "B <!--")),
        ("# A\n\n<pre>\n\n# no\n</pre>\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n<SCRIPT src=x>\n# no\n</script>\nHERE", ("A",)),
        ("# A\n<!--\n# in a comment that nothing closes\nHERE", ("A",)),
        ("# A\n\n{/*\n# no\n\n```\n*/}\n{/* a */}\n{/* # no\n*/ }\n## B\n\nHERE", ("A", "B")),
        ("# A\n{/* that nothing closes\n## B\n*/\n\n### C\nHERE", ("A", "B", "C")),
        ("# A\n{% comment %}\n# no\n\n```\n{% endcomment %}\n## B\n\nHERE", ("A", "B")),
        ("# A\n- {%- comment -%} # no\n\n# no\n  {%- endcomment -%}\n## B\nHERE", ("A", "B")),
        ("# A\n{% comment %} a {% endcomment %}\n## B\n{% comment %}\n### C\nHERE", tuple("ABC")),
        ("# A\n```\n{% comment %}\n```\n## B\n{% endcomment %}\nHERE", ("A", "B")),
        ("# A\n{{< comment >}}\n# no\n\n# no\n{{< /comment >}}\n## B\nHERE", ("A", "B")),
        ("# A\n- {{%comment%}} no\n# no {{% /comment %}}\n## B\nHERE", ("A", "B")),
        ("# A\n{{</* comment */>}}\n## B\n{{</* /comment */>}}\nHERE", ("A", "B")),
        ("# A\n{::comment}\n# no\n{:/comment}\n{::comment}\n# no\n{:/}\n## B\nHERE", ("A", "B")),
        ("# A\n{::comment /}\n## B\n{{% comment %}}\n### C\n{:/}\nHERE", ("A", "B", "C")),
        ("# A\n%%\n# no\n\n```\n%%\n## B\n%% a %%\n### C\n%%\n#### D\nHERE", tuple("ABCD")),
        ("# A\n    %%\n## B\n%% x\n### C\n100 %% of\n#### D\nHERE", tuple("ABCD")),
        ("# A\n```html\n<!--\n```\n## B\n    <!--\n### C\nHERE", ("A", "B", "C")),
        ("A\n===\n\n.. ipython:: python\n\n   # a frame\n   df\n\n   # more\n\nHERE", ("A",)),
        ("A\n===\n\n.. tip:: x\n   :class: y\n\n  # a\n\n  .. note:: z\n\n   # b\n\nHERE", ("A",)),
        ("# A\n```{note}\n# no\n\nno\n==\n```\nB\n===\nHERE", ("B",)),
        ("# A\n\n.. note::\n\n   # no\n\n   no\n   --\n## B\nHERE", ("A", "B")),
        ("A\n===\n\n.. note::\n   x\nB\n---\nHERE", ("A", "B")),
        ("A\n===\n\n..\n  # commented out\n\nB\n---\n\nHERE", ("A", "B")),
        ("A\n===\n\n.. raw:: html\n\n   <!--\n   # no\n\nB\n---\n\nHERE", ("A", "B")),
        (".. x::\n.. y::\n\nA\n---\n\nB\n===\n\n# shell\n\nC\n---\n\nHERE", ("C",)),
        ("# A\n> [!TIP]\n> ```py\n> x\n\n## B\n> > ```\n> y\n## C\n\nHERE", ("A", "C")),
        ("# A\n.. note:: x\n## B\nHERE", ("A", "B")),
        ("# A\n\n<script> tags run code.\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n- ```sh\n  # no\n  ```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n- item\n\n  ```\n  x\n\n## B\n\ntext\n\nHERE", ("A", "B")),
        ("# A\n\n- item\n\n  ```\n  x\n\n## B\n\n```\n# no\n```\n\nHERE", ("A", "B")),
        ("# A\n\n1. i\n   - j\n\n     ~~~ x\n     # no\n\n   # C\n\n## B\n\nHERE", ("C", "B")),
        ("# A\n\n1. item\n\n   ```\n# no\n\n# no\n   ```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n- item\n\n  ```\n# no\n\n  # no\n```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n```md\n=== x\n\n    ```\n    y\n    ```\n# no\n```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n    ```\n# no\n       ```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n    ```\n    x\n\n## B\n\ntext\n\nHERE", ("A", "B")),
        ("# A\n\n\t~~~\n## B\n\n```\n# no\n```\n\nHERE", ("A", "B")),
        ("# A\n\n    ```\n    x\n\n## B\n\n```\n# no\n```\n\n## C\n\nHERE", ("A", "C")),
        ("# A\n\n- ```\n\t  ```\n  # no\n     ```\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n- x\n\n  ```\n      ```\n  # no\n  ```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n> ```\n>     ```\n>\n> # no\n> ```\n\n## B\n\nHERE", ("A", "B")),
        ("# A\n\n- item\n\n## B\n\n  ```\n  x\n\n```\n\n## C\n\nHERE", ("A", "C")),
        ("# A\n\n- item\n\ntext\n\n  ```\n# no\n\nHERE", ("A",)),
        ("# A\n\n1. ```sh\n2. ```py\n\n## B\n\nHERE", ("A", "B")),
        (
            "A\n===\n\n## B\n\n    .. x:: y\n\n    .. x:: z\n\n    .. x::\n\n## C\n\nHERE",
            ("A", "C"),
        ),
        (
            "# A\n{% highlight yaml %}\n---\na: b\n---\n\n# no\n{% endhighlight %}\n## B\nHERE",
            ("A", "B"),
        ),
        (
            "# A\n\n1. Do:\n\n   {%- highlight sh -%}\n   # no\n   {%- endhighlight -%}\nHERE",
            ("A",),
        ),
        ("# A\n\n- {{< highlight sh >}}\n# no\n  {{< /highlight >}}\n## B\nHERE", ("A", "B")),
        ("# A\n\n:::{code-block} sh\n# no\n\n## no\n:::\n## B\n\nHERE", ("A", "B")),
        ("# A\n:::: code-cell\n# no\n:::\n# no\n  :::::\nHERE", ("A",)),
        ("# A\n:::{math}\n# no\n:::\n$$\n# no\n$$\n$$ x\n# no\n= y $$\n## B\nHERE", ("A", "B")),
        ("# A\n{% raw %}\n## B\n{% endraw %}\n:::{card}\n### C\n:::\nHERE", ("A", "B", "C")),
        ("# A\n:::{codes}\n## B\n:::\n::: {code\n### C\n:::\nHERE", ("A", "B", "C")),
        ("# A\n$$x$$ and\n## B\n$$$ dear\n### C\n$$ $$\nHERE", ("A", "B", "C")),
        ("# A\n{% highlight sh %} is a tag\n## B\n{% endhighlight %}\nHERE", ("A", "B")),
        ("# A\n{% highlight sh %}\n## B\n{{< highlight sh >}}\n### C\nHERE", ("A", "B", "C")),
        ("# A\n:::{code-block} sh\n## B\n:::: code\n### C\n::\nHERE", ("A", "B", "C")),
        ("# A\n$$ is my wallet\n\n## B\n\n$$ is a pid\n\n### C\n\nHERE", ("A", "B", "C")),
        ("# A\n```\n{% highlight sh %}\n```\n## B\n{% endhighlight %}\nHERE", ("A", "B")),
        ("+++\n# no\ntitle = no\n+++\nHERE", ()),
        ("---\n# no\n\ntitle: no: no\n\n# no\ntags: [no]\n---\nHERE", ()),
        ("---\n# A\n---\n\nHERE", ("A",)),
        ("---\n\n# A\n\ntext: of it\n\n---\n\n## B\nHERE", ("A", "B")),
        ("---\nNote: of it\n\n# A\n\ntext\n\n---\n\n## B\nHERE", ("A", "B")),
        ("A title\n  in two lines\n===\n\ntext\nin two\n---\nHERE", ("A title in two lines",)),
        ("# A\n\none\ntwo\nthree\nfour\n===\n\n- one\ntwo\n===\n\n    one\ntwo\n===\nHERE", ("A",)),
        (f"# A\n\none\n{'two ' * 30}\n===\n\n:\n(\n===\n\none\ntwo\n=\nHERE", ("A",)),
        (
            "# A\n<h2>B</h2>\n\n### C\n\n<H2 id='x'>D <i>d</i> &amp; *e*</H2 >\nHERE",
            ("A", "D d & *e*"),
        ),
        ("<h3 align=center>\n\n  A\n</h3>\n\n#### B\n<h4>C</h4>\nHERE", ("A", "C")),
        ("<div>\n      <h1\n  id=x><img src=y>A</h1>\n</div>\n\n## B\nHERE", ("A", "B")),
        ("<h1>\n\n[![A](a.svg)](b)\n\n</h1>\n<h2>\n\n![B](b) *c*\n\n</h2>\nHERE", ("A", "B *c*")),
        ("text\n<details><summary><h2>A</h2></summary>\nHERE", ("A",)),
        ("# A\n<div class='note info'>\n  <h5>Tip</h5>\n</div>\n\nHERE", ("A",)),
        ('# A\n<div id=x class="Tip-box"> <h2>Tip</h2>\n</div>\nHERE', ("A",)),
        ("# A\n<div id=x class=note markdown=1>\n<h2>Tip</h2>\n</div>\nHERE", ("A",)),
        ("# A\n<div class='' id=note>\n<h2>B</h2>\n</div>\nHERE", ("A", "B")),
        ("# A\n<div class='note'>\n<h1>B</h1>\n</div>\nHERE", ("B",)),
        ("# A\n<div class='notes'>\n<h2>B</h2>\n</div>\nHERE", ("A", "B")),
        ("# A\n<div class='note'>\n<p>x</p>\n<h2>B</h2>\n</div>\nHERE", ("A", "B")),
        ("# A\n::: {.callout-note}\n## Tip\nx\n:::\nHERE", ("A",)),
        ("# A\n:::: {#tip-a .callout-tip}\n\n### Tip\nx\n::::\nHERE", ("A",)),
        ("# A\n:::note[Of it]\n\n### Tip\nx\n:::\nHERE", ("A",)),
        ("# A\n:::{warning}\n### Tip\n:::\nHERE", ("A",)),
        ("# A\n/// note | Of it\n### Tip\n///\nHERE", ("A",)),
        ('# A\n{% hint style="info" %}\n#### Tip\n{% endhint %}\nHERE', ("A",)),
        ('# A\n<Callout type="x">\n\n### Tip\n</Callout>\nHERE', ("A",)),
        ("# A\n:::note\nx\n\n## B\n:::\nHERE", ("A", "B")),
        ("# A\n:::notes\n## B\n:::tabs\n### C\nHERE", ("A", "B", "C")),
        (
            "# A\n:::note\n:::\n## B\n<Note>x</Note>\n### C\n<Note />\n#### D\nHERE",
            ("A", "B", "C", "D"),
        ),
        ("# A\n{% note %}x{% endnote %}\n## B\n:::note\n# C\nHERE", ("C",)),
        ("# A\n```\n:::note\n```\n## B\nHERE", ("A", "B")),
        ("# A\nWrite to\n<info@example.com>\n\n## B\n<tip:x>\n### C\nHERE", ("A", "B", "C")),
        ("# A\n%% a remark\n# no\nof two lines %%\n## B\n%%\n# no\n%%\nHERE", ("A", "B")),
        ("# A\n%% one %%\n## B\n%%time\n### C\n%%time\nHERE", ("A", "B", "C")),
        ("# A\n%% never closed\n## B\nHERE", ("A", "B")),
        ("# A\n\n    <h2>no</h2>\n\na <h2>no</h2>\n\n- <h2>no</h2>\nHERE", ("A",)),
        (
            "# A\n```\n<h2>no</h2>\n```\n<!--\n<h2>no</h2>\n-->\n<pre>\n<h2>no</h2>\n</pre>\nHERE",
            ("A",),
        ),
        ("# A\n<h2>no\n\n## B\n<h3>no<h3>\n<h3>no</h4>\n<h2><img></h2>\nHERE", ("A", "B")),
        ("# A\n<h2>no\n" + "x\n" * 20 + "</h2>\nHERE", ("A",)),
        ("# A\n<h2>no</h2>" + "<p>words of it</p>" * 30 + "\nHERE", ("A",)),
        ("# A\n<header>\n<h2x>no</h2>\n<tr><td><h2>no</h2></td></tr>\nHERE", ("A",)),
        ("# A\n\n.. raw:: html\n\n   <h2>no</h2>\n\nHERE", ("A",)),
    ],
)
def test_the_heading_path_is_the_one_in_force(text, expected):
    assert path_at(text, "HERE") == expected


REST_TEXTS = [
    ("A\n=\n\nTitle\n=====\n\ntext\n\n~~~~~~~~\n\nSub\n---\n\nHERE", ("Title", "Sub")),
    ("Title\n=====\n\nSetup\n`````\n\nSub\n---\n\nUse\n`````\n\nHERE", ("Title", "Use")),
    ("Title\n=====\n\nSub\n---\n\nExample\n~~~~~~~\n\nHERE", ("Title", "Sub", "Example")),
]
"""What reStructuredText makes headings of, and Markdown code."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *REST_TEXTS,
        ("Title\n=====\n\n# foo\n\nSub\n---\n\n# bar\n\nHERE", ("Title", "Sub")),
        ("# foo\n\nHERE", ()),
        ("#####\nPart\n#####\n\n=====\nTitle\n=====\n\nHERE", ("Part", "Title")),
        ("Title\n=====\n\n```\nSub\n---\n\nHERE", ("Title",)),
        ("Title\n=====\n\n<!--\n\nSub\n---\n\nHERE", ("Title", "Sub")),
        ("Longer than its line\n~~~~\n\nHERE", ("Longer than its line",)),
        ("Longer than its line\n~~~\n\nHERE", ()),
        ("git\n'''\n\nx\n\nhg\n''\n\nHERE", ("hg",)),
        ("Tools\n=====\n\nR\n-\n\nHERE", ("Tools", "R")),
        ("Tools\n=====\n\nhg\n-\n\nSo\n::\n\n  HERE", ("Tools",)),
        ("====\nLonger than its lines\n====\n\nHERE", ("Longer than its lines",)),
        ("===\nLonger than its lines\n===\n\nHERE", ()),
        ("Title\n=====\n\n- item\n------\n\n:field: x\n---------\n\nHERE", ("Title",)),
        ("Title\n=====\n\n<h1>no</h1>\n\nHERE", ("Title",)),
        (":mod:`x` a\n==========\n\nHERE", ("x a",)),
        ("Title\n=====\n\n.. code::\n\n   Sub\n   ---\n\nHERE", ("Title",)),
        (
            ".. -*- coding: utf-8 -*-\nTitle\n=====\n\n.. _label:\nSub_\n----\n\nHERE",
            ("Title", "Sub"),
        ),
        (".. image:: logo.svg\n   :alt: logo\nTitle\n=====\n\nHERE", ("Title",)),
    ],
)
def test_a_file_of_restructuredtext_has_the_headings_of_its_language(text, expected):
    assert path_at(text, "HERE", "docs/guide.RST") == expected


COMMENTS = "# The list of all things.\n#\n# Write it anew with `thing list`.\n\nlamp==1.0\n"


@pytest.mark.parametrize(
    "text",
    [
        COMMENTS,
        COMMENTS + "    # via torch\n    # and via match\n",
        "Torches\n=======\n\n# a\n# b\n\n" + COMMENTS,
        COMMENTS.replace("\n", "\r\n"),
    ],
)
def test_lines_of_comments_in_plain_text_are_no_headings(text):
    def titles(name):
        chunks = RecursiveTextSplitter(12, 0).split_text(text, name=name)
        return {title for chunk in chunks for title in chunk.heading_path}

    assert titles("list.txt") <= {"Torches"}
    assert "The list of all things." in titles("list.md")


def test_headings_of_markdown_in_plain_text_stay():
    text = "# Guide\n## First\ntext\n\n##\n## Second\n##\n\n### Third\n## Fourth\nend"
    chunks = RecursiveTextSplitter(10, 0).split_text(text, name="guide.txt")
    paths = {chunk.heading_path for chunk in chunks}
    assert {("Guide", "First"), ("Guide", "Second")} < paths
    assert chunks[-1].heading_path == ("Guide", "Fourth")


EXAMPLES = (
    "So it is set:\n\n# the old kind\nlamp-hook . off\n\n# the new kind\nlamp-hook . on\n\n"
    "With more:\n\n# what all have in common:\n\nset lamps\n\n## none of the others\nunset lamps\n"
)


@pytest.mark.parametrize("above", ["Of lamps.\n\n", "Lamps\n=====\n\n", "LAMPS\n~~~~~\n\n"])
def test_comments_in_examples_of_plain_text_are_no_headings(above):
    def titles(name):
        chunks = RecursiveTextSplitter(20, 0).split_text(above + EXAMPLES, name=name)
        return {title for chunk in chunks for title in chunk.heading_path}

    assert titles("manual.txt") <= {"Lamps", "LAMPS"}
    assert "the new kind" in titles("manual.md")


def test_headings_of_html_in_plain_text_stay_beside_comments():
    text = (
        f"Of all.\n\n<h1>Lamps</h1>\n\nOf lamps.\n\n{EXAMPLES}\n<h2>Dimmers</h2>\n\nOf dimmers.\n"
    )
    chunks = RecursiveTextSplitter(20, 0).split_text(text, name="manual.txt")
    assert {chunk.heading_path for chunk in chunks} == {(), ("Lamps",), ("Lamps", "Dimmers")}


@pytest.mark.parametrize(
    "text",
    [
        f"# Lamps\n{EXAMPLES}",
        "Of lamps.\n\n# Old\n\nwords\n\n# New\nwords\n",
        "Of lamps.\n\n# Old\nwords\n\n## Dim\nwords\n\n## Bright\nwords\n",
        "Of lamps.\n\n# Old\nwords\n",
    ],
)
def test_headings_of_plain_text_that_do_not_look_like_comments_stay(text):
    chunks = RecursiveTextSplitter(15, 0).split_text(text, name="manual.txt")
    assert {"Lamps", "Old"} & {title for chunk in chunks for title in chunk.heading_path}


@pytest.mark.parametrize("rule", ["-- ", "--", "_" * 47])
def test_what_ends_a_mail_in_plain_text_underlines_nothing(rule):
    mail = f"Dimmers\n=======\n\nUse the new one.\n\nCheers, Joe\n{rule}\nLamps mailing list\n"
    chunks = RecursiveTextSplitter(60, 0).split_text(3 * mail, name="2026-November.txt")
    assert {chunk.heading_path for chunk in chunks} == {("Dimmers",)}
    assert {chunk.chunk_type for chunk in chunks} == {"text"}


def test_short_rules_and_rules_of_low_lines_underline_titles_of_their_length_in_plain_text():
    title = "What a dimmer does with a lamp of the old kind."
    for text in (f"{title}\n{'_' * 47}\n\nText.", "Ab\n--\n\nText.\n\nAb\n--\n\nText."):
        chunks = RecursiveTextSplitter(1000, 0).split_text(text, name="guide.txt")
        assert chunks[0].heading_path == (text.partition("\n")[0],)


@pytest.mark.parametrize(
    "name",
    [
        "CMakeLists.txt",
        "src/lamp/CMakeLists.txt",
        "lamp.py",
        "conf/LAMP.YAML",
        "Dockerfile",
        "lamp.el",
        "lamp.nim",
        "poetry.lock",
        "lamp.gemspec",
        "lamp.mts",
        "test/lamp.bats",
        "meson.build",
        "lamps/BUILD",
        "Dockerfile.dev",
        "docker/Makefile.in",
    ],
)
def test_code_has_no_headings_and_is_code_whatever_its_lines_look_like(name):
    text = (
        "# Where it builds\nproject(lamp)\n\nTitle\n=====\n\n# The tests\nadd_subdirectory(tests)\n"
        "\n- an entry\n- of a list\n"
    )
    chunks = RecursiveTextSplitter(30, 0).split_text(text, name=name)
    assert {(chunk.heading_path, chunk.chunk_type) for chunk in chunks} == {((), "code")}


@pytest.mark.parametrize(
    "name",
    [
        "https://example.org/lamp.py",
        "lamp.python.md",
        "yaml",
        "py.rst",
        "Dockerfile.md",
        "cli/build",
    ],
)
def test_what_only_resembles_the_name_of_code_keeps_its_headings(name):
    chunks = RecursiveTextSplitter(1000, 0).split_text("Lamps\n=====\n\nText.\n", name=name)
    assert chunks[0].heading_path == ("Lamps",)


@pytest.mark.parametrize("name", ["guide.txt", "https://example.org/guide.rst"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *REST_TEXTS,
        (".. x::\n\n.. y::\n\nTitle\n=====\n\n# a comment\n\nHERE", ("Title",)),
        ("# A\n\n```rst\n.. x::\n\nTitle\n=====\n```\n\n## B\n\n## C\n\n## D\n\nHERE", ("A", "D")),
        ("# A\n\n~~~~\n# no\n~~~~\n\nHERE", ("A",)),
        ("Title\n=====\n\n~~~~\n# no\n# no\n~~~~\n\nHERE", ("Title",)),
    ],
)  # fmt: skip
def test_what_may_be_either_language_is_the_one_that_gives_more_headings(name, text, expected):
    assert path_at(text, "HERE", name) == expected


@pytest.mark.parametrize("name", ["", "a.md", "rst", "https://example.org/guide"])
def test_any_other_text_is_markdown(name):
    text = "# A\n\nSo\n\n~~~~\n\nTitle\n=====\n\n# no\n\nHERE"
    assert path_at(text, "HERE", name) == ("A",)


def test_a_chunk_that_starts_with_a_heading_stands_under_it():
    chunk = RecursiveTextSplitter().split_text("\n\n  # First\n\ntext\n\n# Second\n")[0]
    assert chunk.heading_path == ("First",)


REST_HEADING = "LAMP_COLOUR\n-----------\n\nWhich colour it has."


@pytest.mark.parametrize(
    ("name", "label", "heading"),
    [
        ("a.rst", ".. _lamp-colour:", REST_HEADING),
        ("a.rst", ".. _`Lamp: colour`:", REST_HEADING),
        ("a.rst", ".. _lamp\\: colour:\n\n.. _std:lamp:", REST_HEADING),
        ("a.rst", ".. setting:: LAMP_COLOUR", REST_HEADING),
        ("a.rst", ".. setting:: colour", "``colour``\n----------\n\nWhich colour it has."),
        ("a.rst", ".. index:: colour, lamp", REST_HEADING),
        ("a.rst", ".. index::\n   single: colour\n   pair: lamp; colour", REST_HEADING),
        ("a.rst", ".. index:: colour\n.. _colour:\n\n.. setting:: LAMP_COLOUR", REST_HEADING),
        ("a.txt", ".. _lamp-colour:\n.. index:: colour", REST_HEADING),
        ("a.md", "(lamp-colour)=", "## Colour\n\nWhich colour it has."),
        ("a.md", "[](){ #lamp-colour }", "## Colour\n\nWhich colour it has."),
        ("a.md", '<a name="colour"></a>', "## Colour\n\nWhich colour it has."),
        ("a.md", "<a id=colour>\n", "Colour\n===\n\nWhich colour it has."),
        ("a.md", '<span id="a"></span> <a id="b"/>', "<h2>Colour</h2>\n\nWhich colour it has."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_labels_right_above_a_heading_belong_to_its_section(name, label, heading, gap):
    above = "Lamps\n=====\n\nWhat there is to say of lamps, in some more words than of colours.\n\n"
    title = heading.partition("\n")[0].strip("`# </>h2")
    text = f"{above}{label}{gap}{heading}"
    first, section = RecursiveTextSplitter(len(text) - 1, 0).split_text(text, name=name)
    assert (first.content, section.content) == (above, f"{label}{gap}{heading}")
    assert section.heading_path[-1] == title
    assert section.completeness == 1
    alone = RecursiveTextSplitter().split_text(f"{label}{gap}{heading}", name=name)
    assert [chunk.heading_path for chunk in alone] == [(title,)]


@pytest.mark.parametrize(
    "above",
    [
        ":orphan:\n\n",
        "\n:Author: Ann of the Lamps\n:Last changed: June\n\n.. _lamp-colour:\n\n",
    ],
)
def test_fields_at_the_top_of_restructuredtext_belong_to_its_first_heading(above):
    chunks = RecursiveTextSplitter().split_text(above + REST_HEADING, name="a.rst")
    assert [chunk.heading_path for chunk in chunks] == [("LAMP_COLOUR",)]
    assert find_title(above + REST_HEADING, ".rst") == "LAMP_COLOUR"


@pytest.mark.parametrize("above", ["Lamps.\n\n:Author: Ann\n\n", ":Author: Ann\n\nLamps.\n\n"])
def test_fields_below_text_belong_to_it(above):
    chunks = RecursiveTextSplitter().split_text(above + REST_HEADING, name="a.rst")
    assert [chunk.heading_path for chunk in chunks] == [()]


@pytest.mark.parametrize(
    ("name", "line", "heading"),
    [
        ("a.rst", ".. _lamps: https://example.org", REST_HEADING),
        ("a.rst", ".. _lamps: colours_", REST_HEADING),
        ("a.rst", ".. autoclass:: Colour", REST_HEADING),
        ("a.rst", ".. image:: lamp.png\n   :alt: a lamp", REST_HEADING),
        ("a.rst", ".. [1] A note on lamps:", REST_HEADING),
        ("a.rst", ".. _lamp-colour:\n\nMore words.", REST_HEADING),
        ("a.rst", "(lamp-colour)=", REST_HEADING),
        ("a.md", ".. _lamp-colour:", "## Colour\n\nWhich colour it has."),
        ("a.md", '<a id="colour">Colours</a>', "## Colour\n\nWhich colour it has."),
        ("a.md", "See (lamp-colour)=", "## Colour\n\nWhich colour it has."),
        ("a.md", "```\n(lamp-colour)=\n```", "## Colour\n\nWhich colour it has."),
    ],
)
def test_what_is_no_label_stays_in_the_section_above(name, line, heading):
    above = f"Lamps\n=====\n\nWhat there is to say of lamps.\n\n{line}\n\n"
    text = above + heading
    chunks = RecursiveTextSplitter(len(text) - 1, 0).split_text(text, name=name)
    assert [chunk.content for chunk in chunks] == [above, heading]


def test_text_before_the_first_heading_has_no_path():
    assert RecursiveTextSplitter().split_text("text\n\n# First\n")[0].heading_path == ()


def test_long_titles_are_shortened_in_paths():
    path = RecursiveTextSplitter().split_text("# " + "long " * 100_000)[5].heading_path
    assert len(path[0]) == 200
    assert path[0].endswith("…")


def test_lines_end_with_any_line_break_and_with_nothing_else():
    text = "one\ntwo\r\nthree\rfour\x0bfour\u2028four\x85four"
    chunks = RecursiveTextSplitter(6, 0).split_text(text)
    found = {chunk.content.strip(): (chunk.start_line, chunk.end_line) for chunk in chunks}
    assert found["one"] == (1, 1)
    assert found["two"] == (2, 2)
    assert found["three"] == (3, 3)
    assert chunks[-1].start_line == 4


def test_metadata_is_handed_on_and_detached_from_the_caller():
    metadata = {"source": "a.md"}
    chunks = RecursiveTextSplitter(10, 0).split_text("some words " * 5, metadata)
    metadata["source"] = "changed"
    assert all(chunk.metadata == {"source": "a.md"} for chunk in chunks)


def test_the_fingerprint_names_algorithm_sizes_and_token_limit():
    meter = PatternMeter(r"\S+", 254)
    assert RecursiveTextSplitter(1000, 200, meter).fingerprint == "recursive-24:1000:200:254"
    assert RecursiveTextSplitter(1000, 200, meter, 100).fingerprint == "recursive-24:1000:200:100"
    assert RecursiveTextSplitter(80, 0).fingerprint == "recursive-24:80:0:-"


def test_it_is_a_text_splitter():
    splitter: TextSplitter = RecursiveTextSplitter()
    assert splitter.split_text("text")[0].content == "text"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunk_size": 0}, "at least 1 character, not 0"),
        ({"chunk_size": 100, "chunk_overlap": 100}, "smaller than the chunk size"),
        ({"chunk_overlap": -1}, "at least 0"),
        ({"max_tokens": 10}, "needs a token meter"),
        ({"token_meter": BytesMeter(10), "max_tokens": 0}, "no more than the 10 tokens"),
        ({"token_meter": BytesMeter(10), "max_tokens": 11}, "no more than the 10 tokens"),
    ],
)
def test_sizes_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RecursiveTextSplitter(**arguments)


def test_a_character_with_more_tokens_than_the_window_is_a_chunk_of_its_own():
    chunks = RecursiveTextSplitter(10, 0, BytesMeter(2)).split_text("a€b")
    assert [chunk.content for chunk in chunks] == ["a", "€", "b"]


def test_a_grapheme_cluster_longer_than_a_chunk_is_cut():
    chunks = RecursiveTextSplitter(10, 3).split_text("ab" + "\u0301" * 25 + "c")
    assert [len(chunk.content) for chunk in chunks] == [1, 10, 10, 7]


def test_prose_is_measured_about_once():
    """In pieces, because a tokenizer takes 170 bytes of memory for every character."""
    meter = PatternMeter(r"\S+", 254)
    text = "Some words in a row, and then a full stop. " * 10_000
    RecursiveTextSplitter(token_meter=meter).split_text(text)
    assert max(meter.measured) <= 65_536
    assert sum(meter.measured) <= 1.05 * len(text)


def test_tokens_keep_dense_text_short_and_prose_as_long_as_it_is():
    meter = word_piece_meter()
    digits = RecursiveTextSplitter(1000, 200, meter).split_text("1a2b3c 4d5e6f " * 500)
    prose = RecursiveTextSplitter(1000, 200, meter).split_text("The brown fox jumps. " * 500)
    assert max(meter.count(chunk.content) for chunk in digits) in range(230, 255)
    assert max(len(chunk.content) for chunk in prose) > 950


@pytest.mark.parametrize(
    "unit",
    [
        "x", "\n", "# h\n", "```\n", "a\r\n", "== ==\nx\n", "|a|\n|-|\n", "+-+\n\n", "a::\n\n b\n",
        "漢", "e\u0301", "👩‍👩‍👧‍👦", ". ", "T\n===\n\n", "a: b\n", "~", "\u0301", "# ",
        "<!--\n", "<!-- -->\n", "{/*\n", "{/* */}\n", "<pre>\n", "> ```\n", "> |a\n> |-\n", "> ",
        ".. a::\n", ".. a::\n\n .. b::\n\n  # c\n", "$$ x\n", "$$\n", "$$\n\n", "- 1. ",
        "%%\n", "%%\n%%\n", "{% comment %}\n", "{% comment ", "{{< comment >}}\n",
        "{::comment}\n",
        "{% highlight a %}\n", "{{< highlight ", ":::{code}\n", ":", ":::code\n::::code\n",
        "# *a `b [c](\n", "[![a](b)](c) " * 90 + "\n---\n\n", "[![" * 600 + "\n---\n\n",
        "- a\n\n  ```b\nc\n", "- a\n\n  ```b\n", "- ", "- a\n\n  ```b\n  ~~~b\n",
        ".. a::\n b::\n  .. table::\n   c\n", "```{a}\n~~~b\n```\n", "````{a}\n```{b}\n",
        "".join(f"{'`' * n}{{a}}\n" for n in range(60, 2, -1)),
        "<h1>\n", "<h1>", "<h1></h2>", "<div>", "<h1><", "<h1 ", "<a></h1>",
        "<h1>" + "x" * 90 + "\n", "<h1>[![a](b</h1>\n",
        "- a\n  `````a\n\nx\n\n- a\n     - b\n       ```a\n\nx\n\n",
        "".join(f"- a\n  {'`' * n}a\n\nx\n" for n in range(60, 2, -1)),
    ],
    ids=lambda unit: ascii(unit)[:60],
)  # fmt: skip
@pytest.mark.parametrize("least_text", [10_000, slow(20_000)])
def test_time_grows_no_faster_than_the_text(unit, least_text):
    """Eight times the text takes nowhere near the sixty-four times of quadratic work."""
    splitter = RecursiveTextSplitter()

    def seconds(characters: int) -> float:
        text = "---\n" + unit * (characters // len(unit)) + "end"
        started = time.process_time()
        splitter.split_text(text)
        return time.process_time() - started

    least = min(seconds(least_text) for _ in range(3))
    assert any(seconds(8 * least_text) < 32 * max(least, 0.005) for _ in range(3))


def test_directives_in_fences_of_any_length_take_little_time():
    text = "".join(f"{'`' * n}{{a}}\n" for n in range(600, 2, -1)) + "x\n" * 20_000
    started = time.process_time()
    RecursiveTextSplitter().split_text(text)
    assert is_within(5, started)  # 0.6 s


def test_directives_between_any_number_of_colons_take_little_time():
    text = "".join(f"{':' * n}{{code}}\n" for n in range(3, 600)) + "x\n" * 20_000
    started = time.process_time()
    RecursiveTextSplitter().split_text(text)
    assert is_within(5, started)  # 0.5 s


PIPE_TABLE = "| Method | What |\n| --- | --- |\n" + "".join(
    f"| call {n} | Does it. Then it does it again, {'and again, ' * (n % 4)}for {n}. |\n"
    for n in range(30)
)
GRID_TABLE = "+-----+--------+\n" + "".join(
    f"| {n:3} | Does   |\n|     | it {n:3} |\n+-----+--------+\n" for n in range(40)
)


@pytest.mark.parametrize("size", [150, 200, 1000])
def test_a_table_that_does_not_fit_is_cut_between_its_rows(size: int) -> None:
    text = f"# Calls\n\nAll of them.\n\n{PIPE_TABLE}\nThat is all. There is no more.\n"
    chunks = RecursiveTextSplitter(size, 40, word_piece_meter(), 60).split_text(text)
    shown = [line for chunk in chunks for line in chunk.content.splitlines() if line[:1] == "|"]
    assert len(chunks) > 3
    assert shown == PIPE_TABLE.splitlines()


@pytest.mark.parametrize("size", range(110, 140))
def test_a_chunk_that_begins_between_two_rows_repeats_none(size: int) -> None:
    table = "| a | b |\n| - | - |\n" + "".join(f"| row {n:3} | {n:8} |\n" for n in range(40))
    chunks = RecursiveTextSplitter(size, 50).split_text(table)
    shown = [line for chunk in chunks for line in chunk.content.splitlines() if line]
    assert shown == table.splitlines()


def test_rows_of_several_lines_are_not_taken_for_several_rows() -> None:
    """What began within one needs the overlap."""
    chunks = RecursiveTextSplitter(200, 60).split_text(GRID_TABLE)
    assert len(chunks) > 5
    assert all(after.start_index < chunk.end_index for chunk, after in pairwise(chunks))


def test_a_row_that_fits_into_no_chunk_is_cut_like_text() -> None:
    text = "| a | b |\n| - | - |\n" + f"| one | {'word ' * 40}|\n" * 3
    chunks = RecursiveTextSplitter(100, 20).split_text(text)
    assert all(len(chunk.content) <= 100 for chunk in chunks)
    assert chunks[0].start_index == 0
    assert chunks[-1].end_index == len(text)
    assert all(after.start_index <= chunk.end_index for chunk, after in pairwise(chunks))
