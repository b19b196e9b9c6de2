"""Waits of the tests.

A test waits for a fact, never for a time: the machine may be busy. A rule of tests/lint
refuses other sleeps.
"""

import pathlib
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

POLL_S = 0.01


def wait_for(
    fact: Callable[[], Any],
    what: str | Callable[[], str],
    seconds: float = 60,
    poll_seconds: float = POLL_S,
) -> Any:
    """Returns what `fact` returns, as soon as it is true.

    AssertionError after the seconds: it says `what` the test waited for.
    """
    end = time.monotonic() + seconds
    while not (value := fact()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds:.0f} s for {what() if callable(what) else what}")
        time.sleep(poll_seconds)
    return value


def wait_for_file(path: pathlib.Path, process: "subprocess.Popen[Any]", seconds: float = 60) -> str:
    """Returns the text of a file that a process writes when it is ready, e.g. --ready-file.

    AssertionError if the process ends first, or after the seconds.
    """
    written = f"{process.args!r} to write {path}"
    wait_for(lambda: path.exists() or process.poll() is not None, written, seconds)
    assert path.exists(), f"{process.args} ended with status {process.poll()}"
    return path.read_text().strip()


def listens(port: int, process: "subprocess.Popen[Any]", seconds: float = 60) -> bool:
    """Waits until a process listens on a port of this machine. False if it ends first."""

    def connected() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    listening = f"{process.args!r} to listen on port {port}"
    wait_for(lambda: process.poll() is not None or connected(), listening, seconds)
    return process.poll() is None


def pass_time(seconds: float) -> None:
    """Sleeps where time itself is what a test is about: a slow trainer, a server's delay."""
    time.sleep(max(0.0, seconds))
