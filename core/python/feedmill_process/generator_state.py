"""States of iterators: another process continues a shard from the last one."""

import contextlib
import pickle
import sys

from feedmill_process.error_text import formatted, named, summary

STATE_MAX = 32 << 10  # kGeneratorStateMax
STATE_ROW = -2  # instead of a row: the state of a generator; kStateRow
METHODS = ("state_dict", "load_state_dict")


class StateFailed(Exception):
    """A state of a generator cannot be had or used. The text says why and what to do."""


def state_methods(holder):
    """Returns the names of those methods of a state that an object has."""
    return [name for name in METHODS if callable(getattr(holder, name, None))]


def holder_of_state(iterator, source):
    """Returns which of the two has a state that another process can continue from, or None.

    Raises StateFailed if an object has only one of the two methods. Its text begins with
    "makes a …"; the caller puts the name of the function before it.
    """
    found = [(holder, state_methods(holder)) for holder in (iterator, source)]
    for holder, methods in found:
        if len(methods) == 2:
            return holder
    for holder, methods in found:
        if methods:
            (missing,) = set(METHODS) - set(methods)
            raise StateFailed(
                f"makes a {type(holder).__qualname__} that has {methods[0]}(), and no {missing}(): "
                "a shard that continues elsewhere needs both. Add the other one, or remove this "
                "one: then the shard is made again from its beginning"
            )
    return None


class GeneratorStates:
    """Takes the states of a shard's iterator, and gives them back to another one.

    `output` has the row that is being made, which a state takes.
    """

    def __init__(self, function, output):
        self.function = function
        self.output = output
        self.warned_of_size = False

    def check(self, iterator, source):
        """Raises if the shard could be continued, but a method is missing."""
        try:
            holder_of_state(iterator, source)
        except StateFailed as error:
            raise StateFailed(f"{named(self.function)} {error}") from None

    def of(self, iterator, source):
        """Returns the state of the iterator, or of what it iterates over; b"" without one."""
        for kind, holder in ((b"i", iterator), (b"s", source)):
            if len(state_methods(holder)) == 2:
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
            raise self.failed(
                error,
                f"state_dict() of {self.described(holder)} must return the state before the next "
                "element each time; mend it, or remove it: then the shard is made again from its "
                "beginning",
            ) from None
        try:
            return pickle.dumps(state)
        except BaseException as error:
            raise self.failed(
                error,
                f"state_dict() of {self.described(holder)} returned {kind_of(state)}, which cannot "
                "be pickled; return numbers, texts, lists and dicts, and open files and "
                "connections again in load_state_dict()",
            ) from None

    def load(self, holder, shard, row, data):
        """Sets the holder to a state that was taken before the row."""
        self.output.row[0] = STATE_ROW
        try:
            holder.load_state_dict(pickle.loads(data))
        except BaseException as error:
            raise self.failed(
                error,
                f"{self.described(holder)} did not take its state before element {row} of shard "
                f"{shard}; load_state_dict(state) must accept all that state_dict() returned",
            ) from None

    @staticmethod
    def failed(error, advice):
        # This class has the first frame.
        return StateFailed(f"raised {summary(error)}: {advice}\n{formatted(error, 1)}")

    def described(self, holder):
        """Returns the type of the holder, and the function that made it."""
        return f"{type(holder).__qualname__}, which {named(self.function)} made,"

    def warn_of_size(self, holder, size):
        if self.warned_of_size:
            return
        self.warned_of_size = True
        with contextlib.suppress(OSError, ValueError):  # the function may have closed it
            print(
                f"feedmill: the state of {self.described(holder)} has {size} bytes and is left "
                f"out, because at most {STATE_MAX - 1} are kept: a shard that continues elsewhere "
                "is made again from its beginning. Keep offsets in the state, not data",
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
