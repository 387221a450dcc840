"""Items that a program describes from Python: held to the rules of HTTP, by the very same schema.

What HTTP could not have stored it could not read back either: one item of an unknown type would
break the list of all.
"""

from pydantic import ValidationError

from app.errors import InvalidRequestError
from app.knowledge.items import ItemDraft
from app.knowledge.schemas import WholeItem


def sound_draft(**fields: object) -> ItemDraft:
    """What a client says of an item; raises InvalidRequestError for what HTTP would refuse."""
    try:
        return WholeItem.model_validate(fields).draft()
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> InvalidRequestError:
    """The first field that was refused, in the words of HTTP."""
    fault = error.errors(include_url=False)[0]
    message = fault["msg"].removeprefix("Value error, ")
    path = [str(part) for part in fault["loc"]]
    named = f"{path[0]}: {message}." if path else f"{message}.".capitalize()
    return InvalidRequestError(named, "#" + "".join(f"/{part}" for part in path), "body")
