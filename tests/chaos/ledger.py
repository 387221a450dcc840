"""What the world outside the service knows: files as they were written, answers as they came."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORDS = (
    *("anchor", "basin", "cable", "delta", "ember", "fjord", "gravel", "harbor", "island", "jetty"),
    *("kelp", "lagoon", "marsh", "nautical", "ocean", "pebble", "quay", "reef", "sand", "tide"),
    *("umber", "vessel", "wharf", "yacht", "zephyr", "beacon", "current", "drift", "estuary"),
)


@dataclass
class Tree:
    """Folders of small documents that change; every text that a file ever had is remembered."""

    root: Path
    random: random.Random
    versions: dict[Path, list[str]] = field(default_factory=dict)
    """All texts of a file since it was first written, the newest last."""
    deleted: set[Path] = field(default_factory=set)

    def add_folder(self, name: str, files: int) -> Path:
        """Write a folder of documents."""
        folder = self.root / name
        folder.mkdir()
        for number in range(files):
            self.write(folder / f"{number:03}.md")
        return folder

    def write(self, path: Path) -> None:
        """Write a file, or a new version of it: words at random, so that no two are equal."""
        paragraphs = 12 if self.random.random() < 0.15 else 2
        body = "\n\n".join(
            " ".join(self.random.choices(WORDS, k=30)) + "." for _ in range(paragraphs)
        )
        text = f"# {path.parent.name} {path.stem}\n\n{body}\n"
        # As editors do: whoever reads meanwhile gets the old text or the new one, never none.
        beside = path.with_name(f".{path.name}")
        beside.write_text(text)
        beside.replace(path)
        self.versions.setdefault(path, []).append(text)
        self.deleted.discard(path)

    def change_some(self, files: int) -> None:
        """Change some files, delete one, add one to the folder that has fewest."""
        for path in self.random.sample(sorted(self.files()), files):
            self.write(path)
        gone = self.random.choice(sorted(self.files()))
        gone.unlink()
        self.deleted.add(gone)
        folders = [path.parent for path in sorted(self.files())]
        self.write(min(folders, key=folders.count) / f"new-{len(self.versions):04}.md")

    def files(self) -> set[Path]:
        """The files that are there now."""
        return set(self.versions) - self.deleted

    def version_of(self, path: Path, chunks: list[dict[str, Any]]) -> int:
        """Which version of a file the chunks are, whole and once: its place in `versions`."""
        texts = self.versions[path]
        for number in reversed(range(len(texts))):
            if covers(texts[number], chunks):
                return number
        raise AssertionError(f"{path} is found as a mix of versions, twice or in part: {chunks}")


def covers(text: str, chunks: list[dict[str, Any]]) -> bool:
    """Whether the chunks are all of this text, each place once."""
    position, indexes = 0, []
    for chunk in sorted(chunks, key=lambda chunk: chunk["start_index"]):
        start, end = chunk["start_index"], chunk["end_index"]
        if text[start:end] != chunk["content"] or text[position:start].strip():
            return False
        position = max(position, end)
        indexes.append(chunk["chunk_index"])
    return not text[position:].strip() and indexes == list(range(len(chunks)))


@dataclass
class FleetingItem:
    """An item of one file that is written, indexed, taken out of the index and deleted."""

    path: Path
    titles: set[str]
    """The last that was answered, and those that were asked for since."""
    least_version: int = 0
    """No version before this may be found any more."""
    is_searchable: bool = False
    """It was answered that `least_version` is indexed; of that, or a later one, all is found."""
    is_perhaps_deleted: bool = False


@dataclass
class Ledger:
    """What the service has answered; what was asked and not answered may have happened or not."""

    fleeting: dict[int, FleetingItem] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    open_jobs: dict[int, int | None] = field(default_factory=dict)
    """Jobs that were answered and not yet seen to have ended, with their item if they have one."""
    stopped_items: set[int] = field(default_factory=set)
    """Items that somebody asked to delete or to take out, which cancels their jobs."""
    answers: int = 0
    """How many changes were acknowledged."""
