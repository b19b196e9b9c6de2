"""Python functions that are refused before a step runs."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading

import feedmill as fm
import numpy as np
import pytest
from functions_reading import raises, square, values


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.map("x", python=True), "needs a function"),
        (lambda d: d.map(square, python=True, color=1), "color: a Python function"),
        (lambda d: d.map(lambda x: None, python=True), "does it lack a return"),
        (lambda d: d.map(lambda x: {}, python=True), "empty dict"),
        (lambda d: d.map(lambda x: {"a": {"b": 1}}, python=True), '{"a_b": …}'),
        (
            lambda d: d.map(lambda x: (x, x), python=True),
            r'refused_test.py:\d+: the function returned a tuple,[^"]*"value_0": …, "value_1": …',
        ),
        (lambda d: d.map(lambda x: {"p": (x, x)}, python=True), '{"p_value_0": …, "p_value_1": …}'),
        (
            lambda d: d.map(lambda x: object(), python=True),
            r"refused_test.py:\d+: the result is a object; return numbers",
        ),
        (lambda d: d.map(lambda x: 1 // int(x - 1), python=True), "ZeroDivisionError"),
        (lambda d: d.map(lambda x: 1j, python=True), "complex128"),
        (
            lambda d: d.map(lambda x: sys.exit(3), python=True),
            r"refused_test.py:\d+: the function raised SystemExit: 3, when it was called",
        ),
        (
            lambda d: d.map(lambda x: {1: x}, python=True),
            r"refused_test.py:\d+: the function returned a dict with the key 1, which is a int",
        ),
        (
            lambda d: d.map(lambda x: np.ma.array([x]), python=True),
            r"refused_test.py:\d+: the result is a masked array, whose mask would be lost",
        ),
        (lambda d: d.map(square, python=True, packages="numpy"), "expected names"),
        (lambda d: d.map(square, python=True, packages=["no-such-package"]), "not installed"),
        (lambda d: d.map(square, python=True, output={"a": "int64"}), "expected .dtype, shape."),
        (lambda d: d.map(square, python=True, output=("int4", ())), "no dtype"),
        (lambda d: d.map(square, python=True, timeout=0).element_spec, "timeout_seconds"),
        (
            lambda d: (
                d.map(square, python=True, batched=True)
                .batch(2)
                .map(lambda x: x.sum(), python=True, batched=True)
            ),
            "a batched",
        ),
        (lambda d: d.filter(lambda x: True, python=True).element_spec, "deterministic=True"),
        (lambda d: d.map(square, python=True).cache().element_spec, "deterministic=True"),
        (lambda d: d.map(square, python=True).filter("x > 3").element_spec, "deterministic=True"),
    ],
)
def test_wrong_arguments_are_refused(make, message):
    with pytest.raises(fm.InvalidArgumentError, match=message):
        make(fm.Dataset.range(5)).element_spec  # noqa: B018


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os._exit(3), r"the Python function ended its process with status 3, when"),
        (lambda: ctypes.string_at(0), r"by signal SIGSEGV \(Segmentation fault\), when"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "by signal SIGKILL"),
        (lambda: os.closerange(0, 1000), "the function closed the socket to feedmill"),
        (lambda: raises(KeyboardInterrupt), "the function raised KeyboardInterrupt, when"),
        (lambda: endless(), "the Python function took longer than 0.3 s; .*in endless"),
    ],
)
def test_no_function_ends_the_trainer_when_its_types_are_found_out(end, message):
    for make in [
        lambda: fm.Dataset.range(5).map(lambda x: end() or x, python=True, timeout=0.3),
        lambda: fm.Dataset.from_generator(lambda: iter([end() or 1]), timeout=0.3),
    ]:
        with pytest.raises(fm.InvalidArgumentError) as caught:
            make()
        text = str(caught.value)
        assert re.search(message.replace("the function raised", "raised"), text, re.S), text
        assert re.match(r".*functions_refused_test.py:\d+: the ", text), text
        assert 'declare it: output={"image"' in text


def endless():
    while True:
        pass


def test_a_function_is_not_called_in_the_process_of_the_trainer():
    called = []

    def notes(x):
        called.append(os.getpid())
        return len(called)

    assert fm.Dataset.range(5).map(notes, python=True).element_spec.dtype == "int64"
    assert called == []


def test_a_function_with_very_many_components():
    dataset = fm.Dataset.range(1).map(
        lambda x: {f"component{k}": np.int64(k) for k in range(5000)}, python=True
    )
    assert len(dataset.element_spec) == 5000


IN_THE_WORKING_FOLDER = """
import feedmill as fm
import scaling
print([int(x) for x in fm.Dataset.range(3).map(scaling.twice, python=True).read()])
"""


def test_modules_of_the_working_folder_are_found(tmp_path):
    (tmp_path / "scaling.py").write_text("def twice(x):\n    return 2 * x\n")
    done = subprocess.run(
        [sys.executable, "-c", IN_THE_WORKING_FOLDER],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("[0, 2, 4]\n", 0), done.stderr


def test_a_closure_that_cannot_be_pickled_is_refused():
    lock = threading.Lock()
    with pytest.raises(
        fm.InvalidArgumentError,
        match=r"refused_test.py:\d+: the function cannot be pickled: TypeError: .*; "
        r"'lock' is a lock; make the files, locks",
    ):
        fm.Dataset.range(5).map(lambda x: (lock, x)[1], python=True)


def test_an_object_of_feedmill_in_a_function_is_named():
    dataset = fm.Dataset.range(3)
    with pytest.raises(
        fm.FailedPreconditionError,
        match=r"refers to an object of feedmill.dataset, and a Python function runs without "
        r"feedmill; .*; give it numbers, texts or arrays instead",
    ):
        values(dataset.map(lambda x: len(dataset.to_yaml()), python=True, output=("int64", ())))


def test_the_generator_is_only_for_functions():
    with pytest.raises(fm.FailedPreconditionError, match=r"fm\.rng\(\) is for a function"):
        fm.rng()


def changed(dataset, old, new):
    text = dataset.to_yaml()
    assert old in text
    return fm.Dataset.from_yaml(text.replace(old, new))


def test_versions_that_differ_are_refused():
    dataset = fm.Dataset.range(3).map(square, python=True)
    here = ".".join(map(str, sys.version_info[:3]))
    other = changed(dataset, f'python: "{here}"', 'python: "3.9.1"')
    with pytest.raises(fm.FailedPreconditionError, match=rf"Python 3\.9\.1, and .* Python {here}"):
        values(other)
    other = changed(dataset, f"numpy=={np.__version__}", "numpy==1.0.1")
    with pytest.raises(fm.FailedPreconditionError, match=rf"numpy 1\.0\.1, .*{np.__version__}"):
        values(other)
    other = changed(dataset, f"numpy=={np.__version__}", "no-such-package==1")
    with pytest.raises(fm.FailedPreconditionError, match="needs no-such-package 1"):
        values(other)
