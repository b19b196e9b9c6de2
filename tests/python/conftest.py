"""Fixtures of several files of tests."""

import json
import os
import pathlib
import subprocess

import feedmill as fm
import pytest
from leaks import Remains
from waits import wait_for_file

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def nothing_remains(request):
    """No process, thread, descriptor or memory file outlives a test.

    Tests with the mark ``others_remain`` use packages that never end what they start.
    """
    before = Remains()
    yield
    request.node.funcargs.clear()  # values of fixtures, such as servers that were stopped
    if not request.node.get_closest_marker("others_remain"):
        assert before.await_end(20) == {}


@pytest.fixture
def command():
    """Runs the feedmill command; returns its standard output."""

    def run(*arguments, cwd=None):
        done = subprocess.run(
            [os.environ["FEEDMILL"], *map(str, arguments)],
            cwd=cwd,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run


@pytest.fixture
def summary(command):
    """The summary of `feedmill read --local` of a dataset."""

    def read(dataset, folder, *flags):
        path = folder / "pipeline.yaml"
        path.write_text(dataset.to_yaml())
        return json.loads(command("read", path, "--local", "--format", "summary", *flags))

    return read


@pytest.fixture
def service():
    """The address of a dispatcher with a worker, both in this process."""
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        yield dispatcher.target


@pytest.fixture
def start(tmp_path):
    """Starts a server of the feedmill command; returns the process and address."""
    started = []

    def run(*arguments):
        ready = tmp_path / f"{len(started)}.ready"
        process = subprocess.Popen(
            [os.environ["FEEDMILL"], *map(str, arguments), "--ready-file", ready],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        return process, wait_for_file(ready, process)

    yield run
    for process in started:
        process.kill()
        process.wait(timeout=20)
