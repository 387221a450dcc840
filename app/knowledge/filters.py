"""The filters of lists and searches, as parameters: one that names nothing is refused.

If it meant "everything", an empty variable in a script would find what it was to leave out.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from app.labels import normalise_category, tidy_tags

MOST_FILTER_TAGS = 100
MOST_FILTER_CHARACTERS = 500

FilterText = Annotated[str, Field(max_length=MOST_FILTER_CHARACTERS, pattern=r"^[^\u0000]*$")]
"""What stored text is compared with; PostgreSQL knows no NUL."""


def _some_category(value: str) -> str:
    category = normalise_category(value)
    if category is None:
        raise ValueError("names no category; leave it out to mean all items")
    return category


def _some_tag(value: str) -> str:
    if not tidy_tags([value]):
        raise ValueError("names no tag; leave it out to mean all items")
    return value


def _some_text(value: str) -> str:
    if not value.strip():
        raise ValueError("names nothing; leave it out to mean everything")
    return value


def split_at_commas(value: Any) -> Any:
    """`["1,2", "3"]`, as a query holds it, is `["1", "2", "3"]`; anything else is left alone."""
    if not isinstance(value, list):
        return value
    return [
        part for text in value for part in (text.split(",") if isinstance(text, str) else [text])
    ]


def _one_as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


# The patterns say in the schema what the validators say in words.
CategoryFilter = Annotated[
    FilterText,
    AfterValidator(_some_category),
    Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\u0000\s/][^\u0000]*$"}),
]
NameFilter = Annotated[
    FilterText,
    AfterValidator(_some_text),
    Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\u0000\s][^\u0000]*$"}),
]
"""One that is compared with a name, or looked for in one."""
TagFilter = Annotated[
    FilterText,
    AfterValidator(_some_tag),
    Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\u0000\s,][^\u0000]*$"}),
]
TagFilters = Annotated[
    Annotated[list[TagFilter], Field(max_length=MOST_FILTER_TAGS)],
    BeforeValidator(
        _one_as_list,
        json_schema_input_type=Annotated[list[TagFilter], Field(max_length=MOST_FILTER_TAGS)]
        | TagFilter,
    ),
    AfterValidator(tidy_tags),
]
"""A list, or one string; commas part tags in either."""
