"""tools/package names the tools that are missing before it builds anything."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(sys.argv[1])
NEEDED = ("bash", "dirname", "sed", "sort", "mkdir", "mktemp", "rm", "dpkg-deb", "xz", "tail")


def run(folder, *kinds):
    return subprocess.run(
        [REPOSITORY / "tools/package", *kinds], env={"PATH": folder, "HOME": folder}, capture_output=True, text=True, timeout=60
    )


def main():
    with tempfile.TemporaryDirectory() as folder:
        tools = pathlib.Path(folder)
        for name in NEEDED:
            (tools / name).symlink_to(shutil.which(name) or "/bin/true")
        built = tools / "built"
        for name in ("cmake", "ninja"):
            (tools / name).write_text(f"#!{shutil.which('bash')}\n: > {built}\nexit 1\n")
            (tools / name).chmod(0o755)
        done = run(folder, "deb", "tarball")
        assert done.returncode == 1, done
        for text in ("missing lintian patchelf", "tools/setup --packages"):
            assert text in done.stderr, done
        assert not built.exists(), "it built before it looked"
        (tools / "lintian").symlink_to("/bin/true")
        done = run(folder, "deb")
        assert done.returncode == 1 and built.exists(), done


main()
