"""CIFAR-10's binary files: a byte of the label, and 32x32 pixels of each channel."""

import feedmill as fm

f, image = fm.functions, fm.functions.image
MEAN, STD = [0.491, 0.482, 0.447], [0.247, 0.244, 0.262]


def parsed(e):
    record = f.decode_raw(e, "uint8")
    pixels = image.to_hwc(f.reshape(record[1:], [3, 32, 32]))
    return {"label": f.cast(record[0], "int64"), "image": pixels}


data = (
    fm.Dataset.fixed_length("cifar/data_batch_*.bin", record_bytes=3073)
    .cache()
    .shuffle()
    .map(parsed)
    .with_columns(image=lambda e: image.random_crop(image.pad(e.image, 4, 4, 4, 4), 32, 32))
    .random_flip()
    .with_columns(image=lambda e: image.normalize(e.image / 255, MEAN, STD))
    .with_columns(image=lambda e: image.to_chw(e.image))
    .batch(8, drop_remainder=True)
    .with_options(seed=1)
)
for batch in data.read():
    print(batch["image"].shape, batch["label"].tolist())
