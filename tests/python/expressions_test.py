"""Expressions: their texts, their values beside NumPy's, and what is refused."""

import math
import pydoc
import sys
from typing import NamedTuple

import feedmill as fm
import numpy as np
import pytest
from feedmill import _trace_errors
from feedmill._values import outputs

F = fm.functions
X = np.arange(-20, 20, dtype=np.int64)


def text_of(function):
    """The expression that a traced function is."""
    _, text = outputs(function, {})
    return text


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda e: e.image / 255, "image / 255"),
        (lambda e: (e.a + e.b) * 2 - 1, "(a + b) * 2 - 1"),
        (lambda e: e.a - (e.b - 1), "a - (b - 1)"),
        (lambda e: 2**-e.a, "2 ** -a"),
        (lambda e: (-e.a) ** 2, "(-a) ** 2"),
        (lambda e: -(e.a**2), "-a ** 2"),
        (lambda e: (e.a < 3) & (e.b != b"x"), "(a < 3) & (b != b'x')".replace("b'x'", "'x'")),
        (lambda e: ~(e.a == e.b), "~(a == b)"),
        (lambda e: (e.a < e.b) == (e.c < e.d), "(a < b) == (c < d)"),
        (lambda e: e["image/encoded"], "component('image/encoded')"),
        (lambda e: e["if"] + e["x y"], "component('if') + component('x y')"),
        (lambda x: x * x, "x * x"),
        (lambda x: x[2] + x[0, -1], "x[2] + x[0, -1]"),
        (lambda e: e.a[1:] + e.a[:-1:2], "a[1:] + a[:-1:2]"),
        (lambda e: e.a[e.b : F.len(e.a) // 2], "a[b:len(a) // 2]"),
        (lambda e: (e.a + 1)[..., ::-1, 0], "(a + 1)[..., ::-1, 0]"),
        (lambda x: x[x[0] :], "x[x[0]:]"),
        (lambda e: e.a[e.b], "a[b]"),
        (lambda e: e.a.shape[0] + e.shape, "shape(a)[0] + shape"),
        (lambda e: e.a @ e.b @ np.eye(2), "a @ b @ cast([[1.0, 0.0], [0.0, 1.0]], float64)"),
        (lambda e: [1, 2] @ e.a * np.matmul(e.b, e.c), "[1, 2] @ a * (b @ c)"),
        (lambda e: np.sqrt(e.a) + np.maximum(e.a, 0), "sqrt(a) + maximum(a, 0)"),
        (lambda e: np.where(e.a > 0, e.a, 0), "where(a > 0, a, 0)"),
        (lambda e: np.logical_and(e.a, e.b), "a and b"),
        (lambda e: np.concatenate([e.a, e.b]), "concat(a, b, 0)"),
        (lambda e: e.a.astype(np.float32).mean(0), "mean(cast(a, float32), 0)"),
        (lambda e: np.float32(0.5) * e.a, "cast(0.5, float32) * a"),
        (lambda e: e.a * np.array([1, 2], np.uint8), "a * cast([1, 2], uint8)"),
        (lambda e: e.a + math.inf, "a + 1e999"),
        (lambda e: 3 - e.a, "3 - a"),
        (lambda x: x.sum() + x.reshape(2, -1).max(1), "sum(x) + max(reshape(x, [2, -1]), 1)"),
        (lambda e: e.sum + e.min, "sum + min"),
        (lambda e: F.length(e.text), "length(text)"),
        (lambda e: F.image.resize(e.image, 8, 8, "area"), "image.resize(image, 8, 8, 'area')"),
        (lambda e: F.split(e.t, "\n'"), 'split(t, "\\n\'")'),
        (lambda e: abs(e.a) + round(e.b), "abs(a) + round(b)"),
        (lambda e: fm.expr("a or b") & True, "(a or b) & True"),
        (lambda e: [e.a, e.b], "[a, b]"),
        (lambda e: F.slice(e.a, (0,), (2,)), "slice(a, [0], [2])"),
    ],
)
def test_a_traced_function_is_this_text(function, text):
    assert text_of(function) == text


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 3 - 1,
        lambda x: (x + 5) // 3 % 7,
        lambda x: x / 4,
        lambda x: -(x**2),
        lambda x: (x & 12) | (x ^ 5),
        lambda x: (x << 2) >> 1,
        lambda x: ~x,
        lambda x: (x > 3) | (x < -3),
        lambda x: np.sqrt(np.abs(x)),
        lambda x: np.minimum(x, np.int8(3)),
        lambda x: np.clip(x, -2, 9),
        lambda x: np.where(x % 2 == 0, x, -x),
        lambda x: np.rint(x / 3),
        lambda x: x * np.float32(0.1),
        lambda x: x * 0.1,
        lambda x: x.astype(np.uint8),
        lambda x: np.tanh(x / 10) + np.log1p(np.square(x)),
        lambda x: np.logical_not(x) == (x == 0),
        lambda x: np.isnan(x / 1),
    ],
)
def test_a_function_gives_what_numpy_gives(function):
    expected = function(X)
    (batch,) = fm.Dataset.range(-20, 20).map(function).batch(len(X)).read()
    assert batch.dtype == expected.dtype
    np.testing.assert_allclose(batch, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.sum(),
        lambda a: a.sum(1),
        lambda a: a.reshape(6),
        lambda a: a.transpose(),
        lambda a: (a + 1).T,
        lambda a: np.max(a, axis=0),
        lambda a: np.mean(a),
        lambda a: np.argmax(a, axis=1),
        lambda a: np.cumsum(a),
        lambda a: np.stack([a, a], axis=1),
        lambda a: np.transpose(a, (1, 0)),
        lambda a: np.take(a, [1, 0], axis=0),
        lambda a: a[1, -1],
        lambda a: (a > 2).any(),
        lambda a: a[:, 1:],
        lambda a: a[::-1, ::2],
        lambda a: a[..., -5:-1][1],
        lambda a: a[1, a[0, 0] : a[0, 1] + 1],
        lambda a: a @ np.array([[1, 2], [3, 4], [5, 6]]),
        lambda a: a @ [0.5, 1.5, -2],
        lambda a: a[0] @ a[1],
        lambda a: np.dot(a, a[0]),
        lambda a: np.shape(a[:0]),
    ],
)
def test_arrays_as_numpy(function):
    array = np.arange(6).reshape(2, 3)
    (element,) = fm.Dataset.range(1).map(lambda x: x + array).map(function).read()
    np.testing.assert_array_equal(element, function(array))


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (lambda e: e.a if e.a > 0 else 0, "fm.functions.where(c, a, b)"),
        (lambda e: e.a > 0 and e.b > 0, "a & b"),
        (lambda e: not e.a, "~a"),
        (lambda e: 0 < e.a < 3, "(a < b) & (b < c)"),
        (lambda e: int(e.a), "x.astype(np.int64)"),
        (lambda e: float(e.a), "np.f(x)"),
        (lambda e: math.sqrt(e.a), "np.f(x)"),
        (lambda e: [1, 2, 3][e.a], "fm.functions.gather"),
        (lambda e: len(e.a), "fm.functions.len(x)"),
        (lambda e: list(e.a), "loop over an expression"),
        (lambda e: f"{e.a}", "fm.functions.to_string"),
        (lambda e: 3 in e.a, "(x == a).any()"),
        (lambda e: np.asarray(e.a), "NumPy's functions take x itself"),
        (lambda e: np.fft.fft(e.a), "docs/expressions.md"),
        (lambda e: np.add.reduce(e.a), "np.sum"),
        (lambda e: np.sum(e.a, dtype=np.int8), "np.sum takes other arguments"),
        (lambda e: e.a[[1, 2]], "fm.functions.gather"),
        (lambda e: e.a[None], "x.reshape"),
        (lambda e: e.a[1.5], "is an integer, not a float"),
        (lambda e: e.a[:True], "is an integer, not a bool"),
        (lambda e: e.a[:: e.b], "the step of a slice is an integer"),
        (lambda e: e.a == None, "NoneType cannot be part"),  # noqa: E711
        (lambda e: e.image.decode(), "no .decode"),
        (lambda e: e.label(3), "label is a component and no function"),
        (lambda e: e.a.astype("complex64"), "no dtype complex64"),
        (lambda e: divmod(e.a, 2), "a // b and a % b"),
        (lambda e: e and 1, "fm.functions.where"),
        (lambda: 1, "the function takes (), and it is called with one element"),
        (lambda a, b: a + b, "the function takes (a, b), and it is called with one element"),
    ],
)
def test_a_use_that_needs_a_value_is_refused_with_a_hint(function, hint):
    with pytest.raises(fm.TraceError) as raised:
        fm.Dataset.range(1).map(function)
    assert hint in str(raised.value)
    assert __file__ in str(raised.value)  # the line in which it is


def test_an_error_shows_the_line_and_the_place():
    with pytest.raises(fm.TraceError) as raised:
        fm.Dataset.range(1).map(lambda e: e.a + int(e.b))
    lines = str(raised.value).splitlines()
    assert lines[-2].strip() == "fm.Dataset.range(1).map(lambda e: e.a + int(e.b))"
    begin, end = lines[-1].index("^"), lines[-1].rindex("^") + 1
    assert lines[-2][begin:end] == "int(e.b)"


def test_an_error_shows_all_lines_of_an_expression():
    with pytest.raises(fm.TraceError) as raised:
        fm.Dataset.range(1).map(
            lambda e: (
                e.a
                + int(
                    e.b * 2  # twice
                )
            )
        )
    shown = [line.strip() for line in str(raised.value).splitlines()[-6:]]
    assert shown == ["+ int(", "^^^^", "e.b * 2  # twice", "^" * 16, ")", "^"]


def test_an_expression_is_found_without_columns():
    """Python 3.10 keeps no columns of instructions."""

    def frame_of(function):
        frames = []

        class Recorder:
            def __getattr__(self, name):
                frame = sys._getframe(1)
                frames.append((frame.f_lineno, _trace_errors._span_by_compiling(frame)))
                return self

        function(Recorder())
        return frames

    def several(e):
        first = e.one
        return [
            first.two.three,
            e.four,
        ]

    line = several.__code__.co_firstlineno
    assert frame_of(several) == [
        (line + 1, (line + 1, line + 1, 16, 21)),
        (line + 3, (line + 3, line + 3, 12, 21)),
        (line + 3, (line + 3, line + 3, 12, 27)),
        (line + 4, (line + 4, line + 4, 12, 18)),
    ]


def test_frozen_randomness_is_found():
    draws = iter([0.25, 0.75])

    def noisy(x):
        return x + next(draws)

    with pytest.raises(fm.TraceError, match=r"random\.uniform") as raised:
        fm.Dataset.range(1).map(noisy)
    text = str(raised.value)
    assert text.startswith(f"{__file__}:{noisy.__code__.co_firstlineno}: ")
    assert text.splitlines()[-1].strip() == "def noisy(x):"


class Pair(NamedTuple):
    image: object
    label: object


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda e: (e.image / 255, e.label), '{"image": image / 255, "label": label}'),
        (lambda x: (x, x / 2), '{"x": x, "x_1": x / 2}'),
        (lambda x: (x, x / 2), "the list [x, x / 2]"),
        (lambda e: (F.length(e.a), 3), '{"value_0": length(a), "value_1": 3}'),
        (lambda e: {"pair": (e.a, e.b + 1)}, '{"pair_a": a, "pair_b": b + 1}'),
        (lambda e: {"m": {"id": e.id, "k": {"l": 3}}}, '{"m_id": id, "m_k_l": 3}'),
        (lambda e: Pair(e.a, e.b), '{"image": a, "label": b}'),
    ],
)
def test_tuples_and_inner_names_are_refused_with_the_dict_to_write(function, advice):
    place = f"{__file__}:{function.__code__.co_firstlineno}: the function returned a "
    for method in (fm.Dataset.map, fm.Dataset.flat_map, fm.Dataset.filter):
        with pytest.raises(fm.TraceError) as raised:
            method(fm.Dataset.range(1), function)
        assert str(raised.value).startswith(place)
        assert advice in str(raised.value)
    with pytest.raises(fm.TraceError, match='"a": a, "b": b'):
        fm.Dataset.range(1).map((fm.col("a"), fm.col("b")))
    with pytest.raises(fm.TraceError, match='"c_a": a, "c_b": b'):
        fm.Dataset.range(1).map(c=(fm.col("a"), fm.col("b")))


def test_an_unknown_function_names_the_nearest():
    with pytest.raises(AttributeError, match='did you mean "length"'):
        _ = F.lenght
    with pytest.raises(AttributeError, match="image"):
        _ = F.image.decoed
    assert "resize" in dir(F.image)
    assert "image" in dir(F)


def test_a_function_must_return_something():
    with pytest.raises(fm.InvalidArgumentError, match="lack a return"):
        fm.Dataset.range(1).map(lambda x: None)
    with pytest.raises(fm.InvalidArgumentError, match=r"b'red'"):
        fm.Dataset.range(1).map(lambda x: {"colour": "red"})


def test_bytes_are_bytes():
    raw = bytes(range(256))
    (element,) = fm.Dataset.range(1).map(lambda x: {"raw": raw, "same": F.upper(b"ab")}).read()
    assert element == {"raw": raw, "same": "AB"}


def test_an_exception_of_the_function_is_its_own():
    with pytest.raises(ZeroDivisionError):
        fm.Dataset.range(1).map(lambda x: x / (1 // 0))


def test_help_of_a_function_is_as_the_command_prints_it(command):
    text = pydoc.render_doc(F.image.resize, renderer=pydoc.plaintext)
    said = command("functions", "image.resize").decode()
    assert text.split()[-len(said.split()) :] == said.split()
    assert text.startswith("Python Library Documentation: Function")
    assert "random.uniform" in pydoc.render_doc(F.random, renderer=pydoc.plaintext)
