"""What the server asks of Python's garbage collector, in a process of its own."""

import json
import subprocess
import sys

SERVING = """
import gc, json, weakref
from app.command.memory import put_off_collections, spare_collections

class Node:
    pass

def collections():
    return sum(generation["collections"] for generation in gc.get_stats())

put_off_collections()
before = collections()
loaded = [[] for _ in range(200_000)]
while_loading = collections() - before
spare_collections()
full_before = gc.get_stats()[2]["collections"]
first = Node()
first.itself = first
lost = weakref.ref(first)
del first
for _ in range(100_000):
    node = Node()
    node.itself = node
kept = [[] for _ in range(1_000_000)]
print(json.dumps({
    "while loading": while_loading,
    "frozen": gc.get_freeze_count(),
    "full": gc.get_stats()[2]["collections"] - full_before,
    "cyclic garbage is gone": lost() is None,
}))
"""


def test_what_is_loaded_is_not_searched_again_and_cyclic_garbage_is_still_found() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVING], capture_output=True, text=True, timeout=60, check=True
    )
    told = json.loads(done.stdout)
    assert told["while loading"] == 0
    assert told["frozen"] >= 200_000
    assert told["full"] == 0
    assert told["cyclic garbage is gone"]


AGEING = """
import gc, json, weakref
from app.command.memory import put_off_collections, spare_collections

class Node:
    pass

put_off_collections()
spare_collections()
nodes = [Node() for _ in range(10_000)]
for node in nodes:
    node.itself = node
lost = [weakref.ref(node) for node in nodes]
younger = [[] for _ in range(100_000)]
del nodes, node
for _ in range(40):
    passing = [[] for _ in range(100_000)]
print(json.dumps(sum(reference() is not None for reference in lost)))
"""


def test_garbage_that_was_old_when_it_died_is_found_in_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AGEING], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == 0


CHURNING = """
import gc, json
from app.command.memory import put_off_collections, spare_collections

put_off_collections()
spare_collections()
remembered = [[] for _ in range(10_000)]
most = 0
for request in range(1_000):
    passing = [[] for _ in range(3_000)]
    for place in range(100):
        remembered[(100 * request + place) % len(remembered)] = []
    del passing
    most = max(most, len(gc.get_objects(generation=0)))
print(json.dumps(most))
"""


def test_what_a_cache_takes_in_and_lets_go_of_does_not_pile_up_for_one_long_collection() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHURNING], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) < 5_000
