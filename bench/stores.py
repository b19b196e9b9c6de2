"""bench/run stores: objects of an S3 server on this machine, read by feedmill beside curl and Apache Arrow.

The server is versitygw (tools/setup --stores). Each read is a process of its own: `feedmill read --local --format
none`. The rows:

large    one object of 512 MB, in order
small    10,000 objects of 4 kB that a list names with their sizes
latency  2 GB in order, through a proxy that waits 50 ms before each answer, and one that waits 1 ms; also from
         a web server
first_batch  the first batch of 100,000 objects that a list names
listing  the first batch of the same objects by a pattern, beside the server's own listing, page after page

FEEDMILL_BENCH_OBJECTS sets the number of objects of `small`, `first_batch` and `listing`, FEEDMILL_BENCH_MB the size
of `large` and `latency`, to try the rows: figures are those without them."""
import html
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

import measure
from measure import BUILD, ROOT, check, median, ratio, run_peer, say

sys.path.insert(0, str(ROOT / "tests" / "stores"))
from gateway import ACCESS_KEY, BINARY, SECRET_KEY, FaultProxy, Gateway
from range_server import RangeServer

MB = 1_000_000
LARGE, PART, LATENCY = int(os.environ.get("FEEDMILL_BENCH_MB", "512")) * MB, 8 * MB, int(os.environ.get("FEEDMILL_BENCH_MB", "2048")) * MB
SMALL, SMALL_BYTES = int(os.environ.get("FEEDMILL_BENCH_OBJECTS", "10000")), 4_000
MANY = int(os.environ.get("FEEDMILL_BENCH_OBJECTS", "100000"))
BATCH = 32
TOGETHER = 32
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def timed(work):
    """Runs `work`; its seconds, and the CPU seconds of the processes that it waited for."""
    def cpu():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    cpu_before, begun = cpu(), time.perf_counter()
    elements = work()
    return {"elements": elements, "seconds": time.perf_counter() - begun, "cpu_s": cpu() - cpu_before}


def environment(host):
    return {**os.environ, "AWS_ENDPOINT_URL": f"http://{host}", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_EC2_METADATA_DISABLED": "true"}


def feedmill(folder, host, source, elements):
    """Reads without printing; a second read, which is not timed, counts the elements."""
    pipeline = measure.write(folder, "stores.yaml", f"source: {source}\n")

    def read(form):
        done = subprocess.run([BUILD / "bin" / "feedmill", "read", pipeline, "--local", "--format", form], check=False,
                              capture_output=True, text=True, env=environment(host), timeout=400)
        check(done.returncode == 0, done.stderr)
        return done.stdout

    def timed_read():
        read("none")
        return elements
    result = timed(timed_read)
    got = json.loads(read("summary"))["elements"]
    check(got == elements, f"stores: {got} elements, not {elements}")
    return result


def curl(folder, transfers):
    """Transfers (URL, range or "") by one process of curl, many at once."""
    lines = []
    for url, part in transfers:
        lines += [f'url = "{url}"', 'output = "/dev/null"', "fail",
                  f'user = "{ACCESS_KEY}:{SECRET_KEY}"', 'aws-sigv4 = "aws:amz:us-east-1:s3"',
                  f'header = "x-amz-content-sha256: {EMPTY}"', *([f'range = "{part}"'] if part else []), "next"]
    config = measure.write(folder, "curl", "\n".join(lines[:-1]) + "\n")

    def transfer():
        done = subprocess.run(["curl", "-sS", "-Z", "--no-progress-meter", "--parallel-immediate", "--parallel-max", str(TOGETHER),
                               "-K", config], check=False, capture_output=True, text=True, timeout=400)
        check(done.returncode == 0, f"stores: curl: {done.stderr[-500:]}")
        return len(transfers)
    return timed(transfer)


def fill(gateway, name, size):
    with open(gateway.folder / "buckets" / "data" / name, "wb") as out:
        out.writelines(bytes([k % 251]) * MB for k in range(size // MB))


def large(gateway, folder, count):
    fill(gateway, "large", LARGE)
    url = f"http://{gateway.host}/data/large"
    parts = [(url, f"{begin}-{begin + PART - 1}") for begin in range(0, LARGE, PART)]
    got = measure.rounds(count, {
        "feedmill": lambda: feedmill(folder, gateway.host, f"{{fixed_length: {{files: 's3://data/large', record_bytes: {MB}}}}}",
                                     LARGE // MB),
        "curl": lambda: curl(folder, parts),
        "arrow": lambda: run_peer("pyarrow", "pyarrow_s3.py", "data/large", TOGETHER, PART, **environment(gateway.host))})
    check(all(r["bytes"] == LARGE for r in got["arrow"]), "stores: Arrow read other bytes")
    speed = {side: median(results, lambda r: LARGE / r["seconds"] / 1e9) for side, results in got.items()}
    cpu = {side: median(results, lambda r: r["cpu_s"] / LARGE * 1e9) for side, results in got.items()}
    for side in got:
        say(f"large: {side} {measure.shown(speed[side], '{:.2f} GB/s')}, {measure.shown(cpu[side], '{:.2f} CPU s/GB')}")
    return {"large_vs_curl": ratio(speed["feedmill"], speed["curl"]), "large_cpu_vs_arrow": ratio(cpu["arrow"], cpu["feedmill"]),
            "large_cpu_vs_curl": ratio(cpu["curl"], cpu["feedmill"])}


def small(gateway, folder, count):
    place = gateway.folder / "buckets/data/small"
    place.mkdir()
    body = b"x" * (SMALL_BYTES - 1) + b"\n"
    for k in range(SMALL):
        (place / f"{k:05}").write_bytes(body)
    names = [f"small/{k:05}" for k in range(SMALL)]
    listed = measure.write(folder, "small.jsonl", "".join(
        json.dumps({"url": f"s3://data/{name}", "size": SMALL_BYTES}) + "\n" for name in names))
    got = measure.rounds(count, {
        "feedmill": lambda: feedmill(folder, gateway.host, f"{{text: {{files: {{manifest: '{listed}'}}}}}}", SMALL),
        "curl": lambda: curl(folder, [(f"http://{gateway.host}/data/{name}", "") for name in names])})
    rate = {side: median(results, lambda r: SMALL / r["seconds"]) for side, results in got.items()}
    say(f"small: feedmill {rate['feedmill']:,.0f} objects/s, curl {rate['curl']:,.0f} objects/s")
    return {"small_vs_curl": ratio(rate["feedmill"], rate["curl"])}


def latency(gateway, folder, count):
    fill(gateway, "far", LATENCY)

    def side(server, url, delay):
        server.delay = delay
        return feedmill(folder, server.host, f"{{fixed_length: {{files: '{url}', record_bytes: {MB}}}}}", LATENCY // MB)
    with FaultProxy(gateway) as proxy, RangeServer(gateway.folder / "buckets" / "data") as web:
        places = {"s3": (proxy, "s3://data/far"), "http": (web, f"{web.url}/far")}
        got = measure.rounds(count, {f"{kind}, {ms} ms": lambda place=place, ms=ms: side(*place, ms / 1e3)
                                     for kind, place in places.items() for ms in (1, 50)})
    seconds = {name: median(results, lambda r: r["seconds"]) for name, results in got.items()}
    for kind in places:
        say(f"latency, {kind}: {seconds[f'{kind}, 1 ms']:.2f} s at 1 ms a request, {seconds[f'{kind}, 50 ms']:.2f} s at 50 ms")
    return {"latency_50ms_vs_1ms": ratio(seconds["s3, 1 ms"], seconds["s3, 50 ms"]),
            "latency_http_50ms_vs_1ms": ratio(seconds["http, 1 ms"], seconds["http, 50 ms"])}


def many_objects(gateway):
    """Makes the objects; their names."""
    place = gateway.folder / "buckets/data/many"
    place.mkdir()
    for k in range(MANY):
        (place / f"{k:06}").write_bytes(b"%06d\n" % k)
    return [f"many/{k:06}" for k in range(MANY)]


def batch_of(folder, host, files):
    """The seconds of a process that prints the first batch."""
    pipeline = measure.write(folder, "first.yaml", f"source: {{text: {{files: {files}}}}}\nsteps: [batch: {{size: {BATCH}}}]\n")

    def read():
        done = subprocess.run([BUILD / "bin" / "feedmill", "read", pipeline, "--local", "--limit", "1"], check=False,
                              capture_output=True, text=True, env=environment(host), timeout=400)
        check(done.returncode == 0, done.stderr)
        check(len(json.loads(done.stdout)) == BATCH, f"stores: {done.stdout[:200]}")
        return BATCH
    return timed(read)


def first_batch(gateway, folder, count):
    listed = measure.write(folder, "many.jsonl", "".join(
        json.dumps({"url": f"s3://data/{name}", "size": 7}) + "\n" for name in many_objects(gateway)))
    got = measure.rounds(count, {"feedmill": lambda: batch_of(folder, gateway.host, f"{{manifest: '{listed}'}}")})
    seconds = median(got["feedmill"], lambda r: r["seconds"])
    say(f"first_batch: {seconds:.2f} s for {MANY:,} objects")
    return {"first_batch_s": round(seconds, 2)}


def list_pages(gateway):
    """Lists the objects page after page, as the server's protocol has it."""
    found, query = 0, [("list-type", "2"), ("prefix", "many/")]
    token = None
    while True:
        page = gateway.request("GET", "/data", query=[*query, *([("continuation-token", token)] if token else [])])
        found += page.count(b"<Contents>")
        token = re.search(rb"<NextContinuationToken>(.*?)</NextContinuationToken>", page)
        if not token:
            check(found == MANY, f"stores: {found} objects listed, not {MANY}")
            return found
        token = html.unescape(token[1].decode())


def listing(gateway, folder, count):
    many_objects(gateway)
    got = measure.rounds(count, {"feedmill": lambda: batch_of(folder, gateway.host, "'s3://data/many/*'"),
                                 "server": lambda: timed(lambda: list_pages(gateway))})
    seconds = {side: median(results, lambda r: r["seconds"]) for side, results in got.items()}
    say(f"listing: first batch after {seconds['feedmill']:.2f} s; the server lists in {seconds['server']:.2f} s")
    return {"listing_vs_server": ratio(seconds["server"], seconds["feedmill"])}


ROWS = {"large": large, "small": small, "latency": latency, "first_batch": first_batch, "listing": listing}


def bench(folder, count, rows):
    if not pathlib.Path(BINARY).exists():
        say("stores: skipped, versitygw is not installed (tools/setup --stores)")
        return {}
    ratios = {}
    for name in rows or ROWS:
        with tempfile.TemporaryDirectory(dir=folder) as place, Gateway(place) as gateway:
            ratios |= ROWS[name](gateway, folder, count)
    return ratios
