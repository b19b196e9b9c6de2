"""Loaders: epochs, their states, and ranks that end together."""

import copy
import json
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import feedmill as fm
import pytest

PLANNED = fm.Dataset.range(19).shuffle().with_options(seed=4)
COUNTED = fm.Dataset.range(38).shuffle().filter("x % 2 == 0").with_options(seed=4)


def ints(elements):
    return [int(x) for x in elements]


@pytest.mark.parametrize("dataset", [PLANNED, COUNTED])
@pytest.mark.parametrize("through", [False, True])
def test_each_loop_is_the_next_epoch(dataset, through, request):
    target = request.getfixturevalue("service") if through else None
    with fm.Loader(dataset, target) as loader:
        for epoch in range(3):
            assert loader.next_epoch == epoch
            assert ints(loader) == ints(dataset.read(epoch=epoch))


def test_all_epochs_have_the_seed_that_was_drawn():
    dataset = fm.Dataset.range(100).shuffle()
    loader = fm.Loader(dataset)
    first = []
    for x in loader:
        first.append(int(x))
        seed = loader.reader.seed
    assert ints(dataset.read(seed=seed)) == first
    assert ints(loader) == ints(dataset.read(seed=seed, epoch=1))
    assert loader.reader is None


def test_an_iterator_begins_its_epoch_with_its_first_element():
    loader = fm.Loader(PLANNED)
    unused = iter(loader)
    assert ints(loader) == ints(PLANNED.read())
    assert ints(unused) == ints(PLANNED.read(epoch=1))
    assert list(unused) == []


def test_an_epoch_that_is_broken_off_is_over():
    loader = fm.Loader(PLANNED)
    broken = iter(loader)
    next(broken)
    assert ints(loader) == ints(PLANNED.read(epoch=1))
    with pytest.raises(fm.FailedPreconditionError, match="another loop over it began"):
        next(broken)
    with pytest.raises(fm.FailedPreconditionError, match="a loader each"):
        [(x, y) for x in loader for y in loader]
    for end, why in (
        (loader.close, "it was closed"),
        (lambda: loader.load_state_dict(PLANNED.read().state_dict()), "load_state_dict"),
    ):
        elements = iter(loader)
        next(elements)
        end()
        with pytest.raises(fm.FailedPreconditionError, match=why):
            next(elements)


@pytest.mark.parametrize(
    ("dataset", "even"),
    [(PLANNED, "exact"), (PLANNED, "drop"), (PLANNED, "pad"), (COUNTED, "exact")],
)
def test_a_loader_continues_from_each_place(dataset, even):
    for rank in (0, 1):
        options = {"rank": rank, "ranks": 2, "even": even}
        loader = fm.Loader(dataset, **options)
        whole = [ints(loader) for _ in range(3)]
        loader = fm.Loader(dataset, **options)
        for epoch in range(2):
            for count, _ in enumerate(loader, 1):
                state = json.loads(json.dumps(loader.state_dict()))
                after = fm.Loader(dataset, state=state, **options)
                assert after.next_epoch == epoch
                assert ints(after) == whole[epoch][count:]
                assert ints(after) == whole[epoch + 1]
            between = fm.Loader(dataset, state=loader.get_state(), **options)
            assert ints(between) == whole[epoch + 1]


def test_a_state_of_the_end_knows_the_dataset():
    loader = fm.Loader(PLANNED)
    list(loader)
    with pytest.raises(fm.InvalidArgumentError, match="source differs"):
        list(fm.Loader(fm.Dataset.range(20).shuffle(), state=loader.state_dict()))


def test_load_state_dict_ends_the_present_epoch():
    loader = fm.Loader(PLANNED)
    whole = ints(loader)
    elements = iter(loader)
    next(elements)
    state = loader.state_dict()
    next(elements)
    loader.set_state(state)
    assert ints(loader) == ints(PLANNED.read(epoch=1))[1:]
    loader.set_epoch(0)
    assert ints(loader) == whole
    with pytest.raises(fm.InvalidArgumentError):
        loader.load_state_dict({})


def test_set_epoch_keeps_a_place_in_that_epoch():
    loader = fm.Loader(PLANNED, epoch=5)
    elements = iter(loader)
    first = int(next(elements))
    state = loader.state_dict()
    for epoch, rest in ((5, ints(PLANNED.read(epoch=5))[1:]), (6, ints(PLANNED.read(epoch=6)))):
        after = fm.Loader(PLANNED, state=state)
        after.set_epoch(epoch)
        assert ints(after) == rest
    drawn = fm.Loader(fm.Dataset.range(19).shuffle())
    next(iter(drawn))
    after = fm.Loader(fm.Dataset.range(19).shuffle(), state=drawn.state_dict())
    after.set_epoch(3)
    assert ints(after) == ints(fm.Dataset.range(19).shuffle().read(epoch=3, seed=drawn.reader.seed))
    assert first == ints(PLANNED.read(epoch=5))[0]


def test_a_state_before_the_first_element():
    loader = fm.Loader(PLANNED, epoch=2)
    state = loader.state_dict()
    assert ints(loader) == ints(PLANNED.read(epoch=2))
    assert ints(fm.Loader(PLANNED, state=state)) == ints(PLANNED.read(epoch=2))


def test_skipped_batches_are_of_the_first_epoch():
    loader = fm.Loader(PLANNED, skip_batches=[(2, 5)])
    whole = ints(PLANNED.read())
    assert ints(loader) == whole[:2] + whole[5:]
    assert ints(loader) == ints(PLANNED.read(epoch=1))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))]
)
@pytest.mark.parametrize("dataset", [PLANNED, fm.Dataset.range(19).shuffle()])
def test_a_copy_continues_at_the_place(copied, dataset):
    loader = fm.Loader(dataset, skip_batches=[(3, 5)])
    first = copied(loader)
    elements = iter(loader)
    begun = [int(next(elements)) for _ in range(4)]
    second = copied(loader)
    rest = ints(elements)
    third = copied(loader)
    next_epoch = ints(loader)
    assert ints(second) == rest
    assert ints(second) == ints(third) == next_epoch
    assert len(ints(first)) == len(begun) + len(rest) == 17
    if dataset is PLANNED:
        assert ints(first) == next_epoch


def send_ints(loader, connection):
    connection.send(ints(loader))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_is_started_with_a_loader_begins_the_next_epoch(method):
    processes = multiprocessing.get_context(method)
    loader = fm.Loader(PLANNED)
    for begun in (0, 3):
        elements = iter(loader)
        taken = [int(next(elements)) for _ in range(begun)]
        receiver, sender = processes.Pipe(duplex=False)
        process = processes.Process(target=send_ints, args=(loader, sender))
        process.start()
        assert receiver.recv() == ints(PLANNED.read(epoch=1 if begun else 0))
        process.join()
    assert taken + ints(elements) == ints(PLANNED.read())


def test_a_forked_loop_ends():
    loader = fm.Loader(PLANNED)
    elements = iter(loader)
    next(elements)
    child = os.fork()
    if child == 0:
        try:
            next(elements)
        except fm.FailedPreconditionError as error:
            os._exit(0 if "forked" in str(error) and ints(loader) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ints(elements) == ints(PLANNED.read())[1:]


def test_iterators_have_the_states_of_grain():
    whole = ints(PLANNED.read())
    elements = iter(fm.Loader(PLANNED))
    assert [int(next(elements)) for _ in range(3)] == whole[:3]
    state = elements.get_state()
    assert [int(next(elements)) for _ in range(3)] == whole[3:6]
    elements.set_state(state)
    assert ints(elements) == whole[3:]
    after = iter(fm.Loader(PLANNED))
    after.set_state(json.loads(json.dumps(state)))
    assert ints(after) == whole[3:]


def test_an_error_is_not_passed_over(tmp_path):
    (tmp_path / "n.txt").write_text("1\nx\n3\n")
    loader = fm.Loader(fm.Dataset.text(tmp_path / "n.txt").map("to_number(x, int64)"))
    elements = iter(loader)
    assert next(elements) == 1
    state = loader.state_dict()
    with pytest.raises(fm.DataLossError):
        next(elements)
    with pytest.raises(fm.FailedPreconditionError, match="load_state_dict"):
        next(iter(loader))
    loader.load_state_dict(state)
    with pytest.raises(fm.DataLossError):
        next(iter(loader))


# ---- progress and provenance


@pytest.mark.parametrize("ranks", [1, 3])
def test_done_is_the_number_of_elements_before_the_place(ranks):
    for rank in range(ranks):
        options = {"rank": rank, "ranks": ranks}
        loader = fm.Loader(PLANNED, **options)
        assert loader.done == 0
        for _ in range(2):
            for count, _ in enumerate(loader, 1):
                assert loader.done == count
                assert fm.Loader(PLANNED, state=loader.state_dict(), **options).done == count
            assert loader.done == 0
            assert len(loader) == count


def lines_of(records):
    return [Path(record["file"]).read_bytes().splitlines()[record["record"]] for record in records]


def test_provenance_outlives_the_epoch(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {k}\n" for k in range(10)))
    dataset = fm.Dataset.text(tmp_path / "a.txt").shuffle().batch(3)
    loader = fm.Loader(dataset)
    with pytest.raises(fm.OutOfRangeError, match="no element was handed out"):
        loader.provenance()
    for _ in range(2):
        batches = []
        for batch in loader:
            batches.append(batch.tolist())
            assert lines_of(loader.provenance()) == batches[-1]
        assert loader.reader is None
        assert lines_of(loader.provenance()) == batches[-1]
        assert lines_of(loader.provenance(1)) == batches[1]
    elements = iter(loader)
    first = next(elements)
    assert lines_of(loader.provenance()) == first.tolist()
    loader.close()
    assert lines_of(loader.provenance()) == first.tolist()
    with pytest.raises(fm.OutOfRangeError, match="no element 9"):
        loader.provenance(9)


def test_provenance_runs_python_functions(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    lines = fm.Dataset.text(tmp_path / "a.txt").map(
        lambda x: x.upper(), python=True, output=("bytes", ()), deterministic=True
    )
    loader = fm.Loader(lines.filter("x != 'TWO'"))
    assert list(loader) == [b"ONE", b"THREE"]
    assert [record["record"] for record in loader.provenance()] == [2]


# ---- ranks


def test_ranks_draw_no_seeds():
    for unseeded in (fm.Dataset.range(9).shuffle(), fm.Dataset.range(9).map("random.uniform()")):
        for read in (unseeded.read, lambda d=unseeded, **ranks: next(iter(fm.Loader(d, **ranks)))):
            with pytest.raises(fm.InvalidArgumentError, match=r"\.with_options\(seed=7\)"):
                read(rank=1, ranks=2)
    seeded = fm.Dataset.range(9).shuffle()
    parts = [ints(fm.Loader(seeded, rank=r, ranks=2, seed=5)) for r in range(2)]
    assert sorted(parts[0] + parts[1]) == list(range(9))
    for fixed in (fm.Dataset.range(9), fm.Dataset.range(9).shuffle(seed=5)):
        loaders = [fm.Loader(fixed, rank=r, ranks=2) for r in range(2)]
        begun = [int(next(iter(loader))) for loader in loaders]
        merged = fm.merge_states([loader.state_dict() for loader in loaders])
        assert sorted(begun + ints(fm.Loader(fixed, state=merged))) == list(range(9))


def test_a_service_draws_one_seed_for_all_ranks(service):
    unseeded = fm.Dataset.range(40).shuffle()
    loaders = [fm.Loader(unseeded, service, "drawn", rank=r, ranks=2) for r in range(2)]
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(ints, loaders))
    assert sorted(parts[0] + parts[1]) == list(range(40))


@pytest.mark.parametrize("total", [3, 5, 18, 19, 20])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_that_end_together(total, ranks):
    dataset = fm.Dataset.range(total).shuffle().with_options(seed=4)
    whole = ints(dataset.read())
    for even in ("exact", "drop", "pad"):
        loaders = [fm.Loader(dataset, rank=r, ranks=ranks, even=even) for r in range(ranks)]
        parts = [ints(loader) for loader in loaders]
        assert [len(loader) for loader in loaders] == [len(part) for part in parts]
        if even == "exact":
            assert parts == [whole[r::ranks] for r in range(ranks)]
        elif even == "drop":
            full = whole[: total - total % ranks]
            assert parts == [full[r::ranks] for r in range(ranks)]
        else:
            rounds = -(-total // ranks)
            for r, part in enumerate(parts):
                own = whole[r::ranks]
                assert part == own + own[-1:] * (rounds - len(own))


def test_ranks_end_together_through_a_service(service):
    dataset = PLANNED.batch(2)
    for even, counts in (("drop", [5, 5]), ("pad", [5, 5]), ("exact", [5, 5])):
        loaders = [fm.Loader(dataset, service, even, rank=r, ranks=2, even=even) for r in range(2)]
        assert [len(list(loader)) for loader in loaders] == counts
    dataset = PLANNED
    for even, counts in (("drop", [9, 9]), ("pad", [10, 10]), ("exact", [10, 9])):
        loaders = [
            fm.Loader(dataset, service, f"{even} 2", rank=r, ranks=2, even=even) for r in range(2)
        ]
        for _ in range(2):
            assert [len(list(loader)) for loader in loaders] == counts
        assert [len(loader) for loader in loaders] == counts


def test_more_ranks_than_elements():
    dataset = fm.Dataset.range(2)
    for rank in range(3):
        assert list(fm.Loader(dataset, rank=rank, ranks=3, even="drop")) == []
    with pytest.raises(fm.FailedPreconditionError, match="drop"):
        list(fm.Loader(dataset, rank=2, ranks=3, even="pad"))


def test_skipped_batches_and_ranks_that_end_together():
    for skips in ([(2, 6)], [(15, 17)], [(17, 19)], [(1, 3), (5, 9)]):
        parts = [
            ints(fm.Loader(PLANNED, rank=r, ranks=2, even="drop", skip_batches=skips))
            for r in range(2)
        ]
        whole = ints(PLANNED.read(skip_batches=skips))
        assert len(parts[0]) == len(parts[1]) == len(whole) // 2
        assert sorted(parts[0] + parts[1]) == sorted(whole[: len(whole) // 2 * 2])


@pytest.mark.parametrize("even", ["drop", "pad"])
def test_merged_states_continue_with_other_ranks_that_end_together(even):
    whole = ints(PLANNED.read())
    for count in range(1, 7):
        loaders = [fm.Loader(PLANNED, rank=r, ranks=3, even=even) for r in range(3)]
        for loader in loaders:
            elements = iter(loader)
            for _ in range(count):
                next(elements)
        merged = fm.merge_states([loader.state_dict() for loader in loaders])
        rest = whole[3 * count :]
        states = []
        for r in range(2):
            loader = fm.Loader(PLANNED, rank=r, ranks=2, even=even, state=merged)
            part = []
            for x in loader:
                part.append(int(x))
                states.append((r, len(part), loader.state_dict()))
            assert len(part) == (len(rest) // 2 if even == "drop" else -(-len(rest) // 2))
            for rank, done, state in states:
                if rank == r:
                    after = fm.Loader(PLANNED, rank=r, ranks=2, even=even, state=state)
                    assert ints(after) == part[done:]


class Ranks:
    """Ranks of one process, each in a thread, that agree at a barrier."""

    def __init__(self, ranks):
        self.have = [False] * ranks
        self.barrier = threading.Barrier(ranks)

    def agree(self, rank, have):
        self.have[rank] = have
        self.barrier.wait(20)
        answer = all(self.have), any(self.have)
        self.barrier.wait(20)
        return answer


def read_agreed(dataset, even, states=(None, None), stop=None):
    ranks = Ranks(2)

    def read(rank):
        loader = fm.Loader(
            dataset,
            rank=rank,
            ranks=2,
            even=even,
            state=states[rank],
            agree=lambda have: ranks.agree(rank, have),
        )
        elements = []
        for x in loader:
            elements.append(int(x))
            if len(elements) == stop:
                break
        return elements, loader.state_dict()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(read, range(2)))


@pytest.mark.parametrize("even", ["drop", "pad"])
def test_ranks_agree_where_the_length_is_not_known(even):
    whole = ints(COUNTED.read())
    parts = [part for part, _ in read_agreed(COUNTED, even)]
    if even == "drop":
        assert parts == [whole[0:18:2], whole[1:18:2]]
    else:
        assert parts == [whole[0::2], [*whole[1::2], whole[-2]]]
    for count in (1, 8, 9, 10)[: 4 if even == "pad" else 3]:
        done = read_agreed(COUNTED, even, stop=count)
        after = read_agreed(COUNTED, even, states=[state for _, state in done])
        assert [a + b for (a, _), (b, _) in zip(done, after, strict=True)] == parts


def test_ranks_end_together_without_a_length():
    whole = ints(COUNTED.read())
    parts = {
        even: [ints(fm.Loader(COUNTED, rank=r, ranks=2, even=even)) for r in (0, 1)]
        for even in ("drop", "pad")
    }
    assert parts["drop"] == [whole[0:18:2], whole[1:18:2]]
    assert parts["pad"] == [whole[0::2], [*whole[1::2], whole[-2]]]
    assert len(list(fm.Loader(COUNTED, even="drop"))) == 19
    with pytest.raises(fm.UnknownLengthError):
        len(fm.Loader(COUNTED))


def test_wrong_arguments():
    with pytest.raises(fm.InvalidArgumentError, match="even"):
        fm.Loader(PLANNED, even="all")
    with pytest.raises(TypeError, match=r"thread: no such option.*threads"):
        fm.Loader(PLANNED, thread=2)
    with pytest.raises(fm.InvalidArgumentError, match="epoch"):
        fm.Loader(PLANNED, epoch=3, state=PLANNED.read().state_dict())
    shared = PLANNED.with_options(order="any")
    with pytest.raises(fm.InvalidArgumentError, match="deterministic"):
        fm.Loader(shared, ranks=2, even="drop")


def test_readers_that_share_a_job(service):
    loader = fm.Loader(PLANNED.with_options(order="any"), service, "shared")
    for _ in range(2):
        assert sorted(ints(loader)) == list(range(19))
