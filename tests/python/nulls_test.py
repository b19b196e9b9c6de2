"""Components that may be null, as readers get them."""

import feedmill as fm
import numpy as np
import pytest

LINES = b'{"k": 0, "n": 5, "s": "x"}\n{"k": 1, "n": null}\n{"k": 2, "n": 7, "s": "z"}\n'
FIELDS = {"k": "int64", "n": "int64?", "s": "bytes?"}


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "rows.jsonl").write_bytes(LINES)
    return fm.Dataset.jsonl(tmp_path / "rows.jsonl", fields=FIELDS)


def is_masked(array, items, mask):
    assert isinstance(array, np.ma.MaskedArray)
    assert array.mask.tolist() == mask
    return array.tolist() == items


def test_a_nullable_component_is_one_component(rows):
    assert rows.element_spec["n"] == fm.ComponentSpec("int64", (), nullable=True)
    assert repr(rows.element_spec["n"]) == "ComponentSpec(dtype='int64', shape=(), nullable=True)"
    assert repr(rows.schema).splitlines() == ["k: int64", "n: int64?", "s: bytes?"]
    assert repr(rows).endswith("{k: int64, n: int64?, s: bytes?}>")
    assert repr(rows.batch(2).schema).splitlines()[1] == "n: int64[?]?"
    assert list(next(rows.read())) == list(rows.schema)


def test_masked_elements_have_none(rows):
    elements = list(rows.read(nulls="masked"))
    assert [e["n"] for e in elements] == [5, None, 7]
    assert [e["s"] for e in elements] == [b"x", None, b"z"]
    assert isinstance(elements[0]["n"], np.int64)


def test_masked_batches_are_masked_arrays(rows):
    first, second = rows.batch(2).read(nulls="masked")
    assert is_masked(first["n"], [5, None], [False, True])
    assert is_masked(first["s"], [b"x", None], [False, True])
    assert is_masked(second["n"], [7], [False])
    assert type(first["k"]) is np.ndarray


def test_masked_chunks(rows):
    (chunk,) = rows.read(nulls="masked").chunks()
    assert is_masked(chunk["n"], [5, None, 7], [False, True, False])
    assert chunk["s"] == [b"x", None, b"z"]
    (chunk,) = rows.take(2).batch(2).read(nulls="masked").chunks()
    assert is_masked(chunk["n"], [[5, None]], [[False, True]])
    # Batches of different lengths.
    batches = [b for c in rows.batch(2).read(nulls="masked").chunks() for b in c["n"]]
    assert [b.tolist() for b in batches] == [[5, None], [7]]


def test_arrays_that_are_null(rows):
    pairs = rows.map(pair="n + [0, 1]")
    values = [e["pair"] for e in pairs.read(nulls="masked")]
    assert [v if v is None else v.tolist() for v in values] == [[5, 6], None, [7, 8]]
    (chunk,) = pairs.read(nulls="masked").chunks()
    assert [v if v is None else v.tolist() for v in chunk["pair"]] == [[5, 6], None, [7, 8]]
    (batch,) = pairs.batch(3).read(nulls="masked")
    assert batch["pair"].tolist() == [[5, 6], [None, None], [7, 8]]


def test_fill_gives_the_values_that_stand_for_nulls(rows):
    assert [e["n"] for e in rows.read(nulls="fill")] == [5, 0, 7]
    assert [e["s"] for e in rows.read(nulls="fill")] == [b"x", b"", b"z"]
    (batch,) = rows.batch(3).read(nulls="fill")
    assert type(batch["n"]) is np.ndarray
    assert batch["n"].tolist() == [5, 0, 7]


def test_a_null_is_an_error_by_default(rows):
    reader = rows.read()
    assert next(reader)["n"] == 5
    message = r'"n" is null.*nulls="masked".*fill_null'
    for use in (lambda: next(reader), lambda: next(reader), reader.state_dict):
        with pytest.raises(fm.InvalidArgumentError, match=message):
            use()
    with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
        next(rows.read().chunks())
    assert [e["n"] for e in rows.filter("not is_null(n)").read()] == [5, 7]
    filled = rows.with_columns(n="fill_null(n, -1)", s="fill_null(s, '?')")
    assert [e["n"] for e in filled.read()] == [5, -1, 7]
    with pytest.raises(fm.InvalidArgumentError, match='expected "error", "fill" or "masked"'):
        rows.read(nulls="none")


def test_arrays_with_nulls_are_not_joined(rows):
    with pytest.raises(fm.InvalidArgumentError, match="fill_null\\(n, 0\\)"):
        next(rows.batch(2).ragged_batch(2).read())
    filled = rows.with_columns(n="fill_null(n, 0)").drop("s").batch(2).ragged_batch(2)
    assert next(filled.read())["n"].tolist() == [5, 0, 7]


def test_loaders_take_nulls(rows):
    loader = fm.Loader(rows, nulls="masked")
    assert [[e["n"] for e in loader] for _ in range(2)] == [[5, None, 7]] * 2
    elements = iter(loader)
    next(elements)
    again = fm.Loader(rows, nulls="masked", state=loader.state_dict())
    assert [e["n"] for e in again] == [None, 7]


def test_a_null_ends_the_epoch_of_a_loader(rows):
    loader = fm.Loader(rows)
    elements = iter(loader)
    next(elements)
    state = loader.state_dict()
    for use in (lambda: next(elements), loader.state_dict):
        with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
            use()
    with pytest.raises(fm.FailedPreconditionError, match="ended with an error"):
        next(iter(loader))
    loader.load_state_dict(state)
    with pytest.raises(fm.InvalidArgumentError, match='"n" is null'):
        next(iter(loader))


def test_a_look_prints_null(rows, capsys):
    assert [e["n"] for e in rows.head()] == [5, None, 7]
    rows.show()
    assert capsys.readouterr().out.splitlines()[3].split() == ["1", "null", "null"]
    rows.batch(2).show(1)
    assert capsys.readouterr().out.splitlines()[2].split("  ") == ["[0 1]", "[5 null]", "[x null]"]
    assert "<td>null</td>" in rows._repr_html_()
    assert "valid(" not in rows._repr_html_()
    assert rows.count() == rows.on_error("skip").count() == 3


def test_python_functions_get_none_and_masked_arrays(rows):
    def named(e):
        return {"names": " ".join(e).encode(), "n": -1 if e.n is None else e.n}

    assert [tuple(e.values()) for e in rows.map(named, python=True).read()] == [
        (b"k n s", 5),
        (b"k n s", -1),
        (b"k n s", 7),
    ]

    def filled(e):
        return {"n": e.n.filled(-1), "null": np.ma.getmaskarray(e.s)}

    batched = rows.map(filled, python=True, batched=True)
    assert [e["n"] for e in batched.read()] == [5, -1, 7]
    assert [bool(e["null"]) for e in batched.read()] == [False, True, False]
    kept = rows.filter(lambda e: e.s is not None, python=True, deterministic=True)
    assert [e["k"] for e in kept.read()] == [0, 2]
    batches = rows.batch(2).map(filled, python=True)
    assert [b["n"].tolist() for b in batches.read()] == [[5, -1], [7]]


def test_nulls_cross_a_service(rows, service):
    for steps in (rows, rows.batch(2), rows.batch(2).unbatch()):
        local = list(steps.read(nulls="masked"))
        assert repr(list(steps.read(service, nulls="masked"))) == repr(local)
