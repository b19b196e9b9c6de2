"""TensorFlow: the batches of a dataset as tensors. ``Dataset.to_tf`` makes them.

This module imports tensorflow; ``import feedmill`` does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from feedmill._adapter import Adapter
from feedmill._array_alias import without_unit, writable_alias
from feedmill._component_spec import ComponentSpec
from feedmill._dataset_base import DatasetBase
from feedmill._values import TIMES
from feedmill.loader import Elements
from feedmill.reader import Element

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from feedmill._options import AdapterOptions

__all__ = ["TensorFlowLoader"]


class TensorFlowLoader(Adapter):
    """The elements of a dataset as eager tensors, epoch after epoch.

    >>> import feedmill as fm
    >>> ds = fm.Dataset.range(6).map(x=lambda x: x / 2, name="to_string(x)").batch(3)
    >>> for batch in ds.to_tf():
    ...     print(batch["x"].numpy(), batch["name"].numpy())
    [0.  0.5 1. ] [b'0' b'1' b'2']
    [1.5 2.  2.5] [b'3' b'4' b'5']

    Numbers, byte strings and arrays of them become tensors; byte strings have the dtype
    ``tf.string``. A tensor uses the memory of the batch without a copy where that begins
    at a multiple of 64 bytes, and keeps it alive; TensorFlow never writes to it.

    :meth:`dataset` is the same as a ``tf.data.Dataset``, for Keras and for
    ``tf.function``.

    With ``nulls="masked"``, a component ``n`` that may be null is two tensors: the values
    ``n``, and the bools ``n_mask``, False for nulls, as the masks of Keras.

    Each loop is the next epoch, or the one of :meth:`set_epoch`.

    Args:
      dataset, service, job, state, epoch, seed, skip_batches, options: Those of
        :class:`Loader`. Several ranks read a named job of a service.
      rank, ranks: This process reads the elements n with n mod ranks = rank. They are
        not found: TensorFlow has them in its strategy's ``tf.distribute.InputContext``.
      even: See :class:`Loader`. Default: the dataset's option, or ``drop``.

    Raises the errors of :class:`Loader`.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        service: str | None = None,
        job: str | None = None,
        **options: Unpack[AdapterOptions],
    ) -> None:
        super().__init__(dataset, service, job, options)

    def _next(self, elements: Iterator[Element]) -> Any:
        element = next(elements)
        if isinstance(element, dict):
            return {name: _tensor(value) for name, value in element.items()}
        return _tensor(element)

    def dataset(self) -> Any:
        """Returns a ``tf.data.Dataset`` of the same elements; each loop is the next epoch.

        Its elements pass through ``tf.data.Dataset.from_generator``, which copies them.
        No strategy divides it once more: auto-sharding is off.

        >>> import feedmill as fm
        >>> ds = fm.Dataset.range(4).batch(2).to_tf().dataset()
        >>> ds.element_spec
        TensorSpec(shape=(None,), dtype=tf.int64, name=None)
        >>> [x.tolist() for x in ds.as_numpy_iterator()]
        [[0, 1], [2, 3]]
        """
        specs = self._dataset.element_spec
        signature: Any
        if isinstance(specs, dict):
            signature = {name: _tensor_spec(spec) for name, spec in specs.items()}
            if self._given.get("nulls") == "masked":
                for name, spec in specs.items():
                    if spec.nullable:
                        signature[f"{name}_mask"] = tf.TensorSpec(spec.shape, tf.bool)
        else:
            signature = _tensor_spec(specs)
        dataset = tf.data.Dataset.from_generator(
            lambda: Elements(self, next), output_signature=signature
        )
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        return dataset.with_options(options)


def _tensor(value: Any) -> Any:
    """Returns the tensor of a value: of the same memory, if kernels can use that."""
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "M":
        value = without_unit(np.asarray(value))
    plain = isinstance(value, np.ndarray) and value.dtype != object
    if plain and value.dtype.name != "bfloat16" and value.size > 0:
        aligned = value.__array_interface__["data"][0] % _ALIGNMENT == 0
        if aligned and value.flags.c_contiguous:
            # TensorFlow writes to no memory that is not its own.
            return tf.experimental.dlpack.from_dlpack(writable_alias(value).__dlpack__())
    return tf.convert_to_tensor(value)


# Bytes to which TensorFlow's kernels want memory aligned.
_ALIGNMENT = 64


def _tensor_spec(spec: ComponentSpec) -> Any:
    if spec.dtype in ("bytes", "str"):
        return tf.TensorSpec(spec.shape, tf.string)
    times = spec.dtype in TIMES.values()
    return tf.TensorSpec(spec.shape, tf.int64 if times else tf.as_dtype(spec.dtype))
