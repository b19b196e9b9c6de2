#!/usr/bin/env python3
"""Elements as large as they may be, through a service with one worker.

    tests/shell/large_elements.py --binary build/release/bin/feedmill"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "stores"))
from command import wait_for  # noqa: E402

ELEMENTS = 4


def available_bytes():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no MemAvailable")


def begin(binary, folder, name, *arguments):
    ready = folder / f"{name}.ready"
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([binary, *arguments, "--ready-file", str(ready)], stdout=log, stderr=log)
    wait_for(ready.exists, f"{name} to be ready", 120)
    return process, ready.read_text().strip()


def through_a_service(binary, items, *flags):
    """Reads elements of `items` int64 each. The worker must not be taken for lost while it sends or frees them."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pipeline = folder / "large.yaml"
        pipeline.write_text(f"source: {{range: {ELEMENTS}}}\nsteps: [map: 'full([{items}], x)']\n")
        dispatcher, address = begin(binary, folder, "dispatcher", "dispatcher", "--port", "0")
        worker, _ = begin(binary, folder, "worker", "worker", "--dispatcher", address, "--threads", "2", *flags)
        try:
            done = subprocess.run([binary, "read", pipeline, "--service", address, "--format", "summary", "--timeout", "300s"],
                                  capture_output=True, text=True, check=False, timeout=1500)
            log = (folder / "dispatcher.log").read_text()
        finally:
            for process in (worker, dispatcher):
                process.kill()
                process.wait()
        return done, log


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    binary = str(pathlib.Path(parser.parse_args().binary).resolve())
    # Two are made, one is sent, one received, one freed, and one is in the reader.
    items = min(125_000_000, available_bytes() // 8 // 8)
    for flags in ((), ("--transport", "tcp"), ("--shared-memory", f"{items * 8 * 4}")):
        done, log = through_a_service(binary, items, *flags)
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["elements"] == ELEMENTS and summary["bytes"] == ELEMENTS * items * 8, summary
        assert "lost worker" not in log, f"{flags}: {log}"
        assert summary["links"][0]["frames"] == ELEMENTS, f"{flags}: an element was sent twice: {summary}"
        print(f"{items * 8 / 1e9:.2f} GB each, {' '.join(flags) or 'defaults'}: {summary['seconds']:.1f} s")
    done, _ = through_a_service(binary, 140_000_000)
    assert done.returncode == 1 and "the limit is" in done.stderr and "--element-max" in done.stderr, done.stderr


if __name__ == "__main__":
    main()
