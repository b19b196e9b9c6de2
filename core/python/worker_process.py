"""The process that runs one Python function for feedmill.

feedmill starts it with the interpreter of --allow-python. It needs numpy and
cloudpickle, and never imports feedmill. It loads the function once and then
forks a process for each slot, so that the slots share the function's memory.

  descriptor 3  control socket (SOCK_SEQPACKET) to feedmill
  descriptor 4  this text
  descriptor 5  the options as JSON, behind its length as int64, and the function

With the option "describe" it sends the interpreter's versions and ends.

core/python/python_process.cc is the other side, column_layout.h the layout of
columns.
"""

import array
import ctypes
import faulthandler
import inspect
import json
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import time
import traceback
import types

CONTROL = 3
TEXT_MAX = 60_000  # bytes of a message
SUMMARY_MAX = 2_000
DUMP_MAX = 4_000
STATE_MAX = 32 << 10  # kGeneratorStateMax
STATE_ROW = -2  # instead of a row: the state of a generator; kStateRow
PR_SET_PDEATHSIG = 1
ROWS_WORD = 8  # bytes before the columns of a result: the row that is being made
OTHER_MODULES = "a Python function runs without feedmill; only fm.rng() is there"


class Refused(Exception):
    """The function cannot run here. The text says why and what to do."""


class Unfit(Exception):
    """The function returned a value of another type."""


class StateFailed(Exception):
    """A state of a generator cannot be had or used. The text says why and what to do."""


def end_with_parent(parent):
    """Ends this process when `parent` ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


# ---- loading


def check_versions(options):
    wanted = options["python"]
    here = "%d.%d.%d" % sys.version_info[:3]
    if wanted.split(".")[:2] != here.split(".")[:2]:
        raise Refused(
            f"the function was pickled by Python {wanted}, and {sys.executable} is Python {here}: "
            "give all processes the same minor version"
        )
    from importlib import metadata

    for package in options["packages"]:
        name, _, version = package.partition("==")
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise Refused(
                f"the function needs {name} {version}, which {sys.executable} does not have: "
                f"install it there"
            ) from None
        if found != version:
            raise Refused(
                f"the function was made with {name} {version}, and {sys.executable} has {name} "
                f"{found}: give all processes the same version"
            )


def installed():
    """Returns "name==version" of each package, as the interpreter finds them."""
    from importlib import metadata

    found = {}
    for distribution in metadata.distributions():
        name, version = distribution.metadata["Name"], distribution.version
        if name and version:
            found.setdefault(name, version)
    return [f"{name}=={version}" for name, version in found.items()]


def describe(control):
    """Sends the versions as JSON, in messages of at most TEXT_MAX bytes."""
    versions = {
        "path": sys.executable,
        "version": "%d.%d.%d" % sys.version_info[:3],
        "packages": installed(),
    }
    data = json.dumps(versions).encode()
    for begin in range(0, len(data), TEXT_MAX):
        control.send(data[begin : begin + TEXT_MAX])


class Absent:
    """A name of feedmill that Python functions do not have."""

    def __init__(self, name):
        self._name = name

    def __call__(self, *_, **__):
        raise RuntimeError(f"feedmill.{self._name}: {OTHER_MODULES}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")


class Random:
    """The generator of the element that is being made."""

    def __init__(self):
        self.bits = None
        self.generator = None

    def next(self, bits):
        self.bits = bits
        self.generator = None

    def rng(self):
        if self.generator is None:
            if self.bits is None:
                raise RuntimeError(
                    "fm.rng() is for a function of one element: the numbers of a batched function "
                    "would depend on how elements are grouped"
                )
            self.generator = np.random.Generator(np.random.Philox(key=self.bits.view(np.uint64)))
        return self.generator


def stand_in(random):
    """Returns the module that functions import as feedmill."""
    module = types.ModuleType("feedmill", OTHER_MODULES)
    module.rng = random.rng

    def absent(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    module.__getattr__ = absent
    return module


def cut(text, most=TEXT_MAX):
    """Returns the text as bytes, without its middle if it is long: a message has a bound."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data
    return data[: most // 2] + "\n[…]\n".encode() + data[-most // 2 :]


def formatted(error, own_frames):
    """Returns the traceback without the first frames, those of this file."""
    trace = error.__traceback__
    for _ in range(own_frames):
        if trace is not None:
            trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return cut(text).decode("utf-8", "replace").rstrip("\n")


def place_of(maker):
    """Returns the place of a function, or of where a generator yields; "" if unknown."""
    frame = getattr(maker, "gi_frame", None)
    code = frame.f_code if frame is not None else getattr(maker, "__code__", None)
    if code is None:
        return ""
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    # A function that is pickled by value does not keep the name of its file.
    if os.path.exists(code.co_filename):
        return f"{code.co_filename}:{line}: "
    return f"{maker.__qualname__}, line {line}: "


def named(function):
    """Returns the name and the place of a function."""
    function = inspect.unwrap(function)
    name = getattr(function, "__qualname__", None) or f"a {type(function).__qualname__}"
    code = getattr(function, "__code__", None)
    if code is None:
        return name
    file = f"{code.co_filename}:" if os.path.exists(code.co_filename) else "line "
    return f"{name} ({file}{code.co_firstlineno})"


def summary(error):
    """Returns the exception as its traceback's last lines."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return cut(text, SUMMARY_MAX).decode("utf-8", "replace")


def load(options, pickled):
    check_versions(options)
    global np
    import cloudpickle
    import numpy as np

    random = Random()
    sys.modules["feedmill"] = stand_in(random)
    try:
        function = cloudpickle.loads(pickled)
    except BaseException as error:
        if isinstance(error, ImportError) and (error.name or "").startswith("feedmill."):
            raise Refused(
                f"the function refers to an object of {error.name}, and {OTHER_MODULES}; give it "
                f"numbers, texts or arrays instead\n{formatted(error, 1)}"
            ) from None
        missing = (
            f"{sys.executable} cannot import a module of the function: "
            if isinstance(error, ImportError)
            else "the function cannot be loaded: "
        )
        raise Refused(f"{missing}{summary(error)}\n{formatted(error, 1)}") from None
    if not callable(function):
        raise Refused(f"the function is a {type(function).__name__}, which cannot be called")
    return function, random


# ---- columns


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
        self.dtypes = [
            None if component["dtype"] == "bytes" else np.dtype(component["dtype"])
            for component in components
        ]
        self.bare = self.names == [""]
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
        for dtype in [*self.dtypes, np.dtype(np.uint32)]:
            rank, ragged, values, count, offsets, shapes, starts = map(int, words[at : at + 7])
            at += 7
            dims = tuple(map(int, words[at : at + rank]))
            at += rank
            if dtype is None:
                ends = np.frombuffer(self.memory, np.int64, count + 1, offsets).tolist()
                memory = self.memory
                items = np.empty(count, object)
                for k in range(count):
                    items[k] = memory[values + ends[k] : values + ends[k + 1]]
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
        return Element(zip(self.names, columns))

    def element(self, columns, row):
        if self.bare:
            return columns[0][row]
        return Element(zip(self.names, [column[row] for column in columns]))


def type_text(dtype, shape):
    name = "bytes" if dtype is None else dtype.name
    if not shape:
        return name
    return name + "[" + ", ".join("?" if dim < 0 else str(dim) for dim in shape) + "]"


class Component:
    """A declared component of the result."""

    KINDS = {bool: "b", int: "biuf", float: "f"}

    def __init__(self, declared):
        self.name = declared["name"]
        self.dtype = None if declared["dtype"] == "bytes" else np.dtype(declared["dtype"])
        self.shape = tuple(declared["shape"])
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
        if kind in self.KINDS and self.dtype.kind in self.KINDS[kind] and kind is not bool:
            array = np.array(value, self.dtype)
        else:
            array = value if kind is np.ndarray else np.asarray(value)
        if array.dtype != self.dtype:
            raise self.unfit(
                f"a {kind.__name__}"
                if array.dtype.kind in "OSUV"
                else type_text(array.dtype, array.shape)
            )
        self.check_shape(array.shape, leading)
        return array

    def checked_bytes(self, value, leading):
        if isinstance(value, (bytes, str, bytearray)):
            array = np.empty((), object)
            array[()] = value
        else:
            array = value if isinstance(value, np.ndarray) else np.asarray(value)
            if array.dtype.kind not in "OSU":
                raise self.unfit(type_text(array.dtype, array.shape))
        self.check_shape(array.shape, leading)
        items = []
        for item in array.ravel().tolist():
            if isinstance(item, str):
                item = item.encode()
            elif not isinstance(item, (bytes, bytearray)):
                raise self.unfit(f"of a {type(item).__name__}")
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
        if not isinstance(result, dict):
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


# ---- a slot


class Here:
    """Ends a process that a function forks and that returns from the function.

    It shares the slot's memory and socket, and would answer for the slot.
    """

    def __init__(self):
        self.forked = False
        os.register_at_fork(after_in_child=self.leave)

    def leave(self):
        self.forked = True

    def check(self):
        if self.forked:
            os._exit(1)


class Slot:
    """Makes the elements of requests, one after another, until feedmill ends it."""

    def __init__(self, options, function, random, descriptors):
        self.here = Here()
        self.link = socket.socket(fileno=descriptors[0])
        self.options = options
        self.function = function
        self.random = random
        self.input = Input(descriptors[1], options["input"])
        self.output = Output(descriptors[2], options["output"])

    def serve(self):
        request = struct.Struct("<q")
        while True:
            message = self.link.recv(64)
            if not message:
                return
            self.input.map(request.unpack(message)[0])
            row, text = self.run()
            data = cut(text)
            self.link.send(struct.pack("<qq", row, len(data)) + data)

    def run(self):
        """Returns -1 and "", or the row that failed and why."""
        self.output.row[0] = 0
        rows, columns, bits = self.input.columns()
        try:
            made = self.output.begin(rows)
            if self.options["call"] == "batch":
                self.make_batch(columns, made)
            else:
                self.make_elements(rows, columns, bits, made)
            del made
            self.output.finish()
        except Unfit as error:
            self.here.check()
            place = place_of(self.function)
            return int(self.output.row[0]), f"returned a wrong value: {place}{error}"
        except BaseException as error:
            self.here.check()
            # The frames of run() and make_…().
            return (
                int(self.output.row[0]),
                f"raised {summary(error)}\n{formatted(error, 2)}",
            )
        return -1, ""

    def make_elements(self, rows, columns, bits, made):
        function, random, output, here = self.function, self.random, self.output, self.here
        components = output.components
        for row in range(rows):
            output.row[0] = row
            random.next(bits[row])
            result = function(self.input.element(columns, row))
            if here.forked:
                here.check()
            for k, value in enumerate(output.values_of(result)):
                made[k][row] = components[k].checked(value)

    def make_batch(self, columns, made):
        self.random.next(None)
        result = self.function(self.input.batch(columns))
        self.here.check()
        rows = self.output.rows
        for k, value in enumerate(self.output.values_of(result)):
            array = self.output.components[k].checked(value, (rows,))
            if self.output.places[k] is not None:
                made[k][...] = array
            else:
                for row in range(rows):
                    each = array[row]
                    made[k][row] = each if isinstance(each, np.ndarray) else as_scalar(each)


def as_scalar(value):
    array = np.empty((), object if isinstance(value, bytes) else np.asarray(value).dtype)
    array[()] = value
    return array


# ---- a slot of a generator


class GeneratorSlot:
    """Makes the elements of a shard; a request continues where the last one ended."""

    REQUEST = struct.Struct("<6q")

    def __init__(self, options, function, random, descriptors):
        self.here = Here()
        self.link = socket.socket(fileno=descriptors[0])
        self.shards = options["shards"]
        self.function = function
        self.output = Output(descriptors[2], options["output"])
        self.shard = None
        self.source = None
        self.iterator = None
        self.failure = None  # why the next element cannot be made
        self.state_failure = None  # why the shard cannot continue; no element is at fault
        self.warned_of_size = False

    def serve(self):
        while True:
            message = self.link.recv(1 << 16)
            if not message:
                return
            head = self.REQUEST.unpack_from(message)
            self.link.send(self.answer(*head, message[self.REQUEST.size :]))

    def answer(self, shard, row, rows, bytes_max, state_row, goes_on, state):
        self.output.row[0] = row
        if not goes_on:
            self.failure = self.state_failure = None
            try:
                self.begin(shard, row, state_row, state)
            except StateFailed as error:
                self.state_failure = str(error)
            except BaseException as error:
                self.failure = f"raised {summary(error)}\n{formatted(error, 2)}"
        if self.state_failure is not None:
            return self.failed(STATE_ROW, self.state_failure)
        made, more = self.make(row, rows, bytes_max)
        self.here.check()
        if self.failure is not None and not made:
            return self.failed(0, self.failure)
        if made:
            columns = self.output.begin(len(made))
            for r, values in enumerate(made):
                for column, value in zip(columns, values):
                    column[r] = value
            del columns
            self.output.finish()
        state = b""
        if more and self.failure is None:
            try:
                state = self.state()
            except StateFailed as error:
                # These elements are sent first. The next request returns the error.
                self.state_failure = str(error)
        text = struct.pack("<qq", len(made), more) + state
        return struct.pack("<qq", -1, len(text)) + text

    @staticmethod
    def failed(kind, text):
        data = cut(text)
        return struct.pack("<qq", kind, len(data)) + data

    def begin(self, shard, row, state_row, state):
        """Begins the shard, and advances to the row."""
        self.shard = shard
        self.source = self.function(shard, self.shards)
        kind, data = state[:1], state[1:]
        if kind == b"s":
            self.load(self.source, state_row, data)
        self.iterator = iter(self.source)
        if kind == b"i":
            self.load(self.iterator, state_row, data)
        for skipped in range(state_row, row):
            self.output.row[0] = skipped
            try:
                next(self.iterator)
            except StopIteration:
                raise RuntimeError(
                    f"shard {shard} ended after {skipped} elements, and had more before: a "
                    "generator must yield the same elements each time"
                ) from None

    def make(self, row, rows, bytes_max):
        """Returns the next elements, and whether the shard continues after them."""
        made, size = [], 0
        while self.failure is None and len(made) < rows and size < bytes_max:
            self.output.row[0] = row + len(made)
            try:
                element = next(self.iterator)
                self.here.check()
                values = self.checked(element)
            except StopIteration:
                self.source = self.iterator = None
                return made, False
            except Unfit as error:
                self.failure = f"yielded a wrong value: {place_of(self.iterator)}{error}"
            except BaseException as error:
                self.failure = f"raised {summary(error)}\n{formatted(error, 1)}"
            else:
                made.append(values)
                size += sum(map(size_of, values))
        return made, True

    def checked(self, element):
        values = self.output.values_of(element)
        # A copy: a generator may yield the same array each time.
        return [
            component.checked(value).copy()
            for component, value in zip(self.output.components, values)
        ]

    def state(self):
        """Returns the state of the iterator, or of what it iterates over; b"" without one."""
        for kind, holder in ((b"i", self.iterator), (b"s", self.source)):
            if callable(getattr(holder, "state_dict", None)) and hasattr(holder, "load_state_dict"):
                data = self.dumped(holder)
                if len(data) < STATE_MAX:
                    return kind + data
                self.warn_of_size(holder, len(data))
                return b""
        return b""

    def dumped(self, holder):
        """Returns the state of the holder, pickled."""
        self.output.row[0] = STATE_ROW
        try:
            state = holder.state_dict()
        except BaseException as error:
            raise self.state_failed(
                error,
                f"state_dict() of {self.described(holder)} must return the state before the next "
                "element each time; mend it, or remove it: then the shard is made again from its "
                "beginning",
            ) from None
        try:
            return pickle.dumps(state)
        except BaseException as error:
            raise self.state_failed(
                error,
                f"state_dict() of {self.described(holder)} returned {kind_of(state)}, which cannot "
                "be pickled; return numbers, texts, lists and dicts, and open files and "
                "connections again in load_state_dict()",
            ) from None

    def load(self, holder, row, data):
        """Sets the holder to a state that was taken before the row."""
        self.output.row[0] = STATE_ROW
        try:
            holder.load_state_dict(pickle.loads(data))
        except BaseException as error:
            raise self.state_failed(
                error,
                f"{self.described(holder)} did not take its state before element {row} of shard "
                f"{self.shard}; load_state_dict(state) must accept all that state_dict() returned",
            ) from None

    @staticmethod
    def state_failed(error, advice):
        # The first frame is that of this class.
        return StateFailed(f"raised {summary(error)}: {advice}\n{formatted(error, 1)}")

    def described(self, holder):
        """Returns the type of the holder, and the function that made it."""
        return f"{type(holder).__qualname__}, which {named(self.function)} made,"

    def warn_of_size(self, holder, size):
        if self.warned_of_size:
            return
        self.warned_of_size = True
        print(
            f"feedmill: the state of {self.described(holder)} has {size} bytes and is left out, "
            f"because at most {STATE_MAX - 1} are kept: a shard that continues elsewhere is made "
            "again from its beginning. Keep offsets in the state, not data",
            file=sys.stderr,
            flush=True,
        )


def kind_of(state):
    """Returns the type of a state, and the entry of a dict that cannot be pickled."""
    name = f"a {type(state).__qualname__}"
    if not isinstance(state, dict):
        return name
    for key, value in state.items():
        try:
            pickle.dumps(value)
        except BaseException:
            return f"{name} whose {key!r} is a {type(value).__qualname__}"
    return name


def size_of(value):
    return value.nbytes if value.dtype != object else sum(len(item) + 8 for item in value.flat)


def limit_memory(more):
    """Bounds the private memory to what there is and `more` bytes."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if more <= 0:
        return
    with open("/proc/self/status") as status:
        now = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = now + more if hard == resource.RLIM_INFINITY else min(now + more, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


# ---- the zygote


class Zygote:
    """Forks the slots, and ends them."""

    def __init__(self, control, options, function, random):
        self.control = control
        self.options = options
        self.function = function
        self.random = random
        self.dumps = {}  # pid → descriptor of the traceback of a fatal signal

    def serve(self):
        while True:
            # Without SIGPIPE and with a parent that is gone, recv returns nothing.
            message, ancillary, _, _ = self.control.recvmsg(64, socket.CMSG_SPACE(3 * 4))
            if not message:
                return
            if message == b"fork":
                descriptors = array.array("i")
                for level, kind, data in ancillary:
                    if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                        descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                self.fork(list(descriptors))
            else:
                self.end(*struct.unpack("<qq", message))

    def fork(self, descriptors):
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        dump = os.memfd_create("dump", os.MFD_CLOEXEC)
        zygote = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            os.close(dump)
            pid = -error.errno
        if pid == 0:
            code = 1
            try:
                end_with_parent(zygote)
                self.control.close()
                for other in self.dumps.values():
                    os.close(other)
                faulthandler.enable(dump, all_threads=False)
                faulthandler.register(signal.SIGUSR1, dump, all_threads=False)
                limit_memory(self.options["memory_bytes"])
                kind = GeneratorSlot if self.options["call"] == "generator" else Slot
                kind(self.options, self.function, self.random, descriptors).serve()
                code = 0
            except ConnectionError:
                pass  # feedmill has ended
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        for descriptor in descriptors:
            os.close(descriptor)
        if pid > 0:
            self.dumps[pid] = dump
        self.control.send(struct.pack("<q", pid))

    def end(self, pid, hangs):
        """Ends a slot, and answers how it ended and where it was."""
        dump = self.dumps.pop(pid)
        if hangs:
            os.kill(pid, signal.SIGUSR1)
            self.await_dump(dump)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.lseek(dump, 0, os.SEEK_SET)
        text = os.read(dump, DUMP_MAX)
        os.close(dump)
        self.control.send(struct.pack("<q", status) + text)

    @staticmethod
    def await_dump(dump):
        for _ in range(20):
            if os.fstat(dump).st_size > 0:
                return
            time.sleep(0.01)


def setup(descriptor):
    with os.fdopen(descriptor, "rb") as file:
        size = struct.unpack("<q", file.read(8))[0]
        options = json.loads(file.read(size))
        return options, file.read()


def main():
    os.closerange(6, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options, pickled = setup(5)
    end_with_parent(options["parent"])
    os.set_inheritable(CONTROL, False)
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    control = socket.socket(fileno=CONTROL)
    if options.get("describe"):
        describe(control)
        return
    try:
        function, random = load(options, pickled)
    except Refused as error:
        control.send(cut(str(error)))
        return
    except ImportError as error:
        control.send(
            f"{sys.executable} lacks a package that Python functions need: {error}; install numpy "
            "and cloudpickle there".encode()[:TEXT_MAX]
        )
        return
    del pickled
    control.send(b"ready")
    Zygote(control, options, function, random).serve()


main()
