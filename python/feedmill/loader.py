"""Loaders: the elements of a dataset, epoch after epoch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._arguments import Even
from feedmill._dataset_base import DatasetBase
from feedmill._options import ReaderOptions
from feedmill._python_functions import local_interpreter
from feedmill.errors import (
    Error,
    FailedPreconditionError,
    InvalidArgumentError,
    OutOfRangeError,
    UnknownLengthError,
)
from feedmill.reader import (
    Element,
    Reader,
    State,
    describe_state,
    make_state,
    records_of,
    token_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Loader:
    """Reads a dataset epoch after epoch: each loop is the next epoch.

    Each epoch has another order and other random numbers. All epochs have one seed:
    the one given, or the one drawn for the first epoch. An epoch begins with the first
    element that is asked for. An epoch that a loop breaks off is over.

    >>> import feedmill as fm
    >>> loader = fm.Loader(fm.Dataset.range(6).shuffle().batch(3), seed=7)
    >>> for epoch in range(2):
    ...     for batch in loader:
    ...         print(epoch, batch)
    0 [0 5 2]
    0 [3 4 1]
    1 [2 0 4]
    1 [1 3 5]

    :meth:`state_dict` is a place in an epoch; after its end, the beginning of the
    next epoch. A loader that is given it reads the rest of that epoch, then the epochs
    after it.

    Args:
      dataset: The dataset to read.
      service, job: See :meth:`Dataset.read`. Several ranks read a named job.
      rank, ranks: The loader takes the elements n with n mod ranks = rank.
      even, agree: See :meth:`Dataset.read`.
      state: Go on at the place of a ``state_dict()``, or of :func:`merge_states` of
        the states of all ranks.
      epoch: The first epoch. Default: the state's, or 0.
      seed: Replaces the seed of the dataset; see :meth:`Dataset.read`.
      skip_batches: Elements [first, second) of the first epoch that are left out.
      **options: Other keywords of :meth:`Dataset.read`.

    Raises InvalidArgumentError for a wrong option. Later errors: see
    :meth:`Dataset.read`; after one, only :meth:`load_state_dict` continues.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        service: str | None = None,
        job: str | None = None,
        *,
        rank: int = 0,
        ranks: int = 1,
        even: Even | None = None,
        state: Mapping[str, Any] | None = None,
        epoch: int | None = None,
        seed: int | None = None,
        skip_batches: Sequence[tuple[int, int]] = (),
        agree: Callable[[bool], tuple[bool, bool]] | None = None,
        _draw_seed: Callable[[], int | None] | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        if not isinstance(dataset, DatasetBase):
            raise InvalidArgumentError(f"dataset: expected a feedmill.Dataset, found {dataset!r}")
        check_options(options, ReaderOptions)
        service, job, rank, ranks = dataset._placed(service, job, rank, ranks)
        self._dataset = dataset
        self._service = service
        self._job = job
        self._rank = check.count("rank", rank)
        self._ranks = check.count("ranks", ranks)
        self._even = dataset._even(even)
        self._seed = check.optional_count("seed", seed)
        self._skips = check.ranges("skip_batches", skip_batches)
        self._agree = agree
        self._draw_seed = _draw_seed  # of all ranks, for a dataset without a seed
        self._options: dict[str, Any] = {**options}
        self._functions: _feedmill.SharedFunctions | None = None
        self._current: Reader | None = None
        self._opened_in = 0  # process that opened it
        self._begun = False  # the present epoch was given to a loop
        self._failed = False
        self._counted: tuple[int, int | None] | None = None  # of which epoch, for len()
        self._place: State | None = None
        # Number, epoch and seed of the last element of the reader that was left.
        self._last: tuple[int, int, int] | None = None
        self._next_epoch = check.optional_count("epoch", epoch) or 0
        if state is not None:
            self._go_to(state)
            if epoch not in (None, self._next_epoch):
                raise InvalidArgumentError(
                    f"epoch: {epoch}, where the state is of epoch {self._next_epoch}"
                )
        if self._even != "exact" and self._order_any:
            raise InvalidArgumentError(
                f'even: "{self._even}" needs the order "deterministic"; the dataset has "any"'
            )

    # ---- elements

    def __iter__(self) -> Elements:
        """Returns an iterator over the next epoch, which begins with its first element.

        A second iterator ends the first one's epoch: loops that run at the same time need
        a loader each.
        """
        return Elements(self)

    def __len__(self) -> int:
        """Returns the number of elements of one whole epoch for this rank.

        Raises UnknownLengthError, a TypeError, if only reading tells it. Before the
        first element it plans the epoch, which waits for the service.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(19)
        >>> [len(fm.Loader(ds, rank=1, ranks=2, even=e)) for e in ("exact", "drop", "pad")]
        [9, 9, 10]
        """
        if self._counted is None or self._counted[0] != self._next_epoch:
            self._counted = (self._next_epoch, self._total(self._next_epoch))
        total = self._counted[1]
        if total is None:
            raise UnknownLengthError(
                "the number of elements is known only by reading them, or there is no end"
            )
        if self._even == "drop":
            return total // self._ranks
        if self._even == "pad":
            return -(-total // self._ranks)
        return max(0, -(-(total - self._rank) // self._ranks))

    def __bool__(self) -> bool:
        """True, however many elements there are."""
        return True

    # ---- epochs

    @property
    def next_epoch(self) -> int:
        """The epoch that the next loop reads."""
        return self._next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next loop reads.

        If a state of that epoch was loaded and is not used yet, the loop begins at its
        place; else at the beginning of the epoch.
        """
        epoch = check.count("epoch", epoch)
        if epoch == self._next_epoch:
            return
        self._next_epoch = epoch
        self._place = None
        self._skips = []
        if self._current is not None and not self._begun:
            self._leave("set_epoch was called")

    @property
    def reader(self) -> Reader | None:
        """The reader of the present epoch: its number, seed, …

        None before an epoch begins and after it has ended.
        """
        return self._current

    @property
    def done(self) -> int:
        """Number of elements of this rank in its epoch before the next one.

        It is 0 before an epoch begins, and ``len(loader)`` is the number of the whole
        epoch: ``tqdm(loader, initial=loader.done)`` continues the bar of a loader that
        was given a state.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(10)
        >>> loader = fm.Loader(ds, rank=1, ranks=2)
        >>> elements = iter(loader)
        >>> next(elements), next(elements)
        (np.int64(1), np.int64(3))
        >>> loader.done, len(loader)
        (2, 5)
        >>> fm.Loader(ds, rank=1, ranks=2, state=loader.state_dict()).done
        2
        """
        if self._current is None and self._place is None:
            return 0
        before: int = describe_state(self.state_dict())["next_element"]
        return max(0, -(-(before - self._rank) // self._ranks))

    def provenance(self, number: int | None = None) -> list[dict[str, Any]]:
        """Returns the records that made an element; see :meth:`Reader.provenance`.

        ``number``: of an element of the epoch of the element that was handed out last.
        Default: that element, also after the end of its epoch.

        Raises OutOfRangeError if no element was handed out, or if there is none of that
        number; FailedPreconditionError if the order of the dataset is ``any``.

        >>> import feedmill as fm
        >>> loader = fm.Loader(fm.Dataset.text("notes.txt").shuffle().batch(2), seed=1)
        >>> for batch in loader:
        ...     pass
        >>> batch.tolist()
        [b'first line']
        >>> [record["record"] for record in loader.provenance()]
        [0]
        """
        if self._order_any:
            raise FailedPreconditionError(
                'with order "any" elements have no number; use order "deterministic"'
            )
        last = self._last
        if self._current is not None:
            last = _last_of(self._current) or last
        if last is None:
            raise OutOfRangeError("no element was handed out yet")
        if number is None:
            number = last[0]
        return records_of(
            self._dataset._pipeline(), check.count("number", number), last[1], last[2]
        )

    # ---- the place in the sequence

    def state_dict(self) -> State:
        """Returns the place after the last element that was handed out.

        A dict that JSON and pickle keep. After the end of an epoch it is the beginning
        of the next one. Before the first element it begins the first epoch, which
        waits for the service.

        Raises FailedPreconditionError if the order of the dataset is ``any``.

        >>> import feedmill as fm
        >>> loader = fm.Loader(fm.Dataset.range(3), seed=1)
        >>> [int(x) for x in loader]
        [0, 1, 2]
        >>> state = loader.state_dict()
        >>> fm.Loader(fm.Dataset.range(3), state=state).next_epoch
        1
        """
        if self._current is None and self._place is not None:
            return dict(self._place)
        return self._open().state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next loop begin at the place of ``state``; ends a present epoch.

        ``state`` is of this rank, or of :func:`merge_states` of the states of all
        ranks. Raises InvalidArgumentError if it is no state. The next loop refuses a
        state of another dataset.
        """
        self._go_to(state)
        self._leave("load_state_dict was called")
        self._failed = False

    def get_state(self) -> State:
        """Returns :meth:`state_dict`; the name that Grain gives it."""
        return self.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Does what :meth:`load_state_dict` does; the name that Grain gives it."""
        self.load_state_dict(state)

    # ---- the end

    def close(self) -> None:
        """Ends the present epoch. May be called twice."""
        self._leave("it was closed")

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, also in another process: its place, without its reader."""
        place = self._place_of_copy()
        epoch = self._next_epoch if place is None else describe_state(place)["iteration"]
        copied = {**self.__dict__, "_place": place, "_next_epoch": epoch}
        copied.update(_current=None, _functions=None, _begun=False)
        if self._current is not None:
            copied["_skips"] = []  # its place has them
        return copied

    # ---- internal

    def _place_of_copy(self) -> State | None:
        """Returns the place at which a copy begins; None: at the beginning of the next epoch.

        A process that is started with the copy begins the epoch that a loop here, or in a
        forked process, would begin. Other copies continue in the present epoch.
        """
        if self._current is None or self._forked or self._order_any:
            return self._place
        state = self._current.state_dict()
        return _after(state) if self._begun and get_spawning_popen() is not None else state

    @property
    def _forked(self) -> bool:
        """True if the present reader's threads are in the process that forked this one."""
        return self._current is not None and self._opened_in != os.getpid()

    @property
    def _order_any(self) -> bool:
        return self._dataset._native.unordered

    @property
    def _lacks_seed(self) -> bool:
        """True if no service draws the seed that all ranks need."""
        given = self._seed is not None or self._dataset._native.seed is not None
        return self._ranks > 1 and not self._service and not given

    @property
    def _shares(self) -> bool:
        """True if the job's elements go to whichever of its readers asks."""
        job = self._job or self._dataset._native.job
        return self._order_any and bool(self._service) and bool(job)

    def _go_to(self, state: Mapping[str, Any]) -> None:
        described = describe_state(state)
        self._next_epoch, self._seed = described["iteration"], described["seed"]
        self._place = dict(state)

    def _total(self, epoch: int) -> int | None:
        """The number of elements of all ranks in an epoch; None if not known."""
        with self._read_alone(epoch) as reader:
            return reader._length

    def _read_alone(self, epoch: int) -> Reader:
        """A reader of all ranks' elements, in a job of its own."""
        options = {key: self._options[key] for key in self._options if key not in _ONE_READER}
        return self._dataset.read(
            self._service,
            "",
            even="exact",
            epoch=epoch,
            seed=self._seed,
            _functions=self._shared_functions(),
            **options,
        )

    def _shared_functions(self) -> _feedmill.SharedFunctions:
        """The Python functions of all epochs, which are loaded once."""
        if self._functions is None or self._functions.foreign:
            self._functions = _feedmill.SharedFunctions(*local_interpreter())
        return self._functions

    def _open(self) -> Reader:
        """Returns the reader of the present epoch, opened if it is not."""
        if self._failed:
            raise FailedPreconditionError(
                "the epoch before ended with an error; continue with load_state_dict(state)"
            )
        if self._forked:
            self._leave("the process forked")
        if self._current is None:
            place = self._place
            if place is None and self._draw_seed is not None and self._lacks_seed:
                self._seed = self._draw_seed()
            self._current = self._dataset.read(
                self._service,
                self._job,
                rank=self._rank,
                ranks=self._ranks,
                even=self._even,
                agree=self._agree,
                state=place,
                epoch=None if place is not None or self._shares else self._next_epoch,
                seed=None if place is not None else self._seed,
                skip_batches=self._skips,
                _functions=self._shared_functions(),
                **self._options,
            )
            self._opened_in = os.getpid()
            self._begun = False
            self._seed = self._current.seed
            self._next_epoch = self._current.epoch
        return self._current

    def _begin(self) -> Reader:
        if self._current is not None and self._begun:
            self._leave("another loop over it began")
        reader = self._open()
        self._begun = True
        self._next_epoch = reader.epoch + 1
        self._place = None
        self._skips = []
        return reader

    def _next(self, reader: Reader) -> Element:
        try:
            return next(reader)
        except StopIteration:
            if reader is self._current:
                self._failed = False
                if not self._order_any:
                    self._place = _after(reader.state_dict())
                self._leave("it ended")
            raise
        except Error:
            self._failed = reader is self._current
            raise

    def _leave(self, why: str) -> None:
        if self._current is not None:
            self._last = _last_of(self._current) or self._last
            self._current._why_left = why
            if not self._forked:
                self._current.close()
        self._current = None


def _after(state: State) -> State:
    """Returns the place of the beginning of the epoch after a state's."""
    return make_state(_feedmill.next_epoch_token(token_of(state)))


def _last_of(reader: Reader) -> tuple[int, int, int] | None:
    """Number, epoch and seed of the element that was handed out last, if there is one."""
    try:
        return reader.number, reader.epoch, reader.seed
    except Error:
        return None


# Options that name one reader: the second plan, which only counts, has none of them.
_ONE_READER = {"consumer", "take_over"}


class Elements:
    """An iterator over one epoch of a loader, which its first element begins."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._reader: Reader | None = None
        self._ended = False

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        if self._reader is None:
            self._reader = self._loader._begin()
        elif self._reader is not self._loader._current or self._loader._forked:
            why = self._reader._why_left or "the process forked"
            raise FailedPreconditionError(
                f"this loop over a loader ended before its last element: {why}; loops that run at "
                "the same time need a loader each"
            )
        try:
            return self._loader._next(self._reader)
        except StopIteration:
            self._ended = True
            raise

    def get_state(self) -> State:
        """Returns the loader's :meth:`Loader.state_dict`, as Grain's iterators do."""
        return self._loader.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Has this iterator continue at the place of ``state``."""
        self._loader.load_state_dict(state)
        self._reader, self._ended = None, False


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raises TypeError for a keyword that the TypedDict ``known`` has not."""
    names: frozenset[str] = known.__optional_keys__  # type: ignore[attr-defined]
    unknown = sorted(set(options) - names)
    if unknown:
        raise TypeError(
            f"{', '.join(unknown)}: no such option; there are {', '.join(sorted(names))}"
        )
