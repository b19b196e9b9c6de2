#!/usr/bin/env python3
"""Stores that keep a connection and send nothing, behind s3://, gs:// and az://.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/hanging_stores.py --binary build/release/bin/feedmill --store s3|gs|az [TEST …]"""
import functools
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import run_tests, wait_for  # noqa: E402
from kept_in_stores import Store  # noqa: E402

PATIENCE = 2
# Seconds beyond the patience that the clients of gs:// and az:// may need, and a little.
MARGIN = {"s3": 1, "gs": 11, "az": 11}
# Seconds that a look at the first bytes of a file may take.
LOOK = 5


def is_listing(request):
    return "list-type" in request.path or "comp=list" in request.path or \
        (request.method == "GET" and request.path.partition("?")[0].endswith("/o"))


def is_metadata(request):
    """A request for the size and the version of an object."""
    if is_listing(request) or request.method not in ("GET", "HEAD"):
        return False
    return not request.is_range and "alt=media" not in request.path


# (name behind the bucket, the requests that hang, the fault, flags, part of the error behind the bucket).
CASES = {
    "read": ("text/0.txt", lambda request: request.begin > 4_000_000, ("stall", 1000), (), "text/0.txt: "),
    "listing": ("text/*", is_listing, ("stall", 100), (), "text/"),
    "metadata": ("text/0.txt", is_metadata, ("hang",), (), "text/0.txt: "),
    "write": ("text/0.txt", lambda request: request.method in ("PUT", "POST"), ("hang",), ("--save-token", "kept/t0"), "kept/t0: "),
}


class Fault:
    """Hangs the requests of a case."""

    def __init__(self, case):
        self.name, self.hangs, self.fault, self.flags, self.part = CASES[case]
        self.hung = threading.Event()

    def __call__(self, request):
        if not self.hangs(request):
            return None
        self.hung.set()
        return self.fault

    def read(self, feedmill, patience):
        text = f"source: {{text: {{files: '{Store.place()}/{self.name}'}}}}\n"
        flags = [f"{Store.place()}/{flag}" if "/" in flag else flag for flag in self.flags]
        return feedmill.start("read", feedmill.write(text), "--local", "--format", "none", *flags, patience=patience)


def ends_with_an_error(feedmill, case):
    with Store.objects(feedmill) as (_, proxy):
        proxy.fault = fault = Fault(case)
        process = fault.read(feedmill, f"{PATIENCE}s")
        wait_for(lambda: fault.hung.is_set() or process.poll() is not None, "a request")
        begin = time.monotonic()
        _, error = process.communicate(timeout=200)
        seconds = time.monotonic() - begin
        assert fault.hung.is_set() and process.returncode == 1, f"{process.returncode}: {error}"
        for part in (f"{Store.place()}/{fault.part}", "no answer of use", "read again"):
            assert part in error, f"{part!r} is not in {error!r}"
        # A read may wait for two parts of a file, one after the other.
        assert seconds < 2 * (PATIENCE + MARGIN[Store.scheme]) + LOOK, f"{seconds} s"


def ends_with_a_signal(feedmill, case):
    with Store.objects(feedmill) as (_, proxy):
        proxy.fault = fault = Fault(case)
        process = fault.read(feedmill, "60s")
        wait_for(fault.hung.is_set, "a request")
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=100)
        assert process.returncode == 130, f"{process.returncode}: {error}"
        assert time.monotonic() - begin < 5, "it waited for the store"


TESTS = {f"hanging_{case}_{name}": functools.partial(test, case=case) for case in CASES
         for name, test in (("ends_with_an_error", ends_with_an_error), ("ends_with_a_signal", ends_with_a_signal))}


if __name__ == "__main__":
    run_tests(__doc__, TESTS, ("s3", "gs", "az"), Store.choose)
