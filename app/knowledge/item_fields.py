"""What each field of a knowledge item may hold, as JSON."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from app.accents import composed
from app.json_numbers import is_number
from app.knowledge.items import DocumentType, is_web_address
from app.knowledge.refreshing import LOCAL_SECONDS, MOST_SECONDS, WEB_SECONDS
from app.labels import (
    LICENCE_SIGNS,
    MOST_CATEGORY_CHARACTERS,
    MOST_LICENCE_CHARACTERS,
    MOST_TAG_CHARACTERS,
    MOST_TAGS,
    normalise_category,
    tidy_tags,
)

MOST_TIMES_SHORTER = 4
"""No letter is more characters in NFD than U+1F82, an alpha with three accents."""

CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""Control characters, and halves of characters: JSON can write these, SQL cannot store them."""

PORT_PATTERN = (
    r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
)
WEB_PATTERN = (
    r"[hH][tT][tT][pP][sS]?://"
    r"(\[[0-9A-Fa-f:.]+\]|[^\u0000-\u0020\u007f-\u00a0/?#@:\[\]\\]+)"
    rf"(:{PORT_PATTERN}?)?"
    r"([/?#][^\u0000-\u001f\u007f]*)?"
)
"""A host, maybe with a port from 1 to 65535, and then any path. No user and no password before it:
such an address is not fetched, and lists and answers would show it to everybody."""

URI_PATTERN = (
    rf"^({WEB_PATTERN} *"
    r"|[fF][iI][lL][eE]://[^\u0000-\u001f\u007f]*"
    r"|[^\u0000-\u0020\u007f-\u00a0:][^\u0000-\u001f\u007f:]*"
    r"(:/?([^\u0000-\u001f\u007f/][^\u0000-\u001f\u007f]*)?)?)$"
)
"""The rules for addresses, for clients that check before they send: another `x://` is refused."""

WEB_ADDRESS = re.compile(WEB_PATTERN)
WITH_USER = re.compile(r"https?://[^/?#]*@", re.IGNORECASE)
URI_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):(//)?")


def _one_line(value: str) -> str:
    if CONTROL_CHARACTERS.search(value):
        raise ValueError("must not contain control characters or halves of characters")
    return value


def _composed_up_to(most_characters: int) -> BeforeValidator:
    """In NFC before the length is looked at: a few characters are two in that form.

    What is too long in that form, too, is left for that look: to put accents in order takes
    quadratic time, so that one body of 400 KB kept everybody waiting for half a minute.
    """

    def compose(value: Any) -> Any:
        is_short = isinstance(value, str) and len(value) <= MOST_TIMES_SHORTER * most_characters
        return composed(value) if is_short else value

    return BeforeValidator(compose)


def _not_blank(value: str) -> str:
    value = value.strip()
    if not value:
        raise ValueError("must not be empty")
    return value


def _trimmed(value: str | None) -> str | None:
    """Without blanks around it; of nothing but blanks, None."""
    return (value or "").strip() or None


def _supported_uri(value: str) -> str:
    scheme = URI_SCHEME.match(value)
    if scheme and scheme[2] and scheme[1].lower() not in ("file", "http", "https"):
        raise ValueError("must be a path, a file:// address or an http(s):// address")
    if WITH_USER.match(value):
        raise ValueError(
            "must not hold a user name or password: such an address is not fetched, and would be "
            "shown to whoever lists the items"
        )
    if is_web_address(value) and not WEB_ADDRESS.fullmatch(value):
        raise ValueError(
            "is no web address: after http(s):// stands a host without blanks, and after a colon "
            "a port from 1 to 65535"
        )
    return value


def _known_signs(pattern: str, rule: str) -> AfterValidator:
    """That a text is as the pattern has it: Pydantic would show its reader the pattern."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(rule)
        return value

    return AfterValidator(check)


def _split_tags(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


ONE_LINE_PATTERN = r"^[^\u0000-\u001f\u007f]*[^\u0000-\u0020\u007f-\u00a0][^\u0000-\u001f\u007f]*$"
"""The rule of `_one_line` and `_not_blank`, for clients that check before they send."""

NO_CONTROL_PATTERN = r"^[^\u0000-\u001f\u007f]*$"
"""The rule of `_one_line`, for clients that check before they send."""

LICENCE_PATTERN = f"^{LICENCE_SIGNS}+$"
COLLECTION_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"

Title = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="What lists and results call it; of one line.",
        examples=["FastAPI documentation"],
        json_schema_extra={"pattern": ONE_LINE_PATTERN},
    ),
    AfterValidator(_one_line),
    AfterValidator(_not_blank),
]
Uri = Annotated[
    str,
    Field(
        min_length=1,
        max_length=4096,
        description="A path, a `file://` address or an `http(s)://` address. A path is one of the "
        "machine that the service runs on, below one of its SOURCE_ROOTS; a relative one starts at "
        "the working directory of the service, so an absolute one is the safer choice.",
        examples=["/srv/docs"],
        json_schema_extra={"pattern": URI_PATTERN},
    ),
    AfterValidator(_one_line),
    AfterValidator(_not_blank),
    AfterValidator(_supported_uri),
]
Category = Annotated[
    Annotated[
        str,
        Field(
            max_length=MOST_CATEGORY_CHARACTERS, json_schema_extra={"pattern": NO_CONTROL_PATTERN}
        ),
        _composed_up_to(MOST_CATEGORY_CHARACTERS),
        AfterValidator(_one_line),
    ]
    | None,
    AfterValidator(normalise_category),
    Field(
        description="`/` makes a hierarchy: a search for `Engineering` finds "
        "`Engineering/Security` too.",
        examples=["Engineering/Security"],
    ),
]
Tag = Annotated[
    str,
    Field(max_length=MOST_TAG_CHARACTERS, json_schema_extra={"pattern": NO_CONTROL_PATTERN}),
    _composed_up_to(MOST_TAG_CHARACTERS),
    AfterValidator(_one_line),
]
TagsAsText = Annotated[str, Field(max_length=200, pattern=NO_CONTROL_PATTERN)]
Tags = Annotated[
    list[Tag],
    Field(max_length=MOST_TAGS),  # as they are sent, before they are tidied
    BeforeValidator(
        _split_tags,
        json_schema_input_type=Annotated[list[Tag], Field(max_length=MOST_TAGS)] | TagsAsText,
    ),
    AfterValidator(tidy_tags),
    Field(
        description="A list, or, where they are short, one string with commas; answered as a list.",
        examples=[["docker", "production"]],
    ),
]
Licence = Annotated[
    Annotated[
        str,
        Field(max_length=MOST_LICENCE_CHARACTERS, json_schema_extra={"pattern": LICENCE_PATTERN}),
        _known_signs(
            LICENCE_PATTERN,
            "must be an SPDX licence identifier or expression, as in Apache-2.0 or (MIT OR 0BSD); "
            "null: nothing is known of it",
        ),
    ]
    | None,
    AfterValidator(_trimmed),
    Field(description="SPDX licence identifier or expression.", examples=["Apache-2.0"]),
]
RefreshInterval = Annotated[
    Annotated[int, Field(ge=0, le=MOST_SECONDS), BeforeValidator(is_number)] | None,
    Field(
        description="Seconds after which the source of an indexed item is looked at again by "
        "itself; 0: never, nor is it watched. null: what suits it, "
        f"{LOCAL_SECONDS} for files and folders, {WEB_SECONDS:,} (a day) for web pages. After "
        "failures it takes longer.",
        examples=[600],
    ),
]
ItemCollection = Annotated[
    str,
    Field(
        min_length=1,
        max_length=500,
        description="Name of the collection that the item is in.",
        json_schema_extra={"pattern": COLLECTION_PATTERN},
    ),
    _known_signs(
        COLLECTION_PATTERN,
        "must begin with an English letter or a digit, and go on with such, dots, dashes and "
        "underscores",
    ),
]
TypeOfDocument = Annotated[
    DocumentType,
    Field(description="What lies at `uri`: one file, a `folder` of files, or one web page."),
]
Importance = Annotated[
    Annotated[float, Field(ge=0, le=1), BeforeValidator(is_number)] | None,
    Field(
        description="How important its texts are, for searches whose ranking asks; null: nothing "
        "is said of it, and the names of the files decide.",
        examples=[0.8],
    ),
]
