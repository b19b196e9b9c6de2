"""Cost of tracing a job: a row of bench/run.

The same reads through two services at the same time, traced by `feedmill trace` from their begin to their end and not
traced: `range`, whose pieces are the cheapest, and `large`, elements of 1 MiB. Figures: elements a second, and CPU
seconds of service and reader (without the tool's). The elements are checked. MARK is the most that a trace
may cost."""
import json
import pathlib
import signal
import subprocess

import measure

MARK = 0.03
ONE_THREAD = ["--threads", "1"]
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


def report(name, changed, plain, mark, than):
    """Prints rate and CPU time of the reads `changed` and of the reads `plain`, and whether they differ by more than
    `mark`; returns both ratios."""
    hashes = {result["order_hash"] for result in changed + plain}
    measure.check(len(hashes) == 1, f"{name}: elements")
    rate = measure.Paired(changed, plain, lambda result: measure.rate(result, "elements"))
    cpu = measure.Paired(changed, plain, lambda result: result["cpu_s"])
    measure.say(f"{name}: rate {rate} and CPU {cpu} {than}")
    measure.say(f"{name}: rate {rate.at_least(1 - mark)}; CPU {cpu.at_most(1 + mark)}")
    return {f"{name}_rate_vs_plain": rate.median, f"{name}_cpu_vs_plain": cpu.median}


def bench(folder, rounds, _rows):
    ratios = {}
    services = []
    try:
        for number in range(2):
            home = pathlib.Path(folder) / f"service{number}"
            home.mkdir()
            services.append(measure.Service(home, flags=ONE_THREAD))
        for name, text in PIPELINES.items():
            pipeline = measure.write(folder, f"{name}.yaml", text)

            def side(traced, name=name, pipeline=pipeline):
                return lambda service, number: read(service, pipeline, f"{name}{number}", service.folder, traced)
            got = measure.rounds_at_once(rounds, services, {"plain": side(False), "traced": side(True)})
            spans = measure.median(got["traced"], lambda result: result["spans"] / result["seconds"])
            lost = sum(result["lost"] for result in got["traced"])
            measure.say(f"{name}: {spans:,.0f} spans/s, {lost:,} dropped")
            ratios |= report(name, got["traced"], got["plain"], MARK, "of those without a trace")
    finally:
        for service in services:
            service.stop()
    return ratios
