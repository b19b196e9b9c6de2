"""Cases of roll, and of image.cutmix with the formula of torchvision.transforms.v2.CutMix.make_params."""
import math

import numpy as np

from case_format import column, emit, literal, ragged


def cutmix(batch, lam, u, v):
    """v2.CutMix of a batch [n, h, w, c] whose draws are lam, int(u * w) and int(v * h)."""
    _, h, w, _ = batch.shape
    r = 0.5 * math.sqrt(1.0 - lam)
    x, y, dx, dy = min(int(u * w), w - 1), min(int(v * h), h - 1), int(r * w), int(r * h)
    left, top, right, bottom = max(x - dx, 0), max(y - dy, 0), min(x + dx, w), min(y + dy, h)
    out = batch.copy()
    out[:, top:bottom, left:right] = np.roll(batch, 1, 0)[:, top:bottom, left:right]
    return out, 1.0 - (bottom - top) * (right - left) / (w * h)


def mixing_cases():
    rng = np.random.default_rng(12)
    batch = rng.integers(0, 256, (3, 4, 2, 3)).astype(np.uint8)
    for shift in (0, 1, -1, 7, -9):
        emit("roll", [column(batch), literal(shift)], column(np.stack([np.roll(b, shift, 0) for b in batch])))
    rows = [np.arange(n, dtype=np.int64) for n in (4, 0, 1, 5)]
    shifts = (1, 2, 3, -2)
    emit("roll", [ragged(rows), column(np.array(shifts))], ragged([np.roll(r, k) for r, k in zip(rows, shifts)]))
    batches = [rng.integers(0, 256, (n, 7, 9, 3)).astype(np.uint8) for n in (1, 2, 4, 3, 3, 3)]
    numbers = np.array([[0.3, 0.5, 0.5], [0.9, 0.01, 0.99], [0.0, 0.4, 0.6], [1.0, 0.2, 0.1], [0.5, 1.0, 1.0], [0.1, 0.0, 0.0]])
    made = [cutmix(b, *n) for b, n in zip(batches, numbers)]
    args = [ragged(batches), *(column(numbers[:, k]) for k in range(3))]
    emit("image.cutmix", args, ragged([m[0] for m in made]))
    emit("image.cutmix_share", args, column(np.array([m[1] for m in made])))
    empty = [column(np.zeros((2, 1, 0, 3, 3), np.uint8)), literal(0.5), literal(0.5), literal(0.5)]
    emit("image.cutmix", empty, column(np.zeros((2, 1, 0, 3, 3), np.uint8)))
    emit("image.cutmix_share", empty, column(np.ones(2)))
    wrong = [column(np.stack(batches[3:5])), column(np.array([0.5, 1.5])), literal(0.5), literal(0.5)]
    emit("image.cutmix", wrong, "data-error 1")
    emit("image.cutmix_share", wrong, "data-error 1")
