"""One rank of a training with DistributedDataParallel on gloo.

ddp_trainer.py FOLDER SERVICE KIND JOB. Writes each step to "FOLDER/rank R", and a
checkpoint every fifth step. Resumes from the checkpoint if there is one, also with
another number of ranks.
"""

import json
import os
import sys

import feedmill as fm
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

EPOCHS = 3

folder, service, kind, job = sys.argv[1:]
# 25 batches: one more than the two ranks share.
dataset = {
    "plan": fm.Dataset.range(200).shuffle().batch(8),
    "filter": fm.Dataset.range(400).shuffle().filter("x % 2 == 0").batch(8),
}[kind]
dataset = dataset.map("cast(x, float32) / 100").with_options(seed=7)

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
meeting = f"file://{folder}/rendezvous"
dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=ranks)
del os.environ["RANK"], os.environ["WORLD_SIZE"]  # torch.distributed knows them
torch.set_num_threads(1)
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = dataset.to_torch(service, job, take_over=True)

epoch = step = 0
checkpoint = f"{folder}/checkpoint"
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    epoch, step = saved["epoch"], saved["step"]
    model.load_state_dict(saved["model"])
    states = saved["batches"]
    batches.load_state_dict(states[rank] if len(states) == ranks else fm.merge_states(states))


def save():
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, batches.state_dict())
    if rank == 0:
        saved = {"epoch": epoch, "step": step, "model": model.state_dict(), "batches": states}
        torch.save(saved, f"{checkpoint}.part")
        os.rename(f"{checkpoint}.part", checkpoint)


with open(f"{folder}/rank {rank}", "a", encoding="utf-8") as log:
    while epoch < EPOCHS:
        for batch in batches:
            loss = (model(batch[:, None]) - 2 * batch[:, None]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            entry = {"epoch": epoch, "step": step, "batch": batch.tolist(), "loss": loss.item()}
            print(json.dumps(entry), file=log, flush=True)
            if rank == 0:
                print(step, flush=True)
            if step % 5 == 0:
                save()
        epoch += 1
dist.barrier()
dist.destroy_process_group()
