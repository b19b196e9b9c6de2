"""Functions of arrays on random rows, beside NumPy."""

import io
import tarfile

import feedmill as fm
import numpy as np
import pytest

F = fm.functions
FLOATS = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e300]


def write_rows(path, rows, raw=False):
    """Writes rows {name: array} to a tar, and returns their dataset; raw: of bytes."""
    with tarfile.open(path, "w") as tar:
        for number, row in enumerate(rows):
            for name, value in row.items():
                info = tarfile.TarInfo(f"{number:04}.{name}")
                info.size = value.nbytes
                tar.addfile(info, io.BytesIO(value.tobytes()))
    dataset = fm.Dataset.webdataset(str(path), fields=dict.fromkeys(rows[0], "bytes"))
    if raw:
        return dataset
    return dataset.map(
        {name: F.decode_raw(fm.col(name), str(a.dtype)) for name, a in rows[0].items()}
    )


def size(array):
    """The number of items, of an expression too."""
    return len(array) if isinstance(array, np.ndarray) else F.len(array)


@pytest.fixture(params=["int64", "int8", "float64", "float32"])
def rows(request, tmp_path):
    """Random rows {a, b, i}: a has any length, b has 1 to 3 items, i has 2 integers."""
    rng = np.random.default_rng(7)
    made = []
    for length in rng.permutation([0, 1, 2, 3, 7, 12, 40] * 4):
        if request.param.startswith("float"):
            a, b = rng.choice(FLOATS, length), rng.choice(FLOATS, rng.integers(1, 4))
        else:
            a, b = rng.integers(-5, 6, length), rng.integers(-5, 6, rng.integers(1, 4))
        with np.errstate(over="ignore"):
            a, b = a.astype(request.param), b.astype(request.param)
        made.append({"a": a, "b": b, "i": rng.integers(-15, 16, 2)})
    return made, write_rows(tmp_path / "rows.tar", made)


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b, i: a[1:-1],
        lambda a, b, i: a[::-1],
        lambda a, b, i: a[-3:],
        lambda a, b, i: a[9::-2],
        lambda a, b, i: a[i[0] :],
        lambda a, b, i: a[: i[1] : 3],
        lambda a, b, i: a[i[0] : i[1]],
        lambda a, b, i: a[i[0] : i[1] : -1],
        lambda a, b, i: b[0] * a[i[0] :][:2],
        lambda a, b, i: a[size(a) // 2 :],
        lambda a, b, i: np.stack([a, a])[..., i[0] :: 2],
        lambda a, b, i: np.shape(a),
        lambda a, b, i: np.sort(a),
        lambda a, b, i: np.sort(np.stack([a, -a]))[:, ::-1],
        lambda a, b, i: np.unique(a),
        lambda a, b, i: np.isin(a, b),
        lambda a, b, i: np.isin(a, [1, 2, -2.25]),
        lambda a, b, i: np.isin(i, [1, 2, 3, 4, 5]),
        lambda a, b, i: np.digitize(a, [-2, 0, 1.5]),
        lambda a, b, i: np.digitize(i, np.arange(-20, 20)),
        lambda a, b, i: np.digitize(i, np.sort(i)),
        lambda a, b, i: np.stack([a, a]) @ a,
    ],
)
def test_arrays_as_numpy(rows, function):
    made, dataset = rows
    got = list(dataset.map(lambda e: function(e.a, e.b, e.i)).read())
    assert len(got) == len(made)
    with np.errstate(all="ignore"):
        for row, value in zip(made, got, strict=True):
            expected = np.asarray(function(**row))
            assert value.dtype == expected.dtype
            np.testing.assert_array_equal(value, expected, strict=True)


def test_argsort_is_stable(rows):
    made, dataset = rows
    got = dataset.map(lambda e: np.argsort(e.a)).read()
    for row, value in zip(made, got, strict=True):
        np.testing.assert_array_equal(value, np.argsort(row["a"], kind="stable"), strict=True)


def test_rows_are_padded(rows):
    made, dataset = rows
    padded = dataset.map(lambda e: {"a": F.pad_to(e.a, 40, e.b[0]), "n": F.len(e.a)})
    for row, value in zip(made, padded.read(), strict=True):
        assert value["n"] == len(row["a"])
        expected = np.full(40, row["b"][0])
        expected[: len(row["a"])] = row["a"]
        np.testing.assert_array_equal(value["a"], expected, strict=True)
    (batch,) = padded.batch(len(made)).read()
    assert batch["a"].shape == (len(made), 40)
    with pytest.raises(fm.DataLossError, match=r"pad_to: \d+ items are more than 3"):
        list(dataset.map(lambda e: F.pad_to(e.a, 3, 0)).read())


def test_parts_of_texts_are_bytes():
    texts = [b"", b"a", "\u00e9t\u00e9".encode(), b"\xff\x00z", b"0123456789"]
    for text in texts:
        (got,) = (
            fm.Dataset.range(1)
            .map(lambda x, text=text: {"t": F.strip(text)})
            .map(lambda e: {"a": e.t[1:3], "b": e.t[::-1], "c": e.t[-2:], "n": F.len(e.t)})
            .read()
        )
        text = text.strip()
        assert got == {"a": text[1:3], "b": text[::-1], "c": text[-2:], "n": len(text)}


def test_wrong_dtypes_and_ranks_are_refused():
    numbers = fm.Dataset.range(3)
    for function, message in (
        (lambda x: x[1:], "a scalar int64 cannot be sliced"),
        (lambda x: x[0], "a scalar int64 cannot be indexed"),
        (lambda x: F.len(x), "a scalar int64 has no length"),
        (lambda x: (x + np.zeros(3))[:, 0], "there is no axis 1 in 1 dimension"),
        (lambda x: (x + np.zeros(3))[: x / 2], "the stop of a slice is float64, not an integer"),
        (lambda x: (x + np.zeros(3)) @ np.zeros((2, 3)), r"do not fit: 3 columns, 2 rows"),
        (lambda x: F.pad_to(x + np.zeros(3), 2, 0), r"a slice x\[:2\] cuts them"),
        (lambda x: F.pad_to(x + np.zeros(3, int), 4, 0.5), "does not fit items of int64"),
        (lambda x: np.sort(x), "sort: a scalar int64 has no items"),
        (lambda x: np.isin(x, [b"a"]), "isin"),
        (lambda x: np.digitize(x, [2, 1]), "the boundaries do not increase"),
    ):
        with pytest.raises(fm.InvalidArgumentError, match=message):
            numbers.map(function).read()
