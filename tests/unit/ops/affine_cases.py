"""Cases of image.affine, shear and translate, with Pillow's Image.transform and torchvision's matrix as oracle."""
import math

import numpy as np
from PIL import Image

from case_format import column, emit, literal, ragged


def matrix(angle, right, down, scale, shear_x, shear_y, width, height):
    """torchvision's _get_inverse_affine_matrix, about the centre."""
    turn, sx, sy = math.radians(angle), math.radians(shear_x), math.radians(shear_y)
    cx, cy = width * 0.5, height * 0.5
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = [v / scale for v in (d, -b, 0.0, -c, a, 0.0)]
    m[2] += m[0] * (-cx - right) + m[1] * (-cy - down) + 0.0
    m[5] += m[3] * (-cx - right) + m[4] * (-cy - down) + 0.0
    m[2] += cx
    m[5] += cy
    return m


def moved(a, how, method):
    if a.ndim > 2 and not (a.dtype == np.uint8 and a.shape[2] == 3):
        return np.stack([moved(a[..., c].copy(), how, method) for c in range(a.shape[2])], -1)
    height, width = a.shape[:2]
    resample = Image.Resampling.BILINEAR if method == b"bilinear" else Image.Resampling.NEAREST
    m = matrix(*how, width, height)
    return np.array(Image.fromarray(a).transform((width, height), Image.Transform.AFFINE, m, resample, fillcolor=0))


def affine_cases():
    rng = np.random.default_rng(23)
    changes = ((0, 0, 0, 1, 0, 0), (30, 0, 0, 1, 0, 0), (-17.5, 2, -1, 1.25, 10, -5), (0, 1.5, -2, 0.7, 0, 0),
               (90, 0, 0, 1, 0, 0), (200, 3, 1, 2.5, -40, 20), (0, 0, 0, 0.3, 0, 0), (0, 50, 0, 1, 0, 0))
    images = [rng.integers(0, 256, (2, 9, 12, 3)).astype(np.uint8), rng.integers(0, 256, (1, 8, 7)).astype(np.uint8),
              (rng.random((1, 5, 6)) * 90).astype(np.float32), rng.integers(0, 256, (1, 4, 5, 2)).astype(np.uint8)]
    for method in (b"bilinear", b"nearest"):
        for a in images:
            for how in changes:
                emit("image.affine", [column(a), *map(literal, how), literal(method)],
                     np.stack([moved(r, how, method) for r in a]))
            for x, y in ((20, 0), (0, -35.5), (10, 10)):
                emit("image.shear", [column(a), literal(x), literal(y), literal(method)],
                     np.stack([moved(r, (0, 0, 0, 1, x, y), method) for r in a]))
                emit("image.translate", [column(a), literal(x / 8), literal(y), literal(method)],
                     np.stack([moved(r, (0, x / 8, y, 1, 0, 0), method) for r in a]))
    a = images[0]
    angles, right = np.array([10.0, -80.0]), np.array([3, -2], np.int32)
    rest = [literal(0), literal(1.5), literal(0), literal(5), literal(b"nearest")]
    emit("image.affine", [column(a), column(angles), column(right), *rest],
         np.stack([moved(r, (d, x, 0, 1.5, 0, 5), b"nearest") for r, d, x in zip(a, angles, right)]))
    rows = [rng.integers(0, 256, (n, 5, 3)).astype(np.uint8) for n in (2, 9)]
    emit("image.shear", [ragged(rows), literal(15), literal(0), literal(b"bilinear")],
         ragged([moved(r, (0, 0, 0, 1, 15, 0), b"bilinear") for r in rows]))
    for scale in (0, -1, float("nan"), 1e-12):
        emit("image.affine", [column(a), *map(literal, (0, 0, 0, scale, 0, 0)), literal(b"nearest")], "data-error 0")
    emit("image.shear", [column(a), literal(90), literal(0), literal(b"nearest")], "data-error 0")
    emit("image.translate", [column(a), literal(1), literal(b"nearest")], "build-error")
    emit("image.translate", [column(a), literal(1), literal(1), literal(b"cubic")], "build-error")
    emit("image.translate", [column(a.astype(np.int64)), literal(1), literal(1), literal(b"bilinear")], "build-error")
