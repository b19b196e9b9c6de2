"""Python functions through a service."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import cloudpickle
import feedmill as fm
import numpy as np
import pytest
from process_tree import alive, descendants
from waits import wait_for, wait_for_file

# The workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def worker(start, target, *flags):
    return start("worker", "--dispatcher", target, "--threads", 2, *flags)[0]


def allowed(start, target):
    return worker(start, target, "--allow-python", sys.executable)


def noisy(x):
    return {"x": x, "noise": fm.rng().integers(0, 1 << 60)}


def read(dataset, target):
    with dataset.read(target) as reader:
        return [(int(e["x"]), int(e["noise"])) for e in reader]


@pytest.mark.parametrize("workers", [1, 3])
def test_results_equal_a_local_reads(start, workers):
    dataset = fm.Dataset.range(2000).shuffle().map(noisy, python=True).with_options(seed=4)
    expected = read(dataset, None)
    assert sorted(x for x, _ in expected) == list(range(2000))
    _, target = start("dispatcher")
    for _ in range(workers):
        allowed(start, target)
    assert read(dataset, target) == expected


def test_a_worker_that_is_killed_loses_nothing_and_leaves_nothing(start):
    dataset = fm.Dataset.range(3000).map(noisy, python=True).with_options(seed=4)
    expected = read(dataset, None)
    _, target = start("dispatcher")
    killed = allowed(start, target)
    allowed(start, target)
    taken, left = [], []
    with dataset.read(target, budget_bytes=1 << 12) as reader:
        for e in reader:
            taken.append((int(e["x"]), int(e["noise"])))
            if len(taken) == 200:
                left = descendants(killed.pid)
                os.kill(killed.pid, signal.SIGKILL)
    assert taken == expected
    wait_for(lambda: not any(map(alive, left)), f"the end of {left}")


def test_a_worker_without_the_flag_refuses_it(start):
    _, target = start("dispatcher")
    worker(start, target)
    dataset = fm.Dataset.range(10).map(noisy, python=True)
    with pytest.raises(fm.FailedPreconditionError, match="--allow-python"):
        read(dataset, target)


def test_a_batch_for_operators_runs_no_function(start, tmp_path):
    token, http = tmp_path / "token", tmp_path / "http"
    token.touch(0o600)
    token.write_text("0123456789abcdef\n")
    flags = ("--http", "127.0.0.1:0", "--http-ready-file", http, "--http-token-file", token)
    _, target = start("dispatcher", *flags)
    allowed(start, target)
    dataset = fm.Dataset.range(10).map(noisy, python=True)
    with dataset.read(target, job="train") as reader:
        assert len(list(reader)) == 10
    request = urllib.request.Request(
        f"{http.read_text().strip()}/api/jobs/sample",
        json.dumps({"job": "train", "batch": 0}).encode(),
        {
            "Authorization": "Bearer 0123456789abcdef",
            "X-Feedmill": "1",
            "Content-Type": "application/json",
        },
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with pytest.raises(urllib.error.HTTPError) as refused:
        opener.open(request, timeout=30)
    assert refused.value.code == 422
    assert "allows no Python functions" in refused.value.read().decode()


def test_versions_that_differ_are_refused(start):
    _, target = start("dispatcher")
    allowed(start, target)
    text = fm.Dataset.range(10).map(noisy, python=True).to_yaml()
    other = text.replace(f"numpy=={np.__version__}", "numpy==1.0.1")
    with pytest.raises(
        fm.FailedPreconditionError,
        match=rf"numpy 1\.0\.1 .*: worker .* has numpy {np.__version__}",
    ):
        read(fm.Dataset.from_yaml(other), target)


def test_workers_that_cannot_run_the_function_do_other_work(start, command, tmp_path):
    # An environment without packages.
    bare = tmp_path / "bare"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", bare], check=True, capture_output=True
    )
    _, target = start("dispatcher")
    worker(start, target, "--allow-python", bare / "bin/python")
    worker(start, target)
    allowed(start, target)
    dataset = fm.Dataset.range(2000).shuffle().map(noisy, python=True).with_options(seed=4)
    assert read(dataset, target) == read(dataset, None)
    status = json.loads(command("status", "--service", target, "--format", "json"))
    here = ".".join(map(str, sys.version_info[:3]))
    assert sorted(worker.get("python", "none") for worker in status["workers"]) == [
        here,
        here,
        "none",
    ]
    assert status["faults"]["leases_failed"] == 0
    with fm.Dataset.range(1000).map(lambda x: x + 1).read(target) as reader:
        assert sum(map(int, reader)) == 500500


def test_a_worker_loads_a_function_once_for_all_epochs(start, tmp_path):
    loaded = tmp_path / "loaded"
    loaded.touch()
    dataset = fm.Dataset.range(100).map(Noted(str(loaded)), python=True, output=("int64", ()))
    _, target = start("dispatcher")
    allowed(start, target)
    loader = fm.Loader(dataset, target)
    for _ in range(3):
        assert [int(x) for x in loader] == list(range(100))
    assert loaded.read_text() == "loaded\n"


class Noted:
    """A function that writes a line when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return load_noted, (self.path,)

    def __call__(self, x):
        return x


def load_noted(path):
    with open(path, "a") as file:
        file.write("loaded\n")
    return Noted(path)


def test_an_interpreter_that_is_missing_ends_the_worker_at_once(tmp_path):
    done = subprocess.run(
        [
            os.environ["FEEDMILL"],
            "worker",
            "--dispatcher",
            "localhost:1",
            "--allow-python",
            tmp_path / "python",
        ],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 2
    assert f"{tmp_path}/python: No such file" in done.stderr


def test_an_error_names_the_element_and_has_the_traceback(start):
    _, target = start("dispatcher")
    allowed(start, target)
    dataset = fm.Dataset.range(100).map(
        lambda x: {"x": x, "noise": [0][int(x) // 60]},
        python=True,
        output={"x": ("int64", ()), "noise": ("int64", ())},
    )
    with pytest.raises(fm.PythonError, match=r"record 60 of the range.*raised IndexError"):
        read(dataset, target)


def test_workers_of_this_process_may_be_allowed():
    dataset = fm.Dataset.range(100).map(noisy, python=True).with_options(seed=1)
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target, allow_python=True):
        assert read(dataset, dispatcher.target) == read(dataset, None)


def test_up_passes_the_interpreter_on(tmp_path):
    ready = tmp_path / "ready"
    process = subprocess.Popen(
        [
            os.environ["FEEDMILL"],
            "up",
            "--workers",
            "2",
            "--ready-file",
            ready,
            "--allow-python",
            sys.executable,
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        target = wait_for_file(ready, process)
        dataset = fm.Dataset.range(100).map(noisy, python=True).with_options(seed=1)
        assert read(dataset, target) == read(dataset, None)
    finally:
        process.terminate()
        process.wait(timeout=20)
