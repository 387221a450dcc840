"""Which documents are tests of code, and which queries ask for them."""

import pytest

from app.adapters.text_analysis.code_tests import asks_for_tests, is_code_test

TESTS = [
    "tree_test.go", "test_gate.py", "tests.rs", "conftest.py", "gate.test.tsx", "gate.test-d.ts",
    "gate.spec.ts", "FooTest.java", "FooTests.cs", "FooTestCase.php", "GateSpec.scala",
    "gate_spec.rb", "run-tests.sh", "tests/gate.py", "gate.bats", "src/test/java/Gate.java",
    "src/commonTest/kotlin/Gate.kt", "Gate.Tests/Gate.cs", "Tests/Gate.swift",
    "__tests__/gate.js", "test_suite/gate.rs", "pkg/testdata/gate.go", "spec/gate.rb",
    "tests/answers.json", "/srv/gate/tests/gate.py",
]  # fmt: skip
OTHERS = [
    "gate.go", "latest.py", "latest/gate.py", "contest.py", "attest/gate.py", "testing/gate.py",
    "PodSpec.go", "spec/gate.go", "openapi.spec.json", "spec/openapi.yaml", "test_answers.json",
    "tests/README.md", "testing.md", "test", "tests/", "https://example.org/tests/gate.py",
]  # fmt: skip


@pytest.mark.parametrize("path", TESTS)
def test_a_test_is_known_by_its_name_or_its_folder(path: str) -> None:
    assert is_code_test(path)


@pytest.mark.parametrize("path", ["", *OTHERS])
def test_what_only_looks_like_it_is_none(path: str) -> None:
    assert not is_code_test(path)


@pytest.mark.parametrize(
    "query",
    [
        "how are routes tested",
        "TestClient",
        "run_tests",
        "pytest fixtures",
        "mock a host",
        "テスト",
    ],
)
def test_who_speaks_of_tests_asks_for_them(query: str) -> None:
    assert asks_for_tests(query)


@pytest.mark.parametrize(
    "query", ["", "the latest version", "contest", "specification of a pod", "fastest", "protest"]
)
def test_words_that_only_hold_such_a_word_do_not(query: str) -> None:
    assert not asks_for_tests(query)
