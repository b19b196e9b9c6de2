"""One of two processes that a trainer of a library trains with.

two_ranks.py KIND FOLDER SERVICE. Writes the batches of two epochs that it was handed
to "FOLDER/rank R".
"""

import json
import os
import sys

import accelerate
import feedmill as fm
import lightning
import torch
import transformers
from accelerate.data_loader import DataLoaderShard
from torch.utils.data import DataLoader

kind, folder, service = sys.argv[1:]
dataset = fm.Dataset.range(90).shuffle().batch(10).map({"x": "cast(x, float32)"})
batches = dataset.with_options(seed=7).to_torch(service, kind)
seen = []


class Square(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, x):
        seen.append(x.tolist())
        return {"loss": self.linear(x[:, None]).square().mean()}


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.square = Square()

    def training_step(self, batch, index):
        return self.square(batch["x"])["loss"]

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-6)


class Trainer(transformers.Trainer):
    def get_train_dataloader(self):
        return DataLoaderShard(self.train_dataset, batch_size=None)


def with_lightning():
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        max_epochs=2,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Model(), batches)


def with_accelerate():
    accelerator = accelerate.Accelerator(cpu=True)
    model = Square()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    model, optimizer = accelerator.prepare(model, optimizer)
    for _ in range(2):
        for batch in batches:
            accelerator.backward(model(batch["x"])["loss"])
            optimizer.step()
            optimizer.zero_grad()
    divided = accelerator.prepare(DataLoader(batches, batch_size=None))
    try:
        next(iter(divided))
    except fm.InvalidArgumentError as error:
        assert "leave it out of accelerator.prepare()" in str(error)
    else:
        sys.exit("each rank's elements were divided among the ranks once more")


def with_trainer():
    arguments = transformers.TrainingArguments(
        folder,
        num_train_epochs=2,
        use_cpu=True,
        ddp_backend="gloo",
        report_to=[],
        disable_tqdm=True,
        save_strategy="no",
    )
    Trainer(Square(), arguments, train_dataset=batches).train()


torch.set_num_threads(1)
{"lightning": with_lightning, "accelerate": with_accelerate, "trainer": with_trainer}[kind]()
with open(f"{folder}/rank {os.environ['RANK']}", "w", encoding="utf-8") as file:
    json.dump(seen, file)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
