"""float16 and bfloat16: what sources, expressions and readers make of them."""

import sys

import feedmill as fm
import ml_dtypes
import numpy as np
import pytest

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BFLOAT16]
NUMBERS = [0.1, -2.5, 65504.0, 6e-8, 3.0, float("inf")]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_elements_and_batches_have_the_dtype(dtype):
    ds = fm.Dataset.range(5).map(lambda x: (x / 3).astype(dtype))
    assert ds.element_spec == fm.ComponentSpec(dtype.name, ())
    expected = (np.arange(5) / 3).astype(dtype)
    assert same(next(ds.batch(5).read()), expected)
    first = next(ds.read())
    assert isinstance(first, dtype.type) and first == expected[0]


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_arrays_in_memory(dtype):
    array = np.array(NUMBERS).astype(dtype).reshape(3, 2)
    ds = fm.Dataset.from_numpy({"x": array})
    assert ds.element_spec["x"] == fm.ComponentSpec(dtype.name, (2,))
    assert same(next(ds.batch(3).read())["x"], array)
    rows = fm.Dataset.from_dict({"x": list(array)})
    assert same(next(rows.batch(3).read())["x"], array)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_npy_files(tmp_path, dtype):
    array = np.array(NUMBERS).astype(dtype).reshape(3, 2)
    np.save(tmp_path / "a.npy", array)
    assert same(next(fm.Dataset.npy(tmp_path / "a.npy").batch(3).read()), array)
    np.savez_compressed(tmp_path / "a.npz", x=array, n=np.arange(3))
    assert same(next(fm.Dataset.npy(tmp_path / "a.npz").batch(3).read())["x"], array)


def test_other_npy_files(tmp_path):
    array = np.array(NUMBERS, np.float16)
    np.save(tmp_path / "big.npy", array.astype(">f2"))
    assert same(next(fm.Dataset.npy(tmp_path / "big.npy").batch(6).read()), array)
    # It was float32 before feedmill had float16.
    np.savez(tmp_path / "a.npz", x=array, y=array.astype(">f2"))
    fields = {"x": "float32", "y": "float32"}
    batch = next(fm.Dataset.npy(tmp_path / "a.npz", fields=fields).batch(6).read())
    for name in fields:
        assert same(batch[name], array.astype(np.float32))
    np.save(tmp_path / "void.npy", np.zeros(3, "|V2"))
    with pytest.raises(fm.DataLossError, match=r"the dtype .*V2"):
        next(fm.Dataset.npy(tmp_path / "void.npy").read())


def test_expressions_promote_as_numpy():
    ds = fm.Dataset.range(3).map(
        half="cast(x, float16) + 1.5",
        brain="cast(x, bfloat16) * cast(x, int8)",
        both="cast(x, bfloat16) + cast(x, float16)",
        short="cast(x, float16) + cast(x, int16)",
        whole="cast(x, float16) + x",
        text="to_number('1e-3', float16)",
        pair="[cast(x, bfloat16), 0.3]",
    )
    assert {name: spec.dtype for name, spec in ds.element_spec.items()} == {
        "half": "float16",
        "brain": "bfloat16",
        "both": "float32",
        "short": "float32",
        "whole": "float64",
        "text": "float16",
        "pair": "bfloat16",
    }
    batch = next(ds.batch(3).read())
    assert same(batch["pair"], np.array([[k, 0.3] for k in range(3)]).astype(BFLOAT16))
    assert same(batch["text"], np.full(3, 1e-3, np.float16))


def test_sums_are_rounded_once():
    many = np.full(4096, 0.1)
    ds = fm.Dataset.from_numpy({"x": many[None]})
    for dtype in HALVES:
        total = next(ds.map(f"sum(cast(x, {dtype.name}))").read())
        wide = many.astype(dtype).astype(np.float32)
        assert total == np.add.accumulate(wide)[-1].astype(dtype)


def test_fields_of_text_files(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"x": {x}}}\n' for x in (0.1, 65504, 1e-7, 1e9)))
    table = tmp_path / "rows.csv"
    table.write_text("x\n0.1\n65504\n1e-7\n1e9\n")
    for dtype in HALVES:
        with np.errstate(over="ignore"):
            expected = np.array([0.1, 65504, 1e-7, 1e9]).astype(dtype)
        fields = {"x": dtype.name}
        assert same(next(fm.Dataset.jsonl(rows, fields=fields).batch(4).read())["x"], expected)
        assert same(next(fm.Dataset.csv(table, fields=fields).batch(4).read())["x"], expected)


def test_python_functions_take_and_return_them():
    for dtype in HALVES:
        ds = fm.Dataset.range(4).map(lambda x, name=dtype.name: x.astype(name)).batch(2)
        if dtype is BFLOAT16:
            doubled = ds.map(double, python=True, output=(dtype.name, (None,)))
        else:
            doubled = ds.map(double, python=True)
        assert doubled.element_spec.dtype == dtype.name
        assert same(next(doubled.read()), np.array([0, 2]).astype(dtype))


def double(x):
    return x + x


def test_without_ml_dtypes_the_error_says_what_to_install(monkeypatch):
    ds = fm.Dataset.range(1).map("cast(x, bfloat16)")
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="pip install ml_dtypes"):
        next(ds.read())


def test_arrow_has_float16_and_float32():
    pa = pytest.importorskip("pyarrow")
    ds = fm.Dataset.range(3).map(h="cast(x, float16) / 3", b="cast(x, bfloat16) / 3")
    table = pa.table(ds.read())
    assert [str(type) for type in table.schema.types] == ["halffloat", "float"]
    expected = (np.arange(3) / 3).astype(BFLOAT16).astype(np.float32)
    assert table["b"].to_numpy().tolist() == expected.tolist()
