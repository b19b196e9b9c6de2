"""Tables of pandas, Arrow, polars and torch as sources."""

import datetime
import decimal

import feedmill as fm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

# pandas and polars have threads that stay.
pytestmark = pytest.mark.others_remain


def rows(dataset):
    return [
        {name: value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()}
        for row in dataset.read(nulls="masked")
    ]


def test_a_data_frame():
    frame = pd.DataFrame(
        {
            "n": np.arange(3),
            "x": [0.5, float("nan"), 2],
            "text": ["a", None, "c"],
            "some": pd.array([1, None, 3], "Int16"),
            "flag": pd.array([True, False, None], "boolean"),
            "kind": pd.Categorical(["cat", "dog", "cat"]),
            "at": pd.to_datetime(["2026-01-01", None, "2026-01-02"]).astype("datetime64[s]"),
            "zoned": pd.to_datetime(["2026-01-01"] * 3)
            .tz_localize("Europe/Berlin")
            .astype("datetime64[s, Europe/Berlin]"),
            "list": [[1], [2, 3], []],
            "arrow": pd.array([1.5, None, 2.5], pd.ArrowDtype(pa.float32())),
        }
    )
    dataset = fm.Dataset.from_pandas(frame)
    assert dataset.schema["some"].dtype == "int16"
    assert dataset.schema["arrow"].dtype == "float32"
    found = rows(dataset)
    first, hour = datetime.datetime(2026, 1, 1), datetime.timedelta(hours=1)
    assert np.isnan(found[1].pop("x"))
    assert found[1] == {
        "n": 1,
        "text": None,
        "some": None,
        "flag": False,
        "kind": "dog",
        "at": None,
        "zoned": first - hour,
        "list": [2, 3],
        "arrow": None,
    }
    assert [row["at"] for row in found] == [first, None, first + 24 * hour]


def test_columns_of_a_data_frame_are_views():
    numbers = np.arange(100_000)
    frame = pd.DataFrame({"n": numbers}, copy=False)
    for chunk in fm.Dataset.from_pandas(frame).read().chunks():
        assert np.shares_memory(chunk["n"], frame["n"].to_numpy())


def test_a_table_of_arrow():
    table = pa.table(
        {
            "n": pa.array([1, 2, 3], pa.int8()),
            "half": pa.array(np.array([0.5, 1, 2], np.float16)),
            "text": ["a", None, "ccc"],
            "bytes": pa.array([b"ab", b"cd", b"ef"], pa.binary(2)),
            "flag": [True, None, False],
            "day": pa.array([datetime.date(1970, 1, 2)] * 3),
            "at": pa.array([1, 2, 3], pa.timestamp("us")),
            "price": pa.array([decimal.Decimal("1.5")] * 3, pa.decimal128(6, 2)),
            "exact": pa.array([decimal.Decimal("0.1")] * 3, pa.decimal128(20, 1)),
            "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
            "point": pa.array([{"x": 1.0, "y": [1]}, None, {"x": 3.0, "y": []}]),
            "pair": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int32(), 2)),
            "texts": [["a"], [], ["b", "c"]],
            "pairs": pa.array([[[1, 2]], [], [[3, 4], [5, 6]]], pa.list_(pa.list_(pa.int8(), 2))),
        }
    )
    expected = [
        {
            "n": n,
            "half": (0.5, 1, 2)[n - 1],
            "text": ("a", None, "ccc")[n - 1],
            "bytes": (b"ab", b"cd", b"ef")[n - 1],
            "flag": (True, None, False)[n - 1],
            "day": datetime.date(1970, 1, 2),
            "at": datetime.datetime(1970, 1, 1, microsecond=n),
            "price": 1.5,
            "exact": "0.1",
            "kind": ("x", "y", "x")[n - 1],
            "point.x": (1, None, 3)[n - 1],
            "point.y": ([1], [], [])[n - 1],
            "pair": [2 * n - 1, 2 * n],
            "texts": (["a"], [], ["b", "c"])[n - 1],
            "pairs": ([[1, 2]], [], [[3, 4], [5, 6]])[n - 1],
        }
        for n in (1, 2, 3)
    ]
    assert rows(fm.Dataset.from_arrow(table)) == expected
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert rows(fm.Dataset.from_arrow(chunks)) == expected
    assert rows(fm.Dataset.from_arrow(table.slice(1))) == expected[1:]
    assert rows(fm.Dataset.from_arrow(table.slice(1, 0))) == []
    shuffled = fm.Dataset.from_arrow(table).shuffle().with_options(seed=1)
    assert sorted(rows(shuffled), key=lambda row: row["n"]) == expected


def test_columns_of_arrow_are_views():
    table = pa.table({"n": np.arange(100_000), "text": pa.array(["a text"] * 100_000)})
    values = np.frombuffer(table["n"].chunk(0).buffers()[1], np.int64)
    for chunk in fm.Dataset.from_arrow(table).read().chunks():
        assert np.shares_memory(chunk["n"], values)


def test_tables_of_other_packages():
    frame = pl.DataFrame({"n": [1, None], "text": ["a", "b"]})
    assert [row["n"] for row in rows(fm.Dataset.from_arrow(frame))] == [1, None]
    tensor = torch.arange(50_000).reshape(-1, 5)
    for chunk in fm.Dataset.from_dict({"x": tensor}).read().chunks():
        assert np.shares_memory(chunk["x"], tensor.numpy())
    mixed = {"series": pd.Series([1, 2]), "arrow": pa.array(["a", "b"])}
    assert rows(fm.Dataset.from_dict(mixed))[1] == {"series": 2, "arrow": "b"}
