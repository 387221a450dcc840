"""Code is cut between its functions, classes and statements, in any language."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from token_meters import PatternMeter

from app.adapters.splitting.boundaries import map_text
from app.adapters.splitting.code_units import code_units
from app.adapters.splitting.lines import Lines
from app.adapters.splitting.recursive import RecursiveTextSplitter
from tests.processor_speed import is_within

PYTHON = (
    "@cache\ndef light(\n    lamp,\n    oil,\n) -> int:\n    lit = lamp.lit\n\n    return lit\n",
    "# How dark.\n# Or not.\ndef dark():\n  try:\n    return 1\n  except Night:\n    return 0\n",
    "class Lamp:\n    '''A lamp.'''\n\n    def on(self):\n        pass\n\n    def off(self): ...\n",
)
C = (
    "static int\nlight (int n)\n{\n#ifdef OIL\n  a ();\n#endif\n\n  return 1;\nout:\n  x ();\n}\n",
    "/* How dark\n * it is. */\nint dark(void) {\n// no\n  if (n) {\n    f();\n\n  }\n\n}\n",
    "void a() {\n  switch (n) {\n  case 1:\n    f();\n\n  default:\n    g();\n  }\n}\n",
    "#define LAMPS 5\n#define OILS 6\n",
)
RUST = (
    "/// A lamp.\n#[derive(Clone)]\npub struct Lamp {\n    lit: bool,\n\n    oil: u8,\n}\n",
    "impl Lamp {\n    fn light(&self) -> bool {\n        self.lit\n    }\n}\n",
)
RUBY = ("# Lights.\ndef light\n  oil!\n\nrescue Dark\n  nil\nend\n", "def dark = !light\n")
SHELL = ("light() {\n  if lit; then\n    echo\n\n  else\n    oil\n  fi\n}\n", "dark() { :; }\n")
CSHARP = ('[Fact]\n[Trait("a", "b")]\npublic void Lights()\n{\n\n    Light();\n}\n', "int dark;\n")
LUA = ("--- Lights.\nlocal function light()\n  oil(function()\n    lit()\n\n  end)\nend\n",)
HASKELL = (
    "-- | Lights.\nlight :: Lamp -> Int\nlight Off = 0\nlight On\n  | dark = 1\n  where\n    a\n",
)
TOML = ("[tool.lamp]\noil = 5\nlamps = [\n    1,\n]\n", "[[tool.oil]]\nname = 'a'\n")
TYPESCRIPT = ("@Lamp()\nexport class A {\n  on = (): void => {\n    f();\n  };\n\n  off() {}\n}\n",)


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["Unix", "Windows"])
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.py", PYTHON),
        ("a.c", C),
        ("a.rs", RUST),
        ("a.rb", RUBY),
        ("a.sh", SHELL),
        ("A.cs", CSHARP),
        ("a.lua", LUA),
        ("A.hs", HASKELL),
        ("a.toml", TOML),
        ("a.ts", TYPESCRIPT),
    ],
)
@pytest.mark.parametrize("filling", range(0, 120, 7))
def test_a_part_of_code_that_fits_is_not_cut(name, parts, ending, filling):
    """Wherever the chunk before it happens to be full."""
    parts = [part.replace("\n", ending) for part in parts]
    size = max(map(len, parts))
    text = "".join(f"x{'x' * filling};{ending}{ending}{part}{ending}" for part in parts)
    chunks = RecursiveTextSplitter(size, size // 5).split_text(text, name=name)
    for part in parts:
        assert any(part.rstrip() in chunk.content for chunk in chunks)


def test_a_member_that_fits_is_whole_though_its_class_does_not_fit():
    members = [f"    def on{n}(self):\n        '''Light.'''\n\n        f({n})\n" for n in range(20)]
    text = "class Lamp:\n" + "\n".join(members)
    for size in range(len(members[-1]), 400, 13):
        chunks = RecursiveTextSplitter(size, 40).split_text(text, name="a.py")
        for member in members:
            assert any(member.rstrip() in chunk.content for chunk in chunks)


def test_objects_in_a_list_of_json_are_parts():
    objects = [f'  {{\n    "cell": {n},\n    "source": [\n      "a"\n    ]\n  }}' for n in range(9)]
    text = "[\n" + ",\n".join(objects) + "\n]\n"
    for size in range(len(objects[0]) + 1, 300, 11):
        chunks = RecursiveTextSplitter(size, 0).split_text(text, name="a.json")
        for written in objects:
            assert any(written in chunk.content for chunk in chunks)


def test_a_function_that_does_not_fit_is_cut_between_its_statements():
    body = "".join(f"    if a{n}:\n        b{n} = 1\n" for n in range(20))
    text = f"x = 1\n\n\n# Lights.\ndef light():\n{body}"
    for size in range(100, 300, 9):
        chunks = RecursiveTextSplitter(size, 0).split_text(text, name="a.py")
        assert not any(chunk.content.lstrip().startswith("b") for chunk in chunks)
        (headed,) = (chunk.content for chunk in chunks if "def light" in chunk.content)
        assert "# Lights.\ndef light():\n    if a0:\n" in headed


@pytest.mark.parametrize("overlap", [0, 15])
def test_lines_of_code_that_fit_are_whole(overlap):
    lines = [f"call(a{n}, 'Say this. And that.', {'b' * (n % 23)})" for n in range(60)]
    text = "\n".join(lines)
    meter = PatternMeter(r"\w|\S", 90)
    for chunk in RecursiveTextSplitter(120, overlap, meter).split_text(text, name="a.js"):
        assert set(chunk.content.split("\n")) <= {*lines, ""}


def test_neighbours_share_whole_lines_of_parts_that_are_not_cut():
    parts = [f"def f{n}():\n    a{n} = 1\n    return a{n}\n" for n in range(9)]
    text = "\n".join(parts)
    chunks = RecursiveTextSplitter(60, 20).split_text(text, name="a.py")
    for before, after in pairwise(chunks):
        assert text[after.start_index : before.end_index].strip().startswith("return")
        assert text[after.start_index - 1] == "\n"


def test_in_prose_sentences_are_cut_where_they_were():
    text = "Some words here.\n\n  Indented words. More of these.\n  And so on for ever.\n\nLast.\n"
    prose = [chunk.content for chunk in RecursiveTextSplitter(50, 0).split_text(text, name="a.md")]
    assert prose[0] == "Some words here.\n\n  Indented words. "


LINES = (
    *("x = 1", "def f():", "if (a) {", "}", "{", "};", "end", "else", "// c", "# c", "#if A", "]"),
    *("/* a", " * b", " */", "@a", "[a]", "out:", "", "", "case 1:", "default: f()", "</a>", '"""'),
)
code = st.lists(
    st.tuples(st.sampled_from(["", " ", "  ", "    ", "\t", "\t\t"]), st.sampled_from(LINES)),
    max_size=40,
).map(lambda lines: "\n".join(indent + line for indent, line in lines))


@settings(max_examples=300, deadline=None)
@given(code)
def test_parts_nest_and_consist_of_whole_lines(text):
    found = [(block.start, block.end) for block in code_units(Lines(text, map_text(text)))]
    assert found == sorted(set(found), key=lambda span: (span[0], -span[1]))
    assert all(start == 0 or text[start - 1] == "\n" for start, _ in found)
    assert all(end == len(text) or text[end] == "\n" for _, end in found)
    for number, (start, end) in enumerate(found):
        assert all(begun >= end or ended <= end for begun, ended in found[number:] if begun > start)


@settings(max_examples=300, deadline=None)
@given(code, st.integers(1, 150), st.data())
def test_chunks_of_code_cover_it_exactly_and_keep_the_size(text, size, data):
    overlap = data.draw(st.integers(0, size - 1))
    chunks = RecursiveTextSplitter(size, overlap).split_text(text, name="a.c")
    assert bool(chunks) == bool(text.strip())
    assert all(text[c.start_index : c.end_index] == c.content for c in chunks)
    assert all(0 < len(chunk.content) <= size for chunk in chunks)
    if chunks:
        assert (chunks[0].start_index, chunks[-1].end_index) == (0, len(text))
    for before, after in pairwise(chunks):
        assert before.start_index < after.start_index <= before.end_index < after.end_index
        assert before.end_index - after.start_index <= overlap


@pytest.mark.parametrize(
    "text",
    [
        '  {\n    "a": [1]\n  },\n' * 8_000,
        "\n".join(" " * (n % 1_000) + "x" for n in range(8_000)),
        "case a" + ":" * 200_000 + "\nend " + "a " * 100_000 + "\n[" + " " * 200_000 + "x",
    ],
    ids=["objects", "stairs", "long lines"],
)
def test_parts_are_found_in_linear_time(text):
    lines = Lines(text, map_text(text))
    started = time.process_time()
    code_units(lines)
    assert is_within(2, started)
