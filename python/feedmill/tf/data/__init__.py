"""``tf.data``: datasets, and the service that distributes them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import feedmill
from feedmill import _feedmill
from feedmill._methods_by_hand import SourceMethods
from feedmill.errors import InvalidArgumentError
from feedmill.reader import Element, Reader
from feedmill.tf.data import experimental
from feedmill.tf.data._distribution import PATIENCE, Distribution, common_distribution

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Dataset", "experimental"]

_Result = TypeVar("_Result")


class Dataset(feedmill.Dataset):
    """A :class:`feedmill.Dataset` that is iterated over, as in ``tf.data``.

    Its steps are feedmill's, with feedmill's names and options (docs/steps.md). It is
    read in this process; after ``distribute``, through a service: by loops, ``read``,
    :class:`feedmill.Loader` and ``to_torch``, ``to_jax`` and ``to_tf``. Elements are
    NumPy arrays.

    Each loop is the next epoch, with another order after ``shuffle``.

    >>> from feedmill import tf
    >>> [batch.tolist() for batch in tf.data.Dataset.range(5).batch(2)]
    [[0, 1], [2, 3], [4]]
    """

    __slots__ = ("_distribution", "_loops", "_next_epoch")
    _distribution: Distribution | None  # None: it is read in this process
    _loops: Iterator[int]  # numbers the loops over this dataset
    _next_epoch: int | None  # of a job of several consumers; None: the job's next one

    @classmethod
    def _of(cls, native: _feedmill.Pipeline) -> Self:
        return super()._of(native)._distributed(None)

    def _distributed(self, distribution: Distribution | None) -> Self:
        dataset = super()._of(self._native)
        object.__setattr__(dataset, "_distribution", distribution)
        object.__setattr__(dataset, "_loops", itertools.count())
        object.__setattr__(dataset, "_next_epoch", None)
        return dataset

    def _distributed_as(self, other: Dataset) -> Self:
        dataset = self._distributed(other._distribution)
        if other._distribution is not None and other._distribution.shared:
            object.__setattr__(dataset, "_loops", other._loops)  # loops over one job
        return dataset

    # ---- elements

    def apply(self, transformation_func: Callable[[Self], _Result]) -> _Result:
        """Returns ``transformation_func(self)``."""
        return transformation_func(self)

    def __iter__(self) -> Iterator[Element]:
        """Reads the next epoch: of this dataset, or of its named job.

        Through a service, it waits as long as it takes for a dispatcher and workers.
        """
        distribution = self._distribution
        if distribution is None:
            return iter(self.read(epoch=next(self._loops)))
        if distribution.job is None:
            return iter(self.read(epoch=next(self._loops), **PATIENCE))
        if not distribution.shared:
            reader = self.read(epoch=self._next_epoch, **PATIENCE)
            object.__setattr__(self, "_next_epoch", reader.epoch + 1)
            return iter(reader)
        number = next(self._loops)
        reader = super().read(**distribution.shared_loop(number))
        if reader.epoch == 0:
            return iter(reader)
        reader.close()
        warnings.warn(
            f"loop {number} of job_name={distribution.job!r} was read to its end by others, "
            "and has no elements; choose another job_name to read them again",
            stacklevel=2,
        )
        return iter(())

    def as_numpy_iterator(self) -> Iterator[Element]:
        """Returns an iterator over the elements: NumPy arrays, numbers, ``bytes``."""
        return iter(self)

    def read(self, service: str | None = None, job: str | None = None, **options: Any) -> Reader:
        """Begins to read once, as :meth:`feedmill.Dataset.read`.

        A distributed dataset is read through its service. Raises InvalidArgumentError for
        a service, job or rank that contradicts ``distribute``.
        """
        return super().read(**self._completed({"service": service, "job": job, **options}))

    def _completed(self, options: dict[str, Any]) -> dict[str, Any]:
        if self._distribution is None:
            return options
        keys = ("service", "job", "rank", "ranks")
        given = options.get("service"), options.get("job"), options.get("rank", 0)
        placed = self._distribution.place(*given, options.get("ranks", 1))
        compression = self._distribution.compression
        return {"compression": compression, **options, **dict(zip(keys, placed, strict=True))}

    # ---- new datasets

    def _with_step(self, name: str, value: Any) -> Self:
        if self._distribution is not None:
            self._distribution.check_step(name, value)
        return super()._with_step(name, value)._distributed_as(self)

    def with_options(self, **options: Any) -> Self:
        """Returns the dataset with other options, as :meth:`feedmill.Dataset.with_options`."""
        if self._distribution is not None:
            self._distribution.check_options(options)
        return super().with_options(**options)._distributed_as(self)

    @classmethod
    def _combining(cls, name: str, inputs: Sequence[SourceMethods], **given: Any) -> Self:
        if isinstance(inputs, Iterable) and not isinstance(inputs, feedmill.Dataset):
            inputs = list(inputs)
            found = [one._distribution for one in inputs if isinstance(one, Dataset)]
            distributions = [one for one in found if one is not None]
            if distributions:
                common = common_distribution(name, distributions)
                local = [d._distributed(None) if isinstance(d, Dataset) else d for d in inputs]
                return super()._combining(name, local, **given)._distributed(common)
        return super()._combining(name, inputs, **given)

    def _input(self) -> _feedmill.Pipeline:
        if self._distribution is not None:
            raise InvalidArgumentError(
                f"inputs: a dataset is distributed by {self._distribution.service}, which "
                "feedmill.Dataset would not read it through; combine datasets by "
                "tf.data.Dataset, or before distribute"
            )
        return super()._input()

    # ---- a value

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self._distribution == getattr(other, "_distribution", None)

    __hash__ = feedmill.Dataset.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), self._native, self._distribution))


def _restored(
    kind: type[Dataset], native: _feedmill.Pipeline, distribution: Distribution | None
) -> Dataset:
    return kind._of(native)._distributed(distribution)
