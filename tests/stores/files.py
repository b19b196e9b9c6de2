"""Files of every format, made without feedmill, and pipelines that read them."""
import gzip
import io
import json
import pathlib
import struct
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "shell" / "lib"))
from make_data import tfrecord  # noqa: E402

try:
    import pyarrow
    import pyarrow.feather
    import pyarrow.parquet
except ImportError:  # then without Parquet and Arrow files
    pyarrow = None

PHOTOS = sorted((pathlib.Path(__file__).parent.parent / "shell" / "data").glob("*.jpg"))

ARRAY_RECORD = pathlib.Path(__file__).parent.parent / "field" / "array_record"

# The part of a pipeline behind "source: ", with FILES for the files' names.
PIPELINES = {
    "tfrecord": "{tfrecord: {files: FILES}}\nsteps: [shuffle]",
    "text": "{text: {files: FILES}}",
    "gzip": "{text: {files: FILES}}",
    "csv": "{csv: {files: FILES}}\nsteps: [shuffle]",
    "jsonl": "{jsonl: {files: FILES}}",
    # Labels and bytes; paths differ from one place to another.
    "images": "{images: {files: FILES}}\nsteps: [shuffle, map: {image: image, label: label}]",
    "array_record": "{array_record: {files: FILES}}\nsteps: [shuffle]",
    # The records of the ArrayRecord files.
    "same_records": "{tfrecord: {files: FILES}}\nsteps: [shuffle]",
    "npy": "{npy: {files: FILES}}",
    "webdataset": "{webdataset: {files: FILES}}",
    # add_columnar makes them.
    "parquet": "{parquet: {files: FILES}}\nsteps: [shuffle]",
    "arrow": "{arrow: {files: FILES}}\nsteps: [shuffle]",
}


def npy(rows, columns):
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header = header.ljust((len(header) + 10 + 1 + 63) // 64 * 64 - 11) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{rows * columns}q", *range(rows * columns)))


def tar(groups):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for k in range(groups):
            for extension, data in (("txt", b"text %d" % k), ("cls", b"%d" % (k % 10))):
                member = tarfile.TarInfo(f"{k:06}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def make_files(folder):
    """Writes all files. Returns {kind: [name below folder, …]}."""
    names = {}

    def write(kind, name, data):
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        names.setdefault(kind, []).append(name)

    # Three blocks of 4 MiB, so that splits of a file are read by several workers.
    lines = b"".join(b"line %d %s\n" % (k, b"x" * (k * 37 % 61)) for k in range(240_000))
    for part in range(2):
        write("text", f"text/{part}.txt", lines[part:])
        write("gzip", f"gzip/{part}.txt.gz", gzip.compress(lines[part:3_000_000], 1))
        write("tfrecord", f"tfrecord/{part}.tfrecord",
              b"".join(tfrecord(b"record %d %s" % (k, b"y" * (k % 97))) for k in range(part, 4_000)))
        write("csv", f"csv/{part}.csv",
              b"number,text\n" + b"".join(b"%d,word%d\n" % (k, k % 71) for k in range(part, 30_000)))
        write("jsonl", f"jsonl/{part}.jsonl",
              b"".join(b'{"number": %d, "text": "word%d"}\n' % (k, k % 71) for k in range(part, 30_000)))
        write("npy", f"npy/{part}.npy", npy(5_000 + part, 3))
        write("webdataset", f"webdataset/{part}.tar", tar(600 + part))
    for name in ("groups", "blocks", "one"):
        packed = (ARRAY_RECORD / f"{name}.array_record.gz").read_bytes()
        write("array_record", f"array_record/{name}.array_record", gzip.decompress(packed))
        records = json.loads(gzip.decompress((ARRAY_RECORD / f"{name}.json.gz").read_bytes()))
        write("same_records", f"same_records/{name}.tfrecord",
              b"".join(tfrecord(record.encode("latin-1")) for record in records))
    for k in range(24):
        write("images", f"images/{k % 3}/{k:03}.jpg", PHOTOS[k % len(PHOTOS)].read_bytes())
    return names


# Keys that a store's URLs encode, or that look encoded. Each is the name of a file, too.
ODD_NAMES = ("a b", "a+b", "a%20b", "100%", "a%2Fb", "q?v", "x#y", "k=v&w", "~t", "semi;colon,comma", "quo\"te",
             "u\u0308", "\u00fc", "日本", "😀", "a:b", "a@b", "$(x)", "<x>", "tail.", "{1..2}", "[x]", "st*r", "!bang", "caret^", "bar|")


def add_odd_names(feedmill):
    """Files of ODD_NAMES, each with a line of its own, and the patterns that name one each."""
    for k, name in enumerate(ODD_NAMES):
        path = feedmill.files / "odd" / name / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line {k}\n")
    return ["".join(f"[{c}]" if c in "*?[{" else c for c in name) for name in ODD_NAMES]


def same_odd_names(feedmill, place):
    """Each name alone, and all of them by a pattern, are the files of these names."""
    for pattern in [f"{name}/{name}.txt" for name in add_odd_names(feedmill)] + ["*/*.txt", "**", "*/a*"]:
        one, two = (feedmill.hash_of("source: " + json.dumps({"text": {"files": f"{root}/odd/{pattern}"}}, ensure_ascii=False) + "\n")
                    for root in (place, feedmill.files))
        assert one == two, f"{pattern}: {one} of objects, {two} of files"


def same_folder_marks(feedmill, place, put):
    """Objects that mark folders are none of the files: an empty "d" beside "d/…", and what Hadoop's tools leave."""
    kinds = {"text": ("{text: FILES}", b"one\n"), "jsonl": ("{jsonl: {files: FILES, fields: {a: int64}}}", b'{"a": 1}\n'),
             "csv": ("{csv: {files: FILES, fields: {a: int64}}}", b"a\n1\n"), "tfrecord": ("{tfrecord: FILES}", tfrecord(b"x")),
             "fixed_length": ("{fixed_length: {files: FILES, record_bytes: 4}}", b"abcd"),
             "images": ("{images: FILES}\nsteps: [map: {label: label}]", PHOTOS[0].read_bytes())}
    if pyarrow:
        out = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"a": [1]}), out)
        kinds["parquet"] = ("{parquet: FILES}", out.getvalue())
    for kind, (source, data) in kinds.items():
        for key in ("d", "d/k=1", "d/k=2_$folder$", "d_$folder$", "empty"):
            put(f"marks/{kind}/{key}", b"")
        put(f"marks/{kind}/d/c.x._COPYING_", data[:3])
        for key in ("d/a.x", "d/k=1/b.x", "d/k=2/c.x"):
            put(f"marks/{kind}/{key}", data)
        for name, count in (("d", 3), ("d/", 3), ("d/**", 3), ("d/*", 3), ("[d]", 3), ("d/k=1", 1), ("d/k=?", 2), ("*/k=1/*", 1)):
            got = feedmill.hash_of(f"source: {source.replace('FILES', repr(f'{place}/marks/{kind}/{name}'))}\n")
            assert got[1] == count, f"{kind}, {name}: {got[1]} elements, not {count}"
    assert feedmill.hash_of(f"source: {{text: '{place}/marks/text/empty'}}\n")[1] == 0


def same_keys_like_options(feedmill, place, put):
    """Keys that end like options of a URL, as pictures that were fetched with their query do."""
    for key in ("photo.jpg?w=640", "photo.jpgXw=640", "b.txt", "c?x=1?y=2", "d[?]e"):
        put(f"query/{key}", f"line of {key}\n".encode())

    def lines(name, *flags):
        done = feedmill.read("source: " + json.dumps({"text": {"files": f"{place}/query{name}"}}) + "\n", *flags)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        return sorted(json.loads(line).removeprefix("line of ") for line in done.stdout.splitlines())

    everything = sorted(("photo.jpg?w=640", "photo.jpgXw=640", "b.txt", "c?x=1?y=2", "d[?]e"))
    with feedmill.cluster(1) as (address, _, _):
        for flags in (("--local",), ("--service", address)):
            for name in ("", "/", "/*", "/**"):
                assert lines(name, *flags) == everything, name
            assert lines("/photo.jpg[?]w=640", *flags) == ["photo.jpg?w=640"]
    assert lines("/c[?]x=1[?]y=2") == ["c?x=1?y=2"]
    assert lines("/photo.jpg*") == ["photo.jpg?w=640", "photo.jpgXw=640"]
    feedmill.refused(f"source: {{text: '{place}/query/photo.jpg?w=640'}}\n", "unknown option 'w'", "[?] stands for a '?' of a name")


def add_columnar(feedmill):
    """Adds Parquet and Arrow files to the others, where pyarrow is."""
    if not pyarrow:
        return
    for part in range(2):
        table = pyarrow.table({"number": list(range(part, 20_000)), "text": [f"word{k % 71}" for k in range(part, 20_000)]})
        for kind in ("parquet", "arrow"):
            name = f"{kind}/{part}.{kind}"
            path = feedmill.files / name
            path.parent.mkdir(exist_ok=True)
            if kind == "parquet":
                pyarrow.parquet.write_table(table, path, row_group_size=3000)
            else:
                pyarrow.feather.write_feather(table, str(path), compression="uncompressed", chunksize=3000)
            feedmill.names.setdefault(kind, []).append(name)


def pipeline(kind, place, names):
    """The text of a pipeline whose files are below `place`."""
    files = "[" + ", ".join(f"'{place}/{name}'" for name in names) + "]"
    return f"source: {PIPELINES[kind].replace('FILES', files)}\noptions: {{seed: 7}}\n"
