"""Datasets of Hugging Face: ``Dataset.from_hf`` and ``Dataset.to_hf`` use it.

This module imports pyarrow and datasets; ``import feedmill`` does not.
"""

from __future__ import annotations

import os
from typing import Any

import datasets
import pyarrow as pa

from feedmill._arrow import record_batches
from feedmill.errors import InvalidArgumentError
from feedmill.reader import Reader

__all__ = ["arrow_files", "arrow_table_file"]

_SAVE = "save it with save_to_disk(folder), and read datasets.load_from_disk(folder)"


def arrow_files(dataset: Any) -> tuple[list[str], list[str]]:
    """Returns the Arrow files that hold a ``datasets.Dataset``, and its columns.

    Raises InvalidArgumentError if the files alone are not the dataset, and says what
    makes them so.
    """
    if isinstance(dataset, datasets.DatasetDict):
        raise InvalidArgumentError(
            f"from_hf: this is a DatasetDict; take one of its splits: {', '.join(dataset)}"
        )
    if not isinstance(dataset, datasets.Dataset):
        raise InvalidArgumentError(
            f"from_hf: expected a datasets.Dataset, found {type(dataset).__name__}; only that "
            "kind has Arrow files"
        )
    if dataset._indices is not None:
        raise InvalidArgumentError(
            "from_hf: the dataset has an order or a choice of rows of its own (after shuffle, "
            "select, sort, filter or train_test_split), which its files do not have; write them "
            "again with flatten_indices(), or leave that step to feedmill"
        )
    files = [os.path.abspath(file["filename"]) for file in dataset.cache_files]
    if not files:
        raise InvalidArgumentError(f"from_hf: the dataset is in memory, and has no files; {_SAVE}")
    rows = 0
    names: set[str] = set()
    for file in files:
        with pa.memory_map(file) as source:
            table = pa.ipc.open_stream(source).read_all()
            rows += table.num_rows
            names.update(table.column_names)
    if rows != len(dataset):
        raise InvalidArgumentError(
            f"from_hf: the dataset has {len(dataset)} rows, and its files {rows}: it is a part of "
            f"them; {_SAVE}"
        )
    missing = [name for name in dataset.column_names if name not in names]
    if missing:
        raise InvalidArgumentError(
            f"from_hf: the files do not have the columns {', '.join(missing)} (renamed, for "
            f"example); rename them by map(), or {_SAVE}"
        )
    return files, list(dataset.column_names)


def arrow_table_file(reader: Reader, path: str) -> Any:
    """Writes the rest of a reader to an Arrow file, a row each; returns it as a dataset."""
    batches = record_batches(reader)
    schema = pa.schema([(field.name, _plain(field.type)) for field in batches.schema])
    partial = path + ".partial"
    try:
        with pa.OSFile(partial, "wb") as file, pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                columns = [_storage(column) for column in batch.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    return datasets.Dataset.from_file(path)


def _plain(type: Any) -> Any:
    """The type without tensors, of which ``datasets`` has others."""
    if not isinstance(type, pa.FixedShapeTensorType):
        return type
    plain = type.value_type
    for dim in reversed(type.shape):
        plain = pa.list_(plain, dim)
    return plain


def _storage(column: Any) -> Any:
    """The column without tensors; of the same memory."""
    if not isinstance(column.type, pa.FixedShapeTensorType):
        return column
    shape = column.type.shape
    values = column.storage.flatten()
    for dim in reversed(shape):
        values = pa.FixedSizeListArray.from_arrays(values, dim)
    return values
