"""Servers in Python, and readings through them."""

import contextlib
import copy
import json
import pickle
import sys
import urllib.error
import urllib.request

import feedmill as fm
import pytest
from order_hash import order_hash


def test_servers_are_context_managers():
    with fm.DispatchServer() as dispatcher:
        assert dispatcher.target.startswith("tcp://127.0.0.1:")
        assert dispatcher.running
        with fm.WorkerServer(dispatcher=dispatcher.target, threads=1) as worker:
            assert [int(x) for x in fm.Dataset.range(4).read(dispatcher.target)] == [0, 1, 2, 3]
            assert worker.registered
            assert len(dispatcher.status()["workers"]) == 1
        assert not worker.running
        worker.join()
    assert not dispatcher.running
    dispatcher.join()
    dispatcher.stop()
    with pytest.raises(fm.FailedPreconditionError):
        dispatcher.start()


def test_a_server_that_is_not_started():
    dispatcher = fm.DispatchServer(start=False)
    assert dispatcher.target == ""
    assert repr(dispatcher) == "<feedmill.DispatchServer not started>"
    with pytest.raises(fm.FailedPreconditionError):
        dispatcher.join()
    dispatcher.start()
    assert dispatcher.running


def test_a_taken_port_is_an_error_that_names_it():
    with fm.DispatchServer() as dispatcher:
        port = int(dispatcher.target.rsplit(":", 1)[1])
        with pytest.raises(fm.UnavailableError, match=str(port)) as raised:
            fm.DispatchServer(port)
        assert isinstance(raised.value, ConnectionError)


def test_a_worker_drains(service):
    worker = fm.WorkerServer(service)
    worker.drain(timeout=5)
    worker.join()
    assert not worker.running


def test_a_dispatcher_keeps_its_state_in_a_folder(tmp_path):
    dataset = fm.Dataset.range(100).shuffle()
    with (
        fm.DispatchServer(work_dir=tmp_path) as dispatcher,
        fm.WorkerServer(dispatcher.target),
        dataset.read(dispatcher.target, job="j") as reader,
    ):
        seed, first = reader.seed, order_hash(reader)
    with fm.DispatchServer(work_dir=tmp_path) as dispatcher, fm.WorkerServer(dispatcher.target):
        with dataset.read(dispatcher.target, job="j") as reader:
            assert (reader.seed, reader.epoch) == (seed, 1)
            assert order_hash(reader) != first
        with dataset.read(dispatcher.target, job="j", epoch=0) as reader:
            assert order_hash(reader) == first


def test_ranks_share_a_job(service):
    dataset = fm.Dataset.range(100).shuffle().batch(3).with_options(seed=8)
    whole = [batch.tolist() for batch in dataset.read()]
    with contextlib.ExitStack() as stack:
        readers = [
            stack.enter_context(dataset.read(service, job="ranks", rank=rank, ranks=2))
            for rank in range(2)
        ]
        for rank, reader in enumerate(readers):
            assert [batch.tolist() for batch in reader] == whole[rank::2]


def test_sharers_get_each_element_once(service):
    dataset = fm.Dataset.range(2000).with_options(order="any")
    with (
        dataset.read(service, job="shared") as one,
        dataset.read(service, job="shared") as two,
    ):
        got = [int(next(one)), int(next(two))]
        one.close()
        got += [int(x) for x in two]
    assert sorted(got) == list(range(2000))


def test_a_second_reader_of_a_job_is_refused(service):
    dataset = fm.Dataset.range(100)
    with dataset.read(service, job="mine") as reader:
        next(reader)
        with pytest.raises(fm.FailedPreconditionError, match="mine") as refused:
            dataset.read(service, job="mine")
        assert "`take_over`" in str(refused.value)
        assert "--" not in str(refused.value)  # flags of the command
        with dataset.read(service, job="mine", take_over=True) as other:
            assert len(list(other)) == 100


def test_options_have_names_that_are_checked(service):
    for options, part in [
        ({"transport": "pigeon"}, "pigeon"),
        ({"compression": "rar"}, "rar"),
        ({"rank": 2, "ranks": 2}, "consumer 2/2"),
        ({"timeout": -1}, "timeout: expected seconds"),
        ({"timeout": "1"}, "timeout: expected seconds"),
        ({"weight": 0}, "weight"),
        ({"rank": "first"}, "rank: expected an integer"),
        ({"rank": -1}, "rank: expected an integer"),
        ({"seed": 1 << 64}, "seed: expected an integer"),
        ({"epoch": 1.5}, "epoch: expected an integer"),
        ({"take_over": 1}, "take_over: expected True"),
        ({"skip_batches": [1]}, "skip_batches: expected pairs"),
        ({"keys": 3}, "keys: expected a path"),
        ({"job": 3}, "job: expected a text"),
    ]:
        with pytest.raises(fm.InvalidArgumentError, match=part):
            fm.Dataset.range(3).read(service, **options)
    with pytest.raises(fm.InvalidArgumentError, match="address"):
        fm.Dataset.range(3).read("nowhere")
    for build, part in [
        (lambda: fm.DispatchServer(70_000), "port: expected an integer from 0 to 65535"),
        (lambda: fm.WorkerServer(None), "dispatcher: expected a text"),
        (lambda: fm.WorkerServer(service, threads=-1), "threads"),
        (lambda: fm.WorkerServer("nowhere"), "nowhere"),
        (lambda: fm.DispatchServer(host="0.0.0.0"), "insecure"),
    ]:
        with pytest.raises(fm.InvalidArgumentError, match=part):
            build()


def test_a_reader_cannot_be_copied_or_pickled():
    with fm.Dataset.range(3).read() as reader:
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"send the dataset and reader.state_dict\(\)"):
                use(reader)


def test_a_closed_reader_says_so(service):
    for target in (None, service):
        reader = fm.Dataset.range(3).read(target)
        iterator = iter(reader)
        reader.close()
        reader.close()
        assert reader.closed
        assert repr(reader) == "<feedmill.Reader (closed)>"
        for use in (
            lambda: next(reader),  # noqa: B023
            lambda: next(iterator),  # noqa: B023
            lambda: reader.state_dict(),  # noqa: B023
            lambda: next(reader.chunks()),  # noqa: B023
            lambda: reader.number,  # noqa: B023
        ):
            with pytest.raises(fm.FailedPreconditionError, match="closed"):
                use()


def test_the_dispatcher_of_a_cluster_that_is_written_for_trainers(monkeypatch):
    cluster = {"worker": ["t0:1", "t1:1"], "ps": ["d0:5050"], "data": ["w0:2"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster}))
    roles = "dispatcher=ps,worker=data"
    assert fm.find_dispatcher(f"tf_config:?roles={roles}") == "d0:5050"
    with pytest.raises(fm.NotFoundError, match="dispatcher"):
        fm.find_dispatcher("tf_config:")
    with pytest.raises(fm.InvalidArgumentError, match="gives no job a role"):
        fm.find_dispatcher("tf_config:?roles=trainer=ps")


def metrics_of(server):
    with urllib.request.urlopen(server.url + "/metrics", timeout=20) as answer:
        return answer.read().decode()


def test_a_metrics_server_tells_of_the_readers_of_this_process():
    with fm.MetricsServer() as metrics:
        with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
            reader = fm.Dataset.range(5000).read(dispatcher.target, job="measured")
            assert sum(1 for _ in reader) == 5000
            text = metrics_of(metrics)
            assert 'feedmill_reader_open{job_name="measured",rank="0"} 1\n' in text
            reader.close()
        text = metrics_of(metrics)
        assert 'feedmill_reader_elements_total{job_name="measured",rank="0"} 5000\n' in text
        assert 'feedmill_reader_open{job_name="measured",rank="0"} 0\n' in text
        assert sum(1 for _ in fm.Dataset.range(7).read()) == 7
        assert 'feedmill_reader_elements_total{job_name="anonymous"' in metrics_of(metrics)
        with pytest.raises(fm.UnavailableError, match="cannot listen"):
            fm.MetricsServer(metrics.url.removeprefix("http://"))
    metrics.stop()
    with pytest.raises(urllib.error.URLError):
        metrics_of(metrics)
    with pytest.raises(fm.InvalidArgumentError, match="loopback"):
        fm.MetricsServer("0.0.0.0:0")
    with pytest.raises(fm.InvalidArgumentError, match="HOST:PORT"):
        fm.MetricsServer("localhost")


def test_on_wait_says_what_a_reader_waits_for(monkeypatch):
    calls, printed = [], []

    def on_wait(what, seconds):
        calls.append((what, seconds))
        raise ValueError("does not end the reading")

    monkeypatch.setattr(sys, "unraisablehook", lambda about: printed.append(about.exc_type))
    with fm.DispatchServer() as dispatcher, pytest.raises(fm.DeadlineExceededError):
        next(fm.Dataset.range(3).read(dispatcher.target, first_timeout=3, on_wait=on_wait))
    assert calls[0][0].startswith("a worker: the dispatcher at")
    assert 2 <= calls[0][1] < 3
    assert printed == [ValueError] * len(calls)
