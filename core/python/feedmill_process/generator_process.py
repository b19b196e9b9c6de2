"""A process that makes the elements of a shard."""

import socket
import struct
import time

from feedmill_process.error_text import cut, formatted, place_of, summary
from feedmill_process.generator_state import STATE_ROW, GeneratorStates, StateFailed
from feedmill_process.output_columns import Output, Unfit
from feedmill_process.map_process import Here

# An answer ends with the element that is made after this time, so that a reader need not
# wait for the slow ones behind it.
ANSWER_SECONDS = 0.05


class GeneratorProcess:
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
        self.states = GeneratorStates(function, self.output)

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
                state = self.states.of(self.iterator, self.source)
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
            self.states.load(self.source, shard, state_row, data)
        self.iterator = iter(self.source)
        if kind == b"i":
            self.states.load(self.iterator, shard, state_row, data)
        self.states.check(self.iterator, self.source)
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
        end = time.monotonic() + ANSWER_SECONDS
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
                if time.monotonic() >= end:
                    break
        return made, True

    def checked(self, element):
        values = self.output.values_of(element)
        # A copy: a generator may yield the same array each time.
        return [
            component.checked(value).copy()
            for component, value in zip(self.output.components, values)
        ]


def size_of(value):
    return value.nbytes if value.dtype != object else sum(len(item) + 8 for item in value.flat)
