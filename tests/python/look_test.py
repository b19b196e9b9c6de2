"""A look at the first elements, and their number."""

import feedmill as fm
import numpy as np
import pytest
from feedmill._look import table_of


def test_head_gives_the_first_elements():
    dataset = fm.Dataset.range(100).filter("x % 7 == 3")
    assert [int(x) for x in dataset.head()] == [3, 10, 17, 24, 31]
    assert len(dataset.head(2)) == 2
    assert dataset.head(0) == []
    assert len(dataset.head(1000)) == 14
    with pytest.raises(fm.InvalidArgumentError, match="count"):
        dataset.head(-1)


def test_show_prints_a_table(capsys):
    rows = fm.Dataset.range(12).map(n="x * 100", name="to_string(x)", row="full([9], x)")
    rows.show(2)
    assert capsys.readouterr().out.splitlines() == [
        "  n  name  row",
        "---  ----  --------",
        "  0  0     int64[9]",
        "100  1     int64[9]",
    ]
    fm.Dataset.range(12).filter("x > 20").show()
    assert capsys.readouterr().out == "no elements\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b"text", "text"),
        (b"a\nb\tc", r"a\nb\tc"),
        ("\x1b[31m", r"'\x1b[31m'"),
        (b"x" * 100, "x" * 39 + "…"),
        (b"\xff\xd8\xff\xe0" + bytes(1000), "JPEG, 1,004 bytes"),
        (b"\x80\x81", "2 bytes"),
        (np.array([1.5, 2]), "[1.5 2.0]"),
        (np.zeros((2, 224, 224), np.uint8), "uint8[2, 224, 224]"),
        (np.array([b"a", b"b"], object), "[a b]"),
        (np.True_, "True"),
    ],
)
def test_a_value_takes_one_line(value, shown):
    assert table_of([value]).splitlines()[2].strip() == shown


def test_count_knows_or_reads():
    assert fm.Dataset.range(100).batch(8).count() == 13
    assert fm.Dataset.range(100).filter("x % 3 == 0").count() == 34
    assert fm.Dataset.range(10).map(a="x", b="x").filter("a > 6").count() == 3
    assert fm.Dataset.range(10).repeat(3).count() == 30
    assert fm.Dataset.range(10).repeat().take(25).count() == 25
    with pytest.raises(fm.InvalidArgumentError, match="repeats without end"):
        fm.Dataset.range(10).repeat().batch(2).count()
