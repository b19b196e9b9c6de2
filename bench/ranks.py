"""Cost of 4 ranks if the positions of batches are unknown before they are made: a row of bench/run.

Numbers with much arithmetic, filtered, in batches: read by one reader, and by the ranks of one job, which are
parallel processes. CPU seconds are the workers' only. The ranks' batches, taken in turn, must equal the
batches of a local read."""
import itertools
import subprocess
import tempfile
import time

import measure

COUNT, RANKS = 24_000, 4
PIPELINE = f"""source: {{range: {{stop: {COUNT}}}}}
steps:
  - map: "sum(full([100000], x % 1000)) + x"
  - filter: "x % 3 != 0"
  - batch: {{size: 16}}
options: {{seed: 7}}
"""


def read(pipeline, *flags):
    command = [measure.BUILD / "bin" / "feedmill", "read", pipeline, *flags]
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def lines(readers):
    found = [reader.communicate(timeout=300)[0].splitlines() for reader in readers]
    measure.check(all(reader.returncode == 0 for reader in readers), "ranks: a reader failed")
    return found


def interleaved(parts):
    return [line for step in itertools.zip_longest(*parts) for line in step if line is not None]


def bench(folder, count, _rows):
    pipeline = measure.write(folder, "ranks.yaml", PIPELINE)
    expected = lines([read(pipeline, "--local")])[0]
    jobs = itertools.count()

    def side(ranks):
        service = measure.Service(tempfile.mkdtemp(dir=folder))
        try:
            workers = service.processes[1:]
            before, begun = sum(measure.cpu_of(w.pid) for w in workers), time.monotonic()
            job = f"job-{next(jobs)}"
            got = lines([read(pipeline, "--service", service.address, "--job", job, "--consumer", f"{rank}/{ranks}")
                         for rank in range(ranks)])
            seconds, cpu = time.monotonic() - begun, sum(measure.cpu_of(w.pid) for w in workers) - before
        finally:
            service.stop()
        measure.check(interleaved(got) == expected, f"ranks: the batches of {ranks}")
        return {"elements": len(expected), "seconds": seconds, "cpu_s": cpu}

    got = measure.rounds(count, {"one": lambda: side(1), "ranks": lambda: side(RANKS)})
    cpu = {name: measure.median(results, lambda r: r["cpu_s"]) for name, results in got.items()}
    measure.say(f"ranks: workers use {cpu['one']:.2f} CPU s for one reader, {cpu['ranks']:.2f} for {RANKS} ranks")
    return {"one_reader_vs_ranks": measure.ratio(cpu["one"], cpu["ranks"])}
