"""States: reading continues after the last element that was handed out."""

import base64
import json
import pickle
import subprocess
import sys
from pathlib import Path

import feedmill as fm
import numpy as np
import pytest
from order_hash import OrderHash, order_hash

DATASETS = {
    "plan": fm.Dataset.range(1000).shuffle().batch(7).repeat(2),
    "client": fm.Dataset.range(3000).filter("x % 3 != 1").shuffle(window=50).batch(8),
    "elements": fm.Dataset.range(500).map(a="x * x", b="random.uniform()"),
    "ragged": fm.Dataset.range(400).map(a="split(to_string(x * x), '1')").ragged_batch(9),
}
NAMES = pytest.mark.parametrize("name", DATASETS)


def same(left, right):
    return order_hash([left]) == order_hash([right])


@NAMES
def test_a_state_continues_after_each_element(name):
    dataset = DATASETS[name].with_options(seed=9)
    reader = dataset.read()
    rest = []
    for number, element in enumerate(reader):  # noqa: B007
        if number % 37 == 0:
            rest.append((number, reader.state_dict()))
        assert reader.number == number
    whole = list(dataset.read())
    assert same(element, whole[-1])
    for number, state in rest:
        after = dataset.read(state=state)
        assert order_hash(after) == order_hash(whole[number + 1 :])
        assert after.seed == 9
    assert list(dataset.read(state=reader.state_dict())) == []


@NAMES
def test_a_state_counts_what_was_handed_out_through_a_service(name, service):
    dataset = DATASETS[name].with_options(seed=9)
    whole = list(dataset.read())
    reader = dataset.read(service)
    for _ in range(len(whole) // 2):
        next(reader)
    state = reader.state_dict()
    reader.close()
    assert order_hash(dataset.read(state=state)) == order_hash(whole[len(whole) // 2 :])
    assert order_hash(dataset.read(service, state=state)) == order_hash(whole[len(whole) // 2 :])


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import feedmill as fm
from order_hash import OrderHash
dataset = fm.Dataset.from_yaml(sys.argv[2])
reader = dataset.read(state=json.loads(sys.argv[3]))
folded = OrderHash()
folded.value, folded.elements = int(sys.argv[4]), int(sys.argv[5])
for element in reader:
    folded.add(element)
print(folded.elements, folded.hex())
"""


@NAMES
def test_a_new_process_continues_exactly(name, tmp_path, summary):
    dataset = DATASETS[name].with_options(seed=21)
    expected = summary(dataset, tmp_path)
    reader = dataset.read()
    folded = OrderHash()
    for _ in range(expected["elements"] // 3):
        folded.add(next(reader))
    state = json.dumps(reader.state_dict())
    arguments = [tmp_path / "pipeline.yaml", state, folded.value, folded.elements]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, sys.path[0], *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [str(expected["elements"]), expected["order_hash"]]


def test_the_command_takes_the_token(tmp_path, summary, command):
    dataset = DATASETS["plan"].with_options(seed=3)
    expected = summary(dataset, tmp_path)
    path = tmp_path / "pipeline.yaml"
    command("read", path, "--local", "--limit", 11, "--save-token", tmp_path / "at")
    token = (tmp_path / "at").read_bytes()
    state = {"feedmill": 1, "token": base64.b64encode(token).decode()}
    after = list(dataset.read(state=state))
    assert len(after) == expected["elements"] - 11
    assert fm.describe_state(state)["next_element"] == 11


def test_load_state_dict_comes_before_the_first_element(service):
    dataset = fm.Dataset.range(20).with_options(seed=1)
    for target in (None, service):
        reader = dataset.read(target)
        state = None
        for element in reader:
            if element == 4:
                state = reader.state_dict()
                break
        with pytest.raises(fm.FailedPreconditionError, match="state="):
            reader.load_state_dict(state)
        other = dataset.read(target)
        other.load_state_dict(state)
        assert [int(x) for x in other] == list(range(5, 20))


def test_a_state_of_another_dataset_is_refused():
    state = fm.Dataset.range(20).read(seed=1).state_dict()
    with pytest.raises(fm.InvalidArgumentError, match="its source differs"):
        fm.Dataset.range(21).read(state=state)
    reader = fm.Dataset.range(21).read()
    with pytest.raises(fm.InvalidArgumentError):
        reader.load_state_dict(state)
    assert len(list(reader)) == 21  # as it was
    with pytest.raises(fm.InvalidArgumentError, match="epoch"):
        fm.Dataset.range(20).read(state=state, epoch=3)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"token": "x"},
        "text",
        {"feedmill": 2, "token": ""},
        {"feedmill": 1, "token": "*"},
        {"feedmill": 1, "token": "AAAA"},
        {"feedmill": 1, "token": ""},
        {"feedmill": 1, "token": b""},
        {"feedmill": 1, "token": 3},
    ],
)
def test_an_invalid_state_is_refused(state):
    with pytest.raises(fm.InvalidArgumentError):
        fm.Dataset.range(20).read(state=state)
    with pytest.raises(fm.InvalidArgumentError):
        fm.Dataset.range(20).read().load_state_dict(state)
    with pytest.raises(fm.InvalidArgumentError):
        fm.Loader(fm.Dataset.range(20), state=state)
    with pytest.raises(fm.InvalidArgumentError):
        fm.describe_state(state)
    with pytest.raises(fm.InvalidArgumentError):
        fm.merge_states([state, state])


def test_no_state_with_order_any(service):
    dataset = fm.Dataset.range(20).with_options(order="any")
    reader = dataset.read(service, job="shared")
    assert sorted(int(x) for x in reader) == list(range(20))
    with pytest.raises(fm.FailedPreconditionError, match="order any"):
        reader.state_dict()


def test_states_of_ranks_are_merged():
    dataset = fm.Dataset.range(100).shuffle().batch(3).with_options(seed=4)
    whole = list(dataset.read())
    states = []
    for rank in range(3):
        reader = dataset.read(rank=rank, ranks=3)
        for _ in range(4):
            next(reader)
        states.append(reader.state_dict())
    merged = pickle.loads(pickle.dumps(fm.merge_states(states)))
    parts = [list(dataset.read(rank=rank, ranks=2, state=merged)) for rank in range(2)]
    together = [part for pair in zip(*parts, strict=True) for part in pair]
    for left, right in zip(together, whole[12:], strict=True):
        np.testing.assert_array_equal(left, right)
    with pytest.raises(fm.InvalidArgumentError):
        fm.merge_states(states[:2])


def test_skipped_batches_and_epochs_are_remembered():
    dataset = fm.Dataset.range(40).shuffle().batch(2).with_options(seed=4)
    whole = list(dataset.read(epoch=2))
    reader = dataset.read(epoch=2, skip_batches=[(1, 4), (10, 12)])
    first = next(reader)
    rest = list(dataset.read(state=reader.state_dict()))
    expected = [batch for n, batch in enumerate(whole) if not (1 <= n < 4 or 10 <= n < 12)]
    assert order_hash([first, *rest]) == order_hash(expected)


def test_passes_of_repeat():
    reader = fm.Dataset.range(3).repeat(2).read()
    assert [reader.repeat_pass for _ in reader] == [0, 0, 0, 1, 1, 1]


def test_provenance_names_the_records(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{k}\n" for k in range(5)))
    reader = fm.Dataset.text(tmp_path / "*.txt").shuffle().batch(3).read(seed=2)
    for batch in reader:
        lines = [
            Path(record["file"]).read_bytes().splitlines()[record["record"]]
            for record in reader.provenance()
        ]
        assert lines == batch.tolist()
        assert reader.provenance(reader.number) == reader.provenance()
    with pytest.raises(fm.OutOfRangeError, match="no element 4"):
        reader.provenance(4)
    with pytest.raises(fm.InvalidArgumentError, match="number"):
        reader.provenance(-1)
    with pytest.raises(fm.OutOfRangeError):
        fm.Dataset.range(3).read().provenance()


def test_on_error_counts(tmp_path):
    (tmp_path / "n.txt").write_text("1\nx\n3\n")
    dataset = fm.Dataset.text(tmp_path / "n.txt").map("to_number(x, int64)")
    reader = dataset.on_error("skip").read()
    assert [int(x) for x in reader] == [1, 3]
    assert reader.skipped == 1
    reader = dataset.read()
    assert next(reader) == 1
    with pytest.raises(fm.DataLossError, match=r"n\.txt"):
        next(reader)
    assert next(dataset.on_error("skip").read(state=None)) == 1
