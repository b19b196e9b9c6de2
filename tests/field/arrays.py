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
    odd = {"objects": np.array([{"a": 1}, None, 2, 3], dtype=object), "complex": np.arange(4, dtype="c8"),
           "scalar": np.array(2.0), "other_rows": np.arange(7), "not_npy": b"some text",
           "planes": np.zeros((4, 2), "i4,f8")}
    fields = 'fields: {x: "float32[3, 2]", y: int64}'
    for name, value in odd.items():
        path = npz(feedmill, f"{name}.npz", {"x": x, name: value, "y": y})
        with np.load(path) as loaded:
            want = [{"x": a.tolist(), "y": b} for a, b in zip(loaded["x"], loaded["y"].tolist())]
        source = f"{{npy: {{files: {name}.npz, {fields}}}}}"
        equal(feedmill.read(source), want)
        equal(sorted(feedmill.read(source, "steps: [shuffle]"), key=str), sorted(want, key=str))
        # Without `fields`, a step needs the member, or does not.
        plain = f"{{npy: {{files: {name}.npz}}}}"
        for steps in ("steps: [{map: {x: x, y: y}}]", "steps: [{map: {x: x, y: y}}, shuffle]"):
            equal(sorted(feedmill.read(plain, steps), key=str), sorted(want, key=str))
        for steps in ("", f"steps: [{{map: \"component('{name}')\"}}]", f"steps: [{{map: \"component('{name}') + 1\"}}]"):
            feedmill.refused(plain, name, fields, steps=steps)
    # The number of rows that most members have counts.
    npz(feedmill, "version.npz", {"version": np.array([3]), "x": x, "y": y})
    equal(feedmill.read("{npy: {files: version.npz}}", "steps: [{map: y}]"), y.tolist())
    feedmill.refused("{npy: {files: version.npz}}", '"version" has 1 rows', "have 4", fields)
    equal(feedmill.read("{npy: {files: version.npz, fields: {version: int64}}}"), [{"version": 3}])
    # A member that only a later file has damaged.
    npz(feedmill, "sound.npz", {"x": x, "z": y, "y": y})
    npz(feedmill, "damaged.npz", {"x": x, "z": b"some text", "y": y})
    both = "{npy: {files: [sound.npz, damaged.npz]}}"
    equal(feedmill.read(both, "steps: [{map: y}]"), [*y.tolist(), *y.tolist()])
    equal(feedmill.read_up_to_error(both, "damaged.npz: z", fields, steps="steps: [{map: z}]"), y.tolist())
    equal(feedmill.read(both, "steps: [{on_error: skip}, {map: z}]"), y.tolist())


def npz_names_that_are_two(feedmill):
    """A member b of a structured array a, beside an array a.b."""
    pairs = np.array([(1, 2), (3, 4)], dtype=[("b", "i8"), ("c", "i8")])
    npz(feedmill, "two.npz", {"a": pairs, "a.b": np.array([5, 6])})
    feedmill.refused("{npy: {files: two.npz}}", "two.npz", '"a.b"')
    feedmill.refused("{npy: {files: two.npz, fields: {a.b: int64}}}", "two.npz", '"a.b"', "rename one")
    equal(feedmill.read("{npy: {files: two.npz, fields: {a.c: int64}}}"), [{"a.c": 2}, {"a.c": 4}])


def npz_members_that_are_needed(feedmill):
    x = np.arange(12, dtype="f4").reshape(4, 3)
    cases = {"objects": (np.array([1, None, "a", 2], dtype=object), "dtype"), "scalar": (np.array(1.5), "single value")}
    for name, (value, part) in cases.items():
        npz(feedmill, f"{name}.npz", {"x": x, name: value})
        source = f'{{npy: {{files: {name}.npz, fields: {{x: "float32[3]", {name}: "float32[3]"}}}}}}'
        feedmill.refused(source, f"{name}.npz: {name}.npy", part)
    npz(feedmill, "missing.npz", {"x": x})
    feedmill.refused('{npy: {files: missing.npz, fields: {x: "float32[3]", y: int64}}}', "missing.npz", '"y"', '"x"')
    # Python 2 writes long integers.
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4L, 3L), }\n"
    path = feedmill.write("long.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + x.tobytes())
    equal(feedmill.read("{npy: {files: long.npy}}"), np.load(path, allow_pickle=False).tolist())


def values(array):
    """The rows of an array as feedmill's jsonl has them."""
    def plain(value):
        if isinstance(value, np.ndarray):
            return [plain(item) for item in value]
        if isinstance(value, bytes):
            return value.decode("latin-1")
        if isinstance(value, (np.datetime64, np.timedelta64)):
            return int(value.astype("i8"))
        if isinstance(value, np.float16) and np.isfinite(value):
            shown = [float(f"{float(value):.{digits}e}") for digits in range(5)]
            value = next((one for one in shown if np.float16(one) == value), shown[-1])
        if isinstance(value, np.float32):
            value = float(str(value))
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and value != value:
            return "NaN"
        if value in (float("inf"), float("-inf")) and isinstance(value, float):
            return "Infinity" if value > 0 else "-Infinity"
        return value
    return [plain(row) for row in array]


def same_rows(feedmill, name, want):
    """In order, shuffled, and some of them."""
    for fields in ("",):
        source = f"{{npy: {{files: {name}{fields}}}}}"
        equal(feedmill.read(source), want)
        equal(sorted(feedmill.read(source, "steps: [shuffle]"), key=str), sorted(want, key=str))
        equal(feedmill.read(source, "steps: [{skip: 3}, {take: 2}]"), want[3:5])


def npy_byte_orders_and_halves(feedmill):
    numbers = np.arange(7 * 3 * 2).reshape(7, 3, 2)
    for dtype in (">i2", ">u2", ">i4", ">u4", ">i8", ">u8", ">f4", ">f8", "<f2", ">f2", ">i1", "?"):
        for order in "CF":
            np.save(feedmill.folder / "x.npy", np.asarray(numbers - 20 if dtype[1:2] != "u" else numbers, dtype, order))
            same_rows(feedmill, "x.npy", values(np.load(feedmill.folder / "x.npy")))
    # All halves: zeros, subnormals, infinities, no numbers.
    halves = np.arange(65536, dtype="u2").view("f2")
    np.save(feedmill.folder / "halves.npy", halves)
    equal(feedmill.read("{npy: {files: halves.npy}}"), values(halves))
    dates = np.array(["2024-02-29", "1969-12-31", "NaT", "2000-01-01", "2000-01-02", "2000-01-03"], "M8[D]")
    np.save(feedmill.folder / "dates.npy", dates)
    same_rows(feedmill, "dates.npy", values(dates))
    texts = np.array(["", "größe", "日本", "a\U0001f600b", "x", "y"])
    for name, array in (("u", texts), ("bigu", texts.astype(">U7")), ("s", np.array([b"a", b"", b"b\0c", b"\0", b"d", b"e"])),
                        ("grid", np.array([["a", "bc"]] * 6))):
        np.save(feedmill.folder / f"{name}.npy", array)
        same_rows(feedmill, f"{name}.npy", values(array))


def npy_time_units(feedmill):
    """Times of files in different units are an error that names both, and not other numbers."""
    day = np.array(["2024-02-29"], "M8[D]")
    (feedmill.folder / "t").mkdir()
    for first, second, parts in (("M8[ns]", "M8[us]", ("M8[ns]", "M8[us]")), ("m8[s]", "M8[s]", ("m8[s]", "M8[s]")),
                                 ("M8[ms]", "i8", ("M8[ms]", "int64")), ("i8", "M8[ms]", ("M8[ms]", "int64"))):
        for name, dtype in (("a", first), ("b", second)):
            array = day.astype(dtype) if dtype[0] == "M" else np.array([5], dtype)
            np.save(feedmill.folder / "t" / f"{name}.npy", array)
            np.savez(feedmill.folder / "t" / f"{name}.npz", n=[1], t=array)
        for form in ("npy", "npz"):
            for files in ("[t/a.FORM, t/b.FORM]", "[t/b.FORM, t/a.FORM]"):
                feedmill.refused(f"{{npy: {{files: {files.replace('FORM', form)}}}}}", f"t/a.{form}", f"t/b.{form}", *parts)
        equal(feedmill.read("{npy: {files: [t/a.npz, t/b.npz]}}", "steps: [{map: n}]"), [1, 1])
        equal(len(feedmill.read("{npy: {files: [t/a.npy, t/a.npy]}}")), 2)


def npy_fortran_order(feedmill):
    chance = np.random.default_rng(3)
    for shape in ((5, 4), (6, 3, 2), (7, 1, 5), (5, 2, 3, 4), (300, 70), (6,), (5, 0, 2), (0, 3)):
        for dtype in ("f4", ">i8", "u1"):
            array = np.asfortranarray((chance.random(shape) * 200).astype(dtype))
            path = feedmill.folder / "f.npy"
            with path.open("wb") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(array.dtype),
                                                            "fortran_order": True, "shape": shape})
                file.write(array.tobytes("F"))
            assert np.array_equal(np.load(path), array)
            if shape[0] == 0:
                equal(feedmill.read("{npy: {files: f.npy}}"), [])
            else:
                same_rows(feedmill, "f.npy", values(array))


def npz_compressed(feedmill):
    chance = np.random.default_rng(4)
    arrays = {"x": chance.random((500, 3, 2)).astype("f4"), "y": np.arange(500, dtype=">i4"),
              "f": np.asfortranarray(chance.integers(0, 9, (500, 4))), "zero": np.zeros((500, 1000))}
    np.savez_compressed(feedmill.folder / "a.npz", **arrays)
    np.savez(feedmill.folder / "b.npz", **arrays)
    loaded = {name: values(array) for name, array in arrays.items() if name != "zero"}
    want = [dict(zip(loaded, row)) for row in zip(*loaded.values())]
    steps = "steps: [{map: {x: x, y: y, f: f}}]"
    equal(feedmill.read("{npy: {files: [a.npz, b.npz]}}", steps), want + want)
    equal(sorted(feedmill.read("{npy: {files: a.npz}}", "steps: [shuffle, {map: {x: x, y: y, f: f}}]"), key=str),
          sorted(want, key=str))
    equal(feedmill.read("{npy: {files: a.npz}}", "steps: [{map: sum(zero)}]"), [0.0] * 500)
    # Damage is found by the checksum, before a row of it is given.
    data = bytearray((feedmill.folder / "a.npz").read_bytes())
    data[len(data) // 8] ^= 1
    feedmill.write("bad.npz", data)
    feedmill.refused("{npy: {files: bad.npz}}", "bad.npz", "damaged", steps="steps: [{map: x}]")


def npy_structured(feedmill):
    types = {"flat": [("id", "<i4"), ("score", ">f8"), ("name", "S5"), ("half", "<f2"), ("flag", "?")],
             "nested": [("p", [("x", "<f4"), ("y", "<i2"), ("q", [("z", ">u2")])]), ("m", "<f4", (2, 3)), ("t", "<U4")],
             "titled": [(("A title", "a"), "<i8"), ("größe", "<i4")]}
    for name, dtype in types.items():
        array = np.zeros(200, dtype=dtype)
        chance = np.random.default_rng(6)

        def fill(part):
            for field in part.dtype.names:
                if part.dtype[field].names:
                    fill(part[field])
                elif part.dtype[field].kind in "SU":
                    part[field] = [str(k) for k in chance.integers(0, 9999, part.shape[0])]
                else:
                    part[field] = chance.integers(0, 100, part[field].shape)

        def flat(row, before=""):
            out = {}
            for field in row.dtype.names:
                if row.dtype[field].names:
                    out |= flat(row[field], before + field + ".")
                else:
                    out[before + field] = values([row[field]])[0]
            return out

        fill(array)
        want = [flat(row) for row in array]
        np.save(feedmill.folder / f"{name}.npy", array)
        same_rows(feedmill, f"{name}.npy", want)
        one = list(want[0])[-1]
        equal(feedmill.read(f"{{npy: {{files: {name}.npy}}}}", f"steps: [{{map: \"component('{one}')\"}}]"),
              [row[one] for row in want])
        for save in (np.savez, np.savez_compressed):
            save(feedmill.folder / f"{name}.npz", table=array, k=np.arange(200))
            same_rows(feedmill, f"{name}.npz", [{f"table.{key}": value for key, value in row.items()} | {"k": k}
                                                for k, row in enumerate(want)])
    # Padding of aligned members is none; members that cannot be read need not be.
    aligned = np.zeros(5, np.dtype([("a", "u1"), ("b", "<f8")], align=True))
    aligned["a"] = range(5)
    np.save(feedmill.folder / "aligned.npy", aligned)
    same_rows(feedmill, "aligned.npy", [{"a": k, "b": 0.0} for k in range(5)])
    mixed = np.zeros(5, [("a", "<i4"), ("c", "<c8")])
    np.save(feedmill.folder / "mixed.npy", mixed)
    feedmill.refused("{npy: {files: mixed.npy}}", "mixed.npy", '"c"', "<c8", "fields")
    equal(feedmill.read("{npy: {files: mixed.npy, fields: {a: int32}}}"), [{"a": 0}] * 5)


TESTS = [npz_members_nothing_needs, npz_names_that_are_two, npz_members_that_are_needed, npy_byte_orders_and_halves, npy_time_units, npy_fortran_order,
         npz_compressed, npy_structured]


if __name__ == "__main__":
    main(__doc__, TESTS)
