"""Tells from a document's name in which markup its text is written, and which names are code."""

from enum import Enum, auto
from pathlib import PurePosixPath


class Markup(Enum):
    """What the marks in a text mean."""

    MARKDOWN = auto()
    RESTRUCTUREDTEXT = auto()
    NONE = auto()
    """Nothing is a heading: the text is code."""
    UNTOLD = auto()
    """One of these, or AsciiDoc: the text itself has to tell."""


CODE_NAMES = {
    ".env", "brewfile", "cmakelists.txt", "containerfile", "dockerfile", "gemfile", "gnumakefile",
    "jenkinsfile", "justfile", "makefile", "procfile", "rakefile", "vagrantfile"
}  # fmt: skip
"""Of files that are code though their names have no suffix, or that of plain text."""
CODE_SUFFIXES = {
    ".bash", ".bat", ".c", ".cc", ".cfg", ".clj", ".cljs", ".cmake", ".cmd", ".conf", ".cpp",
    ".cs", ".css", ".cxx", ".dart", ".env", ".erl", ".ex", ".exs", ".fish", ".fs", ".go",
    ".gradle", ".graphql", ".groovy", ".h", ".hcl", ".hh", ".hpp", ".hs", ".hxx", ".ini",
    ".ipynb", ".java", ".jl", ".js", ".json", ".json5", ".jsonc", ".jsonl", ".jsx", ".kt",
    ".kts", ".less", ".lua", ".m", ".mjs", ".mk", ".ml", ".mm", ".nix", ".php", ".pl", ".pm",
    ".properties", ".proto", ".ps1", ".pxd", ".py", ".pyi", ".pyx", ".r", ".rb", ".rs",
    ".sass", ".scala", ".scss", ".sh", ".sql", ".svelte", ".swift", ".tcl", ".tf", ".toml",
    ".ts", ".tsx", ".vb", ".vue", ".xml", ".yaml", ".yml", ".zig", ".zsh"
}  # fmt: skip
"""Of files that are code, settings or data: a comment or a line of signs in them is no heading."""


def markup_of(name: str) -> Markup:
    """The markup of a document of this path or address; Markdown where that says nothing.

    Plain text may be any of them. So may a page whose address ends like such a file's: it is the
    file, or what a host shows of it, which was made Markdown.
    """
    path = PurePosixPath(name.lower())
    is_address = "://" in name
    if not is_address and (path.name in CODE_NAMES or path.suffix in CODE_SUFFIXES):
        return Markup.NONE
    if path.suffix == ".rst" and not is_address:
        return Markup.RESTRUCTUREDTEXT
    return Markup.UNTOLD if path.suffix in {".rst", ".txt"} else Markup.MARKDOWN
