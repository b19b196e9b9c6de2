"""The cluster of a Slurm step, with the jobs and errors of TensorFlow's resolver."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping

from feedmill import _feedmill
from feedmill.errors import InvalidArgumentError
from feedmill.tf.distribute._resolvers import ClusterResolver, uri_of
from feedmill.tf.train import ClusterSpec


class SlurmClusterResolver(ClusterResolver):
    """The tasks of the Slurm step that this process runs in (``SLURM_STEP_NODELIST``, …).

    The jobs take the tasks in the order of their names, all of them.

    Args:
      jobs: A dict from job names to numbers of tasks. Default: all are of ``worker``.
      port_base: Port of a host's first task; later tasks count up.
      gpus_per_node: Default: those of ``CUDA_VISIBLE_DEVICES``, else of the machine.
      gpus_per_task: Default: those of a host, divided by the most tasks of a host.
      tasks_per_node: One number for all hosts, or a dict by host. Default: Slurm's.
      auto_set_gpu: ``cluster_spec`` sets ``CUDA_VISIBLE_DEVICES`` to the GPUs of this
        process's task, if a task has any.

    Raises RuntimeError, which is an InvalidArgumentError, outside a Slurm step. So it does
    if the jobs want another number of tasks, or more GPUs than a host has.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | Mapping[str, int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        self._port_base = port_base
        self._auto_set_gpu = auto_set_gpu
        self.rpc_layer = rpc_layer
        self._addresses, self._rank = self._find_tasks(tasks_per_node)
        self._gpus_per_task = self._find_gpus(gpus_per_node, gpus_per_task)
        shares = {"worker": len(self._addresses)} if jobs is None else jobs
        if sum(shares.values()) != len(self._addresses):
            raise _SlurmError(
                f"the jobs want {sum(shares.values())} tasks, and the step has "
                f"{len(self._addresses)}; give each task to a job"
            )
        self._jobs: dict[str, list[str]] = {}
        begin = 0
        for job, count in sorted(shares.items()):
            self._jobs[job] = self._addresses[begin : begin + count]
            if self._rank is not None and begin <= self._rank < begin + count:
                self.task_type, self.task_id = job, self._rank - begin
            begin += count

    def _find_tasks(
        self, tasks_per_node: int | Mapping[str, int] | None
    ) -> tuple[list[str], int | None]:
        """Returns the addresses of all tasks by rank, and the rank of this process."""
        if isinstance(tasks_per_node, Mapping):
            hosts = sorted(tasks_per_node.items())
            addresses = [f"{host}:{self._port_base + k}" for host, n in hosts for k in range(n)]
            rank = os.environ.get("SLURM_PROCID")
            if rank is not None and not (rank.isdecimal() and int(rank) < len(addresses)):
                raise _SlurmError(f"SLURM_PROCID is {rank!r}, of {len(addresses)} tasks")
            return addresses, None if rank is None else int(rank)
        uri = uri_of("slurm:", port=self._port_base, jobs="worker", tasks_per_node=tasks_per_node)
        try:
            step = json.loads(_feedmill.resolve(uri))
        except InvalidArgumentError as error:
            raise _SlurmError(str(error)) from None
        return step["cluster"].get("worker", []), step["task_id"]

    def _find_gpus(self, of_node: int | None, of_task: int | None) -> int:
        """Returns the number of GPUs of each task."""
        tasks = Counter(address.rpartition(":")[0] for address in self._addresses)
        most = max(tasks.values(), default=1)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if of_node is None and visible is not None:
            of_node = len([gpu for gpu in visible.split(",") if gpu])
        elif of_node is None:
            of_node = _feedmill.resolve_accelerators("env:", None, None).get("GPU", 0)
        if of_task is None:
            of_task = of_node // most
        if of_task * most > of_node:
            raise _SlurmError(
                f"{of_task} GPUs for each of {most} tasks are more than the {of_node} of a host"
            )
        return of_task

    def cluster_spec(self) -> ClusterSpec:
        """Returns the cluster; sets ``CUDA_VISIBLE_DEVICES`` with ``auto_set_gpu``."""
        if self._auto_set_gpu and self._rank is not None and self._gpus_per_task > 0:
            port = int(self._addresses[self._rank].rpartition(":")[2])
            first = (port - self._port_base) * self._gpus_per_task
            gpus = range(first, first + self._gpus_per_task)
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
        return ClusterSpec(self._jobs)

    def num_accelerators(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        config_proto: object = None,
    ) -> dict[str, int]:
        """Returns the number of GPUs of each task."""
        return {"GPU": self._gpus_per_task}


class _SlurmError(InvalidArgumentError, RuntimeError):
    """An InvalidArgumentError that is the RuntimeError that Slurm's resolver raises."""
