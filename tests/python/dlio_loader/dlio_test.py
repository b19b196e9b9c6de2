"""The data loader for DLIO: batches of each format, and a run of DLIO with two ranks."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "dlio"))

from dlio_benchmark.common.enumerations import DatasetType
from dlio_benchmark.utils.config import ConfigArguments, LoadConfig
from dlio_benchmark.utils.utility import DLIOMPI
from feedmill_loader import FeedmillDataLoader

SIDE, FILES, EACH = 100, 3, 4


@pytest.fixture(scope="module", autouse=True)
def mpi():
    DLIOMPI.get_instance().initialize()
    yield
    DLIOMPI.get_instance().finalize()


def samples_of(count):
    return np.random.default_rng(7).integers(0, 255, (count, SIDE, SIDE), dtype=np.uint8)


def write_npz(folder):
    for number, sample in enumerate(samples_of(FILES)):
        np.savez(folder / f"{number}.npz", x=sample[..., None], y=[0])
    return samples_of(FILES)


def write_jpeg(folder):
    from PIL import Image

    pixels = []
    for number, sample in enumerate(samples_of(FILES)):
        Image.fromarray(sample).save(folder / f"{number}.jpeg")
        pixels.append(np.asarray(Image.open(folder / f"{number}.jpeg")))
    return np.array(pixels)


def write_tfrecord(folder):
    import tensorflow as tf

    for number, part in enumerate(np.split(samples_of(FILES * EACH), FILES)):
        with tf.io.TFRecordWriter(str(folder / f"{number}.tfrecord")) as writer:
            for sample in part:
                image = tf.train.BytesList(value=[sample.tobytes()])
                size = tf.train.Int64List(value=[SIDE])
                feature = {
                    "image": tf.train.Feature(bytes_list=image),
                    "size": tf.train.Feature(int64_list=size),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
    return samples_of(FILES * EACH)


def write_indexed_binary(folder):
    for number, part in enumerate(np.split(samples_of(FILES * EACH), FILES)):
        part.tofile(folder / f"{number}.indexed_binary")
    return samples_of(FILES * EACH)


WRITERS = {
    "npz": write_npz,
    "jpeg": write_jpeg,
    "tfrecord": write_tfrecord,
    "indexed_binary": write_indexed_binary,
}


def loader_of(kind, folder, resized):
    ConfigArguments.reset()
    arguments = ConfigArguments.get_instance()
    config = {
        "framework": "tensorflow" if kind == "tfrecord" else "pytorch",
        "dataset": {"format": kind, "record_length": SIDE**2, "record_length_resize": resized},
        "reader": {"batch_size": 1, "read_threads": 1, "sample_shuffle": "seed"},
    }
    LoadConfig(arguments, config)
    arguments.derive_configurations(sorted(map(str, folder.iterdir())), [])
    loader = FeedmillDataLoader(arguments.format, DatasetType.TRAIN, 1)
    loader.read()
    return loader


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("side", [SIDE, 64, 150])
def test_each_epoch_has_every_sample_in_the_resized_shape(kind, side, tmp_path):
    samples = WRITERS[kind](tmp_path)
    expected = [np.resize(sample, (side, side)).tobytes() for sample in samples]
    loader = loader_of(kind, tmp_path, side**2)
    orders = []
    for _ in range(2):
        batches = list(loader.next())
        assert {batch.shape for batch in batches} == {(1, side, side)}
        orders.append([batch.tobytes() for batch in batches])
        assert sorted(orders[-1]) == sorted(expected)
    assert orders[0] != orders[1] or len(expected) == FILES  # of three there are few orders


def test_another_format_is_refused(tmp_path):
    (tmp_path / "0.csv").write_text("1\n")
    with pytest.raises(ValueError, match="feedmill_loader reads"):
        loader_of("csv", tmp_path, 0)


def test_two_ranks_of_dlio_train_through_a_service(start, tmp_path):
    data = tmp_path / "data" / "train"
    data.mkdir(parents=True)
    (data.parent / "valid").mkdir()
    write_npz(data)
    _, target = start("dispatcher")
    start("worker", "--dispatcher", target)
    settings = {
        "framework": "pytorch",
        "dataset.format": "npz",
        "dataset.data_folder": data.parent,
        "dataset.record_length": SIDE**2,
        "dataset.num_files_train": FILES,
        "dataset.num_subfolders_train": 0,
        "dataset.num_files_eval": 0,
        "reader.data_loader": "pytorch",
        "reader.data_loader_classname": "feedmill_loader.FeedmillDataLoader",
        "reader.data_loader_sampler": "iterative",
        "reader.batch_size": 1,
        "train.epochs": 2,
        "workflow.generate_data": False,
        "workflow.train": True,
        "workflow.checkpoint": False,
        "workflow.evaluation": False,
        "output.folder": tmp_path / "output",
    }
    programs = os.path.dirname(sys.executable)
    overrides = ["workload=default"]
    overrides += [f"++workload.{key}={value}" for key, value in settings.items()]
    done = subprocess.run(
        [f"{programs}/mpiexec", "-n", "2", f"{programs}/dlio_benchmark", *overrides],
        env={
            **os.environ,
            "PYTHONPATH": f"{os.environ['PYTHONPATH']}:{ROOT / 'bench' / 'dlio'}",
            "FEEDMILL_SERVICE": target,
            "DFTRACER_ENABLE": "0",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    summary = json.loads((tmp_path / "output" / "summary.json").read_text())
    assert (summary["num_accelerators"], summary["epochs"]) == (2, 2)
