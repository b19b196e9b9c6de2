"""Cases of float16 by NumPy, and of bfloat16 by ml_dtypes."""
import ml_dtypes
import numpy as np

from case_format import column, emit, literal

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]
OTHERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint64", "float32", "float64"]
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "floor_divide": np.floor_divide, "remainder": np.remainder, "less": np.less,
    "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal,
    "minimum": np.minimum, "maximum": np.maximum,
}
EXACT = {
    "negative": np.negative, "positive": np.positive, "abs": np.abs, "sqrt": np.sqrt,
    "floor": np.floor, "ceil": np.ceil, "square": np.square, "sign": np.sign,
    "isnan": np.isnan, "isfinite": np.isfinite,
}
NEAR = {"exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
        "log1p": np.log1p, "expm1": np.expm1}


def numbers(dtype):
    """Numbers, ties of rounding, the smallest, the largest, and those that are none."""
    wide = [0.5, -1.5, 2.5, 3.140625, 1000.25, -7.25, 0.1, 6e-8, -3e-5, 60000.0, 2.0**-14, 1e-3]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    return np.array(wide + special).astype(dtype)


def same_bits(a):
    """A column; ml_dtypes' scalars have no hex."""
    return column(a) if a.dtype != BFLOAT16 else "bfloat16" + column(a.astype(np.float32))[7:]


def binary_cases(half):
    a = numbers(half)
    b = np.roll(a, 5)
    for name, f in BINARY.items():
        if name in ("minimum", "maximum"):  # either zero is right
            a, b = np.where(a == 0, 1, a).astype(half), np.where(b == 0, 1, b).astype(half)
        emit(name, [same_bits(a), same_bits(b)], same_bits(f(a, b)))
        for other in OTHERS:
            c = np.resize(np.array([1, 0, 3, 7, 100]), a.size).astype(other)
            if name in ("floor_divide", "remainder", "minimum", "maximum"):
                c[c == 0] = 1
            both = (np.ones(1, half) + np.ones(1, other)).dtype  # result_type knows no bfloat16
            emit(name, [same_bits(a), column(c)], same_bits(f(a.astype(both), c.astype(both))))
        for value in (3, -2.5, 0.1, True):
            emit(name, [same_bits(a), literal(value)], same_bits(f(a, half.type(value))))
    x, y = (np.array([0.5, 3.25, -1.5, 9]).astype(d) for d in HALVES)
    emit("add", [column(x), same_bits(y)], column(x.astype(np.float32) + y.astype(np.float32)))


def unary_cases(half):
    a = numbers(half)
    for name, f in EXACT.items():
        # ml_dtypes' sign of -0.0 is -0.0, NumPy's is 0.0.
        made = f(a) if name != "sign" else f(a.astype(np.float32)).astype(half)
        emit(name, [same_bits(a)], same_bits(made))
    for name, f in NEAR.items():
        emit(name, [same_bits(a)], "~" + same_bits(f(a.astype(np.float32)).astype(half)))
    emit("round", [same_bits(a)], same_bits(np.rint(a.astype(np.float32)).astype(half)))
    emit("invert", [same_bits(a)], "build-error")


def reduction_cases(half):
    a = numbers(half)[:12].reshape(2, 6)
    wide = a.astype(np.float32)
    in_order = {
        "sum": lambda x: np.add.accumulate(x, -1)[..., -1],
        "prod": lambda x: np.multiply.accumulate(x, -1)[..., -1],
        "mean": lambda x: np.add.accumulate(x, -1)[..., -1] / np.float32(x.shape[-1]),
        "min": lambda x: x.min(-1), "max": lambda x: x.max(-1),
    }
    for name, f in in_order.items():  # computed as float32, and rounded once
        emit(name, [same_bits(a)], same_bits(f(wide).astype(half)))
        cube = wide.reshape(2, 2, 3)
        emit(name, [same_bits(cube.astype(half)), literal(1)], same_bits(f(cube).astype(half)))
        turned = f(np.moveaxis(cube, 1, -1))
        emit(name, [same_bits(cube.astype(half)), literal(0)], same_bits(turned.astype(half)))
    emit("any", [same_bits(a)], column(np.array([True, True])))
    sums = np.stack([np.add.accumulate(row) for row in a])
    emit("cumsum", [same_bits(a)], same_bits(sums))
    emit("argmax", [same_bits(a)], column(wide.argmax(-1)))
    emit("sort", [same_bits(a)], same_bits(np.sort(wide, -1).astype(half)))
    m, n = wide.reshape(2, 2, 3) / 1000, np.array([[1, 2.5], [0.5, -3], [7, 0.125]], half)
    product = np.stack([[[sum_of(r * n[:, j].astype(np.float32)) for j in range(2)] for r in one]
                        for one in m.astype(half).astype(np.float32)])
    emit("matmul", [same_bits(m.astype(half)), "const " + same_bits(n[None])],
         same_bits(product.astype(half)))


def sum_of(items):
    return np.add.accumulate(items.astype(np.float32))[-1]


def cast_cases(half):
    a = numbers(half)
    for other in [*OTHERS, *HALVES]:
        to = np.dtype(other)
        b = a if to.kind not in "iu" else a[np.isfinite(a) & (abs(a) < 100)]
        if to.kind == "u":
            b = b[b >= 0]
        emit("cast", [same_bits(b), f"dtype {to.name}"], same_bits(b.astype(to)))
    for wide in ("float32", "float64"):
        # Ties, and doubles that are none, but become ties as floats.
        c = np.array([1 + 2**-11, 1 + 2**-11 + 2**-40, 1 + 2**-9 + 2**-30, 65519.99, 65520, 1e39,
                      2.0**-25, 2.0**-25 * (1 + 2**-30), 3 * 2.0**-26, -1e-50, 0.1, np.nan])
        with np.errstate(all="ignore"):
            c = c.astype(wide)
        emit("cast", [column(c), f"dtype {half.name}"], same_bits(c.astype(half)))
    for whole in ("int64", "uint64", "int32"):
        c = np.array([0, 1, 2049, 2051, 65519, 65520, 2**24 + 1, 2**31 - 1]).astype(whole)
        emit("cast", [column(c), f"dtype {half.name}"], same_bits(c.astype(half)))


def selection_cases(half):
    a = numbers(half)[:12]
    c = np.array([True, False] * 6)
    emit("where", [column(c), same_bits(a), literal(0.1)],
         same_bits(np.where(c, a, half.type(0.1))))
    emit("clip", [same_bits(a), literal(-1), literal(2.5)],
         same_bits(np.clip(a.astype(np.float32), -1, 2.5).astype(half)))
    emit("concat", [same_bits(a.reshape(3, 4)), same_bits(a.reshape(3, 4)), literal(0)],
         same_bits(np.concatenate([a.reshape(3, 4)] * 2, 1)))
    emit("isin", [same_bits(a), same_bits(np.tile(a[:3], (12, 1)))], column(np.isin(np.arange(12), [0, 1, 2])))
    emit("one_hot", [column(np.array([1, 0])), literal(2), f"dtype {half.name}"],
         same_bits(np.array([[0, 1], [1, 0]]).astype(half)))


def float16_cases():
    with np.errstate(all="ignore"):
        for half in HALVES:
            binary_cases(half)
            unary_cases(half)
            reduction_cases(half)
            cast_cases(half)
            selection_cases(half)
