"""Examples of a rule that others show already, which `make test-slow` alone tries."""

import pytest


def slow(*values: object) -> object:
    """The values of a parametrised test, marked as slow."""
    return pytest.param(*values, marks=pytest.mark.slow)
