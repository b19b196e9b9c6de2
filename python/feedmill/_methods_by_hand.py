"""The methods of Dataset that tools/step_pages does not write, and what its methods call.

These methods take Python functions, or arguments as Python's own ``range``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from feedmill import _memory
from feedmill._foreign_names import hint
from feedmill._python_functions import OutputTypes, Spec, generator_source, python_step
from feedmill._values import Expression, Outputs, expression, options, outputs, required
from feedmill.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

    from feedmill import _feedmill


class SourceMethods:
    """The class methods of Dataset that make one of arguments other than a source's options."""

    __slots__ = ()

    @classmethod
    def _of_source(cls, name: str, value: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def _made(cls, name: str, **given: Any) -> Self:
        return cls._of_source(name, options(**given))

    @classmethod
    def _combining(cls, name: str, inputs: Sequence[SourceMethods], **given: Any) -> Self:
        return cls._of_source(name, {"inputs": _pipelines(inputs), **options(**given)})

    @classmethod
    def _of(cls, native: _feedmill.Pipeline) -> Self:
        raise NotImplementedError

    def _input(self) -> _feedmill.Pipeline:
        raise NotImplementedError

    @classmethod
    def range(cls, start: int, stop: int | None = None, step: int | None = None) -> Self:
        """Makes the numbers of Python's ``range``, as one unnamed int64.

        Raises InvalidArgumentError if ``step`` is 0.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(2, 10, 3).read()]
        [2, 5, 8]
        """
        if stop is None and step is None:
            return cls._of_source("range", required("range", start))
        return cls._made("range", start=start, stop=stop, step=step)

    @classmethod
    def from_generator(
        cls,
        function: Callable[..., Any],
        *,
        shards: int = 1,
        length: int | Sequence[int] | None = None,
        output: OutputTypes | None = None,
        packages: Sequence[str] = (),
        timeout: float = 60,
        memory_bytes: int = 0,
        version: str | None = None,
    ) -> Self:
        """Makes the elements that a Python function yields, shard after shard.

        ``function(shard, shards)`` is called for each shard 0, 1, … and yields its
        elements: dicts of arrays, numbers, ``bytes`` or ``str``, or values without a
        name. It must yield the same elements each time: they are made again after a
        crash, and when reading resumes from a state. With one shard it may take no
        arguments. It runs in processes of a Python interpreter, on workers those that
        ``--allow-python`` allows (docs/python_functions.md); several shards are made at
        the same time.

        >>> import feedmill as fm
        >>> def numbers(shard, shards):
        ...     for x in range(shard, 7, shards):
        ...         yield {"shard": shard, "x": x}
        >>> for e in fm.Dataset.from_generator(numbers, shards=2).batch(4).read():
        ...     print(e["shard"], e["x"])
        [0 0 0 0] [0 2 4 6]
        [1 1 1] [1 3 5]

        Args:
          shards: Number of calls. Each shard is read by one worker at a time.
          length: The number of elements of all shards, or a list with the number of
            each. ``len()`` of a reader and its progress need it. Default: unknown.
          output: What it yields: ``{"x": ("int64", ())}``, or one such pair for a value
            alone. None is a dimension that may differ. Default: found out from the first
            two elements of shard 0.
          packages: Names of packages of which a worker must have the same versions, as
            well as of numpy and cloudpickle.
          timeout: Seconds that an element may take.
          memory_bytes: Bytes that a process may allocate. 0: any number.
          version: A text that identifies the function, see :meth:`Dataset.map`.

        A shard that another process continues is made again from its beginning. If what
        the function returns, or its iterator, has ``state_dict()`` and
        ``load_state_dict(state)``, the process continues from the last state instead.

        Raises InvalidArgumentError if the function or the state cannot be pickled, or if
        the types of the elements are not known. An object with one of these methods only
        is an InvalidArgumentError, or a PythonError of the reading. Reading raises
        PythonError if the function or its state fails, and DataLossError if it makes
        another number of elements than ``length`` says.

        >>> import feedmill as fm
        >>> pairs = fm.Dataset.from_generator(lambda: range(10), length=10).batch(2)
        >>> len(pairs.read())
        5
        """
        return cls._of_source(
            "generator",
            generator_source(
                function,
                shards,
                length=length,
                output=output,
                packages=packages,
                timeout=timeout,
                memory_bytes=memory_bytes,
                version=version,
            ),
        )

    # ---- tables in memory

    @classmethod
    def from_dict(cls, columns: Mapping[str, Any]) -> Self:
        """Reads arrays or lists by name, a row of each an element.

        Columns are arrays of NumPy, objects that ``np.asarray`` takes, such as tensors of
        torch, and lists of numbers, texts, bytes, lists or arrays. ``None`` in a list is a
        null. The columns of a dict in the dict have names with a dot. Arrays are read
        where they are, without a copy: do not change them. A service gets a copy with the
        pipeline, of at most 256 MiB, and 15 MiB packed.

        Raises InvalidArgumentError if the columns differ in length, or for a value that no
        component can hold. Reading through a service raises FailedPreconditionError for a
        larger table.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.from_dict({"n": [1, 2, 3], "name": ["a", "b", "c"]})
        >>> next(ds.shuffle().with_options(seed=1).read())
        {'n': np.int64(3), 'name': 'c'}
        """
        if not isinstance(columns, Mapping):
            raise InvalidArgumentError(
                f"columns: expected a dict of arrays by name, found {columns!r:.80}"
            )
        return cls._of(_memory.pipeline_of(_memory.of_tensors(columns)))

    @classmethod
    def from_numpy(cls, arrays: Any) -> Self:
        """Reads the rows of an array of NumPy, or of several by name.

        The fields of a structured array are components. Numbers are not copied, if rows
        follow one another in memory: do not change the array. See :meth:`from_dict`.

        Raises InvalidArgumentError if the arrays differ in length, or for a dtype that no
        component can hold.

        >>> import feedmill as fm
        >>> import numpy as np
        >>> images, labels = np.zeros((4, 28, 28), np.uint8), np.arange(4)
        >>> fm.Dataset.from_numpy({"image": images, "label": labels}).batch(2).schema
        image: uint8[?, 28, 28]
        label: int64[?]
        """
        return cls._of(_memory.pipeline_of(_memory.of_arrays(arrays)))

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Self:
        """Reads the rows of arrays or lists in a structure of tuples and dicts.

        The components have names, unlike in ``tf.data``: the keys of dicts, and
        ``value_0``, ``value_1``, … for the items of a tuple, joined by dots. A list is one
        array. See :meth:`from_dict`.

        Raises InvalidArgumentError as :meth:`from_dict` does.

        >>> import feedmill as fm
        >>> next(fm.Dataset.from_tensor_slices(([[1, 2], [3, 4]], [0, 1])).read())
        {'value_0': array([1, 2]), 'value_1': np.int64(0)}
        """
        return cls._of(_memory.pipeline_of(_memory.of_tensors(tensors)))

    @classmethod
    def from_list(cls, elements: Sequence[Any]) -> Self:
        """Reads a list of elements: dicts, tuples, or single values.

        A key that an element lacks, and ``None``, are a null. Names are as in
        :meth:`from_tensor_slices`. The list is copied.

        Raises InvalidArgumentError for an empty list, and as :meth:`from_dict` does.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.from_list([{"text": "one", "n": 1}, {"text": "two"}])
        >>> [int(n) for n in ds.map("fill_null(n, 0)").read()]
        [1, 0]
        """
        return cls._of(_memory.pipeline_of(_memory.of_elements(list(elements))))

    @classmethod
    def from_pandas(cls, frame: Any) -> Self:
        """Reads the rows of a ``pandas.DataFrame``, its columns by name, without its index.

        Missing values are null; NaN in a column of plain floats stays NaN. Times are
        numbers in the unit of their dtype. Columns of plain numbers are not copied where
        pandas has them one after the other. See :meth:`from_dict`.

        Raises InvalidArgumentError as :meth:`from_dict` does.

        >>> import feedmill as fm
        >>> import pandas as pd  # doctest: +SKIP
        >>> frame = pd.DataFrame({"n": [1, 2], "name": ["a", None]})  # doctest: +SKIP
        >>> fm.Dataset.from_pandas(frame).schema  # doctest: +SKIP
        n: int64
        name: bytes
        valid(name): bool
        """
        return cls._of(_memory.pipeline_of(_memory.of_frame(frame)))

    @classmethod
    def from_arrow(cls, table: Any) -> Self:
        """Reads the rows of a table of Arrow, its columns by name.

        ``table`` is a ``pyarrow.Table``, or an object of polars or DuckDB that exports one.
        Types are as in :meth:`arrow`; a column with nulls may be null.
        Numbers and texts without nulls are not copied if a column is one chunk. See
        :meth:`from_dict`. It needs the package pyarrow.

        Raises InvalidArgumentError as :meth:`from_dict` does.

        >>> import feedmill as fm
        >>> import pyarrow as pa  # doctest: +SKIP
        >>> table = pa.table({"n": [1, 2], "tags": [["a"], []]})  # doctest: +SKIP
        >>> fm.Dataset.from_arrow(table).schema  # doctest: +SKIP
        n: int64
        tags: bytes[?]
        """
        return cls._of(_memory.pipeline_of(_memory.of_arrow(table)))


class StepMethods:
    """The steps of Dataset that take Python functions."""

    __slots__ = ()

    def _with_step(self, name: str, value: Any) -> Self:
        raise NotImplementedError

    def _step(self, name: str, **given: Any) -> Self:
        return self._with_step(name, options(**given))

    def _spec_before(self) -> Spec:
        """The spec of the elements so far."""
        raise NotImplementedError

    def _values_of(self, value: str) -> Any:
        """The values of an expression in all elements, read in this process."""
        raise NotImplementedError

    @overload
    def map(
        self,
        function: Callable[[Any], Any],
        /,
        *,
        python: Literal[True],
        batched: bool = False,
        output: OutputTypes | None = None,
        packages: Sequence[str] = (),
        timeout: float = 60,
        memory_bytes: int = 0,
        deterministic: bool = False,
        version: str | None = None,
    ) -> Self: ...

    @overload
    def map(self, outputs_: Outputs | None = None, /, **named: Any) -> Self: ...

    def map(self, outputs_: Any = None, /, **named: Any) -> Self:
        """Makes exactly the components that the expressions name.

        One expression makes a single unnamed component; a dict, or keywords, make
        named ones. An expression is a text (docs/expressions.md), an
        :class:`~feedmill.Expr`, or what a function of the element returns. The
        function is called here, and what it returns travels to the workers. A function
        that returns ``{**e, "half": e.x / 2}`` keeps the other components, as
        :meth:`~feedmill.Dataset.with_columns` does.

        >>> import feedmill as fm
        >>> squares = fm.Dataset.range(4).map(lambda x: x * x)
        >>> [int(x) for x in squares.read()]
        [0, 1, 4, 9]
        >>> next(squares.map(square="x", root="sqrt(x)").read())
        {'square': np.int64(0), 'root': np.float64(0.0)}

        With ``python=True`` the function itself travels, and is called for each element
        in processes of the workers' interpreters (docs/python_functions.md). It gets
        NumPy values that it must not change: a dict by name, or a single unnamed one
        alone; and returns a dict, or a value. ``fm.rng()`` is its random generator.

        >>> def root(x):
        ...     return {"root": x**0.5, "half": x // 2}
        >>> next(fm.Dataset.range(4, 8).map(root, python=True).read())
        {'root': np.float64(2.0), 'half': np.int64(2)}

        Options of a Python function:
          batched: The function gets many elements at once, along a new first axis, and
            returns a row for each. How many is not defined.
          output: What it returns: ``{"root": ("float64", ())}``, or one such pair for a
            value alone. None is a dimension that may differ. Default: found out by
            calling the function with an example.
          packages: Names of packages of which a worker must have the same versions, as
            well as of numpy and cloudpickle.
          timeout: Seconds that a call may take.
          memory_bytes: Bytes that a process may allocate. 0: any number.
          deterministic: Equal elements always give equal results. A step that drops
            elements, or a cache, may follow such a function only.
          version: A text that identifies the function: functions with the same text are
            taken as the same one. Default: a digest of its code and of what it refers to.

        Raises TraceError if the function does what an expression cannot,
        InvalidArgumentError if a Python function cannot be pickled or its result is not
        known. Reading raises PythonError if a Python function fails.
        """
        if named.get("python") is True:
            named.pop("python")
            return self._with_python(outputs_, named)
        return self._with_step(*outputs(outputs_, named))

    def filter(
        self,
        predicate: Expression | Callable[[Any], Any],
        *,
        python: bool = False,
        packages: Sequence[str] = (),
        timeout: float = 60,
        memory_bytes: int = 0,
        deterministic: bool = False,
        version: str | None = None,
    ) -> Self:
        """Keeps the elements for which ``predicate``, one bool, is true.

        Raises the errors of :meth:`map`. Reading raises InvalidArgumentError if the
        predicate is not one bool.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(6).filter(lambda x: x % 2 == 1).read()]
        [1, 3, 5]

        With ``python=True`` the predicate is a Python function, with the options of
        :meth:`map`. It must be ``deterministic=True``.
        """
        if python:
            return self._with_step(
                "python",
                python_step(
                    predicate,
                    self._spec_before,
                    call="filter",
                    output=None,
                    packages=packages,
                    timeout=timeout,
                    memory_bytes=memory_bytes,
                    deterministic=deterministic,
                    version=version,
                ),
            )
        return self._with_step("filter", expression(predicate))

    def weighted_sample(
        self,
        weights: Sequence[float] | str | os.PathLike[str] | None = None,
        *,
        classes: Sequence[int] | str | os.PathLike[str] | None = None,
        count: int | None = None,
        distinct: bool | None = None,
        seed: int | None = None,
    ) -> Self:
        """Chooses elements in proportion to weights, in a random order, others in each epoch.

        An element is chosen floor(E) or ceil(E) times in an epoch, E being its share of
        the weights times ``count``. The same holds for a class.

        Args:
          weights: A number of at least 0 for each element, or for each class. The name of
            a component, or an expression: its values, which are read here and now. A
            ``pathlib.Path``: the numbers in a file, such as ``weights.npy``.
          classes: The class of each element, an integer from 0, or the name of a component
            in the same way; texts are numbered in their sorted order. Without weights,
            classes are balanced: each has the same share.
          count: Number of elements to choose. Default: as many as there are.
          distinct: Chooses each element once at most, without replacement. Default: False.
          seed: Replaces the seed of the pipeline for this step.

        The weights are a part of the definition, which has at most 16 MiB through a
        service: about a million weights, or seven million classes.

        Raises InvalidArgumentError for a negative weight. Reading raises it if there is not
        one weight, or class, for each element, or if a step before this one changes their
        number.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(6).weighted_sample([4, 1, 1, 0, 0, 0], seed=1)
        >>> sorted(int(x) for x in ds.read())
        [0, 0, 0, 0, 1, 2]
        >>> cats = fm.Dataset.from_dict({"label": ["cat", "cat", "cat", "dog"]})
        >>> even = cats.weighted_sample(classes="label", seed=1)
        >>> sorted(e["label"] for e in even.read())
        ['cat', 'cat', 'dog', 'dog']
        """
        if isinstance(weights, str):
            weights = self._values_of(weights)
        if isinstance(classes, str):
            found = self._values_of(classes)
            if not np.issubdtype(found.dtype, np.integer):
                found = np.unique(found, return_inverse=True)[1]
            classes = found
        return self._step(
            "weighted_sample",
            weights=weights,
            classes=classes,
            count=count,
            distinct=distinct,
            seed=seed,
        )

    def _with_python(self, function: Any, given: dict[str, Any]) -> Self:
        batched = given.pop("batched", False)
        settings: dict[str, Any] = {
            "output": None,
            "packages": (),
            "timeout": 60,
            "memory_bytes": 0,
            "deterministic": False,
            "version": None,
        }
        for name, value in given.items():
            if name not in settings:
                end = hint(name, "map", ["batched", *settings])
                raise InvalidArgumentError(
                    f"{name}: a Python function has no such option"
                    + (end or "; it returns its components as a dict")
                )
            settings[name] = value
        call: Literal["element", "batch"] = "batch" if batched else "element"
        return self._with_step(
            "python", python_step(function, self._spec_before, call=call, **settings)
        )


def table_of(table: SourceMethods | str | os.PathLike[str]) -> _feedmill.Pipeline | str:
    """Returns the table of a lookup: a dataset, or the name of a file."""
    if isinstance(table, SourceMethods):
        return table._input()
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    raise InvalidArgumentError(
        f"table: expected the name of a file, or a dataset such as "
        f"fm.Dataset.csv(…), found {table!r}"
    )


def _pipelines(inputs: Sequence[SourceMethods]) -> list[_feedmill.Pipeline]:
    if isinstance(inputs, SourceMethods) or not isinstance(inputs, Iterable):
        raise InvalidArgumentError(f"inputs: expected a list of datasets, found {inputs!r}")
    pipelines = []
    for number, one in enumerate(inputs):
        if not isinstance(one, SourceMethods):
            raise InvalidArgumentError(f"inputs[{number}]: expected a dataset, found {one!r}")
        pipelines.append(one._input())
    if not pipelines:
        raise InvalidArgumentError("inputs: expected at least one dataset, found none")
    return pipelines
