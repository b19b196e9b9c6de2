#!/usr/bin/env python3
"""Python functions of feedmill beside multiprocessing.Pool.imap, in one run.

    PYTHONPATH=build/release/python bench/python_functions.py [--processes 2] [--rounds 3] [--json]

prints elements a second, CPU time, and feedmill's advantage in both. The functions take one number or one image, or wait
2 ms, with the same number of processes. imap runs with chunksize 1, its default, and with 64, as many as a call of
feedmill's processes has at most. `bench/run python --rows functions` compares the figures of 1 and 2 processes.
Needs numpy and cloudpickle.
"""
import argparse
import json
import multiprocessing
import resource
import statistics
import time

import feedmill as fm
import numpy as np


def number(x):
    return x * x + 1


def image(x):
    return (x.astype(np.float32) / np.float32(255)).mean(axis=2)


def waiting(x):
    time.sleep(0.002)
    return x


def images(count):
    for k in range(count):
        yield np.full((224, 224, 3), k % 251, np.uint8)


def cpu_seconds():
    """Returns the CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def pool_run(function, elements, count, processes, chunksize):
    """Returns elements a second, and CPU microseconds an element, start included."""
    used = cpu_seconds()
    with multiprocessing.Pool(processes) as pool:
        for _ in pool.imap(function, images(2) if function is image else range(processes)):
            pass  # the processes have started
        begin = time.perf_counter()
        for _ in pool.imap(function, elements, chunksize):
            pass
        rate = count / (time.perf_counter() - begin)
        pool.close()
        pool.join()
    return rate, (cpu_seconds() - used) * 1e6 / count


def feedmill_run(dataset, count, processes):
    """The same for a local read."""
    used = cpu_seconds()
    with dataset.read(threads=processes) as reader:
        next(reader)
        begin = time.perf_counter()
        for _ in reader:
            pass
        rate = (count - 1) / (time.perf_counter() - begin)
    return rate, (cpu_seconds() - used) * 1e6 / count


def measured(processes, rounds, scale):
    """Returns for each workload the median (elements a second, CPU us an element) of each side."""
    numbers = fm.Dataset.range
    pixels = "full([224, 224, 3], cast(x % 251, uint8))"
    workloads = [
        ("number", number, 100_000, range, lambda n: numbers(n).map(number, python=True)),
        ("image", image, 2_000, images,
         lambda n: numbers(n).map(pixels).map(image, python=True)),
        ("wait", waiting, 1_000, range, lambda n: numbers(n).map(waiting, python=True)),
    ]
    for name, function, count, elements, dataset in workloads:
        count = int(count * scale)
        runs = {"feedmill": [], "imap": [], "imap by 64": []}
        for _ in range(rounds):
            runs["feedmill"].append(feedmill_run(dataset(count), count, processes))
            for key, chunksize in (("imap", 1), ("imap by 64", 64)):
                runs[key].append(pool_run(function, elements(count), count, processes, chunksize))
        yield name, {key: [statistics.median(column) for column in zip(*of)] for key, of in runs.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON alone")
    flags = parser.parse_args()
    results = measured(flags.processes, flags.rounds, flags.scale)
    if flags.json:
        print(json.dumps(dict(results)))
        return
    print(f"{'workload':9}{'':13}{'elements/s':>11}{'ratio':>7}{'CPU us each':>13}{'ratio':>7}")
    for name, median in results:
        ours = median["feedmill"]
        for key, (rate, cpu) in median.items():
            print(f"{name:9}{key:13}{rate:11.0f}{ours[0] / rate:7.2f}{cpu:13.0f}{cpu / ours[1]:7.2f}", flush=True)


if __name__ == "__main__":
    main()
