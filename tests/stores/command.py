"""The command feedmill, in a folder of its own with files to read, and the main function of its tests."""
import argparse
import contextlib
import json
import os
import pathlib
import sys
import random
import signal
import subprocess
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import wait_for  # noqa: E402
from files import PIPELINES, make_files, pipeline  # noqa: E402


class Feedmill:
    """The command, in a folder of its own."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = pathlib.Path(folder)
        self.files = self.folder / "files"
        self.names = make_files(self.files)
        self.environment = dict(os.environ, FEEDMILL_INDEXES=str(self.folder / "indexes"), HOME=str(self.folder),
                                no_proxy="127.0.0.1")

    def start(self, *arguments, patience="60s", **more):
        environment = dict(self.environment, FEEDMILL_HTTP_PATIENCE=patience)
        return subprocess.Popen([self.binary, *map(str, arguments)], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def run(self, *arguments, patience="60s"):
        process = self.start(*arguments, patience=patience)
        try:
            out, error = process.communicate(timeout=90)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{arguments}: did not end: {process.communicate()}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, error)

    def write(self, text):
        path = self.folder / "pipeline.yaml"
        path.write_text(text)
        return path

    def read(self, text, *flags, patience="60s"):
        """The finished `read` of a pipeline's text; --local without flags."""
        return self.run("read", self.write(text), *(flags or ["--local"]), patience=patience)

    def hash_of(self, text, *flags):
        """Order hash and number of elements."""
        done = self.read(text, *(flags or ["--local"]), "--format", "summary")
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        summary = json.loads(done.stdout)
        return summary["order_hash"], summary["elements"]

    def refused(self, text, *parts, flags=(), patience="60s"):
        """Asserts that a read fails with a message that has these parts."""
        done = self.read(text, *flags, patience=patience)
        assert done.returncode in (1, 2), f"exit {done.returncode}: {done.stdout[:300]} {done.stderr}"
        for part in parts:
            assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
        return done

    @contextlib.contextmanager
    def cluster(self, workers, patience="60s", work_dir=None):
        """A dispatcher and workers. Gives the address and the workers."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        processes = []

        def begin(name, *arguments):
            ready = folder / f"{name}.ready"
            environment = dict(self.environment, FEEDMILL_HTTP_PATIENCE=patience)
            with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
                processes.append(subprocess.Popen([self.binary, *arguments, "--ready-file", str(ready)],
                                                  env=environment, stdout=log, stderr=log))
            wait_for(ready.exists, f"{name} to be ready")
            return ready.read_text().strip()

        try:
            kept = ["--work-dir", str(work_dir)] if work_dir else []
            address = begin("dispatcher", "dispatcher", "--port", "0", *kept)
            for k in range(workers):
                begin(f"worker{k}", "worker", "--dispatcher", address, "--threads", "1")
            yield address, processes[1:], folder
        finally:
            for process in reversed(processes):
                process.terminate()
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def save_in_steps(feedmill, text, place):
    """Reads with tokens in the store, in three processes; returns the lines."""
    lines = []
    for flags in (["--limit", "1000"], ["--token", f"{place}/t0", "--limit", "777", "--save-every", "100"], ["--token", f"{place}/t0"]):
        done = feedmill.read(text, "--local", "--save-token", f"{place}/t0", *flags)
        assert done.returncode == 0, done.stderr
        lines += done.stdout.splitlines()
    return lines


def kinds_of(feedmill):
    return [kind for kind in PIPELINES if kind in feedmill.names]


# Formats whose order is compared with every number of workers; the others take turns.
ALWAYS = ("tfrecord", "array_record", "parquet", "arrow")


def same_elements(feedmill, place, kinds=None, workers=(1, 2, 3)):
    """Asserts that the files below a URL give what local files give, in this process and through a service."""
    kinds = kinds or kinds_of(feedmill)
    want = {}
    for kind in kinds:
        want[kind] = feedmill.hash_of(pipeline(kind, feedmill.files, feedmill.names[kind]))
        assert want[kind][1] > 20, f"{kind}: {want[kind]}"
        got = feedmill.hash_of(pipeline(kind, place, feedmill.names[kind]))
        assert got == want[kind], f"{kind}: {got} of URLs, {want[kind]} of files"
    if "array_record" in want and "same_records" in want:
        assert want["array_record"] == want["same_records"], want
    for turn, count in enumerate(workers):
        with feedmill.cluster(count) as (address, _, _):
            for k, kind in enumerate(kinds):
                if kind not in ALWAYS and k % len(workers) != turn:
                    continue
                got = feedmill.hash_of(pipeline(kind, place, feedmill.names[kind]), "--service", address)
                assert got == want[kind], f"{kind}, {count} workers: {got} of URLs, {want[kind]} of files"


def a_fifth(faults, seed=9):
    """A fault for a proxy: one of these for 20 % of the requests."""
    chance = random.Random(seed)
    return lambda _: chance.choice(faults) if chance.random() < 0.2 else None


class Holder:
    """A fault that holds requests, from the n-th on, until `released` is set; `then` gives the faults after that."""

    def __init__(self, first, then):
        self.first = first
        self.then = then
        self.reached = threading.Event()
        self.released = threading.Event()

    def __call__(self, request):
        if request.number < self.first:
            return None
        self.reached.set()
        assert self.released.wait(60), "the test does not go on"
        return self.then(request)


def same_after_kills(feedmill, place, server, faults, cases):
    """Kills workers in the middle of a read, whose requests then fail as a_fifth says. `cases`: (kind, workers). The
    last worker that is left is replaced by a new one."""
    for kind, count in cases:
        if kind not in feedmill.names:
            continue
        want = feedmill.hash_of(pipeline(kind, feedmill.files, feedmill.names[kind]))
        text = pipeline(kind, place, feedmill.names[kind])
        server.fault = None
        begin = server.count
        with feedmill.cluster(count) as (address, _, _):
            assert feedmill.hash_of(text, "--service", address) == want, kind
        requests = server.count - begin
        with feedmill.cluster(count) as (address, workers, _), contextlib.ExitStack() as added:
            # Indexes are made by the first read only, and most other requests are the workers'.
            held = Holder(server.count + requests // 3, a_fifth(faults))
            server.fault = held
            process = feedmill.start("read", feedmill.write(text), "--service", address, "--format", "summary")
            try:
                wait_for(lambda held=held, process=process: held.reached.is_set() or process.poll() is not None,
                         "requests of the workers")
                assert held.reached.is_set(), f"{kind}: {requests} requests, then {server.count - held.first}: {process.communicate()}"
                for worker in workers[:max(1, count - 1)]:
                    worker.send_signal(signal.SIGKILL)
                    worker.wait()
                if count == 1:
                    new = feedmill.start("worker", "--dispatcher", address, "--threads", "1")
                    added.callback(lambda new=new: (new.terminate(), new.communicate()))
            finally:
                held.released.set()
            out, error = process.communicate(timeout=90)
            assert process.returncode == 0, f"{kind}: {error}"
            summary = json.loads(out)
            assert (summary["order_hash"], summary["elements"]) == want, f"{kind}, {count} workers: {summary}"


def same_after_odd_answers(feedmill, proxy, text, name):
    """Answers with more or fewer bytes than asked for: never other lines, and an error that names the object."""
    want = feedmill.read(text, "--local").stdout
    for fault in (("longer", 1000), ("short", 300), ("short", 0)):
        proxy.fault = lambda request, fault=fault: fault if request.begin > 4_000_000 else None
        done = feedmill.read(text, "--local", patience="1s")
        if done.returncode == 0:
            assert done.stdout == want, f"{fault}: other lines"
        else:
            assert done.returncode == 1 and f"{name}: " in done.stderr, f"{fault}: {done.returncode} {done.stderr}"
            assert "line 0 " in done.stdout and want.startswith(done.stdout), f"{fault}: other lines"
        print(f"{fault}: exit {done.returncode}: {done.stderr.strip()}")


def run_tests(doc, tests, stores=(), choose=None):
    """Runs the tests that the command line names, or all, each in a folder of its own. `tests`: functions, or functions
    by name. `stores`: choices of --store, of which `choose` gets the chosen one."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    if stores:
        parser.add_argument("--store", choices=stores, required=True)
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    if stores:
        choose(arguments.store)
    binary = str(pathlib.Path(arguments.binary).resolve())
    by_name = tests if isinstance(tests, dict) else {test.__name__: test for test in tests}
    for name in arguments.tests or by_name:
        with tempfile.TemporaryDirectory() as folder:
            by_name[name](Feedmill(binary, folder))
        print(f"{name}: ok")
