"""Datasets: a source and the steps to run on its records."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from feedmill._component_spec import ComponentSpec
from feedmill._dataset_base import DatasetBase

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from feedmill._options import AdapterOptions, JaxOptions, ReadOptions, TorchOptions
    from feedmill.jax import JaxLoader
    from feedmill.tensorflow import TensorFlowLoader
    from feedmill.torch import TorchDataset

__all__ = ["ComponentSpec", "Dataset"]


class Dataset(DatasetBase):
    """A source and a list of steps to run on its records.

    A dataset is a value. Class methods such as :meth:`images` and :meth:`csv` make
    one; each other method returns a new one with one step more. Nothing is read
    before :meth:`read`. Sources, steps and options have the names of the YAML
    (docs/steps.md).

    >>> import feedmill as fm
    >>> ds = fm.Dataset.range(6).map(lambda x: x * 10).batch(3)
    >>> for batch in ds.read():
    ...     print(batch)
    [ 0 10 20]
    [30 40 50]

    Wrong options raise InvalidArgumentError at once. Components, types and files are
    checked by :attr:`element_spec`, :meth:`explain` and :meth:`read`.
    """

    __slots__ = ()

    # ---- other libraries, each imported by the first call

    @classmethod
    def from_hf(
        cls,
        dataset: Any,
        *,
        columns: Sequence[str] | None = None,
        memory_map: bool | None = None,
    ) -> Self:
        """Returns the rows of a ``datasets.Dataset`` of Hugging Face.

        Its Arrow files are read by feedmill, where the workers of a service are too, so
        they need the same paths there. ``columns``: to read; default: as of
        ``with_format(columns=…)``, or all.
        ``memory_map``: hand out views of the files, as ``datasets`` does; see
        :meth:`arrow`.

        Raises InvalidArgumentError if the files alone are not the dataset: it is in
        memory, or a choice or another order of its rows, its columns were renamed or
        cast, or it has a transform. The message says what to do. Raises ImportError
        without ``datasets``. Reading needs feedmill's plugin for Arrow files.
        """
        with _needed("from_hf", "datasets"):
            from feedmill.huggingface import arrow_files

        files, names = arrow_files(dataset, columns)
        return cls.arrow(files, columns=names, memory_map=memory_map)

    def to_hf(
        self,
        path: str | os.PathLike[str],
        service: str | None = None,
        **options: Unpack[ReadOptions],
    ) -> Any:
        """Reads the dataset once, and returns it as a ``datasets.Dataset``, a row an element.

        The rows go to the Arrow file ``path``, which is replaced, and which the returned
        dataset maps into memory. ``options``: see :meth:`read`. Raises
        ImportError without ``datasets``.
        """
        with _needed("to_hf", "datasets"):
            from feedmill.huggingface import arrow_table_file

        with self.read(service, **options) as reader:
            return arrow_table_file(reader, os.path.abspath(os.fspath(path)))

    def to_torch(
        self, service: str | None = None, job: str | None = None, **options: Unpack[TorchOptions]
    ) -> TorchDataset:
        """Returns an ``IterableDataset`` of PyTorch whose elements are tensors.

        Takes the options of :class:`feedmill.torch.TorchDataset`, which says what
        they do. docs/frameworks.md shows DDP, Lightning and the Trainer of Hugging
        Face. Raises ImportError without torch.
        """
        with _needed("to_torch", "torch"):
            from feedmill.torch import TorchDataset

        return TorchDataset(self, service, job, **options)

    def to_jax(
        self, service: str | None = None, job: str | None = None, **options: Unpack[JaxOptions]
    ) -> JaxLoader:
        """Returns a loader whose elements are arrays of JAX, global ones with ``sharding=``.

        Takes the options of :class:`feedmill.jax.JaxLoader`, which says what they
        do. Raises ImportError without jax.
        """
        with _needed("to_jax", "jax"):
            from feedmill.jax import JaxLoader

        return JaxLoader(self, service, job, **options)

    def to_tf(
        self,
        service: str | None = None,
        job: str | None = None,
        **options: Unpack[AdapterOptions],
    ) -> TensorFlowLoader:
        """Returns a loader whose elements are tensors of TensorFlow.

        Takes the options of :class:`feedmill.tensorflow.TensorFlowLoader`, which
        says what they do. Raises ImportError without tensorflow.
        """
        with _needed("to_tf", "tensorflow"):
            from feedmill.tensorflow import TensorFlowLoader

        return TensorFlowLoader(self, service, job, **options)


@contextlib.contextmanager
def _needed(method: str, package: str) -> Iterator[None]:
    """Says how to install the package, if an import within fails for lack of it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ImportError(
            f"{method} needs the package {package}: pip install {package}", name=package
        ) from None
