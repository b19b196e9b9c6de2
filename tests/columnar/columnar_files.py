#!/usr/bin/env python3
"""Parquet and Arrow files that pyarrow writes, read by feedmill.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/columnar/columnar_files.py --binary build/release/bin/feedmill [TEST …]

feedmill must give the values that pyarrow reads from a file."""
import argparse
import base64
import datetime
import decimal
import json
import math
import operator
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import wait_for_file  # noqa: E402

try:
    import pyarrow as pa
    import pyarrow.dataset
    import pyarrow.feather
    import pyarrow.parquet
except ImportError:  # only the test of a command without the plugin needs none
    pa = None

WAIT = 60
NULLABLE_SCHEMAS = 200


class Feedmill:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder
        self.server = None

    def pipeline(self, source, steps=()):
        path = self.folder / "pipeline.yaml"
        path.write_text(json.dumps({"source": source, "steps": list(steps), "options": {"seed": 5}}))
        return path

    def run(self, source, steps=(), flags=("--local",), env=None, wait=WAIT):
        return subprocess.run([self.binary, "read", self.pipeline(source, steps), *flags], capture_output=True,
                              text=True, timeout=wait, check=False, env={**os.environ, **(env or {})})

    def read(self, source, steps=(), flags=("--local",), wait=WAIT):
        done = self.run(source, steps, flags, wait=wait)
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def order_hash(self, source, steps=(), flags=("--local",)):
        done = self.run(source, steps, [*flags, "--format", "summary"])
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        summary = json.loads(done.stdout)
        return summary["elements"], summary["order_hash"]

    def refused(self, source, *parts, steps=(), env=None, code=None):
        """Asserts an error that has these parts; returns the elements before it."""
        done = self.run(source, steps, env=env)
        assert done.returncode in ((1, 2) if code is None else (code,)), f"exit {done.returncode}: {done.stderr}"
        for part in parts:
            assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def serve(self, workers):
        """Starts a service; returns the flags to read through it."""
        ready = self.folder / f"ready{workers}"
        self.server = subprocess.Popen([self.binary, "up", "--workers", str(workers), "--ready-file", ready],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ["--service", wait_for_file(ready, self.server, WAIT)]

    def stop(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(WAIT)
            self.server = None


def equal(got, want):
    for k, (one, other) in enumerate(zip(got, want)):
        assert one == other, f"element {k}: got {one}, want {other}"
    assert len(got) == len(want), f"got {len(got)} elements, want {len(want)}"


def write_parquet(path, table, **options):
    pa.parquet.write_table(table, path, **options)


def write_ipc(path, table, rows=1000, stream=False, compression=None):
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=rows)


def sources(feedmill, table, rows=7):
    """The table in each format; rows: of a row group."""
    folder = feedmill.folder
    write_parquet(folder / "t.parquet", table, row_group_size=rows)
    write_parquet(folder / "v2.parquet", table, row_group_size=rows, data_page_version="2.0", compression="zstd",
                  use_dictionary=False, write_page_checksum=True)
    write_ipc(folder / "t.arrow", table, rows)
    write_ipc(folder / "t.arrows", table, rows, stream=True, compression="lz4")
    pa.feather.write_feather(table, str(folder / "t.feather"), chunksize=rows, compression="zstd")
    write_ipc(folder / "plain.arrows", table, rows, stream=True)
    return [{"parquet": {"files": "t.parquet"}}, {"parquet": {"files": "v2.parquet"}}, {"arrow": {"files": "t.arrow"}},
            {"arrow": {"files": "t.arrows"}}, {"arrow": {"files": "t.feather"}},
            *({"arrow": {"files": name, "memory_map": True}} for name in ("t.arrow", "plain.arrows", "t.feather"))]


def shown(value):
    """A value as feedmill prints it."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    if isinstance(value, dict):
        return {name: shown(item) for name, item in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
    return value


def rows_of(table):
    return [shown(row) for row in table.to_pylist()]


def numbers_table(rows, seed=3):
    draw = random.Random(seed)
    columns = {"row": pa.array(range(rows), pa.int64()), "flag": pa.array([draw.random() < 0.5 for _ in range(rows)])}
    for bits in (8, 16, 32, 64):
        low, high = -2**(bits - 1), 2**(bits - 1) - 1
        columns[f"i{bits}"] = pa.array([draw.choice([low, high, draw.randint(low, high)]) for _ in range(rows)],
                                       getattr(pa, f"int{bits}")())
        columns[f"u{bits}"] = pa.array([draw.choice([0, 2**bits - 1, draw.randint(0, 2**bits - 1)]) for _ in range(rows)],
                                       getattr(pa, f"uint{bits}")())
    floats = [draw.choice([0.0, -0.0, math.inf, -math.inf, math.nan, draw.gauss(0, 1e6)]) for _ in range(rows)]
    columns["f64"] = pa.array(floats, pa.float64())
    columns["text"] = pa.array([draw.choice(["", "plain", "größe", "x" * 300]) + str(k) for k in range(rows)])
    columns["raw"] = pa.array([bytes([draw.randrange(256) for _ in range(draw.randrange(5))]) for _ in range(rows)])
    columns["wide"] = pa.array([f"w{k}" for k in range(rows)], pa.large_string())
    columns["four"] = pa.array([bytes([k % 256] * 4) for k in range(rows)], pa.binary(4))
    return pa.table(columns)


def types(feedmill):
    table = numbers_table(40)
    for source in sources(feedmill, table):
        equal(feedmill.read(source), rows_of(table))
    # Narrow floats print in their own shortest form.
    halves = [0.0, -0.0, 1.5, 65504.0, 6e-8, math.inf, math.nan, 0.000123]
    narrow = pa.table({"h": pa.array(halves, pa.float16()), "f": pa.array(halves, pa.float32())})
    for source in sources(feedmill, narrow):
        got = feedmill.read({**source}, [{"map": {"h": "cast(h, float64)", "f": "cast(f, float64)"}}])
        equal(got, [{"h": shown(float(h)), "f": shown(f)} for h, f in zip(narrow["h"].to_pylist(), narrow["f"].to_pylist())])
    views = pa.table({"v": pa.array(["", "short", "a text of more than twelve bytes"], pa.string_view())})
    write_ipc(feedmill.folder / "views.arrow", views)
    equal(feedmill.read({"arrow": "views.arrow"}), rows_of(views))


def times(feedmill):
    moment = datetime.datetime(2026, 11, 25, 12, 34, 56, 789000)
    columns = {"day": pa.array([moment.date()], pa.date32()), "day64": pa.array([moment.date()], pa.date64()),
               "s": pa.array([moment.replace(microsecond=0)], pa.timestamp("s")),
               "ms": pa.array([moment], pa.timestamp("ms")), "ns": pa.array([moment], pa.timestamp("ns", "UTC")),
               "t32": pa.array([moment.time()], pa.time32("ms")), "t64": pa.array([moment.time()], pa.time64("us")),
               "for": pa.array([datetime.timedelta(seconds=3)], pa.duration("us"))}
    table = pa.table(columns)
    write_ipc(feedmill.folder / "t.arrow", table)
    as_int64 = {name: (array.cast(pa.int32()) if name in ("day", "t32") else array).cast(pa.int64()).to_pylist()[0]
                for name, array in columns.items()}
    equal(feedmill.read({"arrow": "t.arrow"}), [as_int64])
    # Parquet itself knows fewer units: pyarrow's reading says which.
    write_parquet(feedmill.folder / "t.parquet", table)
    back = pa.parquet.read_table(feedmill.folder / "t.parquet")
    as_int64 = {name: (back[name].cast(pa.int32()) if name in ("day", "t32", "day64") and back[name].type in
                       (pa.date32(), pa.time32("ms")) else back[name]).cast(pa.int64()).to_pylist()[0]
                for name in back.column_names}
    equal(feedmill.read({"parquet": "t.parquet"}), [as_int64])


def write_files(feedmill, kind, tables):
    """Writes the tables as files of one folder; returns the source."""
    folder = feedmill.folder / "files"
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for k, table in enumerate(tables):
        (write_parquet if kind == "parquet" else write_ipc)(folder / f"{k:02}.{kind}", table)
    return {kind: {"files": "files"}}


def since_1970(moment):
    """Microseconds."""
    return (moment - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def time_units(feedmill):
    """A component has the unit of the first file: the same time is the same number."""
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    seconds = since_1970(moment) // 10**6
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    shapes = [(lambda t: t, lambda v: v, lambda n: {"t": n}),
              (pa.list_, lambda v: [v, v], lambda n: {"t": [n, n]}),
              (lambda t: pa.list_(t, 2), lambda v: [v, v], lambda n: {"t": [n, n]}),
              (lambda t: pa.struct([("a", t)]), lambda v: {"a": v}, lambda n: {"t.a": n}),
              (lambda t: pa.list_(pa.struct([("a", t)])), lambda v: [{"a": v}], lambda n: {"t.a": [n]}),
              (lambda t: pa.list_(pa.list_(t)), lambda v: [[v]], lambda n: {"t": f"[[{n}]]"}),
              (lambda t: pa.map_(pa.string(), t), lambda v: [("k", v)], lambda n: {"t": f'{{"k":{n}}}'})]
    for kind, units in (("parquet", ("ms", "us", "ns")), ("arrow", ("s", "ms", "us", "ns"))):
        for k, (type_of, value_of, want) in enumerate(shapes):
            order = units[k % len(units):] + units[:k % len(units)]
            tables = [pa.table({"t": pa.array([value_of(moment)], type_of(pa.timestamp(unit)))}) for unit in order]
            equal(feedmill.read(write_files(feedmill, kind, tables)), [want(seconds * per_second[order[0]])] * len(units))
    # Dates are points in time, too; times of day and durations are other kinds.
    midnight, five = datetime.datetime(2024, 1, 2), datetime.timedelta(seconds=5)
    groups = [(midnight, [pa.timestamp("us"), pa.date32(), pa.timestamp("ns", "UTC"), pa.date64()]),
              (midnight, [pa.date32(), pa.timestamp("ms"), pa.timestamp("us")]), (midnight, [pa.date64(), pa.date32()]),
              (five, [pa.duration(unit) for unit in ("ms", "us", "ns")]),
              (moment.time(), [pa.time32("ms"), pa.time64("us"), pa.time64("ns")])]
    for value, types_of_files in groups:
        tables = [pa.table({"t": pa.array([value.date() if pa.types.is_date(of) else value], of)}) for of in types_of_files]
        for kind in ("parquet", "arrow"):
            source = write_files(feedmill, kind, tables)
            first = feedmill.read({kind: f"files/00.{kind}"})
            equal(feedmill.read(source), first * len(tables))
            declared = {kind: {"files": "files", "fields": {"t": "float64"}}}
            equal(feedmill.read(declared), [{"t": float(first[0]["t"])}] * len(tables))
    coded = [pa.table({"t": pa.array([moment, moment], pa.timestamp(unit)).dictionary_encode()}) for unit in ("ms", "ns")]
    equal(feedmill.read(write_files(feedmill, "arrow", coded)), [{"t": seconds * 1000}] * 4)


def times_that_do_not_fit(feedmill):
    """A time that the first file's unit does not hold is an error of its row."""
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    fine, late = moment.replace(microsecond=1500), datetime.datetime(9999, 12, 31)
    ms = since_1970(moment) // 1000
    for kind in ("parquet", "arrow"):
        source = write_files(feedmill, kind, [
            pa.table({"n": [0], "t": pa.array([moment], pa.timestamp("ms"))}),
            pa.table({"n": [1, 2, 3], "t": pa.array([moment, fine, None], pa.timestamp("us"))})])
        before = feedmill.refused(source, f"files/01.{kind}: record 1", '"t"', "milliseconds", f"files/00.{kind}", code=1)
        equal(before, [{"n": 0, "t": ms}, {"n": 1, "t": ms}])
        equal([row["n"] for row in feedmill.read(source, [{"on_error": "skip"}])], [0, 1, *[3] * (kind == "parquet")])
        # float64 holds parts of the unit, and nulls.
        declared = {kind: {"files": "files", "fields": {"t": "float64"}}}
        equal([row["t"] for row in feedmill.read(declared)], [ms, ms, ms + 1.5, "NaN"])
        # The row is an error behind any filter, as a null is; filters compare converted times.
        feedmill.refused(source, f"files/01.{kind}: record 1", steps=[{"filter": "n < 1"}], code=1)
        equal(feedmill.read(source, [{"on_error": "skip"}, {"filter": f"t == {ms}"}, {"map": "n"}]), [0, 1])
        source = write_files(feedmill, kind, [
            pa.table({"t": pa.array([[moment]], pa.list_(pa.timestamp("ns")))}),
            pa.table({"t": pa.array([[moment], [moment, late]], pa.list_(pa.timestamp("us")))})])
        assert len(feedmill.refused(source, f"files/01.{kind}: record 1", "nanoseconds", code=1)) == 2


def times_beside_other_types(feedmill):
    """A kind of time beside another one, or beside numbers, is an error that names both files."""
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5)
    time, five = moment.time(), datetime.timedelta(seconds=5)
    pairs = [([7], [moment]), ([moment], [7]), ([time], [moment]), ([five], [7]), ([moment], [five]), ([[moment]], [[7]]),
             ([[[moment]]], [[[7]]])]
    for kind in ("parquet", "arrow"):
        for one, other in pairs:
            write_files(feedmill, kind, [pa.table({"u": [1]}), pa.table({"t": one}), pa.table({"t": other})])
            source = {kind: {"files": [f"files/01.{kind}", f"files/02.{kind}"]}}
            before = feedmill.refused(source, f"files/02.{kind}: record 0", '"t"', f"files/01.{kind}", " in ", code=1)
            equal(before, feedmill.read({kind: f"files/01.{kind}"}))
        # The order of the files counts, not that in which workers read them.
        source = write_files(feedmill, kind, [
            pa.table({"n": [k], "t": pa.array([moment], pa.timestamp(("ns", "us", "ms")[k % 3]))}) for k in range(12)])
        want = feedmill.order_hash(source, ["shuffle"])
        equal([feedmill.order_hash(source, ["shuffle"], feedmill.serve(2))], [want])
        feedmill.stop()


def int96_file(path, moments):
    """Writes times as INT96, a column of them and nested ones, by changing the bytes of others."""
    inside = [datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=k) for k in range(len(moments))]
    write_parquet(path, pa.table({
        "n": range(len(moments)), "t": pa.array(inside, pa.timestamp("us")),
        "list": pa.array([[None, moment] for moment in inside], pa.list_(pa.timestamp("us"))),
        "text": pa.array([[[moment]] for moment in inside], pa.list_(pa.list_(pa.timestamp("us"))))}),
        use_dictionary=False, use_deprecated_int96_timestamps=True, compression="none", store_schema=False)

    def encoded(moment):
        days, rest = divmod(since_1970(moment), 86_400_000_000)
        return struct.pack("<qi", rest * 1000, days + 2_440_588)

    data = path.read_bytes()
    for old, new in zip(inside, moments):
        assert data.count(encoded(old)) == 3
        data = data.replace(encoded(old), encoded(new))
    path.write_bytes(data)


def int96_times(feedmill):
    """Times of INT96 that int64 does not hold in nanoseconds are errors; another unit holds them."""
    texts = ["1970-01-01 00:00:00", "2021-06-09 03:02:37.123456", "1969-12-31 23:59:59.999999", "9999-12-31 02:00:00",
             "0001-01-01 00:00:00", "1582-10-15 00:00:00", "2262-04-12 00:00:00", "1677-09-21 00:00:00"]
    moments = [datetime.datetime.fromisoformat(text) for text in texts]
    us = [since_1970(moment) for moment in moments]
    int96_file(feedmill.folder / "all.parquet", moments)
    int96_file(feedmill.folder / "in.parquet", moments[:3])
    columns = {name: {"files": "all.parquet", "columns": ["n", name]} for name in ("t", "list", "text")}
    inside = {name: {**columns[name], "files": "in.parquet"} for name in columns}
    equal(feedmill.read({"parquet": inside["t"]}), [{"n": n, "t": value * 1000} for n, value in enumerate(us[:3])])
    equal(feedmill.read({"parquet": inside["text"]}), [{"n": n, "text": f"[[{value * 1000}]]"} for n, value in enumerate(us[:3])])
    before = feedmill.refused({"parquet": columns["t"]}, "all.parquet: record 3", '"t"', "nanoseconds", "float64", code=1)
    equal([row["n"] for row in before], [0, 1, 2])
    equal([row["n"] for row in feedmill.read({"parquet": columns["t"]}, [{"on_error": "skip"}])], [0, 1, 2])
    feedmill.refused({"parquet": columns["t"]}, "all.parquet: record 3", steps=[{"filter": "n < 3"}], code=1)
    equal(feedmill.refused({"parquet": columns["text"]}, "all.parquet: record 0", '"text"', "INT96", code=1), [])
    equal(feedmill.read({"parquet": "all.parquet"}, [{"map": "n"}]), list(range(8)))
    fields = {"t": "float64", "list": "float64[?]"}
    got = feedmill.read({"parquet": {"files": "all.parquet", "fields": fields}})
    equal(got, [{"t": float(value * 1000), "list": ["NaN", float(value * 1000)]} for value in us])
    # The unit of the first file.
    for unit, size in (("us", 1), ("ms", 1000)):
        write_parquet(feedmill.folder / "first.parquet", pa.table({"n": [-1], "t": pa.array([moments[0]], pa.timestamp(unit))}))
        source = {"parquet": {"files": ["first.parquet", "all.parquet"]}}
        whole = [{"n": n, "t": value // size} for n, value in enumerate(us) if value % size == 0]
        equal(feedmill.read(source, [{"on_error": "skip"}]), [{"n": -1, "t": 0}, *whole])


def decimals(feedmill):
    few = [decimal.Decimal(text) for text in ("0.10", "-1234567890.12", "99999999999.99", "0.00")]
    many = [decimal.Decimal(text) for text in ("0.1000000000", "-12345678901234567890.0123456789", "7.0000000000", "0E-10")]
    whole = [decimal.Decimal(text) for text in ("1", "-5", "123456789012345678", "0")]
    table = pa.table({"few": pa.array(few, pa.decimal128(13, 2)), "many": pa.array(many, pa.decimal128(38, 10)),
                      "huge": pa.array(many, pa.decimal256(60, 10)), "whole": pa.array(whole, pa.decimal128(20, 0))})
    for source in sources(feedmill, table):
        got = feedmill.read(source)
        equal([row["few"] for row in got], [float(value) for value in few])
        for name in ("many", "huge"):
            equal([row[name] for row in got], [str(value) for value in many])
        kind = next(iter(source))
        declared = {kind: {**source[kind], "fields": {"many": "float64", "whole": "int64", "few": "bytes"}}}
        equal(feedmill.read(declared), [{"many": float(m), "whole": int(w), "few": str(f)} for m, w, f in zip(many, whole, few)])
        feedmill.refused({kind: {**source[kind], "fields": {"few": "int64"}}}, "few", "decimal", "int64")


def nested(feedmill):
    points = pa.struct([("x", pa.float64()), ("at", pa.struct([("y", pa.int32()), ("name", pa.string())]))])
    rows = 30
    draw = random.Random(9)
    table = pa.table({
        "tokens": pa.array([list(range(draw.randrange(6))) for _ in range(rows)], pa.list_(pa.int32())),
        "words": pa.array([["w"] * draw.randrange(3) for _ in range(rows)], pa.large_list(pa.string())),
        "pair": pa.array([[k, k + 0.5] for k in range(rows)], pa.list_(pa.float32(), 2)),
        "grid": pa.array([[[k, 1, 2], [3, 4, k]] for k in range(rows)], pa.list_(pa.list_(pa.int16(), 3), 2)),
        "p": pa.array([{"x": k / 2, "at": {"y": k, "name": f"n{k}"}} for k in range(rows)], points),
        "color": pa.array([draw.choice(["red", "green"]) for _ in range(rows)]).dictionary_encode(),
        "code": pa.DictionaryArray.from_arrays(pa.array([k % 3 for k in range(rows)], pa.int8()), pa.array([10, 20, 30])),
    })
    want = []
    for row in rows_of(table):
        point = row.pop("p")
        color, code = row.pop("color"), row.pop("code")
        want.append({**row, "p.x": point["x"], "p.at.y": point["at"]["y"], "p.at.name": point["at"]["name"],
                     "color": color, "code": code})
    for source in sources(feedmill, table):
        equal(feedmill.read(source), want)
        kind = next(iter(source))
        chosen = {kind: {**source[kind], "columns": ["p.at", "tokens"]}}
        equal(feedmill.read(chosen), [{name: row[name] for name in ("p.at.y", "p.at.name", "tokens")} for row in want])
    # Slices begin inside their buffers.
    write_ipc(feedmill.folder / "slice.arrow", table.slice(11, 9))
    equal(feedmill.read({"arrow": "slice.arrow"}), want[11:20])
    unreadable = pa.table({"a": [1, 2], "u": pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])])})
    write_ipc(feedmill.folder / "union.arrow", unreadable)
    feedmill.refused({"arrow": "union.arrow"}, '"u"', "dense_union", "columns")
    chosen = {"arrow": {"files": "union.arrow", "columns": ["a"]}}
    equal(feedmill.read(chosen), [{"a": 1}, {"a": 2}])
    chosen["arrow"]["columns"] = ["aa"]
    feedmill.refused(chosen, '"aa"', 'did you mean "a"')


def lists_of_structs(feedmill):
    """The members of structs in lists are lists, one for each member."""
    place = pa.struct([("x", pa.float32()), ("y", pa.decimal128(5, 2))])
    box = pa.struct([("label", pa.string()), ("k", pa.int64()), ("at", place)])
    rows = 25
    draw = random.Random(4)

    def a_box(k):
        at = {"x": k / 2, "y": decimal.Decimal(k)} if k % 5 else None
        return {"label": f"box {k}", "k": k, "at": at} if k % 7 or k == 0 else {"label": None, "k": -k, "at": None}

    boxes = [None if k % 6 == 5 else [a_box(draw.randrange(50)) for _ in range(draw.randrange(4))] for k in range(rows)]
    table = pa.table({"k": range(rows), "boxes": pa.array(boxes, pa.list_(box)), "inner": pa.array(
        [{"boxes": one} for one in boxes], pa.struct([("boxes", pa.large_list(box))]))})
    want = []
    for k, row in enumerate(boxes):
        lists = {"label": [one["label"] or "" for one in row or []], "k": [one["k"] for one in row or []],
                 "at.x": [one["at"]["x"] if one["at"] else "NaN" for one in row or []],
                 "at.y": [float(one["at"]["y"]) if one["at"] else "NaN" for one in row or []]}
        want.append({"k": k, **{f"boxes.{name}": values for name, values in lists.items()},
                     **{f"inner.boxes.{name}": values for name, values in lists.items()}})
    for source in sources(feedmill, table):
        equal(feedmill.read(source), want)
        kind = next(iter(source))
        chosen = {kind: {**source[kind], "columns": ["inner", "k", "boxes.at"]}}
        names = [f"inner.boxes.{name}" for name in ("label", "k", "at.x", "at.y")] + ["k", "boxes.at.x", "boxes.at.y"]
        equal(feedmill.read(chosen), [{name: row[name] for name in names} for row in want])
        equal(feedmill.read(source, [{"filter": "k > 15"}, {"map": {"n": "component('boxes.k')"}}]), [{"n": row["boxes.k"]} for row in want[16:]])
        declared = {kind: {**source[kind], "fields": {"boxes.k": "float64[?]"}}}
        equal(feedmill.read(declared), [{"boxes.k": [float(n) for n in row["boxes.k"]]} for row in want])
    write_ipc(feedmill.folder / "slice.arrow", table.slice(11, 9))
    equal(feedmill.read({"arrow": "slice.arrow"}), want[11:20])
    # A null number of a struct is a data error of its row.
    holes = pa.table({"s": pa.array([[{"n": 1}], [{"n": 2}, None]], pa.list_(pa.struct([("n", pa.int64())])))})
    for source in sources(feedmill, holes):
        equal(feedmill.refused(source, "record 1", '"s.n"', "null", code=1), [{"s.n": [1]}])


def json_of(value):
    """A nested value as the JSON text that a bytes component holds."""
    return "" if value is None else json.dumps(shown_deep(value), separators=(",", ":"), ensure_ascii=False)


def shown_deep(value):
    """Pairs of maps become objects; other values are shown as feedmill prints them."""
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return {key if isinstance(key, str) else json.dumps(shown_deep(key), separators=(",", ":")): shown_deep(item)
                for key, item in value}
    if isinstance(value, list):
        return [shown_deep(item) for item in value]
    if isinstance(value, dict):
        return {name: shown_deep(item) for name, item in value.items()}
    if isinstance(value, decimal.Decimal):
        return float(value) if len(value.as_tuple().digits) <= 15 else str(value)
    return shown(value)


def deeper(feedmill):
    """Maps and deeper lists are JSON text, in the form of printed elements."""
    turn = pa.struct([("role", pa.string()), ("parts", pa.list_(pa.string())), ("score", pa.float64())])
    scores = [0.1, 1e-7, math.nan, -math.inf, 3.0, None]
    rows = 20
    columns = {
        "k": pa.array(range(rows)),
        "lists": pa.array([None if k == 3 else [[1] * n for n in range(k % 4)] + [None] * (k % 3) for k in range(rows)],
                          pa.list_(pa.list_(pa.int64()))),
        "chat": pa.array([[{"role": f"größe \"{k}\"\n", "parts": ["a", None][:k % 3], "score": scores[k % 6]}, None][:k % 3]
                          for k in range(rows)], pa.list_(turn)),
        "map": pa.array([None if k == 4 else [(f"key {n}", n) for n in range(k % 3)] for k in range(rows)],
                        pa.map_(pa.string(), pa.int64())),
        "numbers": pa.array([[(n, [n / 2, None]) for n in range(1, 1 + k % 3)] for k in range(rows)],
                            pa.map_(pa.int32(), pa.list_(pa.float32()))),
        "maps": pa.array([[[("a", b"\xff" * (k % 2))]] for k in range(rows)], pa.list_(pa.map_(pa.string(), pa.binary()))),
        "fixed": pa.array([[[k], [k, k]] for k in range(rows)], pa.list_(pa.list_(pa.uint8()), 2)),
        "in": pa.array([{"m": [("flag", k % 2 == 0)], "n": k} if k % 5 else None for k in range(rows)],
                       pa.struct([("m", pa.map_(pa.string(), pa.bool_())), ("n", pa.float64())])),
        "money": pa.array([[[decimal.Decimal(k) / 4]] for k in range(rows)], pa.list_(pa.list_(pa.decimal128(9, 2)))),
    }
    # An empty map is an object, too.
    maps = ("map", "numbers")
    table = pa.table(columns)
    want = []
    for row in table.to_pylist():
        inside = row.pop("in") or {"m": None, "n": None}
        money = row.pop("money")
        row = {name: (value if name == "k" else "{}" if name in maps and value == [] else json_of(value)) for name, value in row.items()}
        want.append({**row, "in.m": json_of(inside["m"]), "in.n": "NaN" if inside["n"] is None else inside["n"],
                     "money": json_of(money)})
    for source in sources(feedmill, table):
        equal(feedmill.read(source), want)
        shuffled = feedmill.read(source, ["shuffle", {"filter": "k > 16"}])
        equal(sorted(shuffled, key=lambda row: row["k"]), want[17:])
        kind = next(iter(source))
        chosen = {kind: {**source[kind], "columns": ["maps", "in.m"]}}
        equal(feedmill.read(chosen), [{name: row[name] for name in ("maps", "in.m")} for row in want])
        declared = {kind: {**source[kind], "fields": {"map": "bytes", "k": "int64"}}}
        equal(feedmill.read(declared), [{name: row[name] for name in ("map", "k")} for row in want])
        feedmill.refused({kind: {**source[kind], "fields": {"map": "int64"}}}, '"map"', "map<string, int64", "int64")
    write_ipc(feedmill.folder / "slice.arrow", table.slice(7, 9))
    equal(feedmill.read({"arrow": "slice.arrow"}), want[7:16])
    # The same text as of the same value in a jsonl.
    (feedmill.folder / "t.jsonl").write_text("".join(f'{{"chat":{row["chat"]}}}\n' for row in want))
    equal(feedmill.read({"jsonl": {"files": "t.jsonl", "fields": {"chat": "bytes"}}}), [{"chat": row["chat"]} for row in want])


def nulls(feedmill):
    table = pa.table({
        "f": pa.array([1.5, None, 2.5, None]), "s": pa.array(["a", None, "", "d"]),
        "l": pa.array([[1], None, [], [2, 3]], pa.list_(pa.int64())), "i": pa.array([1, 2, None, 4], pa.int32()),
        "lf": pa.array([[1.0, None], None, [None], []], pa.list_(pa.float64())),
        "o": pa.array([{"x": 1.0}, None, {"x": None}, {"x": 4.0}], pa.struct([("x", pa.float64())])),
        "d": pa.array(["u", None, "v", "u"]).dictionary_encode(),
    })
    want = [{"f": 1.5, "s": "a", "l": [1], "lf": [1.0, "NaN"], "o.x": 1.0, "d": "u"},
            {"f": "NaN", "s": "", "l": [], "lf": [], "o.x": "NaN", "d": ""},
            {"f": 2.5, "s": "", "l": [], "lf": ["NaN"], "o.x": "NaN", "d": "v"},
            {"f": "NaN", "s": "d", "l": [2, 3], "lf": [], "o.x": 4.0, "d": "u"}]
    others = ["f", "s", "l", "lf", "o", "d"]
    for source in sources(feedmill, table, rows=3):
        kind = next(iter(source))
        files = source[kind]["files"]
        equal(feedmill.read({kind: {"files": files, "columns": others}}), want)
        whole = {kind: {"files": files, "types": {"i": "int32"}}}
        before = feedmill.refused(whole, f"{files}: record 2", '"i"', "null", "float64", code=1)
        equal([row["i"] for row in before], [1, 2])
        got = feedmill.read(whole, [{"on_error": "skip"}])
        equal([row["i"] for row in got], [1, 2, 4])
        # A null that no step needs is no error.
        equal(feedmill.read(source, [{"map": {"f": "f"}}]), [{"f": row["f"]} for row in want])
        declared = {kind: {"files": files, "fields": {"i": "float64"}}}
        equal(feedmill.read(declared), [{"i": 1.0}, {"i": 2.0}, {"i": "NaN"}, {"i": 4.0}])
    numbers = pa.table({"n": pa.array([1, 300, -1], pa.int64())})
    for source in sources(feedmill, numbers):
        kind = next(iter(source))
        narrow = {kind: {**source[kind], "fields": {"n": "uint8"}}}
        equal(feedmill.refused(narrow, "record 1", '"n"', "uint8", code=1), [{"n": 1}])
    empty = pa.table({"a": [1, 2], "none": pa.nulls(2)})
    write_parquet(feedmill.folder / "none.parquet", empty)
    feedmill.refused({"parquet": "none.parquet"}, '"none"', "null", "columns", "types: {")
    equal(feedmill.read({"parquet": {"files": "none.parquet", "fields": {"none": "float64"}}}), [{"none": "NaN"}] * 2)


NULLABLE = {"bool": "bool_", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
            "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "float32": "float32", "float64": "float64",
            "bytes": "string"}


def nullable_value(draw, dtype):
    if dtype == "bool":
        return draw.random() < 0.5
    if dtype.startswith("float"):
        return draw.randint(-64, 64) / 4
    if dtype == "bytes":
        return draw.choice(["a", "größe", "x y", "0"])
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-2**(bits - 1), 2**(bits - 1) - 1)
    return draw.choice([low, 0, 1, high, draw.randint(low, high)])


def nullable_table(draw):
    """A table, and the types of its columns as `fields` has them."""
    rows = draw.randint(1, 40)
    columns, fields = {"row": pa.array(range(rows), pa.int64())}, {"row": "int64"}
    for k in range(draw.randint(1, 6)):
        dtype = draw.choice(list(NULLABLE))
        share = draw.choice([None, 0, 0.1, 0.5, 1])
        values = [None if draw.random() < (share or 0) else nullable_value(draw, dtype) for _ in range(rows)]
        columns[f"c{k}"] = pa.array(values, getattr(pa, NULLABLE[dtype])())
        fields[f"c{k}"] = dtype if share is None else f"{dtype}?"
    return pa.table(columns), fields


def write_nullable(folder, draw, table, rows):
    """The table in each format."""
    write_parquet(folder / "t.parquet", table, row_group_size=rows)
    write_parquet(folder / "plain.parquet", table, row_group_size=rows, use_dictionary=False, write_statistics=False)
    write_ipc(folder / "t.arrow", table, rows)
    pa.feather.write_feather(table, str(folder / "t.feather"), chunksize=rows, compression="zstd")
    with open(folder / "t.jsonl", "w") as file:
        for row in rows_of(table):
            absent = {name for name, value in row.items() if value is None and draw.random() < 0.5}
            file.write(json.dumps({name: value for name, value in row.items() if name not in absent}) + "\n")
    with open(folder / "t.csv", "w") as file:
        file.write(",".join(table.column_names) + "\n")
        for row in rows_of(table):
            file.write(",".join("" if value is None else str(value) for value in row.values()) + "\n")
    return [("parquet", "t.parquet", {}), ("parquet", "plain.parquet", {}), ("arrow", "t.arrow", {}),
            ("arrow", "t.arrow", {"memory_map": True}), ("arrow", "t.feather", {}), ("jsonl", "t.jsonl", {}),
            ("csv", "t.csv", {})]


def computed(row, name):
    """Values of expressions over a column by SQL's rules."""
    value = row[name]
    positive = None if value is None else (value != "a" if isinstance(value, str) else value > 0)
    even = row["row"] % 2 == 0
    both = False if positive is False or not even else positive
    either = True if positive or even else positive
    return {"null": value is None, "both": both, "either": either, "neither": None if either is None else not either,
            "kept": value}


def expressions(fields, name):
    literal = "'a'" if fields[name].startswith("bytes") else "0"
    positive = f"{name} {'!=' if literal != '0' else '>'} {literal}"
    even = "row % 2 == 0"
    return {"null": f"is_null({name})", "both": f"({positive}) and {even}", "either": f"{even} or ({positive})",
            "neither": f"not ({even} or ({positive}))", "kept": f"coalesce({name}, {name})"}


def nullable_steps(draw, fields, rows):
    """A pipeline, and its elements."""
    name = draw.choice([one for one in fields if one != "row"])
    filled = {"bytes": "'?'", "bool": "True"}.get(fields[name].rstrip("?"), "7")
    fill = {"'?'": "?", "True": True, "7": 7.0 if fields[name].startswith("float") else 7}[filled]
    size = draw.randint(1, 8)
    batches = [rows[k:k + size] for k in range(0, len(rows), size)]
    new = [{**row, name: fill if row[name] is None else row[name]} for row in rows]
    return draw.choice([
        ([{"map": expressions(fields, name)}], [computed(row, name) for row in rows]),
        ([{"with_columns": {name: f"fill_null({name}, {filled})"}}], new),
        ([{"filter": f"not is_null({name})"}, {"select": [name, "row"]}, {"rename": {name: "y"}}],
         [{"y": row[name], "row": row["row"]} for row in rows if row[name] is not None]),
        ([{"filter": expressions(fields, name)["both"]}], [row for row in rows if computed(row, name)["both"]]),
        ([{"drop": [name]}, {"repeat": 2}],
         [{key: value for key, value in row.items() if key != name} for row in rows] * 2),
        ([{"batch": size}], [{key: [row[key] for row in batch] for key in fields} for batch in batches]),
        ([{"batch": size}, "unbatch"], rows),
        ([{"cache": {}}, {"repeat": 2}], rows * 2),
    ])


def nullable(feedmill):
    """Nulls of random schemas, in all formats, as pyarrow reads them: steps, service, cache and resume."""
    service = feedmill.serve(2)
    token = str(feedmill.folder / "token")
    for seed in range(NULLABLE_SCHEMAS):
        draw = random.Random(seed)
        table, fields = nullable_table(draw)
        rows = rows_of(table)
        all_sources = write_nullable(feedmill.folder, draw, table, draw.randint(1, 20))
        kind, files, options = all_sources[seed % len(all_sources)]
        source = {kind: {"files": files, "fields": fields, **options}}
        steps, want = nullable_steps(draw, fields, rows)
        types = {name: dtype for name, dtype in fields.items() if name != "row"}
        try:
            equal(feedmill.read(source), rows)
            equal(feedmill.read({kind: {"files": files, "types": types, **options}}), rows)
            equal(feedmill.read(source, steps), want)
            if seed % 5 == 0:
                equal(feedmill.read(source, steps, service), want)
            if seed % 5 == 1:
                first, second = draw.sample([["--local"], service], 2)
                got = feedmill.read(source, steps, [*first, "--limit", "3", "--save-token", token])
                equal(got + feedmill.read(source, steps, [*second, "--token", token]), want)
            if seed % 10 == 2:
                hashes = [feedmill.order_hash({kind: {"files": files, "fields": fields, **options}}, ["shuffle"] if kind in (
                    "parquet", "arrow") else []) for kind, files, options in all_sources]
                assert len({one for (kind, _, _), one in zip(all_sources, hashes) if kind in ("parquet", "arrow")}) == 1, hashes
                assert len(set(hashes[-2:])) == 1, hashes
        except AssertionError as error:
            raise AssertionError(f"schema {seed}: {source}, {steps}: {error}") from error
    feedmill.stop()


def nulls_that_are_not_declared(feedmill):
    """The error of a null says which type takes it; another format takes none."""
    table = pa.table({"row": [0, 1], "n": pa.array([1, None], pa.int64())})
    for kind, files, _ in write_nullable(feedmill.folder, random.Random(1), table, 5):
        source = {kind: {"files": files, "fields": {"row": "int64", "n": "int64"}}}
        equal(feedmill.refused(source, files, "record 1", '"n"', '"int64?"', code=1), [{"row": 0, "n": 1}])
    whole = {"parquet": {"files": "t.parquet", "fields": {"n": "int64?"}}}
    feedmill.refused(whole, "needs a name", steps=[{"map": "n + 1"}], code=2)
    feedmill.refused(whole, "sum", "fill_null", steps=[{"map": {"s": "sum(n)"}}], code=2)
    feedmill.refused(whole, "stays with it", steps=[{"select": ["valid(n)"]}], code=2)
    feedmill.refused({"npy": {"files": "t.npy", "fields": {"n": "int64?"}}}, "no nulls", code=2)
    feedmill.refused({"jsonl": {"files": "t.jsonl", "fields": {"n": "int64[?]?"}}}, "array has no nulls", code=2)


def nulls_in_footers(feedmill):
    """Integers and bools of Parquet whose footers count a null may be null; other types keep their meaning."""
    columns = {"i": pa.array([1, None, 3], pa.int32()), "b": pa.array([True, False, None]),
               "f": pa.array([1.5, None, 2.5]), "s": pa.array(["a", None, "c"]), "full": pa.array([1, 2, 3])}
    holes = pa.table({**columns, "o": pa.array([{"n": 1}, None, {"n": 3}], pa.struct([("n", pa.int64())]))})
    want = [{"i": 1, "b": True, "f": 1.5, "s": "a", "full": 1, "o.n": 1},
            {"i": None, "b": False, "f": "NaN", "s": "", "full": 2, "o.n": None},
            {"i": 3, "b": None, "f": 2.5, "s": "c", "full": 3, "o.n": 3}]
    write_parquet(feedmill.folder / "holes.parquet", holes, row_group_size=1)
    equal(feedmill.read({"parquet": "holes.parquet"}), want)
    equal(feedmill.read({"parquet": {"files": "holes.parquet", "types": {"i": "float64", "b": "bool?"}}})[1:2],
          [{**want[1], "i": "NaN"}])
    one = {"parquet": {"files": "holes.parquet", "columns": ["i"], "types": {"i": "int64"}}}
    equal(feedmill.refused(one, "record 1", '"i"', 'types: {i: "int64?"}', code=1), [{"i": 1}])
    # Footers without numbers of nulls, and Arrow, do not tell.
    write_parquet(feedmill.folder / "silent.parquet", holes, write_statistics=False)
    write_ipc(feedmill.folder / "holes.arrow", holes)
    for source in ({"parquet": "silent.parquet"}, {"arrow": "holes.arrow"}):
        feedmill.refused(source, "record 1", '"i"', 'types: {i: "int32?"}', code=1)
    # Nulls have one hash.
    copies = {"parquet": {"files": ["holes.parquet"] * 20}}
    for by in ({}, {"by": "i"}, {"by": {"i": "i", "b": "b"}}):
        part = [feedmill.read(copies, [{"split": {"parts": [0.5, 0.5], "part": k, **by}}]) for k in (0, 1)]
        assert all(len(rows) % 20 == 0 for rows in part) and len(part[0]) + len(part[1]) == 60, part
    # A later file has the first null.
    write_files(feedmill, "parquet", [pa.table({"n": pa.array([k, None if k == 7 else k])}) for k in range(9)])
    got = feedmill.read({"parquet": "files"})
    equal([row["n"] for row in got], [None if k == 15 else k // 2 for k in range(18)])
    feedmill.refused({"parquet": {"files": "holes.parquet", "types": {"ii": "int64"}}}, '"ii"', 'did you mean "i"', code=2)
    none = pa.table({"a": [1, 2], "none": pa.nulls(2)})
    write_parquet(feedmill.folder / "none.parquet", none)
    typed = {"parquet": {"files": "none.parquet", "types": {"none": "int8?"}}}
    equal(feedmill.read(typed), [{"a": 1, "none": None}, {"a": 2, "none": None}])
    named = pa.table({"n": pa.array([1, 2]), "valid(n)": pa.array([True, False])})
    write_parquet(feedmill.folder / "named.parquet", named)
    feedmill.refused({"parquet": "named.parquet"}, '"valid(n)" is reserved', "columns", code=2)
    equal(feedmill.read({"parquet": {"files": "named.parquet", "columns": ["n"]}}), [{"n": 1}, {"n": 2}])


def order(feedmill):
    """The same order as of the same data in jsonl, locally and through a service."""
    table = numbers_table(5000).select(["row", "text", "f64", "i32", "flag"])
    with open(feedmill.folder / "t.jsonl", "w") as file:
        for row in rows_of(table):
            file.write(json.dumps(row) + "\n")
    fields = {"row": "int64", "text": "bytes", "f64": "float64", "i32": "int32", "flag": "bool"}
    jsonl = {"jsonl": {"files": "t.jsonl", "fields": fields}}
    cut = [0, 700, 700, 701, 3000, 5000]  # one file has no rows
    for k, (begin, end) in enumerate(zip(cut, cut[1:])):
        write_parquet(feedmill.folder / f"part{k}.parquet", table.slice(begin, end - begin), row_group_size=333)
        write_ipc(feedmill.folder / f"part{k}.arrow", table.slice(begin, end - begin), rows=97, stream=k % 2 == 0)
    columnar = [{"parquet": {"files": "part*.parquet"}}, {"arrow": {"files": "part*.arrow"}},
                {"arrow": {"files": "part*.arrow", "memory_map": True}}]
    pipelines = [[], ["shuffle", {"batch": 32}], [{"shuffle": {"block": 500}}],
                 [{"filter": "i32 > 0"}, {"map": {"row": "row", "text": "text"}}, {"shuffle": {"window": 100}}],
                 ["shuffle", {"repeat": 2}, {"take": 7000}]]
    want = {}
    for k, steps in enumerate(pipelines):
        want[k] = feedmill.order_hash(jsonl, steps)
        for source in columnar:
            equal([feedmill.order_hash(source, steps)], [want[k]])
    for workers in (1, 2):
        service = feedmill.serve(workers)
        for k, steps in enumerate(pipelines):
            for source in columnar:
                equal([feedmill.order_hash(source, steps, service)], [want[k]])
        feedmill.stop()


def tokens(feedmill):
    table = numbers_table(3000).select(["row", "text"])
    write_parquet(feedmill.folder / "t.parquet", table, row_group_size=250)
    source, steps = {"parquet": "t.parquet"}, ["shuffle", {"batch": 16}]
    whole = feedmill.read(source, steps)
    service = feedmill.serve(2)
    token = str(feedmill.folder / "token")
    for first, second in ((["--local"], service), (service, ["--local"]), (service, service)):
        got = feedmill.read(source, steps, [*first, "--limit", "71", "--save-token", token])
        got += feedmill.read(source, steps, [*second, "--token", token])
        equal(got, whole)
    feedmill.stop()


def kills(feedmill):
    """Workers that are killed in the middle of a read change nothing."""
    table = pa.table({"row": range(100_000), "text": [f"{k:1000}" for k in range(100_000)]})
    write_parquet(feedmill.folder / "t.parquet", table, row_group_size=5000)
    path = feedmill.pipeline({"parquet": "t.parquet"}, [{"shuffle": {"block": 20_000}}, {"batch": 8}])
    local = subprocess.run([feedmill.binary, "read", path, "--local"], capture_output=True, timeout=WAIT, check=True)
    service = feedmill.serve(2)
    with subprocess.Popen([feedmill.binary, "read", path, *service], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as read:
        got = [read.stdout.readline() for _ in range(20)]
        children = subprocess.run(["pgrep", "-P", str(feedmill.server.pid), "-f", " worker "], capture_output=True, text=True,
                                  check=True).stdout.split()
        os.kill(int(children[0]), signal.SIGKILL)
        got += read.stdout.readlines()
    assert read.returncode == 0, read.returncode
    equal(got, local.stdout.splitlines(keepends=True))


def spoil(path, begin, end):
    data = bytearray(path.read_bytes())
    for k in range(begin, end):
        data[k] ^= 0xA5
    path.write_bytes(data)


def spoil_column(path, group, column):
    chunk = pa.parquet.read_metadata(path).row_group(group).column(column)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    spoil(path, begin, begin + chunk.total_compressed_size)


def unneeded_columns(feedmill):
    """The bytes of a column that nothing needs are not read."""
    table = pa.table({"a": range(1000), "b": [f"text {k}" for k in range(1000)], "c": [k / 2 for k in range(1000)]})
    path = feedmill.folder / "t.parquet"
    write_parquet(path, table, row_group_size=100, write_page_checksum=True)
    for group in range(10):
        spoil_column(path, group, 1)
    source = {"parquet": "t.parquet"}
    want = [{"a": k, "c": k / 2} for k in range(1000)]
    equal(feedmill.read({"parquet": {"files": "t.parquet", "columns": ["a", "c"]}}), want)
    equal(feedmill.read(source, [{"map": {"a": "a", "c": "c"}}]), want)
    equal(feedmill.refused(source, 't.parquet: record 0', "row group 0", '"b"', code=1), [])


def damaged_pages(feedmill):
    """Rows before a damaged row group come, and those after it under on_error."""
    table = pa.table({"a": range(1000), "b": [f"text {k}" for k in range(1000)]})
    path = feedmill.folder / "t.parquet"
    write_parquet(path, table, row_group_size=100, write_page_checksum=True)
    chunk = pa.parquet.read_metadata(path).row_group(3).column(0)
    spoil(path, chunk.data_page_offset + 40, chunk.data_page_offset + 60)
    source = {"parquet": "t.parquet"}
    before = feedmill.refused(source, "t.parquet: record 300", "row group 3", '"a"', code=1)
    equal([row["a"] for row in before], list(range(300)))
    got = feedmill.read(source, [{"on_error": "skip"}])
    equal([row["a"] for row in got], [*range(300), *range(400, 1000)])


def truncated(feedmill):
    """Each cut of a file is an error that names it, and never a crash."""
    table = numbers_table(60).select(["row", "text", "i16"])
    sources(feedmill, table, rows=20)
    for name in ("t.parquet", "t.arrow", "t.arrows"):
        data = (feedmill.folder / name).read_bytes()
        kind = "parquet" if name.endswith("parquet") else "arrow"
        draw = random.Random(name)
        cuts = sorted({0, 1, 4, 8, len(data) - 1, len(data) - 9, *(draw.randrange(len(data)) for _ in range(12))})
        for cut in cuts:
            (feedmill.folder / "cut").write_bytes(data[:cut])
            source = {kind: {"files": "cut", "fields": {"row": "int64"}}}
            done = feedmill.run(source)
            got = [json.loads(line)["row"] for line in done.stdout.splitlines()]
            equal(got, list(range(len(got))))
            # A stream may end without its mark, after a whole batch.
            whole = name == "t.arrows" and done.returncode == 0 and len(got) % 20 == 0
            assert whole or (done.returncode in (1, 2) and "cut" in done.stderr), (name, cut, done)


def changed_bytes(feedmill):
    """Reading ends with rows or an error for any bytes in a file."""
    table = numbers_table(300).select(["row", "text", "f64", "u16", "flag"])
    table = table.append_column("list", pa.array([[k] * (k % 4) for k in range(300)]))
    table = table.append_column("dict", pa.array([f"d{k % 5}" for k in range(300)]).dictionary_encode())
    sources(feedmill, table, rows=100)
    fields = {"row": "int64", "text": "bytes", "f64": "float64", "u16": "uint16", "flag": "bool", "list": "int64[?]", "dict": "bytes"}
    for name in ("t.parquet", "v2.parquet", "t.arrow", "t.arrows", "t.feather"):
        data = (feedmill.folder / name).read_bytes()
        draw = random.Random(name)
        for _ in range(12):
            changed = bytearray(data)
            for _ in range(draw.choice([1, 1, 4, 30])):
                changed[draw.randrange(len(data))] = draw.randrange(256)
            (feedmill.folder / "changed").write_bytes(changed)
            done = feedmill.run({"parquet" if "parquet" in name else "arrow": {"files": "changed", "fields": fields}}, ["shuffle"])
            assert done.returncode in (0, 1, 2), (name, done.returncode, done.stderr[-2000:])
            assert done.returncode == 0 or "changed" in done.stderr, done.stderr


def row_counts(feedmill):
    """A damaged number of rows is an error; the read does not hang."""
    write_ipc(feedmill.folder / "t.arrows", pa.table({"a": range(0x12345)}), rows=0x12345, stream=True)
    data = (feedmill.folder / "t.arrows").read_bytes()
    count = (0x12345).to_bytes(8, "little")
    places = [k for k in range(2000) if data.startswith(count, k)]
    assert len(places) == 2, places  # of the batch and of its column
    for k in places:
        (feedmill.folder / "bad.arrows").write_bytes(data[:k] + (1 << 50).to_bytes(8, "little") + data[k + 8:])
        feedmill.refused({"arrow": "bad.arrows"}, "bad.arrows", "rows", str(1 << 50), steps=[{"on_error": "skip"}])


def headless_batches(feedmill):
    """A message whose table lacks the header that its type tells is an error."""
    write_ipc(feedmill.folder / "t.arrows", pa.table({"a": [1, 2]}), stream=True)
    data = (feedmill.folder / "t.arrows").read_bytes()
    schema_bytes = 8 + int.from_bytes(data[4:8], "little")
    root = schema_bytes + 8 + int.from_bytes(data[schema_bytes + 8:schema_bytes + 12], "little")
    table = root - int.from_bytes(data[root:root + 4], "little", signed=True)
    header = table + 4 + 2 * 2  # its field is the third of a Message
    (feedmill.folder / "bad.arrows").write_bytes(data[:header] + bytes(2) + data[header + 2:])
    equal(feedmill.read({"arrow": "t.arrows"}), [{"a": 1}, {"a": 2}])
    feedmill.refused({"arrow": {"files": "bad.arrows", "fields": {"a": "int64"}}}, "bad.arrows")


def dictionary_indexes(feedmill):
    """An index outside the dictionary is an error of its row."""
    dictionary = pa.array(["zero", "one"])
    indexes = pa.py_buffer(bytes([0, 1, 7, 1]))
    array = pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.uint8(), 4, [None, indexes]), dictionary, safe=False)
    for stream in (False, True):
        write_ipc(feedmill.folder / "t.arrow", pa.table({"d": array}), stream=stream)
        before = feedmill.refused({"arrow": "t.arrow"}, "t.arrow: record 2", '"d"', "dictionary", code=1)
        equal(before, [{"d": "zero"}, {"d": "one"}])
        equal(feedmill.read({"arrow": "t.arrow"}, [{"on_error": "skip"}]), [{"d": "zero"}, {"d": "one"}, {"d": "one"}])


def dictionaries_that_change(feedmill):
    """Each batch of a stream is decoded by the dictionary that holds then."""
    schema = pa.schema([("d", pa.dictionary(pa.int32(), pa.string())), ("k", pa.int64())])
    words = [["a", "b"], ["c", "a", "e"], ["c", "a", "e", "f"], []]
    for deltas in (False, True):
        with pa.ipc.new_stream(feedmill.folder / "t.arrows", schema,
                               options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as writer:
            for k, batch in enumerate(words):
                column = pa.DictionaryArray.from_arrays(pa.array(range(len(batch)), pa.int32()), pa.array(batch, pa.string()))
                writer.write_batch(pa.record_batch([column, pa.array([k] * len(batch), pa.int64())], schema=schema))
        want = [{"d": word, "k": k} for k, batch in enumerate(words) for word in batch]
        equal(feedmill.read({"arrow": "t.arrows"}), want)
        equal(feedmill.read({"arrow": {"files": "t.arrows", "columns": ["k"]}}), [{"k": row["k"]} for row in want])
        shuffled = feedmill.read({"arrow": "t.arrows"}, ["shuffle"])
        equal(sorted(map(json.dumps, shuffled)), sorted(map(json.dumps, want)))


def other_schemas(feedmill):
    """A file without a column, or with another type of it, is an error that names both."""
    good = pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", "y"]})
    wrong = {"lacks": pa.table({"a": pa.array([3], pa.int64()), "c": ["z"]}),
             "differs": pa.table({"a": pa.array([3], pa.int64()), "b": pa.array([[1]], pa.list_(pa.int64()))})}
    for kind, write in (("parquet", write_parquet), ("arrow", write_ipc)):
        for name, table in wrong.items():
            write(feedmill.folder / "0.data", good)
            write(feedmill.folder / "1.data", table)
            write(feedmill.folder / "2.data", good)
            source = {kind: {"files": ["0.data", "1.data", "2.data"]}}
            before = feedmill.refused(source, "1.data: record 0", '"b"', code=1)
            equal(before, rows_of(good))
            equal(feedmill.read(source, [{"on_error": "skip"}]), rows_of(good) * 2)
            equal(feedmill.read(source, [{"map": {"a": "a"}}]), [{"a": a} for a in (1, 2, 3, 1, 2)])
        # Narrower numbers and another order of columns become what is declared.
        write(feedmill.folder / "1.data", pa.table({"b": pa.array(["z"]).dictionary_encode(), "a": pa.array([3], pa.uint8())}))
        equal(feedmill.read(source), [*rows_of(good), {"a": 3, "b": "z"}, *rows_of(good)])


def encodings(feedmill):
    """Every encoding of pages and every compression that pyarrow writes."""
    table = pa.table({"a": list(range(5000)), "s": [f"s{k % 97}" * (k % 5) for k in range(5000)], "f": [k / 3 for k in range(5000)]})
    want = rows_of(table)
    cases = [{"compression": name} for name in ("none", "snappy", "gzip", "brotli", "lz4", "zstd")]
    cases += [{"use_dictionary": False, "column_encoding": {"a": a, "s": s, "f": f}} for a, s, f in (
        ("PLAIN", "PLAIN", "PLAIN"), ("DELTA_BINARY_PACKED", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
        ("BYTE_STREAM_SPLIT", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"))]
    cases += [{"data_page_version": "2.0", "data_page_size": 1000}, {"write_page_index": True, "data_page_size": 1000},
              {"write_page_checksum": True, "data_page_version": "2.0", "compression": "zstd"}, {"version": "1.0"},
              {"write_statistics": False}, {"bloom_filter_options": {"a": {"ndv": 5000}, "s": {"ndv": 97}}}]
    for case in cases:
        write_parquet(feedmill.folder / "t.parquet", table, **case)
        got = feedmill.read({"parquet": {"files": "t.parquet"}})
        assert got == want, case


def forms_that_are_not_read(feedmill):
    """Encrypted Parquet files and Feather files of version 1: the error says what they are and what to write."""
    import pyarrow.parquet.encryption as encryption

    class Keys(encryption.KmsClient):
        """Keys that are wrapped by their names."""

        def wrap_key(self, key_bytes, master_key_identifier):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return base64.b64decode(wrapped_key)

    table = pa.table({"a": list(range(100))})
    factory = encryption.CryptoFactory(lambda _: Keys())
    for plaintext_footer in (False, True):
        properties = factory.file_encryption_properties(
            encryption.KmsConnectionConfig(),
            encryption.EncryptionConfiguration(footer_key="one", column_keys={"two": ["a"]}, plaintext_footer=plaintext_footer))
        with pa.parquet.ParquetWriter(feedmill.folder / "secret.parquet", table.schema, encryption_properties=properties) as writer:
            writer.write_table(table)
        feedmill.refused({"parquet": {"files": "secret.parquet"}}, "secret.parquet: it is encrypted", "without encryption")
    # The magic bytes of version 1; pyarrow is about to lose its writer.
    (feedmill.folder / "old.feather").write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    feedmill.refused({"arrow": {"files": "old.feather"}}, "old.feather: it is a Feather file of version 1", "version 2")


def partitions(feedmill):
    """Folders KEY=VALUE are columns, as for pyarrow's datasets."""
    table = pa.table({"a": range(40), "year": [2020 + k % 2 for k in range(40)], "who": ["ann b", "bob/c"] * 20})
    for kind, form in (("parquet", "parquet"), ("arrow", "feather")):
        root = feedmill.folder / kind
        pa.dataset.write_dataset(table, root, format=form, partitioning=["year", "who"], partitioning_flavor="hive")
        files = {"files": f"{kind}/**/*.{form}"}
        read = pa.dataset.dataset(root, format=form, partitioning="hive").to_table().sort_by("a")
        equal(sorted(feedmill.read({kind: {**files, "partitions": True}}), key=lambda row: row["a"]), rows_of(read))
        equal({tuple(row) for row in feedmill.read({kind: {**files, "partitions": True, "columns": ["who", "a"]}})}, {("who", "a")})
        years = feedmill.read({kind: {**files, "partitions": True}}, [{"map": {"year": "year"}}])
        equal(sorted(row["year"] for row in years), [2020] * 20 + [2021] * 20)
        equal({tuple(row) for row in feedmill.read({kind: files})}, {("a",)})
        feedmill.refused({kind: {**files, "partitions": True, "fields": {"who": "int64"}}}, "who=", '"who"', "int64", code=1)


def folders_of_spark(feedmill):
    """Files that Spark, Dask and Delta write beside the data are left out of folders and globs."""
    table = pa.table({"a": list(range(10))})
    folder = feedmill.folder / "out"
    (folder / "y=1").mkdir(parents=True)
    (folder / "y=2").mkdir()
    metadata = []
    for year in (1, 2):
        write_parquet(folder / f"y={year}" / "part-0.snappy.parquet", table, metadata_collector=metadata)
        metadata[-1].set_file_path(f"y={year}/part-0.snappy.parquet")
        (folder / f"y={year}" / ".part-0.snappy.parquet.crc").write_bytes(b"crc\0")
    (folder / "_SUCCESS").write_bytes(b"")
    pa.parquet.write_metadata(table.schema, folder / "_common_metadata")
    pa.parquet.write_metadata(table.schema, folder / "_metadata", metadata)
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "part-1.parquet").write_bytes(b"half written")
    want = pa.dataset.dataset(str(folder), partitioning="hive").to_table().to_pylist()
    assert len(want) == 20
    for files in ("out/**", str(folder / "**")):
        assert feedmill.read({"parquet": {"files": files, "partitions": True}}) == want, files
    for files in ("out/y=1", "out/y=1/*"):
        assert len(feedmill.read({"parquet": {"files": files}})) == 10
    # A file that is named is read.
    write_parquet(feedmill.folder / "_own.parquet", table)
    assert len(feedmill.read({"parquet": {"files": "_own.parquet"}})) == 10
    assert len(feedmill.read({"parquet": {"files": "_ow*"}})) == 10


def folders_of_tables(feedmill):
    """A folder of a table has rows that are no longer in it: an error that names the table, unless files are named."""
    rows = pa.table({"a": [1, 2]})
    for part in ("x=1", "x=2"):
        (feedmill.folder / "plain" / part).mkdir(parents=True)
        write_parquet(feedmill.folder / "plain" / part / "part-0.parquet", rows)
    hudi = "4f1c-0_0-21-18_20240101120000123.parquet"
    tables = {
        "delta": ("Delta", {"_delta_log/00000000000000000000.json": "{}"}, "{}/part-0.parquet"),
        "iceberg": ("Iceberg", {"metadata/00001-4f1c.metadata.json": "{}", "metadata/snap-1.avro": "x"}, "data/{}/part-0.parquet"),
        "hadoop": ("Iceberg", {"metadata/v2.metadata.json": "{}", "metadata/version-hint.text": "2"}, "data/{}/part-0.parquet"),
        "hudi": ("Hudi", {".hoodie/hoodie.properties": "x", "x=1/.hoodie_partition_metadata": "x"}, "{}/" + hudi),
        "rows.lance": ("Lance", {"_versions/1.manifest": "x"}, "data/{}/part-0.lance")}
    for name, (kind, log, data) in tables.items():
        root = feedmill.folder / "house" / name
        for file, text in log.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        for part in ("x=1", "x=2"):
            path = root / data.format(part)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_parquet(path, rows)
        one = f"house/{name}/{data.format('x=1')}"
        folder, last = one.rsplit("/", 1)
        patterns = [f"house/{name}", f"house/{name}/", f"house/{name}/**", folder, f"{folder}/*", f"house/{name[:-1]}?/**/*." + last.split(".")[-1],
                    f"{folder[:-1]}[1-2]"]
        if data.startswith("data/"):
            patterns += [f"house/{name}/data", f"house/{name}/data/*/*"]
        for source in ("parquet", "arrow"):
            for files in patterns:
                where = f"house/{name}" if kind != "Hudi" else folder
                feedmill.refused({source: {"files": files}}, f"{where}: it is a", f"{kind} table", "manifest", code=2)
        # A folder of several tables, and of a table beside plain files.
        feedmill.refused({"parquet": {"files": ["plain", f"house/{name}"]}}, f"{kind} table", code=2)
        # Files that are named one by one are read: the user has asked the table's log.
        equal(feedmill.read({"parquet": one}), rows_of(rows))
        (feedmill.folder / "files.jsonl").write_text(json.dumps({"url": one}) + "\n")
        equal(feedmill.read({"parquet": {"files": {"manifest": "files.jsonl"}}}), rows_of(rows))
        equal(feedmill.read({"parquet": {"files": one.replace("x=1", "x={1..2}")}}), rows_of(rows) * 2)
    feedmill.refused({"parquet": {"files": "house"}}, " table", code=2)
    # The log itself is no data.
    log = feedmill.folder / "house" / "delta" / "_delta_log" / "00000000000000000001.checkpoint.parquet"
    write_parquet(log, pa.table({"add": ["x"]}))
    for files in ("house/delta/_delta_log/*.parquet", str(log)):
        equal(feedmill.read({"parquet": files}), [{"add": "x"}])
    # Folders that only look like some of it.
    for path in ("plain/data/one/part.parquet", "plain/metadata/notes.metadata.json.parquet", "plain/x=3/a_b_20240101120000.parquet"):
        (feedmill.folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_parquet(feedmill.folder / path, rows)
    for files, count in (("plain", 10), ("plain/data", 2), ("plain/x=3", 2), ("plain/x=*/*", 6), ("plain/data/*/*", 2)):
        assert len(feedmill.read({"parquet": {"files": files}})) == count, files


def nothing_inside(feedmill):
    rows = pa.table({"a": pa.array([], pa.int64())})
    for kind, write in (("parquet", write_parquet), ("arrow", write_ipc)):
        write(feedmill.folder / "rows.data", rows)
        equal(feedmill.read({kind: "rows.data"}), [])
        equal(feedmill.read({kind: "rows.data"}, ["shuffle", {"batch": 4}]), [])
        write(feedmill.folder / "columns.data", pa.table({}))
        feedmill.refused({kind: "columns.data"}, "columns.data", "no columns")
        other, magic = ("arrow", "ARROW1") if kind == "parquet" else ("parquet", "PAR1")
        (write_ipc if other == "arrow" else write_parquet)(feedmill.folder / "other.data", pa.table({"a": [1]}))
        feedmill.refused({kind: "other.data"}, "other.data", magic, f"`{other}`")
        (feedmill.folder / "text.data").write_text("a,b\n1,2\n" * 10)
        feedmill.refused({kind: "text.data"}, "text.data")
        (feedmill.folder / "empty.data").write_bytes(b"")
        feedmill.refused({kind: "empty.data"}, "empty.data")
    odd = pa.Table.from_arrays([pa.array([1]), pa.array([2])], schema=pa.schema([pa.field(b"\xff", pa.int64()), pa.field("b", pa.int64())]))
    write_ipc(feedmill.folder / "odd.arrow", odd)
    feedmill.refused({"arrow": "odd.arrow"}, "UTF-8", "columns")
    equal(feedmill.read({"arrow": {"files": "odd.arrow", "columns": ["b"]}}), [{"b": 2}])
    # Two columns of one name, of which one may be a member of a struct.
    member = pa.array([{"b": 1, "c": 3}])
    cases = [(["a", "a"], [pa.array([1]), pa.array([2])], "a"), (["a", "a.b"], [member, pa.array([2])], "a.b"),
             (["a.b", "a"], [pa.array([2]), member], "a.b")]
    for names, arrays, name in cases:
        for kind, write in (("parquet", write_parquet), ("arrow", write_ipc)):
            write(feedmill.folder / "twice.data", pa.Table.from_arrays(arrays, names=names))
            feedmill.refused({kind: "twice.data"}, f'"{name}"', "twice")
            feedmill.refused({kind: {"files": "twice.data", "columns": [name]}}, f'"{name}"', "twice")
            feedmill.refused({kind: {"files": "twice.data", "fields": {name: "int64"}}}, f'"{name}"', "two columns", code=1)
            if name == "a.b":
                equal(feedmill.read({kind: {"files": "twice.data", "columns": ["a.c"]}}), [{"a.c": 3}])
    # The name of a column is that column alone; the name of a struct is its members.
    write_parquet(feedmill.folder / "dots.parquet", pa.table({"a": [1], "a.b": [2], "s": [{"x": 3, "y": 4}]}))
    equal(feedmill.read({"parquet": {"files": "dots.parquet", "columns": ["a"]}}), [{"a": 1}])
    equal(feedmill.read({"parquet": {"files": "dots.parquet", "columns": ["s", "a.b"]}}), [{"s.x": 3, "s.y": 4, "a.b": 2}])


def random_filter(draw, depth=2):
    """A filter of comparisons, and the same as a function of a row."""
    if depth and draw.random() < 0.6:
        (one, is_one), (other, is_other) = random_filter(draw, depth - 1), random_filter(draw, depth - 1)
        if draw.random() < 0.5:
            return f"({one}) and ({other})", lambda row: is_one(row) and is_other(row)
        return f"({one}) or ({other})", lambda row: is_one(row) or is_other(row)
    name = draw.choice(["n", "small", "u", "f", "s", "flag"])
    value = {"n": draw.randint(-20, 120), "small": draw.randint(-3, 3), "u": draw.choice([0, 2**63, 2**64 - 1]),
             "f": draw.choice([-1.5, 0.0, 40.25, 7]), "s": draw.choice(["", "k", "k5", "zz"]), "flag": draw.random() < 0.5}[name]
    sign = draw.choice(["==", "!="] if name == "flag" else ["<", "<=", ">", ">=", "==", "!="])
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}[sign]

    def passes(row):
        missing = {"f": math.nan, "s": ""}.get(name)
        return compare(missing if row[name] is None else row[name], value)
    text = f"{name} {sign} {value!r}"
    if draw.random() < 0.3:
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
        text = f"{value!r} {mirrored} {name}"
    return text, passes


def filters(feedmill):
    """Filters behind the source, from which row groups are left unread: the same rows."""
    draw = random.Random(11)
    rows = 120
    table = pa.table({
        "n": pa.array(range(rows), pa.int64()),  # in order, so that row groups differ
        "small": pa.array([k // 40 - 1 for k in range(rows)], pa.int8()),
        "u": pa.array([0 if k < 60 else 2**64 - 1 for k in range(rows)], pa.uint64()),
        "f": pa.array([None if k % 17 == 3 else math.nan if k % 19 == 4 else k / 2 for k in range(rows)], pa.float64()),
        "s": pa.array([None if k % 23 == 5 else f"k{k // 12}" for k in range(rows)]),
        "flag": pa.array([k >= 50 for k in range(rows)]),
        "list": pa.array([[k] * (k % 3) for k in range(rows)])})
    whole = [row | {name: missing for name, missing in {"f": math.nan, "s": ""}.items() if row[name] is None}
             for row in table.to_pylist()]
    by_kind = sources(feedmill, table)
    for trial in range(40):
        text, passes = random_filter(draw)
        want = [row["n"] for row in whole if passes(row)]
        steps = draw.choice([[], ["shuffle"], [{"skip": 0}, {"take": rows}]])
        # Without the other columns, and with all of them.
        keep = draw.choice([[{"map": {"n": "n"}}], []])
        for source in by_kind if trial % 8 == 0 else by_kind[:2]:
            got = feedmill.read(source, [*steps, {"filter": text}, *keep])
            assert sorted(row["n"] for row in got) == want, (text, source, steps)
            if not keep:
                assert all(row["list"] == [row["n"]] * (row["n"] % 3) for row in got), text


def unread_groups(feedmill):
    """Row groups of which no row passes are not read; what may be a data error is."""
    rows = 40
    table = pa.table({"n": range(rows), "f": [k / 2 for k in range(rows)]})
    path = feedmill.folder / "t.parquet"
    write_parquet(path, table, row_group_size=10, use_dictionary=False, compression="none", write_page_checksum=True)
    spoil_column(path, 1, 0)
    source = {"parquet": "t.parquet"}
    feedmill.refused(source, "row group 1", steps=[{"filter": "n % 2 == 0"}])
    feedmill.refused(source, "row group 1", steps=[{"map": {"n": "n + 1"}}, {"filter": "n > 25"}])
    equal(feedmill.read(source, [{"filter": "n > 37"}]), [{"n": 38, "f": 19.0}, {"n": 39, "f": 19.5}])
    equal(feedmill.read(source, ["shuffle", {"filter": "f < 1 or n == 39"}, {"map": "n"}, {"batch": 3}, {"map": "sum(x)"}]), [40])
    # Dates, times and decimals have ranges, too.
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(rows)]
    moments = [datetime.datetime(2020, 1, 1, k % 24, 1, 2, 345678) + datetime.timedelta(days=k) for k in range(rows)]
    money = [decimal.Decimal(k - 20) / 4 for k in range(rows)]
    timed = pa.table({"n": range(rows), "day": pa.array(days), "day64": pa.array(days, pa.date64()),
                      **{f"ts_{unit}": pa.array([m.replace(microsecond=0) for m in moments], pa.timestamp(unit)) for unit in ("s", "ms")},
                      "ts_us": pa.array(moments, pa.timestamp("us", "UTC")), "ts_ns": pa.array(moments, pa.timestamp("ns")),
                      "time": pa.array([datetime.time(k // 2, k) for k in range(rows)]),
                      "d9": pa.array(money, pa.decimal128(9, 2)), "d15": pa.array(money, pa.decimal128(15, 4))})
    for as_integer in (False, True):
        write_parquet(path, timed, row_group_size=10, use_dictionary=False, compression="none", write_page_checksum=True,
                      store_decimal_as_integer=as_integer)
        values = feedmill.read(source)
        equal([row["d9"] for row in values], [float(value) for value in money])
        for group in (0, 1, 2):
            spoil_column(path, group, 0)
        for name in timed.column_names[1:]:
            limit = values[30][name]
            for text, want in ((f"{name} >= {limit}", range(30, 40)), (f"{name} > {limit}", range(31, 40)),
                               (f"{name} == {values[35][name]}", [35])):
                equal(feedmill.read(source, [{"filter": text}, {"map": "n"}]), list(want))
            feedmill.refused(source, "row group 2", steps=[{"filter": f"{name} >= {values[29][name]}"}])
    # A null where there is no value for it stays an error, with any filter.
    write_parquet(path, pa.table({"n": range(20), "m": [None if k == 3 else k for k in range(20)]}), row_group_size=10)
    whole = {"parquet": {"files": "t.parquet", "types": {"m": "int64"}}}
    feedmill.refused(whole, "record 3", "null", steps=[{"filter": "n > 15"}])
    equal(feedmill.read(source, [{"filter": "n > 18"}]), [{"n": 19, "m": 19}])
    equal(feedmill.read({"parquet": {"files": "t.parquet", "columns": ["n"]}}, [{"filter": "n > 18"}]), [{"n": 19}])
    # Folders with a key and a value are ranges, too.
    for year in (2024, 2025):
        (feedmill.folder / f"year={year}").mkdir()
        for write, name in ((write_parquet, "a.parquet"), (write_ipc, "a.arrow")):
            write(feedmill.folder / f"year={year}" / name, pa.table({"n": [year, year + 1]}))
    spoil_column(feedmill.folder / "year=2024" / "a.parquet", 0, 0)
    for kind, name in (("parquet", "*/a.parquet"), ("arrow", "*/a.arrow")):
        source = {kind: {"files": name, "partitions": True}}
        equal(feedmill.read(source, [{"filter": "year == 2025"}, {"map": "n"}]), [2025, 2026])


def large_groups(feedmill):
    """More decoded row groups than are kept: the order does not change."""
    rows, blob = 6000, 50_000  # 300 MB of decoded bytes
    table = pa.table({"row": range(rows), "blob": [bytes([k % 251]) * (blob + k % 7) for k in range(rows)]})
    write_parquet(feedmill.folder / "t.parquet", table, row_group_size=250, compression="zstd")
    got = feedmill.read({"parquet": "t.parquet"}, [{"shuffle": {}}, {"map": {"row": "row", "size": "length(blob)"}}, {"take": 600}])
    assert all(row["size"] == blob + row["row"] % 7 for row in got), got[:3]
    numbers = feedmill.read({"parquet": {"files": "t.parquet", "columns": ["row"]}}, ["shuffle", {"take": 600}])
    equal([row["row"] for row in got], [row["row"] for row in numbers])


def first_rows(feedmill):
    """The first rows of a group are read alone where no others are needed, and are the same."""
    rows = 300
    draw = random.Random(8)
    numbers = numbers_table(rows)
    table = numbers.append_column("list", pa.array([list(range(draw.randrange(6))) for _ in range(rows)], pa.list_(pa.int32())))
    table = table.append_column("null", pa.array([None if k % 3 == 0 else k / 2 for k in range(rows)], pa.float64()))
    table = table.append_column("s", pa.array([{"a": k, "b": [f"{k}"] * (k % 3)} for k in range(rows)]))
    table = table.append_column("word", pa.array([draw.choice(["red", "green"]) for _ in range(rows)]).dictionary_encode())
    for source in sources(feedmill, table, 100):
        want = feedmill.read(source)
        equal([row["row"] for row in want], list(range(rows)))
        for steps, first, last in (([{"take": 1}], 0, 1), ([{"take": 7}], 0, 7), ([{"take": 49}], 0, 49), ([{"take": 51}], 0, 51),
                                   ([{"take": 103}], 0, 103), ([{"skip": 120}, {"take": 9}], 120, 129), ([{"take": 0}], 0, 0),
                                   ([{"select": ["row", "i8"]}, {"take": 7}], 0, 7)):
            equal([row["row"] for row in feedmill.read(source, steps)], list(range(first, last)))
            if steps[0].get("select") is None:
                equal(feedmill.read(source, steps), want[first:last])
        few = [{"select": ["row"]}]
        equal(feedmill.read(source, [*few, {"batch": 4}, {"take": 2}]), [{"row": [0, 1, 2, 3]}, {"row": [4, 5, 6, 7]}])
        for order in ([{"shuffle": {"window": 100}}], ["shuffle"], [{"take": 5}, {"repeat": 2}], [{"repeat": 2}], [{"shard": {"count": 3, "index": 1}}],
                      [{"filter": "row % 50 == 3"}]):
            if "arrow" in source:
                break
            whole = feedmill.read(source, [*few, *order])
            equal(feedmill.read(source, [*few, *order, {"take": 6}]), whole[:6])
    beginnings_of_pages(feedmill)
    # Times of INT96 are read whole.
    int96_file(feedmill.folder / "int96.parquet", [datetime.datetime(2024, 1, 1 + k) for k in range(20)])
    int96 = {"parquet": {"files": "int96.parquet", "columns": ["n", "t"]}}
    equal(feedmill.read(int96, [{"take": 3}]), feedmill.read(int96)[:3])
    # Bytes behind the first pages are not looked at.
    write_parquet(feedmill.folder / "cut.parquet", numbers.select(["row"]), use_dictionary=False, compression="none",
                  max_rows_per_page=50, write_page_checksum=True)
    chunk = pa.parquet.ParquetFile(feedmill.folder / "cut.parquet").metadata.row_group(0).column(0)
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    spoil(feedmill.folder / "cut.parquet", middle, middle + 200)
    equal(feedmill.read({"parquet": "cut.parquet"}, [{"take": 9}]), [{"row": k} for k in range(9)])
    feedmill.refused({"parquet": "cut.parquet"}, "cut.parquet", "row group 0")


def beginnings_of_pages(feedmill):
    """The first rows are the same from the beginnings of large pages and dictionaries, of all forms that pyarrow writes."""
    rows = 60_000
    draw = random.Random(4)
    words = [f"word {draw.randrange(10**9)}" for _ in range(rows)]
    table = pa.table({
        "row": range(rows), "float": [draw.random() for _ in range(rows)], "word": words, "flag": [k % 3 == 0 for k in range(rows)],
        "null": [None if draw.random() < 0.4 else draw.random() for _ in range(rows)], "four": pa.array([word[-4:].encode() for word in words], pa.binary(4)),
        "few": [f"{k % 7}" for k in range(rows)], "no": pa.nulls(rows, pa.int32()), "s": [{"a": k, "b": words[k]} for k in range(rows)],
        # The first rows need the last items of the dictionary.
        "sorted": pa.DictionaryArray.from_arrays(pa.array([rows - 1 - k for k in range(rows)], pa.int32()), pa.array(words))})
    large = {"data_page_size": 1 << 22, "dictionary_pagesize_limit": 1 << 22, "max_rows_per_page": rows}
    cases = [{"compression": name, **more} for name in ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
             for more in (large, {**large, "use_dictionary": False})]
    cases += [{}, {"write_page_checksum": True}, {"data_page_version": "2.0"},
              {"use_dictionary": False, "column_encoding": {"row": "DELTA_BINARY_PACKED", "word": "DELTA_BYTE_ARRAY", "float": "BYTE_STREAM_SPLIT"}}]
    wanted = []
    for steps, first, count in (([{"take": 1}], 0, 1), ([{"take": 100}], 0, 100), ([{"skip": 30}, {"take": 900}], 30, 900)):
        write_parquet(feedmill.folder / "whole.parquet", table.slice(first, count))
        wanted.append((steps, feedmill.read({"parquet": "whole.parquet"})))
    for case in cases:
        write_parquet(feedmill.folder / "pages.parquet", table, **case)
        for steps, want in wanted:
            equal(feedmill.read({"parquet": "pages.parquet"}, steps), want)


def huge_texts(feedmill):
    """Nested texts of more than 2 GiB in one row group."""
    rows, text = 2100, "x" * (1 << 20)
    coded = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    lists = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), coded)
    structs = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), pa.StructArray.from_arrays([coded], ["s"]))
    for column, name in ((lists, "t"), (structs, "t.s")):
        write_parquet(feedmill.folder / "huge.parquet", pa.table({"n": range(rows), "t": column}), row_group_size=rows, store_schema=False)
        assert (feedmill.folder / "huge.parquet").stat().st_size < 10 << 20
        size = f"length(component('{name}')[0])"
        got = feedmill.read({"parquet": "huge.parquet"}, [{"map": {"n": "n", "size": size}}], wait=10 * WAIT)
        equal(got, [{"n": k, "size": len(text)} for k in range(rows)])


def memory_map(feedmill):
    """Views of mapped files are the elements that copies are, for each kind of step behind them."""
    rows = 3000
    table = pa.table({
        "row": range(rows), "flag": [k % 3 == 0 for k in range(rows)], "blob": [bytes([k % 251]) * (300 + k % 7) for k in range(rows)],
        "vector": pa.array([[k * 0.5] * 64 for k in range(rows)], pa.list_(pa.float32(), 64)),
        "list": pa.array([[k] * (k % 40) for k in range(rows)], pa.list_(pa.int32())),
        "holes": pa.array([None if k % 50 == 0 else float(k) for k in range(rows)])})
    write_ipc(feedmill.folder / "a.arrow", table.slice(0, 1700), rows=700)
    write_ipc(feedmill.folder / "b.arrow", table.slice(1700), rows=700, stream=True)
    copied = {"arrow": {"files": "*.arrow"}}
    mapped = {"arrow": {"files": "*.arrow", "memory_map": True}}
    equal_rows = {"map": {name: name for name in ("row", "flag", "blob", "vector", "holes")}}  # of one shape
    lists = {"map": {"row": "row", "list": "list"}}
    pipelines = [
        [], ["shuffle"], [{"shuffle": {"block": 100}}], [{"cache": None}, {"repeat": 2}], [{"shard": {"index": 1, "count": 3}}],
        [{"filter": "flag"}], [{"map": {"row": "row", "vector": "vector * 2", "blob": "blob"}}], [lists, {"repeat": 3}, {"take": 7000}],
        [equal_rows, {"batch": 16}], [equal_rows, {"batch": {"size": 700, "drop_remainder": True}}],
        [equal_rows, {"filter": "flag"}, {"batch": 10}], [equal_rows, {"shuffle": {"block": 100}}, {"batch": 50}],
        [equal_rows, {"batch": 7}, "unbatch", {"skip": 11}], [equal_rows, {"batch": 20}, {"batch": 3}],
        [equal_rows, {"batch": 10}, {"map": {"row": "row", "half": "vector / 2"}}],
        [lists, {"ragged_batch": 9}], [lists, {"padded_batch": {"size": 9}}]]
    service = feedmill.serve(2)
    for steps in pipelines:
        want = feedmill.order_hash(copied, steps)
        for flags in (["--local"], ["--local", "--threads", "1"], service):
            equal([feedmill.order_hash(mapped, steps, flags)], [want])
    token = str(feedmill.folder / "token")
    whole = feedmill.read(copied)
    for first, second in ((["--local"], service), (service, ["--local"]), (["--local"], ["--local"])):
        got = feedmill.read(mapped, [], [*first, "--limit", "1234", "--save-token", token])
        equal(got + feedmill.read(mapped, [], [*second, "--token", token]), whole)
    feedmill.stop()


def truncated_mapping(feedmill):
    """A mapped file that another process cuts off or writes during a read ends the read, not the process."""
    rows = 40_000
    table = pa.table({"row": range(rows), "vector": pa.array([[float(k)] * 500 for k in range(rows)], pa.list_(pa.float32(), 500))})
    path = feedmill.folder / "t.arrow"
    for change in ("cut off", "written"):
        write_ipc(path, table, rows=500)
        pipeline = feedmill.pipeline({"arrow": {"files": "t.arrow", "memory_map": True}})
        with subprocess.Popen([feedmill.binary, "read", pipeline, "--local"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as read:
            first = [json.loads(read.stdout.readline()) for _ in range(100)]
            with open(path, "r+b") as file:
                if change == "cut off":
                    file.truncate(file.seek(0, os.SEEK_END) // 2)
                else:
                    file.seek(-1, os.SEEK_END)
                    file.write(b"1")
            _, error = read.communicate(timeout=WAIT)
        assert [element["row"] for element in first] == list(range(100))
        assert read.returncode == 1 and "t.arrow" in error and "changed since" in error, (read.returncode, error)


def without_plugin(feedmill):
    """The command says how to install the plugin, and that a file is none."""
    (feedmill.folder / "t.parquet").write_bytes(b"PAR1")
    for kind in ("parquet", "arrow"):
        feedmill.refused({kind: "t.parquet"}, "libfeedmill_arrow.so", "pip install pyarrow", "FEEDMILL_ARROW_PLUGIN",
                         env={"FEEDMILL_ARROW_PLUGIN": str(feedmill.folder / "none.so")}, code=1)
    (feedmill.folder / "no.so").write_text("no shared object")
    feedmill.refused({"parquet": "t.parquet"}, "no.so", env={"FEEDMILL_ARROW_PLUGIN": str(feedmill.folder / "no.so")}, code=1)
    usage = subprocess.run([feedmill.binary, "read", "--help"], capture_output=True, text=True, timeout=WAIT, check=True)
    assert re.search(r"\bread\b", usage.stdout)


TESTS = {test.__name__: test for test in (
    types, times, time_units, times_that_do_not_fit, times_beside_other_types, int96_times, decimals, nested, lists_of_structs, deeper, nulls, nullable, nulls_in_footers, nulls_that_are_not_declared, order, tokens, kills, unneeded_columns, damaged_pages, truncated, changed_bytes, row_counts, headless_batches,
    dictionary_indexes, dictionaries_that_change, other_schemas, encodings, forms_that_are_not_read, partitions, folders_of_spark, folders_of_tables, nothing_inside, filters, unread_groups, large_groups, first_rows, huge_texts, memory_map, truncated_mapping, without_plugin)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("tests", nargs="*", choices=[[], *TESTS], default=[])
    arguments = parser.parse_args()
    for name in arguments.tests or TESTS:
        with tempfile.TemporaryDirectory(prefix="columnar-") as folder:
            feedmill = Feedmill(os.path.abspath(arguments.binary), pathlib.Path(folder))
            try:
                TESTS[name](feedmill)
            finally:
                feedmill.stop()
        print(f"{name}: passed")


if __name__ == "__main__":
    sys.exit(main())
