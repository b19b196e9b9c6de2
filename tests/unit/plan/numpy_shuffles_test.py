#!/usr/bin/python3
"""Checks the statistics of shuffle_statistics_test.cc on other shuffles: all of
NumPy's permutations are within its limit, and permutations of the four-round network
that shuffled before plan version 2 are not.
"""
import math
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../schemas/golden"))
from make_random_vectors import random_key  # noqa: E402

LIMIT = 5
GRID_MAX = 16
ORDERS_MAX = 6
EPOCHS = 20_000


def normal(total, freedom):
    """A chi-squared sum in standard deviations (Wilson and Hilferty)."""
    variance = 2 / (9 * freedom)
    return ((total / freedom) ** (1 / 3) - (1 - variance)) / math.sqrt(variance)


def is_odd(orders):
    """Returns the parity of each order, from the swaps that sort it."""
    orders = orders.copy()
    where = np.argsort(orders, axis=1)
    rows = np.arange(len(orders))
    odd = np.zeros(len(orders), bool)
    for i in range(orders.shape[1]):
        value, place = orders[:, i].copy(), where[:, i].copy()
        odd ^= place != i
        orders[rows, place] = value
        where[rows, value] = place
    return odd


def deviations(orders):
    """Returns deviations from uniform shuffles, in standard deviations."""
    epochs, n = orders.shape
    grid = min(n, GRID_MAX)
    part = np.arange(n) * grid // n
    sizes = np.bincount(part)
    cells = np.zeros((grid, grid))
    for j in range(n):
        cells[part[j]] += np.bincount(part[orders[:, j]], minlength=grid)
    area = np.outer(sizes, sizes)
    places = ((cells - epochs * area / n) ** 2 * (n - 1) / (epochs * area)).sum()
    result = {"places": normal(places, (grid - 1) ** 2)}
    steps = np.diff(orders, axis=1)
    mean = (n - 1) / n
    deviation = math.sqrt(epochs * ((n - 2) / n + mean - mean * mean))
    result["rising neighbours"] = ((steps == 1).sum() - epochs * mean) / deviation
    result["falling neighbours"] = ((steps == -1).sum() - epochs * mean) / deviation
    result["parity"] = (is_odd(orders).sum() - epochs / 2) / (math.sqrt(epochs) / 2)
    if n <= ORDERS_MAX:
        count = math.factorial(n)
        _, seen = np.unique(orders, axis=0, return_counts=True)
        seen = np.concatenate([seen, np.zeros(count - len(seen))])
        result["orders"] = normal(((seen - epochs / count) ** 2 * count / epochs).sum(), count - 1)
    return result


def of_numpy(n):
    orders = np.tile(np.arange(n), (EPOCHS, 1))
    return np.random.default_rng(7).permuted(orders, axis=1)


def mix(z):
    z = z ^ z >> np.uint64(30)
    z = z * np.uint64(0xBF58476D1CE4E5B9)
    z = z ^ z >> np.uint64(27)
    z = z * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def of_four_rounds(n):
    keys = np.array([random_key(7, 0, epoch, 1, 0) for epoch in range(EPOCHS)], np.uint64)
    low, high = keys[:, :1], keys[:, 1:]
    half = np.uint64((max(2, (n - 1).bit_length()) + 1) // 2)
    mask = (np.uint64(1) << half) - np.uint64(1)
    x = np.tile(np.arange(n, dtype=np.uint64), (EPOCHS, 1))
    walking = np.ones(x.shape, bool)
    while walking.any():
        left, right = x >> half, x & mask
        for key in (low, high, mix(low), mix(high)):
            left, right = right, left ^ mix(right ^ key) & mask
        x = np.where(walking, left << half | right, x)
        walking &= x >= n
    return x.astype(np.int64)


def main():
    failures = []
    for n in (2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 64, 100, 256, 1000):
        failures += [f"NumPy, {n} elements: {what} is off by {deviation:.1f} deviations"
                     for what, deviation in deviations(of_numpy(n)).items() if abs(deviation) >= LIMIT]
    for n in (5, 8, 64):
        if max(map(abs, deviations(of_four_rounds(n)).values())) < LIMIT:
            failures.append(f"four rounds, {n} elements: nothing is off")
    print("\n".join(failures) or "all as expected")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
