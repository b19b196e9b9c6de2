#!/usr/bin/env python3
"""Python functions of feedmill beside multiprocessing.Pool.imap, in one run.

    PYTHONPATH=build/release/python bench/python_functions.py [--processes 2] [--rounds 3]

prints elements a second and the ratio, for functions of one number and of one
image, with the same number of processes. imap runs with chunksize 1, its
default, and with 64, as many as a call of feedmill's processes has at most.
Needs numpy and cloudpickle.
"""
import argparse
import multiprocessing
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


def pool_rate(function, elements, count, processes, chunksize):
    with multiprocessing.Pool(processes) as pool:
        for _ in pool.imap(function, range(processes) if function is number else images(2)):
            pass  # the processes have started
        begin = time.perf_counter()
        for _ in pool.imap(function, elements, chunksize):
            pass
        return count / (time.perf_counter() - begin)


def feedmill_rate(dataset, count, processes):
    with dataset.read(threads=processes) as reader:
        next(reader)
        begin = time.perf_counter()
        for _ in reader:
            pass
        return (count - 1) / (time.perf_counter() - begin)


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
    print(f"{'workload':10}{'feedmill/s':>12}{'imap/s':>12}{'ratio':>8}{'imap 64/s':>12}{'ratio':>8}")
    for name, function, count, elements, dataset in workloads:
        count = int(count * flags.scale)
        rates = {"feedmill": [], 1: [], 64: []}
        for _ in range(flags.rounds):
            rates["feedmill"].append(feedmill_rate(dataset(count), count, flags.processes))
            for chunksize in (1, 64):
                rates[chunksize].append(
                    pool_rate(function, elements(count), count, flags.processes, chunksize)
                )
        ours, one, many = (statistics.median(rates[key]) for key in ("feedmill", 1, 64))
        print(f"{name:10}{ours:12.0f}{one:12.0f}{ours / one:8.2f}{many:12.0f}{ours / many:8.2f}",
              flush=True)


if __name__ == "__main__":
    main()
