#!/usr/bin/env python3
"""Caches on disk under attack, with real processes.

    cache_faults.py --binary F damage|leftovers|sources [--seeds A-B]

damage      flips a bit of a cache's file, cuts it or writes zeros to it: before its first read, between two reads of
            running workers, and while a reader reads. Every read has the order hash (or the bytes) of a local read
            without a cache and exits 0, no worker ends, and a line on stderr names the file; the next read is silent
leftovers   SIGKILLs a writer between the creation of a file and its renaming. `feedmill cache` counts the file that is
            left, and deletes it, or the next reader of the cache does; a writer that is stopped loses nothing
sources     cuts a data file while a local read or a worker reads it: the documented error, and no process dies

Prints a line for each trial; exit status 1 if one does not hold."""
import argparse, hashlib, json, os, pathlib, random, shutil, signal, struct, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "lib"))
from scene import PATIENCE, Failure, Scene, require, wait_for  # noqa: E402

LARGE = """source: {{range: 60}}
steps: [{{map: "full([{items}], cast(x % 10, uint8))"}}, {cache}, {{repeat: {passes}}}]
options: {{seed: 3}}
"""
SMALL = """source: {{range: 120000}}
steps: [{{map: {{x: "x * 3", hot: "one_hot(x % 32, 32)", word: "to_string(x)"}}}}, {cache}, {{shuffle: {{seed: 5}}}},
        {{map: {{x: "x + sum(hot, 0)", word: word}}}}, {{repeat: {passes}}}]
options: {{seed: 3}}
"""


class Caches(Scene):
    """A folder and the processes of one trial; all of them end with it."""

    def __init__(self, binary):
        super().__init__(binary)
        self.directory, self.kept = self.folder, self.folder / "kept"

    def cluster(self, workers):
        address = self.address(self.serve("dispatcher", "dispatcher", "--port", 0))
        flags = ("--port", 0, "--dispatcher", address, "--threads", 1)
        self.workers = [self.serve(f"worker{n}", "worker", *flags) for n in range(workers)]
        for worker in self.workers:
            self.address(worker)
        return ["--service", address]

    def read(self, pipeline, *flags, ok=True):
        done = subprocess.run([self.binary, "read", pipeline, *map(str, flags)], capture_output=True, text=True,
                              timeout=PATIENCE, cwd=self.folder, check=False)
        self.stderr = done.stderr
        require(not ok or done.returncode == 0, f"a read exits with {done.returncode}: {done.stderr}")
        self.returncode = done.returncode
        return done.stdout

    def hash(self, pipeline, *flags):
        return json.loads(self.read(pipeline, *flags, "--format", "summary"))["order_hash"]

    def warnings(self, reader=""):
        """Lines about caches of all that ran, and of the last read."""
        logs = "".join(path.read_text(errors="replace") for path in self.folder.glob("*.log"))
        return [line for line in (logs + reader).splitlines() if "feedmill: cache " in line]

    def no_worker_ended(self):
        for worker in self.workers:
            require(worker.poll() is None, f"a worker ended with {worker.poll()}")

    def cache_files(self):
        return sorted(self.kept.glob("*/*.rows"))

    def unfinished(self):
        return sorted(self.kept.glob("*/*.new"))


def damage(path, draws, values_only):
    """Changes the file where it is; returns what it did."""
    size = path.stat().st_size
    with open(path, "r+b") as file:
        head, = struct.unpack("<Q", file.read(56)[48:])
        first = (64 + head + 63) // 64 * 64 if values_only else 0
        at = draws.randrange(first, size)
        kind = draws.choice(["bit", "bit", "cut", "empty", "zeros"])
        if kind == "bit":
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << draws.randrange(8)]))
        elif kind == "zeros":
            at = min(at, size - 4096)
            file.seek(at)
            file.write(bytes([255]) * 4096)
        else:
            file.truncate(at if kind == "cut" else 0)
    return f"{kind} at {at} of {size}"


def check_damage(scene, seed):
    draws = random.Random(seed)
    moment = ("before the first read", "between two reads", "during a read")[seed % 3]
    workers = 1 + seed // 3 % 2
    text, items = (SMALL, 0) if seed % 4 == 3 else (LARGE, draws.choice([300_000, 1_500_000]))
    passes = 2
    if moment == "during a read":
        text, items, passes = LARGE, 60_000, 40
    plain, kept = (scene.pipeline(name, text.format(cache=cache, items=items, passes=passes))
                   for name, cache in (("plain", "{skip: 0}"), ("kept", "{cache: kept}")))
    if moment == "during a read":
        expected = hashlib.sha256(scene.read(plain, "--local").encode()).hexdigest()
    else:
        expected = scene.hash(plain, "--local")
    local = seed % 10 in (0, 8)
    # The only worker has written the cache itself, or all have found it there: nothing is in two files.
    if moment != "between two reads" or workers > 1 or local:
        scene.read(kept, "--local", "--format", "none")
    service = ["--local"] if local else scene.cluster(workers)
    if local:
        scene.workers = []
    got, reader = None, ""
    if moment == "between two reads":
        for _ in range(2):
            require(scene.hash(kept, *service) == expected, "it differs before the damage")
        wait_for("the cache to be written", scene.cache_files)
    if moment == "during a read":
        process = scene.start("reader", "read", kept, *service, stdout=subprocess.PIPE)
        digest, lines = hashlib.sha256(), 0
        for line in process.stdout:
            digest.update(line)
            lines += 1
            if lines == 240:
                path = draws.choice(scene.cache_files())
                how = damage(path, draws, True)
        require(process.wait() == 0, f"the reader ends with {process.returncode}")
        got = digest.hexdigest()
    else:
        path = draws.choice(scene.cache_files())
        how = damage(path, draws, moment != "before the first read")
        got = scene.hash(kept, *service)
        reader = scene.stderr
    what = f"{moment}, {'local' if local else f'{workers} workers'}, {how}"
    require(got == expected, f"{what}: the order hash differs")
    scene.no_worker_ended()
    said = scene.warnings(reader)
    require(any(str(path.name) in line for line in said), f"{what}: no line names {path.name}: {said}")
    before = len(scene.warnings())
    if moment == "during a read":
        expected = scene.hash(plain, "--local")
    require(scene.hash(kept, *service) == expected, f"{what}: the next read differs")
    require(len(scene.warnings()) == before, f"{what}: the next read is not silent: {scene.warnings()}")
    return what


def all_threads_stand(pid):
    """True if no thread of the process runs any more: the first one stops before the others do."""
    try:
        states = [stat.read_text().rsplit(")", 1)[1].split()[0] for stat in pathlib.Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread that ended meanwhile
        return False
    return all(state in "TZ" for state in states)


def stop_while_it_writes(scene, process):
    """Stops the process while it has an unfinished file with bytes; returns the file."""
    def caught():
        if process.poll() is not None:
            return None, True
        if not scene.unfinished():
            return None, False
        process.send_signal(signal.SIGSTOP)
        wait_for("it to stop", lambda: all_threads_stand(process.pid), pause=0)
        for path in scene.unfinished():
            if path.stat().st_size > 0:
                return path, True
        process.send_signal(signal.SIGCONT)
        return None, False

    path, ended = None, False
    deadline = time.monotonic() + PATIENCE
    while not ended and time.monotonic() < deadline:
        path, ended = caught()
    return path


def check_leftovers(scene, seed):
    draws = random.Random(seed)
    text = LARGE if seed % 2 else SMALL
    many = text.replace("range: 60}", "range: 150}").replace("range: 120000", "range: 240000")
    items = draws.randrange(500_000, 1_000_000)
    plain, kept = (scene.pipeline(name, many.format(cache=cache, items=items, passes=1))
                   for name, cache in (("plain", "{skip: 0}"), ("kept", "{cache: kept}")))
    expected = scene.hash(plain, "--local")
    path = None
    for trial in range(50):
        shutil.rmtree(scene.kept, ignore_errors=True)
        process = scene.start(f"writer{trial}", "read", kept, "--local", "--format", "none")
        path = stop_while_it_writes(scene, process)
        if path:
            break
        process.wait(PATIENCE)
    require(path, "no writer was caught while it wrote")
    cache = lambda *flags: subprocess.run([scene.binary, "cache", scene.kept, *flags], text=True, check=True,
                                          stdout=subprocess.PIPE, timeout=PATIENCE).stdout
    left = path.stat().st_size
    alive = json.loads(cache("--format", "json"))
    require(alive.get("abandoned_files") == 0 and alive["bytes"] >= left, f"the file of a live writer: {alive}")
    cache("--max-size", "1000GiB")
    require(path.exists(), "the file of a live writer was deleted")
    if seed % 5 == 0:  # it continues as if nothing had happened
        process.send_signal(signal.SIGCONT)
        require(process.wait(PATIENCE) == 0, "the writer that was stopped fails")
        require(not scene.unfinished(), "it left something")
        require(scene.hash(kept, "--local") == expected, "the order hash differs")
        return "stopped and continued"
    process.kill()
    process.wait()
    require(path.exists(), "nothing was left")
    left = path.stat().st_size
    dead = json.loads(cache("--format", "json"))
    whole = sum(file.stat().st_size for file in scene.cache_files())
    require(dead["abandoned_files"] == 1 and dead["abandoned_bytes"] == left and dead["bytes"] == whole + left,
            f"what is left, {left} bytes, is not counted: {dead}")
    cache("--max-size", "1000GiB", "--dry-run")
    require(path.exists(), "--dry-run deletes")
    if seed // 2 % 2 == 0:
        said = cache("--max-size", "1000GiB")
        require(not path.exists(), "feedmill cache leaves it there")
        require("that killed writers left; deleted" in said, said)
        require(scene.cache_files() or whole == 0, "it deletes whole files, too")
        by = "feedmill cache"
    else:
        by = "a new writer"
    require(scene.hash(kept, "--local") == expected, "the order hash differs")
    require(not scene.unfinished(), f"{by} leaves it there")
    return f"killed with {left} bytes written, removed by {by}"


def check_sources(scene, seed):
    """Records that are read through mappings: shuffled, many times from one file."""
    draws = random.Random(seed)
    size, count = draws.choice([64, 1000, 5000]), 20_000
    file = scene.folder / "rows.bin"
    file.write_bytes(draws.randbytes(size * 1000) * (count // 1000))
    text = f"""source: {{fixed_length: {{files: rows.bin, record_bytes: {size}}}}}
steps: [{{shuffle: {{seed: 1}}}}, {{repeat: 200}}]
options: {{seed: 1}}
"""
    pipeline = scene.pipeline("rows", text)
    local = seed % 2 == 0
    service = ["--local"] if local else scene.cluster(1)
    process = scene.start("reader", "read", pipeline, *service, stdout=subprocess.PIPE)
    cut = draws.randrange(size * count)
    for number, _ in enumerate(process.stdout):
        if number == 10_000:
            os.truncate(file, cut)
    status = process.wait(PATIENCE)
    said = (scene.folder / "reader.log").read_text()
    require(status == 1 and "changed since the job began" in said and "rows.bin" in said,
            f"{'local' if local else 'service'}, cut at {cut}: exit {status}, {said}")
    if not local:
        scene.no_worker_ended()
    return f"{'local' if local else 'a worker'}, records of {size}, cut at {cut}"


CHECKS = {"damage": check_damage, "leftovers": check_leftovers, "sources": check_sources}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("check", choices=sorted(CHECKS))
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seeds", default="1-10")
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split("-"))
    failed = 0
    for seed in range(first, last + 1):
        try:
            with Caches(arguments.binary) as scene:
                print(f"{arguments.check} {seed}: {CHECKS[arguments.check](scene, seed)}", flush=True)
        except (Failure, subprocess.SubprocessError) as failure:
            failed += 1
            print(f"{arguments.check} {seed}: FAILED: {failure}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
