"""Cases of bytes: Python's own bytes, re and json are the oracles."""
import datetime
import json
import re

import numpy as np

from case_format import ALL, FLOATS, INTS, column, emit, literal, ragged, strings, values


def text_cases():
    """Python's bytes and re, and the libraries of the formats, as oracles."""
    words = [b"", b" ", b"a", b" a b ", b"\t\x0ba\r\n\x0c", b"aXbXXc", b"XX", b"hello world ", b"\xc3\xa9X\xff",
             b"aaaa", b"ab" * 40, b"\x00 \x00"]
    s = strings(words)
    every = [column(s), column(s.reshape(3, 4))]
    for name in ("strip", "lstrip", "rstrip"):
        for x, shape in zip(every, ((12,), (3, 4))):
            emit(name, [x], strings([getattr(w, name)() for w in words]).reshape(shape))
    for t in (b"a", b"", b"XX", b" ", b"abab"):
        for name, f in (("startswith", bytes.startswith), ("endswith", bytes.endswith)):
            emit(name, [column(s), literal(t)], np.array([f(w, t) for w in words]))
        emit("find", [column(s), literal(t)], np.array([w.find(t) for w in words]))
        if t:
            emit("split", [column(s), literal(t)], ragged([strings(w.split(t)) for w in words]))
            for new in (b"", b"-", b"long" * 5):
                emit("replace", [column(s), literal(t), literal(new)], strings([w.replace(t, new) for w in words]))
        else:
            emit("split", [column(s), literal(t)], "build-error")
            emit("replace", [column(s), literal(t), literal(b"x")], "build-error")
    back = words[::-1]
    emit("find", [column(s), column(strings(back))], np.array([w.find(t) for w, t in zip(words, back)]))
    emit("split", [column(s)], ragged([strings(w.split()) for w in words]))
    emit("split", [column(s[:0])], "bytes[?]0:")
    emit("split", [column(s.reshape(3, 4))], "build-error")
    rows = [strings(words[:3]), strings([]), strings(words[3:5])]
    emit("strip", [ragged(rows)], ragged([strings([w.strip() for w in r]) for r in rows]))
    emit("re_match", [ragged(rows), literal(b"a")], ragged([np.array([b"a" in w for w in r], bool) for r in rows]))
    emit("replace", [ragged(rows), literal(b"a"), literal(b"bc")],
         ragged([strings([w.replace(b"a", b"bc") for w in r]) for r in rows]))
    for start, length in ((0, 2), (1, 3), (-3, 2), (-100, 99), (2, 0), (100, 5), (-1, 2**62), (-2**63, 2**63 - 1)):
        def part(w):
            begin = start + (len(w) if start < 0 else 0)
            return w[max(begin, 0):max(begin + length, 0)]
        emit("substr", [column(s), literal(start), literal(length)], strings([part(w) for w in words]))
    starts = np.arange(12, dtype=np.int32)
    emit("substr", [column(s), column(starts), literal(3)], strings([w[k:k + 3] for w, k in zip(words, starts)]))
    emit("substr", [column(s), literal(0), column(2 - starts)], "data-error 3")
    emit("substr", [column(s), literal(0), literal(1.0)], "build-error")
    for name in ("strip", "split", "hash_bucket", "find", "replace", "re_match"):
        emit(name, [column(starts)] + [literal(b"a")] * {"find": 1, "replace": 2, "re_match": 1}.get(name, 0)
             + [literal(3)] * (name == "hash_bucket"), "build-error")
    for d in INTS:
        v = values(d)
        emit("to_string", [column(v)], strings([b"%d" % int(n) for n in v]))
        emit("to_string", [column(v.reshape(3, 4))], strings([b"%d" % int(n) for n in v]).reshape(3, 4))
    emit("to_string", [column(np.float32([1]))], "build-error")
    # XXH3 with seed 0, from the xxHash project's own test vectors.
    emit("hash_bucket", [column(strings([b""])), literal(1000003)], np.array([0x2D06800538D394C2 % 1000003]))
    more_cases(s, words)
    unicode_cases()
    date_cases()
    regex_cases(s, words)
    number_cases()
    json_cases()


def more_cases(s, words):
    """contains, count, zfill, join."""
    back = words[::-1]
    for t in (b"a", b"", b"XX", b"ab", b"aa", b"\xff", b"\x00"):
        emit("contains", [column(s), literal(t)], np.array([t in w for w in words]))
        emit("count", [column(s), literal(t)], np.array([w.count(t) for w in words]))
    emit("contains", [column(s), column(strings(back))], np.array([t in w for w, t in zip(words, back)]))
    emit("count", [column(s.reshape(3, 4)), column(strings(back).reshape(3, 4))],
         np.array([w.count(t) for w, t in zip(words, back)]).reshape(3, 4))
    signed = words + [b"-", b"+1", b"-12", b"--1", b"12345"]
    for width in (-1, 0, 1, 3, 5, 9):
        emit("zfill", [column(strings(signed)), literal(width)], strings([w.zfill(width) for w in signed]))
    rows = [strings(words[:3]), strings([]), strings(words[3:4]), strings(words)]
    for t in (b"", b", ", b"\x00"):
        emit("join", [ragged(rows), literal(t)], strings([t.join(r) for r in rows]))
        emit("join", [column(s.reshape(2, 2, 3)), literal(t)],
             strings([t.join(r) for r in s.reshape(4, 3)]).reshape(2, 2))
    emit("join", [ragged(rows), column(strings(words[3:7]))], strings([t.join(r) for r, t in zip(rows, words[3:7])]))
    emit("join", [column(s[:0].reshape(0, 3)), literal(b"a")], strings([]))
    for bad in ([column(s), literal(b"a")], [ragged(rows), literal(1)], [column(np.arange(3)), literal(b"a")],
                [ragged(rows), ragged(rows)], [ragged(rows)]):
        emit("join", bad, "build-error")
    for bad in ([literal(b"a")], [literal(2.0)], [column(np.arange(12))], [literal(2**40)]):
        emit("zfill", [column(s), *bad], "build-error")
    for name in ("contains", "count"):
        emit(name, [column(s), literal(1)], "build-error")
        emit(name, [column(np.arange(3)), literal(b"a")], "build-error")


def unicode_cases():
    """Python's str; the final sigma is the only case that differs."""
    texts = ["", "a", "Stra\u00dfe", "\u00c9t\u00e9 \u0416\u0436", "\u0130\u0131\u01c5\ufb03", "\U00010400\U00010428\U0001f600",
             "\u1e9e\u0149\u1f52", "ABC xyz" * 20, "\x00\x7f\x80\u07ff\u0800\uffff\U0010ffff", "\u03a3\u03c2\u03c3"]
    x = strings([t.encode() for t in texts])
    for name, f in (("utf8_lower", str.lower), ("utf8_upper", str.upper)):
        emit(name, [column(x)], strings([f(t).encode() for t in texts]))
        emit(name, [column(x.reshape(5, 2))], strings([f(t).encode() for t in texts]).reshape(5, 2))
        emit(name, [ragged([x[:3], x[:0], x[3:]])],
             ragged([strings([f(t).encode() for t in r]) for r in (texts[:3], [], texts[3:])]))
    emit("utf8_length", [column(x)], np.array([len(t) for t in texts]))
    for name in ("utf8_lower", "utf8_upper", "utf8_length"):
        for bad in (b"\xff", b"a\x80", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"):
            emit(name, [column(strings([b"ok", bad]))], "data-error 1")
        emit(name, [column(np.arange(3))], "build-error")
        emit(name, [column(x), literal(1)], "build-error")


EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
UNITS = {"d": 86400 * 10**6, "s": 10**6, "ms": 1000, "us": 1}


def moment(text, form=None):
    """The microseconds of a time, UTC if it has no zone."""
    time = datetime.datetime.strptime(text, form) if form else datetime.datetime.fromisoformat(text)
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.timezone.utc)
    return (time - EPOCH) // datetime.timedelta(microseconds=1)


def date_cases():
    """Python's datetime; it has no nanoseconds, and reads more forms of ISO 8601."""
    iso = ["1970-01-01", "2024-02-29", "1969-12-31 23:59", "2024-02-29T12:30:45", "2024-02-29T12:30:45.5",
           "1900-03-01 00:00:00,25", "2000-01-01T00:00:00.123456Z", "2000-01-01T00:00+05:30", "2000-01-01 00:00:59.9-01:00",
           "0001-01-01", "9999-12-31T23:59:59.999999"]
    forms = {
        "%Y-%m-%d": ["2024-02-29", "1-1-01", "2024-2-9", "0001-01-01"],
        "%d/%m/%y %H:%M": ["29/02/24 23:59", "1/1/69 0:0", "31/12/68 7:05"],
        "%b %d, %Y": ["Mar 01, 1999", "dec 31, 2000", "MAY 5, 0999"],
        "%A %d %B %Y": ["Monday 5 February 1990", "sunday 05 may 2024"],
        "%I:%M %p %j %Y": ["12:00 AM 366 2024", "12:30 pm 001 1999", "1:05 PM 60 2023"],
        "%I %Y": ["12 2000", "11 2000"],
        "%Y%m%dT%H%M%S%z": ["20240229T010203+0530", "20240229T010203-01:00", "20240229T010203Z"],
        "%H:%M:%S.%f": ["01:02:03.5", "23:59:59.000001"],
        "%%%Y%%": ["%1999%"],
        "%Y  %m": ["2000 \t 3"],
    }
    for unit, size in UNITS.items():
        x = [t.replace(",", ".") for t in iso]
        emit("parse_date", [column(strings([t.encode() for t in iso])), literal(b"iso"), literal(unit.encode())],
             np.array([moment(t) // size for t in x]))
        for form, texts in forms.items():
            texts = [t for t in texts if t[0] != "1" or form != "%Y-%m-%d"]
            emit("parse_date", [column(strings([t.encode() for t in texts])), literal(form.encode()), literal(unit.encode())],
                 np.array([moment(t, form) // size for t in texts]))
    x = column(strings([t.encode() for t in iso[:4]]).reshape(2, 2))
    emit("parse_date", [x], np.array([moment(t) // 10**6 for t in iso[:4]]).reshape(2, 2))
    emit("parse_date", [column(strings([b"2024-02-29T00:00:00.123456789Z"])), literal(b"iso"), literal(b"ns")],
         np.array([moment("2024-02-29T00:00:00") * 1000 + 123456789]))
    for bad in ("", "2024", "2024-2-29", "2023-02-29", "2024-13-01", "2024-01-32", "2024-01-01T", "2024-01-01T24:00", "0000-01-01",
                "2024-01-01T1:00", "2024-01-01T01:00:60", "2024-01-01T01:00:00.", "2024-01-01 01:00+", " 2024-01-01",
                "2024-01-01 ", "2024-01-01Z", "2024-01-01T01:00Zx", "\xff"):
        emit("parse_date", [column(strings([b"2024-01-01", bad.encode("latin-1")]))], "data-error 1")
    for form, bad in (("%Y", "24"), ("%Y", "20245"), ("%b", "Foo"), ("%p", "xm"), ("%j %Y", "366 2023"), ("%d %m %Y", "31 4 2024"),
                      ("%Y %m", "20241"), ("%I", "13"), ("%M", "60"), ("%z", "0530"), ("%a", "Mo"), ("x", "y"), ("%f", "")):
        emit("parse_date", [column(strings([bad.encode()])), literal(form.encode())], "data-error 0")
    emit("parse_date", [column(strings([b"1677-09-21T00:12:44Z", b"1677-09-21T00:12:43Z"])), literal(b"iso"), literal(b"ns")], "data-error 1")
    for bad in ([literal(b"%Q")], [literal(b"%")], [literal(b"")], [literal(1)], [literal(b"iso"), literal(b"min")],
                [literal(b"iso"), literal(1)], [literal(b"iso"), literal(b"s"), literal(b"s")]):
        emit("parse_date", [x, *bad], "build-error")
    emit("parse_date", [column(np.arange(3))], "build-error")
    part_cases()


def part_cases():
    rng = np.random.default_rng(12)
    parts = {"year": lambda t: t.year, "month": lambda t: t.month, "day": lambda t: t.day, "hour": lambda t: t.hour,
             "minute": lambda t: t.minute, "second": lambda t: t.second, "weekday": lambda t: t.weekday(),
             "yearday": lambda t: t.timetuple().tm_yday}
    low, high = moment("0001-01-01"), moment("9999-12-31T23:59:59.999999")
    for unit, size in UNITS.items():
        times = [low // size, high // size, 0, -1, 1] + [int(v) for v in rng.integers(low // size, high // size, 20)]
        days = [EPOCH + datetime.timedelta(microseconds=t * size) for t in times]
        for part, f in parts.items():
            emit("date_part", [column(np.array(times)), literal(part.encode()), literal(unit.encode())],
                 np.array([f(t) for t in days]))
    small = np.array([[0, 100], [127, -128]], np.int8)
    emit("date_part", [column(small), literal(b"day"), literal(b"d")],
         np.array([[(EPOCH + datetime.timedelta(days=int(v))).day for v in r] for r in small]))
    emit("date_part", [column(np.array([0, 2**62])), literal(b"year")], "data-error 1")
    emit("date_part", [column(np.array([0, -719163])), literal(b"month"), literal(b"d")], "data-error 1")
    for bad in ([literal(b"age")], [literal(1)], [literal(b"day"), literal(b"h")], []):
        emit("date_part", [column(np.array([0])), *bad], "build-error")
    emit("date_part", [column(np.array([0.5])), literal(b"day")], "build-error")


def regex_cases(s, words):
    for pattern in (b"X+", b"^a", b"(a|b)(X|$)", b"[ \t]", b"[a-c]{2}", b"", b"world\\b"):
        known = [w for w in words if b"\xff" not in w and w]
        k = strings(known)
        emit("re_match", [column(k), literal(pattern)], np.array([re.search(pattern, w) is not None for w in known]))
        for group in range(re.compile(pattern).groups + 1):
            found = [re.search(pattern, w) for w in known]
            emit("re_extract", [column(k), literal(pattern), literal(group)],
                 strings([m.group(group) if m else b"" for m in found]))
        emit("re_extract", [column(k), literal(pattern), literal(3)], "build-error")
        if pattern:
            emit("re_replace", [column(k), literal(pattern), literal(rb"<\0>")],
                 strings([re.sub(pattern, rb"<\g<0>>", w) for w in known]))
    emit("re_match", [column(s), literal(b"(")], "build-error")
    emit("re_match", [column(s), literal(b"(?=a)")], "build-error")
    emit("re_replace", [column(s), literal(b"a"), literal(rb"\1")], "build-error")


def number_cases():
    for d in INTS:
        v = values(d)
        emit("to_number", [column(strings([b"%d" % int(n) for n in v])), f"dtype {d}"], v)
        i = np.iinfo(d)
        for bad in (i.max + 1, i.min - 1):
            emit("to_number", [column(strings([b"1", b"%d" % bad])), f"dtype {d}"], "data-error 1")
    for bad in (b"", b" 1", b"1 ", b"1.0", b"0x1", b"+-1", b"+", b"1_0", b"--1"):
        emit("to_number", [column(strings([b"+1", b"-0", bad])), "dtype int32"], "data-error 2")
    texts = [b"0", b"-0.0", b"1.5", b"+2", b"1e10", b".5", b"5.", b"0.1", b"123456789.123456789", b"1e-30", b"inf", b"nan"]
    for d in FLOATS:
        emit("to_number", [column(strings(texts)), f"dtype {d}"], np.array([float(t) for t in texts]).astype(d))
        for bad in (b"", b"1e", b" 1", b"1e400", b"0x1p3", b"1,5"):
            emit("to_number", [column(strings([b"1", bad])), f"dtype {d}"], "data-error 1")
    emit("to_number", [column(strings([b"1"])), "dtype bool"], "build-error")
    for d in ALL:
        v = values(d)
        rows = [v[:3], v[:0], v[3:]]
        emit("decode_raw", [column(strings([r.tobytes() for r in rows])), f"dtype {d}"], ragged(rows))
    emit("decode_raw", [column(strings([b"", b"abc"])), "dtype int16"], "data-error 1")
    emit("decode_raw", [column(strings([b""])), "dtype bytes"], "build-error")


def json_cases():
    texts = [{"a": {"b": 3, "f": 1.5, "t": True, "s": "caf\u00e9"}, "l": [1, [2, -3]]},
             {"a": {"b": -4, "f": 2, "t": False, "s": ""}, "l": [5, [6, 7]]}]
    x = column(strings([json.dumps(t).encode() for t in texts]))

    def field(path, dtype, f):
        emit("json_field", [x, literal(path), f"dtype {dtype}"],
             f if isinstance(f, str) else strings([f(t) for t in texts]) if dtype == "bytes"
             else np.array([f(t) for t in texts]).astype(dtype))

    for d in ("int8", "int64", "float32", "float64"):
        field(b"a.b", d, lambda t: t["a"]["b"])
        field(b"l.1.1", d, lambda t: t["l"][1][1])
    field(b"a.f", "float32", lambda t: t["a"]["f"])
    field(b"a.t", "bool", lambda t: t["a"]["t"])
    field(b"a.s", "bytes", lambda t: t["a"]["s"].encode())
    for path, d in ((b"a.f", "int32"), (b"a.t", "int32"), (b"a.b", "bytes"), (b"a.c", "int32"), (b"l.2", "int32"),
                    (b"l.x", "int32"), (b"a.b.c", "int32"), (b"a", "bytes"), (b"a.s", "float64")):
        field(path, d, "data-error 0")
    field(b"a.b", "uint8", "data-error 1")
    for bad in (b"", b"{", b"[1", b"{'a': 1}", b'{"a": 1} x', b'{"a": nan}', b"[" * 1000):
        emit("json_field", [column(strings([b'{"a": 1}', bad])), literal(b"a"), "dtype int32"], "data-error 1")
