"""Runs the commands of docs/kubernetes.md, in order. Runs inside of `cluster.py`.

documented.py --feedmill BINARY
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cluster import BIN, sh

SOURCE = Path(__file__).resolve().parents[2]
PAGE = SOURCE / "docs/kubernetes.md"
FOLDER = Path(os.environ["K8S_FOLDER"])
NAMES = {"deploy": SOURCE / "deploy", "tests": SOURCE / "tests"}  # as seen from the working folder


def blocks() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def give_storage() -> None:
    """A default StorageClass with one volume, as clusters have."""
    state = FOLDER / "documented-volume"
    state.mkdir()
    state.chmod(0o777)
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "standard",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "documented"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "standard",
            "hostPath": {"path": str(state)},
        },
    }
    for item in [storage, volume]:
        sh(BIN / "kubectl", "apply", "-f", "-", text=json.dumps(item))


def tools(folder: Path, feedmill: str) -> Path:
    """A folder with `feedmill`, and `ctr` for the containerd of each node."""
    folder.mkdir()
    (folder / "feedmill").symlink_to(Path(feedmill).resolve())
    lines = [
        f'/usr/bin/ctr --address {node / "containerd.sock"} "$@"'
        for node in sorted(FOLDER.glob("n[0-9]*"))
    ]
    (folder / "ctr").write_text("\n".join(["#!/bin/sh -e", *lines, ""]))
    (folder / "ctr").chmod(0o755)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feedmill", required=True)
    options = parser.parse_args()
    give_storage()
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        for name, folder in NAMES.items():
            (Path(work) / name).symlink_to(folder)
        path = f"{tools(FOLDER / 'bin', options.feedmill)}:{os.environ['PATH']}"
        # One shell for all: what a block leaves running serves the next one.
        script = "\n".join(["set -euo pipefail", "trap 'kill $(jobs -p)' EXIT", *blocks()])
        # `kubectl port-forward` needs a moment before it listens.
        script = script.replace(
            "5050 &\n",
            "5050 &\nfor try in $(seq 300); do (: < /dev/tcp/127.0.0.1/5050) 2> /dev/null && break; sleep 0.2; done\n",
        )
        done = subprocess.run(
            ["bash", "-x", "-c", script],
            cwd=work,
            env=os.environ | {"PATH": path},
            check=False,
            timeout=900,
        )
    print(f"{len(blocks())} blocks of commands ended with {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
