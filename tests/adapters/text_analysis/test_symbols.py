"""The names that code defines are found in many languages; prose defines none."""

import time

import pytest

from app.adapters.text_analysis.symbols import MAX_SYMBOLS, defined_symbols, first_symbol
from tests.processor_speed import is_within


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("class Parser(Base):\n    async def parse_all(self) -> None:", ["Parser", "parse_all"]),
        ("MAX_SIZE: int = 5\nMIN_SIZE = 1\nOTHER == 2", ["MAX_SIZE", "MIN_SIZE"]),
        ("export default class Shop extends React.Component {", ["Shop"]),
        ("export async function load(x) {\nconst limit = 5;", ["load", "limit"]),
        ("  render: function () {\nApp.start = function () {", ["render", "start"]),
        ("func (r *Router) Handle(path string) {\nfunc main() {", ["Handle", "main"]),
        ("type Handler interface {\ntype Pair struct {", ["Handler", "Pair"]),
        ("pub(crate) fn run<T>(x: T) {\nimpl Display for Thing {", ["run", "Display"]),
        ("public sealed class Order {\n  private enum Kind {", ["Order", "Kind"]),
        ("data class Point(val x: Int)\nfun distance(a: Point) =", ["Point", "distance"]),
        ("#define BUFFER 10\nstruct node {", ["node", "BUFFER"]),
        ("def self.build(name)", ["self", "build"]),
        ("def über(x):", ["über"]),
        ("\tÄÖÜ_9: Final[int] = 1\nÄÖ = 2", ["ÄÖÜ_9"]),
        ("x = 1\n  go: async function () {", ["go"]),
        ("\t#define\tLIMIT 1", ["LIMIT"]),
        ("class\tTabs:\npub\tfn spaced(", ["Tabs", "spaced"]),
        (".. py:data:: MAX_CONTENT_LENGTH\n\n    The most", ["MAX_CONTENT_LENGTH"]),
        (".. function:: os.path.join(path, *paths)", ["os.path.join"]),
        ("   .. method:: Loop.run(x)\n   .. attribute:: n: int", ["Loop.run", "n"]),
        (".. c:function:: PyObject *PyList_New(Py_ssize_t len)", ["PyList_New"]),
        (".. cpp:class:: std::vector\n.. c:type:: PyObject", ["std::vector", "PyObject"]),
        (".. option:: --reload, -r\n.. option:: -m <module>", ["--reload", "-m"]),
        (".. option:: -c command(s)\n.. confval:: html-theme", ["-c", "html-theme"]),
        (".. c:member:: PyTypeObject* PyObject.ob_type", ["PyObject.ob_type"]),
        (".. c:var:: PyObject *PyExc_Foo\n.. cpp:var:: int x = 1", ["PyExc_Foo", "x"]),
        (".. c:type:: unsigned long foo\r\n.. c:type:: int (*Hook)(int)", ["foo", "Hook"]),
        (".. c:function:: int foo (void)\n.. function:: int bar (void)", ["foo", "bar"]),
        (".. cpp:function:: template<typename T> T ns::top(T x) const", ["ns::top"]),
        (".. cpp:class:: template<typename T> Stack", ["Stack"]),
        ("..\tfunction::\trun(x)", ["run"]),
        ("class Blueprint(Base):\n    .. attribute:: encoder", ["Blueprint", "encoder"]),
        (".. class:: Field\n\n    class Mine(Field):", ["Field", "Mine"]),
        (".. envvar:: PYTHONPATH\n.. decorator:: cache(user)", ["PYTHONPATH", "cache"]),
    ],
)
def test_definitions_are_found(code: str, names: list[str]):
    assert defined_symbols(code) == names


@pytest.mark.parametrize(
    ("path", "code", "symbol"),
    [
        ("Lamp.java", "package org.example.home.lamps;\n\npublic class Lamp {", "Lamp"),
        ("Lamp.cs", "namespace Home.Lamps\n{\n    class Lamp\n    {", "Lamp"),
        ("lamp.go", "package lamp\n\nfunc Light() {", "Light"),
        ("lamp.scala", "package object lamp {", "lamp"),
        ("Lamp.pm", "package Home::Lamp;\n", "Lamp"),
        ("lamp.cpp", "void Lamp::light() {", "light"),
        ("lamp.rb", "  def self.light(now)", "light"),
        ("lamp.kt", "fun Lamp.light(now: Boolean) {", "light"),
        ("Lamp.hs", "light, dim :: Lamp -> Lamp", "light"),
    ],
)
def test_the_symbol_is_what_is_defined_and_not_where(path: str, code: str, symbol: str):
    assert first_symbol(path, code) == symbol


def test_code_that_goes_on_within_a_block_of_prose_has_its_symbol():
    code = "    return 1\n\n\ndef rotate_keys():\n    pass\n"
    assert first_symbol("guide.md", code) is None
    assert first_symbol("guide.md", code, is_code=True) == "rotate_keys"


def test_the_first_name_is_one_that_is_defined_rather_than_assigned():
    assert first_symbol("a.py", "LIMIT = 1\ndef run():\n") == "run"
    assert first_symbol("a.py", "LIMIT = 1\nrun()\n") == "LIMIT"
    assert first_symbol("a.md", "def run():\n") is None
    assert first_symbol("a.md", "```\ndef run():\n```") == "run"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "class of the object\ntype of thing\nconst is a keyword\nlet us see",
        "This function does it. A class has methods.",
        "- def in the middle: no",
        ".. note:: function\n.. autofunction:: run\n.. code-block:: python\n.. data::\n",
        "See .. function:: run()",
        ".. class:: big-table\n\n| a | b |",  # docutils' own: a class of CSS
    ],
)
def test_prose_defines_nothing(text: str):
    assert defined_symbols(text) == []


def test_names_are_given_once_and_bounded():
    assert defined_symbols("def a():\n" * 5) == ["a"]
    assert len(defined_symbols("".join(f"def f{n}():\n" for n in range(500)))) == MAX_SYMBOLS


def test_hostile_text_costs_little():
    started = time.process_time()
    for text in (
        "public " * 20_000,
        "def " * 20_000,
        "A" * 100_000,
        "\t" * 100_000,
        "func (" * 20_000,
        "A" * 100_000 + "\n=",
        "AAA b\n" * 20_000 + "=",
        ".. function:: *" * 10_000,
        ".. function:: " + "- " * 50_000,
        ".. c:var:: " + "a " * 50_000,
        (".. c:var:: " + "*a " * 60 + "-\n") * 500,
        ".. cpp:class:: template<" * 5_000,
    ):
        assert defined_symbols(text) == []
    assert is_within(10, started)  # 0.3 s; a quadratic pattern takes minutes
