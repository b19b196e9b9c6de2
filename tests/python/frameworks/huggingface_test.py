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
    assert [e["text"] for e in elements] == [text.encode() for text in ROWS["text"]]
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
    assert rows[3]["text"] == b"3" and rows[3]["matrix"] == [51.0]
    images = fm.Dataset.range(6).batch(2, drop_remainder=True).batch(3, drop_remainder=True)
    rows = images.to_hf(tmp_path / "images.arrow")
    assert np.array(rows[0]["value"]).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


def test_there_and_back(saved, tmp_path):
    back = fm.Dataset.from_hf(saved).to_hf(tmp_path / "back.arrow")
    assert back["number"][:] == ROWS["number"]
    again = fm.Dataset.from_hf(back).read()
    assert [e["vector"].tolist() for e in again] == ROWS["vector"]
