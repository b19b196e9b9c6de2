"""Elements for feedmill: checked, and written as columns of shared memory."""

import math
import mmap
import os
from collections.abc import Mapping

import numpy as np

from feedmill_process.result_types import dtype_of, kind_of, name_of

ROWS_WORD = 8  # bytes before the columns of a result: the row that is being made
EXACT_END = 2.0**53  # each smaller integer is a float64
BFLOAT16_MAX = 255 * 2.0**120


class Unfit(Exception):
    """The function returned a value of another type."""


def type_text(dtype, shape):
    name = "bytes" if dtype is None else name_of(dtype)
    if not shape:
        return name
    return name + "[" + ", ".join("?" if dim < 0 else str(dim) for dim in shape) + "]"


def number_text(value):
    """Returns a number, shortened if it is long."""
    try:
        text = str(value)
    except ValueError:  # Python refuses to write very long integers
        return f"of {value.bit_length()} bits"
    return text if len(text) <= 40 else f"{text[:30]}… of {len(text)} digits"


class Component:
    """A declared component of the result."""

    # dtype.kind to which a number is converted, by its type.
    KINDS = {int: "biuf", float: "f"}

    def __init__(self, declared):
        self.name = declared["name"]
        self.dtype = dtype_of(declared["dtype"])
        self.shape = tuple(declared["shape"])
        self.kind = None if self.dtype is None else kind_of(self.dtype)
        self.largest = math.inf
        if self.kind == "f":
            brain = self.dtype.kind != "f"
            self.largest = BFLOAT16_MAX if brain else float(np.finfo(self.dtype).max)
        self.static = all(dim >= 0 for dim in self.shape)
        self.what = f"component '{self.name}'" if self.name else "the result"

    def unfit(self, found):
        declared = type_text(self.dtype, self.shape)
        return Unfit(
            f"{self.what} is {found} instead of {declared}; return {declared}, or declare the "
            "other type with output="
        )

    def checked(self, value, leading=()):
        """Returns the value as an array of the declared type."""
        if isinstance(value, tuple):
            raise Unfit(
                f"{self.what} is a tuple: return a dict with a name for each component, or a "
                "list for one array"
            )
        if self.dtype is None:
            return self.checked_bytes(value, leading)
        kind = type(value)
        if kind in self.KINDS and self.kind in self.KINDS[kind]:
            array = self.of_number(value)
        else:
            array = value if kind is np.ndarray else self.array_of(value)
        if array.dtype != self.dtype:
            if array.dtype.newbyteorder("=") != self.dtype:
                raise self.unfit(
                    f"a {kind.__name__}"
                    if array.dtype.kind in "OSUV"
                    else type_text(array.dtype, array.shape)
                )
            array = array.astype(self.dtype)  # of the other byte order
        self.check_shape(array.shape, leading)
        return array

    def of_number(self, value):
        """Returns a number of Python as an array: an int exactly, a float rounded."""
        if self.largest < abs(value) < math.inf:
            raise self.does_not_fit(value)
        try:
            array = np.array(value, self.dtype)
        except OverflowError:
            raise self.does_not_fit(value) from None
        # NumPy 1 only warns of integers that do not fit.
        if type(value) is int and array.item() != value:
            raise self.does_not_fit(value)
        return array

    def does_not_fit(self, number):
        return self.unfit(f"the number {number_text(number)}, which does not fit,")

    def array_of(self, value, dtype=None):
        """Returns an object that is no plain array as one."""
        if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
            raise Unfit(
                f"{self.what} is a masked array, whose mask would be lost: return "
                "value.filled(…), and the mask as another component if it is needed"
            )
        array = np.asarray(value, dtype)
        if array.dtype.kind == "f" and isinstance(value, list):
            self.check_integers(value, array)
        return array

    def check_integers(self, numbers, array):
        """Raises if an integer of a list of numbers changed when floats made it a float."""
        if not (np.abs(array) >= EXACT_END).any():
            return
        for number, made in zip(np.array(numbers, object).flat, array.flat):
            if isinstance(number, (int, np.integer)) and int(number) != made.item():
                raise self.does_not_fit(number)

    def checked_bytes(self, value, leading):
        if isinstance(value, (bytes, str, bytearray)):
            array = np.empty((), object)
            array[()] = value
        else:
            # NumPy's own texts lose zeros at their end, and objects do not.
            array = value if type(value) is np.ndarray else self.array_of(value, object)
            if array.dtype.kind not in "OSU":
                raise self.unfit(type_text(array.dtype, array.shape))
        self.check_shape(array.shape, leading)
        items = []
        for item in array.ravel().tolist():
            if isinstance(item, str):
                item = item.encode("utf-8", "surrogateescape")
            elif not isinstance(item, (bytes, bytearray)):
                raise self.unfit(f"{'of ' if array.ndim else ''}a {type(item).__name__}")
            items.append(bytes(item))
        made = np.empty(array.shape, object)
        made.ravel()[:] = items
        return made

    def check_shape(self, shape, leading):
        wanted = (*leading, *self.shape)
        if len(shape) != len(wanted) or any(
            dim >= 0 and dim != here for dim, here in zip(wanted, shape)
        ):
            raise self.unfit(type_text(self.dtype, shape))


class Output:
    """The columns of a result, in shared memory."""

    ALIGN = 64

    def __init__(self, descriptor, components):
        self.descriptor = descriptor
        self.components = [Component(component) for component in components]
        self.names = [component.name for component in self.components]
        self.bare = self.names == [""]
        self.memory = None
        self.map(mmap.PAGESIZE)

    def map(self, size):
        if self.memory is not None and len(self.memory) >= size:
            return
        size = max(size, 2 * len(self.memory) if self.memory is not None else 0)
        size = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)
        self.row = np.frombuffer(self.memory, np.int64, 1)

    def head_bytes(self):
        # For each column: bytes of values, positions of values, offsets and shapes.
        return ROWS_WORD + 4 * 8 * len(self.components)

    @classmethod
    def aligned(cls, size):
        return (size + cls.ALIGN - 1) // cls.ALIGN * cls.ALIGN

    def values_of(self, result):
        """Returns the components of one result in order."""
        if self.bare:
            return [result]
        if type(result) is not dict and not isinstance(result, Mapping):
            raise Unfit(
                f"the result is a {type(result).__name__} instead of a dict with "
                + ", ".join(map(repr, self.names))
            )
        if len(result) != len(self.names) or any(name not in result for name in self.names):
            raise Unfit(
                "the result has the components "
                + (", ".join(sorted(map(repr, result))) or "of nothing")
                + " instead of "
                + ", ".join(map(repr, self.names))
            )
        return [result[name] for name in self.names]

    def begin(self, rows):
        """Reserves the columns whose size is known, and returns them."""
        at = self.aligned(self.head_bytes())
        places = []
        for component in self.components:
            if component.dtype is None or not component.static:
                places.append(None)
                continue
            items = rows
            for dim in component.shape:
                items *= dim
            places.append((at, items))
            at = self.aligned(at + items * component.dtype.itemsize)
        self.map(at)
        self.end = at
        self.places = places
        self.rows = rows
        self.columns = [
            [None] * rows
            if place is None
            else np.frombuffer(self.memory, component.dtype, place[1], place[0]).reshape(
                rows, *component.shape
            )
            for component, place in zip(self.components, places)
        ]
        return self.columns

    def finish(self):
        """Writes the columns whose size was not known, and the head."""
        head = []
        for component, place, column in zip(self.components, self.places, self.columns):
            if place is not None:
                head += [place[1] * component.dtype.itemsize, place[0], -1, -1]
                continue
            shapes = np.array([value.shape for value in column], np.int64)
            if component.dtype is None:
                items = [item for value in column for item in value.ravel().tolist()]
                offsets = np.zeros(len(items) + 1, np.int64)
                np.cumsum([len(item) for item in items], out=offsets[1:])
                values = self.write(b"".join(items))
                head += [int(offsets[-1]), values, self.write(offsets), self.write(shapes)]
            else:
                size = sum(value.nbytes for value in column)
                at = self.extend(size)
                done = at
                for value in column:
                    to = np.frombuffer(self.memory, component.dtype, value.size, done)
                    to.reshape(value.shape)[...] = value
                    done += value.nbytes
                head += [size, at, -1, self.write(shapes)]
        # Growing the memory has moved it: take the columns' addresses again.
        self.columns = None
        np.frombuffer(self.memory, np.int64, len(head), ROWS_WORD)[:] = head

    def extend(self, size):
        at = self.end
        self.end = self.aligned(at + size)
        self.map(self.end)
        return at

    def write(self, data):
        if not isinstance(data, bytes):
            data = data.tobytes()
        at = self.extend(len(data))
        self.memory[at : at + len(data)] = data
        return at
