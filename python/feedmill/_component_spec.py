"""Types of components."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ComponentSpec:
    """The dtype and shape of a component; None is a dimension that may differ."""

    dtype: str
    shape: tuple[int | None, ...]
