"""Python functions that stay the same in other processes, and are loaded once."""

import json
import os
import subprocess
import sys

import feedmill as fm
import pytest
from functions_reading import values
from process_tree import children
from waits import wait_for


class Noted:
    """A function that writes a line when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return load_noted, (self.path,)

    def __call__(self, x):
        return x


def load_noted(path):
    with open(path, "a") as file:
        file.write("loaded\n")
    return Noted(path)


def test_a_loader_loads_a_function_once_for_all_epochs(tmp_path):
    loaded = tmp_path / "loaded"
    dataset = fm.Dataset.range(20).map(Noted(str(loaded)), python=True, output=("int64", ()))
    loaded.write_text("")
    loader = fm.Loader(dataset)
    for _ in range(4):
        assert [int(x) for x in loader] == list(range(20))
    assert len(loader) == 20
    assert loaded.read_text() == "loaded\n"
    # The fixture sees that the processes end with the loader.


def test_a_loader_keeps_a_few_functions_only():
    pipeline = fm.Dataset.range(3)
    for k in range(8):
        pipeline = pipeline.map(lambda x, k=k: x + k, python=True, output=("int64", ()))
    before = len(children())
    loader = fm.Loader(pipeline)
    epoch = iter(loader)
    assert int(next(epoch)) == 28
    assert len(children()) == before + 8  # the reader of the epoch uses them
    assert [int(x) for x in epoch] == [29, 30]
    wait_for(lambda: len(children()) == before + 4, "the processes of old functions to end")


IDENTITY = """
import functools
import feedmill as fm
import numpy as np

WORDS = {"a", "b", "c", "d", "e", "f", "g"}

class Base:
    scale = 3

class Scaler(Base):
    names = frozenset(WORDS)

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return helper(x) * self.scale + self.by + len(WORDS | self.names) + TABLE[0]

def helper(x):
    return x + 1 if str(x) not in {"u", "v", "w", "x"} else np.add(x, 1)

TABLE = np.arange(3)
function = functools.partial(Scaler(BY))
dataset = fm.Dataset.range(9).map(function, python=True, output=("int64", ()))
print(dataset.to_yaml().split("version: ")[1].split()[0])
"""


def identity_of(program, seed):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_function_has_one_identity_in_all_processes():
    program = IDENTITY.replace("BY", "1")
    one = identity_of(program, 1)
    assert "sha256:" in one
    assert one == identity_of(program, 2)
    assert one == identity_of("\n\n# a comment\n" + program, 3)  # on other lines
    for old, new in [
        ("BY", "2"),
        ("scale = 3", "scale = 4"),
        ('"f", "g"}', '"f"}'),
        ("x + 1 if", "x + 2 if"),
        ('"w", "x"}', '"w"}'),
        ("np.add", "np.subtract"),
        ("np.arange(3)", "np.arange(4)"),
        ("class Scaler(Base)", "class Scaler"),
    ]:
        changed = IDENTITY.replace(old, new).replace("BY", "1")
        if new == "class Scaler":
            changed = changed.replace("self.scale", "3")
        assert identity_of(changed, 1) != one, (old, new)


def test_a_state_continues_in_a_process_with_another_hash_seed(tmp_path):
    program = """
import sys, json
import feedmill as fm
WORDS = {"a", "b", "c", "d", "e", "f", "g"}
dataset = fm.Dataset.range(30).map(lambda x: x + len(WORDS), python=True)
path = sys.argv[1]
if len(sys.argv) > 2:
    reader = dataset.with_options(seed=1).read()
    print([int(next(reader)) for _ in range(11)])
    open(path, "w").write(json.dumps(reader.state_dict()))
else:
    state = json.loads(open(path).read())
    print([int(x) for x in dataset.with_options(seed=1).read(state=state)])
"""
    made = []
    for seed, arguments in [(1, ["first"]), (2, [])]:
        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "state", *arguments],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        made += json.loads(done.stdout)
    assert made == [x + 7 for x in range(30)]


def test_a_version_stands_for_the_function():
    def of(function, **options):
        return fm.Dataset.range(9).map(function, python=True, output=("int64", ()), **options)

    plain = [of(lambda x: x), of(lambda x: x + 0)]
    named = [of(lambda x: x, version="v1"), of(lambda x: x + 0, version="v1")]
    for one, other, same in [(*plain, False), (*named, True)]:
        reader = one.with_options(seed=1).read()
        next(reader)
        state = reader.state_dict()
        reader.close()
        if same:
            assert values(other.with_options(seed=1), state=state) == list(range(1, 9))
            continue
        with pytest.raises(fm.InvalidArgumentError):
            values(other.with_options(seed=1), state=state)


def test_a_function_that_cannot_be_taken_apart_is_its_bytes():
    numbers = iter([1, 2])
    dataset = fm.Dataset.range(3).map(lambda x: x + len([numbers]), python=True)
    assert "version" in dataset.to_yaml()  # a list's iterator can be taken apart
    lock = _Odd()
    dataset = fm.Dataset.range(3).map(lambda x: x + lock.one, python=True)
    assert "version" not in dataset.to_yaml()
    assert values(dataset) == [1, 2, 3]


class _Odd:
    """cloudpickle takes it apart only at a second try."""

    def __init__(self):
        self.one = 1
        self.tries = 0

    def __reduce_ex__(self, protocol):
        self.tries += 1
        if self.tries == 2:  # the first one is cloudpickle's
            raise TypeError
        return _Odd, ()
