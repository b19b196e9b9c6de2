#!/usr/bin/env python3
"""Objects behind gs:// and az:// URLs, read by feedmill from servers of this test.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/cloud_files.py --binary build/release/bin/feedmill --store gs|az [TEST …]"""
import contextlib
import gzip
import pathlib
import signal
import sys
import tempfile
import threading
import time

import pyarrow.fs

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cloud_servers import ACCOUNT, KEY, Azure, Google  # noqa: E402
from command import (a_fifth, run_tests, same_after_kills, same_after_odd_answers, same_elements,  # noqa: E402
                     save_in_steps, wait_for)
from files import (add_columnar, add_odd_names, same_folder_marks, same_keys_like_options,  # noqa: E402
                   same_odd_names)
from gateway import FaultProxy  # noqa: E402


class Store:
    """The kind of store under test."""

    kind = None

    @classmethod
    def choose(cls, scheme):
        cls.kind = {"gs": Google, "az": Azure}[scheme]

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


def short_reads_end_well(feedmill):
    """A process ends while threads of Arrow leave its last call: one of some dozens of reads crashed."""
    with objects(feedmill) as (server, _):
        use(feedmill, server.host)
        for _ in range(40):
            done = feedmill.read(text_of(), "--local", "--limit", "1", "--format", "none")
            assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"


FAULTS = [("status", 503), ("status", 500), ("cut", 0), ("cut", 700), ("delay", 0.1)]


def same_when_a_fifth_fails(feedmill):
    with objects(feedmill, fault=a_fifth(FAULTS)):
        for workers, kinds in ((1, ("tfrecord", "parquet")), (2, ("csv", "arrow")), (3, ("webdataset", "array_record"))):
            same_elements(feedmill, Store.place(), kinds, (workers,))


def same_after_workers_are_killed(feedmill):
    cases = ((("tfrecord", 1), ("parquet", 2), ("arrow", 3), ("array_record", 2)) if Store.kind is Google
             else (("tfrecord", 3), ("parquet", 1), ("arrow", 2), ("array_record", 3)))
    with objects(feedmill) as (_, proxy):
        same_after_kills(feedmill, Store.place(), proxy, FAULTS, cases)


def patterns(feedmill):
    tree = feedmill.files / "tree"
    for name in ("a/1.txt", "a/2.txt", "a/b/3.txt", "a-b.txt", "c/d/e/6.txt", ".hidden/7.txt", "c/.8.txt", "odd [x]*/9 ü.txt"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"line of {name}\n")
    with objects(feedmill) as (_, proxy):
        for pattern in ("a/1.txt", "a", "a/", "*", "**", "a/*", "**/*.txt", "[ac]*", "a?b.txt", ".hidden/*", "c/.8.txt",
                        "odd [[]x][*]/*", "**/d/**"):
            got = feedmill.hash_of(text_of(f"tree/{pattern}"))
            want = feedmill.hash_of(f"source: {{text: {{files: '{tree}/{pattern}'}}}}\n")
            assert got == want, f"{pattern}: {got} of objects, {want} of files"
        # Google's store is listed once for a pattern, Azure's by the folders that the pattern matches.
        before = len(proxy.methods)
        assert feedmill.hash_of(text_of("tree/*/b/*.txt"))[1] == 1
        lists = [path for method, path in proxy.methods[before:]
                 if method == "GET" and ("comp=list" in path or path.partition("?")[0].endswith("/o"))]
        assert all("tree" in path for path in lists), lists
        if Store.kind is Google:
            assert len(lists) == 1, lists
        else:
            assert all("delimiter" in path for path in lists), lists
        feedmill.refused(text_of("tree/none*"), f"{Store.place()}/tree/none*: no such file, and nothing matches it")
        feedmill.refused(f"source: {{text: '{Store.kind.scheme}://nowhere/x'}}\n", "there is no such bucket")
        feedmill.refused(f"source: {{text: '{Store.kind.scheme}://nowhere/*'}}\n", "there is no such bucket")
        done = feedmill.refused(f"source: {{text: '{Store.kind.scheme}://me:s3cr3t@data/x'}}\n", "are not part of the URL")
        assert "s3cr3t" not in done.stderr


def odd_names(feedmill):
    add_odd_names(feedmill)
    with objects(feedmill) as (server, proxy):
        same_odd_names(feedmill, Store.place())
        same_keys_like_options(feedmill, Store.place(), server.put)
        for name in ("x//y.txt", "/x.txt", "x//*.txt"):
            begin = proxy.count
            feedmill.refused(text_of(name), f"{Store.place()}/{name}: the key has an empty part between slashes")
            assert proxy.count == begin


def folder_marks(feedmill):
    with objects(feedmill) as (server, _):
        same_folder_marks(feedmill, Store.place(), server.put)


def encoded_objects(feedmill):
    """Objects with a Content-Encoding. Google's store decompresses gzip, and ignores ranges then."""
    lines = b"".join(b"line %d\n" % k for k in range(900_000))
    (feedmill.files / "lines.txt").write_bytes(lines)
    want = feedmill.hash_of(f"source: {{text: {{files: '{feedmill.files}/lines.txt'}}}}\n")
    packed = gzip.compress(lines, 1)
    with objects(feedmill) as (server, proxy):
        for name, data, coding in (("gz", packed, "gzip"), ("twice", gzip.compress(packed), "gzip"), ("br", b"xyz", "br")):
            with server.files.open_output_stream(f"data/coded/{name}.txt", compression=None,
                                                 metadata={"Content-Encoding": coding}) as out:
                out.write(data)
        feedmill.refused(text_of("coded/br.txt"), f"{Store.place()}/coded/br.txt: has Content-Encoding: br")
        if Store.kind is Azure:
            assert feedmill.hash_of(text_of("coded/gz.txt")) == want
            return
        for name in ("gz.txt", "g*", "twice.txt"):
            begin = time.monotonic()
            feedmill.refused(text_of(f"coded/{name}"), "has Content-Encoding: gzip", "--clear-content-encoding")
            assert time.monotonic() - begin < 30
        # A store that obeys Arrow's "Cache-Control: no-transform" sends what it has.
        proxy.adds = lambda request: ((("Accept-Encoding", "gzip"),) if request.headers.get("cache-control") == "no-transform"
                                      else ())
        assert feedmill.hash_of(text_of("coded/gz.txt")) == want


# Answers of the stores to expired credentials.
EXPIRED = {
    Google: [(401, {"Content-Type": "application/json"}, b'{"error": {"code": 401, "message": "Invalid Credentials"}}'),
             (403, {}, b"")],
    Azure: [(403, {"x-ms-error-code": "AuthenticationFailed", "Content-Type": "application/xml"},
             b"<?xml version='1.0'?><Error><Code>AuthenticationFailed</Code><Message>Signature not valid in the specified "
             b"time frame</Message></Error>"), (403, {}, b"")],
}


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
        # Credentials that expire in mid-read: what came before is delivered.
        for status, headers, body in EXPIRED[Store.kind]:
            proxy.fault = lambda request, answer=("status", status, headers, body): answer if request.begin > 4_000_000 else None
            done = feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: refused", "whether they have expired")
            assert "line 0 " in done.stdout
        proxy.fault = None
        feedmill.refused(text_of("text/none.txt"), f"{Store.place()}/text/none.txt: no such file, and nothing matches it")
        feedmill.refused(text_of("none/*"), f"{Store.place()}/none/*: no such file, and nothing matches it")
        feedmill.environment["FEEDMILL_ARROW_PLUGIN"] = str(feedmill.folder / "none.so")
        feedmill.refused(text_of(), f"{Store.place()}/text/0.txt: ", "libfeedmill_arrow.so", "pip install pyarrow")


def odd_answers(feedmill):
    with objects(feedmill) as (_, proxy):
        same_after_odd_answers(feedmill, proxy, text_of(), f"{Store.place()}/text/0.txt")


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


def errors_through_a_service(feedmill):
    with objects(feedmill) as (_, proxy), feedmill.cluster(2, patience="1s") as (address, _, _):
        for fault, part in ((("status", 503), "no answer of use"), (("status", 403), "refused"), (("hang",), "no answer of use: waited")):
            for from_request in (0, 8):
                first = proxy.count + from_request
                proxy.fault = lambda request, first=first, fault=fault: fault if request.number >= first else None
                begin = time.monotonic()
                feedmill.refused(text_of(), f"{Store.place()}/text/0.txt", part,
                                 flags=("--service", address, "--timeout", "60s"), patience="1s")
                assert time.monotonic() - begin < 60


def a_signal_ends_waits(feedmill):
    with objects(feedmill) as (_, proxy):
        for name, hangs in (("text/0.txt", lambda request: request.begin > 4_000_000), ("text/*", lambda _: True)):
            hung = threading.Event()

            def fault(request, hangs=hangs, hung=hung):
                if not hangs(request):
                    return None
                hung.set()
                return ("hang",)

            proxy.fault = fault
            process = feedmill.start("read", feedmill.write(text_of(name)), "--local", "--format", "none")
            wait_for(hung.is_set, "a request")
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=30)
            assert process.returncode == 130, f"{process.returncode}: {error}"
            assert time.monotonic() - begin < 5, "it waited for the store"


def failing_uploads(request):
    """A fault: each fifth request, if it is an upload. Google's client then asks how much has arrived, upon which
    fake-gcs-server takes the upload for complete and stores an empty object: feedmill must find that and repeat it."""
    return ("status", 503) if request.method == "PUT" and request.number % 5 == 0 else None


def tokens(feedmill):
    """Tokens are objects: a read resumes from them in another process."""
    with objects(feedmill) as (server, proxy):
        whole = feedmill.read(text_of(), "--local").stdout.splitlines()
        proxy.fault = failing_uploads
        assert save_in_steps(feedmill, text_of(), f"{Store.place()}/kept") == whole
        proxy.fault = None
        left = [info.path for info in server.files.get_file_info(pyarrow.fs.FileSelector("data/kept", recursive=True))]
        assert left == ["data/kept/t0"], left
        missing = f"{Store.place()}/kept/none"
        feedmill.refused(text_of(), missing, "no such object", flags=("--local", "--token", missing))
        missing = f"{Store.kind.scheme}://nowhere/t0"
        feedmill.refused(text_of(), missing, "no such bucket", flags=("--local", "--save-token", missing))


def options(feedmill):
    """Options of a URL instead of the environment."""
    scheme = Store.kind.scheme
    with objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(text_of())
        use(feedmill, "127.0.0.1:1")
        query = f"?endpoint_override={proxy.host}&scheme=http"
        if Store.kind is Azure:
            # The environment's key belongs to another account.
            feedmill.environment.update(AZURE_STORAGE_CONNECTION_STRING="AccountName=other;AccountKey=d3Jvbmc=")
            feedmill.environment[f"AZURE_STORAGE_KEY_{ACCOUNT.upper()}"] = KEY
            query += f"&account={ACCOUNT}"
        for name in ("text/0.txt", "text/0*", "text/0[.]txt"):
            assert feedmill.hash_of(text_of(name + query)) == want, name
        with feedmill.cluster(1) as (address, _, _):
            assert feedmill.hash_of(text_of("text/0*" + query), "--service", address) == want
        whole = feedmill.read(text_of("text/0.txt" + query), "--local").stdout.splitlines()
        token = f"{Store.place()}/kept/t0{query}"
        first = feedmill.read(text_of("text/0.txt" + query), "--local", "--limit", "1000", "--save-token", token)
        rest = feedmill.read(text_of("text/0.txt" + query), "--local", "--token", token)
        assert first.stdout.splitlines() + rest.stdout.splitlines() == whole, first.stderr + rest.stderr
        for option, part in (("acount=x", "unknown option 'acount'"), ("anonymous=maybe", "anonymous is true or false"),
                             ("scheme=", "'scheme' has no value"), ("endpoint_override=%2F", "address of a server")):
            feedmill.refused(text_of(f"text/0.txt?{option}"), f"{scheme}://data/text/0.txt?{option}: ", part)
        if Store.kind is Azure:
            # Tokens go to no server that a URL names.
            use(feedmill, "", AZURE_STORAGE_CONNECTION_STRING="", AZURE_STORAGE_ACCOUNT=ACCOUNT,
                AZURE_STORAGE_SAS_TOKEN="sig=s3cr3t")
            before = proxy.count
            done = feedmill.refused(text_of("text/0.txt" + query), "is not sent to a server that a URL names")
            assert proxy.count == before and "s3cr3t" not in done.stderr
            feedmill.refused(text_of("text/0.txt" + query + "&anonymous=true"), "refused")


TESTS = (same_as_files, short_reads_end_well, same_when_a_fifth_fails, same_after_workers_are_killed, patterns,
         odd_names, folder_marks, encoded_objects, refusals, odd_answers, replaced_during_the_read,
         stores_that_are_away, errors_through_a_service, a_signal_ends_waits, tokens, options)


if __name__ == "__main__":
    run_tests(__doc__, TESTS, ("gs", "az"), Store.choose)
