"""A trainer in Python that only consumes: the counterpart of trainer.cc.

    trainer.py PIPELINE.yaml CONSUME [--service ADDRESS] [--threads N]
    trainer.py N traced|function|integers
    trainer.py - import

CONSUME  sum     adds up int64 elements, one by one
         chunks  the same, chunk by chunk
         touch   reads one word a cache line of each uint8 array
         images  reads the first and last byte of each batch's `image`
         states  the same, with a state_dict() after each batch
         traced    adds up N results of FUNCTION, which is traced, chunk by chunk
         function  the same, called by Python for each element of a reader
         integers  the same, called by Python for plain ints, without a reader

Prints the result and its cost for this process as one line of JSON. `import` prints the time of `import feedmill`.
"""
import argparse
import json
import time

FUNCTION = lambda x: (x * 3 + 1) % 1000 / 7


def add_elements(reader, result):
    # The loop of a trainer that takes numbers.
    total = 0
    for element in reader:
        total += element
        result["elements"] += 1
    result["check"] = int(total) % 2**64


def add_chunks(reader, result):
    total = 0
    for chunk in reader.chunks():
        total += int(chunk.sum())
        result["elements"] += len(chunk)
    result["check"] = total % 2**64


def touch(reader, result):
    import numpy as np
    total = 0
    for array in reader:
        total += int(array.view(np.uint64)[::8].sum())
        result["elements"] += 1
    result["check"] = total % 2**64


def read_images(reader, result):
    for batch in reader:
        images = batch["image"]
        result["check"] += int(images[0, 0, 0, 0]) + int(images[-1, -1, -1, -1])
        result["elements"] += 1
        result["rows"] += len(images)


def read_states(reader, result):
    """The time of state_dict() is this thread's, so that other programs do not count."""
    cost = 0
    for batch in reader:
        images = batch["image"]
        result["check"] += int(images[0, 0, 0, 0]) + int(images[-1, -1, -1, -1])
        result["elements"] += 1
        result["rows"] += len(images)
        before = time.thread_time_ns()
        state = reader.state_dict()
        cost += time.thread_time_ns() - before
    result["state_us"] = cost / result["elements"] / 1e3
    result["state_bytes"] = len(json.dumps(state))


def call_function(reader, result):
    total = 0.0
    for element in reader:
        total += FUNCTION(element)
        result["elements"] += 1
    result["check"] = float(total)


def add_traced(reader, result):
    total = 0.0
    for chunk in reader.chunks():
        total += float(chunk.sum())
        result["elements"] += len(chunk)
    result["check"] = total


CONSUMERS = {"sum": add_elements, "chunks": add_chunks, "touch": touch, "images": read_images, "states": read_states,
             "traced": add_traced, "function": call_function}


def timed(run):
    result = {"elements": 0, "rows": 0, "check": 0}
    cpu, start = time.process_time(), time.perf_counter()
    run(result)
    result |= {"seconds": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}
    if not result["rows"]:
        result["rows"] = result["elements"]
    return result


def with_integers(elements):
    def run(result):
        result["check"] = sum(map(FUNCTION, range(elements)))
        result["elements"] = elements
    return run


def consume(arguments):
    import feedmill as fm
    if arguments.consume in ("traced", "function"):
        dataset = fm.Dataset.range(int(arguments.pipeline))
        if arguments.consume == "traced":
            dataset = dataset.map(FUNCTION)
    else:
        dataset = fm.Dataset.from_yaml(arguments.pipeline)

    def run(result):
        with dataset.read(arguments.service, threads=arguments.threads) as reader:
            CONSUMERS[arguments.consume](reader, result)
    return run


def import_feedmill(result):
    import feedmill
    result["elements"] = len(feedmill.__all__)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pipeline")
    parser.add_argument("consume", choices=[*CONSUMERS, "integers", "import"])
    parser.add_argument("--service")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.consume == "import":
        run = import_feedmill
    elif arguments.consume == "integers":
        run = with_integers(int(arguments.pipeline))
    else:
        run = consume(arguments)
    print(json.dumps(timed(run)))


main()
