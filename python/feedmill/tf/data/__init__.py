"""``tf.data``: datasets, and the service that distributes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedmill.tf._dtypes import no_name
from feedmill.tf.data import experimental
from feedmill.tf.data._dataset import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
)
from feedmill.tf.data._readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "FixedLengthRecordDataset",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf.data", name, __all__)
