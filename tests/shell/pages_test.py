#!/usr/bin/env python3
"""The examples of docs/semantics print what their pages show.

    pages_test.py FEEDMILL REFERENCE FOLDER

Fenced blocks of a page, in order:
  ```LANGUAGE NAME   a file of that name, in the folder of the next pipelines
  ```yaml            a whole pipeline
  ```jsonl           all that `feedmill read --local` prints of the last pipeline
  ```jsonl --epoch N the same with this flag
  ```stderr          lines of its standard error; it exits with 1
A pipeline without a stderr block exits with 0, and the reference interpreter
gives the same order hash for the epoch. Each page has an example.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\S+)(?: (\S.*?))?\n(.*?)^```$", re.M | re.S)


class Example:
    def __init__(self, page, number, pipeline):
        self.name = f"{page.name}, example {number}"
        self.pipeline = pipeline
        self.reads = []  # (epoch, what is printed)
        self.stderr = []


def examples(page, folder):
    """The examples of a page; writes their files into the folder."""
    found = []
    for language, name, text in FENCE.findall(page.read_text(encoding="utf-8")):
        epoch = re.fullmatch(r"--epoch (\d+)", name)
        if language == "jsonl" and (epoch or not name):
            found[-1].reads.append((epoch[1] if epoch else "0", text))
        elif name:
            (folder / name).write_text(text, encoding="utf-8")
        elif language == "yaml":
            pipeline = folder / f"example{len(found) + 1}.yaml"
            pipeline.write_text(text, encoding="utf-8")
            found.append(Example(page, len(found) + 1, pipeline))
        elif language == "stderr":
            found[-1].stderr = text.splitlines()
    return found


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def breaches(feedmill, reference, example):
    if not example.reads:
        yield "shows no lines"
    for epoch, stdout in example.reads:
        command = (feedmill, "read", example.pipeline, "--local", "--epoch", epoch)
        read = run(*command)
        if read.stdout != stdout:
            yield f"prints\n{read.stdout}{read.stderr}and not\n{stdout}"
        for line in example.stderr:
            if line not in read.stderr.splitlines():
                yield f"says\n{read.stderr}and not\n{line}"
        if read.returncode != (1 if example.stderr else 0):
            yield f"exits with {read.returncode}"
        if not example.stderr:
            summary = run(*command, "--format", "summary")
            expected = run(reference, example.pipeline, epoch)
            if json.loads(summary.stdout)["order_hash"] != json.loads(expected.stdout)["order_hash"]:
                yield f"is in epoch {epoch} another sequence than the reference interpreter's"


def main():
    feedmill, reference, pages = sys.argv[1], sys.argv[2], sorted(pathlib.Path(sys.argv[3]).glob("*.md"))
    count, failed = 0, 0
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            found = examples(page, pathlib.Path(folder))
            if not found:
                print(f"{page.name}: has no example")
                failed += 1
            for example in found:
                count += 1
                for breach in breaches(feedmill, reference, example):
                    print(f"{example.name}: {breach}")
                    failed += 1
    print(f"{count} examples on {len(pages)} pages, {failed} breaches")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
