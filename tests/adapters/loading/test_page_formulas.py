"""Numbers and formulas on web pages stay what they are."""

import pytest

from app.adapters.loading.web_page import read_page


def markdown(text):
    return read_page(f"<p>{text}</p>", "http://h/x").markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10<sup>6</sup> bytes", "10^6 bytes"),
        ("10<sup>-6 </sup>m", "10^-6 m"),
        ("10<sup>\u22126</sup>", "10^\u22126"),
        ("<i>x</i><sup>n</sup>", "*x*^n"),
        ("x<sup>n+1</sup>", "x^(n+1)"),
        ("(a+b)<sup><i>2</i></sup>", "(a+b)^2"),
        ("SO<sub>4</sub><sup>2\u2212</sup>", "SO4^(2\u2212)"),
        ("H<sub>2</sub>O", "H2O"),
        ("101<sub>2</sub>", "101_2"),
        ("x<sub>i</sub> and x<sub>i+1</sub>", "x_i and x_(i+1)"),
        ("<code>2<sup>32</sup></code>", "`2^32`"),
    ],
)
def test_what_is_raised_or_lowered_is_told_from_what_it_follows(text, expected):
    assert markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so<sup><a href='#f'>[1]</a></sup>", "so[1]"),
        ("so<sup><a href='#f'>1</a></sup>", "so[1]"),
        ("so<a href='#f'><sup>1</sup></a>", "so[1]"),
        ("1<sup>st</sup>, 2<sup>e</sup>", "1st, 2e"),
        ("Word<sup>TM</sup>", "WordTM"),
        ("<sup>1</sup> See below", "1 See below"),
        ("Word <sub>and a small text</sub>", "Word and a small text"),
        ("a<sup></sup>b<sub> </sub>c", "ab c"),
    ],
)
def test_what_is_no_exponent_and_no_index_is_not_written_as_one(text, expected):
    assert markdown(text) == expected


ANNOTATION = '<annotation encoding="application/x-tex">x^{2}+1</annotation>'
DRAWN = f"<math><semantics><mrow><mi>x</mi><mn>2</mn></mrow>{ANNOTATION}</semantics></math>"


@pytest.mark.parametrize(
    "formula",
    [
        '<math alttext="x^{2}+1"><mi>x</mi></math>',
        DRAWN,
        DRAWN.replace("<math>", '<math alttext="x^{2}+1">'),
        f'<span class="x">{DRAWN}</span><span class="katex-html" aria-hidden>x2</span>',
        f'<span>{DRAWN}<img alt="x^{{2}}+1" aria-hidden="true"></span>',
    ],
    ids=["attribute", "annotation", "both", "KaTeX", "image"],
)
def test_the_tex_of_a_formula_is_kept_once(formula):
    assert markdown(f"Let {formula} be.") == "Let $x^{2}+1$ be."


def test_a_formula_without_tex_takes_none_from_one_before_it():
    assert markdown(f"{DRAWN} and <math><mi>y</mi></math>.") == "$x^{2}+1$ and y."


N_PLUS_1 = "<mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow>"
ROOT = (
    "<msqrt><msup><mi>b</mi><mn>2</mn></msup><mo>\u2212</mo><mn>4</mn><mi>a</mi><mi>c</mi></msqrt>"
)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (f"<msup><mi>x</mi>{N_PLUS_1}</msup>", "x^(n + 1)"),
        ("<msup>\n <mi>x</mi>\n <mn>2</mn>\n</msup>", "x^2"),
        ("<msubsup><mi>b</mi><mi>j</mi><mn>2</mn></msubsup><mi>a</mi>", "b_j^2 a"),
        (f"<mfrac><mn>1</mn>{N_PLUS_1}</mfrac>", "1/(n + 1)"),
        ('<mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac>', "n choose k"),
        (
            f"<mo>\u2212</mo><mi>b</mi><mo>\u00b1</mo>{ROOT}",
            "\u2212b \u00b1 \u221a(b^2 \u2212 4 a c)",
        ),
        ("<mroot><mi>y</mi><mn>3</mn></mroot>", "y^(1/3)"),
        (
            f"<munderover><mo>\u2211</mo>{N_PLUS_1}<mi>m</mi></munderover><mi>a</mi>",
            "\u2211_(n + 1)^m a",
        ),
        ("<munder><mo>lim</mo><mi>n</mi></munder><mi>a</mi>", "lim_n a"),
        ("<mover><mi>x</mi><mo>\u00af</mo></mover>", "x\u00af"),
        ("<mi>sin</mi><mo>\u2061</mo><mi>x</mi>", "sin x"),
        (
            "<msup><mi>f</mi><mo>\u2032</mo></msup><mo>(</mo><mi>a</mi><mo>,</mo><mi>b</mi><mo>)</mo>",
            "f\u2032(a, b)",
        ),
        (
            "<mi>y</mi><mo>=</mo><mo>|</mo><mi>x</mi><mo>|</mo><mo>&lt;</mo><mo>-</mo><mn>2</mn>",
            "y = |x| < -2",
        ),
        ("<mfenced open='['><mi>a</mi><mi>b</mi></mfenced>", "[a, b)"),
        ("<mtable><mtr><mtd>1</mtd><mtd>0</mtd></mtr><mtr><mtd>2</mtd></mtr></mtable>", "1, 0; 2"),
        ("<mi>x</mi><mtext> if </mtext><mi>y</mi><mspace/><mn>1</mn>", "x if y 1"),
        ("<msup><mrow/><mn>2</mn></msup><mi>H</mi>", "^2 H"),
        ("<semantics><mi>x</mi><annotation-xml><ci>x</ci></annotation-xml></semantics>", "x"),
        ("x", "x"),
        ("</mi></msup><msup><mi>x", "x"),
    ],
)
def test_a_formula_without_tex_is_written_in_one_line(formula, expected):
    assert markdown(f"Let <math>{formula}</math> be.") == f"Let {expected} be."


def test_a_formula_that_is_hidden_and_gives_no_tex_is_left_out():
    assert markdown('a <math aria-hidden="true"><mi>x</mi></math>b') == "a b"


@pytest.mark.parametrize(
    ("formula", "expected"),
    [(r"\[x^2\]", r"(1) \[x^2\]"), ('<img src=x.png alt="x^2">', "(1) x^2")],
)
def test_the_number_of_a_formula_stands_apart_from_it(formula, expected):
    link = '<a class="headerlink" href="#e" title="Link to this equation">\N{PILCROW SIGN}</a>'
    page = f'</p><div class="math" id="e"><span class="eqno">(1){link}</span>{formula}</div>'
    assert markdown(page) == expected
