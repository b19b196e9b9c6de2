"""Readers hand out NumPy arrays over the memory in which elements came."""

import gc
import sys
import weakref

import feedmill as fm
import numpy as np
import pytest
from feedmill._array_alias import writable_alias


def address(array):
    return array.__array_interface__["data"][0]


def wide(rows=64, width=4096):
    """Elements of `width` float64, which come as columns of one chunk."""
    return fm.Dataset.range(rows).map(
        wide=f"full([{width}], 1.0) * x", small="cast(full([3], 2), int8)"
    )


@pytest.mark.parametrize("through_service", [False, True])
def test_an_array_is_the_memory_of_the_chunk(through_service, service):
    reader = wide().read(service if through_service else None)
    row = 0
    for number, element in enumerate(reader):
        wide_at, small_at = reader._native.addresses()
        # The row within the chunk: a chunk's first element is at its address.
        row = 0 if address(element["wide"]) == wide_at else row + 1
        assert address(element["wide"]) == wide_at + row * 4096 * 8
        assert address(element["small"]) == small_at + row * 3
        assert np.all(element["wide"] == number)
    assert number == 63


def test_arrays_are_read_only():
    element = next(wide().read())
    for array in element.values():
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_arrays_outlive_their_reader(service):
    for target in (None, service):
        reader = wide().read(target)
        arrays = [element["wide"] for element in reader]
        reader.close()
        del reader
        gc.collect()
        for number, array in enumerate(arrays):
            assert np.all(array == number)


def test_memory_goes_with_the_last_array():
    element = next(iter(wide().read()))
    owner = element["wide"]
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    watched = weakref.ref(owner)
    part = element["wide"][10:20]
    del element, owner
    gc.collect()
    assert watched() is not None or part.base is not None
    np.testing.assert_array_equal(part, np.zeros(10))


def test_every_dtype_has_the_type_of_numpy():
    names = ["bool", "float32", "float64"]
    names += [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    dataset = fm.Dataset.range(2, 8).map({name: f"cast(x, {name})" for name in names})
    for element in dataset.read():
        for name in names:
            assert type(element[name]) is np.dtype(name).type
    for batch in dataset.batch(3).read():
        for name in names:
            assert batch[name].dtype == np.dtype(name)
            assert batch[name].dtype.char == np.dtype(name).char
            assert batch[name].flags.c_contiguous


class LegacyImporter:
    """Takes an array as libraries before DLPack 1.0 do: without a version."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__()


def test_both_protocols_of_dlpack_take_an_alias_without_a_copy():
    array = next(wide().read())["wide"]
    alias = writable_alias(array)
    assert alias.ctypes.data == array.ctypes.data
    for imported in (np.from_dlpack(alias), np.from_dlpack(LegacyImporter(alias))):
        assert imported.ctypes.data == array.ctypes.data
        np.testing.assert_array_equal(imported, array)
    before = sys.getrefcount(array)
    del alias, imported
    gc.collect()
    assert sys.getrefcount(array) < before
    assert not array.flags.writeable
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":  # it can say that memory is read-only
        assert np.from_dlpack(array).ctypes.data == array.ctypes.data
    with pytest.raises(BufferError):
        array.__dlpack__()


def test_one_unnamed_component_is_bare():
    assert type(next(fm.Dataset.range(3).read())) is np.int64
    batch = next(fm.Dataset.range(3).batch(2).read())
    assert isinstance(batch, np.ndarray)


def test_byte_strings(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\x00two\n\n")
    dataset = fm.Dataset.text(tmp_path / "a.txt")
    assert list(dataset.read()) == [b"one", b"\xff\x00two", b""]
    batch = next(dataset.batch(2).read())
    assert batch.dtype == object
    assert batch.tolist() == [b"one", b"\xff\x00two"]
    assert not batch.flags.writeable
    square = next(fm.Dataset.range(1).map("[['a', 'b'], ['c', 'd']]").read())
    assert square.tolist() == [["a", "b"], ["c", "d"]]


def test_elements_of_different_shapes():
    dataset = fm.Dataset.range(5).map(
        words="split(to_string(x * 37), '1')", part="decode_raw(to_string(10 ** x), uint8)"
    )
    elements = list(dataset.read())
    assert [len(element["part"]) for element in elements] == [1, 2, 3, 4, 5]
    assert elements[3]["words"].tolist() == ["", "", "", ""]
    parts, words = [], []
    for chunk in dataset.read().chunks():
        parts += list(chunk["part"])
        words += list(chunk["words"])
    for element, part, word in zip(elements, parts, words, strict=True):
        np.testing.assert_array_equal(element["part"], part)
        assert element["words"].tolist() == word.tolist()


def test_elements_without_items():
    (element,) = fm.Dataset.range(1).map("split(substr('a', x, x))").read()
    assert element.shape == (0,)
    (element,) = fm.Dataset.range(1).map("decode_raw(substr('a', x, x), float32)").read()
    assert (element.shape, element.dtype) == ((0,), np.float32)


def test_names_that_are_not_ascii():
    (element,) = fm.Dataset.range(1).map({"größe/x y": "x"}).read()
    assert element == {"größe/x y": 0}


def test_chunks_are_views_with_a_first_axis():
    total = 0
    for chunk in wide().read().chunks():
        assert chunk["wide"].shape[1:] == (4096,)
        assert not chunk["wide"].flags.writeable
        total += len(chunk["small"])
    assert total == 64


def test_chunks_continue_where_elements_stopped():
    reader = fm.Dataset.range(1000).read()
    first = [int(next(reader)) for _ in range(7)]
    rest = np.concatenate(list(reader.chunks()))
    assert [*first, *rest.tolist()] == list(range(1000))


def test_elements_continue_after_a_break():
    reader = fm.Dataset.range(10).read()
    for element in reader:
        if element == 3:
            break
    assert [int(x) for x in reader] == [4, 5, 6, 7, 8, 9]
    assert list(reader) == []
    with pytest.raises(StopIteration):
        next(reader)


def test_a_reader_knows_its_length_where_the_plan_does(service):
    dataset = fm.Dataset.range(100).shuffle(seed=1).batch(3).repeat(2)
    for target in (None, service):
        reader = dataset.read(target)
        assert len(reader) == 68
        assert len(list(reader)) == 68
        assert len(reader) == 68
        assert len(dataset.read(target, rank=1, ranks=4, job="j")) == 17
    state = dataset.read(seed=1).state_dict()
    assert len(dataset.read(state=state)) == 68
    for unknown in (dataset.repeat(), fm.Dataset.range(9).filter("x > 3")):
        reader = unknown.read()
        assert reader
        with pytest.raises(fm.UnknownLengthError, match="reading"):
            len(reader)
    assert len(list(fm.Dataset.range(9).filter("x > 3").read())) == 5


def test_memory_does_not_grow():
    """No object is kept for a reader or an element that is gone."""
    dataset = fm.Dataset.range(2000).map(a="x", b="to_string(x)").batch(10)

    def objects():
        gc.collect()
        return len(gc.get_objects())

    for _ in dataset.read():
        pass
    before = objects()
    for _ in range(20):
        for _ in dataset.read():
            pass
    assert objects() - before < 50
