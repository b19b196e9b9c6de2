"""Detection as in COCO: boxes [left, top, width, height] move with the image."""

import feedmill as fm

data = (
    fm.Dataset.image_table(fm.Dataset.jsonl("coco/boxes.jsonl"), column="path")
    .shuffle()
    .decode_image()
    .with_columns(
        flip="random.uniform() < 0.5",
        degrees="random.uniform(-10, 10)",
        boxes="boxes.convert(cast(reshape(boxes, [-1, 4]), float32), 'xywh', 'xyxy')",
    )
    .with_columns(
        boxes="boxes.resize(boxes, shape(image)[0], shape(image)[1], 240, 320)",
        image="image.resize(image, 240, 320, 'bilinear')",
    )
    .with_columns(
        boxes="boxes.rotate(boxes, 240, 320, degrees)",
        image="image.rotate(image, degrees, 'bilinear')",
    )
    .with_columns(
        boxes="where(flip, boxes.flip_left_right(boxes, 320), boxes)",
        image="image.to_chw(where(flip, image[:, ::-1], image))",
    )
    .map(image="image", boxes="boxes", labels="labels")
    .padded_batch(4, values={"labels": -1})
    .with_options(seed=1)
)
print([batch["boxes"].shape for batch in data.read()])
