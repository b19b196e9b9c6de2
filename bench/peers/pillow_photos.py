"""Photographs by a loader of another library, in two processes that decode with Pillow.

    pillow_photos.py torch|grain FOLDER PASSES

Reads FOLDER/*/*.jpg, resizes to 224 (bilinear), in batches of 32: uint8 arrays, or tensors. The first 16 batches do
not count: the processes start, and what they made ahead is used up. Prints one line of JSON: elements (batches), rows,
seconds, CPU seconds of all processes.
"""
import glob
import json
import os
import pathlib
import sys
import time

import numpy as np
from PIL import Image

WORKERS, SIDE, BATCH, WARM_UP = 2, 224, 32, 16
TICKS = os.sysconf("SC_CLK_TCK")


def load(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def children(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)


class Cpu:
    """CPU seconds of this process and its children, also of those that have ended since they were last seen."""

    def __init__(self):
        self.seen = {}

    def read(self):
        for pid in children(os.getpid()):
            try:
                stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # it has ended
            self.seen[pid] = (int(stat[11]) + int(stat[12])) / TICKS
        return time.process_time() + sum(self.seen.values())


def torch_batches(paths, passes):
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Photos(Dataset):
        def __len__(self):
            return len(paths)

        def __getitem__(self, index):
            # A copy, because the array of Pillow is read-only.
            return torch.from_numpy(load(paths[index]).copy())

    loader = DataLoader(Photos(), batch_size=BATCH, num_workers=WORKERS, persistent_workers=True, drop_last=True)
    for _ in range(passes):
        yield from loader


def grain_batches(paths, passes):
    import grain
    from absl import flags
    flags.FLAGS(sys.argv[:1])  # its processes read flags
    batches = grain.MapDataset.source(paths).repeat(passes).map(load).batch(BATCH, drop_remainder=True)
    # A thread loads a batch. The buffers are smaller than the warm-up, which uses them up.
    reading = grain.ReadOptions(num_threads=2, prefetch_buffer_size=2)
    processes = grain.multiprocessing.MultiprocessingOptions(num_workers=WORKERS, per_worker_buffer_size=2)
    yield from batches.to_iter_dataset(reading).mp_prefetch(processes)


def main():
    library, folder, passes = sys.argv[1], sys.argv[2], int(sys.argv[3])
    paths = sorted(glob.glob(f"{folder}/*/*.jpg"))
    batches = iter({"torch": torch_batches, "grain": grain_batches}[library](paths, passes))
    for _ in range(WARM_UP):
        batch = next(batches)
        assert tuple(batch.shape) == (BATCH, SIDE, SIDE, 3) and "uint8" in str(batch.dtype), batch
    cpu = Cpu()
    before, start, count = cpu.read(), time.perf_counter(), 0
    for batch in batches:
        count += 1
        assert len(batch) == BATCH
        used = cpu.read()
    print(json.dumps({"elements": count, "rows": count * BATCH, "seconds": time.perf_counter() - start,
                      "cpu_s": used - before, "check": 0}))


if __name__ == "__main__":
    main()
