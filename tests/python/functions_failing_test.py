"""Python functions that fail while a dataset is read."""

import ctypes
import os
import resource
import signal
import sys
import threading
import time

import feedmill as fm
import numpy as np
import pytest
from functions_reading import raises, values
from process_tree import descendants


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
    ("value", "dtype"),
    [
        (300, "uint8"),
        (-1, "uint8"),
        (-129, "int8"),
        (2, "bool"),
        (-1, "bool"),
        (10**400, "float32"),
        (2**24 + 1, "float32"),
        (2**53 + 1, "float64"),
        (1e300, "float32"),
        (-1e39, "float32"),
    ],
)
def test_a_number_that_does_not_fit_is_an_error(value, dtype):
    _, text = failure(lambda x: value, output=(dtype, ()))
    assert "the result is the number " in text
    assert f"which does not fit, instead of {dtype}" in text


def test_a_number_of_a_generator_that_does_not_fit_is_an_error():
    def generated(shard, shards):
        yield 2

    with pytest.raises(fm.PythonError, match="the number 2, which does not fit, instead of bool"):
        values(fm.Dataset.from_generator(generated, output=("bool", ())))


def test_an_integer_that_a_list_of_floats_changes_is_an_error():
    _, text = failure(lambda x: [0.5, 2**53 + 1], output=("float64", (2,)))
    assert "the number 9007199254740993, which does not fit, instead of float64[2]" in text
    _, text = failure(lambda x: [[np.int64(2**60 + 1), 0.5]], output=("float64", (1, None)))
    assert "the number 1152921504606846977, which does not fit, " in text


def test_numbers_that_fit_are_converted_exactly():
    numbers = {
        "bool": 1,
        "float32": 2**24,
        "float64": 2**70,
        "uint64": 2**64 - 1,
        "int8": -128,
    }
    types = {dtype: (dtype, ()) for dtype in numbers}
    dataset = fm.Dataset.range(1).map(lambda x: numbers, python=True, output=types)
    assert values(dataset) == [numbers]


def test_a_float_is_rounded_to_the_declared_dtype():
    listed = [float("nan"), 1e300, 2**60]
    dataset = fm.Dataset.range(1).map(
        lambda x: {"small": 0.1, "infinite": float("inf"), "listed": listed},
        python=True,
        output={"small": ("float32", ()), "infinite": ("float32", ()), "listed": ("float64", (3,))},
    )
    (made,) = values(dataset)
    assert (made["small"], made["infinite"]) == (np.float32(0.1), np.inf)
    assert np.array_equal(made["listed"], listed, equal_nan=True)


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


class NoTextError(Exception):
    """It can neither be pickled nor printed."""

    def __init__(self):
        super().__init__(threading.Lock())

    def __str__(self):
        raise ValueError("no text")


def test_exceptions_without_a_text_are_errors():
    taken, text = failure(lambda x: raises(NoTextError()) if x == 3 else x)
    assert taken == [0, 1, 2]
    assert "raised functions_failing_test.NoTextError: <exception str() failed>" in text
    with pytest.raises(
        fm.InvalidArgumentError, match=r"raised functions_failing_test.NoTextError: <exc"
    ):
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
