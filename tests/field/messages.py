#!/usr/bin/env python3
"""Mistakes that people make, and what the error must name: the file, the
record, the component, and what to write instead.

    tests/field/messages.py --binary build/release/bin/feedmill [TEST …]"""
import io
import json
import os
import subprocess
import tarfile

from field_case import equal, main


def errors_of_names(feedmill):
    feedmill.write("index.csv", ",a\n0,1.5\n")  # as DataFrame.to_csv writes it
    equal(feedmill.read("{csv: {files: index.csv}}", "steps: [{map: {n: f0, b: a}}]"), [{"n": 0, "b": 1.5}])
    feedmill.write("empty_name.jsonl", '{"": 1, "a": 2}\n')
    feedmill.refused("{jsonl: {files: empty_name.jsonl}}", "empty_name.jsonl", '""', "fields: {a: int64}")
    equal(feedmill.read("{jsonl: {files: empty_name.jsonl, fields: {a: int64}}}"), [{"a": 2}])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("a.cls", "a.txt", "a.cls", "b.cls"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"1"))
    feedmill.write("twice.tar", out.getvalue())
    feedmill.refused("{webdataset: {files: twice.tar}}", "twice.tar", "record 0", '"a"', "two members .cls", "fields")
    feedmill.refused("{webdataset: {files: twice.tar, fields: {cls: int64}}}", "twice.tar: record 0", "a.cls")
    equal(feedmill.read("{webdataset: {files: twice.tar, fields: {txt: bytes}}}", "steps: [take: 1]"), [{"txt": "1"}])
    steps = "steps: [enumerate: {component: x}]"
    feedmill.refused("{range: 3}", "steps[0] enumerate", '"x"', "another name", steps=steps)


def options_among_components(feedmill):
    """An option of another library's map would be a component: an error, unless it cannot be one."""
    for option in ("num_parallel_calls: 4", "num_parallel_calls: -1", "deterministic: False", "num_proc: 8", "python: True",
                   "remove_columns: \"'x'\""):
        name = option.split(":")[0]
        for step in ("map", "flat_map"):
            steps = f"steps: [{step}: {{x: x, {option}}}]"
            feedmill.refused("{range: 3}", f"steps[0] {step}", f'"{name}"', "not an option", "leave it out", steps=steps)
    # Values that depend on the element, and other names, are components.
    equal(feedmill.read("{range: 2}", "steps: [map: {num_proc: x, name: \"'a'\", size: 4, version: 2}]"),
          [{"num_proc": k, "name": "a", "size": 4, "version": 2} for k in range(2)])


def constants_of_another_scale(feedmill):
    """Means and deviations for pixels from 0 to 1 are refused for images of integers."""
    pixels = b"".join(bytes([k, 128, 255]) for k in range(4))
    feedmill.write("pixels.bin", pixels)
    image = "{map: {x: \"reshape(decode_raw(x, uint8), [1, 1, 3])\"}}"

    def normalized(call):
        return f"steps: [{image}, {{map: {{x: \"{call}\"}}}}]"

    source = "{fixed_length: {files: pixels.bin, record_bytes: 3}}"
    for mean, deviation in (("[0.485, 0.456, 0.406]", "[0.229, 0.224, 0.225]"), ("0.5", "0.5"), ("[0, 0, 0]", "[0.2, 0.2, 0.2]"),
                            ("[0.5, 0.5, 0.5]", "1"), ("0.5", "[1, 1, 1]")):
        feedmill.refused(source, "steps[1] map", "image.normalize", "0 to 1", "uint8", "/ 255",
                         steps=normalized(f"image.normalize(x, {mean}, {deviation})"))
        assert len(feedmill.read(source, normalized(f"image.normalize(cast(x, float32) / 255, {mean}, {deviation})"))) == 4
    for call, want in (("image.normalize(x, 0, 1)", [0, 128, 255]), ("image.normalize(x, [0, 128, 255], 1)", [0, 0, 0]),
                       ("image.normalize(x, [0.5, 0, 0], [1, 2, 255])", [-0.5, 64, 1]), ("image.normalize(x, 0, 255)", [0, 128 / 255, 1]),
                       ("image.normalize(cast(x, float32), 0, 0.5)", [0, 256, 510])):
        (row, *_) = feedmill.read(source, normalized(call))
        got = row["x"][0][0]
        assert all(abs(one - other) < 1e-6 for one, other in zip(got, want)), (call, got)


def errors_of_many_components(feedmill):
    names = [f"c{k}" for k in range(1001)]
    feedmill.write("wide.csv", ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    feedmill.write("wide.jsonl", json.dumps({name: 1 for name in names}) + "\n")
    for kind in ("csv", "jsonl"):
        feedmill.refused(f"{{{kind}: {{files: wide.{kind}}}}}", f"wide.{kind}", "1001", "1000", "fields: {c0: int64}")
        equal(feedmill.read(f"{{{kind}: {{files: wide.{kind}, fields: {{c7: int64, c1000: int64}}}}}}"),
              [{"c7": 1, "c1000": 1}])
    feedmill.write("fits.csv", ",".join(names[1:]) + "\n" + ",".join("1" for _ in names[1:]) + "\n")
    equal(len(feedmill.read("{csv: {files: fits.csv}}")[0]), 1000)


def errors_of_batches(feedmill):
    rows = [[1, 2], [3, 4], [5, 6], [7]]
    feedmill.write("lists.jsonl", "".join(json.dumps({"k": k, "list": row}) + "\n" for k, row in enumerate(rows)))
    for before in ("", "{shuffle: {window: 1}}, ", "{map: {k: k, list: list}}, "):
        parts = ("] batch: batch 1", '"list"', "differ in shape", "row 0 is [2]", "row 1 is [1]", "padded_batch")
        got = feedmill.read_up_to_error("{jsonl: {files: lists.jsonl}}", *parts, steps=f"steps: [{before}batch: 2]")
        equal(got, [{"k": [0, 1], "list": [[1, 2], [3, 4]]}])
    # Made by the worker, whose records are known.
    steps = "steps: [map: {k: x, made: \"split(where(x < 4, 'a b', 'c'), ' ')\"}, batch: 3]"
    feedmill.refused("{range: 6}", "batch 1, which begins with: record 3 of the range: steps[1] batch", '"made"',
                     "row 0 is [2]", "row 1 is [1]", steps=steps)
    equal(feedmill.read("{jsonl: {files: lists.jsonl}}", "steps: [padded_batch: 4]")[0]["list"][3], [7, 0])


def errors_of_folders(feedmill):
    (feedmill.folder / "empty").mkdir()
    feedmill.write("hidden/.secret", "x")
    for name in ("empty", "hidden"):
        for kind in ("text", "images", "tfrecord"):
            feedmill.refused(f"{{{kind}: {{files: {name}}}}}", f"/{name}: the folder has no files")
    feedmill.refused("{text: {files: missing}}", "/missing: no such file")
    feedmill.refused("{text: {files: 'empty/*.txt'}}", "/empty/*.txt: no such file, and nothing matches it")


def errors_of_clusters(feedmill):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TF_CONFIG", "FEEDMILL_"))}
    for uri, variable in (("tf_config:", "TF_CONFIG"), ("env:", "FEEDMILL_CLUSTER")):
        for command in ("server", "worker"):
            done = subprocess.run([feedmill.binary, command, "--cluster", uri, "--log-level", "off"], env=environment,
                                  capture_output=True, text=True, timeout=20)
            assert done.returncode == 2, done
            for part in (f"'{uri}'", "no jobs", f"the variable {variable} is not set"):
                assert part in done.stderr, done.stderr


def errors_of_tokens(feedmill):
    pipeline = feedmill.write("pipeline.yaml", "source: {range: 4}\noptions: {seed: 1}\n")

    def save(name, *parts):
        done = subprocess.run([feedmill.binary, "read", pipeline, "--local", "--save-token", feedmill.folder / name],
                              capture_output=True, text=True, timeout=20)
        assert done.returncode == 1, done
        for part in (f"--save-token {feedmill.folder / name}", *parts):
            assert part in done.stderr, done.stderr
        assert not (feedmill.folder / name).exists()

    # The file that the token is written to first, on a disk that is full.
    (feedmill.folder / "token.partial").symlink_to("/dev/full")
    save("token", "No space left on device", "free space", "another disk")
    assert not (feedmill.folder / "token.partial").is_symlink()
    save("no/token", "No such file or directory")
    (feedmill.folder / "folder").mkdir()
    done = subprocess.run([feedmill.binary, "read", pipeline, "--local", "--save-token", feedmill.folder / "folder"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "directory" in done.stderr, done


def types_that_change_late(feedmill):
    """One text in a column of numbers: the error of a step says where it is."""
    rows = [{"id": k, "price": k * 2, "list": [k, 1]} for k in range(100_000)]
    for place, word in ((0, "oops"), (37, "n/a"), (999, "1,5")):
        odd = [dict(row) for row in rows]
        odd[place]["price"] = word
        odd[place]["list"] = [word]
        text = "id,price\n" + "".join(f'{row["id"]},"{row["price"]}"\n' for row in odd)
        feedmill.write(f"late{place}.csv", text)
        feedmill.write(f"late{place}.jsonl", "".join(json.dumps(row) + "\n" for row in odd[:2000]))
        want = [row["price"] for row in rows if row["id"] != place]
        for kind, count in (("csv", len(want)), ("jsonl", 1999)):
            file = f"late{place}.{kind}"
            source = f"{{{kind}: {{files: {file}}}}}"
            parts = (file, f"record {place} ", f'"{word}"', '"price" is bytes', "int64", "`fields`")
            for steps in ("[map: price * 2]", "[filter: price > 2]", "[map: {p: price}, map: p + 1]",
                          "[shuffle, map: sum(price)]"):
                feedmill.refused(source, "steps[", *parts, steps=f"steps: {steps}")
            # The advice of the error works.
            declared = f"{{{kind}: {{files: {file}, fields: {{id: int64, price: int64}}}}}}"
            equal(feedmill.read(declared, "steps: [on_error: skip, map: price]"), want[:count])
        feedmill.refused(f"{{jsonl: {{files: late{place}.jsonl}}}}", '"list" is bytes', f'"{word}"', f"record {place} ",
                         steps="steps: [map: sum(list)]")
        # Errors that have nothing to do with it do not speak of it.
        done = feedmill.run(f"{{csv: {{files: late{place}.csv}}}}", "steps: [map: prize * 2]")
        assert done.returncode == 2 and "is bytes" not in done.stderr, done.stderr
    # In the second file of several.
    feedmill.write("part0.csv", "id,price\n1,2\n")
    feedmill.write("part1.csv", "price,id\n3,4\noops,5\n")
    feedmill.refused("{csv: {files: 'part*.csv'}}", "record 1 of", "part1.csv", '"oops"',
                     steps="steps: [map: price + id]")
    # After the records that the types are found in, the record is the error.
    feedmill.write("later.csv", "id,price\n" + "".join(f"{k},{'oops' if k == 5000 else k}\n" for k in range(6000)))
    parts = ("later.csv: record 5000", '"price"', '"oops"', "int64", "`fields`")
    equal(len(feedmill.read_up_to_error("{csv: {files: later.csv}}", *parts)), 5000)
    # Integers that no type holds together.
    feedmill.write("large.csv", f"id,hash\n1,{2**64 - 1}\n2,-1\n3,4\n")
    feedmill.write("large.jsonl", f'{{"id": 1, "hash": {2**64 - 1}}}\n{{"id": 2, "hash": -1}}\n')
    for kind in ("csv", "jsonl"):
        feedmill.refused(f"{{{kind}: {{files: large.{kind}}}}}", "record 1 of", f'large.{kind} has "-1"', "no type",
                         steps="steps: [map: hash + 1]")
    # Columns of words have no such reason.
    feedmill.write("words.csv", "id,word\n1,a\n2,b\n")
    done = feedmill.run("{csv: {files: words.csv}}", "steps: [map: word * 2]")
    assert done.returncode == 2 and "is bytes because" not in done.stderr, done.stderr


TESTS = [errors_of_names, options_among_components, constants_of_another_scale, errors_of_many_components, errors_of_batches, errors_of_folders, errors_of_clusters,
         errors_of_tokens, types_that_change_late]


if __name__ == "__main__":
    main(__doc__, TESTS)
