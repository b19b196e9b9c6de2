"""Python functions as steps: results, and processes that end."""

import subprocess
import sys
import time

import feedmill as fm
import numpy as np
import pytest
from functions_reading import square, values
from process_tree import alive, descendants
from waits import wait_for


def test_results_equal_a_plain_loops():
    dataset = fm.Dataset.range(1000).map(square, python=True)
    assert dataset.element_spec == fm.ComponentSpec("int64", ())
    assert values(dataset) == [x * x for x in range(1000)]


def test_order_and_shuffle_are_kept():
    plain = fm.Dataset.range(500).shuffle().with_options(seed=3)
    expected = [3 * x for x in values(plain)]
    assert values(plain.map(lambda x: 3 * x, python=True)) == expected


def test_components_have_names_dtypes_and_shapes():
    def make(e):
        return {
            "sum": np.float32(e["a"] + e.b),
            "pair": np.stack([e.a, e.b]),
            "text": f"{e.a}/{e.b}",
        }

    dataset = fm.Dataset.range(20).map(a="x", b="x * 2").map(make, python=True)
    assert dataset.element_spec == {
        "sum": fm.ComponentSpec("float32", ()),
        "pair": fm.ComponentSpec("int64", (2,)),
        "text": fm.ComponentSpec("str", ()),
    }
    for x, element in enumerate(dataset.read()):
        assert element["sum"] == np.float32(3 * x)
        assert element["sum"].dtype == np.float32
        assert element["pair"].tolist() == [x, 2 * x]
        assert element["text"] == f"{x}/{2 * x}"


def test_rows_of_unknown_shape_and_bytes_go_both_ways():
    def grow(x):
        return {"many": np.full((x % 4, 2), x), "words": np.array([b"ab"] * (x % 3), object)}

    types = {"many": ("int64", (None, 2)), "words": ("bytes", (None,))}
    dataset = fm.Dataset.range(200).map(grow, python=True, output=types)
    totals = dataset.map(
        lambda e: {"sum": e.many.sum(), "words": len(e.words), "length": len(b"".join(e.words))},
        python=True,
        output={"sum": ("int64", ()), "words": (int, ()), "length": (int, ())},
    )
    for x, (element, total) in enumerate(zip(dataset.read(), totals.read(), strict=True)):
        assert np.array_equal(element["many"], np.full((x % 4, 2), x))
        assert list(element["words"]) == [b"ab"] * (x % 3)
        assert total == {"sum": x % 4 * 2 * x, "words": x % 3, "length": x % 3 * 2}


@pytest.mark.parametrize(
    "view",
    [
        lambda filled: filled,
        lambda filled: filled[::-1],
        memoryview,
        lambda filled: list(filled),
        lambda filled: torch_like(filled),
    ],
)
@pytest.mark.parametrize("shape", [(None,), (3,)])
def test_a_function_may_fill_one_array_again(view, shape):
    filled = np.zeros(3)

    def fill(x):
        filled[:] = x
        return view(filled)

    dataset = fm.Dataset.range(200).map(fill, python=True, output=("float64", shape))
    assert values(dataset) == [[x] * 3 for x in range(200)]


def torch_like(array):
    """An object that gives its memory to NumPy, as a tensor does."""

    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return array

    return Tensor()


def test_a_function_may_fill_one_list_of_texts_again():
    words = [b"", b""]

    def fill(x):
        words[:] = [b"%d" % x] * (1 + x % 2)
        return words

    dataset = fm.Dataset.range(100).map(fill, python=True, output=("bytes", (None,)))
    assert values(dataset) == [[b"%d" % x] * (1 + x % 2) for x in range(100)]


def test_batches_before_and_after_the_function():
    dataset = fm.Dataset.range(10).batch(4).map(lambda x: x + 1, python=True)
    assert dataset.element_spec == fm.ComponentSpec("int64", (None,))
    assert values(dataset) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert values(fm.Dataset.range(10).map(square, python=True).batch(5)) == [
        [0, 1, 4, 9, 16],
        [25, 36, 49, 64, 81],
    ]


def test_batched_functions_get_rows():
    dataset = fm.Dataset.range(1000).map(a="x", b="x * 2")

    def both(e):
        assert e.a.ndim == 1
        return {"sum": e.a + e.b, "text": [f"{a}" for a in e.a]}

    made = dataset.map(both, python=True, batched=True)
    assert made.element_spec["text"] == fm.ComponentSpec("str", ())
    with made.read() as reader:
        assert [(e["sum"], e["text"]) for e in reader] == [(3 * x, str(x)) for x in range(1000)]


def test_a_filter_keeps_elements():
    dataset = fm.Dataset.range(300).filter(
        lambda x: bool(x % 3 == 0), python=True, deterministic=True
    )
    assert values(dataset) == list(range(0, 300, 3))
    assert values(dataset.batch(50)) == [list(range(0, 150, 3)), list(range(150, 300, 3))]


def test_the_random_generator_is_of_the_element():
    def draw(x):
        return {"x": x, "noise": fm.rng().normal(size=3)}

    dataset = fm.Dataset.range(200).map(draw, python=True).with_options(seed=9)
    first = [e["noise"].tolist() for e in dataset.read(threads=1)]
    assert [e["noise"].tolist() for e in dataset.read(threads=3)] == first
    assert len({tuple(noise) for noise in first}) == 200
    assert [e["noise"].tolist() for e in dataset.read(epoch=1)] != first


def test_a_reading_continues_from_a_state():
    dataset = fm.Dataset.range(100).map(square, python=True).batch(7)
    with dataset.read() as reader:
        taken = [next(reader).tolist() for _ in range(5)]
        state = reader.state_dict()
    assert taken + values(dataset, state=state) == values(dataset)


def test_a_function_closes_over_values():
    table = np.arange(100) ** 2
    assert values(fm.Dataset.range(100).map(lambda x: table[x], python=True)) == table.tolist()


def test_yaml_keeps_the_function(tmp_path):
    dataset = fm.Dataset.range(5).map(square, python=True, deterministic=True)
    assert values(fm.Dataset.from_yaml(dataset.to_yaml())) == [0, 1, 4, 9, 16]


def test_explain_tells_how_it_runs():
    text = fm.Dataset.range(5).map(lambda x: {"a": x, "b": x}, python=True).explain()
    assert "steps[0] python: Python 3." in text
    assert ": a, b -> " in text
    assert "up to 64 records at a time" in text


def test_a_deterministic_function_may_be_cached():
    dataset = fm.Dataset.range(20).map(square, python=True, deterministic=True).cache()
    assert values(dataset.repeat(2)) == 2 * [x * x for x in range(20)]


KILLED = """
import sys, time
import feedmill as fm
dataset = fm.Dataset.range(9).map(lambda x: time.sleep(1000), python=True, output=("int64", ()))
reader = dataset.read(threads=2)
print("reads", flush=True)
next(reader)
"""


def test_processes_end_with_a_killed_trainer():
    trainer = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
    assert trainer.stdout.readline() == b"reads\n"
    wait_for(lambda: len(descendants(trainer.pid)) >= 2, "the zygote and a process")
    started = descendants(trainer.pid)
    trainer.kill()
    trainer.wait(timeout=20)
    wait_for(lambda: not any(map(alive, started)), f"the end of {started}")
    trainer.stdout.close()


def test_closing_does_not_wait_for_the_function():
    dataset = fm.Dataset.range(100).map(
        lambda x: time.sleep(1000) or x if x > 10 else x, python=True, output=("int64", ())
    )
    with dataset.read() as reader:
        assert int(next(reader)) == 0
    # The fixture sees that its processes have ended.
