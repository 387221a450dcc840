"""The names that code defines are found in many languages; prose defines none."""

import pytest

from app.adapters.lexical_index.symbols import MAX_SYMBOLS, defined_symbols


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("class Parser(Base):\n    async def parse_all(self) -> None:", ["Parser", "parse_all"]),
        ("MAX_SIZE: int = 5\nMIN_SIZE = 1\nOTHER == 2", ["MAX_SIZE", "MIN_SIZE"]),
        ("export default class Shop extends React.Component {", ["Shop"]),
        ("export async function load(x) {\nconst limit = 5;", ["load", "limit"]),
        ("  render: function () {\nApp.start = function () {", ["render"]),
        ("func (r *Router) Handle(path string) {\nfunc main() {", ["Handle", "main"]),
        ("type Handler interface {\ntype Pair struct {", ["Handler", "Pair"]),
        ("pub(crate) fn run<T>(x: T) {\nimpl Display for Thing {", ["run", "Display"]),
        ("public sealed class Order {\n  private enum Kind {", ["Order", "Kind"]),
        ("data class Point(val x: Int)\nfun distance(a: Point) =", ["Point", "distance"]),
        ("#define BUFFER 10\nstruct node {", ["node", "BUFFER"]),
        ("def self.build(name)", ["self", "build"]),
        ("def über(x):", ["über"]),
    ],
)
def test_definitions_are_found(code: str, names: list[str]):
    assert defined_symbols(code) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "class of the object\ntype of thing\nconst is a keyword\nlet us see",
        "This function does it. A class has methods.",
        "- def in the middle: no",
    ],
)
def test_prose_defines_nothing(text: str):
    assert defined_symbols(text) == []


def test_names_are_given_once_and_bounded():
    assert defined_symbols("def a():\n" * 5) == ["a"]
    assert len(defined_symbols("".join(f"def f{n}():\n" for n in range(500)))) == MAX_SYMBOLS


def test_hostile_text_costs_little():
    for text in (
        "public " * 20_000,
        "def " * 20_000,
        "A" * 100_000,
        "\t" * 100_000,
        "func (" * 20_000,
    ):
        assert defined_symbols(text) == []
