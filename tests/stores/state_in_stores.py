#!/usr/bin/env python3
"""Dispatchers whose state is in s3://, gs://, az://, PostgreSQL or a folder, and their standbys, on a server of this test.

    tests/stores/state_in_stores.py --binary build/release/bin/feedmill --store s3|gs|az|postgresql|folder [TEST …]"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import s3_files  # noqa: E402
from command import a_fifth, run_tests, wait_for  # noqa: E402
from gateway import free_port  # noqa: E402
from kept_in_stores import Store  # noqa: E402
from postgres import Postgres, Replica  # noqa: E402


class Place:
    """The place of the state."""

    store = None
    seconds = 10  # until a standby leads

    @classmethod
    def choose(cls, store):
        cls.store, cls.seconds = store, {"postgresql": 4, "folder": 2}.get(store, 10)
        Store.choose(store)

    @classmethod
    @contextlib.contextmanager
    def state(cls, feedmill, **faults):
        """Gives the URL of a new state, and its server."""
        if cls.store == "postgresql":
            with Postgres() as server:
                yield server.url, server
        elif cls.store == "folder":
            yield str(feedmill.folder / "kept"), None
        else:
            with Store.objects(feedmill, **faults) as (server, _):
                yield f"{Store.place()}/state", server

    @classmethod
    def faults(cls):
        return s3_files.FAULTS if cls.store == "s3" else [("status", 503), ("status", 500), ("cut", 0), ("delay", 0.1)]


# Each element takes some time, so that a read outlives its dispatcher.
PIPELINE = """source: {range: {stop: 20000}}
steps: [{map: {n: x, h: "hash_bucket(to_string(x), 1000)"}}, {batch: {size: 10}}]
options: {seed: 5}
"""


class Cluster:
    """Dispatchers, workers and readers of one state."""

    def __init__(self, feedmill, stack, state, standbys=1):
        self.feedmill = feedmill
        self.stack = stack
        self.state = state
        self.ports = [free_port() for _ in range(1 + standbys)]
        self.addresses = ",".join(f"tcp://127.0.0.1:{port}" for port in self.ports)
        self.dispatchers = {}

    def log(self, name):
        return (self.feedmill.folder / f"{name}.log").read_text()

    def begin(self, name, *arguments, wait=True):
        ready = self.feedmill.folder / f"{name}.ready"
        ready.unlink(missing_ok=True)
        with open(self.feedmill.folder / f"{name}.log", "a", encoding="utf-8") as log:
            process = subprocess.Popen([self.feedmill.binary, *arguments, "--ready-file", str(ready)],
                                       env=self.feedmill.environment, stdout=log, stderr=log)
        self.stack.callback(end, process)
        if wait:
            wait_for(lambda: ready.exists() or process.poll() is not None, f"{name} to be ready")
            assert ready.exists(), self.log(name)
        return process

    def dispatcher(self, k, *more, wait=True):
        process = self.begin(f"dispatcher{k}", "dispatcher", "--port", str(self.ports[k]), "--work-dir", self.state,
                             *more, wait=wait)
        self.dispatchers[k] = process
        return process

    def standbys(self):
        """The standbys in the status of the dispatcher that leads."""
        status = self.feedmill.run("status", "--service", self.addresses, "--format", "json")
        return json.loads(status.stdout).get("standbys", []) if status.returncode == 0 else []

    def worker(self, k):
        return self.begin(f"worker{k}", "worker", "--dispatcher", self.addresses, "--threads", "1")

    def read(self, *more, form="summary"):
        process = self.feedmill.start("read", self.feedmill.write(PIPELINE), "--service", self.addresses,
                                      "--format", form, *more)
        self.stack.callback(end, process)
        return process

    def lines(self, *more):
        """The elements of a read of a named job, from its token on."""
        process = self.read("--job", "named", "--save-token", self.feedmill.folder / "token", *more, form="jsonl")
        out, error = process.communicate(timeout=90)
        assert process.returncode == 0, error
        return out


def end(process):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def summary_of(process):
    out, error = process.communicate(timeout=90)
    assert process.returncode == 0, error
    summary = json.loads(out)
    return summary["order_hash"], summary["elements"]


def a_new_dispatcher_continues(feedmill):
    """kill -9, and a dispatcher with nothing local."""
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        cluster.worker(0)
        reader = cluster.read("--job", "named", "--limit", "700")
        assert reader.wait(60) == 0
        reader = cluster.read()
        cluster.dispatchers[0].kill()
        begun = time.monotonic()
        cluster.dispatcher(1)
        took = time.monotonic() - begun
        assert took < Place.seconds + 2, took
        assert summary_of(reader) == want
        status = feedmill.run("status", "--service", cluster.addresses, "--format", "json")
        assert status.returncode == 0 and "named" in status.stdout, status.stdout + status.stderr
        if Place.store != "folder":
            assert json.loads(status.stdout)["dispatcher"]["leads"]["term"] == 2, status.stdout


def two_dispatchers_are_refused(feedmill):
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        other = cluster.dispatcher(1, wait=False)
        assert other.wait(30) == 1
        assert f"tcp://127.0.0.1:{cluster.ports[0]}" in cluster.log("dispatcher1"), cluster.log("dispatcher1")
        # One that ended by itself has released the state.
        cluster.dispatchers[0].terminate()
        assert cluster.dispatchers[0].wait(15) == 0
        begun = time.monotonic()
        cluster.dispatcher(1)
        assert time.monotonic() - begun < 5


def standbys(feedmill, how):
    """A standby takes over from a leader that is killed or stands still; the old one is fenced."""
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        cluster.dispatcher(1, "--standby", wait=False)
        cluster.worker(0)
        cluster.worker(1)
        named = cluster.lines("--limit", "700")
        reader = cluster.read()
        ready = feedmill.folder / "dispatcher1.ready"
        assert not ready.exists()
        wait_for(lambda: cluster.standbys() and cluster.standbys()[0].get("behind_events", 0) < 200, "the standby to follow", 60)
        cluster.dispatchers[0].send_signal(how)
        begun = time.monotonic()
        wait_for(ready.exists, "the standby to lead", 30)
        took = time.monotonic() - begun
        assert took < Place.seconds, took
        assert summary_of(reader) == want
        if how == signal.SIGSTOP:
            cluster.dispatchers[0].send_signal(signal.SIGCONT)
            assert cluster.dispatchers[0].wait(30) == 1
            assert f"tcp://127.0.0.1:{cluster.ports[1]}" in cluster.log("dispatcher0"), cluster.log("dispatcher0")
        named += cluster.lines("--token", feedmill.folder / "token")
        assert named == feedmill.read(PIPELINE, "--local", "--format", "jsonl").stdout, "the named job"
        assert summary_of(cluster.read()) == want
        print(f"took over in {took:.1f} s")


def a_killed_leader_is_replaced(feedmill):
    standbys(feedmill, signal.SIGKILL)


def a_leader_that_stands_still_is_fenced(feedmill):
    standbys(feedmill, signal.SIGSTOP)


def a_leader_hands_over(feedmill):
    """A planned hand-over: the standby waits with the ports of the leader, which ends by its signal in a read."""
    long = feedmill.folder / "long.yaml"
    long.write_text(PIPELINE.replace("20000", "1000000"))
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, state, standbys=0)
        cluster.ports *= 2
        http = ("--http", f"127.0.0.1:{free_port()}")
        cluster.dispatcher(0, *http)
        cluster.worker(0)
        cluster.dispatcher(1, *http, "--standby", wait=False)
        wait_for(lambda: "standby" in cluster.log("dispatcher1"), "the standby to wait")
        reader = feedmill.start("read", long, "--service", cluster.addresses, "--format", "jsonl")
        stack.callback(end, reader)
        got, pause, last = [os.read(reader.stdout.fileno(), 1 << 16)], 0.0, time.monotonic()
        cluster.dispatchers[0].terminate()
        while got[-1]:
            got.append(os.read(reader.stdout.fileno(), 1 << 16))
            now = time.monotonic()
            pause, last = max(pause, now - last), now
        assert reader.wait(30) == 0, reader.stderr.read()
        assert cluster.dispatchers[0].wait(15) == 0, cluster.log("dispatcher0")
        assert (feedmill.folder / "dispatcher1.ready").exists(), cluster.log("dispatcher1")
        alone = feedmill.run("read", long, "--local", "--format", "jsonl")
        assert b"".join(got).decode() == alone.stdout, "elements are lost, repeated or in another order"
        assert summary_of(cluster.read()) == want
        print(f"longest pause between elements: {pause:.2f} s")


def a_state_is_copied(feedmill):
    """From a folder to the store, where a read continues, and back."""
    folder = feedmill.folder / "state"
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, str(folder))
        cluster.dispatcher(0)
        cluster.worker(0)
        reader = cluster.read("--job", "kept", "--limit", "700")
        assert reader.wait(60) == 0
        refused = feedmill.run("state", "copy", str(folder), state)
        assert refused.returncode == 1 and f":{cluster.ports[0]}" in refused.stderr, refused.stderr
        reader = cluster.read()
        cluster.dispatchers[0].terminate()
        assert cluster.dispatchers[0].wait(15) == 0
        copied = feedmill.run("state", "copy", str(folder), state)
        assert copied.returncode == 0 and "kept" in json.loads(copied.stdout)["jobs"], copied.stderr
        cluster.state = state
        cluster.dispatcher(1)
        assert summary_of(reader) == want
        cluster.dispatchers[1].terminate()
        assert cluster.dispatchers[1].wait(15) == 0
        back = feedmill.folder / "back"
        copied = feedmill.run("state", "copy", state, str(back))
        assert copied.returncode == 0, copied.stderr
        cluster.state = str(back)
        cluster.dispatcher(0)
        assert summary_of(cluster.read()) == want


def a_standby_ends_by_its_signal(feedmill):
    with Place.state(feedmill) as (state, _), contextlib.ExitStack() as stack:
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        standby = cluster.dispatcher(1, "--standby", wait=False)
        wait_for(lambda: "standby" in cluster.log("dispatcher1"), "the standby to wait")
        standby.terminate()
        assert standby.wait(10) == 0


def a_fifth_of_requests_fails(feedmill):
    with Place.state(feedmill, fault=a_fifth(Place.faults())) as (state, _), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        cluster.worker(0)
        assert summary_of(cluster.read()) == want
        cluster.dispatchers[0].kill()
        cluster.dispatcher(1)
        assert summary_of(cluster.read()) == want


def the_server_restarts(feedmill):
    """PostgreSQL is stopped in the middle of a read, and comes back."""
    with Place.state(feedmill) as (state, server), contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, state)
        cluster.dispatcher(0)
        cluster.worker(0)
        for how in ("fast", "immediate"):
            reader = cluster.read("--timeout", "60s")
            server.stop(how)
            server.start()
            assert summary_of(reader) == want
        assert cluster.dispatchers[0].poll() is None, cluster.log("dispatcher0")


def the_server_fails_over(feedmill):
    """PostgreSQL is killed in the middle of a read, and its streaming copy is promoted."""
    with Postgres() as server, Replica(server) as replica, contextlib.ExitStack() as stack:
        want = feedmill.hash_of(PIPELINE)
        cluster = Cluster(feedmill, stack, replica.url)
        cluster.dispatcher(0)
        cluster.worker(0)
        reader = cluster.read("--timeout", "60s")
        named = cluster.read("--job", "named", "--limit", "700")
        assert named.wait(60) == 0
        server.stop("immediate")
        replica.promote()
        assert summary_of(reader) == want
        assert cluster.dispatchers[0].poll() is None, cluster.log("dispatcher0")
        cluster.dispatchers[0].kill()
        cluster.dispatcher(1)
        status = feedmill.run("status", "--service", cluster.addresses)
        assert "named" in status.stdout, status.stdout + status.stderr
        assert summary_of(cluster.read()) == want


def the_example_of_the_page(feedmill):
    """gs://my-bucket/dispatcher/work_dir, in C++ and in Python, as the page about DispatchServer has it."""
    with Place.state(feedmill) as (_, server):
        server.files.create_dir("my-bucket")
        build = pathlib.Path(feedmill.binary).resolve().parents[1]
        program = "import feedmill.tf as tf\n" + EXAMPLE
        environment = dict(feedmill.environment, PYTHONPATH=str(build / "python"))
        for command in ([build / "examples" / "seed_dispatch_server"], ["/usr/bin/python3", "-c", program]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0 and "gs://: started" in done.stdout, done.stdout + done.stderr


EXAMPLE = """dispatcher = tf.data.experimental.service.DispatchServer(
    tf.data.experimental.service.DispatcherConfig(
        work_dir="gs://my-bucket/dispatcher/work_dir", fault_tolerant_mode=True, port=0))
print("gs://: started")
"""


if __name__ == "__main__":
    run_tests(__doc__, [a_new_dispatcher_continues, two_dispatchers_are_refused, a_killed_leader_is_replaced,
                        a_leader_that_stands_still_is_fenced, a_leader_hands_over, a_standby_ends_by_its_signal, a_state_is_copied,
                        a_fifth_of_requests_fails, the_server_restarts, the_server_fails_over, the_example_of_the_page],
              ("s3", "gs", "az", "postgresql", "folder"), Place.choose)
