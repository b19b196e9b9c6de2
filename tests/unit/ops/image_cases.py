"""Cases of images, with Pillow as oracle for decoding and rotating. image_functions_test.cc uses OpenCV as oracle for
resizing."""
import io

import numpy as np
from PIL import Image

from case_format import ALL, column, emit, literal, ragged, strings


def each(f, a):
    return np.stack([f(row) for row in a])


def image_cases():
    rng = np.random.default_rng(7)
    shapes = [(2, 4, 5, 3), (1, 3, 3, 1), (2, 4, 6), (1, 2, 4, 5, 2), (1, 5, 4, 4)]
    for shape, d in [(s, "uint8") for s in shapes] + [(shapes[0], d) for d in ALL]:
        a = rng.integers(0, 2 if d == "bool" else 100, shape).astype(d)
        h = 0 if len(shape) == 3 else len(shape) - 4  # of a row
        axes = (h, h + 1)
        front = (slice(None),) * h
        for name, axis in (("image.flip_up_down", h), ("image.flip_left_right", h + 1)):
            emit(name, [column(a)], each(lambda r: np.flip(r, axis), a))
        for k in (0, 1, 2, 3, 4, -1):
            emit("image.rot90", [column(a), literal(k)], each(lambda r: np.rot90(r, k, axes), a))
        for top, left, height, width in ((0, 0, 1, 1), (1, 1, 2, 2), (0, 1, 3, 2), (0, 0, *shape[h + 1:h + 3])):
            emit("image.crop", [column(a), *map(literal, (top, left, height, width))],
                 each(lambda r: r[front + (slice(top, top + height), slice(left, left + width))], a))
        for height, width in ((1, 1), (2, 3), (3, 2), shape[h + 1:h + 3]):
            top, left = (shape[h + 1] - height) // 2, (shape[h + 2] - width) // 2
            emit("image.central_crop", [column(a), literal(height), literal(width)],
                 each(lambda r: r[front + (slice(top, top + height), slice(left, left + width))], a))
        if len(shape) > 3:
            emit("image.to_chw", [column(a)], each(lambda r: np.moveaxis(r, -1, -3), a))
            emit("image.to_hwc", [column(a)], each(lambda r: np.moveaxis(r, -3, -1), a))
        else:
            emit("image.to_chw", [column(a)], "build-error")
        mean, deviation = rng.random((2, shape[-1])) * 50 + 1
        args = ["const " + column(v[None]) for v in (mean, deviation)]
        wanted = (a.astype(np.float32) - mean.astype(np.float32)) / deviation.astype(np.float32)
        emit("image.normalize", [column(a), *args], wanted)
        emit("image.normalize", [column(a), literal(127.5), literal(2)],
             (a.astype(np.float32) - np.float32(127.5)) / np.float32(2))
        per_row = np.arange(shape[0] * shape[-1]).reshape(shape[0], -1).astype(np.float32)
        emit("image.normalize", [column(a), column(per_row), literal(3)],
             np.stack([(r.astype(np.float32) - m) / np.float32(3) for r, m in zip(a, per_row)]))
    rows = [rng.integers(0, 256, (n, 3, 2)).astype(np.uint8) for n in (2, 4, 3)]
    emit("image.flip_up_down", [ragged(rows)], ragged([r[::-1] for r in rows]))
    emit("image.rot90", [ragged(rows), literal(1)], ragged([np.rot90(r) for r in rows]))
    emit("image.normalize", [ragged(rows), literal(1), literal(2)],
         ragged([(r.astype(np.float32) - 1) / 2 for r in rows]))
    emit("image.central_crop", [ragged(rows), literal(2), literal(2)],
         ragged([r[(len(r) - 2) // 2:][:2, :2] for r in rows]))
    emit("image.crop", [ragged(rows), *map(literal, (1, 0, 2, 2))], "data-error 0")
    for box in ((0, 0, 5, 1), (0, 0, 0, 1), (-1, 0, 1, 1), (0, 5, 1, 1)):
        emit("image.crop", [column(rng.random((1, 4, 5, 3))), *map(literal, box)], "build-error")
    emit("image.central_crop", [column(rng.random((1, 4, 5, 3))), literal(5), literal(5)], "build-error")
    emit("image.flip_up_down", [column(rng.random((2, 4)))], "build-error")
    emit("image.normalize", [column(rng.random((1, 4, 5, 3))), "const float64[2]1:0x1p0,0x1p0", literal(1)],
         "build-error")


def encoded(pixels, **how):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, **how)
    return file.getvalue()


def decoded(file, channels=3, at_least=None):
    """Decodes like Pillow; a grey or reduced JPEG like Pillow's draft mode."""
    image = Image.open(io.BytesIO(file))
    mode = "RGB" if channels == 3 else "L"
    if image.format == "JPEG" and (at_least or channels == 1):
        image.draft(mode, at_least and at_least[::-1])
    return np.array(image.convert(mode)).reshape(*image.size[::-1], channels)


def decode_cases():
    y, x, c = np.ogrid[:21, :30, :4]
    picture = ((2 * x + 3 * y + 40 * c + x * y // 16) % 256).astype(np.uint8)
    picture[..., 3] = 255
    picture[5:9, 5:9, 3] = 100
    rgb = picture[..., :3].copy()
    jpegs = [encoded(rgb, format="JPEG", quality=90), encoded(rgb[:19, :16], format="JPEG", progressive=True),
             encoded(rgb[:16, :23, 0].copy(), format="JPEG"), encoded(rgb[:, :9], format="JPEG", subsampling=0)]
    pngs = [encoded(rgb[:7, :9], format="PNG"), encoded(picture[:9, :9].copy(), format="PNG")]
    webps = [encoded(rgb, format="WEBP", quality=80), encoded(rgb[:5], format="WEBP", lossless=True),
             encoded(picture[:9, :8].copy(), format="WEBP", lossless=True, exact=True), encoded(picture, format="WEBP")]
    for files in (jpegs, pngs, webps, jpegs + pngs + webps, webps[:1], webps[:1] * 3):
        emit("image.decode", [column(strings(files))], ragged([decoded(f) for f in files]))
        emit("image.decode", [column(strings(files)), literal(3), literal(b"accurate")],
             ragged([decoded(f) for f in files]))
    for files in (jpegs, webps):
        emit("image.decode", [column(strings(files)), literal(1)], ragged([decoded(f, 1) for f in files]))
    for at_least in ([2, 2], [2, 3], [5, 7], [5, 8], [10, 15], [11, 15], [21, 30], [400, 3], [2, 7]):
        for files in (jpegs, jpegs[1:] + webps + pngs):
            emit("image.decode", [column(strings(files)), literal(3), literal(b"accurate"), literal(at_least)],
                 ragged([decoded(f, 3, at_least) for f in files]))
    for bad in (webps[0][:-20], webps[0][:20], webps[0][:11], b"", b"RIFF", b"GIF89a", jpegs[0][:-20]):
        emit("image.decode", [column(strings([jpegs[0], bad, jpegs[0]]))], "data-error 1")
    file = column(strings(pngs[:1]))
    for arguments in ([literal(2)], [literal(3), literal(b"slow")], [literal(3), literal(b"fast"), literal([2])],
                      [literal(3), literal(b"fast"), literal([1, 2])], [literal(3)] * 4, [literal(2.0)]):
        emit("image.decode", [file, *arguments], "build-error")
    emit("image.decode", [column(np.zeros((1, 3), np.uint8))], "build-error")
    emit("image.decode", [column(strings(pngs).reshape(1, 2))], "build-error")


def rotated(a, degrees, method):
    resample = Image.Resampling.BILINEAR if method == b"bilinear" else Image.Resampling.NEAREST
    if a.ndim == 2 or (a.dtype == np.uint8 and a.shape[2] == 3):
        return np.array(Image.fromarray(a).rotate(degrees, resample))
    return np.stack([rotated(a[..., c].copy(), degrees, method) for c in range(a.shape[2])], -1)


def rotate_cases():
    rng = np.random.default_rng(13)
    turns = (0, 30, 45.5, 90, -17.25, 180, 270, 359.9, 721)
    for method in (b"bilinear", b"nearest"):
        for shape, dtype in (((2, 9, 12, 3), "uint8"), ((1, 8, 8, 3), "uint8"), ((2, 7, 4), "uint8"),
                             ((2, 7, 4, 1), "uint8"), ((1, 1, 1, 3), "uint8"), ((2, 6, 9), "float32"),
                             ((1, 6, 5, 2), "float32")):
            a = rng.integers(0, 256, shape).astype(dtype) / np.dtype(dtype).type(1)
            a = (a * np.float32(0.37)).astype(dtype) if dtype == "float32" else a.astype(dtype)
            for degrees in turns:
                emit("image.rotate", [column(a), literal(degrees), literal(method)],
                     np.stack([rotated(r, degrees, method) for r in a]))
        rows = [rng.integers(0, 256, (n, 5, 3)).astype(np.uint8) for n in (2, 9, 4)]
        per_row = np.array([10, -250, 1e6])
        emit("image.rotate", [ragged(rows), column(per_row), literal(method)],
             ragged([rotated(r, d, method) for r, d in zip(rows, per_row)]))
        emit("image.rotate", [column(np.zeros((0, 5, 5, 3), np.uint8)), literal(10), literal(method)],
             np.zeros((0, 5, 5, 3), np.uint8))
        emit("image.rotate", [column(np.zeros((3, 2, 2))), column(np.array([1, np.nan, 1])), literal(method)],
             "data-error 1")
    image = column(np.zeros((1, 4, 4, 3), np.uint8))
    for bad in ([image, literal(1)], [image, literal(1), literal(b"cubic")], [image, literal(b"1"), literal(b"nearest")],
                [column(np.zeros((1, 4), np.uint8)), literal(1), literal(b"nearest")],
                [column(np.zeros((1, 4, 4), np.int64)), literal(1), literal(b"bilinear")]):
        emit("image.rotate", bad, "build-error")
