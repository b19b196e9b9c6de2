#!/usr/bin/env python3
"""Folders of Delta, Iceberg, Hudi and Lance tables in s3://, gs:// and az://, on servers of this test.

    PYTHONPATH=~/.cache/feedmill/arrow/pyarrow-26.0.0 \\
      tests/stores/tables.py --binary build/release/bin/feedmill --store s3|gs|az [TEST …]"""
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import run_tests  # noqa: E402
from kept_in_stores import Store  # noqa: E402

# folder: (kind, files of the log, a file of data, the folder that the error names).
TABLES = {
    "delta": ("Delta", ["_delta_log/00000000000000000000.json"], "x=1/part-0.parquet", ""),
    "iceberg": ("Iceberg", ["metadata/00001-4f1c.metadata.json", "metadata/snap-1.avro"], "data/x=1/part-0.parquet", ""),
    "hudi": ("Hudi", [".hoodie/hoodie.properties", "x=1/.hoodie_partition_metadata"],
             "x=1/4f1c-0_0-21-18_20240101120000123.parquet", "/x=1"),
    "rows.lance": ("Lance", ["_versions/1.manifest"], "data/x=1/part-0.lance", ""),
}


def write_tables(root):
    for name, (_, log, data, _) in TABLES.items():
        for file in [*log, data]:
            (root / name / file).parent.mkdir(parents=True, exist_ok=True)
            (root / name / file).write_text("{}")
        pa.parquet.write_table(pa.table({"a": [1, 2]}), root / name / data)


def folders_of_tables(feedmill):
    """A table is refused by its kind, however its folder is named; a file that is named is read."""
    write_tables(feedmill.files / "house")
    with Store.objects(feedmill):
        for name, (kind, _, data, below) in TABLES.items():
            root = f"{Store.place()}/house/{name}"
            folder, last = data.rsplit("/", 1)
            end = last.rpartition(".")[2]
            for pattern in ("", "/", "/**", f"/{folder}", f"/{folder}/*", f"/**/*.{end}"):
                text = f"source: {{parquet: {{files: '{root}{pattern}'}}}}\n"
                feedmill.refused(text, f"{root}{below}: it is a", f"{kind} table", "manifest")
            got = feedmill.read(f"source: {{parquet: {{files: '{root}/{data}'}}}}\n")
            assert got.returncode == 0 and got.stdout.splitlines() == ['{"a":1}', '{"a":2}'], f"{got.stdout} {got.stderr}"


TESTS = (folders_of_tables,)

if __name__ == "__main__":
    run_tests(__doc__, TESTS, ("s3", "gs", "az"), Store.choose)
