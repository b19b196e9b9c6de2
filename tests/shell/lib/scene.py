"""Processes of feedmill in a folder of their own, for tests of real processes."""
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import waits  # noqa: E402

PATIENCE = 90  # limit in seconds for every wait


class Failure(Exception):
    """A trial did not go as it must; the text says how."""


def require(condition, what):
    if not condition:
        raise Failure(what)


def wait_for(what, condition, seconds=PATIENCE, pause=0.01):
    """Returns the result of `condition` when it is true. `pause`: seconds between two calls; 0: none."""
    try:
        return waits.wait_for(condition, what, seconds, pause)
    except AssertionError as late:
        raise Failure(str(late)) from None


class Process(subprocess.Popen):
    """A child that dies with this program, and its log."""

    def __init__(self, folder, name, command, prefix=(), **more):
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "ab") as log:
            super().__init__([*map(str, prefix), "setpriv", "--pdeathsig", "KILL", *map(str, command)],
                             stdin=subprocess.DEVNULL, stderr=log, **more)

    def end(self):
        """Kills the process if it runs."""
        if self.poll() is None:
            self.kill()
        self.wait()

    def freeze(self, frozen):
        self.send_signal(signal.SIGSTOP if frozen else signal.SIGCONT)

    def must_end(self, *statuses):
        try:
            got = self.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end; see {self.log}") from None
        require(got in statuses, f"{self.name} ended with {got}, not {' or '.join(map(str, statuses))}; see {self.log}")


class Scene:
    """A folder and the processes of one trial; all of them end with it. The folder stays if the trial fails."""

    def __init__(self, binary, folder=None):
        self.binary, self.processes = binary, []
        self.folder = folder or pathlib.Path(tempfile.mkdtemp(prefix="feedmill-scene-"))
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir(exist_ok=True)
        self.environment = {**os.environ, "TMPDIR": str(self.tmp)}
        self.directory = None  # of the processes; None: of this program

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _trace):
        for process in self.processes:
            process.end()
            if process.stdout:
                process.stdout.close()
        if kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"logs: {self.folder}", file=sys.stderr)

    def start(self, name, *arguments, stdout=subprocess.DEVNULL, prefix=()):
        process = Process(self.folder, name, [self.binary, *arguments], prefix, stdout=stdout, env=self.environment,
                          cwd=self.directory)
        self.processes.append(process)
        return process

    def serve(self, name, role, *flags, **more):
        """Starts a server, whose `address` tells when it is ready."""
        return self.start(name, role, "--ready-file", self.folder / f"{name}.ready", *flags, **more)

    def address(self, process):
        ready = self.folder / f"{process.name}.ready"
        wait_for(f"{process.name} to be ready", lambda: ready.exists() or process.poll() is not None, pause=0.005)
        require(ready.exists(), f"{process.name} ended with {process.poll()}; see {process.log}")
        return ready.read_text().strip()

    def pipeline(self, name, text):
        path = self.folder / f"{name}.yaml"
        path.write_text(text)
        return path


class Cluster(Scene):
    """A dispatcher with a work-dir, and workers that come and go."""

    def __init__(self, binary, folder, workers=3, python=None):
        """`python`: the interpreter of the workers' functions."""
        super().__init__(binary, folder)
        self.environment["PYTHONPATH"] = str(folder)
        self.flags = ["--allow-python", python] if python else []  # of workers
        self.work_dir = folder / "work"
        self.numbers = itertools.count()
        self.service, self.dispatcher, self.workers, self.leaving = None, None, [], []
        self.start_dispatcher()
        for _ in range(workers):
            self.start_worker()
        for worker in self.workers:
            self.address(worker)

    def start_server(self, role, *flags):
        return self.serve(f"{role}-{next(self.numbers)}", role, *flags)

    def start_dispatcher(self):
        port = self.service.rsplit(":", 1)[1] if self.service else 0
        self.dispatcher = self.start_server("dispatcher", "--port", port, "--work-dir", self.work_dir)
        self.service = self.address(self.dispatcher)

    def start_worker(self):
        self.workers.append(self.start_server("worker", "--port", 0, "--threads", 1, "--dispatcher", self.service, *self.flags))

    def stop(self):
        """Ends all in order; checks that they leave nothing but the journal."""
        for worker in self.workers + self.leaving:
            if worker in self.workers:
                self.address(worker)
                worker.send_signal(signal.SIGTERM)
            worker.must_end(0)
        self.dispatcher.send_signal(signal.SIGTERM)
        self.dispatcher.must_end(0)
        left = {path.name for path in self.work_dir.iterdir()} - {"journal.db", "journal.seal", "lock"}
        left |= {path.name for path in self.tmp.iterdir()}
        require(not left, "left behind: " + ", ".join(sorted(left)))

    def kill(self):
        for process in self.processes:
            process.end()
