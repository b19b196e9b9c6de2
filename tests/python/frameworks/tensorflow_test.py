"""TensorFlow: eager tensors over the memory of batches, and tf.data."""

import feedmill as fm
import numpy as np
import pytest
import tensorflow as tf
from feedmill.tensorflow import _tensor

DATASET = fm.Dataset.range(40).shuffle().batch(4).with_options(seed=3)
DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
KINDS = fm.Dataset.range(64).map(
    {
        "flag": "x % 2 == 0",
        **{t: f"cast(x, {t})" for t in DTYPES},
        "float16": "cast(x, float16) / 3",
        "bfloat16": "cast(x, bfloat16) / 3",
        "float32": "cast(x, float32) / 3",
        "float64": "cast(x, float64) / 3",
        "matrix": "[[x, x + 1], [x, x * 2]]",
        "text": "to_string(x)",
    }
)


def test_errors_have_tensorflows_types():
    from feedmill.tf import errors

    for name in errors.__all__:
        theirs, ours = getattr(tf.errors, name), getattr(errors, name)
        if isinstance(ours, int):
            assert ours == theirs
        elif name != "OpError":
            one, other = theirs(None, None, "text"), ours(None, None, "text")
            for attribute in ("message", "error_code", "op", "node_def"):
                assert getattr(one, attribute) == getattr(other, attribute), name


def values(batches):
    return [batch.numpy().tolist() for batch in batches]


def as_theirs(array):
    """TensorFlow's texts are bytes."""
    return np.array([x.encode() for x in array], object) if array.dtype == object else array


def test_every_dtype():
    batch = next(KINDS.batch(64).read())
    tensors = next(iter(KINDS.batch(64).to_tf()))
    for name, array in batch.items():
        assert tensors[name].dtype == (tf.string if name == "text" else array.dtype)
        np.testing.assert_array_equal(tensors[name].numpy(), as_theirs(array))


def test_a_tensor_is_a_view_of_the_batch_that_nothing_writes_to():
    batch = next(KINDS.batch(64).read())
    for name, array in batch.items():
        if name in ("flag", "text", "bfloat16"):
            continue
        kept = array.copy()
        tensor = _tensor(array)
        assert np.asarray(memoryview(tensor)).ctypes.data == array.ctypes.data
        one = tf.cast(1, tensor.dtype)
        variable = tf.Variable(tensor)
        variable.assign_add(tf.ones_like(variable))
        tensor = tf.add(tensor, one)
        np.testing.assert_array_equal(tensor.numpy(), kept + 1)
        np.testing.assert_array_equal(variable.numpy(), kept + 1)
        np.testing.assert_array_equal(array, kept)


def test_memory_that_is_not_aligned_is_copied():
    for row in KINDS.batch(8).read():
        for name, array in row.items():
            if name != "text":
                np.testing.assert_array_equal(_tensor(array).numpy(), array)
    empty = next(fm.Dataset.range(2).map("slice([x], 0, 0)").batch(2).read())
    assert _tensor(empty).shape == (2, 0)


def test_elements_without_a_batch():
    element = next(iter(KINDS.to_tf()))
    assert element["float32"].shape == () and element["matrix"].shape == (2, 2)
    assert element["text"].numpy() == b"0"


def test_epochs_states_and_ranks():
    whole = [[batch.tolist() for batch in DATASET.read(epoch=epoch)] for epoch in range(3)]
    loader = DATASET.to_tf()
    for count, _ in enumerate(loader, 1):
        after = DATASET.to_tf(state=loader.state_dict())
        assert [values(after), values(after)] == [whole[0][count:], whole[1]]
    loader.set_epoch(2)
    assert values(loader) == whole[2]
    assert values(DATASET.to_tf(rank=1, ranks=3)) == whole[0][1:9:3]


def test_a_dataset_of_tf_data():
    whole = [[batch.tolist() for batch in DATASET.read(epoch=epoch)] for epoch in range(2)]
    dataset = DATASET.to_tf().dataset()
    assert [values(dataset), values(dataset)] == whole
    for plain, batch in zip(KINDS.batch(8).read(), KINDS.batch(8).to_tf().dataset(), strict=True):
        for name, array in plain.items():
            np.testing.assert_array_equal(batch[name].numpy(), as_theirs(array))


def test_keras_fits():
    pairs = fm.Dataset.range(64).map({"x": "cast(x, float32) / 64", "y": "cast(x, float32) / 32"})
    dataset = (
        pairs.shuffle().batch(8).to_tf(seed=1).dataset().map(lambda e: (e["x"][:, None], e["y"]))
    )
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    history = model.fit(dataset, epochs=20, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0] / 4


def test_loaders_of_a_distributed_dataset_read_through_its_service(service):
    """Each of two workers makes all elements."""
    import feedmill.tf

    distribute = feedmill.tf.data.experimental.service.distribute
    with fm.WorkerServer(service) as second:
        while not second.registered:
            pass
        copies = feedmill.tf.data.Dataset.range(5).apply(distribute("parallel_epochs", service))
        for loader in (
            copies.to_tf(),
            copies.to_tf().dataset(),
            copies.to_torch(),
            copies.to_jax(),
        ):
            assert sorted(int(x) for x in loader) == sorted([*range(5), *range(5)])
        shared = feedmill.tf.data.Dataset.range(5).apply(
            distribute("distributed_epoch", service, job_name="shared")
        )
        assert sorted(int(x) for x in shared.to_tf()) == list(range(5))
        with pytest.raises(ValueError, match="share its elements already"):
            iter(shared.to_tf(rank=0, ranks=2)).__next__()


def test_ranks_need_one_seed():
    numbers = fm.Dataset.range(8).shuffle()
    with pytest.raises(fm.InvalidArgumentError, match=r"\.with_options\(seed=7\)"):
        next(iter(numbers.to_tf(rank=0, ranks=2)))
    parts = [[int(x) for x in numbers.to_tf(rank=r, ranks=2, seed=7)] for r in range(2)]
    assert sorted(parts[0] + parts[1]) == list(range(8))


def test_nulls_are_a_mask(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"n": 5, "s": "x"}\n{}\n{"n": 7, "s": "z"}\n')
    rows = fm.Dataset.jsonl(tmp_path / "rows.jsonl", fields={"n": "float32?", "s": "bytes?"})
    (batch,) = rows.batch(3).to_tf(nulls="masked")
    assert list(batch) == ["n", "n_mask", "s", "s_mask"]
    assert batch["n_mask"].numpy().tolist() == [True, False, True]
    (batch,) = rows.batch(3).to_tf(nulls="masked").dataset()
    assert tf.boolean_mask(batch["n"], batch["n_mask"]).numpy().tolist() == [5, 7]
    (batch,) = rows.batch(3).to_tf(nulls="fill").dataset()
    assert list(batch) == ["n", "s"]
    with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
        next(iter(rows.batch(3).to_tf()))
