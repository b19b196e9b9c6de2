"""The types of what a function returns."""

from collections.abc import Mapping

import numpy as np

from feedmill_process.flat_names import flat_names


# Times by the unit of a datetime64.
TIMES = {
    "D": "date",
    "s": "timestamp[s]",
    "ms": "timestamp[ms]",
    "us": "timestamp[us]",
    "ns": "timestamp[ns]",
}


def dtype_of(name):
    """Returns NumPy's dtype of a type of feedmill; None for bytes and str."""
    if name in ("bytes", "str"):
        return None
    for unit, time in TIMES.items():
        if name == time:
            return np.dtype(f"datetime64[{unit}]")
    if name == "bfloat16":  # which NumPy has by this package
        from ml_dtypes import bfloat16

        return np.dtype(bfloat16)
    return np.dtype(name)


def kind_of(dtype):
    """Returns the kind of a dtype: 'f' also of bfloat16, which has none of NumPy's own."""
    return "f" if dtype.name == "bfloat16" else dtype.kind


def name_of(dtype):
    """Returns feedmill's name of a dtype of numbers or times."""
    if dtype.kind != "M":
        return dtype.name
    unit, count = np.datetime_data(dtype)
    return TIMES.get(unit, dtype.name) if count == 1 else dtype.name


class Unsuitable(Exception):
    """A result cannot be an element. The text says why and what to do."""


def arrays_of(result, made_by):
    """Returns the components of a result, as arrays; an object's array for a byte string."""
    nested = flat_names(result, lambda value: "…")
    if nested is not None:
        raise Unsuitable(f"{made_by} {nested}")
    made = result if isinstance(result, Mapping) else {"": result}
    for name in made:
        if not isinstance(name, str):
            raise Unsuitable(
                f"{made_by} a dict with the key {name!r}, which is a {type(name).__qualname__}; "
                "names of components are texts"
            )
    return {name: array_of(name, value) for name, value in made.items()}


def array_of(name, value):
    if isinstance(value, (bytes, bytearray, str)):
        array = np.empty((), object)
        array[()] = value
        return array
    if isinstance(value, np.ma.MaskedArray):
        raise Unsuitable(
            f"{named(name)} is a masked array, whose mask would be lost: return value.filled(…), "
            "and the mask as another component if it is needed"
        )
    try:
        return np.asarray(value)
    except ValueError as error:
        raise Unsuitable(f"{named(name)} is no array: {error}") from None


def named(name):
    return f"component {name!r}" if name else "the result"


def types_of(first, second, rows):
    """Returns the types that two results have in common.

    ``rows``: the rows of the two batches; None if they are elements.
    """
    if first.keys() != second.keys():
        raise Unsuitable("the function does not always return the same components")
    if not first:
        raise Unsuitable("the function returned an empty dict")
    return [type_of(name, array, second[name], rows) for name, array in first.items()]


def type_of(name, array, other, rows):
    """Returns the type of a component: dimensions that differ are unknown."""
    what = named(name)
    if array.ndim != other.ndim or array.dtype != other.dtype:
        raise Unsuitable(f"{what} has not always the same dtype and rank")
    times = array.dtype.kind == "M" and name_of(array.dtype) in TIMES.values()
    if not times and kind_of(array.dtype) not in "biufOSU":
        raise Unsuitable(f"{what} has the dtype {array.dtype}; return numbers")
    if array.dtype.kind == "O" and not holds_bytes(array):
        raise Unsuitable(
            f"{what} is a {type(array.flat[0]).__name__}; return numbers, arrays or bytes"
        )
    shape = [a if a == b else -1 for a, b in zip(array.shape, other.shape)]
    if rows is not None:
        if not array.ndim or (array.shape[0], other.shape[0]) != rows:
            raise Unsuitable(
                f"{what} of a batch of {rows[0]} elements has the shape {array.shape}; a batched "
                "function returns a row for each element"
            )
        shape = shape[1:]
    if array.dtype.kind not in "OSU":
        kind = name_of(array.dtype)
    else:
        kind = "str" if holds_texts(array) and holds_texts(other) else "bytes"
    return {"name": name, "dtype": kind, "shape": shape}


def holds_texts(array):
    return array.size > 0 and all(isinstance(item, str) for item in array.flat)


def holds_bytes(array):
    return all(item is None or isinstance(item, (bytes, str)) for item in array.flat)
