"""Names of files, as ``tf.data.Dataset.list_files`` gives them."""

from __future__ import annotations

import glob
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from feedmill._foreign_names import hint
from feedmill.errors import InvalidArgumentError

if TYPE_CHECKING:
    from feedmill.tf.data import Dataset


class FileNames:
    """The names of the files of a glob: for loops, and for ``interleave`` and sources.

    >>> from feedmill import tf
    >>> files = tf.data.Dataset.list_files("n*.txt", shuffle=False)
    >>> list(files)
    [b'notes.txt']
    >>> next(iter(files.interleave(tf.data.TextLineDataset, cycle_length=2)))
    b'first line'
    """

    def __init__(self, names: list[str], shuffled: bool, seed: int | None) -> None:
        self.names = names
        self.shuffled = shuffled
        self.seed = seed

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[bytes]:
        """Yields the names, in another order in each loop if they are shuffled."""
        names = list(self.names)
        if self.shuffled:
            random.Random(self.seed).shuffle(names)
        return map(os.fsencode, names)

    def as_numpy_iterator(self) -> Iterator[bytes]:
        """Returns an iterator over the names."""
        return iter(self)

    def shuffle(
        self,
        buffer_size: int,
        seed: int | None = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> FileNames:
        """Shuffles all names."""
        return FileNames(self.names, True, seed)

    def take(self, count: int) -> FileNames:
        """Keeps the first names. Raises InvalidArgumentError if they are shuffled."""
        return FileNames(self._ordered("take")[:count], False, None)

    def shard(self, num_shards: int, index: int) -> FileNames:
        """Keeps each num_shards-th name. Raises InvalidArgumentError if they are shuffled."""
        return FileNames(self._ordered("shard")[index::num_shards], False, None)

    def interleave(
        self,
        map_func: Callable[[str], Dataset],
        cycle_length: int | None = None,
        block_length: int | None = None,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Reads the datasets of ``map_func(name)`` in turn; ``cycle_length`` of them at once.

        Raises InvalidArgumentError if the names are shuffled: the order of an interleave
        does not change from epoch to epoch.
        """
        return interleaved(
            [map_func(one) for one in self._ordered("interleave")], cycle_length, block_length
        )

    def flat_map(self, map_func: Callable[[str], Dataset], name: str | None = None) -> Dataset:
        """Reads the datasets of ``map_func(name)`` one after another.

        Raises InvalidArgumentError if the names are shuffled.
        """
        from feedmill.tf.data import Dataset

        joined: Dataset = Dataset.concatenate([map_func(one) for one in self._ordered("flat_map")])
        return joined

    def _ordered(self, method: str) -> list[str]:
        if self.shuffled:
            raise InvalidArgumentError(
                f"{method}: the names are shuffled, and their order would be the same in each "
                "epoch; write list_files(…, shuffle=False), or TFRecordDataset(names), which "
                "reads the files in another order in each epoch"
            )
        return self.names

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"names of files have no {name}"
            + ("" if name.startswith("_") else hint(name, "", dir(type(self))))
        )


def interleaved(
    inputs: Sequence[Dataset], cycle_length: int | None, block_length: int | None
) -> Dataset:
    """Returns the dataset that reads the inputs in turn."""
    from feedmill.tf.data import Dataset

    if cycle_length is None or cycle_length < 0:  # AUTOTUNE
        cycle_length = len(inputs)
    made: Dataset = Dataset.interleave(
        inputs, cycle_length=min(cycle_length, len(inputs)), block_length=block_length or 1
    )
    return made


def listed(file_pattern: Any, shuffle: bool | None, seed: int | None) -> FileNames:
    """Returns the names of the files that match a glob, or one of several."""
    given: list[Any] = (
        [file_pattern] if isinstance(file_pattern, (str, os.PathLike)) else list(file_pattern)
    )
    names: list[str] = []
    for pattern in map(os.fspath, given):
        if "://" in pattern and glob.has_magic(pattern):
            raise InvalidArgumentError(
                f"file_pattern: {pattern} is listed when it is read; give the pattern itself to "
                "the source, as in TFRecordDataset(pattern)"
            )
        found = [pattern] if "://" in pattern else sorted(glob.glob(pattern))
        if not found:
            raise InvalidArgumentError(f"file_pattern: no file matches {pattern}")
        names += found
    return FileNames(sorted(names), shuffle is None or shuffle, seed)


def files_of(filenames: Any) -> tuple[Any, bool, int | None]:
    """Returns files for a source, whether they are shuffled, and the seed of that."""
    if isinstance(filenames, FileNames):
        return filenames.names, filenames.shuffled, filenames.seed
    if isinstance(filenames, bytes):
        filenames = os.fsdecode(filenames)
    if not isinstance(filenames, (str, os.PathLike)):
        filenames = [os.fsdecode(one) for one in filenames]
    return filenames, False, None
