"""The wheel that tools/wheel builds, in fresh environments with NumPy alone.

The wheel serves all versions of CPython from 3.10 on, if all interpreters are here that
its build needs. Without FEEDMILL_WHEEL_PYTHON the tests build it. With it, they install
the wheel that was built last for that interpreter, and NumPy comes from PyPI.
They need no build of the package: tools/wheel --test runs them without conftest.py.
"""

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from example_files import make_files

ROOT = Path(__file__).resolve().parents[2]
OTHER = os.environ.get("FEEDMILL_WHEEL_PYTHON")
BUILT = OTHER is not None
# Files of tests that the versions of CPython may change.
SUITES = ["expressions", "functions", "generators", "tf"]
PACKAGES = ROOT / "build/packages"
# True if the interpreters are here that a wheel for all versions needs.
SERVES_ALL = subprocess.run([ROOT / "tools/wheel", "--can-serve-all"], check=False).returncode == 0

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


# Without the variables by which the tests find the build.
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "FEEDMILL")
}


# The package pyarrow, if it is in the cache folder (tools/setup --arrow).
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "feedmill"
ARROW = next(iter(sorted((CACHE / "arrow").glob("pyarrow-26*"))), None)


def run(*arguments, **options):
    done = subprocess.run(
        list(map(str, arguments)),
        env=options.pop("env", ENVIRONMENT),
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


INSTALL = ["-m", "pip", "install", "--disable-pip-version-check", "-q"]


def environment_of(interpreter, folder):
    """Makes an environment with pip, which the interpreter may lack; returns its Python."""
    python = folder / "bin/python"
    if OTHER is None:
        run(interpreter, "-m", "venv", folder)
    else:
        run(interpreter, "-m", "venv", "--without-pip", folder)
        packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        run(sys.executable, *INSTALL, "--target", packages.strip(), "pip")
    return python


@pytest.fixture(scope="module")
def wheel():
    if BUILT:
        return max(PACKAGES.glob("feedmill-*.whl"), key=lambda path: path.stat().st_mtime)
    options = [] if SERVES_ALL else ["--python", sys.executable]
    return ROOT / run(ROOT / "tools/wheel", *options).splitlines()[-1]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """An interpreter of a fresh environment in which the wheel and NumPy are installed."""
    interpreter = environment_of(OTHER or sys.executable, tmp_path_factory.mktemp("venv"))
    if OTHER:
        run(interpreter, *INSTALL, "numpy")
    else:  # as the tests use it, so that no network is needed
        packages = Path(np.__file__).parents[1]
        folder = run(interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
        for source in packages.glob("numpy*"):
            shutil.copytree(source, Path(folder.strip()) / source.name)
    run(interpreter, *INSTALL, "--no-index", wheel)
    return interpreter


def test_the_wheel_is_for_all_versions_and_carries_what_it_needs(wheel):
    assert ("-cp310-abi3-manylinux_2_" if SERVES_ALL else "-manylinux_2_") in wheel.name
    assert wheel.stat().st_size < 25_000_000
    names = zipfile.ZipFile(wheel).namelist()
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    assert b"`feedmill/docs`" in zipfile.ZipFile(wheel).read(metadata)
    for name in ("libGL", "libX11", "lapack", "blas", "gfortran", "libquadmath"):
        assert not [file for file in names if name in file]
    assert "feedmill/include/feedmill/plugin.h" in names
    assert "feedmill/py.typed" in names
    assert {"feedmill/docs/python.md", "feedmill/docs/semantics/steps.md"} <= set(names)
    assert ("feedmill/libfeedmill_arrow.so" in names) == (ARROW is not None)
    backends = {Path(name).name for name in names if "/_nanobind." in name}
    assert len(backends) == (3 if SERVES_ALL else 1), backends


def test_a_trainer_reads_with_numpy_alone(python, tmp_path):
    assert run(python, "-c", PROGRAM, cwd=tmp_path) == "96 batches\n"
    installed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    names = {line.split("==")[0] for line in installed.splitlines()}
    assert names - {"pip", "setuptools"} == {"feedmill", "numpy"}


WRITE_PARQUET = """
import sys
import pyarrow
import pyarrow.parquet
pyarrow.parquet.write_table(pyarrow.table({"x": [1, 2, 3], "y": ["a", "", "c"]}), sys.argv[1])
"""
READ_PARQUET = """
import sys
import feedmill as fm
try:
    print([(int(e["x"]), e["y"]) for e in fm.Dataset.parquet(sys.argv[1]).read()])
except fm.FailedPreconditionError as error:
    print(error)
"""


@pytest.mark.skipif(ARROW is None, reason="pyarrow 26 is not in the cache (tools/setup --arrow)")
def test_parquet_files_are_read_with_pyarrow_beside_the_package(python, tmp_path):
    file = tmp_path / "a.parquet"
    run(sys.executable, "-c", WRITE_PARQUET, file, env={**ENVIRONMENT, "PYTHONPATH": str(ARROW)})
    assert "pip install pyarrow==26" in run(python, "-c", READ_PARQUET, file)
    modules = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    pyarrow = Path(modules.strip()) / "pyarrow"
    pyarrow.symlink_to(ARROW / "pyarrow")
    try:
        assert run(python, "-c", READ_PARQUET, file) == "[(1, b'a'), (2, b''), (3, b'c')]\n"
        (tmp_path / "p.yaml").write_text("source: {parquet: {files: a.parquet}}\n")
        read = run(python.parent / "feedmill", "read", tmp_path / "p.yaml", "--local")
        assert read == '{"x":1,"y":"a"}\n{"x":2,"y":""}\n{"x":3,"y":"c"}\n'
    finally:
        pyarrow.unlink()


# The tutorial, and the names of tf.data service.
@pytest.mark.parametrize("page", ["docs/python.md", "docs/tf.md"])
def test_the_pages_run(python, tmp_path, page):
    make_files(tmp_path)
    run(python, ROOT / "tests/python/page_runner.py", ROOT / page, cwd=tmp_path)


def test_the_command_runs_a_service(python, tmp_path):
    command = python.parent / "feedmill"
    (tmp_path / "p.yaml").write_text("source: {range: 3}\n")
    assert run(command, "read", "p.yaml", "--local", cwd=tmp_path) == "0\n1\n2\n"
    read, write = os.pipe()
    with subprocess.Popen(
        [command, "up", "--workers", "2", "--ready-file", f"/dev/fd/{write}"],
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
        pass_fds=[write],
    ) as up:
        os.close(write)
        with open(read, encoding="ascii") as ready:
            service = ready.readline().strip()
        assert run(command, "read", "p.yaml", "--service", service, cwd=tmp_path) == "0\n1\n2\n"
        up.send_signal(signal.SIGTERM)
        assert up.wait(60) in (0, 128 + signal.SIGTERM)


@pytest.mark.skipif(not BUILT, reason="ctest runs these suites on the interpreter of the build")
def test_the_suites_of_the_package_pass(python):
    run(python, *INSTALL, "pytest", "xxhash", "cloudpickle")
    environment = {**ENVIRONMENT, "FEEDMILL": str(python.parent / "feedmill")}
    pytest_of = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    pytest_of += ["-c", ROOT / "pyproject.toml", "--rootdir", ROOT / "tests/python"]
    suites = [ROOT / f"tests/python/{suite}_test.py" for suite in SUITES]
    print(run(*pytest_of, *suites, env=environment))
    if "/3.10." in str(OTHER):  # the last one for which the oldest NumPys have wheels
        run(python, *INSTALL, "numpy==1.24.*")
        print("NumPy 1.24")
        print(run(*pytest_of, ROOT / "tests/python/arrays_test.py", env=environment))


@pytest.mark.skipif(not BUILT, reason="ctest runs the programs on the interpreter of the build")
def test_programs_end_with_daemon_threads(python):
    run(python, *INSTALL, "cloudpickle")
    print(run(python, ROOT / "tests/python/exits.py", "--programs", "200"))


# abi3audit of the whole wheel takes the backends for modules of Python 3.10, too. Backends for
# 3.10 and 3.11 have the names of their versions, and _nanobind.abi3 is loaded from 3.12 on.
@pytest.mark.skipif(not BUILT, reason="it comes from PyPI, as NumPy for these interpreters")
def test_the_extensions_use_the_stable_abi_alone(wheel, tmp_path):
    run(environment_of(OTHER, tmp_path), *INSTALL, "abi3audit")
    zipfile.ZipFile(wheel).extractall(tmp_path / "wheel")
    package = tmp_path / "wheel/feedmill"
    for module, least in [("_feedmill", "3.10"), ("_nanobind", "3.12")]:
        audit = ["--strict", "--assume-minimum-abi3", least, package / f"{module}.abi3.so"]
        run(tmp_path / "bin/abi3audit", *audit)
    others = {path.name.split("-x86")[0] for path in package.glob("_*.so")}
    assert others - {"_feedmill.abi3.so", "_nanobind.abi3.so"} == {
        "_nanobind.cpython-310",
        "_nanobind.cpython-311",
    }


@pytest.mark.skipif(
    "FEEDMILL_SDIST" not in os.environ, reason="it builds all; set FEEDMILL_SDIST=1"
)
def test_pip_installs_the_source_distribution(tmp_path):
    built = ROOT / run(ROOT / "tools/wheel", "--sdist").splitlines()[-1]
    run(sys.executable, "-m", "venv", tmp_path)
    run(tmp_path / "bin/python", *INSTALL, built)
    assert run(tmp_path / "bin/python", "-c", PROGRAM, cwd=tmp_path) == "96 batches\n"
    (tmp_path / "p.yaml").write_text("source: {range: 3}\n")
    assert run(tmp_path / "bin/feedmill", "read", "p.yaml", "--local", cwd=tmp_path) == "0\n1\n2\n"


def test_the_source_distribution_has_what_a_build_needs(tmp_path):
    built = ROOT / run(ROOT / "tools/wheel", "--sdist").splitlines()[-1]
    shutil.unpack_archive(built, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert not (folder / "bench").exists()
    defined = [f"-D{name}" for name in ("FEEDMILL_BUILD_TESTS=OFF", "FEEDMILL_PYTHON=ON")]
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-G", "Ninja", "-Wno-dev", *defined)
