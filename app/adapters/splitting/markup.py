"""Tells from a document's name in which markup its text is written, and which names are code."""

from enum import Enum, auto
from pathlib import PurePosixPath

from app.text_suffixes import TEXT_SUFFIXES


class Markup(Enum):
    """What the marks in a text mean."""

    MARKDOWN = auto()
    RESTRUCTUREDTEXT = auto()
    NONE = auto()
    """Nothing is a heading: the text is code."""
    UNTOLD = auto()
    """One of these, or AsciiDoc: the text itself has to tell."""


CODE_NAMES = {
    ".env", "appfile", "berksfile", "brewfile", "build.bazel", "capfile", "cartfile",
    "cmakelists.txt", "containerfile", "dangerfile", "dockerfile", "earthfile", "fastfile",
    "gemfile", "gnumakefile", "gradlew", "guardfile", "jenkinsfile", "justfile", "kconfig",
    "makefile", "meson.build", "meson_options.txt", "mvnw", "podfile", "procfile", "rakefile",
    "sconscript", "sconstruct", "snakefile", "tiltfile", "vagrantfile"
}  # fmt: skip
"""Of files that are code though their names have no suffix, or that of plain text."""
CODE_NAMES_IN_CAPITALS = {"BUILD", "WORKSPACE"}
"""Of such files whose names in small letters are those of pages."""
CODE_STEMS = {"containerfile", "dockerfile", "jenkinsfile", "makefile"}
"""Of files that are code whatever suffix follows, as in `Dockerfile.dev`, if not that of a text."""
CODE_SUFFIXES = {
    ".ac", ".adb", ".ads", ".am", ".asm", ".astro", ".awk", ".bash", ".bat", ".bats", ".bazel",
    ".bicep", ".bzl", ".c", ".cabal", ".cc", ".cfg", ".cjs", ".clj", ".cljc", ".cljs", ".cmake",
    ".cmd", ".coffee", ".conf", ".cpp", ".cr", ".cs", ".csproj", ".css", ".cts", ".cu", ".cuh",
    ".cxx", ".d", ".dart", ".dockerfile", ".edn", ".ejs", ".el", ".elm", ".env", ".erb", ".erl",
    ".ex", ".exs", ".f", ".f90", ".f95", ".fish", ".fs", ".fsi", ".fsproj", ".fsx", ".gd",
    ".gemspec", ".glsl", ".go", ".gql", ".gradle", ".graphql", ".groovy", ".h", ".haml", ".hbs",
    ".hcl", ".heex", ".hh", ".hpp", ".hrl", ".hs", ".hsc", ".hxx", ".ini", ".ipynb", ".j2",
    ".java", ".jinja", ".jinja2", ".jl", ".js", ".json", ".json5", ".jsonc", ".jsonl", ".jsx",
    ".kql", ".kt", ".kts", ".leex", ".less", ".lisp", ".lock", ".lua", ".m", ".m4", ".mjs", ".mk",
    ".ml", ".mli", ".mll", ".mly", ".mm", ".mts", ".nim", ".nimble", ".nix", ".pas", ".pbxproj",
    ".php", ".pl", ".plist", ".pm", ".podspec", ".prisma", ".properties", ".props", ".proto",
    ".ps1", ".psd1", ".psm1", ".purs", ".pxd", ".py", ".pyf", ".pyi", ".pyx", ".qml", ".r",
    ".rake", ".rb", ".rkt", ".rockspec", ".rs", ".ru", ".s", ".sass", ".sbt", ".scala", ".scm",
    ".scss", ".sh", ".slim", ".slint", ".sol", ".sql", ".starlark", ".styl", ".sv", ".svelte",
    ".swift", ".targets", ".tcl", ".tf", ".tfvars", ".thrift", ".toml", ".ts", ".tsx", ".twig",
    ".v", ".vb", ".vbproj", ".vcxproj", ".vhd", ".vhdl", ".vim", ".vue", ".wgsl", ".xaml", ".xml",
    ".yaml", ".yml", ".zig", ".zon", ".zsh"
}  # fmt: skip
"""Of files that are code, settings or data: a comment or a line of signs in them is no heading."""

MARKUP_BY_SUFFIX = {".rst": Markup.RESTRUCTUREDTEXT, ".txt": Markup.UNTOLD}
"""Of files with these suffixes; all others are Markdown, unless they are code."""


def suffixes_of(markup: Markup) -> tuple[str, ...]:
    """The suffixes by which files are known to be in this markup."""
    return tuple(suffix for suffix, found in MARKUP_BY_SUFFIX.items() if found is markup)


def markup_of(name: str) -> Markup:
    """The markup of a document of this path or address; Markdown where that says nothing.

    Plain text may be any of them. So may a page whose address ends like such a file's: it is the
    file, or what a host shows of it, which was made Markdown.
    """
    path = PurePosixPath(name.lower())
    is_address = "://" in name
    if not is_address and _is_code(PurePosixPath(name)):
        return Markup.NONE
    markup = MARKUP_BY_SUFFIX.get(path.suffix, Markup.MARKDOWN)
    return Markup.UNTOLD if is_address and markup is not Markup.MARKDOWN else markup


def _is_code(path: PurePosixPath) -> bool:
    name, suffix = path.name.lower(), path.suffix.lower()
    if path.name in CODE_NAMES_IN_CAPITALS or name in CODE_NAMES or suffix in CODE_SUFFIXES:
        return True
    return name.partition(".")[0] in CODE_STEMS and suffix not in TEXT_SUFFIXES
