"""Chunks of a reader as Arrow record batches, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from feedmill._array_alias import without_unit
from feedmill._bfloat16 import without_bfloat16

if TYPE_CHECKING:
    from feedmill.reader import Reader

# The column of a single unnamed component.
UNNAMED = "value"

Shape = Sequence[int]  # a negative dimension may differ


def record_batches(reader: Reader) -> Any:
    """Returns a ``pyarrow.RecordBatchReader`` of the chunks of a reader."""
    spec = reader._native.spec()
    fields = [
        (name or UNNAMED, _type(dtype, shape, nullable), shape)
        for name, dtype, shape, nullable in spec
    ]
    schema = pa.schema([(name, type) for name, type, _ in fields])

    def batches() -> Iterator[Any]:
        for chunk in reader._chunks("masked"):
            columns = chunk if isinstance(chunk, dict) else {UNNAMED: chunk}
            arrays = [_array(columns[name], type, shape) for name, type, shape in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _item_type(dtype: str) -> Any:
    if dtype in ("bytes", "str"):
        return pa.large_binary() if dtype == "bytes" else pa.large_string()
    if dtype == "bfloat16":
        return pa.float32()  # Arrow has no bfloat16
    if dtype.startswith("timestamp["):
        return pa.timestamp(dtype.removeprefix("timestamp[").removesuffix("]"))
    return pa.date32() if dtype == "date" else pa.from_numpy_dtype(np.dtype(dtype))


def _type(dtype: str, shape: Shape, nullable: bool) -> Any:
    """The Arrow type of a component."""
    item = _item_type(dtype)
    if any(dim < 0 for dim in shape):
        return pa.large_list(_type(dtype, shape[1:], nullable))
    if len(shape) > 1 and dtype not in ("bytes", "str") and not nullable:
        return pa.fixed_shape_tensor(item, list(shape))
    for dim in reversed(shape):
        item = pa.list_(item, dim)
    return item


def _array(column: Any, type: Any, shape: Shape) -> Any:
    """The Arrow array of a column, of the same memory if it holds plain numbers."""
    if isinstance(column, list) and any(row is None for row in column):
        return pa.array([row.tolist() if hasattr(row, "tolist") else row for row in column], type)
    masked = len(column) > 0 and isinstance(column[0], np.ma.MaskedArray)
    if pa.types.is_large_list(type):
        rows = list(column)
        offsets = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        if any(dim < 0 for dim in shape[1:]):
            values: Any = [item for row in rows for item in row]
        else:
            values = (np.ma if masked else np).concatenate(rows)
        return pa.LargeListArray.from_arrays(offsets, _array(values, type.value_type, shape[1:]))
    if isinstance(type, pa.FixedShapeTensorType):
        storage = _array(column, type.storage_type, [int(np.prod(shape))])
        return pa.ExtensionArray.from_storage(type, storage)
    if pa.types.is_fixed_size_list(type):
        split = masked and isinstance(column, list)
        whole = np.ma.stack(column) if split else np.asanyarray(column)
        inner = whole.reshape(-1, *shape[1:])
        values = _array(inner, type.value_type, shape[1:])
        return pa.FixedSizeListArray.from_arrays(values, type=type)
    if isinstance(column, np.ndarray):
        column = without_bfloat16(column)
    if isinstance(column, np.ma.MaskedArray):
        return pa.array(column.data, type, mask=np.ma.getmaskarray(column))
    if not isinstance(column, np.ndarray) or column.dtype in (object, bool) or type == pa.date32():
        return pa.array(column, type)
    return pa.Array.from_buffers(type, len(column), [None, pa.py_buffer(without_unit(column))])
