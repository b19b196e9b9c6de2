"""Waits end when a signal comes, and let other threads run."""

import contextlib
import signal
import threading
import time

import feedmill as fm
import pytest
from feedmill import tf

DATASET = fm.Dataset.range(1000).map("x + 1").with_options(seed=1)
# A worker must find the file before the reading begins.
LINES = fm.Dataset.text(__file__)


class AlarmError(Exception):
    pass


@pytest.fixture
def alarm():
    """Raises AlarmError after 100 ms; returns how late it was."""

    def ring(number, frame):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)

    def during(call):
        due = time.monotonic() + 0.1
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(AlarmError):
            call()
        return time.monotonic() - due

    yield during
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# 50 ms, and what a busy machine takes.
SOON = 0.5


def test_a_signal_ends_the_wait_for_a_worker(alarm):
    with fm.DispatchServer() as dispatcher:
        assert alarm(lambda: LINES.read(dispatcher.target)) < SOON
        assert alarm(lambda: next(DATASET.read(dispatcher.target))) < SOON


def test_a_signal_ends_the_wait_for_a_dispatcher(alarm):
    unused = "127.0.0.1:1"
    dataset = tf.data.Dataset.range(3)
    from_id = tf.data.experimental.service.from_dataset_id
    distribute = tf.data.experimental.service.distribute("distributed_epoch", unused)
    register = tf.data.experimental.service.register_dataset
    assert alarm(lambda: register(unused, dataset)) < SOON
    assert alarm(lambda: from_id("distributed_epoch", unused, "id")) < SOON
    assert alarm(lambda: next(iter(dataset.apply(distribute)))) < SOON


@pytest.fixture
def endless(tmp_path):
    """A pattern that takes days to list: eight ways from each folder to the next."""
    depth = 12
    for level in range(depth + 1):
        folder = tmp_path / str(level)
        folder.mkdir()
        for name in "abcdefgh" if level < depth else "":
            (folder / name).symlink_to(tmp_path / str(level + 1))
    return f"{tmp_path}/0/**/*.txt"


@pytest.mark.parametrize(
    "call",
    [
        lambda files: fm.Dataset.text(files).read(),
        lambda files: fm.Dataset.text(files).explain(),
        lambda files: fm.Dataset.csv(files).element_spec,
        lambda files: len(fm.Loader(fm.Dataset.text(files))),
        lambda files: next(iter(fm.Loader(fm.Dataset.text(files)))),
        lambda files: fm.Dataset.zip([fm.Dataset.csv(files)] * 2).read(),
    ],
)
def test_a_signal_ends_a_listing_of_files(alarm, endless, call):
    assert alarm(lambda: call(endless)) < SOON


def test_a_signal_ends_the_indexing_of_a_file(alarm, tmp_path):
    with open(tmp_path / "large", "wb") as file:
        file.truncate(1 << 40)  # of zeros, which the disk does not hold
    assert alarm(fm.Dataset.text(tmp_path / "large").shuffle().read) < SOON


def test_a_signal_ends_a_search_for_records(alarm):
    reader = fm.Dataset.range(1 << 40).filter("x % 2 == 0").read()
    assert alarm(lambda: reader.provenance(1 << 38)) < SOON
    assert next(reader) == 0


class Hangs:
    """A function that takes long to load."""

    def __reduce__(self):
        return time.sleep, (1000,)

    def __call__(self, x):
        return x


def test_a_signal_ends_the_loading_of_a_function(alarm):
    dataset = fm.Dataset.range(3).map(Hangs(), python=True, output=("int64", ()), version="1")
    assert alarm(dataset.read) < SOON


@pytest.mark.parametrize("function", [Hangs(), lambda x: time.sleep(1000)])
def test_a_signal_ends_the_search_for_the_types_of_a_function(alarm, function):
    dataset = fm.Dataset.range(3)
    assert alarm(lambda: dataset.map(function, python=True, version="1")) < SOON


def test_ctrl_c_raises_keyboard_interrupt(alarm):
    with fm.DispatchServer() as dispatcher:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            LINES.read(dispatcher.target)


def test_a_reading_continues_after_a_signal(alarm):
    """The worker is gone while the reader waits, and another one comes."""
    with fm.DispatchServer() as dispatcher:
        worker = fm.WorkerServer(dispatcher.target)
        dataset = fm.Dataset.range(3_000_000).map("x * 2").batch(100)
        reader = dataset.read(dispatcher.target, budget_bytes=1 << 20, transport="tcp")
        got = [next(reader)]
        worker.stop()
        worker.join()

        def drain():
            got.extend(reader)

        assert alarm(drain) < SOON
        assert len(got) < 30000
        with fm.WorkerServer(dispatcher.target):
            got.extend(reader)
        assert [int(batch[0]) for batch in got] == list(range(0, 6_000_000, 200))


def test_a_signal_ends_a_join(alarm):
    with fm.DispatchServer() as dispatcher:
        assert alarm(dispatcher.join) < SOON
        assert dispatcher.running
        with fm.WorkerServer(dispatcher.target) as worker:
            assert alarm(worker.join) < SOON
            assert [int(x) for x in fm.Dataset.range(3).read(dispatcher.target)] == [0, 1, 2]


def test_other_threads_run_while_one_waits():
    with fm.DispatchServer() as dispatcher:
        sums = []
        reader = DATASET.read(dispatcher.target)
        waits = threading.Thread(target=lambda: sums.append(sum(int(x) for x in reader)))
        waits.start()
        assert not sums  # this thread runs
        with fm.WorkerServer(dispatcher.target):
            waits.join(timeout=20)
        assert sums == [500500]


def test_a_reader_that_a_thread_waits_for_is_refused_and_closed():
    with fm.DispatchServer() as dispatcher:
        reader = DATASET.read(dispatcher.target)
        raised = []

        def wait():
            try:
                next(reader)
            except fm.Error as error:
                raised.append(error)

        thread = threading.Thread(target=wait)
        thread.start()
        deadline = time.monotonic() + 20
        with pytest.raises(fm.FailedPreconditionError, match="another thread"):
            while time.monotonic() < deadline:
                with contextlib.suppress(fm.OutOfRangeError):  # it does not wait yet
                    _ = reader.number
        reader.close()
        thread.join(timeout=20)
        assert isinstance(raised[0], fm.CancelledError)


def test_time_outs_are_python_s():
    with fm.DispatchServer() as dispatcher:
        with pytest.raises(TimeoutError, match="no workers") as raised:
            LINES.read(dispatcher.target, first_timeout=1)
        assert isinstance(raised.value, fm.DeadlineExceededError)
    with pytest.raises(TimeoutError, match="no dispatcher answered"):
        DATASET.read("tcp://127.0.0.1:1", first_timeout=0.2)
