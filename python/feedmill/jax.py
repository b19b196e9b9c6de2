"""JAX: the batches of a dataset as arrays. ``Dataset.to_jax`` makes them.

This module imports jax; ``import feedmill`` does not.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from feedmill._adapter import Adapter
from feedmill._array_alias import without_unit
from feedmill._dataset_base import DatasetBase
from feedmill.errors import InvalidArgumentError
from feedmill.reader import Element

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from feedmill._options import AdapterOptions

__all__ = ["JaxLoader"]


class JaxLoader(Adapter):
    """The elements of a dataset as arrays of JAX, epoch after epoch.

    >>> import feedmill as fm
    >>> ds = fm.Dataset.range(6).map(x="cast(x, float32) / 2", name="to_string(x)").batch(3)
    >>> for batch in ds.to_jax():
    ...     print(batch["x"], batch["name"])
    [0.  0.5 1. ] ['0' '1' '2']
    [1.5 2.  2.5] ['3' '4' '5']

    Numbers, bools and arrays of them become ``jax.Array``; texts, bytes and arrays of them
    stay as they were read. JAX makes 32-bit numbers of 64-bit ones unless
    ``jax_enable_x64`` is set. On a CPU, JAX uses the memory of the batch without
    a copy where it begins at a multiple of 64 bytes; JAX never writes to it.

    With ``nulls="masked"``, a component ``n`` that may be null is two arrays: the values
    ``n``, and the bools ``n_mask``, False for nulls: ``jnp.mean(n, where=n_mask)``.

    With ``sharding``, an array is global: each process puts in its own elements of the
    batch, by ``jax.make_array_from_process_local_data``. The global batch has
    ``jax.process_count()`` times as many rows as the dataset's ``batch``. Every batch
    must then have the same shape: ``batch(…, drop_remainder=True)``.

    Each loop is the next epoch, or the one of :meth:`set_epoch`. The ranks are
    ``jax.process_index()`` and ``jax.process_count()``, found when the first epoch
    begins. All processes end at the same step. They share the seed that is drawn for a
    dataset without one.

    Args:
      dataset, service, job, state, epoch, seed, skip_batches, options: Those of
        :class:`Loader`. Several processes read a named job of a service.
      sharding: A ``jax.sharding.Sharding`` of all arrays, or a dict of them by
        component; components that it does not name stay in this process. Default: none.
      rank, ranks: In place of those that are found.
      even: See :class:`Loader`. Default: the dataset's option, or ``drop``. If the
        length of the dataset is not known, the processes ask each other for each batch by
        ``multihost_utils.process_allgather``.

    Raises the errors of :class:`Loader`.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        service: str | None = None,
        job: str | None = None,
        *,
        sharding: Any = None,
        **options: Unpack[AdapterOptions],
    ) -> None:
        super().__init__(dataset, service, job, options)
        self._sharding = sharding

    def _next(self, elements: Iterator[Element]) -> Any:
        element = next(elements)
        if isinstance(element, dict):
            return {name: self._array(value, name) for name, value in element.items()}
        return self._array(element, None)

    def _array(self, value: Any, name: str | None) -> Any:
        if not isinstance(value, (np.ndarray, np.generic)) or value.dtype == object:
            return value
        value = without_unit(np.asarray(value))
        sharding = self._sharding_of(name)
        if sharding is None:
            return jax.device_put(value)
        return jax.make_array_from_process_local_data(sharding, value)

    def _sharding_of(self, name: str | None) -> Any:
        if isinstance(self._sharding, dict):
            return self._sharding.get(name)
        return self._sharding

    def _find_ranks(self) -> tuple[int, int]:
        return jax.process_index(), jax.process_count()

    def _find_agree(self) -> Callable[[bool], tuple[bool, bool]] | None:
        return _agree if jax.process_count() > 1 else None

    def _find_seed(self) -> int | None:
        if self._ranks is not None or jax.process_count() == 1:
            return None  # not all processes read
        drawn = np.frombuffer(secrets.token_bytes(8), np.uint32)
        return int.from_bytes(multihost_utils.broadcast_one_to_all(drawn).tobytes(), "little")

    def _find_options(self) -> dict[str, Any]:
        found = super()._find_options()
        if found["ranks"] == 1 or self._sharding is None:
            return found
        specs = self._dataset.element_spec
        for name, spec in (specs if isinstance(specs, dict) else {None: specs}).items():
            varies = spec.dtype not in ("bytes", "str") and None in spec.shape
            if varies and self._sharding_of(name) is not None:
                raise InvalidArgumentError(
                    f"sharding: {'the element' if name is None else name} has the shape "
                    f"{spec.shape}, which may differ between processes, where a global array "
                    "needs one shape; use batch(…, drop_remainder=True) and arrays of fixed shape"
                )
        return found


def _agree(have: bool) -> tuple[bool, bool]:
    every = multihost_utils.process_allgather(np.array([have]))
    return bool(every.all()), bool(every.any())
