"""The package's style, types and stub."""

import os
import pathlib
import subprocess
import sys

import feedmill as fm
import pytest
from conftest import ROOT

# The folder build/…/python.
PACKAGE = pathlib.Path(fm._feedmill.__file__).parent.parent


@pytest.mark.parametrize(
    "arguments",
    [
        ["ruff", "check", "--no-cache", "python", "tests/python"],
        ["ruff", "format", "--no-cache", "--check", "python", "tests/python"],
        ["mypy", f"--cache-dir={os.devnull}"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_tool_finds_nothing(arguments):
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_equals_the_extensions(tmp_path):
    subprocess.run(
        [
            *(sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "--exclude-values"),
            *("-p", ROOT / "python/stub_patterns.txt", "-m", "feedmill._feedmill"),
            *("-o", tmp_path / "stub.pyi"),
        ],
        check=True,
    )
    written = (ROOT / "python/feedmill/_feedmill.pyi").read_text()
    assert (tmp_path / "stub.pyi").read_text() == written, "run tools/python_stub"


def test_the_stub_of_functions_has_the_extensions_functions():
    printed = subprocess.run(
        [sys.executable, ROOT / "tools/functions_stub.py"],
        env={**os.environ, "FEEDMILL_OP_PLUGINS": ""},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    written = (ROOT / "python/feedmill/functions.pyi").read_text()
    assert printed == written, "run tools/python_stub"


USER = """
import feedmill as fm
import numpy as np
ds: fm.Dataset = (
    fm.Dataset.images("photos/*.jpg").shuffle(seed=7).decode_image().resize(height=2, width=2)
    .map(lambda e: {"image": e.image / 255, "label": e.label}).batch(32)
)
with ds.read(service="tcp://host:1", job="train", rank=0, ranks=2) as reader:
    for batch in reader:
        state: dict[str, object] = reader.state_dict()
squares: fm.Dataset = fm.Dataset.range(3).map(x=lambda x: x * x, y=fm.col("x") / 2, z="x")
even: fm.Dataset = squares.filter(fm.col("x") % 2 == 0).filter(lambda e: np.sqrt(e.y) > 1)
small: fm.Expr = fm.functions.image.resize(fm.col("image"), 8, 8, "area")
length: fm.Expr = fm.functions.length(fm.col("text")) + fm.functions.example.of_a_plugin(1)
target: str = fm.DispatchServer(port=0, work_dir=None).target
fm.WorkerServer(dispatcher=target)
"""


WRONG_USER = """
import feedmill as fm
fm.Loader(fm.Dataset.range(3), threds=2)
fm.Dataset.range(3).to_torch(timeout="long")
"""


def types_of(program, folder):
    (folder / "user.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={os.devnull}", "user.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_user_s_program_has_types(tmp_path):
    done = types_of(USER, tmp_path)
    assert done.returncode == 0, done.stdout


def test_options_of_reading_are_typed(tmp_path):
    found = types_of(WRONG_USER, tmp_path).stdout
    assert 'Unexpected keyword argument "threds" for "Loader"; did you mean "threads"?' in found
    assert 'Argument "timeout" to "to_torch" of "Dataset" has incompatible type "str"' in found
