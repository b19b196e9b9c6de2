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


def alive(pid):
    """True unless the process has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
