"""lookup: tables of each format, policies, resuming, caches and services."""

import feedmill as fm
import numpy as np
import pytest

ROWS = 300
IDS = np.random.default_rng(5).permutation(ROWS) * 3


@pytest.fixture
def clicks():
    return fm.Dataset.range(ROWS).map(id="x * 3 % 450")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "users.csv"
    lines = [f"{k},user {k},{k % 90}\n" for k in IDS]
    path.write_text("id,name,age\n" + "".join(lines))
    return path


def names(dataset, *arguments, **read):
    with dataset.read(*arguments, **read) as reader:
        return [e["name"] for e in reader]


EXPECTED = [f"user {k * 3 % 450}" for k in range(ROWS)]


def written(kind, tmp_path):
    """Returns the rows as a file of this kind, or as a dataset."""
    rows = [{"id": int(k), "name": f"user {k}", "age": int(k) % 90} for k in IDS]
    if kind == "dict":
        return fm.Dataset.from_list(rows)
    if kind == "csv with a semicolon":
        path = tmp_path / "users.csv"
        path.write_text("id;name\n" + "".join(f"{r['id']};{r['name']}\n" for r in rows))
        return fm.Dataset.csv(path, delimiter=";")
    path = tmp_path / f"users.{kind}"
    if kind == "jsonl":
        path.write_text("".join(str(row).replace("'", '"') + "\n" for row in rows))
    elif kind == "tsv":
        path.write_text("id\tname\n" + "".join(f"{r['id']}\t{r['name']}\n" for r in rows))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        arrow = pytest.importorskip("pyarrow")
        parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=70)
    return path


@pytest.mark.parametrize("kind", ["dict", "csv with a semicolon", "tsv", "jsonl", "parquet"])
def test_tables_of_each_format(kind, clicks, tmp_path):
    assert names(clicks.lookup(written(kind, tmp_path), "id", columns="name")) == EXPECTED


def test_the_columns_come_after_the_components(clicks, table):
    joined = clicks.lookup(str(table), "id")
    assert list(joined.schema) == ["id", "name", "age"]
    assert {int(e["id"]) % 90 == int(e["age"]) for e in joined.read()} == {True}
    users = clicks.rename(id="user").lookup(table, "user", table_key="id", columns=["age"])
    assert list(users.schema) == ["user", "age"]
    assert names(fm.Dataset.from_yaml(joined.to_yaml())) == EXPECTED


def test_keys_without_a_row(clicks, table):
    odd = clicks.map(id="id + id % 2")
    kept = [k for k in (int(e) for e in odd.map("id").read()) if k % 3 == 0]
    dropped = odd.lookup(table, "id", unmatched="drop")
    assert [int(e["id"]) for e in dropped.read()] == kept
    nulls = list(odd.lookup(table, "id", unmatched="nulls").read(nulls="masked"))
    assert [e["name"] is None for e in nulls] == [int(e["id"]) % 3 != 0 for e in nulls]
    assert odd.lookup(table, "id", unmatched="nulls").element_spec["age"].nullable
    with pytest.raises(fm.DataLossError, match=r"users.csv has no row whose id is 4; `unmatched"):
        list(odd.lookup(table, "id").read())
    # Columns that no step needs are not looked for.
    assert len(list(odd.lookup(table, "id").select("id").read())) == ROWS


def test_null_keys_are_in_no_row(table, tmp_path):
    (tmp_path / "keys.jsonl").write_text('{"id": 3}\n{"id": null}\n{"id": 6}\n')
    keys = fm.Dataset.jsonl(tmp_path / "keys.jsonl", fields={"id": "int64?"})
    assert names(keys.lookup(table, "id", unmatched="drop")) == ["user 3", "user 6"]
    with pytest.raises(fm.DataLossError, match="no row whose id is null"):
        list(keys.lookup(table, "id").read())


def test_a_state_continues_exactly(clicks, table):
    ds = clicks.shuffle().lookup(table, "id", unmatched="drop").repeat(2).with_options(seed=4)
    whole = names(ds)
    for cut in (1, 100, len(whole) - 1):
        reader = ds.read()
        for _ in range(cut):
            next(reader)
        assert names(ds, state=reader.state_dict()) == whole[cut:]


def test_a_cache_is_of_the_table_that_it_was_made_of(clicks, table, tmp_path):
    ds = clicks.lookup(table, "id").cache(str(tmp_path / "cache"))
    assert names(ds) == names(ds) == EXPECTED
    table.write_text(table.read_text().replace("user", "person"))
    assert names(ds) == [name.replace("user", "person") for name in EXPECTED]


def test_inputs_look_into_tables(clicks, table):
    joined = clicks.lookup(table, "id")
    assert names(fm.Dataset.concatenate([joined, joined.take(2)])) == EXPECTED + EXPECTED[:2]
    both = fm.Dataset.concatenate(
        [joined.filter("id != 3").rename(age="id2"), joined.rename(age="id2")]
    )
    assert len(names(both.lookup(table, "id", columns="age"))) == 2 * ROWS - 2


@pytest.mark.parametrize("kind", ["dict", "jsonl"])
def test_a_service_looks_into_tables(kind, clicks, tmp_path, service):
    ds = clicks.shuffle().lookup(written(kind, tmp_path), "id").with_options(seed=1)
    assert names(ds, service) == names(ds)


def test_tables_that_do_not_fit_are_errors(clicks, table, tmp_path):
    for ds, message in (
        (lambda: clicks.lookup("users", "id"), "name users does not say what it is"),
        (lambda: clicks.lookup(7, "id"), "table: expected the name of a file, or a dataset"),
        (lambda: clicks.lookup(table, "uid"), 'no column "uid"'),
        (lambda: clicks.lookup(table, "id", columns="agee"), 'did you mean "age"'),
        (lambda: clicks.with_columns(age="1").lookup(table, "id"), 'a column "age", as the'),
        (lambda: clicks.batch(2).lookup(table, "id"), "write it before the batch"),
        (lambda: clicks.lookup(fm.Dataset.csv(table).take(3), "id"), "the table has steps"),
    ):
        with pytest.raises(fm.InvalidArgumentError, match=message):
            list(ds().read())
    twice = tmp_path / "twice.csv"
    twice.write_text("id,n\n3,1\n0,2\n3,3\n")
    with pytest.raises(fm.InvalidArgumentError, match=r"twice.csv: record 2: its id 3 is that of"):
        list(clicks.lookup(twice, "id").read())


# ---- image_table


@pytest.fixture
def photos(tmp_path):
    """A table of five photographs in three files, and the bytes of each row."""
    (tmp_path / "photos").mkdir()
    contents = [b"first", b"second", b"third"]
    for k, content in enumerate(contents):
        (tmp_path / "photos" / f"{k}.jpg").write_bytes(content)
    order = [2, 0, 0, 1, 2]
    lines = [f"photos/{k}.jpg,{'ab'[k % 2]},{row}\n" for row, k in enumerate(order)]
    (tmp_path / "train.csv").write_text("path,label,n\n" + "".join(lines))
    return tmp_path / "train.csv", [contents[k] for k in order]


def test_images_of_a_table_have_its_columns(photos):
    table, contents = photos
    ds = fm.Dataset.image_table(table)
    assert list(ds.schema) == ["image", "path", "label", "n"]
    assert ds.count() == 5
    elements = list(ds.read())
    assert [e["image"] for e in elements] == contents
    assert [int(e["n"]) for e in elements] == [0, 1, 2, 3, 4]
    assert elements[3]["label"] == "b" and elements[3]["path"] == "photos/1.jpg"
    shuffled = list(ds.shuffle().with_options(seed=1).read())
    assert [int(e["n"]) for e in shuffled] != [0, 1, 2, 3, 4]
    assert all(e["image"] == contents[int(e["n"])] for e in shuffled)
    assert fm.Dataset.from_yaml(ds.to_yaml()).count() == 5


def test_image_tables_resume_and_have_services(photos, service):
    ds = fm.Dataset.image_table(photos[0], column="path").shuffle().repeat(2).with_options(seed=2)
    whole = [(int(e["n"]), e["image"]) for e in ds.read()]
    with ds.read() as reader:
        next(reader)
        state = reader.state_dict()
    assert [(int(e["n"]), e["image"]) for e in ds.read(state=state)] == whole[1:]
    assert [(int(e["n"]), e["image"]) for e in ds.read(service)] == whole
    # Images that no step needs are not read.
    (photos[0].parent / "photos" / "1.jpg").write_bytes(b"")
    assert len(list(fm.Dataset.image_table(photos[0]).select("label").read())) == 5


def test_image_tables_that_do_not_fit_are_errors(photos, tmp_path):
    for make, error, message in (
        (lambda: fm.Dataset.image_table(photos[0], column="file"), "InvalidArgument", "no column"),
        (lambda: fm.Dataset.image_table(photos[0], column="n"), "InvalidArgument", "not a name"),
        (lambda: fm.Dataset.image_table(tmp_path / "none.csv"), "NotFound", "none.csv"),
        (lambda: fm.Dataset.image_table(fm.Dataset.range(3)), "InvalidArgument", "source range"),
    ):
        with pytest.raises(getattr(fm, f"{error}Error"), match=message):
            list(make().read())
    (tmp_path / "lost.csv").write_text("path\nphotos/0.jpg\nphotos/9.jpg\n")
    with pytest.raises(fm.NotFoundError, match=r"photos/9\.jpg"):
        list(fm.Dataset.image_table(tmp_path / "lost.csv").read())
    (tmp_path / "blank.csv").write_text("path,n\nphotos/0.jpg,1\n,2\n")
    with pytest.raises(fm.InvalidArgumentError, match=r'blank.csv: record 1: "path" is empty'):
        list(fm.Dataset.image_table(tmp_path / "blank.csv").read())
