"""The functions that expressions can call (docs/expressions.md lists them).

``fm.functions.image.resize(e.image, 224, 224, "bilinear")`` is the expression
``image.resize(image, 224, 224, 'bilinear')``. Functions of plugins that
``FEEDMILL_OP_PLUGINS`` names are here, too.

>>> import feedmill as fm
>>> fm.functions.length(fm.col("text"))
Expr('length(text)')
"""

from __future__ import annotations

import functools
from typing import Any

from feedmill import _feedmill
from feedmill._trace_errors import trace_error
from feedmill.expressions import Expr, call


@functools.cache
def _names() -> tuple[str, ...]:
    return tuple(_feedmill.function_names())


def _found(name: str) -> Function:
    if name not in _names() and not any(known.startswith(f"{name}.") for known in _names()):
        nearest = _feedmill.nearest_function(name)
        hint = f"; did you mean {nearest}?" if nearest else "; docs/expressions.md lists them"
        raise AttributeError(f"expressions have no function {name}{hint}")
    return Function(name)


class Function:
    """A function of expressions, or the first part of such a name: ``image``."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any) -> Expr:
        """Returns the expression of a call."""
        if self._name not in _names():
            raise trace_error(f"{self._name} is no function, but the first part of its name")
        return call(self._name, *arguments)

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        return _found(f"{self._name}.{name}")

    def __dir__(self) -> list[str]:
        inner = f"{self._name}."
        return [name.removeprefix(inner) for name in _names() if name.startswith(inner)]

    def __repr__(self) -> str:
        return f"feedmill.functions.{self._name}"


def __getattr__(name: str) -> Function:
    if name.startswith("_"):
        raise AttributeError(f"module 'feedmill.functions' has no attribute {name!r}")
    return _found(name)


def __dir__() -> list[str]:
    return sorted({name.split(".")[0] for name in _names()})
