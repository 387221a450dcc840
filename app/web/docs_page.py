"""`/docs`: the API's description for people, with its scripts served locally."""

import importlib.util
from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

ASSETS = "/docs/assets"
NO_ICON = "data:,"
"""An icon that a browser need not fetch."""

NO_FRAMES = "frame-ancestors 'none'"
"""Requests tried here pass for our own, so no other page may embed this one (clickjacking)."""

router = APIRouter()


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    """Describe every operation, and let people try it."""
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Groundwork",
        swagger_js_url=f"{ASSETS}/swagger-ui-bundle.js",
        swagger_css_url=f"{ASSETS}/swagger-ui.css",
        swagger_favicon_url=NO_ICON,
    )
    page.headers["Content-Security-Policy"] = NO_FRAMES
    return page


def install_docs(app: FastAPI) -> None:
    """Add the page and its scripts, which the package `fastapi-offline` carries."""
    app.include_router(router)
    app.mount(ASSETS, StaticFiles(directory=_assets_folder()))


def _assets_folder() -> Path:
    package = importlib.util.find_spec("fastapi_offline")
    assert package is not None, "fastapi-offline is a dependency"  # noqa: S101
    assert package.origin is not None  # noqa: S101
    return Path(package.origin).parent / "static"
