#!/usr/bin/env python3
"""Writes numpy_cases.txt: the results of each function in NumPy 2.

  python3 -m venv /tmp/venv && /tmp/venv/bin/pip install 'numpy>=2' pillow ml_dtypes
  /tmp/venv/bin/python tests/unit/ops/make_numpy_cases.py

The format is in case_format.py.
"""
import itertools
import os
import sys
import warnings

import numpy as np

from affine_cases import affine_cases
from array_cases import array_cases
from blur_cases import blur_cases
from box_cases import box_cases
from case_format import ALL, FLOATS, INTS, column, emit, lines, literal, ragged, strings, values
from float16_cases import float16_cases
from image_cases import decode_cases, image_cases, rotate_cases
from image_format_cases import image_format_cases
from mixing_cases import mixing_cases
from random_cases import random_cases
from resize_cases import resize_cases
from text_cases import text_cases

assert int(np.__version__.split(".")[0]) >= 2
warnings.simplefilter("ignore")


def pairs(name, a, b):
    """Combines every value with every other, or with a few."""
    if name in ("floor_divide", "remainder", "power", "less", "divide"):
        x, y = np.meshgrid(a, b)
        return x.ravel(), y.ravel()
    turns = [0, 1, 3, 6]
    return np.tile(a, len(turns)), np.concatenate([np.roll(b, t) for t in turns])


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "power": np.power,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift, "right_shift": np.right_shift,
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
    "minimum": np.minimum, "maximum": np.maximum,
}
UNARY = {
    "negative": np.negative, "positive": np.positive, "invert": np.invert, "logical_not": np.logical_not,
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "floor": np.floor, "ceil": np.ceil,
    "round": np.round, "square": np.square, "sign": np.sign, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "log1p": np.log1p, "expm1": np.expm1, "isnan": np.isnan, "isfinite": np.isfinite,
}
FLOAT_UNARY = ("sqrt", "exp", "log", "sin", "cos", "tanh", "log1p", "expm1")
REDUCE = {"sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "mean": np.mean,
          "any": np.any, "all": np.all}
INEXACT = {"exp", "log", "power", "sin", "cos", "tanh", "log1p", "expm1"}


def is_int(a):
    return np.asarray(a).dtype.kind in "iub"


def bad_rows(name, a, b):
    """Rows without a result, where feedmill differs from NumPy: a data error."""
    calc = np.result_type(a, b)
    if calc.kind not in "iub":
        return np.zeros(np.shape(b), bool)
    if name in ("floor_divide", "remainder"):
        return np.asarray(b) == 0
    if name in ("power", "left_shift", "right_shift"):
        return np.asarray(b) < 0
    return np.zeros(np.shape(b), bool)


def both_zero(name, a, b):
    """minimum and maximum of 0.0 and -0.0: both are allowed, even in NumPy."""
    if name not in ("minimum", "maximum"):
        return np.zeros(np.broadcast(a, b).shape, bool)
    return (np.asarray(a) == 0) & (np.asarray(b) == 0)


def binary(name, a, b, literal_b=None, literal_a=None):
    f = BINARY[name]
    args = [column(a) if literal_a is None else literal(literal_a),
            column(b) if literal_b is None else literal(literal_b)]
    left = a if literal_a is None else literal_a
    right = b if literal_b is None else literal_b
    tolerance = name in INEXACT
    if name.startswith("logical"):  # NumPy fails for 2**63 here
        left, right = [bool(v) if isinstance(v, int) else v for v in (left, right)]
    try:
        result = f(left, right)
    except (TypeError, OverflowError):
        return emit(name, args, "build-error")
    except ValueError:  # integer to a negative power
        if literal_b is not None:
            return emit(name, args, "build-error")
        result = None
    if result is not None and result.dtype == np.float16:
        return
    bad = bad_rows(name, left, right)
    if np.any(bad):
        rows = np.broadcast_to(bad, np.broadcast(a if literal_a is None else b,
                                                 b if literal_b is None else a).shape)
        return emit(name, args, f"data-error {int(np.argmax(rows))}")
    emit(name, args, result, tolerance and result.dtype.kind == "f")


def good_pairs(name, a, b):
    x, y = pairs(name, a, b)
    try:
        bad = bad_rows(name, x, y)
    except TypeError:
        bad = np.zeros(x.shape, bool)
    bad = bad | both_zero(name, x, y)
    return x[~bad], y[~bad]


def binary_cases():
    for name in BINARY:
        for da, db in itertools.product(ALL, ALL):
            a, b = values(da), values(db)
            if da == db:
                binary(name, *good_pairs(name, a, b))
            else:
                keep = ~(bad_rows_or_none(name, a, b[::-1]) | both_zero(name, a, b[::-1]))
                binary(name, a[keep], b[::-1][keep])
        for d, v in itertools.product(ALL, [True, 0, 1, -1, 3, 300, 2**40, 2**63, -2.5, 0.1, float("nan"), 1e300]):
            a = values(d)
            a = a[~both_zero(name, a, v)]
            if name in ("minimum", "maximum", "power") and v == 1e300:
                continue  # NumPy warns about the overflow and differs
            binary(name, a, None, literal_b=v)
            if v in (True, 3, 300, 2**63, -2.5):
                keep = np.ones(a.shape, bool)
                try:
                    keep = ~np.asarray(bad_rows(name, v, a))
                except (TypeError, OverflowError):
                    pass
                binary(name, None, a[keep], literal_a=v)
        for d in ALL:  # no rows, one row, and rows that fail
            a = values(d)
            binary(name, a[:0], a[:0])
            binary(name, a[1:2], a[1:2])
            if d != "bool" and name not in ("minimum", "maximum"):
                binary(name, a, np.roll(a, 3))


def bad_rows_or_none(name, a, b):
    try:
        return bad_rows(name, a, b)
    except TypeError:
        return np.zeros(a.shape, bool)


def unary_cases():
    for name, f in UNARY.items():
        for d in ALL:
            a = values(d)
            if name in FLOAT_UNARY and is_int(a):
                result = f(a.astype(np.float64))  # NumPy: float16 for small ones
            else:
                try:
                    result = f(a)
                except TypeError:
                    emit(name, [column(a)], "build-error")
                    continue
            if result.dtype == np.float16:
                emit(name, [column(a)], "build-error")
                continue
            emit(name, [column(a)], result, name in INEXACT)
            emit(name, [column(a[:0])], result[:0])
            emit(name, [column(a.reshape(3, 4))], result.reshape(3, 4), name in INEXACT)
    ties = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 4503599627370497.5, 4503599627370495.5, 9007199254740993.0,
                     0.49999999999999994, -0.2, 2.0**52, -(2.0**52) - 1, 1e-320])
    for name in ("floor", "ceil", "round"):
        for d in FLOATS:
            a = ties.astype(d)
            emit(name, [column(a)], UNARY[name](a))


def reduction_cases():
    rng = np.random.default_rng(1)
    for name, f in REDUCE.items():
        for d in ALL:
            for a in (values(d).reshape(3, 4), values(d).reshape(2, 3, 2), values(d)[:4],
                      np.array([[1, 2, 3]] * 3).astype(d)):
                rows = []
                for row in a:
                    if np.dtype(d).kind == "f" and name in ("sum", "prod", "mean"):
                        # In order, in its own dtype; NumPy adds pairwise.
                        acc = np.dtype(d).type(1 if name == "prod" else 0)
                        for v in np.ravel(row):
                            acc = acc * v if name == "prod" else acc + v
                        rows.append(acc / np.dtype(d).type(np.size(row)) if name == "mean" else acc)
                    else:
                        rows.append(f(row))
                emit(name, [column(a)], np.array(rows))
            empty = np.zeros((2, 0), d)
            if name in ("min", "max", "mean"):
                emit(name, [column(empty)], "data-error 0")
            else:
                emit(name, [column(empty)], np.array([f(r) for r in empty]))
            emit(name, [column(empty[:0])], np.array([f(np.ones(1, d))])[:0])
        noise = rng.standard_normal((4, 5)).astype(np.float32)
        if name in ("min", "max", "any", "all"):
            emit(name, [column(noise)], np.array([f(r) for r in noise]))


def cast_cases():
    for d, to in itertools.product(ALL, ALL):
        a = values(d)
        if np.dtype(d).kind == "f" and np.dtype(to).kind == "u":
            # NumPy's own vector code differs from the plain instruction here.
            a = a[np.isfinite(a) & (np.abs(a) < 1e20)]
            if to in ("uint32", "uint64"):
                a = a[a >= 0]
        emit("cast", [column(a), f"dtype {to}"], a.astype(to))
        emit("cast", [column(a[:0]), f"dtype {to}"], a[:0].astype(to))
        emit("cast", [column(a[:4].reshape(2, 2)), f"dtype {to}"], a[:4].reshape(2, 2).astype(to))
    emit("cast", [column(np.array([-1.0, 300.0, 1e10])), "dtype uint8"], np.uint8([255, 44, 0]))
    emit("cast", ["literal int:300", "dtype uint8"], np.array([44], np.uint8))
    emit("cast", ["literal float:" + (2.5).hex(), "dtype int32"], np.array([2], np.int32))
    emit("cast", [column(values("int8")), "dtype bytes"], "build-error")


def selection_cases():
    rng = np.random.default_rng(2)
    c = rng.integers(0, 2, 12).astype(bool)
    for da, db in itertools.product(ALL, ALL):
        a, b = values(da), values(db)[::-1]
        emit("where", [column(c), column(a), column(b)], np.where(c, a, b))
    for d in ALL:
        a = values(d)
        emit("where", [column(a), column(c), literal(1)], np.where(a, c, 1))
        emit("where", [column(c), column(a), literal(2.5)], np.where(c, a, 2.5))
        emit("where", [column(c), literal(7), column(a)], np.where(c, 7, a))
        emit("where", [column(c), literal(1), literal(2)], np.where(c, 1, 2))
        if d != "bool":
            emit("clip", [column(a), literal(1), literal(3)], np.clip(a, 1, 3))
        for e in ALL:
            lo, hi = np.array([1] * 12).astype(e), np.array([3] * 12).astype(d)
            emit("clip", [column(a), column(lo), column(hi)], np.clip(a, lo, hi))
        emit("clip", [column(a), literal(0.5), literal(2.5)], np.clip(a, 0.5, 2.5))
    emit("clip", [column(np.float64([np.nan, 1, 5])), column(np.float64([0, np.nan, 0])),
                  column(np.float64([2, 2, np.nan]))], np.float64([np.nan] * 3))
    emit("where", [column(c), column(values("int8")), literal(300)], "build-error")


def broadcast_cases():
    rng = np.random.default_rng(3)

    def array(*shape):
        return rng.integers(-5, 6, shape).astype(np.int32)

    shapes = [((), (3,)), ((3,), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), (2, 1)),
              ((1,), (4,)), ((4, 1, 2), (3, 1)), ((0,), (1,)), ((2, 0), (1,)), ((2, 3, 4), (2, 1, 4))]
    for sa, sb in shapes:
        a, b = array(5, *sa), array(5, *sb)
        rows = np.stack([np.subtract(x, y) for x, y in zip(a, b)])
        emit("subtract", [column(a), column(b)], rows)
        wide = b.astype(np.float64)
        emit("subtract", [column(a), column(wide)], np.stack([x - y for x, y in zip(a, wide)]))
        for which in (0, 1):  # a constant row against every row
            one = (a[:1], b) if which == 0 else (a, b[:1])
            rows = np.stack([np.subtract(x, y) for x, y in
                             zip(np.broadcast_to(one[0], a.shape), np.broadcast_to(one[1], b.shape))])
            args = [("const " if which == i else "") + column(v) for i, v in enumerate(one)]
            emit("subtract", args, rows)
    a, b, c = array(700, 2, 1), array(700, 3), array(700)
    emit("where", [column(a), column(b), column(c)], np.stack([np.where(x, y, z) for x, y, z in zip(a, b, c)]))
    emit("where", [column(c), "const " + column(b[:1]), literal(9)],
         np.stack([np.where(x, b[0], np.int32(9)) for x in c]))
    emit("add", [column(array(2, 3)), column(array(2, 4))], "build-error")
    big = array(1500)
    emit("add", [literal(2), column(big)], 2 + big)
    emit("multiply", [column(big), literal(1.5)], big * 1.5)
    emit("clip", [column(big), literal(-2), literal(2)], np.clip(big, -2, 2))
    zero = big.copy()
    zero[zero == 0] = 1
    zero[1234] = 0
    emit("floor_divide", [column(big), column(zero)], "data-error 1234")
    emit("remainder", [column(big.reshape(500, 3)), column(zero.reshape(500, 3))], "data-error 411")
    emit("floor_divide", [column(big), literal(0)], "data-error 0")
    for i in (0, 2, -1, -3):
        x = array(4, 3)
        emit("getitem", [column(x), literal(i)], x[:, i])
        x = array(4, 3, 2)
        emit("getitem", [column(x), literal(i)], x[:, i])
    emit("getitem", [column(array(4, 3)), literal(3)], "build-error")
    emit("getitem", [column(array(4)), literal(0)], "build-error")
    emit("getitem", [column(array(4, 3)), literal(1.0)], "build-error")


def each(f, a, *more):
    """Applies f to every row."""
    return np.stack([f(row, *more) for row in a])


def view_cases():
    rng = np.random.default_rng(4)
    a = rng.integers(-9, 9, (3, 2, 6)).astype(np.int16)
    s = strings([b"a", b"", b"bc", b"d", b"efg", b"h"]).reshape(1, 2, 3)
    for x in (a.astype(np.float64), a.astype(np.uint8), a):
        for shape in ([3, 4], [-1], [12], [2, -1, 3], [1, 12, 1]):
            emit("reshape", [column(x), literal(shape)], each(np.reshape, x, shape))
        for starts, sizes in (([0], [1]), ([1, 2], [1, 3]), ([0, -2], [-1, 2]), ([1, 6], [1, 0]), ([0, 1], [2, -1])):
            begin = [b % d for b, d in zip(starts, x.shape[1:])] if starts != [1, 6] else starts
            at = tuple(slice(b, None if n == -1 else b + n) for b, n in zip(begin, sizes))
            emit("slice", [column(x), literal(starts), literal(sizes)], each(lambda r: r[at], x))
        emit("transpose", [column(x)], each(np.transpose, x))
        for shape in ((3, 4), (2, 2, 3), (3, 2, 2), (1, 12), (4, 3, 1)):
            y = x.reshape(3, *shape)
            for axes in itertools.permutations(range(len(shape))):
                emit("transpose", [column(y), literal(list(axes))], each(np.transpose, y, axes))
    emit("transpose", [column(s)], each(np.transpose, s))
    emit("reshape", [column(s), literal([3, -1])], s.reshape(1, 3, 2))
    emit("slice", [column(s), literal([0, 1]), literal([2, 2])], s[:, :, 1:])
    rows = [rng.integers(0, 9, (n, 2)).astype(np.int32) for n in (2, 0, 3)]
    emit("transpose", [ragged(rows)], ragged([r.T for r in rows]))
    emit("reshape", [ragged(rows), literal([-1])], ragged([r.ravel() for r in rows]))
    emit("slice", [ragged([rows[0], rows[2]]), literal([1]), literal([1])],
         ragged([rows[0][1:2], rows[2][1:2]]))
    emit("slice", [ragged(rows), literal([1]), literal([1])], "data-error 1")
    emit("reshape", [ragged(rows), literal([4])], "data-error 1")
    for shape in ([5], [-1, -1], [-2, 6], [5, -1], [0, -1]):
        emit("reshape", [column(a), literal(shape)], "build-error")
    for starts, sizes in (([0], [3]), ([-3], [1]), ([0, 0, 0], [1, 1, 1]), ([0], [1, 1]), ([0], [-2])):
        emit("slice", [column(a), literal(starts), literal(sizes)], "build-error")
    for axes in ([0], [0, 0], [0, 2], [0, 1, 2]):
        emit("transpose", [column(a), literal(axes)], "build-error")


def join_cases():
    rng = np.random.default_rng(5)
    for da, db in itertools.product(ALL, ALL):
        a, b = values(da).reshape(2, 2, 3), values(db).reshape(2, 1, 6)
        both = np.result_type(a, b)
        if both == np.float16:
            continue
        c = b.reshape(2, 2, 3)
        for axis in (0, 1, -1, 2, -3) if da == "int16" else (1,):
            args = [column(a), column(c), literal(axis)]
            stacked = np.stack([np.stack([x.astype(both), y.astype(both)], axis) for x, y in zip(a, c)])
            emit("stack", args, stacked)
            emit("concat", args, np.stack([np.concatenate([x.astype(both), y.astype(both)], axis)
                                           for x, y in zip(a, c)]) if axis in (0, 1, -1) else "build-error")
        emit("list", [column(a), column(c)], np.stack([a, c], 1).astype(both))
    x, y, z = (rng.integers(0, 9, (3, 2, n)) for n in (1, 4, 2))
    emit("concat", [column(x), column(y), column(z), literal(1)], np.concatenate([x, y, z], 2))
    emit("concat", [column(x), column(y), literal(0)], "build-error")
    emit("stack", [column(x), column(y), literal(0)], "build-error")
    emit("concat", [column(y), "const " + column(x[:1]), literal(-1)],
         each(lambda r: np.concatenate([r, x[0]], 1), y))
    emit("stack", [column(y[:, 0, 0]), literal(7), literal(0)], each(lambda v: np.array([v, 7]), y[:, 0, 0]))
    emit("list", [column(y[:, 0, 0].astype(np.uint8)), literal(300)], "build-error")
    emit("list", [literal(0.5), literal(1)], np.array([[0.5, 1]]))
    emit("concat", [column(y[:, 0, 0]), column(y[:, 0, 0]), literal(0)], "build-error")
    for axis in (0, 1, -1):  # of one value: its items along the first axis
        w = rng.integers(0, 9, (2, 3, 2, 2))
        emit("concat", [column(w), literal(axis)], each(lambda r: np.concatenate(list(r), axis), w))
        emit("stack", [column(w), literal(axis)], each(lambda r: np.stack(list(r), axis), w))
    rows = [rng.integers(0, 9, n).astype(np.int64) for n in (2, 0, 3)]
    more = [rng.integers(0, 9, n).astype(np.int64) for n in (1, 2, 0)]
    emit("concat", [ragged(rows), ragged(more), literal(0)],
         ragged([np.concatenate(p) for p in zip(rows, more)]))
    emit("concat", [ragged(rows), "const int64[1]1:7", literal(0)], ragged([np.append(r, 7) for r in rows]))
    emit("stack", [ragged(rows), ragged(rows), literal(1)], ragged([np.stack([r, r], 1) for r in rows]))
    emit("stack", [ragged(rows), ragged(more), literal(0)], "data-error 0")
    s = strings([b"a", b"", b"bc", b"d"]).reshape(2, 2)
    emit("concat", [column(s), column(s), literal(0)], np.concatenate([s, s], 1))
    emit("list", [column(s[:, 0]), literal(b"zz")], np.stack([s[:, 0], strings([b"zz", b"zz"])], 1))
    emit("stack", [column(s), column(x), literal(0)], "build-error")


def gather_cases():
    rng = np.random.default_rng(6)
    for d in ALL:
        a = values(d).reshape(2, 3, 2)
        for e in INTS:
            i = rng.integers(0, 3, (2, 4)).astype(e)
            emit("gather", [column(a), column(i)], np.stack([np.take(r, j, 0) for r, j in zip(a, i)]))
        i = rng.integers(-3, 3, (2, 2, 2))
        emit("gather", [column(a), column(i)], np.stack([np.take(r, j, 0) for r, j in zip(a, i)]))
        emit("gather", [column(a), literal(-1)], a[:, -1])
        emit("gather", ["const " + column(a[:1]), column(i[:, 0, 0])], np.stack([a[0][j] for j in i[:, 0, 0]]))
    emit("gather", [column(a), column(np.array([0, 3]))], "data-error 1")
    emit("gather", [column(a), column(np.array([-4, 0]))], "data-error 0")
    emit("gather", [column(a), column(np.array([0.0, 1.0]))], "build-error")
    emit("gather", [column(a[:, 0, 0]), column(np.array([0, 0]))], "build-error")
    rows = [np.arange(n) * 2 for n in (2, 1, 3)]
    emit("gather", [ragged(rows), literal(0)], np.array([0, 0, 0]))
    emit("gather", [ragged(rows), ragged([r // 2 for r in rows])], ragged(rows))
    emit("gather", [column(strings([b"a", b"bc", b"", b"d"]).reshape(2, 2)), column(np.array([[1, 0, 1]] * 2))],
         strings([b"bc", b"a", b"bc", b"d", b"", b"d"]).reshape(2, 3))
    for e in INTS:
        i = np.array([[0, 2], [1, 3]], e)
        for d in ["float32", "int64", "bool"]:
            hot = (i[..., None] == np.arange(3)).astype(d)
            emit("one_hot", [column(i), literal(3), f"dtype {d}"], hot)
        emit("one_hot", [column(i), literal(4)], (i[..., None] == np.arange(4)).astype(np.float32))
    emit("one_hot", [column(np.array([-1, 1])), literal(2)], np.float32([[0, 0], [0, 1]]))
    emit("one_hot", [ragged(rows), literal(3)], ragged([(r[:, None] == np.arange(3)).astype(np.float32) for r in rows]))
    emit("one_hot", [column(i), literal(0)], "build-error")
    emit("one_hot", [column(np.float32([1])), literal(2)], "build-error")


def in_order(name, row, axis):
    """A sum, product or mean in order, in its own dtype."""
    row = np.moveaxis(row, axis, 0)
    acc = np.full(row.shape[1:], 1 if name == "prod" else 0, row.dtype)
    for v in row:
        acc = acc * v if name == "prod" else acc + v
    return acc / row.dtype.type(row.shape[0]) if name == "mean" else acc


def axis_cases():
    for d in ALL:
        a = values(d).reshape(1, 2, 3, 2)
        if np.dtype(d).kind == "f":
            a = a + np.dtype(d).type(0)  # no -0.0: min and max of zeros give either
        for name, f in {**REDUCE, "argmin": np.argmin, "argmax": np.argmax}.items():
            for axis in (0, 1, 2, -1):
                if np.dtype(d).kind == "f" and name in ("sum", "prod", "mean"):
                    result = each(lambda r: in_order(name, r, axis), a)
                else:
                    result = each(lambda r: f(r, axis), a)
                emit(name, [column(a), literal(axis)], result)
            flat = values(d).reshape(4, 3)
            if name.startswith("arg"):
                emit(name, [column(flat)], each(f, flat))
                emit(name, [column(flat.reshape(2, 2, 3))], each(f, flat.reshape(2, 2, 3)))
                emit(name, [column(flat[:, :0])], "data-error 0")
            for axis in (3, -4):
                emit(name, [column(a), literal(axis)], "build-error")
            none = a[:, :, :0]
            emit(name, [column(none), literal(1)], "data-error 0" if name in ("min", "max", "mean") or
                 name.startswith("arg") else each(lambda r: f(r, 1), none))
        flat = values(d).reshape(3, 2, 2)
        emit("cumsum", [column(flat)], each(lambda r: np.add.accumulate(r.ravel(), dtype=np.cumsum(r).dtype), flat))
    rows = [np.arange(2 * n).reshape(n, 2) - 3 for n in (2, 0, 3)]
    emit("sum", [ragged(rows), literal(1)], ragged([r.sum(1) for r in rows]))
    emit("sum", [ragged(rows), literal(0)], np.stack([r.sum(0) for r in rows]))
    emit("max", [ragged(rows), literal(0)], "data-error 1")
    emit("max", [ragged(rows), literal(1)], ragged([r.max(1) for r in rows]))
    emit("cumsum", [ragged(rows)], ragged([np.cumsum(r) for r in rows]))
    emit("argmax", [ragged(rows), literal(-1)], ragged([r.argmax(1) for r in rows]))
    emit("sum", [column(a), literal(1.0)], "build-error")
    emit("sum", [column(np.array([1, 2])), literal(0)], "build-error")


binary_cases()
unary_cases()
text_cases()
image_cases()
random_cases()
decode_cases()
image_format_cases()
rotate_cases()
resize_cases()
affine_cases()
blur_cases()
mixing_cases()
box_cases()
view_cases()
join_cases()
gather_cases()
axis_cases()
array_cases()
reduction_cases()
cast_cases()
selection_cases()
broadcast_cases()
float16_cases()
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy_cases.txt")
unique = list(dict.fromkeys(lines))
with open(path, "w") as out:
    out.write("\n".join(unique) + "\n")
print(len(unique), "cases", os.path.getsize(path), "bytes", file=sys.stderr)
