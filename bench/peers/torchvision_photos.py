"""The ImageNet recipe in torchvision: Pillow, transforms.v2 and a DataLoader.

    torchvision_photos.py FOLDER PASSES PROCESSES

Prints one line of JSON: elements (batches), seconds, CPU seconds of the process and of those that it started."""
import json
import os
import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

BATCH = 64


def main():
    folder, passes, processes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    recipe = v2.Compose([
        v2.RandomResizedCrop(224, antialias=False), v2.RandomHorizontalFlip(), v2.ToImage(),
        v2.ToDtype(torch.float32, scale=False), v2.Normalize([123.7, 116.3, 103.5], [58.4, 57.1, 57.4])])
    loader = DataLoader(ImageFolder(folder, recipe), BATCH, num_workers=processes, drop_last=True)
    start, batches = time.perf_counter(), 0
    for _ in range(passes):
        for images, _ in loader:
            assert images.shape == (BATCH, 3, 224, 224)
            batches += 1
    seconds = time.perf_counter() - start
    del loader
    used = os.times()
    print(json.dumps({"elements": batches, "rows": batches * BATCH, "seconds": seconds,
                      "cpu_s": used.user + used.system + used.children_user + used.children_system}))


main()
