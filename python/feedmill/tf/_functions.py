"""TensorFlow's functions of tensors that are functions of expressions, in traced functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from feedmill.expressions import Expr, Operand, call, literal

__all__ = [
    "abs",
    "cast",
    "clip_by_value",
    "concat",
    "exp",
    "gather",
    "maximum",
    "minimum",
    "one_hot",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "shape",
    "sqrt",
    "square",
    "stack",
    "transpose",
    "where",
]


def abs(x: Operand, name: str | None = None) -> Expr:
    """``abs(x)``."""
    return call("abs", x)


def cast(x: Operand, dtype: Any, name: str | None = None) -> Expr:
    """``cast(x, dtype)``."""
    return literal(x).astype(dtype)


def clip_by_value(
    t: Operand, clip_value_min: Operand, clip_value_max: Operand, name: str | None = None
) -> Expr:
    """``clip(x, low, high)``."""
    return call("clip", t, clip_value_min, clip_value_max)


def concat(values: Sequence[Operand], axis: int, name: str | None = None) -> Expr:
    """``concat(a, b, …, axis)``."""
    return call("concat", *values, axis)


def exp(x: Operand, name: str | None = None) -> Expr:
    """``exp(x)``."""
    return call("exp", x)


def gather(params: Operand, indices: Operand, name: str | None = None) -> Expr:
    """``gather(x, indices)`` along the first axis."""
    return call("gather", params, indices)


def maximum(x: Operand, y: Operand, name: str | None = None) -> Expr:
    """``maximum(x, y)``."""
    return call("maximum", x, y)


def minimum(x: Operand, y: Operand, name: str | None = None) -> Expr:
    """``minimum(x, y)``."""
    return call("minimum", x, y)


def one_hot(indices: Operand, depth: int, dtype: Any = np.float32, name: str | None = None) -> Expr:
    """``one_hot(i, depth, dtype)``."""
    return call("one_hot", indices, depth, Expr(np.dtype(dtype).name))


def _reduced(function: str, value: Operand, axis: int | None, keepdims: bool) -> Expr:
    if keepdims:
        raise TypeError(f"reduce_{function}: keepdims is not there; reshape the result")
    return call(function, value) if axis is None else call(function, value, axis)


def reduce_max(
    input_tensor: Operand, axis: int | None = None, keepdims: bool = False, name: str | None = None
) -> Expr:
    """``max(x)`` or ``max(x, axis)``."""
    return _reduced("max", input_tensor, axis, keepdims)


def reduce_mean(
    input_tensor: Operand, axis: int | None = None, keepdims: bool = False, name: str | None = None
) -> Expr:
    """``mean(x)`` or ``mean(x, axis)``; float64 of integers."""
    return _reduced("mean", input_tensor, axis, keepdims)


def reduce_min(
    input_tensor: Operand, axis: int | None = None, keepdims: bool = False, name: str | None = None
) -> Expr:
    """``min(x)`` or ``min(x, axis)``."""
    return _reduced("min", input_tensor, axis, keepdims)


def reduce_sum(
    input_tensor: Operand, axis: int | None = None, keepdims: bool = False, name: str | None = None
) -> Expr:
    """``sum(x)`` or ``sum(x, axis)``; int64 of integers."""
    return _reduced("sum", input_tensor, axis, keepdims)


def reshape(tensor: Operand, shape: Sequence[int], name: str | None = None) -> Expr:
    """``reshape(x, [n, -1])``."""
    return call("reshape", tensor, list(shape))


def shape(input: Operand, name: str | None = None) -> Expr:
    """``shape(x)``; int64."""
    return call("shape", input)


def sqrt(x: Operand, name: str | None = None) -> Expr:
    """``sqrt(x)``."""
    return call("sqrt", x)


def square(x: Operand, name: str | None = None) -> Expr:
    """``square(x)``."""
    return call("square", x)


def stack(values: Sequence[Operand], axis: int = 0, name: str = "stack") -> Expr:
    """``stack(a, b, …, axis)``."""
    return call("stack", *values, axis)


def transpose(a: Operand, perm: Sequence[int] | None = None, name: str = "transpose") -> Expr:
    """``transpose(x)`` or ``transpose(x, [axes])``."""
    return call("transpose", a) if perm is None else call("transpose", a, list(perm))


def where(condition: Operand, x: Operand, y: Operand, name: str | None = None) -> Expr:
    """``where(c, a, b)``."""
    return call("where", condition, x, y)
