"""Runs programs that end while daemon threads are inside feedmill, and checks their exit codes.

exits.py [--programs N] [--jobs J]   runs N programs (default: one of each kind), J at a time
exits.py --run K                     is program K

A program has two daemon threads in calls of one kind. Its main thread then counts to a number that
is drawn from K, and ends: by its last line, by sys.exit, or by an exception.
"""

import argparse
import collections
import contextlib
import os
import queue
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import feedmill as fm
from feedmill import tf

PROGRAM_LIMIT_S = 120
ENDS = {"line": 0, "exit": 7, "exception": 1}  # exit codes


def endless():
    """A dataset that no program reads to its end."""
    return fm.Dataset.range(10**12).map("x * 3").with_options(seed=1)


def service():
    """The target of a dispatcher with a worker; both are kept."""
    dispatcher = fm.DispatchServer()
    KEPT.extend([dispatcher, fm.WorkerServer(dispatcher.target)])
    return dispatcher.target


def joins_a_dispatcher():
    return fm.DispatchServer().join


def joins_a_worker():
    service()
    return KEPT[-1].join


def joins_a_task():
    return tf.train.Server.create_local_server().join


def waits_for_a_worker():
    """A read that calls on_wait; no worker comes."""
    dispatcher = fm.DispatchServer()
    KEPT.append(dispatcher)
    return lambda: list(endless().read(dispatcher.target, on_wait=lambda what, waited: len(what)))


def reads():
    reader = endless().read()
    return lambda: collections.deque(reader, maxlen=0)


def reads_from_a_service():
    target = service()
    return lambda: collections.deque(endless().read(target), maxlen=0)


def reads_chunks():
    reader = endless().read()
    return lambda: collections.deque(reader.chunks(), maxlen=0)


def reads_epochs():
    loader = fm.Loader(fm.Dataset.range(100).shuffle().batch(7), seed=1)

    def epochs():
        while True:
            collections.deque(loader, maxlen=0)

    return epochs


def prefetches():
    """A thread that fills a queue, and saves a state with each element."""
    reader = endless().batch(64).read()
    full = queue.Queue(8)

    def fill():
        for batch in reader:
            full.put((batch, reader.state_dict()))

    KEPT.append(full)
    threading.Thread(target=lambda: [full.get() for _ in iter(int, 1)], daemon=True).start()
    return fill


def agrees():
    """A read that calls a Python function for each element."""
    dataset = fm.Dataset.range(10**9).filter("x % 2 == 0").with_options(seed=1)
    reader = dataset.read(even="drop", agree=lambda have: (have, have))
    return lambda: collections.deque(reader, maxlen=0)


def fails():
    """Calls that raise: an exception is made by a function written in Python."""

    def attempts():
        while True:
            with contextlib.suppress(fm.NotFoundError):
                fm.Dataset.text("/no such file").read()

    return attempts


def runs_functions():
    dataset = fm.Dataset.range(10**9).map(lambda x: x + 1, python=True, output=("int64", ()))
    return lambda: collections.deque(dataset.read(), maxlen=0)


def closes():
    """Opens and closes readers."""

    def readers():
        while True:
            with endless().read() as reader:
                next(reader)

    return readers


class Closing:
    """Closes a reader that a thread waits in, when the interpreter drops the last objects."""

    def __init__(self, reader):
        self.reader = reader

    def __del__(self):
        self.reader.close()


def is_closed_by_a_finalizer():
    dispatcher = fm.DispatchServer()
    reader = endless().read(dispatcher.target)
    KEPT.extend([dispatcher, Closing(reader)])
    return lambda: next(reader)


KEPT = []
KINDS = [
    joins_a_dispatcher,
    joins_a_worker,
    joins_a_task,
    waits_for_a_worker,
    reads,
    reads_from_a_service,
    reads_chunks,
    reads_epochs,
    prefetches,
    agrees,
    fails,
    runs_functions,
    closes,
    is_closed_by_a_finalizer,
]


def run(number):
    """Is program `number`."""
    begun = threading.Barrier(3)

    def begin(call):
        begun.wait()
        call()

    for call in [KINDS[number % len(KINDS)]() for _ in range(2)]:
        KEPT.append(call)
        threading.Thread(target=begin, args=(call,), daemon=True).start()
    begun.wait()
    end, turns = draws(number)
    for _ in range(turns):
        pass
    if end == "exit":
        sys.exit(ENDS[end])
    if end == "exception":
        raise RuntimeError("the end")


def draws(number):
    """Returns how program `number` ends, and the turns of its main thread."""
    draw = random.Random(number)
    return draw.choice(sorted(ENDS)), draw.randrange(200_000)


def check(number):
    """Runs a program. Returns why it did not end well, or None."""
    name = f"program {number}, which {KINDS[number % len(KINDS)].__name__}"
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--run", str(number)],
            capture_output=True,
            timeout=PROGRAM_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name} did not end"
    if done.returncode == ENDS[draws(number)[0]]:
        return None
    return f"{name} ended with {done.returncode}: {done.stderr.decode()[-2000:]}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=len(KINDS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--run", type=int)
    arguments = parser.parse_args()
    if arguments.run is not None:
        run(arguments.run)
        return
    with ThreadPoolExecutor(arguments.jobs) as pool:
        failures = [text for text in pool.map(check, range(arguments.programs)) if text]
    print(*failures, sep="\n")
    print(
        f"{sys.version.split()[0]}: {arguments.programs} programs, {len(failures)} ended wrong",
        flush=True,
    )
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
