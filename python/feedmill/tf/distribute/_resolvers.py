"""The base of cluster resolvers, and those that need no network."""

from __future__ import annotations

import abc
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from feedmill import _feedmill
from feedmill.errors import InvalidArgumentError
from feedmill.tf.train import ClusterSpec

__all__ = [
    "ClusterResolver",
    "SageMakerClusterResolver",
    "SimpleClusterResolver",
    "TFConfigClusterResolver",
    "UnionClusterResolver",
    "UriResolver",
    "uri_of",
]


class ClusterResolver(abc.ABC):
    """Finds out which tasks a cluster has. The base of all resolvers; subclass it.

    A subclass has ``cluster_spec``, and the attributes or properties ``task_type``,
    ``task_id`` and ``rpc_layer``. Each call looks again.

    >>> class Fixed(ClusterResolver):
    ...     task_type, task_id, rpc_layer = "worker", 0, "tcp"
    ...     def cluster_spec(self):
    ...         return ClusterSpec({"worker": ["h0:1", "h1:1"]})
    >>> UnionClusterResolver(Fixed()).cluster_spec()
    ClusterSpec({'worker': ['h0:1', 'h1:1']})
    """

    task_type: Any = None
    task_id: Any = None
    rpc_layer: Any = None

    @abc.abstractmethod
    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster as it is now."""

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the task, or of this process's; ``""`` if none is known."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        layer = self.rpc_layer if rpc_layer is None else rpc_layer
        return _url(self.cluster_spec().task_address(task_type, task_id), layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns how many accelerators of each type this machine has."""
        return _feedmill.resolve_accelerators("env:", None, None)

    @property
    def environment(self) -> str:
        """The environment that it runs in: ``""``, or ``"google"``."""
        return ""

    def get_task_info(self) -> tuple[Any, Any]:
        """Returns (task_type, task_id)."""
        return self.task_type, self.task_id


class SimpleClusterResolver(ClusterResolver):
    """A cluster that is given.

    >>> resolver = SimpleClusterResolver(
    ...     ClusterSpec({"worker": ["h0:1", "h1:1"]}), task_type="worker", task_id=1,
    ...     rpc_layer="tcp",
    ... )
    >>> resolver.master(task_type="worker", task_id=0)
    'tcp://h0:1'

    Raises TypeError unless ``cluster_spec`` is a ClusterSpec and ``master`` a string.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError(f"cluster_spec: expected a ClusterSpec, found {cluster_spec!r}")
        if not isinstance(master, str):
            raise TypeError(f"master: expected a string, found {master!r}")
        self._spec = cluster_spec
        self._master = master
        self._environment = environment
        self._num_accelerators = dict(num_accelerators or {})
        self.task_type = task_type
        self.task_id = task_id
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster that was given."""
        return self._spec

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the task, or the master that was given."""
        address = self._master
        if task_type is not None and task_id is not None:
            address = self._spec.task_address(task_type, task_id)
        return _url(address, self.rpc_layer if rpc_layer is None else rpc_layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns the numbers that were given."""
        return dict(self._num_accelerators)

    @property
    def environment(self) -> str:
        """The environment that was given."""
        return self._environment


class UnionClusterResolver(ClusterResolver):
    """Several clusters as one: tasks of one job from several resolvers are appended.

    ``task_type``, ``task_id`` and ``rpc_layer`` are keywords, else as of the first
    resolver. Raises KeyError if two resolvers have the same index of a job of which one
    says indices.
    """

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        unknown = set(kwargs) - {"task_type", "task_id", "rpc_layer"}
        if unknown:
            raise InvalidArgumentError(f"no such argument: {', '.join(sorted(unknown))}")
        if not args:
            raise InvalidArgumentError("a union needs at least one resolver")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"expected a ClusterResolver, found {resolver!r}")
        self._resolvers = args
        first = args[0]
        self.task_type = kwargs.get("task_type", first.task_type)
        self.task_id = kwargs.get("task_id", first.task_id)
        self.rpc_layer = kwargs.get("rpc_layer", getattr(first, "rpc_layer", None))

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster of all jobs and tasks."""
        parts: dict[str, list[Any]] = {}
        for resolver in self._resolvers:
            for job, tasks in resolver.cluster_spec().as_dict().items():
                parts.setdefault(job, []).append(tasks)
        return ClusterSpec({job: _joined(job, found) for job, found in parts.items()})

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the task, or the first resolver's master."""
        layer = self.rpc_layer if rpc_layer is None else rpc_layer
        if task_type is not None and task_id is not None:
            return _url(self.cluster_spec().task_address(task_type, task_id), layer)
        return self._resolvers[0].master(rpc_layer=layer)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns the first resolver's."""
        return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

    @property
    def environment(self) -> str:
        """The environment of the first resolver."""
        return self._resolvers[0].environment


class _Resolved:
    """A property of a UriResolver that is resolved at each look, unless it was set."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def __get__(self, resolver: UriResolver | None, kind: type) -> Any:
        if resolver is None:
            return self
        given = resolver._given.get(self._name)
        return resolver._resolved()[self._name] if given is None else given

    def __set__(self, resolver: UriResolver, value: Any) -> None:
        resolver._given[self._name] = value


class UriResolver(ClusterResolver):
    """A resolver of ``feedmill resolve``, by its URI: the base of those below."""

    def __init__(
        self,
        uri: str,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._uri = uri
        self._given: dict[str, Any] = {
            "task_type": task_type,
            "task_id": task_id,
            "rpc_layer": rpc_layer,
        }
        self._environment = environment

    def _resolved(self) -> dict[str, Any]:
        resolved: dict[str, Any] = json.loads(_feedmill.resolve(self._uri))
        return resolved

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster as it is now."""
        return ClusterSpec(self._resolved()["cluster"])

    def master(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
    ) -> str:
        """Returns the address of the task, or of this process's; ``""`` if none is known."""
        return _feedmill.resolve_master(
            self._uri,
            self._given["task_type"] if task_type is None else task_type,
            self._given["task_id"] if task_id is None else task_id,
            self._given["rpc_layer"] if rpc_layer is None else rpc_layer,
        )

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns how many accelerators of each type the task's machine has."""
        return _feedmill.resolve_accelerators(self._uri, task_type, task_id)

    task_type = _Resolved("The job of this process's task; None if it is not known.")
    task_id = _Resolved("The index of this process's task; None if it is not known.")
    rpc_layer = _Resolved("The protocol of addresses, before ``://``.")

    @property
    def environment(self) -> str:
        """The environment that it runs in."""
        if self._environment is not None:
            return self._environment
        return str(self._resolved()["environment"])


class TFConfigClusterResolver(UriResolver):
    """The cluster of the environment variable ``TF_CONFIG``.

    >>> import os
    >>> os.environ["TF_CONFIG"] = json.dumps(
    ...     {"cluster": {"worker": ["h0:1", "h1:1"]}, "task": {"type": "worker", "index": 1}}
    ... )
    >>> resolver = TFConfigClusterResolver()
    >>> resolver.task_type, resolver.task_id, resolver.master()
    ('worker', 1, 'h1:1')
    >>> del os.environ["TF_CONFIG"]
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        super().__init__("tf_config:", task_type, task_id, rpc_layer, environment)


class SageMakerClusterResolver(UriResolver):
    """The hosts of ``SM_HOSTS``, of which ``SM_CURRENT_HOST`` is this one.

    An empty variable stands for no hosts, or for no task of this process.
    """

    def __init__(
        self,
        port: int = 2223,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        uri = uri_of("sagemaker:", port=port)
        super().__init__(uri, task_type, task_id, rpc_layer, environment)


def uri_of(scheme: str, **parameters: Any) -> str:
    given = [f"{k}={quote(str(v), safe='')}" for k, v in parameters.items() if v is not None]
    return f"{scheme}?{'&'.join(given)}" if given else scheme


def _url(address: str, layer: str | None) -> str:
    return f"{layer}://{address}" if address and layer else address


def _joined(job: str, parts: list[Any]) -> list[str] | dict[int, str]:
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    joined: dict[int, str] = {}
    for part in parts:
        for index, address in enumerate(part) if isinstance(part, list) else part.items():
            if index in joined:
                raise KeyError(f"job {job!r}: several resolvers have a task {index}")
            joined[index] = address
    return joined
