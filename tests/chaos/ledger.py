"""What the world outside the service knows: files as they were written, answers as they came."""

import random
from dataclasses import dataclass, field
from pathlib import Path

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
        path.write_text(text)
        self.versions.setdefault(path, []).append(text)
        self.deleted.discard(path)

    def change_some(self) -> None:
        """Change a few files, delete one, add one."""
        for path in self.random.sample(sorted(self.files()), 12):
            self.write(path)
        gone = self.random.choice(sorted(self.files()))
        gone.unlink()
        self.deleted.add(gone)
        folder = self.random.choice(sorted(self.files())).parent
        self.write(folder / f"new-{len(self.versions):04}.md")

    def files(self) -> set[Path]:
        """The files that are there now."""
        return set(self.versions) - self.deleted


@dataclass
class Ledger:
    """What the service has answered; what was asked and not answered may have happened or not."""

    titles: dict[int, str] = field(default_factory=dict)
    """Items that were answered to be there, with their title."""
    perhaps_titles: dict[int, str] = field(default_factory=dict)
    """Titles whose change was asked and not answered."""
    perhaps_deleted: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    jobs: set[int] = field(default_factory=set)
