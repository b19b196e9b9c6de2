"""Cases of images; resizing has OpenCV for its oracle, in image_functions_test.cc."""
import numpy as np

from case_format import ALL, column, emit, literal, ragged


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
