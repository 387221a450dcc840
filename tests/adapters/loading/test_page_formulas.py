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
    assert markdown(f"{DRAWN} and <math><mi>y</mi></math>.") == "$x^{2}+1$ and ."
