#!/usr/bin/env python3
"""Caches and quarantines in s3://, gs:// and az://, on servers of this test.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/kept_in_stores.py --binary build/release/bin/feedmill --store s3|gs|az [TEST …]"""
import json
import pathlib
import random
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import s3_files  # noqa: E402
from command import run_tests, wait_for  # noqa: E402


class Store:
    """The kind of store under test."""

    scheme = None
    objects = None  # the context of a server with files, behind a proxy

    @classmethod
    def place(cls):
        return f"{cls.scheme}://data"

    @classmethod
    def choose(cls, scheme):
        cls.scheme, cls.objects = scheme, staticmethod(s3_files.objects)
        if scheme not in ("gs", "az"):
            return
        import cloud_files
        cloud_files.Store.choose(scheme)
        cls.objects = staticmethod(cloud_files.objects)


def cached(feedmill, cache="cache", rest="shuffle, repeat: 2, batch: {size: 7}"):
    names = ", ".join(f"'{Store.place()}/{name}'" for name in feedmill.names["tfrecord"])
    return f"source: {{tfrecord: {{files: [{names}]}}}}\nsteps: [{cache}, {rest}]\noptions: {{seed: 7}}\n"


def in_store(feedmill, folder="kept", **more):
    return cached(feedmill, f"cache: '{Store.place()}/{folder}'", **more)


def requests_of(proxy, part, since=0):
    """The paths of requests for objects below a folder."""
    forms = (f"/{part}/", f"%2F{part}%2F", f"/{part}%2F")
    return [path for path, _ in proxy.log[since:] if any(form in path for form in forms)]


def caches(feedmill):
    """Later processes read the rows of the cache, and not the source."""
    with Store.objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(cached(feedmill))
        assert feedmill.hash_of(in_store(feedmill)) == want
        counts = []
        for text in (cached(feedmill), in_store(feedmill)):
            before = proxy.count
            assert feedmill.hash_of(text) == want
            counts.append((len(requests_of(proxy, "tfrecord", before)), len(requests_of(proxy, "kept", before))))
        (plain, none), (source, rows) = counts
        assert source < plain and none == 0 < rows, counts
        for workers in (1, 3):
            with feedmill.cluster(workers) as (address, _, _):
                for folder in ("kept", f"kept{workers}", f"kept{workers}"):
                    assert feedmill.hash_of(in_store(feedmill, folder), "--service", address) == want, (workers, folder)


def caches_are_listed_and_deleted(feedmill):
    """`feedmill cache` of a folder in a store."""
    with Store.objects(feedmill) as (server, proxy):
        place = f"{Store.place()}/a [b]"
        want = feedmill.hash_of(cached(feedmill))
        other = cached(feedmill, f"take: 100, cache: '{place}'")
        assert feedmill.hash_of(in_store(feedmill, "a [b]")) == want
        small = feedmill.hash_of(other)
        server.put("a [b]/note.txt", b"not of a cache")
        proxy.joins_answers = True  # Azure's client cannot read joined answers of the kind "refused"

        def listed(*flags):
            done = feedmill.run("cache", place, "--format", "json", *flags)
            assert done.returncode == 0, done.stderr
            return [json.loads(line) for line in done.stdout.splitlines()]

        both = listed()
        assert len(both) == 2 and all(each["files"] >= 2 and each["bytes"] > 1000 for each in both), both
        assert all(each["cache"].startswith(f"{place}/") and each["used"] > "2020" for each in both), both
        assert not any(each["deleted"] for each in listed("--unused-days", "1"))
        assert all(each["deleted"] for each in listed("--unused-days", "0", "--dry-run"))
        # The larger one goes, or both: the first written one goes first.
        least = min(each["bytes"] for each in both)
        gone = [each for each in listed("--max-size", str(max(each["bytes"] for each in both))) if each["deleted"]]
        assert gone and len(listed()) == 2 - len(gone), gone
        assert all(each["deleted"] for each in listed("--max-size", str(least - 1)))
        assert listed() == []
        text = feedmill.run("cache", place)
        assert text.stdout == "0 caches, 0 B\n" or "0 caches" in text.stdout, text
        proxy.joins_answers = False
        # Deleted caches are made again.
        assert feedmill.hash_of(in_store(feedmill, "a [b]")) == want
        assert feedmill.hash_of(other) == small
        before = proxy.count
        done = feedmill.run("cache", f"{Store.scheme}://nowhere/kept")
        assert done.returncode in (1, 2) and "no such bucket" in done.stderr and proxy.count > before, done
    done = feedmill.run("cache", "http://127.0.0.1:1/kept")
    assert done.returncode != 0 and "lists no files" in done.stderr, done


def caches_of_large_elements(feedmill):
    """Objects of more than a part of a multipart upload."""
    files = feedmill.files / "large"
    files.mkdir()
    (files / "0.bin").write_bytes(random.Random(3).randbytes(40_000_000))
    with Store.objects(feedmill) as (_, proxy):
        def text(cache):
            return (f"source: {{fixed_length: {{files: '{Store.place()}/large/0.bin', record_bytes: 20000000}}}}\n"
                    f"steps: [{cache}, repeat: 2]\n")
        want = feedmill.hash_of(text("take: 2"))
        kept = f"cache: '{Store.place()}/kept'"
        assert feedmill.hash_of(text(kept)) == want
        if Store.scheme == "s3":
            assert any("uploadId=" in path for path, _ in proxy.log), "no multipart upload"
        assert feedmill.hash_of(text(kept)) == want
        if Store.scheme == "gs":
            # The server loses a part, and says that the upload is complete.
            lost = []

            def lose(request):
                if not lost and request.headers.get("Content-Range", "").startswith("bytes 8388608-"):
                    lost.append(request.path)
                    return "status", 500
                return None

            proxy.fault = lose
            assert feedmill.hash_of(text(f"cache: '{Store.place()}/lost'")) == want
            before = proxy.count
            assert feedmill.hash_of(text(f"cache: '{Store.place()}/lost'")) == want
            source = [part for path, part in proxy.log[before:] if "large" in path and part]
            assert lost and source == ["bytes=0-65535"], (lost, source)  # the probe of its size
        if Store.scheme == "s3":  # a part that fails for ever ends the upload, not the read
            proxy.fault = lambda request: ("status", 403, {}, s3_files.error_page("AccessDenied")) if "partNumber=2" in request.path else None
            before = proxy.count
            done = feedmill.read(text(f"cache: '{Store.place()}/other'"), "--local", "--format", "summary")
            assert json.loads(done.stdout)["order_hash"] == want[0], done.stderr
            assert "s3:PutObject" in done.stderr and "made again" in done.stderr, done.stderr
            aborted = [seen for seen in proxy.methods[before:] if seen[0] == "DELETE"]
            assert aborted, "the upload was not aborted"


def caches_by_two_writers(feedmill):
    with Store.objects(feedmill) as _:
        want = feedmill.hash_of(cached(feedmill))
        path = feedmill.write(in_store(feedmill))
        both = [feedmill.start("read", path, "--local", "--format", "summary") for _ in range(2)]
        for process in both:
            out, error = process.communicate(timeout=90)
            assert process.returncode == 0, error
            summary = json.loads(out)
            assert (summary["order_hash"], summary["elements"]) == want, summary
        assert feedmill.hash_of(in_store(feedmill)) == want


def caches_of_a_killed_worker(feedmill):
    with Store.objects(feedmill, delay=0.01) as (_, proxy):
        want = feedmill.hash_of(cached(feedmill))
        with feedmill.cluster(2) as (address, workers, _):
            process = feedmill.start("read", feedmill.write(in_store(feedmill)), "--service", address, "--format", "summary")
            before = proxy.count
            wait_for(lambda: proxy.count > before + 6, "requests of the workers")
            workers[0].send_signal(signal.SIGKILL)
            out, error = process.communicate(timeout=90)
            assert process.returncode == 0, error
            summary = json.loads(out)
            assert (summary["order_hash"], summary["elements"]) == want, summary
        assert feedmill.hash_of(in_store(feedmill)) == want


def caches_when_a_fifth_fails(feedmill):
    chance = random.Random(9)

    def fault(_):
        if chance.random() >= 0.2:
            return None
        kinds = [("status", 503), ("status", 500), ("delay", 0.1)]
        return chance.choice(kinds if Store.scheme != "s3" else [*kinds, ("cut", 0), ("cut", 700)])

    # The delay is a little of a network's: Google's client pauses for 1 to 2 s after a failure within 1 ms.
    with Store.objects(feedmill, delay=0.003) as (_, proxy):
        want = feedmill.hash_of(cached(feedmill))
        proxy.fault = fault
        for _ in range(2):
            assert feedmill.hash_of(in_store(feedmill)) == want
        with feedmill.cluster(2) as (address, _, _):
            assert feedmill.hash_of(in_store(feedmill, "kept2"), "--service", address) == want
            assert feedmill.hash_of(in_store(feedmill, "kept2"), "--service", address) == want


def caches_that_the_keys_may_not_use(feedmill):
    """A cache whose requests are refused, at once or in the middle, changes no element."""
    with Store.objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(cached(feedmill))
        refused = ("status", 403, {}, s3_files.error_page("AccessDenied"))

        def of_cache(request):
            return any(form in request.path for form in ("kept/", "kept%2F"))

        # Every request, all writes, then all reads of rows.
        for folder, allowed in (("kept0", lambda _: False), ("kept1", lambda r: r.method in ("GET", "HEAD"))):
            proxy.fault = lambda r, allowed=allowed, folder=folder: (
                refused if folder in r.path and not allowed(r) else None)
            done = feedmill.read(in_store(feedmill, folder), "--local", "--format", "summary")
            summary = json.loads(done.stdout)
            assert (summary["order_hash"], summary["elements"]) == want, done.stderr
            assert "made again" in done.stderr and folder in done.stderr, done.stderr
        proxy.fault = None
        assert feedmill.hash_of(in_store(feedmill)) == want
        seen = [0]

        def later(request):
            seen[0] += of_cache(request) and request.is_range
            return refused if of_cache(request) and seen[0] > 3 else None

        proxy.fault = later
        done = feedmill.read(in_store(feedmill), "--local", "--format", "summary")
        summary = json.loads(done.stdout)
        assert (summary["order_hash"], summary["elements"]) == want, done.stderr
        feedmill.refused(cached(feedmill, "cache: 'http://a/kept'"), "a cache is not written to http://")


def quarantines(feedmill):
    """An object for each element that is left out, however often it is read."""
    with Store.objects(feedmill) as (server, _):
        def text(quarantine):
            name = f"{Store.place()}/csv/0.csv"
            return (f"source: {{csv: {{files: '{name}'}}}}\nsteps: [map: {{x: '1000 // (number % 900)'}}, "
                    f"on_error: {{policy: skip, quarantine: '{quarantine}'}}, shuffle]\noptions: {{seed: 7}}\n")
        local = feedmill.folder / "bad.jsonl"
        want = feedmill.hash_of(text(local))
        lines = sorted(json.loads(line)["position"] for line in local.read_text().splitlines())
        assert lines, "nothing was left out"
        place = f"{Store.place()}/bad"

        def kept():
            done = feedmill.read(f"source: {{jsonl: '{place}/**'}}\n", "--local")
            assert done.returncode == 0, done.stderr
            return sorted(json.loads(line)["position"] for line in done.stdout.splitlines())

        for _ in range(2):
            assert feedmill.hash_of(text(place)) == want
            assert kept() == lines
        with feedmill.cluster(2) as (address, _, _):
            assert feedmill.hash_of(text(place), "--service", address) == want
        assert kept() == lines
        del server


TESTS = (caches, caches_are_listed_and_deleted, caches_of_large_elements, caches_by_two_writers, caches_of_a_killed_worker, caches_when_a_fifth_fails,
         caches_that_the_keys_may_not_use, quarantines)


if __name__ == "__main__":
    run_tests(__doc__, TESTS, ("s3", "gs", "az"), Store.choose)
