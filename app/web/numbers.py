"""What counts as a number in a JSON body, and as the id of a row."""

LARGEST_ID = 2**53 - 1
"""Of a row: the largest whole number that JSON's readers, JavaScript above all, keep exact."""


def is_number(value: object) -> object:
    """Refuse what Pydantic would take for a number, against what the schema says."""
    if isinstance(value, bool | str):
        raise ValueError("must be a number")  # noqa: TRY004, Pydantic reports ValueError
    return value
