#!/usr/bin/env python3
"""Text files as people have them, read by feedmill and by Python's own modules.

    tests/field/text_files.py --binary build/release/bin/feedmill [TEST …]

Each test is one kind of file. Where another program reads the file, its values
are what feedmill must give."""
import codecs
import csv
import decimal
import gzip
import io
import json
import math
import pathlib
import random
import struct
import tarfile
import zipfile

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


def types_of_some_fields(feedmill):
    """`types` declare some fields; what inference did not see says what to write."""
    rows = 12_000  # more than are looked at
    lines = [f"{k},{k}" for k in range(rows)]
    feedmill.write("rows.csv", "\n".join(["a,n", *lines, f"{rows},", f"{rows + 1},2.5", ""]))
    objects = [{"a": k, "n": k} for k in range(rows)]
    feedmill.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in [
        *objects, {"a": rows}, {"a": rows + 1, "n": 2.5}]))
    for kind in ("csv", "jsonl"):
        feedmill.refused(f"{{{kind}: rows.{kind}}}", f"record {rows} ", '"n"', 'types: {n: "int64?"}')
        feedmill.refused(f"{{{kind}: {{files: rows.{kind}, types: {{n: 'int64?'}}}}}}", f"record {rows + 1} ",
                'types: {n: "float64?"}')
        got = feedmill.read(f"{{{kind}: {{files: rows.{kind}, types: {{n: 'float64?'}}}}}}")
        equal(got, [*objects, {"a": rows, "n": None}, {"a": rows + 1, "n": 2.5}])
    # A null among the small rows that are looked at.
    feedmill.write("early.csv", "a,n\n" + "".join(f"{k},{'' if k == 5000 else k}\n" for k in range(6000)))
    equal(feedmill.read("{csv: early.csv}")[5000], {"a": 5000, "n": "NaN"})
    for types, parts in (
        ("{m: int64}", ['"m"', "lack"]), ("{N: int64}", ['did you mean "n"']),
        ("{n: int64}, fields: {n: int64}", ["`types`", "`fields`", "leave one"]),
        ("{'valid(n)': bool}", ["reserved"]), ("{n: 'int64[?]?'}", ["array has no nulls"])):
        feedmill.refused(f"{{csv: {{files: rows.csv, types: {types}}}}}", *parts)
    feedmill.write("named.csv", "n,valid(n)\n1,true\n")
    feedmill.refused("{csv: named.csv}", '"valid(n)" is reserved', "fields")
    equal(feedmill.read("{csv: {files: named.csv, fields: {n: int64}}}"), [{"n": 1}])
    for step in ("map: {n: n, 'valid(n)': 'n > 3'}", "with_columns: {'valid(n)': 'True'}",
                 'rename: {a: "component(\'valid(n)\')"}', "enumerate: {component: 'valid(n)'}"):
        feedmill.refused("{csv: {files: rows.csv, types: {n: 'int64?'}}}", "reserved", steps=f"steps: [{{{step}}}]")


def types_over_all_files(feedmill):
    """Records of later files have a say in the types, too."""
    rows = 1500  # more than the first 1,000 records
    files = [[{"a": k, "b": k, "c": k} for k in range(rows)] for _ in range(5)]
    files[2][3]["a"] = 2.5
    files[3][0]["b"] = 2**64 - 1
    files[4][5]["c"] = "oops"
    for k, lines in enumerate(files):
        feedmill.write(f"t{k}.csv", "c,b,a\n" + "".join(f'{row["c"]},{row["b"]},{row["a"]}\n' for row in lines))
        feedmill.write(f"t{k}.csv.gz", gzip.compress((feedmill.folder / f"t{k}.csv").read_bytes()))
        feedmill.write(f"t{k}.jsonl", "".join(json.dumps(row) + "\n" for row in lines))
    want = [{"a": float(row["a"]), "b": row["b"], "c": str(row["c"])} for lines in files for row in lines]
    for source in ("{csv: {files: 't?.csv'}}", "{csv: {files: 't?.csv.gz'}}", "{jsonl: {files: 't?.jsonl'}}"):
        equal(feedmill.read(source), want)
        feedmill.refused(source, "record 5 of", "t4.", '"oops"', '"c" is bytes', steps="steps: [{map: c + 1}]")
    # A member that only a later file has.
    feedmill.write("t5.jsonl", '{"c": 1, "new": "x", "b": 1, "a": 1}\n')
    got = feedmill.read("{jsonl: {files: 't?.jsonl'}}", "steps: [{map: new}]")
    equal(got, [""] * len(want) + ["x"])
    # If there are many files, some are looked at: spread evenly, with the last.
    for k in range(200):
        feedmill.write(f"many/{k:03}.jsonl", "".join(f'{{"n": {k}}}\n' for _ in range(20)))
    feedmill.write("many/199.jsonl", '{"n": 0.5}\n')
    equal(feedmill.read("{jsonl: {files: many}}", "steps: [{skip: 3979}, {map: n}]"), [198.0, 0.5])
    # Long records, cut where the bytes that are looked at end.
    feedmill.write("long/0.jsonl", '{"n": 1, "t": ""}\n' * 1000)
    feedmill.write("long/1.jsonl", json.dumps({"n": 1.5, "t": "x" * 700_000}) + "\n" + json.dumps({"n": 2, "t": "y" * 700_000}) + "\n")
    equal(feedmill.read("{jsonl: {files: long}}", "steps: [{skip: 999}, {map: n}]"), [1.0, 1.5, 2.0])
    # An error of a later file comes when it is read.
    feedmill.write("bad/0.csv", "a,b\n" + "1,2\n" * 1000)
    feedmill.write("bad/1.csv", "a,a\n3,4\n")
    equal(len(feedmill.read_up_to_error("{csv: {files: bad}}", "bad/1.csv", '"a" twice')), 1000)


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
    integers_among_floats(feedmill)
    # A name that a record repeats, whose last value counts, is still missing in another record.
    feedmill.write("repeated.jsonl", '{"a": 1, "a": 2}\n{}\n')
    assert json.loads('{"a": 1, "a": 2}') == {"a": 2}
    equal(feedmill.read("{jsonl: {files: repeated.jsonl}}"), [{"a": 2.0}, {"a": "NaN"}])
    # A missing value makes floats, and floats hold integers up to 2^53.
    feedmill.write("missing.csv", "small,large\n9007199254740992,9007199254740993\n,\n")
    equal(feedmill.read("{csv: {files: missing.csv}}"),
          [{"small": 2**53, "large": "9007199254740993"}, {"small": "NaN", "large": ""}])


def integers_among_floats(feedmill):
    """Integers whose digits float64 does not keep stay texts, or are errors; they are never rounded unasked."""
    for number, kept in ((2**53, True), (2**53 + 1, False), (2**53 + 2, True), (-2**53 - 1, False), (10**18, True),
                         (2**60, True), (1152921504606847000, True), (1152921504606847001, False), (2**64 - 1, False),
                         (10254939386542155531, False), (10**22, True), (10**23, True), (10**23 + 1, False),
                         (10**400, False)):
        # 1152921504606847000 and 10**23 are what JavaScript and Go write for the nearest float.
        assert kept == (abs(number) < 10**309 and (int(float(number)) == number or digits_of(float(number)) == str(number)))
        texts = ["0.5", str(number)]
        want = [float(text) if kept else text for text in texts]
        lines = "".join(f'{{"a": {text}, "l": [{text}, 1]}}\n' for text in texts)
        rows = [{"a": a, "l": [a, 1.0 if kept else "1"]} for a in want]
        for order in (1, -1):
            feedmill.write("mixed.csv", "a,b\n" + "".join(f"{text},x\n" for text in texts[::order]))
            equal([row["a"] for row in feedmill.read("{csv: {files: mixed.csv}}")], want[::order])
        feedmill.write("mixed.jsonl", lines)
        equal(feedmill.read("{jsonl: {files: mixed.jsonl}}"), rows)
        # After the records that are looked at, as the last of a file: an error of the record alone.
        for kind, first, record in (("csv", "a\n" + "0.5\n" * 2000, f"{number}\n"),
                                    ("jsonl", '{"a": 0.5}\n' * 2000, f'{{"a": {number}}}\n')):
            feedmill.write(f"late.{kind}", first + record)
            source = f"{{{kind}: {{files: late.{kind}MORE}}}}"
            plain = source.replace("MORE", "")
            if kept:
                equal(feedmill.read(plain)[-1], {"a": float(number)})
            else:
                shown = str(number)[:60]
                parts = (f"late.{kind}: record 2000 ", '"a"', shown, "float64 does not hold exactly", "`fields`")
                equal(len(feedmill.read_up_to_error(plain, *parts)), 2000)
                equal(len(feedmill.read(plain, "steps: [{on_error: skip}]")), 2000)
                equal(feedmill.read(source.replace("MORE", ", fields: {a: bytes}"))[-1], {"a": str(number)})
                feedmill.read_up_to_error(source.replace("MORE", ", exact_integers: true, fields: {a: float64}"), *parts)
            # Declared floats are rounded, as Python's float does.
            declared = float(str(number))
            equal(feedmill.read(source.replace("MORE", ", fields: {a: float64}"))[-1],
                  {"a": "Infinity" if declared == math.inf else declared})
    feedmill.write("f.csv", "a\n16777216\n16777217\n")
    source = "{csv: {files: f.csv, fields: {a: float32}MORE}}"
    equal(feedmill.read(source.replace("MORE", "")), [{"a": 16777216.0}, {"a": 16777216.0}])
    equal(feedmill.read_up_to_error(source.replace("MORE", ", exact_integers: true"), "16777217", "float32"), [{"a": 16777216.0}])


def digits_of(number):
    """A whole float as JavaScript writes it: its shortest digits, and zeros."""
    return format(decimal.Decimal(repr(number)), "f")


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


def other_delimiters(feedmill):
    """A csv file of one column in whose lines another delimiter stands is read as it is, and a warning says so."""
    for mark, written in ((";", ";"), ("\t", "\\t"), ("|", "|")):
        text = "\n".join(mark.join(row) for row in (("id", "name", "price"), ("1", "a", "2.5"), ("2", "b", "3.5"))) + "\n"
        feedmill.write("other.csv", text)
        done = feedmill.run("{csv: {files: other.csv}}")
        name = f"id{mark}name{mark}price"
        equal([json.loads(line) for line in done.stdout.splitlines()], list(csv.DictReader(io.StringIO(text), delimiter=",")))
        equal([list(json.loads(line)) for line in done.stdout.splitlines()], [[name], [name]])
        assert f'other.csv: it was read as one column, although each of its first 3 lines has "{written}" 2 times' in done.stderr, done.stderr
        assert f'write `delimiter: "{written}"`' in done.stderr, done.stderr
        # The option of the warning.
        equal(feedmill.read(f'{{csv: {{files: other.csv, delimiter: "{written}"}}}}'),
              [{"id": 1, "name": "a", "price": 2.5}, {"id": 2, "name": "b", "price": 3.5}])
    # Columns of words, of which some have such a mark.
    for text in ("text\none; two\nthree\n", "text\none\ntwo\n", "a;b\n", "a;b,c\n1;2,3\n"):
        feedmill.write("words.csv", text)
        done = feedmill.run("{csv: {files: words.csv}}")
        assert done.returncode == 0 and done.stderr == "", done.stderr


def line_ends(feedmill):
    feedmill.write("dos.csv", "a,b\r\n1,2\r\n3,4\r\n")
    equal(feedmill.read("{csv: {files: dos.csv}}"), [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    for name, text, options in (("header", "a,b\r1,2\r3,4\r", ""), ("plain", "1,2\r3,4\r", ", header: false"),
                                ("single", "1\r2\r3\r", ", header: false"),
                                ("declared", "x\ry\rz\r", ", header: false, fields: {f0: bytes}")):
        feedmill.write(f"{name}.csv", text)
        feedmill.refused(f"{{csv: {{files: {name}.csv{options}}}}}", f"{name}.csv", "carriage return", "convert")
    feedmill.write("old.txt", "one\rtwo\rthree")
    feedmill.write("big.txt", "x" * 127 + "\r" + "y" * 3_000_000)  # the return ends a power of two
    feedmill.write("large.txt", "x" * ((1 << 20) - 1) + "\r" + "y" * 3_000_000)
    feedmill.write("old.txt.gz", gzip.compress(b"one\rtwo\rthree\r"))
    for name in ("old.txt", "big.txt", "large.txt", "old.txt.gz"):
        for steps in ("", "steps: [shuffle]") if name != "old.txt.gz" else ("",):
            feedmill.refused(f"{{text: {{files: {name}}}}}", f"{name}: it has no \\n", "convert", steps=steps)
    feedmill.write("more.txt", "a\nb\n")
    equal(feedmill.read_up_to_error("{text: {files: [more.txt, old.txt]}}", "old.txt"), ["a", "b"])
    equal(feedmill.read("{text: {files: [old.txt, more.txt]}}", "steps: [{on_error: skip}]"), ["a", "b"])
    # A return in a file that has other lines, or at its end, stays.
    feedmill.write("bar.txt", "10%\r20%\nend\r\n")
    feedmill.write("single.txt", "one\r")
    for steps in ("", "steps: [shuffle]"):
        equal(sorted(feedmill.read("{text: {files: bar.txt}}", steps)), ["10%\r20%", "end\r"])
        equal(feedmill.read("{text: {files: single.txt}}", steps), ["one\r"])
    # Within quotes it is text; elsewhere it is an error of its record alone, at any place of blocks and chunks.
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


def vocabulary_files(feedmill):
    words = ["größe", "", "the", "cat"]
    feedmill.write("x.txt", "".join(f"{word}\n" for word in reversed(words)))
    for mark in (b"", codecs.BOM_UTF8):
        for end in ("\n", "\r\n"):
            for last in ("", end):
                path = feedmill.write("words.txt", mark + (end.join(words) + last).encode())
                assert path.read_text("utf-8-sig").splitlines() == words
                equal(feedmill.read("{text: {files: x.txt}}", "steps: [{map: \"vocabulary(x, 'words.txt')\"}]"), [3, 2, 1, 0])
    feedmill.write("dos.txt", "the\r\ncat\r\n")
    feedmill.refused("{text: {files: dos.txt}}", "dos.txt: line 1", "carriage return", "rstrip",
                     steps="steps: [{map: \"vocabulary(x, 'words.txt')\"}]")
    equal(feedmill.read("{text: {files: dos.txt}}", "steps: [{map: \"vocabulary(rstrip(x), 'words.txt')\"}]"), [2, 3])


def column_names(feedmill):
    feedmill.write("index.csv", ",a\n0,1.5\n1,2.5\n")  # as DataFrame.to_csv writes it
    equal(feedmill.read("{csv: {files: index.csv}}"), [{"f0": 0, "a": 1.5}, {"f0": 1, "a": 2.5}])
    feedmill.write("twice.csv", "a,b,a\n1,2,3\n")
    feedmill.refused("{csv: {files: twice.csv}}", "twice.csv", "columns 1 and 3", '"a"', "fields")
    equal(feedmill.read("{csv: {files: twice.csv, fields: {b: int64}}}"), [{"b": 2}])
    feedmill.write("latin.csv", "größe,b\n1,2\n".encode("latin-1"))
    feedmill.refused("{csv: {files: latin.csv}}", "latin.csv", "column 1", "UTF-8", "iconv")
    equal(feedmill.read("{csv: {files: latin.csv, fields: {b: int64}}}"), [{"b": 2}])


def names_that_are_no_utf8(feedmill):
    """Names that are no UTF-8 are errors that name file and remedy; no output is invalid JSON."""
    feedmill.write("odd.jsonl", '{"größe": 1, "b": 2}\n'.encode("latin-1"))
    feedmill.write("later0.jsonl", b'{"b": 2}\n' * 1000)
    feedmill.write("later1.jsonl", '{"b": 2, "größe": 1}\n'.encode("latin-1"))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="latin-1") as tar:
        for name in ("a.b", "a.größe"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(b"2"))
    feedmill.write("odd.tar", out.getvalue())
    npz = io.BytesIO()
    with zipfile.ZipFile(npz, "w") as archive:
        for name in ("b", "grXXe"):
            header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }"
            header += b" " * (-(len(header) + 11) % 64) + b"\n"
            archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<q", 2))
    feedmill.write("odd.npz", npz.getvalue().replace(b"grXXe", b"gr\xf6\xdfe"))
    mds = pathlib.Path(__file__).parent / "mds" / "plain" / "shard.00000.mds"
    feedmill.write("odd.mds", mds.read_bytes().replace(b'"str_int"', b'"str_\xf6nt"'))
    cases = {"jsonl": "odd.jsonl", "webdataset": "odd.tar", "npy": "odd.npz", "mds": "odd.mds"}
    for kind, name in cases.items():
        for folder in ("", "later"):
            source = f"{{{kind}: {{files: {name}}}}}" if not folder else "{jsonl: {files: 'later*.jsonl'}}"
            done = feedmill.run(source)
            assert done.returncode not in (0, -6, -11) and done.stdout == "", (name, done)
            for part in ("later1.jsonl" if folder else name, "UTF-8", "" if kind == "mds" else "fields"):
                assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
        if kind != "mds":
            got = feedmill.read(f"{{{kind}: {{files: {name}, fields: {{b: int64}}}}}}")
            equal(got, [{"b": 2}])


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
    # The user's own text is still a pattern.
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


def encodings(feedmill):
    rows = [{"größe": k, "name": f"Zoë {k} ñ"} for k in range(3000)]
    text = "größe,name\r\n" + "".join(f'{row["größe"]},"{row["name"]}"\r\n' for row in rows)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert [dict(row) for row in csv.DictReader(io.StringIO(text))][7] == {"größe": "7", "name": "Zoë 7 ñ"}
    for encoding, codec in (("latin-1", "latin-1"), ("utf-16", "utf-16"), ("utf-16", "utf-16-le"), ("utf-8", "utf-8"),
                            ("utf-16", "utf-16-be")):
        mark = codecs.BOM_UTF16_BE if codec == "utf-16-be" else b""
        feedmill.write("t.csv", mark + text.encode(codec))
        feedmill.write("t.jsonl", mark + lines.encode(codec))
        feedmill.write("t.csv.gz", gzip.compress(mark + text.encode(codec)))
        for source in ("{csv: {files: t.csv, encoding: E}}", "{jsonl: {files: t.jsonl, encoding: E}}",
                       "{csv: {files: t.csv.gz, encoding: E}}",
                       "{csv: {files: t.csv, encoding: E, fields: {größe: int64, name: bytes}}}"):
            equal(feedmill.read(source.replace("E", encoding)), rows)
        if encoding != "utf-16":
            got = feedmill.read("{csv: {files: t.csv, encoding: E}}".replace("E", encoding), "steps: [shuffle]")
            equal(sorted(got, key=str), sorted(rows, key=str))
    feedmill.refused("{csv: {files: t.csv, encoding: utf-16}}", "shuffle", "UTF-16", steps="steps: [shuffle]")
    # All of Unicode, in small parts and large ones.
    every = [chr(code) for code in [*range(32, 0xd800), *range(0xe000, 0x110000, 7)] if code not in (0xfeff, 34, 92, 0x85, 0x2028, 0x2029)]
    feedmill.write("u.jsonl", "".join(f'{{"a":"{c}"}}\n' for c in every).encode("utf-16"))
    assert [row["a"] for row in feedmill.read("{jsonl: {files: u.jsonl, encoding: utf-16}}")] == every
    # Halves of pairs, odd bytes: an error after what is before.
    for bad in (b"\x00\xd8", b"\x00\xdc", b"\x00\xd8a\x00", b"a"):
        feedmill.write("bad.jsonl", '{"a": 1}\n'.encode("utf-16") + bad)
        done = feedmill.run("{jsonl: {files: bad.jsonl, encoding: utf-16, fields: {a: int64}}}")
        assert done.returncode == 1 and "bad.jsonl" in done.stderr and "UTF-16" in done.stderr, done
        equal(done.stdout, '{"a":1}\n')


def comments_and_skipped_rows(feedmill):
    text = ("# written by a program\n\nsecond line, \"with\" text\n#x\na,b\n1,2\n#3,4\n5,6\n# \" quote\n7,#8\n"
            + "".join(f"{k},{k}\n#{k}\n" for k in range(20_000)))
    want = [[1, "2"], [5, "6"], [7, "#8"]] + [[k, str(k)] for k in range(20_000)]
    # Python's csv after the lines are left out.
    kept = [line for line in text.split("\n")[3:] if not line.startswith("#")]
    assert [[int(row["a"]), row["b"]] for row in csv.DictReader(kept)] == want
    feedmill.write("t.csv", text)
    for more in ("", ", multiline: true"):
        source = f"{{csv: {{files: t.csv, skip_rows: 3, comment: '#'{more}, fields: {{a: int64, b: bytes}}}}}}"
        equal([list(row.values()) for row in feedmill.read(source)], want)
        if not more:
            got = [list(row.values()) for row in feedmill.read(source, "steps: [shuffle]")]
            equal(sorted(got, key=str), sorted(want, key=str))
    equal([list(row.values()) for row in feedmill.read("{csv: {files: t.csv, skip_rows: 3, comment: '#'}}")], want)
    # A comment within quotes is text; a longer one begins with all of it.
    feedmill.write("q.csv", 'a,b\n1,"x\n#y"\n//z\n/2,3\n')
    equal(feedmill.read("{csv: {files: q.csv, comment: //, multiline: true, fields: {a: bytes, b: bytes}}}"),
          [{"a": "1", "b": "x\n#y"}, {"a": "/2", "b": "3"}])
    # Several files, each with its own lines; blocks of 4 MiB.
    row = "x" * 1000
    for k in range(2):
        feedmill.write(f"big{k}.csv", "note\nmore\n" + "id,t\n" + "".join(f"{i},{row}\n#{row}\n" for i in range(4000)))
    source = "{csv: {files: 'big*.csv', skip_rows: 2, comment: '#'}}"
    equal(feedmill.read(source, "steps: [{map: id}]"), list(range(4000)) * 2)
    feedmill.write("few.csv", "a\nb\n")
    feedmill.refused("{csv: {files: few.csv, skip_rows: 5}}", "few.csv", "no record")
    feedmill.refused("{csv: {files: few.csv, skip_rows: -1}}", "skip_rows")


def quoting_styles(feedmill):
    """Rows that Python's csv module writes, in each of its styles."""
    draw = random.Random(7)
    rows = [["".join(draw.choices("ab\"';\\\t, |", k=draw.randrange(6))) for _ in range(3)] for _ in range(300)]
    fields = "fields: {f0: bytes, f1: bytes, f2: bytes}"
    styles = [({"quotechar": quote, "escapechar": escape, "doublequote": doubled, "quoting": quoting, "delimiter": delimiter})
              for quote in "\"'|" for escape, doubled in ((None, True), ("\\", True), ("\\", False))
              for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL) for delimiter in ";,\t"]
    styles += [{"quoting": csv.QUOTE_NONE, "escapechar": "\\", "quotechar": None, "delimiter": ";"}]
    for style in styles:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", **style).writerows(rows)
        assert list(csv.reader(io.StringIO(text.getvalue()), **style)) == rows, style
        feedmill.write("t.csv", text.getvalue())
        quote = {"quote": style["quotechar"] or "", "escape": style["escapechar"] or "", "delimiter": style["delimiter"]}
        options = ", ".join(f"{name}: {json.dumps(mark)}" for name, mark in quote.items())
        got = feedmill.read(f"{{csv: {{files: t.csv, header: false, {options}, missing: [none], {fields}}}}}")
        equal([list(row.values()) for row in got], rows)
    feedmill.write("t.csv", "a;b\n'1;2\n")
    feedmill.refused("{csv: {files: t.csv, delimiter: ';', quote: \"'\", fields: {a: bytes, b: bytes}}}", "column 1 is not closed")
    for wrong, part in (("quote: ab", "quote must be one byte"), ("escape: ','", "escape must be one byte"),
                        ("escape: '\"'", "a doubled quote"), ("quote: \"'\", multiline: true", "multiline needs")):
        feedmill.refused(f"{{csv: {{files: t.csv, {wrong}}}}}", part)


def marks_of_numbers(feedmill):
    feedmill.write("german.csv", "name;price;count;rate\n\"a;b\";1.234.567,50;1.000;1,5e3\nc;-0,5;12;nan\nd;;7;,25\n")
    german = "{csv: {files: german.csv, delimiter: ';', decimal: ',', thousands: '.'}}"
    equal(feedmill.read(german), [
        {"name": "a;b", "price": 1234567.5, "count": 1000, "rate": 1500.0},
        {"name": "c", "price": -0.5, "count": 12, "rate": "NaN"},
        {"name": "d", "price": "NaN", "count": 7, "rate": 0.25}])
    feedmill.write("french.csv", "n;x\n1\u202f234\u202f567;2,5\n12;3\n")
    equal(feedmill.read("{csv: {files: french.csv, delimiter: ';', decimal: ',', thousands: '\u202f'}}"),
          [{"n": 1234567, "x": 2.5}, {"n": 12, "x": 3.0}])
    feedmill.write("english.csv", 'n,x\n"1,234","1,234.5"\n')
    equal(feedmill.read("{csv: {files: english.csv, thousands: ','}}"), [{"n": 1234, "x": 1234.5}])
    # A mark in another place makes no number: 1.5 is not 15.
    for number in ("1.5", "1234.567", ".123", "1.2345", "1,2,3", "1.234.56", "1,234.5"):
        feedmill.write("t.csv", f"a;b\n1,5;{number}\n")
        equal(feedmill.read(german.replace("german", "t")), [{"a": 1.5, "b": number}])
        source = german.replace("german", "t").replace("}}", ", fields: {b: float64}}}")
        feedmill.refused(source, f'"{number}", which is no float64')
    # Integers that a float does not keep stay exact.
    feedmill.write("t.csv", "a\n18.446.744.073.709.551.615\n")
    equal(feedmill.read(german.replace("german", "t")), [{"a": 2**64 - 1}])
    for wrong, part in (("decimal: ''", "decimal must be one byte"), ("thousands: '.'", "decimal: \",\", thousands: \".\"")):
        feedmill.refused(f"{{csv: {{files: t.csv, {wrong}}}}}", part)


def vectors_of_columns(feedmill):
    columns = 10_000
    names = [f"p{k}" for k in range(columns)]
    rows = [[(k * 7 + r) % 251 for k in range(columns)] for r in range(20)]
    feedmill.write("wide.csv", "label," + ",".join(names) + ",name\n" +
                   "".join(f"{r}," + ",".join(map(str, row)) + f",n{r}\n" for r, row in enumerate(rows)))
    want = [{"label": r, "pixels": row, "name": f"n{r}"} for r, row in enumerate(rows)]
    source = "{csv: {files: wide.csv, vectors: ['pixels=p0..p9999'] MORE}}"
    equal(feedmill.read(source.replace("MORE", "")), want)
    fields = ', fields: {name: bytes, pixels: "float32[10000]"}'
    equal(feedmill.read(source.replace("MORE", fields)),
          [{"name": row["name"], "pixels": [float(p) for p in row["pixels"]]} for row in want])
    equal(feedmill.read(source.replace("MORE", ""), "steps: [{map: sum(pixels)}]"), [sum(row) for row in rows])
    # Two runs, missing values, another order in another file.
    feedmill.write("a.csv", "x0,x1,id,y0,y1\n1,,7,a,b\n")
    feedmill.write("b.csv", "y0,y1,x0,x1,id\nc,d,3,4.5,8\n")
    equal(feedmill.read("{csv: {files: [a.csv, b.csv], vectors: ['x=x0..x1', 'y=y0..y1']}}"),
          [{"x": [1.0, "NaN"], "id": 7, "y": ["a", "b"]}, {"x": [3.0, 4.5], "id": 8, "y": ["c", "d"]}])
    feedmill.write("plain.csv", "1,2,3\n4,5,6\n")
    equal(feedmill.read("{csv: {files: plain.csv, header: false, vectors: ['v=f1..f2']}}"),
          [{"f0": 1, "v": [2, 3]}, {"f0": 4, "v": [5, 6]}])
    for vectors, part in (("x=x1..x0", "behind"), ("x=x0..nope", "nope"), ("x", "pixels=p0..p783"), ("x=x0", "p783")):
        feedmill.refused(f"{{csv: {{files: a.csv, vectors: ['{vectors}']}}}}", part)
    feedmill.refused('{csv: {files: a.csv, vectors: ["x=x0..x1"], fields: {x: "float32[3]"}}}', "2 columns, not 3")
    feedmill.refused("{csv: {files: a.csv, vectors: ['x=x0..x1'], fields: {x: float32}}}", "float32[784]")


def several_missing_texts(feedmill):
    feedmill.write("m.csv", "a,b\n1,NA\n-,2\nnull,\n")
    equal(feedmill.read("{csv: {files: m.csv, missing: ['', NA, '-', 'null']}}"),
          [{"a": 1.0, "b": "NaN"}, {"a": "NaN", "b": 2.0}, {"a": "NaN", "b": "NaN"}])


def defaults_of_missing_values(feedmill):
    def archive(members):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return out.getvalue()
    feedmill.write("t.tar", archive([("a.txt", b"A"), ("a.cls", b"3"), ("b.txt", b"B"), ("c.cls", b"4")]))
    source = '{webdataset: {files: t.tar, fields: {__key__: bytes, txt: "bytes = none", cls: "int64 = -1"}}}'
    equal(feedmill.read(source), [{"__key__": "a", "txt": "A", "cls": 3}, {"__key__": "b", "txt": "B", "cls": -1},
                                  {"__key__": "c", "txt": "none", "cls": 4}])
    equal(feedmill.read('{webdataset: {files: t.tar, fields: {txt: "bytes ="}}}'),
          [{"txt": "A"}, {"txt": "B"}, {"txt": ""}])
    feedmill.refused('{webdataset: {files: t.tar, fields: {cls: int64, txt: bytes}}}', "b has no member .cls", "default")
    feedmill.refused('{webdataset: {files: t.tar, fields: {cls: "int64 = x"}}}', '"x"', "int64")
    feedmill.write("t.csv", "a\n1\n")
    feedmill.refused('{csv: {files: t.csv, fields: {a: "int64 = 3"}}}', "default", "webdataset")

    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    def field(number, data):
        return varint(number << 3 | 2) + varint(len(data)) + data

    def example(features):
        return field(1, b"".join(field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items()))
    ints, floats, texts = (lambda *v: field(3, field(1, b"".join(varint(x) for x in v))),
                           lambda *v: field(2, field(1, struct.pack(f"<{len(v)}f", *v))),
                           lambda *v: field(1, b"".join(field(1, x) for x in v)))
    whole = {"i": ints(5), "f": floats(1.5, 2.5), "s": texts(b"text"), "o": ints(1, 2)}
    records = [example({k: v for k, v in whole.items() if k not in left}) for left in
               ((), ("i",), ("f", "s"), ("i", "f", "s", "o"))] * 40 + [example({"i": b"", "f": b"", "s": b""})]
    feedmill.write("e.bin", b"".join(struct.pack("<I", len(r)) + r.ljust(200, b"\0") for r in records))
    parse = '{parse_example: {i: "int64 = -7", f: "float32[2] = 0.5", s: "bytes = no text", o: "int64[?]"}}'
    steps = f"steps: [{{map: \"substr(x, 4, decode_raw(substr(x, 0, 4), int32)[0])\"}}, {parse}]"
    got = feedmill.read("{fixed_length: {files: e.bin, record_bytes: 204}}", steps)
    rows = [{"i": 5, "f": [1.5, 2.5], "s": "text", "o": [1, 2]}, {"i": -7, "f": [1.5, 2.5], "s": "text", "o": [1, 2]},
            {"i": 5, "f": [0.5, 0.5], "s": "no text", "o": [1, 2]}, {"i": -7, "f": [0.5, 0.5], "s": "no text", "o": []}]
    equal(got, rows * 40 + [rows[3]])
    feedmill.refused("{fixed_length: {files: e.bin, record_bytes: 204}}", "default of i", "int64",
                     steps='steps: [{parse_example: {i: "int64 = x"}}]')


def numbers_in_names(feedmill):
    for k in range(12):
        feedmill.write(f"s-{k:03}.txt", f"{k}\n")
    feedmill.write("p{0..1}/x.txt", "literal folder\n")
    feedmill.write("y{0..1}.txt", "literal name\n")
    want = [str(k) for k in range(12)]
    equal(feedmill.read("{text: 's-{000..011}.txt'}"), want)
    equal(feedmill.read("{text: 's-00{8..9}.txt'}"), want[8:10])
    equal(feedmill.read("{text: 's-0{0..1}{0..1}.txt'}"), ["0", "1", "10", "11"])
    equal(feedmill.read("{text: ['s-{010..011}.txt', 's-{000..001}.txt']}"), ["10", "11", "0", "1"])
    equal(feedmill.read("{text: 's-{000..001}*'}"), ["0", "1"])
    feedmill.refused("{text: 's-{000..012}.txt'}", "s-012.txt", "no such file")
    feedmill.refused("{text: 's-{3..1}.txt'}", "before it begins")
    feedmill.refused("{text: 's-{0..99999999}.txt'}", "1000000 names")
    equal(feedmill.read("{text: 'y{0..1}.txt'}"), ["literal name"])
    equal(feedmill.read("{text: x.txt}", folder=feedmill.folder / "p{0..1}"), ["literal folder"])
    equal(feedmill.read("{text: '*.txt'}", folder=feedmill.folder / "p{0..1}"), ["literal folder"])


TESTS = [types_of_some_fields, types_over_all_files, names_that_are_no_utf8, encodings, comments_and_skipped_rows, quoting_styles, marks_of_numbers, vectors_of_columns, several_missing_texts, defaults_of_missing_values,
         numbers_in_names, columns_in_another_order, large_integers, byte_order_marks, line_ends, other_delimiters, vocabulary_files, column_names,
         folders_with_wildcards]


if __name__ == "__main__":
    main(__doc__, TESTS)
