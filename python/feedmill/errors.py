"""The exceptions that feedmill raises.

Every exception is an :class:`Error`. Most are also the exception of Python that
means the same, so that ``except FileNotFoundError`` works as usual. A message
says what is wrong, which file, step or record it is about, and what to do.
"""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """The base of all exceptions of feedmill.

    ``error_code`` is the number of the kind in ``absl::StatusCode``, gRPC and
    TensorFlow. ``message`` is the text. ``node_def`` and ``op`` are None, unless the
    exception was made of TensorFlow's arguments ``(node_def, op, message)``.

    >>> import feedmill as fm
    >>> try:
    ...     next(fm.Dataset.text("no such file").read())
    ... except fm.Error as error:
    ...     print(error.error_code, error.message.rpartition("/")[2])
    5 no such file: no such file, and nothing matches it
    """

    error_code: int = 2
    node_def: Any = None
    op: Any = None

    def __init__(self, *args: Any, message: Any = None) -> None:
        if message is not None:  # as PyTorch raises an error of a DataLoader's worker again
            args = (message,)
        if len(args) >= 3:
            self.node_def, self.op = args[:2]
            if len(args) > 3:
                self.error_code = args[3]
            args = args[2:3]
        super().__init__(*args)

    @property
    def message(self) -> str:
        """The text of the exception."""
        return str(self)


class CancelledError(Error):
    """The reading was closed while a thread waited for it."""

    error_code = 1


class UnknownError(Error, RuntimeError):
    """An error of a kind that is not known, such as another program's."""


class InvalidArgumentError(Error, ValueError):
    """The pipeline, an option, a state or an address is wrong."""

    error_code = 3


class DeadlineExceededError(Error, TimeoutError):
    """A wait took longer than its time-out."""

    error_code = 4


class NotFoundError(Error, FileNotFoundError):
    """A file, job or dataset of that name does not exist."""

    error_code = 5


class AlreadyExistsError(Error, FileExistsError):
    """A file, job or dataset of that name exists already."""

    error_code = 6


class PermissionDeniedError(Error, PermissionError):
    """The peer or the store knows this process, and refuses the request."""

    error_code = 7


class ResourceExhaustedError(Error, RuntimeError):
    """A bound of memory, files or peers was reached."""

    error_code = 8


class FailedPreconditionError(Error, RuntimeError):
    """The request is right but comes at the wrong moment.

    For example: the reader is closed, the job is being read by another reader,
    a file of the data has changed, the process has forked.
    """

    error_code = 9


class AbortedError(Error, RuntimeError):
    """The request met another one that excludes it; trying again may help."""

    error_code = 10


class OutOfRangeError(Error, IndexError):
    """The end of the data was reached where more was promised."""

    error_code = 11


class UnimplementedError(Error, NotImplementedError):
    """The peer or this release does not have the operation."""

    error_code = 12


class InternalError(Error, RuntimeError):
    """A bug of feedmill."""

    error_code = 13


class UnavailableError(Error, ConnectionError):
    """A peer or the network does not answer; trying again may help."""

    error_code = 14


class DataLossError(Error, ValueError):
    """A record, a file or a journal is corrupt."""

    error_code = 15


class PythonError(DataLossError):
    """A Python function of a step failed for an element.

    The message names the element, and has the whole traceback, or how the function's
    process ended.
    """


class UnauthenticatedError(Error, PermissionError):
    """The peer or the store does not know the keys of this process."""

    error_code = 16


class UnknownLengthError(Error, TypeError):
    """The number of elements is unknown before they are read, or infinite."""

    error_code = 9


class TraceError(Error, TypeError):
    """A function given to ``map`` or ``filter`` does what an expression cannot.

    The message says what to write instead.
    """

    error_code = 3


_BY_CODE: dict[str, type[Error]] = {
    "CANCELLED": CancelledError,
    "UNKNOWN": UnknownError,
    "INVALID_ARGUMENT": InvalidArgumentError,
    "DEADLINE_EXCEEDED": DeadlineExceededError,
    "NOT_FOUND": NotFoundError,
    "ALREADY_EXISTS": AlreadyExistsError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "ABORTED": AbortedError,
    "OUT_OF_RANGE": OutOfRangeError,
    "UNIMPLEMENTED": UnimplementedError,
    "INTERNAL": InternalError,
    "UNAVAILABLE": UnavailableError,
    "DATA_LOSS": DataLossError,
    "UNAUTHENTICATED": UnauthenticatedError,
}


def make_error(code: str, message: str) -> Error:
    """Returns the exception for an ``absl::StatusCode``. The extension calls it."""
    kind = _BY_CODE.get(code, UnknownError)
    if kind is DataLossError and ": the Python function " in message:
        kind = PythonError
    return kind(message)
