"""Functions of images beside torchvision's transforms, on 200 random images and parameters."""

import feedmill as fm
import numpy as np
import pytest
import torch

pytest.importorskip("torchvision")
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, RandomErasing, RandomResizedCrop
from torchvision.transforms.v2 import functional as F  # noqa: N812

COUNT = 200
torch.set_num_threads(1)
BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST
DRAW = np.random.default_rng(5)


def image_of(k):
    """A smooth image with noise, from 12 to 60 pixels on each side."""
    height, width = DRAW.integers(12, 61, 2)
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / (3 + k % 7) + c) + np.cos(y / (2 + k % 5) - c) for c in range(3)]
    noise = DRAW.normal(0, 12, (height, width, 3))
    return np.clip(128 + 55 * np.stack(waves, -1) + noise, 0, 255).astype(np.uint8)


IMAGES = [image_of(k) for k in range(COUNT)]
NUMBERS = {name: DRAW.uniform(0, 1, COUNT) for name in "abcdef"}


def made(expression, **columns):
    """Returns the results of all images; `expression` has the image and the columns."""
    ds = fm.Dataset.from_dict({"image": IMAGES, **columns}).map(out=expression)
    return [element["out"] for element in ds.read()]


def pillow(function):
    """A function of Pillow's images as one of arrays."""
    return lambda image, *args: np.asarray(function(Image.fromarray(image), *args))


def tensors(function):
    """A function of tensors, channels first, as one of arrays."""

    def call(image, *args):
        chw = torch.from_numpy(image.transpose(2, 0, 1).copy())
        return function(chw, *args).numpy().transpose(1, 2, 0)

    return call


def compare(got, theirs, columns, levels=0, share=0.0):
    """Asserts that no more than `share` of an image's values differ by more than `levels`."""
    for k, (image, ours) in enumerate(zip(IMAGES, got, strict=True)):
        other = theirs(image, *(column[k] for column in columns))
        assert ours.shape == other.shape, k
        far = np.abs(ours.astype(np.float64) - other.astype(np.float64)) > levels
        assert far.mean() <= share, (k, far.mean(), np.abs(ours.astype(float) - other).max())


def test_geometry_is_exact():
    for top, left, height, width in ((0, 0, 12, 12), (3, 4, 7, 8), (11, 0, 1, 12)):
        crop = pillow(lambda i, box=(top, left, height, width): F.crop(i, *box))
        compare(made(f"image.crop(image, {top}, {left}, {height}, {width})"), crop, [])
    compare(made("image.flip_left_right(image)"), pillow(F.horizontal_flip), [])
    compare(made("image.flip_up_down(image)"), pillow(F.vertical_flip), [])
    pad = pillow(lambda i: F.pad(i, [3, 1, 2, 5], fill=9))
    compare(made("image.pad(image, 1, 3, 5, 2, 9)"), pad, [])
    for turns in range(4):
        rotated = made(f"image.rot90(image, {turns})")
        compare(rotated, tensors(lambda i, k=turns: torch.rot90(i, k, (1, 2))), [])


@pytest.mark.parametrize("size", [(24, 31), (9, 50), (64, 64)])
def test_resize_with_antialias_is_within_a_level(size):
    got = made(f"image.resize(image, {size[0]}, {size[1]}, 'bilinear', 'antialias')")
    compare(got, pillow(lambda i: F.resize(i, size, BILINEAR)), [], 1)
    compare(got, tensors(lambda i: F.resize(i, size, BILINEAR, antialias=True)), [], 1)


def test_resize_by_a_side():
    for side in (17, 40):
        shorter = made(f"image.resize_shorter(image, {side}, 'bilinear', 'antialias')")
        sizes = tensors(lambda i, n=side: F.resize(i, [n], BILINEAR, antialias=True))
        compare(shorter, sizes, [], 1)
        # Pillow rounds sums of 8 bits between the axes; a value may differ by 2.
        compare(shorter, pillow(lambda i, n=side: F.resize(i, [n], BILINEAR)), [], 1, 0.001)
        ds = fm.Dataset.from_dict({"image": IMAGES}).resize(shorter=side, antialias=True)
        for ours, other in zip([e["image"] for e in ds.read()], shorter, strict=True):
            assert np.array_equal(ours, other)
        longer = made(f"image.resize_longer(image, {side}, 'bilinear', 'antialias')")
        sizes = tensors(lambda i, n=side: F.resize(i, None, BILINEAR, max_size=n, antialias=True))
        compare(longer, sizes, [], 1)


@pytest.mark.parametrize("name", ["bilinear", "nearest"])
def test_rotations(name):
    mode = BILINEAR if name == "bilinear" else NEAREST
    degrees = (NUMBERS["a"] - 0.5) * 360
    theirs = pillow(lambda i, d: F.rotate(i, float(d), mode))
    got = made(f"image.rotate(image, d, '{name}')", d=degrees)
    compare(got, theirs, [degrees], 1 if name == "bilinear" else 0, 0.002)


@pytest.mark.parametrize("name", ["bilinear", "nearest"])
def test_affine_maps(name):
    mode = BILINEAR if name == "bilinear" else NEAREST
    degrees, right, down = ((NUMBERS[n] - 0.5) * 40 for n in "abc")
    right, down = np.round(right), np.round(down)
    scale, x, y = 0.7 + NUMBERS["d"] * 0.6, *((NUMBERS[n] - 0.5) * 30 for n in "ef")
    columns = [degrees, right, down, scale, x, y]
    theirs = pillow(
        lambda i, g, r, d, s, x, y: F.affine(
            i, float(g), [int(r), int(d)], float(s), [float(x), float(y)], mode
        )
    )
    got = made(
        f"image.affine(image, g, r, d, s, x, y, '{name}')",
        **dict(zip("grdsxy", columns, strict=True)),
    )
    compare(got, theirs, columns, 1 if name == "bilinear" else 0, 0.002)


def test_colours_are_exact():
    factor = NUMBERS["a"] * 2
    for name in ("brightness", "contrast", "saturation", "sharpness"):
        theirs = pillow(lambda i, f, n=name: getattr(F, f"adjust_{n}")(i, float(f)))
        compare(made(f"image.adjust_{name}(image, f)", f=factor), theirs, [factor])
    turn = NUMBERS["b"] - 0.5
    hue = pillow(lambda i, f: F.adjust_hue(i, float(f)))
    compare(made("image.adjust_hue(image, f)", f=turn), hue, [turn])
    for name in ("invert", "autocontrast", "equalize"):
        compare(made(f"image.{name}(image)"), pillow(getattr(F, name)), [])
    grey = pillow(lambda i: F.to_grayscale(i, 3))
    compare(made("image.grayscale(image)"), grey, [])
    for bits in (1, 3, 7):
        reduced = pillow(lambda i, b=bits: F.posterize(i, b))
        compare(made(f"image.posterize(image, {bits})"), reduced, [])
    for threshold in (0, 77, 200, 256):
        turned = pillow(lambda i, t=threshold: F.solarize(i, t))
        compare(made(f"image.solarize(image, {threshold})"), turned, [])


def test_blur_is_within_a_level():
    sigma = 0.2 + NUMBERS["a"] * 3
    for size in (3, 5, 9):
        blur = tensors(lambda i, s, n=size: F.gaussian_blur(i, [n, n], [float(s)] * 2))
        compare(made(f"image.gaussian_blur(image, {size}, s)", s=sigma), blur, [sigma], 1)


def test_normalize_is_the_float():
    mean, deviation = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]
    theirs = tensors(lambda i: F.normalize(i.float(), mean, deviation))
    compare(made(f"image.normalize(image, {mean}, {deviation})"), theirs, [], 2e-6)


def test_boxes_move_as_theirs():
    corners = [np.sort(DRAW.uniform(0, 40, (4, 2, 2)), 1).reshape(4, 4) for _ in range(COUNT)]
    boxes = [c.astype(np.float32) for c in corners]
    degrees = (NUMBERS["a"] - 0.5) * 200
    cases = {
        "boxes.flip_left_right(b, 50)": lambda b, d: F.horizontal_flip(b),
        "boxes.flip_up_down(b, 60)": lambda b, d: F.vertical_flip(b),
        "boxes.crop(b, 3, 5, 20, 30)": lambda b, d: F.crop(b, 3, 5, 20, 30),
        "boxes.resize(b, 60, 50, 33, 77)": lambda b, d: F.resize(b, [33, 77]),
        "boxes.rotate(b, 60, 50, d)": lambda b, d: F.rotate(b, float(d)),
        "boxes.affine(b, 60, 50, d, 3, -4, 0.8, 7, -5)": lambda b, d: F.affine(
            b, float(d), [3, -4], 0.8, [7.0, -5.0]
        ),
    }
    ds = fm.Dataset.from_dict({"b": boxes, "d": degrees})
    for expression, theirs in cases.items():
        for k, ours in enumerate(ds.map(out=expression).read()):
            box = tv_tensors.BoundingBoxes(boxes[k], format="XYXY", canvas_size=(60, 50))
            other = theirs(box, degrees[k]).as_subclass(torch.Tensor).numpy()
            np.testing.assert_allclose(ours["out"], other, rtol=1e-4, atol=2e-3)


def distance(ours, theirs):
    """The largest distance of two distribution functions (Kolmogorov and Smirnov)."""
    both = np.concatenate([ours, theirs])
    places = [np.searchsorted(np.sort(part), both, "right") / len(part) for part in (ours, theirs)]
    return np.abs(places[0] - places[1]).max()


def test_random_resized_crops_have_the_distribution():
    height, width, count = 120, 90, 4000
    y, x = np.mgrid[:height, :width].astype(np.float32)
    ds = fm.Dataset.from_dict({"image": [np.stack([y, x], -1)]}).repeat(count)
    # With two pixels a side, a pixel stands for half of the box.
    ds = ds.map("image.random_resized_crop(image, 2, 2)").with_options(seed=11)
    ours = np.stack(list(ds.read()))
    sides = 2 * (ours[:, 1, 1] - ours[:, 0, 0])
    image = torch.zeros(3, height, width)
    torch.manual_seed(1)
    crops = [RandomResizedCrop.get_params(image, [0.08, 1], [3 / 4, 4 / 3]) for _ in range(count)]
    theirs = np.array([[h, w] for _, _, h, w in crops], float)
    for of in (lambda s: s[:, 0] * s[:, 1], lambda s: s[:, 1] / s[:, 0]):
        assert distance(of(sides), of(theirs)) < 0.06


def test_random_erasing_has_the_distribution():
    height, width, count = 60, 80, 4000
    image = np.full((height, width, 1), 255, np.uint8)
    ds = fm.Dataset.from_dict({"image": [image]}).repeat(count)
    ds = ds.map("image.random_erase(image, 1.0)").with_options(seed=12)
    holes = [np.argwhere(e[:, :, 0] == 0) for e in ds.read()]
    ours = np.array([hole.max(0) - hole.min(0) + 1 for hole in holes], float)
    torch.manual_seed(2)
    whole = torch.zeros(1, height, width)
    boxes = [RandomErasing.get_params(whole, (0.02, 0.33), (0.3, 3.3), [0]) for _ in range(count)]
    theirs = np.array([[h, w] for _, _, h, w, _ in boxes], float)
    for of in (lambda s: s[:, 0] * s[:, 1], lambda s: s[:, 1] / s[:, 0]):
        assert distance(of(ours), of(theirs)) < 0.06
