"""The steps of pipelines: methods of Dataset, each of which adds one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from feedmill import _arguments as check
from feedmill._python_functions import OutputTypes, Spec, python_step
from feedmill._values import (
    Expression,
    Outputs,
    Shape,
    Types,
    expression,
    options,
    outputs,
    required,
    shapes,
)
from feedmill.errors import InvalidArgumentError
from feedmill.expressions import component_text

if TYPE_CHECKING:
    from typing_extensions import Self


class Steps:
    """The methods of Dataset that return it with one more step.

    An argument that is None has the default that docs/steps.md shows.
    """

    __slots__ = ()

    def _with_step(self, name: str, value: Any) -> Self:
        raise NotImplementedError

    def _step(self, name: str, **given: Any) -> Self:
        return self._with_step(name, options(**given))

    def _spec_before(self) -> Spec:
        """The spec of the elements so far."""
        raise NotImplementedError

    # ---- steps on each element

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
        function is called here, and what it returns travels to the workers.

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

    def with_columns(self, outputs_: Outputs | None = None, /, **named: Any) -> Self:
        """Adds the components that the expressions name, or replaces components of their names.

        Keeps the others. Expressions are written as for ``map``; they name components of
        the input, also replaced ones. New components come after the others. A function that
        ``map`` traces may return ``{**e, "half": e.x / 2}`` instead.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).with_columns(half="x / 2").read())
        {'x': np.int64(1), 'half': np.float64(0.5)}

        Raises what ``map`` raises, and InvalidArgumentError if an output has no name.
        """
        return self._with_step(*outputs(outputs_, named, "with_columns"))

    def select(self, *components: str) -> Self:
        """Keeps these components, in this order. Drops the others.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(1, 3).map(a="x", b="x + 1", c="x + 2")
        >>> next(ds.select("c", "a").read())
        {'c': np.int64(3), 'a': np.int64(1)}

        Reading raises InvalidArgumentError if a component is missing or named twice.
        """
        return self._with_step("select", [check.text("components", name) for name in components])

    def drop(self, *components: str) -> Self:
        """Drops these components. Keeps the others.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).map(a="x", b="x + 1").drop("a").read())
        {'b': np.int64(2)}

        Reading raises InvalidArgumentError if a component is missing, or none stays.
        """
        return self._with_step("drop", [check.text("components", name) for name in components])

    def rename(self, names: Mapping[str, str] | None = None, /, **named: str) -> Self:
        """Gives components other names, by their old ones. Keeps their order.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).with_columns(y="x + 1").rename({"x": "a"}, y="b").read())
        {'a': np.int64(1), 'b': np.int64(2)}

        Reading raises InvalidArgumentError if a component is missing, or two have one name.
        """
        given = {**(names or {}), **named}
        return self._with_step("rename", {old: component_text(new) for old, new in given.items()})

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
                raise InvalidArgumentError(
                    f"{name}: a Python function has no such option; it returns its components "
                    "as a dict"
                )
            settings[name] = value
        call: Literal["element", "batch"] = "batch" if batched else "element"
        return self._with_step(
            "python", python_step(function, self._spec_before, call=call, **settings)
        )

    def flat_map(self, outputs_: Outputs | None = None, /, **named: Any) -> Self:
        """Makes components as :meth:`map`, then an element of each row of them.

        ``ds.flat_map("split(x, ' ')")`` makes an element of each word.

        Raises the errors of :meth:`map`. Reading raises InvalidArgumentError if a component
        has no rows.

        >>> import feedmill as fm
        >>> words = fm.Dataset.text("notes.txt").flat_map("split(x, ' ')")
        >>> list(words.read())
        [b'first', b'line', b'second', b'line', b'third', b'line']
        """
        return self._with_step(*outputs(outputs_, named, "flat_map"))

    def parse_example(self, features: Types) -> Self:
        """Reads tf.train.Example messages: a component for each feature.

        ``features`` maps names to types: ``{"image": "bytes", "ids": "int64[?]"}``.
        ``"float32[3] = 0"`` is three zeros in records without that feature.

        Reading raises DataLossError for a record that is no such message, or that lacks a
        feature without a default.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.tfrecord("examples.tfrecord")
        >>> ds = ds.parse_example({"label": "int64", "weight": "float32 = 1"})
        >>> next(ds.read())
        {'label': np.int64(0), 'weight': np.float32(1.0)}
        """
        return self._with_step("parse_example", required("features", features))

    def parse_sequence_example(
        self, *, context: Types | None = None, sequence: Types | None = None
    ) -> Self:
        """Reads tf.train.SequenceExample messages.

        Components of ``sequence``, whose types are of one step, have a first
        dimension more.

        Reading raises DataLossError for a record that is no such message, or that lacks a
        feature without a default.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.tfrecord("sequences.tfrecord")
        >>> ds = ds.parse_sequence_example(context={"label": "int64"}, sequence={"steps": "int64"})
        >>> next(ds.read())
        {'label': np.int64(7), 'steps': array([1, 2])}
        """
        return self._step("parse_sequence_example", context=context, sequence=sequence)

    def decode_image(
        self,
        *,
        component: str | None = None,
        channels: Literal[1, 3] | None = None,
        dct: Literal["accurate", "fast"] | None = None,
        on_warning: Literal["accept", "fail"] | None = None,
        truncated: Literal["fail", "pad"] | None = None,
    ) -> Self:
        """Decodes images to uint8 [height, width, channels].

        The bytes are of a JPEG, PNG, WebP, GIF, BMP or PNM file; of an animation the
        first image is decoded.
        ``component`` is ``"image"`` by default, and ``channels`` 3. ``dct="fast"``
        decodes JPEGs faster, with differences of one step of brightness.
        Images that the codec warns of are decoded, or errors with
        ``on_warning="fail"``. JPEGs whose data ends early are errors, or decoded as
        far as they go with ``truncated="pad"``.

        Reading raises DataLossError for bytes that are no such image.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image(channels=1)
        >>> ds.element_spec["image"]
        ComponentSpec(dtype='uint8', shape=(None, None, 1))
        """
        return self._step(
            "decode_image",
            component=component,
            channels=channels,
            dct=dct,
            on_warning=on_warning,
            truncated=truncated,
        )

    def resize(
        self,
        height: int,
        width: int,
        *,
        component: str | None = None,
        method: Literal["bilinear", "nearest"] | None = None,
    ) -> Self:
        """Resizes uint8 images [h, w, c] to [height, width, c].

        Reading raises InvalidArgumentError if the component is no such image.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(height=8, width=4)
        >>> next(ds.read())["image"].shape
        (8, 4, 3)
        """
        return self._step("resize", component=component, height=height, width=width, method=method)

    def random_flip(
        self,
        *,
        component: str | None = None,
        direction: Literal["horizontal", "vertical"] | None = None,
        probability: float | None = None,
    ) -> Self:
        """Mirrors images [..., h, w, c] of any dtype at random, with chance 0.5.

        Reading raises InvalidArgumentError if the component is no image, or for a
        probability that is not from 0 to 1.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().random_flip(probability=1)
        >>> ds.element_spec["image"]
        ComponentSpec(dtype='uint8', shape=(None, None, 3))
        """
        return self._step(
            "random_flip", component=component, direction=direction, probability=probability
        )

    def on_error(
        self,
        policy: Literal["fail", "skip"],
        *,
        cap: int | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Says what becomes of elements that cannot be made because of their data.

        ``skip`` leaves them out, if the source or a step before this one failed.
        More than ``cap`` of them end the reading. ``quarantine`` is a file to which
        a line about each is added.

        Reading raises ResourceExhaustedError for more than ``cap``.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(3).map("to_number(substr('0a2', x, 1), int64)")
        >>> [int(x) for x in ds.on_error("skip").read()]
        [0, 2]
        """
        return self._step("on_error", policy=policy, cap=cap, quarantine=quarantine)

    def cache(
        self, path: str | os.PathLike[str] | None = None, *, memory_bytes: int | None = None
    ) -> Self:
        """Keeps what the steps before it make, for later passes and jobs.

        In the memory of each worker, up to ``memory_bytes`` (1 GiB), or in the
        folder ``path`` of the workers' machines.

        Reading raises InvalidArgumentError if a step before it may give other elements when
        it runs again, such as a random function.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().cache().shuffle().repeat(2)
        >>> len(ds.read())
        12
        """
        return self._step("cache", path=path, memory_bytes=memory_bytes)

    # ---- steps on the sequence

    def shuffle(
        self,
        *,
        seed: int | None = None,
        window: int | None = None,
        block: int | None = None,
        files: bool | None = None,
    ) -> Self:
        """Gives the elements a random order, another one in each epoch and pass.

        By default all elements change places. ``window``: only within runs of that length.
        ``block``: blocks of that many records do, and ``window`` of them are mixed.
        ``files``: whole files do.
        ``seed`` replaces the seed of the pipeline for this step.

        Reading raises InvalidArgumentError if the order cannot be had: of all elements
        after a step such as ``pack``, or of files whose records only reading finds.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(6).shuffle(seed=7).batch(6).read())
        array([0, 5, 2, 3, 4, 1])
        >>> next(fm.Dataset.range(6).shuffle(seed=7, window=2).batch(6).read())
        array([0, 1, 3, 2, 4, 5])
        """
        return self._step("shuffle", seed=seed, window=window, block=block, files=files)

    def batch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Stacks ``size`` elements along a new first axis.

        ``drop_remainder=True`` leaves out a last batch that is not full.

        Raises InvalidArgumentError for a size of 0. Reading raises DataLossError if the
        elements of a batch have different shapes; see :meth:`padded_batch`.

        >>> import feedmill as fm
        >>> [x.tolist() for x in fm.Dataset.range(5).batch(2).read()]
        [[0, 1], [2, 3], [4]]
        """
        return self._step("batch", size=required("size", size), drop_remainder=drop_remainder)

    def padded_batch(
        self,
        size: int,
        *,
        drop_remainder: bool | None = None,
        shapes: Mapping[str, Shape] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> Self:
        """Stacks elements as :meth:`batch`; shorter rows are padded.

        ``shapes`` maps components to shapes, in which None is the longest row's;
        ``values`` maps components to what they are padded with (0).

        Reading raises DataLossError for a row that is longer than its shape.

        >>> import feedmill as fm
        >>> rows = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)")
        >>> batch = next(rows.padded_batch(3, values={"x": 32}).read())
        >>> batch.shape, bytes(batch[0])
        ((3, 11), b'first line ')
        """
        return self._step(
            "padded_batch",
            size=required("size", size),
            drop_remainder=drop_remainder,
            **_padding(shapes, values),
        )

    def ragged_batch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Joins rows along their first axis; ``<name>_offsets`` tell them apart.

        Reading raises InvalidArgumentError for arrays that differ in more than the first
        dimension.

        >>> import feedmill as fm
        >>> words = fm.Dataset.text("notes.txt").map(words="split(x, ' ')").ragged_batch(3)
        >>> batch = next(words.read())
        >>> batch["words"].tolist(), batch["words_offsets"].tolist()
        ([b'first', b'line', b'second', b'line', b'third', b'line'], [0, 2, 4, 6])
        """
        return self._step(
            "ragged_batch", size=required("size", size), drop_remainder=drop_remainder
        )

    def unbatch(self) -> Self:
        """Makes an element of each row along the first axis.

        Reading raises InvalidArgumentError if a component has no first axis.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(5).batch(3).unbatch().read()]
        [0, 1, 2, 3, 4]
        """
        return self._with_step("unbatch", None)

    def rebatch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Makes batches of another size.

        Raises InvalidArgumentError for a size of 0.

        >>> import feedmill as fm
        >>> [x.tolist() for x in fm.Dataset.range(6).batch(3).rebatch(4).read()]
        [[0, 1, 2, 3], [4, 5]]
        """
        return self._step("rebatch", size=required("size", size), drop_remainder=drop_remainder)

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int | None = None,
        drop_remainder: bool | None = None,
    ) -> Self:
        """Stacks the elements w·shift + k·stride, k < size, for w = 0, 1, …

        ``shift`` is ``size`` by default, and ``stride`` 1.

        Raises InvalidArgumentError for a number that is 0. Reading raises DataLossError if
        the elements have different shapes.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(5).window(3, shift=2, drop_remainder=True)
        >>> [x.tolist() for x in ds.read()]
        [[0, 1, 2], [2, 3, 4]]
        """
        return self._step(
            "window",
            size=required("size", size),
            shift=shift,
            stride=stride,
            drop_remainder=drop_remainder,
        )

    def bucket_by_sequence_length(
        self,
        *,
        batch_sizes: Sequence[int],
        boundaries: Sequence[int] | None = None,
        component: str | None = None,
        drop_remainder: bool | None = None,
        shapes: Mapping[str, Shape] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> Self:
        """Makes padded batches of elements of similar length.

        Bucket k is of lengths below ``boundaries[k]``, and its batches have
        ``batch_sizes[k]`` elements, one size more than boundaries.

        Raises InvalidArgumentError if the boundaries do not increase, or for another number
        of sizes. Reading raises DataLossError for a row that is longer than its shape.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)")
        >>> ds = ds.bucket_by_sequence_length(boundaries=[11], batch_sizes=[2, 2])
        >>> [x.shape for x in ds.read()]
        [(2, 10), (1, 11)]
        """
        return self._step(
            "bucket_by_sequence_length",
            component=component,
            boundaries=boundaries,
            batch_sizes=batch_sizes,
            drop_remainder=drop_remainder,
            **_padding(shapes, values),
        )

    def token_batch(
        self,
        tokens: int,
        *,
        component: str | None = None,
        layout: Literal["padded", "ragged"] | None = None,
        drop_remainder: bool | None = None,
        shapes: Mapping[str, Shape] | None = None,
        values: Mapping[str, float] | None = None,
    ) -> Self:
        """Makes batches of as many elements as fit ``tokens`` tokens.

        Reading raises DataLossError for an element that is longer than ``tokens`` alone.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)").token_batch(24)
        >>> [x.shape for x in ds.read()]
        [(2, 11), (1, 10)]
        """
        return self._step(
            "token_batch",
            component=component,
            tokens=tokens,
            layout=layout,
            drop_remainder=drop_remainder,
            **_padding(shapes, values),
        )

    def pack(
        self, length: int, *, bins: int | None = None, values: Mapping[str, float] | None = None
    ) -> Self:
        """Puts sequences one after another in rows of ``length`` items.

        Adds ``segment_ids`` and ``positions``, both int32.

        Reading raises DataLossError for a sequence that is longer than ``length``, or whose
        components differ in length.

        >>> import feedmill as fm
        >>> import numpy as np
        >>> ds = fm.Dataset.text("notes.txt").map(ids="sentencepiece(x, 'pieces.model')")
        >>> row = next(ds.pack(32).read())
        >>> np.bincount(row["segment_ids"])
        array([ 6,  8, 10,  8])
        """
        return self._step("pack", length=required("length", length), bins=bins, values=values)

    def repeat(self, count: int | None = None) -> Self:
        """Reads its input ``count`` times, without end by default.

        Raises InvalidArgumentError for a count of 0.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(2).repeat(3).read()]
        [0, 1, 0, 1, 0, 1]
        """
        return self._step("repeat", count=count)

    def take(self, count: int) -> Self:
        """Ends after ``count`` elements.

        Raises InvalidArgumentError for a negative count.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(9).take(2).read()]
        [0, 1]
        """
        return self._with_step("take", required("count", count))

    def skip(self, count: int) -> Self:
        """Leaves out the first ``count`` elements.

        Raises InvalidArgumentError for a negative count.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(5).skip(3).read()]
        [3, 4]
        """
        return self._with_step("skip", required("count", count))

    def shard(self, count: int, index: int) -> Self:
        """Keeps the elements index, index + count, index + 2·count, …

        Ranks of one job need no shard: ``read(rank=…, ranks=…)`` shares the elements.

        Raises InvalidArgumentError unless ``index`` is from 0 to ``count`` - 1.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(7).shard(3, 1).read()]
        [1, 4]
        """
        return self._step("shard", count=count, index=index)

    def enumerate(self, *, component: str | None = None, start: int | None = None) -> Self:
        """Adds a first component, int64, with the numbers start, start + 1, …

        It is called ``index`` by default, and a single unnamed component ``x`` then.

        Reading raises InvalidArgumentError if there is a component of that name.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").enumerate(start=1)
        >>> next(ds.read())
        {'index': np.int64(1), 'x': b'first line'}
        """
        return self._step("enumerate", component=component, start=start)


def _padding(
    given_shapes: Mapping[str, Shape] | None, values: Mapping[str, float] | None
) -> dict[str, Any]:
    return {"shapes": shapes(given_shapes), "values": values}
