"""``tf.io``: the parsing of examples and the decoding of images, in functions that are traced.

>>> from feedmill import tf
>>> features = {
...     "label": tf.io.FixedLenFeature([], tf.int64),
...     "weight": tf.io.FixedLenFeature([], tf.float32, default_value=1),
... }
>>> dataset = tf.data.TFRecordDataset("examples.tfrecord")
>>> dataset = dataset.map(lambda record: tf.io.parse_single_example(record, features))
>>> next(iter(dataset))
{'label': np.int64(0), 'weight': np.float32(1.0)}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from feedmill.errors import InvalidArgumentError
from feedmill.expressions import Element, Expr, call
from feedmill.tf._dtypes import no_name, not_used, type_name, type_text
from feedmill.tf.image import decode_image, decode_jpeg, decode_png

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "RaggedFeature",
    "VarLenFeature",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "parse_example",
    "parse_single_example",
]


class FixedLenFeature(NamedTuple):
    """A feature of a constant shape."""

    shape: Sequence[int]
    dtype: Any
    default_value: Any = None

    @property
    def _text(self) -> str:
        return type_text(self.dtype, self.shape, self.default_value)


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of items of a shape."""

    shape: Sequence[int]
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None

    @property
    def _text(self) -> str:
        not_used("allow_missing", self.allow_missing, True)
        return type_text(self.dtype, [None, *self.shape])


class VarLenFeature(NamedTuple):
    """A feature of any number of items: an array, where TensorFlow has a SparseTensor."""

    dtype: Any

    @property
    def _text(self) -> str:
        return type_text(self.dtype, [None])


class RaggedFeature(NamedTuple):
    """A feature of any number of items."""

    dtype: Any

    @property
    def _text(self) -> str:
        return type_text(self.dtype, [None])


_KINDS = (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, RaggedFeature)

# The types of the features that the function that is traced has parsed.
_parsed: ContextVar[list[dict[str, str]]] = ContextVar("parsed")


def parse_single_example(
    serialized: Any, features: Mapping[str, Any], name: str | None = None
) -> Element:
    """Parses a ``tf.train.Example`` in the function of a ``map``.

    It becomes the step ``parse_example``, before a ``map`` of the expressions that the
    function returns.

    Raises InvalidArgumentError for features of another kind, for anything but the whole
    element, and outside of a function that ``tf.data.Dataset.map`` traces.
    """
    types = {}
    for feature, kind in features.items():
        if not isinstance(kind, _KINDS):
            raise InvalidArgumentError(
                f"features[{feature!r}]: expected a FixedLenFeature, FixedLenSequenceFeature, "
                f"VarLenFeature or RaggedFeature, found {kind!r}"
            )
        types[feature] = kind._text
    found = _parsed.get(None)
    if found is None or not isinstance(serialized, Element):
        raise InvalidArgumentError(
            "parse_single_example: it parses the whole element in a function of "
            f"tf.data.Dataset.map; elsewhere write dataset.parse_example({types!r})"
        )
    found.append(types)
    return Element()


def parse_example(
    serialized: Any,
    features: Mapping[str, Any],
    example_names: None = None,
    name: str | None = None,
) -> Element:
    """Parses a batch of messages, as :func:`parse_single_example` parses one."""
    return parse_single_example(serialized, features)


@contextmanager
def parsing() -> Iterator[list[dict[str, str]]]:
    """Yields the list of the features that functions parse within the context."""
    found: list[dict[str, str]] = []
    before = _parsed.set(found)
    try:
        yield found
    finally:
        _parsed.reset(before)


def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: None = None,
    name: str | None = None,
) -> Expr:
    """``decode_raw(x, dtype)``. Raises InvalidArgumentError for big-endian numbers."""
    not_used("little_endian", little_endian, True)
    return call("decode_raw", input_bytes, Expr(type_name(out_type)))


if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf.io", name, __all__)
