"""Folders that a test takes from a service while it serves."""

import shutil
from pathlib import Path


def take_away(folder: Path) -> None:
    """Delete `folder`, which is gone at once.

    Deleted one by one, its files are missed while some are there still: whoever serves them then
    deletes some as well, and `shutil.rmtree` fails at those.
    """
    aside = folder.with_name(f"{folder.name}-taken-away")
    folder.rename(aside)
    shutil.rmtree(aside)


def exchange(folder: Path, other: Path) -> None:
    """Put a copy of `other` in the place of `folder`, which is there whole as soon as that is gone.

    Copied to its place, it may meet what a service makes there that has missed `folder` meanwhile.
    """
    copy, aside = (folder.with_name(f"{folder.name}-{what}") for what in ("copy", "taken-away"))
    shutil.copytree(other, copy)
    folder.rename(aside)
    copy.rename(folder)
    shutil.rmtree(aside)
