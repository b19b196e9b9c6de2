"""Epochs and readers leave nothing behind: no memory, thread, descriptor or memfd.

FEEDMILL_LONG=1 takes 10,000 epochs and 100,000 readers.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest
from waits import wait_for

LONG = os.environ.get("FEEDMILL_LONG") == "1"
# Rounds before the first measurement. The dispatcher remembers 10,000 readers that left.
WARM_UP, WARM_UP_OF_SERVICE = (1_000, 12_000) if LONG else (100, 100)
EPOCHS = 10_000 if LONG else 150
READERS = 75_000 if LONG else 1_500
READERS_OF_SERVICE = 25_000 if LONG else 300
GROWTH_KB = 1_024
GROWTH_OF_SERVERS_KB = 4_096

PROGRAM = """
import gc, sys
import feedmill as fm
from waits import wait_for

kind, service, warm_up, count = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), int(sys.argv[4])
dataset = fm.Dataset.range(64).shuffle().batch(8).with_options(seed=1)
loader = fm.Loader(dataset, service, "job" if service else None, threads=1)

def epoch(number):
    assert sum(int(batch.sum()) for batch in loader) == 64 * 63 // 2

def reader(number):
    # Every 50th with a team of threads. Some are closed at their beginning, some at their end.
    with dataset.read(service, threads=0 if number % 50 == 0 else 1) as reader:
        for _ in range(number % 10):
            next(reader, None)
    reader.close()

for number in range(warm_up + count):
    if number in (0, warm_up):
        gc.collect()
        print(number, flush=True)
        sys.stdin.readline()
    {"epochs": epoch, "readers": reader}[kind](number)
gc.collect()
print("done", flush=True)
sys.stdin.readline()
"""


def use(pid):
    """Returns the resident KB, threads, descriptors and memfds of a process."""
    folder = pathlib.Path(f"/proc/{pid}")
    links = []
    for descriptor in (folder / "fd").iterdir():
        try:
            links.append(os.readlink(descriptor))
        except FileNotFoundError:
            continue  # closed meanwhile
    pages = int((folder / "statm").read_text().split()[1])
    held = [line for line in (folder / "maps").read_text().splitlines() if "memfd:" in line]
    return {
        "rss_kb": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "threads": len(list((folder / "task").iterdir())),
        "descriptors": len(links),
        "memfds": len(held) + sum("memfd:" in link for link in links),
    }


def settled(pid, expected):
    """Returns what the process uses, once it has no more than expected: threads end later."""

    def as_expected():
        found = use(pid)
        return all(key == "rss_kb" or found[key] <= expected[key] for key in expected)

    with contextlib.suppress(AssertionError):
        wait_for(as_expected, "threads to end", 20)
    return use(pid)


class Reading:
    """The program: it stops at the beginning, after the warm-up, and at the end."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def reach(self, place):
        assert self.process.stdout.readline().strip() == str(place)

    def go_on(self):
        print(file=self.process.stdin, flush=True)


def check_growth(kind, service, servers, warm_up, count):
    reading = Reading(kind, service, warm_up, count)
    try:
        pids = [reading.process.pid, *servers]
        reading.reach(0)
        reading.go_on()
        reading.reach(warm_up)
        before = [use(pid) for pid in pids]
        reading.go_on()
        reading.reach("done")
        after = [settled(pid, expected) for pid, expected in zip(pids, before, strict=True)]
        reading.go_on()
        assert reading.process.wait(timeout=60) == 0
    finally:
        reading.process.kill()
        reading.process.wait()
    for number, (one, other) in enumerate(zip(before, after, strict=True)):
        limit = GROWTH_OF_SERVERS_KB if number else GROWTH_KB
        print(kind, "server" if number else "reader", one, other)
        for key in ("threads", "descriptors", "memfds"):
            assert other[key] <= one[key], (number, key, one, other)
        assert other["rss_kb"] - one["rss_kb"] <= limit, (number, one, other)


@pytest.mark.parametrize(("kind", "count"), [("epochs", EPOCHS), ("readers", READERS)])
def test_local_reads_do_not_grow(kind, count):
    check_growth(kind, "", [], WARM_UP, count)


@pytest.mark.parametrize(("kind", "count"), [("epochs", EPOCHS), ("readers", READERS_OF_SERVICE)])
def test_reads_of_a_service_do_not_grow(kind, count, start):
    dispatcher, target = start("dispatcher")
    worker, _ = start("worker", "--dispatcher", target)
    servers = [dispatcher.pid, worker.pid]
    check_growth(kind, target, servers, WARM_UP_OF_SERVICE, count)
