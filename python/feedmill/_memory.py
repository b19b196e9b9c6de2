"""Tables in memory, made of arrays, lists, and tables of pandas and Arrow.

Numbers whose layout is one row after the other are not copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from feedmill._feedmill import Pipeline
from feedmill._values import TIMES
from feedmill.errors import InvalidArgumentError
from feedmill.expressions import DTYPES

_ARROW_TEXTS = frozenset(
    "string large_string string_view binary large_binary binary_view fixed_size_binary".split()
)
# From this integer on, a float64 does not hold each one.
_EXACT = 1 << 53


@dataclass
class Column:
    """The rows of one component, as feedmill/element.h has them."""

    dtype: str
    shape: list[int]  # of a row; -1 is a dimension that differs
    rows: int
    values: Any  # an object with the buffer protocol
    offsets: Any = None  # of byte strings
    row_shapes: Any = None  # of rows that differ in shape
    row_starts: Any = None
    valid: Any = None  # bools, if some rows are null


def pipeline_of(columns: Iterator[tuple[str, Column]]) -> Pipeline:
    """Returns the pipeline that reads these columns."""
    native = []
    rows = 0
    first = None
    for name, column in columns:
        if first is None:
            first, rows = name, column.rows
        if column.rows != rows:
            raise InvalidArgumentError(
                f"{_shown(name)} has {column.rows} rows, and {_shown(first)} has {rows}; all have "
                "as many as there are elements"
            )
        parts = (column.values, column.offsets, column.row_shapes, column.row_starts)
        native.append((name, column.dtype, column.shape, *map(_bytes, parts)))
        if column.valid is None:
            continue
        if not name:
            raise InvalidArgumentError(
                "an element without a name is None; name it, as in {'x': [1, None]}, and it may be "
                "null"
            )
        native.append((f"valid({name})", "bool", [], _bytes(column.valid), None, None, None))
    if first is None:
        raise InvalidArgumentError("there is no component; give at least one array")
    return Pipeline.from_table(native, rows)


def _bytes(part: Any) -> Any:
    """The memory of a part as bytes, without a copy."""
    if part is None:
        return None
    if isinstance(part, np.ndarray):
        return part.reshape(-1).view(np.uint8)
    return np.frombuffer(part, np.uint8)


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the values in dicts and tuples with their names.

    A name is joined by dots with those around it. The items of a tuple are value_0, value_1, …
    A list is one value.
    """
    if isinstance(value, Mapping):
        items = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [f"value_{k}" for k in range(len(value))]
        items = list(zip(names, value, strict=True))
    else:
        yield name, value
        return
    for key, one in items:
        yield from leaves(f"{name}.{key}" if name else key, one)


def of_tensors(tensors: Any) -> Iterator[tuple[str, Column]]:
    """The columns of arrays, or lists, in dicts and tuples."""
    for name, value in leaves("", tensors):
        yield from _columns(name, value)


def of_arrays(arrays: Any) -> Iterator[tuple[str, Column]]:
    """The columns of NumPy's arrays: one, or several by name."""
    for name, array in leaves("", arrays):
        if not isinstance(array, np.ndarray):
            raise InvalidArgumentError(
                f"{_shown(name)}: expected an array of NumPy, found {_type(array)}"
            )
        yield from _columns(name, array)


def of_elements(elements: Any) -> Iterator[tuple[str, Column]]:
    """The columns of a list of elements."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for number, element in enumerate(elements):
        values = dict(leaves("", element))
        if number > 0 and ("" in values) != ("" in columns):
            raise InvalidArgumentError(
                f"element {number} is {_type(element)}, and element 0 is "
                f"{_type(elements[0])}; all are dicts, all are tuples, or all are values"
            )
        for name, value in values.items():
            column = columns.setdefault(name, [None] * number)
            column.append(value)
        count = number + 1
        for column in columns.values():
            if len(column) < count:
                column.append(None)
    if count == 0:
        raise InvalidArgumentError(
            "there is no element, so the types are not known; give arrays to from_dict"
        )
    for name, column in columns.items():
        yield name, _of_list(name, column)


def of_frame(frame: Any) -> Iterator[tuple[str, Column]]:
    """The columns of a pandas.DataFrame."""
    if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
        raise InvalidArgumentError(
            f"from_pandas takes a DataFrame, not {type(frame).__name__}; from_dict, from_list and "
            "from_numpy take other values"
        )
    for place, name in enumerate(frame.columns):
        yield from _of_series(str(name), frame.iloc[:, place])


def of_arrow(table: Any) -> Iterator[tuple[str, Column]]:
    """The columns of a table of Arrow, or of an object that exports one."""
    import pyarrow as pa

    if not isinstance(table, pa.Table):
        table = pa.table(table)
    for name, column in zip(table.column_names, table.columns, strict=True):
        yield from _of_arrow(name, column)


def _shown(name: str) -> str:
    return f'"{name}"' if name else "the element"


def _type(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _columns(name: str, value: Any) -> Iterator[tuple[str, Column]]:
    module = type(value).__module__.partition(".")[0]
    if module == "pyarrow":
        yield from _of_arrow(name, value)
    elif module == "pandas":
        yield from _of_series(name, value)
    elif isinstance(value, np.ndarray) and value.dtype.names:
        for field in value.dtype.names:
            yield from _columns(f"{name}.{field}" if name else field, value[field])
    elif isinstance(value, np.ndarray):
        yield name, _of_array(name, value)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        yield name, _of_list(name, list(value))
    elif hasattr(value, "__array__") and np.ndim(value) > 0:
        yield name, _of_array(name, np.asarray(value))
    else:
        raise InvalidArgumentError(
            f"{_shown(name)}: expected an array or a list with a value for each element, found "
            f"{_type(value)}"
        )


# ---- arrays


def _of_array(name: str, array: Any) -> Column:
    """The rows of an array along its first axis."""
    if array.ndim == 0:
        raise InvalidArgumentError(f"{_shown(name)}: an array without a dimension has no rows")
    if array.dtype.kind in "OSU":
        if array.ndim == 1:
            return _of_list(name, array.tolist())
        column = _of_texts(name, array.ravel().tolist())
        column.rows, column.shape = len(array), list(array.shape[1:])
        return column
    dtype = ""
    if array.dtype.kind in "mM":
        # Times are the number of their units, as in npy files.
        if array.dtype.kind == "M":
            unit, count = np.datetime_data(array.dtype)
            dtype = TIMES.get(unit, "") if count == 1 else ""
        array = np.ascontiguousarray(array).view(
            array.dtype.str.replace(array.dtype.kind, "i", 1)[:3]
        )
    if array.dtype.name == "bfloat16":  # which has no buffer protocol
        dtype, array = "bfloat16", np.ascontiguousarray(array).view(np.uint16)
    if array.dtype.name not in DTYPES:
        raise InvalidArgumentError(
            f"{_shown(name)}: its dtype is {array.dtype}; convert it to a bool, an integer, "
            "a float of at most 64 bits, or to texts"
        )
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        array = array.view(np.uint8) != 0
    return Column(dtype or array.dtype.name, list(array.shape[1:]), len(array), array)


def _of_texts(name: str, items: Sequence[Any]) -> Column:
    """Byte strings, and texts as UTF-8."""
    encoded = []
    for row, item in enumerate(items):
        if isinstance(item, str):
            encoded.append(item.encode("utf-8", "surrogateescape"))
        elif isinstance(item, (bytes, bytearray, memoryview)):
            encoded.append(bytes(item))
        else:
            raise _unknown(name, row, item)
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    dtype = "str" if all(isinstance(item, str) for item in items) else "bytes"
    return Column(dtype, [], len(encoded), b"".join(encoded), offsets)


def _unknown(name: str, row: int, item: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{_shown(name)}: row {row} is {item!r:.80}, which is none of: a number of at most 64 "
        "bits, a bool, a text, bytes, an array of these, and None"
    )


# ---- lists


def _of_list(name: str, items: list[Any]) -> Column:
    """The rows of a list, of which some may be None."""
    missing = [item is None for item in items]
    if not any(missing):
        return _of_rows(name, items)
    known = next((item for item in items if item is not None), None)
    if known is None or np.ndim(known) > 0:
        row = missing.index(True)
        raise InvalidArgumentError(
            f"{_shown(name)}: row {row} is None, which stands for a missing number or text; "
            + ("all rows are None" if known is None else "give an array, such as an empty one")
        )
    filler: Any = "" if isinstance(known, (str, bytes)) else type(known)(0)
    column = _of_rows(name, [filler if item is None else item for item in items])
    column.valid = ~np.array(missing)
    return column


def _of_rows(name: str, items: list[Any]) -> Column:
    if items and isinstance(items[0], (str, bytes, bytearray)):
        return _of_texts(name, items)
    try:
        array = np.asarray(items)
    except (ValueError, OverflowError):  # rows of different shapes; an integer of 65 bits
        array = None
    if array is None or array.dtype.kind in "OSU":
        return _of_differing(name, [_row(name, row, item) for row, item in enumerate(items)])
    if array.dtype.kind == "f" and array.ndim == 1:
        for row, item in enumerate(items):
            if isinstance(item, int) and abs(item) > _EXACT:
                raise InvalidArgumentError(
                    f"{_shown(name)}: row {row} is {item}, which float64 does not hold; the "
                    "numbers have no common type"
                )
    return _of_array(name, array)


def _row(name: str, row: int, item: Any) -> Any:
    """A row as an array; texts as objects."""
    try:
        array = np.asarray(item)
    except (ValueError, OverflowError):
        raise _unknown(name, row, item) from None
    if array.dtype.kind in "SU":
        array = np.asarray(item, object)
    elif array.dtype.kind == "O" and not all(isinstance(one, (str, bytes)) for one in array.flat):
        raise _unknown(name, row, item)
    return array


def _of_differing(name: str, rows: list[Any]) -> Column:
    """Rows that may differ in shape."""
    rank = rows[0].ndim
    for number, row in enumerate(rows):
        if row.ndim != rank:
            raise InvalidArgumentError(
                f"{_shown(name)}: row {number} has {row.ndim} dimensions, and row 0 has {rank}"
            )
    texts = any(row.dtype == object for row in rows)
    for number, row in enumerate(rows):
        if row.size and (row.dtype == object) != texts:
            raise InvalidArgumentError(
                f"{_shown(name)}: row {number} is {row.tolist()!r:.80}; texts and numbers have no "
                "common type"
            )
    if texts:
        items = _of_texts(name, [one for row in rows for one in row.flat])
    else:
        filled = [row for row in rows if row.size] or rows[:1]
        dtype = np.result_type(*{row.dtype for row in filled})
        items = _of_array(name, np.concatenate([row.ravel().astype(dtype) for row in rows]))
    shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), rank)
    same = (shapes == shapes[0]).all(axis=0)
    items.shape = [int(dim) if one else -1 for dim, one in zip(shapes[0], same, strict=True)]
    items.rows = len(rows)
    if not same.all():
        items.row_starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(shapes.prod(axis=1), out=items.row_starts[1:])
        items.row_shapes = shapes
    return items


# ---- pandas


def _of_series(name: str, series: Any) -> Iterator[tuple[str, Column]]:
    """A Series of pandas; missing values are null, and NaN stays NaN in floats."""
    dtype = series.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        import pyarrow as pa

        yield from _of_arrow(name, pa.array(series))
        return
    if hasattr(dtype, "categories"):
        yield from _of_series(name, series.astype(dtype.categories.dtype))
        return
    missing = np.asarray(series.isna())
    valid = ~missing if missing.any() else None
    if isinstance(dtype, np.dtype) and dtype.kind not in "OmM":
        column = _of_array(name, series.to_numpy())
        valid = None
    elif hasattr(dtype, "tz") or (isinstance(dtype, np.dtype) and dtype.kind in "mM"):
        if hasattr(dtype, "tz"):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        column = _of_array(name, series.to_numpy())
        if valid is not None:
            column.values = np.where(valid, column.values, 0)
    elif hasattr(dtype, "numpy_dtype"):
        column = _of_array(name, series.to_numpy(dtype=dtype.numpy_dtype, na_value=0))
    else:
        items = series.tolist()
        column = _of_list(
            name, [None if gone else one for one, gone in zip(items, missing, strict=True)]
        )
        valid = column.valid
    column.valid = valid
    yield name, column


# ---- Arrow


def _of_arrow(name: str, array: Any) -> Iterator[tuple[str, Column]]:
    """The columns of an array of Arrow: several of a struct."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks
        array = (
            chunks[0] if len(chunks) == 1 else pa.concat_arrays([pa.array([], array.type), *chunks])
        )
    kind = array.type
    if pa.types.is_dictionary(kind):
        yield from _of_arrow(name, array.dictionary_decode())
    elif isinstance(kind, pa.BaseExtensionType):
        shape = list(getattr(kind, "shape", ()))
        for inner, column in _of_arrow(name, array.storage):
            column.shape = shape or column.shape
            yield inner, column
    elif pa.types.is_struct(kind):
        for member, values in zip(kind, array.flatten(), strict=True):
            yield from _of_arrow(f"{name}.{member.name}", values)
    elif (
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    ):
        yield name, _of_arrow_lists(name, array)
    else:
        yield name, _of_arrow_scalars(name, array)


def _of_arrow_scalars(name: str, array: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    types = pa.types
    valid = None
    if array.null_count:
        valid = np.asarray(array.is_valid())
    if types.is_decimal(kind):
        exact = kind.precision <= 15
        filler: Any = 0.0 if exact else ""
        read = float if exact else str
        items = [filler if one is None else read(one) for one in array.to_pylist()]
        column = _of_list(name, items)
    elif types.is_temporal(kind) and not types.is_interval(kind):
        whole = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        column = _of_arrow_scalars(name, whole.cast(pa.int64()))
        unit = "D" if types.is_date32(kind) else "ms" if types.is_date64(kind) else kind.unit
        if types.is_date(kind) or types.is_timestamp(kind):
            column.dtype = TIMES[unit]
    elif types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        known = pc.fill_null(array, pa.scalar(0).cast(kind)) if array.null_count else array
        column = _of_array(name, known.to_numpy(zero_copy_only=False))
    elif str(kind).partition("[")[0] in _ARROW_TEXTS:
        column = _of_arrow_texts(array)
    else:
        raise InvalidArgumentError(
            f"{_shown(name)} is {kind}, which no component can hold; drop the column, or write the "
            "table to a file of Parquet, and read that"
        )
    column.valid = valid
    return column


def _of_arrow_texts(array: Any) -> Column:
    """Byte strings, whose values are not copied unless some are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dtype = "str" if "string" in str(array.type) else "bytes"
    array = array.cast(pa.large_binary())
    if array.null_count:
        array = pc.fill_null(array, b"")
    return Column(dtype, [], len(array), array.buffers()[2] or b"", _offsets(array))


def _offsets(array: Any) -> Any:
    """The offsets of large texts or lists."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(1, np.int64)
    return np.frombuffer(buffer, np.int64)[array.offset : array.offset + len(array) + 1]


def _of_arrow_lists(name: str, array: Any) -> Column:
    """Lists of scalars, and of lists of a fixed size."""
    import pyarrow as pa

    fixed = pa.types.is_fixed_size_list(array.type)
    if array.null_count:
        if fixed:
            raise InvalidArgumentError(
                f"{_shown(name)} is {array.type} and has nulls; an array cannot be null: fill them"
            )
        # A null may hide items.
        array = pa.array([one or [] for one in array.to_pylist()], array.type)
    if not fixed:
        array = array.cast(pa.large_list(array.type.value_field))
    items = array.values
    if fixed:
        size = array.type.list_size
        items = items.slice(array.offset * size, len(array) * size)
    columns = list(_of_arrow(name, items))
    if len(columns) > 1 or columns[0][1].row_starts is not None or columns[0][1].valid is not None:
        raise InvalidArgumentError(
            f"{_shown(name)} is {array.type}, with nulls or lists of different lengths in it; "
            "write the table to a file of Parquet, and read that"
        )
    column = columns[0][1]
    column.rows = len(array)
    if fixed:
        column.shape = [size, *column.shape]
        return column
    starts = _offsets(array)
    inner = np.tile(np.array(column.shape, np.int64), (len(array), 1))
    column.row_shapes = np.ascontiguousarray(np.column_stack([np.diff(starts), inner]))
    column.row_starts = starts * int(np.prod(column.shape))
    column.shape = [-1, *column.shape]
    return column
