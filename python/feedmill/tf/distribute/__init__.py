"""``tf.distribute``: servers and cluster resolvers."""

from feedmill.tf.distribute import cluster_resolver
from feedmill.tf.train import Server

__all__ = ["Server", "cluster_resolver"]
