"""The processes that functions start, and their end."""

import contextlib
import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ROUNDS_MAX = 100  # of looks for processes that are started meanwhile


def set_process(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def end_with_parent(parent, number=signal.SIGKILL):
    """Has this process get the signal when `parent` ends."""
    set_process(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans():
    """Keeps the descendants of this process its descendants if their parents end."""
    set_process(PR_SET_CHILD_SUBREAPER, 1)


def children(pid):
    """Returns the processes whose parent is `pid`."""
    found = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/task/{task}/children") as file,
            ):
                found += map(int, file.read().split())
    return found


def descendants(pid):
    """Returns the processes that `pid` started, and those that they started."""
    found = children(pid)
    for one in found:
        found += children(one)
    return found


def kill(processes):
    for pid in processes:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def kill_descendants(kept=frozenset()):
    """Ends the descendants of this process, but for children in `kept` and theirs.

    Sessions and process groups do not matter. Processes that start others meanwhile are looked for
    again.
    """
    killed = set()
    for _ in range(ROUNDS_MAX):
        found = set()
        for child in set(children(os.getpid())) - kept:
            found |= {child, *descendants(child)}
        if found <= killed:
            return
        kill(found)
        killed |= found
