#!/usr/bin/env python3
"""Objects behind s3:// URLs, from a server of this test whose answers other stores give.

    tests/stores/s3_answers.py --binary build/release/bin/feedmill [TEST …]

PYTHONPATH may have pyarrow, for Parquet files."""
import gzip
import hashlib
import http.server
import pathlib
import re
import signal
import subprocess
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import run_tests  # noqa: E402
from files import same_folder_marks, same_keys_like_options  # noqa: E402

PLACE = "s3://data"


def etag_of(data):
    return '"' + hashlib.md5(data).hexdigest() + '"'


def error_page(code):
    return f"<Error><Code>{code}</Code></Error>".encode()


class Listing:
    """A page of a listing as a store may write it."""

    size = True  # False: without <Size>
    truncated = "true"  # of a page with a next one; "": no such element
    token = None  # the same token in each page
    page_keys = 7

    def __init__(self, **changes):
        self.__dict__.update(changes)

    def page(self, objects, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        at = query.get("continuation-token", "0")
        at = int(at) if at.isdigit() else 0
        contents, folders = [], []
        for key in sorted(key for key in objects if key.startswith(prefix)):
            folder = key[:key.find("/", len(prefix)) + 1] if delimiter and "/" in key[len(prefix):] else None
            if folder is None:
                contents.append(key)
            elif folder not in folders:
                folders.append(folder)
        names = sorted(contents + folders)
        more = at + self.page_keys < len(names) or self.token is not None
        said = self.truncated if more else "false"
        parts = ["<ListBucketResult><EncodingType>url</EncodingType>"]
        if said:
            parts.append(f"<IsTruncated>{said}</IsTruncated>")
        if more:
            parts.append(f"<NextContinuationToken>{self.token or at + self.page_keys}</NextContinuationToken>")
        for name in names[at:at + self.page_keys]:
            if name in folders:
                parts.append(f"<CommonPrefixes><Prefix>{urllib.parse.quote(name)}</Prefix></CommonPrefixes>")
            else:
                size = f"<Size>{len(objects[name])}</Size>" if self.size else ""
                parts.append(f"<Contents><Key>{urllib.parse.quote(name)}</Key><ETag>{etag_of(objects[name])}</ETag>{size}</Contents>")
        return "".join(parts + ["</ListBucketResult>"]).encode()


class Store:
    """A bucket in memory. fault: called with (method, key, number of the request); (status, body) instead of an answer, or None."""

    def __init__(self, feedmill, **environment):
        self.objects, self.listing, self.fault = {}, Listing(), lambda *_: None
        self.decompresses = False
        self.count, self.puts = 0, 0
        handler = type("Handler", (_Handler,), {"store": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients hang up
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        feedmill.environment.update(AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.server.server_port}", AWS_ACCESS_KEY_ID="key",
                                    AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1", **environment)

    def put(self, key, data):
        self.objects[key] = data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store = None

    def log_message(self, *_):
        pass

    def send(self, status, data=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_PUT(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        key = self.key()
        if not self.faulty(key):
            self.store.objects[key] = data
            self.store.puts += 1
            self.send(200, b"", [("ETag", etag_of(data))])

    def key(self):
        return urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).removeprefix("/data/")

    def faulty(self, key):
        self.store.count += 1
        fault = self.store.fault(self.command, key, self.store.count)
        if fault:
            self.send(*fault)
        return bool(fault)

    def do_GET(self):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        key = "" if "list-type" in query else self.key()
        if self.faulty(key):
            return None
        if "list-type" in query:
            return self.send(200, self.store.listing.page(self.store.objects, query))
        data = self.store.objects.get(key)
        if data is None:
            return self.send(404, error_page("NoSuchKey"))
        headers = [("ETag", etag_of(data))]
        if self.store.decompresses:
            return self.send(200, gzip.decompress(data), headers + [("x-goog-stored-content-encoding", "gzip")])
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked:
            return self.send(200, data, headers)
        begin, end = int(asked[1]), min(int(asked[2]) + 1, len(data))
        if begin >= end:
            return self.send(416, b"", headers)
        return self.send(206, data[begin:end], headers + [("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")])


def text_of(name):
    return f"source: {{text: {{files: '{PLACE}/{name}'}}}}\noptions: {{seed: 7}}\n"


def folder_marks(feedmill):
    with Store(feedmill) as store:
        same_folder_marks(feedmill, PLACE, store.put)
        # Keys that may read objects may not list the bucket.
        store.put("alone", b"")
        store.fault = lambda _, key, __: (403, error_page("AccessDenied")) if key == "" else None
        assert feedmill.hash_of(text_of("alone"))[1] == 0


def keys_like_options(feedmill):
    with Store(feedmill) as store:
        same_keys_like_options(feedmill, PLACE, store.put)


def add_lines(store):
    for k in range(25):
        store.put(f"d/{k:03}.txt", b"".join(b"%d-%d\n" % (k, j) for j in range(5)))


def listings_that_are_not_whole(feedmill):
    with Store(feedmill) as store:
        add_lines(store)
        want = feedmill.hash_of(text_of("d/*.txt"))
        assert want[1] == 125, want
        for changes in ({"size": False}, {"truncated": ""}, {"truncated": "True"}, {"truncated": "TRUE", "size": False}):
            store.listing = Listing(**changes)
            for name in ("d", "d/*.txt", "**"):
                assert feedmill.hash_of(text_of(name)) == want, changes
        store.listing = Listing(truncated="perhaps")
        feedmill.refused(text_of("d/*.txt"), f"{PLACE}/d/", "IsTruncated is neither true nor false")


def listings_without_end(feedmill):
    with Store(feedmill) as store:
        for changes, parts in (({"token": "x"}, ("the listing does not end", "the same page again and again")),
                               ({"token": "x", "page_keys": 0}, ("the listing does not end", "empty pages again and again"))):
            add_lines(store)
            store.listing = Listing(**changes)
            for name in ("d", "d/*.txt"):
                feedmill.refused(text_of(name), f"{PLACE}/d/: ", *parts)


def passing_errors_are_repeated(feedmill):
    with Store(feedmill) as store:
        add_lines(store)
        want = feedmill.read(text_of("d/*.txt")).stdout
        for code in ("RequestTimeout", "Throttling"):
            store.fault = lambda _, __, number, code=code: (400, error_page(code)) if number % 3 == 0 else None
            done = feedmill.read(text_of("d/*.txt"), "--local", "--save-token", f"{PLACE}/token")
            assert (done.returncode, done.stdout) == (0, want), f"{code}: {done.stderr}"
            assert "token" in store.objects
        store.fault = lambda *_: (400, error_page("RequestTimeout"))
        feedmill.refused(text_of("d/*.txt"), "no answer of use", "the store answers 400 RequestTimeout", patience="1s")


def objects_that_the_store_decompresses(feedmill):
    """Google's store does so behind its S3 protocol: the listing has the size of the compressed bytes."""
    with Store(feedmill) as store:
        store.put("d/a.txt", gzip.compress(b"".join(b"line %d\n" % k for k in range(100_000))))
        want = feedmill.hash_of(text_of("d/*"))
        assert want[1] == 100_000
        store.decompresses = True
        feedmill.refused(text_of("d/*"), f"{PLACE}/d/a.txt: has Content-Encoding: gzip", "--clear-content-encoding")
        # Without a listing, the first answer has all bytes.
        assert feedmill.hash_of(text_of("d/a.txt")) == want


COUNT = 5000
NUMBERS = f"source: {{range: {{stop: {COUNT}}}}}\nsteps: [map: 'full([100], x)']\noptions: {{seed: 4}}\n"


def begin(feedmill, *flags, patience="60s"):
    """A read that has printed some lines, and waits for its reader."""
    process = feedmill.start("read", feedmill.write(NUMBERS), *flags, patience=patience)
    return process, [process.stdout.readline() for _ in range(300)]


def tokens_at_signals(feedmill):
    """A token that is saved at a signal stands behind the last line, as one in a file does."""
    whole = feedmill.read(NUMBERS).stdout.splitlines(True)
    assert len(whole) == COUNT
    with Store(feedmill) as store, feedmill.cluster(1) as (address, _, _):
        for way in (["--local"], ["--service", address, "--job", "j"]):
            for every in ([], ["--save-every", "100"]):
                for number in (signal.SIGTERM, signal.SIGINT):
                    flags = [*way[:-1], f"{number}{len(every)}"] if len(way) > 1 else way
                    process, lines = begin(feedmill, *flags, "--save-token", f"{PLACE}/token", *every)
                    process.send_signal(number)
                    lines += process.stdout.readlines()
                    assert process.wait(60) == 128 + number, f"{process.returncode}: {process.stderr.read()}"
                    assert len(lines) < COUNT, "it had ended"
                    done = feedmill.read(NUMBERS, *flags, "--token", f"{PLACE}/token", "--save-token", f"{PLACE}/token")
                    assert done.returncode == 0, done.stderr
                    assert lines + done.stdout.splitlines(True) == whole, f"{flags} {every} {number}"
        assert store.puts > 16


def tokens_that_cannot_be_saved(feedmill):
    """The error of the save is shown, however the read ended."""
    def fails(method, _, __):
        return (403, error_page("AccessDenied")) if method == "PUT" and store.puts > 0 else None

    (feedmill.folder / "bad.csv").write_text("a\n1\n2\nx\n")
    with Store(feedmill) as store:
        save = ["--local", "--save-token", f"{PLACE}/token"]
        for patience, fault, part in (("60s", fails, "these keys may not write it"),
                                      ("1s", lambda *_: (503, error_page("SlowDown")) if store.puts else None, "no answer of use")):
            for end in ("signal", "closed", "error"):
                store.fault, store.puts = fault, 0
                if end == "error":
                    done = feedmill.read("source: {csv: {files: bad.csv, fields: {a: int64}}}\n", *save, patience=patience)
                    assert "bad.csv" in done.stderr, done.stderr
                else:
                    process, _ = begin(feedmill, *save, patience=patience)
                    if end == "signal":
                        process.send_signal(signal.SIGTERM)
                        process.stdout.read()
                    process.stdout.close()
                    done = subprocess.CompletedProcess([], process.wait(60), "", process.stderr.read())
                assert done.returncode == 1, f"{end}: {done}"
                assert f"--save-token {PLACE}/token: " in done.stderr and part in done.stderr, f"{end}: {done}"


TESTS = (folder_marks, keys_like_options, listings_that_are_not_whole, listings_without_end, passing_errors_are_repeated,
         objects_that_the_store_decompresses, tokens_at_signals, tokens_that_cannot_be_saved)


if __name__ == "__main__":
    run_tests(__doc__, TESTS)
