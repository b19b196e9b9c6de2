"""``tf.data.experimental.service``: a dispatcher, workers, and ``distribute``."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import feedmill
from feedmill import _arguments as check
from feedmill import _feedmill
from feedmill.errors import FailedPreconditionError, InvalidArgumentError
from feedmill.tf.data._distribution import Distribution
from feedmill.tf.train import protocol_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from feedmill.tf.data import Dataset

__all__ = [
    "CrossTrainerCache",
    "DispatchServer",
    "DispatcherConfig",
    "ShardingPolicy",
    "WorkerConfig",
    "WorkerServer",
    "distribute",
    "from_dataset_id",
    "register_dataset",
]


# The address of a worker where none is given.
_OWN_ADDRESS = "localhost:%port%"
# Seconds that the start of a worker waits for its registration.
_REGISTRATION_TIMEOUT = 5.0


class _DispatcherFields(NamedTuple):
    port: int
    protocol: str
    work_dir: str | None
    fault_tolerant_mode: bool
    worker_addresses: list[str] | None
    job_gc_check_interval_ms: int
    job_gc_timeout_ms: int
    worker_timeout_ms: int | None
    worker_max_concurrent_snapshots: int


class DispatcherConfig(_DispatcherFields):
    """The configuration of a :class:`DispatchServer`.

    ``port``: 0 is any free one. ``work_dir`` with ``fault_tolerant_mode``: the folder
    that keeps the dispatcher's state through restarts; ``fault_tolerant_mode`` alone
    raises InvalidArgumentError, a ValueError. ``worker_addresses`` must be None, as no
    sharding policy needs them. The time-outs are accepted, and the dispatcher's own
    apply; 0 stands for the default.
    """

    __slots__ = ()

    def __new__(
        cls,
        port: int = 0,
        protocol: str | None = None,
        work_dir: str | None = None,
        fault_tolerant_mode: bool = False,
        worker_addresses: list[str] | None = None,
        job_gc_check_interval_ms: int | None = None,
        job_gc_timeout_ms: int | None = None,
        worker_timeout_ms: int | None = None,
        worker_max_concurrent_snapshots: int = 0,
    ) -> Self:
        """Fills in the defaults that TensorFlow fills in."""
        return super().__new__(
            cls,
            port,
            protocol or "grpc",
            work_dir,
            fault_tolerant_mode,
            worker_addresses,
            _milliseconds(job_gc_check_interval_ms),
            _milliseconds(job_gc_timeout_ms),
            worker_timeout_ms,
            worker_max_concurrent_snapshots,
        )


class _WorkerFields(NamedTuple):
    dispatcher_address: str
    worker_address: str
    port: int
    protocol: str
    heartbeat_interval_ms: int
    dispatcher_timeout_ms: int
    data_transfer_protocol: str | None
    data_transfer_address: str


class WorkerConfig(_WorkerFields):
    """The configuration of a :class:`WorkerServer`.

    ``worker_address``: ``host:port`` where others reach it, ``%port%`` in it the port
    that is bound. The data transfer options and the
    time-outs are accepted, and the worker's own ways apply; 0 stands for the default.
    """

    __slots__ = ()

    def __new__(
        cls,
        dispatcher_address: str,
        worker_address: str | None = None,
        port: int = 0,
        protocol: str | None = None,
        heartbeat_interval_ms: int | None = None,
        dispatcher_timeout_ms: int | None = None,
        data_transfer_protocol: str | None = None,
        data_transfer_address: str | None = None,
    ) -> Self:
        """Fills in the defaults that TensorFlow fills in."""
        return super().__new__(
            cls,
            dispatcher_address,
            _OWN_ADDRESS if worker_address is None else worker_address,
            port,
            protocol or "grpc",
            _milliseconds(heartbeat_interval_ms),
            _milliseconds(dispatcher_timeout_ms),
            data_transfer_protocol,
            "localhost:%dts_port%" if data_transfer_address is None else data_transfer_address,
        )


def _milliseconds(value: int | None) -> int:
    """Returns a time as TensorFlow keeps it: 0 for the default, 1 for none."""
    return 0 if value is None else max(value, 1)


class DispatchServer(feedmill.DispatchServer):
    """An in-process dispatcher. See :class:`feedmill.DispatchServer`.

    ``options`` are other keywords of that class, such as ``host`` and ``keys``.

    >>> from feedmill import tf
    >>> config = tf.data.experimental.service.DispatcherConfig(port=0)
    >>> dispatcher = tf.data.experimental.service.DispatchServer(config)
    >>> dispatcher.target.startswith("grpc://")
    True
    >>> dispatcher.stop()
    """

    def __init__(
        self, config: DispatcherConfig | None = None, start: bool = True, **options: Any
    ) -> None:
        config = config or DispatcherConfig()
        self._protocol = protocol_of(config.protocol)
        if config.fault_tolerant_mode and not config.work_dir:
            raise InvalidArgumentError(
                "fault_tolerant_mode needs a work_dir, in which the state is kept"
            )
        if config.worker_addresses:
            raise InvalidArgumentError(
                "worker_addresses: workers register themselves; there is no static sharding"
            )
        work_dir = config.work_dir if config.fault_tolerant_mode else None
        super().__init__(config.port, work_dir, start=start, **options)

    @property
    def target(self) -> str:
        """``grpc://host:port`` where others reach it; empty before :meth:`start`."""
        return super().target.replace("tcp", self._protocol, 1)

    @property
    def _address(self) -> str:
        return self.target.partition("://")[2]

    def _num_workers(self) -> int:
        return len(self.status()["workers"])


class WorkerServer(feedmill.WorkerServer):
    """An in-process worker. See :class:`feedmill.WorkerServer`.

    The older form ``WorkerServer(port=5051, dispatcher_address="localhost:5050")`` is
    the same as with a :class:`WorkerConfig` of these. ``options`` are other keywords of
    that class, such as ``allow_python`` and ``keys``.
    """

    def __init__(
        self, config: WorkerConfig | None = None, start: bool = True, **options: Any
    ) -> None:
        older = {name: options.pop(name) for name in WorkerConfig._fields if name in options}
        if config is None:
            if not older.get("dispatcher_address"):
                raise InvalidArgumentError("a worker needs the `dispatcher_address`")
            config = WorkerConfig(**older)
        elif older:
            raise TypeError(f"with a config there is no {', '.join(sorted(older))}")
        if not config.dispatcher_address:
            raise InvalidArgumentError("a worker needs the `dispatcher_address`")
        self._protocol = protocol_of(config.protocol)
        super().__init__(
            address_of(config.dispatcher_address),
            port=config.port,
            advertise=_advertised(config.worker_address, config.port),
            start=start,
            **options,
        )

    def start(self) -> None:
        """Begins to serve; waits a few seconds for the dispatcher to register it.

        If the dispatcher does not answer, it registers later, in the background.
        """
        super().start()
        self._native.wait_registered(_REGISTRATION_TIMEOUT)

    @property
    def target(self) -> str:
        """``grpc://host:port`` where others reach it; empty before :meth:`start`."""
        return super().target.replace("tcp", self._protocol, 1)

    @property
    def _address(self) -> str:
        return self.target.partition("://")[2]


class ShardingPolicy(enum.IntEnum):
    """Which worker reads which part of a dataset."""

    OFF = 0
    """Each worker reads the whole dataset."""
    DYNAMIC = 1
    """Each element comes once, from whichever worker is free."""
    FILE = 2
    """Static sharding: :func:`distribute` refuses it, as the three below."""
    DATA = 3
    FILE_OR_DATA = 4
    HINT = 5


class CrossTrainerCache:
    """The argument of the same name. :func:`distribute` refuses it: use the step ``cache``."""

    def __init__(self, trainer_id: str) -> None:
        if not trainer_id:
            raise InvalidArgumentError("trainer_id: must not be empty")
        self.trainer_id = trainer_id


# Seconds to wait for a dispatcher, as the default of tf.data service.
_TIMEOUT = 3600.0

_COMPRESSIONS = {"AUTO": "auto", "SNAPPY": "auto", None: "none"}

_MODES = {
    "parallel_epochs": "off",
    "distributed_epoch": "dynamic",
    ShardingPolicy.OFF: "off",
    ShardingPolicy.DYNAMIC: "dynamic",
}


def distribute(
    processing_mode: str | ShardingPolicy,
    service: str | tuple[str, str],
    job_name: str | None = None,
    consumer_index: int | None = None,
    num_consumers: int | None = None,
    max_outstanding_requests: int | None = None,
    data_transfer_protocol: str | None = None,
    compression: str | None = "AUTO",
    cross_trainer_cache: CrossTrainerCache | None = None,
    target_workers: str = "AUTO",
) -> Callable[[Dataset], Dataset]:
    """Returns a function that has a dataset read through a service.

    ``dataset.apply(distribute(…))``. Steps after it run where feedmill plans them. A step
    that would then give others than the elements of this reader is refused: for example
    ``take`` after ``"parallel_epochs"`` or with a ``job_name``.

    Args:
      processing_mode: ``"parallel_epochs"`` or ``ShardingPolicy.OFF``: each worker
        reads the whole dataset. ``"distributed_epoch"`` or ``ShardingPolicy.DYNAMIC``:
        each element comes once, also after failures.
      service: ``"host:port"`` of the dispatcher; ``tcp://`` or ``grpc://`` may stand
        before it. Or the pair ("grpc", "host:port").
      job_name: Readers of one name share a job: each element goes to one of them.
      consumer_index, num_consumers: This reader takes the elements n with n mod
        num_consumers = consumer_index. Both, with a job_name.
      max_outstanding_requests, data_transfer_protocol: Accepted; feedmill bounds bytes
        in flight, and finds the fastest way itself.
      compression: ``"AUTO"`` and ``"SNAPPY"``: where it makes a slow network faster.
        None: never.
      cross_trainer_cache, target_workers: Must be None, and ``"AUTO"`` or ``"ANY"``.

    Raises InvalidArgumentError, a ValueError, for a wrong argument.
    """
    mode = _MODES.get(processing_mode)
    if mode is None:
        raise InvalidArgumentError(
            f'processing_mode: expected "parallel_epochs", "distributed_epoch", ShardingPolicy.OFF '
            f"or ShardingPolicy.DYNAMIC, found {processing_mode!r}; there is no static sharding"
        )
    if job_name is not None and (not isinstance(job_name, str) or not job_name):
        raise InvalidArgumentError(f"job_name: must be a string, and not be empty: {job_name!r}")
    if (consumer_index is None) != (num_consumers is None):
        raise InvalidArgumentError("consumer_index, num_consumers: both or none of them")
    if num_consumers is not None and job_name is None:
        raise InvalidArgumentError("consumer_index, num_consumers: need a job_name")
    if max_outstanding_requests is not None and max_outstanding_requests < 1:
        raise InvalidArgumentError("max_outstanding_requests: must be positive")
    _check_compression(compression)
    if cross_trainer_cache is not None:
        raise InvalidArgumentError("cross_trainer_cache: there is none; use the step cache")
    if str(target_workers).upper() not in ("AUTO", "ANY"):
        raise InvalidArgumentError(f'target_workers: expected "AUTO" or "ANY": {target_workers!r}')
    distribution = Distribution(
        service=address_of(service),
        mode=mode,
        compression=_COMPRESSIONS[compression],
        job=job_name,
        rank=None if consumer_index is None else check.count("consumer_index", consumer_index),
        ranks=None if num_consumers is None else check.count("num_consumers", num_consumers),
    )

    def distributed(dataset: Dataset) -> Dataset:
        _refuse_distributed(dataset)
        order = "any" if distribution.shared else None
        return dataset.with_options(processing_mode=mode, order=order)._distributed(distribution)

    return distributed


def register_dataset(
    service: str | tuple[str, str],
    dataset: feedmill.Dataset,
    compression: str | None = "AUTO",
    dataset_id: str | None = None,
) -> str:
    """Has a dispatcher keep a dataset under an id, and returns the id.

    Args:
      service: As of :func:`distribute`.
      dataset: The dataset. Its files are named by their absolute paths.
      compression: Accepted; readers choose it.
      dataset_id: The id. Default: one that is derived from the definition, so that the
        same dataset has the same id.

    Raises InvalidArgumentError for a wrong dataset or id, or if the id is another
    dataset's; ResourceExhaustedError if the dispatcher has as many
    datasets as it may; DeadlineExceededError if none answers.
    """
    _check_compression(compression)
    _refuse_distributed(dataset)
    identifier = "" if dataset_id is None else check.text("dataset_id", dataset_id)
    if dataset_id == "":
        raise InvalidArgumentError("dataset_id: must not be empty; leave it out for a derived one")
    address = address_of(service)
    try:
        return _feedmill.register_dataset(dataset._pipeline(), address, identifier, _TIMEOUT)
    except FailedPreconditionError as error:
        raise InvalidArgumentError(str(error)) from None


def from_dataset_id(
    processing_mode: str | ShardingPolicy,
    service: str | tuple[str, str],
    dataset_id: str,
    element_spec: Any = None,
    job_name: str | None = None,
    consumer_index: int | None = None,
    num_consumers: int | None = None,
    max_outstanding_requests: int | None = None,
    data_transfer_protocol: str | None = None,
    cross_trainer_cache: CrossTrainerCache | None = None,
    target_workers: str = "AUTO",
) -> Dataset:
    """Returns the dataset that a dispatcher keeps under an id, distributed by it.

    Args:
      dataset_id: What :func:`register_dataset` returned.
      element_spec: The components that the elements must have: a dict, or the one of
        a single unnamed component, of :class:`feedmill.ComponentSpec` or of anything
        else with ``dtype`` and ``shape``, as ``tf.TensorSpec``. None: whatever they are.
      processing_mode, service, others: As of :func:`distribute`.

    Raises NotFoundError if there is no dataset of that id, InvalidArgumentError if its
    elements are others than ``element_spec``, and the errors of :func:`distribute`.
    """
    from feedmill.tf.data import Dataset

    distributed = distribute(
        processing_mode,
        service,
        job_name,
        consumer_index,
        num_consumers,
        max_outstanding_requests,
        data_transfer_protocol,
        cross_trainer_cache=cross_trainer_cache,
        target_workers=target_workers,
    )
    identifier = check.text("dataset_id", dataset_id)
    dataset = Dataset._of(_feedmill.registered_pipeline(address_of(service), identifier, _TIMEOUT))
    if element_spec is not None:
        found, expected = _plain_spec(dataset.element_spec), _plain_spec(element_spec)
        if found != expected:
            raise InvalidArgumentError(
                f'element_spec: dataset "{dataset_id}" has the elements {found}, and '
                f"{expected} were expected"
            )
    return distributed(dataset)


def _check_compression(compression: object) -> None:
    if compression not in _COMPRESSIONS:
        raise InvalidArgumentError(
            f'compression: expected "AUTO", "SNAPPY" or None, found {compression!r}'
        )


def _refuse_distributed(dataset: feedmill.Dataset) -> None:
    """Raises InvalidArgumentError for a dataset that workers cannot read."""
    distribution = getattr(dataset, "_distribution", None)
    if distribution is not None:
        raise InvalidArgumentError(
            f"dataset: {distribution.service} distributes it already, and workers of a service "
            "read no other service; distribute the dataset from before distribute"
        )


def _plain_spec(spec: Any) -> Any:
    """Returns dtype and shape of each component, for specs of any type."""
    if isinstance(spec, Mapping):
        return {name: _plain_spec(one) for name, one in spec.items()}
    if not hasattr(spec, "dtype") or not hasattr(spec, "shape"):
        raise InvalidArgumentError(
            f"element_spec: expected specs with dtype and shape, or a dict of them, found {spec!r}"
        )
    name = getattr(spec.dtype, "name", spec.dtype)
    return ("bytes" if name == "string" else str(name), tuple(spec.shape))


def address_of(service: Any) -> str:
    """Returns ``tcp://host:port`` of a dispatcher's address in any of its forms."""
    if isinstance(service, tuple) and len(service) == 2:
        protocol, address = service
    elif isinstance(service, str):
        protocol, _, address = service.rpartition("://")
    else:
        protocol, address = None, None
    if not isinstance(address, str) or not address or "://" in str(protocol):
        raise InvalidArgumentError(
            f'service: expected "host:port", which may begin with tcp:// or grpc://: {service!r}'
        )
    protocol_of(protocol)
    return f"tcp://{address}"


def _advertised(address: str, port: int) -> str:
    """Returns ``advertise`` of a worker for the ``worker_address`` of its config."""
    if address == _OWN_ADDRESS:
        return ""  # the address at which it connects to the dispatcher
    host, _, own = address.rpartition(":")
    if not host:
        return address
    return host if own == "%port%" or own == str(port) else address
