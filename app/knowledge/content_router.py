"""`/knowledge/{id}/documents` and `/knowledge/{id}/content`: what is stored of an item."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from app.knowledge import content_schemas
from app.knowledge.content import LINES_PATTERN, ContentService
from app.knowledge.router import ItemId
from app.web.parameters import KNOWN_PARAMETERS_ONLY, PageLimit
from app.web.problems import problem_responses

router = APIRouter(prefix="/knowledge", tags=["knowledge"], dependencies=KNOWN_PARAMETERS_ONLY)

LONGEST_CURSOR = 32_000
"""It holds a document's key: 4,096 bytes of path, or an address with as many characters."""


async def get_content_service(request: Request) -> ContentService:
    """The process's content service."""
    service = request.app.state.container.content
    assert isinstance(service, ContentService)  # noqa: S101, the container is ours
    return service


ContentDep = Annotated[ContentService, Depends(get_content_service)]


@router.get(
    "/{knowledge_id}/documents",
    operation_id="list_documents",
    responses=problem_responses(404, 422, 507),
)
def list_documents(
    knowledge_id: ItemId,
    service: ContentDep,
    limit: PageLimit = 50,
    cursor: Annotated[
        str | None,
        Query(max_length=LONGEST_CURSOR, description="`next_cursor` of the page before."),
    ] = None,
) -> content_schemas.DocumentPage:
    """List the documents of a knowledge item, a page at a time: what was indexed from it."""
    page = service.list_documents(knowledge_id, limit, cursor)
    return content_schemas.DocumentPage.model_validate(page)


@router.get(
    "/{knowledge_id}/content",
    operation_id="get_content",
    responses=problem_responses(404, 422, 507),
)
def get_content(
    knowledge_id: ItemId,
    service: ContentDep,
    document: Annotated[
        str | None,
        Query(
            max_length=8192,
            pattern=r"^[^\u0000]*$",
            description="Key of the document, as citations have it before the `#`, or its address. "
            "May be left out for an item of one document.",
            examples=["guide/auth.md"],
        ),
    ] = None,
    lines: Annotated[
        str | None,
        Query(
            max_length=30,
            description="`120-160`, `120`, `120-` (to the end) or `L120-L160`: lines of the "
            "source, counted as in citations. An end past the last line stands for the last one, "
            "and a start in the frontmatter for the first line of the text. Left out: all.",
            examples=["120-160"],
            json_schema_extra={"pattern": LINES_PATTERN},
        ),
    ] = None,
) -> content_schemas.Content:
    """Read the stored text of a document of a knowledge item, or some of its lines.

    An answer holds up to 200,000 characters, and at least one line; when `truncated` is true, ask
    for the lines after `last_line`. The frontmatter is not part of the text, but its lines count.
    Archived items can be read: they are only never searched.
    """
    return content_schemas.Content.model_validate(service.read(knowledge_id, document, lines))
