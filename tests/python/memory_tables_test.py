"""from_dict, from_numpy, from_list and from_tensor_slices: tables in memory."""

import collections
import os
import pickle
import subprocess
import sys

import feedmill as fm
import numpy as np
import pytest

ROWS = 1000
RNG = np.random.default_rng(7)
TABLE = {
    "image": RNG.integers(0, 256, (ROWS, 4, 5), np.uint8),
    "label": np.arange(ROWS),
    "weight": RNG.random(ROWS, np.float32),
    "text": [f"text {k}" * (k % 5) for k in range(ROWS)],
    "ids": [list(range(k % 7)) for k in range(ROWS)],
}


def labels(dataset, *arguments, **read):
    with dataset.read(*arguments, **read) as reader:
        return [int(element["label"]) for element in reader]


def same(element, row):
    assert element["label"] == row
    assert np.array_equal(element["image"], TABLE["image"][row])
    assert element["weight"] == TABLE["weight"][row]
    assert element["text"] == TABLE["text"][row]
    assert element["ids"].tolist() == TABLE["ids"][row]


def test_elements_are_the_rows():
    dataset = fm.Dataset.from_dict(TABLE)
    assert dataset.element_spec["image"] == fm.ComponentSpec("uint8", (4, 5))
    assert dataset.element_spec["ids"] == fm.ComponentSpec("int64", (None,))
    for row, element in enumerate(dataset.read()):
        same(element, row)
    assert dataset.count() == len(dataset.read()) == ROWS
    for row in labels(shuffled := dataset.shuffle().with_options(seed=1))[:3]:
        same(next(dataset.skip(row).read()), row)
    assert sorted(labels(shuffled)) == list(range(ROWS))
    assert labels(dataset.filter("label % 100 == 7").map(label="label")) == list(
        range(7, ROWS, 100)
    )


def test_numbers_are_views_in_this_process():
    numbers = np.arange(100_000, dtype=np.float64).reshape(-1, 10)
    for dataset in (fm.Dataset.from_numpy(numbers), fm.Dataset.from_numpy(numbers).batch(500)):
        for chunk in dataset.read().chunks():
            assert np.shares_memory(chunk, numbers)
            assert not chunk.flags.writeable


def test_arrays_of_other_layouts_are_copied():
    whole = np.arange(24).reshape(4, 6)
    record = np.dtype([("a", "i1"), ("b", ">f4", (2,))])
    for array in (whole[:, ::2], whole.T, whole.astype(">i4"), whole.astype(np.float16)):
        rows = [x.tolist() for x in fm.Dataset.from_numpy(array).read()]
        assert rows == array.tolist()
    shifted = np.frombuffer(b"." + whole.tobytes(), whole.dtype, offset=1)
    assert [int(x) for x in fm.Dataset.from_numpy(shifted).read()] == whole.ravel().tolist()
    spec = fm.Dataset.from_numpy(np.zeros(2, record)).element_spec
    assert spec == {"a": fm.ComponentSpec("int8", ()), "b": fm.ComponentSpec("float32", (2,))}
    odd_bools = np.array([0, 2, 1], np.uint8).view(bool)
    assert [bool(x) for x in fm.Dataset.from_numpy(odd_bools).map("not x").read()] == [1, 0, 0]


def test_lists_of_elements():
    pairs = fm.Dataset.from_list([(1, "a"), (2, "b")])
    assert list(pairs.read())[1] == {"value_0": 2, "value_1": "b"}
    point = collections.namedtuple("point", "x y")
    assert list(fm.Dataset.from_list([point(1, 2)]).element_spec) == ["x", "y"]
    nested = fm.Dataset.from_list(
        [{"user": {"id": 3}, "tags": ["a", "b"]}, {"user": {"id": 4}, "tags": []}]
    )
    assert [e["tags"].tolist() for e in nested.read()] == [["a", "b"], []]
    assert [int(e["user.id"]) for e in nested.read()] == [3, 4]
    sparse = fm.Dataset.from_list([{"a": 1}, {"a": None, "b": "x"}])
    found = list(sparse.map(a="fill_null(a, -1)", b="is_null(b)").read())
    assert found == [{"a": 1, "b": True}, {"a": -1, "b": False}]
    images = [np.full((k + 1, 3, 3), k, np.uint8) for k in range(5)]
    shuffled = fm.Dataset.from_list(images).shuffle().with_options(seed=2)
    assert shuffled.element_spec == fm.ComponentSpec("uint8", (None, 3, 3))
    assert sorted(len(x) for x in shuffled.read()) == [1, 2, 3, 4, 5]


def test_structures_of_tensors():
    dataset = fm.Dataset.from_tensor_slices(
        ({"a": [1, 2], "b": {"c": ["x", "y"]}}, np.zeros((2, 3)))
    )
    assert list(dataset.element_spec) == ["value_0.a", "value_0.b.c", "value_1"]
    assert [int(x) for x in fm.Dataset.from_tensor_slices([5, 6]).read()] == [5, 6]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.Dataset.from_dict({"a": [1], "b": [1, 2]}), '"b" has 2 rows, and "a" has 1'),
        (lambda: fm.Dataset.from_dict({}), "there is no component"),
        (lambda: fm.Dataset.from_dict([1]), "expected a dict of arrays"),
        (lambda: fm.Dataset.from_dict({"a": 3}), "found int"),
        (lambda: fm.Dataset.from_dict({"a": [2**70]}), "a number of at most 64 bits"),
        (lambda: fm.Dataset.from_dict({"a": [1, "x"]}), "no common type"),
        (lambda: fm.Dataset.from_dict({"a": ["x", 1]}), "row 1 is 1"),
        (lambda: fm.Dataset.from_dict({"a": [2**60, 0.5]}), "float64 does not hold"),
        (lambda: fm.Dataset.from_dict({"a": [[1], [[2]]]}), "row 1 has 2 dimensions"),
        (lambda: fm.Dataset.from_dict({"a": [[1], None]}), "row 1 is None"),
        (lambda: fm.Dataset.from_dict({"a": np.zeros(3, complex)}), "its dtype is complex128"),
        (lambda: fm.Dataset.from_dict({"a": np.zeros(())}), "found numpy.ndarray|no rows"),
        (lambda: fm.Dataset.from_numpy({"a": [1]}), "expected an array of NumPy, found list"),
        (lambda: fm.Dataset.from_list([]), "there is no element"),
        (lambda: fm.Dataset.from_list([1, None]), "without a name is None"),
        (lambda: fm.Dataset.from_list([{"a": 1}, 3]), "element 1 is int, and element 0 is dict"),
    ],
)
def test_values_that_are_no_columns(make, message):
    with pytest.raises(fm.InvalidArgumentError, match=message):
        make()


# ---- identity


def test_equal_content_is_an_equal_dataset():
    dataset = fm.Dataset.from_dict(TABLE)
    assert dataset == fm.Dataset.from_dict(TABLE)
    assert dataset != fm.Dataset.from_dict({**TABLE, "label": np.arange(ROWS) + 1})
    assert [int(x) for x in fm.Dataset.from_numpy(np.arange(9)[3:]).read()] == list(range(3, 9))
    yaml = dataset.to_yaml()
    assert len(yaml) < 300
    assert labels(fm.Dataset.from_yaml(yaml)) == list(range(ROWS))
    del dataset
    with pytest.raises(fm.FailedPreconditionError, match="make the dataset of its arrays here"):
        labels(fm.Dataset.from_yaml(yaml))


def test_a_copy_for_another_process_has_the_table():
    dataset = fm.Dataset.from_dict(TABLE).filter("label > 990")
    program = (
        "import pickle, sys\n"
        "dataset = pickle.load(sys.stdin.buffer)\n"
        "print([int(e['label']) for e in dataset.read()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(dataset),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().strip() == str(list(range(991, ROWS)))
    assert pickle.loads(pickle.dumps(dataset)) == dataset


def test_a_state_continues_a_table_of_the_same_content():
    dataset = fm.Dataset.from_dict(TABLE).shuffle().with_options(seed=5)
    whole = labels(dataset)
    with dataset.read() as reader:
        for _ in range(300):
            next(reader)
        state = reader.state_dict()
    again = fm.Dataset.from_dict(TABLE).shuffle().with_options(seed=5)
    assert labels(again, state=state) == whole[300:]
    other = fm.Dataset.from_dict({**TABLE, "weight": TABLE["weight"] + 1}).shuffle()
    with pytest.raises(fm.InvalidArgumentError):
        labels(other.with_options(seed=5), state=state)
    ranks = [labels(dataset, rank=rank, ranks=3) for rank in range(3)]
    assert [ranks[k % 3][k // 3] for k in range(ROWS)] == whole


# ---- through a service


@pytest.fixture
def processes(start):
    """The address of a dispatcher with two workers, in processes of their own."""
    _, address = start("dispatcher", "--port", "0")
    for _ in range(2):
        start("worker", "--dispatcher", address)
    return address


def test_a_service_reads_the_table(processes):
    dataset = fm.Dataset.from_dict(TABLE).shuffle().with_options(seed=5)
    with dataset.read(processes) as reader:
        found = []
        for element in reader:
            found.append(int(element["label"]))
            same(element, found[-1])
    assert found == labels(dataset)
    other = fm.Dataset.from_numpy({"label": np.arange(5) + ROWS})
    both = fm.Dataset.concatenate([dataset.map(label="label"), other]).with_options(seed=6)
    assert labels(both, processes) == labels(both)
    assert labels(both)[ROWS:] == list(range(ROWS, ROWS + 5))


def test_a_large_table_is_refused_by_a_service():
    noise = np.frombuffer(os.urandom(16 << 20), np.uint8)
    with fm.DispatchServer() as dispatcher, pytest.raises(fm.FailedPreconditionError) as raised:
        fm.Dataset.from_numpy(noise).read(dispatcher.target)
    assert "write them to files that all workers can open, such as Parquet" in str(raised.value)
    fm.Dataset.from_numpy(noise).batch(1000).read().close()


def test_a_table_near_the_limit_passes_a_service(service):
    noise = np.frombuffer(os.urandom(11 << 20), np.uint8).reshape(-1, 1 << 10)
    read = list(fm.Dataset.from_numpy(noise).batch(1 << 10).read(service))
    assert np.array_equal(np.concatenate(read), noise)
