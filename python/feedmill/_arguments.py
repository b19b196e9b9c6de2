"""Arguments whose types are checked before the extension sees them.

Each function returns the value, or raises InvalidArgumentError that names the
argument, what it has to be and what was found.
"""

from __future__ import annotations

import operator
import os
from typing import Any, Literal, TypeAlias

from feedmill.errors import InvalidArgumentError

_COUNT_MAX = (1 << 64) - 1

Even: TypeAlias = Literal["exact", "drop", "pad"]
EVEN = ("exact", "drop", "pad")
Nulls: TypeAlias = Literal["error", "fill", "masked"]
NULLS = ("error", "fill", "masked")


def _refuse(name: str, expected: str, value: object) -> InvalidArgumentError:
    return InvalidArgumentError(f"{name}: expected {expected}, found {value!r}")


def count(name: str, value: Any, most: int = _COUNT_MAX) -> int:
    """An integer from 0 to ``most``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= most:
        raise _refuse(name, f"an integer from 0 to {most}", value)
    return number


def optional_count(name: str, value: Any) -> int | None:
    """An integer, or None."""
    return None if value is None else count(name, value)


def text(name: str, value: Any) -> str:
    """A str."""
    if not isinstance(value, str):
        raise _refuse(name, "a text", value)
    return value


def path(name: str, value: Any) -> str:
    """A path as str."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise _refuse(name, "a path", value) from None


def seconds(name: str, value: Any) -> float:
    """A number of seconds, 0 or more."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, (bool, str)) or not number >= 0:
        raise _refuse(name, "seconds, 0 or more", value)
    return number


def optional_seconds(name: str, value: Any) -> float | None:
    """The same, or None."""
    return None if value is None else seconds(name, value)


def flag(name: str, value: Any) -> bool:
    """A bool."""
    if value is not True and value is not False:
        raise _refuse(name, "True or False", value)
    return bool(value)


def even(name: str, value: Any) -> Even:
    """One of Even."""
    if value not in EVEN:
        raise _refuse(name, '"exact", "drop" or "pad"', value)
    chosen: Even = value
    return chosen


def nulls(name: str, value: Any) -> Nulls:
    """One of Nulls."""
    if value not in NULLS:
        raise _refuse(name, '"error", "fill" or "masked"', value)
    chosen: Nulls = value
    return chosen


def ranges(name: str, value: Any) -> list[tuple[int, int]]:
    """Pairs of integers."""
    try:
        pairs = [(first, last) for first, last in value]
    except (TypeError, ValueError):
        raise _refuse(name, "pairs like [(10, 20)]", value) from None
    return [(count(name, first), count(name, last)) for first, last in pairs]
