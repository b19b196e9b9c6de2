"""Cost of 4 ranks if the positions of batches are unknown before they are made: a row of bench/run.

Filtered numbers in batches, rows in buckets by length, and packed rows: read by one reader, and by the ranks of one
job, which are parallel processes. CPU seconds are of all processes: dispatcher, workers and readers. A local read of
each share must have the order hash of the rank."""
import itertools
import json
import os
import subprocess
import tempfile
import time

import measure

RANKS = 4
# Rows of 4 KB, each of which takes about as long as the tokens of as much text.
ROWS = """source: {range: {stop: 40000}}
steps:
  - map: {y: "sort(cumsum(full([1000], 1) * (x + 1) * 7919) % 65537)[:x * 7919 % 900 + 1]"}
"""
PIPELINES = {
    "filter": """source: {range: {stop: 24000}}
steps:
  - map: "sum(full([100000], x % 1000)) + x"
  - filter: "x % 3 != 0"
  - batch: {size: 16}
options: {seed: 7}
""",
    "buckets": ROWS + """  - bucket_by_sequence_length:
      {component: y, boundaries: [250, 500, 750], batch_sizes: [32, 16, 12, 8]}
options: {seed: 7}
""",
    "pack": ROWS + """  - pack: {length: 1024}
  - batch: 8
options: {seed: 7}
"""}


def read(pipeline, *flags):
    command = [measure.BUILD / "bin" / "feedmill", "read", pipeline, "--format", "summary", *flags]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def ended(readers):
    found = [json.loads(reader.communicate(timeout=300)[0]) for reader in readers]
    measure.check(all(reader.returncode == 0 for reader in readers), "ranks: a reader failed")
    return found


def children_cpu():
    times = os.times()
    return times.children_user + times.children_system


def bench(folder, count, rows):
    jobs = itertools.count()
    ratios = {}
    for name, text in PIPELINES.items():
        if rows and name not in rows:
            continue
        pipeline = measure.write(folder, f"{name}.yaml", text)
        expected = {ranks: [ended([read(pipeline, "--local", "--consumer", f"{rank}/{ranks}")])[0]["order_hash"]
                            for rank in range(ranks)] for ranks in (1, RANKS)}

        def side(ranks):
            service = measure.Service(tempfile.mkdtemp(dir=folder))
            try:
                before, readers_before, begun = service.cpu(), children_cpu(), time.monotonic()
                job = f"job-{next(jobs)}"
                got = ended([read(pipeline, "--service", service.address, "--job", job, "--consumer", f"{rank}/{ranks}")
                             for rank in range(ranks)])
                seconds = time.monotonic() - begun
                cpu = service.cpu() - before + children_cpu() - readers_before
            finally:
                service.stop()
            measure.check([one["order_hash"] for one in got] == expected[ranks], f"ranks: the {name} of {ranks}")
            return {"elements": sum(one["elements"] for one in got), "seconds": seconds, "cpu_s": cpu}

        got = measure.rounds(count, {f"{name} one": lambda: side(1), f"{name} ranks": lambda: side(RANKS)})
        one, ranks = (measure.median(results, lambda r: r["cpu_s"]) for results in got.values())
        measure.say(f"ranks: {name}: {one:.2f} CPU s for one reader, {ranks:.2f} for {RANKS} ranks")
        ratios[f"{name}_ranks_vs_one"] = measure.ratio(ranks, one)
    return ratios
