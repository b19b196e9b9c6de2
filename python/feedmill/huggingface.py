"""Datasets of Hugging Face: ``Dataset.from_hf`` and ``Dataset.to_hf`` use it.

This module imports pyarrow and datasets; ``import feedmill`` does not.
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from typing import Any

import datasets
import pyarrow as pa

from feedmill._arrow import record_batches
from feedmill.errors import InvalidArgumentError
from feedmill.reader import Reader

__all__ = ["arrow_files", "arrow_table_file"]

_SAVE = "save it with save_to_disk(folder), and read datasets.load_from_disk(folder)"


def arrow_files(dataset: Any, columns: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Returns the Arrow files that hold a ``datasets.Dataset``, and the columns to read.

    ``columns``: those to read; None: those that the dataset gives.

    Raises InvalidArgumentError if the files alone are not the dataset, and says what
    makes them so.
    """
    _check_kind(dataset)
    files = [os.path.abspath(file["filename"]) for file in dataset.cache_files]
    if not files:
        raise InvalidArgumentError(f"from_hf: the dataset is in memory, and has no files; {_SAVE}")
    tables = []
    for file in files:
        with pa.memory_map(file) as source:
            tables.append(pa.ipc.open_stream(source).read_all())
    rows = sum(table.num_rows for table in tables)
    if rows != len(dataset):
        raise InvalidArgumentError(
            f"from_hf: the dataset has {len(dataset)} rows, and its files {rows}: it is a part of "
            f"them; {_SAVE}"
        )
    given = dataset.format
    chosen = dataset.column_names if given["output_all_columns"] else given["columns"]
    names = list(chosen if columns is None else columns)
    unknown = [name for name in names if name not in dataset.column_names]
    if unknown:
        raise InvalidArgumentError(
            f"from_hf: the dataset has no column {unknown[0]!r}; it has "
            f"{', '.join(dataset.column_names)}"
        )
    _check_columns(dataset.data, tables, names)
    return files, names


def _check_kind(dataset: Any) -> None:
    """Raises InvalidArgumentError for a dataset that is more than rows of files."""
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
    if dataset.format["type"] == "custom":
        raise InvalidArgumentError(
            "from_hf: the dataset has a transform (with_transform), which its files do not have; "
            "remove it with with_format(None), and leave it to feedmill: "
            ".map(function, python=True)"
        )


def _check_columns(data: Any, tables: Sequence[Any], names: Sequence[str]) -> None:
    """Raises InvalidArgumentError unless each column equals the column of its name in the files.

    A column is known by the bytes of the files that it maps into memory: after
    ``rename_column`` the files have the column under another name, or another column
    under its name.
    """
    mappings = _Mappings()

    def places(name: str) -> list[Any] | None:
        """Returns the places of a column of the files; None if not every file has it."""
        if not all(name in table.column_names for table in tables):
            return None
        return [place for table in tables for place in mappings.places(table[name])]

    for name in names:
        place = mappings.places(data.column(name))
        if places(name) == place:
            continue
        source = next((n for n in tables[0].column_names if places(n) == place), None)
        if source is None:
            raise InvalidArgumentError(
                f"from_hf: the files do not have the column {name} as the dataset has it (cast, "
                f"or renamed in some files, for example); {_SAVE}"
            )
        raise InvalidArgumentError(
            f"from_hf: the column {name} of the dataset is {source} in its files (renamed); give "
            "from_hf() the dataset before it was renamed, and rename by map(), or " + _SAVE
        )


class _Mappings:
    """The files that this process maps into memory, when the object is made."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, tuple[str, str], int]] = []
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
            for line in lines:
                addresses, _, offset, device, inode = line.split(maxsplit=5)[:5]
                begin, end = (int(address, 16) for address in addresses.split("-"))
                if inode != "0":
                    self._ranges.append((begin, end, (device, inode), int(offset, 16)))
        self._begins = [begin for begin, _, _, _ in self._ranges]

    def places(self, column: Any) -> list[Any]:
        """Returns the rows of each chunk of a column, and where in files its buffers are."""
        return [
            (chunk.offset, len(chunk), [self._place(buffer) for buffer in chunk.buffers()])
            for chunk in column.chunks
            if len(chunk) > 0
        ]

    def _place(self, buffer: Any) -> tuple[tuple[str, str], int] | int | None:
        """File and offset of a buffer; if it is in no file, its address."""
        if buffer is None or buffer.size == 0:
            return None
        at = bisect.bisect_right(self._begins, buffer.address) - 1
        if at < 0 or buffer.address >= self._ranges[at][1]:
            return int(buffer.address)
        begin, _, file, offset = self._ranges[at]
        return file, offset + buffer.address - begin


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
