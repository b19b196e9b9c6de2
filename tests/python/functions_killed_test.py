"""Interpreters of Python functions that are killed, and processes that functions leave behind."""

import contextlib
import os
import signal
import stat
import subprocess
import sys
import threading
import time

import cloudpickle
import feedmill as fm
import numpy as np
import pytest
from functions_reading import values
from process_tree import alive, children, descendants
from waits import wait_for

# The interpreters cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def interpreters():
    """The processes that have loaded a function."""
    return [int(pid) for pid in children() if descendants(int(pid))]


def processes():
    """The processes that make elements."""
    return [process for pid in interpreters() for process in descendants(pid)]


def kill(processes):
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def rests():
    """A fact: all processes that make elements wait, and have not run in the last 100 looks.

    A process also waits in the middle of an element, for a thread that a busy machine does
    not run.
    """
    last, same = [], 0

    def fact():
        nonlocal last, same
        look = []
        for pid in processes():
            with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
                look.append([line for line in file if line.startswith(("State", "volun"))])
        same = same + 1 if look == last else 0
        last = look
        return same >= 100 and look != [] and all("S (" in lines[0] for lines in look)

    return fact


def large(x):
    return np.full(300_000, x)


LARGE = fm.Dataset.range(80).map(
    large, python=True, deterministic=True, output=("int64", (300_000,))
)


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("killed", [interpreters, processes])
def test_an_idle_process_that_is_killed_costs_no_element(killed, on_error):
    dataset = LARGE.on_error("skip") if on_error == "skip" else LARGE
    with (
        fm.DispatchServer() as dispatcher,
        # A worker whose memory is full waits for the reader.
        fm.WorkerServer(dispatcher.target, allow_python=True, memory_bytes=40 << 20, threads=4),
        dataset.read(dispatcher.target) as reader,
    ):
        got = [int(next(reader)[0]) for _ in range(3)]
        wait_for(rests(), "the functions to be loaded")
        kill(killed())
        got += [int(x[0]) for x in reader]
        assert got == list(range(80))
        assert reader.skipped == 0


def stamped(x):
    """An element of 800 kB: `x`, and when it was made."""
    element = np.full(100_000, x)
    element[1] = time.monotonic_ns()
    return element


def read_and_kill(dataset):
    """The first number of each element; processes and interpreters are killed in turns.

    A row whose processes end again and again counts as their cause. So an element that was made
    after one kill is read before the next one.
    """
    got, kills, last = [], 0, time.monotonic_ns()
    with dataset.on_error("skip").read(threads=2) as reader:
        for x in reader:
            got.append(int(x[0]))
            if x[1] > last and kills < 4:
                kill(interpreters() if kills % 2 else processes())
                kills, last = kills + 1, time.monotonic_ns()
        assert reader.skipped == 0
    assert kills == 4
    return got


def test_processes_that_are_killed_again_and_again_cost_no_element():
    dataset = fm.Dataset.range(500).map(
        stamped, python=True, deterministic=True, output=("int64", (100_000,))
    )
    assert read_and_kill(dataset) == list(range(500))


def test_processes_of_generators_that_are_killed_cost_no_element():
    def count(shard, shards):
        for k in range(60):
            yield stamped(60 * shard + k)

    dataset = fm.Dataset.from_generator(count, shards=8, output=("int64", (100_000,)))
    assert read_and_kill(dataset) == list(range(480))


class Loads:
    """A function that writes its process to a file when it is loaded, and ends as it says."""

    def __init__(self, path, end):
        self.path, self.end = path, end

    def __reduce__(self):
        return load, (self.path, self.end)

    def __call__(self, x):
        return x


def load(path, end):
    with open(path, "a") as file:
        file.write(f"{os.getpid()}\n")
    with open(path) as file:
        first = len(file.readlines()) == 1
    if end == "waits" and first:
        time.sleep(1000)
    if end == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return Loads(path, end)


def reading(path, end):
    return fm.Dataset.range(10).map(Loads(str(path), end), python=True, output=("int64", ()))


def test_an_interpreter_that_is_killed_while_it_loads_loads_again(tmp_path):
    loads = tmp_path / "loads"
    loads.touch()
    got = []
    thread = threading.Thread(target=lambda: got.extend(values(reading(loads, "waits"))))
    thread.start()
    wait_for(lambda: loads.read_text().endswith("\n"), "the function to be loaded")
    kill([int(loads.read_text())])
    thread.join(60)
    assert got == list(range(10))
    assert len(loads.read_text().splitlines()) == 2


def test_an_interpreter_that_always_ends_by_a_signal_is_an_error_that_names_it(tmp_path):
    with pytest.raises(
        fm.FailedPreconditionError,
        match=r"was ended by signal SIGKILL \(Killed\) while it loaded the function.* 3 times",
    ):
        values(reading(tmp_path / "loads", "is killed"))
    assert len((tmp_path / "loads").read_text().splitlines()) == 3


def test_an_interpreter_that_is_killed_at_the_start_of_a_worker_starts_again(tmp_path):
    python = tmp_path / "python"
    python.write_text(f"""#!/bin/sh
mkdir {tmp_path}/killed 2>/dev/null && kill -9 $$
exec {sys.executable} "$@"
""")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    dataset = fm.Dataset.range(10).map(lambda x: x, python=True, output=("int64", ()))
    with (
        fm.DispatchServer() as dispatcher,
        fm.WorkerServer(dispatcher.target, allow_python=str(python)),
    ):
        assert values(dataset, dispatcher.target) == list(range(10))
    assert (tmp_path / "killed").exists()


def test_a_function_that_kills_its_interpreter_each_time_is_an_error_of_its_element():
    dataset = fm.Dataset.range(3).map(
        lambda x: os.kill(os.getppid(), signal.SIGKILL) if x == 1 else x,
        python=True,
        output=("int64", ()),
    )
    with dataset.on_error("skip").read(threads=1) as reader:
        assert [int(x) for x in reader] == [0, 2]
        assert reader.skipped == 1


# ---- processes that a function starts


def starts_processes(x):
    """Returns a process in a session of its own, and an orphan in another one."""
    started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        orphan = os.fork()
        if orphan == 0:
            time.sleep(1000)
        os.write(write, b"%d" % orphan)
        os._exit(0)
    os.waitpid(child, 0)
    return np.array([started.pid, int(os.read(read, 20))])


STARTING = fm.Dataset.range(6).map(starts_processes, python=True, output=("int64", (2,)))


def test_processes_that_a_function_starts_end_with_the_reading():
    with fm.Loader(STARTING, threads=2) as loader:
        for _ in range(2):
            started = [int(pid) for pids in loader for pid in pids]
            assert len(started) == 12
            wait_for(lambda started=started: not any(map(alive, started)), f"the end of {started}")
        assert interpreters() or children()  # the function stays loaded


TRAINER = """
import sys
import feedmill as fm
from functions_killed_test import STARTING
reader = STARTING.read()
print(*[int(pid) for _ in range(6) for pid in next(reader)], flush=True)
sys.stdin.read()
"""


def test_processes_that_a_function_starts_end_with_a_killed_trainer():
    with subprocess.Popen(
        [sys.executable, "-c", TRAINER],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as trainer:
        started = [int(pid) for pid in trainer.stdout.readline().split()]
        assert len(started) == 12
        assert all(map(alive, started))
        trainer.kill()
    wait_for(lambda: not any(map(alive, started)), f"the end of {started}")
