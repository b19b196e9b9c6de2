"""Arrow files with memory_map: arrays are views of the mapped file."""

import gc
import os

import feedmill as fm
import numpy as np
import pyarrow as pa
import pytest

ROWS = 4000
GROUP = 1000


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "table.arrow"
    table = pa.table(
        {
            "row": range(ROWS),
            "image": pa.array([[k % 256] * 900 for k in range(ROWS)], pa.list_(pa.uint8(), 900)),
            "blob": [bytes([k % 256]) * (100 + k % 5) for k in range(ROWS)],
        }
    )
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=GROUP)
    return file


def mapped_ranges(path):
    """Addresses at which this process has mapped the file."""
    ranges = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(os.fspath(path)):
                begin, end = line.split()[0].split("-")
                ranges.append(range(int(begin, 16), int(end, 16)))
    return ranges


def is_mapped(array, path):
    first = array.__array_interface__["data"][0]
    return any(first in r and first + array.nbytes - 1 in r for r in mapped_ranges(path))


def test_elements_and_batches_are_views(path):
    dataset = fm.Dataset.arrow(path, memory_map=True)
    for number, element in enumerate(dataset.read()):
        assert is_mapped(element["image"], path)
        assert (element["row"], element["image"][899]) == (number, number % 256)
        assert element["blob"] == bytes([number % 256]) * (100 + number % 5)
    assert number == ROWS - 1
    columns = fm.Dataset.arrow(path, columns=["row", "image"], memory_map=True)
    for number, batch in enumerate(columns.batch(100).read()):
        assert is_mapped(batch["image"], path)
        assert is_mapped(batch["row"], path)
        np.testing.assert_array_equal(batch["row"], np.arange(100) + 100 * number)
        np.testing.assert_array_equal(batch["image"][:, 7], batch["row"] % 256)
    assert number == ROWS // 100 - 1


@pytest.mark.parametrize("skipped", [GROUP - 1, GROUP - 31, 2 * GROUP + 950])
def test_the_last_rows_of_a_record_batch_are_views(path, skipped):
    """Pieces of a read end at any row, as time passes; skip makes one begin near the end."""
    dataset = fm.Dataset.arrow(path, memory_map=True).skip(skipped)
    for number, element in enumerate(dataset.take(600).read(), skipped):
        assert is_mapped(element["image"], path)
        assert (element["row"], element["image"][899]) == (number, number % 256)
    assert number == skipped + 599


def test_a_batch_of_two_record_batches_is_a_copy(path):
    columns = fm.Dataset.arrow(path, columns=["row", "image"], memory_map=True)
    copies = []
    for number, batch in enumerate(columns.batch(300).read()):
        if not is_mapped(batch["image"], path):
            copies.append(number)
        np.testing.assert_array_equal(
            batch["row"], np.arange(300 * number, min(300 * (number + 1), ROWS))
        )
        np.testing.assert_array_equal(batch["image"][:, 7], batch["row"] % 256)
    assert copies == [3, 6]


def test_the_file_is_mapped_as_long_as_a_view_lives(path):
    reader = fm.Dataset.arrow(path, memory_map=True).read()
    image = next(reader)["image"]
    reader.close()
    del reader
    gc.collect()
    assert is_mapped(image, path)
    assert np.all(image == 0)
    del image
    gc.collect()
    assert mapped_ranges(path) == []


def test_without_memory_map_nothing_is_mapped(path):
    for element in fm.Dataset.arrow(path).take(10).read():
        assert not is_mapped(element["image"], path)
