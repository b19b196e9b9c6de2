#!/usr/bin/env python3
"""Blocks of files behind URLs that are kept on the local disk (FEEDMILL_FILE_CACHE).

    tests/stores/file_cache.py --binary build/release/bin/feedmill [TEST …]

The tests of stores need pyarrow in PYTHONPATH and the servers of tools/setup --stores.
"""
import os
import pathlib
import resource
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import kinds_of, run_tests, same_elements  # noqa: E402
from files import pipeline  # noqa: E402
from range_server import RangeServer  # noqa: E402


def blocks(folder):
    return sorted(folder.rglob("*.block"))


def second_read_asks_for_no_data(feedmill):
    for kind in kinds_of(feedmill):
        want = feedmill.hash_of(pipeline(kind, feedmill.files, feedmill.names[kind]))
        with RangeServer(feedmill.files) as server:
            text = pipeline(kind, server.url, feedmill.names[kind])
            assert feedmill.hash_of(text) == want, kind
            assert blocks(feedmill.cache), kind
            server.log.clear()
            assert feedmill.hash_of(text) == want, kind
            # Only sizes and versions are asked for.
            assert all(asked == "bytes=0-15" for _, asked, _ in server.log), (kind, server.log)
            shutil.rmtree(feedmill.cache)


def processes_share_it(feedmill):
    with RangeServer(feedmill.files) as server:
        text = pipeline("text", server.url, feedmill.names["text"])
        want = feedmill.hash_of(text)
        server.log.clear()
        with feedmill.cluster(2) as (address, _, _):
            assert feedmill.hash_of(text, "--service", address) == want
        assert all(asked == "bytes=0-15" for _, asked, _ in server.log), server.log
    same = feedmill.cache.stat().st_mode & 0o777
    assert same & 0o700 == 0o700, oct(same)


def same_elements_with_it(feedmill):
    with RangeServer(feedmill.files) as server:
        same_elements(feedmill, server.url, workers=(2,))
    with RangeServer(feedmill.files, version="modified") as server:
        same_elements(feedmill, server.url, kinds=("text", "csv"), workers=(1,))


def replaced_files_are_never_mixed(feedmill):
    for version in ("etag", "modified"):
        with RangeServer(feedmill.files, version=version) as server:
            target = feedmill.files / "text/0.txt"
            content = target.read_bytes()
            text = f"source: {{text: {{files: ['{server.url}/text/0.txt']}}}}\n"
            for step in range(4):
                target.write_bytes(content.replace(b"line", b"LINE") if step % 2 else content)
                os.utime(target, (1e9 + 10 * step, 1e9 + 10 * step))
                done = feedmill.read(text)
                assert done.returncode == 0, done.stderr
                lines = target.read_text().splitlines()
                got = [line[1:-1] for line in done.stdout.splitlines()]
                assert got == lines, f"{version}, step {step}"
            target.write_bytes(content)


def faults_of_the_folder(feedmill):
    with RangeServer(feedmill.files) as server:
        text = pipeline("text", server.url, feedmill.names["text"])
        want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
        assert feedmill.hash_of(text) == want

        def read(*parts):
            done = feedmill.read(text, "--local", "--format", "summary")
            assert done.returncode == 0, done.stderr
            assert want[0] in done.stdout, done.stdout
            for part in parts:
                assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"

        # Damaged blocks are fetched again.
        for number, block in enumerate(blocks(feedmill.cache)):
            data = bytearray(block.read_bytes())
            data[len(data) * (number % 7) // 7] ^= 4
            block.write_bytes(data if number % 3 else data[:len(data) // 2])
        read("is damaged", str(feedmill.cache))
        server.log.clear()
        read()
        # A folder that is gone is made again.
        shutil.rmtree(feedmill.cache)
        read()
        assert blocks(feedmill.cache)
        # No room: here, no file may have more than 4 KiB.
        shutil.rmtree(feedmill.cache)
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
        try:
            process = feedmill.start("read", feedmill.folder / "pipeline.yaml", "--local", "--format", "summary",
                                     restore_signals=False)
            out, error = process.communicate(timeout=90)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, old)
        assert process.returncode == 0 and want[0] in out, error
        assert "cannot keep blocks" in error, error
        assert not list(feedmill.cache.rglob("*.new")) and not blocks(feedmill.cache)
        # A file where the folder should be.
        shutil.rmtree(feedmill.cache)
        feedmill.cache.write_text("no folder")
        read("cannot keep blocks")
    for name, value in (("FEEDMILL_FILE_CACHE", "relative"), ("FEEDMILL_FILE_CACHE_BYTES", "10"),
                        ("FEEDMILL_FILE_CACHE_BYTES", "many")):
        old = feedmill.environment.get(name)
        feedmill.environment[name] = value
        done = feedmill.run("steps")
        assert done.returncode == 2 and name in done.stderr, done
        feedmill.environment.pop(name)
        if old:
            feedmill.environment[name] = old


def objects_of(scheme, feedmill):
    """A server of a store behind a proxy, and the place of its objects."""
    import cloud_files
    import s3_files
    if scheme != "s3":
        cloud_files.Store.choose(scheme)
    return (s3_files if scheme == "s3" else cloud_files).objects(feedmill)


def data_requests(proxy):
    """The requests for bytes of objects."""
    return [seen for seen in proxy.log
            if "alt=media" in seen[0] or seen[1] not in (None, "bytes=0-15")]


def objects_are_kept(feedmill, scheme):
    place = f"{scheme}://data"
    with objects_of(scheme, feedmill) as (_, proxy):
        for kind in ("tfrecord", "parquet", "arrow", "images"):
            want = feedmill.hash_of(pipeline(kind, feedmill.files, feedmill.names[kind]))
            text = pipeline(kind, place, feedmill.names[kind])
            proxy.log.clear()
            assert feedmill.hash_of(text) == want, kind
            assert data_requests(proxy) and blocks(feedmill.cache), kind
            proxy.log.clear()
            assert feedmill.hash_of(text) == want, kind
            assert not data_requests(proxy), (kind, proxy.log)
            with feedmill.cluster(2) as (address, _, _):
                assert feedmill.hash_of(text, "--service", address) == want, kind
            assert not data_requests(proxy), (kind, proxy.log)


def replace(server, scheme, body):
    """Puts text/0.txt. Azure counts times in seconds, so it is put until its time is another."""
    def time_of():
        return server.files.get_file_info("data/text/0.txt").mtime_ns if scheme == "az" else None
    before = time_of()
    server.put("text/0.txt", body)
    while scheme == "az" and time_of() == before:
        server.put("text/0.txt", body)


def objects_are_never_mixed(feedmill, scheme):
    """Versions differ in their ETag (S3), or in time and size; size alone is no version."""
    place = f"{scheme}://data"
    with objects_of(scheme, feedmill) as (server, proxy):
        content = (feedmill.files / "text/0.txt").read_bytes()
        by_size = feedmill.folder / "list.jsonl"
        by_size.write_text(f'{{"url": "{place}/text/0.txt", "size": {len(content)}}}\n')
        for step in range(4):
            new = content.replace(b"line", b"LINE") if step % 2 else content
            if step == 3:
                new = new[:len(new) // 2]
            replace(server, scheme, new)
            lines = new.decode().splitlines()
            texts = [f"source: {{text: {{files: '{place}/text/{name}'}}}}\n" for name in ("0.txt", "0*")]
            if len(new) == len(content):
                texts.append("source: {text: {files: {manifest: list.jsonl}}}\n")
            for text in texts:
                proxy.log.clear()
                done = feedmill.read(text)
                assert done.returncode == 0, done.stderr
                assert [line[1:-1] for line in done.stdout.splitlines()] == lines, f"step {step}: {text}"
                assert "manifest" not in text or data_requests(proxy), "blocks of a version that only the size tells"


def of_store(test, scheme):
    def run(feedmill):
        test(feedmill, scheme)
    run.__name__ = f"{scheme}_{test.__name__}"
    return run


def with_cache(test):
    """The test with a folder for blocks of files."""
    def run(feedmill):
        feedmill.cache = feedmill.folder / "cache"
        feedmill.environment["FEEDMILL_FILE_CACHE"] = str(feedmill.cache)
        test(feedmill)
    return run


TESTS = [second_read_asks_for_no_data, processes_share_it, same_elements_with_it, replaced_files_are_never_mixed,
         faults_of_the_folder]
STORES = [of_store(test, scheme) for scheme in ("s3", "gs", "az") for test in (objects_are_kept, objects_are_never_mixed)]

if __name__ == "__main__":
    run_tests(__doc__, {test.__name__: with_cache(test) for test in TESTS + STORES})
