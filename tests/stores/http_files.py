#!/usr/bin/env python3
"""Files behind http:// and https:// URLs, read by feedmill from a server of
this test.

    tests/stores/http_files.py --binary build/release/bin/feedmill [TEST …]

PYTHONPATH may have pyarrow, for Parquet and Arrow files."""
import bz2
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import a_fifth, run_tests, same_after_kills, same_elements, wait_for  # noqa: E402
from files import add_columnar, pipeline  # noqa: E402
from range_server import RangeServer  # noqa: E402


def lines_of(server, name="text/0.txt", query=""):
    return f"source: {{text: {{files: ['{server.url}/{name}{query}']}}}}\n"


def begin_of(request):
    """Returns the first byte that a request asks for."""
    found = re.match(r"bytes=(\d+)-", request.headers.get("Range", ""))
    return int(found[1]) if found else 0


def hangs_behind_the_first(request):
    """A fault: no answer to ranges after the first of a file."""
    return ("hang",) if begin_of(request) > 0 else None


# ---- the same elements as local files


def same_as_files(feedmill):
    add_columnar(feedmill)
    with RangeServer(feedmill.files) as server:
        same_elements(feedmill, server.url)
        assert server.most_under_way > 3, server.most_under_way


def same_by_time_of_change(feedmill):
    """A server without ETags: versions differ in Last-Modified."""
    with RangeServer(feedmill.files, version="modified") as server:
        same_elements(feedmill, server.url, kinds=("text", "csv", "images"), workers=(2,))


def same_without_ranges(feedmill):
    add_columnar(feedmill)
    with RangeServer(feedmill.files, ranges=False) as server:
        same_elements(feedmill, server.url, workers=(2,))


FAULTS = [("status", 503), ("status", 429, {"Retry-After": "0"}), ("status", 500), ("cut", 0), ("cut", 700),
          ("cut", 100_000), ("short", 300), ("delay", 0.3)]


def same_when_a_fifth_fails(feedmill):
    add_columnar(feedmill)
    with RangeServer(feedmill.files, fault=a_fifth(FAULTS)) as server:
        same_elements(feedmill, server.url)
        assert any(status == 503 for _, _, status in server.log)


def same_after_workers_are_killed(feedmill):
    add_columnar(feedmill)
    with RangeServer(feedmill.files) as server:
        same_after_kills(feedmill, server.url, server, FAULTS,
                         (("text", 2), ("tfrecord", 3), ("parquet", 1), ("arrow", 2), ("array_record", 3)))


def same_over_tls(feedmill):
    key, certificate = feedmill.folder / "key.pem", feedmill.folder / "ca.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    with RangeServer(feedmill.files, certificate=(certificate, key)) as server:
        feedmill.refused(lines_of(server), "the server's certificate is not trusted", "SSL_CERT_FILE")
        feedmill.environment["SSL_CERT_FILE"] = str(certificate)
        same_elements(feedmill, server.url, kinds=("text", "tfrecord"), workers=(1,))
        # Nothing that was asked for over TLS comes without it.
        with RangeServer(feedmill.files) as plain:
            server.fault = lambda request: ("redirect", plain.url + request.path)
            feedmill.refused(lines_of(server), "redirect", "from https to https only")
            assert plain.count == 0


# ---- errors


def replaced_during_the_read(feedmill):
    for version, ranges in (("etag", True), ("modified", True), ("etag", False)):
        target = feedmill.files / "text/0.txt"
        content = target.read_bytes()
        os.utime(target, (1e9, 1e9))
        replaced = threading.Event()
        replacing = threading.Lock()

        def fault(request):
            # The first request of this file for a version that is known. Later ones wait for the replacement.
            known = request.headers.get("If-Match") or request.headers.get("If-Unmodified-Since")
            with replacing:
                if known and request.path == "/text/0.txt" and not replaced.is_set():
                    other = feedmill.files / "other"
                    other.write_bytes(content.replace(b"line", b"LINE"))
                    other.rename(target)
                    replaced.set()

        with RangeServer(feedmill.files, version=version, ranges=ranges, fault=fault) as server:
            names = [f"'{server.url}/{name}'" for name in ("text/1.txt", "text/0.txt")]
            done = feedmill.read(f"source: {{text: {{files: [{', '.join(names)}]}}}}\n")
        target.write_bytes(content)
        assert replaced.is_set()
        assert done.returncode == 1, f"{version}: exit {done.returncode}: {done.stderr}"
        assert f"{server.url}/text/0.txt: changed since the job began" in done.stderr, done.stderr
        assert "LINE" not in done.stdout, f"{version}: bytes of two versions"


def refusals(feedmill):
    """Statuses that asking again does not change."""
    answers = {}
    with RangeServer(feedmill.files, fault=lambda request: answers.get(request.path)) as server:
        for status, parts in ((401, "refuses it (401)"), (403, "refuses it (403)"), (404, "no such file (404)"),
                              (410, "no such file (410)"), (400, "answers 400")):
            answers["/text/0.txt"] = ("status", status)
            before = server.count
            feedmill.refused(lines_of(server), f"{server.url}/text/0.txt: ", parts)
            # Once for the compression, and once for the job.
            assert server.count <= before + 2, f"{status} was asked for {server.count - before} times"
        # A login that ends in mid-read.
        answers.clear()
        server.fault = lambda request: ("status", 403) if begin_of(request) > 4_000_000 else None
        done = feedmill.refused(lines_of(server), "refuses it (403)", "has expired")
        assert "line 0 " in done.stdout


def servers_that_are_away(feedmill):
    with RangeServer(feedmill.files, fault=lambda _: ("status", 503)) as server:
        begin = time.monotonic()
        feedmill.refused(lines_of(server), f"{server.url}/text/0.txt: ", "the server answers 503", "requests in",
                         "read again", patience="2s")
        assert time.monotonic() - begin < 20
        assert server.count > 3
        server.fault = lambda _: ("status", 429, {"Retry-After": "3600"})
        feedmill.refused(lines_of(server), "answers 429 and asks to wait 1h", patience="2s")
        # It comes back.
        server.fault = lambda request: ("status", 503) if request.number < server.back else None
        server.back = server.count + 4
        assert feedmill.read(lines_of(server)).returncode == 0
    begin = time.monotonic()
    feedmill.refused(lines_of(server), "connect", "requests in", patience="2s")  # it is closed
    assert time.monotonic() - begin < 20


def errors_through_a_service(feedmill):
    """Errors reach the reader with the URL, and in bounded time."""
    with RangeServer(feedmill.files) as server, feedmill.cluster(2, patience="1s") as (address, _, _):
        for fault, parts in ((("status", 503), ("answers 503",)), (("status", 403), ("refuses it (403)",)),
                             (("status", 404), ("no such file (404)",)), (("hang",), ("no byte came for",))):
            for from_request in (0, 8):
                first = server.count + from_request
                server.fault = lambda request, first=first, fault=fault: fault if request.number >= first else None
                begin = time.monotonic()
                late = ("changed since",) if fault[1:] == (404,) and from_request else parts
                feedmill.refused(lines_of(server), f"{server.url}/text/0.txt", *late,
                                 flags=("--service", address, "--timeout", "60s"), patience="1s")
                assert time.monotonic() - begin < 45


def hanging_servers(feedmill):
    """Bounded, and ended by a signal."""
    with RangeServer(feedmill.files, fault=hangs_behind_the_first) as server:
        begin = time.monotonic()
        done = feedmill.refused(lines_of(server), "no byte came for", patience="2s")
        assert time.monotonic() - begin < 30
        assert "line 0 " in done.stdout
        for flags in (["--local"], ["--local", "--threads", "1"]):
            server.count = 0
            process = feedmill.start("read", feedmill.write(lines_of(server)), *flags, "--format", "none")
            wait_for(lambda: server.count > 8, "requests")
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=30)
            assert process.returncode == 130, f"{process.returncode}: {error}"
            assert time.monotonic() - begin < 5, "it waited for the server"


def workers_stop_while_a_server_hangs(feedmill):
    with RangeServer(feedmill.files, fault=hangs_behind_the_first) as server, \
            feedmill.cluster(1) as (address, workers, logs):
        reader = feedmill.start("read", feedmill.write(lines_of(server)), "--service", address)
        wait_for(lambda: server.count > 8, "requests of the worker")
        begin = time.monotonic()
        workers[0].send_signal(signal.SIGTERM)
        wait_for(lambda: "a second signal stops at once" in (logs / "worker0.log").read_text(), "the drain")
        workers[0].send_signal(signal.SIGTERM)
        workers[0].wait(20)
        assert time.monotonic() - begin < 10, "it waited for the server"
        reader.kill()
        reader.communicate()


def servers_without_ranges(feedmill):
    large = feedmill.files / "large.txt"
    with open(large, "wb") as file:
        file.truncate((64 << 20) + 1)
    with RangeServer(feedmill.files, ranges=False) as server:
        feedmill.refused(lines_of(server, "large.txt"), "the server has no ranges", "67108864")


def odd_answers(feedmill):
    """Answers that are no answer to the request: never taken as data."""
    with RangeServer(feedmill.files, fault=lambda _: ("redirect", "file:///etc/passwd")) as server:
        done = feedmill.refused(lines_of(server), "redirect")
        assert "root:" not in done.stdout + done.stderr
        server.fault = lambda request: ("redirect", request.path)
        feedmill.refused(lines_of(server), "redirect")
    with RangeServer(feedmill.files) as target, \
            RangeServer(feedmill.files, fault=lambda request: ("redirect", target.url + request.path)) as server:
        want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
        assert feedmill.hash_of(pipeline("text", server.url, feedmill.names["text"])) == want
    # More bytes than asked for, or others.
    text = pipeline("text", feedmill.files, feedmill.names["text"])
    with RangeServer(feedmill.files) as server:
        for fault, part in ((("longer", 1000), "answered other bytes than the"), (("shifted", 7), "answered other bytes than the"),
                            (("chunked", 1000), "more bytes than the range that it names")):
            server.fault = lambda request, fault=fault: fault if begin_of(request) > 0 else None
            done = feedmill.refused(lines_of(server), f"{server.url}/text/0.txt: ", part, patience="1s")
            assert done.stdout.splitlines() == feedmill.read(text).stdout.splitlines()[:done.stdout.count("\n")], fault
    # An empty file has no range at all.
    (feedmill.files / "empty.txt").write_bytes(b"")
    with RangeServer(feedmill.files) as server:
        done = feedmill.read(lines_of(server, "empty.txt"))
        assert (done.returncode, done.stdout) == (0, ""), done


def weak_etags(feedmill):
    """A weak ETag that changes means another version, in each process that reads."""
    target = feedmill.files / "text/0.txt"
    content = target.read_bytes()
    want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
    for version in ("weak", "weak_modified"):
        with RangeServer(feedmill.files, version=version) as server:
            assert feedmill.hash_of(pipeline("text", server.url, feedmill.names["text"])) == want
            with feedmill.cluster(2, patience="1s") as (address, _, _):
                text = pipeline("text", server.url, feedmill.names["text"])
                assert feedmill.hash_of(text, "--service", address) == want
                for flags in (("--local",), ("--service", address)):
                    os.utime(target, ns=(10**18, 10**18))
                    replacing, replaced = threading.Lock(), threading.Event()

                    def fault(request, replacing=replacing, replaced=replaced):
                        """Replaces the file, in the same second, before its second half is read."""
                        with replacing:
                            if request.path == "/text/0.txt" and begin_of(request) > 4_000_000 and not replaced.is_set():
                                other = feedmill.files / "other"
                                other.write_bytes(content.replace(b"line", b"LINE"))
                                os.utime(other, ns=(10**18 + 1, 10**18 + 1))
                                other.rename(target)
                                replaced.set()

                    server.fault = fault
                    if version == "weak_modified" and len(flags) > 1:
                        # Versions of one second differ within a process only.
                        continue
                    done = feedmill.refused(lines_of(server), "/text/0.txt: changed since the job began", flags=flags)
                    assert replaced.is_set() and "LINE" not in done.stdout, flags
                    target.write_bytes(content)


def bodies_without_an_end(feedmill):
    """A body that ends with its connection is not taken: a broken connection looks the same."""
    with RangeServer(feedmill.files, ranges=False, fault=lambda _: ("undelimited", 3_000_000)) as server:
        done = feedmill.refused(lines_of(server), f"{server.url}/text/0.txt: the server does not say how long the file is")
        assert done.stdout == ""


def content_codings(feedmill):
    """Ranges of an encoded file count its encoded bytes, whose first ones tell gzip."""
    lines = b"".join(b"line %d\n" % k for k in range(900_000))
    (feedmill.files / "packed.txt").write_bytes(gzip.compress(lines, 1))
    (feedmill.files / "lines.txt").write_bytes(lines)
    want = feedmill.hash_of(f"source: {{text: {{files: '{feedmill.files}/lines.txt'}}}}\n")
    for fault in (("coded", "gzip"), ("coded", "gzip, aws-chunked"), ("decompressed",)):
        for version in ("etag", "modified"):
            with RangeServer(feedmill.files, version=version, fault=lambda _, fault=fault: fault) as server:
                assert feedmill.hash_of(lines_of(server, "packed.txt")) == want, fault
    for coding in ("br", "gzip, br", "deflate"):
        with RangeServer(feedmill.files, fault=lambda _, coding=coding: ("coded", coding)) as server:
            feedmill.refused(lines_of(server, "packed.txt"), f"{server.url}/packed.txt: has Content-Encoding: {coding.split()[-1]}")


def bytes_behind_an_answer(feedmill):
    """Bytes behind an answer are no part of the next one of a kept connection, and nothing waits for more."""
    want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
    for data in (b"x" * 1000, b"x\n", b"HTTP/1.1 ", b"x" * 300_000):
        with RangeServer(feedmill.files, fault=lambda _, data=data: ("behind", data)) as server:
            got = feedmill.hash_of(pipeline("text", server.url, feedmill.names["text"]))
            assert got == want, f"{data[:10]}: {got}, not {want}"
            # Requests on connections with such bytes are sent again.
            assert len(server.log) > len(set(server.log)), data[:10]


def names_that_are_no_file(feedmill):
    with RangeServer(feedmill.files) as server:
        for name in ("text/*.txt", "text/[01].txt", "text/**"):
            feedmill.refused(lines_of(server, name), "lists no files", "name each file")
        feedmill.refused(lines_of(server, "text/"), "names a folder", "name each file")
        feedmill.refused(f"source: {{text: {{files: ['{server.url}']}}}}\n", "it has no path")
        feedmill.refused("source: {text: {files: ['http:///x']}}\n", "names no host")
        feedmill.refused(lines_of(server, "a b.txt"), "write it as %20")
        feedmill.refused("source: {text: {files: ['ftp://host/x']}}\n", "no file system for ftp://", "http://")
        # A character that a pattern would take.
        shutil.copy(feedmill.files / "text/0.txt", feedmill.files / "odd*[1].txt")
        for name in ("odd[*][[]1].txt", "odd%2A%5B1%5D.txt"):
            assert feedmill.read(lines_of(server, name)).returncode == 0, name


def secrets_are_not_shown(feedmill):
    secrets = ("s3cr3t", "s1gn4ture")
    (feedmill.files / "bad.jsonl").write_text('{"a": 1}\n{"a": \n')
    with RangeServer(feedmill.files) as server, feedmill.cluster(1, patience="1s") as (address, _, logs):
        place = server.url.replace("http://", "http://me:s3cr3t@")
        shown = ""
        for name, kind, fault in (("text/0.txt", "text", None), ("text/0.txt", "text", ("status", 403)),
                                  ("text/0.txt", "text", ("status", 503)), ("none.txt", "text", None),
                                  ("bad.jsonl", "jsonl", None), ("bad.jsonl", "csv", None)):
            server.fault = lambda _, fault=fault: fault
            text = f"source: {{{kind}: {{files: ['{place}/{name}?sig=s1gn4ture']}}}}\n"
            for flags in (["--local"], ["--service", address], ["--explain"], ["--local", "--show-batch", "0"]):
                done = feedmill.read(text, *flags, patience="1s")
                # The content of a file is printed, its name is not.
                shown += done.stderr + (done.stdout if len(flags) != 2 else "")
                if done.returncode != 0:
                    assert f"{server.url}/{name}" in done.stderr, done.stderr
            shown += feedmill.run("status", "--service", address).stdout
        text = f"source: {{jsonl: {{files: ['{place}/bad.jsonl?sig=s1gn4ture'], fields: {{a: int64}}}}}}\n"
        server.fault = None
        shown += feedmill.read(text + "steps: [on_error: skip]\n", "--local").stderr
        token = feedmill.folder / "token"
        feedmill.read(text, "--local", "--limit", "1", "--save-token", str(token))
        shown += token.read_bytes().decode(errors="replace")
        shown += "".join(log.read_text() for log in logs.glob("*.log"))
    assert "403" in shown and "503" in shown, shown
    for secret in secrets:
        assert secret not in shown, [line for line in shown.splitlines() if secret in line][:3]


def logins(feedmill):
    """user:password@ of the URL, or ~/.netrc."""
    def fault(request):
        if request.headers.get("Authorization") == "Basic bWU6czNjcjN0":  # me:s3cr3t
            return None
        return ("status", 401, {"WWW-Authenticate": 'Basic realm="x"'})

    with RangeServer(feedmill.files, fault=fault) as server:
        feedmill.refused(lines_of(server), "refuses it (401)", "~/.netrc")
        assert feedmill.read(lines_of(server).replace("//", "//me:s3cr3t@")).returncode == 0
        (feedmill.folder / ".netrc").write_text("machine 127.0.0.1 login me password s3cr3t\n")
        assert feedmill.read(lines_of(server)).returncode == 0


def proxies(feedmill):
    """The proxy that the environment names is asked."""
    with RangeServer(feedmill.files) as proxy:
        # A proxy gets whole URLs; this one answers all of them.
        feedmill.environment["http_proxy"] = proxy.url
        done = feedmill.read("source: {text: {files: ['http://nowhere.invalid/text/0.txt']}}\n")
        assert done.returncode == 0, done.stderr
        assert proxy.log[0][0] == "http://nowhere.invalid/text/0.txt", proxy.log[0]


def many_small_files(feedmill):
    """Named files are asked for all at once."""
    folder = feedmill.files / "small"
    folder.mkdir()
    names = [f"small/{k}.txt" for k in range(300)]
    for name in names:
        (feedmill.files / name).write_text(f"file {name}\n")
    with feedmill.cluster(1) as (address, _, _):
        local, served = ["--local", "--threads", "2", "--format", "none"], ["--service", address, "--format", "none"]
        for kind, flags, together in (("text", ["--explain"], 32), ("text", local, 32), ("text", served, 16),
                                      ("images", local, 32), ("images", served, 16)):
            with RangeServer(feedmill.files, delay=0.1) as server:
                begin = time.monotonic()
                urls = [f"{server.url}/{name}" for name in names]
                done = feedmill.read(f"source: {{{kind}: {{files: {urls}}}}}\n", *flags)
                assert done.returncode == 0, done.stderr
                seconds = time.monotonic() - begin
                assert server.most_under_way >= together, f"{kind}, {flags}: {server.most_under_way}"
                assert seconds < 0.1 * server.count / 4, f"{kind}, {flags}: {seconds} s for {server.count} requests"


def many_small_files_of_inputs(feedmill):
    """The inputs of a source that combines pipelines announce their files, too."""
    (feedmill.files / "small").mkdir()
    names = [f"small/{k}.gz" for k in range(240)]
    for k, name in enumerate(names):
        (feedmill.files / name).write_bytes(gzip.compress(b"file %d\n" % k * (1 + k % 3)))

    def pipeline_of(place, kind, source, inputs, filtered):
        """Inputs that lists name with their sizes, so that most requests are for data."""
        parts = []
        for k in range(inputs):
            listed = feedmill.folder / f"{k}.jsonl"
            listed.write_text("".join(json.dumps({"url": f"{place}/{name}", "size": (feedmill.files / name).stat().st_size}) + "\n"
                                      for name in names[k::inputs]))
            step = f"map: {{part{k if source.startswith('zip') else ''}: {'image' if kind == 'images' else 'x'}}}"
            if filtered:
                step += ', filter: "length(part) > 1000"'
            parts.append(f"{{source: {{{kind}: {{files: {{manifest: '{listed}'}}}}}}, steps: [{step}]}}")
        return f"source: {{{source.replace('INPUTS', '[' + ', '.join(parts) + ']')}}}\noptions: {{seed: 7}}\n"

    with feedmill.cluster(1) as (address, _, _):
        local, served = ["--local", "--threads", "2"], ["--service", address]
        # Images are counted, and lines of compressed files are not.
        for kind, flags in (("images", local), ("images", served), ("text", local), ("text", served)):
            for source, inputs, filtered in (("interleave: INPUTS", 4, False), ("interleave: INPUTS", 4, True),
                                             ("interleave: {inputs: INPUTS, cycle_length: 2}", 40, False),
                                             ("concatenate: INPUTS", 2, False), ("zip: INPUTS", 3, False),
                                             ("mixture: {inputs: INPUTS, weights: [1, 2, 3]}", 3, False)):
                want = feedmill.hash_of(pipeline_of(feedmill.files, kind, source, inputs, filtered))
                together = []  # requests under way, when one begins
                with RangeServer(feedmill.files, delay=0.1) as server:
                    server.fault = lambda _, together=together, server=server: together.append(server.under_way)
                    text = pipeline_of(server.url, kind, source, inputs, filtered)
                    assert feedmill.hash_of(text, *flags) == want, f"{kind}, {source}, {flags}"
                mean = sum(together) / len(together)
                print(f"{kind}, {source}, {flags[0]}: {mean:.1f} of {len(together)} requests at the same time")
                assert mean >= 8, f"{kind}, {source}, {flags}: {together}"


def a_short_input_is_read_again(feedmill):
    """An input ends before another one has begun, and takes further turns."""
    for k in range(3):
        (feedmill.files / f"{k}.gz").write_bytes(gzip.compress(b"file %d\n" % k))
    with RangeServer(feedmill.files) as server:
        for stop in ("all_exhausted", "first_exhausted"):
            def pipeline_of(place, stop=stop):
                inputs = ", ".join(f"{{source: {{text: {{files: ['{place}/{k}.gz']}}}}}}" for k in range(3))
                return f"source: {{mixture: {{inputs: [{inputs}], weights: [9, 1, 1], stop: {stop}}}}}\noptions: {{seed: 7}}\n"
            assert feedmill.hash_of(pipeline_of(server.url)) == feedmill.hash_of(pipeline_of(feedmill.files)), stop


def compressed_objects(feedmill):
    """The first bytes of an object tell its compression, with any name."""
    text = b"".join(b"line %d\n" % k for k in range(20_000))
    want = [line.decode() for line in text.splitlines()]
    folder = feedmill.files / "packed"
    folder.mkdir()
    for name, data in (("part-0000", gzip.compress(text)), ("part-0001", gzip.compress(text)), ("plain.gz", text),
                       ("odd.txt", bz2.compress(text)), ("named.gz", gzip.compress(text))):
        (folder / name).write_bytes(data)
    with RangeServer(feedmill.files) as server:
        place = f"{server.url}/packed"

        def lines(files, *flags):
            done = feedmill.read(f"source: {{text: {{files: {files}}}}}\n", *flags)
            assert done.returncode == 0, done.stderr
            return [json.loads(line) for line in done.stdout.splitlines()]

        for name in ("part-0000", "plain.gz", "odd.txt", "named.gz", "part-0000?signature=x*"):
            assert lines(f"'{place}/{name}'") == want, name
        assert lines(f"'{place}/part-{{0000..0001}}'") == want * 2
        assert lines(f"['{place}/part-0000', '{place}/part-0001']") == want * 2
        (feedmill.folder / "list.jsonl").write_text("".join(
            json.dumps({"url": f"{place}/{name}", "size": (folder / name).stat().st_size}) + "\n"
            for name in ("part-0000", "part-0001")))
        assert lines("{manifest: list.jsonl}") == want * 2
        with feedmill.cluster(1) as (address, _, _):
            assert lines(f"'{place}/part-0000'", "--service", address) == want
            assert lines("{manifest: list.jsonl}", "--service", address) == want * 2
        # The request for size and version brings the first bytes, too; the read itself asks for the version again.
        server.log.clear()
        feedmill.read(lines_of(server, "packed/odd.txt"))
        size = (folder / "odd.txt").stat().st_size
        assert [asked for _, asked, _ in server.log] == ["bytes=0-15", "bytes=0-15", f"bytes=0-{size - 1}"], server.log
    # A server that does not answer: the names decide, and the read itself says what is wrong.
    with RangeServer(feedmill.files, fault=lambda request: ("hang",)) as server:
        feedmill.refused(lines_of(server, "packed/part-0000"), "packed/part-0000", patience="3s")


# ---- throughput


def latency_is_hidden(feedmill):
    """A read in order at 50 ms a request, beside one at 1 ms."""
    lines = b"".join(b"%d %s\n" % (k, b"x" * 90) for k in range(10_000))
    with open(feedmill.files / "long.txt", "wb") as file:
        for _ in range(int(os.environ.get("FEEDMILL_TEST_MIB", "384"))):
            file.write(lines)
    size = (feedmill.files / "long.txt").stat().st_size

    def speed(delay):
        with RangeServer(feedmill.files, delay=delay) as server:
            text = lines_of(server, "long.txt") + "steps: [batch: {size: 1000}]\n"
            begin = time.monotonic()
            done = feedmill.read(text, "--local", "--format", "none")
            seconds = time.monotonic() - begin
            assert done.returncode == 0, done.stderr
            assert delay < 0.05 or server.most_under_way >= 32, server.most_under_way
            print(f"{delay * 1e3:.0f} ms a request: {size / seconds / 1e6:.0f} MB/s, {server.count} requests, "
                  f"{server.most_under_way} at the same time")
            return size / seconds

    # A measurement: the share depends on the machine, and is not asserted.
    fast = speed(0.001)
    print(f"share: {speed(0.05) / fast:.2f}")


TESTS = (same_as_files, same_by_time_of_change, same_without_ranges, same_when_a_fifth_fails,
         same_after_workers_are_killed, same_over_tls, replaced_during_the_read, refusals, servers_that_are_away,
         errors_through_a_service, hanging_servers, workers_stop_while_a_server_hangs, servers_without_ranges, odd_answers, weak_etags, bodies_without_an_end,
         content_codings,
         bytes_behind_an_answer, names_that_are_no_file, secrets_are_not_shown, logins, proxies, many_small_files,
         many_small_files_of_inputs, a_short_input_is_read_again, compressed_objects, latency_is_hidden)


if __name__ == "__main__":
    run_tests(__doc__, TESTS)
