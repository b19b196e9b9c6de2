"""feedmill: input data for machine learning, prepared on other machines.

The documentation is in the folder docs of this package; begin with docs/python.md.

>>> import feedmill as fm
>>> ds = fm.Dataset.range(8).map(lambda x: x * x).batch(4)
>>> with ds.read() as reader:
...     for batch in reader:
...         print(batch)
[0 1 4 9]
[16 25 36 49]
"""

from typing import TYPE_CHECKING

from feedmill import errors, functions
from feedmill._certificates import offer_certifi
from feedmill._feedmill import set_log_level
from feedmill._feedmill import version as __version__
from feedmill._foreign_names import hint as _hint
from feedmill._python_functions import rng
from feedmill.dataset import ComponentSpec, Dataset
from feedmill.errors import (
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    Error,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    PythonError,
    ResourceExhaustedError,
    TraceError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    UnknownLengthError,
)
from feedmill.expressions import Expr, col, expr
from feedmill.loader import Loader
from feedmill.reader import Reader, describe_state, merge_states
from feedmill.servers import DispatchServer, MetricsServer, WorkerServer, find_dispatcher

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "ComponentSpec",
    "DataLossError",
    "Dataset",
    "DeadlineExceededError",
    "DispatchServer",
    "Error",
    "Expr",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "Loader",
    "MetricsServer",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "PythonError",
    "Reader",
    "ResourceExhaustedError",
    "TraceError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "UnknownLengthError",
    "WorkerServer",
    "__version__",
    "col",
    "describe_state",
    "errors",
    "expr",
    "find_dispatcher",
    "functions",
    "merge_states",
    "rng",
    "set_log_level",
]

if not TYPE_CHECKING:  # a type checker reports unknown names

    def __getattr__(name):
        end = "" if name.startswith("_") else _hint(name, "", __all__)
        raise AttributeError(f"module 'feedmill' has no attribute {name!r}{end}")


# A library says nothing of its own accord; set_log_level("info") tells what
# servers do.
set_log_level("warning")
offer_certifi()
