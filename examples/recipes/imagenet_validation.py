"""ImageNet for validation: 224/256 of the shorter side, at the centre, to 224 x 224."""

import feedmill as fm

image, shape = fm.functions.image, fm.functions.shape
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def centre(e):
    top, left = (shape(e.image)[0] - e.side) // 2, (shape(e.image)[1] - e.side) // 2
    return image.resize(e.image[top:, left:][: e.side, : e.side], 224, 224, "bilinear")


data = (
    fm.Dataset.images("imagenet/val/*/*.png")
    .decode_image()
    .with_columns(side="min(shape(image)[:2]) * 224 // 256")
    .with_columns(image=centre)
    .with_columns(image=lambda e: image.normalize(e.image / 255, MEAN, STD))
    .with_columns(image=lambda e: image.to_chw(e.image))
    .select("image", "label")
    .batch(8)
)
for batch in data.read():
    print(batch["image"].shape, batch["label"].tolist())
