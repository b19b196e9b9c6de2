"""The steps of TensorFlow's own tests of clusters and of tf.data service.

Each function does its steps with the module that it is given, ``feedmill.tf`` or
``tensorflow``, and returns what a test would look at. tf_steps_test.py compares both.
"""

import contextlib
import itertools
import json
import os
import tempfile
import threading
from types import SimpleNamespace as Object

import numpy as np

STEPS = {}


def step(function):
    """A step whose result is the same with both modules."""
    STEPS[function.__name__] = (function, None)
    return function


def differs(row):
    """A step whose result differs, as the row of docs/tf.md that begins so says."""

    def mark(function):
        STEPS[function.__name__] = (function, row)
        return function

    return mark


# ---- both modules


def service_of(tf):
    return tf.data.experimental.service


@contextlib.contextmanager
def cluster(tf, workers=1, **config):
    """A dispatcher and workers that are registered."""
    service = service_of(tf)
    dispatcher = service.DispatchServer(service.DispatcherConfig(**config))
    address = dispatcher.target.split("://")[1]
    servers = [
        service.WorkerServer(service.WorkerConfig(dispatcher_address=address))
        for _ in range(workers)
    ]
    try:
        yield dispatcher, servers
    finally:
        for server in (*servers, dispatcher):
            server._stop() if hasattr(server, "_stop") else server.stop()


def distributed(tf, dispatcher, dataset, mode="distributed_epoch", **arguments):
    return dataset.apply(service_of(tf).distribute(mode, dispatcher.target, **arguments))


def numbers(tf, *arguments):
    return tf.data.Dataset.range(*arguments)


def values(elements):
    return [np.asarray(element).tolist() for element in elements]


def joined(tf, one, other):
    return one.concatenate(other)


@contextlib.contextmanager
def environment(**variables):
    """These variables; others of Slurm and SageMaker are not set."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("SLURM_", "SM_", "TF_CONFIG", "CUDA_")):
            del os.environ[name]
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# ---- servers of the service


@step
def servers_start_twice(tf):
    service = service_of(tf)
    dispatcher = service.DispatchServer(start=False)
    dispatcher.start()
    dispatcher.start()
    worker = service.WorkerServer(
        service.WorkerConfig(dispatcher.target.split("://")[1]), start=False
    )
    worker.start()
    worker.start()
    counted = dispatcher._num_workers()
    worker.stop()
    dispatcher.stop()
    return counted


@step
def a_stopped_server_stops_and_joins(tf):
    dispatcher = service_of(tf).DispatchServer()
    dispatcher.stop()
    dispatcher.stop()
    dispatcher.join()
    return True


@step
def a_stopped_server_starts_no_more(tf):
    dispatcher = service_of(tf).DispatchServer()
    dispatcher.stop()
    dispatcher.start()


@step
def a_join_ends_with_a_stop(tf):
    dispatcher = service_of(tf).DispatchServer()
    waiting = threading.Thread(target=dispatcher.join)
    waiting.start()
    dispatcher.stop()
    waiting.join(20)
    return waiting.is_alive()


@step
def workers_are_counted_at_once(tf):
    service = service_of(tf)
    with cluster(tf, 0) as (dispatcher, _):
        counted = [dispatcher._num_workers()]
        workers = []
        for _ in range(2):
            config = service.WorkerConfig(dispatcher.target.split("://")[1])
            workers.append(service.WorkerServer(config))
            counted.append(dispatcher._num_workers())
        for worker in workers:
            worker.stop()
        return counted


@step
def a_worker_needs_a_dispatcher(tf):
    service = service_of(tf)
    service.WorkerServer(service.WorkerConfig(dispatcher_address=None))


@step
def fault_tolerance_needs_a_folder(tf):
    service = service_of(tf)
    service.DispatchServer(service.DispatcherConfig(fault_tolerant_mode=True))


@step
def configs_have_defaults(tf):
    service = service_of(tf)
    return (
        *service.DispatcherConfig(),
        *service.DispatcherConfig(job_gc_check_interval_ms=0, job_gc_timeout_ms=5),
        *service.WorkerConfig("h:1"),
    )


@step
def targets_begin_with_grpc(tf):
    with cluster(tf) as (dispatcher, _):
        return dispatcher.target.partition("://")[0], dispatcher._address.count(":")


@differs("a port that is taken")
def a_port_is_taken(tf):
    service = service_of(tf)
    with cluster(tf) as (dispatcher, _):
        port = int(dispatcher._address.rpartition(":")[2])
        service.DispatchServer(service.DispatcherConfig(port=port))


# ---- distribute


@step
def a_dataset_is_distributed(tf):
    with cluster(tf) as (dispatcher, _):
        return [
            values(distributed(tf, dispatcher, numbers(tf, 10), mode))
            for mode in (
                *("parallel_epochs", "distributed_epoch"),
                *(service_of(tf).ShardingPolicy.OFF, service_of(tf).ShardingPolicy.DYNAMIC),
            )
        ]


@step
def workers_make_copies(tf):
    with cluster(tf, 3) as (dispatcher, _):
        return sorted(values(distributed(tf, dispatcher, numbers(tf, 10), "parallel_epochs")))


@step
def workers_share(tf):
    with cluster(tf, 3) as (dispatcher, _):
        return sorted(values(distributed(tf, dispatcher, numbers(tf, 100))))


@step
def an_empty_dataset(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 0), "parallel_epochs")
        return values(dataset), values(dataset)


@step
def many_epochs(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 3), "parallel_epochs")
        return [values(dataset) for _ in range(3)]


@step
def loops_at_once(tf):
    with cluster(tf) as (dispatcher, _):
        datasets = [distributed(tf, dispatcher, numbers(tf, 10)) for _ in range(3)]
        return [values(elements) for elements in zip(*datasets, strict=True)]


@step
def a_loop_in_a_loop(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 3))
        return [(int(a), int(b)) for a in dataset for b in dataset]


@step
def one_service_for_two_datasets(tf):
    with cluster(tf) as (dispatcher, _):
        return [
            values(distributed(tf, dispatcher, numbers(tf, stop).map(lambda x: x * x)))
            for stop in (5, 6)
        ]


@step
def a_worker_joins_later(tf):
    service = service_of(tf)
    with cluster(tf, 0) as (dispatcher, _):
        found = []
        dataset = distributed(tf, dispatcher, numbers(tf, 5))
        waiting = threading.Thread(target=lambda: found.extend(values(dataset)))
        waiting.start()
        worker = service.WorkerServer(service.WorkerConfig(dispatcher.target.split("://")[1]))
        waiting.join(60)
        worker.stop()
        return found


@step
def forms_of_addresses(tf):
    with cluster(tf) as (dispatcher, _):
        address = dispatcher._address
        return [
            values(numbers(tf, 3).apply(service_of(tf).distribute("parallel_epochs", service)))
            for service in (f"grpc://{address}", ("grpc", address))
        ]


def _refused(call):
    try:
        call()
    except ValueError:
        return True
    return False


@step
def arguments_that_are_refused(tf):
    service = service_of(tf)
    with cluster(tf) as (dispatcher, _):
        given = {"processing_mode": "parallel_epochs", "service": dispatcher.target}
        return [
            _refused(
                lambda more=more: numbers(tf, 3).apply(service.distribute(**{**given, **more}))
            )
            for more in (
                {},
                {"processing_mode": "invalid"},
                {"processing_mode": 7},
                {"service": ""},
                {"service": 5},
                {"service": "grpc://a://b"},
                {"job_name": ""},
                {"job_name": 5},
                {"num_consumers": 2},
                {"consumer_index": 0, "num_consumers": 2},
                {"compression": "ZIP"},
                {"compression": "SNAPPY"},
                {"compression": None},
            )
        ]


@differs("`consumer_index`, `num_consumers`")
def a_consumer_without_their_number(tf):
    with cluster(tf) as (dispatcher, _):
        distributed(tf, dispatcher, numbers(tf, 3), consumer_index=0)
        return True


@step
def names_of_policies_and_caches(tf):
    service = service_of(tf)
    return (
        [(policy.name, int(policy)) for policy in service.ShardingPolicy],
        service.CrossTrainerCache("trainer").trainer_id,
        _refused(lambda: service.CrossTrainerCache("")),
    )


@differs("`FILE`, `DATA`, `FILE_OR_DATA`, `HINT`")
def static_sharding(tf):
    service = service_of(tf)
    with cluster(tf) as (dispatcher, _):
        policy = service.ShardingPolicy.DATA
        numbers(tf, 3).apply(service.distribute(policy, dispatcher.target))
        return True


# ---- steps before distribute


def _before(tf, *steps, mode="distributed_epoch"):
    with cluster(tf, 2) as (dispatcher, _):
        return [
            sorted(values(distributed(tf, dispatcher, each(numbers(tf, 20)), mode)))
            for each in steps
        ]


@step
def steps_before_a_distributed_epoch(tf):
    return _before(
        tf,
        lambda d: d.map(lambda x: x * x),
        lambda d: d.filter(lambda x: x % 3 != 0),
        lambda d: d.repeat(2),
        lambda d: joined(tf, d, d.map(lambda x: -x)),
    )


@step
def steps_before_parallel_epochs(tf):
    return _before(
        tf,
        lambda d: d.batch(4),
        lambda d: d.batch(6, drop_remainder=True).unbatch(),
        lambda d: d.take(7).repeat(3),
        lambda d: d.skip(15),
        lambda d: d.shard(3, 1),
        mode="parallel_epochs",
    )


@differs('`take`, `skip`, `shard`, batches before `distribute("distributed_epoch")`')
def take_before_a_distributed_epoch(tf):
    return _before(tf, lambda d: d.skip(15), lambda d: d.take(15).repeat(3))


# ---- faults


@contextlib.contextmanager
def durable_cluster(tf, folder):
    """A dispatcher that keeps its state, with a worker; yields a function that restarts it."""
    service = service_of(tf)
    config = {"work_dir": str(folder), "fault_tolerant_mode": True}
    dispatchers = [service.DispatchServer(service.DispatcherConfig(**config))]
    port = int(dispatchers[0]._address.rpartition(":")[2])
    worker = service.WorkerServer(
        service.WorkerConfig(f"localhost:{port}", heartbeat_interval_ms=100)
    )

    def restart():
        dispatchers[-1].stop()
        dispatchers.append(service.DispatchServer(service.DispatcherConfig(port=port, **config)))

    try:
        yield dispatchers, restart
    finally:
        worker.stop()
        dispatchers[-1].stop()


@step
def a_dispatcher_restarts_within_a_loop(tf):
    found = []
    for mode in ("parallel_epochs", "distributed_epoch"):
        with tempfile.TemporaryDirectory() as folder, durable_cluster(tf, folder) as durable:
            dispatchers, restart = durable
            elements = iter(distributed(tf, dispatchers[0], numbers(tf, 1000), mode))
            got = values(itertools.islice(elements, 10))
            restart()
            found.append(sorted(got + values(elements)))
    return found


@step
def a_dispatcher_restarts_between_loops(tf):
    with tempfile.TemporaryDirectory() as folder, durable_cluster(tf, folder) as durable:
        dispatchers, restart = durable
        dataset_id = _register(tf, dispatchers[0], numbers(tf, 5), dataset_id="kept")
        dataset = distributed(tf, dispatchers[0], numbers(tf, 5), job_name="j")
        found = [sorted(values(dataset))]
        restart()
        found.append(sorted(values(dataset)))
        found.append(values(_from_id(tf, dispatchers[-1], dataset_id, numbers(tf, 5))))
        return found


# ---- steps after distribute


def _after(tf, *steps, mode="distributed_epoch", workers=1):
    with cluster(tf, workers) as (dispatcher, _):
        return [
            sorted(values(each(distributed(tf, dispatcher, numbers(tf, 20), mode))))
            for each in steps
        ]


@step
def steps_after_a_distributed_epoch(tf):
    return _after(
        tf,
        lambda d: d.map(lambda x: x * 2),
        lambda d: d.filter(lambda x: x % 2 == 1),
        lambda d: d.batch(6),
        lambda d: d.batch(6, drop_remainder=True),
        lambda d: d.take(10),
        lambda d: d.skip(3),
        lambda d: d.shard(2, 1),
        lambda d: d.repeat(3),
        lambda d: joined(tf, d, numbers(tf, 3)),
        lambda d: joined(tf, numbers(tf, 3), d).batch(4),
    )


@step
def steps_after_parallel_epochs(tf):
    return _after(
        tf,
        lambda d: d.map(lambda x: x * 2),
        lambda d: d.filter(lambda x: x % 2 == 1),
        lambda d: d.repeat(2),
        mode="parallel_epochs",
        workers=2,
    )


def _of_the_sequence(name, row, each):
    def function(tf):
        return len(_after(tf, each(tf), mode="parallel_epochs", workers=2)[0])

    function.__name__ = f"{name}_after_parallel_epochs"
    differs(row)(function)


_of_the_sequence("take", "steps after `distribute`", lambda tf: lambda d: d.take(10))
_of_the_sequence("skip", "steps after `distribute`", lambda tf: lambda d: d.skip(3))
_of_the_sequence("batch", "steps after `distribute`", lambda tf: lambda d: d.batch(4))
_of_the_sequence("enumerate", "steps after `distribute`", lambda tf: lambda d: d.enumerate())
_of_the_sequence(
    "concatenate",
    "`zip`, `concatenate`, … of distributed datasets",
    lambda tf: lambda d: joined(tf, d, numbers(tf, 3)),
)


@differs("steps after `distribute`")
def take_of_a_named_job_then_all(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 10), job_name="j")
        return values(dataset.take(1)), values(dataset)


# ---- named jobs


@step
def a_loop_left_early_and_begun_again(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 100), job_name="j")
        # Readers of a job name get elements in any order.
        early = values(itertools.islice(dataset.as_numpy_iterator(), 3))
        return len(set(early)), sorted(values(dataset))


@step
def loops_of_one_job_name(tf):
    with cluster(tf, 2) as (dispatcher, _):
        one, other = (distributed(tf, dispatcher, numbers(tf, 10), job_name="j") for _ in range(2))
        return [sorted(values(dataset)) for dataset in (one, other, one, other)]


@step
def a_second_reader_takes_what_is_left(tf):
    with cluster(tf) as (dispatcher, _):
        datasets = [distributed(tf, dispatcher, numbers(tf, 10), job_name="j") for _ in range(2)]
        first = [values(dataset) for dataset in datasets]
        return len(first[0]), len(first[1])


def _in_threads(datasets, count=None):
    """The first elements of datasets that are read at once."""
    found = [None] * len(datasets)

    def read(k):
        found[k] = values(itertools.islice(iter(datasets[k]), count))

    threads = [threading.Thread(target=read, args=(k,)) for k in range(len(datasets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


@step
def readers_at_once_share_a_job(tf):
    with cluster(tf, 2) as (dispatcher, _):
        datasets = [distributed(tf, dispatcher, numbers(tf, 500), job_name="j") for _ in range(3)]
        return sorted(itertools.chain(*_in_threads(datasets)))


@step
def consumers_take_turns(tf):
    with cluster(tf) as (dispatcher, _):
        consumers = [
            distributed(
                *(tf, dispatcher, numbers(tf, 1000).repeat(), "parallel_epochs"),
                job_name="j",
                consumer_index=index,
                num_consumers=3,
            )
            for index in range(3)
        ]
        return _in_threads(consumers, 20)


@step
def a_named_job_repeats(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = distributed(tf, dispatcher, numbers(tf, 10), job_name="j")
        return sorted(values(dataset.repeat(3)))


@step
def other_job_names_are_other_jobs(tf):
    with cluster(tf) as (dispatcher, _):
        return [
            sorted(values(distributed(tf, dispatcher, numbers(tf, 5), job_name=name)))
            for name in ("a", "b")
        ]


@differs("one `job_name` for two datasets")
def a_job_name_of_two_datasets(tf):
    with cluster(tf) as (dispatcher, _):
        one, other = (
            distributed(tf, dispatcher, numbers(tf, 5).map(function), job_name="j")
            for function in (lambda x: x + 1, lambda x: x * 2)
        )
        return values(itertools.islice(one, 1)), len(values(other))


# ---- other steps


@differs("order after `shuffle` with a seed")
def a_shuffled_dataset(tf):
    options = {"buffer_size": 100} if tf.__name__ == "tensorflow" else {}
    return values(numbers(tf, 100).shuffle(seed=42, **options))


@step
def a_shuffle_in_a_buffer(tf):
    return sorted(values(numbers(tf, 10).shuffle(10)))


@step
def a_cardinality(tf):
    return int(numbers(tf, 10).cardinality())


# ---- datasets by id


def _register(tf, dispatcher, dataset, **arguments):
    return service_of(tf).register_dataset(dispatcher.target, dataset, **arguments)


def _from_id(tf, dispatcher, dataset_id, dataset, mode="parallel_epochs"):
    spec = dataset.element_spec
    return service_of(tf).from_dataset_id(mode, dispatcher.target, dataset_id, spec)


@step
def a_registered_dataset(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = numbers(tf, 5).map(lambda x: x * x)
        derived = _register(tf, dispatcher, dataset)
        named = _register(tf, dispatcher, dataset, dataset_id="squares")
        return [values(_from_id(tf, dispatcher, each, dataset)) for each in (derived, named)]


@step
def a_dataset_is_registered_twice(tf):
    with cluster(tf) as (dispatcher, _):
        same = [_register(tf, dispatcher, numbers(tf, 5), dataset_id="same") for _ in range(2)]
        return [values(_from_id(tf, dispatcher, each, numbers(tf, 5))) for each in same]


@step
def an_id_of_another_structure(tf):
    with cluster(tf) as (dispatcher, _):
        _register(tf, dispatcher, numbers(tf, 5), dataset_id="one")
        _register(tf, dispatcher, numbers(tf, 5).batch(2), dataset_id="one")


@differs("another dataset of the same structure under an id")
def an_id_of_another_dataset_of_the_same_structure(tf):
    with cluster(tf) as (dispatcher, _):
        _register(tf, dispatcher, numbers(tf, 5).map(lambda x: x + 1), dataset_id="one")
        _register(tf, dispatcher, numbers(tf, 5).map(lambda x: x * 2), dataset_id="one")
        return values(_from_id(tf, dispatcher, "one", numbers(tf, 5)))


@step
def an_id_that_is_not_there(tf):
    with cluster(tf) as (dispatcher, _):
        dataset = service_of(tf).from_dataset_id(
            "parallel_epochs", dispatcher.target, "none", numbers(tf, 1).element_spec
        )
        return values(dataset)


# ---- ClusterSpec


SPARSE = {"ps": ["ps0:1111"], "worker": {0: "worker0:3333", 2: "worker2:4444"}}


@step
def cluster_specs(tf):
    spec = tf.train.ClusterSpec(SPARSE)
    same = tf.train.ClusterSpec(
        {"ps": {0: "ps0:1111"}, "worker": {0: "worker0:3333", 2: "worker2:4444"}}
    )
    return (
        *(spec == same, spec != same, bool(spec), bool(tf.train.ClusterSpec({}))),
        *(spec.as_dict(), sorted(spec.jobs), spec.num_tasks("worker"), spec.num_tasks("ps")),
        *(spec.task_indices("worker"), spec.task_address("worker", 2), spec.job_tasks("worker")),
        *(tf.train.ClusterSpec(spec) == spec, tf.train.ClusterSpec(spec.as_cluster_def()) == spec),
        *(spec == tf.train.ClusterSpec({}), spec == SPARSE, str(spec)),
        *(
            tf.train.ClusterSpec({"a": []}).as_dict(),
            tf.train.ClusterSpec({"a": {"0": "b:1"}}) == 1,
        ),
    )


def _kind(call):
    try:
        call()
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError
    return None


@step
def cluster_specs_that_are_refused(tf):
    spec = tf.train.ClusterSpec(SPARSE)
    calls = [
        lambda given=given: tf.train.ClusterSpec(given)
        for given in ("text", 5, None, {"a": "h:1"}, {1: ["h:1"]}, {"a": [5]}, {"a": {"x": "h:1"}})
    ]
    calls += [lambda method=m: getattr(spec, method)("none") for m in ("num_tasks", "job_tasks")]
    calls += [
        lambda: spec.task_indices("none"),
        lambda: spec.task_address("none", 0),
        lambda: spec.task_address("worker", 1),
    ]
    return [_kind(call) for call in calls]


# ---- Server


@step
def a_local_server(tf):
    server = tf.distribute.Server.create_local_server()
    definition = server.server_def
    return server.target.partition("://")[0], definition.task_index, definition.protocol


@differs("the job of `create_local_server`")
def the_job_of_a_local_server(tf):
    return tf.distribute.Server.create_local_server().server_def.job_name


@step
def a_server_of_the_page_about_clusters(tf):
    cluster = {"worker": ["localhost:0", "localhost:0"], "ps": ["localhost:0"]}
    server = tf.distribute.Server(
        tf.train.ClusterSpec(cluster), job_name="worker", task_index=1, protocol="grpc"
    )
    definition = server.server_def
    return definition.job_name, definition.task_index, len(definition.cluster.job)


@step
def servers_that_are_refused(tf):
    two = {"a": ["localhost:0", "localhost:0"]}
    calls = [
        lambda: tf.distribute.Server(two),
        lambda: tf.distribute.Server({**two, "b": ["localhost:0"]}, task_index=0),
        lambda: tf.distribute.Server("text"),
    ]
    return [_kind(call) for call in calls]


# ---- resolvers


def resolvers_of(tf):
    return tf.distribute.cluster_resolver


def _described(resolver, *tasks):
    spec = resolver.cluster_spec()
    return (
        *(spec.as_dict(), resolver.task_type, resolver.task_id, resolver.rpc_layer),
        *(resolver.master(), [resolver.master(*task) for task in tasks]),
    )


@step
def simple_and_union_resolvers(tf):
    make = resolvers_of(tf)
    one = make.SimpleClusterResolver(
        tf.train.ClusterSpec({"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]}),
        master="m:1",
        task_type="ps",
        task_id=0,
        environment="cloud",
        num_accelerators={"GPU": 8},
        rpc_layer="grpc",
    )
    other = make.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["w2:1"], "chief": {3: "c:1"}})
    )
    union = make.UnionResolver(one, other)
    overridden = make.UnionResolver(one, other, task_type="worker", task_id=1, rpc_layer="test")
    return (
        _described(one, ("worker", 1), ("worker", 0, "other")),
        *(one.environment, one.num_accelerators()),
        _described(union, ("worker", 2, "other")),
        (union.environment, union.num_accelerators()),
        *(overridden.task_type, overridden.task_id, overridden.rpc_layer),
        *(overridden.master("ps", 0), overridden.cluster_spec().as_dict()),
    )


@differs("`rpc_layer` of a resolver's `master`")
def layers_of_masters(tf):
    make = resolvers_of(tf)
    spec = tf.train.ClusterSpec({"worker": ["w0:1"]})
    one = make.SimpleClusterResolver(spec, master="m:1", rpc_layer="grpc")
    union = make.UnionResolver(one)
    return one.master(rpc_layer=""), union.master("worker", 0)


@step
def resolvers_that_are_refused(tf):
    make = resolvers_of(tf)
    spec = tf.train.ClusterSpec({"a": ["h:1"]})
    calls = [
        lambda: make.SimpleClusterResolver({"a": ["h:1"]}),
        lambda: make.SimpleClusterResolver(spec, master=5),
        lambda: make.UnionResolver(),
        lambda: make.UnionResolver(5),
    ]
    return [_kind(call) for call in calls]


@step
def the_variable_tf_config(tf):
    config = {
        "cluster": {"ps": ["ps0:1"], "worker": ["w0:1", "w1:1"]},
        "rpc_layer": "grpc",
        "task": {"type": "ps", "index": "0"},
    }
    make = resolvers_of(tf).TFConfigClusterResolver
    found = []
    for change in ({}, {"rpc_layer": ""}, {"task": {}}, {"cluster": {"worker": ["w0:1"]}}):
        with environment(TF_CONFIG=json.dumps({**config, **change})):
            found.append(make().cluster_spec().as_dict())
            found.append([make().task_type, make().task_id])
            found.append(make("worker", 1, "other").rpc_layer)
            if change != {"task": {}}:
                found.append(make().master())
    with environment(TF_CONFIG="{}"):
        found.append(make().cluster_spec().as_dict())
    return found


SLURM = {
    "SLURM_PROCID": "1",
    "SLURM_STEP_NUM_TASKS": "5",
    "SLURM_STEP_NODELIST": "t02n[13,41,43]",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3",
}


def _slurm(tf, **arguments):
    with environment(**SLURM):
        resolver = resolvers_of(tf).SlurmClusterResolver(**arguments)
        spec, info = resolver.cluster_spec().as_dict(), resolver.get_task_info()
        visible = os.environ["CUDA_VISIBLE_DEVICES"]
        return spec, info, resolver.master(), resolver.num_accelerators(), visible


@step
def slurm_steps(tf):
    hosts = {"n2": 1, "n1": 2}
    return [
        _slurm(tf),
        _slurm(tf, gpus_per_node=4),
        _slurm(tf, jobs={"worker": 4, "ps": 1}, port_base=7777, gpus_per_node=4),
        _slurm(tf, jobs={"worker": 5}, gpus_per_node=4, gpus_per_task=1, rpc_layer=""),
        _slurm(tf, jobs={"worker": 3}, tasks_per_node=hosts, gpus_per_node=2, auto_set_gpu=False),
    ]


@differs("`SlurmClusterResolver`")
def a_slurm_step_without_gpus(tf):
    return _slurm(tf, gpus_per_node=0)


@step
def slurm_steps_that_are_refused(tf):
    make = resolvers_of(tf).SlurmClusterResolver
    found = []
    with environment(**SLURM):
        for arguments in (
            {"jobs": {"worker": 9}, "gpus_per_node": 4},
            {"jobs": {"worker": 2}, "gpus_per_node": 4},
            {"gpus_per_node": 3, "gpus_per_task": 2},
        ):
            try:
                make(**arguments)
            except RuntimeError:
                found.append(True)
    with environment():
        try:
            make()
        except RuntimeError:
            found.append(True)
    return found


@step
def sagemaker_hosts(tf):
    if tf.__name__ == "tensorflow":  # it does not export the class
        from tensorflow.python.distribute.cluster_resolver import sagemaker_cluster_resolver

        make = sagemaker_cluster_resolver.SageMakerClusterResolver
    else:
        make = resolvers_of(tf).SageMakerClusterResolver
    found = []
    for hosts, current in (
        ('["algo-1", "algo-2"]', "algo-2"),
        ('["algo-1"]', "algo-1"),
        ("", ""),
        ('["algo-1"]', ""),
    ):
        with environment(SM_HOSTS=hosts, SM_CURRENT_HOST=current):
            found.append((make().master(), make().task_type, make().task_id))
            found.append(make("2222", "ps", 1, "grpc").rpc_layer)
    with environment(SM_HOSTS='["algo-1", "algo-2"]', SM_CURRENT_HOST="algo-1"):
        found.append(make().cluster_spec().as_dict())
        found.append(make(port=2222).master("worker", 1, "grpc"))
    return found


class Pods:
    """The part of a client of Kubernetes that a resolver calls."""

    def __init__(self, phase="Running"):
        self.phase = phase

    def list_pod_for_all_namespaces(self, label_selector):
        return Object(
            items=[
                Object(
                    metadata=Object(name=f"tensorflow-{label_selector}-{k}"),
                    status=Object(phase=self.phase, host_ip=f"10.1.{len(label_selector)}.{k}"),
                )
                for k in (2, 1)
            ]
        )


@step
def pods_of_kubernetes(tf):
    make = resolvers_of(tf).KubernetesClusterResolver
    found = []
    for mapping in (None, {"worker": ["a", "bb"], "ps": ["ccc"]}):
        resolver = make(mapping, override_client=Pods())
        found.append(_described(resolver, ("worker", 0), ("worker", 1, "other")))
        resolver.task_type, resolver.task_id, resolver.rpc_layer = "worker", 1, "test"
        found.append(resolver.master())
    try:
        make(override_client=Pods("Failed")).cluster_spec()
    except RuntimeError:
        found.append("not running")
    return found


class ComputeEngine:
    """The part of a client of Compute Engine that a resolver calls: an instance a page."""

    def __init__(self, addresses):
        self.addresses = addresses

    def instanceGroups(self):  # noqa: N802
        return self

    instances = instanceGroups

    def listInstances(self, **where):  # noqa: N802
        return Object(page=0, execute=lambda: {"items": [{"instance": "projects/p/0"}]})

    def listInstances_next(self, previous_request, previous_response):  # noqa: N802
        page = previous_request.page + 1
        if page == len(self.addresses):
            return None
        return Object(page=page, execute=lambda: {"items": [{"instance": f"projects/p/{page}"}]})

    def get(self, project, zone, instance):
        address = self.addresses[int(instance)]
        return Object(execute=lambda: {"networkInterfaces": [{"networkIP": address}]})


def _group(tf, addresses=("10.2.0.2", "10.2.0.1"), **arguments):
    return resolvers_of(tf).GCEClusterResolver(
        project="p",
        zone="z",
        instance_group="g",
        port=8470,
        credentials=None,
        service=ComputeEngine(addresses),
        **arguments,
    )


@step
def instances_of_compute_engine(tf):
    group = _group(tf)
    union = resolvers_of(tf).UnionResolver(
        group, _group(tf, ("10.3.0.1",), task_type="ps"), _group(tf, ("10.4.0.1",))
    )
    found = [_described(group, ("worker", 1), ("worker", 0, "other"))]
    found.append(_described(_group(tf, task_type="chief", task_id=1, rpc_layer="test")))
    found.append(_group(tf, task_type="").cluster_spec().as_dict())
    found.append(union.cluster_spec().as_dict())
    group.task_id, group.rpc_layer = 1, ""
    found.append(group.master())
    return found


@step
def the_job_of_compute_engine_stays(tf):
    _group(tf).task_type = "ps"


@step
def addresses_of_tpus(tf):
    make = resolvers_of(tf).TPUClusterResolver
    found = []
    for tpu in ("grpc://10.1.2.3:8470", ["grpc://10.1.2.3:8470"]):
        resolver = make(tpu=tpu, job_name="tpu_worker")
        found += [resolver.cluster_spec().as_dict(), resolver.master(), resolver.get_job_name()]
    resolver = make(
        tpu="grpc://10.1.2.3:8470", coordinator_name="coordinator", coordinator_address="h:1"
    )
    found.append(resolver.cluster_spec().as_dict())
    return found


@step
def tpus_that_are_refused(tf):
    make = resolvers_of(tf).TPUClusterResolver
    return [_kind(lambda: make(tpu=[]))]


# ---- errors


@step
def errors_have_tensorflow_s_arguments(tf):
    error = tf.errors.NotFoundError(None, None, "text")
    return error.message, error.error_code, error.op, error.node_def
