"""Cost of metrics and of the page: a row of bench/run.

The same reads through two services at the same time. On one side, dispatcher, worker and reader are scraped each
second, as Prometheus does. A page is open, too: its stream of the status is read. On the other side there is none of
that. Reads and figures are as in tracing.py. The CPU seconds of the scrapes' other end are left out. MARK is the
most that metrics and page may cost. The load of a machine hides it, so there is a third figure: by how much more of
a core the threads of dispatcher and worker run that make no elements."""
import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.request

import measure
from tracing import FEEDMILL, ONE_THREAD, PIPELINES, report

SCRAPE_INTERVAL = 1.0
MARK = 0.01
MAKER = "fm-maker"  # the threads that make elements


def asked(file, path):
    return urllib.request.urlopen(file.read_text().strip() + path, timeout=20)


class Watched:
    """A service whose processes answer over HTTP."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.urls = [self.folder / "dispatcher-http", self.folder / "worker-http"]
        flags = [["--http", "127.0.0.1:0", "--http-ready-file", url] for url in self.urls]
        self.service = measure.Service(folder, dispatcher_flags=flags[0], flags=[*ONE_THREAD, *flags[1]])

    def answering_cpu(self):
        """CPU seconds of the threads that make no elements."""
        threads = [thread for process in self.service.processes for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads
                   if (thread / "comm").read_text().strip() != MAKER) / 1e9


class Observer:
    """Scrapes what the files name, and reads the page's stream, until it is closed."""

    def __init__(self, files):
        self.files, self.ending = files, threading.Event()
        self.scrapes = self.messages = 0
        self.threads = [threading.Thread(target=self.scrape), threading.Thread(target=self.stream)]
        for thread in self.threads:
            thread.start()

    def scrape(self):
        while True:
            for file in self.files:
                # The reader begins or ends.
                with contextlib.suppress(FileNotFoundError, ValueError, OSError):
                    self.scrapes += len(asked(file, "/metrics").read()) > 0
            if self.ending.wait(SCRAPE_INTERVAL):
                return

    def stream(self):
        with asked(self.files[0], "/api/stream") as answer:
            while not self.ending.is_set():
                self.messages += answer.readline().startswith(b"data:")

    def close(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()


def read(watched, pipeline, job, observed):
    service, reader_http = watched.service, watched.folder / "reader-http"
    command = [FEEDMILL, "read", pipeline, "--service", service.address, "--job", job, "--format", "summary"]
    if observed:
        command += ["--http", "127.0.0.1:0", "--http-ready-file", reader_http]
    observer = Observer([*watched.urls, reader_http]) if observed else None
    before, answering_before = service.cpu(), watched.answering_cpu()
    begun = time.monotonic()
    try:
        reader = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        out, used = measure.output_and_cpu(reader)
    finally:
        if observer:
            observer.close()
    measure.check(reader.returncode == 0, f"{job}: the read failed")
    result = json.loads(out.strip().splitlines()[-1])
    result["cpu_s"] = service.cpu() - before + used
    result["answering"] = (watched.answering_cpu() - answering_before) / (time.monotonic() - begun)
    if observer:
        seconds = time.monotonic() - begun
        measure.check(observer.scrapes >= seconds, f"{job}: {observer.scrapes} scrapes in {seconds:.0f} s")
        measure.check(observer.messages >= seconds, f"{job}: {observer.messages} messages of the stream")
    return result


def answering(result):
    return result["answering"]


def bench(folder, rounds, _rows):
    ratios = {}
    services = []
    try:
        for number in range(2):
            services.append(Watched(pathlib.Path(folder) / f"service{number}"))
        for name, text in PIPELINES.items():
            pipeline = measure.write(folder, f"{name}.yaml", text)

            def side(observed, name=name, pipeline=pipeline):
                return lambda watched, number: read(watched, pipeline, f"{name}{number}", observed)
            got = measure.rounds_at_once(rounds, services, {"plain": side(False), "observed": side(True)})
            ratios |= report(name, got["observed"], got["plain"], MARK, "of those that nothing observes")
            more = (measure.median(got["observed"], answering) - measure.median(got["plain"], answering)) / os.cpu_count()
            measure.say(f"{name}: threads that make no elements take {more:.2%} more of the machine's CPU time")
            ratios[f"{name}_answering"] = round(more, 5)
    finally:
        for watched in services:
            watched.service.stop()
    return ratios
