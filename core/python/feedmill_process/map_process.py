"""A process that makes elements from elements."""

import os
import socket
import struct

import numpy as np

from feedmill_process.error_text import cut, formatted, place_of, summary
from feedmill_process.input_columns import Input
from feedmill_process.output_columns import Output, Unfit


class Here:
    """Ends a process that a function forks and that returns from the function.

    It shares the memory and socket of the process that called the function, and
    would answer for it.
    """

    def __init__(self):
        self.forked = False
        os.register_at_fork(after_in_child=self.leave)

    def leave(self):
        self.forked = True

    def check(self):
        if self.forked:
            os._exit(1)


class MapProcess:
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
                array = components[k].checked(value)
                # finish() writes a column of unknown size. Until then the function may
                # fill the same array again.
                made[k][row] = array.copy() if output.places[k] is None else array

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
