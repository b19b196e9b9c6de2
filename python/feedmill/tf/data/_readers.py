"""The datasets of files: ``tf.data.TFRecordDataset`` and others, as functions."""

from __future__ import annotations

from typing import Any

from feedmill._values import Compression
from feedmill.errors import InvalidArgumentError
from feedmill.tf.data._dataset import Dataset
from feedmill.tf.data._file_names import files_of

_COMPRESSIONS: dict[str | None, Compression | None] = {None: None, "": None, "GZIP": "gzip"}


def _compression(value: str | None) -> Compression | None:
    if value not in _COMPRESSIONS:
        raise InvalidArgumentError(
            f"compression_type: expected None, '' or 'GZIP', found {value!r}; feedmill's sources "
            "find gzip, zstd, bz2 and xz by the first bytes"
        )
    return _COMPRESSIONS[value]


def _read(
    source: str, filenames: Any, compression: str | None, *given: Any, **options: Any
) -> Dataset:
    files, shuffled, seed = files_of(filenames)
    options["compression"] = _compression(compression)
    dataset: Dataset = getattr(Dataset, source)(files, *given, **options)
    return dataset.shuffle(files=True, seed=seed) if shuffled else dataset


def TFRecordDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """Reads TFRecord files, one after another: ``Dataset.tfrecord``.

    ``filenames``: a name, a glob, a list, or what ``list_files`` returns; files of a
    shuffled list are read in another order in each epoch.

    Raises InvalidArgumentError for the compression ``"ZLIB"``.
    """
    return _read("tfrecord", filenames, compression_type)


def TextLineDataset(  # noqa: N802
    filenames: Any,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """Reads the lines of files: ``Dataset.text``. Arguments as of :func:`TFRecordDataset`.

    Raises InvalidArgumentError for the compression ``"ZLIB"``.
    """
    return _read("text", filenames, compression_type)


def FixedLengthRecordDataset(  # noqa: N802
    filenames: Any,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: int | None = None,
    compression_type: str | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset:
    """Reads records of ``record_bytes`` bytes: ``Dataset.fixed_length``.

    Raises InvalidArgumentError for the compression ``"ZLIB"``.
    """
    sizes = {"header_bytes": header_bytes, "footer_bytes": footer_bytes}
    return _read("fixed_length", filenames, compression_type, record_bytes, **sizes)
