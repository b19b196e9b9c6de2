"""What the benchmarks share: processes, rounds, medians, checks, and the pipelines and data
that several of them read."""
import glob, json, os, pathlib, platform, shutil, statistics, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SHARED = ROOT.parent / "shared"
PEERS = pathlib.Path(os.environ.get("FEEDMILL_PEERS", pathlib.Path.home() / ".cache" / "feedmill" / "peers"))
TICKS = os.sysconf("SC_CLK_TCK")


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def cpu_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / TICKS


def run_json(command, **options):
    """The JSON object on the last line that a program prints."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, timeout=400, **options)
    if done.returncode != 0:
        sys.exit(f"bench/run: {' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Service:
    """A dispatcher and one worker with a thread a core, as processes."""

    def __init__(self, folder, workers=1, flags=(), binary=BUILD / "bin" / "feedmill", dispatcher_flags=()):
        self.folder, self.processes, self.binary = pathlib.Path(folder), [], binary
        self.address = self.start("dispatcher", "dispatcher", *dispatcher_flags)
        for number in range(workers):
            self.start(f"worker{number}", "worker", "--dispatcher", self.address, *flags)

    def start(self, name, role, *flags):
        ready = self.folder / name
        log = open(self.folder / (name + ".log"), "wb")
        command = [self.binary, role, "--port", "0", "--ready-file", ready, *flags]
        process = subprocess.Popen([str(c) for c in command], stderr=log)
        self.processes.append(process)
        deadline = time.monotonic() + 30
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"bench/run: the {name} did not start:\n" + pathlib.Path(log.name).read_text())
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


def tensorflow():
    python = PEERS / "tensorflow" / "bin" / "python"
    return python if python.exists() and (SHARED / "peers" / "tfdata_service.py").exists() else None


def setup_peers():
    PEERS.mkdir(parents=True, exist_ok=True)
    say("setting up the peers in", PEERS)
    subprocess.run([sys.executable, "-m", "venv", PEERS / "tensorflow"], check=True)
    subprocess.run([PEERS / "tensorflow" / "bin" / "pip", "install", "-q", "tensorflow-cpu==2.21.0"], check=True)
    subprocess.run([sys.executable, "-m", "venv", PEERS / "pyarrow"], check=True)
    subprocess.run([PEERS / "pyarrow" / "bin" / "pip", "install", "-q", "pyarrow==26.0.1"], check=True)


def peer(workload, n, **environment):
    python = tensorflow()
    if python is None:
        return None
    return run_json([python, SHARED / "peers" / "tfdata_service.py", workload, n],
                    env={**os.environ, **environment}, stderr=subprocess.DEVNULL)


# One row of a table of ../shared/limits, without the rest of the table.
LIMIT_ROWS = {
    "ring_row": """// 1 MiB through 16 slots of shared memory: copied in, every cache line read.
#define main table
#include "t4_shm.cpp"
#undef main
int main(int, char** v) {
  pool = (char*)mmap(0, POOL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(pool, 5, POOL);
  const long n = atol(v[1]);
  const Res r = run(1 << 20, 16, 1, true, 0, 16 << 20, n, getpid());
  printf("{\\"elements\\": %ld, \\"seconds\\": %.4f, \\"cpu_gb\\": %.4f}\\n", n, n * 1048576. / r.gbs / 1e9, r.cpu);
}
""",
    "columns_row": """// 100-byte elements in columnar frames of 256 KB over TCP, verified.
#define main table
#include "t3_fb.cpp"
#undef main
int main(int, char** v) {
  src.resize(8 << 20);
  for (size_t i = 0; i < src.size(); i++) src[i] = i * 2654435761u >> 13;
  ES = 100;
  double ns = 0;
  const double rate = e2e("tcp", ms[3], 2560, 1, true, atof(v[1]), &ns, atoi(v[2]));
  printf("{\\"elements\\": %.0f, \\"seconds\\": %s, \\"cpu_gb\\": %.4f}\\n", rate * atof(v[1]), v[1], ns / ES);
}
"""}


def limit_programs():
    """The limits of ../shared, built beside ours with the flags they come with."""
    source, out = SHARED / "limits", ROOT / "build" / "limits"
    if not source.exists():
        return None
    if not (out / "columns_row").exists():
        out.mkdir(parents=True, exist_ok=True)
        for file in source.iterdir():
            shutil.copy(file, out)
        for name, text in LIMIT_ROWS.items():
            write(out, f"{name}.cpp", text)
        flags = "-O3 -march=native -std=c++17 -w".split()
        subprocess.run(["flatc", "--cpp", "lim.fbs"], cwd=out, check=True)
        subprocess.run(["g++", *flags, "t2_zmq.cpp", "-o", "t2_zmq", "-lzmq", "-lpthread"], cwd=out, check=True)
        subprocess.run(["g++", *flags, "-fopenmp", "-I/usr/include/opencv4", "t11_photos.cpp", "-o", "t11_photos",
                        "-lturbojpeg", "-lopencv_imgproc", "-lopencv_core"], cwd=out, check=True)
        for name in LIMIT_ROWS:
            subprocess.run(["g++", *flags, f"{name}.cpp", "-o", name, "-lzmq", "-lpthread"], cwd=out, check=True)
    return out


def rounds(count, sides):
    """Runs each side once a round; a side is a function that gives a result or None."""
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


def describe(result):
    keys = ("rows", "elements", "seconds", "cpu_s", "cpu_gb", "first_s", "end_of_sequence_s")
    return "  ".join(f"{k} {result[k]:g}" for k in keys if k in result)


def rate(result, what="rows"):
    return result.get(what, result["elements"]) / result["seconds"]


def median(results, value):
    return statistics.median(map(value, results)) if results else None


def ratio(a, b):
    return None if a is None or b is None else round(a / b, 3)


def paired(over, under, value):
    """The median of the rounds' own ratios: the state of a shared machine, which drifts from round to round, is in both
    sides of each."""
    if not over or not under:
        return None
    return round(statistics.median(value(a) / value(b) for a, b in zip(over, under, strict=True)), 3)


def check(condition, what):
    if not condition:
        sys.exit(f"bench/run: wrong answer: {what}")


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


def make_photos(photos):
    data = ROOT / "build" / f"photos-{photos}"
    subprocess.run([str(BUILD / "bin" / "make_photos"), str(data), str(photos),
                    *sorted(glob.glob("/usr/share/backgrounds/mate/nature/*.jpg"))],
                   check=True, stdout=subprocess.DEVNULL)
    return data


def cpu_name():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()
