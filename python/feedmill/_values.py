"""Arguments of sources and steps as values of a definition."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._trace_errors import trace_error
from feedmill.errors import InvalidArgumentError
from feedmill.expressions import (
    OTHERS,
    Element,
    Expr,
    Scalar,
    component_text,
    literal,
    nesting,
    trace,
)

# Data of an option, which the extension reads as it reads YAML.
Value: TypeAlias = (
    "bool | int | float | str | list[Any] | dict[str, Any] | _feedmill.Pipeline | None"
)
Files: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
Types: TypeAlias = "Mapping[str, str | type | np.dtype[Any]]"
Compression = Literal["none", "gzip", "zstd", "bz2", "xz"]
Shape: TypeAlias = "int | Sequence[int | str | None]"
# An expression: its text, fm.col("image") / 255, or a function of the element.
Expression: TypeAlias = "str | Expr | Callable[[Any], Expr | bool]"
Outputs: TypeAlias = (
    "str | Expr | Mapping[str, Expression | Scalar] | Callable[[Any], Expr | Mapping[str, Any]]"
)


# Types of times, by the unit of NumPy's datetime64.
TIMES = {
    "D": "date",
    "s": "timestamp[s]",
    "ms": "timestamp[ms]",
    "us": "timestamp[us]",
    "ns": "timestamp[ns]",
}


def type_name(value: Any) -> str:
    """Returns feedmill's name of a type of Python or NumPy. Raises TypeError for others."""
    if value in (str, bytes):
        return str(value.__name__)
    if isinstance(value, str) and value == "bfloat16":  # NumPy has it with ml_dtypes alone
        return value
    dtype = np.dtype(value)  # int is int64
    if dtype.kind == "M" and np.datetime_data(dtype)[1] == 1:
        return TIMES.get(np.datetime_data(dtype)[0], str(dtype.name))
    return str(dtype.name)


def _type_text(value: Any) -> str:
    """Returns the name of a type of Python or NumPy in definitions."""
    try:
        return type_name(value)
    except TypeError:
        return repr(value)


def plain(value: Any) -> Value:
    """Returns ``value`` as data of a definition."""
    if isinstance(value, (type, np.dtype)):
        return _type_text(value)
    if isinstance(value, np.generic):  # float64 is a float, too
        return plain(value.item())
    if value is None or isinstance(value, (bool, int, float, _feedmill.Pipeline)):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, os.PathLike):
        return plain(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (bytes, bytearray)):
        return [plain(item) for item in value]
    raise InvalidArgumentError(
        f"{value!r} cannot be an option; use numbers, bools, texts, paths, lists and dicts"
    )


def options(**given: Any) -> dict[str, Value]:
    """Returns the options that are given, those that are not None."""
    return {name: plain(value) for name, value in given.items() if value is not None}


def required(name: str, value: Any) -> Value:
    """Returns an option that has no default."""
    if value is None:
        raise InvalidArgumentError(f"{name}: expected a value, found None")
    return plain(value)


def files_of(files: Files) -> Value:
    """Returns names of files, or globs, as an option of a source."""
    if isinstance(files, (str, os.PathLike)):
        return plain(files)
    if isinstance(files, (Sequence, np.ndarray)) and not isinstance(files, (bytes, bytearray)):
        wrong = [one for one in files if not isinstance(one, (str, os.PathLike))]
        if not wrong:
            return plain(files)
        files = wrong[0]
    raise InvalidArgumentError(
        f"files: expected a path, a glob, a folder, or a list of them, found {files!r}"
    )


def padded_shapes(given: Mapping[str, Shape] | None) -> dict[str, Value] | None:
    """Returns shapes to pad to; ``"?"`` stands for a dimension that is None."""
    if given is None:
        return None
    return {
        name: plain(shape)
        if isinstance(shape, (int, str))
        else ["?" if dim is None else plain(dim) for dim in shape]
        for name, shape in given.items()
    }


def column_runs(given: Mapping[str, tuple[str, str]] | None) -> list[Value] | None:
    """Returns the components that are made of several columns, from the first to the last."""
    if given is None:
        return None
    return [f"{name}={first}..{last}" for name, (first, last) in given.items()]


def texts(name: str, given: Sequence[str]) -> list[Value]:
    """Returns a list of texts, such as names of components."""
    return [check.text(name, one) for one in given]


def component_names(names: Mapping[str, str] | None, named: Mapping[str, str]) -> dict[str, Value]:
    """Returns new names of components, by their old ones."""
    if not isinstance(names or {}, Mapping):
        raise InvalidArgumentError('rename: expected names, as in rename({"old": "new"})')
    given = {**(names or {}), **named}
    return {old: component_text(new) for old, new in given.items()}


def expression(value: Expression) -> str:
    """Returns an expression's text."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (Expr, Element)):
        return literal(value).text
    if not callable(value):
        raise InvalidArgumentError(
            "expected an expression: a text, fm.col(…) > 1, or a function of the element; found "
            f"{value!r}"
        )
    return literal(trace(value)).text


def _output(name: str, value: Any, traced: bool) -> str:
    if isinstance(value, str):
        if traced:
            raise InvalidArgumentError(
                f"{name}: the function returned the text {value!r}; write {value.encode()!r} for "
                "that byte string, fm.col(…) for a component, fm.expr(…) for an expression"
            )
        return str(value)
    if callable(value) and not isinstance(value, (Expr, Element)) and not traced:
        value = trace(value)
    return literal(value).text


def outputs(
    value: Outputs | None, named: Mapping[str, Any], step: str = "map"
) -> tuple[str, str | dict[str, Value]]:
    """Returns the name of a step and what it makes: an expression's text, or texts by name.

    The step is with_columns if a map's function returns ``{**e, …}``.
    """
    traced = callable(value) and not isinstance(value, (Expr, Element))
    made: Any = trace(value) if traced else value  # type: ignore[arg-type]
    if isinstance(made, Mapping) and OTHERS in made:
        if step == "flat_map" or next(iter(made)) != OTHERS:
            raise trace_error(
                "**e keeps all components: only map and with_columns take it, at the beginning "
                'of the dict, as in {**e, "x": e.x + 1}'
            )
        made = {name: one for name, one in made.items() if name != OTHERS}
        step = "with_columns"
    for given in (made, named):
        nested = nesting(given)
        if nested is not None:
            raise trace_error(f"{step} was given {nested}")
    if isinstance(made, Mapping) or named:
        if made is not None and not isinstance(made, Mapping):
            raise InvalidArgumentError("give one expression, or components by name, not both")
        texts: dict[str, Value] = {
            str(name): _output(str(name), one, traced) for name, one in (made or {}).items()
        }
        for name, one in named.items():
            if name in texts:
                raise InvalidArgumentError(f'"{name}" is given twice, in the dict and by keyword')
            texts[name] = _output(name, one, traced=False)
        if not texts:
            raise InvalidArgumentError("an element needs a component; give an expression")
        return step, texts
    if made is None:
        raise InvalidArgumentError(
            "there is no expression"
            + ("; the function returned None: does it lack a return?" if traced else "")
        )
    return step, _output("the element", made, traced)


def key_of(by: Outputs | None) -> str | dict[str, Value] | None:
    """Returns the expressions of a key, None if there are none."""
    return None if by is None else outputs(by, {}, "by")[1]
