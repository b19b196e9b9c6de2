"""``tf.data``: datasets, and the service that distributes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import feedmill
from feedmill.reader import Element
from feedmill.tf.data import experimental

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Dataset", "experimental"]

_Result = TypeVar("_Result")


class Dataset(feedmill.Dataset):
    """A :class:`feedmill.Dataset` that is iterated over, as that of ``tf.data``.

    Its steps are feedmill's, with feedmill's names and options (docs/steps.md). It is
    read in this process; after ``distribute``, through a service. Elements are NumPy
    arrays.

    Each loop is the next epoch, with another order after ``shuffle``.

    >>> from feedmill import tf
    >>> [batch.tolist() for batch in tf.data.Dataset.range(5).batch(2)]
    [[0, 1], [2, 3], [4]]
    """

    __slots__ = ("_distribution", "_passes")
    # Arguments of read(), of a dataset that is distributed.
    _distribution: dict[str, Any]
    # Numbers the loops over this dataset.
    _passes: Iterator[int]

    def apply(self, transformation_func: Callable[[Self], _Result]) -> _Result:
        """Returns ``transformation_func(self)``."""
        return transformation_func(self)

    def __iter__(self) -> Iterator[Element]:
        """Reads the next epoch: of this dataset, or of its named job."""
        arguments = self._read_arguments()
        if "job" not in arguments:
            if not hasattr(self, "_passes"):
                object.__setattr__(self, "_passes", itertools.count())
            arguments = {**arguments, "epoch": next(self._passes)}
        return iter(self.read(**arguments))

    def as_numpy_iterator(self) -> Iterator[Element]:
        """Returns an iterator over the elements: NumPy arrays, numbers, ``bytes``."""
        return iter(self)

    def _read_arguments(self) -> dict[str, Any]:
        return getattr(self, "_distribution", {})

    def _distributed(self, arguments: Mapping[str, Any]) -> Self:
        dataset = self._of(self._definition)
        object.__setattr__(dataset, "_distribution", dict(arguments))
        return dataset

    def _with_step(self, name: str, value: Any) -> Self:
        return super()._with_step(name, value)._distributed(self._read_arguments())

    def with_options(self, **options: Any) -> Self:
        """Returns the dataset with other options, as :meth:`feedmill.Dataset.with_options`."""
        return super().with_options(**options)._distributed(self._read_arguments())

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), self._definition, self._read_arguments()))


def _restored(
    kind: type[Dataset], definition: dict[str, Any], arguments: dict[str, Any]
) -> Dataset:
    return kind._of(definition)._distributed(arguments)
