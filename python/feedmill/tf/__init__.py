"""The names of tf.data and of its service, for programs that were written for them.

>>> from feedmill import tf
>>> dispatcher = tf.data.experimental.service.DispatchServer()
>>> dispatcher_address = dispatcher.target.split("://")[1]
>>> worker = tf.data.experimental.service.WorkerServer(
...     tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher_address)
... )
>>> dataset = tf.data.Dataset.range(10)
>>> dataset = dataset.apply(
...     tf.data.experimental.service.distribute(
...         processing_mode="parallel_epochs", service=dispatcher.target
...     )
... )
>>> print([int(x) for x in dataset.as_numpy_iterator()])
[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]

Signatures and defaults are as in TensorFlow 2.21. Everything is feedmill: nothing
here imports tensorflow. docs/tf.md lists the differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedmill.tf import _dtypes, _functions, data, distribute, errors, image, io, strings, train
from feedmill.tf._dtypes import *  # noqa: F403
from feedmill.tf._dtypes import no_name
from feedmill.tf._functions import *  # noqa: F403

__all__ = [
    *_dtypes.__all__,
    *_functions.__all__,
    "Session",
    "data",
    "distribute",
    "errors",
    "image",
    "io",
    "strings",
    "train",
]


class Session:
    """Holds the target of a server, as ``with tf.Session(server.target)`` expects.

    There are no graphs to run: it has no ``run``.
    """

    def __init__(self, target: str = "") -> None:
        self.target = target

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing."""


if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf", name, __all__)
