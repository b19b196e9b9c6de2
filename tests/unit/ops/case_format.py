"""The lines of numpy_cases.txt, which make_numpy_cases.py writes.

One case per line, tab-separated: function, arguments, result. An argument is
  column   dtype[shape]rows: items of all rows   "int8[2]3:1,2,3,4,5,6"
  constant the same after "const "               "const int8[]1:7"
  literal  "literal int:300", "literal float:0x1p+0", "literal bool:1"
  dtype    "dtype float32" (cast's second argument)
  list     "list 2,-1", of integers
  text     "text x6162": bytes, of which each item is an x and their hex
  ragged   dtype[?]{dims|dims|…}:items: the dims of each row
The result is a column ("~" before it: within 4 units in the last place; "~~": within 4096),
"build-error", or "data-error R" with the first bad row. Floats are in hex.
"""
import numpy as np

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
ALL = ["bool"] + INTS + FLOATS
lines = []


def shorter(text):
    """Removes the trailing zeros of a hex mantissa."""
    mantissa, _, exponent = text.partition("p")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + "p" + exponent


def item(v):
    if isinstance(v, (np.floating, float)):
        v = float(v)
        if np.isnan(v):
            return "nan"
        if np.isinf(v):
            return "inf" if v > 0 else "-inf"
        return shorter(v.hex())
    if isinstance(v, bytes):
        return "x" + v.hex()
    return str(int(v))


def column(a):
    """An array whose first axis is the row."""
    a = np.asarray(a)
    shape = ",".join(map(str, a.shape[1:]))
    if a.dtype == object:
        return f"bytes[{shape}]{a.shape[0]}:" + ",".join(map(item, a.ravel()))
    return f"{a.dtype.name}[{shape}]{a.shape[0]}:" + ",".join(map(item, a.ravel()))


def strings(items):
    """A column of bytes."""
    a = np.empty(len(items), object)
    a[:] = items
    return a


def ragged(rows):
    """Rows of one rank, whose shapes may differ."""
    rows = [np.asarray(r) for r in rows]
    name = "bytes" if rows[0].dtype == object else rows[0].dtype.name
    dims = "|".join(",".join(map(str, r.shape)) for r in rows)
    items = ",".join(item(v) for r in rows for v in r.ravel())
    return f"{name}[{','.join('?' * rows[0].ndim)}]{{{dims}}}:{items}"


def literal(v):
    if isinstance(v, bytes):
        return "text " + item(v)
    if isinstance(v, list):
        return "list " + ",".join(map(str, v))
    kind = {bool: "bool", int: "int", float: "float"}[type(v)]
    return f"literal {kind}:{item(v) if kind != 'int' else v}"


def emit(name, args, result, tolerance=False):
    if isinstance(result, np.ndarray):
        result = ("~" if tolerance else "") + column(result)
    lines.append("\t".join([name, *args, result]))


def values(dtype, seed=0):
    """Returns interesting values; the same number for each dtype."""
    d = np.dtype(dtype)
    if d == np.bool_:
        return np.array([False, True] * 6)
    if d.kind in "iu":
        i = np.iinfo(d)
        v = [0, 1, 2, 3, 7, 100, i.max, i.max - 1, i.min, i.min + 1, i.max // 2 + 1, 5]
        if d.kind == "i":
            v[4], v[5] = -1, -7
        return np.array(v, dtype=d)
    v = [0.0, -0.0, 1.0, -1.5, 2.5, 3.5, np.inf, -np.inf, np.nan, 1e30, -7.25, 0.1]
    return np.array(v, dtype=d)
