"""feedmill.tf: what follows ``distribute`` is read through the service, or refused."""

import itertools
import pickle

import feedmill as fm
import pytest
from feedmill import tf

service = tf.data.experimental.service
UNUSED = "tcp://127.0.0.1:1"


def ints(elements):
    return [int(x) for x in elements]


@pytest.fixture
def two_workers():
    dispatcher = service.DispatchServer()
    config = service.WorkerConfig(dispatcher_address=dispatcher._address)
    workers = [service.WorkerServer(config) for _ in range(2)]
    while dispatcher._num_workers() < 2:
        pass
    yield dispatcher
    for server in (*workers, dispatcher):
        server.stop()


@pytest.fixture
def distribute(two_workers):
    """distribute() with the service of the test."""

    def to(mode="distributed_epoch", **more):
        return service.distribute(mode, two_workers.target, **more)

    return to


def numbers(*arguments):
    return tf.data.Dataset.range(*arguments)


# ---- ways to read


def test_every_way_to_read_goes_to_the_service(distribute):
    copies = numbers(5).apply(distribute("parallel_epochs"))
    expected = sorted([*range(5), *range(5)])
    assert sorted(ints(copies)) == expected
    assert sorted(ints(copies.read())) == expected
    assert sorted(ints(fm.Loader(copies))) == expected
    assert sorted(ints(copies.map("x").filter("x >= 0").read())) == expected
    assert sorted(ints(pickle.loads(pickle.dumps(copies)).read())) == expected


@pytest.mark.parametrize("mode", ["parallel_epochs", "distributed_epoch"])
def test_no_way_to_read_goes_elsewhere(mode):
    """No server listens at the address."""
    dataset = numbers(5).apply(service.distribute(mode, UNUSED))
    with pytest.raises(fm.DeadlineExceededError):
        next(dataset.read(first_timeout=0, timeout=0))
    with pytest.raises(fm.DeadlineExceededError):
        next(iter(fm.Loader(dataset, first_timeout=0, timeout=0)))
    if mode == "distributed_epoch":
        named = dataset.map(a="x")
        for whole in (
            tf.data.Dataset.concatenate([dataset, numbers(2)]),
            tf.data.Dataset.interleave([numbers(2), dataset]),
            tf.data.Dataset.mixture([dataset, dataset], weights=[1, 1]),
            tf.data.Dataset.zip([named, numbers(2).map(b="x")]),
            tf.data.Dataset.concatenate(one for one in [dataset, numbers(2)]),
        ):
            with pytest.raises(fm.DeadlineExceededError):
                next(whole.read(first_timeout=0, timeout=0))


def test_readers_with_arguments_that_contradict_are_refused(distribute):
    dataset = numbers(5).apply(distribute())
    shared = numbers(5).apply(distribute(job_name="shared"))
    second = numbers(5).apply(distribute(job_name="ranks", consumer_index=1, num_consumers=2))
    for read, message in (
        (lambda: dataset.read(UNUSED), "service"),
        (lambda: fm.Loader(dataset, UNUSED), "service"),
        (lambda: shared.read(job="other"), "job"),
        (lambda: shared.read(rank=0, ranks=2), "ranks"),
        (lambda: fm.Loader(shared, rank=1, ranks=2), "ranks"),
        (lambda: second.read(rank=0, ranks=2), "rank"),
        (lambda: fm.Loader(second, rank=0, ranks=3), "rank"),
    ):
        with pytest.raises(ValueError, match=message):
            read()
    loader = fm.Loader(second)
    assert (len(loader), ints(loader)) == (2, [1, 3])
    assert ints(dataset.read(job="own", rank=1, ranks=2)) == [1, 3]


# ---- combinations


def test_a_combination_of_whole_datasets_is_read_through_their_service(distribute):
    five, two = numbers(5).apply(distribute()), numbers(10, 12)
    assert ints(tf.data.Dataset.concatenate([five, two])) == [0, 1, 2, 3, 4, 10, 11]
    assert ints(tf.data.Dataset.interleave([five, two])) == [0, 10, 1, 11, 2, 3, 4]
    pairs = tf.data.Dataset.zip([five.map(a="x"), two.apply(distribute()).map(b="x")])
    assert [(int(e["a"]), int(e["b"])) for e in pairs] == [(0, 10), (1, 11)]
    assert [batch.tolist() for batch in tf.data.Dataset.concatenate([two, five]).batch(4)] == [
        [10, 11, 0, 1],
        [2, 3, 4],
    ]


def test_other_combinations_are_refused(distribute):
    whole = numbers(5).apply(distribute())
    others = (
        numbers(5).apply(distribute("parallel_epochs")),
        numbers(5).apply(distribute(job_name="shared")),
        numbers(5).apply(service.distribute("distributed_epoch", UNUSED)),
    )
    for other in others:
        for inputs in ([whole, other], [other, whole]):
            with pytest.raises(ValueError, match=r"combine them first"):
                tf.data.Dataset.concatenate(inputs)
    for other in others[:2]:
        for combine in (
            tf.data.Dataset.concatenate,
            tf.data.Dataset.interleave,
            tf.data.Dataset.zip,
            lambda inputs: tf.data.Dataset.mixture(inputs, weights=[1, 1]),
        ):
            with pytest.raises(ValueError, match=r"combine them first"):
                combine([numbers(3), other])
    with pytest.raises(ValueError, match=r"tf\.data\.Dataset"):
        fm.Dataset.concatenate([numbers(3), whole])


def test_a_dataset_is_distributed_once(distribute):
    whole = numbers(5).apply(distribute())
    for again in (
        lambda: whole.apply(distribute()),
        lambda: whole.apply(service.distribute("parallel_epochs", UNUSED)),
        lambda: service.register_dataset(UNUSED, whole),
    ):
        with pytest.raises(ValueError, match="already"):
            again()
    with pytest.raises(ValueError, match="arguments of distribute"):
        whole.with_options(processing_mode="off")


# ---- steps


def test_steps_after_parallel_epochs_see_its_elements(distribute):
    copies = numbers(10).apply(distribute("parallel_epochs"))
    kept = copies.map("x * 2").filter("x % 4 == 0").repeat(2).shuffle()
    assert sorted(ints(kept)) == sorted([0, 4, 8, 12, 16] * 4)
    assert sorted(ints(copies.flat_map("[x, x]"))) == sorted([*range(10)] * 4)
    assert len(list(itertools.islice(copies, 7))) == 7


@pytest.mark.parametrize(
    "step",
    [
        lambda d: d.batch(4),
        lambda d: d.bucket_by_sequence_length(batch_sizes=[2]),
        lambda d: d.enumerate(),
        lambda d: d.pack(8),
        lambda d: d.padded_batch(4),
        lambda d: d.ragged_batch(4),
        lambda d: d.rebatch(4),
        lambda d: d.shard(2, 0),
        lambda d: d.skip(3),
        lambda d: d.take(10),
        lambda d: d.token_batch(8),
        lambda d: d.window(2),
    ],
)
def test_steps_on_the_sequence_need_the_whole_sequence(step):
    """Workers would run them once each, or once for all readers of the job."""
    dataset = numbers(20)
    for arguments in (
        {"processing_mode": "parallel_epochs"},
        {"processing_mode": "parallel_epochs", "job_name": "j"},
        {"processing_mode": "distributed_epoch", "job_name": "j"},
    ):
        distributed = dataset.apply(service.distribute(service=UNUSED, **arguments))
        with pytest.raises(ValueError, match=r"write it before"):
            step(distributed.map("[x]"))
    step(dataset.map("[x]")).apply(service.distribute(service=UNUSED, **arguments))
    step(dataset.apply(service.distribute("distributed_epoch", UNUSED)))


def test_steps_of_consumers_keep_the_number_of_elements(distribute):
    rank = numbers(8).apply(distribute(job_name="r", consumer_index=1, num_consumers=2))
    assert ints(rank.map("x * 10")) == [10, 30, 50, 70]
    for step in (
        lambda d: d.filter("x > 2"),
        lambda d: d.filter(lambda x: x > 2, python=True, deterministic=True),
        lambda d: d.flat_map("[x, x]"),
        lambda d: d.repeat(2),
        lambda d: d.shuffle(),
        lambda d: d.batch(2),
    ):
        with pytest.raises(ValueError, match="all consumers"):
            step(rank)


# ---- loops over a named job


def test_each_loop_over_a_named_job_reads_all_elements(distribute):
    dataset = numbers(100).apply(distribute(job_name="loops"))
    for _ in range(2):
        assert len(list(itertools.islice(dataset, 3))) == 3
    assert sorted(ints(dataset)) == list(range(100))
    assert sorted(ints(dataset.map("x + 1"))) == list(range(1, 101))
    rank = numbers(10).apply(distribute(job_name="rank", consumer_index=0, num_consumers=1))
    assert ints(itertools.islice(rank, 3)) == [0, 1, 2]
    assert ints(rank) == list(range(10))


def test_a_consumer_that_begins_again_joins_the_epoch_of_its_job(distribute):
    shuffled = numbers(10).shuffle(seed=3)
    epochs = [ints(fm.Dataset.range(10).shuffle(seed=3).read(epoch=epoch)) for epoch in range(3)]

    def consumer(index):
        return shuffled.apply(distribute(job_name="c", consumer_index=index, num_consumers=2))

    first, second = consumer(0), consumer(1)
    assert (ints(first), ints(second)) == (epochs[0][0::2], epochs[0][1::2])
    assert ints(itertools.islice(first, 2)) == epochs[1][0:4:2]
    assert ints(second) == epochs[1][1::2]
    assert ints(first) == epochs[2][0::2]
    assert ints(consumer(1)) == epochs[2][1::2]


def test_a_loop_that_others_read_to_its_end_is_empty_and_says_so(distribute):
    one, other = (numbers(10).apply(distribute(job_name="both")) for _ in range(2))
    for _ in range(2):
        assert sorted(ints(one)) == list(range(10))
        with pytest.warns(UserWarning, match="choose another job_name"):
            assert ints(other) == []


def test_loops_wait_as_long_as_it_takes(monkeypatch):
    patience = []

    def read(self, *place, first_timeout=20, timeout=60, **more):
        patience.append((first_timeout, timeout))
        raise fm.CancelledError("looked at")

    monkeypatch.setattr(fm.Dataset, "read", read)
    for job in (None, "job"):
        dataset = numbers(3).apply(service.distribute("distributed_epoch", UNUSED, job))
        with pytest.raises(fm.CancelledError):
            iter(dataset)
        with pytest.raises(fm.CancelledError):
            dataset.read()
    assert patience == [(float("inf"),) * 2, (20, 60)] * 2


# ---- servers


def test_servers_take_the_keywords_of_feedmill():
    function = {"python": True, "deterministic": True}
    with service.DispatchServer(advertise="localhost") as dispatcher:
        assert dispatcher.target.startswith("grpc://localhost:")
        with service.WorkerServer(
            port=0, dispatcher_address=dispatcher._address, allow_python=True
        ):
            dataset = numbers(3).map(lambda x: x * 2, **function)
            distributed = dataset.apply(service.distribute("distributed_epoch", dispatcher.target))
            assert ints(distributed) == [0, 2, 4]
        with pytest.raises(TypeError):
            service.WorkerServer(dispatcher_address=dispatcher._address, no_such_option=1)
    with pytest.raises(TypeError):
        service.DispatchServer(no_such_option=1)
