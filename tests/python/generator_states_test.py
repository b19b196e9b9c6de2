"""States of generators: another process continues a shard from the state of its iterator."""

import itertools
import os
import signal
import sys

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


@pytest.mark.parametrize("through", ["service", "local"])
def test_a_reading_continues_from_the_state_in_its_token(start, tmp_path, through):
    made = Made(tmp_path / "made")

    def read(dataset, **options):
        if through == "local":
            return dataset.read(**options)
        _, target = start("dispatcher")
        allowed(start, target)
        return dataset.read(target, **options)

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


def test_a_state_that_is_too_large_is_left_out(tmp_path):
    made = Made(tmp_path / "made")
    dataset = log(made.folder, state_bytes=32 << 10)
    assert resumed(lambda d, **options: d.read(**options), dataset, made) == EXPECTED
    assert (1, 0) in made.elements()  # the shard was made again
