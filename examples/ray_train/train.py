"""Ray Train reads through a feedmill service, and resumes from checkpoints.

    pip install "ray[train]"
    python train.py

Two Train workers fit a line to noisy points. Each worker is a rank of one job. A checkpoint
has the line and the reader's place of each rank: a run that is restarted reads on after it.
"""

import json
import pathlib
import tempfile

import feedmill as fm
import feedmill.ray
import ray
import ray.train
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

POINTS = 20_000
STEPS_PER_CHECKPOINT = 20
random = fm.functions.random


def points():
    """Batches of points of y = 3 x + 1 with noise, in a random order."""
    return (
        fm.Dataset.range(POINTS)
        .shuffle()
        .map(lambda n: {"x": n / POINTS, "noise": random.uniform() - 0.5})
        .map(lambda e: {"x": e.x, "y": 3 * e.x + 1 + e.noise})
        .batch(50)
        .with_options(seed=7)
    )


def restore(checkpoint):
    """The line, the step and the readers' place of a checkpoint, for any number of ranks."""
    with checkpoint.as_directory() as folder:
        files = sorted(pathlib.Path(folder).glob("rank-*.json"))
        saved = [json.loads(file.read_text()) for file in files]
    return saved[0]["line"], saved[0]["step"], fm.merge_states([each["reader"] for each in saved])


def save(rank, line, step, reader):
    """Reports a checkpoint with this rank's part."""
    """Reports a checkpoint with this rank's part."""
    with tempfile.TemporaryDirectory() as folder:
        saved = {"line": line, "step": step, "reader": reader.state_dict()}
        (pathlib.Path(folder) / f"rank-{rank:05}.json").write_text(json.dumps(saved))
        checkpoint = ray.train.Checkpoint.from_directory(folder)
        ray.train.report({"line": line, "step": step}, checkpoint=checkpoint)


def train(config):
    """Runs in each Train worker. TorchTrainer takes such a function, too."""
    context = ray.train.get_context()
    rank, ranks = context.get_world_rank(), context.get_world_size()
    line, step, state = [0.0, 0.0], 0, None
    if checkpoint := ray.train.get_checkpoint():
        line, step, state = restore(checkpoint)
    with points().read(
        config["service"],
        job="train",
        rank=rank,
        ranks=ranks,
        state=state,
        take_over=True,  # of the rank's former process, if it has just died
    ) as reader:
        for batch in reader:
            error = line[0] * batch["x"] + line[1] - batch["y"]
            line = [line[0] - float((error * batch["x"]).mean()), line[1] - float(error.mean())]
            step += 1
            if step % STEPS_PER_CHECKPOINT == 0:
                save(rank, line, step, reader)


def run(storage, train=train, ranks=2):
    """Trains in the Ray cluster that is initialized; the metrics of the last report."""
    with feedmill.ray.launch(workers=2) as service:
        trainer = DataParallelTrainer(
            train,
            train_loop_config={"service": service.target},
            scaling_config=ray.train.ScalingConfig(num_workers=ranks),
            run_config=ray.train.RunConfig(
                name="line",
                storage_path=str(storage),
                failure_config=ray.train.FailureConfig(max_failures=3),
            ),
        )
        return trainer.fit().metrics


def main():
    """Trains on this machine, and prints the line."""
    ray.init(include_dashboard=False)
    with tempfile.TemporaryDirectory() as storage:
        metrics = run(storage)
    print("y = {:.2f} x + {:.2f} after {} steps".format(*metrics["line"], metrics["step"]))


if __name__ == "__main__":
    main()
