"""Facts of /proc about processes."""

import os


def descendants(pid):
    """The processes that a process started, and those that they started."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *descendants(child)]
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def children():
    """The processes of this process, zombies included."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found.update(file.read().split())
        except FileNotFoundError:
            continue
    return found


def alive(pid):
    """True unless the process has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
