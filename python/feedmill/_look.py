"""Elements as a table, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# Most characters of a value.
VALUE_WIDTH = 40
# Arrays of more items are shown by their type.
ITEMS_MOST = 6
# First bytes of files whose bytes say little.
KINDS = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG\r\n", "PNG"),
    (b"GIF8", "GIF"),
    (b"RIFF", "RIFF"),
    (b"BM", "BMP"),
)


def table_of(elements: Sequence[Any]) -> str:
    """Returns the elements as an aligned table, a row each."""
    if not elements:
        return "no elements"
    named = isinstance(elements[0], Mapping)
    heads = list(elements[0]) if named else ["value"]
    rows = [[shown(e[name]) for name in heads] if named else [shown(e)] for e in elements]
    numbers = [all(is_number(e[name] if named else e) for e in elements) for name in heads]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(cells, widths, numbers, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(heads), line(["-" * width for width in widths]), *map(line, rows)])


def is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and not isinstance(value, (bytes, str))


def shown(value: Any) -> str:
    """Returns a value on one line; a large one by its type and size."""
    if isinstance(value, (bytes, str)):
        return text_of(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return str(array)
    if array.size > ITEMS_MOST:
        dtype = "bytes" if array.dtype == object else array.dtype
        return f"{dtype}[{', '.join(map(str, array.shape))}]"
    items = [text_of(item) if isinstance(item, bytes) else str(item) for item in array.flat]
    return cut(f"[{' '.join(items)}]" if array.ndim == 1 else " ".join(str(array).split()))


def text_of(value: bytes | str) -> str:
    """Returns a text, or the kind and size of other bytes."""
    if isinstance(value, bytes):
        kind = next((name for start, name in KINDS if value.startswith(start)), None)
        if kind is not None:
            return f"{kind}, {len(value):,} bytes"
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return f"{len(value):,} bytes"
    line = value.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if not line.isprintable():
        line = ascii(line)
    return cut(line)


def cut(line: str) -> str:
    return line if len(line) <= VALUE_WIDTH else line[: VALUE_WIDTH - 1] + "…"
