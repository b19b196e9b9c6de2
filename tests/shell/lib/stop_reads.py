#!/usr/bin/env python3
"""stop_reads.py WHAT FEEDMILL FOLDER: stops real reads at random moments.

sharers  Three readers share a job of order any, and two of them stop. Each element must have been printed once.
tokens   One reader with --save-token stops, locally and through the service; another resumes from the token. Together
         they must print what one prints.
frozen   A reader that shares a job is frozen within a chunk, until the others have its rest. Awake again it must print
         nothing of that. One variant.

Ten variants each of the others, of the seeds 0 to 9: how it stops (SIGTERM, SIGINT, a limit, timeout(1), an output that is closed),
when, how fast its output is taken, and how long lines are. All that is printed must be whole lines. Prints one line for
each variant; the exit status is 1 if one failed. Every wait is bounded."""
import collections
import fcntl
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from waits import pass_time, wait_for  # noqa: E402

PATIENCE = 60  # seconds that anything may take
COUNT = 9000
F_SETPIPE_SZ = 1031


class Failure(AssertionError):
    pass


class Cluster:
    """A dispatcher, and workers when they are asked for."""

    def __init__(self, command, folder, *flags):
        self.command, self.folder, self.processes = command, folder, []
        folder.mkdir()
        self.service = self.start("dispatcher", "--port", 0, *flags)

    def start(self, role, *flags):
        ready = self.folder / f"{role}-{len(self.processes)}.ready"
        with open(ready.with_suffix(".log"), "w") as log:
            self.processes.append(subprocess.Popen([self.command, role, "--ready-file", ready, *map(str, flags)], stderr=log))
        until(lambda: ready.exists(), f"the {role} to be ready")
        return ready.read_text().strip()

    def start_workers(self):
        for _ in range(2):
            self.start("worker", "--port", 0, "--threads", 1, "--dispatcher", self.service)

    def status(self):
        return json.loads(subprocess.run([self.command, "status", "--service", self.service, "--format", "json"],
                                         stdout=subprocess.PIPE, check=True, timeout=PATIENCE).stdout)

    def sessions(self):
        return [session for job in self.status()["jobs"] for session in job["sessions"]]

    def kill(self):
        for process in self.processes:
            process.kill()
            process.wait()


def until(fact, what):
    wait_for(fact, what, PATIENCE)


class Taker:
    """A feedmill read, and the output in its pipe."""

    def __init__(self, command, log, pause=0.0, pipe_bytes=1 << 16, held=False):
        self.may_take = threading.Event()
        if not held:
            self.may_take.set()
        self.ends, writer = os.pipe()
        fcntl.fcntl(self.ends, F_SETPIPE_SZ, pipe_bytes)
        with open(log, "w") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdout=writer, stderr=errors)
        os.close(writer)
        self.log, self.pause, self.text = log, pause, bytearray()
        self.changed, self.ended, self.closes_at = threading.Condition(), False, None
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def waiting(self):
        """Bytes in the pipe."""
        return int.from_bytes(fcntl.ioctl(self.ends, termios.FIONREAD, bytes(4)), sys.byteorder)

    def stands_still(self):
        before = self.waiting()
        pass_time(0.2)
        return before == self.waiting()

    def take(self):
        self.may_take.wait(PATIENCE)
        while self.closes_at is None or len(self.text) < self.closes_at:
            data = os.read(self.ends, 1 << 12)
            if not data:
                break
            with self.changed:
                self.text += data
                self.changed.notify_all()
            if self.pause:
                pass_time(self.pause)
        os.close(self.ends)
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, size):
        with self.changed:
            self.changed.wait_for(lambda: len(self.text) >= size or self.ended, PATIENCE)

    def finish(self, *statuses):
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"it did not end within {PATIENCE} s; see {self.log}") from None
        self.thread.join(PATIENCE)
        if status not in statuses:
            raise Failure(f"exit status {status} instead of {statuses}; see {self.log}: "
                          f"{pathlib.Path(self.log).read_text()[-500:]}")
        if not self.text.endswith(b"\n") and self.text and self.closes_at is None:
            raise Failure(f"half a line was printed: {bytes(self.text[-80:])}")
        return bytes(self.text)


def whole_lines(text):
    return text[:text.rfind(b"\n") + 1].splitlines()


class Variant:
    def __init__(self, seed, command, folder):
        self.random, self.seed = random.Random(seed), seed
        self.command, self.folder = command, folder
        self.cluster = Cluster(command, folder / f"cluster-{seed}")
        self.service = self.cluster.service
        self.ways = ["term", "int", "limit", "timeout", "term", "limit"]
        # Lines of a few bytes, of one that a pipe takes as a whole, and longer ones.
        self.width = self.random.choice((0, 0, 40, 700))
        self.pause = self.random.choice((0, 0, 0.0005, 0.002))
        self.pipe_bytes = self.random.choice((1 << 12, 1 << 16))
        self.about = []

    def pipeline(self, order):
        steps = [f"{{map: \"x + full([{self.width}], 1000000000)\"}}"] if self.width else []
        path = self.folder / f"{order}-{self.seed}.yaml"
        path.write_text(f"source: {{range: {{stop: {COUNT}}}}}\nsteps: [{{filter: \"x >= 0\"}}"
                        + "".join(", " + step for step in steps) + f"]\noptions: {{seed: 1, order: {order}}}\n")
        return path

    def read(self, name, *arguments, way=None, **how):
        """Starts one that stops in that way, at a moment of its own."""
        words = [self.command, "read", *arguments]
        if way == "limit":
            words += ["--limit", self.random.choice((1, 2, self.random.randrange(1, COUNT // 2)))]
        if way == "timeout":
            words = ["timeout", "-k", PATIENCE, f"{self.random.uniform(0.2, 0.6):.3f}", *words]
        self.about.append(f"{name}: {way}")
        return Taker(words, self.folder / f"{name}-{self.seed}.log", **how)

    def stop(self, taker, way, whole):
        """The exit statuses that it may have then."""
        if way in ("term", "int"):
            taker.wait_for(self.random.randrange(1, whole // 2))
            if taker.process.poll() is None:
                taker.process.send_signal(signal.SIGTERM if way == "term" else signal.SIGINT)
            return (0, 128 + (signal.SIGTERM if way == "term" else signal.SIGINT))
        if way == "close":
            return (0,)
        return (0, 124, 128 + signal.SIGTERM) if way == "timeout" else (0,)


def sharers(variant):
    path = variant.pipeline("any")
    expected = subprocess.run([variant.command, "read", path, "--local"], stdout=subprocess.PIPE, check=True).stdout
    rest = ("--service", variant.service, "--job", "shared", path)
    ways = [variant.random.choice(("term", "int", "limit")) for _ in range(2)]
    stopping = [variant.read(f"stops-{k}", *rest, way=way, pause=variant.pause, pipe_bytes=variant.pipe_bytes)
                for k, way in enumerate(ways)]
    stays = variant.read("stays", *rest)
    until(lambda: len(variant.cluster.sessions()) == 3, "three readers to join")
    variant.cluster.start_workers()
    printed = []
    for taker, way in zip(stopping, ways):
        printed.append(taker.finish(*variant.stop(taker, way, len(expected))))
    printed.append(stays.finish(0))
    had = collections.Counter(line for text in printed for line in text.splitlines())
    wanted = collections.Counter(expected.splitlines())
    lost, repeated = sum((wanted - had).values()), sum((had - wanted).values())
    if lost or repeated:
        raise Failure(f"{lost} elements lost, {repeated} printed twice")
    return [len(text.splitlines()) for text in printed]


def tokens(variant):
    path = variant.pipeline("deterministic")
    expected = subprocess.run([variant.command, "read", path, "--local"], stdout=subprocess.PIPE, check=True).stdout
    variant.cluster.start_workers()
    counts = []
    for where in (["--local"], ["--service", variant.service]):
        way = variant.random.choice(variant.ways + ["close"])
        token = variant.folder / f"token-{variant.seed}"
        token.unlink(missing_ok=True)
        taker = variant.read("token" + where[0], *where, path, "--save-token", token, way=way, pause=variant.pause,
                             pipe_bytes=variant.pipe_bytes)
        if way == "close":
            taker.closes_at = variant.random.randrange(1, len(expected) // 2)
        printed = taker.finish(*variant.stop(taker, way, len(expected)))
        if not token.exists():
            if printed:
                raise Failure(f"{len(printed)} bytes were printed and no token saved")
            continue
        after = subprocess.run([variant.command, "read", "--local", path, "--token", token], stdout=subprocess.PIPE,
                               check=True, timeout=PATIENCE).stdout
        if way == "close":  # what is in the pipe then counts as printed
            gap = len(expected) - len(after) - len(printed)
            if not expected.endswith(after) or not expected.startswith(printed):
                raise Failure("the rest is not that of the same sequence")
            if not -len(printed[printed.rfind(b"\n") + 1:]) <= gap <= variant.pipe_bytes:
                raise Failure(f"the token is {gap} bytes behind what was taken from the pipe")
        elif printed + after != expected:
            lines, all_of_it = printed.splitlines() + after.splitlines(), expected.splitlines()
            raise Failure(f"{len(lines)} lines of {len(all_of_it)}: the token does not say what was printed")
        counts.append(len(whole_lines(printed)))
    return counts


def frozen(command, folder):
    cluster = Cluster(command, folder / "cluster", "--sharer-timeout", "2s")
    try:
        cluster.start_workers()
        path = folder / "frozen.yaml"
        path.write_text("source: {range: {stop: 100000}}\noptions: {seed: 1, order: any}\n")
        words = [command, "read", path, "--service", cluster.service, "--job", "frozen"]
        sleeper = Taker(words, folder / "sleeper.log", held=True)
        # Each page of the pipe holds whole lines.
        until(lambda: sleeper.waiting() > 1 << 15, "a pipe that is half full")
        until(lambda: sleeper.stands_still(), "a full pipe")
        full = time.monotonic()
        # It has reported the lines that it printed.
        until(lambda: any(time.monotonic() - session["last_heard_s"] > full + 0.3 for session in cluster.sessions()), "a beat")
        sleeper.process.send_signal(signal.SIGSTOP)
        until(lambda: cluster.status()["faults"]["sessions_released"] == 1, "the reader to be released")
        other = Taker(words, folder / "other.log").finish(0)
        sleeper.process.send_signal(signal.SIGCONT)
        sleeper.may_take.set()
        printed = sleeper.finish(0)
        lines = collections.Counter((printed + other).splitlines())
        if len(lines) != 100000 or lines.total() != 100000:
            raise Failure(f"{lines.total()} lines of 100000, {len(lines)} of them different")
        print(f"frozen: lines {len(printed.splitlines())} and {len(other.splitlines())}")
    finally:
        cluster.kill()


def main():
    what, command, folder = sys.argv[1:]
    if what == "frozen":
        return frozen(command, pathlib.Path(folder))
    failed = 0
    for seed in range(10):
        variant = Variant(seed, command, pathlib.Path(folder))
        try:
            counts = {"sharers": sharers, "tokens": tokens}[what](variant)
            print(f"{what} {seed}: {', '.join(variant.about)}; lines {counts}", flush=True)
        except AssertionError as failure:
            failed += 1
            print(f"{what} {seed} FAILED: {', '.join(variant.about)}; lines of {variant.width} numbers, a pause of "
                  f"{variant.pause} s, a pipe of {variant.pipe_bytes}: {failure}", flush=True)
        finally:
            variant.cluster.kill()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
