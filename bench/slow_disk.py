"""Measures a read whose dispatcher has a slow disk: its rate and longest pause, and the longest wait for a status.

    slow_disk.py [--binary build/release/bench/feedmill_sleepy] [--elements 2000] [--repeat 1] [MILLISECONDS ...]

Each sync of the dispatcher takes MILLISECONDS more. Two workers of one thread compute elements of 4 ms.
"""
import argparse
import itertools
import os
import pathlib
import subprocess
import tempfile
import threading
import time

SLOW = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void stall(void) {
  long ms = atol(getenv("SYNC_MS"));
  struct timespec left = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}
#define SLOW(name) \\
int name(int fd) { \\
  stall(); \\
  return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \\
}
SLOW(fsync)
SLOW(fdatasync)
"""
PIPELINE = "source: {{range: {{stop: {}}}}}\nsteps:\n  - map: 'sleep_ms(x, 4)'\noptions: {{seed: 3}}\n"


def slow_environment(folder, sync_ms):
    """Variables with which each sync of a process takes `sync_ms` more. Its library is made in the folder."""
    (folder / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "slow.so", folder / "slow.c", "-ldl"], check=True)
    return dict(os.environ, LD_PRELOAD=str(folder / "slow.so"), SYNC_MS=str(sync_ms))


def await_file(path):
    end = time.monotonic() + 120
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < end, f"{path} does not appear"
        time.sleep(0.02)
    return path.read_text().strip()


class Watch(threading.Thread):
    """Asks for the status again and again; keeps the longest wait for an answer."""

    def __init__(self, binary, service):
        super().__init__()
        self.command = [binary, "status", "--service", service, "--timeout", "60s"]
        self.longest, self.ends = 0.0, threading.Event()

    def run(self):
        while not self.ends.is_set():
            begin = time.monotonic()
            subprocess.run(self.command, check=True, stdout=subprocess.DEVNULL)
            self.longest = max(self.longest, time.monotonic() - begin)
            self.ends.wait(0.1)


def pauses(reader):
    """The times at which lines arrive."""
    times = []
    for _line in reader.stdout:
        times.append(time.monotonic())
    return times


def start(command, environment, log, **options):
    return subprocess.Popen(command, env=environment, stderr=log, **options)


def measure(binary, sync_ms, elements):
    with tempfile.TemporaryDirectory() as name, open(pathlib.Path(name) / "log", "wb") as log:
        folder = pathlib.Path(name)
        (folder / "p.yaml").write_text(PIPELINE.format(elements))
        plain = dict(os.environ, HOME=name)
        slow = dict(slow_environment(folder, sync_ms), HOME=name)
        processes = [start([binary, "dispatcher", "--work-dir", folder / "work", "--ready-file", folder / "at"], slow, log)]
        try:
            service = await_file(folder / "at")
            for k in range(2):
                ready = folder / f"w{k}"
                processes.append(start([binary, "worker", "--dispatcher", service, "--threads", "1", "--ready-file", ready], plain, log))
                await_file(ready)
            watch = Watch(binary, service)
            begin = time.monotonic()
            reader = start([binary, "read", folder / "p.yaml", "--service", service, "--job", "train"], plain, log, stdout=subprocess.PIPE)
            processes.append(reader)
            watch.start()
            times = pauses(reader)
            watch.ends.set()
            watch.join()
            assert reader.wait() == 0 and len(times) == elements, (folder / "log").read_text()
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()
    longest = max(b - a for a, b in itertools.pairwise(times))
    half = len(times) // 2
    return {"rate": (elements - 1) / (times[-1] - times[0]), "rate_of_second_half": (len(times) - half - 1) / (times[-1] - times[half]),
            "longest_pause_s": longest, "first_element_s": times[0] - begin, "longest_status_s": watch.longest}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bench/feedmill_sleepy")
    parser.add_argument("--elements", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("milliseconds", type=int, nargs="*", default=[0, 50, 300, 1000, 3000])
    options = parser.parse_args()
    binary = os.path.abspath(options.binary)
    for sync_ms in options.milliseconds:
        for _ in range(options.repeat):
            found = measure(binary, sync_ms, options.elements)
            print(f"sync {sync_ms} ms:", ", ".join(f"{key} {value:.2f}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
