"""Readers as Arrow streams, for pyarrow and polars."""

import json

import feedmill as fm
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
KINDS = fm.Dataset.range(3000).map(
    {
        "flag": "x % 2 == 0",
        **{t: f"cast(x, {t})" for t in DTYPES},
        "text": "to_string(x)",
        "vector": "[x, x + 1, x + 2]",
    }
)


def elements(dataset):
    return [
        {n: v.tolist() if hasattr(v, "tolist") else v for n, v in element.items()}
        for element in dataset.read()
    ]


def test_pyarrow_reads_every_dtype():
    table = pa.table(KINDS.read())
    assert table.schema.field("float32").type == pa.float32()
    assert table.schema.field("vector").type == pa.list_(pa.int64(), 3)
    assert table.to_pylist() == elements(KINDS)


def test_polars_reads_every_dtype():
    frame = pl.DataFrame(KINDS.read())
    assert frame.height == 3000
    for name in DTYPES:
        assert str(frame[name].dtype).lower() == name
    assert frame["vector"].to_list() == [[x, x + 1, x + 2] for x in range(3000)]
    assert frame["text"].to_list() == [str(x) for x in range(3000)]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "bytes"])
def test_nulls_are_null(dtype, tmp_path):
    value = {"bool": True, "bytes": "a"}.get(dtype, 7)
    with open(tmp_path / "rows.jsonl", "w") as file:
        for k in range(10):
            print(json.dumps({"k": k, "n": None if k % 3 == 1 else value}), file=file)
    rows = fm.Dataset.jsonl(tmp_path / "rows.jsonl", fields={"k": "int64", "n": f"{dtype}?"})
    shown = b"a" if value == "a" else value
    want = [None if k % 3 == 1 else shown for k in range(10)]
    table = pa.table(rows.read())
    assert table["n"].null_count == 3
    assert table["k"].null_count == 0
    assert table["n"].to_pylist() == want
    assert pl.DataFrame(rows.read())["n"].to_list() == want
    for batches in (rows.batch(4), rows.batch(5, drop_remainder=True)):
        batched = pa.table(batches.read())["n"].to_pylist()
        assert [one for batch in batched for one in batch] == want
    nested = pa.table(rows.batch(5).batch(2).read())["n"].to_pylist()
    assert [one for outer in nested for inner in outer for one in inner] == want


def test_arrays_that_are_null_are_null(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"n": 5}\n{}\n{"n": 7}\n')
    rows = fm.Dataset.jsonl(tmp_path / "rows.jsonl", types={"n": "int64?"})
    pairs = pa.table(rows.map(p="n + [0, 1]").read())["p"]
    assert pairs.to_pylist() == [[5, 6], None, [7, 8]]


def test_a_column_is_a_view_of_the_chunk():
    dataset = fm.Dataset.range(3000).map(x="cast(x, float64)", y="[x, x + 1]")
    seen = []

    class Spy(fm.Reader):
        def _chunks(self, nulls):
            for chunk in super()._chunks(nulls):
                seen.append([chunk["x"].ctypes.data, chunk["y"].ctypes.data])
                yield chunk

    reader = dataset.read()
    reader.__class__ = Spy
    for batch in pa.RecordBatchReader.from_stream(reader):
        x, y = batch["x"].buffers(), batch["y"].buffers()
        assert [x[1].address, y[-1].address] == seen[-1]
    assert len(seen) > 0


def test_tensors():
    dataset = fm.Dataset.range(10).map(m="[[x, x + 1], [x, x * 2]]")
    table = pa.table(dataset.read())
    assert table.schema.field("m").type == pa.fixed_shape_tensor(pa.int64(), [2, 2])
    array = table["m"].combine_chunks().to_numpy_ndarray()
    np.testing.assert_array_equal(array, [element["m"] for element in dataset.read()])


def test_arrays_of_different_lengths():
    dataset = fm.Dataset.range(200).map(a="split(to_string(x * x), '1')", n="x")
    table = pa.table(dataset.read())
    assert table.to_pylist() == elements(dataset)
    batches = fm.Dataset.range(10).batch(4)
    assert pa.table(batches.read())["value"].to_pylist() == [
        batch.tolist() for batch in batches.read()
    ]
    rows = fm.Dataset.range(10).map(v="[x, x]").batch(4)
    assert pa.table(rows.read()).to_pylist() == elements(rows)


def test_an_unnamed_component_and_the_rest_of_a_reader():
    reader = fm.Dataset.range(5).read()
    next(reader)
    assert pa.table(reader).to_pydict() == {"value": [1, 2, 3, 4]}
    assert pa.table(fm.Dataset.range(0).read()).num_rows == 0


def test_arrays_that_differ_in_several_dimensions():
    words = fm.Dataset.range(40).map(a="split(to_string(x * x), '1')", n="[x]")
    for dataset in (words.padded_batch(9), words.ragged_batch(9)):
        assert pa.table(dataset.read()).to_pylist() == elements(dataset)


def test_an_error_of_the_data(tmp_path):
    (tmp_path / "n.txt").write_text("1\nx\n3\n")
    with pytest.raises(Exception, match=r"n\.txt"):
        pa.table(fm.Dataset.text(tmp_path / "n.txt").map("to_number(x, int64)").read())
