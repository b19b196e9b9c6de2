"""``tf.train``: a cluster, and one task of it as a server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill.errors import InvalidArgumentError, NotFoundError

__all__ = ["ClusterDef", "ClusterSpec", "JobDef", "Server", "ServerDef"]


@dataclass
class JobDef:
    """A job of a :class:`ClusterDef`: its name, and task indices with addresses."""

    name: str = ""
    tasks: dict[int, str] = field(default_factory=dict)


class _Jobs(list[JobDef]):
    """A list that adds as a repeated field of a protocol buffer does."""

    def add(self, name: str = "", tasks: Mapping[int, str] | None = None) -> JobDef:
        """Appends a job and returns it."""
        self.append(JobDef(name, dict(tasks or {})))
        return self[-1]


class ClusterDef:
    """A cluster as plain data, with the fields of the protocol buffer.

    >>> definition = ClusterDef()
    >>> job = definition.job.add(name="worker")
    >>> job.tasks[0] = "localhost:2222"
    >>> ClusterSpec(definition)
    ClusterSpec({'worker': ['localhost:2222']})
    """

    def __init__(self, job: list[JobDef] | None = None) -> None:
        self.job = _Jobs(job or [])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterDef) and self.job == other.job

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterDef(job={list(self.job)!r})"


class ClusterSpec:
    """A cluster: named jobs, each a list of addresses or a dict of them by task index.

    >>> cluster = ClusterSpec({"worker": {1: "worker1:2222"}, "ps": ["ps0:2222", "ps1:2222"]})
    >>> cluster.jobs, cluster.num_tasks("ps"), cluster.task_address("worker", 1)
    (['worker', 'ps'], 2, 'worker1:2222')
    >>> cluster.job_tasks("worker")
    [None, 'worker1:2222']

    ``cluster`` is a dict, another ClusterSpec, or a ClusterDef: this module's or
    TensorFlow's. Raises TypeError if it is none of them or has values of other types, and
    ValueError for a task index that is no integer.
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, dict[int, str]] = {}
        for name, tasks in _jobs_of(cluster):
            if isinstance(name, bytes):
                name = name.decode()
            if not isinstance(name, str):
                raise TypeError(f"the name of a job is a string, not {name!r}")
            self._jobs[name] = {
                _index(name, index): _address(name, address) for index, address in _pairs(tasks)
            }

    def __bool__(self) -> bool:
        """True if there is a job."""
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return f"ClusterSpec({{{shown}}})"

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Returns the jobs: lists of addresses, or dicts where indices are missing."""
        return {
            job: [tasks[i] for i in range(len(tasks))]
            if tasks and set(tasks) == set(range(len(tasks)))
            else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Returns a :class:`ClusterDef`, of its own, with jobs and tasks in order."""
        jobs = sorted(self._jobs.items())
        return ClusterDef([JobDef(job, dict(sorted(tasks.items()))) for job, tasks in jobs])

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks of a job; ValueError if there is no such job."""
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the indices of a job's tasks; ValueError if there is no such job."""
        return sorted(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task; ValueError if there is no such job or task."""
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise InvalidArgumentError(
                f"the job {job_name!r} has no task {task_index!r}; it has {sorted(tasks)}"
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses by index, None where an index is missing.

        Raises ValueError if there is no such job.
        """
        tasks = self._tasks(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise InvalidArgumentError(
                f"no such job in the cluster: {job_name!r}; it has {sorted(self._jobs)}"
            )
        return self._jobs[job_name]

    def _json(self) -> str:
        return json.dumps({job: {str(i): a for i, a in t.items()} for job, t in self._jobs.items()})


class ServerDef:
    """Which task of which cluster a server is, as plain data."""

    def __init__(
        self,
        cluster: Any = None,
        job_name: str = "",
        task_index: int | None = None,
        default_session_config: object = None,
        protocol: str = "",
        port: int = 0,
    ) -> None:
        self.cluster = ClusterSpec({} if cluster is None else cluster).as_cluster_def()
        self.job_name = job_name
        self.task_index = task_index
        self.default_session_config = default_session_config
        self.protocol = protocol
        self.port = port

    def __repr__(self) -> str:
        return (
            f"ServerDef(cluster={self.cluster!r}, job_name={self.job_name!r}, "
            f"task_index={self.task_index!r}, protocol={self.protocol!r})"
        )


class Server:
    """One task of a cluster in this process.

    The task of the job ``dispatcher`` is a dispatcher, tasks of ``worker`` are workers
    of it. The task of ``local`` is both. A task of another job, such as ``ps``, listens
    and says who it is; so do all tasks of a cluster without a dispatcher.

    >>> server = Server({"local": ["localhost:0"]})
    >>> server.target == "grpc://" + server.server_def.cluster.job[0].tasks[0]
    True

    Args:
      server_or_cluster_def: A ServerDef, a ClusterDef, a ClusterSpec, or a dict.
      job_name: Default: the ServerDef's, or the only job.
      task_index: Default: the ServerDef's, or the only task of the job.
      protocol: ``"grpc"``, which stands for ``"tcp"``. Default: the ServerDef's.
      config: Kept in ``server_def``, and not used.
      start: Serve at once.
      keys, insecure_bind: As of :class:`feedmill.DispatchServer`. A task whose address is
        not on loopback needs one of them.

    Raises InvalidArgumentError, a ValueError, if the task is missing, or if it needs keys;
    NotFoundError if the cluster does not have it, UnavailableError if the port is taken.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: object = None,
        start: bool = True,
        *,
        keys: str | os.PathLike[str] = "",
        insecure_bind: bool = False,
    ) -> None:
        port = 0
        given = server_or_cluster_def
        if hasattr(given, "cluster") and hasattr(given, "job_name"):
            job_name = job_name if job_name is not None else given.job_name or None
            task_index = given.task_index if task_index is None else task_index
            protocol = protocol if protocol is not None else given.protocol or None
            config = getattr(given, "default_session_config", None) if config is None else config
            port = given.port
            given = given.cluster
        self._config = config
        self._protocol = protocol_of(protocol)
        self._cluster = ClusterSpec(given)
        self._native = _feedmill.Task(
            cluster=self._cluster._json(),
            job_name=job_name,
            task_index=None if task_index is None else check.count("task_index", task_index),
            protocol="tcp",
            port=check.count("port", port, most=65535),
            keys=check.path("keys", keys),
            insecure_bind=check.flag("insecure_bind", insecure_bind),
        )
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: object = None, start: bool = True) -> Server:
        """Returns a cluster of this process alone: a dispatcher and a worker.

        >>> from feedmill import tf
        >>> import feedmill as fm
        >>> server = tf.train.Server.create_local_server()
        >>> [int(x) for x in fm.Dataset.range(3).read(server.target)]
        [0, 1, 2]
        """
        return Server({"local": ["localhost:0"]}, config=config, start=start)

    def start(self) -> None:
        """Serves; nothing if it does."""
        try:
            self._native.start()
        except InvalidArgumentError as error:
            if "--insecure-bind" not in str(error):
                raise
            raise InvalidArgumentError(
                "the task's address is not on loopback, where any process of the network reaches "
                "it: give Server(…, keys=FOLDER) (docs/security.md), or, on a network that you "
                "trust, insecure_bind=True"
            ) from None

    def stop(self) -> None:
        """Ends serving. May be called twice."""
        self._native.stop()

    def join(self) -> None:
        """Waits until the server has stopped; Ctrl-C ends the wait."""
        self._native.join()

    @property
    def target(self) -> str:
        """``grpc://host:port`` where others reach it."""
        return self._native.target.replace("tcp", self._protocol, 1)

    @property
    def server_def(self) -> ServerDef:
        """The task and its cluster; once it serves, with the port that was bound."""
        known: dict[str, Any] = json.loads(self._native.definition())
        return ServerDef(
            known["cluster"],
            known["job_name"],
            known["task_index"],
            self._config,
            self._protocol,
            port=known["port"],
        )


def protocol_of(protocol: str | None) -> str:
    """Returns the name of a protocol; each stands for TCP. NotFoundError for others."""
    if protocol not in (None, "", "grpc", "tcp"):
        raise NotFoundError(f'protocol: {protocol!r}; there are "grpc" and, for the same, "tcp"')
    return protocol or "grpc"


def _jobs_of(cluster: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(cluster, ClusterSpec):
        yield from cluster._jobs.items()
    elif isinstance(cluster, Mapping):
        yield from cluster.items()
    elif hasattr(cluster, "job") and not isinstance(cluster, str):
        yield from ((job.name, dict(job.tasks)) for job in cluster.job)
    else:
        raise TypeError(
            "a cluster is a dict of jobs, a ClusterDef or a ClusterSpec, not "
            f"{type(cluster).__name__}"
        )


def _pairs(tasks: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(tasks, Mapping):
        yield from tasks.items()
    elif isinstance(tasks, (list, tuple)):
        yield from enumerate(tasks)
    else:
        raise TypeError(f"the tasks of a job are a list or a dict, not {type(tasks).__name__}")


def _index(job: str, index: Any) -> int:
    try:
        number = int(index) if isinstance(index, (str, int)) else None
    except ValueError:
        number = None
    if number is None or isinstance(index, bool) or number < 0:
        _refuse_index(job, index)
    return number


def _refuse_index(job: str, index: Any) -> NoReturn:
    raise InvalidArgumentError(f"job {job!r}: a task index is an integer from 0 on, not {index!r}")


def _address(job: str, address: Any) -> str:
    if isinstance(address, bytes):
        address = address.decode()
    if not isinstance(address, str):
        raise TypeError(f"job {job!r}: an address is a string, not {address!r}")
    return address
