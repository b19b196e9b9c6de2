#!/usr/bin/env python3
"""Trains on photographs with a GPU: the share of its speed that each way to read them keeps.

    bench/gpu.py                          ResNet-18 and ResNet-50, with all sides
    bench/gpu.py --models resnet50 --sides gpu,feedmill
    bench/gpu.py --check                  only compares tensors on the GPU with the CPU's
    bench/gpu.py --device cpu --steps 2   tries the script where there is no GPU

Needs PyTorch, torchvision, Pillow and the package feedmill, for instance its wheel by PYTHONPATH. It uses all CPUs,
and makes 2,048 JPEGs of 500×375 first. The sides read them, resized to 224, in batches, shuffled:

gpu       none: the same batch each step, already on the GPU. This is the limit
feedmill  Dataset.to_torch(device=…, pin_memory=True) in the process that trains
service   the same from a worker process on this machine
torch     DataLoader with one process for each CPU, which decodes with Pillow; pinned memory

The last line is JSON. Each model and side has images a second, CPU time an image, and the share of the limit. That is
the share of the time in which the GPU does not wait for data."""
import argparse
import concurrent.futures
import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import feedmill as fm
import numpy as np
import torch
import torchvision
from PIL import Image

SIDE = 224
SIDES = ("gpu", "feedmill", "service", "torch")


def make_photo(place):
    """Writes a picture with shapes and grain; about as large as a photograph."""
    random = np.random.default_rng(int(place.stem))
    coarse = Image.fromarray(random.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((500, 375), Image.BICUBIC)
    pixels = np.asarray(coarse, dtype=np.int16) + random.integers(-12, 13, (375, 500, 1), dtype=np.int16)
    out = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(out, "jpeg", quality=85)
    place.write_bytes(out.getvalue())
    return out.tell()


def make_photos(folder, count):
    places = [folder / f"{k % 8}" / f"{k}.jpg" for k in range(count)]
    for k in range(8):
        (folder / f"{k}").mkdir()
    with concurrent.futures.ProcessPoolExecutor() as processes:
        sizes = list(processes.map(make_photo, places, chunksize=16))
    print(f"{count} JPEGs of {sum(sizes) / count / 1e3:.0f} kB", flush=True)
    return [str(place) for place in places]


def dataset(folder, batch):
    return (fm.Dataset.images(str(folder / "*/*.jpg")).shuffle().repeat(1000).decode_image()
            .resize(height=SIDE, width=SIDE).batch(batch, drop_remainder=True).with_options(seed=7))


class Photos(torch.utils.data.Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths) * 1000

    def __getitem__(self, index):
        path = self.paths[index % len(self.paths)]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR))
        return {"image": torch.from_numpy(pixels.copy()), "label": int(pathlib.Path(path).parent.name)}


@contextlib.contextmanager
def service():
    """Yields the address of a dispatcher with one worker, in a process of its own."""
    program = ("import feedmill as fm, sys\n"
               "with fm.DispatchServer(port=0) as dispatcher, fm.WorkerServer(dispatcher=dispatcher.target):\n"
               "    print(dispatcher.target, flush=True)\n"
               "    sys.stdin.read()\n")
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(timeout=60)


def loader_of_torch(paths, arguments):
    loader = torch.utils.data.DataLoader(Photos(paths), batch_size=arguments.batch, shuffle=True, drop_last=True,
                                         num_workers=os.cpu_count(), pin_memory=arguments.device == "cuda", prefetch_factor=4)
    for batch in loader:
        yield {name: value.to(arguments.device, non_blocking=True) for name, value in batch.items()}


@contextlib.contextmanager
def batches(side, folder, paths, arguments):
    """Yields an iterator over batches on the device."""
    on_gpu = arguments.device == "cuda"
    read = functools.partial(dataset(folder, arguments.batch).to_torch, device=arguments.device, pin_memory=on_gpu)
    if side == "gpu":
        batch = next(iter(read()))
        yield iter(lambda: batch, None)
    elif side == "feedmill":
        yield iter(read())
    elif side == "service":
        with service() as address:
            yield iter(read(address, "train"))
    else:
        yield loader_of_torch(paths, arguments)


class Training:
    """A model and its optimiser; a step on one batch."""

    def __init__(self, name, device):
        self.device = device
        torch.manual_seed(0)
        self.model = getattr(torchvision.models, name)(num_classes=8).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def step(self, batch):
        # The batch has the order of channels_last already.
        images = batch["image"].permute(0, 3, 1, 2).to(torch.bfloat16).div_(255)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self.model(images), batch["label"].long())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def cpu_seconds():
    """CPU seconds of this process and its children, the running ones too."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[2]) == os.getpgrp():  # the process group
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def run(name, side, folder, paths, arguments):
    training = Training(name, arguments.device)
    with batches(side, folder, paths, arguments) as source:
        for _ in range(arguments.warm_up):
            training.step(next(source))
        synchronize(arguments.device)
        cpu, begin = cpu_seconds(), time.perf_counter()
        for _ in range(arguments.steps):
            loss = training.step(next(source))
        synchronize(arguments.device)
        seconds, cpu = time.perf_counter() - begin, cpu_seconds() - cpu
    if not torch.isfinite(loss):
        raise SystemExit(f"{name}, {side}: the loss is {loss.item()}")
    images = arguments.steps * arguments.batch
    return {"images_per_s": round(images / seconds),
            "cpu_ms_per_image": round(cpu / images * 1e3, 3)}


def check(folder, arguments):
    """Compares batches on the device with those on the CPU, byte by byte."""
    read = dataset(folder, 64)
    for pin_memory in (False, arguments.device == "cuda"):
        moved = iter(read.to_torch(device=arguments.device, pin_memory=pin_memory))
        for number, own in zip(range(20), read.to_torch(), strict=False):
            batch = next(moved)
            for name, value in own.items():
                if isinstance(value, torch.Tensor) and not torch.equal(batch[name].cpu(), value):
                    raise SystemExit(f"batch {number}: {name} differs on {arguments.device}, pin_memory={pin_memory}")
    image = batch["image"]
    print("PyTorch: equal on", image.device, tuple(image.shape), image.dtype, flush=True)
    pinned = next(iter(read.to_torch(pin_memory=True)))["image"] if arguments.device == "cuda" else None
    if pinned is not None and not pinned.is_pinned():
        raise SystemExit("pin_memory=True gave memory that is not pinned")
    if importlib.util.find_spec("jax"):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        for number, (own, batch) in enumerate(zip(read.read(), read.to_jax(), strict=False)):
            if number == 20:
                break
            for name in ("image", "label"):
                if not np.array_equal(np.asarray(batch[name]), own[name]):
                    raise SystemExit(f"batch {number}: {name} differs in JAX")
        print("JAX: equal on", batch["image"].devices(), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="resnet18,resnet50")
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warm-up", type=int, default=12)
    parser.add_argument("--photos", type=int, default=2048)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    sides = arguments.sides.split(",")
    if unknown := set(sides) - set(SIDES):
        parser.error(f"no side is called {min(unknown)}; they are {', '.join(SIDES)}")
    results = {}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        paths = make_photos(folder, arguments.photos)
        check(folder, arguments)
        for name in [] if arguments.check else arguments.models.split(","):
            rows = results[name] = {}
            for side in sides:
                rows[side] = run(name, side, folder, paths, arguments)
                if "gpu" in rows:
                    rows[side]["of_limit"] = round(rows[side]["images_per_s"] / rows["gpu"]["images_per_s"], 3)
                print(f"{name:<9} {side:<9} {json.dumps(rows[side])}", flush=True)
    machine = torch.cuda.get_device_name() if arguments.device == "cuda" else "CPU"
    print(json.dumps({"bench": "gpu", "device": machine, "cpus": os.cpu_count(), "batch": arguments.batch,
                      "models": results}))


if __name__ == "__main__":
    main()
