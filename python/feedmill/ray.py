"""Ray: a service in actors of a Ray cluster. ``launch`` starts it.

This module imports ray; ``import feedmill`` does not. docs/ray.md explains it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from feedmill import _arguments as check
from feedmill.errors import DeadlineExceededError, InvalidArgumentError
from feedmill.servers import DispatchServer, WorkerServer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Service", "launch"]


class _Dispatcher:
    """The dispatcher as an actor. It comes back at the same address, with its state."""

    def __init__(self, host: str, folder: str, options: Mapping[str, Any]) -> None:
        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        path = os.path.join(folder, "port")
        port = 0
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                port = int(file.read())
        self._server = DispatchServer(port, os.path.join(folder, "state"), host=host, **options)
        with open(path + ".new", "w", encoding="ascii") as file:
            file.write(self._server.target.rpartition(":")[2])
        os.replace(path + ".new", path)

    def target(self) -> str:
        return self._server.target

    def status(self) -> dict[str, Any]:
        return self._server.status()

    def stop(self) -> None:
        self._server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def pid(self) -> int:
        return os.getpid()


class _Worker:
    """A worker as an actor. It is a new worker after a restart."""

    def __init__(self, dispatcher: str, loopback: bool, options: Mapping[str, Any]) -> None:
        host = "127.0.0.1" if loopback else ray.util.get_node_ip_address()
        self._server = WorkerServer(dispatcher, host=host, **options)

    def wait_registered(self, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not self._server.registered and time.monotonic() < end:
            time.sleep(0.02)
        return self._server.registered

    def drain(self, timeout: float) -> None:
        self._server.drain(timeout)
        self._server.join()

    def pid(self) -> int:
        return os.getpid()


class Service:
    """A dispatcher and workers in a Ray cluster; ``launch`` makes it.

    ``target`` is what ``read(service=…)`` takes, in any task, actor or Ray Train worker.
    At the end of a ``with``, or by :meth:`stop`, the service ends. It also ends with the
    driver that launched it.
    """

    def __init__(
        self,
        dispatcher: Any,
        target: str,
        make_worker: Any,
    ) -> None:
        self._dispatcher = dispatcher
        self._make_worker = make_worker
        self._workers: list[Any] = []
        self.target = target

    @property
    def workers(self) -> int:
        """The number of worker actors."""
        return len(self._workers)

    def scale(self, workers: int, timeout: float = 60) -> None:
        """Starts workers, or drains the youngest ones, until there are ``workers``.

        Nothing is lost or repeated in reads that run meanwhile.

        Raises DeadlineExceededError if a worker does not register within ``timeout`` (its
        actor may wait for resources: ``ray status`` says it). It stays and may come later.
        """
        check.count("workers", workers)
        gone = self._workers[workers:]
        del self._workers[workers:]
        ray.get([worker.drain.remote(8) for worker in gone])
        for worker in gone:
            ray.kill(worker)
        fresh = [self._make_worker() for _ in range(workers - len(self._workers))]
        self._workers += fresh
        waits = [worker.wait_registered.remote(timeout) for worker in fresh]
        ready, _ = ray.wait(waits, num_returns=len(waits), timeout=timeout) if waits else ([], [])
        if not all(ray.get(ready)) or len(ready) < len(waits):
            raise DeadlineExceededError(
                f"{len(waits) - len(ready)} of {len(waits)} workers did not register with "
                f"{self.target} within {timeout} s; 'ray status' says whether their actors wait"
            )

    def status(self) -> dict[str, Any]:
        """Returns jobs, workers and totals, as ``feedmill status`` prints them."""
        state: dict[str, Any] = ray.get(self._dispatcher.status.remote())
        return state

    def stop(self) -> None:
        """Ends the service and deletes the dispatcher's state. May be called twice."""
        for worker in self._workers:
            ray.kill(worker)
        self._workers.clear()
        if self._dispatcher is not None:
            ray.get(self._dispatcher.stop.remote())
            ray.kill(self._dispatcher)
            self._dispatcher = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<feedmill.ray.Service {self.target} with {self.workers} workers>"


def launch(
    workers: int = 1,
    *,
    label_selector: Mapping[str, str] | None = None,
    num_cpus: float = 1,
    threads: int = 0,
    memory_bytes: int = 256 << 20,
    work_dir: str | os.PathLike[str] = "",
    keys: str | os.PathLike[str] = "",
    insecure_bind: bool = False,
    timeout: float = 60,
) -> Service:
    """Starts a dispatcher and ``workers`` workers as actors, and waits until they serve.

    Ray restarts an actor that dies. The dispatcher runs on the node of the caller and
    comes back at the same address with its state; readers and workers wait for it.

    >>> import feedmill as fm, feedmill.ray          # doctest: +SKIP
    >>> with feedmill.ray.launch(workers=4, label_selector={"node-kind": "cpu"}) as service:
    ...     for batch in dataset.read(service.target, job="train"):
    ...         ...

    Args:
      workers: Worker actors.
      label_selector: Labels of the nodes for workers, as Ray's option of this name takes
        them: ``{"node-kind": "cpu"}``, or ``{"ray.io/accelerator-type": "!H100"}``.
      num_cpus: CPUs that each worker's actor reserves.
      threads: Of each worker. Default: ``num_cpus``, at least 1.
      memory_bytes: Of each worker: bound of what is computed and not yet sent.
      work_dir: Folder of the dispatcher's state on the caller's node. Default: a new folder
        in the temporary folder. ``stop`` deletes it.
      keys, insecure_bind: As of DispatchServer. Without either, the service listens on
        loopback, so all actors and readers must be on one machine.
      timeout: How long actors may take to start.

    Raises DeadlineExceededError if they do not start within ``timeout``.
    """
    check.count("workers", workers)
    folder = check.path("work_dir", work_dir) if work_dir else ""
    key_folder = check.path("keys", keys) if keys else ""
    loopback = not key_folder and not check.flag("insecure_bind", insecure_bind)
    if not ray.is_initialized():
        raise InvalidArgumentError("Ray is not initialized; call ray.init() first")
    folder = folder or os.path.join(tempfile.gettempdir(), f"feedmill-ray-{uuid.uuid4().hex[:12]}")
    security = {"keys": key_folder, "insecure_bind": insecure_bind}
    here = ray.get_runtime_context().get_node_id()
    host = "127.0.0.1" if loopback else ray.util.get_node_ip_address()
    dispatcher = (
        ray.remote(_Dispatcher)
        .options(
            num_cpus=0,
            max_restarts=-1,
            scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
        )
        .remote(host, folder, security)
    )
    try:
        target = ray.get(dispatcher.target.remote(), timeout=timeout)
    except ray.exceptions.GetTimeoutError:
        ray.kill(dispatcher)
        raise DeadlineExceededError(
            f"the dispatcher's actor did not start within {timeout} s"
        ) from None
    options = {
        "threads": threads or max(1, int(num_cpus)),
        "memory_bytes": memory_bytes,
        **security,
    }
    placement: dict[str, Any] = {"num_cpus": num_cpus, "max_restarts": -1}
    if label_selector:
        placement["label_selector"] = dict(label_selector)
    worker = ray.remote(_Worker).options(**placement)
    service = Service(dispatcher, target, lambda: worker.remote(target, loopback, options))
    try:
        service.scale(workers, timeout)
    except BaseException:
        service.stop()
        raise
    return service
