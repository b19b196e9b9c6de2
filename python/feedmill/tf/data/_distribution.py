"""The arguments of ``distribute`` of a dataset, and the steps that may follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feedmill.errors import InvalidArgumentError

# Steps that make one element of each element.
_ONE_TO_ONE = frozenset(
    {"cache", "decode_image", "map", "parse_example", "parse_sequence_example", "python"}
    | {"random_flip", "resize"}
)
# Steps that need no other elements to treat an element, or that define no order.
_ANY_ORDER = _ONE_TO_ONE | {"filter", "flat_map", "on_error", "repeat", "shuffle", "unbatch"}

# Arguments of ``read``: a loop waits for the service as long as it takes; Ctrl-C ends it.
PATIENCE: dict[str, Any] = {"first_timeout": float("inf"), "timeout": float("inf")}


@dataclass(frozen=True)
class Distribution:
    """The arguments of ``distribute`` that say how its dataset is read."""

    service: str
    mode: str  # "dynamic" or "off"
    compression: str
    job: str | None = None
    rank: int | None = None
    ranks: int | None = None

    @property
    def shared(self) -> bool:
        """True if the elements go to whichever reader of the job asks."""
        return self.job is not None and self.ranks is None

    @property
    def whole(self) -> bool:
        """True if its one reader gets the elements of the dataset, once, in order."""
        return self.mode == "dynamic" and self.job is None

    def check_step(self, name: str, value: Any) -> None:
        """Raises InvalidArgumentError for a step that would not see what a reader gets.

        Steps after ``distribute`` become a part of the dataset, which workers make. That
        is the same for a step that treats each element alone. Others, such as ``take``,
        would run once for each worker, or once for all readers of the job.
        """
        if self.whole:
            return
        one_to_one = name in _ONE_TO_ONE and not (name == "python" and value["call"] == "filter")
        if one_to_one or (self.ranks is None and name in _ANY_ORDER):
            return
        if self.ranks is not None:
            how = f"num_consumers={self.ranks}"
            instead = "on the elements of all consumers"
        elif self.shared:
            how = f"job_name={self.job!r}"
            instead = "on the elements of all readers of the job together"
        else:
            how = '"parallel_epochs"'
            instead = "on the elements of each worker"
        islice = "; or itertools.islice(dataset, n)" if name in ("skip", "take") else ""
        raise InvalidArgumentError(
            f"{name}: after distribute with {how} this step would run {instead}, not on those of "
            f"one loop; write it before: dataset.{name}(…).apply(distribute(…)){islice}"
        )

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raises InvalidArgumentError for options that are arguments of ``distribute``."""
        for name in ("job", "order", "processing_mode"):
            if options.get(name) is not None:
                raise InvalidArgumentError(
                    f"{name}: the dataset is distributed; set this option before "
                    "apply(distribute(…)), or use the arguments of distribute"
                )

    def place(
        self, service: str | None, job: str | None, rank: int, ranks: int
    ) -> tuple[str, str | None, int, int]:
        """Returns service, job, rank and ranks for a reader that was given these.

        Raises InvalidArgumentError if they contradict ``distribute``.
        """
        if service not in (None, "", self.service):
            raise InvalidArgumentError(
                f"service: {service!r}, but the dataset is distributed by {self.service}; leave "
                "service out, or read the dataset from before distribute"
            )
        if job == "":  # a job of the reader's own
            return self.service, job, rank, ranks
        if job not in (None, self.job) and self.job is not None:
            raise InvalidArgumentError(
                f"job: {job!r}, but distribute has job_name={self.job!r}; leave job out"
            )
        if self.shared and ranks > 1:
            raise InvalidArgumentError(
                f"ranks: {ranks}, but readers of job_name={self.job!r} share its elements already; "
                "pass rank=0, ranks=1, or give distribute consumer_index and num_consumers"
            )
        if self.rank is not None and self.ranks is not None:
            if (rank, ranks) not in ((0, 1), (self.rank, self.ranks)):
                raise InvalidArgumentError(
                    f"rank, ranks: {rank} of {ranks}, but distribute has consumer_index="
                    f"{self.rank} and num_consumers={self.ranks}; leave rank and ranks out"
                )
            rank, ranks = self.rank, self.ranks
        return self.service, self.job if job is None else job, rank, ranks

    def shared_loop(self, number: int) -> dict[str, Any]:
        """Returns the arguments of ``read`` for the loop of this number over a dataset.

        Loops of one number over datasets with one job name share a job: the job of the
        name for the first one, ``name#1`` for the second.
        """
        job = self.job if number == 0 else f"{self.job}#{number}"
        return {"service": self.service, "compression": self.compression, "job": job, **PATIENCE}


def common_distribution(name: str, inputs: Sequence[Distribution]) -> Distribution:
    """Returns how a combination of datasets is read, of which these are distributed.

    If a service gives each input whole and in order, reading the combination through it
    gives the same elements. Raises InvalidArgumentError otherwise.
    """
    first = inputs[0]
    if all(one == first and one.whole for one in inputs):
        return first
    raise InvalidArgumentError(
        f"{name}: its inputs are distributed to several services, with a job_name, or by "
        f'"parallel_epochs"; combine them first: Dataset.{name}([…]).apply(distribute(…))'
    )
