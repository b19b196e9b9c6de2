"""Cases of image.gaussian_blur: torchvision's algorithm in NumPy, in float32, and in float64 as a check."""
import numpy as np

from case_format import column, emit, literal, ragged


def kernel(size, sigma):
    end = (size - 1) / (2 * np.sqrt(2.0))
    x = np.array([end * (2 * k / (size - 1) - 1) if size > 1 else 0.0 for k in range(size)])
    weights = np.exp(-(x / sigma) * (x / sigma))
    total = 0.0
    for w in weights:
        total += w
    return weights / total


def along(a, weights, axis):
    margin = [(0, 0)] * a.ndim
    margin[axis] = (len(weights) // 2,) * 2
    padded = np.moveaxis(np.pad(a, margin, mode="reflect"), axis, 0)
    size = a.shape[axis]
    made = np.zeros_like(padded[:size])
    for k, w in enumerate(weights):
        made = made + w * padded[k:k + size]
    return np.moveaxis(made, 0, axis)


def blurred(a, size, sigma):
    def made(dtype):
        weights = kernel(size, sigma).astype(dtype)
        out = along(along(a.astype(dtype), weights, 1), weights, 0)
        return np.rint(out).clip(0, 255).astype(np.uint8) if a.dtype == np.uint8 else out

    single, double = made(np.float32), made(np.float64)
    assert np.abs(single.astype(np.float64) - double).max() <= (1 if a.dtype == np.uint8 else 1e-3)
    return single


def blur_cases():
    rng = np.random.default_rng(29)
    images = [rng.integers(0, 256, (2, 7, 9, 3)).astype(np.uint8), rng.integers(0, 256, (1, 6, 5)).astype(np.uint8),
              (rng.random((1, 5, 6, 2)) * 90).astype(np.float32)]
    for a in images:
        for size, sigma in ((1, 2), (3, 0.5), (5, 1.1), (9, 3.0)):
            good = min(a.shape[1:3]) > size // 2
            emit("image.gaussian_blur", [column(a), literal(size), literal(sigma)],
                 np.stack([blurred(r, size, sigma) for r in a]) if good else "data-error 0")
    a = images[0]
    sigmas = np.array([0.3, 2.0])
    emit("image.gaussian_blur", [column(a), literal(3), column(sigmas)],
         np.stack([blurred(r, 3, s) for r, s in zip(a, sigmas)]))
    rows = [rng.integers(0, 256, (n, 4, 3)).astype(np.uint8) for n in (3, 5)]
    emit("image.gaussian_blur", [ragged(rows), literal(5), literal(1.0)], ragged([blurred(r, 5, 1.0) for r in rows]))
    emit("image.gaussian_blur", [column(a), literal(15), literal(1)], "data-error 0")
    for sigma in (0, -1, float("nan"), float("inf")):
        emit("image.gaussian_blur", [column(a), literal(3), literal(sigma)], "data-error 0")
    for bad in ([literal(4), literal(1)], [literal(-1), literal(1)], [literal(3)], [literal(3), literal(b"x")]):
        emit("image.gaussian_blur", [column(a), *bad], "build-error")
    emit("image.gaussian_blur", [column(a.astype(np.float64)), literal(3), literal(1)], "build-error")
