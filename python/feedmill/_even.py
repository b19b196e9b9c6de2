"""One epoch of one rank, evened out with the epochs of the other ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from feedmill.errors import FailedPreconditionError, InvalidArgumentError
from feedmill.reader import Element, Reader, State, describe_state

EVEN = ("exact", "drop", "pad")


class Epoch:
    """The elements of a reader, fewer or more of them as ``even`` says."""

    def __init__(
        self,
        reader: Reader,
        even: str,
        rank: int,
        ranks: int,
        place: Mapping[str, Any] | None,
        total: int | None,
        agree: Callable[[bool], tuple[bool, bool]] | None,
        element_of: Callable[[int], Element],
    ) -> None:
        self.reader = reader
        self.begun = False
        self._even = even
        self._agree = agree
        self._start = _start(place, ranks)
        # Elements that this rank still gives from its reader, if that is known.
        self._left: int | None = None
        # The rank gives its last element once more.
        self._pads = even == "pad" and not (place or {}).get("padded")
        self._padded = even == "pad" and not self._pads
        self._last: Element = None  # the element handed out last, where it may be a padding
        self._before_last: str | None = None  # the token of the place before it
        if even == "exact":
            return
        if self._pads and place is not None and "again" in place:
            self._fetch()
        if total is None:
            if agree is None:
                raise InvalidArgumentError(
                    f'even: "{even}" needs to know how many elements there are, and this '
                    "dataset is counted only by reading it (a filter, for example); use "
                    'even="exact", or batch before the filter, or pass agree='
                )
            return
        self._left = self._count(rank, ranks, total, place)
        if self._pads and self._left == 0 and self._last is None:
            # A merged state, whose last elements the rank did not get itself.
            number = total - 1 - (total - 1 - rank) % ranks
            if number < 0:
                raise self._nothing_to_repeat()
            self._last = element_of(number)

    def _count(self, rank: int, ranks: int, total: int, place: Mapping[str, Any] | None) -> int:
        skips = describe_state(self.reader.state_dict())["skipped_batches"]
        left = self.reader._length or 0
        if place is None and not skips and left != max(0, -(-(total - rank) // ranks)):
            raise FailedPreconditionError(
                "the files of the dataset changed while the epoch began: it was planned twice, "
                f"once with {total} elements, once with {left} of rank {rank} of {ranks}"
            )
        if self._last is not None:
            left -= 1
        extras = extra_numbers(self._start, total, ranks, skips)
        owned = any(number % ranks == rank for number in extras)
        if self._even == "drop":
            return max(0, left - owned)
        self._pads = self._pads and bool(extras) and not owned
        return left

    def next(self) -> Element:
        """Returns the next element; StopIteration at the end."""
        if self._even == "exact":
            return next(self.reader)
        if self._left is None:
            return self._next_agreed()
        if self._left > 0:
            last = self._pads and self._left == 1
            element = self._fetch() if last else next(self.reader)
            self._left -= 1
            return element
        if not self._pads:
            raise StopIteration
        return self._pad()

    def _next_agreed(self) -> Element:
        """The next element, where all ranks ask each other for each element."""
        assert self._agree is not None
        have = True
        try:
            element = self._fetch() if self._pads else next(self.reader)
        except StopIteration:
            have = False
        all_have, any_have = self._agree(have)
        if not (all_have if self._even == "drop" else any_have):
            raise StopIteration
        return element if have else self._pad()

    def _fetch(self) -> Element:
        """Takes an element that may be a padding later."""
        token = self.reader.state_dict()["token"]
        element = next(self.reader)
        self._before_last, self._last = token, element
        return element

    def _pad(self) -> Element:
        if self._last is None:
            raise self._nothing_to_repeat()
        element = self._last
        self._pads, self._padded, self._last, self._before_last = False, True, None, None
        return element

    @staticmethod
    def _nothing_to_repeat() -> FailedPreconditionError:
        return FailedPreconditionError(
            'even: "pad" has no element to repeat, because there are fewer elements than ranks; '
            'use even="drop"'
        )

    def state(self) -> State:
        """The place after the element that was handed out last."""
        state = self.reader.state_dict()
        if self._start:
            state["start"] = self._start
        if self._padded:
            state["padded"] = True
        elif self._before_last is not None:
            state["again"] = self._before_last
        return state


def extra_numbers(
    start: int, total: int, ranks: int, skips: Sequence[tuple[int, int]]
) -> list[int]:
    """Returns the numbers of the last elements that do not make one of each rank.

    Of the elements from ``start`` to ``total``, but for ``skips``: ranges in order,
    apart. E.g. 0, 19, 2, [] gives [18].
    """
    left_out = sum(max(0, min(b, total) - max(a, start)) for a, b in skips)
    count = (max(0, total - start) - left_out) % ranks
    extras: list[int] = []
    number = total
    for first, second in reversed([*skips, (-1, 0)]):
        while len(extras) < count and number > second:
            number -= 1
            extras.append(number)
        number = min(number, first)
    return extras


def _start(place: Mapping[str, Any] | None, ranks: int) -> int:
    """The number from which on the elements were divided among these ranks."""
    if place is None:
        return 0
    described = describe_state(place)
    if ranks > 1 and described["consumer"] == "0/1":
        return int(described["next_element"])
    return int(place.get("start", 0))
