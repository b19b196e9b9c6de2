"""Lightning, Accelerate and the Trainer of Hugging Face."""

import json
import subprocess
import sys
from pathlib import Path

import accelerate
import feedmill as fm
import lightning
import pytest
import torch
import transformers
from accelerate.data_loader import DataLoaderShard
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

DATASET = fm.Dataset.range(40).shuffle().batch(4).map("cast(x, float32)").with_options(seed=3)
COUNTED = (
    fm.Dataset.range(80).shuffle().filter("x % 2 == 0").batch(4).map("cast(x, float32)")
).with_options(seed=3)


def whole(dataset, epoch):
    return [batch.tolist() for batch in dataset.read(epoch=epoch)]


# ---- Lightning


class Model(lightning.LightningModule):
    def __init__(self, stop=None):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)
        self.seen = []
        self.validated = []
        self.validations = []
        self.stop = stop

    def training_step(self, batch, index):
        if len(self.seen) == self.stop:
            raise KeyError("the machine is gone")
        self.seen.append(batch.tolist())
        return self.linear(batch[:, None]).square().mean()

    def validation_step(self, batch, index):
        self.validated.append(batch.tolist())

    test_step = predict_step = validation_step

    def on_validation_epoch_start(self):
        self.validated.clear()

    def on_validation_epoch_end(self):
        self.validations.append([*self.validated])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-5)


def trainer(folder, **options):
    return lightning.Trainer(
        default_root_dir=folder,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        max_epochs=3,
        **options,
    )


@pytest.mark.parametrize("dataset", [DATASET, COUNTED])
def test_lightning_fits(dataset, tmp_path):
    model = Model()
    trainer(tmp_path, enable_checkpointing=False).fit(model, dataset.to_torch())
    assert model.seen == whole(dataset, 0) + whole(dataset, 1) + whole(dataset, 2)


VALIDATION = fm.Dataset.range(10).batch(4).map("cast(x, float32)")


@pytest.mark.parametrize("action", ["validate", "test", "predict"])
@pytest.mark.parametrize("dataset", [VALIDATION, VALIDATION.filter("sum(x) >= 0")])
def test_lightning_evaluates(action, dataset, tmp_path):
    model = Model()
    act = getattr(trainer(tmp_path), action)
    act(model, dataset.to_torch(), **({} if action == "predict" else {"verbose": False}))
    assert model.validated == whole(VALIDATION, 0)


@pytest.mark.parametrize(
    ("options", "validations"),
    [({}, 3), ({"val_check_interval": 0.5}, 6), ({"reload_dataloaders_every_n_epochs": 1}, 3)],
)
def test_lightning_fits_and_validates(options, validations, tmp_path):
    model = Model()
    trainer(tmp_path, enable_checkpointing=False, **options).fit(
        model, DATASET.to_torch(), VALIDATION.to_torch()
    )
    assert model.seen == whole(DATASET, 0) + whole(DATASET, 1) + whole(DATASET, 2)
    sanity, *rest = model.validations
    assert sanity == whole(VALIDATION, 0)[:2]
    assert rest == [whole(VALIDATION, 0)] * validations


# Without a length, Lightning takes one batch ahead.
@pytest.mark.parametrize(("dataset", "lookahead"), [(DATASET, 0), (COUNTED, 1)])
@pytest.mark.parametrize("stop", [1, 4, 9, 10, 13, 20, 21])
def test_lightning_continues_from_a_checkpoint(stop, dataset, lookahead, tmp_path):
    saves = ModelCheckpoint(tmp_path, filename="{step}", every_n_train_steps=1, save_top_k=-1)
    first = Model(stop)
    with pytest.raises(KeyError):
        trainer(tmp_path, callbacks=[saves]).fit(first, dataset.to_torch(lookahead=lookahead))
    checkpoint = tmp_path / f"step={stop}.ckpt"
    second = Model()
    fitted = trainer(tmp_path, callbacks=[saves])
    fitted.fit(second, dataset.to_torch(lookahead=lookahead), ckpt_path=checkpoint)
    assert first.seen + second.seen == [
        batch for epoch in range(3) for batch in whole(dataset, epoch)
    ]
    assert fitted.global_step == 30


# ---- Accelerate


@pytest.mark.parametrize("prepared", [False, True])
def test_accelerate(prepared):
    accelerator = accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    model, optimizer = accelerator.prepare(model, optimizer)
    batches = DATASET.to_torch(device=accelerator.device)
    if prepared:
        batches = accelerator.prepare(DataLoader(batches, batch_size=None))
    seen = []
    for _ in range(2):
        for batch in batches:
            loss = model(batch[:, None]).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            seen.append(batch.tolist())
    assert seen == whole(DATASET, 0) + whole(DATASET, 1)


# ---- Hugging Face


class Square(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)
        self.seen = []
        self.evaluated = []

    def forward(self, x):
        (self.seen if self.training else self.evaluated).append(x.tolist())
        return {"loss": self.linear(x[:, None]).square().mean()}


class Trainer(transformers.Trainer):
    def get_train_dataloader(self):
        return DataLoaderShard(self.train_dataset, batch_size=None)

    def get_eval_dataloader(self, eval_dataset=None):
        return DataLoaderShard(eval_dataset or self.eval_dataset, batch_size=None)

    def get_test_dataloader(self, test_dataset):
        return DataLoaderShard(test_dataset, batch_size=None)


def with_evaluation(kind, folder, dataset):
    arguments = transformers.TrainingArguments(
        folder,
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="no",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    model = Square()
    train, evaluation = DATASET.map({"x": "x"}).to_torch(), dataset.map({"x": "x"}).to_torch()
    return kind(model, arguments, train_dataset=train, eval_dataset=evaluation), model


def test_trainer_evaluates(tmp_path):
    trainer, model = with_evaluation(Trainer, tmp_path, VALIDATION)
    trainer.train()
    trainer.evaluate()
    trainer.predict(VALIDATION.map({"x": "x"}).to_torch())
    assert model.evaluated == whole(VALIDATION, 0) * 4


class TrainerOfPages(transformers.Trainer):
    def get_train_dataloader(self):
        return DataLoaderShard(self.train_dataset, batch_size=None)


@pytest.mark.parametrize("kind", [transformers.Trainer, TrainerOfPages])
def test_trainer_makes_no_batches_of_batches(kind, tmp_path):
    trainer, _ = with_evaluation(kind, tmp_path, VALIDATION)
    with pytest.raises(fm.InvalidArgumentError, match="get_eval_dataloader"):
        trainer.train()


def test_trainer_makes_batches_of_elements(tmp_path):
    trainer, model = with_evaluation(transformers.Trainer, tmp_path, VALIDATION.unbatch())
    trainer.evaluate()
    assert model.evaluated == [list(range(8)), [8, 9]]


@pytest.mark.parametrize("stop", [None, 4, 10, 13])
def test_trainer(stop, tmp_path):
    dataset = DATASET.map({"x": "x"})

    def make(model, **options):
        arguments = transformers.TrainingArguments(
            tmp_path,
            num_train_epochs=3,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            save_strategy="steps",
            save_steps=1,
            **options,
        )
        return Trainer(model, arguments, train_dataset=dataset.to_torch())

    expected = [batch["x"].tolist() for epoch in range(3) for batch in dataset.read(epoch=epoch)]
    model = Square()
    make(model).train()
    assert model.seen == expected
    if stop is not None:
        model = Square()
        make(model).train(resume_from_checkpoint=f"{tmp_path}/checkpoint-{stop}")
        assert model.seen == expected[stop:]


# ---- several processes

PROGRAM = Path(__file__).parent / "two_ranks.py"


@pytest.mark.parametrize("kind", ["lightning", "accelerate", "trainer"])
def test_two_processes_divide_the_data_once(kind, tmp_path):
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        done = subprocess.run(
            [*run, PROGRAM, kind, tmp_path, dispatcher.target],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    dataset = fm.Dataset.range(90).shuffle().batch(10).with_options(seed=7)
    epochs = [whole(dataset, epoch) for epoch in range(2)]
    for rank in range(2):
        seen = json.loads((tmp_path / f"rank {rank}").read_text())
        assert seen == epochs[0][rank:8:2] + epochs[1][rank:8:2]
