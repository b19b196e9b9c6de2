"""PyTorch: tensors over the memory of batches, loaders, and processes of DDP."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import feedmill as fm
import numpy as np
import pytest
import torch
from feedmill.torch import TorchDataset, ranks_of_process, to_tensors
from torch._utils import ExceptionWrapper
from torch.utils.data import DataLoader, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader

DATASET = fm.Dataset.range(40).shuffle().batch(4).with_options(seed=3)
KINDS = fm.Dataset.range(64).map(
    {
        "flag": "x % 2 == 0",
        **{t: f"cast(x, {t})" for t in ("int8", "int16", "int32", "int64")},
        **{t: f"cast(x, {t})" for t in ("uint8", "uint16", "uint32", "uint64")},
        **{t: f"cast(x, {t}) / 3" for t in ("float16", "float32", "float64")},
        "matrix": "[[x, x + 1], [x, x * 2]]",
        "text": "to_string(x)",
        "empty": "slice([x], 0, 0)",
    }
)


def values(batches):
    return [batch.tolist() for batch in batches]


@pytest.fixture(scope="module")
def whole():
    return [[batch.tolist() for batch in DATASET.read(epoch=epoch)] for epoch in range(4)]


# ---- tensors


@pytest.mark.filterwarnings("error")
def test_every_dtype_is_a_view_of_the_batch():
    for batch in KINDS.batch(16).read():
        tensors = to_tensors(batch)
        for name, array in batch.items():
            if name == "text":
                assert tensors[name] is array
                continue
            tensor = tensors[name]
            assert tuple(tensor.shape) == array.shape
            assert str(tensor.dtype).removeprefix("torch.") == array.dtype.name
            assert array.size == 0 or tensor.data_ptr() == array.ctypes.data
            np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.filterwarnings("error")
@pytest.mark.filterwarnings("error")
def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    ds = fm.Dataset.range(16).map("cast(x, bfloat16) / 3")
    expected = torch.arange(16).to(torch.bfloat16) / 3
    for copied in (True, False):
        (tensor,) = ds.batch(16).to_torch(copy=copied)
        assert tensor.dtype == torch.bfloat16 and torch.equal(tensor, expected)
    first = next(iter(ds.skip(1).to_torch()))
    assert first.dtype == torch.bfloat16 and first == expected[1]


def test_elements_without_a_batch():
    element = next(iter(KINDS.to_torch()))
    assert element["float32"].shape == () and element["matrix"].shape == (2, 2)
    assert element["text"] == "0"
    assert next(iter(fm.Dataset.range(1).map("to_string(x)").to_torch())) == "0"


@pytest.mark.parametrize("through", [False, True])
def test_in_place_operations_change_nothing_else(through, request):
    target = request.getfixturevalue("service") if through else None
    plain = [batch.clone() for batch in DATASET.to_torch()]
    for batch, original in zip(DATASET.to_torch(target), plain, strict=True):
        assert batch.add_(1).equal(original + 1)
    assert values(DATASET.to_torch(target)) == [batch.tolist() for batch in plain]
    # Elements of one chunk share its memory.
    for element in fm.Dataset.range(100).to_torch(target):
        element.zero_()
    rows = fm.Dataset.range(100).map("cast(x, float64) * 1").batch(2).batch(50).unbatch()
    assert [row.mul_(0).sum().item() for row in rows.to_torch(target)] == [0.0] * 50


def test_views_share_memory_where_they_are_asked_for():
    array = next(DATASET.read())
    assert to_tensors(array, copy=False).data_ptr() == array.ctypes.data
    assert to_tensors(array, copy=True).data_ptr() != array.ctypes.data
    assert values(DATASET.to_torch(copy=False)) == values(DATASET.to_torch())


def test_lookahead_is_not_part_of_the_place(whole):
    dataset = DATASET.to_torch(lookahead=2)
    for count, _ in enumerate(dataset, 1):
        after = DATASET.to_torch(state=dataset.state_dict())
        assert values(after) == whole[0][max(0, count - 2) :]
    assert values(DATASET.to_torch(state=dataset.state_dict())) == whole[1]


def test_provenance_is_of_the_batch_that_is_trained_on(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{k}\n" for k in range(20)))
    numbers = fm.Dataset.text(tmp_path / "a.txt").map("to_number(x, int64)").shuffle().batch(4)

    def lines(records):
        return [record["record"] for record in records]

    plain = numbers.to_torch(seed=3)
    for batch in plain:
        assert lines(plain.provenance()) == batch.tolist()
    assert lines(plain.provenance()) == batch.tolist()
    assert lines(plain.provenance(0)) == next(numbers.read(seed=3)).tolist()
    ahead = numbers.to_torch(seed=3, lookahead=1)
    before = None
    for batch in ahead:
        if before is None:
            with pytest.raises(fm.OutOfRangeError, match="trained"):
                ahead.provenance()
        else:
            assert lines(ahead.provenance()) == before.tolist()
        before = batch
    assert lines(ahead.provenance()) == before.tolist()


def test_a_view_keeps_its_memory(service):
    with DATASET.read(service) as reader:
        batches = list(reader)
    tensors = [to_tensors(batch) for batch in batches]
    expected = [batch.tolist() for batch in batches]
    del batches
    assert values(tensors) == expected


def test_device():
    batch = next(iter(DATASET.to_torch(device="meta")))
    assert batch.device.type == "meta" and batch.shape == (4,)


def test_one_element_is_prepared_ahead(monkeypatch, whole, tmp_path):
    """The device meta stands for a GPU; page-locked memory needs one."""
    pinned = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda t: pinned.append(t.tolist()) or t)
    dataset = DATASET.to_torch(device="meta", pin_memory=True)
    for epoch in range(2):
        for count, batch in enumerate(dataset, 1):
            assert batch.device.type == "meta"
            assert pinned == whole[epoch][: count + 1]
            after = DATASET.to_torch(state=dataset.state_dict())
            assert values(after) == whole[epoch][count:]
        assert count == len(whole[epoch])
        pinned.clear()
    iterator = iter(dataset)  # of the next epoch, left and begun again
    next(iterator)
    del iterator
    pinned.clear()
    next(iter(dataset))
    assert pinned == whole[3][:2]
    (tmp_path / "n.txt").write_text("1\n2\nx\n")
    numbers = fm.Dataset.text(tmp_path / "n.txt").map("to_number(x, int64)")
    taken = iter(numbers.to_torch(device="meta", pin_memory=True))
    assert [next(taken).shape for _ in range(2)] == [(), ()]
    with pytest.raises(fm.DataLossError, match=r"n\.txt"):
        next(taken)


@pytest.mark.parametrize("through", [False, True])
def test_each_loop_is_the_next_epoch(through, request, whole):
    target = request.getfixturevalue("service") if through else None
    dataset = DATASET.to_torch(target)
    assert len(dataset) == 10
    assert [values(dataset) for _ in range(2)] == whole[:2]
    dataset.set_epoch(0)
    assert values(dataset) == whole[0]


def test_states(whole):
    dataset = DATASET.to_torch()
    for count, _ in enumerate(dataset, 1):
        after = DATASET.to_torch(state=json.loads(json.dumps(dataset.state_dict())))
        assert [values(after), values(after)] == [whole[0][count:], whole[1]]
    after = DATASET.to_torch()
    after.set_epoch(3)
    after.load_state_dict(dataset.state_dict())
    assert values(after) == whole[1]
    with pytest.raises(fm.InvalidArgumentError):
        after.load_state_dict({"token": 1})


def test_wrong_arguments():
    with pytest.raises(TypeError, match="no such option"):
        DATASET.to_torch(batch_size=3)
    with pytest.raises(fm.InvalidArgumentError, match="even"):
        DATASET.to_torch(even="no")
    with pytest.raises(fm.InvalidArgumentError, match="both"):
        DATASET.to_torch(rank=1)
    with pytest.raises(fm.InvalidArgumentError, match="pin_memory"):
        DATASET.to_torch(pin_memory="yes")
    with pytest.raises(fm.UnknownLengthError):
        len(DATASET.filter("sum(x) > 1").to_torch())


# ---- DataLoader


def test_a_data_loader_of_one_process(whole):
    loader = DataLoader(DATASET.to_torch(), batch_size=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(loader) == 10
        assert [values(loader) for _ in range(2)] == whole[:2]


class Seen(TorchDataset):
    """Gives the worker, and what it was warned of, with each batch."""

    def __iter__(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            elements = super().__iter__()
        for batch in elements:
            yield get_worker_info().id, [str(warning.message) for warning in caught], batch


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_only_the_first_worker_of_a_data_loader_reads(context, whole):
    dataset = Seen(DATASET)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=context)
    for epoch in range(2):
        dataset.set_epoch(epoch)
        seen = list(loader)
        assert [batch.tolist() for _, _, batch in seen] == whole[epoch]
        for worker, warned, _ in seen:
            assert worker == 0
            assert "threads of its own" in warned[0]


WORKERS_WARN = pytest.mark.filterwarnings("ignore:feedmill reads ahead")


@WORKERS_WARN
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("through", [False, True])
def test_a_worker_begins_the_epoch_that_a_loop_would(context, through, request, whole):
    target = request.getfixturevalue("service") if through else None
    dataset = DATASET.to_torch(target, context)
    options = {"num_workers": 1, "multiprocessing_context": context}
    loader = DataLoader(dataset, batch_size=None, **options)
    next(iter(dataset))  # a look at one batch
    assert values(loader) == whole[1]
    assert values(dataset) == whole[1]
    assert values(loader) == whole[2]
    dataset.close()


@WORKERS_WARN
def test_an_error_of_a_worker_is_the_same_error(tmp_path):
    (tmp_path / "n.txt").write_text("1\nx\n3\n")
    numbers = fm.Dataset.text(tmp_path / "n.txt").map("to_number(x, int64)")
    for dataset, kind, match in (
        (numbers, fm.DataLossError, r"n\.txt"),
        (fm.Dataset.text(tmp_path / "no.txt"), fm.NotFoundError, r"no\.txt"),
    ):
        with pytest.raises(kind, match=match) as caught:
            for _ in DataLoader(dataset.to_torch(), batch_size=None, num_workers=1):
                pass
        assert "in DataLoader worker process 0" in caught.value.message


def test_each_error_can_be_raised_again():
    for kind in vars(fm.errors).values():
        if isinstance(kind, type) and issubclass(kind, fm.Error):
            try:
                raise kind("why")
            except kind:
                wrapped = ExceptionWrapper(where="there")
            with pytest.raises(kind, match="why") as caught:
                wrapped.reraise()
            assert type(caught.value) is kind
            assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


def test_a_loop_in_a_loop_is_refused():
    dataset = DATASET.to_torch()
    with pytest.raises(fm.FailedPreconditionError, match=r"another loop over it began.*each"):
        [(a, b) for a in dataset for b in dataset]


def test_no_data_loader_makes_batches_of_batches():
    dataset = DATASET.to_torch()
    for options in ({}, {"batch_size": 2}, {"batch_size": 2, "num_workers": 1}):
        with pytest.raises(fm.InvalidArgumentError, match=r"batch_size=None"):
            next(iter(DataLoader(dataset, **options)))
    both = fm.Dataset.concatenate([fm.Dataset.range(4).batch(2), fm.Dataset.range(4).batch(2)])
    with pytest.raises(fm.InvalidArgumentError, match=r"batch_size=None"):
        next(iter(DataLoader(both.to_torch())))
    rows = DATASET.unbatch().to_torch()
    assert [batch.shape for batch in DataLoader(rows, batch_size=20)] == [(20,), (20,)]
    joined = DataLoader(DATASET.to_torch(), batch_size=2, collate_fn=torch.cat)
    assert [batch.shape for batch in joined] == [(8,)] * 5


def test_a_copy_continues_at_the_place_that_was_trained_on(whole):
    dataset = DATASET.to_torch(lookahead=1)
    batches = iter(dataset)
    next(batches), next(batches)
    assert values(copy.copy(dataset)) == whole[0][1:]
    assert values(batches) == whole[0][2:]
    batches = iter(dataset)
    next(batches)
    state = batches.get_state()
    batches.set_state(state)
    assert values(batches) == whole[1]


def test_pickle(whole):
    dataset = DATASET.to_torch()
    elements = iter(dataset)
    next(elements)
    assert values(pickle.loads(pickle.dumps(dataset))) == whole[0][1:]
    assert values(elements) == whole[0][1:]


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("count", [0, 1, 4, 9, 10, 11, 20])
def test_a_stateful_data_loader_continues(workers, count, whole):
    def make():
        return StatefulDataLoader(DATASET.to_torch(), batch_size=None, num_workers=workers)

    def take(loader, count):
        taken = []
        while len(taken) < count:
            for batch in loader:
                taken.append(batch.tolist())
                if len(taken) == count:
                    break
        return taken

    expected = whole[0] + (whole[1] + whole[2] if workers == 0 else whole[0] * 2)
    loader = make()
    assert take(loader, count) == expected[:count]
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    after = make()
    after.load_state_dict(state)
    if workers == 0:
        assert take(after, 25 - count) == expected[count:25]
    elif count < 10:
        assert values(after) == expected[count:10]


@WORKERS_WARN
@pytest.mark.parametrize("count", [0, 3, 10])
def test_a_stateful_data_loader_of_two_workers_reads_a_job(count, service, whole):
    def make():
        dataset = DATASET.to_torch(service, "stateful", take_over=True)
        return StatefulDataLoader(dataset, batch_size=None, num_workers=2)

    loader = make()
    batches = iter(loader)
    begun = [next(batches).tolist() for _ in range(count)]
    state = loader.state_dict()
    del batches, loader
    after = make()
    after.load_state_dict(state)
    assert begun + values(after) == whole[0]


# ---- ranks


def test_ranks_of_the_environment(monkeypatch):
    assert ranks_of_process() == (0, 1)
    monkeypatch.setenv("RANK", "1")
    assert ranks_of_process() == (0, 1)
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert ranks_of_process() == (1, 3)
    assert len(list(DATASET.to_torch())) == 3
    assert len(list(DATASET.to_torch(even="pad"))) == 4
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(fm.InvalidArgumentError, match="RANK=3"):
        ranks_of_process()
    assert len(list(DATASET.to_torch(rank=0, ranks=2))) == 5


def test_ranks_that_are_connected_later_do_not_all_read_everything(monkeypatch):
    dataset = DATASET.to_torch()
    assert len(dataset) == 10
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(fm.FailedPreconditionError, match="rank 1 of 2 now"):
        next(iter(dataset))
    assert len(DATASET.to_torch()) == 5
    assert len(list(DATASET.to_torch(rank=0, ranks=1))) == 10


UNSEEDED = Path(__file__).parent / "unseeded_rank.py"


def test_ranks_share_the_seed_that_torch_distributed_knows(tmp_path):
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*run, UNSEEDED, tmp_path], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = [json.loads((tmp_path / f"rank {rank}").read_text()) for rank in range(2)]
    whole = list(range(40))
    assert [sorted(a + b) for a, b in zip(*(one["epochs"] for one in seen), strict=True)] == [
        whole,
        whole,
    ]
    assert seen[0]["epochs"][0] != seen[0]["epochs"][1]
    # A worker of a DataLoader knows the rank of its parent, but no seed of all ranks.
    assert sorted(seen[0]["spawned"] + seen[1]["spawned"]) == whole
    for one in seen:
        assert ".with_options(seed=7)" in one["alone"]
        assert ".with_options(seed=7)" in one["forked"]


TRAINER = Path(__file__).parent / "ddp_trainer.py"


class Trainers:
    """Processes of a job, one a rank, which train together."""

    def __init__(self, folder, target, ranks, *flags):
        self.folder = folder
        (folder / "rendezvous").unlink(missing_ok=True)
        self.processes = [
            subprocess.Popen(
                [sys.executable, TRAINER, folder, target, *flags],
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks)},
                stderr=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]

    def finish(self):
        for process in self.processes:
            _, errors = process.communicate(timeout=90)
            assert process.returncode == 0, errors

    def kill(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for process in self.processes:
            process.communicate(timeout=20)

    def wait_for_step(self, step):
        """Reads what the first rank prints, up to that step."""
        for line in self.processes[0].stdout:
            if int(line) >= step:
                return
        raise AssertionError(self.processes[0].stderr.read())


def losses(folder, ranks):
    """Batches and losses by rank and step: the last ones, of a step that came twice."""
    found = {}
    for rank in range(ranks):
        for line in (folder / f"rank {rank}").read_text().splitlines():
            if line.endswith("}"):
                entry = json.loads(line)
                found[rank, entry["step"]] = entry
    return found


@pytest.mark.parametrize("kind", ["plan", "filter"])
def test_ddp_continues_after_sigkill_as_if_nothing_was(kind, tmp_path):
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        folders = [tmp_path / name for name in ("whole", "killed")]
        for folder in folders:
            folder.mkdir()
        Trainers(folders[0], dispatcher.target, 2, kind, "job of whole").finish()
        for step in (7, 23):
            trainers = Trainers(folders[1], dispatcher.target, 2, kind, "job of killed")
            trainers.wait_for_step(step)
            trainers.kill()
        Trainers(folders[1], dispatcher.target, 2, kind, "job of killed").finish()
    expected = losses(folders[0], 2)
    assert len(expected) == 2 * 3 * 12
    assert losses(folders[1], 2) == expected


def test_ddp_continues_with_another_number_of_ranks(tmp_path):
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        trainers = Trainers(tmp_path, dispatcher.target, 2, "plan", "job")
        trainers.wait_for_step(7)
        trainers.kill()
        saved = torch.load(tmp_path / "checkpoint")
        before = losses(tmp_path, 2)
        for rank in range(2):
            (tmp_path / f"rank {rank}").unlink()
        Trainers(tmp_path, dispatcher.target, 3, "plan", "job").finish()
    entries = [entry for (_, at), entry in before.items() if at <= saved["step"]]
    entries += losses(tmp_path, 3).values()
    dataset = fm.Dataset.range(200).shuffle().batch(8).map("cast(x, float32) / 100")
    for epoch in range(3):
        batches = [batch.tolist() for batch in dataset.read(epoch=epoch, seed=7)]
        # Batches that two ranks read, in 12 steps an epoch; the rest is of three.
        divided = 2 * min(12, max(0, saved["step"] - 12 * epoch))
        count = divided + (len(batches) - divided) // 3 * 3
        found = [entry["batch"] for entry in entries if entry["epoch"] == epoch]
        assert sorted(found) == sorted(batches[:count])


def test_nulls_are_a_mask(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"n": 5, "s": "x"}\n{}\n{"n": 7, "s": "z"}\n')
    rows = fm.Dataset.jsonl(tmp_path / "rows.jsonl", fields={"n": "float32?", "s": "bytes?"})
    (batch,) = rows.batch(3).to_torch(nulls="masked")
    assert list(batch) == ["n", "n_mask", "s", "s_mask"]
    assert batch["n"].tolist() == [5, 0, 7]
    assert batch["n_mask"].tolist() == batch["s_mask"].tolist() == [True, False, True]
    masked = torch.masked.masked_tensor(batch["n"], batch["n_mask"])
    assert masked.sum().get_data() == 12
    assert [bool(e["n_mask"]) for e in rows.to_torch(nulls="masked")] == [True, False, True]
    (batch,) = rows.batch(3).to_torch(nulls="fill")
    assert list(batch) == ["n", "s"]
    with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
        next(iter(rows.batch(3).to_torch()))
    taken = rows.with_columns(n_mask="1").batch(3)
    with pytest.raises(fm.InvalidArgumentError, match=r'"n_mask", which is the name.*rename'):
        next(iter(taken.to_torch(nulls="masked")))
