"""Python functions as steps: results, failures, and processes that end."""

import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import feedmill as fm
import numpy as np
import pytest
from process_tree import alive, children, descendants


def values(dataset, *service, **options):
    with dataset.read(*service, **options) as reader:
        return [
            element.tolist() if isinstance(element, np.ndarray) else element for element in reader
        ]


def square(x):
    return x * x


# ---- results


def test_results_are_those_of_a_plain_loop():
    dataset = fm.Dataset.range(1000).map(square, python=True)
    assert dataset.element_spec == fm.ComponentSpec("int64", ())
    assert values(dataset) == [x * x for x in range(1000)]


def test_order_and_shuffle_are_kept():
    plain = fm.Dataset.range(500).shuffle().with_options(seed=3)
    expected = [3 * x for x in values(plain)]
    assert values(plain.map(lambda x: 3 * x, python=True)) == expected


def test_components_have_names_dtypes_and_shapes():
    def make(e):
        return {
            "sum": np.float32(e["a"] + e.b),
            "pair": np.stack([e.a, e.b]),
            "text": f"{e.a}/{e.b}",
        }

    dataset = fm.Dataset.range(20).map(a="x", b="x * 2").map(make, python=True)
    assert dataset.element_spec == {
        "sum": fm.ComponentSpec("float32", ()),
        "pair": fm.ComponentSpec("int64", (2,)),
        "text": fm.ComponentSpec("bytes", ()),
    }
    for x, element in enumerate(dataset.read()):
        assert element["sum"] == np.float32(3 * x)
        assert element["sum"].dtype == np.float32
        assert element["pair"].tolist() == [x, 2 * x]
        assert element["text"] == f"{x}/{2 * x}".encode()


def test_rows_of_unknown_shape_and_bytes_go_both_ways():
    def grow(x):
        return {"many": np.full((x % 4, 2), x), "words": np.array([b"ab"] * (x % 3), object)}

    types = {"many": ("int64", (None, 2)), "words": ("bytes", (None,))}
    dataset = fm.Dataset.range(200).map(grow, python=True, output=types)
    totals = dataset.map(
        lambda e: {"sum": e.many.sum(), "words": len(e.words), "length": len(b"".join(e.words))},
        python=True,
        output={"sum": ("int64", ()), "words": (int, ()), "length": (int, ())},
    )
    for x, (element, total) in enumerate(zip(dataset.read(), totals.read(), strict=True)):
        assert np.array_equal(element["many"], np.full((x % 4, 2), x))
        assert list(element["words"]) == [b"ab"] * (x % 3)
        assert total == {"sum": x % 4 * 2 * x, "words": x % 3, "length": x % 3 * 2}


def test_batches_before_and_after_the_function():
    dataset = fm.Dataset.range(10).batch(4).map(lambda x: x + 1, python=True)
    assert dataset.element_spec == fm.ComponentSpec("int64", (None,))
    assert values(dataset) == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    assert values(fm.Dataset.range(10).map(square, python=True).batch(5)) == [
        [0, 1, 4, 9, 16],
        [25, 36, 49, 64, 81],
    ]


def test_batched_functions_get_rows():
    dataset = fm.Dataset.range(1000).map(a="x", b="x * 2")

    def both(e):
        assert e.a.ndim == 1
        return {"sum": e.a + e.b, "text": [f"{a}" for a in e.a]}

    made = dataset.map(both, python=True, batched=True)
    assert made.element_spec["text"] == fm.ComponentSpec("bytes", ())
    with made.read() as reader:
        assert [(e["sum"], e["text"]) for e in reader] == [
            (3 * x, str(x).encode()) for x in range(1000)
        ]


def test_a_filter_keeps_elements():
    dataset = fm.Dataset.range(300).filter(
        lambda x: bool(x % 3 == 0), python=True, deterministic=True
    )
    assert values(dataset) == list(range(0, 300, 3))
    assert values(dataset.batch(50)) == [list(range(0, 150, 3)), list(range(150, 300, 3))]


def test_the_random_generator_is_of_the_element():
    def draw(x):
        return {"x": x, "noise": fm.rng().normal(size=3)}

    dataset = fm.Dataset.range(200).map(draw, python=True).with_options(seed=9)
    first = [e["noise"].tolist() for e in dataset.read(threads=1)]
    assert [e["noise"].tolist() for e in dataset.read(threads=3)] == first
    assert len({tuple(noise) for noise in first}) == 200
    assert [e["noise"].tolist() for e in dataset.read(epoch=1)] != first


def test_a_reading_continues_from_a_state():
    dataset = fm.Dataset.range(100).map(square, python=True).batch(7)
    with dataset.read() as reader:
        taken = [next(reader).tolist() for _ in range(5)]
        state = reader.state_dict()
    assert taken + values(dataset, state=state) == values(dataset)


def test_a_function_closes_over_values():
    table = np.arange(100) ** 2
    assert values(fm.Dataset.range(100).map(lambda x: table[x], python=True)) == table.tolist()


def test_yaml_keeps_the_function(tmp_path):
    dataset = fm.Dataset.range(5).map(square, python=True, deterministic=True)
    assert values(fm.Dataset.from_yaml(dataset.to_yaml())) == [0, 1, 4, 9, 16]


def test_explain_tells_how_it_runs():
    text = fm.Dataset.range(5).map(lambda x: {"a": x, "b": x}, python=True).explain()
    assert "steps[0] python: Python 3." in text
    assert ": a, b -> " in text
    assert "up to 64 records at a time" in text


# ---- what is wrong before anything runs


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
            r'functions_test.py:\d+: the function returned a tuple,[^"]*"value_0": …, "value_1": …',
        ),
        (lambda d: d.map(lambda x: {"p": (x, x)}, python=True), '{"p_value_0": …, "p_value_1": …}'),
        (
            lambda d: d.map(lambda x: object(), python=True),
            r"functions_test.py:\d+: the result is a object; return numbers",
        ),
        (lambda d: d.map(lambda x: 1 // int(x - 1), python=True), "ZeroDivisionError"),
        (lambda d: d.map(lambda x: 1j, python=True), "complex128"),
        (
            lambda d: d.map(lambda x: sys.exit(3), python=True),
            r"functions_test.py:\d+: the function raised SystemExit: 3, when it was called",
        ),
        (
            lambda d: d.map(lambda x: {1: x}, python=True),
            r"functions_test.py:\d+: the function returned a dict with the key 1, which is a int",
        ),
        (
            lambda d: d.map(lambda x: np.ma.array([x]), python=True),
            r"functions_test.py:\d+: the result is a masked array, whose mask would be lost",
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
        assert re.match(r".*functions_test.py:\d+: the ", text), text
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
        match=r"functions_test.py:\d+: the function cannot be pickled: TypeError: .*; "
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


def test_a_deterministic_function_may_be_cached():
    dataset = fm.Dataset.range(20).map(square, python=True, deterministic=True).cache()
    assert values(dataset.repeat(2)) == 2 * [x * x for x in range(20)]


# ---- functions that fail


def failure(function, output=("int64", ()), count=100, **options):
    """The error of a read, after the elements before it came."""
    dataset = fm.Dataset.range(count).map(function, python=True, output=output, **options)
    taken = []
    with pytest.raises(fm.PythonError) as caught, dataset.read() as reader:
        for element in reader:
            taken.append(int(element))
    return taken, str(caught.value)


def test_an_exception_comes_with_its_traceback_and_element():
    def innermost(x):
        raise KeyError(f"no {x}")

    def sometimes(x):
        return innermost(x) if x == 70 else x

    taken, message = failure(sometimes)
    assert taken == list(range(70))
    assert "record 70 of the range" in message
    assert "steps[0] python: the Python function raised KeyError: 'no 70'" in message
    assert "Traceback (most recent call last)" in message
    assert "in sometimes" in message
    assert "in innermost" in message
    assert "feedmill_process" not in message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: np.float64(1), "the result is float64 instead of int64"),
        (lambda: np.arange(2), r"the result is int64[2] instead of int64"),
        (lambda: object(), "the result is a object instead of int64"),
        (lambda: None, "the result is a NoneType instead of int64"),
        (lambda: "text", "the result is a str instead of int64"),
        (lambda: True, "the result is bool instead of int64"),
        (lambda: float("nan"), "the result is float64 instead of int64"),
        (lambda: 2**70, "the result is the number 1180591620717411303424, which does not fit, "),
        (lambda: 10**5000, "the result is the number of 16610 bits, which does not fit, "),
        (lambda: (k for k in range(3)), "the result is a generator instead of int64"),
        (lambda: np.array(object()), "the result is a ndarray instead of int64"),
        (lambda: np.ma.array(1, mask=True), "the result is a masked array, whose mask would be"),
        (lambda: {"a": 1}, "the result is a dict instead of int64"),
        (lambda: (1, 2), "an_error.<locals>.<lambda>, line "),
        (lambda: (1, 2), "the result is a tuple: return a dict with a name for each component"),
    ],
)
def test_another_dtype_shape_or_object_is_an_error(value, message):
    taken, text = failure(lambda x: value() if x == 33 else x)
    assert taken == list(range(33))
    assert "record 33 of the range" in text
    assert message in text


@pytest.mark.parametrize(
    ("value", "dtype"), [(300, "uint8"), (-1, "uint8"), (-129, "int8"), (10**400, "float32")]
)
def test_a_number_that_does_not_fit_is_an_error(value, dtype):
    _, text = failure(lambda x: value, output=(dtype, ()))
    assert "the result is the number " in text
    assert f"which does not fit, instead of {dtype}" in text


def test_arrays_of_other_kinds_become_arrays():
    class Sub(np.ndarray):
        pass

    for make in [
        lambda x: np.array([x, 1], ">i8"),
        lambda x: np.array([x, 1]).view(Sub),
        lambda x: np.array([[x, 9], [1, 9]])[:, 0],
        lambda x: [x, 1],
    ]:
        assert values(fm.Dataset.range(3).map(make, python=True)) == [[0, 1], [1, 1], [2, 1]]


def test_lists_of_texts_keep_zeros_at_their_end():
    dataset = fm.Dataset.range(1).map(
        lambda x: [b"ab\0", "c\0\0", b""], python=True, output=("bytes", (3,))
    )
    assert values(dataset) == [[b"ab\0", b"c\0\0", b""]]


def test_another_component_of_one_element_is_an_error_of_that_element():
    def make(x):
        return {"b": x} if x == 150_000 else {"a": x}

    dataset = fm.Dataset.range(200_000).map(make, python=True, output={"a": ("int64", ())})
    count = 0
    with pytest.raises(fm.PythonError) as caught, dataset.read() as reader:
        for _ in reader:
            count += 1
    assert count == 150_000
    assert "record 150000 of the range" in str(caught.value)
    assert "the result has the components 'b' instead of 'a'" in str(caught.value)


def test_other_components_are_an_error():
    _, text = failure(lambda x: {"b": x}, output={"a": ("int64", ())})
    assert "the result has the components 'b' instead of 'a'" in text
    _, text = failure(lambda x: x, output={"a": ("int64", ())})
    assert "instead of a dict with 'a'" in text


def test_inputs_cannot_be_written():
    def write(x):
        x[0] = 1
        return x

    dataset = fm.Dataset.range(10).batch(2).map(write, python=True, output=("int64", (None,)))
    with pytest.raises(fm.PythonError, match="read-only"):
        values(dataset)


def raises(error):
    raise error


class NoTextError(Exception):
    """It can neither be pickled nor printed."""

    def __init__(self):
        super().__init__(threading.Lock())

    def __str__(self):
        raise ValueError("no text")


def test_exceptions_without_a_text_are_errors():
    taken, text = failure(lambda x: raises(NoTextError()) if x == 3 else x)
    assert taken == [0, 1, 2]
    assert "raised functions_test.NoTextError: <exception str() failed>" in text
    with pytest.raises(fm.InvalidArgumentError, match=r"raised functions_test.NoTextError: <exc"):
        fm.Dataset.range(3).map(lambda x: raises(NoTextError()), python=True)


def test_recursion_without_end_is_an_error():
    def recurses(x):
        return recurses(x) + 1

    _, text = failure(recurses)
    assert "raised RecursionError: maximum recursion depth exceeded" in text
    assert len(text) < 20_000


def test_printed_lines_are_in_the_log_although_the_process_is_killed(capfd):
    def prints(x):
        print("element", x)
        return x

    assert values(fm.Dataset.range(3).map(prints, python=True, output=("int64", ()))) == [0, 1, 2]
    assert "element 2\n" in capfd.readouterr().err


def test_a_function_may_change_its_process():
    def changes(x):
        os.chdir("/")
        for descriptor in range(3):
            os.close(descriptor)
            os.open("/dev/null", os.O_RDWR)
        threading.Thread(target=time.sleep, args=(1000,)).start()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        return x

    dataset = fm.Dataset.range(20).map(changes, python=True, output=("int64", ()))
    assert values(dataset) == list(range(20))


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (lambda: os._exit(3), "ended its process with status 3"),
        (lambda: sys.exit(3), "raised SystemExit"),
        (lambda: ctypes.string_at(0), "by signal SIGSEGV"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "by signal SIGKILL"),
        (lambda: os.abort(), "by signal SIGABRT"),
        (lambda: raises(KeyboardInterrupt), "raised KeyboardInterrupt"),
        (lambda: os.closerange(0, 1000), "the function closed the socket to feedmill"),
    ],
)
def test_a_process_that_ends_is_an_error_of_its_element(end, message):
    taken, text = failure(lambda x: end() if x == 41 else x)
    assert taken == list(range(41))
    assert "record 41 of the range" in text
    assert message in text


def test_a_crash_is_skipped_if_the_pipeline_says_so():
    dataset = (
        fm.Dataset.range(100)
        .map(lambda x: os._exit(1) if x % 40 == 20 else x, python=True, output=("int64", ()))
        .on_error("skip")
    )
    with dataset.read() as reader:
        assert [int(x) for x in reader] == [x for x in range(100) if x % 40 != 20]
        assert reader.skipped == 2


def test_a_process_that_cannot_be_had_is_no_error_of_an_element():
    dataset = (
        fm.Dataset.range(1_000_000).map(lambda x: np.full(1000, x), python=True).on_error("skip")
    )
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with dataset.read(threads=1) as reader:
        next(reader)
        processes = descendants(os.getpid())
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))  # no new descriptor
        try:
            for process in processes:
                os.kill(process, signal.SIGKILL)
            with pytest.raises(fm.ResourceExhaustedError, match="Python"):
                for _ in reader:
                    pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def test_a_crash_that_does_not_come_again_costs_nothing(tmp_path):
    marker = tmp_path / "crashed"

    def once(x):
        if x == 50 and not marker.exists():
            marker.touch()
            os._exit(1)
        return x

    dataset = fm.Dataset.range(100).map(once, python=True, output=("int64", ()))
    assert values(dataset) == list(range(100))
    assert marker.exists()


def test_the_child_of_a_fork_makes_no_element():
    def forks(x):
        child = os.fork()
        if child == 0:
            return -1
        os.waitpid(child, 0)
        return x

    assert values(fm.Dataset.range(20).map(forks, python=True, output=("int64", ()))) == list(
        range(20)
    )


def test_a_long_message_loses_its_middle():
    def raises(x):
        raise ValueError("begin" + "é" * 1_000_000 + "end")

    _, text = failure(raises)
    assert "raised ValueError: beginéé" in text
    assert "[…]" in text
    assert text.endswith("éend")
    assert len(text.encode()) < 100_000


def test_an_infinite_loop_ends_at_its_timeout():
    def endless(x):
        while x == 5:
            pass
        return x

    taken, text = failure(endless, timeout=0.3)
    assert taken == list(range(5))
    assert "took longer than 0.3 s" in text
    assert "in endless" in text  # where it was


def test_memory_has_a_limit():
    def large(x):
        return len(np.ones(1 << 28, np.uint8).tobytes()) if x == 8 else x

    def many(x):
        kept = []
        while x == 8:
            kept.append(bytearray(1000))
        return x

    for function in [large, many]:
        check_limit(function)


def check_limit(function):
    taken, text = failure(function, memory_bytes=1 << 27)
    assert taken == list(range(8))
    assert "MemoryError" in text


def test_a_module_that_is_missing_is_named():
    def needs(x):
        return x

    needs.__module__ = "no_such_module_anywhere"
    sys.modules["no_such_module_anywhere"] = module = type(sys)("no_such_module_anywhere")
    module.needs = needs
    needs.__qualname__ = "needs"
    try:
        dataset = fm.Dataset.range(3).map(needs, python=True, output=("int64", ()))
    finally:
        del sys.modules["no_such_module_anywhere"]
    with pytest.raises(fm.FailedPreconditionError, match="No module named 'no_such_module"):
        values(dataset)


def test_a_module_that_ends_the_process_is_named(tmp_path, monkeypatch):
    (tmp_path / "ending.py").write_text(
        "import os\nif 'ENDING' in os.environ: os._exit(7)\ndef same(x):\n    return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import ending  # type: ignore[import-not-found]

    monkeypatch.setenv("ENDING", "1")
    with pytest.raises(
        fm.FailedPreconditionError,
        match=r"ending.py:3: .* ended while it loaded the function: .* or a module that",
    ):
        fm.Dataset.range(3).map(ending.same, python=True)


def test_an_import_that_fails_is_an_error_of_the_element():
    def importing(x):
        import no_such_module_anywhere

        return no_such_module_anywhere.x

    _, text = failure(importing)
    assert "ModuleNotFoundError: No module named 'no_such_module_anywhere'" in text


def test_other_names_of_feedmill_are_not_there():
    _, text = failure(lambda x: len(fm.Dataset.range(3).read()))
    assert "feedmill.Dataset.range: a Python function runs without feedmill" in text


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


def test_a_loader_loads_a_function_once_for_all_epochs(tmp_path):
    loaded = tmp_path / "loaded"
    dataset = fm.Dataset.range(20).map(Noted(str(loaded)), python=True, output=("int64", ()))
    loaded.write_text("")
    loader = fm.Loader(dataset)
    for _ in range(4):
        assert [int(x) for x in loader] == list(range(20))
    assert len(loader) == 20
    assert loaded.read_text() == "loaded\n"
    # The fixture sees that the processes end with the loader.


def test_a_loader_keeps_a_few_functions_only():
    pipeline = fm.Dataset.range(3)
    for k in range(8):
        pipeline = pipeline.map(lambda x, k=k: x + k, python=True, output=("int64", ()))
    before = len(children())
    loader = fm.Loader(pipeline)
    epoch = iter(loader)
    assert int(next(epoch)) == 28
    assert len(children()) == before + 8  # the reader of the epoch uses them
    assert [int(x) for x in epoch] == [29, 30]
    deadline = time.monotonic() + 20
    while len(children()) != before + 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(children()) == before + 4


IDENTITY = """
import functools
import feedmill as fm
import numpy as np

WORDS = {"a", "b", "c", "d", "e", "f", "g"}

class Base:
    scale = 3

class Scaler(Base):
    names = frozenset(WORDS)

    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return helper(x) * self.scale + self.by + len(WORDS | self.names) + TABLE[0]

def helper(x):
    return x + 1 if str(x) not in {"u", "v", "w", "x"} else np.add(x, 1)

TABLE = np.arange(3)
function = functools.partial(Scaler(BY))
dataset = fm.Dataset.range(9).map(function, python=True, output=("int64", ()))
print(dataset.to_yaml().split("version: ")[1].split()[0])
"""


def identity_of(program, seed):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_function_has_one_identity_in_all_processes():
    program = IDENTITY.replace("BY", "1")
    one = identity_of(program, 1)
    assert "sha256:" in one
    assert one == identity_of(program, 2)
    assert one == identity_of("\n\n# a comment\n" + program, 3)  # on other lines
    for old, new in [
        ("BY", "2"),
        ("scale = 3", "scale = 4"),
        ('"f", "g"}', '"f"}'),
        ("x + 1 if", "x + 2 if"),
        ('"w", "x"}', '"w"}'),
        ("np.add", "np.subtract"),
        ("np.arange(3)", "np.arange(4)"),
        ("class Scaler(Base)", "class Scaler"),
    ]:
        changed = IDENTITY.replace(old, new).replace("BY", "1")
        if new == "class Scaler":
            changed = changed.replace("self.scale", "3")
        assert identity_of(changed, 1) != one, (old, new)


def test_a_state_continues_in_a_process_with_another_hash_seed(tmp_path):
    program = """
import sys, json
import feedmill as fm
WORDS = {"a", "b", "c", "d", "e", "f", "g"}
dataset = fm.Dataset.range(30).map(lambda x: x + len(WORDS), python=True)
path = sys.argv[1]
if len(sys.argv) > 2:
    reader = dataset.with_options(seed=1).read()
    print([int(next(reader)) for _ in range(11)])
    open(path, "w").write(json.dumps(reader.state_dict()))
else:
    state = json.loads(open(path).read())
    print([int(x) for x in dataset.with_options(seed=1).read(state=state)])
"""
    made = []
    for seed, arguments in [(1, ["first"]), (2, [])]:
        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "state", *arguments],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        made += json.loads(done.stdout)
    assert made == [x + 7 for x in range(30)]


def test_a_version_stands_for_the_function():
    def of(function, **options):
        return fm.Dataset.range(9).map(function, python=True, output=("int64", ()), **options)

    plain = [of(lambda x: x), of(lambda x: x + 0)]
    named = [of(lambda x: x, version="v1"), of(lambda x: x + 0, version="v1")]
    for one, other, same in [(*plain, False), (*named, True)]:
        reader = one.with_options(seed=1).read()
        next(reader)
        state = reader.state_dict()
        reader.close()
        if same:
            assert values(other.with_options(seed=1), state=state) == list(range(1, 9))
            continue
        with pytest.raises(fm.InvalidArgumentError):
            values(other.with_options(seed=1), state=state)


def test_a_function_that_cannot_be_taken_apart_is_its_bytes():
    numbers = iter([1, 2])
    dataset = fm.Dataset.range(3).map(lambda x: x + len([numbers]), python=True)
    assert "version" in dataset.to_yaml()  # a list's iterator can be taken apart
    lock = _Odd()
    dataset = fm.Dataset.range(3).map(lambda x: x + lock.one, python=True)
    assert "version" not in dataset.to_yaml()
    assert values(dataset) == [1, 2, 3]


class _Odd:
    """cloudpickle takes it apart only at a second try."""

    def __init__(self):
        self.one = 1
        self.tries = 0

    def __reduce_ex__(self, protocol):
        self.tries += 1
        if self.tries == 2:  # the first one is cloudpickle's
            raise TypeError
        return _Odd, ()


KILLED = """
import sys, time
import feedmill as fm
dataset = fm.Dataset.range(9).map(lambda x: time.sleep(1000), python=True, output=("int64", ()))
reader = dataset.read(threads=2)
print("reads", flush=True)
next(reader)
"""


def test_processes_end_with_a_killed_trainer():
    trainer = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE)
    assert trainer.stdout.readline() == b"reads\n"
    deadline = time.monotonic() + 20
    while len(started := descendants(trainer.pid)) < 2:  # the zygote and a slot
        assert time.monotonic() < deadline
        time.sleep(0.01)
    trainer.kill()
    trainer.wait(timeout=20)
    while any(map(alive, started)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    trainer.stdout.close()


def test_closing_does_not_wait_for_the_function():
    dataset = fm.Dataset.range(100).map(
        lambda x: time.sleep(1000) or x if x > 10 else x, python=True, output=("int64", ())
    )
    with dataset.read() as reader:
        assert int(next(reader)) == 0
    # The fixture sees that its processes have ended.
