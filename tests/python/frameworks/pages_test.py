"""The examples of docs/frameworks.md and of the frameworks' modules run."""

import doctest
import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from docs_test import FRAMEWORKS
from page_runner import run_page


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_of_frameworks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [Path(sys.executable).parent, Path(os.environ["FEEDMILL"]).parent]
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))
    # The page's port may be taken.
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
    page = (ROOT / "docs/frameworks.md").read_text().replace(":5051", f":{port}")
    run_page(page, shell=True)


def test_import_feedmill_imports_no_framework():
    for name in ("torch", "jax", "tensorflow", "pyarrow"):
        program = f"import sys, feedmill; sys.exit({name!r} in sys.modules)"
        subprocess.run([sys.executable, "-c", program], check=True)
