#!/usr/bin/env python3
"""Decides which suites of real engines tools/test runs.

These suites take most of the time of all tests, and most changes cannot break them. A suite
runs again if one of the files in its row of ENGINES has changed since its last pass on this
machine. The passes are kept in ~/.cache/feedmill/passed, one file for each label. On a new machine,
where their binaries and compiled files are still to be made, tools/test --all runs them first.

  engines.py unchanged         prints the labels whose files are those of their last pass
  engines.py new               prints the labels that this machine has never run
  engines.py passed PRESET     records the labels that passed, from build/PRESET/failures.xml
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Label → files and folders that its tests exercise beyond what the other suites do.
# tools/setup, which installs the engines, belongs to each row.
ENGINES = {
    "browser": ("broker/status_report.cc", "monitoring", "tests/browser", "tools/page"),
    "dlio": ("bench/dlio", "python/feedmill", "tests/python/dlio_loader"),
    "earlier": ("broker/state_journal.cc", "core/wire", "schemas", "tests/compatibility"),
    "frameworks": ("client", "core/python", "docs/frameworks.md", "docs/migrate", "docs/tf.md", "python",
                   "tests/python"),
    "install": ("CMakeLists.txt", "README.md", "cmake", "docs/cpp.md", "examples/first_pipeline", "include",
                "tests/install"),
    "k8s": ("cloud", "core/cluster", "deploy/container", "deploy/helm", "deploy/k8s", "docs/kubernetes.md", "server",
            "tests/k8s"),
    "otlp": ("core/base", "monitoring", "tests/monitoring"),
    "packages": ("CMakeLists.txt", "cmake", "deploy/container", "deploy/debian", "pyproject.toml", "tests/packages",
                 "tools/debian_changelog", "tools/package", "tools/wheel"),
    "postgresql": ("broker/state_journal.cc", "core/storage", "tests/stores"),
    "prometheus": ("deploy/alerts.yaml", "monitoring", "tests/monitoring"),
    "ray": ("docs/ray.md", "python/feedmill/ray.py", "python/feedmill/servers.py", "tests/python/ray_cluster"),
    "slurm": ("core/cluster", "deploy/slurm", "docs/slurm.md", "server", "tests/shell"),
    "systemd": ("CMakeLists.txt", "cmake", "deploy/debian", "deploy/systemd", "docs/systemd.md", "tests/packages",
                "tools/package"),
    "wheel": ("CMakeLists.txt", "cmake", "pyproject.toml", "python", "tests/python/exits.py", "tests/python/wheel_test.py", "tools/wheel"),
}


def files_of(label):
    """The files of a row as they are in this checkout, committed or not."""
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard", "--", "tools/setup", *ENGINES[label]],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted(path for path in set(listed.split("\0")) if path and (ROOT / path).exists())


def digest(label):
    total = hashlib.sha256()
    for path in files_of(label):
        total.update(path.encode() + b"\0" + hashlib.sha256((ROOT / path).read_bytes()).digest())
    return total.hexdigest()


def record(label):
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "feedmill" / "passed" / label


def unchanged():
    return [label for label in ENGINES if record(label).exists() and record(label).read_text() == digest(label)]


def new():
    return [label for label in ENGINES if not record(label).exists()]


def enabled_tests(preset):
    """Label → names of its tests that a plain tools/test runs."""
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    tests = {label: set() for label in ENGINES}
    for test in json.loads(listed)["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        labels = properties.get("LABELS", [])
        if not properties.get("DISABLED") and "slow" not in labels:
            for label in tests.keys() & set(labels):
                tests[label].add(test["name"])
    return tests


def note_passes(preset):
    ran = {case.get("name"): case.get("status") == "run" and case.find("failure") is None
           for case in xml.parse(ROOT / "build" / preset / "failures.xml").getroot().iter("testcase")}
    for label, names in enabled_tests(preset).items():
        if names and all(ran.get(name) for name in names):
            record(label).parent.mkdir(parents=True, exist_ok=True)
            record(label).write_text(digest(label))
        elif any(ran.get(name) is False for name in names):
            record(label).parent.mkdir(parents=True, exist_ok=True)
            record(label).write_text("failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("unchanged", "new", "passed"))
    parser.add_argument("preset", nargs="?", default="release")
    arguments = parser.parse_args()
    if arguments.what in ("unchanged", "new"):
        labels = unchanged() if arguments.what == "unchanged" else new()
        print("".join(f"{label}\n" for label in labels), end="")
    else:
        note_passes(arguments.preset)
    return 0


if __name__ == "__main__":
    sys.exit(main())
