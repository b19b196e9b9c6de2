"""The number of workers follows what the trainer needs, with real processes.

    autoscaling.py CHECK --binary feedmill_sleepy    (a function below)
"""
import argparse
import contextlib
import fcntl
import json
import pathlib
import sys
import re
import subprocess
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import pass_time  # noqa: E402
from monitoring import Cluster, wait_for  # noqa: E402

F_SETPIPE_SZ = 1031
ROWS = 12000
MS = 20  # of sleep an element: a worker of one thread makes 50 elements/s
PAD = "x" * 40_000  # so that little waits in pipes and in the reader
PIPELINE = """source: {{range: {{stop: {rows}}}}}
steps:
  - map: {{n: "sleep_ms(x, {ms})", pad: "'PAD'"}}
""".replace("PAD", PAD)


class Trainer:
    """Takes elements from a reader at a rate that can change; keeps their numbers."""

    def __init__(self, cluster, rate, rows=ROWS, ms=MS):
        self.rate, self.numbers = rate, []
        pipeline = PIPELINE.format(rows=rows, ms=ms)
        self.process = cluster.read(pipeline, output="jsonl", stdout=subprocess.PIPE)
        fcntl.fcntl(self.process.stdout, F_SETPIPE_SZ, 4096)
        self.thread = threading.Thread(target=self.train, daemon=True)
        self.thread.start()

    def train(self):
        due = time.monotonic()
        with contextlib.suppress(ValueError):  # the cluster closes the pipe
            for line in self.process.stdout:
                self.numbers.append(json.loads(line)["n"])
                due = max(due + 1 / self.rate, time.monotonic() - 0.2)
                pass_time(due - time.monotonic())

    def measured(self, elements=240):
        """Elements per second while the trainer takes some."""
        before, begun = len(self.numbers), time.monotonic()
        wait_for(lambda: len(self.numbers) >= before + elements, f"{elements} more elements")
        return elements / (time.monotonic() - begun)


def scaled(cluster):
    return json.loads(subprocess.run([cluster.binary, "status", "--service", cluster.service, "--format", "json"],
                                     check=True, capture_output=True, text=True).stdout)


def workers(cluster):
    return sum(not worker["draining"] for worker in scaled(cluster)["workers"])


def decisions(cluster, log="up"):
    return [int(n) for n in re.findall(r"wants (\d+) workers? instead", cluster.log(log))]


def start_up(cluster, *flags):
    """Starts up --workers 1..8; returns its process."""
    for name in ("address", "http"):
        (cluster.folder / name).unlink(missing_ok=True)
    process = cluster.start("up", "up", "--workers", "1..8", "--threads", "1", "--ready-file", cluster.folder / "address",
                            "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "http",
                            "--scale-interval", "4s", "--scale-down-after", "8s", *flags)
    cluster.service, cluster.http = cluster.file("address"), cluster.file("http")
    return process


def up(cluster):
    """up --workers 1..8: finds what a hand would set, follows the trainer, loses nothing."""
    start_up(cluster)
    trainer = Trainer(cluster, rate=120)  # 2.4 workers: a hand would set 3
    wait_for(lambda: 3 <= workers(cluster) <= 5, lambda: f"3 workers: {workers(cluster)} {cluster.logs()}", 60)
    assert len(decisions(cluster)) <= 3, decisions(cluster)
    wait_for(lambda: trainer.measured() > 0.9 * 120, lambda: f"the trainer to be fed: {trainer.measured()}/s {cluster.logs()}", 30)
    status = cluster.status()
    wanted = status["scale"]["workers_wanted"]
    assert 3 <= wanted <= 5, (status["scale"], cluster.logs())
    assert cluster.metric("feedmill_workers_wanted") is not None
    assert cluster.metric("feedmill_job_workers_wanted", job_name="train") is not None
    assert cluster.metric("feedmill_job_more_workers_help", job_name="train") is not None
    assert status["scale"]["workers_min"] == 1 and status["scale"]["workers_max"] == 8, status["scale"]
    trainer.rate = 40  # 0.8 workers
    wait_for(lambda: workers(cluster) in (1, 2), lambda: f"2 workers: {workers(cluster)} {cluster.logs()}", 60)
    wait_for(lambda: re.search(r"worker-\d has ended: it exited with status 0", cluster.log("up")), cluster.logs, 30)
    trainer.rate = 1e9  # all that is left; more than 8 workers make
    wait_for(lambda: workers(cluster) >= 6, lambda: f"more workers: {workers(cluster)} {cluster.logs()}", 60)
    trainer.thread.join(200)
    assert trainer.process.wait(20) == 0, cluster.logs()
    assert trainer.numbers == list(range(ROWS)), "elements were lost, repeated or in another order"
    assert scaled(cluster)["faults"]["workers_lost"] == 0


def lumps(cluster):
    """Elements that each take a worker 5 s, more than an interval: the first decision is what a hand would set."""
    start_up(cluster)
    trainer = Trainer(cluster, rate=0.5, rows=80, ms=5000)  # 2.5 workers: a hand would set 3
    wait_for(lambda: 3 <= workers(cluster) <= 5, lambda: f"3 workers: {workers(cluster)} {cluster.logs()}", 150)
    assert len(decisions(cluster)) <= 3, decisions(cluster)
    trainer.thread.join(300)
    assert trainer.process.wait(20) == 0, cluster.logs()
    assert trainer.numbers == list(range(80)), "elements were lost, repeated or in another order"
    # One more growth may follow: a split of several such elements keeps the trainer waiting.
    assert len(decisions(cluster)) <= 3, re.findall(".*wants .*", cluster.log("up"))


def restart(cluster):
    """up that is started again on its work-dir starts as many workers as it had, at once."""
    up = start_up(cluster, "--work-dir", cluster.folder / "work")
    trainer = Trainer(cluster, rate=120)
    wait_for(lambda: 3 <= workers(cluster) <= 5, lambda: f"3 workers: {workers(cluster)} {cluster.logs()}", 60)
    had = scaled(cluster)["scale"]["workers_wanted"]
    up.terminate()
    up.wait(60)
    before = len(decisions(cluster))
    start_up(cluster, "--work-dir", cluster.folder / "work", "--port", cluster.service.rpartition(":")[2])
    wait_for(lambda: workers(cluster) == had, lambda: f"{had} workers: {workers(cluster)} {cluster.logs()}", 20)
    assert len(decisions(cluster)) == before, decisions(cluster)
    trainer.rate = 1e9
    trainer.thread.join(300)
    assert trainer.process.wait(20) == 0, cluster.logs()
    assert trainer.numbers == list(range(ROWS)), "elements were lost, repeated or in another order"


def dry_run(cluster):
    """up --scale-dry-run says the number and changes nothing."""
    cluster.start("up", "up", "--workers", "1..8", "--threads", "1", "--ready-file", cluster.folder / "address",
                  "--scale-interval", "2s", "--scale-dry-run")
    cluster.service = cluster.file("address")
    trainer = Trainer(cluster, rate=120)
    wait_for(lambda: decisions(cluster), cluster.logs, 60)
    first = len(trainer.numbers)
    wait_for(lambda: len(trainer.numbers) > first + 200, cluster.logs)  # more than one interval
    assert workers(cluster) == 1
    assert scaled(cluster)["scale"]["workers_wanted"] > 1


def command(cluster):
    """--scale-command is run with the number; a failure is logged, and it is run again."""
    calls = cluster.folder / "calls"
    cluster.dispatcher("--scale", "0..8", "--scale-interval", "2s", "--scale-file", cluster.folder / "number",
                       "--scale-command-timeout", "1s", "--scale-command",
                       f"echo {{workers}} $FEEDMILL_WORKERS_WANTED >> {calls}; case $(wc -l < {calls}) in "
                       "1) exit 7 ;; 2) sleep 100 ;; esac")
    cluster.worker("w0")
    Trainer(cluster, rate=1e9)
    wait_for(lambda: calls.exists() and len(calls.read_text().splitlines()) == 3, cluster.logs, 60)
    assert calls.read_text() == "4 4\n" * 3, calls.read_text()
    assert (cluster.folder / "number").read_text() == "4\n"
    log = cluster.log("dispatcher")
    for text in ("exited with status 7", "longer than 1s", "trying again in 2s", "trying again in 4s"):
        assert text in log, (text, log)
    wait_for(lambda: "succeeded" in cluster.log("dispatcher"), cluster.logs)


def command_dry_run(cluster):
    """--scale-dry-run logs the command."""
    cluster.dispatcher("--scale", "0..8", "--scale-interval", "2s", "--scale-dry-run", "--scale-command",
                       f"touch {cluster.folder}/touched-{{workers}}")
    cluster.worker("w0")
    Trainer(cluster, rate=1e9)
    wait_for(lambda: "dry run: 4 workers are wanted; would run 'touch" in cluster.log("dispatcher"), cluster.logs, 60)
    assert not list(pathlib.Path(cluster.folder).glob("touched-*"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", choices=["up", "lumps", "restart", "dry_run", "command", "command_dry_run"])
    parser.add_argument("--binary", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feedmill-scale-") as folder:
        cluster = Cluster(pathlib.Path(arguments.binary).resolve(), folder)
        try:
            globals()[arguments.check](cluster)
        finally:
            cluster.close()
    print(f"{arguments.check}: ok")


if __name__ == "__main__":
    main()
