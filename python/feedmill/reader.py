"""Readers: the elements of a dataset, once."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._python_functions import local_interpreter
from feedmill.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnknownLengthError,
)

Component: TypeAlias = "np.ndarray[Any, Any] | np.generic | bytes"
# An element: a dict of its components, or the bare value of a single unnamed one.
Element: TypeAlias = Any
State: TypeAlias = "dict[str, Any]"

_STATE_VERSION = 1


class Reader:
    """The elements of a dataset, once, in order: an iterator and a context manager.

    An element is a dict from components to values, or the bare value of a single
    unnamed component. A value is

    - a read-only NumPy array over the memory in which the element came, without a
      copy; it keeps that memory alive, also after the reader is closed;
    - a NumPy scalar where the component is a number of one element;
    - ``bytes`` for a byte string, and an array of dtype object for several;
    - for a component that may be null: as ``nulls`` of :meth:`Dataset.read` says.

    Waiting releases the GIL, and Ctrl-C ends a wait within 50 ms; reading can
    continue after it. One thread at a time may use a reader; :meth:`close` may be called
    from any. A reader does not survive ``os.fork``.

    >>> import feedmill as fm
    >>> with fm.Dataset.range(4).batch(2).read() as reader:
    ...     for batch in reader:
    ...         print(batch, reader.number)
    [0 1] 0
    [2 3] 1
    """

    _why_left = ""  # what ended the loop of a Loader over it

    def __init__(
        self,
        pipeline: _feedmill.Pipeline,
        options: Mapping[str, Any],
        state: Mapping[str, Any] | None = None,
        native: _feedmill.Reader | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._options = dict(options)  # empty: of a loader's epoch
        self._process = os.getpid()
        self._native = native or self._open(None if state is None else token_of(state))
        self._length = self._native.left

    def _open(self, token: bytes | None) -> _feedmill.Reader:
        given = dict(self._options)
        logical = given.pop("logical", True)
        options = _feedmill.ReadOptions(token=token, **given)
        return _feedmill.Reader(self._pipeline, options, given["nulls"], logical)

    # ---- elements

    def __iter__(self) -> Iterator[Element]:
        """Continues after the element that was handed out last."""
        return iter(self._native)

    def __next__(self) -> Element:
        return next(self._native)

    def chunks(self) -> Iterator[Element]:
        """Yields many elements at a time: each component with a new first axis.

        A component whose elements differ in shape is a list of arrays. The number of
        elements in a chunk is not defined; the order of elements is.

        >>> import feedmill as fm
        >>> sum(int(chunk.sum()) for chunk in fm.Dataset.range(1000).read().chunks())
        499500
        """
        return self._chunks(None)

    def _chunks(self, nulls: str | None) -> Iterator[Element]:
        """Yields chunks with nulls of another form than the reader's."""
        while (chunk := self._native.next_columns(nulls)) is not None:
            yield chunk

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a reader cannot be copied or pickled, because its threads are in this process; send "
            "the dataset and reader.state_dict(), and call dataset.read(state=…) there"
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Gives the rest of the elements to Arrow, chunk by chunk: a row each.

        ``pyarrow.table(reader)``, ``polars.DataFrame(reader)`` and other readers of the
        Arrow C stream call it. Columns of numbers use the memory of the chunk without a
        copy; columns of bools and byte strings, and of arrays of different lengths, are
        copied. A single unnamed component is the column ``value``. Arrays of one shape
        are lists, arrays of more than one dimension ``arrow.fixed_shape_tensor``. Nulls
        are null.

        Raises ImportError without pyarrow.
        """
        try:
            from feedmill._arrow import record_batches
        except ModuleNotFoundError as error:
            if error.name != "pyarrow":
                raise
            raise ImportError(
                "an Arrow stream of a reader needs the package pyarrow: pip install pyarrow",
                name="pyarrow",
            ) from None

        stream: object = record_batches(self).__arrow_c_stream__(requested_schema)
        return stream

    def __len__(self) -> int:
        """Returns the number of elements that this reader gives in all.

        Elements of other ranks do not count, nor do those before the state that it
        was given. Raises UnknownLengthError, a TypeError, if only reading tells it
        (after a filter, for lines that are not shuffled), or if there is no end.

        >>> import feedmill as fm
        >>> len(fm.Dataset.range(100).batch(8).read(rank=0, ranks=2))
        7
        """
        if self._length is None:
            raise UnknownLengthError(
                "the number of elements is known only by reading them, or there is no end; "
                "Reader.number counts them"
            )
        return self._length

    def __bool__(self) -> bool:
        """True, however many elements there are."""
        return True

    # ---- the place in the sequence

    def state_dict(self) -> State:
        """Returns the place after the last element that was handed out.

        ``Dataset.read(state=…)`` continues there, in any process, with or without a
        service. Elements that were fetched ahead do not count. The state is a dict
        of an int and a str, which JSON and pickle keep. Cheap enough for every step.

        Raises FailedPreconditionError if the order of the dataset is ``any``.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(5)
        >>> reader = ds.read()
        >>> next(reader), next(reader)
        (np.int64(0), np.int64(1))
        >>> [int(x) for x in ds.read(state=reader.state_dict())]
        [2, 3, 4]
        """
        return make_state(self._native.save())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after the element at which ``state`` was saved.

        Raises FailedPreconditionError if this reader has handed out an element, and
        InvalidArgumentError if the state is another dataset's; the reader then
        stays as it is.
        """
        if not self._options:
            raise FailedPreconditionError(
                "this reader is of a loader's epoch; use Loader.load_state_dict"
            )
        if self._native.begun:
            raise FailedPreconditionError(
                "load_state_dict comes before the first element, and this reader has handed out "
                "some; use Dataset.read(state=…)"
            )
        token = token_of(state)
        if not self._options["service"]:
            opened = self._open(token)
            self._native.close()
        else:
            describe_state(state)
            self._native.close()
            opened = self._open(token)
        self._native, self._length = opened, opened.left

    def get_state(self) -> State:
        """Returns :meth:`state_dict`; the name that Grain gives it."""
        return self.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Does what :meth:`load_state_dict` does; the name that Grain gives it."""
        self.load_state_dict(state)

    @property
    def number(self) -> int:
        """The number in the sequence, from 0, of the element handed out last.

        Raises OutOfRangeError if there is none yet.
        """
        return self._native.number

    @property
    def epoch(self) -> int:
        """The epoch that is read."""
        return self._native.epoch

    @property
    def repeat_pass(self) -> int:
        """The pass of ``repeat`` that the reading has reached, from 0."""
        return self._native.repeat_pass

    @property
    def seed(self) -> int:
        """The seed that is used: the given or the drawn one."""
        return self._native.seed

    @property
    def skipped(self) -> int:
        """Number of elements that ``on_error("skip")`` has left out so far."""
        return self._native.skipped

    def provenance(self, number: int | None = None) -> list[dict[str, Any]]:
        """Returns the records that made an element of this epoch.

        ``number``: as :attr:`number` counts. Default: the element that was handed out
        last. Each record is a dict with ``file``, ``record`` (its number in the file)
        and ``epoch``. Makes the element again from the files, on this machine: fast if
        the plan knows the place of each element, else with all elements before it.

        Raises OutOfRangeError if there is no such element.

        >>> import feedmill as fm
        >>> reader = fm.Dataset.text("notes.txt").batch(2).read()
        >>> batch = next(reader)
        >>> [record["record"] for record in reader.provenance()]
        [0, 1]
        >>> [record["record"] for record in reader.provenance(1)]
        [2]
        """
        number = self.number if number is None else check.count("number", number)
        return records_of(self._pipeline, number, self.epoch, self.seed)

    # ---- the end

    def close(self) -> None:
        """Ends the reading; what it was not handed out is for others of its job.

        Arrays that were handed out stay valid. May be called twice.
        """
        self._native.close()

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._native.closed

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process == os.getpid():  # a forked process does not end its parent's reading
            self.close()

    def __repr__(self) -> str:
        return f"<feedmill.Reader{' (closed)' if self.closed else ''}>"


def records_of(
    pipeline: _feedmill.Pipeline, number: int, epoch: int, seed: int
) -> list[dict[str, Any]]:
    """Returns the records that made an element."""
    python, python_path = local_interpreter()
    shown = pipeline.provenance(
        number=number, epoch=epoch, seed=seed, allow_python=python, python_path=python_path
    )
    records: list[dict[str, Any]] = json.loads(shown)["records"]
    return records


def make_state(token: bytes) -> State:
    """Returns the state that holds a token."""
    return {"feedmill": _STATE_VERSION, "token": base64.b64encode(token).decode()}


def token_of(state: Mapping[str, Any]) -> bytes:
    """Returns the token in a state; InvalidArgumentError if it is no state."""
    if not isinstance(state, Mapping) or "token" not in state:
        keys = f" with the keys {list(state)!r:.200}" if isinstance(state, Mapping) else ""
        raise InvalidArgumentError(
            "this is no state of a reader: expected what Reader.state_dict() returned, found a "
            f"{type(state).__name__}{keys}"
        )
    if state.get("feedmill") != _STATE_VERSION:
        raise InvalidArgumentError(
            f"a state of version {state.get('feedmill')!r}; this release reads {_STATE_VERSION}"
        )
    try:
        token = base64.b64decode(state["token"], validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the state's token is damaged: {error}") from None
    if not token:  # which the extension takes for none
        raise InvalidArgumentError(
            "the state's token is empty: was the checkpoint cut off? Continue from an earlier one, "
            "or begin again without a state"
        )
    return token


def describe_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a state says: the next element's number, the epoch, the seed, …"""
    described: dict[str, Any] = json.loads(_feedmill.describe_token(token_of(state)))
    return described


def merge_states(states: Sequence[Mapping[str, Any]]) -> State:
    """Returns one state for all ranks of a reading, from one of each.

    The states are of readers or of loaders (``Loader.state_dict``) and must be saved
    after the same number of elements. Reading continues from the merged state with any
    number of ranks. InvalidArgumentError says why they do not fit.
    """
    if isinstance(states, Mapping) or not isinstance(states, Iterable):
        raise InvalidArgumentError(
            "merge_states: expected a list with the state of each rank, found a "
            f"{type(states).__name__}"
        )
    return make_state(_feedmill.merge_tokens([token_of(state) for state in states]))
