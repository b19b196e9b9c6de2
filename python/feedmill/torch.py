"""PyTorch: the batches of a dataset as tensors. ``Dataset.to_torch`` makes them.

This module imports torch; ``import feedmill`` does not.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, get_worker_info

from feedmill import _arguments as check
from feedmill._adapter import Adapter
from feedmill._array_alias import without_unit, writable_alias
from feedmill._data_loader import check_loader, gives_nothing
from feedmill._dataset_base import DatasetBase
from feedmill.errors import InvalidArgumentError, OutOfRangeError
from feedmill.reader import Element, State, describe_state, token_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from feedmill._options import AdapterOptions

__all__ = ["TorchDataset", "ranks_of_process", "to_tensors"]


class TorchDataset(Adapter, IterableDataset):
    """The elements of a dataset as tensors, epoch after epoch.

    It is its own loader: iterate over it, or give it to a trainer where a DataLoader
    is expected. A ``DataLoader`` around it needs ``batch_size=None, num_workers=0``:
    the elements are batches already, and feedmill reads ahead in threads of its own.

    >>> import feedmill as fm
    >>> ds = fm.Dataset.range(6).map(x=lambda x: x * 1.5, name="to_string(x)").batch(3)
    >>> for batch in ds.to_torch():
    ...     print(batch["x"], batch["name"])
    tensor([0.0000, 1.5000, 3.0000], dtype=torch.float64) ['0' '1' '2']
    tensor([4.5000, 6.0000, 7.5000], dtype=torch.float64) ['3' '4' '5']

    ================================ ===================================================
    component of an element          value
    ================================ ===================================================
    array of numbers or bools        tensor of that shape and dtype
    number or bool                   tensor without dimensions
    text, byte string                ``str``, ``bytes``; arrays of dtype object, as read
    ``n`` that may be null, with     values ``n``, and bools ``n_mask``, False for nulls,
    ``nulls="masked"``               as of ``torch.masked``
    ================================ ===================================================

    A tensor is a copy of its own, which in-place operations may change. With
    ``copy=False`` a tensor on the CPU is a view of the memory in which the element came.
    **That memory is read-only**, which PyTorch does not know. An in-place operation on
    such a tensor (``batch.div_(255)``) changes the data of other elements. With memory
    shared with a worker, it ends the process with SIGSEGV. Such a tensor keeps its memory
    alive.

    Each loop is the next epoch, or the one of :meth:`set_epoch`. If several processes
    train, each reads its part: torch.distributed gives the ranks where it is
    initialized, else of the variables ``RANK`` and ``WORLD_SIZE``, else one. They are
    found when the dataset is used first, so initialize torch.distributed before. No
    sampler, and no other loader, may divide the data once more. Ranks that
    torch.distributed connects share the seed that is drawn for a dataset without one;
    others, without a service, need ``seed``.

    In a worker process of a DataLoader it warns. The first worker gives all elements of
    the rank, the others none, so that no element comes twice.

    Args:
      dataset, service, job, state, epoch, seed, skip_batches, options: Those of
        :class:`Loader`. Several ranks read a named job of a service.
      rank, ranks: In place of those that are found.
      even: See :class:`Loader`. Default: the dataset's option, or ``drop``: ranks that
        take different numbers of steps would wait for each other without end. If the
        length of the dataset is not known, the ranks ask each other for each batch by
        an all-reduce of two numbers, through gloo.
      device: Device of the tensors, e.g. ``"cuda"``. Default: the CPU.
      pin_memory: Copies to page-locked memory. A ``device`` takes the next element from
        there while the program works on this one.
      copy: False gives views of memory that must not be written.
      lookahead: Number of elements that the trainer takes ahead of the one that it
        trains on. ``state_dict()`` is the place before them. Lightning takes one ahead if
        ``len()`` of the dataset is not known, so it needs ``lookahead=1`` there to go on
        exactly from checkpoints within an epoch.

    Raises the errors of :class:`Loader`.
    """

    def __init__(
        self,
        dataset: DatasetBase,
        service: str | None = None,
        job: str | None = None,
        *,
        device: Any = None,
        pin_memory: bool = False,
        copy: bool = True,
        lookahead: int = 0,
        **options: Unpack[AdapterOptions],
    ) -> None:
        IterableDataset.__init__(self)
        self._lookahead = check.count("lookahead", lookahead, most=1_000)
        Adapter.__init__(self, dataset, service, job, options)
        self._device = None if device is None else torch.device(device)
        self._pin_memory = check.flag("pin_memory", pin_memory)
        own = self._pin_memory and self._device is not None and self._device.type != "cpu"
        self._prepared = _Prepared(self._device) if own else None
        # Places before the elements that were taken ahead, the oldest first.
        self._ahead: deque[State] = deque(maxlen=self._taken_ahead())
        self._copy = check.flag("copy", copy)

    # ---- elements

    def __iter__(self) -> Iterator[Element]:  # type: ignore[override]
        """Returns an iterator over the next epoch, which begins with its first element."""
        if gives_nothing():
            return iter(())
        _, ranks = self._ranks or self._find_ranks()
        check_loader(self._dataset._pipeline().batched, ranks)
        if get_worker_info() is not None:
            warnings.warn(
                "feedmill reads ahead in threads of its own; a worker process of a DataLoader "
                "only copies its elements once more. Use the dataset without a DataLoader, or "
                "DataLoader(…, batch_size=None, num_workers=0)"
                "; of several workers only the first one reads, and set_epoch() has to come before "
                "each loop",
                stacklevel=2,
            )
        self._ahead.clear()
        if self._prepared is not None:
            self._prepared.begin()
        return Adapter.__iter__(self)

    def _taken_ahead(self) -> int:
        """Returns the number of elements that are taken before the trainer asks for them."""
        return self._lookahead + (0 if self._prepared is None else 1)

    def _next(self, elements: Iterator[Element]) -> Any:
        try:
            if self._prepared is None:
                return self._take(elements)
            return self._prepared.next(lambda: self._take(elements))
        except StopIteration:
            self._ahead.clear()  # the trainer trains on all that it took
            raise

    def _take(self, elements: Iterator[Element]) -> Any:
        if self._taken_ahead() > 0:
            self._ahead.append(Adapter.state_dict(self))
        element = next(elements)
        # Page-locked memory and other devices are copies anyway.
        shares = not self._pin_memory and (self._device is None or self._device.type == "cpu")
        return to_tensors(
            element,
            copy=get_worker_info() is not None or (self._copy and shares),
            device=self._device,
            pin_memory=self._pin_memory,
        )

    def state_dict(self) -> State:
        """Returns the place after the last element that was trained on.

        It is the last one that was handed out, but for ``lookahead``. Empty in a worker
        process of a DataLoader that gives nothing.
        """
        if gives_nothing():
            return {}
        return self._ahead[0] if self._ahead else Adapter.state_dict(self)

    def provenance(self, number: int | None = None) -> list[dict[str, Any]]:
        """Returns the records that made an element, as :meth:`Loader.provenance`.

        Default: the element that is trained on, which is the last one that was handed
        out, but for ``lookahead``.
        """
        if number is None and self._ahead:
            number = describe_state(self._ahead[0])["next_element"] - 1
            if number < 0:
                raise OutOfRangeError("no element was trained on yet")
        return Adapter.provenance(self, number)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Has the next loop begin at the place of ``state``: of this rank, or merged."""
        self._ahead.clear()
        if not gives_nothing():
            Adapter.load_state_dict(self, state)

    @property
    def sampler(self) -> TorchDataset:
        """Itself: Lightning calls ``set_epoch`` of a loader's sampler before each epoch."""
        return self

    @property
    def batch_sampler(self) -> None:
        """None, as of a ``DataLoader(batch_size=None)``: Lightning asks for it."""
        return None

    def _find_ranks(self) -> tuple[int, int]:
        return ranks_of_process()

    def _find_agree(self) -> Callable[[bool], tuple[bool, bool]] | None:
        return _Agreement() if _initialized() else None

    def _find_seed(self) -> int | None:
        if not _initialized() or get_worker_info() is not None:  # its store is the parent's
            return None
        store = torch.distributed.distributed_c10d._get_default_store()
        drawn = str(secrets.randbits(64))
        return int(store.compare_set("feedmill/seed", "", drawn)) if store else None

    def __getstate__(self) -> dict[str, Any]:
        """For a copy, also in another process: its place, without its reader."""
        state = Adapter.__getstate__(self)
        if _initialized():  # which the other process may not be
            state["_ranks"] = self._ranks or self._find_ranks()
        if self._ahead and get_spawning_popen() is None:
            state["_native"] = (token_of(self._ahead[0]), None, None, [])
        prepared = None if self._prepared is None else _Prepared(self._device)
        ahead: deque[State] = deque(maxlen=self._taken_ahead())
        return {**state, "_ahead": ahead, "_prepared": prepared}


class _Prepared:
    """The next element, which is copied to a device while the trainer works.

    On a GPU the copy has a stream of its own, so that it runs beside the trainer's work.
    """

    def __init__(self, device: torch.device | None) -> None:
        self._device = device
        self._stream: Any = None
        self._first = True
        self._made: Any = None
        self._error: Exception | None = None

    def begin(self) -> None:
        """Forgets what is prepared."""
        self._first, self._made, self._error = True, None, None

    def next(self, take: Callable[[], Any]) -> Any:
        """Returns the next element, and prepares the one after it by ``take``."""
        if self._first:
            self._first = False
            self._prepare(take)
        if self._error is not None:
            raise self._error
        made = self._hand_out()
        self._prepare(take)
        return made

    def _prepare(self, take: Callable[[], Any]) -> None:
        """Errors belong to the element that has them: it is handed out in the next call."""
        try:
            if self._device is None or self._device.type != "cuda":
                self._made = take()
                return
            if self._stream is None:
                self._stream = torch.cuda.Stream(self._device)
            with torch.cuda.stream(self._stream):
                self._made = take()
        except Exception as error:  # StopIteration, too
            self._error = error

    def _hand_out(self) -> Any:
        made, self._made = self._made, None
        if self._stream is not None:
            current = torch.cuda.current_stream(self._device)
            current.wait_stream(self._stream)
            for value in made.values() if isinstance(made, dict) else [made]:
                if isinstance(value, torch.Tensor):
                    value.record_stream(current)  # its memory is in use there
        return made


class _Agreement:
    """The function ``agree`` of the ranks that torch.distributed connects."""

    def __init__(self) -> None:
        self._group: Any = None

    def __call__(self, have: bool) -> tuple[bool, bool]:
        distributed = torch.distributed
        if self._group is None:
            self._group = distributed.new_group(backend="gloo")
        counts = torch.tensor([have, not have], dtype=torch.int32)
        distributed.all_reduce(counts, group=self._group)
        return bool(counts[1] == 0), bool(counts[0] > 0)


def ranks_of_process() -> tuple[int, int]:
    """Returns (rank, ranks) of this process.

    The numbers are torch.distributed's where it is initialized; else of the environment
    variables ``RANK`` and ``WORLD_SIZE``, which torchrun sets; else (0, 1).
    """
    if _initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    rank, ranks = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or ranks is None:
        return 0, 1
    if not (rank.isdecimal() and ranks.isdecimal() and int(rank) < int(ranks)):
        raise InvalidArgumentError(
            f"RANK={rank} and WORLD_SIZE={ranks} of the environment are no rank and number of "
            "ranks; correct them, or pass rank= and ranks="
        )
    return int(rank), int(ranks)


def to_tensors(
    element: Element,
    *,
    copy: bool = False,
    device: torch.device | None = None,
    pin_memory: bool = False,
) -> Any:
    """Returns an element with tensors in place of its arrays and numbers.

    >>> import feedmill as fm
    >>> to_tensors(next(fm.Dataset.range(3).batch(3).read()))
    tensor([0, 1, 2])
    """
    if isinstance(element, dict):
        return {
            name: to_tensors(value, copy=copy, device=device, pin_memory=pin_memory)
            for name, value in element.items()
        }
    if isinstance(element, np.ndarray):
        if element.dtype == object:
            return element
        tensor = _tensor_of(element.copy() if copy else element)
    elif isinstance(element, np.generic):
        tensor = _tensor_of(np.array(element))
    else:
        return element
    if pin_memory:
        tensor = tensor.pin_memory()
    return tensor if device is None else tensor.to(device, non_blocking=pin_memory)


def _tensor_of(array: Any) -> torch.Tensor:
    """Returns a tensor over the memory of an array."""
    brain = array.dtype.name == "bfloat16"
    array = array.view(np.int16) if brain else without_unit(array)
    tensor = torch.from_numpy(writable_alias(array))
    return tensor.view(torch.bfloat16) if brain else tensor


def _initialized() -> bool:
    distributed = torch.distributed
    return bool(distributed.is_available() and distributed.is_initialized())
