"""Text as str, and times as datetime64."""

import datetime

import feedmill as fm
import numpy as np
import pytest
from feedmill import tf

LINES = (
    '{"s": "é", "n": 1, "when": "2024-02-29T12:30:45.5Z", "day": "2024-02-29"}\n'
    '{"s": "b", "n": 2, "when": "1969-12-31T23:59:59", "day": "1969-12-31"}\n'
)
TIMES = {"when": "timestamp[ms]", "day": "date"}


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.jsonl").write_text(LINES, "utf-8")
    return fm.Dataset.jsonl(tmp_path / "rows.jsonl", types=TIMES)


def test_text_is_str(rows):
    assert rows.element_spec["s"] == fm.ComponentSpec("str", ())
    assert [e["s"] for e in rows.read()] == ["é", "b"]
    (batch,) = rows.batch(2).read()
    assert batch["s"].tolist() == ["é", "b"]
    (chunk,) = rows.read().chunks()
    assert chunk["s"] == ["é", "b"]


def test_declared_bytes_are_bytes(rows, tmp_path):
    file = tmp_path / "rows.jsonl"
    for ds in (
        fm.Dataset.jsonl(file, types={"s": "bytes"}),
        fm.Dataset.jsonl(file, types={"s": bytes}),
        fm.Dataset.jsonl(file, fields={"s": "bytes"}),
        rows.map(s="cast(s, bytes)"),
        rows.map(lambda e: {"s": e.s.astype(bytes)}),
    ):
        assert next(ds.read())["s"] == "é".encode()
    assert next(fm.Dataset.jsonl(file, fields={"n": str}).read())["n"] == "1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strip(s)", "é"),
        ("s", "é"),
        ("where(n > 0, s, 'x')", "é"),
        ("to_string(n)", "1"),
        ("'ü'", "ü"),
        ("b'\\xff'", b"\xff"),
        ("where(n > 0, s, b'\\xff')", "é".encode()),
        ("cast(cast(s, bytes), str)", "é"),
        ("split(s)", ["é"]),
        ("split(s)[:1]", ["é"]),
        ("s[0:1]", b"\xc3"),
        ("substr(s, 0, 2)", "é".encode()),
        ("[s, 'x']", ["é", "x"]),
    ],
)
def test_functions_of_texts(rows, text, expected):
    value = next(rows.map(v=text).read())["v"]
    assert (value.tolist() if isinstance(value, np.ndarray) else value) == expected


def test_text_that_is_not_utf8_is_an_error(tmp_path):
    (tmp_path / "rows.csv").write_bytes(b"s,n\nok,1\n\xff,2\nlater,3\n")
    ds = fm.Dataset.csv(tmp_path / "rows.csv")
    reader = ds.read()
    assert next(reader)["s"] == "ok"
    for _ in range(2):
        with pytest.raises(fm.DataLossError, match=r'"s".*not UTF-8.*cast\(s, bytes\)'):
            next(reader)
    with pytest.raises(fm.DataLossError, match="not UTF-8"):
        list(ds.read().chunks())
    bytes_of_it = ds.with_columns(s="cast(s, bytes)")
    assert [e["s"] for e in bytes_of_it.read()] == [b"ok", b"\xff", b"later"]


def test_times_are_datetimes(rows):
    assert rows.schema["when"].dtype == "timestamp[ms]"
    assert rows.schema["day"].dtype == "date"
    first, second = rows.read()
    assert first["when"] == np.datetime64("2024-02-29T12:30:45.500", "ms")
    assert first["when"].dtype == np.dtype("datetime64[ms]")
    assert second["day"].item() == datetime.date(1969, 12, 31)
    (batch,) = rows.batch(2).read()
    assert batch["when"].dtype == np.dtype("datetime64[ms]")
    assert next(rows.map(n="cast(when, int64)").read())["n"] == 1709209845500
    assert next(rows.map(n="when + 1").read())["n"].dtype == np.int64
    assert next(rows.map(t="fill_null(when, 0)").read())["t"].dtype.kind == "M"
    read = rows.map(t="cast(parse_date('2024-02-29', 'iso', 'us'), 'timestamp[us]')").read()
    assert next(read)["t"] == np.datetime64("2024-02-29", "us")
    with pytest.raises(fm.InvalidArgumentError, match=r"timestamp\[ms\] cannot become date"):
        rows.map(t="cast(when, 'date')").read()


@pytest.mark.parametrize(
    ("type", "text", "what"),
    [
        ("date", "2024-02-30", "no date"),
        ("date", "2024-02-29T01:00", "no date"),
        ("timestamp[s]", "2024-02-29T01:00:00.5", r"no timestamp\[s\]"),
        ("timestamp[ns]", "2924-02-29", r"no timestamp\[ns\]"),
        ("timestamp", "yesterday", r"no timestamp\[us\]"),
    ],
)
def test_other_texts_are_data_errors(tmp_path, type, text, what):
    (tmp_path / "rows.csv").write_text(f"when\n{text}\n")
    ds = fm.Dataset.csv(tmp_path / "rows.csv", types={"when": type})
    with pytest.raises(fm.DataLossError, match=f"{what} of ISO 8601"):
        next(ds.read())


def test_missing_times_are_null(tmp_path):
    (tmp_path / "rows.csv").write_text("when,n\n,1\n2024-02-29 12:00,2\n")
    ds = fm.Dataset.csv(tmp_path / "rows.csv", types={"when": "timestamp[s]?"})
    first, second = ds.read(nulls="masked")
    assert first["when"] is None
    assert second["when"] == np.datetime64("2024-02-29T12:00:00", "s")
    (batch,) = ds.batch(2).read(nulls="masked")
    assert batch["when"].mask.tolist() == [True, False]


def test_folders_have_dates(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    for day in ("2024-02-28", "2024-02-29"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"n": [1]}), tmp_path / f"day={day}" / "a.parquet")
    ds = fm.Dataset.parquet(tmp_path, types={"day": "date"}, partitions=True)
    assert [str(e["day"]) for e in ds.read()] == ["2024-02-28", "2024-02-29"]


def test_memory_has_both():
    when = np.array(["2024-02-29", "1969-12-31"], "datetime64[us]")
    ds = fm.Dataset.from_dict({"s": ["é", "b"], "raw": [b"\xff", b""], "when": when})
    assert [spec.dtype for spec in ds.schema.values()] == ["str", "bytes", "timestamp[us]"]
    first = next(ds.read())
    assert first["s"] == "é"
    assert first["raw"] == b"\xff"
    assert first["when"] == when[0]


def test_a_service_gives_the_same(rows, service):
    for ds in (rows, rows.batch(2), rows.map(s="strip(s)", when="when")):
        for here, there in zip(ds.read(), ds.read(service), strict=True):
            for name in here:
                assert np.asarray(here[name]).dtype == np.asarray(there[name]).dtype
                assert np.array_equal(here[name], there[name])


def test_functions_get_and_give_both(rows):
    def longer(element):
        assert isinstance(element["s"], str)
        assert element["when"].dtype == np.dtype("datetime64[ms]")
        return {"s": element["s"] * 2, "next": element["when"] + np.timedelta64(1, "s")}

    made = rows.map(longer, python=True)
    assert [spec.dtype for spec in made.schema.values()] == ["str", "timestamp[ms]"]
    assert next(made.read())["s"] == "éé"
    assert next(made.read())["next"] == np.datetime64("2024-02-29T12:30:46.500", "ms")


def test_feedmill_tf_has_bytes_and_integers(rows):
    ds = tf.data.Dataset.from_tensor_slices({"s": np.array(["a", "b"]), "n": np.arange(2)})
    assert ds.element_spec["s"].dtype == "bytes"
    assert [e["s"] for e in ds] == [b"a", b"b"]
