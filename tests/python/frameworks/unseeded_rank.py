"""One of several ranks that read without a service, most of them without a seed.

unseeded_rank.py FOLDER. Writes what it read, or the error, to "FOLDER/rank R" as JSON.
"""

import json
import os
import sys
import warnings

import feedmill as fm
import torch.distributed as dist
from torch.utils.data import DataLoader

NUMBERS = fm.Dataset.range(40).shuffle()


def read(elements):
    try:
        return [int(x) for x in elements]
    except fm.InvalidArgumentError as error:
        return str(error)


def in_worker(dataset, context):
    options = {"batch_size": None, "num_workers": 1, "multiprocessing_context": context}
    return read(DataLoader(dataset.to_torch(), **options))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    seen = {"alone": read(NUMBERS.to_torch())}
    dist.init_process_group("gloo")
    for name in ("RANK", "WORLD_SIZE"):
        del os.environ[name]
    batches = NUMBERS.to_torch()
    seen["epochs"] = [read(batches), read(batches)]
    seen["forked"] = in_worker(NUMBERS, "fork")
    seen["spawned"] = in_worker(NUMBERS.with_options(seed=3), "spawn")
    with open(f"{sys.argv[1]}/rank {dist.get_rank()}", "w", encoding="utf-8") as file:
        json.dump(seen, file)
    dist.barrier()
    dist.destroy_process_group()
