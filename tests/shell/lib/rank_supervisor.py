#!/usr/bin/env python3
"""Ranks of one job under a supervisor that starts each with --token F --save-token F --take-over after any end.

    rank_supervisor.py BINARY SERVICE FOLDER --seed S [--ranks N] [--iterations N]

Each rank reads iteration after iteration, more than a pipe holds, and is killed, stopped or limited at moments drawn from
the seed. In each iteration one rank stands still in the middle until all others have come to the end. They wait for
it in the next one. What a rank printed is cut to what its token counts. In the end all must be what one reader of the job
prints, each line once; no process may end in an unexpected way, or say that its place was taken."""
import argparse, json, os, pathlib, random, select, signal, subprocess, sys, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from waits import POLL_S, pass_time  # noqa: E402

PATIENCE = 90  # seconds that anything may take
PIPELINE = """source: {{range: {{stop: 1200000}}}}
steps: [{{shuffle: {{}}}}, {{map: "{cost}"}}, {{filter: "x % 3 != 0"}}, {{batch: {{size: 500}}}}]
options: {{seed: {seed}}}
"""


class Failure(Exception):
    """The ranks did not do as they must; the text says how."""


class Life:
    """One process of a rank, and what it says."""

    def __init__(self, arguments, environment=None):
        self.popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.said = b""
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self):
        while data := os.read(self.popen.stderr.fileno(), 1 << 16):
            self.said += data

    def waits_for(self, rank):
        return any(b" waits for consumer" in line and str(rank).encode() in line.split(b" waits for ")[1].split(b" of ")[0]
                   for line in self.said.splitlines())

    def end(self):
        try:
            self.popen.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            raise Failure(f"a rank did not end; it said {self.said.decode()[-2000:]}") from None
        self.listener.join(PATIENCE)
        self.popen.stdout.close()
        self.popen.stderr.close()
        return self.popen.returncode


class Rank:
    def __init__(self, group, number):
        self.group, self.number = group, number
        self.random = random.Random(f"{group.seed}/{number}")
        self.token = group.folder / f"token-{number}"
        self.iteration, self.life = 0, None
        self.lives, self.ends = 0, {}

    def run(self):
        for self.iteration in range(self.group.iterations):
            self.token.unlink(missing_ok=True)
            self.read_iteration(self.group.expected[self.iteration][self.number::self.group.ranks])
        self.iteration = self.group.iterations

    def read_iteration(self, expected):
        size = sum(map(len, expected))
        # Output, in bytes, at which something happens to it.
        moments = sorted(self.random.uniform(0, 0.95) * size for _ in range(self.random.choice((1, 2, 2, 3))))
        have = []  # whole lines that its token counts
        if self.random.random() < 0.5:
            self.killed_as_it_begins()
            self.counted([])
        while True:
            kind = self.random.choice(("kill", "kill", "stop", "limit")) if moments else None
            lines = self.one_life(have, expected, kind, moments.pop(0) if moments else None)
            if kind is None:
                moments = []
            status = self.life.end()
            told = self.life.said.decode()
            if "took" in told or "by now" in told:
                raise Failure(f"rank {self.number} in iteration {self.iteration}: {told}")
            self.ends[kind or "end"] = self.ends.get(kind or "end", 0) + 1
            through = status == 0 and kind != "limit"
            if not through and status not in {"kill": (-signal.SIGKILL, ), "limit": (0, ),
                                              "stop": (128 + signal.SIGTERM, -signal.SIGTERM)}.get(kind, ()):
                raise Failure(f"rank {self.number} in iteration {self.iteration} ended with {status}, {kind}: {told}")
            have = lines if through else self.counted(lines)
            if have != expected[:len(have)]:
                where = next(k for k, (a, b) in enumerate(zip(have + [b""], expected)) if a != b)
                raise Failure(f"rank {self.number} in iteration {self.iteration}: line {where} is {have[where][:60]!r}, "
                              f"not {expected[where][:60]!r}")
            if through or len(have) == len(expected):
                break
        self.life = None
        if len(have) != len(expected):
            raise Failure(f"rank {self.number} ended iteration {self.iteration} after {len(have)} of {len(expected)} lines")

    def counted(self, lines):
        """The printed lines that the token counts."""
        if not self.token.exists():
            return []
        shown = subprocess.run([self.group.binary, "token", "show", self.token], stdout=subprocess.PIPE, check=True)
        token = json.loads(shown.stdout)
        if token["iteration"] != self.iteration:
            raise Failure(f"the token of rank {self.number} is of iteration {token['iteration']}, not {self.iteration}")
        ranks = self.group.ranks
        count = (token["next_element"] + ranks - 1 - self.number) // ranks
        if len(lines) < count:
            raise Failure(f"rank {self.number} printed {len(lines)} lines, its token counts {count}")
        return lines[:count]

    def killed_as_it_begins(self):
        """SIGKILL when it waits for others, or has printed something."""
        self.start()
        while self.life.popen.poll() is None and b" waits for " not in self.life.said:
            if select.select([self.life.popen.stdout], [], [], 0.01)[0]:
                break
        self.life.popen.kill()
        self.life.end()
        self.ends["kill at once"] = self.ends.get("kill at once", 0) + 1

    def start(self, *more):
        group = self.group
        arguments = [group.binary, "read", group.pipeline, "--service", group.service, "--job", group.job, "--consumer",
                     f"{self.number}/{group.ranks}", "--take-over", "--timeout", f"{PATIENCE}s", "--save-token", self.token]
        if self.token.exists():
            arguments += ["--token", self.token]
        self.life = Life([*arguments, *more], group.environment)
        self.lives += 1

    def one_life(self, have, expected, kind, moment):
        """The whole lines of it and of those before; ends it at the moment, if there is one."""
        size = sum(map(len, expected))
        if kind == "limit":
            self.start("--limit", max(1, int((moment - sum(map(len, have))) / (size / len(expected)))))
        else:
            self.start()
        text = bytearray(b"".join(have))
        told_to_end = kind not in ("kill", "stop")
        while True:
            if not told_to_end and len(text) >= moment:
                told_to_end = True
                self.life.popen.send_signal(signal.SIGKILL if kind == "kill" else signal.SIGTERM)
            self.stand_still(len(text), size)
            data = os.read(self.life.popen.stdout.fileno(), 1 << 14)
            if not data:
                break
            text += data
        return bytes(text).splitlines(keepends=True)[:bytes(text).count(b"\n")]

    def stand_still(self, at, size):
        """The rank that is behind in this iteration reads no further before the others wait for it."""
        group = self.group
        if group.behind[self.iteration] != self.number or at < group.where[self.iteration] * size:
            return
        if self.iteration + 1 == group.iterations:
            return
        deadline = time.monotonic() + PATIENCE
        while not all(group.waits(other, self) for other in group.all if other is not self):
            if group.failed.is_set():
                raise Failure("another rank failed")
            if self.life.popen.poll() is not None:
                return  # it was ended: its next life stands still
            if any(other.iteration < self.iteration for other in group.all):
                return  # another one went back, and is waited for
            if time.monotonic() > deadline:
                raise Failure(f"nobody waits for rank {self.number} in iteration {self.iteration}: " +
                              ", ".join(f"{r.number} is in {r.iteration}" for r in group.all))
            pass_time(POLL_S)
        group.stood.add((self.iteration, self.number))


class Group:
    def __init__(self, binary, service, folder, seed, ranks=3, iterations=3, cost="x", job=None, environment=None):
        self.binary, self.service, self.folder = binary, service, pathlib.Path(folder)
        self.seed, self.ranks, self.iterations = seed, ranks, iterations
        self.environment = environment
        self.job = job or f"ranks-{seed}"
        self.random = random.Random(f"{seed}/group")
        self.pipeline = self.folder / f"{self.job}.yaml"
        self.pipeline.write_text(PIPELINE.format(cost=cost, seed=self.random.randrange(1000)))
        self.behind = [self.random.randrange(ranks) for _ in range(iterations)]
        self.where = [self.random.uniform(0, 0.3) for _ in range(iterations)]
        self.failed, self.failure, self.stood = threading.Event(), None, set()
        self.all = [Rank(self, number) for number in range(ranks)]

    def make_reference(self):
        """Makes the lines that one reader of a job of its own prints, iteration after iteration."""
        self.expected = []
        for _ in range(self.iterations):
            done = subprocess.run(
                [self.binary, "read", self.pipeline, "--service", self.service, "--job", f"{self.job}-alone"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, env=self.environment)
            if done.returncode != 0:
                raise Failure(f"the one reader failed: {done.stderr.decode()}")
            self.expected.append(done.stdout.splitlines(keepends=True))
        if len(set(map(tuple, self.expected))) != self.iterations:
            raise Failure("two iterations are the same")

    def waits(self, rank, behind):
        """It is beyond the iteration of the rank that is behind, and knows for whom it waits."""
        life = rank.life
        return rank.iteration == self.iterations or (
            rank.iteration > behind.iteration and life is not None and life.waits_for(behind.number))

    def read(self):
        """All of it, in ranks. REQUIRES: make_reference."""
        threads = [threading.Thread(target=self.watch, args=(rank, ), daemon=True) for rank in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE * self.iterations * 2)
        self.kill_all()
        if self.failure:
            raise self.failure
        if any(thread.is_alive() for thread in threads):
            raise Failure("the ranks did not come to an end")

    def watch(self, rank):
        try:
            rank.run()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = self.failure or failure
            self.failed.set()
            self.kill_all()

    def kill_all(self):
        for life in [rank.life for rank in self.all]:
            if life is not None:
                life.popen.kill()

    def summary(self):
        ends = {}
        for rank in self.all:
            for kind, count in rank.ends.items():
                ends[kind] = ends.get(kind, 0) + count
        return {"seed": self.seed, "lives": sum(rank.lives for rank in self.all), "ends": ends, "waited_for": len(self.stood),
                "lines": sum(map(len, self.expected))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("service")
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    group = Group(options.binary, options.service, options.folder, options.seed, options.ranks, options.iterations)
    try:
        group.make_reference()
        group.read()
    except Failure as failure:
        print(f"seed {options.seed}: {failure}", file=sys.stderr)
        sys.exit(1)
    print(json.dumps(group.summary()))


if __name__ == "__main__":
    main()
