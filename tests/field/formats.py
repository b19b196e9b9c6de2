#!/usr/bin/env python3
"""Data sets of MosaicML Streaming, LMDB and ArrayRecord, read by feedmill and by these.

    tests/field/formats.py --binary build/release/bin/feedmill [TEST …]

The MDS files and their values are those that MosaicML Streaming wrote
(mds/make_mds.py), and the ArrayRecord files those of Google's package
(array_record/make_array_record.py)."""
import base64
import gzip
import json
import pathlib
import random
import shutil
import struct
import sys

import lmdb

from field_case import equal, main

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "shell" / "lib"))
from make_data import tfrecord  # noqa: E402

MDS = pathlib.Path(__file__).parent / "mds"
ARRAY_RECORD = pathlib.Path(__file__).parent / "array_record"


def key(row):
    return json.dumps(row, sort_keys=True)


def mds_columns(feedmill):
    decode = "steps: [{decode_image: {component: png}}]"
    for name in ("plain", "zstd", "gz", "bz2"):
        want = [json.loads(line) for line in (MDS / f"{name}.jsonl").read_text().splitlines()]
        shutil.copytree(MDS / name, feedmill.folder / name)
        for files in (name, f"{name}/index.json", f"'{name}/*.mds*'"):
            equal(feedmill.read(f"{{mds: {{files: {files}}}}}", decode), want)
        got = feedmill.read(f"{{mds: {{files: {name}}}}}", "steps: [shuffle, {decode_image: {component: png}}]")
        assert sorted(got, key=key) == sorted(want, key=key) and got != want
        # Some columns, and types that the columns may have, too.
        fields = '{any: "float64[?]", str_int: float32, i16: int16, image: "uint8[?, ?, 3]", str_float: bytes}'
        got = feedmill.read(f"{{mds: {{files: {name}, fields: {fields}}}}}", "steps: [{take: 5}]")
        equal([row["any"] for row in got], [row["any"] for row in want[:5]])
        equal([row["str_int"] for row in got], [float(row["str_int"]) for row in want[:5]])
        equal([float(row["str_float"]) for row in got], [row["str_float"] for row in want[:5]])
        equal(list(got[0]), ["any", "str_int", "i16", "image", "str_float"])
        equal(feedmill.read(f"{{mds: {{files: {name}}}}}", "steps: [{map: u32}]"), [row["u32"] for row in want])
    # A folder that keeps both forms of a shard has it once.
    shutil.copytree(MDS / "zstd", feedmill.folder / "both")
    shard = gzip.decompress((MDS / "gz" / "shard.00000.mds.gz").read_bytes())
    feedmill.write("both/shard.00000.mds", shard)
    equal(len(feedmill.read("{mds: {files: both}}", decode)), 9)
    # A shard that is named is read with any file name.
    feedmill.write("other.bin", shard)
    equal(len(feedmill.read("{mds: {files: other.bin}}", decode)), 9)


def mds_damage(feedmill):
    shard = (MDS / "plain" / "shard.00000.mds").read_bytes()
    samples = struct.unpack_from("<I", shard)[0]
    fields = "fields: {int: int64, str: bytes}"
    source = f"{{mds: {{files: FILE, {fields}}}}}"
    want = [{"int": row["int"], "str": row["str"]}
            for row in map(json.loads, (MDS / "plain.jsonl").read_text().splitlines()[:samples])]
    feedmill.write("good.mds", shard)
    equal(feedmill.read(source.replace("FILE", "good.mds")), want)

    def changed(at, data):
        return shard[:at] + data + shard[at + len(data):]

    cases = {"cut": (shard[:-1], "table of samples"), "long": (shard + b"x", "table of samples"),
             "half": (shard[:60], "shard"), "empty": (b"", "shard"), "text": (b"some text " * 50, "shard"),
             "count": (changed(0, b"\xff\xff\xff\x7f"), "shard"), "table": (changed(8, b"\xff\xff\xff\xff"), "table"),
             "columns": (shard.replace(b'"column_names"', b'"column_namez"'), "columns"),
             "br": (b"\x8b\x00\x80", "brotli")}
    for name, (data, part) in cases.items():
        file = f"{name}.mds.br" if name == "br" else f"{name}.mds"
        feedmill.write(file, data)
        feedmill.refused(source.replace("FILE", file), file, part)
        feedmill.refused(f"{{mds: {{files: {file}}}}}", file)
    # A sample that is damaged is an error of its own.
    second = struct.unpack_from("<I", shard, 8)[0]
    feedmill.write("sample.mds", changed(second, b"\xff\xff\xff\x7f"))
    equal(feedmill.read_up_to_error(source.replace("FILE", "sample.mds"), "sample.mds: record 1", "column"), want[:1])
    equal(feedmill.read(source.replace("FILE", "sample.mds"), "steps: [{on_error: skip}]"), want[:1] + want[2:])
    feedmill.refused("{mds: {files: good.mds, fields: {nothing: int64}}}", "good.mds", "nothing", "str_int")
    feedmill.refused("{mds: {files: good.mds, fields: {str: int64}}}", "good.mds", '"str"')
    feedmill.refused('{mds: {files: good.mds, fields: {fixed: "float32[2, 4]"}}}', "good.mds", '"fixed"', "[2, 3]")
    feedmill.write("index.json", '{"shards": [{"raw_data": {"basename": "../good.mds"}}]}')
    feedmill.refused("{mds: {files: index.json}}", "index.json", "shard 0")
    feedmill.write("none/readme.txt", "x")
    feedmill.refused("{mds: {files: none}}", "none", "no MDS shards")


def write_lmdb(path, entries, **options):
    with lmdb.open(str(path), map_size=1 << 28, subdir=False, lock=False, **options) as environment:
        with environment.begin(write=True) as transaction:
            for name, value in entries:
                transaction.put(name, value)


def entries_of(path):
    """The entries that liblmdb finds in a file."""
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as environment:
        with environment.begin() as transaction:
            return [{"key": name.decode("latin-1"), "value": value.decode("latin-1")}
                    for name, value in transaction.cursor()]


def lmdb_entries(feedmill):
    chance = random.Random(5)

    def text(size):
        return "".join(chance.choice("abcdefgh") for _ in range(size)).encode()

    sets = {"few": [(b"b", b"2"), (b"a", b"1"), (b"c", b"")], "none": [],
            "large": [(b"%08d" % chance.randrange(10**8), text(chance.choice((0, 10, 2020, 5000, 70_000))))
                      for _ in range(300)],
            "many": [(text(chance.randrange(1, 500)), text(20)) for _ in range(5000)]}
    for name, entries in sets.items():
        path = feedmill.folder / f"{name}.mdb"
        write_lmdb(path, entries)
        want = entries_of(path)
        got = feedmill.read(f"{{lmdb: {name}.mdb}}")
        assert got == want, name
        shuffled = feedmill.read(f"{{lmdb: {name}.mdb}}", "steps: [shuffle]")
        assert sorted(shuffled, key=key) == sorted(want, key=key)
        equal(feedmill.read(f"{{lmdb: {name}.mdb}}", "steps: [{map: key}]"), [row["key"] for row in want])
    # Keys that were deleted and written again: pages are in another order, and some are free.
    path = feedmill.folder / "changed.mdb"
    write_lmdb(path, sets["many"])
    with lmdb.open(str(path), map_size=1 << 28, subdir=False, lock=False) as environment:
        for step in range(5):
            with environment.begin(write=True) as transaction:
                for name, _ in sets["many"][step::7]:
                    transaction.delete(name)
                for name, value in sets["large"][step::5]:
                    transaction.put(name, value + b"!" * 3000)
    assert feedmill.read("{lmdb: changed.mdb}") == entries_of(path)
    # A folder as LMDB makes it, with its lock.
    with lmdb.open(str(feedmill.folder / "db"), map_size=1 << 20) as environment:
        with environment.begin(write=True) as transaction:
            transaction.put(b"k", b"v")
    equal(feedmill.read("{lmdb: db}"), [{"key": "k", "value": "v"}])


def lmdb_damage(feedmill):
    path = feedmill.folder / "good.mdb"
    write_lmdb(path, [(b"%05d" % k, b"v" * (k % 3000)) for k in range(2000)])
    data = path.read_bytes()
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as environment:
        pages = environment.info()["last_pgno"] + 1
    for name, bad, part in (("text.mdb", b"text " * 1000, "no LMDB file"), ("empty.mdb", b"", "LMDB"),
                            ("cut.mdb", data[:pages * 4096 - 1], "cut short")):
        feedmill.write(name, bad)
        feedmill.refused(f"{{lmdb: {name}}}", name, part)
    # Any byte may be wrong: an error or other data, and no crash.
    chance = random.Random(7)
    for _ in range(60):
        bad = bytearray(data)
        for _ in range(20):
            page = chance.randrange(pages)
            at = page * 4096 + chance.randrange(chance.choice((16, 64, 4096)))
            bad[at] = chance.randrange(256)
        feedmill.write("bad.mdb", bad)
        done = feedmill.run("{lmdb: bad.mdb}")
        assert done.returncode in (0, 1), done
    with lmdb.open(str(feedmill.folder / "named.mdb"), map_size=1 << 20, max_dbs=2, subdir=False, lock=False) as named:
        inner = named.open_db(b"inner")
        with named.begin(write=True) as transaction:
            transaction.put(b"k", b"v", db=inner)
    feedmill.refused("{lmdb: named.mdb}", "named.mdb", '"inner"', "main")


def array_record(name):
    """The bytes of an ArrayRecord file, and its records."""
    data = gzip.decompress((ARRAY_RECORD / f"{name}.array_record.gz").read_bytes())
    records = json.loads(gzip.decompress((ARRAY_RECORD / f"{name}.json.gz").read_bytes()))
    return data, [record.encode("latin-1") for record in records]


def as_bytes(rows):
    return [base64.b64decode(row["base64"]) if isinstance(row, dict) else row.encode() for row in rows]


def array_record_files(feedmill):
    everything = []
    for packed in sorted(ARRAY_RECORD.glob("*.array_record.gz")):
        name = packed.name.removesuffix(".gz")
        data, want = array_record(name.removesuffix(".array_record"))
        feedmill.write(f"data/{name}", data)
        everything += want
        source = f"{{array_record: data/{name}}}"
        assert as_bytes(feedmill.read(source)) == want, name
        shuffled = as_bytes(feedmill.read(source, "steps: [shuffle]"))
        assert sorted(shuffled) == sorted(want) and (shuffled != want or len(set(want)) < 5), name
        # Any part of a file.
        part = as_bytes(feedmill.read(source, "steps: [{skip: 3}, {take: 9}]"))
        assert part == want[3:12], name
    # Files of TensorFlow Datasets stand beside JSON files.
    feedmill.write("data/dataset_info.json", "{}")
    for files in ("data", "'data/*'"):
        assert as_bytes(feedmill.read(f"{{array_record: {files}}}")) == everything
    feedmill.write("data/other.array_record-00000-of-00001", array_record("one")[0])
    assert len(feedmill.read("{array_record: data}")) == len(everything) + 40
    # A file that is named is read with any name.
    feedmill.write("one.bin", array_record("one")[0])
    assert as_bytes(feedmill.read("{array_record: one.bin}")) == array_record("one")[1]


def array_record_is_tfrecord(feedmill):
    """The same records give the same hash of the order, local and with a glob."""
    for name in ("groups", "blocks"):
        data, records = array_record(name)
        feedmill.write(f"{name}.array_record", data)
        feedmill.write(f"{name}.tfrecord", b"".join(map(tfrecord, records)))
        hashes = {feedmill.order_hash(f"{{{kind}: {name}.{kind}}}", "steps: [shuffle, {batch: 4}]")
                  for kind in ("array_record", "tfrecord")}
        assert len(hashes) == 1, hashes


def array_record_damage(feedmill):
    one, records = array_record("one")
    groups, grouped = array_record("groups")

    def changed(data, at, to=None):
        return data[:at] + (bytes([data[at] ^ 1]) if to is None else to) + data[at + (1 if to is None else len(to)):]

    block = 1 << 16
    files = {"text": (b"some text " * 20_000, "no ArrayRecord file"), "empty": (b"", "no ArrayRecord file"),
             "short": (one[:3], "no ArrayRecord file"), "half": (one[:1000], "cut short"),
             "cut": (one[:-1], "cut short"), "block": (one[:block], "cut short"),
             "long": (one + b"x", "no multiple"), "zeros": (one + b"\0" * block, "cut short"),
             "magic": (changed(one, len(one) - block + 70), "its data is damaged"),
             "postscript": (changed(one, len(one) - block + 30), "its header is damaged"),
             "block_header": (changed(one, len(one) - block), "block header")}
    for name, (data, part) in files.items():
        feedmill.write(f"{name}.array_record", data)
        feedmill.refused(f"{{array_record: {name}.array_record}}", f"{name}.array_record", part)
        feedmill.refused(f"{{array_record: {name}.array_record}}", f"{name}.array_record", steps="steps: [{on_error: skip}]")
    # A byte of a chunk's header or data is wrong: its records are lost, no others.
    lines = [64 + k for k in (0, 9, 17, 25, 33, 40, 60)]
    for at in lines:
        feedmill.write("bad.array_record", changed(one, at))
        feedmill.refused("{array_record: bad.array_record}", "bad.array_record: record 0: chunk 0 at offset 64")
        assert as_bytes(feedmill.read("{array_record: bad.array_record}", "steps: [{on_error: skip}]")) == records[1:]
    middle = groups.index(grouped[14][:12]) if grouped[14][:12] in groups else None
    for at in [middle] if middle else range(300, 600, 60):
        feedmill.write("bad.array_record", changed(groups, at))
        rows = as_bytes(feedmill.read("{array_record: bad.array_record}", "steps: [{on_error: skip}]"))
        lost = [k for k in range(0, 60, 7) if rows == grouped[:k] + grouped[k + 7:]]
        assert len(lost) == 1, (at, len(rows))
        first = as_bytes(feedmill.read_up_to_error("{array_record: bad.array_record}", f"bad.array_record: record {lost[0]}: chunk "))
        assert first == grouped[:lost[0]]
    # Any bytes may be wrong: an error or the records, and no crash.
    chance = random.Random(11)
    blocks, _ = array_record("blocks")
    for data in (one, groups, blocks):
        for _ in range(12):
            bad = bytearray(data)
            for _ in range(8):
                bad[chance.choice((chance.randrange(len(data)), chance.randrange(3000), len(data) - block + chance.randrange(200)))] = chance.randrange(256)
            feedmill.write("bad.array_record", bad)
            done = feedmill.run("{array_record: bad.array_record}")
            assert done.returncode in (0, 1), done


TESTS = [mds_columns, mds_damage, lmdb_entries, lmdb_damage, array_record_files, array_record_is_tfrecord,
         array_record_damage]


if __name__ == "__main__":
    main(__doc__, TESTS)
