"""Starts modules of ours in processes of their own."""

import os
import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs one of our modules, to be started with `module_environment`.

    Not from the folder where the service was started: another project's `app` may lie there.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """The variables of this process, and where it found its packages."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
