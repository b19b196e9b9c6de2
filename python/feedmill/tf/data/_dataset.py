"""``tf.data.Dataset``: the names and arguments of TensorFlow's, as feedmill's steps."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import feedmill
from feedmill import _feedmill
from feedmill._foreign_names import answering
from feedmill._methods_by_hand import SourceMethods
from feedmill.errors import InvalidArgumentError, UnknownLengthError
from feedmill.expressions import Element as TracedElement
from feedmill.expressions import Expr, trace
from feedmill.reader import Element, Reader
from feedmill.tf._dtypes import type_name
from feedmill.tf.data._distribution import PATIENCE, Distribution, common_distribution
from feedmill.tf.data._file_names import FileNames, interleaved, listed
from feedmill.tf.io import parsing

if TYPE_CHECKING:
    from typing_extensions import Self

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

_Result = TypeVar("_Result")


class _OfClassAndElement:
    """A class method of several datasets that is also a method of one of them."""

    def __init__(self, name: str, of_one: Callable[..., Any]) -> None:
        self._name = name
        self._of_one = of_one
        self.__doc__ = of_one.__doc__

    def __get__(self, dataset: Any, kind: type) -> Any:
        if dataset is None:
            return getattr(super(Dataset, kind), self._name)
        return functools.partial(self._of_one, dataset)


def _interleave(
    self: Dataset,
    map_func: Callable[[Any], Dataset],
    cycle_length: int | None = None,
    block_length: int | None = None,
    num_parallel_calls: int | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Reads the datasets that ``map_func`` makes of the elements in turn.

    The elements, such as names of files, are read at once, and are 1,000 at most. Of a
    class, it takes a list of datasets: ``tf.data.Dataset.interleave([a, b])``.

    Raises InvalidArgumentError for more elements, and after a shuffle.
    """
    if not callable(map_func):
        raise InvalidArgumentError(f"map_func: expected a function, found {map_func!r}")
    if "shuffle" in self._names():
        raise InvalidArgumentError(
            "interleave: the elements are shuffled, and the order of an interleave does not change "
            "from epoch to epoch; leave the shuffle out, and shuffle after interleave"
        )
    elements = self.head(_INPUTS_MAX + 1)
    if len(elements) > _INPUTS_MAX:
        raise InvalidArgumentError(f"interleave: there are more than {_INPUTS_MAX} inputs")
    return interleaved([map_func(one) for one in elements], cycle_length, block_length)


def _concatenate(self: Dataset, dataset: Dataset, name: str | None = None) -> Dataset:
    """Appends a dataset. Of a class, it takes a list: ``tf.data.Dataset.concatenate([a, b])``.

    Raises InvalidArgumentError for anything else.
    """
    joined: Dataset = Dataset.concatenate([self, dataset])
    return joined


_INPUTS_MAX = 1000


@answering
class Dataset(feedmill.Dataset):
    """A :class:`feedmill.Dataset` that is iterated over, as in ``tf.data``.

    It has all steps of feedmill, with their options (docs/steps.md). Those that have a
    name of TensorFlow take its arguments, too. It is
    read in this process; after ``distribute``, through a service: by loops, ``read``,
    :class:`feedmill.Loader` and ``to_torch``, ``to_jax`` and ``to_tf``. Elements are
    NumPy arrays.

    Each loop is the next epoch, with another order after ``shuffle``.

    >>> from feedmill import tf
    >>> [batch.tolist() for batch in tf.data.Dataset.range(5).batch(2)]
    [[0, 1], [2, 3], [4]]
    """

    __slots__ = ("_distribution", "_loops", "_next_epoch")
    _logical = False  # TensorFlow's strings are bytes, and it has no times
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

    def __iter__(self) -> Iterator[Any]:
        """Reads the next epoch: of this dataset, or of its named job.

        Elements with the components ``value_0``, ``value_1``, … are tuples. Through a
        service, it waits as long as it takes for a dispatcher and workers.
        """
        elements = self._epoch()
        names = [entry[0] for entry in elements._native.spec()] if elements else []
        if not elements or names != [f"value_{k}" for k in range(len(names))]:
            return iter(elements)
        return (tuple(element[name] for name in names) for element in elements)

    def _epoch(self) -> Reader | tuple[()]:
        distribution = self._distribution
        if distribution is None:
            return self.read(epoch=next(self._loops))
        if distribution.job is None:
            return self.read(epoch=next(self._loops), **PATIENCE)
        if not distribution.shared:
            reader = self.read(epoch=self._next_epoch, **PATIENCE)
            object.__setattr__(self, "_next_epoch", reader.epoch + 1)
            return reader
        number = next(self._loops)
        reader = super().read(**distribution.shared_loop(number))
        if reader.epoch == 0:
            return reader
        reader.close()
        warnings.warn(
            f"loop {number} of job_name={distribution.job!r} was read to its end by others, "
            "and has no elements; choose another job_name to read them again",
            stacklevel=3,
        )
        return ()

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

    def cardinality(self, name: str | None = None) -> int:
        """Returns the number of elements; -1 if it is infinite, -2 if only reading tells it.

        Raises NotFoundError for files that are missing.

        >>> from feedmill import tf
        >>> tf.data.Dataset.range(10).batch(4).cardinality()
        3
        """
        if self._is_endless():
            return INFINITE_CARDINALITY
        with self.read() as reader:
            try:
                return len(reader)
            except UnknownLengthError:
                return UNKNOWN_CARDINALITY

    def __len__(self) -> int:
        """Returns the number of elements. Raises TypeError if it is unknown or infinite."""
        number = self.cardinality()
        if number < 0:
            raise TypeError(f"the dataset's length is {'infinite' if number == -1 else 'unknown'}")
        return number

    def __bool__(self) -> bool:
        """True."""
        return True

    # ---- sources

    @classmethod
    def list_files(
        cls,
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> FileNames:
        """Returns the names of the files that match a glob, or one of several.

        For loops, sources and ``interleave``. They are shuffled by default.

        Raises InvalidArgumentError if a pattern matches no file.
        """
        return listed(file_pattern, shuffle, seed)

    @classmethod
    def from_generator(
        cls,
        function: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Makes the elements of a generator, as :meth:`feedmill.Dataset.from_generator`.

        ``output_signature``: a :class:`~feedmill.tf.TensorSpec`, or a dict of them. The
        generator yields arrays or numbers of these dtypes.

        Raises InvalidArgumentError for ``args``, ``output_types`` and ``output_shapes``.
        """
        if args is not None or output_types is not None or output_shapes is not None:
            raise InvalidArgumentError(
                "from_generator: write output_signature=tf.TensorSpec(shape, dtype), and a "
                "generator without arguments, such as functools.partial(generator, argument)"
            )
        if output_signature is not None:
            options["output"] = _output(output_signature)
        return super().from_generator(function, **options)

    interleave: Any = _OfClassAndElement("interleave", _interleave)
    concatenate: Any = _OfClassAndElement("concatenate", _concatenate)

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Self:
        """Joins one element of each dataset; all have named components.

        Raises InvalidArgumentError for anything but datasets.
        """
        inputs = args[0] if len(args) == 1 and not isinstance(args[0], Dataset) else args
        return super().zip(list(inputs if datasets is None else datasets))

    # ---- steps with TensorFlow's arguments

    def map(
        self,
        map_func: Any = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        **named: Any,
    ) -> Self:
        """Makes the components that a function returns; see :meth:`feedmill.Dataset.map`.

        A function may call the functions of ``tf``, ``tf.image``, ``tf.io`` and
        ``tf.strings`` of this package. All threads work, and the order stays.

        Raises TraceError if the function does what an expression cannot.

        >>> from feedmill import tf
        >>> numbers = tf.data.Dataset.range(3)
        >>> dataset = numbers.map(lambda x: x * x, num_parallel_calls=tf.data.AUTOTUNE)
        >>> [int(x) for x in dataset]
        [0, 1, 4]
        """
        if named.get("python") is True:
            if deterministic is not None:
                named["deterministic"] = deterministic
            return super().map(map_func, **named)
        if not callable(map_func) or isinstance(map_func, (Expr, TracedElement)):
            return super().map(map_func, **named)
        function = self._of_element(map_func)
        with parsing() as features:
            made = trace(function)
            if not features:
                return super().map(function, **named)
            parsed = super().parse_example(features[0])
            return parsed if isinstance(made, TracedElement) else parsed._mapped(function, named)

    def filter(self, predicate: Any, name: str | None = None, **options: Any) -> Self:
        """Keeps the elements for which ``predicate`` is true; see :meth:`feedmill.Dataset.filter`.

        Raises the errors of :meth:`map`.
        """
        if callable(predicate) and not options and not isinstance(predicate, (Expr, TracedElement)):
            predicate = self._of_element(predicate)
        return super().filter(predicate, **options)

    def _of_element(self, function: Callable[..., Any]) -> Callable[[Any], Any]:
        """Returns a function of one element for one of several values, or that returns a tuple.

        The items of tuples are the components ``value_0``, ``value_1``, …
        """
        count = _required_arguments(function)
        names = list(self.schema) if count > 1 else []
        if count > 1 and len(names) != count:
            raise InvalidArgumentError(
                f"map_func: it takes {count} values, and an element has {len(names)}: "
                f"{', '.join(names)}; write lambda e: e[{names[0]!r}]"
            )

        def of_element(element: TracedElement) -> Any:
            made = function(*(element[name] for name in names)) if names else function(element)
            if type(made) is not tuple:
                return made
            return {f"value_{k}": one for k, one in enumerate(made)}

        if not names:
            with parsing():
                if type(function(TracedElement())) is not tuple:
                    return function
        return of_element

    def _mapped(self, function: Callable[[Any], Any], named: dict[str, Any]) -> Self:
        return super().map(function, **named)

    def batch(  # type: ignore[override]
        self,
        batch_size: Any = None,
        drop_remainder: bool | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        size: Any = None,
    ) -> Self:
        """Stacks ``batch_size`` elements, or ``size``; see :meth:`feedmill.Dataset.batch`.

        Raises InvalidArgumentError for a size of 0.
        """
        return super().batch(
            size if batch_size is None else batch_size,
            drop_remainder=drop_remainder,
        )

    def padded_batch(  # type: ignore[override]
        self,
        batch_size: Any = None,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Stacks elements, and pads shorter rows; see :meth:`feedmill.Dataset.padded_batch`.

        Raises InvalidArgumentError for a size of 0.
        """
        given = options.pop("size", None) if batch_size is None else batch_size
        if padded_shapes is not None:
            options["shapes"] = _by_name(padded_shapes)
        if padding_values is not None:
            options["values"] = _by_name(padding_values)
        return super().padded_batch(given, drop_remainder=drop_remainder, **options)

    def ragged_batch(  # type: ignore[override]
        self,
        batch_size: Any = None,
        drop_remainder: bool | None = None,
        row_splits_dtype: Any = None,
        name: str | None = None,
        *,
        size: Any = None,
    ) -> Self:
        """Joins rows of different lengths; see :meth:`feedmill.Dataset.ragged_batch`.

        Raises InvalidArgumentError for a size of 0.
        """
        return super().ragged_batch(
            size if batch_size is None else batch_size,
            drop_remainder=drop_remainder,
        )

    def shuffle(
        self,
        buffer_size: int | None = None,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
        *,
        window: int | None = None,
        **options: Any,
    ) -> Self:
        """Shuffles within ``buffer_size`` elements, or all; see :meth:`feedmill.Dataset.shuffle`.

        Raises InvalidArgumentError for ``reshuffle_each_iteration=False``.
        """
        if reshuffle_each_iteration is False:
            raise InvalidArgumentError(
                "reshuffle_each_iteration: each epoch has another order; for the same one write "
                "shuffle(…).cache(), or read(epoch=0)"
            )
        return super().shuffle(
            window=window if buffer_size is None else buffer_size, seed=seed, **options
        )

    def prefetch(self, buffer_size: int | None = None, name: str | None = None) -> Self:
        """Returns this dataset: feedmill reads ahead by itself. Raises no error."""
        return self

    def cache(  # type: ignore[override]
        self, filename: str | os.PathLike[str] = "", name: str | None = None, **options: Any
    ) -> Self:
        """Keeps the elements in memory, or in the folder ``filename``.

        Raises the errors of :meth:`feedmill.Dataset.cache`.
        """
        return super().cache(filename or None, **options)

    def repeat(self, count: int | None = None, name: str | None = None) -> Self:
        """Reads its input ``count`` times; -1 is infinite. Raises InvalidArgumentError for 0."""
        return super().repeat(None if count == -1 else count)

    def take(self, count: int, name: str | None = None) -> Self:
        """Ends after ``count`` elements; -1 is all. Raises InvalidArgumentError below -1."""
        return self if count == -1 else super().take(count)

    def skip(self, count: int, name: str | None = None) -> Self:
        """Leaves out ``count`` elements. Raises InvalidArgumentError for a negative count."""
        return super().skip(count)

    def shard(  # type: ignore[override]
        self,
        num_shards: Any = None,
        index: Any = None,
        name: str | None = None,
        *,
        count: Any = None,
    ) -> Self:
        """Keeps each num_shards-th element. Raises InvalidArgumentError for a wrong index."""
        return super().shard(
            count if num_shards is None else num_shards,
            index,
        )

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Self:
        """``on_error("skip")``. Raises the errors of :meth:`feedmill.Dataset.on_error`."""
        return self.on_error("skip")

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


def _required_arguments(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1  # some functions in C have none
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in places and one.default is one.empty for one in parameters)


def _by_name(given: Any) -> Any:
    """Returns values of components by name; one alone is for the unnamed one."""
    return given if isinstance(given, Mapping) else {"x": given}


def _output(spec: Any) -> Any:
    """Returns the types of ``feedmill.Dataset.from_generator`` for an ``output_signature``."""
    if isinstance(spec, Mapping):
        return {name: _output(one) for name, one in spec.items()}
    if not hasattr(spec, "dtype") or not hasattr(spec, "shape"):
        raise InvalidArgumentError(
            "output_signature: expected a TensorSpec, or a dict of them by name, found "
            f"{type(spec).__qualname__}; components have names here"
        )
    return type_name(spec.dtype), tuple(spec.shape)


def _restored(
    kind: type[Dataset], native: _feedmill.Pipeline, distribution: Distribution | None
) -> Dataset:
    return kind._of(native)._distributed(distribution)
