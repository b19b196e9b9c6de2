#!/usr/bin/env python3
"""Archives and compressed files as people have them, read by feedmill, by
Python's tarfile and gzip, and by zstandard.

    tests/field/archives.py --binary build/release/bin/feedmill [TEST …]"""
import bz2
import gzip
import io
import json
import lzma
import struct
import subprocess
import tarfile
import zipfile
import zlib

import zstandard

from field_case import equal, main

BLOCK = 512


def tar_of(members, form=tarfile.GNU_FORMAT):
    """An archive of (name, content) with an end mark and no more padding."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        end = archive.offset
    return out.getvalue()[:end] + bytes(2 * BLOCK)


def samples(data):
    """The samples that tarfile finds in an archive, and whether it reports damage."""
    out = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                key, extension = member.name.split(".", 1)
                if not out or out[-1]["__key__"] != key:
                    out.append({"__key__": key})
                content = archive.extractfile(member).read()
                if len(content) < member.size:
                    return out, True
                out[-1][extension] = content.decode()
    except tarfile.ReadError:
        return out, True
    return out, False


MEMBERS = [(f"s{k}.{extension}", f"{extension} {k} ".encode() * (10 * k + 1)) for k in range(40)
           for extension in ("jpg", "txt")]
FIELDS = "{webdataset: {files: FILE, fields: {__key__: bytes, jpg: bytes, txt: bytes}}}"


def tar_trailing_bytes(feedmill):
    sound = tar_of(MEMBERS)
    large = tar_of([("big.jpg", b"c"), ("big.txt", b"x" * 300_000)])
    tails = {"text": b"garbage" * 200, "one": b"?", "long": b"\x01\x02\x03" * 300_000,
             "late": bytes(3 * BLOCK) + b"x" * 700, "zeros": bytes(10_000), "partial": bytes(100)}
    for form, archive in (("small", sound), ("large", large)):
        for name, tail in tails.items():
            want, damaged = samples(archive + tail)
            assert not damaged and want == samples(archive)[0]
            feedmill.write(f"{form}-{name}.tar", archive + tail)
            for steps in ("", "steps: [{on_error: skip}]", "steps: [{on_error: skip}, shuffle]"):
                got = feedmill.read(FIELDS.replace("FILE", f"{form}-{name}.tar"), steps)
                equal(sorted(got, key=str), sorted(want, key=str))
    # The fields are found out, too.
    equal(feedmill.read("{webdataset: {files: small-text.tar}}")[0].keys(), {"__key__", "jpg", "txt"})
    # An archive behind another is read; bytes behind the last are not.
    feedmill.write("two.tar", sound + bytes(5 * BLOCK) + large + b"tail" * 1000)
    equal(feedmill.read(FIELDS.replace("FILE", "two.tar")), samples(sound)[0] + samples(large)[0])
    # Damage of the compression behind the end mark is reported.
    packed = bytearray(gzip.compress(sound + b"tail" * 200_000))
    feedmill.write("sound.tar.gz", packed)
    equal(feedmill.read(FIELDS.replace("FILE", "sound.tar.gz")), samples(sound)[0])
    packed[-6] ^= 1
    feedmill.write("damaged.tar.gz", packed)
    equal(feedmill.read_up_to_error(FIELDS.replace("FILE", "damaged.tar.gz"), "damaged.tar.gz", "incorrect data check"),
          samples(sound)[0])


def cut_tars(feedmill):
    sound = tar_of(MEMBERS)
    # The places of the last member of the last sample, and of its data.
    header = sound.rindex(b"s39.txt\0")
    data = header + BLOCK
    size = len(MEMBERS[-1][1])
    others = samples(sound)[0][:-1]
    cuts = {"data": (data + size // 2, ["ends inside the member", '"s39.txt"']),
            "header": (header + 100, ["ends inside a header"]),
            "data_end": (data + size - 1, ["ends inside the member", '"s39.txt"'])}
    for name, (at, parts) in cuts.items():
        assert samples(sound[:at])[0][:-1] == others
        feedmill.write(f"{name}.tar", sound[:at])
        source = FIELDS.replace("FILE", f"{name}.tar")
        equal(feedmill.read_up_to_error(source, f"{name}.tar", "record 39", *parts), others)
        equal(feedmill.read(source, "steps: [{on_error: skip}]"), others)
    # The data is whole, the padding is not: no sample is lost, and the cut is reported as tarfile does.
    for name, at in (("padding", data + size), ("padding_end", data + size + BLOCK - size % BLOCK - 1)):
        assert samples(sound[:at]) == (samples(sound)[0], True)
        feedmill.write(f"{name}.tar", sound[:at])
        source = FIELDS.replace("FILE", f"{name}.tar")
        equal(feedmill.read_up_to_error(source, f"{name}.tar", "offset", "padding"), samples(sound)[0])
        equal(feedmill.read(source, "steps: [{on_error: skip}]"), samples(sound)[0])
    # Without an end mark, as tar reads it.
    bare = sound[:-2 * BLOCK]
    assert samples(bare) == (samples(sound)[0], False)
    feedmill.write("bare.tar", bare)
    equal(feedmill.read(FIELDS.replace("FILE", "bare.tar")), samples(sound)[0])
    # A damaged header: what stands before it is delivered, under on_error the other files, too.
    middle = sound.index(b"s20.jpg\0")
    feedmill.write("a_bad.tar", sound[:middle] + b"#" + sound[middle + 1:])
    feedmill.write("b_good.tar", tar_of([("z.jpg", b"1"), ("z.txt", b"2")]))
    want = samples(sound)[0][:20]
    equal(feedmill.read_up_to_error(FIELDS.replace("FILE", "a_bad.tar"), "record 20", "checksum"), want)
    equal(feedmill.read(FIELDS.replace("FILE", "'[ab]_*.tar'"), "steps: [{on_error: skip}]"),
          want + [{"__key__": "z", "jpg": "1", "txt": "2"}])


def tar_links(feedmill):
    """Links have no data, even if their header has a size: the members behind them are read, and a warning counts them."""
    for size in (0, 700, 5000):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for k, kind in enumerate([tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE,
                                      tarfile.FIFOTYPE, tarfile.LNKTYPE, tarfile.REGTYPE]):
                member = tarfile.TarInfo(f"s{k}.txt")
                member.type = kind
                member.linkname = "s0.txt"
                content = b"content %d" % k if kind == tarfile.REGTYPE else b""
                member.size = len(content) or size
                archive.addfile(member, io.BytesIO(content) if content else None)
        data = out.getvalue()
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            want = [{"__key__": member.name[:-4], "txt": archive.extractfile(member).read().decode()}
                    for member in archive if member.isreg()]
        assert len(want) == 2
        feedmill.write("links.tar", data)
        done = feedmill.run("{webdataset: {files: links.tar, fields: {__key__: bytes, txt: bytes}}}")
        assert done.returncode == 0, f"size {size}: {done.stderr}"
        equal([json.loads(line) for line in done.stdout.splitlines()], want)
        assert "3 times, a link in a tar archive" in done.stderr and "links.tar: s1.txt" in done.stderr, done.stderr


def sparse_files(folder):
    """Files with holes: at the beginning, at the end, many, nothing else, none."""
    shapes = {"ends": (1 << 20, [(300_000, b"middle" * 100)]), "tail": (900_001, [(0, b"first"), (900_000, b"!")]),
              "many": (4 << 20, [(k * 65_536, b"%d" % k * 50) for k in range(60)]), "hole": (1 << 18, []),
              "dense": (5000, [(0, b"d" * 5000)])}
    for k, (name, (size, parts)) in enumerate(shapes.items()):
        with open(folder / f"{k}{name}.bin", "wb") as file:
            file.truncate(size)
            for at, content in parts:
                file.seek(at)
                file.write(content)
        (folder / f"{k}{name}.cls").write_text(str(k))
    return sorted(path.name for path in folder.iterdir())


def sparse_members(feedmill):
    place = feedmill.folder / "files"
    place.mkdir()
    names = sparse_files(place)
    forms = {"gnu": ["--format=gnu"], "oldgnu": ["--format=oldgnu"]}
    forms |= {f"pax{version}": ["--format=posix", f"--sparse-version={version}"] for version in ("0.0", "0.1", "1.0")}
    source = "{webdataset: {files: FILE, fields: {__key__: bytes, cls: int64, bin: bytes}}}"
    for form, flags in forms.items():
        path = feedmill.folder / f"{form}.tar"
        # Some file systems do not say where holes are.
        subprocess.run(["tar", "--sparse", "--hole-detection=raw", *flags, "-cf", path, *names], cwd=place, check=True)
        with tarfile.open(path) as archive:
            assert sum(bool(member.sparse) for member in archive) >= 3, form
            content = {member.name: archive.extractfile(member).read() for member in archive}
        assert content == {name: (place / name).read_bytes() for name in names}
        want = [{"__key__": name[:-4], "cls": int(content[name[:-4] + ".cls"]), "bin": content[name].decode()}
                for name in names if name.endswith(".bin")]
        got = feedmill.read(source.replace("FILE", f"{form}.tar"))
        assert got == want, f"{form}: the contents differ"
        equal(feedmill.read(source.replace("FILE", f"{form}.tar"), "steps: [{map: {size: length(bin)}}]"),
              [{"size": len(row["bin"])} for row in want])
    damaged_sparse_members(feedmill)


def damaged_sparse_members(feedmill):
    """Maps that no file can have: an error that names file and member, of that sample alone."""
    def pax(records, stored):
        text = b""
        for key, value in records.items():
            record = f" {key}={value}\n"
            size = len(record) + 2
            text += f"{size}{record}".encode() if size < 100 else b"%d%s" % (size + 1, record.encode())
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, kind, content in (("x", tarfile.XHDTYPE, text), ("b.bin", tarfile.REGTYPE, stored)):
                member = tarfile.TarInfo(name)
                member.type = kind
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            end = archive.offset
        return out.getvalue()[:end]

    first, last = (tar_of([(f"{name}.bin", name.encode())])[:-2 * BLOCK] for name in "ac")
    cases = {"beyond": ({"GNU.sparse.size": 10, "GNU.sparse.map": "8,4"}, b"abcd"),
             "short": ({"GNU.sparse.size": 10, "GNU.sparse.map": "0,8"}, b"abcd"),
             "long": ({"GNU.sparse.size": 10, "GNU.sparse.map": "0,2"}, b"abcd"),
             "letters": ({"GNU.sparse.size": 10, "GNU.sparse.map": "0,x"}, b"abcd"),
             "odd": ({"GNU.sparse.size": 10, "GNU.sparse.map": "0,2,4"}, b"ab"),
             "huge": ({"GNU.sparse.size": 10**15, "GNU.sparse.map": "0,4"}, b"abcd"),
             "wrap": ({"GNU.sparse.size": 10, "GNU.sparse.map": "18446744073709551615,2"}, b"ab"),
             "version": ({"GNU.sparse.major": 2, "GNU.sparse.size": 10}, b"abcd"),
             "count": ({"GNU.sparse.major": 1, "GNU.sparse.minor": 0, "GNU.sparse.realsize": 10},
                       b"9" * 18 + b"\n0\n1\n"),
             "unsized": ({"GNU.sparse.map": "0,4"}, b"abcd")}
    source = "{webdataset: {files: FILE, fields: {__key__: bytes, bin: bytes}}}"
    for name, (records, stored) in cases.items():
        feedmill.write(f"{name}.tar", first + pax(records, stored) + last + bytes(2 * BLOCK))
        equal(feedmill.read_up_to_error(source.replace("FILE", f"{name}.tar"), f"{name}.tar", "b.bin", "sparse"),
              [{"__key__": "a", "bin": "a"}])
        equal(feedmill.read(source.replace("FILE", f"{name}.tar"), "steps: [{on_error: skip}]"),
              [{"__key__": key, "bin": key} for key in "ac"])
        # A component that nothing needs is not expanded.
        equal(feedmill.read(source.replace("FILE", f"{name}.tar"), "steps: [{map: {key: __key__}}]"),
              [{"key": key} for key in "abc"])


LINES = b"".join(b'{"i":%d}\n' % k for k in range(30_000))
ROWS = [{"i": k} for k in range(30_000)]


def bgzf(data):
    """Blocks with an extra field and an empty block at the end, as bgzip writes them."""
    out = b""
    for at in [*range(0, len(data), 60_000), len(data)]:
        part = data[at:at + 60_000]
        deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = deflate.compress(part) + deflate.flush()
        out += (bytes.fromhex("1f8b08040000000000ff060042430200") + struct.pack("<H", len(body) + 25) + body +
                struct.pack("<II", zlib.crc32(part), len(part)))
    return out


def gzip_padding(feedmill):
    member = gzip.compress(LINES)
    half = len(LINES) // 2
    two = gzip.compress(LINES[:half]) + gzip.compress(LINES[half:])
    source = "{jsonl: {files: FILE, fields: {i: int64}}}"
    # Python's gzip reads all of these.
    cases = {"members": two, "bgzf": bgzf(LINES), "zeros": member + bytes(1000), "zero": member + bytes(1),
             "many_zeros": member + bytes(700_000), "bgzf_zeros": bgzf(LINES) + bytes(512),
             "between": gzip.compress(LINES[:half]) + bytes(300_000) + gzip.compress(LINES[half:]) + bytes(3),
             "empty_members": gzip.compress(b"") + member + gzip.compress(b"")}
    for name, data in cases.items():
        assert gzip.decompress(data) == LINES, name
        feedmill.write(f"{name}.jsonl.gz", data)
        done = feedmill.run(source.replace("FILE", f"{name}.jsonl.gz"))
        assert done.returncode == 0 and done.stderr == "", f"{name}: {done.stderr}"
        equal([json.loads(line) for line in done.stdout.splitlines()], ROWS)
    # `gzip -d` decompresses these, with a warning.
    tails = {"text": b"junk", "zeros_text": bytes(100) + b"junk", "almost": b"\x1f\x8cjunk", "line": b"\n\n",
             "late": bytes(300_000) + b"!"}
    for name, tail in tails.items():
        by_gzip = subprocess.run(["gzip", "-dc"], input=two + tail, capture_output=True, check=False)
        assert (by_gzip.returncode, by_gzip.stdout) == (2, LINES) and b"trailing garbage ignored" in by_gzip.stderr
        feedmill.write(f"{name}.jsonl.gz", two + tail)
        done = feedmill.run(source.replace("FILE", f"{name}.jsonl.gz"))
        assert done.returncode == 0, f"{name}: {done.stderr}"
        equal([json.loads(line) for line in done.stdout.splitlines()], ROWS)
        assert "warning" in done.stderr and f"{name}.jsonl.gz" in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    # Damage is no padding.
    damaged = bytearray(two)
    damaged[-8] ^= 1
    bad = {"damaged": bytes(damaged), "cut": two[:-1], "cut_header": two + member[:5], "cut_magic": two + member[:1],
           "method": member + b"\x1f\x8b\x09junk"}
    for name, data in bad.items():
        assert subprocess.run(["gzip", "-dc"], input=data, capture_output=True, check=False).returncode == 1, name
        feedmill.write(f"{name}.jsonl.gz", data)
        got = feedmill.read_up_to_error(source.replace("FILE", f"{name}.jsonl.gz"), f"{name}.jsonl.gz")
        assert got == ROWS[:len(got)] and len(got) > 14_000, name
    feedmill.write("no.jsonl.gz", b"\x01junk" * 100)
    feedmill.refused(source.replace("FILE", "no.jsonl.gz"), "no.jsonl.gz", "not gzip")
    feedmill.write("text.jsonl.gz", b"junk" * 100)  # plain text
    feedmill.refused(source.replace("FILE", "text.jsonl.gz"), "text.jsonl.gz: record 0", "no JSON object")
    feedmill.write("nulls.jsonl.gz", bytes(1000))
    feedmill.refused(source.replace("FILE", "nulls.jsonl.gz"), "nulls.jsonl.gz", "not gzip")


def zstd_padding(feedmill):
    frames = zstandard.ZstdCompressor()
    half = len(LINES) // 2
    two = frames.compress(LINES[:half]) + frames.compress(LINES[half:])
    skippable = [struct.pack("<II", 0x184D2A50 + k, size) + bytes([255]) * size
                 for k, size in enumerate((0, 5, 300_000))]
    source = "{jsonl: {files: FILE, fields: {i: int64}}}"
    cases = {"frames": two, "first": skippable[1] + two, "last": two + skippable[2] + skippable[0],
             "empty": two + frames.compress(b""),
             "between": frames.compress(LINES[:half]) + skippable[2] + skippable[1] + frames.compress(LINES[half:])}
    for name, data in cases.items():
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            assert reader.read() == LINES, name
        feedmill.write(f"{name}.jsonl.zst", data)
        equal(feedmill.read(source.replace("FILE", f"{name}.jsonl.zst")), ROWS)
    # `zstd -d` writes all and then fails.
    for name, tail in {"zeros": bytes(100), "text": b"junk", "line": b"\n\n\n\n\n",
                       "late": skippable[2] + b"junk!"}.items():
        by_zstd = subprocess.run(["zstd", "-dc"], input=two + tail, capture_output=True, check=False)
        assert (by_zstd.returncode, by_zstd.stdout) == (1, LINES), name
        feedmill.write(f"{name}.jsonl.zst", two + tail)
        file = source.replace("FILE", f"{name}.jsonl.zst")
        equal(feedmill.read_up_to_error(file, f"{name}.jsonl.zst", "bytes after the last zstd frame"), ROWS)
        equal(feedmill.read(file, "steps: [{on_error: skip}]"), ROWS)
    window = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=window).stream_writer(out, closefd=False) as writer:
        writer.write(LINES)
    feedmill.write("window.jsonl.zst", out.getvalue())
    feedmill.refused(source.replace("FILE", "window.jsonl.zst"), "window.jsonl.zst", "window", "--long=27")


def bz2_and_xz(feedmill):
    source = "{jsonl: {files: FILE, fields: {i: int64}}}"
    half = len(LINES) // 2
    cases = {"one.jsonl.bz2": bz2.compress(LINES), "two.jsonl.bz2": bz2.compress(LINES[:half]) + bz2.compress(LINES[half:]),
             "small.jsonl.bz2": bz2.compress(LINES, 1), "one.jsonl.xz": lzma.compress(LINES),
             "two.jsonl.xz": lzma.compress(LINES[:half]) + bytes(8) + lzma.compress(LINES[half:]) + bytes(4),
             "crc32.jsonl.xz": lzma.compress(LINES, check=lzma.CHECK_CRC32),
             "sha.jsonl.xz": lzma.compress(LINES, check=lzma.CHECK_SHA256), "nine.jsonl.xz": lzma.compress(LINES, preset=9)}
    for name, data in cases.items():
        feedmill.write(name, data)
        equal(feedmill.read(source.replace("FILE", name)), ROWS)
        equal(feedmill.read(f"{{jsonl: {{files: {name}}}}}"), ROWS)
    # The same as `bzip2 -d`: bytes after the last stream are ignored, with a warning.
    for tail in (b"junk", bytes(300_000), b"BZhjunk!", b"BZ"):
        by_bzip2 = subprocess.run(["bzip2", "-dc"], input=cases["one.jsonl.bz2"] + tail, capture_output=True, check=False)
        feedmill.write("tail.jsonl.bz2", cases["one.jsonl.bz2"] + tail)
        done = feedmill.run(source.replace("FILE", "tail.jsonl.bz2"))
        if by_bzip2.returncode == 0:
            assert done.returncode == 0 and "warning" in done.stderr, (tail[:4], done.stderr)
        assert [json.loads(line) for line in done.stdout.splitlines()] == ROWS
    # The same as `xz -d`: such bytes are an error, after all records.
    for tail in (b"junk", bytes(3), bytes(6), b"\xfd7zX", bytes(4) + b"xxxx"):
        by_xz = subprocess.run(["xz", "-dc"], input=cases["one.jsonl.xz"] + tail, capture_output=True, check=False)
        assert by_xz.returncode == 1, tail
        feedmill.write("tail.jsonl.xz", cases["one.jsonl.xz"] + tail)
        equal(feedmill.read_up_to_error(source.replace("FILE", "tail.jsonl.xz"), "tail.jsonl.xz"), ROWS)
    # Damage and cuts: the records before are given.
    for name in ("one.jsonl.bz2", "one.jsonl.xz"):
        data = bytearray(cases[name])
        for bad in (data[:-1], data[:len(data) // 2], data[:len(data) // 2] + b"?" + data[len(data) // 2 + 1:], data[:20]):
            feedmill.write(name, bad)
            got = feedmill.read_up_to_error(source.replace("FILE", name), name)
            assert got == ROWS[:len(got)], name
        feedmill.write(name, b"junk" * 100)
        feedmill.refused(f"{{jsonl: {{files: {name}, compression: {name.split('.')[-1]}, fields: {{i: int64}}}}}}", name, "not ")


def first_bytes(feedmill):
    """Compression is recognised by the first bytes, with any file name."""
    packed = {"gzip": gzip.compress(LINES), "zstd": zstandard.compress(LINES), "bz2": bz2.compress(LINES),
              "xz": lzma.compress(LINES), "none": LINES,
              "skip": struct.pack("<II", 0x184D2A53, 5) + b"hello" + zstandard.compress(LINES)}
    texts = [line.decode() for line in LINES.splitlines()]
    for kind, data in packed.items():
        for end in ("", ".jsonl", ".gz", ".zst", ".bz2", ".xz", ".dat"):
            name = f"{kind}{end}"
            feedmill.write(name, data)
            assert feedmill.read(f"{{text: {{files: {name}}}}}") == texts, name
            assert feedmill.read(f"{{jsonl: {{files: {name}}}}}") == ROWS, name
        feedmill.write(f"{kind}.tar", gzip.compress(tar_of(MEMBERS)) if kind == "gzip" else tar_of(MEMBERS))
        assert len(feedmill.read(f"{{webdataset: {{files: {kind}.tar}}}}")) == 40
        done = feedmill.run(f"{{text: {{files: {kind}.dat}}}}", "steps: [shuffle]")
        assert done.returncode == (0 if kind == "none" else 2), (kind, done.stderr)
    # Lists of files: with any names.
    for end in ("", ".gz"):
        names = [f"listed{k}{end}" for k in range(2)]
        feedmill.write(names[0], gzip.compress(LINES))
        feedmill.write(names[1], gzip.compress(LINES))
        feedmill.write("list.jsonl", "".join(json.dumps({"url": name}) + "\n" for name in names))
        assert feedmill.read("{text: {files: {manifest: list.jsonl}}}") == texts * 2
        assert feedmill.read("{jsonl: {files: {manifest: list.jsonl}}}") == ROWS * 2
        feedmill.write("list.jsonl", "\n" * 20_000 + "".join(json.dumps({"url": name}) + "\n" for name in names))
        assert feedmill.read("{text: {files: {manifest: list.jsonl}}}") == texts * 2
    # A damaged header is no plain text; an empty file says nothing.
    feedmill.write("damaged.gz", b"\0" + gzip.compress(LINES)[1:])
    feedmill.refused("{text: {files: damaged.gz}}", "damaged.gz", "not gzip")
    feedmill.write("a-empty.gz", b"")
    feedmill.write("a-full.gz", gzip.compress(LINES))
    assert feedmill.read("{text: {files: [a-empty.gz, a-full.gz]}}") == texts
    feedmill.write("utf16.csv.gz", "a,b\n1,2\n".encode("utf-16"))
    equal(feedmill.read("{csv: {files: utf16.csv.gz, encoding: utf-16}}"), [{"a": 1, "b": 2}])
    # Bytes that are read as they are and begin as a compressed file: a warning.
    for source in ("{text: {files: zstd.dat, compression: none}}", "{text: {files: [none.dat, zstd.dat]}}"):
        for steps in ("", "steps: [shuffle]"):
            done = feedmill.run(source, steps)
            assert done.returncode == 0 and "zstd.dat" in done.stderr and "`compression: zstd`" in done.stderr, done.stderr
    for source, steps in (("tfrecord", ""), ("tfrecord", "steps: [shuffle]"), ("webdataset", "")):
        feedmill.refused(f"{{{source}: {{files: xz.dat, compression: none}}}}", "xz.dat", "`compression: xz`", steps=steps)
    # A compression in the options wins over the first bytes. A file of another kind is an error that names it.
    equal(len(feedmill.read("{text: {files: gzip.dat, compression: none}}")) > 1, True)
    feedmill.refused("{text: {files: [gzip.dat, bz2.dat]}}", "bz2.dat", "not gzip")
    # A TFRecord whose length looks like a gzip header.
    size = 0x088b1f
    def crc(data):
        table = [0] * 256
        for k in range(256):
            value = k
            for _ in range(8):
                value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
            table[k] = value
        value = 0xFFFFFFFF
        for byte in data:
            value = value >> 8 ^ table[(value ^ byte) & 255]
        value ^= 0xFFFFFFFF
        return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)
    head = struct.pack("<Q", size)
    body = b"r" * size
    feedmill.write("alike.tfrecord", head + crc(head) + body + crc(body))
    equal(feedmill.read("{tfrecord: {files: alike.tfrecord}}", "steps: [{map: length(x)}]"), [size])


def other_formats(feedmill):
    """Lines of a file of another format are read as they are, and a warning says what the file seems to be."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.txt", "one\ntwo\n")
    for name, data, advice in (("zip", archive.getvalue(), "a zip archive does; if it is one, unpack it, as with `unzip`"),
                               ("lz4", b"\x04\x22\x4d\x18" + LINES, "an lz4 file does; if it is one, decompress it, as with `lz4 -d`"),
                               ("7z", b"7z\xbc\xaf\x27\x1c" + LINES, "a 7z archive"), ("rar", b"Rar!\x1a\x07\x01" + LINES, "a rar archive"),
                               ("Z", b"\x1f\x9d" + LINES, "a file of `compress`"),
                               ("parquet", b"PAR1" + LINES, "read it by the source `parquet`"),
                               ("arrow", b"ARROW1\0\0" + LINES, "read it by the source `arrow`")):
        feedmill.write(f"file.{name}", data)
        done = feedmill.run(f"{{text: {{files: file.{name}}}}}")
        assert done.returncode == 0, (name, done.stderr)
        equal(len(done.stdout.splitlines()), data.count(b"\n") + (not data.endswith(b"\n")))
        assert f"file.{name}: it begins as " in done.stderr and advice in done.stderr, (name, done.stderr)
        # The bytes are no record: it is part of the error.
        feedmill.refused(f"{{tfrecord: {{files: file.{name}}}}}", f"file.{name}", advice)
        feedmill.refused(f"{{webdataset: {{files: file.{name}}}}}", f"file.{name}", advice)


def empty_first_files(feedmill):
    """The first file with bytes tells the compression: Spark writes an empty _SUCCESS into each folder."""
    want = [{"a": k} for k in range(5)]
    rows = "".join(json.dumps(row) + "\n" for row in want).encode()
    for name, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstandard.compress), ("plain", bytes)):
        feedmill.write(f"{name}/_SUCCESS", b"")
        feedmill.write(f"{name}/part-0", b"")
        feedmill.write(f"{name}/part-1", pack(rows))
        for files in (name, f"'{name}/*'"):
            equal(feedmill.read(f"{{jsonl: {files}}}"), want)


def zstd_windows(feedmill):
    lines = b"".join(b"%08d\n" % (k * 7919 % 10**8) for k in range(20_000))
    for log in (27, 28, 31):
        done = subprocess.run(["zstd", "-q", "--ultra", f"--long={log}", "-c"], input=lines, capture_output=True, check=True)
        # The window of a stream whose size is not known is as in the option.
        feedmill.write("long.zst", done.stdout)
        source = "{text: {files: long.zst OPTION}}"
        if log == 27:
            equal(len(feedmill.read(source.replace("OPTION", ""))), 20_000)
            continue
        feedmill.refused(source.replace("OPTION", ""), "long.zst", "zstd_window_log: 31")
        equal(len(feedmill.read(source.replace("OPTION", f", zstd_window_log: {log}"))), 20_000)
    feedmill.refused("{text: {files: long.zst, zstd_window_log: 32}}", "10 to 31")


TESTS = [tar_trailing_bytes, tar_links, empty_first_files, cut_tars, sparse_members, gzip_padding, zstd_padding, bz2_and_xz, first_bytes, other_formats, zstd_windows]


if __name__ == "__main__":
    main(__doc__, TESTS)
