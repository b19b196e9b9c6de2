"""Base of the frameworks' loaders: finds ranks, counts epochs, keeps the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from feedmill import _arguments as check
from feedmill._arguments import Even
from feedmill._dataset_base import DatasetBase
from feedmill._options import EpochOptions
from feedmill.errors import FailedPreconditionError, InvalidArgumentError
from feedmill.loader import Loader, check_options
from feedmill.reader import Element, State, token_of


class Adapter:
    """Makes its :class:`Loader` when the first epoch begins.

    Before that, the ranks of the process may not be known, and the adapter can be sent
    to another process.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        service: str | None,
        job: str | None,
        *,
        rank: int | None,
        ranks: int | None,
        even: Even | None,
        state: Mapping[str, Any] | None,
        options: EpochOptions,
    ) -> None:
        check_options(options, EpochOptions)
        if (rank is None) != (ranks is None):
            raise InvalidArgumentError("rank, ranks: both or none of them")
        self._dataset = dataset
        self._arguments: dict[str, Any] = {
            "service": service,
            "job": job,
            "even": dataset._even(even, "drop"),
            **options,
        }
        self._ranks = None if rank is None or ranks is None else (rank, ranks)
        self._state: State | None = None
        self._epoch: int | None = None
        self._loader: Loader | None = None
        self._alone = False  # the loader is for the only rank
        if state is not None:
            self.load_state_dict(state)

    # ---- for the frameworks

    def _find_ranks(self) -> tuple[int, int]:
        """Returns (rank, ranks) of this process."""
        return 0, 1

    def _find_agree(self) -> Callable[[bool], tuple[bool, bool]] | None:
        """Returns the function ``agree`` of :class:`Loader`, for several ranks."""
        return None

    def _find_seed(self) -> int | None:
        """Returns a seed that all ranks of a local reading share; None if they cannot."""
        return None

    def _next(self, elements: Iterator[Element]) -> Any:
        """Returns the next element, as the framework's."""
        raise NotImplementedError

    def _check(self, ranks: int) -> None:
        """Raises InvalidArgumentError if this many ranks cannot read the dataset."""

    # ---- elements

    def __iter__(self) -> Iterator[Any]:
        """Returns an iterator over the next epoch, which begins with its first element."""
        return _Adapted(self)

    def __len__(self) -> int:
        """Returns the number of elements of one whole epoch for this rank.

        Raises UnknownLengthError, a TypeError, if only reading tells it.
        """
        return len(self._opened())

    def __bool__(self) -> bool:
        """True, however many elements there are."""
        return True

    # ---- epochs and places

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the next loop reads, as :meth:`Loader.set_epoch`."""
        if self._loader is not None:
            self._loader.set_epoch(epoch)
        else:
            self._epoch = check.count("epoch", epoch)

    def state_dict(self) -> State:
        """Returns the place after the last element that was handed out.

        Each rank keeps its own. After the end of an epoch it is the beginning of the
        next one.
        """
        return self._opened().state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next loop begin at the place of ``state``: of this rank, or merged."""
        if self._loader is not None:
            self._loader.load_state_dict(state)
            return
        token_of(state)
        self._state, self._epoch = dict(state), None

    def get_state(self) -> State:
        """Returns :meth:`state_dict`; the name that Grain gives it."""
        return self.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Does what :meth:`load_state_dict` does; the name that Grain gives it."""
        self.load_state_dict(state)

    @property
    def done(self) -> int:
        """Number of elements of this rank in its epoch before the next; see ``Loader.done``."""
        return self._opened().done

    def provenance(self, number: int | None = None) -> list[dict[str, Any]]:
        """Returns the records that made an element, as :meth:`Loader.provenance`.

        Default: the element that the loop was handed last, also after the end of its
        epoch.
        """
        return self._opened().provenance(number)

    @property
    def loader(self) -> Loader | None:
        """The :class:`Loader` that reads; None before the first epoch begins."""
        return self._loader

    def close(self) -> None:
        """Ends the present epoch. May be called twice."""
        if self._loader is not None:
            self._loader.close()

    # ---- internal

    def _begin(self) -> Iterator[Element]:
        """Returns an iterator of the loader over the next epoch."""
        loader = self._opened()
        rank, ranks = self._ranks or self._find_ranks()
        if self._alone and ranks > 1:
            raise FailedPreconditionError(
                f"this process is rank {rank} of {ranks} now, and was the only one when the "
                "dataset was used first; use it (len, state_dict, a loop) after the ranks are "
                "connected, or pass rank= and ranks="
            )
        return iter(loader)

    def _opened(self) -> Loader:
        if self._loader is None:
            rank, ranks = self._ranks or self._find_ranks()
            self._check(ranks)
            self._alone = ranks == 1
            arguments = dict(self._arguments)
            if self._state is not None:
                arguments.pop("epoch", None)
            self._loader = Loader(
                self._dataset,
                rank=rank,
                ranks=ranks,
                state=self._state,
                agree=self._find_agree() if ranks > 1 else None,
                _draw_seed=self._find_seed,
                **arguments,
            )
            if self._epoch is not None:
                self._loader.set_epoch(self._epoch)
            self._state = self._epoch = None
        return self._loader

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, also in another process: its place, without its reader."""
        state = {**self.__dict__, "_loader": None}
        if self._loader is not None:
            place = self._loader._place_of_copy()
            epoch = self._loader.next_epoch if place is None else None
            arguments = {**self._arguments, "seed": self._loader._seed}
            state.update(_state=place, _epoch=epoch, _arguments=arguments)
        return state


class _Adapted:
    """An iterator over one epoch of an adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._elements: Iterator[Element] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._elements is None:
            self._elements = self._adapter._begin()
        return self._adapter._next(self._elements)

    def get_state(self) -> State:
        """Returns the adapter's :meth:`Adapter.state_dict`, as Grain's iterators do."""
        return self._adapter.state_dict()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Has this iterator continue at the place of ``state``."""
        self._adapter.load_state_dict(state)
        self._elements = None
