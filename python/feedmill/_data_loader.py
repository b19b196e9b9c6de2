"""Loops over a dataset that a DataLoader begins; imports torch."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data._utils.fetch import _BaseDatasetFetcher

from feedmill.errors import InvalidArgumentError

# From a fetcher, which begins the loop, to the loader of accelerate around it.
_FRAMES_MAX = 12


def gives_nothing() -> bool:
    """True in each worker process of a DataLoader but the first, which gives all elements."""
    worker = get_worker_info()
    return worker is not None and worker.id > 0


def check_loader(batched: bool, ranks: int) -> None:
    """Raises InvalidArgumentError if the loader that begins a loop changes the elements.

    ``batched``: the elements are batches, which a loader is not to stack once more.
    ``ranks``: if several, each reads its own elements, which no loader is to divide once
    more. To be called by ``__iter__`` of a dataset.
    """
    callers: list[Any] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(callers) < _FRAMES_MAX:
        callers.append(frame.f_locals.get("self"))
        frame = frame.f_back
    divider = next((caller for caller in callers if _divides(caller)), None)
    if divider is not None and ranks > 1:
        raise InvalidArgumentError(
            f"{type(divider).__name__} of accelerate divides the elements among the processes, "
            f"and this dataset gives each of the {ranks} ranks its own already; leave it out of "
            "accelerator.prepare(), and give a Trainer a loader of its own (get_train_dataloader, "
            "get_eval_dataloader, get_test_dataloader): DataLoaderShard(dataset, batch_size=None)"
        )
    fetcher = next((caller for caller in callers if not _divides(caller)), None)
    if batched and isinstance(fetcher, _BaseDatasetFetcher) and _stacks(fetcher):
        raise InvalidArgumentError(
            "the elements of this dataset are batches, and the DataLoader would make batches of "
            "them once more; use the dataset as it is, or DataLoader(dataset, batch_size=None), or "
            "leave batch() out of it. A Trainer of Hugging Face makes its own DataLoader: override "
            "get_train_dataloader, get_eval_dataloader and get_test_dataloader with "
            "DataLoaderShard(dataset, batch_size=None)"
        )


def _divides(caller: Any) -> bool:
    kind = type(caller)
    return kind.__module__.startswith("accelerate.") and kind.__name__ in (
        "DataLoaderDispatcher",
        "IterableDatasetShard",
    )


def _stacks(fetcher: Any) -> bool:
    """True if a fetcher stacks elements. The caller's own function may do what it likes."""
    collate = getattr(fetcher.collate_fn, "data_collator", fetcher.collate_fn)
    module = str(getattr(collate, "__module__", ""))
    return fetcher.auto_collation and module.startswith(("torch.utils.data.", "transformers."))
