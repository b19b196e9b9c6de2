"""pyarrow's dataset scanner on one thread, over 4 of 40 columns, with the sum of the column `id`.

    pyarrow_columns.py scan FOLDER       in order
    pyarrow_columns.py filtered FOLDER   in order, those whose `id` is at least 3,900,000
    pyarrow_columns.py shuffled FOLDER   row groups in another order, rows of each shuffled
    pyarrow_columns.py write FOLDER      makes the files

    pyarrow_columns.py views FOLDER      vectors of a mapped Arrow file, with the sum of all items
    pyarrow_columns.py write_arrow FOLDER  makes that file

Prints one line of JSON: elements, check (the sum), seconds, CPU seconds of the process.
"""
import json
import os
import random
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from pyarrow import compute

COLUMNS = ["id", "c1", "c2", "c3"]
FILES, ROWS, GROUP_ROWS = 4, 1_000_000, 100_000
VECTORS, VECTOR = 200_000, 512


def paths(folder):
    return [os.path.join(folder, f"{k}.parquet") for k in range(FILES)]


def make(folder):
    draw = np.random.default_rng(0)
    os.makedirs(folder, exist_ok=True)
    for k, path in enumerate(paths(folder)):
        columns = {"id": np.arange(k * ROWS, (k + 1) * ROWS)}
        for c in range(1, 40):
            columns[f"c{c}"] = draw.random(ROWS) if c % 2 else draw.integers(0, 1 << 40, ROWS)
        pa.parquet.write_table(pa.table(columns), path, row_group_size=GROUP_ROWS)
    return ROWS * FILES, 0


def scan(folder, chosen=None):
    rows = total = 0
    for batch in pa.dataset.dataset(paths(folder)).to_batches(columns=COLUMNS, filter=chosen, use_threads=False):
        rows += batch.num_rows
        total += compute.sum(batch["id"]).as_py() or 0
    return rows, total


def filtered(folder):
    return scan(folder, pa.dataset.field("id") >= 3_900_000)


def shuffled(folder):
    rows = total = 0
    files = [pa.parquet.ParquetFile(path) for path in paths(folder)]
    groups = [(file, group) for file in files for group in range(file.num_row_groups)]
    random.Random(7).shuffle(groups)
    draw = np.random.default_rng(7)
    for file, group in groups:
        table = file.read_row_group(group, columns=COLUMNS, use_threads=False)
        table = table.take(pa.array(draw.permutation(table.num_rows)))
        rows += table.num_rows
        total += compute.sum(table["id"]).as_py()
    return rows, total


def make_arrow(folder):
    os.makedirs(folder, exist_ok=True)
    schema = pa.schema({"vector": pa.list_(pa.int64(), VECTOR)})
    with pa.ipc.new_file(os.path.join(folder, "vectors.arrow"), schema) as writer:
        for begin in range(0, VECTORS, 2000):
            items = pa.array(np.arange(begin * VECTOR, (begin + 2000) * VECTOR))
            writer.write_batch(pa.record_batch([pa.FixedSizeListArray.from_arrays(items, VECTOR)], schema))
    return VECTORS, 0


def views(folder):
    rows = total = 0
    with pa.memory_map(os.path.join(folder, "vectors.arrow")) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            rows += batch.num_rows
            total += compute.sum(batch["vector"].flatten()).as_py()
    return rows, total


def main():
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    start, cpu = time.perf_counter(), time.process_time()
    modes = {"scan": scan, "filtered": filtered, "shuffled": shuffled, "write": make, "views": views,
             "write_arrow": make_arrow}
    rows, total = modes[sys.argv[1]](sys.argv[2])
    print(json.dumps({"elements": rows, "check": total, "seconds": time.perf_counter() - start,
                      "cpu_s": time.process_time() - cpu}))


main()
