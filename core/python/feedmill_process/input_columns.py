"""Elements from feedmill, as columns of shared memory."""

import mmap
import os

import numpy as np

from feedmill_process.result_types import dtype_of


class Element(dict):
    """The components of an element by name; e.image is e["image"]."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Input:
    """The columns of a request, as arrays over shared memory that is read-only."""

    def __init__(self, descriptor, components):
        self.descriptor = descriptor
        self.names = [component["name"] for component in components]
        self.dtypes = [dtype_of(component["dtype"]) for component in components]
        # Text that is not UTF-8 keeps its bytes, as os.fsdecode's result does.
        self.texts = [component["dtype"] == "str" for component in components]
        self.bare = self.names == [""]
        # Components that may be null: the next one is false for nulls (core/chunk/validity.h).
        self.nullable = [
            k
            for k, name in enumerate(self.names[:-1])
            if self.names[k + 1] == f"valid({name})" and self.dtypes[k + 1] == bool
        ]
        self.memory = None

    def map(self, size):
        if self.memory is None or len(self.memory) < size:
            self.memory = mmap.mmap(
                self.descriptor, os.fstat(self.descriptor).st_size, mmap.MAP_SHARED, mmap.PROT_READ
            )

    def columns(self):
        """Returns for each component the function from a row to its value."""
        words = np.frombuffer(self.memory, np.int64)
        at = 1
        rows = int(words[0])
        made = []
        for dtype, text in zip([*self.dtypes, np.dtype(np.uint32)], [*self.texts, False]):
            rank, ragged, values, count, offsets, shapes, starts = map(int, words[at : at + 7])
            at += 7
            dims = tuple(map(int, words[at : at + rank]))
            at += rank
            if dtype is None:
                ends = np.frombuffer(self.memory, np.int64, count + 1, offsets).tolist()
                memory = self.memory
                items = np.empty(count, object)
                for k in range(count):
                    item = memory[values + ends[k] : values + ends[k + 1]]
                    items[k] = item.decode("utf-8", "surrogateescape") if text else item
                items.flags.writeable = False
            else:
                items = np.frombuffer(self.memory, dtype, count, values)
            if not ragged:
                made.append(items.reshape(rows, *dims))
                continue
            each = np.frombuffer(self.memory, np.int64, rows * rank, shapes)
            each = each.reshape(rows, rank).tolist()
            begins = np.frombuffer(self.memory, np.int64, rows + 1, starts).tolist()
            made.append([items[begins[r] : begins[r + 1]].reshape(each[r]) for r in range(rows)])
        return rows, made[:-1], made[-1]

    def batch(self, columns):
        if self.bare:
            return columns[0]
        return self.named([*columns])

    def element(self, columns, row):
        if self.bare:
            return columns[0][row]
        return self.named([column[row] for column in columns])

    def named(self, values):
        element = Element(zip(self.names, values))
        for k in self.nullable:
            element[self.names[k]] = with_nulls(values[k], element.pop(self.names[k + 1]))
        return element


def with_nulls(value, valid):
    """Returns None for a null, and masked arrays."""
    if isinstance(valid, list):
        return [with_nulls(*each) for each in zip(value, valid)]
    if isinstance(valid, np.ndarray):
        mask = ~valid.reshape(valid.shape + (1,) * (value.ndim - valid.ndim))
        return np.ma.MaskedArray(value, np.broadcast_to(mask, value.shape))
    return value if valid else None
