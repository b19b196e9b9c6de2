#!/usr/bin/env python3
"""Objects behind s3:// URLs, read by feedmill from versitygw.

    tests/stores/s3_files.py --binary build/release/bin/feedmill [TEST …]

PYTHONPATH may have pyarrow, for Parquet and Arrow files."""
import gzip
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import (a_fifth, kinds_of, run_tests, same_after_kills, same_after_odd_answers,  # noqa: E402
                     same_elements, save_in_steps, wait_for)
from files import PIPELINES, add_columnar, add_odd_names, pipeline, same_odd_names  # noqa: E402
from gateway import ACCESS_KEY, SECRET_KEY, FaultProxy, Gateway  # noqa: E402

PLACE = "s3://data"


def error_page(code):
    return f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>m {SECRET_KEY}</Message></Error>".encode()


def use(feedmill, host, **more):
    """Sets the environment that reads from this server."""
    feedmill.environment = {name: value for name, value in feedmill.environment.items() if not name.startswith("AWS_")}
    feedmill.environment.update(AWS_ENDPOINT_URL=f"http://{host}", AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID=ACCESS_KEY,
                                AWS_SECRET_ACCESS_KEY=SECRET_KEY, AWS_EC2_METADATA_DISABLED="true")
    for name, value in more.items():
        if value is None:
            feedmill.environment.pop(name, None)
        else:
            feedmill.environment[name] = value


@contextlib.contextmanager
def objects(feedmill, **faults):
    """A gateway with all files behind a proxy, and the environment for it."""
    add_columnar(feedmill)
    with tempfile.TemporaryDirectory() as folder, Gateway(folder) as gateway:
        gateway.put_folder(feedmill.files)
        with FaultProxy(gateway, **faults) as proxy:
            use(feedmill, proxy.host)
            yield gateway, proxy


def text_of(name="text/0.txt", kind="text"):
    return f"source: {{{kind}: {{files: '{PLACE}/{name}'}}}}\n"


# ---- the same elements as local files


def same_as_files(feedmill):
    with objects(feedmill) as (gateway, proxy):
        use(feedmill, gateway.host)  # without the proxy
        same_elements(feedmill, PLACE)


FAULTS = [("status", 503, {}, error_page("SlowDown")), ("status", 500), ("cut", 0), ("cut", 700), ("cut", 100_000),
          ("delay", 0.3)]


def same_when_a_fifth_fails(feedmill):
    with objects(feedmill, fault=a_fifth(FAULTS)):
        same_elements(feedmill, PLACE)


def same_after_workers_are_killed(feedmill):
    with objects(feedmill) as (_, proxy):
        same_after_kills(feedmill, PLACE, proxy, FAULTS, (("tfrecord", 2), ("parquet", 3), ("arrow", 1), ("array_record", 2)))


def patterns(feedmill):
    """Patterns and folders name the objects that they name as files."""
    tree = feedmill.files / "tree"
    for name in ("a/1.txt", "a/2.txt", "a/b/3.txt", "a/b/4.log", "a.txt/5.txt", "a-b.txt", "c/d/e/6.txt", ".hidden/7.txt",
                 "c/.8.txt", "odd [x]*/9 ü&<.txt", "c/d.txt"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"line of {name}\n")
    for k in range(1200):  # more than a page of a listing
        path = tree / f"many/{k:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{k}\n")
    for k in range(2):
        path = feedmill.files / f"packed/{k}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(b"a\nb\n"))
    with objects(feedmill) as (_, proxy):
        for pattern in ("a/1.txt", "a", "a/", "*", "**", "*.txt", "a/*", "a/**", "*/*.txt", "**/*.txt", "**/b/*", "c/**/*.txt",
                        "*/b", "[ac]*", "a?b.txt", "many/*[05].txt", "many", "c/.8.txt", ".hidden/*", "odd [[]x][*]/*",
                        "**/d/**", "?/d*"):
            got = feedmill.hash_of(text_of(f"tree/{pattern}"))
            want = feedmill.hash_of(f"source: {{text: {{files: '{tree}/{pattern}'}}}}\n")
            assert got == want, f"{pattern}: {got} of objects, {want} of files"
        # One object that a pattern matches tells the compression.
        assert feedmill.hash_of(text_of("packed/*"))[1] == 4
        # Only what the pattern needs is listed.
        before = proxy.count
        feedmill.hash_of(text_of("tree/a/*.txt"))
        pages = [path for path, _ in proxy.log[before:] if "list-type" in path]
        assert pages and all("prefix=tree%2Fa%2F" in page for page in pages), pages
        feedmill.refused(text_of("tree/none*"), "s3://data/tree/none*: no such file, and nothing matches it")
        feedmill.refused(text_of("none/"), "s3://data/none/: no such file, and nothing matches it")


def odd_names(feedmill):
    add_odd_names(feedmill)
    with objects(feedmill):
        same_odd_names(feedmill, PLACE)


def options(feedmill):
    """Options of a URL instead of the environment."""
    with objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(text_of())
        use(feedmill, "127.0.0.1:1", AWS_REGION=None)
        query = f"?endpoint_override={proxy.host}&scheme=http&region=us-east-1"
        for name in ("text/0.txt", "text/0*", "text/0[.]txt"):
            assert feedmill.hash_of(text_of(name + query)) == want, name
        gzip = feedmill.hash_of(text_of("gzip/*.gz" + query))
        assert gzip == feedmill.hash_of(f"source: {{text: {{files: '{feedmill.files}/gzip/*.gz'}}}}\n")
        feedmill.hash_of(text_of("images/" + query, "images"))
        proxy.seen.clear()
        feedmill.hash_of(text_of("text/0.txt" + query + "&requester_pays=true"))
        assert all(each["x-amz-request-payer"] == "requester" for each in proxy.seen)
        assert "x-amz-request-payer" in proxy.seen[0]["Authorization"]
        feedmill.environment["AWS_SESSION_TOKEN"] = "t0ken"
        proxy.seen.clear()
        feedmill.refused(text_of("text/0.txt" + query), "s3://data/text/0.txt")
        assert proxy.seen[0]["x-amz-security-token"] == "t0ken"
        for option, part in (("regoin=x", "unknown option 'regoin'"), ("anonymous=maybe", "anonymous is true or false"),
                             ("region=", "'region' has no value"), ("endpoint_override=%2F", "address of a server")):
            feedmill.refused(text_of(f"text/0.txt?{option}"), f"s3://data/text/0.txt?{option}: ", part)
        for name, part in (("s3://", "no name of a bucket"), ("s3://a b/c", "no name of a bucket"),
                           (f"s3://me:{SECRET_KEY}@data/x", "keys are not part of an s3:// URL")):
            done = feedmill.refused(f"source: {{text: {{files: '{name}'}}}}\n", part)
            assert SECRET_KEY not in done.stderr
        for name, value in (("AWS_ENDPOINT_URL", "nowhere/at/all"), ("AWS_NO_SIGN_REQUEST", "perhaps"),
                            ("AWS_REQUEST_PAYER", "me"), ("AWS_REGION", "?")):
            use(feedmill, proxy.host, **{name: value})
            feedmill.refused(text_of(), name)


def regions(feedmill):
    """A bucket in another region is an error that names the region."""
    with objects(feedmill) as (_, proxy):
        region = {"x-amz-bucket-region": "eu-north-7"}
        # A bucket elsewhere than where the request went.
        proxy.fault = lambda request: ("status", 301, region, error_page("PermanentRedirect"))
        feedmill.refused(text_of(), "the bucket is in region eu-north-7", "AWS_REGION")
        proxy.fault = lambda request: ("status", 400, region, error_page("AuthorizationHeaderMalformed"))
        feedmill.refused(text_of(), "the bucket is in region eu-north-7")


def buckets_of_aws(feedmill):
    """Without an endpoint: AWS is asked where the bucket is, and its host names
    the bucket. A proxy plays AWS."""
    key, certificate = feedmill.folder / "key.pem", feedmill.folder / "ca.pem"
    domain = "s3.eu-north-7.amazonaws.com"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x", "-addext",
                    f"subjectAltName=DNS:*.{domain},DNS:*.s3.us-east-1.amazonaws.com", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    want = feedmill.hash_of(pipeline("text", feedmill.files, feedmill.names["text"]))
    with tempfile.TemporaryDirectory() as folder, Gateway(folder) as gateway:
        gateway.put_folder(feedmill.files / "text")
        gateway.close()
        gateway.flags = ("--region", "eu-north-7", "--virtual-domain", domain)
        assert gateway.start()
        hosts = []

        def fault(request):
            hosts.append(request.headers["Host"])
            if "us-east-1" in request.headers["Host"]:
                assert "Authorization" not in request.headers
                return "status", 301, {"x-amz-bucket-region": "eu-north-7"}, error_page("PermanentRedirect")
            return None

        with FaultProxy(gateway, fault=fault, certificate=(certificate, key)) as proxy:
            use(feedmill, "", AWS_ENDPOINT_URL=None, AWS_REGION=None, https_proxy=f"http://{proxy.host}", no_proxy="",
                AWS_CA_BUNDLE=str(certificate))
            names = [pathlib.Path(name).name for name in feedmill.names["text"]]
            assert feedmill.hash_of(pipeline("text", PLACE, names)) == want
            assert hosts[0] == "data.s3.us-east-1.amazonaws.com", hosts[:5]
            assert set(hosts[1:]) == {f"data.{domain}"}, set(hosts)
            assert feedmill.hash_of(text_of("*.txt")) == want
            hosts.clear()
            feedmill.environment["AWS_REGION"] = "eu-north-7"
            assert feedmill.hash_of(pipeline("text", PLACE, names)) == want
            assert set(hosts) == {f"data.{domain}"}, set(hosts)


# ---- lists


def lists(feedmill):
    names = feedmill.names["tfrecord"] + feedmill.names["tfrecord"][:1]
    with objects(feedmill) as (gateway, proxy):
        want = feedmill.hash_of(pipeline("tfrecord", feedmill.files, names))

        def write(lines, place=feedmill.folder / "list.jsonl"):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            if isinstance(place, pathlib.Path):
                place.write_text(text)
            else:
                gateway.put(place, text.encode())

        def sized(name):
            return {"url": f"{PLACE}/{name}", "size": (feedmill.files / name).stat().st_size}

        def of(place, kind="tfrecord", more="steps: [shuffle]\n"):
            return f"source: {{{kind}: {{files: {{manifest: '{place}'}}}}}}\n{more}options: {{seed: 7}}\n"

        write([sized(name) for name in names])
        # A path is below the pipeline's folder; URLs with sizes are not asked for before they are read.
        proxy.log.clear()
        assert feedmill.hash_of(of("list.jsonl")) == want
        # One look tells the compression.
        assert [each[1] for each in proxy.log].count("bytes=0-15") == 1, proxy.log
        assert not [each for each in proxy.log if "list-type" in each[0]], proxy.log
        with feedmill.cluster(2) as (address, _, _):
            assert feedmill.hash_of(of("list.jsonl"), "--service", address) == want
        # Lists of local files, lists that are objects, and names relative to them.
        write([{"url": f"files/{name}"} for name in names])
        assert feedmill.hash_of(of("list.jsonl")) == want
        write([{"url": name} for name in names], "list.jsonl")
        assert feedmill.hash_of(of(f"{PLACE}/list.jsonl")) == want
        for kind in kinds_of(feedmill):
            write([sized(name) for name in feedmill.names[kind]])
            steps = PIPELINES[kind].partition("\n")[2] + "\n"
            source = PIPELINES[kind].partition(":")[0].removeprefix("{")
            text = of("list.jsonl", source, steps)
            assert feedmill.hash_of(text) == feedmill.hash_of(pipeline(kind, feedmill.files, feedmill.names[kind])), kind
        # Lists that are wrong.
        for lines, parts in (([], ("the list names no files",)), ([{"url": ""}], ("line 1", "'url' is empty")),
                             ([sized(names[0]), {"size": 1}], ("line 2", "'url' is missing")),
                             ([{"url": "x", "sise": 1}], ("line 1", "'sise' is unknown")), ([[7]], ("line 1", "no JSON object")),
                             ([{"url": "x", "size": -1}], ("line 1", "'size'")),
                             ([{"url": f"{PLACE}/none", "size": 5}], (f"{PLACE}/none", "no such object")),
                             ([dict(sized(names[0]), size=5)], (f"{PLACE}/{names[0]}", "not 5")),
                             ([dict(sized(names[0]), etag="x")], (f"{PLACE}/{names[0]}", "changed since"))):
            write(lines)
            feedmill.refused(of("list.jsonl"), *parts)
        feedmill.refused(of("none.jsonl"), "none.jsonl")
        feedmill.refused("source: {text: {files: {list: x}}}\n", "{manifest: ")


def a_look_at_parquet(feedmill):
    """A look at the first rows of a large Parquet file takes two megabytes and four round trips, also with large dictionaries."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        return  # the plugin is not built
    rows = 1_000_000
    columns = {"id": range(rows), "text": [f"the text of row {k}, and of {k * 7919 % rows}" for k in range(rows)],
               "label": [k * k % 1000 for k in range(rows)], "score": [k % 997 / 997 for k in range(rows)],
               "flag": [k % 7 == 0 for k in range(rows)]}
    columns.update({f"x{n}": [(k * 7919 + n) % rows / rows for k in range(rows)] for n in range(8)})
    beginnings = 23  # of 13 pages, and of the dictionaries of 1 MiB of id, text and x0 to x7
    table = pa.table(columns)
    (feedmill.files / "large").mkdir()
    pa.parquet.write_table(table, feedmill.files / "large/rows.parquet", row_group_size=rows // 2)
    size = (feedmill.files / "large/rows.parquet").stat().st_size
    assert size > 15_000_000, size
    with objects(feedmill) as (_, proxy):
        pages = threading.Barrier(beginnings)

        def fault(request):
            if request.begin not in (0, size - 65536):
                pages.wait(30)  # they come together

        proxy.fault = fault
        name = f"{PLACE}/large/rows.parquet"
        for command, want, requests in (("head", "".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in table.slice(0, 5).to_pylist()), 3 + beginnings),
                                        ("count", f"{rows}\n", 3), ("schema", None, 2)):
            proxy.log.clear()
            done = feedmill.run(command, name)
            assert done.returncode == 0 and want in (None, done.stdout), f"{done.stdout} {done.stderr}"
            asked = [re.fullmatch(r"bytes=(\d+)-(\d+)", each[1]) for each in proxy.log]
            fetched = sum(int(each[2]) - int(each[1]) + 1 for each in asked)
            # The version, the footer, the version again; then the first pages of all columns at once.
            assert len(asked) == requests and fetched < 2_000_000, (command, fetched, proxy.log)
            print(f"{command}: {fetched:,} bytes of {size:,} in {requests} requests")


# ---- errors


def refusals(feedmill):
    with objects(feedmill) as (gateway, proxy):
        use(feedmill, proxy.host, AWS_SECRET_ACCESS_KEY="wrong")
        feedmill.refused(text_of(), f"{PLACE}/text/0.txt: refused (403 SignatureDoesNotMatch)", "AWS_SECRET_ACCESS_KEY")
        feedmill.refused(text_of("text/*"), f"{PLACE}/text/: refused (403 SignatureDoesNotMatch)")
        use(feedmill, proxy.host, AWS_ACCESS_KEY_ID="AKIAOTHER")
        feedmill.refused(text_of(), "the store does not know the access key", "AWS_ACCESS_KEY_ID")
        use(feedmill, proxy.host, AWS_NO_SIGN_REQUEST="yes")
        feedmill.refused(text_of(), "refused (403 AccessDenied)", "may not read it")
        assert "Authorization" not in proxy.seen[-1]
        use(feedmill, proxy.host)
        feedmill.refused(text_of("none.txt"), f"{PLACE}/none.txt: no such file, and nothing matches it")
        feedmill.refused("source: {text: {files: 's3://no-bucket/x'}}\n", "s3://no-bucket/x", "no such bucket")
        feedmill.refused("source: {text: {files: 's3://no-bucket/*'}}\n", "s3://no-bucket/", "no such bucket")
        for status, code, parts in ((400, "ExpiredToken", ("the keys have expired",)),
                                    (403, "RequestTimeTooSkewed", ("the clocks",)),
                                    (403, "InvalidObjectState", ("is archived",)), (403, "AccessDenied", ("may not read it",)),
                                    (403, "InvalidAccessKeyId", ("does not know the access key",)),
                                    (418, "Odd<b>Code", ("answers 418",)), (400, "", ("answers 400",))):
            # In mid-read: what came before is delivered.
            proxy.fault = lambda request, status=status, code=code: (
                ("status", status, {}, error_page(code)) if request.begin > 4_000_000 else None)
            done = feedmill.refused(text_of(), f"{PLACE}/text/0.txt: ", *parts)
            assert "line 0 " in done.stdout, code
            assert SECRET_KEY not in done.stderr
        # An answer that is no listing.
        for page in (b"", b"<html>hello", b"<a><b/></a>", b"<!DOCTYPE x [<!ENTITY e 'f'>]><ListBucketResult/>",
                     b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"):
            proxy.fault = lambda request, page=page: (("status", 200, {}, page) if "list-type" in request.path
                                                      else ("status", 404, {}, error_page("NoSuchKey")))
            feedmill.refused(text_of("text/*"), f"{PLACE}/text/: ", "listing")


def odd_answers(feedmill):
    with objects(feedmill) as (_, proxy):
        same_after_odd_answers(feedmill, proxy, text_of(), f"{PLACE}/text/0.txt")


def replaced_during_the_read(feedmill):
    content = (feedmill.files / "text/0.txt").read_bytes()
    # Each read has an object of its own: a request that the read before left behind must not replace its object.
    with objects(feedmill) as (gateway, proxy):
        for kind in ("named", "listed", "manifest"):
            name = f"replaced/{kind}/0.txt"
            gateway.put(name, content)
            size_only = feedmill.folder / "list.jsonl"
            size_only.write_text(json.dumps({"url": f"{PLACE}/{name}", "size": len(content)}) + "\n")
            text = {"named": text_of(name), "listed": text_of(f"replaced/{kind}/*"),
                    "manifest": f"source: {{text: {{files: {{manifest: '{size_only}'}}}}}}\n"}[kind]
            replaced = threading.Event()

            def fault(request, name=name, replaced=replaced):
                if name in request.path and request.begin > 4_000_000 and not replaced.is_set():
                    replaced.set()
                    gateway.put(name, content.replace(b"line", b"LINE"))

            proxy.fault = fault
            done = feedmill.read(text)
            assert replaced.is_set()
            assert done.returncode == 1, f"{text}: exit {done.returncode}: {done.stderr}"
            assert f"{PLACE}/{name}: changed since the job began" in done.stderr, done.stderr
            # A list without an ETag names no version: each opening of the file holds the first that it sees.
            assert kind == "manifest" or "LINE" not in done.stdout, f"{text}: bytes of two versions"
        for kind, body in (("deleted", None), ("shorter", b"line\n")):
            name = f"replaced/{kind}/0.txt"
            gateway.put(name, content)
            replaced = threading.Event()

            def change(request, name=name, body=body, replaced=replaced):
                if name in request.path and request.begin > 0 and not replaced.is_set():
                    replaced.set()
                    if body is None:
                        gateway.request("DELETE", f"/data/{name}")
                    else:
                        gateway.put(name, body)

            proxy.fault = change
            feedmill.refused(text_of(name), f"{PLACE}/{name}", "changed since the job began")


def stores_that_are_away(feedmill):
    with objects(feedmill) as (_, proxy):
        for fault, part in ((("status", 503, {}, error_page("SlowDown")), "answers 503"), (("cut", 0), "requests in"),
                            (("hang",), "no byte came for")):
            for name in ("text/0.txt", "text/*"):
                proxy.fault = lambda _, fault=fault: fault
                begin = time.monotonic()
                feedmill.refused(text_of(name), f"{PLACE}/text/", part, patience="2s")
                assert time.monotonic() - begin < 20, fault
        back = proxy.count + 4
        proxy.fault = lambda request: ("status", 503) if request.number < back else None
        assert feedmill.read(text_of()).returncode == 0
    feedmill.refused(text_of(), "connect", "requests in", patience="2s")  # it is closed


def errors_through_a_service(feedmill):
    with objects(feedmill) as (_, proxy), feedmill.cluster(2, patience="1s") as (address, _, _):
        for fault, part in ((("status", 503), "answers 503"), (("status", 403, {}, error_page("AccessDenied")), "403 AccessDenied"),
                            (("hang",), "no byte came for")):
            for from_request in (0, 8):
                first = proxy.count + from_request
                proxy.fault = lambda request, first=first, fault=fault: fault if request.number >= first else None
                begin = time.monotonic()
                feedmill.refused(text_of(), f"{PLACE}/text/0.txt", part,
                                 flags=("--service", address, "--timeout", "60s"), patience="1s")
                assert time.monotonic() - begin < 45


def a_signal_ends_waits(feedmill):
    with objects(feedmill) as (_, proxy):
        for name, hangs in (("text/0.txt", lambda request: request.is_range and not request.headers["Range"].startswith("bytes=0-")),
                            ("text/*", lambda request: "list-type" in request.path),
                            ("text/0.txt", lambda request: True)):
            proxy.fault = lambda request, hangs=hangs: ("hang",) if hangs(request) else None
            hung = proxy.count
            process = feedmill.start("read", feedmill.write(text_of(name)), "--local", "--format", "none")
            wait_for(lambda hung=hung, hangs=hangs: any(hangs(FakeRequest(*each)) for each in proxy.log[hung:]), "a request")
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=30)
            assert process.returncode == 130, f"{process.returncode}: {error}"
            assert time.monotonic() - begin < 5, "it waited for the store"


class FakeRequest:
    def __init__(self, path, range_header):
        self.path = path
        self.headers = {"Range": range_header or ""}
        self.is_range = bool(range_header) and range_header != "bytes=0-15"


# ---- keys


def keys_of_a_profile(feedmill):
    """Keys that only AWS's credential chain finds: the plugin has it."""
    (feedmill.folder / ".aws").mkdir()
    credentials = feedmill.folder / ".aws/credentials"
    credentials.write_text(f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
                           "[other]\naws_access_key_id = AKIAOTHER\naws_secret_access_key = x\n")
    with objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(text_of())
        use(feedmill, proxy.host, AWS_ACCESS_KEY_ID=None)
        assert feedmill.hash_of(text_of()) == want
        with feedmill.cluster(2) as (address, _, _):
            assert feedmill.hash_of(text_of(), "--service", address) == want
        feedmill.environment["AWS_PROFILE"] = "other"
        feedmill.refused(text_of(), "the store does not know the access key")
        credentials.unlink()
        feedmill.refused(text_of(), f"{PLACE}/text/0.txt: no keys: AWS's credential chain has none", "anonymous=true")


def keys_that_hang(feedmill):
    """A server of credentials sends nothing: a read ends within its patience, and with a signal."""
    with objects(feedmill) as (_, proxy):
        for ends_by_signal in (False, True):
            with socket.create_server(("127.0.0.1", 0)) as silent:
                use(feedmill, proxy.host, AWS_ACCESS_KEY_ID=None,
                    AWS_CONTAINER_CREDENTIALS_FULL_URI=f"http://127.0.0.1:{silent.getsockname()[1]}/keys")
                process = feedmill.start("read", feedmill.write(text_of()), "--local", patience="60s" if ends_by_signal else "2s")
                with silent.accept()[0]:
                    begin = time.monotonic()
                    if ends_by_signal:
                        process.send_signal(signal.SIGINT)
                    _, error = process.communicate(timeout=60)
                    seconds = time.monotonic() - begin
            if ends_by_signal:
                assert process.returncode == 130 and seconds < 5, f"{process.returncode} after {seconds} s: {error}"
            else:
                assert process.returncode == 1 and seconds < 5, f"{process.returncode} after {seconds} s: {error}"
                assert f"{PLACE}/text/0.txt: AWS's credential chain: no answer of use: waited " in error, error


def keys_without_the_plugin(feedmill):
    with objects(feedmill) as (_, proxy):
        feedmill.environment["FEEDMILL_ARROW_PLUGIN"] = str(feedmill.folder / "none.so")
        assert feedmill.read(text_of()).returncode == 0
        use(feedmill, proxy.host, AWS_ACCESS_KEY_ID=None, FEEDMILL_ARROW_PLUGIN=str(feedmill.folder / "none.so"))
        feedmill.refused(text_of(), f"{PLACE}/text/0.txt: ", "AWS_ACCESS_KEY_ID", "libfeedmill_arrow.so", "pip install pyarrow",
                         "FEEDMILL_ARROW_PLUGIN")


def secrets_are_not_shown(feedmill):
    secrets = (SECRET_KEY, "s3ss10n")
    with objects(feedmill) as (gateway, proxy):
        gateway.put("bad.jsonl", b'{"a": 1}\n{"a": \n')
        work = feedmill.folder / "work"
        with feedmill.cluster(1, patience="1s", work_dir=work) as (address, _, logs):
            shown = ""
            for name, kind, fault in (("text/0.txt", "text", None), ("text/0.txt", "text", ("status", 403, {}, error_page("AccessDenied"))),
                                      ("text/*", "text", ("status", 503, {}, error_page("SlowDown"))), ("none.txt", "text", None),
                                      ("bad.jsonl", "jsonl", None)):
                proxy.fault = lambda _, fault=fault: fault
                for flags in (["--local"], ["--service", address], ["--explain"], ["--local", "--show-batch", "0"]):
                    done = feedmill.read(text_of(name, kind), *flags, patience="1s")
                    shown += done.stderr + done.stdout
                shown += feedmill.run("status", "--service", address).stdout
            proxy.fault = None
            token = feedmill.folder / "token"
            feedmill.read(text_of(), "--local", "--limit", "1", "--save-token", str(token))
            shown += token.read_bytes().decode(errors="replace")
            feedmill.environment["AWS_SESSION_TOKEN"] = secrets[1]
            shown += feedmill.read(text_of(), "--local").stderr
            shown += "".join(log.read_text() for log in logs.glob("*.log"))
        shown += "".join(path.read_bytes().decode(errors="replace") for path in work.rglob("*") if path.is_file())
    assert "403" in shown and "503" in shown, shown
    for secret in secrets:
        assert secret not in shown, [line for line in shown.splitlines() if secret in line][:3]


# ---- throughput


def many_small_objects(feedmill):
    """Objects are counted, and read, side by side."""
    names = [f"small/{k}.txt" for k in range(300)]
    (feedmill.files / "small").mkdir()
    for name in names:
        (feedmill.files / name).write_text(f"object {name}\n")
    with objects(feedmill) as (_, proxy):
        want = feedmill.hash_of(pipeline("text", feedmill.files, names) + "steps: [shuffle]\n")
        proxy.delay = 0.05
        begin = time.monotonic()
        assert feedmill.hash_of(pipeline("text", PLACE, names) + "steps: [shuffle]\n") == want
        seconds = time.monotonic() - begin
        # Asked for, counted and read.
        assert seconds < 3 * 0.05 * 300 / 4, f"{seconds} s"


def requests_grow(feedmill):
    """A large object that is read in order takes fewer requests than one for each MiB."""
    size = 128 << 20
    with objects(feedmill) as (gateway, proxy):
        gateway.put("large.bin", bytes(size))
        before = proxy.count
        text = f"source: {{fixed_length: {{files: '{PLACE}/large.bin', record_bytes: 65536}}}}\n"
        done = feedmill.read(text, "--local", "--format", "summary")
        assert json.loads(done.stdout)["elements"] == size // 65536, done.stderr
        ranges = [header for _, header in proxy.log[before:] if header and header != "bytes=0-15"]
        largest = max(int(end) - int(begin) + 1 for begin, end in (r.removeprefix("bytes=").split("-") for r in ranges))
        assert len(ranges) < 128, f"{len(ranges)} requests"
        # The server is near, and so they may grow to 8 MiB.
        assert 1 << 20 < largest <= 8 << 20, largest


def latency_is_hidden(feedmill):
    """A read in order at 50 ms a request, beside one at 1 ms; a measurement."""
    lines = b"".join(b"%d %s\n" % (k, b"x" * 90) for k in range(10_000))
    size = int(os.environ.get("FEEDMILL_TEST_MIB", "256"))
    with objects(feedmill) as (gateway, proxy):
        gateway.put("long.txt", lines * size)
        for delay in (0.001, 0.05):
            proxy.delay = delay
            begin = time.monotonic()
            done = feedmill.read(text_of("long.txt") + "steps: [batch: {size: 1000}]\n", "--local", "--format", "none")
            seconds = time.monotonic() - begin
            assert done.returncode == 0, done.stderr
            print(f"{delay * 1e3:.0f} ms a request: {len(lines) * size / seconds / 1e6:.0f} MB/s")


def tokens(feedmill):
    """Tokens are objects: a read resumes from them in another process."""
    with objects(feedmill) as (_, proxy):
        text = text_of()
        whole = feedmill.read(text, "--local").stdout.splitlines()
        proxy.fault = lambda request: ("status", 503) if request.method == "PUT" and request.number % 3 == 0 else None
        assert save_in_steps(feedmill, text, f"{PLACE}/a folder/é") == whole
        proxy.fault = lambda request: ("status", 403, {}, error_page("AccessDenied")) if request.method == "PUT" else None
        save = ("--local", "--save-token", f"{PLACE}/t1")
        feedmill.refused(text, "--save-token", f"{PLACE}/t1", "s3:PutObject", flags=save)
        proxy.fault = None
        feedmill.refused(text, "--token", f"{PLACE}/t1", "no such object", flags=("--local", "--token", f"{PLACE}/t1"))
        feedmill.refused(text, "s3://nothing/t1", "no such bucket", flags=("--local", "--save-token", "s3://nothing/t1"))
        feedmill.refused(text, "s3://data/", flags=("--local", "--save-token", "s3://data/"))
        feedmill.refused(text, "only read", "s3://", flags=("--local", "--save-token", f"http://{proxy.host}/data/t1"))


TESTS = (same_as_files, same_when_a_fifth_fails, same_after_workers_are_killed, patterns, odd_names, options, regions, a_look_at_parquet,
         buckets_of_aws, lists, refusals, odd_answers,
         replaced_during_the_read, stores_that_are_away, errors_through_a_service, a_signal_ends_waits, keys_of_a_profile, keys_that_hang,
         keys_without_the_plugin, secrets_are_not_shown, tokens, many_small_objects, requests_grow,
         latency_is_hidden)


if __name__ == "__main__":
    run_tests(__doc__, TESTS)
