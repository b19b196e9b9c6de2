"""Kills servers and trainers while Python reads, and compares with an uninterrupted read.

trials.py [--framework none|torch|jax] [--trials N] [--seed S] [--first K]

Each trial starts a dispatcher with a journal, some workers, and the ranks of a job, a process each.
SIGKILL ends a worker or the dispatcher at a step of the ranks; it is started again. At a later step
all ranks are killed. Other processes resume from their last common states: with another number of
ranks, on the same service or on a new one with another number of workers. Again a server is killed.
The batches of both must equal a local read's.

Prints a line for each trial. A trial is the same for the same seed and number.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import feedmill as fm
from order_hash import element_hash
from trial_rank import DATASETS, EPOCHS, dataset_of
from waits import wait_for_file

PROGRAM = pathlib.Path(__file__).parent / "trial_rank.py"
TIMEOUT = 120


class Service:
    """A dispatcher with a journal, and workers, which are killed and started again."""

    def __init__(self, folder, workers):
        self.folder, self.started = folder, 0
        folder.mkdir()
        self.journal = folder / "journal"
        self.dispatcher, self.target = self.start("dispatcher", "--work-dir", self.journal)
        self.workers = [self.start_worker() for _ in range(workers)]

    def start(self, *arguments):
        self.started += 1
        ready = self.folder / f"{self.started}.ready"
        command = [os.environ["FEEDMILL"], *map(str, arguments), "--ready-file", str(ready)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return process, wait_for_file(ready, process, TIMEOUT)

    def start_worker(self):
        return self.start("worker", "--dispatcher", self.target)[0]

    def kill(self, what, number):
        if what == "worker":
            place = number % len(self.workers)
            end(self.workers[place])
            self.workers[place] = self.start_worker()
        else:
            end(self.dispatcher)
            port = self.target.rsplit(":", 1)[1]
            self.dispatcher, _ = self.start(
                "dispatcher", "--work-dir", self.journal, "--port", port
            )

    def stop(self):
        for process in [*self.workers, self.dispatcher]:
            end(process)


def end(process):
    process.kill()
    process.wait(timeout=TIMEOUT)


class Ranks:
    """The processes of a job."""

    def __init__(self, folder, common, ranks, states):
        self.logs = [folder / f"rank {rank}" for rank in range(ranks)]
        meeting = f"127.0.0.1:{free_port()}" if common["framework"] == "jax" else folder / "meeting"
        self.processes = []
        for rank, log in enumerate(self.logs):
            arguments = {**common, "rank": rank, "ranks": ranks, "meeting": str(meeting)}
            arguments |= {"log": str(log), "state": states[rank] if states else None}
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, PROGRAM, json.dumps(arguments)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**os.environ, "JAX_PLATFORMS": "cpu"},
                    text=True,
                )
            )

    def reach(self, step):
        """Waits until all ranks stand at the step. False if they have come to the end."""
        lines = set()
        for process in self.processes:
            line = process.stdout.readline().strip()
            while line and not (line.isdigit() or line == "done"):
                line = process.stdout.readline().strip()  # of a library
            assert line, process.communicate(timeout=TIMEOUT)[1]
            lines.add(line)
        assert lines <= {str(step), "done"}, lines
        return "done" not in lines

    def go_on(self):
        for process in self.processes:
            process.stdin.write("\n")
            process.stdin.flush()

    def finish(self):
        for process in self.processes:
            _, errors = process.communicate(timeout=TIMEOUT)
            assert process.returncode == 0, errors

    def kill(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate(timeout=TIMEOUT)

    def entries(self):
        """The lines that each rank has written. The last one may be cut off."""
        found = []
        for log in self.logs:
            lines = log.read_text().splitlines() if log.exists() else []
            found.append([json.loads(line) for line in lines if line.endswith("}}")])
        return found


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def by_epoch(entries, done=None):
    """The hashes of each epoch in the order of the dataset, after as many as were done before.

    Batch n is of rank n mod ranks, so the ranks take turns.
    """
    epochs = {}
    for epoch in range(EPOCHS):
        own = [[entry["hash"] for entry in rank if entry["epoch"] == epoch] for rank in entries]
        next_rank = len(done[epoch]) % len(own) if done else 0
        own = own[next_rank:] + own[:next_rank]
        turns = itertools.zip_longest(*own)
        epochs[epoch] = [found for turn in turns for found in turn if found is not None]
    return epochs


def up_to_common_place(entries):
    """Leaves out the entries after the last place of an epoch that all ranks have reached."""
    epoch = min(rank[-1]["epoch"] for rank in entries)
    count = min(sum(entry["epoch"] == epoch for entry in rank) for rank in entries)
    cut = []
    for rank in entries:
        before = [entry for entry in rank if entry["epoch"] < epoch]
        cut.append(before + [entry for entry in rank if entry["epoch"] == epoch][:count])
    return cut


class Trial:
    def __init__(self, framework, seed, number, folder):
        self.random = random.Random(f"{framework} {seed} {number}")
        self.framework, self.folder = framework, folder
        counts = [1, 2] if framework == "jax" else [1, 2, 3]
        self.kind = self.random.choice(sorted(DATASETS))
        self.ranks = self.random.choice([(a, b) for a in counts for b in counts if 2 in (a, b)])
        self.workers = self.random.choice([(1, 3), (2, 1), (2, 2), (3, 2)])
        self.same_service = self.random.random() < 0.3
        steps = EPOCHS * 61 // self.ranks[0]
        self.fault, self.stop = sorted(self.random.sample(range(1, steps - EPOCHS), 2))
        self.killed = [self.random.choice(["worker", "dispatcher"]) for _ in range(2)]
        self.before = [self.random.random() < 0.5 for _ in range(2)]

    def __str__(self):
        return (
            f"{self.kind}: {self.ranks[0]} ranks, {self.workers[0]} workers, the {self.killed[0]} "
            f"killed at step {self.fault}, the ranks at {self.stop}; {self.ranks[1]} ranks "
            f"{'on the same service' if self.same_service else f'on {self.workers[1]} workers'}, "
            f"the {self.killed[1]} killed"
        )

    def common(self, service, pauses):
        common = {"framework": self.framework, "kind": self.kind, "job": "trial"}
        return {**common, "service": service.target, "pauses": pauses}

    def kill_server(self, service, ranks, place):
        """Kills the server while the ranks stand, or as they continue."""
        if not self.before[place]:
            ranks.go_on()
        service.kill(self.killed[place], self.random.randrange(3))
        if self.before[place]:
            ranks.go_on()

    def interrupted(self, service):
        """Returns the entries of each rank up to the last place that all of them have reached."""
        (self.folder / "first").mkdir()
        pauses = [self.fault, self.stop]
        ranks = Ranks(self.folder / "first", self.common(service, pauses), self.ranks[0], None)
        try:
            assert ranks.reach(self.fault)
            self.kill_server(service, ranks, 0)
            assert ranks.reach(self.stop)
            ranks.go_on()
        finally:
            ranks.kill()
        return up_to_common_place(ranks.entries())

    def states(self, entries):
        states = [rank[-1]["state"] for rank in entries]
        if self.ranks[0] == self.ranks[1] and self.random.random() < 0.5:
            return states
        return [fm.merge_states(states)] * self.ranks[1]

    def rest(self, service, states, done):
        (self.folder / "second").mkdir()
        common = self.common(service, [1])
        ranks = Ranks(self.folder / "second", common, self.ranks[1], states)
        try:
            if ranks.reach(1):
                self.kill_server(service, ranks, 1)
            ranks.finish()
        finally:
            ranks.kill()
        return by_epoch(ranks.entries(), done)

    def check(self, first, rest):
        """Frameworks leave out the last batches of an epoch, fewer than the ranks."""
        drops = self.framework != "none"
        last = max((epoch for epoch in first if first[epoch]), default=0)
        for epoch in range(EPOCHS):
            whole = [element_hash(batch) for batch in dataset_of(self.kind).read(epoch=epoch)]
            count = len(whole)
            if drops and epoch < last:
                count -= len(whole) % self.ranks[0]
            elif drops:
                count -= (len(whole) - len(first[epoch])) % self.ranks[1]
            found = first[epoch] + rest[epoch]
            assert found == whole[:count], (epoch, len(found), count)

    def run(self):
        service = Service(self.folder / "one", self.workers[0])
        try:
            entries = self.interrupted(service)
            done = by_epoch(entries)
            if not self.same_service:
                service.stop()
                service = Service(self.folder / "two", self.workers[1])
            self.check(done, self.rest(service, self.states(entries), done))
        finally:
            service.stop()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--framework", choices=["none", "torch", "jax"], default="none")
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first trial's number")
    arguments = parser.parse_args()
    for number in range(arguments.first, arguments.first + arguments.trials):
        with tempfile.TemporaryDirectory(prefix="trial-") as folder:
            trial = Trial(arguments.framework, arguments.seed, number, pathlib.Path(folder))
            begun = time.monotonic()
            print(f"trial {number}: {trial}", flush=True)
            trial.run()
            print(f"trial {number}: equal, {time.monotonic() - begun:.1f} s", flush=True)
    print(f"{arguments.trials} trials with {arguments.framework}: all equal")


if __name__ == "__main__":
    main()
