"""``tf.distribute.cluster_resolver``: which tasks a cluster has, and which this one is."""

from feedmill.tf.distribute._cloud_resolvers import (
    GCEClusterResolver,
    KubernetesClusterResolver,
    KubernetesExecutableLocation,
    TPUClusterResolver,
)
from feedmill.tf.distribute._resolvers import (
    ClusterResolver,
    SageMakerClusterResolver,
    SimpleClusterResolver,
    TFConfigClusterResolver,
    UnionClusterResolver,
)
from feedmill.tf.distribute._slurm_resolver import SlurmClusterResolver

UnionResolver = UnionClusterResolver

__all__ = [
    "ClusterResolver",
    "GCEClusterResolver",
    "KubernetesClusterResolver",
    "KubernetesExecutableLocation",
    "SageMakerClusterResolver",
    "SimpleClusterResolver",
    "SlurmClusterResolver",
    "TFConfigClusterResolver",
    "TPUClusterResolver",
    "UnionClusterResolver",
    "UnionResolver",
]
