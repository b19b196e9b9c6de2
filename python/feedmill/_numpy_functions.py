"""The functions of NumPy that are functions of expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from feedmill._trace_errors import trace_error
from feedmill.expressions import Expr, call, join, literal

_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "floor_divide": "//", "remainder": "%", "power": "**", "matmul": "@",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "left_shift": "<<", "right_shift": ">>",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    "equal": "==", "not_equal": "!=", "logical_and": "and", "logical_or": "or",
}  # fmt: skip
_NAMES = {"absolute": "abs", "rint": "round"}
_SAME = frozenset(
    [
        *("minimum", "maximum", "sqrt", "exp", "log", "log1p", "expm1", "floor", "ceil", "square"),
        *("sign", "sin", "cos", "tanh", "isnan", "isfinite", "logical_not"),
    ]
)


def ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Expr:
    """The expression for ``ufunc(*inputs)``."""
    name: str = ufunc.__name__
    if method != "__call__":
        raise trace_error(f"np.{name}.{method} is no expression; np.sum, np.max and so on are")
    if options:
        raise trace_error(f"np.{name} takes no {', '.join(options)} in an expression")
    if name in _OPERATORS:
        return join(_OPERATORS[name], *inputs)
    if name == "negative":
        return -literal(inputs[0])
    if name == "positive":
        return +literal(inputs[0])
    if name in ("invert", "bitwise_not"):
        return ~literal(inputs[0])
    if name in _SAME or name in _NAMES:
        return call(_NAMES.get(name, name), *inputs)
    raise _no_function(name)


def _no_function(name: str) -> Exception:
    return trace_error(
        f"np.{name} is no function of expressions; docs/expressions.md lists them, and "
        "fm.functions has those that NumPy lacks"
    )


def _reduction(name: str) -> Callable[..., Expr]:
    def reduced(a: Any, axis: int | None = None) -> Expr:
        return call(name, a) if axis is None else call(name, a, axis)

    return reduced


def _clip(a: Any, a_min: Any, a_max: Any) -> Expr:
    return call("clip", a, a_min, a_max)


def _concatenate(arrays: Any, axis: int = 0) -> Expr:
    return call("concat", *arrays, axis)


def _stack(arrays: Any, axis: int = 0) -> Expr:
    return call("stack", *arrays, axis)


def _take(a: Any, indices: Any, axis: int | None = None) -> Expr:
    if axis != 0:
        raise trace_error("np.take needs axis=0 in an expression")
    return call("gather", a, indices)


def _where(condition: Any, x: Any, y: Any) -> Expr:
    return call("where", condition, x, y)


def _round(a: Any, decimals: int = 0) -> Expr:
    if decimals != 0:
        raise trace_error("np.round needs decimals=0 in an expression")
    return call("round", a)


def _cumsum(a: Any) -> Expr:
    return call("cumsum", a)


def _last_axis(name: str) -> Callable[..., Expr]:
    def ordered(a: Any, axis: int = -1) -> Expr:
        if axis != -1:
            raise trace_error(f"np.{name} needs axis=-1, the last one, in an expression")
        return call(name, a)

    return ordered


_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    **{name: _reduction(name) for name in ("sum", "prod", "mean", "min", "max", "any", "all")},
    "amin": _reduction("min"),
    "amax": _reduction("max"),
    "argmin": _reduction("argmin"),
    "argmax": _reduction("argmax"),
    "clip": _clip,
    "concatenate": _concatenate,
    "stack": _stack,
    "take": _take,
    "where": _where,
    "round": _round,
    "around": _round,
    "cumsum": _cumsum,
    "sort": _last_axis("sort"),
    "argsort": _last_axis("argsort"),
    "unique": lambda ar: call("unique", ar),
    "isin": lambda element, test_elements: call("isin", element, test_elements),
    "digitize": lambda x, bins: call("bucketize", x, bins),
    "dot": lambda a, b: literal(a) @ b,
    "shape": lambda a: call("shape", a),
    "reshape": lambda a, shape: literal(a).reshape(shape),
    "transpose": lambda a, axes=(): literal(a).transpose(*(axes or ())),
}


def function(function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Expr:
    """The expression for ``function(*arguments, **options)``."""
    name: str = function.__name__
    found = _FUNCTIONS.get(name)
    if found is None or getattr(np, name, None) is not function:
        raise _no_function(name)
    try:
        return found(*arguments, **options)
    except TypeError as error:
        if type(error) is not TypeError:
            raise
        raise trace_error(f"np.{name} takes other arguments in an expression: {error}") from None
