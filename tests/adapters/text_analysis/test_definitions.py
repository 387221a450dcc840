"""What a line of code defines is known in many languages; what calls a name defines none."""

import time

import pytest

from app.adapters.text_analysis.definitions import definitions
from tests.processor_speed import is_within


def names(code: str, path: str = "") -> list[str]:
    return [name for found in definitions(code, path) for name in found.names]


@pytest.mark.parametrize(
    ("code", "defined"),
    [
        ("pub const fn new() -> Self {\nmod tests {", ["new", "tests"]),
        ("impl<T> Service<T> for Router {\nimpl fmt::Debug for Key {", ["Service", "fmt", "Debug"]),
        ("def valid?\n  def save!(now)", ["valid", "save"]),
        ("class Rack::Request < Base", ["Rack", "Request"]),
        ("defmodule Shop.Cart.Line do\n  defmacro price(x) do", ["Shop", "Line", "price"]),
        ("enum class Side { LEFT }\nfun interface Sink {", ["Side", "Sink"]),
        ("suspend fun <T> Flow<T>.first(): T {", ["Flow", "first"]),
        ("private[io] final case class Pair[A](a: A)", ["Pair"]),
        ("implicit val order: Order[A] = x\npackage object syntax {", ["order", "syntax"]),
        ("extension String: Named {\n  @objc public class func make() {", ["String", "make"]),
        (
            "local function walk(tree)\nfunction M.open(x)\nfunction M:close()",
            ["walk", "M", "open", "M", "close"],
        ),
        ("type HandlerFunc func(*Context)\ntype Kind string", ["HandlerFunc", "Kind"]),
        ("class FMT_API writer {\nenum struct state : char {", ["writer", "state"]),
        ("public readonly record struct Point(int X)", ["Point"]),
    ],
)
def test_a_keyword_defines_what_follows_it(code: str, defined: list[str]):
    assert names(code) == defined


@pytest.mark.parametrize(
    ("path", "code", "defined"),
    [
        ("A.java", "  public Map<String, Key> keys(int n) {", ["keys"]),
        ("A.java", "  @Override public String toString() {\n  Key(int n) {", ["toString", "Key"]),
        ("A.java", "  static <T> void copy(\n      T a) {", ["copy"]),
        ("A.java", "  boolean isOpen(Key key);", ["isOpen"]),
        ("loop.c", "static int uv__run(loop_t* loop,\n                   int mode) {", ["uv__run"]),
        ("loop.c", "int run(void)\n{\n  return go(1);", ["run"]),
        ("loop.h", "UV_EXTERN const char *name(int error);", ["name"]),
        (
            "a.cpp",
            "void Writer::flush(int n) const {\nWriter::~Writer() {",
            ["Writer", "flush", "Writer", "~Writer"],
        ),
        ("A.cs", "    public async Task<int> Count(string sql)\n    {", ["Count"]),
        ("A.cs", "    internal int Size() => 5;", ["Size"]),
        ("a.dart", "  Widget build(BuildContext context) {", ["build"]),
        ("a.ts", "  async load<T>(id: string): Promise<T> {\n  close() {", ["load", "close"]),
        ("a.ts", "  private parse(\n    text: string,", ["parse"]),
        ("a.ts", "  async open(path: string, how: {\n  walk(f: (x: X) => void) {", ["open"]),
        ("A.java", "  Key key(Map<A, B> of) throws Oops {\n  <T> T get(T t) {", ["key", "get"]),
        ("a.cpp", "::std::string name(int n = f(g(1))) {", ["name"]),
        ("a.js", "  onEnd = async (x) => {\n  *walk(tree) {", ["onEnd", "walk"]),
        ("a.sh", "log() {\nnvm_ls-remote () {", ["log", "nvm_ls-remote"]),
        ("A.hs", "parse, scan :: Text -> Value\nnewtype Key a = Key a", ["parse", "scan", "Key"]),
        ("A.hs", "instance (Show a) => Pretty (Tree a) where\ndata Tree a", ["Pretty", "Tree"]),
        (
            "a.sql",
            (
                "CREATE TABLE IF NOT EXISTS shop.orders (\n  id bigint\n);\n"
                "create unique index concurrently by_day on orders (day);\n"
                "CREATE OR REPLACE FUNCTION total(o orders) RETURNS int AS $$\n"
                "CREATE OR ALTER PROCEDURE [dbo].[GetOrders] @day date AS\n"
                'CREATE MATERIALIZED VIEW "Busy days" AS SELECT day FROM orders;\n'
                "CREATE OR REPLACE PACKAGE BODY emp_mgmt AS\nCREATE TABLE `my-shop`.lines (id int);"
            ),
            ["orders", "by_day", "total", "GetOrders", "Busy", "emp_mgmt", "lines"],
        ),
    ],
)
def test_some_languages_define_by_shape_alone(path: str, code: str, defined: list[str]):
    assert names(code, path) == defined
    assert names(code, path.upper()) == defined


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (
            "A.java",
            "    return keys(5);\n    throw new Oops(x);\n    keys(5);\n    int n = keys(5);",
        ),
        (
            "A.java",
            " * keys(5);\n *   public Key key(int n) {\n    && keys(n);\n    keys(new Key() {",
        ),
        ("A.java", "    Keys(new Key() {\n      default: keys(5);\n      case 1: keys(5);"),
        ("a.cpp", "    : size(n)\n    , left(n)\n  0, POWERS(1),\n  std::cout << size(a,"),
        ("a.dart", "      child: Column(\n      home: Text('a', style: {"),
        ("a.ts", "    mount({\n    mount(app, {\n    mount(root(app), {"),
        ("A.java", "    if (open) {\n    } else if (closed()) {\n    while (open()) {"),
        ("A.java", "    items.forEach(item -> {\n    run(() -> {"),
        ("a.c", "    else run(1);\n    for (i = 0; i < n; i++) {\n    run(1,\n        2);"),
        (
            "a.ts",
            "    if (x) {\n    it('works', () => {\n    expect(a).toEqual({\n    run(function () {",
        ),
        ("a.ts", "    load(1);\n    return load(\n    await load(\n    load("),
        ("A.kt", "    launch(scope) {\n    run {"),
        ("a.sh", "  log start\n  if test() then"),
        ("A.hs", "  f (y :: Int)\n-- | parse :: here"),
        (
            "a.sql",
            "DROP TABLE t;\nCREATE INDEX CONCURRENTLY ON t (a);\nCREATE SCHEMA AUTHORIZATION joe;",
        ),
        ("guide.md", "It calls run() {\nInt run(void) {\nkeys :: Text"),
    ],
)
def test_what_calls_or_says_a_name_does_not_define_it(path: str, code: str):
    assert names(code, path) == []


@pytest.mark.parametrize("path", ["", "a.c", "a.ts", "a.sh", "a.hs", "a.sql"])
def test_hostile_code_costs_little(path: str):
    started = time.process_time()
    for text in (
        "int " * 20_000 + "\n",
        "create " + "unique " * 20_000 + "\n",
        "create table " + "a." * 20_000 + "\n",
        "int " * 20_000 + "f(" + "(" * 20_000,
        "f(" + ")" * 40_000 + "\n",
        "f(" + "a, " * 30_000 + "\n",
        "int f(" + "),=" * 30_000 + "{\n",
        "int f(" + ")" * 60_000,
        " f(" + ")" * 60_000,
        "int f(\n" * 10_000,
        "int a::" * 20_000,
        "Int f(" + "x\n" * 20_000,
        "async " * 20_000 + "f(",
        "x = (" * 20_000,
        "a, " * 30_000 + ":: b",
        "data " * 20_000 + "=",
        "impl<" * 20_000,
        "impl<a<b>" * 10_000,
        "fun a." * 20_000,
        "class AAAA " * 10_000,
    ):
        list(definitions(text, path))
    assert is_within(10, started)
