"""Processes, threads, descriptors and memory files that a test leaves behind.

conftest.py checks it after every test.
"""

import contextlib
import gc
import os
import re
import sys
from collections import Counter
from multiprocessing import resource_tracker

from process_tree import children
from waits import wait_for

# Names of threads that frameworks keep from their first use on.
KEPT_THREADS = re.compile(r"jemalloc.*|tf_.*|pjrt.*|jax.*|llvm.*|grpc.*|polars.*")
# Frameworks that keep threads without a name, too: those have the process's.
UNNAMED_THREADS = ("tensorflow", "jax", "datasets")
# Targets of descriptors that are kept: of libraries, and the rows of the caches that
# this process used last.
KEPT_DESCRIPTORS = re.compile(r"/dev/(null|u?random)|/proc/.*|.*/[0-9a-f]{32}\.rows")


def kept_process(pid):
    """True for the process by which multiprocessing cleans up after this one."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"multiprocessing.resource_tracker" in file.read()
    except FileNotFoundError:
        return False


def threads():
    """The threads of this process: how many of each name."""
    names = Counter()
    unnamed = any(framework in sys.modules for framework in UNNAMED_THREADS)
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                name = file.read().strip()
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            continue
        if not KEPT_THREADS.fullmatch(name) and not (unnamed and name.startswith("python")):
            names[name] += 1
    return names


def descriptors():
    """The targets of this process's descriptors: how many of each kind."""
    kinds = Counter()
    tracker = resource_tracker._resource_tracker._fd
    for descriptor in os.listdir("/proc/self/fd"):
        if int(descriptor) == tracker:
            continue
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue
        # Files that a parent of this process had open may be deleted meanwhile: ctest's log
        # is when another ctest starts.
        target = re.sub(r"\[\d+\]$| \(deleted\)$", "", target)
        if not KEPT_DESCRIPTORS.fullmatch(target):
            kinds[target] += 1
    return kinds


def mappings():
    """The memory files of feedmill that are mapped."""
    with open("/proc/self/maps") as maps:
        return Counter(re.findall(r"/memfd:feedmill\w*", maps.read()))


class Remains:
    """Counts of processes, threads, descriptors and mappings, at the time it is made."""

    def __init__(self):
        self.found = {
            "threads": threads(),
            "descriptors": descriptors(),
            "processes": Counter(pid for pid in children() if not kept_process(pid)),
            "mappings": mappings(),
        }

    def more(self):
        """Returns the counts that are larger now, by kind."""
        now = Remains()
        more = {kind: now.found[kind] - self.found[kind] for kind in self.found}
        return {kind: dict(counts) for kind, counts in more.items() if counts}

    def await_end(self, seconds):
        """Returns more() after the seconds; {} as soon as there is none."""

        def gone():
            gc.collect()
            return not self.more()

        with contextlib.suppress(AssertionError):
            wait_for(gone, "nothing to remain", seconds)
        return self.more()
