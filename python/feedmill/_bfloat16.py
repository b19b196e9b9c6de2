"""The dtype bfloat16, which the package ml_dtypes adds to NumPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np


def bfloat16() -> np.dtype[Any]:
    """Returns the dtype. Raises ImportError without ml_dtypes."""
    try:
        dtype: np.dtype[Any] = np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError as error:
        if error.name != "ml_dtypes":
            raise
        raise ImportError(
            "NumPy has bfloat16 by the package ml_dtypes: pip install ml_dtypes; or cast the "
            'component, as in .with_columns(x="cast(x, float32)")',
            name="ml_dtypes",
        ) from None
    return dtype


def without_bfloat16(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns bfloat16 as float32, for what has no bfloat16; other arrays as they are."""
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
