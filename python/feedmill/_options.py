"""Options of reading as types: keywords that type checkers and editors know.

:meth:`feedmill.Dataset.read` and the loaders say what each does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypedDict

from feedmill._arguments import Even, Nulls


class ReaderOptions(TypedDict, total=False):
    """Options that a loader gives each of its readers."""

    consumer: str
    take_over: bool
    first_timeout: float | None
    timeout: float
    budget_bytes: int
    threads: int
    transport: Literal["auto", "tcp", "dispatcher"]
    compression: Literal["none", "lz4", "zstd", "auto"]
    weight: int
    cluster_id: str
    keys: str | os.PathLike[str]
    server_key: str
    on_wait: Callable[[str, float], object] | None
    nulls: Nulls


class EpochOptions(ReaderOptions, total=False):
    """Options of a reader, and the first epoch."""

    epoch: int | None
    seed: int | None
    skip_batches: Sequence[tuple[int, int]]


class AdapterOptions(EpochOptions, total=False):
    """Options of an adapter that finds its ranks."""

    rank: int | None
    ranks: int | None
    even: Even | None
    state: Mapping[str, Any] | None


class LoaderOptions(EpochOptions, total=False):
    """Options of a loader besides the service, the job and the state."""

    rank: int
    ranks: int
    even: Even | None
    agree: Callable[[bool], tuple[bool, bool]] | None


class ReadOptions(LoaderOptions, total=False):
    """Options of ``Dataset.read`` besides the service."""

    job: str | None
    state: Mapping[str, Any] | None


class TorchOptions(AdapterOptions, total=False):
    """Options of ``Dataset.to_torch``."""

    device: Any
    pin_memory: bool
    copy: bool
    lookahead: int


class JaxOptions(AdapterOptions, total=False):
    """Options of ``Dataset.to_jax``."""

    sharding: Any
