"""Functions of texts on random bytes, beside Python's bytes and str."""

import datetime
import random
import sys
import unicodedata
import zoneinfo

import feedmill as fm
import numpy as np
import pytest
from array_functions_test import write_rows

F = fm.functions
PIECES = [b"a", b"B", b" ", b"-", b"+", b"\x00", b"aa", b"\xff", "\u00e9\u00df".encode(), b"0"]


@pytest.fixture
def texts(tmp_path):
    """Random texts s and t, as bytes; most are no UTF-8."""
    rng = np.random.default_rng(9)
    made = [
        (b"".join(rng.choice(PIECES, rng.integers(0, 12))), b"".join(rng.choice(PIECES, count % 3)))
        for count in range(60)
    ]
    rows = [
        {name: np.frombuffer(v, np.uint8) for name, v in zip("st", r, strict=True)} for r in made
    ]
    return made, write_rows(tmp_path / "texts.tar", rows, raw=True)


@pytest.mark.parametrize(
    ("function", "python"),
    [
        (lambda e: F.contains(e.s, e.t), lambda s, t: t in s),
        (lambda e: F.contains(e.s, b"aa"), lambda s, t: b"aa" in s),
        (lambda e: F.count(e.s, e.t), lambda s, t: s.count(t)),
        (lambda e: F.count(e.s, "a"), lambda s, t: s.count(b"a")),
        (lambda e: F.zfill(e.s, 9), lambda s, t: s.zfill(9)),
        (lambda e: F.join([e.s, e.t, "x"], e.t), lambda s, t: t.join([s, t, b"x"])),
        (lambda e: F.join(F.split(e.s), "\xe9"), lambda s, t: "\xe9".encode().join(s.split())),
        (lambda e: e.s[F.len(e.t) :], lambda s, t: s[len(t) :]),
        (lambda e: e.s[::-2], lambda s, t: s[::-2]),
        (lambda e: F.where(F.len(e.s) > 9, e.s, e.t), lambda s, t: s if len(s) > 9 else t),
        (lambda e: F.sort([e.s, e.t])[0], lambda s, t: min(s, t)),
    ],
)
def test_texts_as_python(texts, function, python):
    made, dataset = texts
    got = list(dataset.map(function).read())
    assert got == [python(*row) for row in made]


def test_only_utf8_has_characters(texts):
    made, dataset = texts
    for function, python in (
        (F.utf8_length, len),
        (F.utf8_lower, str.lower),
        (F.utf8_upper, str.upper),
    ):
        skipping = dataset.map(lambda e, f=function: f(e.s)).on_error(policy="skip", cap=60)
        expected = []
        for s, _ in made:
            try:
                value = python(s.decode())
            except UnicodeDecodeError:
                continue
            expected.append(value.encode() if isinstance(value, str) else value)
        assert list(skipping.read()) == expected
        with pytest.raises(fm.DataLossError, match=r"byte \d+ is not UTF-8 \(0xff\)"):
            list(dataset.map(lambda e, f=function: f(e.s)).read())


def test_every_character_has_pythons_case(tmp_path):
    """Characters that this Python's version of Unicode lacks may have a case."""
    codes = [c for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000]
    known = [c for c in codes if unicodedata.category(chr(c)) != "Cn"]
    lines = ["\u2028".join(map(chr, known[k : k + 1000])) for k in range(0, len(known), 1000)]
    rows = [{"s": np.frombuffer(line.encode(), np.uint8)} for line in lines]
    dataset = write_rows(tmp_path / "lines.tar", rows, raw=True)
    got = dataset.map(
        lambda e: {"n": F.utf8_length(e.s), "l": F.utf8_lower(e.s), "u": F.utf8_upper(e.s)}
    ).read()
    for line, value in zip(lines, got, strict=True):
        assert value["n"] == len(line)
        assert value["u"].decode() == line.upper()
        lower = "\u2028".join(map(str.lower, line.split("\u2028")))
        assert value["l"].decode() == lower


def test_dates_as_python(tmp_path):
    rng = np.random.default_rng(10)
    epoch = datetime.datetime(1970, 1, 1)
    seconds = [int(s) for s in rng.integers(-(2**35), 2**35, 50)]
    times = [epoch + datetime.timedelta(seconds=s) for s in seconds]
    forms = ["%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M:%S", "%I:%M:%S %p, %b %d %Y", "%j/%Y %H %M %S"]
    rows = [
        {
            f"f{k}": np.frombuffer(time.strftime(form).encode(), np.uint8)
            for k, form in enumerate(forms)
        }
        for time in times
    ]
    dataset = write_rows(tmp_path / "times.tar", rows, raw=True)
    for k, form in enumerate(forms):
        parsed = dataset.map(lambda e, k=k, form=form: F.parse_date(e[f"f{k}"], form, "ms"))
        assert list(parsed.read()) == [1000 * s for s in seconds]
    parts = dataset.map(lambda e: {"t": F.parse_date(e.f0)}).map(
        lambda e: {
            "hour": F.date_part(e.t, "hour"),
            "weekday": F.date_part(e.t, "weekday"),
            "tomorrow": F.date_part(e.t + 86400, "yearday"),
        }
    )
    for time, value in zip(times, parts.read(), strict=True):
        later = time + datetime.timedelta(days=1)
        assert value == {
            "hour": time.hour,
            "weekday": time.weekday(),
            "tomorrow": later.timetuple().tm_yday,
        }
    with pytest.raises(fm.DataLossError, match=r'parse_date: ".*" is no time as \'%Y\''):
        next(dataset.map(lambda e: F.parse_date(e.f0, "%Y")).read())
    with pytest.raises(fm.InvalidArgumentError, match=r"has %q; there are %Y"):
        dataset.map(lambda e: F.parse_date(e.f0, "%q")).read()


def test_dates_of_zones_equal_zoneinfo(tmp_path):
    draw = random.Random(5)
    names = ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]
    first = datetime.datetime(1975, 1, 1)
    for name in names:
        zone = zoneinfo.ZoneInfo(name)
        # Hours before and after changes of the clock, too: 31 March and 27 October 2024.
        times = [first + datetime.timedelta(minutes=draw.randrange(30_000_000)) for _ in range(300)]
        times += [datetime.datetime(2024, m, d) + datetime.timedelta(minutes=30 * k)
                  for m, d in ((3, 31), (10, 27), (4, 7), (10, 6)) for k in range(10)]  # fmt: skip
        dataset = write_rows(
            tmp_path / "zones.tar",
            [{"f0": np.array(f"{t:%Y-%m-%d %H:%M}".encode())} for t in times],
            raw=True,
        )
        dataset = dataset.map(lambda e, name=name: {"t": F.parse_date(e.f0, "iso", "s", name)})
        dataset = dataset.with_columns(
            hour=lambda e, name=name: F.date_part(e.t, "hour", "s", name),
            day=lambda e, name=name: F.date_part(e.t, "day", "s", name),
        )
        for time, e in zip(times, dataset.read(), strict=True):
            stamp = time.replace(tzinfo=zone).timestamp()
            back = datetime.datetime.fromtimestamp(stamp, zone)
            assert (e["t"], e["hour"], e["day"]) == (stamp, back.hour, back.day), (name, time)
    own = fm.Dataset.range(1).map("parse_date('2024-07-01T12:00+00:00', 'iso', 's', 'Asia/Tokyo')")
    assert next(own.read()) == datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC).timestamp()
    with pytest.raises(fm.InvalidArgumentError, match="no zone 'Berlin'; zones are like"):
        fm.Dataset.range(1).map("date_part(x, 'hour', 's', 'Berlin')").schema  # noqa: B018
    with pytest.raises(fm.InvalidArgumentError, match="days have no zone"):
        fm.Dataset.range(1).map("date_part(x, 'day', 'd', 'UTC')").schema  # noqa: B018
