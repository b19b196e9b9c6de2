"""`feedmill trace` of real processes: the file, its times, OTLP, and its errors.

    tracing.py CHECK --binary feedmill_sleepy    (a function below; it has sleep_ms, bench/sleepy_main.cc)
"""
import argparse
import collections
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from monitoring import SLOW_STEP, Cluster, unused_port, wait_for  # noqa: E402

SERVED = "source: {range: {stop: 2000000}}\nsteps:\n  - map: 'sleep_ms(x, 1)'\n  - batch: {size: 16}\n"
EPSILON = 0.002  # microseconds: times are nanoseconds, written in microseconds


def trace(cluster, job, *flags, seconds=2, timeout=60):
    return subprocess.run([cluster.binary, "trace", job, "--service", cluster.service, "--seconds", str(seconds), *flags],
                          capture_output=True, text=True, timeout=timeout)


def two_workers(cluster):
    cluster.dispatcher()
    for name in ("w0", "w1"):
        cluster.worker(name)
    cluster.read(SERVED)
    wait_for(lambda: cluster.job().get("positions_taken", 0) > 0, cluster.logs)


def begin_trace(cluster, path, *flags):
    """Starts a trace that ends when it is interrupted."""
    process = subprocess.Popen([cluster.binary, "trace", "train", "--service", cluster.service, "--seconds", "600", "-o",
                                str(path), *flags], stderr=subprocess.PIPE, text=True)
    said = process.stderr.readline()
    assert said == "tracing job 'train' for 600 s; SIGINT ends it early\n", said
    goes_on(cluster)
    return process


def goes_on(cluster, positions=300):
    """Waits until the job has moved so far that its spans have come."""
    begun = cluster.job().get("positions_taken", 0)
    wait_for(lambda: cluster.job().get("positions_taken", 0) > begun + positions, cluster.logs)


def spans_of(document):
    """The spans by process name, each with its end."""
    names = {event["pid"]: event["args"]["name"] for event in document["traceEvents"]
             if event["ph"] == "M" and event["name"] == "process_name"}
    spans = []
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            spans.append(dict(event, process=names[event["pid"]], end=event["ts"] + event["dur"]))
    return spans


def check_nesting(spans):
    """Spans of one track are nested or apart."""
    tracks = collections.defaultdict(list)
    for span in spans:
        tracks[span["pid"], span["tid"]].append(span)
    for track in tracks.values():
        open_spans = []
        for span in track:  # by begin, the outer one first
            while open_spans and open_spans[-1]["end"] <= span["ts"] + EPSILON:
                open_spans.pop()
            assert not open_spans or span["end"] <= open_spans[-1]["end"] + EPSILON, (open_spans[-1], span)
            open_spans.append(span)


def check_splits(document, spans):
    """Each split that was delivered whole within the trace has its parts once, in the order of time."""
    length = document["otherData"]["seconds"] * 1e6
    errors = {process["name"]: process["clock_uncertainty_us"] for process in document["otherData"]["processes"]}
    splits = collections.defaultdict(lambda: collections.defaultdict(list))
    for span in spans:
        if "split" in span["args"]:
            splits[span["args"]["split"]][span["name"]].append(span)
    checked = 0
    for parts in splits.values():
        leased, buffered = parts["leased"], parts["buffered"]
        if not leased or leased[0]["ts"] <= 0 or leased[-1]["end"] >= length:
            continue  # it began before the trace, or ended after it
        checked += 1
        assert len(leased) == 1, leased  # nothing was computed twice
        begin, end = leased[0]["args"]["from"], leased[0]["args"]["to"]
        for name in ("computes", "ready to send", "buffered", "client steps"):
            pieces = sorted((part["args"]["from"], part["args"]["to"]) for part in parts[name])
            assert pieces[0][0] == begin and pieces[-1][1] == end, (name, pieces, begin, end)
            for before, after in zip(pieces, pieces[1:]):
                assert before[1] == after[0], (name, pieces)  # neither twice nor left out
        workers = {part["process"] for part in parts["computes"]}
        assert workers == {leased[0]["args"]["to_process"]}, workers
        error = sum(errors[name] for name in workers | {"reader train"}) + EPSILON
        queued, computes = parts["queued"][0], parts["computes"]
        assert leased[0]["ts"] <= queued["ts"] + error, (leased, queued)
        assert queued["end"] <= min(part["ts"] for part in computes) + EPSILON
        sent = {tuple(part["args"]["from"]): part["end"] for part in parts["ready to send"]}
        made = {tuple(part["args"]["from"]): part["end"] for part in computes}
        arrived = {tuple(part["args"]["from"]): part["ts"] for part in buffered}
        staged = {tuple(part["args"]["from"]): part["ts"] for part in parts["client steps"]}
        for piece, at in arrived.items():
            assert made[piece] <= sent[piece] + EPSILON
            # Both are times of an iteration of an event loop, which sends or receives later.
            assert sent[piece] <= at + error + 50_000, (sent[piece], at, error)
            assert at <= staged[piece] + EPSILON
        assert max(arrived.values()) <= leased[0]["end"] + error, (arrived, leased)
    return checked


def file(cluster):
    """The trace of a job with two workers nests, has each delivered split once, and its times are in order."""
    two_workers(cluster)
    path = cluster.folder / "trace.json"
    done = trace(cluster, "train", "-o", path, seconds=4)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"tracing job 'train' for 4 s; .*\n\d+ spans of 4 processes; clocks are known to within \d+ us\n", done.stderr), done.stderr
    document = json.loads(path.read_text())
    spans = spans_of(document)
    assert {span["process"].split()[0] for span in spans} == {"dispatcher", "worker", "reader"}
    assert document["otherData"]["complete"] and document["otherData"]["lost_spans"] == 0
    for process in document["otherData"]["processes"]:
        assert process["lost_spans"] == 0 and process["clock_uncertainty_us"] is not None, process
        assert abs(process["clock_offset_us"]) <= process["clock_uncertainty_us"] + EPSILON, process  # one machine
    assert all(0 <= span["ts"] <= span["end"] <= 4e6 + EPSILON for span in spans)
    check_nesting(spans)
    checked = check_splits(document, spans)
    assert checked >= 4, checked
    names = {span["name"] for span in spans}
    assert {"planned", "leased", "queued", "waits for a thread", "computes", "ready to send", "buffered", "client steps",
            "handed out", "waits for elements", "steps[0] map"} <= names, names
    steps = [span for span in spans if span["name"] == "steps[0] map"]
    assert all(span["process"].startswith("worker") for span in steps)
    arrows = collections.Counter(event["ph"] for event in document["traceEvents"] if event["ph"] in "stf")
    assert arrows["s"] == arrows["f"] > 0, arrows
    # Tracing has ended: the processes send no spans any more, and another trace may begin.
    assert trace(cluster, "train", "-o", path, seconds=1).returncode == 0
    print(f"{len(spans)} spans, {checked} splits checked; {done.stderr.strip()}")


def errors(cluster):
    """Jobs that cannot be traced are refused at once, in one clear line."""
    cluster.dispatcher()
    path = cluster.folder / "trace.json"

    def refused(job, what, *flags, seconds=1, code=1):
        done = trace(cluster, job, "-o", path, *flags, seconds=seconds)
        assert done.returncode == code and re.search(what, done.stderr), (done.returncode, done.stderr)
        assert not path.exists()
    refused("train", "there is no job 'train'; there are none", code=2)
    reader = cluster.read(SLOW_STEP)
    wait_for(lambda: cluster.job().get("state") == "running", cluster.logs)
    refused("tran", "there is no job 'tran'; there are 'train'", code=2)
    refused("train", "job 'train' did nothing in 1s: it waits for a worker; no trace was written")
    done = subprocess.run([cluster.binary, "trace", "train", "--service", cluster.service], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 2 and "--output FILE or --otlp URL is missing" in done.stderr
    cluster.worker("w0")
    first = begin_trace(cluster, path)
    refused("train", "is being traced by another process for")
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=30)[1]
    assert first.returncode != 0 and "the trace ends early: the trace was interrupted" in said, said
    assert json.loads(path.read_text())["otherData"]["complete"] is False
    path.unlink()
    reader.send_signal(signal.SIGTERM)
    reader.wait(30)
    wait_for(lambda: cluster.job().get("state") == "cancelled", cluster.job)
    refused("train", "job 'train' is cancelled: nothing of it happens now")


def dispatcher_goes(cluster):
    """A dispatcher that goes away ends the trace with an error, and what was collected is written."""
    dispatcher = cluster.dispatcher()
    cluster.worker("w0")
    cluster.read(SLOW_STEP)
    wait_for(lambda: cluster.job().get("positions_taken", 0) > 0, cluster.logs)
    path = cluster.folder / "trace.json"
    traced = begin_trace(cluster, path, "--timeout", "2s")
    dispatcher.kill()
    said = traced.communicate(timeout=60)[1]
    assert traced.returncode == 1, said
    assert "the trace ends early: no dispatcher answered at" in said, said
    assert json.loads(path.read_text())["otherData"]["complete"] is False
    done = trace(cluster, "train", "-o", path, "--timeout", "1s")
    assert done.returncode == 1 and "no dispatcher answered at" in done.stderr, done.stderr


class Collector(http.server.ThreadingHTTPServer):
    """Takes OTLP/HTTP requests and keeps their JSON."""

    def __init__(self, status=200, answer=None):
        self.requests, self.status, self.answer = [], status, answer or {"partialSuccess": {}}
        super().__init__(("127.0.0.1", 0), Collector.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.server.requests.append((self.path, self.headers["Content-Type"], json.loads(body)))
            answer = json.dumps(self.server.answer).encode()
            self.send_response(self.server.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *arguments):
            pass


def check_otlp(requests):
    """The rules of OTLP's JSON: ids in hexadecimal, 64-bit numbers as strings, lowerCamelCase, parents that exist."""
    spans, parents = {}, []
    for path, kind, body in requests:
        assert path == "/v1/traces" and kind == "application/json"
        assert set(body) == {"resourceSpans"}
        for resource in body["resourceSpans"]:
            attributes = {each["key"]: each["value"] for each in resource["resource"]["attributes"]}
            assert attributes["service.name"] == {"stringValue": "feedmill"}
            assert "stringValue" in attributes["service.instance.id"]
            for scope in resource["scopeSpans"]:
                assert scope["scope"]["name"] == "feedmill"
                for span in scope["spans"]:
                    assert re.fullmatch("[0-9a-f]{32}", span["traceId"]) and set(span["traceId"]) != {"0"}
                    assert re.fullmatch("[0-9a-f]{16}", span["spanId"]) and set(span["spanId"]) != {"0"}
                    assert isinstance(span["startTimeUnixNano"], str) and isinstance(span["endTimeUnixNano"], str)
                    assert 1.6e18 < int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                    assert span["kind"] == 1 and span["name"]
                    for attribute in span["attributes"]:
                        value = attribute["value"]
                        assert len(value) == 1 and isinstance(next(iter(value.values())), str), attribute
                    key = span["traceId"], span["spanId"]
                    assert key not in spans, key
                    spans[key] = span
                    if "parentSpanId" in span:
                        parents.append((span["traceId"], span["parentSpanId"], span))
    for trace_id, parent, span in parents:
        outer = spans[trace_id, parent]
        assert int(outer["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]), (outer, span)
        assert int(span["endTimeUnixNano"]) <= int(outer["endTimeUnixNano"]), (outer, span)
    return spans


def otlp(cluster):
    """The same spans go to an OTLP/HTTP endpoint; an error names refused spans."""
    two_workers(cluster)
    collector = Collector()
    done = trace(cluster, "train", "--otlp", collector.url)
    assert done.returncode == 0, done.stderr
    spans = check_otlp(collector.requests)
    names = {span["name"] for span in spans.values()}
    assert {"leased", "computes", "buffered", "steps[0] map"} <= names, names
    assert any(name.startswith("split ") for name in names)
    partial = Collector(answer={"partialSuccess": {"rejectedSpans": "3", "errorMessage": "too old"}})
    done = trace(cluster, "train", "--otlp", partial.url, seconds=1)
    assert done.returncode == 1 and "took only a part of the spans: too old" in done.stderr, done.stderr
    broken = Collector(status=503)
    done = trace(cluster, "train", "--otlp", broken.url, seconds=1)
    assert done.returncode == 1 and "answered 503" in done.stderr, done.stderr
    for server in (collector, partial, broken):
        server.shutdown()
        server.server_close()
    done = trace(cluster, "train", "--otlp", broken.url, seconds=1)
    assert done.returncode == 1 and "cannot send the trace: cannot reach" in done.stderr, done.stderr
    print(f"{len(spans)} spans in {len(collector.requests)} request(s)")


class Jaeger:
    """A collector with a query API, in a process of its own."""

    def __init__(self, cluster, binary):
        ports = {name: unused_port() for name in (
            "collector.otlp.http", "collector.otlp.grpc", "collector.grpc-server", "collector.http-server", "query.http-server",
            "query.grpc-server", "admin.http")}
        # By default it drops spans of a burst.
        flags = ["--collector.queue-size=100000", *(f"--{name}.host-port=127.0.0.1:{port}" for name, port in ports.items())]
        with open(cluster.folder / "jaeger.log", "w", encoding="utf-8") as log:
            cluster.processes.append(subprocess.Popen([binary, *flags], stdout=log, stderr=log))
        self.traces = f"http://127.0.0.1:{ports['collector.otlp.http']}/v1/traces"
        self.queries = f"http://127.0.0.1:{ports['query.http-server']}/api"
        wait_for(lambda: self.ask("/services") is not None, cluster.logs, seconds=90)

    def ask(self, path):
        """Returns what the query API answers; None while it starts."""
        try:
            with urllib.request.urlopen(self.queries + path, timeout=20) as answer:
                return json.load(answer)["data"] or []
        except OSError:
            return None


def collector(cluster):
    """Jaeger takes the spans, and its query API gives them again: splits, processes and steps."""
    binary = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "feedmill" / "otlp" / "jaeger"
    assert binary.exists(), "Jaeger is not built: tools/setup --otlp"
    jaeger = Jaeger(cluster, binary)
    two_workers(cluster)
    path = cluster.folder / "sent.json"
    done = trace(cluster, "train", "-o", path, "--otlp", jaeger.traces)
    assert done.returncode == 0, done.stderr
    written = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    # Each split has a root span, too.
    sent = len(written) + len({event["args"]["split"] for event in written if "split" in event["args"]})
    assert wait_for(lambda: jaeger.ask("/services"), "the service") == ["feedmill"]
    operations = {each["name"] for each in jaeger.ask("/operations?service=feedmill")}
    assert {"leased", "computes", "buffered", "handed out", "steps[0] map"} <= operations, operations

    def found():
        traces = jaeger.ask("/traces?service=feedmill&limit=20000&lookback=1h")
        nonlocal there
        there = sum(len(each["spans"]) for each in traces)
        return there >= sent and traces
    there = 0
    traces = wait_for(found, lambda: f"{sent} spans, and {there} are there")
    assert there == sent, (there, sent)
    splits = [each for each in traces if any(span["operationName"].startswith("split ") for span in each["spans"])]
    assert len(splits) > 5, len(splits)
    processes = {tag["value"] for each in splits for process in each["processes"].values()
                 for tag in process["tags"] if tag["key"] == "service.instance.id"}
    assert "dispatcher" in processes and any(name.startswith("reader") for name in processes), processes
    assert sum(name.startswith("worker") for name in processes) == 2, processes
    print(f"{sent} spans sent and found, in {len(traces)} traces of {len(processes)} processes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    checks = {check.__name__: check for check in (file, errors, dispatcher_goes, otlp, collector)}
    parser.add_argument("check", choices=checks)
    parser.add_argument("--binary", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fm-tracing-") as folder:
        cluster = Cluster(options.binary, folder)
        try:
            checks[options.check](cluster)
        except BaseException:
            print(cluster.logs(), file=sys.stderr)
            raise
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
