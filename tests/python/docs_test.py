"""The examples of docstrings, of README.md and of the pages run."""

import doctest
import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import urllib.request

import feedmill
import pytest
from conftest import ROOT
from example_files import make_files
from feedmill import _feedmill
from feedmill._sources import Sources
from feedmill._steps import Steps
from page_runner import run_page

# These modules import packages that are not installed here (frameworks/pages_test.py).
FRAMEWORKS = [
    "feedmill._arrow",
    "feedmill._data_loader",
    "feedmill.huggingface",
    "feedmill.jax",
    "feedmill.tensorflow",
    "feedmill.torch",
]
# It imports ray (ray_cluster/page_test.py runs docs/ray.md).
RAY = "feedmill.ray"
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(feedmill.__path__, "feedmill.")
    if "_feedmill" not in name and name not in [*FRAMEWORKS, RAY]
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["feedmill", *MODULES])
def test_docstrings(folder, name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("kind", [Sources, Steps], ids=lambda kind: kind.__name__)
def test_every_source_and_step_has_an_example_and_its_errors(kind):
    for name, method in inspect.getmembers(kind, callable):
        if not name.startswith("_"):
            text = inspect.getdoc(method)
            assert ">>> " in text, name
            assert re.search(r"\b[Rr]aises ", text), name


def test_the_reference_has_every_name():
    reference = (ROOT / "docs/api.md").read_text().splitlines()
    for name in feedmill.__all__:
        value = getattr(feedmill, name)
        is_error = isinstance(value, type) and issubclass(value, feedmill.Error)
        if name != "__version__" and not is_error:
            assert f"::: feedmill.{name}" in reference
    for name in ("errors", "tf", "ray", *(f"tf.{name}" for name in ("errors", "train"))):
        assert f"::: feedmill.{name}" in reference


def test_the_page_of_the_package(folder):
    run_page((ROOT / "docs/python.md").read_text())


def test_the_page_of_python_functions(folder):
    run_page((ROOT / "docs/python_functions.md").read_text())


def test_the_page_of_tf(folder):
    run_page((ROOT / "docs/tf.md").read_text())


def test_the_page_of_sixty_lines(folder):
    page = (ROOT / "docs/snippets.md").read_text()
    run_page(page)
    numbers = [int(number) for number in re.findall(r"^\*\*(\d+)\.\*\* ", page, re.M)]
    assert numbers == list(range(1, 61))
    assert page.count("\nNot possible: ") <= 3


def test_the_overview_names_what_there_is(folder):
    """Each call in its last column is a step, a source or a function that takes an image."""
    functions = set(_feedmill.function_names())
    photos = feedmill.Dataset.images("photos").decode_image().map(image="image[:32, :32]")
    constants = {
        "h": 32,
        "w": 32,
        "n": 8,
        "p": 0.5,
        "d": 10,
        "t": 128,
        "std": 0.5,
        "sigma": 0.1,
        "bits": 4,
        "f": 1.5,
    }
    constants |= {"height": 999, "width": 999}
    traced = 0
    for row in re.findall(r"^\| (.*) \|$", (ROOT / "docs/migrate/overview.md").read_text(), re.M):
        for code in re.findall(r"`([^`]*)`", row.rpartition(" | ")[2]):
            names = re.findall(r"([\w.]+)\(", code)
            for name in names:
                known = name in functions or hasattr(feedmill.Dataset, name)
                assert known or name in ("dataset.read", "f", "state_dict"), code
            if "image" in code and set(names) & functions and "…" not in code and "(x" not in code:
                if code.startswith("image.decode("):
                    continue
                text = re.sub(r"\b[a-z]+\b(?![('])", lambda m: str(constants.get(m[0], m[0])), code)
                photos.map(y=re.sub(r"\bmean\b", "0.5", text)).schema  # noqa: B018
                traced += 1
    assert traced > 15


def lines_of(page):
    """The blocks of Python of a page that has no program of its own."""
    (text,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)
    return text


def test_the_lines_of_the_pages_of_clusters(service, monkeypatch):
    address = service.removeprefix("tcp://")
    task = {"type": "worker", "index": 0}
    cluster = {"cluster": {"ps": [address], "data": [address]}, "task": task}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    names = {"fm": feedmill, "os": os, "dataset": feedmill.Dataset.range(3)}
    names["pipeline"] = names["dataset"]
    exec(lines_of("servers.md"), names)
    assert [int(x) for x in names["reader"]] == [0, 1, 2]
    monkeypatch.setenv("SERVICE", service)
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    exec(lines_of("slurm.md"), names)
    assert [int(x) for x in names["reader"]] == [1]


def test_the_line_of_the_page_of_metrics():
    line = lines_of("monitoring.md")
    assert ":9095" in line
    names = {"fm": feedmill}
    exec(line.replace(":9095", ":0"), names)  # the port may be taken
    with urllib.request.urlopen(names["metrics"].url + "/metrics", timeout=20) as answer:
        assert b"feedmill_build_info" in answer.read()
    names["metrics"].stop()


def test_the_section_of_the_readme(folder):
    shutil.copy(ROOT / "examples/first_pipeline/houses.csv", folder)
    section = re.search(r"^## In Python\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    run_page(section[1])
