"""Detection as in COCO: boxes [left, top, width, height] move with the image."""

import feedmill as fm

f, image = fm.functions, fm.functions.image


def left(e):
    return f.where(e.flip, 320 - e.boxes[:, 0] - e.boxes[:, 2], e.boxes[:, 0])


data = (
    fm.Dataset.image_table(fm.Dataset.jsonl("coco/boxes.jsonl"), column="path")
    .shuffle()
    .decode_image()
    .with_columns(
        flip="random.uniform() < 0.5",
        scale="320 / cast(shape(image)[1], float32)",  # images have one shape of 3 by 4
        boxes="cast(reshape(boxes, [-1, 4]), float32)",
    )
    .with_columns(boxes="boxes * scale", image="image.resize(image, 240, 320, 'bilinear')")
    .with_columns(left=left, image="where(flip, image[:, ::-1], image)")
    .with_columns(boxes="stack([left, boxes[:, 1], boxes[:, 2], boxes[:, 3]], 1)")
    .map(image="image.to_chw(image)", boxes="boxes", labels="labels")
    .padded_batch(4, values={"labels": -1})
    .with_options(seed=1)
)
print([batch["boxes"].shape for batch in data.read()])
