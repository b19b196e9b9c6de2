"""Cases of boxes and key points, with the formulas of torchvision.transforms.v2.functional, and of compress."""
import math

import numpy as np

from case_format import column, emit, literal, ragged


def affine(places, h, w, degrees, right, down, scale, shear_x, shear_y):
    """_affine_bounding_boxes_with_expand and _affine_keypoints_with_expand, before boxes are cut."""
    turn, sx, sy = (math.radians(v) for v in (degrees, shear_x, shear_y))
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    m = np.array([[a, b], [c, d]]) * scale
    centre = np.array([w * 0.5, h * 0.5])
    offset = -m @ centre + centre + [right, down]
    if places.shape[-1] == 2:
        return places @ m.T + offset
    corners = places[..., [[0, 1], [2, 1], [2, 3], [0, 3]]] @ m.T + offset
    return clamp(np.concatenate([corners.min(-2), corners.max(-2)], -1), h, w)


def rotate(places, h, w, degrees):
    return affine(places, h, w, -degrees, 0, 0, 1, 0, 0)


def clamp(boxes, h, w):
    return np.clip(boxes, 0, [w, h, w, h])


def crop(places, top, left, h, w):
    moved = places - np.tile([left, top], places.shape[-1] // 2)
    return clamp(moved, h, w) if places.shape[-1] == 4 else moved


def resize(places, h, w, new_h, new_w):
    return places * np.tile([new_w / w, new_h / h], places.shape[-1] // 2)


def flip_left_right(places, w):
    if places.shape[-1] == 2:
        return places * [-1, 1] + [w - 1, 0]
    return (places * [-1, 1, -1, 1] + [w, 0, w, 0])[..., [2, 1, 0, 3]]


def flip_up_down(places, h):
    if places.shape[-1] == 2:
        return places * [1, -1] + [0, h - 1]
    return (places * [1, -1, 1, -1] + [0, h, 0, h])[..., [0, 3, 2, 1]]


def valid(boxes, h, w, min_size=1, min_area=1):
    ws, hs = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    inside = (boxes >= 0).all(-1) & (boxes[..., ::2] <= w).all(-1) & (boxes[..., 1::2] <= h).all(-1)
    return inside & (ws >= min_size) & (hs >= min_size) & (ws * hs >= min_area)


MOVES = {"clamp": (clamp, (40, 60)), "crop": (crop, (5, 7.5, 30, 20)), "resize": (resize, (40, 60, 80, 45)),
         "flip_left_right": (flip_left_right, (60,)), "flip_up_down": (flip_up_down, (40,)),
         "rotate": (rotate, (40, 60, 30)), "affine": (affine, (40, 60, -15, 3, -2.5, 1.25, 10, -5))}


def some_boxes(rng, *shape):
    first, size = rng.uniform(-10, 50, (*shape, 2)), rng.uniform(0, 40, (*shape, 2))
    return np.concatenate([first, first + size], -1)


def convert(boxes, before, after):
    """convert_bounding_box_format, through XYXY."""
    b = boxes.copy()
    if before == after:
        return b
    if before == "cxcywh":
        b[..., :2] -= b[..., 2:] / 2
    if before != "xyxy":
        b[..., 2:] += b[..., :2]
    if after != "xyxy":
        b[..., 2:] -= b[..., :2]
    if after == "cxcywh":
        b[..., :2] = (b[..., :2] * 2 + b[..., 2:]) / 2
    return b


def move_cases(rng):
    for name, (move, numbers) in MOVES.items():
        near = name in ("rotate", "affine")
        for dtype in (np.float32, np.float64):
            for kind, width in (("boxes", 4), ("keypoints", 2)):
                if kind == "keypoints" and name == "clamp":
                    continue
                rows = [some_boxes(rng, n)[:, :width].astype(dtype) for n in (3, 0, 1)]
                made = [move(r.astype(np.float64), *numbers).astype(dtype) for r in rows]
                emit(f"{kind}.{name}", [ragged(rows), *map(literal, numbers)], ("~" if near else "") + ragged(made))
        # Numbers of each row, of several dtypes.
        boxes = some_boxes(rng, 3, 2).astype(np.float32)
        each = [np.array([v, v + 1, v * 2]) for v in numbers]
        each[-1] = each[-1].astype(np.float32)
        made = np.stack([move(b.astype(np.float64), *(float(e[k]) for e in each)) for k, b in enumerate(boxes)])
        emit(f"boxes.{name}", [column(boxes), *map(column, each)], column(made.astype(np.float32)), near)


def box_cases():
    rng = np.random.default_rng(13)
    move_cases(rng)
    one = np.array([[3, 9, 1, 2], [1, 2, np.nan, 4], [-5, 2, 70, 41]])
    emit("boxes.clamp", [column(one), literal(40), literal(60)], column(clamp(one, 40, 60)))
    emit("boxes.rotate", [column(one[:1]), literal(40), literal(60), literal(0)], column(rotate(one[:1], 40, 60, 0)))
    for numbers in ((-1, 60), (40, float("nan")), (float("inf"), 60)):
        emit("boxes.clamp", [column(one), *map(literal, numbers)], "data-error 0")
    emit("boxes.resize", [column(one), column(np.array([40, 0, 40])), *map(literal, (60, 80, 90))], "data-error 1")
    emit("boxes.affine", [column(one), *map(literal, (40, 60, 1, 0, 0, 0, 0, 0))], "data-error 0")
    emit("boxes.clamp", [column(np.zeros((1, 3))), literal(40), literal(60)], "build-error")
    emit("boxes.clamp", [column(np.zeros((1, 4), np.int64)), literal(40), literal(60)], "build-error")
    emit("keypoints.crop", [column(np.zeros((1, 2))), literal(40)], "build-error")
    for dtype in (np.float32, np.float64):
        boxes = some_boxes(rng, 2, 3).astype(dtype)
        for before in ("xyxy", "xywh", "cxcywh"):
            for after in ("xyxy", "xywh", "cxcywh"):
                args = [column(boxes), f"text x{before.encode().hex()}", f"text x{after.encode().hex()}"]
                emit("boxes.convert", args, column(convert(boxes, before, after)))
        rows = [some_boxes(rng, n).astype(dtype) for n in (5, 0, 9)]
        rows[0][0], rows[0][1], rows[0][2] = [0, 0, 60, 40], [2, 2, 3, 3], [2, 2, 2.5, 30]
        for more in ((), (4, 50.5)):
            args = [ragged(rows), *map(literal, (40, 60, *more))]
            emit("boxes.valid", args, ragged([valid(r, 40, 60, *map(dtype, more)) for r in rows]))
    emit("boxes.convert", [column(one), "text x" + b"yolo".hex(), "text x" + b"xyxy".hex()], "build-error")
    masks = [rng.integers(0, 2, n).astype(bool) for n in (4, 0, 3)]
    arrays = [rng.integers(0, 99, (n, 2)) for n in (4, 0, 3)]
    emit("compress", [ragged(masks), ragged(arrays)], ragged([np.compress(m, a, 0) for m, a in zip(masks, arrays)]))
    emit("compress", [column(np.stack([masks[0]] * 2)), column(np.zeros((2, 3)))], "data-error 0")
    emit("compress", [column(np.zeros((2, 3))), column(np.zeros((2, 3)))], "build-error")
