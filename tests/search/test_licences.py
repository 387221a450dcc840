"""Only what is known to be permissive counts as permissive, and no text breaks the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.licences import is_permissive


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "mit",
        " MIT\n",
        "Apache-2.0",
        "BSD-3-Clause",
        "CC0-1.0",
        "Unlicense",
        "CC-BY-4.0",
        "MIT OR GPL-3.0-only",
        "GPL-3.0+ or MIT",
        "MIT AND BSD-3-Clause",
        "(MIT AND ISC) OR GPL-2.0-only",
        "MIT AND (GPL-2.0-only OR 0BSD)",
        "Apache-2.0 WITH LLVM-exception",
        "Apache-2.0+",
        "(" * 90 + "MIT" + ")" * 90,
    ],
)
def test_what_may_be_used_under_permissive_terms_alone_is_permissive(expression):
    assert is_permissive(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "GPL-3.0-only",
        "AGPL-3.0-or-later",
        "LGPL-2.1-only",
        "MPL-2.0",
        "CC-BY-SA-4.0",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR AGPL-3.0-only)",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "LLVM-exception",
        "MIT AND Unheard-Of-1.0",
        "LicenseRef-ours",
        "NONE",
        "NOASSERTION",
    ],
)
def test_what_asks_for_more_or_is_not_known_is_not(expression):
    assert not is_permissive(expression)


@pytest.mark.parametrize(
    "text",
    ["", " ", "()", "( )MIT", "MIT AND (OR MIT)", "MIT MIT", "(MIT", "MIT)", "OR", "MIT OR",
     "NOT MIT", "MIT\0", "\ud800", "\u202eTIM", "MIT, see LICENSE", "All rights\n", "(" * 200],
)  # fmt: skip
def test_what_is_no_expression_is_not_permissive(text):
    assert not is_permissive(text)


PIECES = st.sampled_from(
    ["MIT", "GPL-3.0-only", "Unheard-Of", "LLVM-exception", "AND", "or", "WITH", "(", ")", "+", "/"]
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=50))
def test_any_text_gets_an_answer(text):
    assert is_permissive(text) in (True, False)


@given(st.recursive(st.sampled_from(["MIT", "ISC", "GPL-2.0-only", "Unheard-Of"]),
                    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner),
                    max_leaves=8))  # fmt: skip
def test_of_alternatives_one_and_of_parts_all_must_be_permissive(tree):
    def written(node) -> str:
        return node if isinstance(node, str) else "(" + " ".join(map(written_or_sign, node)) + ")"

    def written_or_sign(part) -> str:
        return part if part in ("AND", "OR") else written(part)

    def allowed(node) -> bool:
        if isinstance(node, str):
            return node in ("MIT", "ISC")
        left, sign, right = node
        return (
            (allowed(left) or allowed(right)) if sign == "OR" else allowed(left) and allowed(right)
        )

    assert is_permissive(written(tree)) == allowed(tree)
