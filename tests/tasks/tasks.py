#!/usr/bin/env python3
"""Runs each task of docs/tasks.md in YAML, in Python and in C++, and compares the elements.

    tests/tasks/tasks.py --write-program tasks.cc          the C++ of the page as a program
    PYTHONPATH=build/release/python tests/tasks/tasks.py --binary build/release/bin/feedmill
        --program build/release/bin/tasks_in_cpp

The Python and C++ of a task either define `data`, which is read here, or read themselves and call
train with each element."""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/python")]
from page_runner import FENCE  # noqa: E402
from waits import wait_for_file  # noqa: E402

BLOCK = re.compile(r"^```(yaml|sh|python|c\+\+)\n(.*?)^```$", re.M | re.S)
SERVICE = "localhost:5050"
WAIT = 60


class Task:
    def __init__(self, number, text):
        self.number = int(number)
        self.blocks = dict(BLOCK.findall(text))
        self.name = text.splitlines()[0]

    def commands(self):
        return self.blocks.get("sh", "feedmill read task.yaml --local\n")


def tasks_of(page):
    parts = re.split(r"^## (\d+)\. ", page, flags=re.M)
    return parts[0], [Task(number, text) for number, text in zip(parts[1::2], parts[2::2])]


def program_of(page):
    """The C++ of all tasks: a program whose argument is the number of one."""
    head, tasks = tasks_of(page)
    lines = ["#include <cstdio>", "#include <cstdlib>", "#include <feedmill/status.h>", dict(BLOCK.findall(head))["c++"],
             "void Train(const Element& element) { std::fprintf(stderr, \"%s\\n\", element.ToJson().c_str()); }",
             "absl::Status ReadAll(const Dataset& data) {",
             "  const auto reader = Read(data, {});",
             "  if (!reader.ok()) return reader.status();",
             "  for (const Element& element : **reader) Train(element);",
             "  return (*reader)->status();", "}"]
    for task in tasks:
        code = task.blocks["c++"].replace(f'"{SERVICE}"', 'std::getenv("SERVICE")')
        lines += [f"absl::Status Task{task.number}() {{", code, "" if "Train(" in code else "return ReadAll(data);", "}"]
    lines += ["int main(int, char** argv) {", "  absl::Status status;", "  switch (std::atoi(argv[1])) {"]
    lines += [f"    case {task.number}: status = Task{task.number}(); break;" for task in tasks]
    lines += ["  }", "  if (status.ok()) return 0;", "  std::puts(ErrorText(status).c_str());", "  return 1;", "}", ""]
    return "\n".join(lines)


def ran(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False, **more)


def elements_of(lines):
    return [json.loads(line) for line in lines.splitlines() if line]


def in_yaml(task, binary, service):
    pathlib.Path("task.yaml").write_text(task.blocks["yaml"])
    commands = task.commands().replace(SERVICE, service).replace("feedmill", str(binary))
    done = ran(["bash", "-euc", commands])
    assert done.returncode == 0, done.stderr
    return elements_of(done.stdout)


def plain(value):
    """An element as the command prints it."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    if getattr(value, "dtype", "") == "float32":
        return [plain(row) for row in value] if value.ndim else plain(float(str(value)))
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return [plain(item) for item in value] if isinstance(value, list) else value


def in_python(task, service, head):
    elements = []
    names = {"train": lambda element: elements.append(plain(element))}
    code = task.blocks["python"]
    exec(compile(head + code.replace(SERVICE, service), f"task {task.number}", "exec"), names)
    if "train(" not in code:
        elements = [plain(element) for element in names["data"].read()]
    return elements


def in_cpp(task, program, service):
    done = ran([program, str(task.number)], env=dict(os.environ, SERVICE=service))
    assert done.returncode == 0, done.stdout
    return elements_of("\n".join(line for line in done.stderr.splitlines() if line[:1] in "{[-0123456789"))


def zstd_frame(data):
    """A frame of one block that is not compressed."""
    size = len(data)
    return b"\x28\xb5\x2f\xfd\xa0" + size.to_bytes(4, "little") + (size << 3 | 1).to_bytes(3, "little") + data


def make_all_files(page):
    from example_files import make_files
    make_files(pathlib.Path())
    for _, name, body in FENCE.findall(page):
        if name:
            pathlib.Path(name).write_text(body)
    texts = [{"text": f"the text of line {k}, " * (1 + k % 3), "lang": "de" if k % 4 == 3 else "en"} for k in range(12)]
    pathlib.Path("corpus.jsonl.zst").write_bytes(zstd_frame("".join(json.dumps(text) + "\n" for text in texts).encode()))
    try:
        import pyarrow.parquet
    except ImportError:
        return False
    pathlib.Path("sales").mkdir()
    table = pyarrow.table({"year": [2024, 2025, 2025, 2025], "amount": [5.0, 12.5, 8.0, 99.0], "shop": list("abca"), "note": list("wxyz")})
    pyarrow.parquet.write_table(table, "sales/0.parquet", row_group_size=2)
    return True


def compare(page, binary, program):
    head, tasks = tasks_of(page)
    assert [task.number for task in tasks] == list(range(1, 21))
    begin = dict(BLOCK.findall(head))["python"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        has_parquet = make_all_files(page)
        server = subprocess.Popen([binary, "up", "--workers", "2", "--ready-file", "ready"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            service = wait_for_file(pathlib.Path("ready"), server, WAIT)
            for task in tasks:
                if "parquet" in task.blocks["yaml"] and not has_parquet:
                    continue
                want = in_yaml(task, binary, service)
                assert want, task.name
                for language, got in (("Python", in_python(task, service, begin)), ("C++", in_cpp(task, program, service))):
                    assert got == want, f"task {task.number}: {language} gives {got}, YAML {want}"
                print(f"{task.number}. {task.name}: {len(want)} elements in three languages")
        finally:
            server.terminate()
            server.wait()
            os.chdir("/")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write-program", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path)
    flags = parser.parse_args()
    page = (ROOT / "docs/tasks.md").read_text()
    if flags.write_program:
        flags.write_program.write_text(program_of(page))
        return
    compare(page, flags.binary.resolve(), flags.program.resolve())


if __name__ == "__main__":
    main()
