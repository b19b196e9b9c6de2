"""Elements do not depend on the locale of the process, which a script may set."""

import json
import os
import subprocess
import sys

import pytest

# Both have a comma in numbers, and Turkish has another capital letter of "i".
LOCALES = ["de_DE", "tr_TR"]

# Prints what is read in the locale of its argument.
SCRIPT = r"""
import json, locale, pathlib, sys
import feedmill as fm

locale.setlocale(locale.LC_ALL, sys.argv[1])
comma = locale.localeconv()["decimal_point"]
elements = []
def read(dataset):
    elements.append([{k: repr(v) for k, v in e.items()} if isinstance(e, dict) else repr(e)
                     for e in dataset.read()])
read(fm.Dataset.csv("numbers.csv").map(a="a * 0.25 + 1.5e-3", b="b", c="c"))
read(fm.Dataset.csv("numbers.csv", fields={"a": "float32", "b": "float32", "c": "float64"}))
read(fm.Dataset.csv("numbers.csv").filter("a > 0.75"))
read(fm.Dataset.jsonl("numbers.jsonl", fields={"a": "float64", "b": "float32"}))
read(fm.Dataset.webdataset("numbers.tar", fields={"__key__": "bytes", "txt": "float64"}))
for pattern in ("?.txt", "[à-ö].txt", "*[!a].txt"):
    read(fm.Dataset.text(pattern))
read(fm.Dataset.from_yaml(pathlib.Path("pipeline.yaml")))
read(fm.Dataset.mixture([fm.Dataset.range(9), fm.Dataset.range(100, 109)], weights=[0.3, 0.7]))
print(json.dumps([comma, elements]))
"""
PIPELINE = """
source: {csv: {files: numbers.csv, header: TRUE, missing: ["", "TITI"]}}
steps:
  - map: {x: "a / 3 + .5", y: "where(a > 1.25, lower('TITI'), upper('i'))"}
  - padded_batch: {size: 2, values: {x: 0.5}}
options: {seed: 7}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "numbers.csv").write_text(
        "a,b,c\n0.5,1e400,-1e-400\n1.5,2.5,1e39\n1234.5,1,2e-46\n"
    )
    (tmp_path / "numbers.jsonl").write_text('{"a": 0.5, "b": 1e39}\n{"a": 1.5e3, "b": 2.5}\n')
    (tmp_path / "1.txt").write_text("2.75")
    subprocess.run(["tar", "-C", tmp_path, "-cf", tmp_path / "numbers.tar", "1.txt"], check=True)
    os.remove(tmp_path / "1.txt")
    for name in ("é", "a", "b"):
        (tmp_path / f"{name}.txt").write_text(f"line of {name}\n")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    return tmp_path


def read_in(name, folder):
    environment = dict(os.environ, LOCPATH=os.fspath(folder / "locales"))
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("name", LOCALES)
def test_a_locale_changes_no_element(name, folder):
    (folder / "locales").mkdir()
    # tools/setup installs localedef's sources of locales.
    made = folder / "locales" / f"{name}.UTF-8"
    subprocess.run(["localedef", "-i", name, "-f", "UTF-8", made], check=True)
    point, expected = read_in("C", folder)
    comma, elements = read_in(f"{name}.UTF-8", folder)
    assert (point, comma) == (".", ",")
    assert elements == expected
    assert expected[0][0]["a"] == "np.float64(0.1265)"
    assert expected[5] == [repr(f"line of {name}".encode()) for name in ("a", "b", "é")]
