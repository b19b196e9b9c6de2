#!/usr/bin/env python3
"""Writes the MDS data sets of this folder, and what is in them, with MosaicML
Streaming itself. The files are committed; this program needs
`pip install mosaicml-streaming` (0.13.0 made them).

    tests/field/mds/make_mds.py FOLDER"""
import json
import pathlib
import sys

import numpy as np
from PIL import Image
from streaming.base.format.mds.encodings import mds_decode
from streaming.base.format.mds.writer import MDSWriter

COLUMNS = {
    "bytes": "bytes", "str": "str", "int": "int", "json": "json",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "f32": "float32", "f64": "float64",
    "str_int": "str_int", "str_float": "str_float",
    "fixed": "ndarray:float32:2,3", "half": "ndarray:float16:4", "rows": "ndarray:int16", "any": "ndarray",
    "image": "pil", "png": "png",
}


def sample(k):
    random = np.random.default_rng(k)
    image = Image.fromarray(random.integers(0, 256, (k % 3 + 1, 2, 3), dtype=np.uint8))
    return {
        "bytes": bytes([k, 65, 0, 66]) * (k % 4), "str": "größe " * (k % 5), "int": k * 10**12 - 5,
        "json": {"k": [k, None, "x"]}, "u8": k, "u16": 60000 + k, "u32": 4 * 10**9 + k, "u64": 2**64 - 1 - k,
        "i8": -k, "i16": -30000 - k, "i32": -2 * 10**9 - k, "i64": -2**62 - k,
        "f16": np.float16(k / 3), "f32": np.float32(k / 7), "f64": k / 11,
        "str_int": k - 20, "str_float": k * 0.1,
        "fixed": random.random((2, 3), dtype=np.float32), "half": (random.random(4) * 100).astype(np.float16),
        "rows": random.integers(-9, 9, (k % 4 + 1, k % 2 + 1), dtype=np.int16),
        "any": random.random((k % 3 + 1,)), "image": image, "png": image,
    }


def plain(value):
    """A value as feedmill's jsonl has it."""
    if isinstance(value, Image.Image):
        return np.asarray(value).tolist()
    if isinstance(value, np.ndarray):
        if value.dtype in (np.float16, np.float32):
            return [plain(row) for row in value]
        return value.tolist()
    if isinstance(value, (np.float16, np.float32)):
        return float(str(value))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return json.dumps(value)
    return value


def main(folder):
    for name, compression, count in (("plain", None, 40), ("zstd", "zstd:7", 9), ("gz", "gz", 9), ("bz2", "bz2:9", 9)):
        out = folder / name
        with MDSWriter(columns=COLUMNS, out=str(out), compression=compression, size_limit=4096) as writer:
            for k in range(count):
                writer.write(sample(k))
        rows = [{key: plain(mds_decode(COLUMNS[key], writer_value(key, k))) for key in sorted(COLUMNS)}
                for k in range(count)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def writer_value(key, k):
    from streaming.base.format.mds.encodings import mds_encode
    return mds_encode(COLUMNS[key], sample(k)[key])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
