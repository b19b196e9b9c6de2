"""Container images made by hand: no image registry is reached from a test machine.

images.py NAME:TAG=BINARY ARCHIVE

writes an OCI archive with the command feedmill and its shared libraries.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

_LAYER = "application/vnd.oci.image.layer.v1.tar"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def libraries(binary: str) -> list[str]:
    """The shared libraries of `binary` and its loader, as paths."""
    listed = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    return re.findall(r"(?:=> |^\s+)(/\S+) \(0x", listed, re.MULTILINE)


def _layer(files: dict[str, str]) -> bytes:
    """A tar of `files` (path in the image: file) with the folders above them."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        folders = {str(parent) for path in files for parent in Path(path).parents} - {".", "/"}
        for folder in sorted(folders | {"tmp"}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        for path, source in files.items():
            data = Path(os.path.realpath(source)).read_bytes()
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def full_name(name: str) -> str:
    """The name by which a node knows an image: without a registry, of Docker's."""
    registry = name.split("/")[0]
    return name if "." in registry and "/" in name else f"docker.io/library/{name}"


def write_image(archive: Path, name: str, binary: str, path: str) -> None:
    """Writes an OCI archive: `binary` at `path` with its libraries, as user 65532."""
    name = full_name(name)
    files = {path.lstrip("/"): binary}
    if b"ld-linux" in Path(binary).read_bytes()[:4096]:  # else static
        files |= {library.lstrip("/"): library for library in libraries(binary)}
    layer = _layer(files)
    blobs: dict[str, bytes] = {}

    def descriptor(kind: str, data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}

    layers = [descriptor(_LAYER, layer)]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": [path], "User": "65532:65532", "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [layers[0]["digest"]]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": descriptor(_CONFIG, json.dumps(config).encode()),
        "layers": layers,
    }
    entry = descriptor(_MANIFEST, json.dumps(manifest).encode())
    entry["annotations"] = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name,
    }
    index = {"schemaVersion": 2, "manifests": [entry]}
    with tarfile.open(archive, "w") as tar:
        contents = {
            "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps(index).encode(),
        }
        contents |= {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
        for file, data in contents.items():
            info = tarfile.TarInfo(file)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def extend_image(archive: Path, base: Path, name: str, binary: str, path: str) -> None:
    """Writes a Docker archive: the image of `base`, on top `binary` at `path` and its libraries."""
    # In Debian, /lib is a link to /usr/lib.
    files = {f"usr{library}".replace("usr/usr/", "usr/"): library for library in libraries(binary)}
    layer = _layer(files | {path.lstrip("/"): binary})
    digest = hashlib.sha256(layer).hexdigest()
    with tarfile.open(base) as old, tarfile.open(archive, "w") as new:

        def read(member: str) -> bytes:
            file = old.extractfile(member)
            assert file is not None, member
            return file.read()

        def write(member: str, data: bytes) -> None:
            info = tarfile.TarInfo(member)
            info.size = len(data)
            new.addfile(info, io.BytesIO(data))

        assert "manifest.json" in old.getnames(), f"{base} is old: run tools/package image"
        manifest = json.loads(read("manifest.json"))[0]
        config = json.loads(read(manifest["Config"]))
        for each in manifest["Layers"]:
            write(each, read(each))
        config["rootfs"]["diff_ids"].append(f"sha256:{digest}")
        config["history"] = [*config.get("history", []), {"created_by": "tests/k8s/images.py"}]
        manifest["Layers"].append(f"{digest}.tar")
        manifest["RepoTags"] = [full_name(name)]
        write(f"{digest}.tar", layer)
        write(manifest["Config"], json.dumps(config).encode())
        write("manifest.json", json.dumps([manifest]).encode())


if __name__ == "__main__":
    image, _, command = sys.argv[1].partition("=")
    write_image(Path(sys.argv[2]), image, command, "/usr/bin/feedmill")
