"""tf.data in the trainer's own process, without a service.

    tfdata_local.py squares|squares_batched|photos|crops|words N

squares and squares_batched run in parallel with prefetching; squares_batched maps whole batches. 
tfdata_pipelines.py has the other workloads. N: elements of the range, or passes over the input.
Prints one line of JSON: elements, rows, seconds, CPU seconds of the process, seconds to the first element.
"""
import json
import sys
import time

import tfdata_pipelines


def dataset(tf, workload, n):
    autotune = tf.data.AUTOTUNE
    numbers = tf.data.Dataset.range
    if workload == "squares":
        return numbers(n).map(lambda x: x * x, num_parallel_calls=autotune).prefetch(autotune)
    if workload == "squares_batched":
        return numbers(n).batch(1024).map(lambda x: x * x, num_parallel_calls=autotune).prefetch(autotune)
    return {"photos": tfdata_pipelines.photos, "crops": tfdata_pipelines.crops, "words": tfdata_pipelines.words}[workload](tf, n)


def main():
    workload, n = sys.argv[1], int(sys.argv[2])
    tfdata_pipelines.quiet()
    import tensorflow as tf
    # A warm-up run: TensorFlow initialises itself at the first element.
    for _ in dataset(tf, workload, 2048 if workload.startswith("squares") else 1).take(10):
        pass
    measured = dataset(tf, workload, n)
    batched = workload in tfdata_pipelines.BATCHED
    cpu, start = time.process_time(), time.perf_counter()
    first, elements, rows = None, 0, 0
    for element in measured:
        if first is None:
            first = time.perf_counter() - start
        elements += 1
        if batched:
            rows += tfdata_pipelines.rows_of(element)
    seconds = time.perf_counter() - start
    print(json.dumps({"elements": elements, "rows": rows if batched else elements, "seconds": seconds,
                      "cpu_s": time.process_time() - cpu, "first_s": first}))


main()
