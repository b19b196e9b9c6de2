"""The verdict in made-up situations, on real processes.

    tests/monitoring/verdicts.py slow_map                                   once, with seed 0
    tests/monitoring/verdicts.py all --seeds 0-4 --load both --watch 20     all situations, some 90 minutes

SITUATION is a function below, or `all`. Each runs once for each seed, which chooses costs, rates and numbers of
workers. `--load busy` runs twice as many busy processes beside it as there are processors, `--load both` each seed
without them and with them. The verdict is right if it becomes the expected one in time and stays for two seconds.
With --watch it must then be the expected one in nine tenths of this many seconds, too.

Prints a line for each situation, seed and load, then a line for each situation. Exit status 1 if a verdict was wrong.
The default binaries are in build/release: feedmill_sleepy has sleep_ms and sleep_value_ms (bench/sleepy_main.cc),
and only the command itself reads over HTTP.
"""
import argparse
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
for folder in ("stores", "links"):
    sys.path.insert(0, str(TESTS / folder))
from monitoring import CHEAP, Cluster, unused_port, wait_for  # noqa: E402
from proxy import Proxy  # noqa: E402
from range_server import RangeServer  # noqa: E402
from waits import pass_time  # noqa: E402

BUILD = TESTS.parent / "build" / "release"
BUSY = "while True: pass"
RIGHT_LEAST = 0.9  # part of the observed time


class Situation(Cluster):
    """A cluster and the seed of its situation."""

    def __init__(self, arguments, folder, seed, busy):
        super().__init__(arguments.binary, folder)
        self.store_binary, self.watch = arguments.store_binary, arguments.watch
        self.chance = random.Random(seed)
        # With other load on the machine everything takes longer.
        self.patience = 150 if busy else 90
        self.found = []  # of each verdict: when it became right, and the part of the observed time in which it was
        if busy:
            self.burn(2 * (os.cpu_count() or 1))

    def burn(self, processes, cpu=None):
        def pin():
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})
        self.processes += [subprocess.Popen([sys.executable, "-c", BUSY], preexec_fn=pin) for _ in range(processes)]

    def get(self, path):
        """Asks again if a connection took more than 10 s and was closed, as on a very busy machine."""
        for _ in range(5):
            try:
                return super().get(path)
            except (ConnectionError, TimeoutError):
                continue
        return super().get(path)

    def becomes(self, bound_by, name="train", part="", seconds=None):
        begun = time.monotonic()
        verdict = super().becomes(bound_by, name, part, seconds or self.patience)
        text = f"right after {time.monotonic() - begun:.0f} s"
        if self.watch:
            text += f" and then {self.stays(bound_by, name, part):.0%} of {self.watch:.0f} s"
        self.found.append(text)
        return verdict

    def stays(self, bound_by, name, part):
        """Returns the part of the time in which the verdict is the expected one."""
        end, right, others = time.monotonic() + self.watch, 0, collections.Counter()
        while time.monotonic() < end:
            verdict = self.verdict(name)
            if verdict["bound_by"] == bound_by and part in verdict["where"] + verdict["sentence"]:
                right += 1
            else:
                others[f"{verdict['bound_by']} {verdict['where']}: {verdict['sentence']} {verdict['evidence']}"] += 1
            pass_time(0.2)
        share = right / (right + others.total())
        assert share >= RIGHT_LEAST, f"{bound_by} {part} became right, and then was so in {share:.0%} of {self.watch:.0f} s; else {others}"
        return share

    def slow_step(self, least=3, most=8):
        return f"source: {{range: {{stop: 1000000}}}}\nsteps:\n  - map: 'sleep_ms(x, {self.chance.randint(least, most)})'\n"


# ---- the workers' side


def slow_source(cluster):
    """A store that answers late is named as the source."""
    files = store_files(cluster, 6000)
    delay = cluster.chance.uniform(0.06, 0.15)
    with RangeServer(files) as server:
        read_store(cluster, server, 6000)
        server.delay = delay
        cluster.becomes("source", part="text")


def throttled_store(cluster):
    """A store is named that answers few requests a second, and refuses the others (503 Slow Down)."""
    files = store_files(cluster, 2000)
    limit = RateLimit(cluster.chance.uniform(4, 10))
    wait = cluster.chance.uniform(0.1, 0.3)

    def fault(_):
        return None if limit.takes() else ("status", 503, {"Retry-After": f"{wait:.2f}"})
    with RangeServer(files) as server:
        read_store(cluster, server, 2000)
        server.fault = fault
        cluster.becomes("source", part="text")


class RateLimit:
    """Takes `rate` requests a second."""

    def __init__(self, rate):
        self.rate, self.left, self.last, self.lock = rate, 1, time.monotonic(), threading.Lock()

    def takes(self):
        with self.lock:
            now = time.monotonic()
            self.left, self.last = min(1, self.left + (now - self.last) * self.rate), now
            taken = self.left >= 1
            self.left -= taken
            return taken


def store_files(cluster, count):
    files = cluster.folder / "files"
    files.mkdir()
    for k in range(count):
        (files / f"{k}.txt").write_text("a line\n" * cluster.chance.randint(10, 30))
    return files


def read_store(cluster, server, count):
    """Begins to read the files. Returns when they are listed."""
    cluster.binary = cluster.store_binary
    cluster.dispatcher()
    for k in range(cluster.chance.randint(1, 2)):
        cluster.worker(f"w{k}")
    names = ", ".join(f"'{server.url}/{k}.txt'" for k in range(count))
    # Without end, as a job that is over has no bound.
    cluster.read(f"source: {{text: {{files: [{names}]}}}}\nsteps: [repeat]\n", "--timeout", "60s")
    wait_for(lambda: cluster.job().get("state") == "running", lambda: f"the files to be listed: {cluster.logs()}", cluster.patience)


def slow_map(cluster):
    """A step that takes long is named, and the reader's wait is measured."""
    cluster.dispatcher()
    for k in range(cluster.chance.randint(1, 3)):
        cluster.worker(f"w{k}")
    cluster.read(cluster.slow_step() + "  - map: 'x + 1'\n")
    verdict = cluster.becomes("step", part="steps[0] map")
    assert verdict["gain"] > 2 and verdict["evidence"], verdict
    session = cluster.job()["sessions"][0]
    assert session["waits_percent"] > 80, session
    table = subprocess.run([cluster.binary, "status", "--service", cluster.service], capture_output=True, text=True,
                           check=True, timeout=30).stdout
    assert "steps[0] map takes" in table, table


def starved_worker(cluster):
    """A worker whose processor other processes use is named."""
    cpus = sorted(os.sched_getaffinity(0))
    cluster.dispatcher()
    fast = cluster.worker("w0")
    slow = cluster.worker("w1")
    for process, cpu in ((fast, cpus[0]), (slow, cpus[-1])):
        for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {cpu})
    # Its threads get about a fiftieth of their processor.
    for thread in pathlib.Path(f"/proc/{slow.pid}/task").iterdir():
        os.setpriority(os.PRIO_PROCESS, int(thread.name), min(19, os.getpriority(os.PRIO_PROCESS, 0) + 19))
    cluster.burn(2, cpus[-1])
    items = cluster.chance.randint(200_000, 400_000)
    cluster.read(f"source: {{range: {{stop: 10000000}}}}\nsteps:\n  - map: 'sum(sqrt(full([{items}], cast(x, float64))))'\n")
    cluster.becomes("workers", part=slow.address)


def straggler(cluster):
    """A worker that stands still most of the time is named."""
    cluster.dispatcher()
    workers = [cluster.worker(f"w{k}") for k in range(cluster.chance.randint(2, 4))]
    slow = cluster.chance.choice(workers)
    with stopped_mostly(slow, 0.45):  # shorter than the time after which it is lost
        cluster.read(cluster.slow_step())
        cluster.becomes("workers", part=slow.address)


class stopped_mostly:  # noqa: N801
    """Stops a process for `seconds` again and again, and lets it run for 30 ms in between."""

    def __init__(self, process, seconds):
        self.process, self.seconds, self.ending = process, seconds, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ending.is_set():
            self.process.send_signal(signal.SIGSTOP)
            self.ending.wait(self.seconds)
            self.process.send_signal(signal.SIGCONT)
            self.ending.wait(0.03)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def skewed_splits(cluster):
    """If few records take most of the time, the worker that has one of them is named."""
    cluster.dispatcher()
    for k in range(3):
        cluster.worker(f"w{k}")
    every, cost = cluster.chance.choice([1_000_000, 3_000_000]), cluster.chance.randint(2000, 4000)
    cluster.read("source: {range: {stop: 2000000000}}\nsteps:\n"
                 f"  - map: 'sleep_value_ms(where(x % {every} == 5, {cost}, 0), 1)'\n  - batch: {{size: 1000}}\n", "--timeout", "60s")
    cluster.becomes("workers", part="costliest records")


def full_memory(cluster):
    """The verdict names workers that have no memory for more elements."""
    cluster.dispatcher()
    memory = cluster.chance.choice([2, 3])
    cluster.worker("w0", "--memory", f"{memory}MiB", threads=8)
    cluster.read(cluster.slow_step(20, 40) + "  - map: 'full([131072], cast(x, float64))'\n")
    cluster.becomes("workers", part="memory")


def shared_workers(cluster):
    """The verdict names a job that gets little of busy workers."""
    cluster.dispatcher()
    cluster.worker("w0")
    cluster.read(cluster.slow_step(), "--weight", "10000", name="greedy")
    cluster.becomes("step", name="greedy")
    cluster.read(cluster.slow_step().replace("1000000", "900000"), "--weight", "1", name="train")
    cluster.becomes("workers", part="is for this job")


# ---- between workers and readers


def slow_link(cluster):
    """A network that is slower than the worker is named."""
    cluster.dispatcher()
    proxy = Proxy(rate=cluster.chance.randint(1_000_000, 3_000_000))
    cluster.worker("w0", "--transport", "tcp", "--advertise", f"127.0.0.1:{proxy.port}", "--port", port := unused_port())
    proxy.set_target(port)
    cluster.read("source: {range: {stop: 2000000000}}\nsteps:\n  - batch: {size: 4096}\n")
    cluster.becomes("link")


def dispatcher_bound(cluster):
    """A dispatcher whose disk is too slow for many small splits is named: 64 times as many leases as usual do not hide a sync."""
    library = cluster.folder / "slow_sync.so"
    source = cluster.folder / "slow_sync.c"
    source.write_text("#include <unistd.h>\nint fdatasync(int fd) { (void)fd; return usleep(%d); }\n"
                      "int fsync(int fd) { return fdatasync(fd); }\n" % cluster.chance.randint(1_000_000, 1_500_000))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    environment = dict(cluster.environment)
    cluster.environment["LD_PRELOAD"] = str(library)
    cluster.dispatcher("--work-dir", cluster.folder / "work", "--split-time", "1ms", "--window-min", "1")
    cluster.environment = environment
    cluster.worker("w0")
    cluster.read(cluster.slow_step(1, 1))
    cluster.becomes("dispatcher")


# ---- the readers' side


def client_stage_bound(cluster):
    """Steps that run in the reader are named."""
    cluster.dispatcher()
    cluster.worker("w0")
    cluster.worker("w1")
    kept, items = cluster.chance.randint(2, 4), cluster.chance.randint(20_000, 60_000)
    cluster.read(f"source: {{range: {{stop: 2000000000}}}}\nsteps:\n  - filter: 'x % {kept} != 0'\n  - batch: {{size: 2}}\n"
                 f"  - map: 'sum(sqrt(full([{items}], cast(x[0], float64))))'\n")
    cluster.becomes("client_stage")


def slow_consumer(cluster):
    """A trainer that takes long over each batch is named."""
    cluster.dispatcher()
    cluster.worker("w0")
    reader = cluster.read(CHEAP, output="jsonl", stdout=subprocess.PIPE)
    with trainers([reader], cluster.chance.uniform(0.03, 0.08)):
        verdict = cluster.becomes("consumer")
        assert verdict["where"] == "solo", verdict


def paused_job(cluster):
    """A trainer that asks for nothing is named; nothing bounds a job whose reader does not run."""
    cluster.dispatcher()
    cluster.worker("w0")
    reader = cluster.read(CHEAP, output="jsonl", stdout=subprocess.PIPE)
    cluster.becomes("consumer", part="asked for nothing")
    reader.send_signal(signal.SIGSTOP)
    cluster.becomes("none", part="no reader has reported")


def one_slow_rank(cluster):
    """The verdict names the rank whose network is slow."""
    cluster.dispatcher()
    cluster.worker("w0")
    slow = cluster.chance.randint(0, 1)
    port = int(cluster.service.rsplit(":", 1)[1])
    proxy = Proxy(rate=cluster.chance.randint(300_000, 800_000))
    proxy.set_target(port)
    for rank in range(2):
        service = cluster.service
        if rank == slow:
            cluster.service = f"127.0.0.1:{proxy.port}"
        cluster.read("source: {range: {stop: 2000000000}}\nsteps:\n  - batch: {size: 4096}\n", "--consumer", f"{rank}/2",
                     *(["--via", "dispatcher"] if rank == slow else []), "--timeout", "60s")
        cluster.service = service
    cluster.becomes("link", part=f"{slow}/2")


def ranks_in_step(cluster):
    """The verdict names one of the ranks whose trainers wait for each other, and not the data."""
    cluster.dispatcher()
    cluster.worker("w0")
    readers = [cluster.read(CHEAP, "--consumer", f"{rank}/2", output="jsonl", stdout=subprocess.PIPE) for rank in range(2)]
    with trainers(readers, cluster.chance.uniform(0.03, 0.08)):
        verdict = cluster.becomes("consumer")
        assert verdict["where"] in ("0/2", "1/2"), verdict
        assert {s["consumer"] for s in cluster.job()["sessions"]} == {"0/2", "1/2"}


class trainers:  # noqa: N801
    """Takes some of each reader's output by turns, and works for `seconds` after each turn."""

    def __init__(self, readers, seconds):
        self.readers, self.seconds, self.ending = readers, seconds, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ending.is_set():
            for reader in self.readers:
                os.read(reader.stdout.fileno(), 65536)
            self.ending.wait(self.seconds)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


def idle_cluster(cluster):
    """Nothing bounds a job that is over."""
    cluster.dispatcher()
    for k in range(cluster.chance.randint(1, 3)):
        cluster.worker(f"w{k}")
    cluster.read("source: {range: {stop: 100}}\n").wait(60)
    wait_for(lambda: cluster.job().get("state") == "finished", lambda: cluster.job())
    assert cluster.verdict()["bound_by"] == "none", cluster.verdict()
    assert cluster.metric("feedmill_job_bound", job_name="train", bound_by="none") == 1


SITUATIONS = [slow_source, throttled_store, slow_map, starved_worker, straggler, skewed_splits, full_memory, shared_workers, slow_link,
              dispatcher_bound, client_stage_bound, slow_consumer, paused_job, one_slow_rank, ranks_in_step, idle_cluster]
LOADS = {"none": [False], "busy": [True], "both": [False, True]}


def seeds(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def run(situation, seed, busy, arguments):
    """Runs a situation, prints the line of this run, and returns True if the verdict was right."""
    name = f"{situation.__name__}, seed {seed}{', busy' if busy else ''}"
    with tempfile.TemporaryDirectory(prefix="verdicts-") as folder:
        cluster = Situation(arguments, folder, seed, busy)
        try:
            situation(cluster)
        except AssertionError as error:
            print(cluster.logs(), file=sys.stderr, flush=True)
            print(f"{name}: WRONG: {error}", flush=True)
            return False
        finally:
            load = os.getloadavg()[0]
            cluster.close()
    print(f"{name}: {', '.join(cluster.found) or 'right'} (load {load:.1f})", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("situations", nargs="+", choices=["all", *(each.__name__ for each in SITUATIONS)], metavar="SITUATION")
    parser.add_argument("--binary", default=BUILD / "bench" / "feedmill_sleepy")
    parser.add_argument("--store-binary", default=BUILD / "bin" / "feedmill")
    parser.add_argument("--seeds", type=seeds, default=range(1), metavar="A-B")
    parser.add_argument("--load", choices=LOADS, default="none")
    parser.add_argument("--watch", type=float, default=0, metavar="SECONDS")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the processes of the cluster, too
    chosen = [each for each in SITUATIONS if "all" in arguments.situations or each.__name__ in arguments.situations]
    right = {each: [run(each, seed, busy, arguments) for busy in LOADS[arguments.load] for seed in arguments.seeds] for each in chosen}
    for situation, results in right.items():
        print(f"{situation.__name__:<20} {sum(results)} of {len(results)} right")
    wrong = sum(results.count(False) for results in right.values())
    print(f"{sum(map(sum, right.values()))} right, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
