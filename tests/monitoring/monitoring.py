"""Operators' view of real processes: states, waits, logs, HTTP, metrics. verdicts.py tests the verdict.

    monitoring.py CHECK --binary feedmill_sleepy    (a function below; it has sleep_ms, bench/sleepy_main.cc)
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import pass_time, wait_for  # noqa: E402
import yaml  # noqa: E402

SLOW_STEP = "source: {range: {stop: 100000}}\nsteps:\n  - map: 'sleep_ms(x, 5)'\n"
CHEAP = "source: {range: {stop: 2000000000}}\nsteps:\n  - batch: {size: 1024}\n"


class Cluster:
    """A dispatcher that answers over HTTP, workers and readers, in a folder of its own."""

    def __init__(self, binary, folder):
        self.binary, self.folder = str(binary), pathlib.Path(folder)
        self.processes = []
        self.environment = dict(os.environ, HOME=str(folder), FEEDMILL_INDEXES=str(self.folder / "indexes"),
                                no_proxy="127.0.0.1")

    def start(self, name, *arguments, stdout=subprocess.DEVNULL):
        log = open(self.folder / f"{name}.log", "a", encoding="utf-8")
        with log:
            process = subprocess.Popen([self.binary, *map(str, arguments)], stdout=stdout, stderr=log,
                                       env=self.environment)
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def file(self, name):
        path = self.folder / name
        wait_for(lambda: path.exists() and path.read_text(), f"{name}: {self.logs()}")
        return path.read_text().strip()

    def logs(self):
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in self.folder.glob("*.log"))

    def dispatcher(self, *flags):
        process = self.start("dispatcher", "dispatcher", "--ready-file", self.folder / "address", "--http", "127.0.0.1:0",
                             "--http-ready-file", self.folder / "http", *flags)
        self.service, self.http = self.file("address"), self.file("http")
        return process

    def worker(self, name, *flags, threads=1):
        ready = self.folder / f"{name}.ready"
        process = self.start(name, "worker", "--dispatcher", self.service, "--ready-file", ready, "--threads", threads, *flags)
        process.address = self.file(f"{name}.ready")
        return process

    def pipeline(self, text, name="pipeline"):
        path = self.folder / f"{re.sub('[^a-z]', '', name)}.yaml"
        path.write_text(text)
        return path

    def read(self, text, *flags, name="train", output="none", stdout=subprocess.DEVNULL):
        return self.start("read-" + re.sub("[^a-z]", "", name), "read", self.pipeline(text, name), "--service", self.service, "--job", name,
                          "--format", output, *flags, stdout=stdout)

    def get(self, path):
        with urllib.request.urlopen(self.http + path, timeout=20) as answer:
            return answer.read().decode()

    def status(self):
        return json.loads(self.get("/api/status"))

    def job(self, name="train"):
        return next((job for job in self.status()["jobs"] if job["name"] == name), {})

    def verdict(self, name="train"):
        try:
            return json.loads(self.get(f"/api/jobs/{name}/verdict"))
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
            return {}

    def metric(self, name, **labels):
        for line in self.get("/metrics").splitlines():
            found = re.match(rf"{name}(?:{{(.*)}})? (\S+)$", line)
            if found and all(f'{key}="{value}"' in (found[1] or "") for key, value in labels.items()):
                return float(found[2])
        return None

    def becomes(self, bound_by, name="train", part="", seconds=40):
        """Waits for a verdict that stays for two seconds, and that the status and the metrics have, too."""
        since, last = time.monotonic(), {}

        def holds():
            nonlocal since, last
            last = self.verdict(name)
            if not (last and last["bound_by"] == bound_by and part in last["where"] + last["sentence"]):
                since = time.monotonic()
            return time.monotonic() - since > 2 and last
        found = wait_for(holds, lambda: f"{bound_by} {part}; it is {last}\n{self.logs()}", seconds)
        # The three places are asked one after the other, and the verdict may change in between.
        wait_for(lambda: self.job(name)["bound_by"] == bound_by, lambda: f"{bound_by} in the status")
        wait_for(lambda: self.metric("feedmill_job_bound", job_name=name, bound_by=bound_by) == 1, lambda: f"{bound_by} in the metrics")
        return found

    def close(self):
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout:
                process.stdout.close()


def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


# ---- states, waits and logs


def states(cluster):
    """A job that was read to its end is finished, one that was left left, one that was stopped cancelled; a restart keeps it."""
    work = cluster.folder / "work"
    dispatcher = cluster.dispatcher("--work-dir", work)
    cluster.worker("w0")
    cluster.read("source: {range: {stop: 100}}\n", name="whole").wait(30)
    cluster.read(SLOW_STEP, "--limit", "20", name="part").wait(30)
    stopped = cluster.read(SLOW_STEP, name="stopped")
    wait_for(lambda: cluster.job("stopped").get("state") == "running" and cluster.job("stopped")["positions_taken"] > 0,
             "the read to begin")
    stopped.send_signal(signal.SIGTERM)
    stopped.wait(30)

    def states_now():
        return {job["name"]: job["state"] for job in cluster.status()["jobs"]}
    expected = {"whole": "finished", "part": "left", "stopped": "cancelled"}
    wait_for(lambda: states_now() == expected, lambda: f"{expected}; they are {states_now()}")
    for name, word in expected.items():
        assert f"job '{name}' ended iteration 0, {word}" in cluster.log("dispatcher"), cluster.log("dispatcher")
        assert f"job '{name}' began iteration 0" in cluster.log("dispatcher")
    assert cluster.metric("feedmill_job_elements_total", job_name="whole") == 100
    dispatcher.kill()
    dispatcher.wait()
    (cluster.folder / "address").unlink()
    (cluster.folder / "http").unlink()
    cluster.dispatcher("--work-dir", work)
    assert states_now() == expected, states_now()


def worker_logs(cluster):
    """The dispatcher names workers that join, die, come back and drain."""
    cluster.dispatcher()
    worker = cluster.worker("w0")
    wait_for(lambda: f"worker {worker.address} joined" in cluster.log("dispatcher"), cluster.logs)
    worker.kill()
    wait_for(lambda: f"lost worker {worker.address}: its connection ended" in cluster.log("dispatcher"), cluster.logs)
    (cluster.folder / "w0.ready").unlink()
    port = worker.address.rsplit(":", 1)[1]
    again = cluster.worker("w0", "--port", port)
    wait_for(lambda: f"worker {again.address} is back as another process" in cluster.log("dispatcher"), cluster.logs)
    again.terminate()
    wait_for(lambda: f"worker {again.address} drains" in cluster.log("dispatcher"), cluster.logs)
    wait_for(lambda: f"worker {again.address} left after its drain" in cluster.log("dispatcher"), cluster.logs)


def waits(cluster):
    """A reader says for what it waits after two seconds, and the status says it at once."""
    cluster.dispatcher()
    cluster.read(SLOW_STEP, "--timeout", "30s")
    wait_for(lambda: cluster.job().get("waits_for") == "a worker", lambda: cluster.job())
    wait_for(lambda: "the reader of job 'train' has waited 2 s for a worker" in cluster.log("read-train"), cluster.logs)
    cluster.becomes("workers", part="waits for a worker")
    cluster.worker("w0")
    wait_for(lambda: "waits_for" not in cluster.job(), lambda: cluster.job())


def missing_rank(cluster):
    """A rank that is missing is named."""
    cluster.dispatcher()
    cluster.worker("w0")
    cluster.read("source: {range: {stop: 100000}}\nsteps:\n  - map: 'sleep_ms(x, 1)'\n", "--consumer", "0/2", "--timeout", "30s")
    wait_for(lambda: cluster.job().get("waits_for") == "rank 1 of 2", lambda: cluster.job())
    cluster.becomes("consumer", part="rank 1 of 2")


def split_log(cluster):
    """The logs of dispatcher, worker and reader follow a split by one number, in text and in JSON."""
    debug = ("--log-level", "debug")
    cluster.dispatcher(*debug)
    cluster.worker("w0", *debug, "--log-format", "json")
    assert cluster.read("source: {range: {stop: 1000}}\n", *debug).wait(60) == 0
    dispatcher = re.findall(r"debug dispatcher: split (\d+): leased to worker", cluster.log("dispatcher"))
    assert dispatcher, cluster.log("dispatcher")
    entries = [json.loads(line) for line in cluster.log("w0").splitlines()]
    worker = {str(entry["split"]) for entry in entries if "split" in entry}
    reader = set(re.findall(r"debug reader: split (\d+): ", cluster.log("read-train")))
    assert set(dispatcher) <= worker and set(dispatcher) <= reader, (dispatcher, worker, reader)


def probes(cluster):
    """Probes of the port do not fill the log."""
    cluster.dispatcher()
    port = int(cluster.service.rsplit(":", 1)[1])
    for _ in range(50):  # a probe every 0.1 s
        socket.create_connection(("127.0.0.1", port)).close()
        pass_time(0.1)
    wait_for(lambda: cluster.metric("feedmill_dispatcher_connections_refused_total") >= 40, "the probes to be counted")
    lines = cluster.log("dispatcher").count("in the handshake")
    assert 1 <= lines <= 2, cluster.log("dispatcher")


def up_names_its_children(cluster):
    """Lines of up's children begin with their names, and one flag has its dispatcher answer over HTTP."""
    cluster.start("up", "up", "--workers", "2", "--ready-file", cluster.folder / "address", "--http", "127.0.0.1:0",
                  "--http-ready-file", cluster.folder / "http")
    cluster.service, cluster.http = cluster.file("address"), cluster.file("http")
    for name in ("dispatcher", "worker-0", "worker-1"):
        assert re.search(rf"^\S+ info {name}: ", cluster.log("up"), re.M), cluster.log("up")
    assert len(cluster.status()["workers"]) == 2


# ---- HTTP


def endpoints(cluster):
    """Every path of a dispatcher and of a worker."""
    cluster.dispatcher()
    worker = cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    assert cluster.get("/healthz") == "ok\n" and cluster.get("/readyz") == "ready\n"
    table = subprocess.run([cluster.binary, "status", "--service", cluster.service, "--format", "json"],
                           capture_output=True, text=True, check=True, timeout=30).stdout
    assert json.loads(table).keys() == cluster.status().keys()
    assert cluster.verdict("none") == {}
    reading = cluster.read(CHEAP, name="a job/with: odd #names")
    wait_for(lambda: cluster.verdict("a%20job/with:%20odd%20%23names"), "the verdict of a job with an odd name")
    dispatcher = cluster.http
    cluster.http = cluster.file("worker-http")
    assert cluster.get("/readyz") == "ready\n"
    wait_for(lambda: cluster.metric("feedmill_worker_plan_elements_total"), "the worker's metrics")
    assert cluster.metric("feedmill_worker_registered") == 1
    reading.kill()
    cluster.processes[0].kill()
    cluster.processes[0].wait()
    cluster.http = dispatcher
    try:
        cluster.get("/healthz")
        raise AssertionError("a dead dispatcher answers")
    except urllib.error.URLError:
        pass
    assert worker.poll() is None


def a_standby(cluster):
    """It answers at its own port while it waits, and leads after the one before it."""
    state = cluster.folder / "state"
    leader = cluster.dispatcher("--work-dir", state, "--standby")
    assert cluster.metric("feedmill_dispatcher_standby") == 0
    (cluster.folder / "address").unlink()
    (cluster.folder / "http").unlink()
    cluster.start("second", "dispatcher", "--ready-file", cluster.folder / "address", "--http", "127.0.0.1:0",
                  "--http-ready-file", cluster.folder / "http", "--work-dir", state, "--standby")
    cluster.http = cluster.file("http")
    assert cluster.get("/healthz") == "ok\n"
    assert cluster.metric("feedmill_dispatcher_standby") == 1
    assert cluster.metric("feedmill_dispatcher_jobs") is None
    for path in ("/readyz", "/api/status"):
        try:
            cluster.get(path)
            raise AssertionError(f"{path} of a standby answers 200")
        except urllib.error.HTTPError as error:
            assert error.code == 503, path
            assert ("standby" if path == "/readyz" else "does not run") in error.read().decode(), path
    leader.terminate()
    cluster.file("address")
    wait_for(lambda: cluster.metric("feedmill_dispatcher_standby") == 0, "the standby to lead")
    assert cluster.get("/readyz") == "ready\n"
    assert leader.wait(30) == 0


def reader_metrics(cluster):
    """A reader with --http tells its counters by job and rank, is ready once it has joined, and counts a dispatcher that comes back."""
    work = cluster.folder / "work"
    port = unused_port()
    dispatcher = cluster.dispatcher("--work-dir", work, "--port", port)
    reading = cluster.read(SLOW_STEP, "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "reader-http",
                           "--consumer", "0/1", "--timeout", "60s")
    service, cluster.http = cluster.http, cluster.file("reader-http")
    assert cluster.get("/healthz") == "ok\n"
    labels = {"job_name": "train", "rank": "0"}
    wait_for(lambda: cluster.metric("feedmill_reader_open", **labels) == 1, "the reader's metrics")
    cluster.worker("w0")
    wait_for(lambda: (cluster.metric("feedmill_reader_elements_total", **labels) or 0) > 20, "elements")
    assert cluster.get("/readyz") == "ready\n"
    assert cluster.metric("feedmill_reader_wait_seconds_total", **labels) > 0
    assert cluster.metric("feedmill_reader_window_bytes", **labels) > 0
    assert cluster.metric("process_cpu_seconds_total") > 0
    assert cluster.metric("feedmill_reader_reconnects_total", **labels) == 0
    dispatcher.kill()
    dispatcher.wait()
    (cluster.folder / "address").unlink()
    (cluster.folder / "http").unlink()
    at = cluster.http
    cluster.dispatcher("--work-dir", work, "--port", port)
    service, cluster.http = cluster.http, at
    wait_for(lambda: cluster.metric("feedmill_reader_reconnects_total", **labels) >= 1, "the reader to connect again")
    cluster.http = service
    reading.terminate()
    reading.wait(30)
    assert not (cluster.folder / "reader-http").exists()
    local = cluster.start("local", "read", cluster.pipeline(SLOW_STEP, "local"), "--local", "--format", "none", "--http", "127.0.0.1:0",
                          "--http-ready-file", cluster.folder / "local-http")
    cluster.http = cluster.file("local-http")
    wait_for(lambda: (cluster.metric("feedmill_reader_elements_total", job_name="anonymous") or 0) > 0, "elements of a local read")
    local.terminate()
    local.wait(30)
    cluster.http = service


def readyz_of_a_reader_that_waits(cluster):
    """A reader that has not joined its job is not ready, and says so."""
    cluster.service = f"localhost:{unused_port()}"
    cluster.read(SLOW_STEP, "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "reader-http", "--timeout", "60s")
    cluster.http = cluster.file("reader-http")

    def refusal():
        try:
            cluster.get("/readyz")
        except urllib.error.HTTPError as error:
            return error.code == 503 and "rank 0 of job 'train' has not joined yet" in error.read().decode()
    wait_for(refusal, "503")


def skipped_records(cluster):
    """Events, status and the table name file and record of elements that on_error left out."""
    cluster.dispatcher()
    cluster.worker("w0")
    data = cluster.folder / "lines.txt"
    data.write_text("1\n2\nthree\n4\n" + "5\n" * 2000)
    cluster.read(f"source: {{text: {{files: '{data}'}}}}\nsteps:\n  - map: {{n: 'to_number(x, int64)'}}\n"
                 "  - on_error: skip\n").wait(30)

    def named():
        return [record for event in cluster.status()["events"] for record in event.get("records", [])]
    wait_for(lambda: any("record 2 of" in record and "lines.txt" in record for record in named()), lambda: cluster.status()["events"])
    table = subprocess.run([cluster.binary, "status", "--service", cluster.service], capture_output=True, text=True,
                           check=True, timeout=30).stdout
    assert re.search(r"^left out lately\n  train: record 2 of .*lines.txt", table, re.M), table


# ---- commands


def watch(cluster):
    """status --watch prints again and again, and waits for a dispatcher that is away. --format yaml has the same values."""
    dispatcher = cluster.dispatcher()
    status = [cluster.binary, "status", "--service", cluster.service]
    text = subprocess.run([*status, "--format", "yaml"], capture_output=True, text=True, check=True, timeout=30).stdout
    assert yaml.safe_load(text).keys() == cluster.status().keys(), text
    assert yaml.safe_load(text)["totals"] == cluster.status()["totals"], text
    bare = cluster.start("bare", "status", "--service", cluster.service, "--watch", "--format", "json", stdout=subprocess.PIPE)
    for _ in range(2):
        assert json.loads(bare.stdout.readline())["jobs"] == []
    bare.terminate()
    assert bare.wait(20) == 0
    watching = cluster.start("watch", "status", "--service", cluster.service, "--format", "json", "--watch", "100ms",
                             "--timeout", "200ms", stdout=subprocess.PIPE)
    for _ in range(3):
        assert json.loads(watching.stdout.readline())["jobs"] == []
    dispatcher.kill()
    wait_for(lambda: "no dispatcher answered" in cluster.log("watch"), cluster.logs)
    assert watching.poll() is None
    watching.terminate()
    assert watching.wait(20) == 0


def profile_verdict(cluster):
    """read --profile says the dispatcher's verdict, also on a job without a name, and one of the same form of a local read."""
    cluster.dispatcher()
    waiting = cluster.read(SLOW_STEP, "--profile", "--timeout", "60s")
    wait_for(lambda: "has waited 2 s for a worker" in cluster.log("read-train"), cluster.logs)
    waiting.terminate()
    waiting.wait(30)
    assert " s CPU; the job waits for a worker: there is none; start some\n" in cluster.log("read-train"), cluster.logs()
    cluster.worker("w0")
    busy = (r"s CPU; the reader waits for data \d+ % of its time: steps\[0\] map takes \d+ % of the {0}' time[^;]*; "
            r"make it cheaper or add {0}( on machines with free cores)? \((many times|up to [\d.]+ times) faster\)")
    pipeline = cluster.pipeline(SLOW_STEP)
    for name, makers, where in (("unnamed", "workers", ("--service", cluster.service)), ("local", "threads", ("--local", "--threads", "2"))):
        assert cluster.start(name, "read", pipeline, *where, "--limit", "600", "--format", "none", "--profile").wait(60) == 0
        assert re.search(busy.format(makers), cluster.log(name)), cluster.log(name)


class Terminal:
    """A process in a pseudo-terminal."""

    def __init__(self, cluster, *arguments, columns=120, rows=40):
        self.fd, inner = pty.openpty()
        self.resize(columns, rows)
        self.process = subprocess.Popen([cluster.binary, *arguments], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env=dict(cluster.environment, TERM="xterm"))
        os.close(inner)
        self.shown = ""
        cluster.processes.append(self.process)

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def shows(self, text):
        """Reads on; whether the text was written since the last call that found its own."""
        if select.select([self.fd], [], [], 0.05)[0]:
            with contextlib.suppress(OSError):  # the other end is closed
                self.shown += os.read(self.fd, 65536).decode(errors="replace")
        if text not in self.shown:
            return False
        self.shown = self.shown.split(text, 1)[1]
        return True

    def await_text(self, text):
        wait_for(lambda: self.shows(text), lambda: f"{text!r}; it wrote {self.shown[-3000:]!r}")


def top(cluster):
    """top shows verdict, jobs, waits, workers and events, follows a dead worker, a new size and a dead dispatcher; q ends it."""
    dispatcher = cluster.dispatcher()
    refused = subprocess.run([cluster.binary, "top", "--service", cluster.service], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=30, env=cluster.environment)
    assert refused.returncode == 1 and "top needs a terminal" in refused.stderr, refused
    terminal = Terminal(cluster, "top", "--service", cluster.service, "--interval", "200ms", "--timeout", "500ms")
    terminal.await_text("no job yet")
    terminal.await_text("no worker has registered")
    worker = cluster.worker("w0")
    cluster.worker("w1")
    terminal.await_text(worker.address.removeprefix("tcp://"))
    cluster.read(SLOW_STEP)
    terminal.await_text("steps[0] map")
    terminal.await_text("waits for data")
    worker.kill()
    terminal.await_text("lost worker")
    terminal.resize(60, 20)
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.await_text("feedmill top")
    terminal.press("\x1bOB\x1b[6~j")
    dispatcher.kill()
    terminal.await_text("last seen")
    terminal.press("q")
    terminal.await_text("\x1b[?1049l")  # the screen as it was before
    assert terminal.process.wait(20) == 0
    os.close(terminal.fd)
    ended = Terminal(cluster, "top", "--service", cluster.service, "--timeout", "500ms")
    ended.await_text("no answer")
    ended.press("\x03")
    assert ended.process.wait(20) == 0
    os.close(ended.fd)


def doctor(cluster):
    """It names what is wrong with a service: no dispatcher, no workers, a worker that cannot be reached."""
    def says():
        done = subprocess.run([cluster.binary, "doctor", "--service", service], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout
    service = f"localhost:{unused_port()}"
    code, text = says()
    assert code == 1 and re.search(r"^failed +dispatcher +nothing listens at", text, re.M), text
    cluster.dispatcher()
    service = cluster.service
    code, text = says()
    assert code == 1 and re.search(r"^failed +workers +there are none", text, re.M), text
    cluster.worker("w0")
    code, text = says()
    assert code == 0 and re.search(r"^ok +worker +tcp:\S+ can be reached$", text, re.M), text
    cluster.worker("w1", "--advertise", f"127.0.0.1:{unused_port()}")
    code, text = says()
    assert code == 1 and re.search(r"^failed +worker +tcp:\S+ cannot be reached from here", text, re.M), text


def unreachable_worker(cluster):
    """Verdict, status, events and log name a worker that a reader cannot reach, until it is gone."""
    cluster.dispatcher()
    cut_off = cluster.worker("w0", "--advertise", f"127.0.0.1:{unused_port()}")
    reading = cluster.read(SLOW_STEP, "--timeout", "60s")
    found = cluster.becomes("link", part=f"the reader cannot reach worker {cut_off.address}: check the worker's --advertise")
    assert found["where"] == cut_off.address, found
    assert cluster.job()["sessions"][0]["unreachable"] == [cut_off.address], cluster.job()
    text = f"reader 'solo' of job 'train' cannot reach worker {cut_off.address}"
    assert text in cluster.log("dispatcher"), cluster.logs()
    table = subprocess.run([cluster.binary, "status", "--service", cluster.service], capture_output=True, text=True, timeout=30).stdout
    assert f"the reader cannot reach worker {cut_off.address}" in table, table
    assert len(re.findall(text, table)) == 1, table
    cut_off.terminate()
    cluster.worker("w1")
    wait_for(lambda: cluster.job().get("positions_taken", 0) > 0, cluster.logs)
    wait_for(lambda: "unreachable" not in cluster.job()["sessions"][0], lambda: cluster.job())
    reading.terminate()


def releases(cluster):
    """The status and the metrics have releases, and the doctor compares them."""
    cluster.dispatcher("--work-dir", cluster.folder / "work")
    cluster.worker("w0")
    release = cluster.status()["release"]
    assert cluster.status()["workers"][0]["release"] == release
    assert cluster.metric("feedmill_build_info", release=release) == 1
    assert wait_for(lambda: cluster.metric("feedmill_dispatcher_work_dir_free_bytes"), "free space") > 0
    done = subprocess.run([cluster.binary, "doctor", "--service", cluster.service], capture_output=True, text=True, timeout=60)
    assert re.search(rf"^ok +releases +the dispatcher and 1 worker have {re.escape(release)}$", done.stdout, re.M), done
    assert re.search(r"^\w+ +work dir +\d+ MiB left", done.stdout, re.M), done


def all_events(cluster):
    """status --events prints events beyond the last 50."""
    cluster.dispatcher()
    cluster.worker("w0")
    for k in range(30):
        assert cluster.read("source: {range: {stop: 10}}\n", name=f"job{k}").wait(30) == 0
    assert len(cluster.status()["events"]) == 50
    status = [cluster.binary, "status", "--service", cluster.service, "--events"]
    events = json.loads(subprocess.run([*status, "--format", "json"], capture_output=True, check=True, timeout=30).stdout)
    assert len(events) > 60 and "joined" in events[0]["text"], events
    table = subprocess.run(status, capture_output=True, text=True, check=True, timeout=30).stdout
    assert table.count("\n") == len(events) and "ago  job: job 'job29' ended iteration 0, finished" in table, table


def main(checks):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check")
    parser.add_argument("--binary", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="monitoring-") as folder:
        cluster = Cluster(arguments.binary, folder)
        try:
            checks[arguments.check](cluster)
        except AssertionError:
            print(cluster.logs(), file=sys.stderr)
            raise
        finally:
            cluster.close()


if __name__ == "__main__":
    main(globals())
