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
from typing import TYPE_CHECKING, Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from feedmill import _arguments as check
from feedmill.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from feedmill.servers import DispatchServer, WorkerServer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Service", "launch"]

# Seconds that a worker has to drain, and that an actor has to answer after that.
_DRAIN_SECONDS = 8
_ANSWER_SECONDS = 2


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

        Nothing is lost or repeated in reads that run meanwhile. A worker that does not drain
        within 10 s ends all the same: it may wait for resources, or restart.

        Raises DeadlineExceededError if a worker is not registered within ``timeout`` (its
        actor may wait for resources: ``ray status`` says it). It stays and may come later.
        Raises UnavailableError if a worker cannot start. It is removed.
        """
        check.count("workers", workers)
        self._drain(self._workers[workers:], timeout)
        self._workers += [self._make_worker() for _ in range(workers - len(self._workers))]
        self._wait_registered(timeout)

    def _drain(self, gone: list[Any], timeout: float) -> None:
        """Ends workers, the last ones of the list."""
        if not gone:
            return
        del self._workers[-len(gone) :]
        try:
            drains = [worker.drain.remote(_DRAIN_SECONDS) for worker in gone]
            limit = min(timeout, _DRAIN_SECONDS + _ANSWER_SECONDS)
            ray.wait(drains, num_returns=len(drains), timeout=limit)
        finally:
            for worker in gone:
                ray.kill(worker)

    def _wait_registered(self, timeout: float) -> None:
        """Waits until all workers are registered, also those that restart meanwhile."""
        end = time.monotonic() + timeout
        asked: dict[Any, Any] = {}  # calls and their workers
        missing = list(self._workers)
        while True:
            left = max(0.0, end - time.monotonic())
            for worker in missing:
                asked[worker.wait_registered.remote(left)] = worker
            missing = []
            if not asked:
                return
            answered, _ = ray.wait(list(asked), timeout=left)
            for call in answered:
                worker = asked.pop(call)
                if not self._is_registered(worker, call):
                    missing.append(worker)
            if time.monotonic() >= end and (asked or missing):
                raise DeadlineExceededError(
                    f"{len(asked) + len(missing)} of {len(self._workers)} workers did not register "
                    f"with {self.target} within {timeout} s; 'ray status' says whether their "
                    "actors wait"
                )
            if missing:
                time.sleep(0.1)

    def _is_registered(self, worker: Any, call: Any) -> bool:
        """Returns the answer of a call that has ended; False if its worker restarts."""
        try:
            return bool(ray.get(call))
        except ray.exceptions.RayActorError as error:
            if not error.actor_init_failed:
                return False
            self._workers.remove(worker)
            raise UnavailableError(f"a worker's actor did not start: {error}") from error

    def status(self, timeout: float = 60) -> dict[str, Any]:
        """Returns jobs, workers and totals, as ``feedmill status`` prints them.

        Raises DeadlineExceededError if the dispatcher does not answer within ``timeout``,
        and UnavailableError if it has ended.
        """
        if self._dispatcher is None:
            raise UnavailableError("the service has been stopped")
        return dict(_answer(self._dispatcher.status.remote(), "did not answer", timeout))

    def stop(self) -> None:
        """Ends the service and deletes the dispatcher's state. May be called twice.

        The state stays if the dispatcher does not answer, for example because its node is
        gone.
        """
        workers, self._workers = self._workers, []
        dispatcher, self._dispatcher = self._dispatcher, None
        if not ray.is_initialized():
            return  # the actors ended with the driver
        for worker in workers:
            ray.kill(worker)
        if dispatcher is not None:
            # wait() does not raise what the call did: a caller's own exception would be hidden.
            ray.wait([dispatcher.stop.remote()], timeout=_DRAIN_SECONDS + _ANSWER_SECONDS)
            ray.kill(dispatcher)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<feedmill.ray.Service {self.target} with {self.workers} workers>"


def _answer(call: Any, failed: str, timeout: float) -> Any:
    """Returns what the dispatcher's actor answers to a call."""
    try:
        return ray.get(call, timeout=timeout)
    except ray.exceptions.GetTimeoutError:
        raise DeadlineExceededError(f"the dispatcher's actor {failed} within {timeout} s") from None
    except ray.exceptions.RayActorError as error:
        raise UnavailableError(f"the dispatcher's actor {failed}: {error}") from error


def launch(
    workers: int = 1,
    *,
    label_selector: Mapping[str, str] | None = None,
    num_cpus: float = 1,
    threads: int = 0,
    memory_bytes: int = 0,
    work_dir: str | os.PathLike[str] = "",
    keys: str | os.PathLike[str] = "",
    insecure_bind: bool = False,
    allow_python: bool = False,
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
      memory_bytes: Of each worker: bound of what is computed and not yet sent. 0: as of
        :class:`WorkerServer`.
      work_dir: Folder of the dispatcher's state on the caller's node. Default: a new folder
        in the temporary folder. ``stop`` deletes it.
      keys, insecure_bind: As of DispatchServer. Without either, the service listens on
        loopback, so all actors and readers must be on one machine.
      allow_python: Whether workers run the Python functions of pipelines, by the
        interpreter of their Ray node (docs/python_functions.md).
      timeout: How long actors may take to start.

    Raises DeadlineExceededError if they do not start within ``timeout``, and
    UnavailableError if one of them cannot start.
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
        target = _answer(dispatcher.target.remote(), "did not start", timeout)
    except BaseException:
        ray.kill(dispatcher)
        raise
    options = {
        "threads": threads or max(1, int(num_cpus)),
        "memory_bytes": memory_bytes,
        "allow_python": check.flag("allow_python", allow_python),
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
