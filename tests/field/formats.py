#!/usr/bin/env python3
"""Data sets of MosaicML Streaming, LMDB and ArrayRecord, read by feedmill and by these.

    tests/field/formats.py --binary build/release/bin/feedmill [TEST …]

The MDS files and their values are those that MosaicML Streaming wrote
(mds/make_mds.py), and the ArrayRecord files Google's package
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

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "stores"))
from range_server import RangeServer  # noqa: E402

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


def mds_shard(first, count):
    """The bytes of a shard with the samples {i: k, t: "text k"}."""
    config = json.dumps({"column_encodings": ["int", "str"], "column_names": ["i", "t"], "column_sizes": [8, None]}).encode()
    offsets = [4 + 4 * (count + 1) + len(config)]
    samples = b""
    for k in range(first, first + count):
        samples += struct.pack("<Iq", len(f"text {k}"), k) + f"text {k}".encode()
        offsets.append(offsets[0] + len(samples))
    return struct.pack(f"<I{count + 1}I", count, *offsets) + config + samples


def mds_index(feedmill, folder, names, packed=False, format="mds"):
    """Writes the index of shards, as MDSWriter and merge_index do."""
    shards = [{"format": format, "raw_data": {"basename": name, "bytes": 1, "hashes": {}}, "samples": 1, "version": 2,
               "zip_data": {"basename": name + ".gz", "bytes": 1, "hashes": {}} if packed else None} for name in names]
    feedmill.write(f"{folder}/index.json", json.dumps({"version": 2, "shards": shards}))


def numbers(feedmill, files):
    return feedmill.read(f"{{mds: {{files: {files}}}}}", "steps: [{map: i}]")


def mds_indexes(feedmill):
    """A folder is what its index.json says; merged indexes name shards of folders below."""
    # Writers 0 to 11, merged; in the order of the index.
    for folder in range(12):
        for shard in range(2):
            feedmill.write(f"merged/{folder}/shard.0000{shard}.mds", mds_shard(folder * 10 + shard * 5, 5))
        mds_index(feedmill, f"merged/{folder}", ["shard.00000.mds", "shard.00001.mds"])
    by_folder = [k for folder in sorted(range(12), key=str) for k in range(folder * 10, folder * 10 + 10)]
    equal(numbers(feedmill, "merged"), by_folder)  # not merged yet: each folder by its own index
    equal(numbers(feedmill, "'merged/*/index.json'"), by_folder)
    equal(numbers(feedmill, "'merged/[0-3]'"), list(range(40)))
    mds_index(feedmill, "merged", [f"{folder}/shard.0000{shard}.mds" for folder in range(12) for shard in range(2)])
    for files in ("merged", "merged/index.json", "'merged/*'", "'mer*'"):
        equal(numbers(feedmill, files), list(range(120)))
    equal(numbers(feedmill, "merged/3"), list(range(30, 40)))
    equal(numbers(feedmill, "'merged/*/*.mds'"), by_folder)
    with RangeServer(feedmill.folder) as server:
        equal(numbers(feedmill, f"'{server.url}/merged/index.json'"), list(range(120)))
        equal(numbers(feedmill, f"'{server.url}/merged/index.json?token=a'"), list(range(120)))
        assert all("token=a" in path for path, _, _ in server.log[-24:]), server.log[-24:]
    # A shard that the index does not list is not read; one that is gone is an error that names it.
    feedmill.write("left/shard.00000.mds", mds_shard(0, 30))
    feedmill.write("left/shard.00001.mds", mds_shard(100, 30))
    mds_index(feedmill, "left", ["shard.00000.mds"])
    equal(numbers(feedmill, "left"), list(range(30)))
    mds_index(feedmill, "left", ["shard.00000.mds", "shard.00002.mds", "shard.00001.mds"])
    for files in ("left", "left/index.json", "'left/*'"):
        feedmill.refused(f"{{mds: {{files: {files}}}}}", "left/shard.00002.mds")
    feedmill.refused("{mds: {files: left}}", "left/index.json: it lists", "does not exist", "*.mds")
    equal(numbers(feedmill, "'left/*.mds'"), [*range(30), *range(100, 130)])
    # Without an index, the shards of the folder; compressed shards that are unpacked beside the index.
    feedmill.write("lost/shard.00000.mds", mds_shard(0, 3))
    feedmill.write("lost/below/shard.00000.mds.gz", gzip.compress(mds_shard(3, 3)))
    mds_index(feedmill, "lost/below", ["shard.00000.mds"], packed=True)
    equal(numbers(feedmill, "lost"), [3, 4, 5, 0, 1, 2])
    feedmill.write("lost/below/shard.00000.mds", mds_shard(6, 3))
    equal(numbers(feedmill, "lost"), [6, 7, 8, 0, 1, 2])
    # Indexes that are none.
    feedmill.write("odd/shard.00000.mds", mds_shard(0, 3))
    for text, part in (("{", "no index"), ("[]", "no index"), ('{"shards": 3}', "no index"), ('{"shards": []}', "no shards"),
                       ('{"shards": [3]}', "shard 0"), ('{"shards": [{"raw_data": {"basename": 3}}]}', "shard 0")):
        feedmill.write("odd/index.json", text)
        feedmill.refused("{mds: {files: odd}}", "odd/index.json", part)
    for name in ("../left/shard.00000.mds", "/etc/passwd", "a//b.mds", "./shard.00000.mds", "", "a\0.mds", "http://h/a.mds"):
        mds_index(feedmill, "odd", [name])
        feedmill.refused("{mds: {files: odd}}", "odd/index.json", "shard 0", "below the folder")
    mds_index(feedmill, "odd", ["shard.00000.mds"], format="jsonl")
    feedmill.refused("{mds: {files: odd}}", "odd/index.json", "jsonl", '"mds"')


def mds_empty_shards(feedmill):
    """Shards without samples, which MDSWriter writes before a sample above its limit."""
    for k, count in enumerate((0, 0, 2, 0, 3, 0)):
        feedmill.write(f"empty/shard.0000{k}.mds", mds_shard(10 * k, count))
    mds_index(feedmill, "empty", [f"shard.0000{k}.mds" for k in range(6)])
    want = [{"i": k, "t": f"text {k}"} for k in (20, 21, 40, 41, 42)]
    for files in ("empty", "empty/index.json", "'empty/*.mds'"):
        equal(feedmill.read(f"{{mds: {{files: {files}}}}}"), want)
    equal(feedmill.read("{mds: {files: empty}}", "steps: [{skip: 3}, {take: 1}]"), want[3:4])
    feedmill.refused("{mds: {files: empty/shard.00000.mds}}", "empty/shard.00000.mds", "no shard has a sample", "fields")
    equal(feedmill.read("{mds: {files: empty/shard.00000.mds, fields: {i: int64}}}"), [])


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
        if name == "transposed.array_record":
            continue
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
    feedmill.write("transposed.array_record", array_record("transposed")[0])
    feedmill.refused("{array_record: transposed.array_record}", "transposed.array_record", "its records are transposed")
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


TESTS = [mds_columns, mds_indexes, mds_empty_shards, mds_damage, lmdb_entries, lmdb_damage, array_record_files, array_record_is_tfrecord,
         array_record_damage]


if __name__ == "__main__":
    main(__doc__, TESTS)
