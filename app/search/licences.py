"""Which licences the policy `permissive` lets through, by SPDX expression."""

import functools
from typing import Any

from license_expression import (
    AND,
    OR,
    ExpressionError,
    LicenseWithExceptionSymbol,
    Licensing,
    get_license_index,
    get_spdx_licensing,
)

PERMISSIVE = frozenset({"Permissive", "Public Domain"})
"""Categories of the ScanCode LicenseDB, which license-expression brings along."""

_PARSER_SLIPS = (IndexError, AssertionError)
"""What the parser raises for `()` and `MIT AND (OR MIT)`, where it should call them malformed."""


@functools.lru_cache(maxsize=4096)
def is_permissive(expression: str) -> bool:
    """Whether a text may be used under permissive terms alone.

    `MIT OR GPL-3.0-only` may (one may choose), `MIT AND GPL-3.0-only` may not, `X WITH exception`
    counts as X. What is not an SPDX expression, or names a licence nobody knows, may not.
    """
    try:
        parsed = _licensing().parse(expression)
    except (ExpressionError, *_PARSER_SLIPS):
        return False
    return parsed is not None and _allows(parsed)


def _allows(node: Any) -> bool:
    if isinstance(node, OR):
        return any(_allows(part) for part in node.args)
    if isinstance(node, AND):
        return all(_allows(part) for part in node.args)
    if isinstance(node, LicenseWithExceptionSymbol):
        node = node.license_symbol
    # `Apache-2.0+` is that version or a later one: the choice is whoever's who uses it.
    return node.key.lower().removesuffix("+") in _permissive_keys()


@functools.cache
def _licensing() -> Licensing:
    return get_spdx_licensing()


@functools.cache
def _permissive_keys() -> frozenset[str]:
    """SPDX identifiers in lower case, former ones included."""
    keys: set[str] = set()
    for entry in get_license_index():
        if entry["category"] in PERMISSIVE and not entry["is_exception"]:
            keys.update(
                name.lower()
                for name in (entry["spdx_license_key"], *entry["other_spdx_license_keys"])
                if name
            )
    return frozenset(keys)
