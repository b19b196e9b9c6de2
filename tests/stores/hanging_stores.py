#!/usr/bin/env python3
"""Stores whose answers hang, are cut or refused, and stores that refuse connections, behind s3://, gs:// and az://.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/hanging_stores.py --binary build/release/bin/feedmill --store s3|gs|az [TEST …]"""
import functools
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import run_tests, wait_for  # noqa: E402
from kept_in_stores import Store  # noqa: E402

PATIENCE = 2
# Seconds beyond the patience, for a busy machine.
MARGIN = 1
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


# (name behind the bucket, the requests that fail, flags, part of the error behind the bucket).
CASES = {
    "read": ("text/0.txt", lambda request: request.begin > 4_000_000, (), "text/0.txt: "),
    "listing": ("text/*", is_listing, (), "text/"),
    "metadata": ("text/0.txt", is_metadata, (), "text/0.txt: "),
    "write": ("text/0.txt", lambda request: request.method in ("PUT", "POST"), ("--save-token", "kept/t0"), "kept/t0: "),
}
# The answers of each kind of fault.
FAULTS = {
    "hanging": {"read": ("stall", 1000), "listing": ("stall", 100), "metadata": ("hang",), "write": ("hang",)},
    "cut": {"read": ("cut", 0), "listing": ("drop",), "metadata": ("drop",), "write": ("drop",)},
    "refused": dict.fromkeys(CASES, ("status", 503)),
}


class Fault:
    """Answers the requests of a case by a fault."""

    def __init__(self, case, fault):
        self.name, self.fails, self.flags, self.part = CASES[case]
        self.fault = fault
        self.failed = 0

    def __call__(self, request):
        if not self.fails(request):
            return None
        self.failed += 1
        return self.fault

    def read(self, feedmill, patience):
        text = f"source: {{text: {{files: '{Store.place()}/{self.name}'}}}}\n"
        flags = [f"{Store.place()}/{flag}" if "/" in flag else flag for flag in self.flags]
        return feedmill.start("read", feedmill.write(text), "--local", "--format", "none", *flags, patience=patience)

    def wait(self, process, failed):
        wait_for(lambda: self.failed >= failed or process.poll() is not None, "requests")
        return time.monotonic()


def check_error(process, begin, part):
    _, error = process.communicate(timeout=200)
    seconds = time.monotonic() - begin
    assert process.returncode == 1, f"{process.returncode}: {error}"
    for each in (f"{Store.place()}/{part}", "no answer of use", "read again"):
        assert each in error, f"{each!r} is not in {error!r}"
    # A read may wait for two parts of a file, one after the other.
    assert seconds < 2 * (PATIENCE + MARGIN) + LOOK, f"{seconds} s"


def check_signal(process):
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130, f"{process.returncode}: {error}"
    assert time.monotonic() - begin < 5, "it waited for the store"


def ends_with_an_error(feedmill, kind, cases):
    with Store.objects(feedmill) as (_, proxy):
        for case in cases:
            proxy.fault = fault = Fault(case, FAULTS[kind][case])
            process = fault.read(feedmill, f"{PATIENCE}s")
            begin = fault.wait(process, 1)
            check_error(process, begin, fault.part)
            assert fault.failed


def ends_with_a_signal(feedmill, kind, cases):
    with Store.objects(feedmill) as (_, proxy):
        for case in cases:
            proxy.fault = fault = Fault(case, FAULTS[kind][case])
            process = fault.read(feedmill, "60s")
            # The second one is a repeat.
            fault.wait(process, 1 if kind == "hanging" else 2)
            check_signal(process)


def refused_connections(feedmill):
    """A server that has ended: nothing listens on its port."""
    with Store.objects(feedmill):
        pass
    for case in CASES:
        fault = Fault(case, None)
        begin = time.monotonic()
        check_error(fault.read(feedmill, f"{PATIENCE}s"), begin, fault.name.removesuffix("*"))


ENDINGS = (ends_with_an_error, ends_with_a_signal)
TESTS = {f"hanging_{case}_{ending.__name__}": functools.partial(ending, kind="hanging", cases=(case,))
         for case in CASES for ending in ENDINGS}
TESTS.update({f"{kind}_answers_{ending.__name__.replace('ends', 'end')}": functools.partial(ending, kind=kind, cases=tuple(CASES))
              for kind in ("cut", "refused") for ending in ENDINGS})
TESTS["refused_connections"] = refused_connections


if __name__ == "__main__":
    run_tests(__doc__, TESTS, ("s3", "gs", "az"), Store.choose)
