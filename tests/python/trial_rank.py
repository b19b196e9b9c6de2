"""One rank of a trial: reads with NumPy, PyTorch (DDP) or JAX, and writes what it was handed.

trial_rank.py JSON. The argument is a dict: framework, kind, service, job, rank, ranks, meeting,
state, pauses, log. Each line of the log is an element: its epoch, its hash, and the state after it.
At the steps `pauses` the rank prints the step and waits for a line.
"""

import json
import os
import sys

import feedmill as fm
import numpy as np
from order_hash import element_hash

EPOCHS = 2
BUDGET = 1 << 18
DATASETS = {
    # 61 batches of 16 KiB: more than the budget, and not a multiple of any number of ranks.
    "plan": fm.Dataset.range(61 * 2048).shuffle().batch(2048, drop_remainder=True),
    # Only reading tells the number of batches.
    "filter": fm.Dataset.range(122 * 2048)
    .shuffle()
    .filter("x % 2 == 0")
    .batch(2048, drop_remainder=True),
}


def dataset_of(kind):
    return DATASETS[kind].map("cast(x, int32)").with_options(seed=7)


class Plain:
    """A rank that does not wait for the others."""

    def __init__(self, dataset, arguments, options):
        shares = {key: arguments[key] for key in ("rank", "ranks")}
        self.loader = fm.Loader(dataset, even="exact", **shares, **options)

    def batch(self, batch):
        return batch

    def close(self):
        pass


class Torch:
    """A rank of DistributedDataParallel; each step is one of the optimizer."""

    def __init__(self, dataset, arguments, options):
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel

        torch.set_num_threads(1)
        self.dist = dist
        meeting = f"file://{arguments['meeting']}"
        shares = {"rank": arguments["rank"], "world_size": arguments["ranks"]}
        dist.init_process_group("gloo", init_method=meeting, **shares)
        self.model = DistributedDataParallel(torch.nn.Linear(1, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-9)
        self.loader = dataset.to_torch(**options)

    def batch(self, batch):
        self.optimizer.zero_grad()
        self.model(batch[:, None].float() / 2**18).square().mean().backward()
        self.optimizer.step()
        return batch.numpy()

    def close(self):
        self.dist.destroy_process_group()


class Jax:
    """A process whose batches are shards of global arrays."""

    def __init__(self, dataset, arguments, options):
        import jax
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        self.ranks = arguments["ranks"]
        if self.ranks > 1:
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
            address, rank = arguments["meeting"], arguments["rank"]
            jax.distributed.initialize(address, num_processes=self.ranks, process_id=rank)
        mesh = Mesh(np.array(jax.devices()), ("data",))
        self.total = jax.jit(lambda array: array.sum())
        self.loader = dataset.to_jax(sharding=NamedSharding(mesh, PartitionSpec("data")), **options)

    def batch(self, batch):
        assert batch.shape == (self.ranks * 2048,)
        self.total(batch).block_until_ready()
        return np.asarray(batch.addressable_data(0))

    def close(self):
        pass


def main():
    arguments = json.loads(sys.argv[1])
    options = {
        "service": arguments["service"],
        "job": arguments["job"],
        "state": arguments["state"],
        "take_over": True,
        "budget_bytes": BUDGET,
    }
    kinds = {"none": Plain, "torch": Torch, "jax": Jax}
    rank = kinds[arguments["framework"]](dataset_of(arguments["kind"]), arguments, options)
    state = arguments["state"]
    epoch = 0 if state is None else fm.describe_state(state)["iteration"]
    step = 0
    with open(arguments["log"], "w", encoding="utf-8") as log:
        while epoch < EPOCHS:
            for batch in rank.loader:
                step += 1
                found = element_hash(rank.batch(batch))
                entry = {"epoch": epoch, "hash": found, "state": rank.loader.state_dict()}
                print(json.dumps(entry), file=log, flush=True)
                if step in arguments["pauses"]:
                    print(step, flush=True)
                    sys.stdin.readline()
            epoch += 1
    rank.close()
    print("done", flush=True)
    sys.stdout.flush()
    os._exit(0)  # the coordination service of JAX would wait for the other process


if __name__ == "__main__":
    main()
