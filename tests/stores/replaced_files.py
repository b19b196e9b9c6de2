#!/usr/bin/env python3
"""Files behind http:// that are replaced while feedmill reads their index, from a server of this test.

    tests/stores/replaced_files.py --binary build/release/bin/feedmill [TEST …]

PYTHONPATH may have pyarrow, for Parquet and Arrow files."""
import io
import pathlib
import shutil
import sys
import zipfile

import lmdb

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from command import run_tests  # noqa: E402
from files import PIPELINES, add_columnar, npy  # noqa: E402
from range_server import RangeServer  # noqa: E402

MDS = pathlib.Path(__file__).parent.parent / "field" / "mds"
REQUESTS = 12  # A file is replaced before each of these.


def npz(compression):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name in "xyz":
            archive.writestr(f"{name}.npy", npy(3000, 7))
    return out.getvalue()


def indexed_files(feedmill):
    """Files of formats with an index, footer or directory: {kind: (pipeline with FILE, name)}."""
    add_columnar(feedmill)
    cases = {}

    def add(kind, name, data, source):
        (feedmill.files / name).write_bytes(data)
        cases[kind] = (f"{source}\nsteps: [shuffle]", name)

    path = feedmill.files / "some.lmdb"
    with lmdb.open(str(path), map_size=1 << 24, subdir=False, lock=False) as environment:
        with environment.begin(write=True) as transaction:
            for k in range(3000):
                transaction.put(b"%06d" % k, b"value %d" % k * 9)
    add("lmdb", path.name, path.read_bytes(), "{lmdb: FILE}")
    for form in ("plain", "zstd", "gz"):
        shard = next((MDS / form).glob("shard.00000.mds*"))
        add(f"mds, {form}", shard.name, shard.read_bytes(), "{mds: {files: FILE, fields: {int: int64, str: bytes}}}")
    add("mds, inferred", "shard.mds", next((MDS / "plain").glob("shard.00000.mds")).read_bytes(), "{mds: FILE}")
    add("npz", "stored.npz", npz(zipfile.ZIP_STORED), "{npy: FILE}")
    add("npz, compressed", "deflated.npz", npz(zipfile.ZIP_DEFLATED), "{npy: FILE}")
    for kind in ("array_record", "npy", "tfrecord", "csv", "parquet", "arrow"):
        if kind in feedmill.names:
            cases[kind] = (PIPELINES[kind].replace("FILES", "FILE"), feedmill.names[kind][0])
    for kind in ("webdataset", "text", "jsonl"):
        cases[kind] = (f"{{{kind}: FILE}}\nsteps: [shuffle]", feedmill.names[kind][0])
    return cases


class Replacement:
    """A fault: replaces a file before request `number`, unless that begins to read it: then no version is known.

    If a later request begins to read the file again, the new file may be read from its beginning: `read_anew`."""

    def __init__(self, path, number, data):
        self.path = path
        self.number = number
        self.data = data
        self.done = self.read_anew = False

    def __call__(self, request):
        begins = request.headers.get("Range") == "bytes=0-15"
        self.read_anew |= begins and request.number > self.number
        if request.number == self.number and not begins:
            other = self.path.with_name("other")
            other.write_bytes(self.data)
            other.rename(self.path)
            self.done = True


def replaced_while_indexes_are_read(feedmill):
    for kind, (source, name) in indexed_files(feedmill).items():
        path = feedmill.files / name
        data = path.read_bytes()
        replaced = 0
        # A server without versions shows the size only.
        for version, other in (("etag", bytes(len(data))), ("modified", data[:len(data) * 2 // 3]), ("none", data[:len(data) * 2 // 3])):
            for number in range(1, REQUESTS):
                path.write_bytes(data)
                shutil.rmtree(feedmill.folder / "indexes", ignore_errors=True)
                fault = Replacement(path, number, other)
                with RangeServer(feedmill.files, version=version, fault=fault) as server:
                    done = feedmill.read(f"source: {source.replace('FILE', repr(f'{server.url}/{name}'))}\n", "--local", "--format", "none")
                    requests = server.count
                if requests <= number:
                    break
                where = f"{kind}, {version}, request {number}: exit {done.returncode}: {done.stderr}"
                if fault.done and done.returncode != 0 and not fault.read_anew:
                    replaced += 1
                    assert f"{server.url}/{name}: changed since the job began" in done.stderr, where
                    assert done.stderr.count(server.url) == 1 and "damaged" not in done.stderr, where
                elif not fault.done:
                    assert done.returncode == 0, where
        path.write_bytes(data)
        print(f"{kind}: {replaced} replacements were noticed")
        assert replaced > 0, f"{kind}: nothing was replaced"


TESTS = (replaced_while_indexes_are_read,)


if __name__ == "__main__":
    run_tests(__doc__, TESTS)
