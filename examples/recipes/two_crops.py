"""Two views of each image for contrastive learning (SimCLR, MoCo, DINO)."""

import feedmill as fm

image, random = fm.functions.image, fm.functions.random


def crop(e):
    return image.random_resized_crop(e.image, 96, 96, 0.2, 1.0)


data = (
    fm.Dataset.images("imagenet/train/*/*.png")
    .shuffle()
    .decode_image()
    .map(first=crop, second=crop)
    .random_flip(component="first")
    .random_flip(component="second")
    .with_columns(
        first=lambda e: image.adjust_brightness(e.first, random.uniform(0.6, 1.4)),
        second=lambda e: image.adjust_brightness(e.second, random.uniform(0.6, 1.4)),
    )
    .with_columns(first="image.to_chw(first / 255)", second="image.to_chw(second / 255)")
    .batch(8, drop_remainder=True)
    .with_options(seed=1)
)
for batch in data.read():
    print({name: rows.shape for name, rows in batch.items()})
