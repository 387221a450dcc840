"""Opens what an item's `uri` and `document_type` name: a file, a folder or a web page."""

import re
from collections.abc import Callable
from typing import Self

from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.local_sources import FileSource, FolderSource
from app.adapters.loading.path_guard import PathGuard
from app.adapters.loading.robots import RobotsRules
from app.adapters.loading.web_source import WebSource
from app.errors import SourceRefusedError
from app.protocols import Source
from app.settings import Settings

SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.-]*):(?P<slashes>//)?")


class Sources:
    """Opens sources; implements SourceOpener."""

    def __init__(
        self,
        guard: PathGuard,
        fetcher: GuardedFetcher,
        file_max_bytes: int,
        robots: RobotsRules | None = None,
    ) -> None:
        self._guard = guard
        self._fetcher = fetcher
        self._robots = robots or RobotsRules(fetcher)
        self._file_max_bytes = file_max_bytes
        self._openers: dict[str, Callable[[str], Source]] = {
            "markdown": self._markdown,
            "folder": self._folder,
            "website": self._website,
        }

    @classmethod
    def from_settings(
        cls, settings: Settings, *, fetch_timeout_seconds: float | None = None
    ) -> Self:
        """Sources with the roots, limits and allowed hosts of the settings."""
        fetcher = GuardedFetcher(
            allow_hosts=settings.fetch_allow_hosts,
            timeout_seconds=fetch_timeout_seconds or settings.fetch_timeout_seconds,
            max_bytes=settings.fetch_max_bytes,
        )
        return cls(
            guard=PathGuard(settings.roots),
            fetcher=fetcher,
            file_max_bytes=settings.file_max_bytes,
            robots=RobotsRules(fetcher, settings.robots_ignore_hosts),
        )

    def open(self, uri: str, document_type: str) -> Source:
        """Open a source without reading it; raises SourceRefusedError."""
        opener = self._openers.get(document_type)
        if not opener:
            raise SourceRefusedError(
                f"document_type {document_type!r} cannot be indexed; "
                f"use one of: {', '.join(self._openers)}."
            )
        return opener(uri.strip())

    def _markdown(self, uri: str) -> Source:
        if is_web(uri):
            return WebSource(self._fetcher, self._robots, uri)
        return FileSource(self._guard, self._guard.locate(uri), self._file_max_bytes)

    def _folder(self, uri: str) -> Source:
        if is_web(uri):
            raise SourceRefusedError(
                "A folder lies on this machine: give its path, or index a web page with "
                "document_type 'website'."
            )
        return FolderSource(self._guard, self._guard.locate(uri), self._file_max_bytes)

    def _website(self, uri: str) -> Source:
        if not is_web(uri):
            raise SourceRefusedError(
                "A website has an http:// or https:// address; index a local file with "
                "document_type 'markdown'."
            )
        return WebSource(self._fetcher, self._robots, uri)


def is_web(uri: str) -> bool:
    """Whether the uri is a web address; raises SourceRefusedError for schemes other than file."""
    found = SCHEME.match(uri)
    name = found["name"].lower() if found else ""
    if found and found["slashes"] and name not in {"http", "https", "file"}:
        raise SourceRefusedError(
            f"{name}:// addresses cannot be read; use a path, file://, http:// or https://."
        )
    return bool(found and found["slashes"]) and name in {"http", "https"}
