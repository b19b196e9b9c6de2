"""Cases of resizing with antialiasing and by one side. Antialiasing is PyTorch's algorithm in NumPy; for bytes, Pillow's
result differs by at most 1."""


import numpy as np
from PIL import Image

from case_format import column, emit, literal, ragged


def weights(size, to, cubic):
    """The weights of the source pixels (columns) in each target pixel (row)."""
    scale = size / to
    support = (2 if cubic else 1) * max(scale, 1.0)
    table = np.zeros((to, size))
    for k in range(to):
        center = scale * (k + 0.5)
        first = max(int(center - support + 0.5), 0)
        end = min(int(center + support + 0.5), size)
        x = np.abs((np.arange(first, end) - center + 0.5) / max(scale, 1.0))
        if cubic:
            inner, outer = (1.5 * x - 2.5) * x * x + 1, (((x - 5) * x + 8) * x - 4) * -0.5
            values = np.where(x < 1, inner, np.where(x < 2, outer, 0))
        else:
            values = np.where(x < 1, 1 - x, 0)
        table[k, first:end] = values / values.sum()
    return table


def along(a, table, axis):
    """Applies the weights along an axis; bytes with 16-bit weights, as PyTorch."""
    a = np.moveaxis(a, axis, -1)
    if a.dtype == np.uint8:
        bits = 0
        while bits < 22 and int(0.5 + table.max() * 2 ** (bits + 1)) < 1 << 15:
            bits += 1
        whole = np.trunc(table * 2**bits + np.copysign(0.5, table)).astype(np.int64)
        made = np.clip((a.astype(np.int64) @ whole.T + (1 << (bits - 1))) >> bits, 0, 255)
    else:
        made = a.astype(np.float64) @ table.T
    return np.moveaxis(made.astype(a.dtype), -1, axis)


def antialiased(a, height, width, cubic=False):
    a = along(a, weights(a.shape[1], width, cubic), 1)
    return along(a, weights(a.shape[0], height, cubic), 0)


def checked(a, height, width):
    """Bilinear, compared with Pillow."""
    made = antialiased(a, height, width)
    planes = a.reshape(*a.shape[:2], -1)
    wanted = np.stack([np.array(Image.fromarray(planes[..., c].copy()).resize((width, height), Image.Resampling.BILINEAR))
                       for c in range(planes.shape[2])], -1).reshape(made.shape)
    assert np.abs(made.astype(int) - wanted).max() <= 1
    return made


def sides(h, w, n, most=None, longer=False):
    """torchvision's size for Resize(n, max_size=most), or for Resize(None, max_size=n)."""
    short, long = min(h, w), max(h, w)
    low, high = (int(n * short / long), n) if longer else (n, int(n * long / short))
    if most is not None and high > most:
        low, high = int(most * low / high), most
    return (high, low) if w <= h else (low, high)


def resize_cases():
    rng = np.random.default_rng(19)
    word = literal(b"antialias")
    smooth = np.add.outer(np.arange(17) * 11, np.arange(33) * 7)
    for a in (rng.integers(0, 256, (1, 13, 29, 3)), smooth[None, :, :, None] + np.array([0, 40, 90]), smooth[None],
              rng.integers(0, 256, (1, 9, 8, 1)), rng.integers(0, 256, (1, 3, 20, 4)), rng.integers(0, 256, (2, 2, 5, 6, 3))):
        a = (a % 256).astype(np.uint8)
        flat = a.reshape(-1, *a.shape[-3:]) if a.ndim > 3 else a
        for h, w in ((5, 7), (1, 1), (13, 12), (3, 29)):
            shape = (*a.shape[:a.ndim - flat.ndim + 1], h, w, *flat.shape[3:])
            args = [column(a), literal(h), literal(w)]
            emit("image.resize", [*args, literal(b"bilinear"), word],
                 np.stack([checked(r, h, w) for r in flat]).reshape(shape))
            emit("image.resize", [*args, literal(b"cubic"), word],
                 np.stack([antialiased(r, h, w, True) for r in flat]).reshape(shape))
    pixels = rng.integers(0, 256, (1, 4, 6, 3)).astype(np.uint8)
    for more in ([literal(b"nearest"), word], [literal(b"bilinear"), literal(b"no")], [literal(b"bilinear"), literal(1)]):
        emit("image.resize", [column(pixels), literal(2), literal(2), *more], "build-error")
    emit("image.resize", [column(pixels.astype(np.uint16)), literal(2), literal(2), literal(b"bilinear"), word], "build-error")

    images = [rng.integers(0, 256, (h, w, 3)).astype(np.uint8) for h, w in ((6, 9), (9, 6), (8, 8), (2, 27))]
    for n, most, longer in ((5, None, False), (5, 7, False), (7, 30, False), (7, None, True)):
        name = "image.resize_longer" if longer else "image.resize_shorter"
        more = [] if most is None else [literal(most)]
        good = [a for a in images if min(sides(*a.shape[:2], n, most, longer)) > 0]
        emit(name, [ragged(good), literal(n), literal(b"bilinear"), word, *more],
             ragged([checked(a, *sides(*a.shape[:2], n, most, longer)) for a in good]))
        emit(name, [column(images[0][None]), literal(n), literal(b"bilinear"), word, *more],
             checked(images[0], *sides(6, 9, n, most, longer))[None])
        if len(good) < len(images):
            emit(name, [ragged(images), literal(n), literal(b"bilinear"), word, *more], "data-error 3")
    for bad in ([literal(0), literal(b"bilinear")], [literal(5)], [literal(5), literal(b"bilinear"), literal(5)],
                [literal(5), literal(b"bilinear"), word, literal(9), literal(9)]):
        emit("image.resize_shorter", [column(pixels), *bad], "build-error")
    emit("image.resize_longer", [column(pixels), literal(9), literal(b"bilinear"), word, literal(9)], "build-error")
