"""Generators as sources: the elements of a plain loop, failures, and places in a shard."""

import itertools
import os
import signal
import sys
import time

import cloudpickle
import feedmill as fm
import numpy as np
import pytest
from functions_reading import values

# The workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def numbers(shard, shards):
    """Ragged rows, texts and numbers; 50 + shard of them."""
    for k in range(50 + shard):
        yield {
            "shard": shard,
            "k": k,
            "row": np.arange(k % 5, dtype=np.float32) * shards,
            "text": f"{shard}/{k}",
        }


def plain(function, shards):
    return [e for shard in range(shards) for e in function(shard, shards)]


def equal(element, expected):
    return (
        element.keys() == expected.keys()
        and element["shard"] == expected["shard"]
        and element["k"] == expected["k"]
        and np.array_equal(element["row"], expected["row"])
        and element["text"] == expected["text"].encode()
    )


OUTPUT = {
    "shard": ("int64", ()),
    "k": ("int64", ()),
    "row": ("float32", (None,)),
    "text": ("bytes", ()),
}


@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("threads", [1, 3])
def test_elements_equal_a_plain_loops(shards, threads):
    dataset = fm.Dataset.from_generator(numbers, shards=shards, output=OUTPUT)
    expected = plain(numbers, shards)
    made = list(dataset.read(threads=threads))
    assert len(made) == len(expected)
    assert all(map(equal, made, expected))


def test_an_element_does_not_wait_for_the_slow_one_behind_it(tmp_path):
    taken = tmp_path / "taken"

    def slow():
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
        yield 0
        while not taken.exists():
            pass
        yield 1

    reader = fm.Dataset.from_generator(slow, output=("int64", ())).read()
    assert next(reader) == 0
    taken.touch()
    assert [int(x) for x in reader] == [1]


def test_types_are_found_out_from_the_first_elements():
    dataset = fm.Dataset.from_generator(numbers, shards=3)
    spec = dataset.element_spec
    assert spec["row"] == fm.ComponentSpec("float32", (None,))
    assert spec["text"] == fm.ComponentSpec("str", ())
    assert spec["k"] == fm.ComponentSpec("int64", ())


def test_bare_values_and_functions_without_arguments():
    assert values(fm.Dataset.from_generator(lambda: range(5))) == list(range(5))
    assert values(fm.Dataset.from_generator(lambda shard, shards: [shard] * 2, shards=3)) == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


def test_a_buffer_that_is_yielded_again_is_copied():
    def reuses():
        buffer = np.zeros(3, np.int64)
        for k in range(100):
            buffer[:] = k
            yield buffer

    assert values(fm.Dataset.from_generator(reuses)) == [[k] * 3 for k in range(100)]


def test_steps_follow():
    dataset = fm.Dataset.from_generator(
        lambda shard, shards: range(shard * 100, shard * 100 + 70), shards=3
    )
    expected = [x * 2 for s in range(3) for x in range(s * 100, s * 100 + 70) if x % 3 == 0]
    steps = dataset.filter(lambda x: x % 3 == 0).map(lambda x: x * 2)
    assert values(steps) == expected
    batches = values(steps.batch(7))
    assert [x for batch in batches for x in batch] == expected
    assert sorted(values(steps.shuffle(window=20).with_options(seed=3))) == expected
    assert values(steps.take(11)) == expected[:11]
    assert values(steps.repeat(2)) == expected * 2
    assert values(steps.map(lambda x: int(x) + 1, python=True)) == [x + 1 for x in expected]
    both = fm.Dataset.concatenate([steps, fm.Dataset.range(3)])
    assert values(both) == [*expected, 0, 1, 2]


def test_a_global_shuffle_and_a_length_are_refused():
    dataset = fm.Dataset.from_generator(lambda: range(5))
    with pytest.raises(fm.InvalidArgumentError, match="window: N"):
        dataset.shuffle().read()
    with pytest.raises(fm.UnknownLengthError):
        len(dataset.read())


@pytest.mark.parametrize("length", [300, [99, 100, 101]])
def test_a_length_is_known_after_steps_that_do_not_depend_on_data(length):
    dataset = fm.Dataset.from_generator(
        lambda shard, shards: range(99 + shard), shards=3, length=length
    )
    for steps, count in [
        (dataset, 300),
        (dataset.map(lambda x: x + 1), 300),
        (dataset.map(lambda x: int(x) + 1, python=True), 300),
        (dataset.shuffle(window=10).batch(7), 43),
        (dataset.batch(7, drop_remainder=True).repeat(2), 84),
        (dataset.skip(10).take(1000).shard(4, 1), 73),
        (dataset.take(11).enumerate(), 11),
    ]:
        with steps.with_options(seed=1).read() as reader:
            assert len(reader) == count
            assert len(list(reader)) == count
    with dataset.filter(lambda x: x > 5).read() as reader, pytest.raises(fm.UnknownLengthError):
        len(reader)


def test_ranks_with_a_length_can_be_even():
    dataset = fm.Dataset.from_generator(lambda: range(10), length=10)
    for rank in range(3):
        with dataset.read(rank=rank, ranks=3, even="drop") as reader:
            assert len(list(reader)) == len(reader) == 3


@pytest.mark.parametrize(
    ("length", "taken", "message"),
    [
        ([5, 7], 11, r"element 6 of shard 1 of the generator: .* ended after 6 .* is 7"),
        ([5, 5], 10, r"element 5 of shard 1 of the generator: .* too many: .* is 5"),
        ([4, 6], 4, r"element 4 of shard 0 of the generator: .* too many: .* is 4"),
        (12, 11, "the pipeline has 11 elements, and 12 according to the length of its generator"),
        (10, 11, "the pipeline has 11 elements, and 10 according to the length of its generator"),
    ],
)
def test_another_number_than_the_length_is_an_error(length, taken, message):
    dataset = fm.Dataset.from_generator(
        lambda shard, shards: range(5 + shard), shards=2, length=length
    )
    made = []
    with pytest.raises(fm.DataLossError, match=message), dataset.read() as reader:
        for x in reader:
            made.append(int(x))
    assert len(made) == taken


def test_ranks_share_the_elements():
    dataset = fm.Dataset.from_generator(lambda shard, shards: range(shard, 101, shards), shards=3)
    expected = values(dataset)
    for rank in range(3):
        assert values(dataset, rank=rank, ranks=3) == expected[rank::3]


@pytest.mark.parametrize("taken", [1, 49, 50, 77, 150])
def test_a_reading_continues_from_a_state_within_a_shard(taken):
    dataset = fm.Dataset.from_generator(numbers, shards=3, output=OUTPUT).with_options(seed=1)
    expected = plain(numbers, 3)
    with dataset.read() as reader:
        made = list(itertools.islice(reader, taken))
        state = reader.state_dict()
    with dataset.read(state=state) as reader:
        made += list(reader)
    assert len(made) == len(expected)
    assert all(map(equal, made, expected))


class Counting:
    """An iterable with a state; it writes down each element that it makes."""

    def __init__(self, path):
        self.path = path
        self.next = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.next == 20000:
            raise StopIteration
        with open(self.path, "a") as file:
            file.write(f"{self.next}\n")
        self.next += 1
        return self.next - 1

    def state_dict(self):
        return {"next": self.next}

    def load_state_dict(self, state):
        self.next = state["next"]


def test_a_state_of_the_iterator_saves_elements(tmp_path):
    path = str(tmp_path / "made")
    crashed = str(tmp_path / "crashed")

    class Crashing(Counting):
        def __next__(self):
            if self.next == 15000 and not os.path.exists(crashed):
                open(crashed, "w").close()
                os._exit(1)
            return super().__next__()

    dataset = fm.Dataset.from_generator(lambda: Crashing(path), output=("int64", ()))
    assert values(dataset) == list(range(20000))
    with open(path) as file:
        lines = file.read().splitlines()
    assert len(lines) < 25000  # without the state it would begin at 0 again


# ---- failures


def failure(function, shards=1, **options):
    """The elements before the error, and its text."""
    options.setdefault("output", ("int64", ()))
    dataset = fm.Dataset.from_generator(function, shards=shards, **options)
    taken = []
    with pytest.raises(fm.PythonError) as caught, dataset.read() as reader:
        for x in reader:
            taken.append(int(x))
    return taken, str(caught.value)


def test_an_exception_comes_after_the_elements_before_it_and_with_its_traceback():
    def fails(shard, shards):
        yield from range(shard * 10, shard * 10 + 5)
        if shard == 1:
            raise KeyError("no such row")

    taken, text = failure(fails, shards=3)
    assert taken == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    assert "element 5 of shard 1 of the generator" in text
    assert "raised KeyError: 'no such row'" in text
    assert "in fails" in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "instead of int64"),
        ("text", "instead of int64"),
        (np.arange(3), "instead of int64"),
        ({"x": 1}, "instead of int64"),
        ((3, 4), "the result is a tuple: return a dict"),
    ],
)
def test_another_type_is_an_error(value, message):
    taken, text = failure(lambda: iter([1, 2, value]))
    assert taken == [1, 2]
    assert "yielded a wrong value" in text
    assert message in text


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os._exit(3), "ended its process with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "by signal SIGSEGV"),
    ],
)
def test_a_process_that_ends_is_an_error_of_its_element(end, message):
    def ends():
        yield from range(30)
        end()
        yield 30

    taken, text = failure(ends)
    assert taken == list(range(30))
    assert "element 30 of shard 0" in text
    assert message in text


def test_a_crash_that_does_not_come_again_costs_nothing(tmp_path):
    once = str(tmp_path / "once")

    def ends_once(shard, shards):
        for k in range(300):
            if shard == 1 and k == 200 and not os.path.exists(once):
                open(once, "w").close()
                os._exit(1)
            yield shard * 1000 + k

    dataset = fm.Dataset.from_generator(ends_once, shards=3, output=("int64", ()))
    assert values(dataset) == [s * 1000 + k for s in range(3) for k in range(300)]


def test_an_infinite_loop_ends_at_its_timeout():
    def hangs():
        yield 1
        while True:
            pass

    taken, text = failure(hangs, timeout=0.5)
    assert taken == [1]
    assert "took longer than 0.5 s" in text
    assert "in hangs" in text


def test_memory_has_a_limit():
    def large():
        yield 1
        yield len(bytearray(1 << 30))

    taken, text = failure(large, memory_bytes=1 << 27)
    assert taken == [1]
    assert "MemoryError" in text


def test_an_error_is_left_out_with_the_rest_of_its_shard():
    def fails(shard, shards):
        yield shard
        if shard == 1:
            raise ValueError
        yield shard + 10

    dataset = fm.Dataset.from_generator(fails, shards=3, output=("int64", ()))
    skipping = dataset.map(lambda x: x + 0).on_error("skip")
    assert values(skipping) == [0, 10, 1, 2, 12]


def test_a_generator_that_ends_earlier_the_second_time_is_noticed(tmp_path):
    calls = str(tmp_path / "calls")

    def shrinks():
        with open(calls, "a") as file:
            file.write("x")
        first = os.path.getsize(calls) == 1
        for k in range(9000 if first else 10):
            if k == 8000:
                os._exit(1)
            yield k

    taken, text = failure(shrinks)
    assert taken
    assert taken == list(range(len(taken)))
    assert "shard 0 ended after 10 elements" in text
    assert "must yield the same elements each time" in text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Dataset.from_generator(3), "needs a function"),
        (lambda: fm.Dataset.from_generator(numbers(0, 1)), "do not call that function"),
        (lambda: fm.Dataset.from_generator(lambda a: [1]), "called with \\(shard, shards\\)"),
        (lambda: fm.Dataset.from_generator(lambda: [1], shards=2), "takes no arguments"),
        (lambda: fm.Dataset.from_generator(list), "has no element"),
        (
            lambda: fm.Dataset.from_generator(numbers, shards=3, length=[1, 2]),
            "length has 2 numbers, and there are 3 shards",
        ),
        (
            lambda: fm.Dataset.from_generator(lambda: [1], length=-1).element_spec,
            "a length must be at least 0",
        ),
        (lambda: fm.Dataset.from_generator(lambda: 1 / 0), "ZeroDivisionError"),
        (
            lambda: fm.Dataset.from_generator(lambda: 3),
            r"generators_test.py:\d+: the generator returned a int; it must yield the elements",
        ),
        (
            lambda: fm.Dataset.from_generator(numbers, shards="2"),
            "shards: expected an integer from 0 to .*, found '2'",
        ),
        (
            lambda: fm.Dataset.from_generator(lambda: iter([(1, 2)])),
            r'generators_test.py:\d+: the generator yielded a tuple,[^"]*"value_0": …, "value_1"',
        ),
        (
            lambda: fm.Dataset.from_generator(numbers, shards=0, output=OUTPUT).element_spec,
            "shards must be at least 1",
        ),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(fm.InvalidArgumentError, match=message):
        make()


# ---- through a service


def test_workers_make_the_elements(start):
    _, target = start("dispatcher")
    for _ in range(2):
        start("worker", "--dispatcher", target, "--threads", 2, "--allow-python", sys.executable)
    dataset = fm.Dataset.from_generator(numbers, shards=4, output=OUTPUT)
    expected = plain(numbers, 4)
    with dataset.read(target) as reader:
        made = list(reader)
    assert len(made) == len(expected)
    assert all(map(equal, made, expected))


def test_a_worker_that_is_killed_loses_nothing(start):
    _, target = start("dispatcher")
    workers = [
        start("worker", "--dispatcher", target, "--threads", 1, "--allow-python", sys.executable)
        for _ in range(2)
    ]

    def slow(shard, shards):
        for k in range(400):
            yield np.full(100, shard * 1000 + k)

    dataset = fm.Dataset.from_generator(slow, shards=4).with_options(seed=1)
    taken = []
    with dataset.read(target, budget_bytes=1 << 14) as reader:
        for x in reader:
            taken.append(int(x[0]))
            if len(taken) == 500:
                os.kill(workers[0][0].pid, signal.SIGKILL)
    assert taken == [s * 1000 + k for s in range(4) for k in range(400)]


def test_a_worker_without_an_interpreter_refuses_it(start):
    _, target = start("dispatcher")
    start("worker", "--dispatcher", target)
    with pytest.raises(fm.FailedPreconditionError, match="--allow-python"):
        list(fm.Dataset.from_generator(lambda: [1]).read(target))
