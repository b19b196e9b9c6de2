"""Datasets of Hugging Face, from and to their Arrow files."""

import datasets
import feedmill as fm
import numpy as np
import pytest

ROWS = {
    "text": [f"line {k}" for k in range(50)],
    "number": list(range(50)),
    "vector": [[float(k), 0.5] for k in range(50)],
}


@pytest.fixture
def saved(tmp_path):
    datasets.Dataset.from_dict(ROWS).save_to_disk(tmp_path / "saved", num_shards=3)
    return datasets.load_from_disk(tmp_path / "saved")


def test_the_rows_of_a_dataset(saved):
    elements = list(fm.Dataset.from_hf(saved).read())
    assert [e["text"] for e in elements] == ROWS["text"]
    assert [int(e["number"]) for e in elements] == ROWS["number"]
    assert [e["vector"].tolist() for e in elements] == ROWS["vector"]
    numbers = fm.Dataset.from_hf(saved, columns=["number"]).shuffle().batch(50)
    assert sorted(next(numbers.read())["number"]) == ROWS["number"]


def test_rows_as_views_of_the_files(saved):
    dataset = fm.Dataset.from_hf(saved, memory_map=True)
    assert "memory_map: true" in dataset.to_yaml()
    assert [e["vector"].tolist() for e in dataset.read()] == ROWS["vector"]


def test_some_columns_of_a_dataset(saved):
    dataset = fm.Dataset.from_hf(saved.select_columns(["number"]))
    assert list(dataset.element_spec) == ["number"]


def plain(element):
    def of(value):
        return value.decode() if isinstance(value, bytes) else np.asarray(value).tolist()

    return {name: of(value) for name, value in element.items()}


def test_the_columns_of_a_format(saved):
    chosen = saved.with_format("numpy", columns=["number"])
    assert list(fm.Dataset.from_hf(chosen).element_spec) == ["number"]
    every = saved.with_format("numpy", columns=["number"], output_all_columns=True)
    assert list(fm.Dataset.from_hf(every).element_spec) == list(ROWS)
    assert list(fm.Dataset.from_hf(chosen, columns=["text"]).element_spec) == ["text"]


@pytest.fixture
def parts(tmp_path):
    """Two datasets of the same columns, in files of their own."""
    for part, values in {"a": range(3), "b": range(3, 5)}.items():
        columns = {
            "text": [f"line {k}" for k in values],
            "other": [f"more {k}" for k in values],
            "label": list(values),
            "label_id": [k + 70 for k in values],
            "struct": [{"x": k} for k in values],
            "list": [[k] * k for k in values],
            "bytes": [{"bytes": b"%d" % k, "path": None} for k in values],
        }
        rows = datasets.Dataset.from_dict(columns).cast_column("bytes", datasets.Image())
        rows.save_to_disk(tmp_path / part)
    return [datasets.load_from_disk(tmp_path / part) for part in "ab"]


def replaced(rows, **names):
    return rows.remove_columns(list(names.values())).rename_columns(names)


RENAMED = {
    "one": lambda a, b: a.rename_column("text", "line"),
    "another, removed before": lambda a, b: replaced(a, label_id="label"),
    "two that are swapped": lambda a, b: a.rename_columns(
        {"label": "label_id", "label_id": "label"}
    ),
    "texts that are swapped": lambda a, b: a.rename_columns({"text": "other", "other": "text"}),
    "one that was removed and added": lambda a, b: a.remove_columns("text").add_column(
        "text", ["x"] * len(a)
    ),
    "of all parts": lambda a, b: datasets.concatenate_datasets(
        [replaced(a, label_id="label"), replaced(b, label_id="label")]
    ),
    "of one part": lambda a, b: datasets.concatenate_datasets(
        [
            replaced(a, label_id="label").select_columns(["label"]),
            b.select_columns(["label"]),
        ]
    ),
    "of the second part": lambda a, b: datasets.concatenate_datasets(
        [a.select_columns(["label"]), replaced(b, label_id="label").select_columns(["label"])]
    ),
    "beside": lambda a, b: datasets.concatenate_datasets(
        [a.select_columns(["text"]), replaced(a, label_id="label").select_columns(["label"])],
        axis=1,
    ),
    "cast where it is read": lambda a, b: a.cast_column("text", datasets.Image()),
}


@pytest.mark.parametrize("name", RENAMED)
def test_no_column_is_taken_for_another(name, parts):
    dataset = RENAMED[name](*parts)
    with pytest.raises(fm.InvalidArgumentError, match=r"renamed|in memory|a part of"):
        fm.Dataset.from_hf(dataset)


def test_columns_beside_a_renamed_one_can_be_read(parts):
    dataset = parts[0].rename_column("text", "line")
    rows = fm.Dataset.from_hf(dataset, columns=["label", "list"]).read()
    assert [plain(row) for row in rows] == [{"label": k, "list": [k] * k} for k in range(3)]


SAME = {
    "as it is": lambda a, b: a,
    "fewer": lambda a, b: a.remove_columns("label"),
    "in another order": lambda a, b: a.select_columns(["other", "text"]),
    "renamed and back": lambda a, b: a.rename_column("text", "t").rename_column("t", "text"),
    "both": lambda a, b: datasets.concatenate_datasets([a, b]),
    "the other way": lambda a, b: datasets.concatenate_datasets([b, a]),
    "written again": lambda a, b: replaced(a, label_id="label").map(lambda row: row),
    "of other names": lambda a, b: a.cast_column("label", datasets.ClassLabel(num_classes=9)),
    "not decoded": lambda a, b: a.cast_column("bytes", datasets.Image(decode=False)),
}


@pytest.mark.parametrize("name", SAME)
def test_the_columns_equal_the_datasets(name, parts):
    dataset = SAME[name](*parts)
    columns = [n for n in dataset.column_names if n not in ("struct", "bytes")]
    rows = fm.Dataset.from_hf(dataset, columns=columns).read()
    expected = [plain(row) for row in dataset.select_columns(columns)]
    assert [plain(row) for row in rows] == expected
    assert fm.Dataset.from_hf(dataset)


def test_a_column_that_the_dataset_does_not_have(parts):
    with pytest.raises(fm.InvalidArgumentError, match="no column 'label'; it has text"):
        fm.Dataset.from_hf(parts[0].remove_columns("label"), columns=["label"])
    with pytest.raises(fm.InvalidArgumentError, match="with_transform"):
        fm.Dataset.from_hf(parts[0].with_transform(lambda rows: rows))


def test_a_flattened_choice_of_rows(saved, tmp_path):
    chosen = saved.filter(lambda row: row["number"] % 2 == 0).shuffle(seed=1)
    with pytest.raises(fm.InvalidArgumentError, match="flatten_indices"):
        fm.Dataset.from_hf(chosen)
    flat = chosen.flatten_indices(cache_file_name=str(tmp_path / "flat.arrow"))
    got = [int(e["number"]) for e in fm.Dataset.from_hf(flat).read()]
    assert got == chosen["number"][:]


def test_datasets_whose_files_are_not_they(saved):
    with pytest.raises(fm.InvalidArgumentError, match="in memory"):
        fm.Dataset.from_hf(datasets.Dataset.from_dict(ROWS))
    with pytest.raises(fm.InvalidArgumentError, match="renamed"):
        fm.Dataset.from_hf(saved.rename_column("text", "line"))
    with pytest.raises(fm.InvalidArgumentError, match="splits: train"):
        fm.Dataset.from_hf(datasets.DatasetDict(train=saved))
    with pytest.raises(fm.InvalidArgumentError, match="found list"):
        fm.Dataset.from_hf([1, 2])
    part = datasets.Dataset(saved.data.slice(0, 10))
    with pytest.raises(fm.InvalidArgumentError, match="a part of them"):
        fm.Dataset.from_hf(part)


def test_elements_as_a_dataset(tmp_path):
    dataset = fm.Dataset.range(6).map(
        n="x", text="to_string(x)", matrix="decode_raw(to_string(x), uint8) * 1.0"
    )
    rows = dataset.to_hf(tmp_path / "rows.arrow")
    assert rows["n"][:] == list(range(6))
    assert rows[3]["text"] == "3" and rows[3]["matrix"] == [51.0]
    images = fm.Dataset.range(6).batch(2, drop_remainder=True).batch(3, drop_remainder=True)
    rows = images.to_hf(tmp_path / "images.arrow")
    assert np.array(rows[0]["value"]).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_there_and_back(saved, tmp_path):
    back = fm.Dataset.from_hf(saved).to_hf(tmp_path / "back.arrow")
    assert back["number"][:] == ROWS["number"]
    again = fm.Dataset.from_hf(back).read()
    assert [e["vector"].tolist() for e in again] == ROWS["vector"]
