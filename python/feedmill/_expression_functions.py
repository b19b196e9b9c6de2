"""The functions that expressions can call, as the registry names them."""

from __future__ import annotations

import functools
from typing import Any

from feedmill import _feedmill
from feedmill._foreign_names import hint
from feedmill._trace_errors import trace_error
from feedmill.expressions import Expr, call


@functools.cache
def names() -> tuple[str, ...]:
    """Returns the names of all functions, such as ``image.resize``."""
    return tuple(_feedmill.function_names())


def found(name: str) -> Function:
    """Returns the function, or the first part of a name; AttributeError names the nearest."""
    if name not in names() and not any(known.startswith(f"{name}.") for known in names()):
        end = hint(name, "functions", names()) or "; docs/expressions.md lists them"
        raise AttributeError(f"expressions have no function {name}{end}")
    return Function(name)


class Function:
    # A function of expressions, or the first part of such a name: ``image``. Its own
    # documentation is what ``feedmill functions`` says.

    __slots__ = ("_name",)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return _feedmill.function_help(self._name) or "\n".join(
            f"{self._name}.{name}" for name in dir(self)
        )

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *arguments: Any) -> Expr:
        """Returns the expression of a call."""
        if self._name not in names():
            raise trace_error(f"{self._name} is no function, but the first part of its name")
        return call(self._name, *arguments)

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        return found(f"{self._name}.{name}")

    def __dir__(self) -> list[str]:
        inner = f"{self._name}."
        return [name.removeprefix(inner) for name in names() if name.startswith(inner)]

    def __repr__(self) -> str:
        return f"feedmill.functions.{self._name}"
