"""The HTTP application: `create_app(settings, container=None)`."""

import functools
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.routing import BaseRoute

from app.container import Container
from app.jobs.router import router as jobs_router
from app.knowledge.content_router import router as content_router
from app.knowledge.history_router import router as history_router
from app.knowledge.router import router as knowledge_router
from app.metrics import Metrics
from app.rag.collections_router import router as collections_router
from app.rag.context_router import router as context_router
from app.rag.generations_router import router as generations_router
from app.rag.router import router as rag_router
from app.rag.router import search_router
from app.rag.service import set_rag_service
from app.settings import Settings, settings_from_environment
from app.web.docs_page import install_docs
from app.web.health import router as health_router
from app.web.middleware import BodyLimit, OriginGuard, PathAliases, RequestMeasures
from app.web.problems import Problem, answer_unexpected, install_problem_handlers

logger = logging.getLogger(__name__)

DESCRIPTION = """\
Hand it documents, folders and web pages; ask where something is said; get the lines.

1. `POST /api/v1/knowledge` adds an item (what, and where it lies).
2. `POST /api/v1/rag/index/{id}` reads, splits and embeds it.
3. `POST /api/v1/rag/search` finds the passages that answer a question, each with its citation.

Errors are `application/problem+json` (RFC 9457).
"""

TAGS = ("knowledge", "rag", "jobs", "service")
"""In the order in which the documentation shows them."""


def create_app(settings: Settings | None = None, container: Container | None = None) -> FastAPI:
    """Make the application.

    Without a container, one is opened from the settings when the server starts and closed when
    it stops. A container that is passed in has been started by the caller, who also closes it.
    """
    settings = settings or (container.settings if container else settings_from_environment())
    metrics = container.metrics if container else Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if container is not None:
            yield
            return
        opened = await anyio.to_thread.run_sync(lambda: Container.open(settings, metrics=metrics))
        app.state.container = opened
        set_rag_service(opened.rag)
        try:
            yield
        finally:
            set_rag_service(None)
            await anyio.to_thread.run_sync(opened.close)

    app = FastAPI(
        title="Groundwork",
        version=version("groundwork"),
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=lifespan,
        middleware=_middleware(settings, metrics),
        routes=list(operations()),
        openapi_tags=[{"name": name} for name in TAGS],
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    if container is not None:
        app.state.container = container
    install_docs(app)
    install_problem_handlers(app)
    _describe_problems(app)
    return app


@functools.cache
def operations() -> tuple[BaseRoute, ...]:
    """The routes of all applications in a process: making them takes 130 ms, once.

    They hold nothing of an application: each request brings its own.
    """
    api = APIRouter(prefix="/api/v1")
    # Searches first: the routes are matched against a request one after another.
    rag_routers = (
        search_router,
        rag_router,
        context_router,
        collections_router,
        generations_router,
    )
    knowledge_routers = (knowledge_router, content_router, history_router)
    for router in (*rag_routers, *knowledge_routers, jobs_router):
        api.include_router(router)
    every = APIRouter()
    every.include_router(api)
    every.include_router(health_router)
    return tuple(every.routes)


def _middleware(settings: Settings, metrics: Metrics) -> list[Middleware]:
    """From the outside in.

    Everything that answers must stand within CORS: a web page may not read an answer without its
    headers. Starlette would handle unexpected errors outside of all of these.
    """
    layers = [Middleware(RequestMeasures, metrics=metrics)]
    if settings.cors_allow_origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_allow_origins,
                allow_methods=["*"],
                allow_headers=["*"],
                expose_headers=["Location", "Retry-After"],
            )
        )
    layers += [
        Middleware(
            OriginGuard,
            allowed_hosts=[*settings.allowed_hosts, settings.host],
            allowed_origins=settings.cors_allow_origins,
        ),
        Middleware(ServerErrorMiddleware, handler=answer_unexpected),
        Middleware(BodyLimit, max_bytes=settings.max_request_bytes),
        Middleware(PathAliases),
    ]
    return layers


def _describe_problems(app: FastAPI) -> None:
    """Put our error body into the OpenAPI schema in place of FastAPI's own."""

    def openapi() -> dict[str, object]:
        if app.openapi_schema is None:
            document = get_openapi(
                title=app.title,
                version=app.version,
                description=app.description,
                license_info=app.license_info,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            schemas = document["components"]["schemas"]
            problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas.update(problem.pop("$defs"))
            schemas["Problem"] = problem
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents it
