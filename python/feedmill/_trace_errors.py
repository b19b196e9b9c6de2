"""The line of the user's code that does what an expression cannot."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from feedmill.errors import TraceError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Lines of an expression that an error shows.
_LINES_MAX = 8


class _Span(NamedTuple):
    """The place of an expression: columns are bytes, from 0."""

    line: int
    last_line: int
    begin: int
    end: int


def trace_error(message: str) -> TraceError:
    """Returns a TraceError with the lines of the user's expression, and carets."""
    frame = _frame_of_user()
    if frame is None:
        return TraceError(message)
    file = frame.f_code.co_filename
    shown = _shown(file, frame.f_lineno, _span(frame))
    return TraceError(f"{file}:{frame.f_lineno}: {message}{shown}")


def trace_error_of(function: Callable[..., Any], message: str) -> TraceError:
    """Returns a TraceError with the place of a function, and its first line."""
    code = _code_of(function)
    if code is None:
        return TraceError(message)
    shown = _shown(code.co_filename, code.co_firstlineno, None)
    return TraceError(f"{place_of(function)}{message}{shown}")


def place_of(function: Callable[..., Any]) -> str:
    """Returns ``"file:line: "`` of a function of Python; else an empty text."""
    code = _code_of(function)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno}: "


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not hasattr(function, "__code__") and not isinstance(function, type):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    code = getattr(function, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _frame_of_user() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


# ---- the place of the expression that runs


def _span(frame: FrameType) -> _Span | None:
    if sys.version_info >= (3, 11):
        return _span_of_positions(frame)
    return _span_by_compiling(frame)


def _span_of_positions(frame: FrameType) -> _Span | None:
    code: Any = frame.f_code
    for index, (line, last_line, begin, end) in enumerate(code.co_positions()):
        if index == frame.f_lasti // 2:
            known = line == frame.f_lineno and None not in (last_line, begin, end)
            return _Span(line, last_line, begin, end) if known else None
    return None


def _span_by_compiling(frame: FrameType) -> _Span | None:
    """Finds the expression that runs; Python 3.10 keeps lines, but no columns.

    Compiles the file once more, with the number of each node in place of its line.
    None unless that gives the same instructions.
    """
    text = "".join(linecache.getlines(frame.f_code.co_filename))
    try:
        plain = compile(text, "", "exec", dont_inherit=True)
        tree = ast.parse(text)
        spans = _number(tree)
        numbered = compile(tree, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for code, other in _same_codes(plain, numbered):
        if code == frame.f_code and code.co_code == other.co_code:
            return spans.get(_line_of(other, frame.f_lasti))
    return None


def _number(tree: ast.AST) -> dict[int | None, _Span]:
    spans: dict[int | None, _Span] = {}
    for number, node in enumerate(ast.walk(tree), 1):
        if isinstance(node, (ast.expr, ast.stmt)) and node.end_lineno is not None:
            end = node.end_col_offset or 0
            spans[number] = _Span(node.lineno, node.end_lineno, node.col_offset, end)
            node.lineno = node.end_lineno = number
            node.col_offset = node.end_col_offset = 0
    return spans


def _same_codes(one: CodeType, other: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    yield one, other
    for a, b in zip(one.co_consts, other.co_consts, strict=False):
        if isinstance(a, CodeType) and isinstance(b, CodeType):
            yield from _same_codes(a, b)


def _line_of(code: CodeType, instruction: int) -> int | None:
    for begin, end, line in code.co_lines():
        if begin <= instruction < end:
            return line
    return None


# ---- text


def _shown(file: str, line: int, span: _Span | None) -> str:
    """Returns the lines of an expression, with carets below it; without one, the line."""
    last = line if span is None else min(span.last_line, line + _LINES_MAX - 1)
    lines = [linecache.getline(file, number).rstrip("\n") for number in range(line, last + 1)]
    if not lines[0].strip():
        return ""
    shown = []
    for number, text in enumerate(lines, line):
        shown.append(text)
        if span is not None and text.strip():
            shown.append(_carets(text, number, span))
    if span is not None and last < span.last_line:
        shown.append("…")
    return "\n\n" + "\n".join(shown)


def _carets(text: str, number: int, span: _Span) -> str:
    def column(bytes_before: int) -> int:
        return len(text.encode()[:bytes_before].decode(errors="replace"))

    begin = column(span.begin) if number == span.line else len(text) - len(text.lstrip())
    end = column(span.end) if number == span.last_line else len(text)
    return " " * begin + "^" * max(1, end - begin)
