#!/usr/bin/env python3
"""Python functions of feedmill beside multiprocessing.Pool.imap, in one run.

    PYTHONPATH=build/release/python bench/python_functions.py [--processes 2] [--rounds 3]

prints elements a second, CPU time, and feedmill's advantage in both. The functions take
one number or one image, with the same number of processes. imap runs with chunksize 1, its
default, and with 64, as many as a call of feedmill's processes has at most.
Needs numpy and cloudpickle.
"""
import argparse
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


def images(count):
    for k in range(count):
        yield np.full((224, 224, 3), k % 251, np.uint8)


def cpu_seconds():
    """Returns those of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def pool_run(function, elements, count, processes, chunksize):
    """Returns elements a second, and CPU microseconds an element, start included."""
    used = cpu_seconds()
    with multiprocessing.Pool(processes) as pool:
        for _ in pool.imap(function, range(processes) if function is number else images(2)):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    flags = parser.parse_args()
    numbers = fm.Dataset.range
    pixels = "full([224, 224, 3], cast(x % 251, uint8))"
    workloads = [
        ("number", number, 100_000, range, lambda n: numbers(n).map(number, python=True)),
        ("image", image, 2_000, images,
         lambda n: numbers(n).map(pixels).map(image, python=True)),
    ]
    print(f"{'workload':9}{'':13}{'elements/s':>11}{'ratio':>7}{'CPU us each':>13}{'ratio':>7}")
    for name, function, count, elements, dataset in workloads:
        count = int(count * flags.scale)
        runs = {"feedmill": [], "imap": [], "imap by 64": []}
        for _ in range(flags.rounds):
            runs["feedmill"].append(feedmill_run(dataset(count), count, flags.processes))
            for key, chunksize in (("imap", 1), ("imap by 64", 64)):
                runs[key].append(pool_run(function, elements(count), count, flags.processes, chunksize))
        median = {key: [statistics.median(column) for column in zip(*of)] for key, of in runs.items()}
        ours = median["feedmill"]
        for key, (rate, cpu) in median.items():
            print(f"{name:9}{key:13}{rate:11.0f}{ours[0] / rate:7.2f}{cpu:13.0f}{cpu / ours[1]:7.2f}", flush=True)


if __name__ == "__main__":
    main()
