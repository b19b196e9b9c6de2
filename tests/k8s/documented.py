"""Runs the commands of docs/kubernetes.md, in order, then the commands of
docs/operate.md for Kubernetes. Runs inside of `cluster.py`.

documented.py --feedmill BINARY --image ARCHIVE

ARCHIVE is the image of `tools/package image`. If it is not there, an image is made of
the command, and the commands that need a shell in the image are left out.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import images
from cluster import BIN, sh

SOURCE = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ["K8S_FOLDER"])


def blocks(page: str) -> list[str]:
    text = (SOURCE / "docs" / page).read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


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
    parser.add_argument("--image", required=True, type=Path)
    options = parser.parse_args()
    give_storage()
    commands = blocks("kubernetes.md")
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        (Path(work) / "deploy").symlink_to(SOURCE / "deploy")
        packages = Path(work) / "build/packages"
        packages.mkdir(parents=True)
        if options.image.exists():
            (packages / options.image.name).symlink_to(options.image)
            commands += [each for each in blocks("operate.md") if "kubectl" in each]
        else:
            version = options.image.name.split("-")[1]
            archive = packages / options.image.name
            images.write_image(archive, f"feedmill:{version}", options.feedmill, "/usr/bin/feedmill")
            print(f"{options.image} is not there: the commands of operate.md are not run")
        path = f"{tools(FOLDER / 'bin', options.feedmill)}:{os.environ['PATH']}"
        # One shell for all: what a block leaves running serves the next one.
        script = "\n".join(["set -euo pipefail", "trap 'kill $(jobs -p)' EXIT", *commands])
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
    print(f"{len(commands)} blocks of commands ended with {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
