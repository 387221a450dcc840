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
    ".adb", ".ads", ".asm", ".awk", ".bash", ".bat", ".c", ".cc", ".cfg", ".clj", ".cljs", ".cmake",
    ".cmd", ".coffee", ".conf", ".cpp", ".cr", ".cs", ".csproj", ".css", ".cu", ".cuh", ".cxx",
    ".d", ".dart", ".ejs", ".el", ".elm", ".env", ".erb", ".erl", ".ex", ".exs", ".f", ".f90",
    ".f95", ".fish", ".fs", ".gd", ".glsl", ".go", ".gradle", ".graphql", ".groovy", ".h", ".hbs",
    ".hcl", ".hh", ".hpp", ".hrl", ".hs", ".hxx", ".ini", ".ipynb", ".j2", ".java", ".jinja",
    ".jinja2", ".jl", ".js", ".json", ".json5", ".jsonc", ".jsonl", ".jsx", ".kt", ".kts", ".less",
    ".lisp", ".lock", ".lua", ".m", ".mjs", ".mk", ".ml", ".mm", ".nim", ".nix", ".pas", ".php",
    ".pl", ".plist", ".pm", ".properties", ".proto", ".ps1", ".purs", ".pxd", ".py", ".pyi", ".pyx",
    ".r", ".rb", ".rkt", ".rs", ".sass", ".scala", ".scm", ".scss", ".sh", ".sol", ".sql", ".styl",
    ".sv", ".svelte", ".swift", ".tcl", ".tf", ".toml", ".ts", ".tsx", ".v", ".vb", ".vhd", ".vhdl",
    ".vue", ".wgsl", ".xml", ".yaml", ".yml", ".zig", ".zsh"
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
