"""The files that the examples of docstrings and of the documentation's pages read."""

import gzip
import io
import json
import pathlib
import shutil
import sys
import tarfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "shell/lib"))
from make_data import tfrecord

ROOT = pathlib.Path(__file__).resolve().parents[2]

HOUSES = [(2, 70.5, 210000), (1, 33.0, 95000), (4, 140.0, 410000), (3, 66.0, 199000)]


def make_photos(folder):
    """Makes the folder photos: six photographs of two classes."""
    for number in range(6):
        photo = folder / "photos" / ("cat", "dog")[number % 2] / f"{number}.jpg"
        photo.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / f"tests/shell/data/{number % 4}.jpg", photo)


def make_files(folder):
    """Makes all files of the examples."""
    make_photos(folder)
    (folder / "notes.txt").write_text("first line\nsecond line\nthird line\n")
    (folder / "records.bin").write_bytes(b"headaaaabbbbcccc")
    rows = [dict(zip(("rooms", "area", "price"), house, strict=True)) for house in HOUSES]
    (folder / "houses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = ["rooms,area,price", *(",".join(map(str, house)) for house in HOUSES)]
    (folder / "houses.csv").write_text("\n".join(lines) + "\n")
    np.save(folder / "points.npy", np.arange(6.0).reshape(3, 2))
    shutil.copytree(ROOT / "tests/field/mds/plain", folder / "mds")
    shutil.copy(ROOT / "tests/fuzz/corpus/lmdb/few", folder / "entries.lmdb")
    words = (ROOT / "tests/field/array_record/one.array_record.gz").read_bytes()
    (folder / "words.array_record").write_bytes(gzip.decompress(words))
    shutil.copy(ROOT / "tests/unit/ops/pieces_unigram.model", folder / "pieces.model")
    (folder / "examples.tfrecord").write_bytes(
        b"".join(tfrecord(example(label=k, text=b"text %d" % k)) for k in range(3))
    )
    (folder / "sequences.tfrecord").write_bytes(tfrecord(sequence_example(label=7, steps=[1, 2])))
    with tarfile.open(folder / "digits.tar", "w") as tar:
        for key in range(3):
            for extension, content in (("txt", f"digit {key}"), ("cls", str(key))):
                member = tarfile.TarInfo(f"{key:03}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))


# ---- tf.train.Example, whose lengths and numbers are below 128 here


def message(*fields):
    return b"".join(bytes([number << 3 | 2, len(data)]) + data for number, data in fields)


def feature(value):
    if isinstance(value, bytes):
        return message((1, message((1, value))))
    return message((3, message((1, bytes([value])))))


def features(named):
    return message(
        *((1, message((1, name.encode()), (2, feature(value)))) for name, value in named.items())
    )


def example(**named):
    return message((1, features(named)))


def sequence_example(steps, **context):
    listed = message(*((1, feature(step)) for step in steps))
    lists = message((1, message((1, b"steps"), (2, listed))))
    return message((1, features(context)), (2, lists))
