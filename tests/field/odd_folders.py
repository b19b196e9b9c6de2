#!/usr/bin/env python3
"""Pipelines whose own folder has characters of patterns in its name.

    tests/field/odd_folders.py --binary build/release/bin/feedmill

Files of every format lie beside the pipeline, and others of the same names in
the folders that the name would match as a pattern. Relative names mean the
files beside the pipeline, in this process and on workers."""
import argparse
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "stores"))
from command import Feedmill, kinds_of  # noqa: E402
from files import PIPELINES, add_columnar  # noqa: E402


def with_files(binary, folder):
    folder.mkdir()
    feedmill = Feedmill(binary, folder)
    add_columnar(feedmill)
    shutil.copytree(HERE / "mds" / "plain", feedmill.files / "mds")
    return feedmill


def pipelines_of(feedmill):
    """{kind: text}, with a pattern, a folder and names in turn."""
    texts = {"mds": "source: {mds: {files: 'files/mds/*.mds'}}\n"}
    for k, kind in enumerate(kinds_of(feedmill)):
        names = feedmill.names[kind]
        ending = names[0][names[0].rindex("."):]
        files = (f"'files/{kind}/**/*{ending}'", f"files/{kind}", f"[{', '.join(f'files/{name}' for name in names)}]")[k % 3]
        texts[kind] = "source: " + PIPELINES[kind].replace("FILES", files) + "\noptions: {seed: 7}\n"
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    binary = str(pathlib.Path(parser.parse_args().binary).resolve())
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        plain = with_files(binary, root / "plain")
        want = {kind: plain.hash_of(text) for kind, text in pipelines_of(plain).items()}
        assert len(want) >= 10 and all(elements > 0 for _, elements in want.values()), want
        for odd, like in (("run[1]", "run1"), ("a*b", "axb"), ("q?", "qq"), ("p{0..1}", "p0"), ("x\\y", "xy")):
            feedmill = with_files(binary, root / odd)
            # One file of each format, so that reading these gives something else.
            for path in sorted(feedmill.files.rglob("*")):
                other = root / like / path.relative_to(root / odd)
                if path.is_file() and not any(other.parent.glob("*")):
                    other.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, other)
            with feedmill.cluster(2) as (address, _, _):
                for kind, text in pipelines_of(feedmill).items():
                    for flags in ([], ["--service", address]):
                        got = feedmill.hash_of(text, *flags)
                        assert got == want[kind], f"{odd}, {kind} {flags}: {got}, and {want[kind]} in a plain folder"
            print(f"{odd}: {len(want)} formats, here and on workers")


if __name__ == "__main__":
    main()
