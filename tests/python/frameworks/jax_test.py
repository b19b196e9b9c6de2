"""JAX: arrays over the memory of batches, and processes with global arrays."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import feedmill as fm
import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

DATASET = fm.Dataset.range(40).shuffle().batch(4).with_options(seed=3)
KINDS = fm.Dataset.range(64).map(
    {
        "flag": "x % 2 == 0",
        **{t: f"cast(x, {t})" for t in ("int8", "int16", "int32", "uint8", "uint16", "uint32")},
        "float16": "cast(x, float16) / 3",
        "bfloat16": "cast(x, bfloat16) / 3",
        "float32": "cast(x, float32) / 3",
        "matrix": "cast([[x, x + 1], [x, x * 2]], int32)",
        "text": "to_string(x)",
    }
)


def values(batches):
    return [batch.tolist() for batch in batches]


def test_every_dtype():
    batch = next(KINDS.batch(64).read())
    arrays = next(iter(KINDS.batch(64).to_jax()))
    for name, array in batch.items():
        if name == "text":
            assert arrays[name].tolist() == array.tolist()
            continue
        assert isinstance(arrays[name], jax.Array)
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_an_array_is_a_view_of_the_batch():
    loader = KINDS.to_jax()
    for name, array in next(KINDS.batch(64).read()).items():
        if name != "text":
            view = loader._array(array, name)
            assert view.unsafe_buffer_pointer() == array.ctypes.data
            kept = array.copy()
            add = jax.jit(lambda x: x + 1, donate_argnums=0)
            add(view).block_until_ready()
            np.testing.assert_array_equal(array, kept)


def test_elements_without_a_batch():
    element = next(iter(KINDS.to_jax()))
    assert element["float32"].shape == () and element["matrix"].shape == (2, 2)
    assert element["text"] == "0"


def test_epochs_and_states():
    whole = [[batch.tolist() for batch in DATASET.read(epoch=epoch)] for epoch in range(3)]
    loader = DATASET.to_jax()
    assert len(loader) == 10
    for count, _ in enumerate(loader, 1):
        after = DATASET.to_jax(state=loader.state_dict())
        assert [values(after), values(after)] == [whole[0][count:], whole[1]]
    loader.set_epoch(2)
    assert values(loader) == whole[2]
    batches = iter(DATASET.to_jax())
    next(batches)
    state = batches.get_state()
    assert next(batches).tolist() == whole[0][1]
    batches.set_state(state)
    assert values(batches) == whole[0][1:]
    loader.set_state(state)
    assert loader.get_state() == state


def test_sharding():
    one = SingleDeviceSharding(jax.devices()[0])
    assert values(DATASET.to_jax(sharding=one)) == values(DATASET.read())
    mesh = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
    batch = next(iter(KINDS.batch(8).to_jax(sharding={"int8": mesh})))
    assert batch["int8"].sharding == mesh
    assert batch["int16"].sharding == one
    with pytest.raises(fm.InvalidArgumentError, match="drop_remainder"):
        next(iter(DATASET.to_jax(sharding=one, rank=0, ranks=2)))


PROGRAM = Path(__file__).parent / "jax_process.py"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def run_processes(folder, target, kind, states=("", ""), steps=100):
    coordinator = f"127.0.0.1:{free_port()}"
    files = [folder / "0", folder / "1"]
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                PROGRAM,
                coordinator,
                str(p),
                target,
                kind,
                states[p],
                str(steps),
                file,
            ],
            env={**os.environ, "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for p, file in enumerate(files)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
    return [json.loads(file.read_text()) for file in files]


def test_two_processes_share_a_seed(tmp_path):
    results = run_processes(tmp_path, "", "unseeded")
    assert [len(result["sums"]) for result in results] == [8, 8]
    assert sum(results[0]["sums"]) == sum(range(160))
    states = [result["state"] for result in results]
    assert fm.merge_states(states)


@pytest.mark.parametrize("kind", ["plan", "filter"])
def test_two_processes_end_together(kind, tmp_path):
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        whole = run_processes(tmp_path, dispatcher.target, kind)
        assert [len(result["sums"]) for result in whole] == [8, 8]  # of 17 batches
        assert whole[0]["sums"] == whole[1]["sums"]
        begun = run_processes(tmp_path, dispatcher.target, kind, steps=3)
        states = [json.dumps(result["state"]) for result in begun]
        rest = run_processes(tmp_path, dispatcher.target, kind, states)
    assert begun[0]["sums"] + rest[0]["sums"] == whole[0]["sums"]
    dataset = fm.Dataset.range(170).shuffle(seed=7).batch(10).read(seed=7)
    if kind == "plan":
        batches = [int(batch.sum()) for batch in dataset]
        pairs = [a + b for a, b in zip(batches[:16:2], batches[1:16:2], strict=True)]
        assert whole[0]["sums"] == pairs


def test_nulls_are_a_mask(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"n": 5, "s": "x"}\n{}\n{"n": 7, "s": "z"}\n')
    rows = fm.Dataset.jsonl(tmp_path / "rows.jsonl", fields={"n": "float32?", "s": "bytes?"})
    (batch,) = rows.batch(3).to_jax(nulls="masked")
    assert list(batch) == ["n", "n_mask", "s", "s_mask"]
    assert float(jax.numpy.mean(batch["n"], where=batch["n_mask"])) == 6
    sharding = SingleDeviceSharding(jax.devices()[0])
    (batch,) = rows.batch(3).to_jax(nulls="masked", sharding={"n": sharding, "n_mask": sharding})
    assert batch["n_mask"].tolist() == [True, False, True]
    with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
        next(iter(rows.batch(3).to_jax()))
