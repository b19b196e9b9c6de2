"""Epochs of photographs or text in a Ray cluster on this machine, by feedmill or by Ray Data.

    ray_epochs.py feedmill|ray photos|text EPOCHS PATH

One epoch more comes first and does not count. Prints one line of JSON: batches, rows, seconds, CPU seconds of all
processes of the cluster; and the sum over the rows of the mean of their pixels, or of the number of their words.
"""
import json
import os
import pathlib
import sys
import time

import numpy as np
import ray

SIDE, BATCH, LINES = 224, 32, 256
TICKS = os.sysconf("SC_CLK_TCK")


def tree(pid):
    yield pid
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            children = (task / "children").read_text().split()
        except OSError:
            continue  # it has ended
        for child in children:
            yield from tree(int(child))


def cpu():
    """CPU seconds of this process and of all that it started, also of those that have ended and were waited for."""
    total = 0.0
    for pid in set(tree(os.getpid())):
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(int(stat[field]) for field in (11, 12, 13, 14)) / TICKS
    return total


def value(row, batch):
    if row == "photos":
        assert batch.shape[1:] == (SIDE, SIDE, 3) and batch.dtype == np.uint8, (batch.shape, batch.dtype)
        # One line of pixels in 16: the trainer must not be what is measured.
        return float(batch[:, ::16].mean(axis=(1, 2, 3)).sum())
    return float(batch.sum())


def feedmill_epochs(row, path):
    """Returns a function that gives the batches of one epoch."""
    import feedmill as fm
    import feedmill.ray
    if row == "photos":
        dataset = fm.Dataset.images(f"{path}/*/*.jpg").decode_image(channels=3, dct="fast")
        dataset = dataset.resize(height=SIDE, width=SIDE, method="bilinear").batch(BATCH)
    else:
        dataset = fm.Dataset.text(path).map("sum(cast(split(x) != '', int64), 0)").batch(LINES)
    service = feedmill.ray.launch(workers=1, num_cpus=os.cpu_count())
    for epoch in range(1_000_000):
        with dataset.read(service.target, job="train", epoch=epoch) as reader:
            yield (batch["image"] if row == "photos" else batch for batch in reader)


def ray_epochs(row, path):
    import ray.data
    ray.data.DataContext.get_current().enable_progress_bars = False
    if row == "photos":
        dataset = ray.data.read_images(sorted(map(str, pathlib.Path(path).glob("*/*.jpg"))), size=(SIDE, SIDE), mode="RGB")
    else:
        count = lambda batch: {"words": np.array([len(text.split()) for text in batch["text"]])}
        dataset = ray.data.read_text(path).map_batches(count, batch_size=LINES)
    while True:
        batches = dataset.iter_batches(batch_size=BATCH if row == "photos" else LINES)
        yield (batch["image" if row == "photos" else "words"] for batch in batches)


def main():
    side, row, epochs, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    ray.init(num_cpus=os.cpu_count(), include_dashboard=False, object_store_memory=512 << 20, log_to_driver=False,
             logging_level="error")
    source = {"feedmill": feedmill_epochs, "ray": ray_epochs}[side](row, path)
    for batch in next(source):
        value(row, batch)
    result = {"elements": 0, "rows": 0, "check": 0.0}
    before, start = cpu(), time.perf_counter()
    for _ in range(epochs):
        for batch in next(source):
            result["elements"] += 1
            result["rows"] += len(batch)
            result["check"] += value(row, batch)
    print(json.dumps(result | {"seconds": time.perf_counter() - start, "cpu_s": cpu() - before}))


if __name__ == "__main__":
    main()
