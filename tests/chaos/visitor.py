"""A client that creates, indexes, takes out, renames and deletes items until the server dies."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.chaos.ledger import FleetingItem, Ledger, Tree

MOST_ITEMS = 6

STOPPING = 503
"""What a server answers that is being stopped: then nothing was acknowledged."""


class Visitor:
    """Notes every wish before it is uttered, and every answer; each item has a file of its own."""

    def __init__(self, ledger: Ledger, tree: Tree) -> None:
        self._ledger = ledger
        self.tree = tree
        self.failures: list[str] = []
        """Answers that there should not have been."""
        self._step = 0

    def run(self, url: str, stop: threading.Event) -> None:
        """Go on with what a client does, again and again."""
        steps = (
            self._create, self._index, self._rename, self._change_and_promise,
            self._change_and_index, self._take_out, self._index_again, self._miss, self._delete,
        )  # fmt: skip
        try:
            with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
                while not stop.is_set():
                    self._step += 1
                    steps[self._step % len(steps)](http)
        except httpx.TransportError:
            return  # it was killed
        except AssertionError as failure:
            self.failures.append(str(failure))

    # What clients do -----------------------------------------------------------------------

    def _create(self, http: httpx.Client) -> None:
        path = self.tree.root / f"{len(self.tree.versions):04}.md"
        self.tree.write(path)
        title = f"fleeting {path.stem}"
        if (answer := self._ask(http, "POST", "/knowledge", 201, _item(title, path))) is not None:
            self._ledger.fleeting[int(answer["id"])] = FleetingItem(path, {title})

    def _index(self, http: httpx.Client) -> None:
        self._index_now(http, *self._newest())

    def _index_again(self, http: httpx.Client) -> None:
        self._index_now(http, *self._newest(), force="true")

    def _change_and_index(self, http: httpx.Client) -> None:
        item_id, item = self._newest()
        if item is not None:
            self.tree.write(item.path)
            self._index_now(http, item_id, item)

    def _change_and_promise(self, http: httpx.Client) -> None:
        item_id, item = self._newest()
        if item is not None:
            self.tree.write(item.path)
            path = f"/rag/index/{item_id}?wait=false"
            if (answer := self._ask(http, "POST", path, 202)) is not None:
                self._ledger.open_jobs[int(answer["id"])] = item_id

    def _rename(self, http: httpx.Client) -> None:
        item_id, item = self._newest()
        if item is not None:
            title = f"renamed {time.monotonic_ns()}"
            item.titles.add(title)
            if self._ask(http, "PATCH", f"/knowledge/{item_id}", 200, {"title": title}) is not None:
                item.titles = {title}

    def _take_out(self, http: httpx.Client) -> None:
        item_id, item = self._newest()
        if item is None:
            return
        # Whoever indexes it from here on reads the new text: the old one must not come back.
        self.tree.write(item.path)
        newest = self._last_version(item)
        item.is_searchable = False
        self._ledger.stopped_items.add(item_id)
        if self._ask(http, "DELETE", f"/rag/index/{item_id}", 200) is not None:
            item.least_version = newest

    def _miss(self, http: httpx.Client) -> None:
        """An item without a file: it fails, and says so."""
        path = self.tree.root / "missing.md"
        answer = self._ask(http, "POST", "/knowledge", 201, _item("missing", path))
        if answer is None:
            return
        item_id = int(answer["id"])
        self._ledger.stopped_items.add(item_id)
        answer = self._ask(http, "POST", f"/rag/index/{item_id}", 200)
        assert answer is None or answer["success"] is False, answer
        if self._ask(http, "DELETE", f"/knowledge/{item_id}", 204) is not None:
            self._ledger.deleted.add(item_id)

    def _delete(self, http: httpx.Client) -> None:
        ledger = self._ledger
        if len(ledger.fleeting) <= MOST_ITEMS:
            return
        item_id = min(ledger.fleeting)
        ledger.fleeting[item_id].is_perhaps_deleted = True
        ledger.stopped_items.add(item_id)
        if self._ask(http, "DELETE", f"/knowledge/{item_id}", 204) is not None:
            ledger.deleted.add(item_id)
            del ledger.fleeting[item_id]

    # Inside --------------------------------------------------------------------------------

    def _newest(self) -> tuple[int, FleetingItem | None]:
        there = [key for key, item in self._ledger.fleeting.items() if not item.is_perhaps_deleted]
        newest = max(there, default=0)
        return newest, self._ledger.fleeting.get(newest)

    def _last_version(self, item: FleetingItem) -> int:
        return len(self.tree.versions[item.path]) - 1

    def _index_now(
        self, http: httpx.Client, item_id: int, item: FleetingItem | None, **wishes: str
    ) -> None:
        if item is None:
            return
        version = self._last_version(item)
        query = "?" + "&".join(f"{name}={value}" for name, value in wishes.items())
        answer = self._ask(http, "POST", f"/rag/index/{item_id}{query}", 200)
        if answer is not None:
            assert answer["success"], answer
            item.least_version, item.is_searchable = version, True

    def _ask(
        self,
        http: httpx.Client,
        method: str,
        path: str,
        expected: int,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """The body of the answer; None when the service says that it is stopping."""
        answer = http.request(method, f"/api/v1{path}", json=body)
        if answer.status_code == STOPPING and "stopping" in answer.text:
            return None
        assert answer.status_code == expected, (
            f"{method} {path}: {answer.status_code} {answer.text}"
        )
        self._ledger.answers += 1
        return dict(answer.json()) if answer.content else {}


def _item(title: str, path: Path) -> dict[str, str]:
    return {"title": title, "uri": str(path), "document_type": "markdown"}
