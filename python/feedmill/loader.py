"""Loaders: the elements of a dataset, epoch after epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, TypeAlias

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._arguments import Nulls
from feedmill._dataset_base import READ_OPTIONS, DatasetBase
from feedmill._foreign_names import hint
from feedmill._options import LoaderOptions
from feedmill.errors import FailedPreconditionError, InvalidArgumentError, UnknownLengthError
from feedmill.reader import Element, Reader, State, make_state, records_of, token_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The place where an epoch begins: token, epoch, seed and skipped batches.
Place: TypeAlias = "tuple[bytes | None, int | None, int | None, Sequence[tuple[int, int]]]"


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
        state: Mapping[str, Any] | None = None,
        **options: Unpack[LoaderOptions],
    ) -> None:
        if not isinstance(dataset, DatasetBase):
            raise InvalidArgumentError(f"dataset: expected a feedmill.Dataset, found {dataset!r}")
        given: dict[str, Any] = {"service": service, "job": job, **options}
        if unknown := sorted(given.keys() - READ_OPTIONS.keys()):
            end = hint(unknown[0], "read", READ_OPTIONS)
            raise TypeError(
                f"{', '.join(unknown)}: no such option"
                + (end or f"; there are {', '.join(sorted(READ_OPTIONS))}")
            )
        self._dataset = dataset
        self._given = given  # of DatasetBase.read
        self._current: Reader | None = None
        token = None if state is None else token_of(state)
        seed = options.get("seed") if token is None else None
        self._make((token, options.get("epoch"), seed, options.get("skip_batches", ())))

    _found = True  # the results of _find_options are in the options

    # ---- for frameworks

    def _find_options(self) -> dict[str, Any]:
        """Returns the options that are found when the loader is used first."""
        return {}

    def _find_seed(self) -> int | None:
        """Returns a seed that all ranks of a local reading share; None if they cannot."""
        return None

    def _native_nulls(self, nulls: Nulls) -> str:
        """Returns the form that nulls have in the elements for :meth:`_next`."""
        return nulls

    def _next(self, elements: Iterator[Element]) -> Any:
        """Returns the next element, as the framework's."""
        return next(elements)

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
        size = self._here().size()
        if size is None:
            raise UnknownLengthError(
                "the number of elements is known only by reading them, or there is no end"
            )
        return size

    def __bool__(self) -> bool:
        """True, however many elements there are."""
        return True

    # ---- epochs

    @property
    def next_epoch(self) -> int:
        """The epoch that the next loop reads."""
        return self._native.next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next loop reads.

        If a state of that epoch was loaded and is not used yet, the loop begins at its
        place; else at the beginning of the epoch. After a loop that reaches its end, the
        next epoch follows even if another one was set within the loop.
        """
        self._of_process().set_epoch(check.count("epoch", epoch))

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
        return self._here().done()

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
        last, epoch, seed = self._here().last()
        number = last if number is None else check.count("number", number)
        return records_of(self._dataset._pipeline(), number, epoch, seed)

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
        return make_state(self._ready().save())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next loop begin at the place of ``state``; ends a present epoch.

        ``state`` is of this rank, or of :func:`merge_states` of the states of all
        ranks. Raises InvalidArgumentError if it is no state. The next loop refuses a
        state of another dataset.
        """
        self._of_process().load(token_of(state))
        self._leave("load_state_dict was called")

    def get_state(self) -> State:
        """Returns :meth:`state_dict`; the name that Grain gives it."""
        return self.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Does what :meth:`load_state_dict` does; the name that Grain gives it."""
        self.load_state_dict(state)

    # ---- the end

    def close(self) -> None:
        """Ends the present epoch. May be called twice."""
        self._of_process().close()
        self._leave("it was closed")

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, also in another process: its place, without its reader.

        A process that is started with the copy begins the epoch that a loop here, or in a
        forked process, would begin. Other copies continue in the present epoch.
        """
        place = self._native.next_place()
        goes_on = self._current is not None and not self._native.foreign
        if goes_on and not self._dataset._native.unordered and get_spawning_popen() is None:
            place = (self._native.save(), None, None, [])
        return {**self.__dict__, "_native": place, "_current": None, "_found": type(self)._found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make(state["_native"])

    # ---- internal

    def _make(self, place: Place, found: Mapping[str, Any] | None = None) -> None:
        """Makes the loader whose first epoch begins at a place. It opens nothing yet."""
        token, epoch, seed, skips = place
        given = self._dataset._completed({**self._given, **(found or {})})
        given.update(epoch=epoch, seed=seed, skip_batches=skips)
        options = self._dataset._native_options(given)
        if options["even"] != "exact" and self._dataset._native.unordered:
            raise InvalidArgumentError(
                f'even: "{options["even"]}" needs the order "deterministic"; the dataset has "any"'
            )
        self._draws = options["ranks"] == 1 or options["service"]  # a seed for all ranks
        native = _feedmill.ReadOptions(token=token, **options)
        self._native = _feedmill.Loader(
            self._dataset._native, native, self._native_nulls(options["nulls"])
        )

    def _of_process(self) -> _feedmill.Loader:
        """Returns the loader; after a fork, one that begins the next epoch."""
        if self._native.foreign:
            self._make(self._native.next_place(), self._find_options())
            self._leave("the process forked")
        return self._native

    def _here(self) -> _feedmill.Loader:
        """Returns the loader, ready to be opened."""
        native = self._of_process()
        if not self._found:
            self._make(native.next_place(), self._find_options())
            self._found = True
        return self._native

    def _ready(self) -> _feedmill.Loader:
        """Returns the loader. If ranks need a seed and no service draws it, finds it first."""
        native = self._here()
        token, epoch, seed, skips = native.next_place()
        if not (self._draws or token or seed is not None or self._dataset._native.seed is not None):
            seed = self._find_seed()
            if seed is not None:
                self._make((token, epoch, seed, skips), self._find_options())
        return self._native

    def _begin(self) -> Reader:
        """Returns the reader of the next epoch."""
        loader = self._ready()
        self._leave("another loop over it began")
        native = loader.next_epoch_reader()
        self._current = Reader(self._dataset._pipeline(), {}, native=native)
        return self._current

    def _leave(self, why: str) -> None:
        if self._current is not None:
            self._current._why_left = why
        self._current = None


class Elements:
    """An iterator over one epoch of a loader, which its first element begins."""

    def __init__(self, loader: Loader, take: Any = None) -> None:
        self._loader = loader
        self._take = take or loader._next
        self._reader: Reader | None = None
        self._ended = False

    def __iter__(self) -> Iterator[Element]:
        return self

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        if self._reader is None:
            self._reader = self._loader._begin()
        elif self._reader is not self._loader._current or self._loader._native.foreign:
            why = self._reader._why_left or "the process forked"
            raise FailedPreconditionError(
                f"this loop over a loader ended before its last element: {why}; loops that run at "
                "the same time need a loader each"
            )
        try:
            return self._take(self._reader)
        except StopIteration:
            self._ended = True
            self._loader.close()
            raise

    def get_state(self) -> State:
        """Returns the loader's :meth:`Loader.state_dict`, as Grain's iterators do."""
        return self._loader.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Has this iterator continue at the place of ``state``."""
        self._loader.load_state_dict(state)
        self._reader, self._ended = None, False
