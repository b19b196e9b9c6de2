"""The recipes of examples/recipes: YAML and Python give the same batches."""

import itertools
import os
import runpy
import subprocess
import sys

import feedmill as fm
import numpy as np
import pytest
from conftest import ROOT

FOLDER = ROOT / "examples/recipes"
SHAPES = {
    "imagenet_train": {"image": (8, 3, 224, 224), "label": (8,)},
    "imagenet_validation": {"image": (8, 3, 224, 224), "label": (8,)},
    "cifar": {"image": (8, 3, 32, 32), "label": (8,)},
    "detection": {"image": (4, 3, 240, 320), "boxes": (4, 3, 4), "labels": (4, 3)},
    "two_crops": {"first": (8, 3, 96, 96), "second": (8, 3, 96, 96)},
    "clip": {"image": (4, 3, 224, 224), "ids": (4, 77)},
    "pretrain": {"ids": (4, 128), "segment_ids": (4, 128), "positions": (4, 128)},
    "sft": {"ids": (2, 1024), "loss": (2, 1024), "segment_ids": (2, 1024)},
    "preferences": {"chosen": None, "rejected_loss": None},
}
TOKENS = {"clip", "pretrain", "sft", "preferences"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    subprocess.run([sys.executable, FOLDER / "make_data.py"], cwd=folder, check=True)
    return folder


def test_all_recipes_are_tested():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_a_recipe(data, monkeypatch, capsys, name):
    if name in TOKENS and not os.environ.get("FEEDMILL_TOKENIZER_PLUGIN"):
        pytest.skip("libfeedmill_tokenizers.so is not built")
    monkeypatch.chdir(data)
    for kind in (".yaml", ".py"):
        assert len((FOLDER / (name + kind)).read_text().splitlines()) <= 30
    from_python = runpy.run_path(str(FOLDER / f"{name}.py"))["data"]
    assert capsys.readouterr().out
    from_yaml = fm.Dataset.from_yaml((FOLDER / f"{name}.yaml").read_text())
    found = 0
    for one, other in itertools.islice(zip(from_yaml.read(), from_python.read(), strict=True), 5):
        found += 1
        for component, shape in SHAPES[name].items():
            assert found > 1 or shape is None or one[component].shape == shape
        for component in one.keys() & other.keys():
            np.testing.assert_array_equal(one[component], other[component])
    assert found > 0


def test_ranks_continue_where_they_stopped(data, monkeypatch):
    if not os.environ.get("FEEDMILL_TOKENIZER_PLUGIN"):
        pytest.skip("libfeedmill_tokenizers.so is not built")
    monkeypatch.chdir(data)
    pretrain = runpy.run_path(str(FOLDER / "pretrain.py"))
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        states = [None, None]
        parts = [pretrain["rows"](dispatcher.target, states, 2) for _ in range(3)]
    for rank in (0, 1):
        resumed = [row for part in parts for batch in part[rank] for row in batch]
        at_once = pretrain["data"].read(rank=rank, ranks=2)
        assert resumed == [row for _ in range(6) for row in next(at_once)["ids"].tolist()]
        at_once.close()


def test_boxes_move_with_their_images(data, monkeypatch):
    monkeypatch.chdir(data)
    for batch in fm.Dataset.from_yaml((FOLDER / "detection.yaml").read_text()).read():
        for image, boxes, labels in zip(
            batch["image"], batch["boxes"], batch["labels"], strict=True
        ):
            # The white pixels are those in the boxes, but for slim edges of turned boxes.
            white = image.min(0) > 200
            inside = np.zeros_like(white)
            for x1, y1, x2, y2 in boxes[labels >= 0].round().astype(int):
                assert 0 <= x1 < x2 <= 320 and 0 <= y1 < y2 <= 240
                assert white[(y1 + y2) // 2, (x1 + x2) // 2]
                inside[max(y1 - 3, 0) : y2 + 3, max(x1 - 3, 0) : x2 + 3] = True
            assert not (white & ~inside).any()
            assert white.sum() > 0.5 * inside.sum()
