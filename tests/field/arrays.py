#!/usr/bin/env python3
"""Array files as people have them, read by feedmill and by NumPy.

    tests/field/arrays.py --binary build/release/bin/feedmill [TEST …]"""
import io
import struct
import zipfile

import numpy as np

from field_case import equal, main


def npz(feedmill, name, members, compressed=()):
    """Writes a .npz, with these members compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member, value in members.items():
            data = io.BytesIO()
            if isinstance(value, bytes):
                data.write(value)
                file = member
            else:
                np.save(data, value, allow_pickle=True)
                file = member + ".npy"
            method = zipfile.ZIP_DEFLATED if member in compressed else zipfile.ZIP_STORED
            archive.writestr(file, data.getvalue(), method)
    return feedmill.write(name, out.getvalue())


def npz_members_nothing_needs(feedmill):
    x = np.arange(24, dtype="f4").reshape(4, 3, 2)
    y = np.arange(4) * 10
    odd = {"objects": np.array([{"a": 1}, None, 2, 3], dtype=object), "fortran": np.asfortranarray(np.ones((4, 3))),
           "big_endian": np.arange(4, dtype=">i4"), "complex": np.arange(4, dtype="c8"),
           "texts": np.array(list("abcd")), "scalar": np.array(2.0), "other_rows": np.arange(7),
           "not_npy": b"some text", "structured": np.zeros(4, "i4,f8")}
    fields = 'fields: {x: "float32[3,2]", y: int64}'
    for name, value in odd.items():
        path = npz(feedmill, f"{name}.npz", {"x": x, name: value, "y": y})
        with np.load(path) as loaded:
            want = [{"x": a.tolist(), "y": b} for a, b in zip(loaded["x"], loaded["y"].tolist())]
        source = f"{{npy: {{files: {name}.npz, {fields}}}}}"
        equal(feedmill.read(source), want)
        equal(sorted(feedmill.read(source, "steps: [shuffle]"), key=str), sorted(want, key=str))
        # Without `fields` all are needed.
        feedmill.refused(f"{{npy: {{files: {name}.npz}}}}", f"{name}.npz", name)
    # A compressed one.
    npz(feedmill, "packed.npz", {"x": x, "packed": y, "y": y}, compressed=["packed"])
    equal(feedmill.read(f"{{npy: {{files: packed.npz, {fields}}}}}"),
          [{"x": a.tolist(), "y": b} for a, b in zip(x, y.tolist())])
    feedmill.refused("{npy: {files: packed.npz}}", "packed.npz: packed.npy", "compressed", "numpy.savez", "fields")


def npz_members_that_are_needed(feedmill):
    x = np.arange(12, dtype="f4").reshape(4, 3)
    cases = {"packed": (x, "compressed"), "fortran": (np.asfortranarray(x), "Fortran"),
             "objects": (np.array([1, None, "a", 2], dtype=object), "dtype"), "scalar": (np.array(1.5), "single value"),
             "big": (x.astype(">f4"), "dtype")}
    for name, (value, part) in cases.items():
        npz(feedmill, f"{name}.npz", {"x": x, name: value}, compressed=["packed"])
        source = f'{{npy: {{files: {name}.npz, fields: {{x: "float32[3]", {name}: "float32[3]"}}}}}}'
        feedmill.refused(source, f"{name}.npz: {name}.npy", part)
    npz(feedmill, "missing.npz", {"x": x})
    feedmill.refused('{npy: {files: missing.npz, fields: {x: "float32[3]", y: int64}}}', "missing.npz", '"y"', '"x"')
    # Python 2 writes long integers.
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4L, 3L), }\n"
    path = feedmill.write("long.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + x.tobytes())
    equal(feedmill.read("{npy: {files: long.npy}}"), np.load(path, allow_pickle=False).tolist())


TESTS = [npz_members_nothing_needs, npz_members_that_are_needed]


if __name__ == "__main__":
    main(__doc__, TESTS)
