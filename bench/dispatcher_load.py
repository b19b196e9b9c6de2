"""Measurements of the dispatcher alone for bench/run: stubs replace its workers and clients."""
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

from measure import BUILD, Service, check, cpu_of, median, ratio, rounds, run_json, say
from slow_disk import slow_environment

STUBS = BUILD / "bench" / "bench_dispatcher"


def start_dispatcher(folder, name, environment=None):
    """A dispatcher alone, with a work-dir in the folder."""
    return Service(folder, 0, dispatcher_flags=("--work-dir", pathlib.Path(folder) / name), environment=environment)


def split_rate(positions, place=None, sync_ms=0, slots=32):
    with tempfile.TemporaryDirectory(dir=place) as folder:
        environment = slow_environment(pathlib.Path(folder), sync_ms) if sync_ms else None
        dispatcher = start_dispatcher(folder, "state", environment)
        try:
            before = dispatcher.cpu()
            result = run_json([STUBS, "splits", dispatcher.address, positions, slots])
            result["cpu_us"] = 1e6 * (dispatcher.cpu() - before) / result["splits"]
        finally:
            dispatcher.stop()
    # The first splits are larger, because no cost is known: a whole window.
    check(result["elements"] == positions and result["of_one_position"] > 0.95 * result["splits"], "dispatcher: splits")
    return result


def sync_us(count=100):
    """Time in which this disk makes a page durable: a lower limit for every dispatcher."""
    with tempfile.NamedTemporaryFile() as file:
        times = []
        for page in range(count):
            begin = time.monotonic()
            os.pwrite(file.fileno(), b"x" * 4096, page * 4096)
            os.fdatasync(file.fileno())
            times.append(time.monotonic() - begin)
    return round(1e6 * statistics.median(times), 1)


class Echo:
    """A plain ZeroMQ ROUTER that echoes all messages: the cost of the transport alone."""

    def __init__(self):
        self.process = subprocess.Popen([STUBS, "echo"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def cpu(self):
        return cpu_of(self.process.pid)

    def stop(self):
        self.process.kill()
        self.process.wait()


def heartbeat_cores(workers, processes, seconds, echo=False):
    """The dispatcher's share of a core while all workers send heartbeats."""
    with tempfile.TemporaryDirectory() as folder:
        dispatcher = Echo() if echo else start_dispatcher(folder, "state")
        stubs = [subprocess.Popen([str(c) for c in (STUBS, "heartbeats", dispatcher.address, workers // processes,
                                                    f"stub-{p}", seconds)], stdout=subprocess.PIPE, text=True)
                 for p in range(processes)]
        try:
            for stub in stubs:
                check(stub.stdout.readline() == "known\n", "dispatcher: a stub worker is not known")
            before, begin = dispatcher.cpu(), time.monotonic()
            time.sleep(seconds * 0.6)
            cores = (dispatcher.cpu() - before) / (time.monotonic() - begin)
            known = workers if echo else status_of(dispatcher)["totals"]["workers"]
            results = [json.loads(stub.communicate(timeout=120)[0].splitlines()[-1]) for stub in stubs]
        finally:
            for stub in stubs:
                stub.kill()
                stub.wait()
            dispatcher.stop()
    check(known == workers, f"dispatcher: {known} workers known")
    beats, answers = (sum(r[k] for r in results) for k in ("beats", "answers"))
    # The dispatcher must answer each fourth heartbeat of an idle worker (P-163).
    owed = beats if echo else beats / 4
    check(beats >= 0.8 * workers * seconds and answers >= 0.9 * owed, f"dispatcher: {beats} beats, {answers} answers")
    return cores


def status_of(service):
    command = [str(BUILD / "bin" / "feedmill"), "status", "--service", service.address, "--format", "json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout)


def recovery(splits):
    with tempfile.TemporaryDirectory() as folder:
        return run_json([STUBS, "recovery", pathlib.Path(folder) / "state", splits])


def bench(_folder, count, _rows):
    positions = 400_000
    memory = pathlib.Path("/dev/shm")
    got = rounds(count, {
        "splits": lambda: split_rate(positions),
        "memory": lambda: split_rate(positions, memory) if memory.is_dir() else None,
        "slow": lambda: split_rate(positions, sync_ms=5, slots=256),
        "recovery": lambda: recovery(1_000_000)})
    figures = {"splits_per_s": median(got["splits"], lambda r: r["splits_per_s"]),
               # The same without waiting for a disk: the dispatcher's own limit.
               "splits_per_s_in_memory": median(got["memory"], lambda r: r["splits_per_s"]),
               # Each sync takes 5 ms more, as a commit in another zone.
               "splits_per_s_slow_sync": median(got["slow"], lambda r: r["splits_per_s"]),
               "cpu_us_per_split": median(got["memory"], lambda r: r["cpu_us"]),
               "sync_us": sync_us(),
               "recovery_s": median(got["recovery"], lambda r: r["recovery_s"]),
               "iteration_bytes": median(got["recovery"], lambda r: r["iteration_bytes"]),
               "heartbeat_cores": round(heartbeat_cores(10_000, 4, 20), 3),
               # The transport alone, echoing each of the same heartbeats.
               "heartbeat_cores_of_zeromq": round(heartbeat_cores(10_000, 4, 20, echo=True), 3)}
    figures["heartbeat_vs_zeromq"] = ratio(figures["heartbeat_cores_of_zeromq"], figures["heartbeat_cores"])
    say("dispatcher: " + ", ".join(f"{k} {v:,.3g}" if v is None or v < 10 else f"{k} {v:,.0f}"
                                   for k, v in figures.items() if v is not None))
    return figures
