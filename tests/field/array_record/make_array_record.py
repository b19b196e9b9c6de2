#!/usr/bin/env python3
"""Writes the ArrayRecord files of this folder, compressed by gzip because of
their padding, and the records that are in them, with Google's own package. The
files are committed; this program needs `pip install array-record` (0.8.6 made
them).

    tests/field/array_record/make_array_record.py FOLDER"""
import gzip
import json
import pathlib
import random
import sys
import tempfile

from array_record.python import array_record_module

# Name, options of the writer, number of records, and their largest size.
FILES = [
    ("one", "group_size:1", 40, 60),
    ("groups", "group_size:7", 60, 50),
    ("uncompressed", "group_size:5,uncompressed", 23, 40),
    ("brotli", "group_size:4,brotli:6", 23, 40),
    ("window", "group_size:9,brotli:6,window_log:26", 23, 40),
    ("snappy", "group_size:4,snappy", 23, 40),
    ("padded", "group_size:2,pad_to_block_boundary:true", 5, 30),
    ("blocks", "group_size:3,uncompressed", 25, 25_000),
    ("blocks_one", "group_size:1,zstd:19", 25, 25_000),
    ("long", "group_size:1,uncompressed", 2, 300_000),
    ("empty_records", "group_size:64", 200, 0),
    ("none", "", 0, 0),
    ("transposed", "group_size:4,transpose:true", 23, 40),
]


def record(name, k, most):
    chance = random.Random(f"{name} {k}")
    size = chance.randrange(most + 1)
    if size > 1000:  # so that files stay small
        return bytes([65 + k % 26]) * size
    return bytes(chance.choice(b"abcdefgh") for _ in range(size))


def main(folder):
    for name, options, count, most in FILES:
        with tempfile.TemporaryDirectory() as temporary:
            path = f"{temporary}/{name}"
            writer = array_record_module.ArrayRecordWriter(path, options)
            for k in range(count):
                writer.write(record(name, k, most))
            writer.close()
            reader = array_record_module.ArrayRecordReader(path)
            records = reader.read_all() if count > 0 else []
            reader.close()
            data = pathlib.Path(path).read_bytes()
        (folder / f"{name}.array_record.gz").write_bytes(gzip.compress(data, 9, mtime=0))
        rows = json.dumps([one.decode("latin-1") for one in records])
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(rows.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
