"""Code on web pages is what its author wrote: its lines, as they are indented, and no more."""

import re

import pytest

from app.adapters.loading.web_page import read_page

CODE = "def f():\n    pass\n"


def markdown(body):
    return read_page(f"<body>{body}</body>", "http://h/x").markdown


CHROMA_INLINE = """<div class="highlight"><pre><code class="language-py"><span class="line"><span
    class="ln">1</span><span class="cl">def f():
</span></span><span class="line"><span class="ln">2</span><span class="cl">    pass
</span></span></code></pre></div>"""
CHROMA_TABLE = f"""<div class="chroma"><table class="lntable"><tr><td class="lntd">
    <pre><code><span class="lnt"><a href="#1">1</a>\n</span><span class="lnt">2\n</span></code>
    </pre></td><td class="lntd"><pre><code class="language-py">{CODE}</code></pre></td></tr></table>
    </div>"""
HEXO = """<figure class="highlight"><table><tr><td class="gutter"><pre><span
    class="line">1</span><br><span class="line">2</span><br></pre></td><td class="code"><pre><span
    class="line">def f():</span><br><span class="line">    pass</span><br></pre></td></tr></table>
    </figure>"""
GITEA = """<div class="language-py"><table><tbody><tr><td class="lines-num"><span>1</span></td>
    <td class="lines-code chroma"><code>def f():\n</code></td></tr>
    <tr><td class="lines-num">2</td><td class="lines-code chroma"><code>    pass\n</code></td></tr>
    </tbody></table></div>"""
GITHUB = """<div class="highlight-py"><table><tr><td class="blob-num">1</td><td
    class="blob-code js-file-line">def f():</td></tr><tr><td class="blob-num">2</td><td
    class="blob-code js-file-line">    <b>pass</b></td></tr></table></div>"""
HIGHLIGHT_JS = """<pre><code class="hljs language-py"><table class="hljs-ln"><tbody><tr><td
    class="hljs-ln-line hljs-ln-numbers"><div>1</div></td><td class="hljs-ln-code">def f():</td>
    </tr><tr><td class="hljs-ln-numbers">2</td><td class="hljs-ln-code">    pass</td></tr></tbody>
    </table></code></pre>"""
VUEPRESS = f"""<div class="line-numbers-mode"><pre class="language-py"><code>{CODE}</code>
    </pre><div class="line-numbers-wrapper"><span class="line-number">1</span><br><span
    class="line-number">2</span><br></div></div>"""
WP_SYNTAX = f"""<div class="wp_syntax"><table><tr><td class="line_numbers"><pre>1\n2\n</pre></td>
    <td class="code"><pre class="language-py">{CODE}</pre></td></tr></table></div>"""
CRAYON = """<div class="crayon-main"><table class="crayon-table"><tr class="crayon-row"><td
    class="crayon-nums"><div><div class="crayon-num">1</div><div class="crayon-num">2</div></div>
    </td><td class="crayon-code"><pre><div class="crayon-line">def f():</div><div
    class="crayon-line">    pass</div></pre></td></tr></table></div>"""


@pytest.mark.parametrize(
    "block",
    [
        *(CHROMA_INLINE, CHROMA_TABLE, HEXO, GITEA, GITHUB, HIGHLIGHT_JS),
        *(VUEPRESS, WP_SYNTAX, CRAYON),
    ],
    ids=[
        *("Chroma", "Chroma's table", "Hexo", "Gitea", "GitHub", "highlight.js"),
        *("VuePress", "WP-Syntax", "Crayon"),
    ],
)
def test_code_with_numbered_lines_is_read_without_the_numbers(block):
    read = markdown(f"<p>a</p>{block}<p>b</p>")
    assert read.replace("```py", "```") == f"a\n\n```\n{CODE}```\n\nb"
    assert ("```py" in read) == ("-py" in block)


RUSTDOC = """<pre class="rust"><code><a href=#1 id=1 data-nosnippet>1</a><span class="kw">fn</span>
<a href=#2 id=2 data-nosnippet>2</a>
<a href=#3 id=3 data-nosnippet>3</a>    1</code></pre>"""
EXCERPT = """<pre><code><span data-nosnippet>41</span>fn\n<span data-nosnippet>42</span>
<span data-nosnippet>43</span>    1</code></pre>"""
BESIDE = """<pre class="src-line-numbers"><a href="#1" id="1">1</a>\n<a href="#2" id="2">2</a>
<a href="#3" id="3">3</a>\n</pre><pre class="rust"><code>fn\n\n    1</code></pre>"""
OLDER = """<pre class="line-numbers"><span id="1"> 1</span>\n<span id="2"> 2</span>
<span id="3"> 3</span>\n</pre><pre class="rust">fn\n\n    1</pre>"""
CGIT = """<table><tr><td class="linenumbers"><pre><a id='n1' href='#n1'>1</a>
<a id='n2' href='#n2'>2</a>\n<a id='n3' href='#n3'>3</a>\n</pre></td><td class="lines"><pre><code
>fn\n\n    1</code></pre></td></tr></table>"""
JAVADOC = """<pre><span class="source-line-no">001</span><span id="line-1">fn</span>
<span class="source-line-no">002</span><span id="line-2"></span>
<span class="source-line-no">003</span><span id="line-3">    1</span>\n</pre>"""
DIVS = """<pre><div><a href="#L1">1</a>fn</div><div><a href="#L2">2</a><br></div><div><a
href="#L3">3</a>    1</div></pre>"""


@pytest.mark.parametrize(
    "block",
    [RUSTDOC, EXCERPT, BESIDE, OLDER, CGIT, JAVADOC, DIVS],
    ids=["rustdoc", "excerpt", "beside", "older", "cgit", "javadoc", "blocks"],
)
def test_links_that_number_the_lines_of_code_are_left_out(block):
    assert markdown(block) == "```\nfn\n\n    1\n```"


@pytest.mark.parametrize(
    "code",
    [
        'a\nb\n<a id="section-1" href="#section-1">1</a>.  Introduction',
        'a <a href="#1" id="1">1</a>',
        '<a href="#1" id="1">1x</a>',
        '<a href="/1">2</a>',
        '<span id="LC1" class="line">1</span>\n<span id="LC2" class="line">2</span>',
        "x = <span data-nosnippet>1</span>",
    ],
    ids=["section", "within a line", "text", "other number", "lines of numbers", "value"],
)
def test_other_numbers_in_code_are_read(code):
    shown = re.sub("<[^<>]*>", "", code)
    assert markdown(f"<pre>{code}</pre>") == f"```\n{shown}\n```"


def test_names_of_classes_that_number_lines_in_code_mean_nothing_outside_it():
    page = "<p><span class=ln>Smith</span></p><div class='row gutter'>text</div>"
    assert markdown(page) == "Smith\n\ntext"


def test_what_stands_between_lines_of_code_in_a_table_is_kept():
    line = "<tr><td class=blob-num>1<td class=blob-code>{}</tr>"
    page = f"<table>{line.format('  a')}<tr><td colspan=2>A <b>remark</b></tr>{line.format('b')}"
    assert markdown(page) == "```\n  a\nA remark\nb\n```"


@pytest.mark.parametrize("around", ["{}", "<ul><li>{}</ul>", "<blockquote>{}</blockquote>"])
def test_blank_lines_in_code_are_kept_and_those_outside_it_are_not(around):
    block = around.format("<pre>a\n\n\n\nb</pre>")
    lines = [line.strip(" >-") for line in markdown(f"<p>x</p>{block}<p>y</p>").splitlines()]
    code = ["```", "a", "", "", "", "b", "```"]
    assert lines == ["x", "", *code, "", "y"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a = 1\n\n  b = 2\n", "`a = 1` `b = 2`"),
        ("x || y", r"`x \|\| y`"),
        ("`a`", "`` `a` ``"),
        (" \n", ""),
    ],
)
def test_code_in_a_cell_of_a_table_is_code_in_its_line(code, expected):
    page = f"<table><tr><th>A<th>B<tr><td>a<td><pre>{code}</pre></table>"
    assert markdown(page).splitlines()[-1] == f"| a | {expected} |"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("<div class=token-line>a</div><div class=token-line>b</div>", "a\nb"),
        ("<div>a</div>\n<div>b</div>", "a\nb"),
        ("<div>a\n</div><div>\n</div><div>  b\n</div>", "a\n\n  b"),
        ("<div>a</div><div><br></div><div>b</div>", "a\n\nb"),
        ("<div><div>a</div><span>b</span></div><div>c</div>", "a\nb\nc"),
        ("x<div>a</div>y", "x\na\ny"),
    ],
    ids=["React", "with line ends", "empty line", "empty line of a break", "nested", "beside text"],
)
def test_a_block_in_code_is_a_line(code, expected):
    assert markdown(f"<pre><code>{code}</code></pre>") == f"```\n{expected}\n```"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("<ol class=linenums><li>if x:</li><li>    y = 1</li></ol>", "if x:\n    y = 1"),
        ("<code><ol><li><span>a</span><li value=5>  b</ol></code>", "a\n  b"),
        ("<ol>\n<li>a</li>\n<li>  b</li>\n</ol>", "a\n  b"),
        ("<ol><li>a</li><li></li><li><i></i></li><li>b</li></ol>", "a\n\n\nb"),
        ("<ol><li>a<br></li><li>b</li></ol>c", "a\nb\nc"),
        ("<ul><li>a</ul>", "a"),
    ],
    ids=["prettify", "in code", "with line ends", "empty lines", "break", "not numbered"],
)
def test_an_item_of_a_list_in_code_is_a_line(code, expected):
    assert markdown(f"<pre>{code}</pre>") == f"```\n{expected}\n```"


FILE_NAME = """<div class="highlight"><table class="highlighttable"><tr><th colspan="2"
    class="filename"><span class="filename">main.py</span></th></tr><tr><td class="linenos">
    <div class="linenodiv"><pre>1\n2</pre></div></td><td class="code"><div><pre>{}</pre></div></td>
    </tr></table></div>"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('<code class="language-js mjs">a</code><code class="language-js cjs">b</code>', "a\n\nb"),
        ('<code class="language-js">a\n</code><code class="language-js">b</code>', "a\nb"),
        ('<code class="language-js">a</code> <code class="language-js">b</code>', "a b"),
        ("<code>a</code><code>b</code>", "ab"),
    ],
)
def test_code_of_a_language_right_after_other_begins_a_line(code, expected):
    assert re.search(rf"```\w*\n{expected}\n```", markdown(f"<pre>{code}</pre>"))


def test_code_under_a_row_with_its_file_name_is_a_block():
    assert markdown(FILE_NAME.format(CODE)) == f"main.py\n\n```\n{CODE}```"


def test_code_beside_other_cells_under_headers_stays_in_its_table():
    page = "<table><tr></tr><tr><th>Name<th>Code<tr><td>f<td><pre>f()</pre></table>"
    assert "| f | `f()` |" in markdown(page)


@pytest.mark.parametrize(
    ("opening", "language"),
    [
        ('<pre class="brush: java; gutter: true">', "java"),
        ('<pre class="brush:java">', "java"),
        ('<pre data-syntaxhighlighter-params="brush: c++; theme: Confluence">', "c++"),
        ('<pre data-lang="go">', "go"),
        ('<pre data-language="a b">', ""),
        ('<pre class="mw-highlight-lang-python">', "python"),
        ('<pre class="highlight highlight-source-shell">', "shell"),
        ('<pre class="language-js" data-lang="javascript">', "js"),
    ],
)
def test_the_language_of_code_is_read_as_highlighters_write_it(opening, language):
    assert markdown(f"{opening}x</pre>") == f"```{language}\nx\n```"


def test_code_in_code_as_mdbook_writes_it_has_one_fence():
    page = '<pre><pre class="playground"><code class="language-rust">let x = 5;</code></pre></pre>'
    assert markdown(page) == "```rust\nlet x = 5;\n```"


FRAGMENT = """<div class="fragment"><div class="line"><a id="l1"></a><span
    class="lineno">1</span>def f():</div>\n<div class="line"><span
    class="lineno">2</span>    pass</div></div>"""


def test_the_lines_of_code_that_doxygen_writes_are_a_block():
    assert markdown(f"<p>a</p>{FRAGMENT}<p>b</p>") == f"a\n\n```\n{CODE}```\n\nb"


def test_what_doxygen_shows_of_a_name_under_the_pointer_is_no_line_of_the_code():
    shown = """<div class="ttc" id="af"><div class="ttname"><a href="a.html">f</a></div><div
        class="ttdoc">Does it.</div><div class="ttdef"><b>Definition:</b> a.py:1</div></div>"""
    block = FRAGMENT.removesuffix("</div>") + f"\n{shown}\n{shown}\n</div>"
    assert markdown(f"<p>a</p>{block}<p>b</p>") == f"a\n\n```\n{CODE}```\n\nb"


def test_what_rustdoc_shows_of_a_type_under_the_pointer_is_no_part_of_the_signature():
    shown = """<span class="notable-traits"><span class="notable-traits-tooltip">ⓘ<span
        class="notable-traits-tooltiptext">Notable traits for <a>Zip</a>&lt;A, B&gt;<code
        class="content">impl&lt;A, B&gt; Iterator for Zip</code></span></span></span>"""
    assert markdown(f"<pre>fn zip() -&gt; Zip{shown};</pre>") == "```\nfn zip() -> Zip;\n```"


def test_the_link_that_runs_code_is_not_read():
    run = '<a class="test-arrow" href="https://play.rust-lang.org/?code=x">Run</a>'
    assert markdown(f"<div><pre>{CODE}</pre>{run}</div>") == f"```\n{CODE}```"


@pytest.mark.parametrize(
    "page",
    [
        "<div class=fragment><p>A</p></div><div class=line>B</div>",
        "<div class=fragment><p>A<span class=line>B</span></p></div>",
        "<div class=line-block><div class=line>A</div><div class=line>B</div></div>",
    ],
    ids=["slide", "within a sentence", "verse"],
)
def test_lines_elsewhere_are_no_code(page):
    assert "```" not in markdown(page)


def test_code_that_is_a_name_to_be_defined_keeps_its_lines():
    read = markdown(f"<dl><dt><pre>{CODE}</pre></dt><dd>Does nothing.</dd><dt>g\nh<dd>x</dl>")
    assert read == f"```\n{CODE}```\n:   Does nothing.\n\ng h\n:   x"


def test_code_in_a_heading_stands_in_its_line():
    assert markdown("<h2><pre>f(a,\n  b)</pre></h2><p>Adds.") == "## `f(a,` `b)`\n\nAdds."


def test_listings_of_scribble_keep_their_lines_and_indents():
    rows = [
        "<span>(define</span>&nbsp;<a href=l>x</a>",
        "&nbsp;&nbsp;&nbsp;5)",
        "&nbsp;",
        "&gt;&nbsp;x",
    ]
    cells = "".join(f"<tr><td>{row}</td></tr>" for row in rows)
    read = markdown(f"<blockquote><table class=RktBlk>{cells}</table></blockquote><p>So.")
    assert read == "> ```\n> (define x\n>    5)\n>\n> > x\n> ```\n\nSo."
