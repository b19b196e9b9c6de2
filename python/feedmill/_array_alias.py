"""Arrays of a reader for frameworks that take no read-only memory."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Alias:
    """Describes an array's memory as writable, and keeps the array."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self.array = array


def without_unit(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns times as their int64, for frameworks without times; other arrays as they are.

    >>> without_unit(np.array(["1970-01-02"], "datetime64[D]"))
    array([1])
    """
    return array.view(np.int64) if array.dtype.kind == "M" else array


def writable_alias(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array over the same memory that says it may be written.

    The caller must not write to it. NumPy before 2.1, and the DLPack protocol before
    1.0, cannot export a read-only array, and PyTorch warns of one. The alias keeps the
    array and so its memory.

    >>> array = np.zeros(3)
    >>> array.flags.writeable = False
    >>> writable_alias(array).flags.writeable
    True
    """
    return np.asarray(_Alias(array))
