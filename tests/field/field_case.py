"""Shared by the tests of this folder: reading a pipeline file, and running tests."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


class Feedmill:
    def __init__(self, binary, folder):
        self.binary = binary
        self.folder = folder

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, (bytes, bytearray)) else data.encode())
        return path

    def run(self, source, steps="", folder=None, flags=()):
        """The finished `read --local` of a pipeline file in `folder`."""
        pipeline = (folder or self.folder) / "pipeline.yaml"
        pipeline.parent.mkdir(parents=True, exist_ok=True)
        pipeline.write_text(f"source: {source}\n{steps}\noptions: {{seed: 1}}\n")
        return subprocess.run([self.binary, "read", pipeline, "--local", *flags], capture_output=True, text=True, timeout=60)

    def read(self, source, steps="", folder=None):
        """The elements, with integers and floats as JSON has them."""
        done = self.run(source, steps, folder)
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def order_hash(self, source, steps=""):
        """The hash of all elements and their order."""
        done = self.run(source, steps, flags=["--format", "summary"])
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        return json.loads(done.stdout)["order_hash"]

    def read_up_to_error(self, source, *parts, steps=""):
        """The elements before an error that has these parts."""
        done = self.run(source, steps)
        assert done.returncode == 1, f"exit {done.returncode}: {done.stderr}"
        for part in parts:
            assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refused(self, source, *parts, steps="", folder=None):
        """Asserts that a read fails with one line that has these parts."""
        done = self.run(source, steps, folder)
        assert done.returncode not in (0, -6, -11), f"exit {done.returncode}: {done.stdout[:500]}"
        for part in parts:
            assert part in done.stderr, f"{part!r} is not in {done.stderr!r}"


def equal(got, want):
    assert got == want, f"got {got[:5]}, want {want[:5]}"


def main(description, tests):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", choices=[[], *[test.__name__ for test in tests]])
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    for test in tests:
        if arguments.tests and test.__name__ not in arguments.tests:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(Feedmill(arguments.binary.resolve(), pathlib.Path(folder)))
                print(f"{test.__name__}: as it should be", flush=True)
            except AssertionError as error:
                failed += 1
                print(f"{test.__name__}: {error}", flush=True)
    sys.exit(failed > 0)
