"""Chance for delays, so that what failed or began together does not come back all at once."""

from random import Random

draw = Random().random  # noqa: S311, no secret
"""Gives numbers from 0 to 1, from a generator of our own: our threads draw at any moment, and what
a program has seeded, or a test compares, must not depend on that."""
