"""ImageNet for training: torchvision's recipe, to float32 with channels first."""

import feedmill as fm

image = fm.functions.image
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

data = (
    fm.Dataset.images("imagenet/train/*/*.png")
    .shuffle()
    .decode_image()
    .with_columns(image=lambda e: image.random_resized_crop(e.image, 224, 224))
    .random_flip()
    .with_columns(image=lambda e: image.normalize(e.image / 255, MEAN, STD))
    .with_columns(image=lambda e: image.to_chw(e.image))
    .select("image", "label")
    .batch(8, drop_remainder=True)
    .with_options(seed=1)
)
for batch in data.read():
    print(batch["image"].shape, batch["label"].tolist())
