"""feedmill.ray on a Ray cluster of a GPU node and a CPU node, both on this machine."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import feedmill as fm
import pytest

os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
import feedmill.ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

pytestmark = pytest.mark.others_remain  # Ray keeps threads and sockets
DATA = fm.Dataset.range(10_000).shuffle().map(x="x * 3").batch(64).with_options(seed=5)


@pytest.fixture(scope="module", autouse=True)
def nodes() -> Iterator[dict[str, str]]:
    """Ids of the nodes by their kinds. The driver, and so the dispatcher, is on the GPU node."""
    size = {"object_store_memory": 80 << 20}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 4, "num_gpus": 1, "labels": {"node-kind": "gpu"}, **size},
    )
    cluster.add_node(num_cpus=4, labels={"node-kind": "cpu"}, **size)
    ray.init(address=cluster.address)
    yield {node["Labels"]["node-kind"]: node["NodeID"] for node in ray.nodes()}
    ray.shutdown()
    cluster.shutdown()


def node_of(actor: Any) -> str:
    place = actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
    return str(ray.get(place, timeout=60))


@pytest.mark.parametrize("kind", ["cpu", "!gpu"])
def test_workers_stay_off_the_gpu_node_and_serve_it_with_keys(
    nodes: dict[str, str], tmp_path: pathlib.Path, kind: str
) -> None:
    keys = tmp_path / "keys"
    subprocess.run([os.environ["FEEDMILL"], "keygen", "--dir", keys], check=True)

    @ray.remote(num_gpus=1, num_cpus=1)
    def train(target: str) -> tuple[str, list[bytes]]:
        batches = [batch["x"].tobytes() for batch in DATA.read(target, keys=keys)]
        return ray.get_runtime_context().get_node_id(), batches

    with feedmill.ray.launch(workers=3, label_selector={"node-kind": kind}, keys=keys) as service:
        assert not service.target.startswith("tcp://127.")
        assert node_of(service._dispatcher) == nodes["gpu"]
        assert {node_of(worker) for worker in service._workers} == {nodes["cpu"]}
        place, batches = ray.get(train.remote(service.target), timeout=120)
        assert place == nodes["gpu"]
        assert batches == [batch["x"].tobytes() for batch in DATA.read()]
        with pytest.raises(fm.Error):
            list(DATA.read(service.target, timeout=3))  # without keys
