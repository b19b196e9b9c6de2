#!/usr/bin/env python3
"""Objects behind gs:// and az:// URLs, read by feedmill from servers of this test.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/cloud_files.py --binary build/release/bin/feedmill --store gs|az [TEST …]"""
import argparse
import contextlib
import json
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cloud_servers import KEY, Azure, Google  # noqa: E402
from command import Feedmill, same_elements, save_in_steps, wait_for  # noqa: E402
from files import pipeline  # noqa: E402
from gateway import FaultProxy  # noqa: E402
from s3_files import add_columnar  # noqa: E402


class Store:
    """The kind of store under test."""

    kind = None

    @classmethod
    def place(cls):
        return f"{cls.kind.scheme}://data"


def use(feedmill, host, **more):
    feedmill.environment = {name: value for name, value in feedmill.environment.items()
                            if not name.startswith(("AZURE_", "GS_", "STORAGE_", "GOOGLE_"))}
    feedmill.environment.update(Store.kind.environment(host), **more)


@contextlib.contextmanager
def objects(feedmill, **faults):
    """A server with all files behind a proxy, and the environment for it."""
    add_columnar(feedmill)
    with tempfile.TemporaryDirectory() as folder, Store.kind(folder) as server:
        server.put_folder(feedmill.files)
        with FaultProxy(server, **faults) as proxy:
            use(feedmill, proxy.host)
            yield server, proxy


def text_of(name="text/0.txt"):
    return f"source: {{text: {{files: '{Store.place()}/{name}'}}}}\n"


def same_as_files(feedmill):
    with objects(feedmill) as (server, _):
        use(feedmill, server.host)
        same_elements(feedmill, Store.place())


def same_when_a_fifth_fails(feedmill):
    chance = random.Random(9)

    def fault(_):
        return chance.choice([("status", 503), ("status", 500), ("delay", 0.1)]) if chance.random() < 0.2 else None

    with objects(feedmill, fault=fault):
        same_elements(feedmill, Store.place(), ("tfrecord", "csv", "webdataset", "parquet"), workers=(2,))


def same_after_a_worker_is_killed(feedmill):
    want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
    with objects(feedmill, delay=0.05) as (_, proxy), feedmill.cluster(2) as (address, workers, _):
        text = pipeline("text", Store.place(), feedmill.names["text"])
        process = feedmill.start("read", feedmill.write(text), "--service", address, "--format", "summary")
        wait_for(lambda: proxy.count > 12, "requests of the workers")
        workers[0].send_signal(signal.SIGKILL)
        out, error = process.communicate(timeout=90)
        assert process.returncode == 0, error
        summary = json.loads(out)
        assert (summary["order_hash"], summary["elements"]) == want, summary


def patterns(feedmill):
    tree = feedmill.files / "tree"
    for name in ("a/1.txt", "a/2.txt", "a/b/3.txt", "a-b.txt", "c/d/e/6.txt", ".hidden/7.txt", "c/.8.txt", "odd [x]*/9 ü.txt"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"line of {name}\n")
    with objects(feedmill):
        for pattern in ("a/1.txt", "a", "a/", "*", "**", "a/*", "**/*.txt", "[ac]*", "a?b.txt", ".hidden/*", "c/.8.txt",
                        "odd [[]x][*]/*", "**/d/**"):
            got = feedmill.hash_of(text_of(f"tree/{pattern}"))
            want = feedmill.hash_of(f"source: {{text: {{files: '{tree}/{pattern}'}}}}\n")
            assert got == want, f"{pattern}: {got} of objects, {want} of files"
        feedmill.refused(text_of("tree/none*"), f"{Store.place()}/tree/none*: no such file, and nothing matches it")
        feedmill.refused(f"source: {{text: '{Store.kind.scheme}://nowhere/x'}}\n", "there is no such bucket")
        feedmill.refused(f"source: {{text: '{Store.kind.scheme}://nowhere/*'}}\n", "there is no such bucket")
        done = feedmill.refused(f"source: {{text: '{Store.kind.scheme}://me:s3cr3t@data/x'}}\n", "are not part of the URL")
        assert "s3cr3t" not in done.stderr


def refusals(feedmill):
    with objects(feedmill) as (_, proxy):
        if Store.kind is Azure:
            use(feedmill, proxy.host, AZURE_NO_SIGN_REQUEST="true")
            feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: refused", "check the credentials")
            feedmill.environment.update(Azure.environment(proxy.host, "d3Jvbmc="), AZURE_NO_SIGN_REQUEST="")
            done = feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: refused", "check the credentials")
            assert "d3Jvbmc=" not in done.stderr and KEY not in done.stderr
            feedmill.environment.update(Azure.environment(proxy.host, "%%"))
            feedmill.refused(text_of(), Store.place())
            feedmill.environment.update(AZURE_STORAGE_CONNECTION_STRING="")
            feedmill.refused(text_of(), "no account: set AZURE_STORAGE_CONNECTION_STRING")
        use(feedmill, proxy.host)
        for status in (401, 403):
            proxy.fault = lambda _, status=status: ("status", status)
            feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: refused", "check the credentials")
        feedmill.environment["FEEDMILL_ARROW_PLUGIN"] = str(feedmill.folder / "none.so")
        feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: ", "libfeedmill_arrow.so", "pip install pyarrow")


def replaced_during_the_read(feedmill):
    content = (feedmill.files / "text/0.txt").read_bytes()
    changes = {"other": lambda server, name: server.put(name, content.replace(b"line", b"LINE")),
               "shorter": lambda server, name: server.put(name, b"line\n"),
               "deleted": lambda server, name: server.delete(name)}
    # Each read has an object of its own: a request that the read before left behind must not change its object.
    with objects(feedmill) as (server, proxy):
        for kind, change in changes.items():
            name = f"replaced/{kind}/0.txt"
            server.put(name, content)
            replaced = threading.Event()

            def fault(request, name=name, change=change, replaced=replaced):
                if any(form in request.path for form in (name, name.replace("/", "%2F"))) \
                        and request.begin > 4_000_000 and not replaced.is_set():
                    replaced.set()
                    change(server, name)

            proxy.fault = fault
            done = feedmill.refused(text_of(name), f"{Store.place()}/{name}: changed since the job began")
            assert replaced.is_set()
            assert "LINE" not in done.stdout, "bytes of two versions"


def stores_that_are_away(feedmill):
    with objects(feedmill) as (_, proxy):
        for fault in (("status", 503), ("cut", 0)):
            proxy.fault = lambda _, fault=fault: fault
            begin = time.monotonic()
            feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: no answer of use", patience="2s")
            assert time.monotonic() - begin < 75, fault


def a_signal_ends_waits(feedmill):
    with objects(feedmill) as (_, proxy):
        proxy.fault = lambda request: ("hang",) if request.begin > 4_000_000 else None
        process = feedmill.start("read", feedmill.write(text_of()), "--local", "--format", "none")
        wait_for(lambda: any(begin and not begin.startswith("bytes=0-") for _, begin in proxy.log), "a request")
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert process.returncode == 130, f"{process.returncode}: {error}"
        assert time.monotonic() - begin < 5, "it waited for the store"


def tokens(feedmill):
    """Tokens are objects: a read resumes from them in another process."""
    with objects(feedmill):
        if Store.kind is Azure:
            return feedmill.refused(text_of(), "only read", "gs://", flags=("--local", "--save-token", f"{Store.place()}/t0"))
        whole = feedmill.read(text_of(), "--local").stdout.splitlines()
        assert save_in_steps(feedmill, text_of(), f"{Store.place()}/kept") == whole
        missing = f"{Store.place()}/kept/none"
        return feedmill.refused(text_of(), missing, "no such object", flags=("--local", "--token", missing))


TESTS = (same_as_files, same_when_a_fifth_fails, same_after_a_worker_is_killed, patterns, refusals, replaced_during_the_read,
         stores_that_are_away, a_signal_ends_waits, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--store", choices=("gs", "az"), required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    Store.kind = {"gs": Google, "az": Azure}[arguments.store]
    binary = str(pathlib.Path(arguments.binary).resolve())
    by_name = {test.__name__: test for test in TESTS}
    for name in arguments.tests or by_name:
        with tempfile.TemporaryDirectory() as folder:
            by_name[name](Feedmill(binary, folder))
        print(f"{name}: ok")


if __name__ == "__main__":
    main()
