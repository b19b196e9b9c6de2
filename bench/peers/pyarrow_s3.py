"""Arrow's S3 client reads an object in ranges, several at once.

    pyarrow_s3.py BUCKET/KEY TOGETHER PART_BYTES

The environment has the endpoint and the keys (AWS_…). Prints one line of JSON: elements (ranges), bytes,
seconds, CPU seconds of the process.
"""
import concurrent.futures
import json
import os
import sys
import time

import pyarrow.fs


def main():
    path, together, part = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    start, cpu = time.perf_counter(), time.process_time()
    pyarrow.set_io_thread_count(together)
    store = pyarrow.fs.S3FileSystem(endpoint_override=os.environ["AWS_ENDPOINT_URL"], region=os.environ["AWS_REGION"])
    with store.open_input_file(path) as file, concurrent.futures.ThreadPoolExecutor(together) as pool:
        begins = range(0, file.size(), part)
        read = sum(pool.map(lambda begin: len(file.read_at(part, begin)), begins))
    print(json.dumps({"elements": len(begins), "bytes": read, "seconds": time.perf_counter() - start,
                      "cpu_s": time.process_time() - cpu}))


main()
