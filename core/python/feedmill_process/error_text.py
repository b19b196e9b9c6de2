"""Texts of errors."""

import inspect
import os
import traceback

TEXT_MAX = 60_000  # bytes of a message
SUMMARY_MAX = 2_000


def cut(text, most=TEXT_MAX):
    """Returns the text as bytes, without its middle if it is long: a message has a bound."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return data
    return data[: most // 2] + "\n[…]\n".encode() + data[-most // 2 :]


def formatted(error, own_frames):
    """Returns the traceback without the first frames, which this process adds."""
    trace = error.__traceback__
    if isinstance(error, MemoryError):
        traceback.clear_frames(trace)  # a text needs memory, too
    for _ in range(own_frames):
        if trace is not None:
            trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return cut(text).decode("utf-8", "replace").rstrip("\n")


def place_of(maker):
    """Returns the place of a function, or of where a generator yields; "" if unknown."""
    frame = getattr(maker, "gi_frame", None)
    code = frame.f_code if frame is not None else getattr(maker, "__code__", None)
    if code is None:
        return ""
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    # A function that is pickled by value does not keep the name of its file.
    if os.path.exists(code.co_filename):
        return f"{code.co_filename}:{line}: "
    return f"{maker.__qualname__}, line {line}: "


def named(function):
    """Returns the name and the place of a function."""
    function = inspect.unwrap(function)
    name = getattr(function, "__qualname__", None) or f"a {type(function).__qualname__}"
    code = getattr(function, "__code__", None)
    if code is None:
        return name
    file = f"{code.co_filename}:" if os.path.exists(code.co_filename) else "line "
    return f"{name} ({file}{code.co_firstlineno})"


def summary(error):
    """Returns the exception as its traceback's last lines."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    return cut(text, SUMMARY_MAX).decode("utf-8", "replace")
