"""Python gives what the command gives: the order hashes are the same."""

import json
import shutil
import sys

import feedmill as fm
import pytest
from conftest import ROOT
from order_hash import order_hash

sys.path.insert(0, str(ROOT / "tests/shell"))
import pages_test

PAGES = sorted(ROOT.glob("docs/semantics/*.md"))


def summary_of(path, command, *flags):
    return json.loads(command("read", path, "--local", "--format", "summary", *flags))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_the_pages_give_the_same_order_hash(page, tmp_path, command):
    for example in pages_test.examples(page, tmp_path):
        path = example.pipeline
        dataset = fm.Dataset.from_yaml(path)
        if example.stderr:
            with pytest.raises(fm.Error):
                list(dataset.read())
            continue
        expected = summary_of(path, command)
        assert order_hash(dataset.read()) == (expected["elements"], expected["order_hash"])
        written = fm.Dataset.from_yaml(dataset.to_yaml())
        assert written == dataset
        assert order_hash(written.read())[1] == expected["order_hash"]


@pytest.fixture
def photos(tmp_path):
    for number, photo in enumerate(sorted((ROOT / "tests/shell/data").glob("*.jpg")) * 3):
        folder = tmp_path / "photos" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(photo, folder / f"{number}.jpg")
    return tmp_path / "photos"


def test_photographs(photos, tmp_path, summary):
    dataset = (
        fm.Dataset.images(photos / "*/*.jpg")
        .shuffle(seed=7)
        .decode_image()
        .resize(height=12, width=16)
        .random_flip()
        .map(lambda e: {"image": e.image / 255, "label": e.label})
        .batch(4)
        .repeat(2)
        .with_options(seed=3)
    )
    expected = summary(dataset, tmp_path)
    assert expected["elements"] == 8
    assert order_hash(dataset.read()) == (8, expected["order_hash"])


def test_a_long_read_of_many_dtypes(tmp_path, summary):
    dataset = fm.Dataset.range(20000).map(
        flag=lambda x: x % 2 == 0,
        small=lambda x: x.astype("int8"),
        short="cast(x, uint16)",
        half="cast(x, float32) / 3",
        text="to_string(x)",
        words="split(to_string(x), '1')",
        vector="[x, x + 1, x + 2]",
        huge="cast(x, uint64) * 123456789012345",
    )
    dataset = dataset.filter("short % 7 != 3").shuffle(window=100).with_options(seed=11)
    expected = summary(dataset, tmp_path)
    assert order_hash(dataset.read()) == (expected["elements"], expected["order_hash"])


def test_epochs_and_ranks_equal_the_commands(tmp_path, summary):
    dataset = fm.Dataset.range(1000).shuffle().batch(7).with_options(seed=5)
    expected = summary(dataset, tmp_path, "--epoch", "3", "--consumer", "1/4")
    read = dataset.read(epoch=3, rank=1, ranks=4)
    assert order_hash(read) == (expected["elements"], expected["order_hash"])
    assert (read.epoch, read.seed) == (3, 5)


def test_a_service_gives_the_same(service, tmp_path, summary):
    dataset = fm.Dataset.range(50000).map("x * x").filter("x % 3 != 1").shuffle().batch(64)
    dataset = dataset.with_options(seed=5)
    expected = summary(dataset, tmp_path)
    for transport in ("auto", "tcp", "dispatcher"):
        with dataset.read(service, transport=transport) as reader:
            assert order_hash(reader) == (expected["elements"], expected["order_hash"])


def test_chunks_have_the_same_elements_in_the_same_order():
    dataset = fm.Dataset.range(10000).map(x="x * 3", root="sqrt(x)")
    elements = iter(dataset.read())
    count = 0
    for chunk in dataset.read().chunks():
        for x, root in zip(chunk["x"], chunk["root"], strict=True):
            assert next(elements) == {"x": x, "root": root}
            count += 1
    assert count == 10000
