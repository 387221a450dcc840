"""The titles that a document is found by: of an item's only document, also the item's."""

from app.protocols import MANY_DOCUMENTS


def searched_titles(
    document_title: str | None, item_title: str, document_type: str
) -> tuple[str, ...]:
    """The document's title, and its item's where that has one document, or this one no title.

    What has no heading is called by its file's name, and the title that a person gave with the
    item is said nowhere else. One that differs by its capitals is no other: as such, all sections
    below the document's would be called by it. `document_type` is the item's.
    """
    if document_title is None:
        return (item_title,)
    if document_type in MANY_DOCUMENTS or document_title.casefold() == item_title.casefold():
        return (document_title,)
    return (document_title, item_title)
