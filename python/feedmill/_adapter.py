"""Base of the frameworks' loaders: finds ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from feedmill._arguments import Nulls
from feedmill._dataset_base import DatasetBase
from feedmill._options import AdapterOptions
from feedmill.errors import FailedPreconditionError, InvalidArgumentError
from feedmill.loader import Loader
from feedmill.reader import Reader


class Adapter(Loader):
    """A loader that finds its ranks when it is used first.

    Before that, the ranks of the process may not be known, and the adapter can be sent
    to another process.
    """

    def __init__(
        self, dataset: DatasetBase, service: str | None, job: str | None, options: AdapterOptions
    ) -> None:
        given: dict[str, Any] = {**options}
        rank, ranks = given.pop("rank", None), given.pop("ranks", None)
        if (rank is None) != (ranks is None):
            raise InvalidArgumentError("rank, ranks: both or none of them")
        self._ranks = None if rank is None or ranks is None else (rank, ranks)
        self._alone = False  # the loader is for the only rank
        if given.get("state") is not None:
            given["epoch"] = None
        given["even"] = dataset._even(given.get("even"), "drop")
        Loader.__init__(self, dataset, service, job, **given)

    _found = False

    def _find_ranks(self) -> tuple[int, int]:
        """Returns (rank, ranks) of this process."""
        return 0, 1

    def _find_agree(self) -> Callable[[bool], tuple[bool, bool]] | None:
        """Returns the function ``agree`` of :class:`Loader`, for several ranks."""
        return None

    def _native_nulls(self, nulls: Nulls) -> str:
        return "split" if nulls == "masked" else nulls  # frameworks have no masked arrays

    def _find_options(self) -> dict[str, Any]:
        rank, ranks = self._ranks or self._find_ranks()
        self._alone = ranks == 1
        return {"rank": rank, "ranks": ranks, "agree": self._find_agree() if ranks > 1 else None}

    def _begin(self) -> Reader:
        self._here()
        rank, ranks = self._ranks or self._find_ranks()
        if self._alone and ranks > 1:
            raise FailedPreconditionError(
                f"this process is rank {rank} of {ranks} now, and was the only one when the "
                "dataset was used first; use it (len, state_dict, a loop) after the ranks are "
                "connected, or pass rank= and ranks="
            )
        return super()._begin()

    @property
    def loader(self) -> Loader | None:
        """Itself, the :class:`Loader` that reads; None before it is used first."""
        return self if self._found else None
