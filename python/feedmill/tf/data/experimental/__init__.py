"""``tf.data.experimental``: the service."""

from feedmill.tf.data.experimental import service

__all__ = ["service"]
