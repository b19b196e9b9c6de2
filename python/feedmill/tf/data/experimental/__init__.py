"""``tf.data.experimental``: the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedmill.tf._dtypes import no_name
from feedmill.tf.data.experimental import service

__all__ = ["AUTOTUNE", "service"]

AUTOTUNE = -1

if not TYPE_CHECKING:

    def __getattr__(name):
        raise no_name("tf.data.experimental", name, __all__)
