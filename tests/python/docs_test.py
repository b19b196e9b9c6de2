"""The examples of docstrings, of docs/python.md and of README.md run.

Fenced blocks of a page, in order:
  ```LANGUAGE NAME   a file of that name, in the working directory
  ```python          runs, in one namespace for the page
  ```text            all that the block before it prints
  ```sh              runs if the page is one of run_page(…, shell=True)
"""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import shutil
import subprocess

import feedmill
import pytest
from conftest import ROOT

# They import packages that are not installed here (frameworks/pages_test.py).
FRAMEWORKS = [
    "feedmill._arrow",
    "feedmill.jax",
    "feedmill.ray",
    "feedmill.tensorflow",
    "feedmill.torch",
]
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(feedmill.__path__, "feedmill.")
    if "_feedmill" not in name and name not in FRAMEWORKS
)
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("name", ["feedmill", *MODULES])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def run_page(text, shell=False):
    namespace, printed = {}, ""
    for language, name, body in FENCE.findall(text):
        if name:
            with open(name, "w", encoding="utf-8") as file:
                file.write(body)
        elif language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(body, "page", "exec"), namespace)
            printed = output.getvalue()
        elif language == "sh" and shell:
            done = subprocess.run(
                ["bash", "-euc", body], capture_output=True, text=True, timeout=100, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed = done.stdout
        elif language == "text":
            assert printed == body


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        photo = tmp_path / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        photo.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / f"tests/shell/data/{number % 4}.jpg", photo)
    return tmp_path


def test_the_page_of_the_package(folder):
    run_page((ROOT / "docs/python.md").read_text())


def test_the_page_of_tf(folder):
    run_page((ROOT / "docs/tf.md").read_text())


def test_the_section_of_the_readme(folder):
    shutil.copy(ROOT / "examples/first_pipeline/houses.csv", folder)
    section = re.search(r"^## In Python\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    run_page(section[1])
