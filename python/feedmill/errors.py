"""The exceptions that feedmill raises.

Every exception is an :class:`Error`. Most are also the exception of Python that
means the same, so that ``except FileNotFoundError`` works as usual. A message
says what is wrong, which file, step or record it is about, and what to do.
"""

from __future__ import annotations


class Error(Exception):
    """The base of all exceptions of feedmill."""


class InvalidArgumentError(Error, ValueError):
    """The pipeline, an option, a state or an address is wrong."""


class NotFoundError(Error, FileNotFoundError):
    """A file, job or dataset of that name does not exist."""


class FailedPreconditionError(Error, RuntimeError):
    """The request is right but comes at the wrong moment.

    For example: the reader is closed, the job is being read by another reader,
    a file of the data has changed, the process has forked.
    """


class DataLossError(Error, ValueError):
    """A record, a file or a journal is corrupt."""


class PythonError(DataLossError):
    """A Python function of a step failed for an element.

    The message names the element, and has the whole traceback, or how the function's
    process ended.
    """


class OutOfRangeError(Error, IndexError):
    """The end of the data was reached where more was promised."""


class ResourceExhaustedError(Error, RuntimeError):
    """A bound of memory, files or peers was reached."""


class UnavailableError(Error, ConnectionError):
    """A peer or the network does not answer; trying again may help."""


class DeadlineExceededError(Error, TimeoutError):
    """A wait took longer than its time-out."""


class CancelledError(Error):
    """The reading was closed while a thread waited for it."""


class InternalError(Error, RuntimeError):
    """A bug of feedmill."""


class UnknownLengthError(Error, TypeError):
    """The number of elements is unknown before they are read, or infinite."""


class TraceError(Error, TypeError):
    """A function given to ``map`` or ``filter`` does what an expression cannot.

    The message says what to write instead.
    """


_BY_CODE: dict[str, type[Error]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "DATA_LOSS": DataLossError,
    "OUT_OF_RANGE": OutOfRangeError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": DeadlineExceededError,
    "CANCELLED": CancelledError,
}


def make_error(code: str, message: str) -> Error:
    """Returns the exception for an ``absl::StatusCode``. The extension calls it."""
    kind = _BY_CODE.get(code, InternalError)
    if kind is DataLossError and ": the Python function " in message:
        kind = PythonError
    return kind(message)
