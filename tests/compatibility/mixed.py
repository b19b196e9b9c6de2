"""This version beside an earlier one: upgrades in the middle of a read, and refusals.

    mixed.py CHECK --binary feedmill --earlier feedmill

CHECK is a function below. `--earlier` is the command of an earlier version
(tests/compatibility/earlier.txt).
"""

import argparse
import contextlib
import fcntl
import itertools
import json
import re
import sys
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from waits import wait_for  # noqa: E402

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded"  # by `record` below
F_SETPIPE_SZ = 1031
# Far more bytes than readers and workers hold: a read that stands still has most before it.
PIPELINE = f"""source: {{range: {{stop: 24000}}}}
steps:
  - shuffle
  - filter: "x % 6 != 0"
  - map: {{n: x, pad: "'{"x" * 10_000}'"}}
  - batch: {{size: 4}}
options: {{seed: 7}}
"""
BATCHES = 5000
SMALL = """source: {range: {stop: 4000}}
steps:
  - shuffle
  - map: {n: x, noise: "random.uniform()"}
  - filter: "n % 7 != 0"
  - batch: {size: 4}
options: {seed: 3}
"""


class Reader:
    """A read whose lines are taken one by one: it stands still meanwhile."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        assert process.stdout is not None
        self.out = process.stdout
        fcntl.fcntl(self.out, F_SETPIPE_SZ, 4096)

    def take(self, count: int) -> list[bytes]:
        return list(itertools.islice(self.out, count))

    def rest(self) -> list[bytes]:
        lines = self.out.readlines()
        assert self.process.wait(30) == 0, f"the read ended with {self.process.returncode}"
        return lines

    def stop(self) -> list[bytes]:
        """Ends the read by SIGTERM between two lines; the lines up to there."""
        self.process.send_signal(signal.SIGTERM)
        lines = self.out.readlines()
        self.process.wait(30)
        return lines


class Service:
    """Processes of several versions in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.started = itertools.count()
        self.address = ""

    def start(
        self, binary: Path, *arguments: str | Path, **options: int
    ) -> "subprocess.Popen[bytes]":
        name = f"{next(self.started):02}-{arguments[0]}"
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [binary, *arguments],
                stderr=log,
                cwd=self.folder,
                **{"stdout": subprocess.DEVNULL} | options,
            )
        self.processes.append(process)
        return process

    def logs(self) -> str:
        return "\n".join(
            f"{log.name}: {log.read_text()[-1500:]}" for log in sorted(self.folder.glob("*.log"))
        )

    def ready(self, process: "subprocess.Popen[bytes]", file: Path) -> str:
        wait_for(
            lambda: (file.exists() and file.read_text() != "") or process.poll() is not None,
            self.logs,
        )
        assert process.poll() is None, self.logs()
        return file.read_text().strip()

    def begin_dispatcher(self, binary: Path, *flags: str) -> "subprocess.Popen[bytes]":
        port = self.address.rpartition(":")[2] or "0"
        file = self.folder / "dispatcher.ready"
        file.unlink(missing_ok=True)
        given = ["--port", port, "--work-dir", self.work, "--ready-file", file]
        return self.start(binary, "dispatcher", *given, *flags)

    def dispatcher(self, binary: Path) -> "subprocess.Popen[bytes]":
        """Starts a dispatcher on the work-dir, at the same address as the one before."""
        process = self.begin_dispatcher(binary)
        self.address = self.ready(process, self.folder / "dispatcher.ready")
        return process

    def worker(self, binary: Path) -> "subprocess.Popen[bytes]":
        file = self.folder / f"worker-{len(self.processes)}.ready"
        flags = [
            "--dispatcher",
            self.address,
            "--ready-file",
            file,
            "--threads",
            "1",
            "--memory",
            "32MiB",
        ]
        process = self.start(binary, "worker", *flags)
        self.ready(process, file)
        return process

    def read(
        self, binary: Path, *flags: str | Path, text: str = PIPELINE, job: str = "train"
    ) -> Reader:
        pipeline = self.folder / "pipeline.yaml"
        pipeline.write_text(text)
        line = ["read", pipeline, "--service", self.address, "--job", job, *flags]
        return Reader(self.start(binary, *line, stdout=subprocess.PIPE))

    def stop(self, process: "subprocess.Popen[bytes]") -> None:
        """Ends a server as an upgrade does."""
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, self.logs()

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        process.kill()
        process.wait()

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def local(binary: Path, text: str = PIPELINE) -> list[bytes]:
    done = subprocess.run(
        [binary, "read", "-", "--local"], input=text.encode(), check=True, capture_output=True
    )
    return done.stdout.splitlines(keepends=True)


@contextlib.contextmanager
def service() -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="compatibility-") as folder:
        running = Service(Path(folder))
        try:
            yield running
        finally:
            running.close()


def same(lines: list[bytes], expected: list[bytes], what: str) -> None:
    assert len(lines) == len(expected), f"{what}: {len(lines)} batches, not {len(expected)}"
    assert lines == expected, f"{what}: other batches, or in another order"
    print(f"{what}: {len(lines)} batches as of a local read", flush=True)


def text_of(process: "subprocess.CompletedProcess[str]") -> str:
    return process.stdout + process.stderr


def logged(at: Service, log: Path, pattern: str) -> str:
    """Waits for a line of the log that has the pattern."""
    wait_for(lambda: re.search(pattern, log.read_text()) is not None, at.logs)
    return str(re.findall(f".*{pattern}.*", log.read_text())[0])


def run(
    binary: Path, *arguments: str | Path, text: str = "", seconds: float = 60
) -> "subprocess.CompletedProcess[str]":
    line = [binary, *arguments]
    return subprocess.run(
        line, input=text, capture_output=True, text=True, timeout=seconds, check=False
    )


# ---- one protocol version


def upgrade(now: Path, earlier: Path) -> None:
    """Dispatcher, workers and reader are upgraded one after the other, during one read."""
    expected = local(now)
    assert len(expected) == BATCHES
    assert expected == local(earlier), "the versions differ without a service"
    with service() as at:
        dispatcher = at.dispatcher(earlier)
        workers = [at.worker(earlier), at.worker(earlier)]
        reader = at.read(earlier, "--save-token", at.folder / "token")
        lines = reader.take(500)
        at.stop(dispatcher)
        at.dispatcher(now)
        lines += reader.take(1000)
        for worker in workers:
            at.worker(now)
            at.stop(worker)  # drains: it waits until readers have what it made
            lines += reader.take(500)
        lines += reader.stop()
        assert 2500 <= len(lines) < BATCHES - 500, len(lines)
        later = at.read(now, "--token", at.folder / "token")
        same(lines + later.rest(), expected, "dispatcher, then workers, then the reader")


def matrix(now: Path, earlier: Path) -> None:
    """Each mixture of versions, with a worker killed and the dispatcher started again."""
    expected = local(now)
    versions = {"now": now, "earlier": earlier}
    for names in itertools.product(versions, repeat=3):
        if len(set(names)) == 1:
            continue
        of_dispatcher, of_worker, of_reader = (versions[name] for name in names)
        with service() as at:
            dispatcher = at.dispatcher(of_dispatcher)
            worker = at.worker(of_worker)
            at.worker(of_worker)
            reader = at.read(of_reader)
            lines = reader.take(400)
            at.kill(worker)
            lines += reader.take(800)
            at.kill(dispatcher)
            at.dispatcher(of_dispatcher)
            same(
                lines + reader.rest(),
                expected,
                "dispatcher {}, worker {}, reader {}".format(*names),
            )


def ranks(now: Path, earlier: Path) -> None:
    """Ranks of two versions share workers of two versions."""
    expected = local(now, SMALL)
    for of_dispatcher in [now, earlier]:
        with service() as at:
            at.dispatcher(of_dispatcher)
            at.worker(now)
            at.worker(earlier)
            readers = [
                at.read(binary, "--consumer", f"{rank}/2", text=SMALL)
                for rank, binary in enumerate([now, earlier])
            ]
            for rank, reader in enumerate(readers):
                same(reader.rest(), expected[rank::2], f"rank {rank} of 2")


def hand_over(now: Path, earlier: Path) -> None:
    """A dispatcher of this version waits beside the earlier one, which ends in a read."""
    expected = local(now)
    with service() as at:
        dispatcher = at.dispatcher(earlier)
        at.worker(earlier)
        reader = at.read(earlier)
        lines = reader.take(500)
        standby = at.begin_dispatcher(now, "--standby")
        log = at.folder / f"{next(at.started) - 1:02}-dispatcher.log"
        logged(at, log, "standby")
        begun = time.monotonic()
        at.stop(dispatcher)
        stopped = time.monotonic()
        at.ready(standby, at.folder / "dispatcher.ready")
        print(
            f"led {time.monotonic() - stopped:.2f} s after it, {time.monotonic() - begun:.2f} s after the signal"
        )
        lines += reader.take(500)
        at.worker(now)
        same(lines + reader.rest(), expected, "handed over by the earlier version")


def way_back(now: Path, earlier: Path) -> None:
    """The earlier version returns: it refuses the newer journal, and runs with an empty one."""
    expected = local(now)
    with service() as at:
        dispatcher = at.dispatcher(now)
        worker = at.worker(now)
        reader = at.read(now)
        lines = reader.take(500)
        at.stop(dispatcher)
        refused = run(earlier, "dispatcher", "--work-dir", at.work, "--port", "0")
        assert refused.returncode == 1, text_of(refused)
        assert re.search(r"it has version \d+, and this release reads version", text_of(refused)), (
            text_of(refused)
        )
        at.work = at.folder / "empty"
        at.dispatcher(earlier)
        lines += reader.take(1000)
        at.worker(earlier)
        at.stop(worker)
        same(lines + reader.rest(), expected, "back to the earlier dispatcher and worker")


def news(now: Path, earlier: Path) -> None:
    """Requests that an earlier dispatcher does not know are refused by a message, and harm no read."""
    with service() as at:
        at.dispatcher(earlier)
        at.worker(earlier)
        reader = at.read(now)
        lines = reader.take(100)
        status = run(now, "status", "--service", at.address, "--format", "json")
        assert status.returncode == 0 and json.loads(status.stdout)["jobs"], text_of(status)
        pipeline = at.folder / "pipeline.yaml"
        dataset = run(
            now,
            "dataset",
            "register",
            pipeline,
            "--id",
            "photos",
            "--service",
            at.address,
            "--timeout",
            "3s",
        )
        assert dataset.returncode != 0 and "of an earlier release" in text_of(dataset), text_of(
            dataset
        )
        print("dataset register:", text_of(dataset).strip())
        trace = run(
            now,
            "trace",
            "train",
            "--service",
            at.address,
            "--seconds",
            "2",
            "-o",
            at.folder / "trace.json",
        )
        assert trace.returncode != 0 and "of an earlier release" in text_of(trace), text_of(trace)
        print("trace:", text_of(trace).strip())
        same(
            lines + reader.rest(),
            local(now),
            "read beside commands that the dispatcher does not know",
        )


# ---- journals and tokens that an earlier version wrote


def record(now: Path, earlier: Path) -> None:
    """Writes recorded/: the journal and the token of a read that the earlier version began."""
    del now
    with service() as at:
        dispatcher = at.dispatcher(earlier)
        at.worker(earlier)
        reader = at.read(earlier, "--save-token", at.folder / "token", text=SMALL)
        lines = reader.take(40)
        # A second job is in the middle of its run in the journal.
        other = at.read(earlier, text=SMALL, job="other")
        other.take(3)
        lines += reader.stop()
        at.stop(dispatcher)
        shutil.rmtree(RECORDED, ignore_errors=True)
        RECORDED.mkdir()
        with contextlib.closing(sqlite3.connect(at.work / "journal.db")) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for name in ["journal.db", "journal.seal"]:
            shutil.copy(at.work / name, RECORDED / name)
        shutil.copy(at.folder / "token", RECORDED / "token")
        (RECORDED / "taken").write_text(f"{len(lines)}\n")
        (RECORDED / "pipeline.yaml").write_text(SMALL)


def recorded(now: Path, earlier: Path) -> None:
    """A dispatcher continues from the recorded journal, and a reader from the recorded token."""
    del earlier
    text = (RECORDED / "pipeline.yaml").read_text()
    taken = int((RECORDED / "taken").read_text())
    with service() as at:
        at.work.mkdir()
        for name in ["journal.db", "journal.seal"]:
            shutil.copy(RECORDED / name, at.work / name)
        at.dispatcher(now)
        at.worker(now)
        status = json.loads(run(now, "status", "--service", at.address, "--format", "json").stdout)
        names = {job["name"] for job in status["jobs"]}
        assert names == {"train", "other"}, names
        reader = at.read(now, "--token", RECORDED / "token", text=text)
        same(
            reader.rest(),
            local(now, text)[taken:],
            f"from the recorded token on, after {taken} batches",
        )
        other = at.read(now, "--take-over", text=text, job="other")
        same(
            other.rest(),
            local(now, text),
            "the recorded job that was in the middle of its run, again",
        )


# ---- another protocol version


def refusal(now: Path, earlier: Path) -> None:
    """Each process that meets the other protocol version ends, or says why it gets nothing."""
    named = r"speaks protocol version \d+, this process \d+"
    for server, client in [(now, earlier), (earlier, now)]:
        with service() as at:
            dispatcher = at.dispatcher(server)
            read = run(client, "read", "-", "--service", at.address, "--timeout", "5s", text=SMALL)
            assert read.returncode != 0 and re.search(named, text_of(read)), text_of(read)
            print("reader:", text_of(read).strip().splitlines()[-1])
            worker = at.start(client, "worker", "--dispatcher", at.address, "--threads", "1")
            log = at.folder / f"{next(at.started) - 1:02}-worker.log"
            print("worker:", logged(at, log, named))
            at.kill(worker)
            # Processes of the server's own version are served all the while.
            at.worker(server)
            same(at.read(server, text=SMALL).rest(), local(server, SMALL), "beside it, one version")
            at.stop(dispatcher)
            journal = run(client, "dispatcher", "--work-dir", at.work, "--port", "0")
            assert journal.returncode == 1, text_of(journal)
            assert re.search(r"version \d+", text_of(journal)), text_of(journal)
            print("journal:", text_of(journal).strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    checks = {
        check.__name__: check
        for check in [upgrade, matrix, ranks, hand_over, way_back, news, record, recorded, refusal]
    }
    parser.add_argument("check", choices=checks)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--earlier", type=Path, default=Path())
    options = parser.parse_args()
    checks[options.check](options.binary.resolve(), options.earlier.resolve())
    print(f"{options.check}: ok")


if __name__ == "__main__":
    main()
