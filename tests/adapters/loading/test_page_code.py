"""Code on web pages is what its author wrote: its lines, as they are indented, and no more."""

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


@pytest.mark.parametrize(
    "block",
    [CHROMA_INLINE, CHROMA_TABLE, HEXO, GITEA, GITHUB, HIGHLIGHT_JS],
    ids=["Chroma", "Chroma's table", "Hexo", "Gitea", "GitHub", "highlight.js"],
)
def test_code_with_numbered_lines_is_read_without_the_numbers(block):
    read = markdown(f"<p>a</p>{block}<p>b</p>")
    assert read.replace("```py", "```") == f"a\n\n```\n{CODE}```\n\nb"
    assert ("```py" in read) == ("-py" in block)


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
