"""Clusters that an API of Kubernetes or of Google Cloud lists."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import quote

from feedmill.errors import Error, FailedPreconditionError, InvalidArgumentError, UnimplementedError
from feedmill.tf.distribute._resolvers import ClusterResolver, UriResolver, uri_of
from feedmill.tf.train import ClusterSpec


class KubernetesExecutableLocation(enum.Enum):
    """The place of this process. Here it decides nothing: both ways to log in are tried."""

    WITHIN_CLUSTER = 0
    OFF_CLUSTER = 1


class KubernetesClusterResolver(ClusterResolver):
    """The pods with certain labels.

    Args:
      job_to_label_mapping: A dict from job names to lists of label selectors.
      tf_server_port: The port of all tasks.
      override_client: A ``kubernetes.client.CoreV1Api``, which is asked for the pods of
        all namespaces and their hosts. Raises RuntimeError (FailedPreconditionError) for a
        pod that does not run. Default: feedmill's own client, which takes the ready pods
        of one namespace (docs/servers.md).
      executable_location: Accepted.

    Raises InvalidArgumentError, a ValueError, for another location.
    """

    def __init__(
        self,
        job_to_label_mapping: Mapping[str, Sequence[str]] | None = None,
        tf_server_port: int = 8470,
        rpc_layer: str = "grpc",
        override_client: Any = None,
        executable_location: object = KubernetesExecutableLocation.WITHIN_CLUSTER,
    ) -> None:
        if not isinstance(executable_location, KubernetesExecutableLocation):
            raise InvalidArgumentError(
                f"executable_location: expected a KubernetesExecutableLocation, found "
                f"{executable_location!r}"
            )
        self._selectors = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._port = tf_server_port
        self._client = override_client
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster as it is now: for each selector, its pods by name."""
        return ClusterSpec(
            {
                job: [address for selector in selectors for address in self._pods(selector)]
                for job, selectors in self._selectors.items()
            }
        )

    def _pods(self, selector: str) -> list[str]:
        if self._client is None:
            uri = uri_of("kubernetes:", port=self._port, worker=selector)
            tasks = UriResolver(uri).cluster_spec()
            return [tasks.task_address("worker", k) for k in tasks.task_indices("worker")]
        addresses = []
        found = self._client.list_pod_for_all_namespaces(label_selector=selector)
        for pod in sorted(found.items, key=lambda each: str(each.metadata.name)):
            if pod.status.phase != "Running":
                raise FailedPreconditionError(
                    f"pod {pod.metadata.name!r} is {pod.status.phase}; wait until it runs"
                )
            addresses.append(f"{pod.status.host_ip}:{self._port}")
        return addresses


class GCEClusterResolver(ClusterResolver):
    """The running instances of an instance group of Compute Engine.

    Args:
      project, zone, instance_group, port: Those of the group, and the port of all tasks.
      task_type: The job of all instances, fixed from then on.
      task_id: The index of this instance.
      credentials: Must be the default. Outside Google Cloud, the token of
        ``CLOUDSDK_AUTH_ACCESS_TOKEN``.
      service: An object of ``googleapiclient.discovery``, which is asked in place of
        feedmill's own client. The addresses are sorted.
    """

    def __init__(
        self,
        project: str,
        zone: str,
        instance_group: str,
        port: int,
        task_type: str = "worker",
        task_id: int = 0,
        rpc_layer: str = "grpc",
        credentials: Any = "default",
        service: Any = None,
    ) -> None:
        if service is None:
            _refuse_credentials(credentials)
        self._place = {"project": project, "zone": zone}
        self._group = instance_group
        self._port = port
        self._service = service
        self._task_type = task_type
        self.task_id = task_id
        self.rpc_layer = rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster as it is now."""
        if self._service is not None:
            return ClusterSpec({self._task_type: sorted(self._asked())})
        uri = uri_of(f"gce:{quote(self._group)}", **self._place, port=self._port, jobs="worker")
        tasks = UriResolver(uri).cluster_spec().as_dict().get("worker", [])
        return ClusterSpec({self._task_type: tasks})

    def _asked(self) -> list[str]:
        """Returns the addresses that the service tells."""
        groups, addresses = self._service.instanceGroups(), []
        request = groups.listInstances(
            **self._place,
            instanceGroups=self._group,
            body={"instanceState": "RUNNING"},
            orderBy="name",
        )
        while request is not None:
            response = request.execute()
            for item in response["items"]:
                name = item["instance"].rpartition("/")[2]
                found = self._service.instances().get(**self._place, instance=name).execute()
                addresses.append(f"{found['networkInterfaces'][0]['networkIP']}:{self._port}")
            request = groups.listInstances_next(
                previous_request=request, previous_response=response
            )
        return addresses

    @property
    def task_type(self) -> str:
        """The job of all instances. It cannot be set: RuntimeError."""
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: str) -> NoReturn:
        raise FailedPreconditionError(
            f"task_type: is {self._task_type!r}, and stays so; make another resolver"
        )


class TPUClusterResolver(UriResolver):
    """The hosts of a Cloud TPU; by default of ``TPU_NAME``, or this machine's.

    Args:
      tpu: A name, ``"grpc://host:port"``, ``"local"``, or a list of one of them.
      job_name: The job of the hosts.
      coordinator_name, coordinator_address: A job of one task that is added. Both or none.
      credentials, service, discovery_url: Must be their defaults. Outside Google Cloud,
        the token of ``CLOUDSDK_AUTH_ACCESS_TOKEN``.

    Raises InvalidArgumentError, a ValueError, if no TPU is named and this machine has none.
    """

    def __init__(
        self,
        tpu: str | Sequence[str] | None = None,
        zone: str | None = None,
        project: str | None = None,
        job_name: str = "worker",
        coordinator_name: str | None = None,
        coordinator_address: str | None = None,
        credentials: Any = "default",
        service: None = None,
        discovery_url: None = None,
    ) -> None:
        _refuse_credentials(credentials)
        if service is not None or discovery_url is not None:
            raise InvalidArgumentError("service, discovery_url: feedmill has a client of its own")
        if (coordinator_name is None) != (coordinator_address is None):
            raise InvalidArgumentError(
                "coordinator_name, coordinator_address: both or none of them"
            )
        uri = uri_of(
            f"tpu:{quote(_one_tpu(tpu), safe='/')}",
            zone=zone,
            project=project,
            hosts_job=job_name,
            coordinator=coordinator_name,
            coordinator_address=coordinator_address,
        )
        super().__init__(uri, job_name, task_id=0)
        if tpu is None:
            try:
                self._resolved()
            except Error as error:
                raise InvalidArgumentError(f"tpu: {error}") from None

    def get_master(self) -> str:
        """Returns :meth:`master`."""
        return self.master()

    def get_job_name(self) -> Any:
        """Returns ``task_type``."""
        return self.task_type


def _one_tpu(tpu: str | Sequence[str] | None) -> str:
    if tpu is None or isinstance(tpu, str):
        return tpu or ""
    if not tpu:
        raise InvalidArgumentError("tpu: name at least one TPU")
    if len(tpu) > 1:
        raise UnimplementedError(f"tpu: {len(tpu)} TPUs; make a resolver for each, and a union")
    return tpu[0]


def _refuse_credentials(credentials: object) -> None:
    if credentials not in ("default", None):
        raise InvalidArgumentError(
            "credentials: expected the default; set CLOUDSDK_AUTH_ACCESS_TOKEN to a token"
        )
