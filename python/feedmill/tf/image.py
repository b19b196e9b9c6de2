"""``tf.image``: functions of images, in functions that ``map`` traces.

>>> from feedmill import tf
>>> dataset = tf.data.Dataset.images("photos/*/*.jpg")
>>> dataset = dataset.map(
...     lambda e: {
...         "image": tf.image.resize(tf.image.decode_jpeg(e["image"], channels=3), [2, 3]),
...         "label": e["label"],
...     }
... )
>>> dataset.schema
image: float32[2, 3, 3]
label: int64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from feedmill.errors import InvalidArgumentError
from feedmill.expressions import Expr, Operand, call, literal
from feedmill.tf._dtypes import no_name, not_used, type_name

__all__ = [
    "convert_image_dtype",
    "crop_to_bounding_box",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "flip_left_right",
    "flip_up_down",
    "per_image_standardization",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "resize",
    "rot90",
]


def decode_jpeg(
    contents: Operand,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Expr:
    """``image.decode(x, channels)``.

    Raises InvalidArgumentError for options that ``image.decode`` does not have, and for 0
    channels, as many as each image has.
    """
    not_used("ratio", ratio, 1)
    not_used("fancy_upscaling", fancy_upscaling, True)
    not_used("acceptable_fraction", acceptable_fraction, 1)
    if try_recover_truncated:
        raise InvalidArgumentError(
            "try_recover_truncated: the step decode_image(truncated='pad') decodes a part"
        )
    if dct_method == "INTEGER_FAST":
        return call("image.decode", contents, _channels(channels), "fast")
    return call("image.decode", contents, _channels(channels))


def decode_png(
    contents: Operand, channels: int = 0, dtype: Any = np.uint8, name: str | None = None
) -> Expr:
    """``image.decode(x, channels)``; as :func:`decode_jpeg`."""
    not_used("dtype", type_name(dtype), "uint8")
    return call("image.decode", contents, _channels(channels))


def decode_image(
    contents: Operand,
    channels: int = 0,
    dtype: Any = np.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Expr:
    """``image.decode(x, channels)``: the first image of an animation.

    Raises InvalidArgumentError unless ``expand_animations`` is False.
    """
    not_used("dtype", type_name(dtype), "uint8")
    not_used("expand_animations", expand_animations, False)
    return call("image.decode", contents, _channels(channels))


def _channels(channels: int) -> int:
    if channels not in (1, 3):
        raise InvalidArgumentError(
            f"channels: all images have as many here; write channels=3 or 1, found {channels}"
        )
    return channels


def resize(
    images: Operand,
    size: Sequence[int],
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Expr:
    """``image.resize(cast(x, float32), h, w, 'bilinear')``, or of x itself ``'nearest'``.

    Raises InvalidArgumentError for another method, and for a size that depends on the image.
    """
    not_used("preserve_aspect_ratio", preserve_aspect_ratio, False)
    not_used("antialias", antialias, False)
    if method == "nearest":
        raise InvalidArgumentError(
            "method: TensorFlow's nearest takes other pixels than image.resize(x, h, w, 'nearest')"
        )
    if method != "bilinear":
        raise InvalidArgumentError(
            f"method: expected 'bilinear', found {method!r}; fm.functions.image.resize has "
            "OpenCV's 'area' and 'cubic', which give other pixels than TensorFlow's"
        )
    height, width = size
    return call("image.resize", literal(images).astype(np.float32), height, width, "bilinear")


def crop_to_bounding_box(
    image: Operand, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Expr:
    """``image.crop(x, top, left, height, width)``."""
    box = offset_height, offset_width, target_height, target_width
    return call("image.crop", image, *box)


def random_crop(
    value: Operand, size: Sequence[int], seed: None = None, name: str | None = None
) -> Expr:
    """``image.random_crop(x, height, width)`` of all channels."""
    not_used("seed", seed)
    return call("image.random_crop", value, *size[:2])


def flip_left_right(image: Operand) -> Expr:
    """``image.flip_left_right(x)``."""
    return call("image.flip_left_right", image)


def flip_up_down(image: Operand) -> Expr:
    """``image.flip_up_down(x)``."""
    return call("image.flip_up_down", image)


def random_flip_left_right(image: Operand, seed: None = None) -> Expr:
    """Flips with probability 0.5. The pipeline has the seed."""
    not_used("seed", seed)
    return call("where", Expr("random.uniform() < 0.5"), flip_left_right(image), image)


def random_flip_up_down(image: Operand, seed: None = None) -> Expr:
    """Flips with probability 0.5. The pipeline has the seed."""
    not_used("seed", seed)
    return call("where", Expr("random.uniform() < 0.5"), flip_up_down(image), image)


def rot90(image: Operand, k: int = 1, name: str | None = None) -> Expr:
    """``image.rot90(x, k)``."""
    return call("image.rot90", image, k)


def convert_image_dtype(
    image: Operand, dtype: Any, saturate: bool = False, name: str | None = None
) -> Expr:
    """Floats from 0 to 1 of an image of uint8.

    Raises InvalidArgumentError for another dtype than float32.
    """
    not_used("dtype", type_name(dtype), "float32")
    return literal(image).astype(np.float32) * (1 / 255)


def per_image_standardization(image: Operand) -> Expr:
    """(x - mean) / max(deviation, 1 / sqrt(items)) in float32."""
    pixels = literal(image).astype(np.float32)
    centred = pixels - pixels.mean()
    deviation = call("sqrt", call("mean", call("square", centred)))
    items = call("prod", call("shape", image)).astype(np.float32)
    return centred / call("maximum", deviation, 1.0 / call("sqrt", items))


if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf.image", name, __all__)
