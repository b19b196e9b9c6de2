"""One of two JAX processes that sum global batches.

jax_process.py COORDINATOR PROCESS SERVICE KIND STATE STEPS FILE. Writes the
sums and the state after STEPS steps to a file, as JSON. SERVICE may be empty.
"""

import json
import sys

import feedmill as fm
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

coordinator, process, service, kind, state, steps, path = sys.argv[1:]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(coordinator, num_processes=2, process_id=int(process))
dataset = {
    "plan": fm.Dataset.range(170).shuffle().batch(10, drop_remainder=True),
    "filter": fm.Dataset.range(340).shuffle().filter("x % 2 == 0").batch(10, drop_remainder=True),
    "unseeded": fm.Dataset.range(160).shuffle().batch(10, drop_remainder=True),
}[kind]
if kind != "unseeded":
    dataset = dataset.with_options(seed=7)
sharding = NamedSharding(Mesh(np.array(jax.devices()), ("data",)), PartitionSpec("data"))
loader = dataset.to_jax(
    service or None,
    f"{kind} job",
    sharding=sharding,
    state=json.loads(state) if state else None,
    epoch=None if state else 0,
    take_over=True,
)
total = jax.jit(jnp.sum)
sums = []
for batch in loader:
    assert batch.shape == (20,)
    sums.append(int(total(batch)))
    if len(sums) == int(steps):
        break
with open(path, "w", encoding="utf-8") as file:
    json.dump({"sums": sums, "state": loader.state_dict()}, file)
