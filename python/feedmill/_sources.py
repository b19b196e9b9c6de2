"""The sources of pipelines: how a Dataset begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from feedmill._python_functions import OutputTypes, generator_source
from feedmill._values import Files, Types, files_of, options, required
from feedmill.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

    from feedmill import _feedmill

Compression = Literal["none", "gzip", "zstd", "bz2", "xz"]


class Sources:
    """The class methods of Dataset that make one."""

    __slots__ = ()

    @classmethod
    def _of_source(cls, name: str, value: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def _made(cls, name: str, **given: Any) -> Self:
        return cls._of_source(name, options(**given))

    def _input(self) -> _feedmill.Pipeline:
        raise NotImplementedError

    @classmethod
    def _combining(cls, name: str, inputs: Sequence[Sources], given: Mapping[str, Any]) -> Self:
        return cls._of_source(name, {"inputs": _pipelines(inputs), **given})

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

    @classmethod
    def text(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads the lines of text files, as one unnamed bytes component.

        ``files`` is a name, a glob, a folder or a list of them. A relative name is
        relative to the working directory when the dataset is read. Without
        ``compression`` the first bytes of the first file decide.
        ``zstd_window_log=31`` accepts windows up to 2 GiB.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged
        compressed file.

        >>> import feedmill as fm
        >>> list(fm.Dataset.text("notes.txt").read())
        [b'first line', b'second line', b'third line']
        """
        return cls._made(
            "text", files=files_of(files), compression=compression, zstd_window_log=zstd_window_log
        )

    @classmethod
    def tfrecord(
        cls,
        files: Files,
        *,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads the records of TFRecord files, as one unnamed bytes component.

        Reading raises NotFoundError if no file matches, DataLossError for a record with a
        wrong checksum.

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
    def images(cls, files: Files, *, label: Literal["folder", "filename"] | None = None) -> Self:
        """Reads image files: ``image`` and ``path`` are bytes, ``label`` is int64.

        The label is the number of the file's folder among the sorted names of the
        folders, or the name itself if all are integers. ``label="filename"`` takes
        what follows the last ``_`` of the file's name. :meth:`decode_image` decodes.

        Reading raises NotFoundError if no file matches, InvalidArgumentError if a label
        cannot be found out.

        >>> import feedmill as fm
        >>> first = next(fm.Dataset.images("photos/*/*.jpg").decode_image().read())
        >>> first["image"].dtype, first["label"], first["path"][-9:]
        (dtype('uint8'), np.int64(0), b'cat/0.jpg')
        """
        return cls._made("images", files=files_of(files), label=label)

    @classmethod
    def csv(
        cls,
        files: Files,
        *,
        fields: Types | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        missing: str | Sequence[str] | None = None,
        multiline: bool | None = None,
        encoding: Literal["utf-8", "latin-1", "utf-16"] | None = None,
        comment: str | None = None,
        skip_rows: int | None = None,
        vectors: Mapping[str, tuple[str, str]] | None = None,
        exact_integers: bool | None = None,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads the rows of CSV files; the columns are components by name.

        ``fields`` maps columns to types, ``{"age": "int64"}``; without it they are
        found out from the first 1,000 rows and some of later files. ``missing`` are
        texts that stand for no value: NaN in floats. ``multiline=True`` allows line
        breaks in quoted fields.
        Lines that begin with ``comment`` and the first ``skip_rows`` lines of each
        file are left out. ``vectors={"pixels": ("p0", "p783")}`` makes one
        component, a list, of the columns from ``p0`` to ``p783``.
        ``exact_integers=True`` makes an integer whose digits its float does not keep an
        error of its row, as it is without ``fields``.

        Reading raises NotFoundError if no file matches, DataLossError for a row that does
        not fit ``fields``.

        >>> import feedmill as fm
        >>> next(fm.Dataset.csv("houses.csv").read())
        {'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
        >>> fm.Dataset.csv("houses.csv", fields={"rooms": "int32"}).element_spec
        {'rooms': ComponentSpec(dtype='int32', shape=())}
        """
        runs = None
        if vectors is not None:
            runs = [f"{name}={first}..{last}" for name, (first, last) in vectors.items()]
        return cls._made(
            "csv",
            files=files_of(files),
            fields=fields,
            header=header,
            delimiter=delimiter,
            missing=missing,
            multiline=multiline,
            encoding=encoding,
            comment=comment,
            skip_rows=skip_rows,
            vectors=runs,
            exact_integers=exact_integers,
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def jsonl(
        cls,
        files: Files,
        *,
        fields: Types | None = None,
        encoding: Literal["utf-8", "latin-1", "utf-16"] | None = None,
        exact_integers: bool | None = None,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads files with a JSON object a line; its members are components by name.

        ``fields`` maps members to types such as ``"int64"`` or ``"float32[?, 3]"``;
        without it they are found out from the first 1,000 lines and some of later
        files. ``exact_integers`` is as in :meth:`csv`.

        Reading raises NotFoundError if no file matches, DataLossError for a line that does
        not fit ``fields``.

        >>> import feedmill as fm
        >>> next(fm.Dataset.jsonl("houses.jsonl").read())
        {'rooms': np.int64(2), 'area': np.float64(70.5), 'price': np.int64(210000)}
        """
        return cls._made(
            "jsonl",
            files=files_of(files),
            fields=fields,
            encoding=encoding,
            exact_integers=exact_integers,
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def npy(cls, files: Files, *, fields: Types | None = None) -> Self:
        """Reads the rows of ``.npy`` files, unnamed, or of ``.npz`` files, by name.

        The members of a structured dtype are components by name, too.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file.

        >>> import feedmill as fm
        >>> [row.tolist() for row in fm.Dataset.npy("points.npy").read()]
        [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
        """
        return cls._made("npy", files=files_of(files), fields=fields)

    @classmethod
    def fixed_length(
        cls,
        files: Files,
        *,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads records of ``record_bytes`` each, as one unnamed bytes component.

        ``header_bytes`` and ``footer_bytes`` of each file are left out.

        Reading raises NotFoundError if no file matches, DataLossError for a file whose size
        does not fit.

        >>> import feedmill as fm
        >>> list(fm.Dataset.fixed_length("records.bin", record_bytes=4, header_bytes=4).read())
        [b'aaaa', b'bbbb', b'cccc']
        """
        return cls._made(
            "fixed_length",
            files=files_of(files),
            record_bytes=record_bytes,
            header_bytes=header_bytes,
            footer_bytes=footer_bytes,
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def webdataset(
        cls,
        files: Files,
        *,
        fields: Types | None = None,
        compression: Compression | None = None,
        zstd_window_log: int | None = None,
    ) -> Self:
        """Reads WebDataset tar files: the members of a key by their extensions.

        ``__key__`` is the key itself. ``fields`` maps extensions to types;
        ``"int64 = -1"`` is -1 in samples without that member.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged archive,
        or a sample without a member of ``fields``.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.webdataset("digits.tar", fields={"txt": "bytes", "cls": "bytes"})
        >>> next(ds.read())
        {'txt': b'digit 0', 'cls': b'0'}
        """
        return cls._made(
            "webdataset",
            files=files_of(files),
            fields=fields,
            compression=compression,
            zstd_window_log=zstd_window_log,
        )

    @classmethod
    def mds(cls, files: Files, *, fields: Types | None = None) -> Self:
        """Reads the samples of MDS shards (MosaicML Streaming), columns by name.

        ``files`` is the folder of a data set, its ``index.json``, or shards.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged shard.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.mds("mds", fields={"int": "int64", "str": "bytes"})
        >>> next(ds.read())
        {'int': np.int64(-5), 'str': b''}
        """
        return cls._made("mds", files=files_of(files), fields=fields)

    @classmethod
    def lmdb(cls, files: Files) -> Self:
        """Reads LMDB files, their entries in the order of their keys.

        ``key`` and ``value`` are bytes.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file.

        >>> import feedmill as fm
        >>> sorted(next(fm.Dataset.lmdb("entries.lmdb").read()))
        ['key', 'value']
        """
        return cls._made("lmdb", files=files_of(files))

    @classmethod
    def array_record(cls, files: Files) -> Self:
        """Reads ArrayRecord files: the bytes of each record.

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file and one
        whose writer was not closed.

        >>> import feedmill as fm
        >>> next(fm.Dataset.array_record("words.array_record").read())
        b'dfccacegbfggdfhaeedaafd'
        """
        return cls._made("array_record", files=files_of(files))

    @classmethod
    def parquet(
        cls,
        files: Files,
        *,
        columns: Sequence[str] | None = None,
        fields: Types | None = None,
        partitions: bool | None = None,
    ) -> Self:
        """Reads the rows of Parquet files, their columns by name.

        ``columns`` names those to read, in this order; all by default. ``a.b`` is the
        member b of the struct a; maps and deeper lists are JSON text. ``fields``
        maps columns to types. ``partitions`` makes components of folders called
        ``KEY=VALUE``, too. Needs ``libfeedmill_arrow.so`` (docs/steps.md).

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file,
        FailedPreconditionError without the plugin.

        >>> import feedmill as fm
        >>> fm.Dataset.parquet("table.parquet", columns=["text", "label"]).batch(32)
        <feedmill.Dataset parquet → batch>
        """
        return cls._made(
            "parquet", files=files_of(files), columns=columns, fields=fields, partitions=partitions
        )

    @classmethod
    def arrow(
        cls,
        files: Files,
        *,
        columns: Sequence[str] | None = None,
        fields: Types | None = None,
        partitions: bool | None = None,
        memory_map: bool | None = None,
    ) -> Self:
        """Reads the rows of Arrow IPC files (Feather) and streams, as :meth:`parquet`.

        With ``memory_map``, arrays of a local read are views of the mapped files, without
        a copy. No process may write to or truncate a file while such arrays are alive:
        they would change (docs/steps.md).

        Reading raises NotFoundError if no file matches, DataLossError for a damaged file,
        FailedPreconditionError without the plugin.

        >>> import feedmill as fm
        >>> fm.Dataset.arrow("table.arrow", columns=["text", "label"]).batch(32)
        <feedmill.Dataset arrow → batch>
        """
        return cls._made(
            "arrow",
            files=files_of(files),
            columns=columns,
            fields=fields,
            partitions=partitions,
            memory_map=memory_map,
        )

    @classmethod
    def concatenate(cls, inputs: Sequence[Sources]) -> Self:
        """Reads one dataset after the other.

        All make the same components. The options of the inputs (a seed, an order)
        are not used; the options of the whole count.

        Reading raises InvalidArgumentError if the components differ.

        >>> import feedmill as fm
        >>> whole = fm.Dataset.concatenate([fm.Dataset.range(2), fm.Dataset.range(5, 7)])
        >>> [int(x) for x in whole.read()]
        [0, 1, 5, 6]
        """
        return cls._combining("concatenate", inputs, {})

    @classmethod
    def zip(cls, inputs: Sequence[Sources]) -> Self:
        """Puts an element of each dataset side by side, as long as the shortest.

        Every input has named components (``map`` gives names), each name once.

        Reading raises InvalidArgumentError if a component has no name, or two have the
        same.

        >>> import feedmill as fm
        >>> one, other = fm.Dataset.range(3).map(a="x"), fm.Dataset.range(9).map(b="-x")
        >>> pairs = fm.Dataset.zip([one, other])
        >>> [(int(e["a"]), int(e["b"])) for e in pairs.read()]
        [(0, 0), (1, -1), (2, -2)]
        """
        return cls._combining("zip", inputs, {})

    @classmethod
    def interleave(
        cls,
        inputs: Sequence[Sources],
        *,
        cycle_length: int | None = None,
        block_length: int | None = None,
    ) -> Self:
        """Takes ``block_length`` elements of each of ``cycle_length`` inputs in turn.

        By default one element of each of all inputs. Where an input ends, the next
        one that was not begun has its turn from then on.

        Reading raises InvalidArgumentError if the components differ.

        >>> import feedmill as fm
        >>> turns = fm.Dataset.interleave([fm.Dataset.range(3), fm.Dataset.range(10, 12)])
        >>> [int(x) for x in turns.read()]
        [0, 10, 1, 11, 2]
        """
        return cls._combining(
            "interleave", inputs, options(cycle_length=cycle_length, block_length=block_length)
        )

    @classmethod
    def mixture(
        cls,
        inputs: Sequence[Sources],
        weights: Sequence[float],
        *,
        stop: Literal["first_exhausted", "all_exhausted", "repeat"] | None = None,
    ) -> Self:
        """Mixes datasets by weights: after any n elements, n·w of each input.

        It ends before the first element that an input lacks (``first_exhausted``,
        the default), once all were read whole (``all_exhausted``), or never
        (``repeat``); in the last two, an input that ends begins again.

        Reading raises InvalidArgumentError if the components differ, or for a weight that
        is not positive.

        >>> import feedmill as fm
        >>> inputs = [fm.Dataset.range(9), fm.Dataset.range(100, 109)]
        >>> mixed = fm.Dataset.mixture(inputs, weights=[0.75, 0.25])
        >>> next(mixed.batch(8).read()).tolist()
        [0, 1, 2, 100, 3, 4, 5, 101]
        """
        given = options(weights=weights, stop=stop)
        return cls._combining("mixture", inputs, given)


def _pipelines(inputs: Sequence[Sources]) -> list[_feedmill.Pipeline]:
    if isinstance(inputs, Sources) or not isinstance(inputs, Iterable):
        raise InvalidArgumentError(f"inputs: expected a list of datasets, found {inputs!r}")
    pipelines = []
    for number, one in enumerate(inputs):
        if not isinstance(one, Sources):
            raise InvalidArgumentError(f"inputs[{number}]: expected a dataset, found {one!r}")
        pipelines.append(one._input())
    if not pipelines:
        raise InvalidArgumentError("inputs: expected at least one dataset, found none")
    return pipelines
