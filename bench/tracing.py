"""Cost of tracing a job: a row of bench/run.

The same reads through a service, traced by `feedmill trace` from their begin to their end and not traced, in
alternating rounds: `range`, whose pieces are the cheapest, and `large`, elements of 1 MiB. Figures: elements a
second, and CPU seconds of service and reader (those of the tool are left out). The elements are checked. MARK is
the most that a trace may cost.

The reads are short and many: the speed of a shared machine drifts within seconds. Of a read of `large`, which copies
10 GB/s, single rounds differ by 10 % and more."""
import json
import pathlib
import signal
import subprocess

import measure

MARK = 0.03
FEEDMILL = measure.BUILD / "bin" / "feedmill"
PIPELINES = {
    "range": "source: {range: {stop: 1000000000}}\nsteps:\n  - map: 'x * x'\n  - batch: {size: 1024}\n",
    "large": 'source: {range: {stop: 20000}}\nsteps:\n  - map: "full([1048576], cast(x % 256, uint8))"\n',
}


class Trace:
    """Traces a job until it is ended."""

    def __init__(self, service, job, folder):
        self.file = pathlib.Path(folder) / f"{job}.json"
        self.command = [FEEDMILL, "trace", job, "--service", service.address, "--seconds", "600", "-o", self.file]
        self.process = None

    def begin(self):
        while True:  # until the job is there
            self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, text=True)
            if self.process.stderr.readline().startswith("tracing job"):
                return
            self.process.communicate()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
        document = json.loads(self.file.read_text())
        lost = document["otherData"]["lost_spans"] + sum(p["lost_spans"] for p in document["otherData"]["processes"])
        return sum(event["ph"] == "X" for event in document["traceEvents"]), lost


def read(service, pipeline, job, folder, traced):
    before = service.cpu()
    reader = subprocess.Popen([FEEDMILL, "read", pipeline, "--service", service.address, "--job", job,
                               "--format", "summary"], stdout=subprocess.PIPE, text=True)
    trace = Trace(service, job, folder)
    if traced:
        trace.begin()
    out, used = measure.output_and_cpu(reader)
    measure.check(reader.returncode == 0, f"{job}: the read failed")
    result = json.loads(out.strip().splitlines()[-1])
    result["cpu_s"] = service.cpu() - before + used
    if traced:
        result["spans"], result["lost"] = trace.end()
        measure.check(result["spans"] > 0, f"{job}: spans")
    return result


def bench(folder, rounds, _rows):
    ratios = {}
    service = measure.Service(folder)
    try:
        for name, text in PIPELINES.items():
            pipeline = measure.write(folder, f"{name}.yaml", text)
            number = iter(range(2 * rounds))

            def side(traced, name=name, pipeline=pipeline, number=number):
                return read(service, pipeline, f"{name}{next(number)}", folder, traced)
            got = measure.rounds(rounds, {"plain": lambda run=side: run(False), "traced": lambda run=side: run(True)}, swap=True)
            hashes = {result["order_hash"] for results in got.values() for result in results}
            measure.check(len(hashes) == 1, f"{name}: elements")
            rate = measure.Paired(got["traced"], got["plain"], lambda result: measure.rate(result, "elements"))
            cpu = measure.Paired(got["traced"], got["plain"], lambda result: result["cpu_s"])
            spans = measure.median(got["traced"], lambda result: result["spans"] / result["seconds"])
            lost = sum(result["lost"] for result in got["traced"])
            measure.say(f"{name}: rate {rate} and CPU {cpu} of those without a trace; {spans:,.0f} spans/s, "
                        f"{lost:,} dropped")
            measure.say(f"{name}: rate {rate.at_least(1 - MARK)}; CPU {cpu.at_most(1 + MARK)}")
            ratios |= {f"{name}_rate_vs_plain": rate.median, f"{name}_cpu_vs_plain": cpu.median}
    finally:
        service.stop()
    return ratios
