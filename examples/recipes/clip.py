"""Pairs of image and caption in WebDataset shards, for CLIP."""

import feedmill as fm

f, image = fm.functions, fm.functions.image
MEAN, STD = [0.481, 0.458, 0.408], [0.269, 0.261, 0.276]

data = (
    fm.Dataset.webdataset("pairs-*.tar", fields={"png": "bytes", "txt": "bytes"})
    .shuffle()
    .map(lambda e: {"image": e.png, "ids": f.tokenize(e.txt, "tokenizer.json", True, 77)})
    .decode_image()
    .with_columns(image=lambda e: image.random_resized_crop(e.image, 224, 224, 0.9, 1.0))
    .with_columns(
        image=lambda e: image.normalize(e.image / 255, MEAN, STD),
        ids=lambda e: f.pad_to(e.ids, 77, 0),
    )
    .with_columns(image=lambda e: image.to_chw(e.image))
    .batch(4, drop_remainder=True)
    .with_options(seed=1)
)
for batch in data.read():
    print({name: rows.shape for name, rows in batch.items()})
