"""Elements as a table, for people."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from feedmill import _feedmill

# Most characters of a value.
VALUE_WIDTH = 40
# Arrays of more items are shown by their type.
ITEMS_MOST = 6
# Most pixels of a side of a picture in HTML, and most pictures of a value.
PICTURE_SIDE = 96
PICTURES_MOST = 4


class Elements(list[Any]):
    """A list of elements, which notebooks show as a table with pictures."""

    def _repr_html_(self) -> str:
        return html_of(self)


def table_of(elements: Sequence[Any]) -> str:
    """Returns the elements as an aligned table, a row each."""
    if not elements:
        return "no elements"
    heads, values = columns_of(elements)
    rows = [[shown(value) for value in row] for row in values]
    numbers = [all(map(is_number, column)) for column in zip(*values, strict=True)]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(cells, widths, numbers, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(heads), line(["-" * width for width in widths]), *map(line, rows)])


def columns_of(elements: Sequence[Any]) -> tuple[list[str], list[list[Any]]]:
    """Returns the names of the components, and their values of each element."""
    if not isinstance(elements[0], Mapping):
        return ["value"], [[element] for element in elements]
    return list(elements[0]), [list(element.values()) for element in elements]


def is_number(value: Any) -> bool:
    return value is None or (np.ndim(value) == 0 and not isinstance(value, (bytes, str)))


def shown(value: Any) -> str:
    """Returns a value on one line; a large one by its type and size."""
    if value is None:
        return "null"
    if isinstance(value, (bytes, str)):
        return text_of(value)
    array = np.asanyarray(value)
    if array.ndim == 0:
        return str(array)
    if array.size > ITEMS_MOST:
        dtype: Any = array.dtype
        if array.dtype == object:
            dtype = "str" if all(isinstance(item, str) for item in array.flat) else "bytes"
        return f"{dtype}[{', '.join(map(str, array.shape))}]"
    hidden = np.ma.getmaskarray(array).flat
    items = [shown(None if h else item) for item, h in zip(array.flat, hidden, strict=True)]
    return cut(f"[{' '.join(items)}]" if array.ndim == 1 else " ".join(str(array).split()))


def text_of(value: bytes | str) -> str:
    """Returns a text, or the kind and size of other bytes."""
    return _feedmill.shown_bytes(
        value.encode(errors="replace") if isinstance(value, str) else value
    )


def cut(line: str) -> str:
    return line if len(line) <= VALUE_WIDTH else line[: VALUE_WIDTH - 1] + "…"


# ---- for notebooks


def html_of(elements: Sequence[Any]) -> str:
    """Returns the elements as an HTML table, images as small pictures."""
    if not elements:
        return "<p>no elements</p>"
    heads, values = columns_of(elements)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    rows = ("".join(f"<td>{cell_of(value)}</td>" for value in row) for row in values)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell_of(value: Any) -> str:
    """Returns a value in HTML, with a picture if it is an image, or a batch of them."""
    text = html.escape(shown(value))
    pictures = [
        f'<img src="data:image/png;base64,{base64.b64encode(png_of(picture)).decode()}"/>'
        for picture in pictures_of(value)
    ]
    return f"{' '.join(pictures)}<br/>{text}" if pictures else text


def pictures_of(value: Any) -> list[np.ndarray[Any, Any]]:
    """Returns the first images of a value as small arrays [height, width, channels]."""
    if isinstance(value, bytes):
        small = _feedmill.thumbnail(value, PICTURE_SIDE)
        if small is None:
            return []
        width, height, pixels = small
        return [np.frombuffer(pixels, np.uint8).reshape(height, width, 3)]
    array = np.asarray(value)
    if array.dtype == object and array.ndim == 1:
        return [small for item in array[:PICTURES_MOST] for small in pictures_of(item)]
    if array.dtype != np.uint8 or array.ndim not in (3, 4) or array.shape[-1] not in (1, 3):
        return []
    step = max(1, -(-max(array.shape[-3:-1]) // PICTURE_SIDE))
    images = array[None] if array.ndim == 3 else array[:PICTURES_MOST]
    return [image[::step, ::step] for image in images if image.size > 0]


def png_of(pixels: np.ndarray[Any, Any]) -> bytes:
    """Returns a PNG file of an array uint8[height, width, 1 or 3]."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), np.uint8)  # 0: rows without a filter
    rows[:, 1:] = pixels.reshape(height, -1)
    colours = 0 if channels == 1 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, colours, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
