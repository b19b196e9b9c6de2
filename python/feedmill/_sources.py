# Written by tools/step_pages from the files of core/formats and core/operators.
"""The sources of pipelines: how a Dataset begins."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from feedmill._methods_by_hand import SourceMethods, table_of
from feedmill._values import Compression, Files, Types, column_runs, files_of, required

if TYPE_CHECKING:
    from typing_extensions import Self


class Sources(SourceMethods):
    """The class methods of Dataset that make one.

    An argument that is None has the default of the option.
    """

    __slots__ = ()

    @classmethod
    def array_record(cls, files: Files) -> Self:
        """Reads ArrayRecord files: one unnamed bytes component a record.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file and one
        whose writer was not closed.

        >>> import feedmill as fm
        >>> next(fm.Dataset.array_record("words.array_record").read())
        b'dfccacegbfggdfhaeedaafd'
        """
        return cls._made("array_record", files=files_of(files))

    @classmethod
    def arrow(
        cls,
        files: Files,
        *,
        columns: str | Sequence[str] | None = None,
        fields: Types | None = None,
        types: Types | None = None,
        partitions: bool | None = None,
        memory_map: bool | None = None,
    ) -> Self:
        """Reads the rows of Arrow IPC files (Feather) and streams, their columns by name.

        Columns are as in ``parquet``. It needs the plugin ``libfeedmill_arrow.so`` (docs/steps.md).

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          columns: Columns to read, in this order; a struct's name is all of its members. Default:
            all columns.
          fields: The components and their types. Default: inferred from the first records.
          types: The types of some components, where ``fields`` are inferred.
          partitions: Folders called KEY=VALUE are columns, too. Default: False.
          memory_map: A local read gives views of the mapped files, which must not change meanwhile.
            Default: False.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file,
        FailedPreconditionError without the plugin.

        >>> import feedmill as fm
        >>> fm.Dataset.arrow("table.arrow", columns=["text"])
        <feedmill.Dataset arrow(table.arrow, columns: [text]): schema not known yet>
        """
        return cls._made(
            "arrow",
            files=files_of(files),
            columns=columns,
            fields=fields,
            types=types,
            partitions=partitions,
            memory_map=memory_map,
        )

    @classmethod
    def csv(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
        fields: Types | None = None,
        types: Types | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        quote: str | None = None,
        escape: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        missing: str | Sequence[str] | None = None,
        multiline: bool | None = None,
        encoding: Literal["utf-8", "latin-1", "utf-16"] | None = None,
        comment: str | None = None,
        skip_rows: int | None = None,
        vectors: Mapping[str, tuple[str, str]] | None = None,
        exact_integers: bool | None = None,
    ) -> Self:
        """Reads records of comma-separated values, their columns by name.

        Without ``fields``, the types are found out from the first 1,000 rows or more and some of
        later files; ``types`` replace some of them.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.
          fields: The components and their types. Default: inferred from the first records.
          types: The types of some components, where ``fields`` are inferred.
          header: The first record of each file has the names; else they are f0, f1, …. Default:
            True.
          delimiter: The byte between two values. Default: ",".
          quote: The byte around values that hold delimiters; an empty text: none. Default: '"'.
          escape: The byte in front of a quote, a delimiter or another byte that stands for itself.
          decimal: The mark of decimals in numbers. Default: ".".
          thousands: The text between groups of three digits in numbers.
          missing: Texts that stand for no value. Default: [""].
          multiline: Quoted values may hold line breaks. Default: False.
          encoding: Encoding of the files; components are UTF-8. UTF-16 files are read from their
            beginning only, as compressed files are. Default: utf-8.
          comment: Lines that begin with this text are passed over.
          skip_rows: Lines to leave out at the beginning of each file, before the header; comments
            count. Default: 0.
          vectors: Runs of columns, in the order of each file, that are one component, a list:
            "pixels=p0..p783". ``fields`` declare it as ``pixels: "float32[784]"``.
          exact_integers: An integer whose digits its float does not keep, such as 9007199254740993,
            is a data error of its record, and not rounded; set if ``fields`` are inferred. Default:
            False.

        Reading raises NotFoundError if no file matches, DataLossError for a row that does not fit
        ``fields``.

        >>> import feedmill as fm
        >>> next(fm.Dataset.csv("houses.csv").read())
        {'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
        >>> fm.Dataset.csv("houses.csv", fields={"rooms": "int32"}).element_spec
        {'rooms': ComponentSpec(dtype='int32', shape=())}
        >>> fields = {"size": "float64[2]"}
        >>> ds = fm.Dataset.csv("houses.csv", vectors={"size": ("rooms", "area")}, fields=fields)
        >>> ds.element_spec
        {'size': ComponentSpec(dtype='float64', shape=(2,))}
        """
        return cls._made(
            "csv",
            files=files_of(files),
            compression=compression,
            zstd_window_log=zstd_window_log,
            fields=fields,
            types=types,
            header=header,
            delimiter=delimiter,
            quote=quote,
            escape=escape,
            decimal=decimal,
            thousands=thousands,
            missing=missing,
            multiline=multiline,
            encoding=encoding,
            comment=comment,
            skip_rows=skip_rows,
            vectors=column_runs(vectors),
            exact_integers=exact_integers,
        )

    @classmethod
    def fixed_length(
        cls,
        files: Files,
        record_bytes: int,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
    ) -> Self:
        """Reads records of record_bytes bytes: one unnamed bytes component each.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.
          record_bytes: Bytes of a record.
          header_bytes: Bytes to leave out at the beginning of each file. Default: 0.
          footer_bytes: Bytes to leave out at the end of each file. Default: 0.

        Reading raises NotFoundError if no file matches, DataLossError for a file whose size does
        not fit.

        >>> import feedmill as fm
        >>> list(fm.Dataset.fixed_length("records.bin", record_bytes=4, header_bytes=4).read())
        [b'aaaa', b'bbbb', b'cccc']
        """
        return cls._made(
            "fixed_length",
            files=files_of(files),
            record_bytes=required("record_bytes", record_bytes),
            compression=compression,
            zstd_window_log=zstd_window_log,
            header_bytes=header_bytes,
            footer_bytes=footer_bytes,
        )

    @classmethod
    def image_table(
        cls,
        table: SourceMethods | str | os.PathLike[str],
        *,
        column: str | None = None,
    ) -> Self:
        """Reads the images that a column of a table names, in its order, each with the columns of
        its row.

        A path is relative to the folder of the table. ``table`` is a name that says the kind of its
        files, or a source. Workers keep the columns in memory, at most 1 GiB.

        Args:
          table: Rows with names of images.
          column: The column with the names. Default: path.

        Raises InvalidArgumentError if the column is missing. Reading raises NotFoundError if an
        image is missing.

        >>> import feedmill as fm
        >>> rows = [{"path": "photos/cat/0.jpg", "caption": "a cat"}]
        >>> photos = fm.Dataset.image_table(fm.Dataset.from_list(rows))
        >>> next(photos.decode_image().read())["caption"]
        'a cat'
        """
        return cls._made("image_table", table=table_of(table), column=column)

    @classmethod
    def images(
        cls,
        files: Files,
        *,
        label: Literal["folder", "filename"] | None = None,
        classes: str | Sequence[str] | None = None,
        classes_file: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Reads a file an element: image (bytes), label (int64), path (bytes).

        The label is the number of the file's folder among the sorted names of the folders, or the
        name itself if all are integers. With the label ``filename``, it is the text behind the last
        ``_`` of the file's name. With ``classes``, the label is the number of the name in that
        list.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          label: The name that labels an image: its folder's, or the end of its own. Default:
            folder.
          classes: The names of labels, in the order of their numbers. Default: the sorted names of
            the files.
          classes_file: A file with such a name a line.

        Reading raises NotFoundError if no file matches, InvalidArgumentError if a label cannot be
        found out.

        >>> import feedmill as fm
        >>> first = next(fm.Dataset.images("photos/*/*.jpg").decode_image().read())
        >>> first["image"].dtype, first["label"], first["path"][-9:]
        (dtype('uint8'), np.int64(0), b'cat/0.jpg')
        """
        return cls._made(
            "images",
            files=files_of(files),
            label=label,
            classes=classes,
            classes_file=classes_file,
        )

    @classmethod
    def jsonl(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
        fields: Types | None = None,
        types: Types | None = None,
        encoding: Literal["utf-8", "latin-1", "utf-16"] | None = None,
        exact_integers: bool | None = None,
    ) -> Self:
        """Reads lines of one JSON object each, its members by name.

        Without ``fields``, the types are found out from the first 1,000 lines or more and some of
        later files; ``types`` replace some of them.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.
          fields: The components and their types. Default: inferred from the first records.
          types: The types of some components, where ``fields`` are inferred.
          encoding: Encoding of the files; components are UTF-8. UTF-16 files are read from their
            beginning only, as compressed files are. Default: utf-8.
          exact_integers: An integer whose digits its float does not keep, such as 9007199254740993,
            is a data error of its record, and not rounded; set if ``fields`` are inferred. Default:
            False.

        Reading raises NotFoundError if no file matches, DataLossError for a line that does not fit
        ``fields``.

        >>> import feedmill as fm
        >>> next(fm.Dataset.jsonl("houses.jsonl").read())
        {'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
        """
        return cls._made(
            "jsonl",
            files=files_of(files),
            compression=compression,
            zstd_window_log=zstd_window_log,
            fields=fields,
            types=types,
            encoding=encoding,
            exact_integers=exact_integers,
        )

    @classmethod
    def lmdb(cls, files: Files) -> Self:
        """Reads the entries of LMDB files by their keys: key and value, bytes.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file.

        >>> import feedmill as fm
        >>> sorted(next(fm.Dataset.lmdb("entries.lmdb").read()))
        ['key', 'value']
        """
        return cls._made("lmdb", files=files_of(files))

    @classmethod
    def mds(cls, files: Files, *, fields: Types | None = None) -> Self:
        """Reads the samples of MDS shards (MosaicML Streaming), columns by name.

        ``files`` is the folder of a data set, its ``index.json``, or shards.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          fields: The components and their types. Default: inferred from the first records.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged shard.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.mds("mds", fields={"int": "int64", "str": "bytes"})
        >>> next(ds.read())
        {'int': np.int64(-5), 'str': b''}
        """
        return cls._made("mds", files=files_of(files), fields=fields)

    @classmethod
    def npy(cls, files: Files, *, fields: Types | None = None) -> Self:
        """Reads the rows of NumPy's arrays: a component for each array of a .npz or member of a
        structured dtype.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          fields: The components and their types. Default: inferred from the first records.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file.

        >>> import feedmill as fm
        >>> [row.tolist() for row in fm.Dataset.npy("points.npy").read()]
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        """
        return cls._made("npy", files=files_of(files), fields=fields)

    @classmethod
    def parquet(
        cls,
        files: Files,
        *,
        columns: str | Sequence[str] | None = None,
        fields: Types | None = None,
        types: Types | None = None,
        partitions: bool | None = None,
    ) -> Self:
        """Reads the rows of Parquet files, their columns by name.

        Maps and deeper lists are JSON text. It needs the plugin ``libfeedmill_arrow.so``
        (docs/steps.md).

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          columns: Columns to read, in this order; a struct's name is all of its members. Default:
            all columns.
          fields: The components and their types. Default: inferred from the first records.
          types: The types of some components, where ``fields`` are inferred.
          partitions: Folders called KEY=VALUE are columns, too. Default: False.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file,
        FailedPreconditionError without the plugin.

        >>> import feedmill as fm
        >>> fm.Dataset.parquet("table.parquet", columns=["text"])
        <feedmill.Dataset parquet(table.parquet, columns: [text]): schema not known yet>
        """
        return cls._made(
            "parquet",
            files=files_of(files),
            columns=columns,
            fields=fields,
            types=types,
            partitions=partitions,
        )

    @classmethod
    def text(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads lines: one unnamed bytes component each, without its line end.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged compressed
        file.

        >>> import feedmill as fm
        >>> list(fm.Dataset.text("notes.txt").read())
        [b'first line', b'second line', b'third line']
        """
        return cls._made(
            "text",
            files=files_of(files),
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def tfrecord(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads TFRecord files: one unnamed bytes component a record.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.

        Reading raises NotFoundError if no file matches, DataLossError for a record with a wrong
        checksum.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.tfrecord("examples.tfrecord")
        >>> next(ds.parse_example({"label": "int64", "text": "bytes"}).read())
        {'label': np.int64(0), 'text': b'text 0'}
        """
        return cls._made(
            "tfrecord",
            files=files_of(files),
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def webdataset(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
        fields: Types | None = None,
    ) -> Self:
        """Reads tar files; the members of one name without its extension are an element.

        ``__key__`` is the key itself. ``int64 = -1`` is -1 in samples without that member.

        Args:
          files: Names of files, globs, folders or URLs, or a manifest of them.
          compression: none, gzip, zstd, bz2 or xz, for all files. Default: by the first bytes of
            the first file, or by its name if it cannot be read.
          zstd_window_log: Largest zstd window that is accepted, as a power of two: 10 to 31 (2 GiB
            of memory a file). Default: 27.
          fields: The components and their types. Default: inferred from the first records.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged archive, or a
        sample without a member of ``fields``.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.webdataset("digits.tar", fields={"txt": "bytes", "cls": "bytes"})
        >>> next(ds.read())
        {'txt': b'digit 0', 'cls': b'0'}
        """
        return cls._made(
            "webdataset",
            files=files_of(files),
            compression=compression,
            zstd_window_log=zstd_window_log,
            fields=fields,
        )

    @classmethod
    def concatenate(cls, inputs: Sequence[SourceMethods]) -> Self:
        """Reads one input after the other.

        All make the same components. The options of the inputs (a seed, an order) are not used; the
        options of the whole count.

        Args:
          inputs: The pipelines to read.

        Reading raises InvalidArgumentError if the components differ.

        >>> import feedmill as fm
        >>> whole = fm.Dataset.concatenate([fm.Dataset.range(2), fm.Dataset.range(5, 7)])
        >>> [int(x) for x in whole.read()]
        [0, 1, 5, 6]
        """
        return cls._combining("concatenate", inputs)

    @classmethod
    def interleave(
        cls,
        inputs: Sequence[SourceMethods],
        *,
        cycle_length: int | None = None,
        block_length: int | None = None,
    ) -> Self:
        """Reads block_length elements of each of cycle_length inputs in turn.

        If an input ends, the next input that was not begun takes its turns.

        Args:
          inputs: The pipelines to read.
          cycle_length: Number of inputs that take turns. Default: all inputs.
          block_length: Elements a turn. Default: 1.

        Reading raises InvalidArgumentError if the components differ.

        >>> import feedmill as fm
        >>> turns = fm.Dataset.interleave([fm.Dataset.range(3), fm.Dataset.range(10, 12)])
        >>> [int(x) for x in turns.read()]
        [0, 10, 1, 11, 2]
        """
        return cls._combining(
            "interleave",
            inputs,
            cycle_length=cycle_length,
            block_length=block_length,
        )

    @classmethod
    def mixture(
        cls,
        inputs: Sequence[SourceMethods],
        weights: Sequence[float] | str | os.PathLike[str],
        *,
        stop: Literal["first_exhausted", "all_exhausted", "repeat"] | None = None,
        unit: Literal["elements", "bytes", "items"] | None = None,
        component: str | None = None,
        changes: Sequence[int] | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Reads the inputs in proportion to their weights.

        Args:
          inputs: The pipelines to read.
          weights: A number above 0 for each input; with ``changes`` a list of them for each phase.
          stop: When it ends. Default: first_exhausted.
          unit: What the weights count: elements, or the size of the ``component`` in them. bytes:
            of its values. items: the product of its shape. Default: elements.
          component: The component that bytes or items are of.
          changes: Where the next weights begin: after this many elements, or sizes in all with a
            unit.

        Reading raises InvalidArgumentError if the components differ, or for a weight that is not
        positive.

        >>> import feedmill as fm
        >>> inputs = [fm.Dataset.range(9), fm.Dataset.range(100, 109)]
        >>> mixed = fm.Dataset.mixture(inputs, weights=[0.75, 0.25])
        >>> next(mixed.batch(8).read()).tolist()
        [0, 1, 2, 100, 3, 4, 5, 101]
        """
        return cls._combining(
            "mixture",
            inputs,
            weights=required("weights", weights),
            stop=stop,
            unit=unit,
            component=component,
            changes=changes,
        )

    @classmethod
    def zip(cls, inputs: Sequence[SourceMethods]) -> Self:
        """Joins one element of each input; ends with the shortest input.

        Every input has named components (``map`` gives names), each name once.

        Args:
          inputs: The pipelines to read.

        Reading raises InvalidArgumentError if a component has no name, or two have the same.

        >>> import feedmill as fm
        >>> one, other = fm.Dataset.range(3).map(a="x"), fm.Dataset.range(9).map(b="-x")
        >>> pairs = fm.Dataset.zip([one, other])
        >>> [(int(e["a"]), int(e["b"])) for e in pairs.read()]
        [(0, 0), (1, -1), (2, -2)]
        """
        return cls._combining("zip", inputs)
