"""Shared by the benchmarks: processes, rounds, medians, checks, and the pipelines and data
that several of them read."""
import concurrent.futures
import glob
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "feedmill"
PEERS = pathlib.Path(os.environ.get("FEEDMILL_PEERS", CACHE / "peers"))
PYTHON_TOOLS = CACHE / "python" / "venv"
FRAMEWORKS = CACHE / "frameworks"
TICKS = os.sysconf("SC_CLK_TCK")


def say(*words, **options):
    print(*words, file=sys.stderr, flush=True, **options)


def cpu_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / TICKS


def run_json(command, **options):
    """Returns the JSON object on the last line of a program's output."""
    done = subprocess.run([str(c) for c in command], check=False, stdout=subprocess.PIPE, text=True, timeout=400, **options)
    if done.returncode != 0:
        sys.exit(f"bench/run: {' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run_logged(command, **options):
    """Runs a program; shows its last lines only if it fails."""
    done = subprocess.run([str(c) for c in command], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=400, **options)
    if done.returncode != 0:
        say(*done.stdout.splitlines()[-40:], sep="\n")
        sys.exit(f"bench/run: {' '.join(map(str, command))} ended with {done.returncode}")


class Service:
    """A dispatcher and one worker, with a thread per core unless `flags` say otherwise, as processes."""

    def __init__(self, folder, workers=1, flags=(), binary=BUILD / "bin" / "feedmill", dispatcher_flags=(), environment=None):
        self.folder, self.processes, self.binary = pathlib.Path(folder), [], binary
        self.environment = environment  # of the processes; None: this one's
        self.address = self.start("dispatcher", "dispatcher", *dispatcher_flags)
        for number in range(workers):
            self.start(f"worker{number}", "worker", "--dispatcher", self.address, *flags)

    def start(self, name, role, *flags):
        ready = self.folder / name
        log = self.folder / (name + ".log")
        command = [self.binary, role, "--port", "0", "--ready-file", ready, *flags]
        with log.open("wb") as stderr:
            process = subprocess.Popen([str(c) for c in command], stderr=stderr, env=self.environment)
        self.processes.append(process)
        deadline = time.monotonic() + 30
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"bench/run: the {name} did not start:\n" + log.read_text())
            time.sleep(0.01)
        return ready.read_text().strip()

    def cpu(self):
        return sum(cpu_of(p.pid) for p in self.processes)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)
        self.processes = []


def ours(pipeline, consume, service=None, *flags):
    before = service.cpu() if service else 0
    if service:
        flags = ("--service", service.address, *flags)
    result = run_json([BUILD / "bin" / "bench_trainer", pipeline, consume, *flags])
    if service:
        result["cpu_s"] += service.cpu() - before
    return result


def peer_python(environment):
    """Returns the interpreter of a peer's virtual environment; None if it is not set up.

    The environment of tools/setup --frameworks has the same version of TensorFlow, and torchvision."""
    folders = [PEERS / environment] + [FRAMEWORKS / "venv"] * (environment in ("tensorflow", "torchvision"))
    return next((folder / "bin" / "python" for folder in folders if (folder / "bin" / "python").exists()), None)


def setup_peers():
    """Builds one virtual environment for each list of packages in bench/peers."""
    PEERS.mkdir(parents=True, exist_ok=True)
    for packages in sorted((ROOT / "bench" / "peers").glob("*.txt")):
        folder = PEERS / packages.stem
        say("setting up", folder)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "-r", packages], check=True)


def run_peer(environment, script, *arguments, **variables):
    """Returns the result of a script of bench/peers; None if its virtual environment is not set up."""
    python = peer_python(environment)
    if python is None:
        return None
    return run_json([python, ROOT / "bench" / "peers" / script, *arguments], env={**os.environ, **variables},
                    stderr=subprocess.DEVNULL)


def tfdata_service(workload, n, **variables):
    return run_peer("tensorflow", "tfdata_service.py", workload, n, **variables)


def tfdata_local(workload, n, **variables):
    return run_peer("tensorflow", "tfdata_local.py", workload, n, **variables)


def limit(name, *arguments):
    """Returns the result of a program of bench/limits."""
    return run_json([BUILD / "bench" / f"limit_{name}", *arguments])


def rounds(count, sides):
    """Runs each side once per round; a side is a function that returns a result or None."""
    results = {name: [] for name in sides}
    for number in range(count):
        for name, side in sides.items():
            result = side()
            if result is not None:
                results[name].append(result)
                say(f"  round {number + 1}/{count}  {name:<14} {describe(result)}")
            elif number == 0:
                say(f"  skipped: {name} (not installed)")
    return results


def rounds_at_once(count, services, sides):
    """Runs both sides of a round at the same time, each with a service of its own; returns a list of results a side.

    The speed of a shared machine drifts within seconds, and so affects both sides alike. A side is a function of its
    service and of the number of the round. The sides change their services after each round."""
    results = {name: [] for name in sides}
    with concurrent.futures.ThreadPoolExecutor(len(sides)) as threads:
        for number in range(count):
            placed = services if number % 2 == 0 else services[::-1]
            running = {name: threads.submit(side, service, number)
                       for (name, side), service in zip(sides.items(), placed, strict=True)}
            for name, result in running.items():
                results[name].append(result.result())
                say(f"  round {number + 1}/{count}  {name:<14} {describe(result.result())}")
    return results


def describe(result):
    keys = ("rows", "elements", "seconds", "cpu_s", "first_s", "end_of_sequence_s")
    return "  ".join(f"{k} {result[k]:g}" for k in keys if k in result)


def rate(result, what="rows"):
    return result.get(what, result["elements"]) / result["seconds"]


def median(results, value):
    return statistics.median(map(value, results)) if results else None


def shown(value, pattern="{:,.0f}/s"):
    """Formats a figure. A figure without its peer is not shown."""
    return "not shown" if value is None else pattern.format(value)


def ratio(a, b):
    return None if a is None or b is None else round(a / b, 3)


def paired(over, under, value):
    """Returns the median of the rounds' ratios. The load of a shared machine drifts between rounds and affects both
    sides of a round."""
    if not over or not under:
        return None
    return round(statistics.median(value(a) / value(b) for a, b in zip(over, under, strict=True)), 3)


class Paired:
    """The median of the rounds' ratios, and the interval that holds the true median with 95 % probability if the
    rounds are independent: two of the ratios, in certain places of their order. It takes 6 rounds at least."""

    def __init__(self, over, under, value):
        ratios = sorted(value(a) / value(b) for a, b in zip(over, under, strict=True))
        outer = max(0, round(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5) - 1)
        self.median = round(statistics.median(ratios), 3)
        self.known = len(ratios) >= 6
        self.low, self.high = ratios[outer], ratios[-1 - outer]

    def __str__(self):
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f})"

    def at_least(self, mark):
        return f"at least {mark}: {self.answer(self.low >= mark, self.high < mark)}"

    def at_most(self, mark):
        return f"at most {mark}: {self.answer(self.high <= mark, self.low > mark)}"

    def answer(self, yes, no):
        if not self.known:
            return "not known, with fewer than 6 rounds"
        return "yes" if yes else "NO" if no else "not known, the rounds differ too much"


def output_and_cpu(process, seconds=600):
    """Reads a process's output to its end; returns it, and the CPU seconds of the process and its children."""
    end = threading.Timer(seconds, process.kill)
    end.start()
    try:
        with process.stdout:
            output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    finally:
        end.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, used.ru_utime + used.ru_stime


def check(condition, what):
    if not condition:
        sys.exit(f"bench/run: wrong answer: {what}")


def stored_check(n, size):
    """Returns the check of 16 blocks, block k filled with k, sent repeatedly."""
    return sum(k % 16 for k in range(n)) * (size // 64 + 1)


def write(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    return path


def photos_pipeline(folder, name, source, passes):
    return write(folder, name, f"""source: {source}
steps:
  - repeat: {passes}
  {"- parse_example: {image: bytes, label: int64}" if "tfrecord" in source else ""}
  - decode_image: {{component: image, channels: 3, dct: fast}}
  - resize: {{component: image, height: 224, width: 224, method: bilinear}}
  - batch: {{size: 32}}
options: {{seed: 7}}
""")


def range_pipeline(folder, n):
    return write(folder, "range.yaml",
                 f'source: {{range: {{stop: {n}}}}}\nsteps:\n  - map: "x * x"\noptions: {{seed: 7}}\n')


def sum_of_squares(n):
    return (n - 1) * n * (2 * n - 1) // 6 % 2**64


def large_pipeline(folder, n, size):
    return write(folder, "large.yaml", f'source: {{range: {{stop: {n}}}}}\nsteps:\n'
                 f'  - map: "full([{size}], cast(x % 256, uint8))"\noptions: {{seed: 7}}\n')


def small_pipeline(folder, n):
    return write(folder, "small.yaml", f'source: {{range: {{stop: {n}}}}}\nsteps:\n'
                 '  - map: "full([100], cast(x % 256, uint8))"\noptions: {seed: 7}\n')


def make_photos(photos):
    data = ROOT / "build" / f"photos-{photos}"
    subprocess.run([str(BUILD / "bin" / "make_photos"), str(data), str(photos),
                    *sorted(glob.glob("/usr/share/backgrounds/mate/nature/*.jpg"))],
                   check=True, stdout=subprocess.DEVNULL)
    return data


def service_rows(rows, names, folder, count):
    """Runs the rows `names` of a benchmark, or all, through one service; returns their ratios."""
    ratios = {}
    service = Service(folder)
    try:
        for name in names or rows:
            ratios |= rows[name](folder, service, count)
    finally:
        service.stop()
    say(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
    return ratios


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
