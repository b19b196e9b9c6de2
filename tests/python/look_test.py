"""A look at the first elements, their number and their types."""

import base64
import re
from xml.etree import ElementTree

import feedmill as fm
import numpy as np
import pytest
from feedmill import _feedmill
from feedmill._look import html_of, png_of, table_of


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
        ("\x1b[31m", r"\x1b[31m"),
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


def test_schema_names_dtypes_and_shapes(tmp_path):
    (tmp_path / "houses.csv").write_text("rooms,area\n2,70.5\n")
    houses = fm.Dataset.csv(str(tmp_path / "houses.csv"))
    assert houses.schema == {
        "rooms": fm.ComponentSpec("int64", ()),
        "area": fm.ComponentSpec("float64", ()),
    }
    assert repr(houses.batch(2).schema) == "rooms: int64[?]\narea: float64[?]"
    assert repr(fm.Dataset.range(3).schema) == "int64"
    assert fm.Dataset.range(3).schema == {"": fm.ComponentSpec("int64", ())}


def test_repr_has_source_steps_and_schema_and_reads_no_files():
    photos = fm.Dataset.images("/nowhere/*.jpg").decode_image().resize(height=24, width=24)
    assert repr(photos.shuffle().batch(4)) == (
        '<feedmill.Dataset images("/nowhere/*.jpg") → decode_image → '
        "resize(height: 24, width: 24) → shuffle → batch(4): "
        "{image: uint8[?, 24, 24, 3], label: int64[?], path: bytes[?]}>"
    )
    rows = fm.Dataset.csv("/nowhere.csv", delimiter=";").filter("a < 3")
    assert repr(rows) == (
        '<feedmill.Dataset csv("/nowhere.csv", delimiter: ";") → filter(a < 3): '
        "schema not known yet>"
    )
    assert len(repr(fm.Dataset.text([f"{k}.txt" for k in range(1000)]))) < 200


def pictures(text):
    """The PNG files of an HTML text, which must be well-formed."""
    ElementTree.fromstring(f"<div>{text}</div>")
    found = re.findall(r'src="data:image/png;base64,([^"]*)"', text)
    return [base64.b64decode(data) for data in found]


def test_html_shows_images_as_small_pictures():
    pixels = np.arange(200 * 100 * 3, dtype=np.uint8).reshape(200, 100, 3)
    encoded = png_of(pixels)
    assert table_of([encoded]).splitlines()[2] == f"PNG 100x200, {len(encoded):,} bytes"
    (small,) = pictures(html_of([{"image": encoded, "label": np.int64(3)}]))
    assert _feedmill.thumbnail(small, 96)[:2] == (48, 96)
    (small,) = pictures(html_of([pixels]))
    width, height, rgb = _feedmill.thumbnail(small, 96)
    assert (width, height) == (34, 67)
    got = np.frombuffer(rgb, np.uint8).reshape(height, width, 3)
    np.testing.assert_array_equal(got, pixels[::3, ::3])
    (small,) = pictures(html_of([np.zeros((5, 6, 1), np.uint8)]))
    assert _feedmill.thumbnail(small, 96) == (6, 5, bytes(90))
    assert len(pictures(html_of([np.zeros((9, 5, 5, 3), np.uint8)]))) == 4
    none = {"a": b"text", "b": np.zeros((5, 5)), "c": np.zeros((0, 2, 3), np.uint8)}
    assert pictures(html_of([none])) == []
    assert _feedmill.thumbnail(encoded[:50], 96) is None


def test_html_escapes_texts():
    text = html_of([{"<b>": b"<script>", "n": np.int64(1)}])
    assert "&lt;b&gt;" in text and "&lt;script&gt;" in text and "<script>" not in text
    assert pictures(text) == []
    assert html_of([]) == "<p>no elements</p>"


def test_html_of_a_dataset_has_its_first_rows(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"line {k}\n" for k in range(9)))
    lines = fm.Dataset.text(str(tmp_path / "lines.txt"))
    text = lines._repr_html_()
    assert "<td>line 0</td>" in text and "<td>line 2</td>" in text and "line 3" not in text
    assert "<td>line 0</td>" in fm.Dataset.text(str(tmp_path / "*.txt")).head(1)._repr_html_()
    # Steps that write files do not run, nor does a row that takes long.
    assert "line 0" not in lines.cache(str(tmp_path / "cache"))._repr_html_()
    assert not (tmp_path / "cache").exists()
    assert "<td>0</td>" not in fm.Dataset.range(10**15).filter("x < 0")._repr_html_()
    assert "line 0" not in lines.map(lambda x: x + b"!", python=True)._repr_html_()
