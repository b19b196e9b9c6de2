"""feedmill.ray in a real Ray cluster on this machine: actors that die come back."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import feedmill as fm
import pytest

# Ray writes into the home folder, and asks for a token of its own, otherwise.
os.environ["RAY_AUTH_MODE"] = "disabled"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray = pytest.importorskip("ray")
import feedmill.ray  # noqa: E402
from waits import pass_time  # noqa: E402

pytestmark = pytest.mark.others_remain  # Ray keeps threads and sockets
DATA = fm.Dataset.range(40_000).shuffle().map(x="x * 3").batch(64).with_options(seed=5)


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    ray.init(
        num_cpus=8,
        include_dashboard=False,
        object_store_memory=80 << 20,
        labels={"node-kind": "cpu"},
    )
    yield
    ray.shutdown()


def expected() -> list[bytes]:
    return [batch["x"].tobytes() for batch in DATA.read()]


def pid_of(actor: Any) -> int:
    """The process of an actor, which is waited for while it restarts."""
    end = time.monotonic() + 60
    while True:
        try:
            return int(ray.get(actor.pid.remote(), timeout=20))
        except ray.exceptions.RayActorError:
            assert time.monotonic() < end, "the actor does not come back"


def read_with(service: Any, acts: dict[int, Any], job: str) -> list[bytes]:
    """The batches; before batch K, acts[K]() is called."""
    got = []
    with DATA.read(service.target, job=job, timeout=120) as reader:
        for batch in reader:
            if len(got) in acts:
                acts[len(got)]()
            got.append(batch["x"].tobytes())
            pass_time(0.002)  # a trainer, which is slower than the service
    return got


def test_a_service_delivers_what_a_local_read_does() -> None:
    with feedmill.ray.launch(workers=2) as service:
        assert service.workers == 2
        assert [b["x"].tobytes() for b in DATA.read(service.target)] == expected()


def test_actors_that_are_killed_come_back_and_nothing_is_lost_or_repeated() -> None:
    with feedmill.ray.launch(workers=2) as service:
        killed: list[int] = []

        def kill(actor: Any) -> None:
            killed.append(pid_of(actor))
            os.kill(killed[-1], signal.SIGKILL)

        acts = {
            100: lambda: kill(service._workers[0]),
            250: lambda: kill(service._dispatcher),
            400: lambda: kill(service._workers[1]),
        }
        assert read_with(service, acts, "killed") == expected()
        assert len(killed) == 3
        now = [pid_of(a) for a in (service._workers[0], service._dispatcher, service._workers[1])]
        assert not set(now) & set(killed)


def test_workers_follow_scale_and_nothing_is_lost_or_repeated() -> None:
    with feedmill.ray.launch(workers=1) as service:
        acts = {100: lambda: service.scale(3), 300: lambda: service.scale(1)}
        assert read_with(service, acts, "scaled") == expected()
        assert service.workers == 1
        assert service.status()["faults"]["workers_died"] == 0


def test_a_worker_without_resources_is_waited_for_again_and_can_be_removed() -> None:
    with feedmill.ray.launch(workers=1, num_cpus=5, threads=1) as service:
        for _ in range(2):  # it stays listed, and a later call waits for it, too
            with pytest.raises(fm.DeadlineExceededError, match="1 of 2 workers did not register"):
                service.scale(2, timeout=1)
        assert service.workers == 2
        service.scale(1)
        assert service.workers == 1
        assert [b["x"].tobytes() for b in DATA.read(service.target)] == expected()


def test_scale_ends_workers_that_restart() -> None:
    with feedmill.ray.launch(workers=3) as service:
        gone = service._workers[2]

        def scale_down() -> None:
            os.kill(pid_of(gone), signal.SIGKILL)
            service.scale(2)

        def scale_up() -> None:
            os.kill(pid_of(service._workers[0]), signal.SIGKILL)
            service.scale(3)

        assert read_with(service, {100: scale_down, 300: scale_up}, "restarts") == expected()
        assert service.workers == 3
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(gone.pid.remote(), timeout=20)


def test_stop_neither_hides_an_exception_nor_hangs_without_a_dispatcher() -> None:
    with pytest.raises(KeyError, match="mine"), feedmill.ray.launch(workers=1) as service:
        ray.kill(service._dispatcher)
        with pytest.raises(fm.UnavailableError, match="did not answer"):
            service.status()
        raise KeyError("mine")
    with pytest.raises(fm.UnavailableError, match="stopped"):
        service.status()
    with pytest.raises(KeyError, match="mine"), feedmill.ray.launch(workers=1) as service:
        os.kill(pid_of(service._dispatcher), signal.SIGSTOP)
        with pytest.raises(fm.DeadlineExceededError, match="did not answer within"):
            service.status(timeout=0.5)
        raise KeyError("mine")


def test_an_actor_that_cannot_start_is_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(fm.UnavailableError, match=r"(?s)dispatcher.s actor did not start.*nothing"):
        feedmill.ray.launch(keys=tmp_path / "nothing")
    with feedmill.ray.launch(workers=1) as service:
        make, service._make_worker = service._make_worker, failing_worker
        with pytest.raises(fm.UnavailableError, match=r"(?s)worker.s actor did not start.*broken"):
            service.scale(2)
        assert service.workers == 1
        service._make_worker = make
        service.scale(2)


def test_workers_run_python_functions_if_they_may() -> None:
    squares = fm.Dataset.range(100).map(lambda x: x * x, python=True)
    with feedmill.ray.launch(workers=1, allow_python=True) as service:
        assert [int(x) for x in squares.read(service.target)] == [x * x for x in range(100)]
    with (
        feedmill.ray.launch(workers=1) as service,
        pytest.raises(fm.FailedPreconditionError, match="Python"),
    ):
        list(squares.read(service.target))


def failing_worker() -> Any:
    class Broken:
        def __init__(self) -> None:
            raise ValueError("broken")

        def wait_registered(self, timeout: float) -> bool:
            return timeout > 0

    return ray.remote(Broken).options(max_restarts=-1).remote()


def test_workers_are_placed_by_labels() -> None:
    with feedmill.ray.launch(workers=1, label_selector={"node-kind": "cpu"}) as service:
        assert service.workers == 1
    with pytest.raises(fm.DeadlineExceededError, match="1 of 1 workers did not register"):
        feedmill.ray.launch(workers=1, label_selector={"node-kind": "!cpu"}, timeout=5)


def test_a_reader_in_a_task_reads_through_the_service() -> None:
    @ray.remote(num_cpus=1)
    def train(target: str, rank: int) -> list[int]:
        ranks = fm.Dataset.range(1000).batch(10).read(target, job="ranks", rank=rank, ranks=2)
        return [int(batch[0]) for batch in ranks]

    with feedmill.ray.launch(workers=1) as service:
        first, second = ray.get([train.remote(service.target, rank) for rank in range(2)])
    assert sorted(first + second) == list(range(0, 1000, 10))
    assert first == list(range(0, 1000, 20))


def test_the_state_goes_with_the_service(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "state"
    with feedmill.ray.launch(workers=1, work_dir=folder):
        assert (folder / "port").exists()
    assert not folder.exists()


def load_example() -> Any:
    """examples/ray_train/train.py, as a module that Ray's processes do not import."""
    path = pathlib.Path(__file__).resolve().parents[3] / "examples/ray_train/train.py"
    spec = importlib.util.spec_from_file_location("ray_train_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    ray.cloudpickle.register_pickle_by_value(module)
    return module


def test_ray_train_continues_from_its_checkpoint_after_a_worker_is_killed(
    tmp_path: pathlib.Path,
) -> None:
    pytest.importorskip("pyarrow")  # of ray[train]
    example = load_example()
    killed = tmp_path / "killed"

    def train_and_die(config: dict[str, Any]) -> None:
        report = ray.train.report

        def report_or_die(metrics: dict[str, Any], **arguments: Any) -> None:
            rank = ray.train.get_context().get_world_rank()
            # Steps since the checkpoint before this one are lost.
            if rank == 1 and metrics["step"] == 100 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            report(metrics, **arguments)

        ray.train.report = report_or_die
        example.train(config)

    whole = example.run(tmp_path / "whole")
    assert whole["step"] == 200
    assert whole["line"] == pytest.approx([3, 1], abs=0.2)
    # The line depends on each batch and on their order, bit by bit.
    assert example.run(tmp_path / "restarted", train_and_die) == whole
    assert killed.exists()
