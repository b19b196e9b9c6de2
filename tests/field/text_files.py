#!/usr/bin/env python3
"""Text files as people have them, read by feedmill and by Python's own modules.

    tests/field/text_files.py --binary build/release/bin/feedmill [TEST …]

Each test is one kind of file. Where another program reads the file, its values
are what feedmill must give."""
import codecs
import csv
import gzip
import io
import json

from field_case import equal, main


def python_csv(text):
    """The rows of a CSV text by Python's csv module, numbers as numbers."""
    def value(word):
        for kind in (int, float):
            try:
                return kind(word)
            except ValueError:
                pass
        return word
    return [{name: value(word) for name, word in row.items()} for row in csv.DictReader(io.StringIO(text))]


def columns_in_another_order(feedmill):
    texts = ["id,score\n9007199254740993,0.5\n9007199254740995,1.5\n",
             "score,id\n2.5,9007199254740997\n3.5,9007199254740999\n",
             "extra,score,id\n0,4.5,9007199254741001\n"]
    want = []
    for k, text in enumerate(texts):
        feedmill.write(f"part{k}.csv", text)
        want += [{"id": row["id"], "score": row["score"]} for row in python_csv(text)]
    equal(feedmill.read("{csv: {files: 'part*.csv'}}"), want)
    # A column whose type only a later file tells.
    feedmill.write("later0.csv", "a,b\n1,\n2,\n")
    feedmill.write("later1.csv", "b,a\nword,3\n")
    equal([row["a"] for row in feedmill.read("{csv: {files: 'later*.csv'}}")], [1, 2, 3])


def large_integers(feedmill):
    columns = {
        "int64": [2**63 - 1, -2**63, 0],
        "uint64": [2**63, 2**64 - 1, 0],
        "hashed": [10254939386542155531, 1, 2],
        "larger": [2**64, 1, 2],
        "both": [2**64 - 1, -1, 2],
        "plain": [1, 2, 3],
    }
    exact = {"larger", "both"}  # no integer type holds them: they stay texts
    rows = [{name: values[k] for name, values in columns.items()} for k in range(3)]
    want = [{name: str(value) if name in exact else value for name, value in row.items()} for row in rows]
    text = ",".join(columns) + "\n" + "".join(",".join(str(v) for v in row.values()) + "\n" for row in rows)
    feedmill.write("large.csv", text)
    equal(feedmill.read("{csv: {files: large.csv}}"), want)
    feedmill.write("large.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    equal(feedmill.read("{jsonl: {files: large.jsonl}}"), want)
    feedmill.write("list.jsonl", '{"ids": [18446744073709551615, 1]}\n{"ids": []}\n')
    equal(feedmill.read("{jsonl: {files: list.jsonl}}"), [{"ids": [2**64 - 1, 1]}, {"ids": []}])
    feedmill.write("gaps.jsonl", '{"b": [true, null], "n": [1, null]}\n')
    equal(feedmill.read("{jsonl: {files: gaps.jsonl}}"), [{"b": ["true", ""], "n": [1, "NaN"]}])
    # A missing value makes floats, and floats hold integers up to 2^53.
    feedmill.write("missing.csv", "small,large\n9007199254740992,9007199254740993\n,\n")
    equal(feedmill.read("{csv: {files: missing.csv}}"),
          [{"small": 2**53, "large": "9007199254740993"}, {"small": "NaN", "large": ""}])


def byte_order_marks(feedmill):
    mark = codecs.BOM_UTF8
    feedmill.write("header.csv", mark + b"a,b\n1,2\n")
    equal(feedmill.read("{csv: {files: header.csv}}"), [{"a": 1, "b": 2}])
    for k in range(2):
        feedmill.write(f"plain{k}.csv", mark + f"{k},x\n3,y\n".encode())
    equal(feedmill.read("{csv: {files: 'plain*.csv', header: false}}"),
          [{"f0": 0, "f1": "x"}, {"f0": 3, "f1": "y"}, {"f0": 1, "f1": "x"}, {"f0": 3, "f1": "y"}])
    feedmill.write("quoted.csv", mark + b'"a","b"\r\n"1\n2","x"\r\n')
    equal(feedmill.read("{csv: {files: quoted.csv, multiline: true}}"), [{"a": "1\n2", "b": "x"}])
    feedmill.write("marked.jsonl", mark + b'{"a": 1}\n{"a": 2}\n')
    feedmill.write("marked.jsonl.gz", gzip.compress(mark + b'{"a": 1}\n{"a": 2}\n'))
    for name in ("marked.jsonl", "marked.jsonl.gz"):
        equal(feedmill.read(f"{{jsonl: {{files: {name}}}}}"), [{"a": 1}, {"a": 2}])
    feedmill.write("marked.txt", mark + b"one\ntwo\n")
    feedmill.write("marked.txt.gz", gzip.compress(mark + b"one\ntwo\n"))
    feedmill.write("only.txt", mark)
    for steps in ("", "steps: [shuffle]"):
        equal(sorted(feedmill.read("{text: {files: marked.txt}}", steps)), ["one", "two"])
        equal(sorted(feedmill.read("{csv: {files: header.csv}}", steps), key=str), [{"a": 1, "b": 2}])
        equal(feedmill.read("{text: {files: only.txt}}", steps), [])
    equal(feedmill.read("{text: {files: marked.txt.gz}}"), ["one", "two"])
    # A mark that is not at the beginning is text.
    feedmill.write("within.txt", b"a\n" + mark + b"b\n")
    equal(feedmill.read("{text: {files: within.txt}}"), ["a", "\ufeffb"])
    for encoding in ("utf-16-le", "utf-16-be"):
        bom = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
        feedmill.write("wide.csv", bom + "a,b\n1,2\n".encode(encoding))
        feedmill.refused("{csv: {files: wide.csv}}", "wide.csv", "UTF-16", "iconv")
        feedmill.write("wide.jsonl", bom + '{"a": 1}\n'.encode(encoding))
        feedmill.refused("{jsonl: {files: wide.jsonl}}", "wide.jsonl", "UTF-16", "iconv")


def line_ends(feedmill):
    feedmill.write("dos.csv", "a,b\r\n1,2\r\n3,4\r\n")
    equal(feedmill.read("{csv: {files: dos.csv}}"), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    for name, text, options in (("header", "a,b\r1,2\r3,4\r", ""), ("plain", "1,2\r3,4\r", ", header: false"),
                                ("single", "1\r2\r3\r", ", header: false"),
                                ("declared", "x\ry\rz\r", ", header: false, fields: {f0: bytes}")):
        feedmill.write(f"{name}.csv", text)
        feedmill.refused(f"{{csv: {{files: {name}.csv{options}}}}}", f"{name}.csv", "carriage return", "convert")
    # Within quotes it is text; elsewhere it is an error of its record alone, wherever blocks and chunks end.
    rows = 3000
    feedmill.write("quoted.csv", "a,b\r\n" + "".join(f'{k},"x\ry"\r\n' for k in range(rows)))
    equal(feedmill.read("{csv: {files: quoted.csv}}"), [{"a": k, "b": "x\ry"} for k in range(rows)])
    bad = range(0, rows, 7)
    feedmill.write("some.csv", "a,b\n" + "".join(f"{k},x\ry\n" if k in bad else f"{k},xy\n" for k in range(rows)))
    for steps in ("steps: [{on_error: skip}]", "steps: [{on_error: skip}, shuffle]"):
        got = sorted(row["a"] for row in feedmill.read("{csv: {files: some.csv, fields: {a: int64, b: bytes}}}", steps))
        equal(got, [k for k in range(rows) if k not in bad])
    # Programs that write in text mode twice leave two.
    feedmill.write("double.csv", "a,b\r\r\n1,2\r\r\n")
    equal([list(row.values()) for row in feedmill.read("{csv: {files: double.csv, fields: {a: int64}}}")], [[1]])


def column_names(feedmill):
    feedmill.write("index.csv", ",a\n0,1.5\n1,2.5\n")  # as DataFrame.to_csv writes it
    equal(feedmill.read("{csv: {files: index.csv}}"), [{"f0": 0, "a": 1.5}, {"f0": 1, "a": 2.5}])
    feedmill.write("twice.csv", "a,b,a\n1,2,3\n")
    feedmill.refused("{csv: {files: twice.csv}}", "twice.csv", "columns 1 and 3", '"a"', "fields")
    equal(feedmill.read("{csv: {files: twice.csv, fields: {b: int64}}}"), [{"b": 2}])
    feedmill.write("latin.csv", "größe,b\n1,2\n".encode("latin-1"))
    feedmill.refused("{csv: {files: latin.csv}}", "latin.csv", "column 1", "UTF-8", "iconv")
    equal(feedmill.read("{csv: {files: latin.csv, fields: {b: int64}}}"), [{"b": 2}])


def folders_with_wildcards(feedmill):
    for name in ("run[1]", "run1", "a*b", "aXb", "q?", "qq"):
        feedmill.write(f"{name}/x.txt", f"{name}\n")
        feedmill.write(f"{name}/sub/y.txt", f"{name} y\n")
    for name in ("run[1]", "a*b", "q?"):
        folder = feedmill.folder / name
        for pattern, want in (("*.txt", [name]), ("x.txt", [name]), ("**/*.txt", [f"{name} y", name]),
                              ("sub", [f"{name} y"]), ("s?b/y.txt", [f"{name} y"])):
            equal(feedmill.read(f"{{text: {{files: '{pattern}'}}}}", folder=folder), want)
        feedmill.refused("{text: {files: missing.txt}}", f"{name}/missing.txt: no such file", folder=folder)
    # What the user writes is a pattern still.
    equal(feedmill.read("{text: {files: 'run[12]/x.txt'}}"), ["run1"])
    # A name that exists is taken literally.
    feedmill.write("data[1].txt", "literal\n")
    feedmill.write("data1.txt", "other\n")
    equal(feedmill.read("{text: {files: 'data[1].txt'}}"), ["literal"])
    # Other paths are no patterns.
    folder = feedmill.folder / "run[1]"
    feedmill.write("run[1]/words.txt", "a\nrun[1]\n")
    equal(feedmill.read("{text: {files: x.txt}}", "steps: [{map: \"vocabulary(x, 'words.txt')\"}]", folder), [1])
    equal(feedmill.read("{text: {files: x.txt}}", "steps: [{cache: kept}]", folder), ["run[1]"])
    assert (folder / "kept").is_dir()


TESTS = [columns_in_another_order, large_integers, byte_order_marks, line_ends, column_names, folders_with_wildcards]


if __name__ == "__main__":
    main(__doc__, TESTS)
