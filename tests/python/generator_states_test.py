"""States of generators: another process continues a shard from the state of its iterator."""

import itertools
import os
import signal
import sys
import threading

import cloudpickle
import feedmill as fm
import pytest
from functions_service_test import allowed

# The workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

LENGTH = 8000  # of each shard
PIECE = 512  # elements of about 1 KiB in a piece
OUTPUT = {"shard": ("int64", ()), "k": ("int64", ()), "pad": ("uint8", (1000,))}


class Log:
    """An iterable with a state, like a log with offsets. It writes down what it makes."""

    def __init__(self, folder, shard, state_bytes):
        self.folder = folder
        self.shard = shard
        self.state_bytes = state_bytes
        self.next = 0

    def __iter__(self):
        return self

    def __next__(self):
        import numpy as np

        if self.next == LENGTH:
            raise StopIteration
        with open(f"{self.folder}/{os.getpid()}", "a") as file:
            file.write(f"{self.shard} {self.next}\n")
        self.next += 1
        return {
            "shard": self.shard,
            "k": self.next - 1,
            "pad": np.full(1000, self.next % 251, np.uint8),
        }

    def state_dict(self):
        return {"next": self.next, "other": b"." * self.state_bytes}

    def load_state_dict(self, state):
        self.next = state["next"]


class Made:
    """The elements that processes made, by process."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder = str(folder)
        self.before = set()

    def forget(self):
        self.before = set(os.listdir(self.folder))

    def elements(self):
        """Returns (shard, k) of what processes made that did not exist at forget()."""
        made = []
        for name in set(os.listdir(self.folder)) - self.before:
            with open(f"{self.folder}/{name}") as file:
                lines = file.read().split("\n")[:-1]
            made += [tuple(map(int, line.split())) for line in lines]
        return made


def log(folder, state_bytes=0):
    return fm.Dataset.from_generator(
        lambda shard, shards: Log(folder, shard, state_bytes), shards=2, output=OUTPUT
    ).with_options(seed=1)


def names(elements):
    made = []
    for e in elements:
        assert (e["pad"] == (int(e["k"]) + 1) % 251).all()
        made.append((int(e["shard"]), int(e["k"])))
    return made


EXPECTED = [(shard, k) for shard in range(2) for k in range(LENGTH)]
TAKEN = LENGTH + 5000  # in the second shard


def test_another_worker_continues_from_the_state_of_a_shard(start, tmp_path):
    made = Made(tmp_path / "made")
    _, target = start("dispatcher")
    killed = allowed(start, target)
    with log(made.folder).read(target, budget_bytes=1 << 20) as reader:
        taken = names(itertools.islice(reader, TAKEN))
        made.forget()
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        allowed(start, target)
        taken += names(reader)
    assert taken == EXPECTED
    again = [element for element in made.elements() if element < taken[TAKEN]]
    assert len(again) <= PIECE


def resumed(read, dataset, made, count=TAKEN):
    """Reads some elements, then the rest with new processes."""
    with read(dataset) as reader:
        taken = names(itertools.islice(reader, count))
        state = reader.state_dict()
    made.forget()
    with read(dataset, state=state) as reader:
        taken += names(reader)
    return taken


def reading(start, through):
    """Returns a function that reads a dataset, each time through a new service, or without one."""

    def read(dataset, **options):
        if through == "local":
            return dataset.read(**options)
        _, target = start("dispatcher")
        allowed(start, target)
        return dataset.read(target, **options)

    return read


@pytest.mark.parametrize("through", ["service", "local"])
def test_a_reading_continues_from_the_state_in_its_token(start, tmp_path, through):
    made = Made(tmp_path / "made")
    read = reading(start, through)
    assert resumed(read, log(made.folder), made) == EXPECTED
    again = [element for element in made.elements() if element < EXPECTED[TAKEN]]
    assert len(again) <= 2 * PIECE


def test_a_reading_continues_from_the_merged_token_of_ranks(start, tmp_path):
    made = Made(tmp_path / "made")
    dataset = log(made.folder)
    _, target = start("dispatcher")
    allowed(start, target)
    tokens = []
    readers = [dataset.read(target, job="train", rank=rank, ranks=2) for rank in range(2)]
    for reader in readers:
        names(itertools.islice(reader, TAKEN // 2))
        tokens.append(reader.state_dict())
    for reader in readers:
        reader.close()
    made.forget()
    _, target = start("dispatcher")
    allowed(start, target)
    with dataset.read(target, state=fm.merge_states(tokens)) as reader:
        assert names(reader) == EXPECTED[TAKEN:]
    again = [element for element in made.elements() if element < EXPECTED[TAKEN]]
    assert len(again) <= 2 * PIECE


@pytest.mark.parametrize("predicate", ["k >= 0", "k % 3 != 1"])
def test_a_reading_continues_from_the_state_behind_a_cache(start, tmp_path, predicate):
    made = Made(tmp_path / "made")

    def read(dataset, **options):
        _, target = start("dispatcher")
        allowed(start, target)
        return dataset.read(target, **options)

    kept = EXPECTED if predicate == "k >= 0" else [e for e in EXPECTED if e[1] % 3 != 1]
    cached = log(made.folder).filter(predicate).cache()
    assert resumed(read, cached, made, len(kept) - 3000) == kept
    again = [element for element in made.elements() if element < kept[-3000]]
    assert len(again) <= 3 * PIECE


# ---- inputs of combining sources


def inputs(folder, **steps):
    """Two logs whose components can stand side by side."""
    made = []
    for k in range(2):
        names = {f"{name}{k}": name for name in OUTPUT} if steps.get("zips") else {}
        dataset = fm.Dataset.from_generator(
            lambda shard, shards, k=k: Log(folder, 2 * k + shard, 0), shards=2, output=OUTPUT
        )
        if names:
            dataset = dataset.map(**names)
        made.append(dataset)
    return made


COMBINED = {
    "concatenate": lambda folder: fm.Dataset.concatenate(inputs(folder)),
    "zip": lambda folder: fm.Dataset.zip(inputs(folder, zips=True)).map(
        shard="shard0", k="k0", pad="pad0", other="shard1"
    ),
    "interleave": lambda folder: fm.Dataset.interleave(inputs(folder), block_length=3),
    "mixture": lambda folder: fm.Dataset.mixture(inputs(folder), weights=[1, 3]),
}


@pytest.mark.parametrize("through", ["service", "local"])
@pytest.mark.parametrize("kind", COMBINED)
def test_a_reading_continues_in_the_inputs_of_a_combining_source(start, tmp_path, kind, through):
    made = Made(tmp_path / "made")
    dataset = COMBINED[kind](made.folder).with_options(seed=1)
    read = reading(start, through)
    with read(dataset) as reader:
        whole = names(reader)
    before = made.elements()
    assert resumed(read, dataset, made, TAKEN) == whole
    # Without states, all elements before the place would be made again.
    left = {"zip": 2}.get(kind, 1) * (len(whole) - TAKEN)
    assert len(before) >= len(whole)
    # A piece of the input whose pads are not needed has 4096 elements.
    assert len(made.elements()) <= left + 4 * PIECE + (4096 if kind == "zip" else 0)


# ---- states that fail


class Failing:
    """An iterable of many numbers whose state can fail in several ways."""

    def __init__(self, fails, folder=""):
        self.fails = fails
        self.folder = folder
        self.next = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.next == 200_000:
            raise StopIteration
        self.next += 1
        return self.next - 1

    def state_dict(self):
        if self.fails == "raises" and self.next > 2:
            raise KeyError("no offset")
        if self.fails == "exits" and self.next > 2:
            os._exit(3)
        if self.fails == "hangs" and self.next > 2:
            while True:
                pass
        state = {"next": self.next}
        if self.fails == "lock" and self.next > 2:
            state["lock"] = threading.Lock()
        return state

    def load_state_dict(self, state):
        if self.fails == "load":
            raise ValueError("another version of the state")
        self.next = state["next"]


def failing(fails, **options):
    def counted(shard, shards):
        return Failing(fails)

    return fm.Dataset.from_generator(counted, shards=2, output=("int64", ()), **options)


WAYS = [
    (
        "raises",
        [
            "raised KeyError: 'no offset': state_dict() of Failing, ",
            "which failing.<locals>.counted (",
            "Traceback (most recent call last)",
            "in state_dict",
            "mend it, or remove it",
        ],
    ),
    (
        "lock",
        [
            "raised TypeError: cannot pickle '_thread.lock' object: state_dict() of Failing, ",
            "returned a dict whose 'lock' is a lock, which cannot be pickled",
            "return numbers, texts, lists and dicts",
        ],
    ),
    ("exits", ["ended its process with status 3"]),
    ("hangs", ["took longer than 0.3 s", "in state_dict"]),
]


@pytest.mark.parametrize(("fails", "parts"), WAYS, ids=[way for way, _ in WAYS])
def test_a_state_that_fails_ends_the_reading_and_says_why(fails, parts):
    dataset = failing(fails, timeout=0.3 if fails == "hangs" else 60)
    with pytest.raises(fm.PythonError) as caught:
        list(dataset.read())
    text = str(caught.value)
    assert "the state of shard 0 of the generator, at element " in text
    for part in parts:
        assert part in text


def test_a_state_that_fails_is_no_element_to_skip():
    dataset = failing("raises").map(lambda x: x + 1).on_error("skip")
    with pytest.raises(fm.PythonError, match="the state of shard 0 of the generator"):
        list(dataset.read())


def test_a_state_that_fails_ends_a_reading_through_a_service(start):
    _, target = start("dispatcher")
    allowed(start, target)
    with pytest.raises(fm.PythonError, match="whose 'lock' is a lock"):
        list(failing("lock").read(target))


def test_a_state_that_is_not_taken_says_so():
    dataset = failing("load").with_options(seed=1)
    with dataset.read() as reader:
        made = [int(x) for x in itertools.islice(reader, 150_000)]
        state = reader.state_dict()
    assert made == list(range(150_000))
    with pytest.raises(fm.PythonError) as caught, dataset.read(state=state) as reader:
        list(reader)
    text = str(caught.value)
    assert "raised ValueError: another version of the state: Failing, which " in text
    assert "did not take its state before element " in text
    assert "must accept all that state_dict() returned" in text
    assert "in load_state_dict" in text


class Saving(Failing):
    """It lacks the second method of a state."""

    load_state_dict = None


class Loading(Failing):
    """It lacks the first one."""

    state_dict = None


@pytest.mark.parametrize(
    ("kind", "has", "lacks"),
    [(Saving, "state_dict", "load_state_dict"), (Loading, "load_state_dict", "state_dict")],
)
def test_a_state_with_one_of_its_methods_only_is_an_error(kind, has, lacks):
    message = rf"makes a {kind.__name__} that has {has}\(\), and no {lacks}\(\): .* Add the other"
    with pytest.raises(
        fm.InvalidArgumentError, match=r"generator_states_test.py:\d+: the generator " + message
    ):
        fm.Dataset.from_generator(lambda: kind(""))
    dataset = fm.Dataset.from_generator(lambda: kind(""), output=("int64", ()))
    with pytest.raises(fm.PythonError, match="the state of shard 0 .* " + message):
        list(dataset.read())


def test_attributes_that_are_no_methods_are_no_state():
    class Data:
        state_dict = {"weights": 1}  # noqa: RUF012

        def __iter__(self):
            return iter(range(3))

    dataset = fm.Dataset.from_generator(lambda: Data())
    assert [int(x) for x in dataset.read()] == [0, 1, 2]


class Opened(Failing):
    def state_dict(self):
        return {"next": self.next, "lock": threading.Lock()}


def test_a_state_is_tried_when_types_are_found_out():
    with pytest.raises(
        fm.InvalidArgumentError,
        match=r"generator_states_test.py:\d+: the generator makes a Opened, whose state cannot be "
        r"kept: TypeError: cannot pickle '_thread.lock' object; state_dict\(\) must return",
    ):
        fm.Dataset.from_generator(lambda: Opened(""))


def test_a_state_that_is_too_large_is_in_the_log(tmp_path, capfd):
    dataset = log(str(tmp_path), state_bytes=32 << 10)
    with dataset.read(threads=1) as reader:
        assert names(itertools.islice(reader, 2000)) == EXPECTED[:2000]
    lines = capfd.readouterr().err.splitlines()
    (warning,) = {line for line in lines if line.startswith("feedmill: ")}  # once for each process
    assert "the state of Log, which log.<locals>.<lambda> (" in warning
    assert "and is left out, because at most 32767 are kept" in warning


def test_a_state_that_is_too_large_is_left_out(tmp_path):
    made = Made(tmp_path / "made")
    dataset = log(made.folder, state_bytes=32 << 10)
    assert resumed(lambda d, **options: d.read(**options), dataset, made) == EXPECTED
    assert (1, 0) in made.elements()  # the shard was made again
