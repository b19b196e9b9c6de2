"""Fixtures of several files of tests."""

import json
import os
import pathlib
import shutil
import subprocess

import feedmill as fm
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_photos(folder):
    """Makes the folder photos of the pages: six photographs of two classes."""
    for number in range(6):
        photo = folder / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        photo.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / f"tests/shell/data/{number % 4}.jpg", photo)


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
