"""A process that finds out what a function returns, or a generator yields."""

import itertools
import json
import os
import pickle
import socket
import struct

import numpy as np

from feedmill_process.error_text import formatted, summary
from feedmill_process.generator_state import StateFailed, holder_of_state
from feedmill_process.input_columns import Element
from feedmill_process.output_columns import ROWS_WORD
from feedmill_process.result_types import Unsuitable, arrays_of, dtype_of, types_of
from feedmill_process.map_process import Here

DECLARE = 'declare it: output={"image": ("float32", (224, 224, 3))}'
WHEN_CALLED = f"when it was called with an example element of ones to infer its output; {DECLARE}"
WHEN_YIELDED = f"when it was called to find out what it yields; {DECLARE}"
# For unknown dimensions, and the rows of a batch: a dimension that differs between the results
# is unknown.
SIZES = (2, 3)


class ExampleProcess:
    """Answers one request: the types of what a function returns, or why there are none."""

    def __init__(self, options, function, random, descriptors):
        self.here = Here()
        self.link = socket.socket(fileno=descriptors[0])
        self.memory = descriptors[2]
        self.options = options
        self.function = function
        self.random = random

    def serve(self):
        if not self.link.recv(64):
            return
        answer = self.answer()
        self.here.check()
        text = json.dumps(answer).encode()
        os.ftruncate(self.memory, max(os.fstat(self.memory).st_size, ROWS_WORD + len(text)))
        os.pwrite(self.memory, text, ROWS_WORD)
        self.link.send(struct.pack("<qqq", -1, 8, len(text)))
        self.link.recv(64)  # until feedmill ends the process

    def answer(self):
        generates = self.options["of"] == "generator"
        try:
            return {"types": self.yielded() if generates else self.returned()}
        except Unsuitable as error:
            return {"error": str(error)}
        except BaseException as error:
            who, when = (
                ("the generator", WHEN_YIELDED) if generates else ("the function", WHEN_CALLED)
            )
            trace = formatted(error, own_frames(error.__traceback__))
            return {"error": f"{who} raised {summary(error)}, {when}\n{trace}"}

    def returned(self):
        """Returns the types of what the function returns for two examples."""
        batched = self.options["of"] == "batch"
        first, second = [self.trial(size, batched) for size in SIZES]
        return types_of(first, second, SIZES if batched else None)

    def trial(self, size, batched):
        """Calls the function with an example."""
        self.random.next(None if batched else np.zeros(4, np.uint32))
        result = self.function(self.example(size, batched))
        if result is None:
            raise Unsuitable("the function returned None: does it lack a return?")
        return arrays_of(result, "the function returned")

    def example(self, size, batched):
        values = {
            component["name"]: example_of(component, size, batched)
            for component in self.options["input"]
        }
        return values[""] if list(values) == [""] else Element(values)

    def yielded(self):
        """Returns the types of the first two elements of the first shard."""
        source = self.function(0, self.options["shards"])
        if not hasattr(source, "__iter__") and not hasattr(source, "__getitem__"):
            raise Unsuitable(
                f"the generator returned a {type(source).__name__}; it must yield the elements of "
                "its shard, or return an iterable of them"
            )
        iterator = iter(source)
        first = [
            arrays_of(element, "the generator yielded") for element in itertools.islice(iterator, 2)
        ]
        if not first:
            raise Unsuitable(
                "the first shard has no element, so that the types are not known; "
                f"{DECLARE.replace(' it', ' them')}"
            )
        check_state(iterator, source)
        return types_of(first[0], first[-1], None)


def own_frames(trace):
    """Returns the number of first frames that are of this module."""
    count = 0
    while (
        trace is not None and trace.tb_frame.f_code.co_filename == own_frames.__code__.co_filename
    ):
        trace = trace.tb_next
        count += 1
    return count


def example_of(component, size, batched):
    """Returns an example of a component; ``size`` stands for unknown dimensions."""
    shape = tuple(size if dim < 0 else dim for dim in component["shape"])
    if batched:
        shape = (size, *shape)
    dtype = dtype_of(component["dtype"])
    empty = "" if component["dtype"] == "str" else b""
    if dtype is None and not shape:
        return empty
    if dtype is None:
        example = np.full(shape, empty, dtype=object)
    else:
        example = np.ones(shape, np.int64).astype(dtype)
        example.flags.writeable = False
    if not shape:
        return example[()]
    return np.ma.MaskedArray(example, False) if component["nullable"] else example


def check_state(iterator, source):
    """Raises if the state of a generator's iterator cannot go to another process."""
    try:
        holder = holder_of_state(iterator, source)
    except StateFailed as error:
        raise Unsuitable(f"the generator {error}") from None
    if holder is None:
        return
    try:
        pickle.dumps(holder.state_dict())
    except Exception as error:
        raise Unsuitable(
            f"the generator makes a {type(holder).__qualname__}, whose state cannot be kept: "
            f"{summary(error)}; state_dict() must return numbers, texts, lists and dicts; open "
            "files and connections again in load_state_dict()"
        ) from error
