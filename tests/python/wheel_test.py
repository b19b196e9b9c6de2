"""The wheel that tools/wheel builds, in a fresh environment with NumPy alone.

FEEDMILL_WHEEL_PYTHON names another interpreter than the tests' own; NumPy then
comes from PyPI.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from conftest import ROOT

OTHER = os.environ.get("FEEDMILL_WHEEL_PYTHON")

PROGRAM = """
import sys
import feedmill as fm
import numpy as np
ds = fm.Dataset.range(1000).map(lambda x: {"square": x * x, "root": np.sqrt(x)})
ds = ds.filter(lambda e: e.square % 3 != 0).shuffle().batch(7).with_options(seed=3)
local = [batch["square"].tolist() for batch in ds.read()]
with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
    with ds.read(dispatcher.target) as reader:
        assert [batch["square"].tolist() for batch in reader] == local
try:
    fm.Dataset.range(3).map(lambda x: 0 < x < 3)
except fm.TraceError as error:
    assert "(a < b) & (b < c)" in str(error)
assert fm.__file__.startswith(sys.prefix), fm.__file__
print(len(local), "batches")
"""


def run(*arguments, **options):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, arguments)),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_is_all_that_a_trainer_installs(tmp_path):
    built = run(ROOT / "tools/wheel", *(["--python", OTHER] if OTHER else []))
    wheel = ROOT / built.splitlines()[-1]
    assert wheel.stat().st_size < 25_000_000
    run(OTHER or sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    if OTHER:
        run(*pip, "numpy")
    else:  # the one that the tests use, so that no network is needed
        packages = Path(np.__file__).parents[1]
        to = Path(
            run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        )
        for folder in packages.glob("numpy*"):
            shutil.copytree(folder, to / folder.name)
    run(*pip, "--no-index", wheel)
    assert run(python, "-c", PROGRAM, cwd=tmp_path) == "96 batches\n"
    (tmp_path / "p.yaml").write_text("source: {range: 3}\n")
    assert (
        run(tmp_path / "venv/bin/feedmill", "read", tmp_path / "p.yaml", "--local") == "0\n1\n2\n"
    )
    package = Path(run(python, "-c", "import feedmill; print(feedmill.__file__)").strip()).parent
    assert (package / "include/feedmill/op_plugin.h").exists()
    installed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    names = {line.split("==")[0] for line in installed.splitlines()}
    assert names - {"pip", "setuptools"} == {"feedmill", "numpy"}


def test_the_source_distribution_has_what_a_build_needs(tmp_path):
    built = ROOT / run(ROOT / "tools/wheel", "--sdist").splitlines()[-1]
    shutil.unpack_archive(built, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert not (folder / "bench").exists()
    defined = [f"-D{name}" for name in ("FEEDMILL_BUILD_TESTS=OFF", "FEEDMILL_PYTHON=ON")]
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-G", "Ninja", "-Wno-dev", *defined)
