"""``tf.strings``: functions of texts, in functions that ``map`` traces.

>>> from feedmill import tf
>>> lines = tf.data.TextLineDataset("notes.txt")
>>> next(iter(lines.map(lambda line: tf.strings.upper(line))))
b'FIRST LINE'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from feedmill.expressions import Expr, Operand, call
from feedmill.tf._dtypes import no_name, not_used, type_name

__all__ = [
    "as_string",
    "length",
    "lower",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_number",
    "upper",
]


def as_string(input: Operand, name: str | None = None) -> Expr:
    """``to_string(n)`` of an integer."""
    return call("to_string", input)


def length(input: Operand, unit: str = "BYTE", name: str | None = None) -> Expr:
    """``length(s)``, or with the unit ``"UTF8_CHAR"`` ``utf8_length(s)``."""
    return call("utf8_length" if unit == "UTF8_CHAR" else "length", input)


def lower(input: Operand, encoding: str = "", name: str | None = None) -> Expr:
    """``lower(s)``, or with the encoding ``"utf-8"`` ``utf8_lower(s)``."""
    return call("utf8_lower" if encoding == "utf-8" else "lower", input)


def upper(input: Operand, encoding: str = "", name: str | None = None) -> Expr:
    """``upper(s)``, or with the encoding ``"utf-8"`` ``utf8_upper(s)``."""
    return call("utf8_upper" if encoding == "utf-8" else "upper", input)


def strip(input: Operand, name: str | None = None) -> Expr:
    """``strip(s)``."""
    return call("strip", input)


def substr(input: Operand, pos: int, len: int, unit: str = "BYTE", name: str | None = None) -> Expr:
    """``substr(s, start, length)``."""
    not_used("unit", unit, "BYTE")
    return call("substr", input, pos, len)


def split(
    input: Operand, sep: str | None = None, maxsplit: int = -1, name: str | None = None
) -> Expr:
    """``split(s)`` or ``split(s, 'sep')`` of one text."""
    not_used("maxsplit", maxsplit, -1)
    return call("split", input) if not sep else call("split", input, sep)


def regex_replace(
    input: Operand,
    pattern: str,
    rewrite: str,
    replace_global: bool = True,
    name: str | None = None,
) -> Expr:
    """``re_replace(s, 'pattern', 'rewrite')``."""
    not_used("replace_global", replace_global, True)
    return call("re_replace", input, pattern, rewrite)


def regex_full_match(input: Operand, pattern: str, name: str | None = None) -> Expr:
    """``re_match`` of the whole text."""
    return call("re_match", input, rf"\A(?:{pattern})\z")


def to_number(input: Operand, out_type: Any = np.float32, name: str | None = None) -> Expr:
    """``to_number(s, dtype)``."""
    return call("to_number", input, Expr(type_name(out_type)))


if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf.strings", name, __all__)
