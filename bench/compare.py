"""bench/run compare --before BUILD: two builds of feedmill by turns, such as a commit's and the one's before it.

BUILD is a release build folder of the other commit, with the targets feedmill and bench_trainer, say of a
worktree: `git worktree add ../before COMMIT`. Each row reads one pipeline with both builds in alternating rounds,
in one process or through a service of each build's own. The answers must be equal, shuffled rows' apart: an older
commit may shuffle otherwise. Figures: CPU seconds of all processes and elements a second, this build's divided by
the other's, the median of the rounds' ratios."""
import functools
import os
import pathlib

import engine
from measure import (
    BUILD,
    Service,
    check,
    large_pipeline,
    make_photos,
    paired,
    photos_pipeline,
    range_pipeline,
    rate,
    rounds,
    run_json,
    say,
    small_pipeline,
)


class Side:
    """One build, its service, and the CPU seconds of both."""

    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build), folder
        folder.mkdir()
        self.service = Service(folder, binary=self.build / "bin" / "feedmill")

    def read(self, text, consume, *flags, service=False):
        before = self.service.cpu()
        where = ("--service", self.service.address) if service else ()
        # Indexes of files are each side's own: their form may differ between the commits.
        result = run_json([self.build / "bin" / "bench_trainer", text, consume, *where, *flags],
                          env={**os.environ, "FEEDMILL_INDEXES": str(self.folder / "indexes")})
        result["cpu_s"] += self.service.cpu() - before
        return result


def of_files(kind, extension, *counts):
    return f"{pathlib.Path(engine.files(kind, extension, *counts)[0]).parent}/*.{extension}"


def photos(folder):
    return photos_pipeline(folder, "photos.yaml", f'{{images: {{files: "{make_photos(1024)}/jpeg/*/*.jpg"}}}}', 6)


def arithmetic(folder):
    return engine.pipeline(folder, "arithmetic.yaml", "{range: {stop: 400000000}}", '{map: "x * x + 1"}', '{filter: "x % 5 != 0"}')


def parsed(folder):
    return engine.pipeline(folder, "parsed.yaml", f'{{tfrecord: {{files: "{of_files("records", "tfrecord", 100, 1_000_000)}"}}}}',
                           "{parse_example: {payload: bytes, label: int64}}", "{repeat: 4}")


def lines(folder):
    return engine.pipeline(folder, "lines.yaml", f'{{text: {{files: "{of_files("lines", "txt", 16, 10_000_000)}"}}}}',
                           "{repeat: 4}")


def csv(folder):
    return engine.pipeline(folder, "csv.yaml", f'{{csv: {{files: "{engine.csv_rows()}"}}}}')


def shuffle(folder):
    return engine.pipeline(folder, "shuffle.yaml", "{range: {stop: 300000000}}", "shuffle")


def words(folder):
    return engine.pipeline(folder, "words.yaml", f'{{text: {{files: "{of_files("lines", "txt", 1, 400_000)}"}}}}',
                           '{map: "hash_bucket(split(x), 65536)"}', "{padded_batch: 64}")


def squares(folder):
    return range_pipeline(folder, 400_000_000)


def large(folder):
    return large_pipeline(folder, 4000, 1 << 20)


def hundreds(folder):
    return small_pipeline(folder, 30_000_000)


# Name: the pipeline, how bench_trainer consumes it, its flags, whether through a service.
ROWS = {"arithmetic": (arithmetic, "chunks", ("--threads", 2), False),
        "parsed": (parsed, "strings", (), False),
        "lines": (lines, "strings", (), False),
        "csv": (csv, "sum", ("--threads", 1), False),
        "shuffle": (shuffle, "chunks", (), False),
        "words": (words, "items", (), False),
        "range_local": (squares, "sum", (), False),
        "range_service": (squares, "sum", (), True),
        "range_tcp": (squares, "sum", ("--tcp",), True),
        "photos_local": (photos, "images", (), False),
        "photos_service": (photos, "images", (), True),
        "large_local": (large, "touch", (), False),
        "large_service": (large, "touch", (), True),
        "large_tcp": (large, "touch", ("--tcp",), True),
        "small_tcp": (hundreds, "bytes", ("--tcp",), True)}


def bench(folder, count, names, before):
    folder = pathlib.Path(folder)
    sides = {}
    ratios = {}
    try:
        sides = {"before": Side(before, folder / "before"), "now": Side(BUILD, folder / "now")}
        for name in names or ROWS:
            pipeline, consume, flags, service = ROWS[name]
            calls = {side: functools.partial(build.read, pipeline(folder), consume, *flags, service=service)
                     for side, build in sides.items()}
            for call in calls.values():
                call()  # files into the page cache, their indexes made
            got = rounds(count, calls)
            answers = {(r["elements"], 0 if name == "shuffle" else r["check"]) for results in got.values() for r in results}
            check(len(answers) == 1, f"compare, {name}: {answers}")
            ratios[f"{name}_cpu"] = paired(got["now"], got["before"], lambda r: r["cpu_s"])
            ratios[f"{name}_rate"] = paired(got["now"], got["before"], rate)
            say(f"{name}: CPU {ratios[f'{name}_cpu']:.3f}, rate {ratios[f'{name}_rate']:.3f} of the other build's")
    finally:
        for side in sides.values():
            side.service.stop()
    say(f"load of the machine in the last minute: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores")
    return ratios
