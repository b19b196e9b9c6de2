"""Cases of random draws, computed by docs/semantics/random.md with Python's integers and statistics.NormalDist (also
AS 241). Cases of image adjustments, with Pillow as oracle."""
import itertools
import math
import statistics

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from case_format import column, emit, literal, ragged, strings

MASK = 2**32 - 1


def philox(low, counter, high):
    k, c = [low & MASK, low >> 32], [counter & MASK, counter >> 32, high & MASK, high >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & MASK, a >> 32 ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def halves(words):
    w = [int(v) for v in words]
    return w[0] | w[1] << 32, w[2] | w[3] << 32


def block(words, k):
    first, second = halves(words)
    return philox(first, k, second)


def uniform(bits, low, high):
    return low + (high - low) * ((bits >> 11) * 2.0**-53)


def integers(bits, low, high):
    return low + (bits * (high - low) >> 64)


def normal(bits, mean, deviation):
    return mean + deviation * statistics.NormalDist().inv_cdf(((bits >> 12) + 0.5) * 2.0**-52)


def open_interval(bits):
    return ((bits >> 12) + 0.5) * 2.0**-52


def gamma(words, parity, boost, shape):
    """Marsaglia and Tsang's method."""
    d = (shape + 1 if shape < 1 else shape) - 1 / 3
    scale = math.exp(math.log(boost) / shape) if shape < 1 else 1.0
    for t in itertools.count():
        u, v = map(open_interval, halves(block(words, parity + 2 * t)))
        q = statistics.NormalDist().inv_cdf(v)
        root = 1 + q / math.sqrt(9 * d)
        cube = root * root * root
        if cube > 0 and math.log(u) < q * q / 2 + d - d * cube + d * math.log(cube):
            return scale * d * cube
    return None


def beta(words, a, b):
    if a > 1 or b > 1:
        x, y = (gamma(words, k, open_interval(halves(words)[k]), shape) for k, shape in enumerate((a, b)))
        return x / (x + y)
    for t in itertools.count():
        u, v = map(open_interval, halves(block(words, t)))
        x, y = math.log(u) / a, math.log(v) / b
        if math.exp(x) + math.exp(y) <= 1:
            return 1 / (1 + math.exp(y - x))
    return None


def beta_cases():
    rng = np.random.default_rng(13)
    words = rng.integers(0, 2**32, (60, 4)).astype(np.uint32)
    bits = column(words)
    for a, b in ((1.0, 1.0), (0.5, 0.75), (2.5, 2.5), (0.5, 4.0), (30.0, 1.0)):
        emit("random.beta", [bits, literal(a), literal(b)], "~~" + column(np.array([beta(w, a, b) for w in words])))
    shapes = np.array([0.5, 1.5] * 30)
    emit("random.beta", [bits, column(shapes), literal(1)], "~~" + column(np.array([beta(w, a, 1) for w, a in zip(words, shapes)])))
    emit("random.beta", [bits, column(np.array([1.0] * 7 + [0.0] * 53)), literal(1.0)], "data-error 7")


def draw_cases(rng):
    words = rng.integers(0, 2**32, (40, 4)).astype(np.uint32)
    words[0], words[1] = 0, MASK  # the ends of every range
    bits = column(words)
    first = [halves(w)[0] for w in words]
    for name, draw, bounds in (("random.uniform", uniform, (-2.5, 7.0)), ("random.integers", integers, (-3, 1000)),
                               ("random.normal", normal, (1.5, 0.25))):
        dtype = np.int64 if draw is integers else np.float64
        near = "~" if draw is normal else ""  # of the logarithm
        low, high = map(literal, bounds)
        emit(name, [bits, low, high], near + column(np.array([draw(b, *bounds) for b in first], dtype)))
        if draw is not integers:
            standard = (0.0, 1.0)
            emit(name, [bits], near + column(np.array([draw(b, *standard) for b in first], dtype)))
        per_row = np.arange(40, dtype=np.float32 if draw is not integers else np.int32)
        emit(name, [bits, column(per_row), column(per_row + per_row.dtype.type(5))],
             near + column(np.array([draw(b, dtype(k).item(), dtype(k + 5).item()) for k, b in enumerate(first)], dtype)))
        sized = [[draw(block(w, k)[0] | block(w, k)[1] << 32, *bounds) for k in range(6)] for w in words[:5]]
        emit(name, [column(words[:5]), low, high, "list 2,3"], near + column(np.array(sized, dtype).reshape(5, 2, 3)))
        emit(name, [column(words[:5]), low, high, "list 0"], column(np.zeros((5, 0), dtype)))
        emit(name, [column(words[:5]), low, high, "list -1"], "build-error")
        emit(name, [column(words[:5]), low], "build-error")
        emit(name, [column(words[:5]), column(strings([b"a"] * 5)), high], "build-error")
    emit("random.integers", [bits], "build-error")
    emit("random.integers", [bits, literal(0.5), literal(2)], "build-error")
    emit("random.integers", [column(words[:3]), literal(0), column(np.array([2, 0, 1]))], "data-error 1")
    whole = [integers(b, -2**63, 2**63 - 1) for b in first]
    emit("random.integers", [bits, column(np.full(40, -2**63)), column(np.full(40, 2**63 - 1))],
         column(np.array(whole, np.int64)))


def crop_cases(rng):
    words = rng.integers(0, 2**32, (12, 4)).astype(np.uint32)
    for shape in ((12, 6, 5, 3), (12, 6, 5), (12, 2, 6, 5, 1)):
        a = rng.integers(0, 250, shape).astype(np.uint8)
        h = 0 if len(shape) == 3 else len(shape) - 4
        for height, width in ((1, 1), (4, 3), shape[h + 1:h + 3]):
            rows = []
            for w, row in zip(words, a):
                first, second = halves(w)
                top, left = first * (shape[h + 1] - height + 1) >> 64, second * (shape[h + 2] - width + 1) >> 64
                rows.append(row[(slice(None),) * h + (slice(top, top + height), slice(left, left + width))])
            emit("image.random_crop", [column(words), column(a), literal(height), literal(width)], np.stack(rows))
        for height, width in ((0, 1), (7, 1), (1, 6)):
            emit("image.random_crop", [column(words), column(a), literal(height), literal(width)], "build-error")
    image = column(a[:, 0])
    for scales in ((0, 1), (0.5, 0.4), (0.5, 1.5)):
        emit("image.random_resized_crop", [column(words), image, literal(2), literal(2), *map(literal, scales)],
             "build-error")


ENHANCE = {"brightness": ImageEnhance.Brightness, "contrast": ImageEnhance.Contrast, "saturation": ImageEnhance.Color}


def adjusted(row, name, factor):
    """Adjusts like torchvision.transforms.functional.adjust_… with Pillow images."""
    image = Image.fromarray(row)
    if name != "hue":
        return np.array(ENHANCE[name](image).enhance(factor))
    h, s, v = image.convert("HSV").split()
    turned = np.array(h, np.uint8) + np.array(math.trunc(factor * 255)).astype(np.uint8)
    return np.array(Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB"))


def adjustment_cases(rng):
    a = rng.integers(0, 256, (3, 9, 8, 3)).astype(np.uint8)
    a[0, :4] = a[0, :4, :, :1]  # greys
    a[1, 0] = [[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0], [0, 255, 255], [1, 0, 0]]
    for name, factors in (("brightness", (0, 0.4, 1, 1.7, 300)), ("contrast", (0, 0.4, 1, 1.7, 300)),
                          ("saturation", (0, 0.4, 1, 1.7, 300)), ("hue", (-0.5, -0.3, 0, 0.01, 0.5))):
        f = "image.adjust_" + name
        for factor in factors:
            emit(f, [column(a), literal(factor)], np.stack([adjusted(r, name, factor) for r in a]))
        per_row = np.array(factors[1:4], np.float64)
        emit(f, [column(a), column(per_row)], np.stack([adjusted(r, name, k) for r, k in zip(a, per_row)]))
        for bad in ([column(a.astype(np.float32)), literal(1)], [column(a[..., :2]), literal(1)],
                    [column(a), column(np.ones((3, 2)))]):
            emit(f, bad, "build-error")
        emit(f, [column(a), column(np.array([0.1, np.nan, 0.1]))], "data-error 1")
        emit(f, [column(a), literal(-0.6)], "data-error 0")


OPERATIONS = {
    "adjust_sharpness": ((0, 0.3, 1, 1.9, 40), lambda image, f: ImageEnhance.Sharpness(image).enhance(f)),
    "posterize": ((1, 3, 4, 7, 8), ImageOps.posterize),
    "solarize": ((0, 1, 100, 255, 256), ImageOps.solarize),
    "invert": ((None,), lambda image, _: ImageOps.invert(image)),
    "grayscale": ((None,), lambda image, _: image.convert("L").convert("RGB")),
    "autocontrast": ((None,), lambda image, _: ImageOps.autocontrast(image)),
    "equalize": ((None,), lambda image, _: ImageOps.equalize(image))}


def operation_cases():
    rng = np.random.default_rng(13)
    a = rng.integers(0, 256, (4, 9, 8, 3)).astype(np.uint8)
    a[1] //= 3  # dark
    a[2] = 77
    a[3, ..., 1] = a[3, ..., 1] // 100 * 100 + 20
    large = rng.normal(120, 40, (1, 64, 48, 3)).clip(0, 255).astype(np.uint8)
    thin = rng.integers(0, 256, (1, 2, 5, 3)).astype(np.uint8)
    for name, (factors, run) in OPERATIONS.items():
        for factor in factors:
            for images in (a, large, thin):
                more = [] if factor is None else [literal(factor)]
                emit("image." + name, [column(images), *more],
                     np.stack([np.array(run(Image.fromarray(row), factor)) for row in images]))
        factor = [] if factors[0] is None else [literal(factors[0])]
        emit("image." + name, [column(a.astype(np.float32)), *factor], "build-error")
        emit("image." + name, [column(a[..., :2]), *factor], "build-error")
        if factors[0] is not None:
            emit("image." + name, [column(a), literal(-1)], "data-error 0")


def pad_cases():
    rng = np.random.default_rng(17)
    for shape, d in (((2, 3, 4, 3), "uint8"), ((2, 3, 4), "float32"), ((1, 2, 3, 2, 1), "int64")):
        a = rng.integers(0, 100, shape).astype(d)
        h = 0 if len(shape) == 3 else len(shape) - 4
        for top, left, bottom, right in ((0, 0, 0, 0), (1, 2, 3, 4), (0, 1, 0, 0)):
            width = [(0, 0)] * (h + 1) + [(top, bottom), (left, right)] + [(0, 0)] * (len(shape) - h - 3)
            args = [column(a), *map(literal, (top, left, bottom, right))]
            emit("image.pad", args, np.pad(a, width))
            emit("image.pad", [*args, literal(9)], np.pad(a, width, constant_values=9))
    emit("image.pad", [column(a), *map(literal, (0, -1, 0, 0))], "build-error")
    rows = [rng.integers(0, 256, (n, 3, 2)).astype(np.uint8) for n in (2, 4, 3)]
    emit("image.pad", [ragged(rows), *map(literal, (1, 0, 0, 1))],
         ragged([np.pad(r, [(1, 0), (0, 1), (0, 0)]) for r in rows]))


def random_cases():
    rng = np.random.default_rng(11)
    draw_cases(rng)
    crop_cases(rng)
    adjustment_cases(rng)
    operation_cases()
    pad_cases()
    beta_cases()
