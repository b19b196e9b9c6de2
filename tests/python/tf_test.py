"""feedmill.tf: the programs of the pages of tf.data service, with the import changed."""

import json
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace as Object

import feedmill as fm
import numpy as np
import pytest
from feedmill import tf
from feedmill.tf.distribute import cluster_resolver

service = tf.data.experimental.service


def ints(elements):
    return [int(x) for x in elements]


@pytest.fixture
def cluster():
    """A dispatcher with two workers."""
    dispatcher = service.DispatchServer()
    config = service.WorkerConfig(dispatcher_address=dispatcher._address)
    workers = [service.WorkerServer(config) for _ in range(2)]
    while dispatcher._num_workers() < 2:
        pass
    yield dispatcher
    for server in (*workers, dispatcher):
        server.stop()


# ---- DispatchServer and WorkerServer


def test_the_program_of_the_page():
    dispatcher = tf.data.experimental.service.DispatchServer()
    dispatcher_address = dispatcher.target.split("://")[1]
    worker = tf.data.experimental.service.WorkerServer(
        tf.data.experimental.service.WorkerConfig(dispatcher_address=dispatcher_address)
    )
    dataset = tf.data.Dataset.range(10)
    dataset = dataset.apply(
        tf.data.experimental.service.distribute(
            processing_mode="parallel_epochs", service=dispatcher.target
        )
    )
    assert list(dataset.as_numpy_iterator()) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    worker.stop()
    dispatcher.stop()


def test_servers_start_join_and_stop(tmp_path):
    dispatcher = service.DispatchServer(start=False)
    dispatcher.start()
    dispatcher.start()
    waiting = threading.Thread(target=dispatcher.join)
    waiting.start()
    dispatcher.stop()
    waiting.join(20)
    assert not waiting.is_alive()
    dispatcher.stop()
    with pytest.raises(tf.errors.OpError, match="after it has been stopped"):
        dispatcher.start()
    config = service.DispatcherConfig(
        port=0, work_dir=str(tmp_path / "work"), fault_tolerant_mode=True
    )
    with service.DispatchServer(config) as durable:
        port = int(durable._address.rpartition(":")[2])
        assert durable._num_workers() == 0
    again = service.DispatchServer(config._replace(port=port))
    older = service.WorkerServer(port=0, dispatcher_address=f"localhost:{port}")
    while again._num_workers() < 1:
        pass
    older.stop()
    again.stop()


def test_configs_that_are_wrong(tmp_path):
    with pytest.raises(ValueError, match="work_dir"):
        service.DispatchServer(service.DispatcherConfig(fault_tolerant_mode=True))
    with pytest.raises(ValueError, match="worker_addresses"):
        service.DispatchServer(service.DispatcherConfig(worker_addresses=["h"]))
    with pytest.raises(tf.errors.NotFoundError, match="protocol"):
        service.DispatchServer(service.DispatcherConfig(protocol="http"))
    assert service.DispatcherConfig(5, job_gc_timeout_ms=0)[:7] == (
        *(5, "grpc", None, False, None),
        *(0, 1),
    )
    assert service.WorkerConfig("h:1")[:7] == (
        *("h:1", "localhost:%port%", 0, "grpc"),
        *(0, 0, None),
    )
    with pytest.raises(ValueError, match="dispatcher_address"):
        service.WorkerServer()
    with pytest.raises(ValueError, match="dispatcher_address"):
        service.WorkerServer(service.WorkerConfig(dispatcher_address=""))
    with service.DispatchServer(service.DispatcherConfig(work_dir=str(tmp_path / "no"))):
        assert not (tmp_path / "no").exists()


def test_a_work_dir_in_an_object_store_needs_a_login(monkeypatch, tmp_path):
    """The block of the page about DispatchServer, with the import changed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:9")  # no server
    with pytest.raises(
        tf.errors.UnavailableError, match=r"gs://my-bucket/dispatcher/work_dir"
    ) as raised:
        tf.data.experimental.service.DispatchServer(
            tf.data.experimental.service.DispatcherConfig(
                port=0,
                work_dir="gs://my-bucket/dispatcher/work_dir",
                fault_tolerant_mode=True,
            )
        )
    assert "CLOUDSDK_AUTH_ACCESS_TOKEN" in str(raised.value)


# ---- errors


def test_errors_have_codes_and_the_arguments_of_tensorflow():
    from feedmill.errors import make_error

    kinds = [name for name in tf.errors.__all__ if name.endswith("Error") and name != "OpError"]
    assert len(kinds) == 16
    for name in kinds:
        kind = getattr(tf.errors, name)
        code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Error")).upper()
        assert kind.error_code == getattr(tf.errors, code)
        assert type(make_error(code, "text")) is kind
        for error in (kind("text"), kind(None, None, "text"), kind("node", "op", "text")):
            assert error.message == str(error) == "text"
            assert error.args == ("text",)
            copy = pickle.loads(pickle.dumps(error))
            assert (type(copy), copy.message, copy.op) == (kind, "text", error.op)
        assert (error.node_def, error.op) == ("node", "op")
    assert tf.errors.OpError(None, None, "text", 11).error_code == tf.errors.OUT_OF_RANGE
    assert type(make_error("SOMETHING_NEW", "text")) is tf.errors.UnknownError
    assert isinstance(make_error("PERMISSION_DENIED", "text"), PermissionError)


# ---- distribute


def test_processing_modes(cluster):
    dataset = tf.data.Dataset.range(100)
    for mode in ("distributed_epoch", service.ShardingPolicy.DYNAMIC):
        assert ints(dataset.apply(service.distribute(mode, cluster.target))) == list(range(100))
    for mode in ("parallel_epochs", service.ShardingPolicy.OFF):
        copies = ints(dataset.apply(service.distribute(mode, cluster.target)))
        assert sorted(copies) == sorted([*range(100), *range(100)])


@pytest.mark.parametrize("form", ["{}", "tcp://{}", "grpc://{}", None])
def test_addresses(cluster, form):
    address = ("grpc", cluster._address) if form is None else form.format(cluster._address)
    dataset = tf.data.Dataset.range(5).apply(service.distribute("distributed_epoch", address))
    assert ints(dataset) == [0, 1, 2, 3, 4]


def test_steps_after_distribute(cluster):
    dataset = tf.data.Dataset.range(6).apply(
        service.distribute("distributed_epoch", cluster.target, compression=None)
    )
    assert [x.tolist() for x in dataset.map("x * 2").batch(3)] == [[0, 2, 4], [6, 8, 10]]
    assert ints(pickle.loads(pickle.dumps(dataset))) == [0, 1, 2, 3, 4, 5]


def test_each_loop_is_the_next_epoch(cluster):
    dataset = tf.data.Dataset.range(50).shuffle(seed=3)
    plain = fm.Dataset.range(50).shuffle(seed=3)
    for distributed in (
        dataset,
        dataset.apply(service.distribute("distributed_epoch", cluster.target)),
    ):
        for epoch in range(3):
            assert ints(distributed) == ints(plain.read(epoch=epoch))


def test_datasets_with_an_id(cluster):
    squares = tf.data.Dataset.range(10).map(s="x * x").batch(4)
    derived = service.register_dataset(cluster.target, squares)
    assert derived.startswith("dataset-")
    assert service.register_dataset(cluster.target, squares) == derived
    assert service.register_dataset(cluster.target, squares, dataset_id="squares") == "squares"
    expected = [batch["s"].tolist() for batch in squares]
    spec = {"s": fm.ComponentSpec("int64", (None,))}
    for dataset_id in (derived, "squares"):
        dataset = service.from_dataset_id(
            "distributed_epoch", cluster.target, dataset_id, element_spec=spec
        )
        assert [batch["s"].tolist() for batch in dataset] == expected
        more = dataset.unbatch().filter("s > 50")
        assert [int(e["s"]) for e in more] == [64, 81]
        assert fm.Dataset.from_yaml(dataset.to_yaml()).element_spec == spec
        assert len(pickle.loads(pickle.dumps(dataset)).element_spec) == 1
    both = tf.data.Dataset.zip([dataset, fm.Dataset.range(10).map(x="x").batch(4)])
    assert list(both.element_spec) == ["s", "x"]


def test_datasets_with_an_id_that_are_wrong(cluster):
    numbers = tf.data.Dataset.range(10)
    service.register_dataset(cluster.target, numbers, dataset_id="numbers")
    with pytest.raises(fm.InvalidArgumentError, match="another pipeline"):
        service.register_dataset(cluster.target, numbers.batch(2), dataset_id="numbers")
    with pytest.raises(fm.NotFoundError, match="there is no dataset 'none'"):
        service.from_dataset_id("distributed_epoch", cluster.target, "none")
    with pytest.raises(fm.InvalidArgumentError, match="were expected"):
        service.from_dataset_id(
            "distributed_epoch",
            cluster.target,
            "numbers",
            element_spec=fm.ComponentSpec("float32", ()),
        )
    for wrong in ("", 5, "x" * 257):
        with pytest.raises(ValueError):
            service.register_dataset(cluster.target, numbers, dataset_id=wrong)
    with pytest.raises(ValueError, match="nothing"):
        service.register_dataset(cluster.target, numbers.map("nothing + 1"))


def test_two_readers_of_a_job_in_one_thread_name_the_job(cluster):
    numbers = tf.data.Dataset.range(50)
    share = service.distribute("distributed_epoch", cluster.target, "both")
    one, other = iter(numbers.apply(share)), iter(numbers.apply(share))
    got = [int(next(other)), int(next(one))]
    with pytest.raises(fm.FailedPreconditionError, match='job "both": this thread has two'):
        for element in one:
            got.append(int(element))
    got += ints(other)
    assert sorted(set(got)) == list(range(50))


def test_readers_of_a_named_job_share_it(cluster):
    share = service.distribute("distributed_epoch", cluster.target, job_name="shared")
    datasets = [tf.data.Dataset.range(1000).apply(share) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(ints, datasets))
    assert sorted(parts[0] + parts[1]) == list(range(1000))


def test_consumers_of_a_job(cluster):
    parts = [
        ints(
            tf.data.Dataset.range(10).apply(
                service.distribute(
                    "distributed_epoch", cluster.target, "ranks", consumer_index=c, num_consumers=2
                )
            )
        )
        for c in range(2)
    ]
    assert parts == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"processing_mode": "some"}, "processing_mode"),
        ({"service": ""}, "service"),
        ({"service": 5}, "service"),
        ({"service": "a://b://c"}, "service"),
        ({"job_name": ""}, "job_name"),
        ({"job_name": 3}, "job_name"),
        ({"consumer_index": 0}, "both"),
        ({"consumer_index": 0, "num_consumers": 2}, "job_name"),
        ({"max_outstanding_requests": 0}, "positive"),
        ({"compression": "ZIP"}, "compression"),
        ({"cross_trainer_cache": object()}, "cache"),
        ({"target_workers": "LOCAL"}, "target_workers"),
    ],
)
def test_arguments_that_are_wrong(arguments, message):
    given = {"processing_mode": "distributed_epoch", "service": "localhost:1", **arguments}
    with pytest.raises(ValueError, match=message):
        service.distribute(**given)


# ---- ClusterSpec


SPARSE = {"worker": {1: "worker1.example.com:2222"}, "ps": ["ps0:2222", "ps1:2222"]}


def test_cluster_spec():
    cluster = tf.train.ClusterSpec(
        {
            "worker": ["worker0.example.com:2222", "worker1.example.com:2222"],
            "ps": ["ps0.example.com:2222"],
        }
    )
    assert cluster and not tf.train.ClusterSpec({})
    assert cluster.jobs == ["worker", "ps"]
    assert cluster.num_tasks("worker") == 2
    assert cluster.task_indices("worker") == [0, 1]
    assert cluster.task_address("worker", 1) == "worker1.example.com:2222"
    sparse = tf.train.ClusterSpec(SPARSE)
    assert sparse.job_tasks("worker") == [None, "worker1.example.com:2222"]
    assert sparse.as_dict() == SPARSE
    assert tf.train.ClusterSpec(sparse.as_cluster_def()) == sparse
    assert tf.train.ClusterSpec(sparse) == sparse != cluster
    assert tf.train.ClusterSpec({"a": ["h:1"]}) == tf.train.ClusterSpec({"a": {"0": b"h:1"}})
    assert repr(tf.train.ClusterSpec({"z": ["h:1"], "b": {3: "h:1"}})) == (
        "ClusterSpec({'b': {3: 'h:1'}, 'z': ['h:1']})"
    )
    assert tf.train.ClusterSpec({"a": []}).as_dict() == {"a": {}}
    assert tf.train.ClusterSpec({"a": []}).job_tasks("a") == []
    for call in (cluster.num_tasks, cluster.task_indices, cluster.job_tasks):
        with pytest.raises(ValueError, match="no such job"):
            call("nowhere")
    for job, index in (("nowhere", 0), ("worker", 2)):
        with pytest.raises(ValueError, match=r"no such job|no task"):
            cluster.task_address(job, index)
    with pytest.raises(TypeError):
        hash(cluster)


@pytest.mark.parametrize("cluster", ["text", {1: ["h:1"]}, {"a": "h:1"}, {"a": [1]}, ["h:1"], None])
def test_an_invalid_cluster_is_refused(cluster):
    with pytest.raises(TypeError):
        tf.train.ClusterSpec(cluster)


@pytest.mark.parametrize("index", ["x", 1.5, -1])
def test_an_invalid_task_index_is_refused(index):
    with pytest.raises(ValueError, match="task index"):
        tf.train.ClusterSpec({"a": {index: "h:1"}})


# ---- Server


def test_the_servers_of_a_cluster():
    dispatcher = tf.train.Server({"dispatcher": ["localhost:0"]}, protocol="grpc")
    address = dispatcher.server_def.cluster.job[0].tasks[0]
    cluster = {"dispatcher": [address], "worker": {37: "localhost:0"}, "ps": ["localhost:0"]}
    worker = tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name="worker")
    assert worker.server_def.task_index == 37
    ps = tf.train.Server(tf.train.ServerDef(cluster, "ps", 0))
    assert ps.server_def.job_name == "ps"
    with tf.Session(ps.target) as session:
        assert session.target == ps.target
    assert ints(fm.Dataset.range(4).read(dispatcher.target)) == [0, 1, 2, 3]
    ps.stop()
    ps.join()
    with pytest.raises(tf.errors.OpError, match="job"):
        tf.train.Server(cluster, "nowhere")
    with pytest.raises(ValueError, match="say which"):
        tf.train.Server({"worker": ["a:1", "b:1"]})
    with pytest.raises(tf.errors.OpError):
        tf.train.Server({"dispatcher": [address]})  # the port is taken


def test_a_cluster_without_a_dispatcher():
    """The cluster of the page about ClusterSpec, on this machine."""
    cluster = {"worker": ["localhost:0", "localhost:0"], "ps": ["localhost:0"]}
    server = tf.train.Server(cluster, job_name="worker", task_index=1, config="kept")
    assert server.target.startswith("grpc://localhost:")
    definition = server.server_def
    assert (definition.job_name, definition.task_index) == ("worker", 1)
    assert (definition.protocol, definition.default_session_config) == ("grpc", "kept")
    named = {"worker": ["worker0.example.com:0"], "ps": ["ps0.example.com:2222"]}
    with pytest.raises(ValueError, match=r"keys=.*insecure_bind=True"):
        tf.train.Server(named, job_name="worker")
    other = tf.train.Server(named, job_name="worker", insecure_bind=True)
    assert other.target.startswith("grpc://worker0.example.com:")
    with pytest.raises(tf.errors.UnavailableError):
        tf.train.Server({"local_2": [server.target[len("grpc://") :]]})


def test_a_local_server():
    server = tf.train.Server.create_local_server(start=False)
    with pytest.raises(tf.errors.FailedPreconditionError):
        server.join()
    server.start()
    assert ints(fm.Dataset.range(3).read(server.target)) == [0, 1, 2]


def test_ctrl_c_ends_a_join():
    program = (
        "import os, signal, threading\n"
        "from feedmill import tf\n"
        # A shell's background process ignores it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "server = tf.train.Server.create_local_server()\n"
        "threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "try: server.join()\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "interrupted\n"


# ---- resolvers


def test_simple_and_union_resolvers():
    first = cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["a:1", "b:1"]}),
        master="m:1",
        task_type="worker",
        task_id=1,
        num_accelerators={"GPU": 4},
        rpc_layer="tcp",
    )
    assert first.master() == "tcp://m:1"
    assert first.master("worker", 0) == "tcp://a:1"
    assert first.master("worker", 0, rpc_layer="") == "a:1"
    assert first.num_accelerators() == {"GPU": 4}
    second = cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["c:1"], "ps": {4: "d:1"}})
    )
    union = cluster_resolver.UnionResolver(first, second, task_id=0)
    assert union.cluster_spec().as_dict() == {"worker": ["a:1", "b:1", "c:1"], "ps": {4: "d:1"}}
    assert (union.task_type, union.task_id, union.rpc_layer) == ("worker", 0, "tcp")
    assert union.master("worker", 2) == "tcp://c:1"
    assert union.master() == "tcp://m:1"
    with pytest.raises(KeyError):
        cluster_resolver.UnionResolver(second, second).cluster_spec()
    with pytest.raises(ValueError, match="at least one"):
        cluster_resolver.UnionResolver()
    with pytest.raises(TypeError):
        cluster_resolver.UnionResolver("env:")
    with pytest.raises(TypeError):
        cluster_resolver.SimpleClusterResolver({"worker": ["a:1"]})
    with pytest.raises(TypeError):
        cluster_resolver.ClusterResolver()


def test_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    resolver = cluster_resolver.TFConfigClusterResolver()
    assert not resolver.cluster_spec()
    config = {
        "cluster": {"worker": ["a:1", "b:1"], "ps": {"3": "p:1"}},
        "task": {"type": "worker", "index": "1"},
        "rpc_layer": "grpc",
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    assert resolver.cluster_spec().as_dict() == {"worker": ["a:1", "b:1"], "ps": {3: "p:1"}}
    assert resolver.get_task_info() == ("worker", 1)
    assert resolver.master() == "grpc://b:1"
    assert resolver.master("worker", 0, "tcp") == "tcp://a:1"
    resolver.task_id = 0
    assert resolver.master() == "grpc://a:1"
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="TF_CONFIG"):
        resolver.cluster_spec()


@pytest.fixture
def slurm(monkeypatch):
    """A step of five tasks on three hosts, of which this process is number 1."""
    for name, value in {
        "SLURM_PROCID": "1",
        "SLURM_STEP_NUM_TASKS": "5",
        "SLURM_STEP_NODELIST": "n[1-3]",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2),1",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3",
    }.items():
        monkeypatch.setenv(name, value)


def test_slurm(slurm, monkeypatch):
    resolver = cluster_resolver.SlurmClusterResolver()
    everyone = ["n1:8888", "n1:8889", "n2:8888", "n2:8889", "n3:8888"]
    assert resolver.cluster_spec().as_dict() == {"worker": everyone}
    assert (resolver.get_task_info(), resolver.master()) == (("worker", 1), "grpc://n1:8889")
    assert resolver.num_accelerators() == {"GPU": 2}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    resolver = cluster_resolver.SlurmClusterResolver(
        {"worker": 4, "ps": 1}, gpus_per_node=2, auto_set_gpu=False, rpc_layer=""
    )
    assert resolver.cluster_spec().as_dict() == {"ps": everyone[:1], "worker": everyone[1:]}
    assert (resolver.get_task_info(), resolver.master()) == (("worker", 0), "n1:8889")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    resolver = cluster_resolver.SlurmClusterResolver(
        {"worker": 3}, tasks_per_node={"b": 1, "a": 2}, gpus_per_node=4, gpus_per_task=1
    )
    assert resolver.cluster_spec().as_dict() == {"worker": ["a:8888", "a:8889", "b:8888"]}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_slurm_refuses_what_does_not_fit(slurm, monkeypatch):
    make = cluster_resolver.SlurmClusterResolver
    for arguments, message in (
        ({"jobs": {"worker": 9}}, "want 9 tasks, and the step has 5"),
        ({"jobs": {"worker": 4}}, "want 4 tasks"),
        ({"gpus_per_node": 3, "gpus_per_task": 2}, "2 GPUs for each of 2"),
        ({"tasks_per_node": {"a": 1}}, "SLURM_PROCID"),
    ):
        with pytest.raises(RuntimeError, match=message) as raised:
            make(**arguments)
        assert isinstance(raised.value, tf.errors.InvalidArgumentError)
    monkeypatch.delenv("SLURM_STEP_NODELIST")
    with pytest.raises(RuntimeError, match="SLURM_STEP_NODELIST"):
        make()


def test_sagemaker(monkeypatch):
    monkeypatch.setenv("SM_HOSTS", '["algo-1", "algo-2"]')
    monkeypatch.setenv("SM_CURRENT_HOST", "algo-2")
    resolver = cluster_resolver.SageMakerClusterResolver()
    assert resolver.cluster_spec().as_dict() == {"worker": ["algo-1:2223", "algo-2:2223"]}
    assert resolver.get_task_info() == ("worker", 1)
    monkeypatch.setenv("SM_CURRENT_HOST", "")
    assert resolver.get_task_info() == (None, None)
    monkeypatch.setenv("SM_HOSTS", "")
    assert (bool(resolver.cluster_spec()), resolver.master()) == (False, "")


class Kubernetes:
    """The part of a client of Kubernetes that a resolver calls."""

    def __init__(self, phase="Running"):
        self.phase = phase

    def list_pod_for_all_namespaces(self, label_selector):
        return Object(
            items=[
                Object(
                    metadata=Object(name=f"{label_selector}-{k}"),
                    status=Object(phase=self.phase, host_ip=f"10.0.{len(label_selector)}.{k}"),
                )
                for k in (1, 0)
            ]
        )


def test_kubernetes_with_a_client():
    make = cluster_resolver.KubernetesClusterResolver
    pods = make({"worker": ["a", "bb"], "ps": ["ccc"]}, override_client=Kubernetes())
    workers = ["10.0.1.0:8470", "10.0.1.1:8470", "10.0.2.0:8470", "10.0.2.1:8470"]
    assert pods.cluster_spec().as_dict() == {
        "worker": workers,
        "ps": ["10.0.3.0:8470", "10.0.3.1:8470"],
    }
    assert (pods.master(), pods.master("worker", 1)) == ("", "grpc://10.0.1.1:8470")
    pods.task_type, pods.task_id = "ps", 0
    assert pods.master(rpc_layer="tcp") == "tcp://10.0.3.0:8470"
    with pytest.raises(RuntimeError, match="Pending"):
        make(override_client=Kubernetes("Pending")).cluster_spec()
    with pytest.raises(ValueError, match="executable_location"):
        make(executable_location=7)
    make(executable_location=cluster_resolver.KubernetesExecutableLocation.OFF_CLUSTER)


class ComputeEngine:
    """The part of Google's client that a resolver calls: a page for each instance."""

    addresses = ("10.0.0.2", "10.0.0.1")

    def instanceGroups(self):  # noqa: N802
        return self

    def instances(self):
        return self

    def listInstances(self, project, zone, instanceGroups, body, orderBy):  # noqa: N802, N803
        assert (project, zone, instanceGroups) == ("p", "z", "g")
        return Object(page=0, execute=lambda: {"items": [{"instance": "zones/z/0"}]})

    def listInstances_next(self, previous_request, previous_response):  # noqa: N802
        if previous_request.page == 1:
            return None
        return Object(page=1, execute=lambda: {"items": [{"instance": "zones/z/1"}]})

    def get(self, project, zone, instance):
        address = self.addresses[int(instance)]
        return Object(execute=lambda: {"networkInterfaces": [{"networkIP": address}]})


def test_gce_with_a_client():
    group = cluster_resolver.GCEClusterResolver(
        "p", "z", "g", 8470, task_type="chief", task_id=1, service=ComputeEngine()
    )
    assert group.cluster_spec().as_dict() == {"chief": ["10.0.0.1:8470", "10.0.0.2:8470"]}
    assert (group.get_task_info(), group.master()) == (("chief", 1), "grpc://10.0.0.2:8470")
    with pytest.raises(RuntimeError, match="stays"):
        group.task_type = "worker"
    group.task_id, group.rpc_layer = 0, ""
    assert group.master() == "10.0.0.1:8470"


def test_a_tpu_by_its_address():
    make = cluster_resolver.TPUClusterResolver
    tpu = make(
        ["grpc://10.1.2.3:8470"],
        job_name="tpu_worker",
        coordinator_name="coordinator",
        coordinator_address="h:1",
    )
    assert tpu.cluster_spec().as_dict() == {
        "coordinator": ["h:1"],
        "tpu_worker": ["10.1.2.3:8470"],
    }
    assert (tpu.get_master(), tpu.get_job_name()) == ("grpc://10.1.2.3:8470", "tpu_worker")
    assert not make("local").cluster_spec()
    with pytest.raises(ValueError, match="at least one"):
        make([])
    with pytest.raises(NotImplementedError):
        make(["a", "b"])
    with pytest.raises(ValueError, match="both"):
        make("a", coordinator_name="coordinator")
    for arguments in ({"credentials": object()}, {"service": object()}):
        with pytest.raises(ValueError, match=r"client|credentials"):
            make("a", **arguments)


def test_resolvers_of_clouds_say_what_they_lack(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    resolver = cluster_resolver.KubernetesClusterResolver({"worker": ["app=mill"]})
    with pytest.raises(tf.errors.OpError, match=r"kubernetes|nowhere"):
        resolver.cluster_spec()
    gce = cluster_resolver.GCEClusterResolver("p", "z", "group", 5050)
    assert gce.get_task_info() == ("worker", 0)
    assert (
        cluster_resolver.TPUClusterResolver("t", zone="z")._uri == "tpu:t?zone=z&hosts_job=worker"
    )


# ---- datasets: tf_pipelines.py compares them with TensorFlow


def test_a_generator_with_a_signature():
    def pairs():
        for n in range(3):
            yield {"n": n, "row": np.array([n, n + 1], np.int32)}

    signature = {"n": tf.TensorSpec((), tf.int64), "row": tf.TensorSpec([2], tf.int32)}
    dataset = tf.data.Dataset.from_generator(pairs, output_signature=signature)
    assert [(int(e["n"]), e["row"].tolist()) for e in dataset] == [
        *((0, [0, 1]), (1, [1, 2])),
        (2, [2, 3]),
    ]
    for wrong in ({"args": (3,)}, {"output_types": tf.int64}, {"output_signature": 3}):
        with pytest.raises(ValueError, match="output_signature"):
            tf.data.Dataset.from_generator(pairs, **wrong)


def test_arguments_of_tensorflow_that_mean_another_thing_are_refused(tmp_path):
    numbers = tf.data.Dataset.range(9)
    image = tf.data.Dataset.images(str(tmp_path))
    features = {"label": tf.io.FixedLenFeature([], tf.int64)}
    (tmp_path / "a.tfrecord").write_bytes(b"")
    files = tf.data.Dataset.list_files(str(tmp_path / "*"))
    for build, part in [
        (lambda: numbers.shuffle(9, reshuffle_each_iteration=False), "shuffle(…).cache()"),
        (lambda: tf.data.TFRecordDataset("a", compression_type="ZLIB"), "expected None, '' or"),
        (lambda: image.map(lambda e: tf.io.decode_jpeg(e["image"])), "write channels=3"),
        (
            lambda: image.map(lambda e: tf.image.resize(e["image"], [2, 2], "bicubic")),
            "OpenCV's 'area' and 'cubic'",
        ),
        (
            lambda: image.map(lambda e: tf.io.parse_single_example(e["image"], features)),
            "write dataset.parse_example({'label': 'int64'})",
        ),
        (lambda: tf.io.parse_single_example(b"", features), "it parses the whole element"),
        (
            lambda: numbers.map(lambda x: tf.io.parse_single_example(x, {"label": tf.int64})),
            "features['label']: expected a FixedLenFeature",
        ),
        (lambda: files.interleave(tf.data.TFRecordDataset), "list_files(…, shuffle=False)"),
        (lambda: files.take(1), "take: the names are shuffled"),
        (lambda: numbers.shuffle(9).interleave(tf.data.Dataset.range), "shuffled"),
        (lambda: tf.data.Dataset.list_files("s3://a/*.tfrecord"), "listed when it is read"),
    ]:
        with pytest.raises(fm.InvalidArgumentError) as raised:
            build()
        assert part in str(raised.value)


def test_names_of_tensorflow_that_are_not_here_are_answered():
    numbers = tf.data.Dataset.range(9)
    for lookup, part in [
        (lambda: numbers.group_by_window, "write `bucket_by_sequence_length`"),
        (lambda: numbers.snapshot, 'write `cache("FOLDER/")`'),
        (lambda: tf.data.Dataset.sample_from_datasets, "`Dataset.mixture(inputs=[…]"),
        (lambda: tf.image.adjust_brightness, "`image.adjust_brightness(x, "),
        (lambda: tf.image.rgb_to_grayscale, "`image.adjust_saturation(x, 0)`"),
        (lambda: tf.io.read_file, "write `Dataset.images(…)`"),
        (lambda: tf.strings.to_hash_bucket_fast, "write `hash_bucket(s, n)`"),
        (lambda: tf.strings.reduce_join, "docs/tf.md lists its names"),
        (lambda: tf.expand_dims, "write `reshape(x, [n, -1])`"),
        (lambda: tf.data.experimental.make_csv_dataset, "write `Dataset.csv(…)`"),
        (lambda: tf.data.TFRecordDatset, 'did you mean "TFRecordDataset"'),
        (lambda: tf.keras, "feedmill's tf has no keras"),
        (lambda: tf.data.Dataset.list_files(__file__).batch, "names of files have no batch"),
    ]:
        with pytest.raises(AttributeError) as raised:
            lookup()
        assert part in str(raised.value)


def test_feedmills_own_options_stay():
    numbers = tf.data.Dataset.range(9)
    assert numbers.batch(size=4) == numbers.batch(4) == numbers.batch(batch_size=4)
    assert numbers.shuffle(window=4) == numbers.shuffle(4)
    assert numbers.shuffle(seed=3) == numbers.shuffle(None, 3)
    assert numbers.shard(count=3, index=1) == numbers.shard(3, 1)
    assert ints(tf.data.Dataset.interleave([numbers.take(2), numbers.skip(7)])) == [0, 7, 1, 8]
    assert ints(tf.data.Dataset.concatenate([numbers.take(1), numbers.skip(8)])) == [0, 8]
    assert ints(numbers.map("x + 1").take(2)) == [1, 2]
    zipped = tf.data.Dataset.zip((numbers.map(a="x"), numbers.map(b="2 * x")))
    assert zipped == tf.data.Dataset.zip(numbers.map(a="x"), numbers.map(b="2 * x"))
    assert len(zipped) == 9 and bool(zipped)
