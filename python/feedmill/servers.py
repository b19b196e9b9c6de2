"""A service in Python processes: the dispatcher and workers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill._python_functions import interpreter

if TYPE_CHECKING:
    from typing_extensions import Self

_Native = TypeVar("_Native", _feedmill.Dispatcher, _feedmill.Worker)


def find_dispatcher(cluster: str) -> str:
    """Returns ``"host:port"`` of the dispatcher of a cluster, for ``read(service=…)``.

    Args:
      cluster: URI as of ``feedmill resolve``, such as ``"slurm:"`` or
        ``"tf_config:?roles=dispatcher=ps,worker=data"``.

    Raises NotFoundError if the cluster has no dispatcher, InvalidArgumentError if it
    has several, or if its address has no port.
    """
    return _feedmill.find_dispatcher(check.text("cluster", cluster))


class _Server(Generic[_Native]):
    """The methods of both servers."""

    _native: _Native
    _process = 0  # that started it
    _target = ""

    def start(self) -> None:
        """Begins to serve; nothing if it already does.

        Raises UnavailableError if the port is taken, FailedPreconditionError after
        :meth:`stop`.
        """
        self._native.start()
        self._process, self._target = os.getpid(), self._native.target

    def stop(self) -> None:
        """Ends serving at once. May be called twice."""
        self._native.stop()

    def join(self) -> None:
        """Waits until the server has stopped, and raises why if it ended by itself.

        Ctrl-C ends the wait and leaves the server running.
        """
        self._native.join()

    @property
    def target(self) -> str:
        """``tcp://host:port`` where others reach it; empty before :meth:`start`."""
        return self._target

    @property
    def running(self) -> bool:
        """True while it serves."""
        return self._native.running

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._process == os.getpid():  # a forked process does not end its parent's servers
            self.stop()

    def __repr__(self) -> str:
        return f"<feedmill.{type(self).__name__} {self.target or 'not started'}>"


class DispatchServer(_Server[_feedmill.Dispatcher]):
    """The dispatcher: plans jobs and hands their work to workers.

    It begins to serve at once, unless ``start=False``, in threads of its own that
    never hold the GIL. It stops when it is garbage, or at the end of a ``with``.

    >>> import feedmill as fm
    >>> with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
    ...     [int(x) for x in fm.Dataset.range(3).read(service=dispatcher.target)]
    [0, 1, 2]

    Args:
      port: 0 for any free one; ``target`` has it.
      work_dir: Folder that keeps the state through restarts; may be one of a store,
        ``s3://bucket/folder`` or ``gs://bucket/folder``, or ``postgresql://host/database``.
        Default: in memory.
      standby: Waits in :meth:`start` while another dispatcher leads the state in
        ``work_dir``, and takes over then. A folder's is of the same machine. Ctrl-C
        ends the wait.
      host: Where to listen. Other hosts than loopback need ``keys``, or
        ``insecure_bind=True``, which admits any process that can connect.
      advertise: Where others reach it, if not at ``host``.
      keys: The folder of its keys (docs/security.md).
      cluster_id: Peers that name another cluster are refused.
    """

    def __init__(
        self,
        port: int = 0,
        work_dir: str | os.PathLike[str] | None = None,
        *,
        standby: bool = False,
        host: str = "127.0.0.1",
        advertise: str = "",
        cluster_id: str = "",
        keys: str | os.PathLike[str] = "",
        insecure_bind: bool = False,
        start: bool = True,
    ) -> None:
        self._native = _feedmill.Dispatcher(
            host=check.text("host", host),
            port=check.count("port", port, most=65535),
            work_dir="" if work_dir is None else check.path("work_dir", work_dir),
            standby=check.flag("standby", standby),
            advertise=check.text("advertise", advertise),
            cluster_id=check.text("cluster_id", cluster_id),
            keys=check.path("keys", keys),
            insecure_bind=check.flag("insecure_bind", insecure_bind),
        )
        if start:
            self.start()

    def status(self) -> dict[str, Any]:
        """Returns jobs, workers and totals, as ``feedmill status`` prints them."""
        state: dict[str, Any] = json.loads(self._native.export_state())
        return state


class WorkerServer(_Server[_feedmill.Worker]):
    """A worker: reads, decodes and batches what the dispatcher hands to it.

    It begins to serve at once, unless ``start=False``, and registers in the
    background.

    Args:
      dispatcher: ``target`` of the dispatcher.
      port, host, advertise, keys, cluster_id, insecure_bind: As of DispatchServer.
      threads: 0 for as many as this process may use.
      memory_bytes: Bound of what is computed and not yet sent. 0: 64 MiB a thread, at
        least 256 MiB, and no more than that if an eighth of the memory is less.
      server_key: The dispatcher's public key. Default: dispatcher.pub in ``keys``.
      allow_python: Interpreter that runs the Python functions of pipelines
        (docs/python_functions.md); True: that of this process. Any reader may then run
        any code as this user. Default: such pipelines are refused.
    """

    def __init__(
        self,
        dispatcher: str,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        threads: int = 0,
        memory_bytes: int = 0,
        advertise: str = "",
        cluster_id: str = "",
        keys: str | os.PathLike[str] = "",
        server_key: str = "",
        insecure_bind: bool = False,
        allow_python: str | os.PathLike[str] | bool | None = None,
        start: bool = True,
    ) -> None:
        python, python_path = interpreter(allow_python)
        self._native = _feedmill.Worker(
            allow_python=python,
            python_path=python_path,
            dispatcher=check.text("dispatcher", dispatcher),
            host=check.text("host", host),
            port=check.count("port", port, most=65535),
            threads=check.count("threads", threads, most=4096),
            memory_bytes=check.count("memory_bytes", memory_bytes),
            advertise=check.text("advertise", advertise),
            cluster_id=check.text("cluster_id", cluster_id),
            keys=check.path("keys", keys),
            server_key=check.text("server_key", server_key),
            insecure_bind=check.flag("insecure_bind", insecure_bind),
        )
        if start:
            self.start()

    @property
    def registered(self) -> bool:
        """True once the dispatcher has answered."""
        return self._native.registered

    def drain(self, timeout: float = 30) -> None:
        """Takes nothing new, finishes what it has, then stops; join() waits for it."""
        self._native.drain(check.seconds("timeout", timeout))


class MetricsServer:
    """Serves Prometheus metrics of the readers of this process over HTTP.

    It begins at once, in threads of its own that never hold the GIL. It stops when it is
    garbage, or at the end of a ``with``. docs/monitoring.md lists the metrics.

    >>> import feedmill as fm
    >>> with fm.MetricsServer() as metrics:
    ...     metrics.url.startswith("http://127.0.0.1:")
    True

    Args:
      address: ``"host:port"``; port 0 is any free one.
      open: Allows an address that other machines can reach: any process that reaches
        it may read the names of jobs.

    Raises InvalidArgumentError if the address has another form, or if other machines
    can reach it and ``open`` is false; UnavailableError if the port is taken.
    """

    def __init__(self, address: str = "127.0.0.1:0", *, open: bool = False) -> None:
        self._native = _feedmill.MetricsServer(
            address=check.text("address", address), open=check.flag("open", open)
        )
        self._process = os.getpid()

    @property
    def url(self) -> str:
        """``http://host:port``; the metrics are at ``/metrics``."""
        return self._native.url

    def stop(self) -> None:
        """Ends serving. May be called twice."""
        self._native.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process == os.getpid():
            self.stop()

    def __repr__(self) -> str:
        return f"<feedmill.MetricsServer {self.url}>"
