"""Padding that 4 ranks in step wait for, with buckets by length and with rounds of one bucket: a row of bench/run.

A step takes as long as its largest batch: rows times the longest one. The sum over all steps is divided by the
number of items that are no padding. Nothing is timed, so the load of the machine does not matter."""
import json
import random
import subprocess

import measure

COUNT, RANKS, SIZE = 40_000, 4, 64
BOUNDARIES = [64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]


def lengths():
    draw = random.Random(7)
    return [min(4000, max(1, round(draw.lognormvariate(5.5, 0.9)))) for _ in range(COUNT)]


def cost(folder, batch):
    pipeline = measure.write(folder, "lengths.yaml", f"""source: {{jsonl: lengths.jsonl}}
steps: [shuffle, {{map: n}}, {{{batch}}}]
options: {{seed: 3}}
""")
    command = [str(measure.BUILD / "bin" / "feedmill"), "read", str(pipeline), "--local", "--even", "drop", "--consumer"]
    ranks = [[json.loads(line) for line in subprocess.run(
        [*command, f"{rank}/{RANKS}"], check=True, capture_output=True, text=True).stdout.splitlines()]
        for rank in range(RANKS)]
    measure.check(len({len(batches) for batches in ranks}) == 1, "coordinated: ranks have as many batches")
    items = sum(sum(batch) for batches in ranks for batch in batches)
    return RANKS * sum(max(len(batch) * max(batch) for batch in step) for step in zip(*ranks)) / items


def bench(folder, _count, _rows):
    measure.write(folder, "lengths.jsonl", "".join(f'{{"n":{n}}}\n' for n in lengths()))
    sizes = [SIZE] * (len(BOUNDARIES) + 1)
    buckets = f"bucket_by_sequence_length: {{boundaries: {BOUNDARIES}, batch_sizes: {sizes}"
    plain = cost(folder, f"padded_batch: {SIZE}")
    alone, together = cost(folder, buckets + "}"), cost(folder, f"{buckets}, ranks: {RANKS}}}")
    measure.say(f"coordinated: a step takes {plain:.2f} of its useful items with padded batches, {alone:.2f} with "
                f"buckets, {together:.2f} with rounds of {RANKS} ranks")
    return {"buckets_vs_rounds": measure.ratio(alone, together), "padded_vs_rounds": measure.ratio(plain, together)}
