# Written by tools/step_pages from the files of core/formats and core/operators.
"""The steps of pipelines: methods of Dataset, each of which adds one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from feedmill._methods_by_hand import SourceMethods, StepMethods, table_of
from feedmill._values import (
    Outputs,
    Shape,
    Types,
    component_names,
    key_of,
    outputs,
    padded_shapes,
    required,
    texts,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class Steps(StepMethods):
    """The methods of Dataset that return it with one more step.

    An argument that is None has the default of the option.
    """

    __slots__ = ()

    def batch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Stacks elements along a new first axis.

        Args:
          size: Elements of a batch.
          drop_remainder: Drops a last batch that is not full. Default: False.

        Raises InvalidArgumentError for a size of 0. Reading raises DataLossError if the elements of
        a batch have different shapes; see ``padded_batch``.

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
        """Stacks elements as ``batch``; shorter rows are padded.

        Args:
          size: Elements of a batch.
          drop_remainder: Drops a last batch that is not full. Default: False.
          shapes: Shapes to which rows are padded. Default: the longest.
          values: Values with which rows are padded. Default: 0, and "" for bytes.

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
            shapes=padded_shapes(shapes),
            values=values,
        )

    def ragged_batch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Joins rows along their first axis; ``<name>_offsets`` tell them apart.

        Args:
          size: Elements of a batch.
          drop_remainder: Drops a last batch that is not full. Default: False.

        Reading raises InvalidArgumentError for arrays that differ in more than the first dimension.

        >>> import feedmill as fm
        >>> words = fm.Dataset.text("notes.txt").map(words="split(x, ' ')").ragged_batch(3)
        >>> batch = next(words.read())
        >>> batch["words"].tolist(), batch["words_offsets"].tolist()
        ([b'first', b'line', b'second', b'line', b'third', b'line'], [0, 2, 4, 6])
        """
        return self._step(
            "ragged_batch",
            size=required("size", size),
            drop_remainder=drop_remainder,
        )

    def bucket_by_sequence_length(
        self,
        batch_sizes: Sequence[int] | str | os.PathLike[str],
        *,
        component: str | None = None,
        boundaries: Sequence[int] | str | os.PathLike[str] | None = None,
        drop_remainder: bool | None = None,
        shapes: Mapping[str, Shape] | None = None,
        values: Mapping[str, float] | None = None,
        ranks: int | None = None,
        last_round: Literal["drop", "repeat"] | None = None,
    ) -> Self:
        """Makes padded batches of elements of similar length.

        Args:
          component: The component that defines the length. Default: x.
          boundaries: Increasing lengths; bucket k has lengths below boundaries[k].
          batch_sizes: The size of a batch of each bucket, one more than boundaries.
          drop_remainder: Drops last batches that are not full. Default: False.
          shapes: Shapes to which rows are padded. Default: the longest.
          values: Values with which rows are padded. Default: 0, and "" for bytes.
          ranks: The batches of a bucket come this many in a row, so that all ranks get batches of
            one bucket at the same time. Default: 1.
          last_round: The last batches of a bucket, if they are fewer than ``ranks``: left out, or
            the last one repeated. Default: drop.

        Raises InvalidArgumentError if the boundaries do not increase, or for another number of
        sizes. Reading raises DataLossError for a row that is longer than its shape.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)")
        >>> ds = ds.bucket_by_sequence_length(boundaries=[11], batch_sizes=[2, 2])
        >>> [x.shape for x in ds.read()]
        [(2, 10), (1, 11)]
        """
        return self._step(
            "bucket_by_sequence_length",
            batch_sizes=required("batch_sizes", batch_sizes),
            component=component,
            boundaries=boundaries,
            drop_remainder=drop_remainder,
            shapes=padded_shapes(shapes),
            values=values,
            ranks=ranks,
            last_round=last_round,
        )

    def cache(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        memory_bytes: int | None = None,
    ) -> Self:
        """Caches the elements of the steps before it, for later passes and jobs.

        Args:
          path: A folder on the workers' machines, or of s3://, gs:// or az://. Default: none: in
            memory.
          memory_bytes: Most bytes of elements in the memory of a process. Default: 1 GiB.

        Reading raises InvalidArgumentError if a step before it may give other elements when it runs
        again, such as a random function.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().cache().shuffle().repeat(2)
        >>> len(ds.read())
        12
        """
        return self._step("cache", path=path, memory_bytes=memory_bytes)

    def decode_image(
        self,
        *,
        component: str | None = None,
        channels: int | None = None,
        dct: Literal["accurate", "fast"] | None = None,
        on_warning: Literal["accept", "fail"] | None = None,
        truncated: Literal["fail", "pad"] | None = None,
        apply_exif_orientation: bool | None = None,
        dtype: Literal["uint8", "uint16"] | None = None,
    ) -> Self:
        """Decodes images (JPEG, PNG, WebP, GIF, BMP, PNM, TIFF, HEIF, AVIF) to uint8 or uint16
        [height, width, channels].

        The first image of an animation is decoded.

        Args:
          component: The component that holds the encoded image. Default: image.
          channels: 3 for colour, 1 for grey, 4 for colour and alpha. Default: 3.
          dct: How JPEGs are decoded; fast differs by one step of brightness. Default: accurate.
          on_warning: Images that the codec warns of: decoded and counted, or errors. Default:
            accept.
          truncated: Truncated JPEGs: errors, or decoded as far as possible. Default: fail.
          apply_exif_orientation: Whether images are turned and flipped as EXIF data says. Default:
            False.
          dtype: The type of samples; uint16 keeps 16 bits of PNG and PNM files. Default: uint8.

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
            apply_exif_orientation=apply_exif_orientation,
            dtype=dtype,
        )

    def drop(self, *components: str) -> Self:
        """Drops these components. Keeps the others.

        Args:
          components: Names of components.

        Reading raises InvalidArgumentError if a component is missing, or none stays.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).map(a="x", b="x + 1").drop("a").read())
        {'b': np.int64(2)}
        """
        return self._with_step("drop", texts("components", components))

    def enumerate(self, *, component: str | None = None, start: int | None = None) -> Self:
        """Adds a first component with the numbers start, start + 1, …

        A single unnamed component is called ``x`` then.

        Args:
          component: The name of the component. Default: index.
          start: The first number. Default: 0.

        Reading raises InvalidArgumentError if there is a component of that name.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").enumerate(start=1)
        >>> next(ds.read())
        {'index': np.int64(1), 'x': b'first line'}
        """
        return self._step("enumerate", component=component, start=start)

    def flat_map(self, outputs_: Outputs | None = None, /, **named: Any) -> Self:
        """Makes the components that the expressions name, then an element of each row along their
        first axes.

        Expressions are written as for ``map``. Workers compute them, and the client splits the
        results.

        Raises the errors of ``map``. Reading raises InvalidArgumentError if a component has no
        rows.

        >>> import feedmill as fm
        >>> words = fm.Dataset.text("notes.txt").flat_map("split(x, ' ')")
        >>> list(words.read())
        [b'first', b'line', b'second', b'line', b'third', b'line']
        """
        return self._with_step(*outputs(outputs_, named, "flat_map"))

    def lookup(
        self,
        table: SourceMethods | str | os.PathLike[str],
        key: str,
        *,
        table_key: str | None = None,
        columns: str | Sequence[str] | None = None,
        unmatched: Literal["error", "drop", "nulls"] | None = None,
    ) -> Self:
        """Adds the columns of the row of a table whose key is the element's.

        A key is an integer or bytes. A null key is in no row. Workers keep the columns in memory,
        at most 1 GiB. ``table`` is a name that says the kind of its files, or a source.

        Args:
          table: Rows with their keys.
          key: The component that is looked for.
          table_key: The column of the table with the keys. Default: the name of ``key``.
          columns: Columns of the table that become components. Default: all others.
          unmatched: A key that no row has: a data error, no element, or nulls. Default: error.

        Raises InvalidArgumentError if a column is missing or has the name of a component, or if two
        rows have one key. Reading raises DataLossError for a key that no row has, unless
        ``unmatched`` says otherwise.

        >>> import feedmill as fm
        >>> users = fm.Dataset.from_dict({"id": [7, 8], "age": [30, 40]})
        >>> clicks = fm.Dataset.from_dict({"id": [8, 7, 8]})
        >>> [int(e["age"]) for e in clicks.lookup(users, "id").read()]
        [40, 30, 40]
        """
        return self._step(
            "lookup",
            table=table_of(table),
            key=required("key", key),
            table_key=table_key,
            columns=columns,
            unmatched=unmatched,
        )

    def on_error(
        self,
        policy: Literal["fail", "skip"],
        *,
        cap: int | None = None,
        quarantine: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Ends the read at an element with bad data, or skips the element.

        Elements are skipped if the source or a step before this one failed.

        Args:
          policy: fail: such an element ends the read; skip: it is skipped.
          cap: Most elements that are skipped; one more ends the read. Default: any number.
          quarantine: A file with a line about each skipped element, or a folder of s3://, gs:// or
            az:// with an object for each.

        Reading raises ResourceExhaustedError for more than ``cap``.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(3).map("to_number(substr('0a2', x, 1), int64)")
        >>> [int(x) for x in ds.on_error("skip").read()]
        [0, 2]
        """
        return self._step(
            "on_error",
            policy=required("policy", policy),
            cap=cap,
            quarantine=quarantine,
        )

    def pack(
        self,
        length: int,
        *,
        method: Literal["best_fit", "first_fit", "concatenate"] | None = None,
        window: int | None = None,
        bins: int | None = None,
        longer: Literal["error", "truncate", "split"] | None = None,
        sequences: int | None = None,
        align: int | None = None,
        values: Mapping[str, float] | None = None,
    ) -> Self:
        """Puts sequences one after another in rows of one length.

        Adds ``segment_ids`` and ``positions``, both int32.

        Args:
          length: Items of a row.
          method: best_fit: the oldest sequence of a window, then the longest that fits; first_fit:
            the first open row with room; concatenate: one after another, cut where a row ends.
            Default: best_fit.
          window: Sequences that best_fit chooses from. Default: 256.
          bins: Rows that first_fit has open at once. Default: 1.
          longer: What becomes of a sequence that is longer than a row; concatenate always splits.
            Default: error.
          sequences: Most sequences in a row. Default: any number.
          align: Sequences begin at multiples of this number. Default: 1.
          values: Values with which rows are padded. Default: 0, and "" for bytes.

        Reading raises DataLossError for a sequence whose components differ in length, or, unless
        ``longer`` is truncate or split, that is longer than ``length``.

        >>> import feedmill as fm
        >>> import numpy as np
        >>> ds = fm.Dataset.text("notes.txt").map(ids="sentencepiece(x, 'pieces.model')")
        >>> row = next(ds.pack(32).read())
        >>> np.bincount(row["segment_ids"])
        array([ 6,  8, 10,  8])
        """
        return self._step(
            "pack",
            length=required("length", length),
            method=method,
            window=window,
            bins=bins,
            longer=longer,
            sequences=sequences,
            align=align,
            values=values,
        )

    def parse_example(self, features: Types) -> Self:
        """Reads tf.train.Example messages: a component for each feature.

        ``float32[3] = 0`` is three zeros in records without that feature.

        Args:
          features: A map from features to types like int64 or "float32[3]".

        Reading raises DataLossError for a record that is no such message, or that lacks a feature
        without a default.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.tfrecord("examples.tfrecord")
        >>> ds = ds.parse_example({"label": "int64", "weight": "float32 = 1"})
        >>> next(ds.read())
        {'label': np.int64(0), 'weight': np.float32(1.0)}
        """
        return self._with_step("parse_example", required("features", features))

    def parse_sequence_example(
        self,
        *,
        context: Types | None = None,
        sequence: Types | None = None,
    ) -> Self:
        """Reads tf.train.SequenceExample messages: a component for each feature and feature list.

        Args:
          context: Features of the context, with their types.
          sequence: Feature lists, with the type of one step.

        Reading raises DataLossError for a record that is no such message, or that lacks a feature
        without a default.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.tfrecord("sequences.tfrecord")
        >>> ds = ds.parse_sequence_example(context={"label": "int64"}, sequence={"steps": "int64"})
        >>> next(ds.read())
        {'label': np.int64(7), 'steps': array([1, 2])}
        """
        return self._step("parse_sequence_example", context=context, sequence=sequence)

    def random_flip(
        self,
        *,
        component: str | None = None,
        direction: Literal["horizontal", "vertical"] | None = None,
        probability: float | None = None,
    ) -> Self:
        """Mirrors images [..., h, w, c] of any dtype at random.

        Args:
          component: The component that holds the image. Default: image.
          direction: The sides that are swapped. Default: horizontal.
          probability: The probability of a flip, 0 to 1. Default: 0.5.

        Reading raises InvalidArgumentError if the component is no image, or for a probability that
        is not from 0 to 1.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().random_flip(probability=1)
        >>> ds.element_spec["image"]
        ComponentSpec(dtype='uint8', shape=(None, None, 3))
        """
        return self._step(
            "random_flip",
            component=component,
            direction=direction,
            probability=probability,
        )

    def rebatch(self, size: int, *, drop_remainder: bool | None = None) -> Self:
        """Makes batches of another size.

        Args:
          size: Elements of a batch.
          drop_remainder: Drops a last batch that is not full. Default: False.

        Raises InvalidArgumentError for a size of 0.

        >>> import feedmill as fm
        >>> [x.tolist() for x in fm.Dataset.range(6).batch(3).rebatch(4).read()]
        [[0, 1, 2, 3], [4, 5]]
        """
        return self._step("rebatch", size=required("size", size), drop_remainder=drop_remainder)

    def rename(self, names: Mapping[str, str] | None = None, /, **named: str) -> Self:
        """Gives components other names. Keeps their order.

        Reading raises InvalidArgumentError if a component is missing, or two have one name.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).with_columns(y="x + 1").rename({"x": "a"}, y="b").read())
        {'a': np.int64(1), 'b': np.int64(2)}
        """
        return self._with_step("rename", component_names(names, named))

    def repeat(self, count: int | None = None) -> Self:
        """Reads its input several times, each time in another order if it is shuffled.

        Args:
          count: Number of passes. Default: infinite.

        Raises InvalidArgumentError for a count of 0.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(2).repeat(3).read()]
        [0, 1, 0, 1, 0, 1]
        """
        return self._step("repeat", count=count)

    def resize(
        self,
        height: int | None = None,
        width: int | None = None,
        *,
        component: str | None = None,
        shorter: int | None = None,
        longer: int | None = None,
        method: Literal["bilinear", "nearest"] | None = None,
        antialias: bool | None = None,
    ) -> Self:
        """Resizes uint8 images [h, w, c] to [height, width, c], or by the length of one side.

        Args:
          component: The component that holds the image. Default: image.
          height: Rows of pixels; with a width, and without shorter and longer.
          width: Columns of pixels.
          shorter: Pixels of the shorter side; the other one keeps the ratio.
          longer: Pixels of the longer side; the other one keeps the ratio.
          method: How pixels are interpolated. Default: bilinear.
          antialias: Weighs all pixels that a smaller pixel covers; bilinear only. Default: False.

        Reading raises InvalidArgumentError if the component is no such image.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(height=8, width=4)
        >>> next(ds.read())["image"].shape
        (8, 4, 3)
        >>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().resize(shorter=8)
        >>> min(next(ds.read())["image"].shape[:2])
        8
        """
        return self._step(
            "resize",
            height=height,
            width=width,
            component=component,
            shorter=shorter,
            longer=longer,
            method=method,
            antialias=antialias,
        )

    def sample(
        self,
        fraction: float,
        *,
        by: Outputs | None = None,
        seed: int | None = None,
    ) -> Self:
        """Keeps a fraction of the elements, chosen by a hash.

        The same elements are kept in every epoch, and when files are added. Elements with the same
        key are kept or left out together. Without ``by``, all components are the key, and all are
        read.

        Args:
          fraction: The probability of an element, from 0 to 1.
          by: The key: an expression, or several by name. Default: all components.
          seed: Another seed chooses other elements. Default: 0.

        Raises InvalidArgumentError unless the fraction is from 0 to 1.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(30).sample(0.2).read()]
        [3, 7, 19, 24, 26]
        """
        return self._step(
            "sample",
            fraction=required("fraction", fraction),
            by=key_of(by),
            seed=seed,
        )

    def select(self, *components: str) -> Self:
        """Keeps these components, in this order. Drops the others.

        Args:
          components: Names of components.

        Reading raises InvalidArgumentError if a component is missing or named twice.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(1, 3).map(a="x", b="x + 1", c="x + 2")
        >>> next(ds.select("c", "a").read())
        {'c': np.int64(3), 'a': np.int64(1)}
        """
        return self._with_step("select", texts("components", components))

    def shard(self, count: int, index: int) -> Self:
        """Keeps the elements index, index + count, index + 2 * count, …

        Ranks of one job need no shard: each reads its share of the elements.

        Args:
          count: Number of shards.
          index: The index of this part, from 0.

        Raises InvalidArgumentError unless ``index`` is from 0 to ``count`` - 1.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(7).shard(3, 1).read()]
        [1, 4]
        """
        return self._step("shard", count=required("count", count), index=required("index", index))

    def shuffle(
        self,
        *,
        seed: int | None = None,
        window: int | None = None,
        block: int | None = None,
        files: bool | None = None,
    ) -> Self:
        """Gives the elements a random order, another one in each epoch and pass.

        By default all elements change places. Behind a step that changes the number of elements,
        the client shuffles within a ``window``.

        Args:
          seed: Replaces the seed of the pipeline for this step. Default: the pipeline's.
          window: Shuffles within runs of this many elements; with ``block``, within this many
            blocks. Default: all elements; 8 blocks.
          block: Shuffles blocks of this many records, then within ``window`` blocks. Default: none:
            single records.
          files: Shuffles the files; the records of one keep their order. Default: False.

        Reading raises InvalidArgumentError if the order cannot be had: of all elements after a step
        such as ``pack``, or of files whose records only reading finds.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(6).shuffle(seed=7).batch(6).read())
        array([0, 5, 2, 3, 4, 1])
        >>> next(fm.Dataset.range(6).shuffle(seed=7, window=2).batch(6).read())
        array([0, 1, 3, 2, 4, 5])
        """
        return self._step("shuffle", seed=seed, window=window, block=block, files=files)

    def skip(self, count: int) -> Self:
        """Skips the first count elements.

        Args:
          count: Elements.

        Raises InvalidArgumentError for a negative count.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(5).skip(3).read()]
        [3, 4]
        """
        return self._step("skip", count=required("count", count))

    def split(
        self,
        parts: Sequence[float] | str | os.PathLike[str],
        part: int,
        *,
        by: Outputs | None = None,
        seed: int | None = None,
    ) -> Self:
        """Keeps one of several disjoint parts, chosen by a hash.

        Each element belongs to one part, also in other epochs and when files are added. Elements
        with the same key belong to the same part. Without ``by``, all components are the key, and
        all are read.

        Args:
          parts: Fractions of the elements; their sum is 1.
          part: The index of the part that is kept, from 0.
          by: The key: an expression, or several by name. Default: all components.
          seed: Another seed makes other parts. Default: 0.

        Raises InvalidArgumentError unless the sum of the parts is 1, and ``part`` is the index of
        one.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(8)
        >>> [int(x) for x in ds.split([0.5, 0.5], 1).read()]
        [1, 3, 7]
        """
        return self._step(
            "split",
            parts=required("parts", parts),
            part=required("part", part),
            by=key_of(by),
            seed=seed,
        )

    def subset(self, indices: Sequence[int] | str | os.PathLike[str]) -> Self:
        """Keeps the elements with these indexes, in their order.

        Indexes count from 0 in each pass of the input. Each is above the one before it. A shuffle
        behind the step gives another order.

        Args:
          indices: Indexes of elements, which increase, or a file of them.

        Raises InvalidArgumentError if an index is negative, or not above the one before it. Reading
        raises it if there is no such element.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(10, 20).subset([1, 5]).read()]
        [11, 15]
        """
        return self._step("subset", indices=required("indices", indices))

    def take(self, count: int) -> Self:
        """Ends after count elements.

        Args:
          count: Elements.

        Raises InvalidArgumentError for a negative count.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(9).take(2).read()]
        [0, 1]
        """
        return self._step("take", count=required("count", count))

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
        """Makes batches of as many elements as fit a number of tokens.

        Args:
          component: The component that defines the length. Default: x.
          tokens: Padded: elements times the longest; ragged: the sum of lengths.
          layout: How elements are put together. Default: padded.
          drop_remainder: Drops a last batch that is not full. Default: False.
          shapes: Shapes to which rows are padded. Default: the longest.
          values: Values with which rows are padded. Default: 0, and "" for bytes.

        Reading raises DataLossError for an element that is longer than ``tokens`` alone.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.text("notes.txt").map("decode_raw(x, uint8)").token_batch(24)
        >>> [x.shape for x in ds.read()]
        [(2, 11), (1, 10)]
        """
        return self._step(
            "token_batch",
            tokens=required("tokens", tokens),
            component=component,
            layout=layout,
            drop_remainder=drop_remainder,
            shapes=padded_shapes(shapes),
            values=values,
        )

    def unbatch(self) -> Self:
        """Makes an element of each row along the first axis.

        Reading raises InvalidArgumentError if a component has no first axis.

        >>> import feedmill as fm
        >>> [int(x) for x in fm.Dataset.range(5).batch(3).unbatch().read()]
        [0, 1, 2, 3, 4]
        """
        return self._step("unbatch")

    def window(
        self,
        size: int,
        *,
        shift: int | None = None,
        stride: int | None = None,
        drop_remainder: bool | None = None,
    ) -> Self:
        """Stacks the elements w * shift + k * stride, k < size, for w = 0, 1, …

        Args:
          size: Elements of a window.
          shift: Distance between the starts of consecutive windows. Default: the size.
          stride: Distance between consecutive elements of a window. Default: 1.
          drop_remainder: Drops last windows that are not full. Default: False.

        Raises InvalidArgumentError for a number that is 0. Reading raises DataLossError if the
        elements have different shapes.

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

    def with_columns(self, outputs_: Outputs | None = None, /, **named: Any) -> Self:
        """Adds the components that the expressions name, or replaces components of their names.
        Keeps the others.

        Expressions are written as for ``map``; they name components of the input, also replaced
        ones. New components come after the others.

        Raises the errors of ``map``, and InvalidArgumentError if an output has no name.

        >>> import feedmill as fm
        >>> next(fm.Dataset.range(1, 3).with_columns(half="x / 2").read())
        {'x': np.int64(1), 'half': np.float64(0.5)}
        """
        return self._with_step(*outputs(outputs_, named, "with_columns"))
