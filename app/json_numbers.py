"""What counts as a number in a JSON body, and as the id of a row."""

LARGEST_ID = 2**53 - 1
"""The largest whole number that all readers of JSON, JavaScript above all, keep exact."""


def is_number(value: object) -> object:
    """Refuse what Pydantic would accept as a number although the schema does not."""
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004, Pydantic reports ValueError
    return value
