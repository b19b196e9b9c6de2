"""tf.data service: a dispatcher, a worker and this process as the trainer, on one machine.

    tfdata_service.py squares|squares_batched|large|photos N

tfdata_pipelines.py has the workloads. N: elements of the range, or passes over the input.
Environment: COMPRESSION=AUTO compresses the elements; by default they are not compressed.
Prints one line of JSON: elements; rows; seconds up to the last element; CPU seconds of all three processes; seconds
to the first element; seconds from the last element to the end of the data.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import tfdata_pipelines

TICKS = os.sysconf("SC_CLK_TCK")


def serve(role, dispatcher):
    """Runs one server until the trainer closes the standard input."""
    import tensorflow as tf
    service = tf.data.experimental.service
    if role == "dispatcher":
        server = service.DispatchServer()
        print(server.target, flush=True)
    else:
        server = service.WorkerServer(service.WorkerConfig(dispatcher_address=dispatcher.split("://")[1],
                                                           heartbeat_interval_ms=100))
        print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


class Server:
    def __init__(self, role, dispatcher=""):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", role, dispatcher],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.line = self.process.stdout.readline().strip()
        if not self.line:
            sys.exit(f"tfdata_service.py: the {role} did not start")

    def cpu(self):
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / TICKS


def dataset(tf, workload, n):
    numbers = tf.data.Dataset.range(n)
    if workload == "squares":
        return numbers.map(lambda x: x * x)
    if workload == "squares_batched":
        return numbers.map(lambda x: x * x).batch(1024)
    if workload == "large":
        return numbers.map(lambda x: tf.fill([1 << 20], tf.cast(x % 256, tf.uint8)))
    return {"photos": tfdata_pipelines.photos}[workload](tf, n)


def read(tf, workload, n, dispatcher):
    distribute = tf.data.experimental.service.distribute(
        processing_mode="parallel_epochs", service=dispatcher, compression=os.environ.get("COMPRESSION"))
    batched = workload in tfdata_pipelines.BATCHED
    first, last, elements, rows = None, 0.0, 0, 0
    start = time.perf_counter()
    for element in dataset(tf, workload, n).apply(distribute):
        last = time.perf_counter() - start
        if first is None:
            first = last
        elements += 1
        if batched:
            rows += tfdata_pipelines.rows_of(element)
    return {"elements": elements, "rows": rows if batched else elements, "seconds": last, "first_s": first,
            "end_of_sequence_s": time.perf_counter() - start - last}


def main():
    tfdata_pipelines.quiet()
    if sys.argv[1] == "--serve":
        serve(*sys.argv[2:])
    workload, n = sys.argv[1], int(sys.argv[2])
    dispatcher = Server("dispatcher")
    worker = Server("worker", dispatcher.line)
    import tensorflow as tf
    # A warm-up run: TensorFlow initialises itself at the first element.
    read(tf, "squares", 10, dispatcher.line)

    def cpu():
        return dispatcher.cpu() + worker.cpu() + time.process_time()

    before = cpu()
    result = read(tf, workload, n, dispatcher.line)
    print(json.dumps(result | {"cpu_s": cpu() - before}), flush=True)
    # TensorFlow's own exit waits for the servers.
    os._exit(0)


main()
