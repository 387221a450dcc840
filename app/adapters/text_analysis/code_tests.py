"""Tells tests of code from what they test, and queries that ask for tests from those that do not.

A test says everything that the code it tests says, and often more plainly: its names are sentences.
Who asks where something is done means the code.
"""

import functools
import re
from pathlib import PurePosixPath

from app.adapters.splitting.markup import Markup, markup_of

_NAMES = re.compile(
    r"(?:test[_-].+|(?:.+[_.-])?tests?(?:-d)?|.*[a-z0-9](?:Tests?|TestCase)|conftest)\.\w+"
)
"""Of files, as pytest, Go, Jest, JUnit, NUnit and XCTest have them. `-d` marks tests of types."""
_FOLDERS = re.compile(r"(?i:(?:.+[_.-])?tests?(?:[_-]?suite)?|__tests__|testdata)|.*[a-z0-9]Tests?")
_SPEC_NAMES = re.compile(
    r".*[_.-]specs?\.(?:coffee|cr|jsx?|lua|mjs|rb|tsx?)|.*[a-z0-9]Specs?\.(?:groovy|hs|php|scala)"
)
_SPEC_FOLDERS = {"spec", "specs"}
_SPEC_SUFFIXES = {".coffee", ".cr", ".js", ".jsx", ".lua", ".mjs", ".php", ".rb", ".ts", ".tsx"}
"""Where tests are called specifications: elsewhere a `PodSpec` is what a pod is to be."""
_DATA_SUFFIXES = {
    ".cfg", ".conf", ".csproj", ".css", ".edn", ".env", ".graphql", ".ini", ".json", ".json5",
    ".jsonc", ".jsonl", ".less", ".lock", ".plist", ".properties", ".proto", ".sass", ".scss",
    ".sql", ".toml", ".xml", ".yaml", ".yml"
}  # fmt: skip
"""Files of these are tests only by their folder."""

_ASKING = re.compile(
    r"(?:(?<![^\W_])|(?<=[a-z0-9])(?=[A-Z]))"  # parts of names are words: testClient, run_tests
    r"(?i:(?:back|doc|py|unit)?tests?|tested|testing|testers?|testcases?|testen|testes?|specs?"
    r"|mocks?|mocked|mocking|stubs?|fixtures?|asserts?|assertions?|pruebas?|тест\w*)(?![a-z])"
    r"|测试|測試|テスト|테스트"
)
"""Words for tests and what they are made of, in some languages."""


@functools.lru_cache(4096)  # all chunks of a document ask for the same
def is_code_test(path: str) -> bool:
    """Whether the document with this key is a test of code, by the names of its file and folders.

    The address of a page never is.
    """
    if markup_of(path) is not Markup.NONE:
        return False
    *folders, name = PurePosixPath(path).parts
    suffix = PurePosixPath(name.lower()).suffix
    if suffix == ".bats" or any(map(_FOLDERS.fullmatch, folders)):
        return True
    if suffix in _SPEC_SUFFIXES and not _SPEC_FOLDERS.isdisjoint(folders):
        return True
    return suffix not in _DATA_SUFFIXES and bool(
        _NAMES.fullmatch(name) or _SPEC_NAMES.fullmatch(name)
    )


def asks_for_tests(query: str) -> bool:
    """Whether a query speaks of tests or what they are made of, also within a name."""
    return _ASKING.search(query) is not None
