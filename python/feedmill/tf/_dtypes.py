"""TensorFlow's dtypes as NumPy's, specs of tensors, and errors about names that are not here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from feedmill._foreign_names import hint
from feedmill.errors import InvalidArgumentError

__all__ = [
    "TensorSpec",
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bfloat16 = "bfloat16"  # NumPy has it with the package ml_dtypes alone
bool = np.dtype("bool")
float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
string = np.dtype("S")


class TensorSpec:
    """Shape and dtype of a tensor, for ``output_signature`` and ``element_spec``.

    >>> from feedmill import tf
    >>> tf.TensorSpec([None, 3], tf.float32)
    TensorSpec(shape=(None, 3), dtype='float32')
    """

    def __init__(
        self, shape: Sequence[int | None], dtype: Any = "float32", name: str | None = None
    ) -> None:
        self.shape = tuple(shape)
        self.dtype: Any = dtype if type_name(dtype) == bfloat16 else np.dtype(dtype)
        self.name = name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={type_name(self.dtype)!r})"


def type_name(dtype: Any) -> str:
    """Returns feedmill's name of a dtype of NumPy, of TensorFlow, or of this package."""
    if isinstance(dtype, str) and dtype == bfloat16:
        return dtype
    name = getattr(dtype, "name", None) or np.dtype(dtype).name
    return "bytes" if name in ("string", "bytes", "str") else str(name)


def type_text(dtype: Any, shape: Iterable[int | None], default: Any = None) -> str:
    """Returns a type as ``parse_example`` takes it: ``"float32[3] = 0"``.

    Raises InvalidArgumentError for a default of several different values.
    """
    dims = ",".join("?" if dim is None else str(dim) for dim in shape)
    text = type_name(dtype) + (f"[{dims}]" if dims else "")
    if default is None:
        return text
    values = set(np.ravel(np.asarray(default)).tolist())
    if len(values) != 1:
        raise InvalidArgumentError(
            f"default_value: all items of a default are equal here, found {default!r}"
        )
    (value,) = values
    return f"{text} = {value.decode() if isinstance(value, bytes) else value}"


def no_name(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Returns the error of a name that a module of this package does not have."""
    end = "" if name.startswith("_") else hint(name, "functions", known)
    return AttributeError(
        f"feedmill's {module} has no {name}{end or '; docs/tf.md lists its names'}"
    )


def not_used(name: str, value: Any, default: Any = None) -> None:
    """Raises InvalidArgumentError for an argument that has no effect here."""
    if value != default:
        raise InvalidArgumentError(f"{name}: only {default!r} has a meaning here, found {value!r}")
