"""The names of tf.data service, for programs that were written for it.

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

from feedmill.tf import data, distribute, errors, train

__all__ = ["Session", "data", "distribute", "errors", "train"]


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
