"""First elements: a workload of bench/run.

Elements that take long, of sources that cannot be counted: the time to the first one, in this process and through a
service of one worker of one thread. Then a reader of such elements leaves, and another job asks for its first element:
it needs the thread that the first job still uses. Every first element is checked."""
import contextlib
import http.server
import json
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

import measure

SLEEPY = measure.BUILD / "bench" / "feedmill_sleepy"
PYTHON = measure.PYTHON_TOOLS / "bin" / "python"
TEN = "source: {range: {stop: 10}}\n"
LINES = 'source: {text: {files: lines.txt}}\nsteps: [{map: "sleep_ms(to_number(x, int64), MS)"}]\n'
INPUT = '{source: {jsonl: {files: "NAME*.jsonl.zst"}}, steps: [{filter: "n >= 0"}, {map: {n: "sleep_ms(n, MS)"}}]}'
MIXTURE = "source: {mixture: {weights: [0.7, 0.3], inputs: [\n  " + ",\n  ".join(
    INPUT.replace("NAME", name) for name in "ab") + "]}}\n"


def make_files(folder):
    (folder / "lines.txt").write_text("".join(f"{n}\n" for n in range(40_000)))
    for name in ("a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"):
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"n": n, "text": "word " * (n % 200)}) + "\n" for n in range(20_000)))
        subprocess.run(["zstd", "-q", "--rm", str(path)], check=True)


def python_pipeline(path):
    """Writes a pipeline whose function takes 50 s for an element."""
    program = ("import feedmill as fm, time\n"
               "def slow(x):\n    time.sleep(50)\n    return x\n"
               "ds = fm.Dataset.range(100).map(slow, python=True, output=('int64', ()))\n"
               f"open({str(path)!r}, 'w').write(ds.to_yaml())\n")
    done = subprocess.run([str(PYTHON), "-c", program], check=False, stderr=subprocess.PIPE, text=True,
                          env={"PYTHONPATH": str(measure.BUILD / "python")})
    measure.check(done.returncode == 0, done.stderr)
    return path


class SlowFiles(http.server.BaseHTTPRequestHandler):
    """A file of lines. Content comes after 60 s, of `lines` only all but the first bytes, by which its kind is known."""

    SIZE, QUICK = 1_000_000, 64 * 1024
    gone = threading.Event()

    def do_HEAD(self):
        self.head(200, self.SIZE)

    def do_GET(self):
        first, last = map(int, self.headers.get("Range", f"bytes=0-{self.SIZE - 1}").removeprefix("bytes=").split("-"))
        last = min(last, self.SIZE - 1)
        if "lines" not in self.path or last - first >= self.QUICK:
            self.gone.wait(60)
        with contextlib.suppress(OSError):
            self.head(206, last + 1 - first, f"bytes {first}-{last}/{self.SIZE}")
            self.wfile.write(b"line \n" * ((last + 1 - first) // 6) + b"\n" * ((last + 1 - first) % 6))

    def head(self, status, length, content_range=None):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        if content_range is not None:
            self.send_header("Content-Range", content_range)
        self.end_headers()

    def log_message(self, *_):
        pass


def read(pipeline, *flags):
    command = [SLEEPY, "read", pipeline, "--log-level", "error", *flags]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)


def first(pipeline, expected, *flags):
    """Returns the seconds to the first element, with the start of the process."""
    begun = time.monotonic()
    line = read(pipeline, "--limit", "1", "--timeout", "100s", *flags).communicate(timeout=120)[0]
    seconds = time.monotonic() - begun
    measure.check(line.strip() == expected, f"the first element of {pipeline.name} is {line!r}")
    return seconds


def busy(service):
    """True if the worker has a split, or lists files."""
    status = json.loads(subprocess.run([str(SLEEPY), "status", "--service", service.address, "--format", "json"],
                                       check=True, stdout=subprocess.PIPE, text=True).stdout)
    return any(worker["leases"] for worker in status["workers"]) or any(
        job["state"] == "planning" for job in status["jobs"])


def after_leaving(pipeline, ten, service):
    """Returns the seconds to a first element after a reader of `pipeline` left, whose elements keep the worker busy."""
    reader = read(pipeline, "--service", service.address, "--timeout", "100s")
    end = time.monotonic() + 30
    while not busy(service):
        measure.check(time.monotonic() < end, f"{pipeline.name} keeps no worker busy")
        time.sleep(0.05)
    reader.send_signal(signal.SIGTERM)
    seconds = first(ten, "0", "--service", service.address)
    reader.communicate(timeout=30)
    return seconds


def bench(folder, count, _rows):
    folder = pathlib.Path(folder)
    make_files(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowFiles)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{server.server_address[1]}"
    ten = measure.write(folder, "ten.yaml", TEN)
    quick = {"lines": (measure.write(folder, "lines.yaml", LINES.replace("MS", "1")), "0"),
             "mixture": (measure.write(folder, "mixture.yaml", MIXTURE.replace("MS", "1")), '{"n":0}')}
    slow = {"native": measure.write(folder, "native.yaml", LINES.replace("MS", "100")),
            "mixture": measure.write(folder, "slow_mixture.yaml", MIXTURE.replace("MS", "100")),
            "python": python_pipeline(folder / "python.yaml"),
            "store": measure.write(folder, "store.yaml", f'source: {{text: {{files: "{at}/lines.txt"}}}}\n'),
            "listing": measure.write(folder, "listing.yaml", f'source: {{text: {{files: "{at}/other.txt"}}}}\n')}
    service = measure.Service(tempfile.mkdtemp(dir=folder), flags=("--threads", "1", "--allow-python", PYTHON),
                              binary=SLEEPY)
    sides = {}
    for name, (pipeline, expected) in quick.items():
        sides[f"{name}_local"] = lambda p=pipeline, e=expected: {"seconds": first(p, e, "--local")}
        sides[f"{name}_service"] = lambda p=pipeline, e=expected: {
            "seconds": first(p, e, "--service", service.address)}
    for name, pipeline in slow.items():
        sides[f"after_{name}"] = lambda p=pipeline: {"seconds": after_leaving(p, ten, service)}
    try:
        got = measure.rounds(count, sides)
    finally:
        SlowFiles.gone.set()
        service.stop()
        server.shutdown()
    marks = {name: 0.5 if name.startswith("after") else 1.0 for name in sides}
    seconds = {name: measure.median(results, lambda r: r["seconds"]) for name, results in got.items()}
    for name, each in seconds.items():
        measure.say(f"first: {name} {each:.2f} s, mark {marks[name]} s")
    return {f"mark_vs_{name}": measure.ratio(marks[name], each) for name, each in seconds.items()}
