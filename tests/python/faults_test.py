"""Real processes that are killed while Python reads."""

import os
import signal

import feedmill as fm
from order_hash import OrderHash

DATASET = fm.Dataset.range(400_000).map("x * 3").filter("x % 7 != 2").shuffle().batch(100)


def test_a_worker_that_is_killed_loses_nothing(start, tmp_path, summary):
    dataset = DATASET.with_options(seed=5)
    expected = summary(dataset, tmp_path)
    _, target = start("dispatcher")
    workers = [start("worker", "--dispatcher", target)[0] for _ in range(2)]
    folded = OrderHash()
    with dataset.read(target, budget_bytes=1 << 20) as reader:
        for batch in reader:
            folded.add(batch)
            if folded.elements == 500:
                os.kill(workers[0].pid, signal.SIGKILL)
    assert (folded.elements, folded.hex()) == (expected["elements"], expected["order_hash"])


def test_a_dispatcher_that_is_killed_loses_nothing(start, tmp_path, summary):
    dataset = DATASET.with_options(seed=5)
    expected = summary(dataset, tmp_path)
    dispatcher, target = start("dispatcher", "--work-dir", tmp_path / "work")
    start("worker", "--dispatcher", target)
    folded = OrderHash()
    with dataset.read(target, job="j", budget_bytes=1 << 20) as reader:
        for batch in reader:
            folded.add(batch)
            if folded.elements == 500:
                os.kill(dispatcher.pid, signal.SIGKILL)
                dispatcher.wait(timeout=20)
                port = target.rsplit(":", 1)[1]
                start("dispatcher", "--work-dir", tmp_path / "work", "--port", port)
    assert (folded.elements, folded.hex()) == (expected["elements"], expected["order_hash"])


def test_a_state_continues_after_all_processes_were_killed(start, tmp_path, summary):
    dataset = DATASET.with_options(seed=5)
    expected = summary(dataset, tmp_path)
    dispatcher, target = start("dispatcher")
    worker, _ = start("worker", "--dispatcher", target)
    folded = OrderHash()
    reader = dataset.read(target)
    for batch in reader:
        folded.add(batch)
        if folded.elements == 1234:
            break
    state = reader.state_dict()
    for process in (worker, dispatcher):
        process.kill()
        process.wait(timeout=20)
    _, target = start("dispatcher")
    start("worker", "--dispatcher", target)
    for batch in dataset.read(target, state=state):
        folded.add(batch)
    assert (folded.elements, folded.hex()) == (expected["elements"], expected["order_hash"])
