#!/usr/bin/env python3
"""Sources against the libraries of their formats.

Each case writes files with the format's own library (csv, json, tarfile, numpy,
gzip, zstandard) and reads them with `feedmill read --local`. It compares every
line with the data that the library finds in them.

  oracle_test.py FEEDMILL [-v] [TestClass.test]
"""

import base64
import csv
import gzip
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest

import numpy as np
import zstandard

FEEDMILL = None


def expected(value):
    """A value as feedmill's jsonl has it, after json.loads."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, np.ndarray):
        return [expected(item) for item in value]
    if isinstance(value, np.float32):  # printed shortest for its own dtype
        value = float(str(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
    return value


class SourceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = random.Random(self.id())

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def run_read(self, source, steps=(), *flags):
        pipeline = {"source": source, "steps": list(steps),
                    "options": {"seed": 5}}
        path = self.write("pipeline.yaml", json.dumps(pipeline))
        return subprocess.run(
            [FEEDMILL, "read", path, "--local", "--threads", "2", *flags],
            capture_output=True, timeout=120, check=False)

    def read(self, source, steps=()):
        done = self.run_read(source, steps)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return [json.loads(line) for line in done.stdout.splitlines()]

    def fails(self, source, code, *texts, steps=()):
        """The lines before the error."""
        done = self.run_read(source, steps)
        error = done.stderr.decode()
        self.assertEqual(done.returncode, code, error)
        for text in texts:
            self.assertIn(text, error)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def assert_rows(self, found, wanted):
        """Names the first difference: a diff of thousands takes minutes."""
        for k, (one, other) in enumerate(zip(found, wanted)):
            self.assertEqual(one, other, f"element {k}")
        self.assertEqual(len(found), len(wanted))

    def same_shuffled(self, source, rows):
        """A global shuffle gives the same elements in another order."""
        key = lambda row: json.dumps(row, sort_keys=True)
        shuffled = self.read(source, ["shuffle"])
        self.assert_rows(sorted(shuffled, key=key), sorted(rows, key=key))
        if len(rows) > 20:
            self.assertNotEqual(shuffled, rows)


class Csv(SourceTest):
    def table(self, rows):
        pieces = ["", "plain", 'with "quotes"', "a,b", "größe", " spaced ",
                  "\x01", "'", '"']
        table = [["id", "name", "ratio", "flag"]]
        for k in range(rows):
            table.append([str(self.random.randrange(-10**9, 10**9)),
                          self.random.choice(pieces) + str(k % 7),
                          repr(self.random.gauss(0, 1e6)),
                          self.random.choice(["true", "false"])])
        return table

    def text(self, table, **options):
        out = io.StringIO()
        csv.writer(out, **options).writerows(table)
        return out.getvalue()

    def typed(self, text, **options):
        return [{"id": int(row["id"]), "name": row["name"],
                 "ratio": float(row["ratio"]), "flag": row["flag"] == "true"}
                for row in csv.DictReader(io.StringIO(text, newline=""), **options)]

    def test_types_are_inferred_and_quotes_understood(self):
        text = self.text(self.table(3000))
        self.write("t.csv", text)
        rows = self.typed(text)
        self.assert_rows(self.read({"csv": "t.csv"}), rows)
        self.same_shuffled({"csv": "t.csv"}, rows)

    def test_files_of_many_blocks_and_several_files(self):
        rows = []
        for name in ("a.csv", "b.csv"):
            table = self.table(20_000)
            for row in table[1:]:
                row[1] += "z" * self.random.randrange(600)
            text = self.text(table, lineterminator="\n")
            self.assertGreater(len(text.encode()), 4 << 20)
            self.write(name, text)
            rows += self.typed(text)
        self.assert_rows(self.read({"csv": "*.csv"}), rows)

    def test_line_breaks_in_quotes_need_multiline(self):
        table = self.table(500)
        for row in table[1::3]:
            row[1] = "two\nlines, \"and\"\r\nmore"
        text = self.text(table)
        self.write("t.csv", text)
        source = {"csv": {"files": "t.csv", "multiline": True}}
        rows = self.typed(text)
        self.assert_rows(self.read(source), rows)
        self.same_shuffled(source, rows)
        fields = {"id": "int64", "name": "bytes"}
        self.fails({"csv": {"files": "t.csv", "fields": fields}}, 1, "t.csv",
                   "multiline: true")

    def test_delimiter_missing_values_and_files_without_header(self):
        self.write("t.csv", "1;x;\n\n2;NA;3.5\nNA;;-inf\n")
        source = {"csv": {"files": "t.csv", "delimiter": ";", "header": False,
                          "missing": ["", "NA"]}}
        self.assert_rows(self.read(source), [
            {"f0": 1, "f1": "x", "f2": "NaN"},
            {"f0": 2, "f1": "NA", "f2": 3.5},
            {"f0": "NaN", "f1": "", "f2": "-Infinity"}])

    def test_columns_are_found_by_name_in_each_file(self):
        self.write("a.csv", "\ufeffx,y\r\n1,2\r\n")
        self.write("b.csv", "y,z,x\n20,30,10\n")
        source = {"csv": {"files": "*.csv",
                          "fields": {"y": "int8", "x": "float32"}}}
        self.assert_rows(self.read(source),
                         [{"y": 2, "x": 1.0}, {"y": 20, "x": 10.0}])
        self.write("c.csv", "x\n1\n")
        self.assertEqual(len(self.fails(source, 1, "c.csv", 'no column "y"')), 2)

    def test_bad_records_name_file_record_and_column(self):
        lines = "".join(f"{k},b\n" for k in range(1500))
        self.write("t.csv", "a,b\n" + lines + "x,b\n7,b\n")
        rows = self.fails({"csv": "t.csv"}, 1, "t.csv", "record 1500",
                          f"offset {len(lines) + 4}", '"a"', "int64")
        self.assertEqual(len(rows), 1500)
        self.write("t.csv", "a,b\n1,2\n3\n")
        self.assertEqual(len(self.fails(
            {"csv": {"files": "t.csv", "fields": {"a": "int64"}}}, 1,
            "record 1 ", "1 columns instead of 2")), 1)
        self.write("t.csv", "a\n1\n300\n")
        self.fails({"csv": {"files": "t.csv", "fields": {"a": "uint8"}}}, 1,
                   "300", "uint8")

    def test_compressed_as_written_by_the_libraries(self):
        text = self.text(self.table(10_000))
        rows = self.typed(text)
        self.write("t.csv.gz", gzip.compress(text.encode()))
        self.assert_rows(self.read({"csv": "t.csv.gz"}), rows)
        self.write("t.csv.zst", zstandard.compress(text.encode()))
        self.assert_rows(self.read({"csv": "t.csv.zst"}), rows)


class Jsonl(SourceTest):
    def test_fields_are_inferred(self):
        rows = []
        for k in range(2500):
            rows.append({"i": k - 1200, "f": self.random.random() * 10**k if
                         k < 300 else -0.5, "s": "größe \u2028\U0001f600\"\\\n",
                         "b": k % 3 == 0, "list": list(range(k % 5)),
                         "words": ["a", "ü"] * (k % 3), "n": None if k % 2
                         else k})
        for ascii_only in (True, False):
            text = "".join(json.dumps(r, ensure_ascii=ascii_only) + "\n"
                           for r in rows)
            self.write("t.jsonl", text)
            want = [dict(r, n="NaN" if r["n"] is None else float(r["n"]),
                         f=expected(r["f"])) for r in rows]
            self.assert_rows(self.read({"jsonl": "t.jsonl"}), want)
        self.same_shuffled({"jsonl": "t.jsonl"}, want)

    def test_declared_types_nested_values_and_missing_ones(self):
        self.write("t.jsonl", '{"m": [[1, 2], [3, 4]], "o": {"k": [1, null]},'
                   ' "x": 1}\n\n{"o": null, "m": [[5,6],[7,8]]}')
        source = {"jsonl": {"files": "t.jsonl", "fields": {
            "m": "uint8[2, 2]", "o": "bytes", "x": "float32"}}}
        self.assert_rows(self.read(source), [
            {"m": [[1, 2], [3, 4]], "o": '{"k": [1, null]}', "x": 1.0},
            {"m": [[5, 6], [7, 8]], "o": "", "x": "NaN"}])

    def test_bad_records(self):
        good = '{"a": 1}\n'
        for bad, text in [("{\"a\": 1", "comma or }"), ("[1]", "no JSON object"),
                          ("{", "the line ends within the object"), ('{"a": 1}, ', "one object on each line"),
                          ('{"a": 1.5}', "1.5"), ('{"a": "x"}', "the string x"),
                          ('{"a": null}', "null or missing"),
                          ('{"a": 1} 2', "text after"), ('{"a": 01}', "0"),
                          ('{"a": 99999999999999999999}', "int64"),
                          ('{"a": true}', "true")]:
            with self.subTest(bad):
                self.write("t.jsonl", good * 2 + bad + "\n" + good)
                source = {"jsonl": {"files": "t.jsonl",
                                    "fields": {"a": "int64"}}}
                self.assertEqual(
                    self.fails(source, 1, "t.jsonl", "record 2",
                               f"offset {2 * len(good)}", text),
                    [{"a": 1}] * 2)

    def test_several_gzip_members_and_damage(self):
        lines = [json.dumps({"a": k}) + "\n" for k in range(20000)]
        data = gzip.compress("".join(lines[:100]).encode()) + gzip.compress(
            "".join(lines[100:]).encode())
        self.write("t.jsonl.gz", data)
        want = [{"a": k} for k in range(20000)]
        self.assert_rows(self.read({"jsonl": "t.jsonl.gz"}), want)
        self.write("t.jsonl.gz", data[:-20000])
        rows = self.fails({"jsonl": "t.jsonl.gz"}, 1, "t.jsonl.gz", "cut short")
        self.assert_rows(rows, want[:len(rows)])
        self.assertGreater(len(rows), 100)
        for data, part in ((b"\0 no gzip at all", "not gzip"),
                           (b"no gzip at all", "no JSON object")):
            self.write("t.jsonl.gz", data)
            self.fails({"jsonl": {"files": "t.jsonl.gz",
                                  "fields": {"a": "int64"}}}, 1, part)


class Arrays(SourceTest):
    DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
              "uint32", "uint64", "float32", "float64"]

    def test_npy_of_every_dtype(self):
        for dtype in self.DTYPES:
            array = (np.arange(24 * 50) * 7 % 100).reshape(50, 2, 12)
            array = array.astype(dtype)
            with self.subTest(dtype):
                np.save(os.path.join(self.folder, "x.npy"), array)
                rows = [expected(row) for row in array]
                self.assert_rows(self.read({"npy": "x.npy"}), rows)
                self.same_shuffled({"npy": "x.npy"}, rows)

    def test_npz_has_a_component_for_each_array(self):
        x = np.random.default_rng(1).random((1000, 3)).astype("float32")
        y = np.arange(1000)
        for k in range(2):
            np.savez(os.path.join(self.folder, f"{k}.npz"), x=x + k, y=y)
        rows = [{"x": expected(a), "y": int(b)}
                for k in range(2) for a, b in zip(x + k, y)]
        self.assert_rows(self.read({"npy": "*.npz"}), rows)
        batches = self.read({"npy": "*.npz"}, [{"batch": 400}])
        self.assertEqual([len(b["y"]) for b in batches], [400] * 5)

    def test_unreadable_arrays(self):
        path = os.path.join(self.folder, "x.npy")
        for array, text in [(np.zeros(2, "c8"), "c8"),
                            (np.array("x"), "rows"), (np.zeros(()), "rows")]:
            np.save(path, array)
            self.fails({"npy": "x.npy"}, 1, "x.npy", text)
        np.save(path, np.zeros(100))
        with open(path, "rb+") as file:
            file.truncate(300)
        self.fails({"npy": "x.npy"}, 1, "x.npy", "cut short")

    def test_fixed_length(self):
        records = [struct.pack("<iq", k, k * k) for k in range(3000)]
        body = b"HEAD" + b"".join(records) + b"foot!"
        fixed = {"record_bytes": 12, "header_bytes": 4, "footer_bytes": 5}
        step = [{"map": {"a": "decode_raw(substr(x, 0, 4), int32)[0]",
                         "b": "decode_raw(substr(x, 4, 8), int64)[0]"}}]
        rows = [{"a": k, "b": k * k} for k in range(3000)]
        self.write("t.bin", body)
        source = {"fixed_length": dict(fixed, files="t.bin")}
        self.assert_rows(self.read(source, step), rows)
        self.write("t.bin.gz", gzip.compress(body))
        zipped = {"fixed_length": dict(fixed, files="t.bin.gz")}
        self.assert_rows(self.read(zipped, step), rows)
        self.write("t.bin", body + b"x")
        self.fails(source, 1, "t.bin", "whole records of 12")
        self.write("t.bin.gz", gzip.compress(body + b"x"))
        self.assertEqual(
            len(self.fails(zipped, 1, "t.bin.gz", "ends inside", steps=step)),
            3000)


class Tar(SourceTest):
    def archive(self, name, groups, format=tarfile.GNU_FORMAT):
        path = os.path.join(self.folder, name)
        with tarfile.open(path, "w", format=format) as tar:
            for key, members in groups:
                folder = tarfile.TarInfo(os.path.dirname(key) or "folder")
                folder.type = tarfile.DIRTYPE
                tar.addfile(folder)
                for extension, data in members.items():
                    info = tarfile.TarInfo(f"{key}.{extension}")
                    info.size = len(data)
                    tar.addfile(info, io.BytesIO(data))
        return path

    def groups(self, count, long_name=90):
        return [(f"dir.x/sample{k:05}" + "y" * (k % 3 * long_name),
                 {"seg.png": os.urandom(k % 1500), "cls": str(k % 10).encode(),
                  "txt": f"größe {k}".encode()}) for k in range(count)]

    def rows(self, groups):
        return [{"__key__": key, "seg.png": expected(m["seg.png"]),
                 "cls": int(m["cls"]), "txt": m["txt"].decode()}
                for key, m in groups]

    def test_groups_of_every_tar_format(self):
        for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT,
                       tarfile.PAX_FORMAT):
            ustar = format == tarfile.USTAR_FORMAT
            groups = self.groups(300, long_name=30 if ustar else 90)
            self.archive("t.tar", groups, format)
            rows = self.rows(groups)
            with self.subTest(format):
                self.assert_rows(self.read({"webdataset": "t.tar"}), rows)
                self.same_shuffled({"webdataset": "t.tar"}, rows)

    def test_compressed_and_declared_fields(self):
        groups = self.groups(2000)
        path = self.archive("t.tar", groups)
        with open(path, "rb") as file:
            data = file.read()
        self.write("t.tar.gz", gzip.compress(data))
        fields = {"cls": "float32", "txt": "bytes"}
        rows = [{"cls": float(m["cls"]), "txt": m["txt"].decode()}
                for _, m in groups]
        self.assert_rows(self.read({"webdataset": {
            "files": "t.tar.gz", "fields": fields}}), rows)

    def test_bad_archives(self):
        source = {"webdataset": {"files": "t.tar", "fields": {"cls": "int64"}}}
        self.archive("t.tar", [("a", {"cls": b"1"}), ("b", {"txt": b"2"})])
        self.assertEqual(self.fails(source, 1, "t.tar", "b has no member .cls"),
                         [{"cls": 1}])
        self.archive("t.tar", [("a", {"cls": b"1"}), ("b", {"cls": b"x"})])
        self.assertEqual(self.fails(source, 1, "record 1", "b.cls"), [{"cls": 1}])
        path = self.archive("t.tar", self.groups(9))
        with open(path, "rb+") as file:
            file.truncate(4000)
        self.fails(source, 1, "t.tar", "ends inside")
        self.write("t.tar", b"x" * 3000)
        self.fails(source, 1, "t.tar", "no tar header")


class Lines(SourceTest):
    def test_compressed_text_and_tfrecords(self):
        lines = ["x" * (k * 37 % 200) for k in range(20_000)]
        text = "\n".join(lines).encode()
        self.write("t.txt.gz", gzip.compress(text))
        self.assert_rows(self.read({"text": "t.txt.gz"}), lines)
        self.write("t.txt", zstandard.ZstdCompressor(3).compress(text))
        self.assert_rows(self.read({"text": {"files": "t.txt",
                                             "compression": "zstd"}}), lines)
        batches = self.read({"text": "t.txt.gz"}, [{"batch": 15_000}])
        self.assertEqual([len(batch) for batch in batches], [15_000, 5_000])

    def test_a_shuffle_of_compressed_files_is_refused(self):
        self.write("t.txt.gz", gzip.compress(b"a\n"))
        self.fails({"text": "t.txt.gz"}, 2, "shuffle", "gzip", "Uncompress",
                   steps=["shuffle"])

    def test_explain_shows_fields_and_positions(self):
        self.write("t.csv", "a,b\n1,x\n")
        done = self.run_read({"csv": "t.csv"}, (), "--explain")
        self.assertIn("{a: int64, b: str}", done.stdout.decode())
        self.assertIn("blocks of 4 MiB", done.stdout.decode())


if __name__ == "__main__":
    FEEDMILL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
