"""The line of the user's code that does what an expression cannot."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType

from feedmill.errors import TraceError

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _frame_of_user() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame


def _columns(frame: FrameType) -> tuple[int, int] | None:
    """The columns of the expression that runs, where Python knows them (3.11)."""
    positions = getattr(frame.f_code, "co_positions", None)
    if positions is None or frame.f_lasti < 0:
        return None
    for index, (line, last_line, begin, end) in enumerate(positions()):
        if index == frame.f_lasti // 2:
            if line != frame.f_lineno or last_line != line or begin is None:
                return None
            return begin, end
    return None


def trace_error(message: str) -> TraceError:
    """Returns a TraceError with the line of the user's code, and a caret."""
    frame = _frame_of_user()
    if frame is None:
        return TraceError(message)
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip("\n")
    if not line.strip():
        return TraceError(f"{place}: {message}")
    shown = f"{place}: {message}\n\n{line}"
    columns = _columns(frame)
    if columns is not None:
        begin, end = (len(line.encode()[:column].decode(errors="replace")) for column in columns)
        shown += "\n" + " " * begin + "^" * max(1, end - begin)
    return TraceError(shown)
