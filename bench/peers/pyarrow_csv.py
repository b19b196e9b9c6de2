"""pyarrow's CSV reader on one thread, with the sum of the column `id`.

    pyarrow_csv.py FILE

Prints one line of JSON: elements, check (the sum), seconds, CPU seconds of the process.
"""
import json
import sys
import time

import pyarrow as pa
from pyarrow import compute, csv


def main():
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    start, cpu = time.perf_counter(), time.process_time()
    table = csv.read_csv(sys.argv[1], read_options=csv.ReadOptions(use_threads=False))
    total = compute.sum(table["id"]).as_py()
    print(json.dumps({"elements": table.num_rows, "check": total, "seconds": time.perf_counter() - start,
                      "cpu_s": time.process_time() - cpu}))


main()
