"""Packages as a user installs them, on Debian systems that have nothing else.

    packages.py CHECK       (a function below)
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from debian_root import CACHE, PACKAGES, REPOSITORY, DebianRoot, package

FIRST = '{"area":[0.705,1.4,0.66],"price":[210.0,410.0,199.0]}\n{"area":[0.52,1.12,0.48],"price":[158.0,345.0,150.0]}\n'
# From a service to its first batches. $feedmill is the command.
READ = """
cd /first
${feedmill:-feedmill} up --workers 2 --port 0 --ready-file /tmp/address 2> /tmp/log & service=$!
for i in $(seq 600); do [ -e /tmp/address ] && break; sleep 0.1; done
${feedmill:-feedmill} read houses.yaml --service "$(cat /tmp/address)" || { cat /tmp/log; exit 1; }
kill $service; wait $service
"""
COMPILERS = "for name in cc gcc g++ c++ clang cmake; do if command -v $name; then exit 1; fi; done"


def build():
    """tools/package, whose lintian finds neither errors nor warnings."""
    subprocess.run([REPOSITORY / "tools/package", "deb", "tarball"], check=True)


def debs():
    """From `apt install` to the first batches of a service, with the seconds printed; then the other packages; then none."""
    with DebianRoot("bookworm") as root:
        root.run("apt-get -q update")
        begun = time.monotonic()
        root.install("feedmill")
        printed = root.run(READ)
        seconds = time.monotonic() - begun
        assert printed == FIRST, printed
        root.run(COMPILERS)
        print(f"first batches through a service {seconds:.1f} s after 'apt-get install' began; "
              f"packages in the root: {root.run('dpkg-query -W | wc -l').strip()}")
        assert "feedmill dispatcher" in root.run("zcat /usr/share/man/man1/feedmill-dispatcher.1.gz | tr -d '\\\\'")
        assert "feedmill steps" in root.run("cat /usr/share/doc/feedmill/docs/steps.md")
        assert root.run("stat -c '%U %a' /etc/feedmill/dispatcher.yaml") == "root 644\n"
        assert root.run("getent passwd feedmill").startswith("feedmill:x:")
        python(root)
        arrow(root)
        tokenizers(root)
        root.run("apt-get -q purge -y feedmill python3-feedmill 'feedmill-*'")
        left = root.run("find / -xdev -iname '*feedmill*' -not -path '/proc/*' -not -path '/sys/*' -not -path '/packages/*'"
                        " -not -path '/first/*' -not -path '/var/cache/apt/archives/*' -not -path '/var/lib/dpkg/*'"
                        " -not -path '/tmp/*'")
        assert not left.strip(), f"left after a purge: {left}"


def wheel():
    """From `pip install` of the wheel to the first batches of a service, in C++ and in Python, with the seconds printed."""
    with DebianRoot("bookworm") as root:
        subprocess.run([REPOSITORY / "tools/wheel", "--python", "/usr/bin/python3"], check=True, stdout=subprocess.DEVNULL)
        made = max((REPOSITORY / "build/packages").glob("feedmill-*.whl"), key=os.path.getmtime)
        shutil.copy(made, root.path / "srv")
        root.run("apt-get -q update")
        begun = time.monotonic()
        # NumPy of Debian, so that pip fetches nothing.
        root.run("apt-get -q install -y --no-install-recommends python3-venv python3-numpy")
        root.run(f"python3 -m venv --system-site-packages /opt/feedmill && /opt/feedmill/bin/pip install -q /srv/{made.name}")
        printed = root.run("export feedmill=/opt/feedmill/bin/feedmill\n" + READ)
        seconds = time.monotonic() - begun
        assert printed == FIRST, printed
        root.run(COMPILERS)
        print(f"first batches through a service {seconds:.1f} s after the installation of Python began")
        printed = root.run("cd /first && /opt/feedmill/bin/python -c \"\nimport feedmill as fm\n"
                           "with fm.DispatchServer(port=0) as d, fm.WorkerServer(d.target):\n"
                           "    for batch in fm.Dataset.csv('houses.csv').batch(2).read(d.target):\n"
                           "        print(batch['rooms'])\n\"")
        assert printed.startswith("[3 1]"), printed


def python(root):
    root.install("python3-feedmill")
    printed = root.run("cd /first && python3 -c \"\nimport feedmill as fm\nfor batch in fm.Dataset.csv('houses.csv').batch(2).read():\n"
                       "    print(batch['rooms'])\n    break\nimport importlib.metadata\nprint(importlib.metadata.version('feedmill') == fm.__version__)\"")
    assert printed.startswith("[") and printed.endswith("True\n"), printed


def arrow(root):
    wheels = list((CACHE.parent / "arrow").glob("pyarrow-26*"))
    if not list(PACKAGES.glob("feedmill-arrow_*.deb")) or not wheels:
        print("feedmill-arrow is not built: not checked")
        return
    root.install("feedmill-arrow")
    file = root.path / "srv/numbers.parquet"
    subprocess.run(["python3", "-c", "import sys, pyarrow, pyarrow.parquet\n"
                    "pyarrow.parquet.write_table(pyarrow.table({'a': [1, 2, 3]}), sys.argv[1])", file],
                   check=True, env=dict(os.environ, PYTHONPATH=str(wheels[-1])))
    printed = root.run("echo 'source: {parquet: {files: /srv/numbers.parquet}}' > /tmp/p.yaml && feedmill read /tmp/p.yaml --local")
    assert printed == '{"a":1}\n{"a":2}\n{"a":3}\n', printed


def tokenizers(root):
    if not list(PACKAGES.glob("feedmill-tokenizers_*.deb")):
        print("feedmill-tokenizers is not built: not checked")
        return
    root.install("feedmill-tokenizers")
    shutil.copy(REPOSITORY / "tests/python/tokenizers/bpe.json", root.path / "srv/bpe.json")
    file = "'/srv/bpe.json'"
    again = f"detokenize(tokenize(to_string(x + 41), {file}), {file})"
    (root.path / "srv/t.yaml").write_text(f'source: {{range: 1}}\nsteps: [map: "{again}"]\n')
    printed = root.run("feedmill read /srv/t.yaml --local")
    assert printed == '"41"\n', printed


def tarball():
    """Runs from any folder of a system that has nothing but the C library."""
    archive, = PACKAGES.glob("feedmill-*-linux-*.tar.xz")
    with DebianRoot("bookworm") as root:
        place = root.path / "opt/a b"
        place.mkdir()
        subprocess.run(["tar", "-C", place, "-xf", archive], check=True)
        folder = archive.name.removesuffix(".tar.xz")
        printed = root.run(f"ln -s '/opt/a b/{folder}/bin/feedmill' /usr/bin/feedmill\n{READ}")
        assert printed == FIRST, printed
        printed = root.run(f"mv '/opt/a b/{folder}' /moved; rm /usr/bin/feedmill; feedmill=/moved/bin/feedmill\n{READ}")
        assert printed == FIRST, printed
        if (root.path / "moved/lib/feedmill/libfeedmill_arrow.so").exists():
            root.path.joinpath("srv/p.yaml").write_text("source: {parquet: {files: /nothing.parquet}}\n")
            printed = root.run("/moved/bin/feedmill read /srv/p.yaml --local 2>&1", check=False)
            assert "/nothing.parquet" in printed and "plugin" not in printed, printed


def development():
    """Installed beside a compiler on a bare Debian 12, libfeedmill-dev builds the first program of docs/cpp.md."""
    with DebianRoot("bookworm") as root:
        root.run("apt-get -q update")
        root.install("libfeedmill0.1", "libfeedmill-dev")
        root.run("apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends g++ cmake ninja-build")
        printed = root.run("cp -r /first /srv/first && cd /srv/first && "
                           "{ cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build; } >&2 && "
                           "build/first_pipeline && ldd build/first_pipeline | grep -o '/.*libfeedmill[^ ]*'")
        assert printed.startswith("epoch 0\n70.5 m2 210 k"), printed
        assert re.search(r"^/(usr/)?lib/x86_64-linux-gnu/libfeedmill", printed, re.M), printed


def image():
    """The image runs a service as a user without rights."""
    version = package("feedmill").name.split("_")[1].split("-")[0]
    subprocess.run([REPOSITORY / "tools/package", "base", "image"], check=True)
    container = subprocess.run(["buildah", "from", f"localhost/feedmill:{version}"], check=True, capture_output=True,
                               text=True).stdout.strip()
    try:
        # chroot: no container runtime is needed.
        printed = subprocess.run(["buildah", "run", "--isolation", "chroot", "--volume",
                                  f"{REPOSITORY}/examples/first_pipeline:/first:ro", container, "--", "sh", "-c",
                                  f"id -u; {READ}"], check=True, capture_output=True, text=True).stdout
        assert printed == "65532\n" + FIRST, printed
    finally:
        subprocess.run(["buildah", "rm", container], check=True, stdout=subprocess.DEVNULL)


def image_with_python():
    """The image of docs/python_functions.md runs Python functions of a trainer with the same versions."""
    version = package("feedmill").name.split("_")[1].split("-")[0]
    page = (REPOSITORY / "docs/python_functions.md").read_text()
    text = re.search(r"^```dockerfile\n(.*?)^```$", page, re.M | re.S)[1]
    text = text.replace(f"docker.io/library/feedmill:{version}", f"localhost/feedmill:{version}")
    name = f"localhost/feedmill-python:{version}"
    # The trainer's module is put in, so that one container is trainer and worker.
    text += "USER root\nCOPY *.deb /tmp/\nRUN dpkg -i /tmp/*.deb || (apt-get update && apt-get install -y -f)\nUSER 65532:65532\n"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(package("python3-feedmill"), folder)
        subprocess.run(["buildah", "build", "--quiet", "--isolation", "chroot", "--network", "host", "--tag", name, "--file", "-",
                        folder], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    container = subprocess.run(["buildah", "from", name], check=True, capture_output=True, text=True).stdout.strip()
    try:
        script = ("feedmill up --workers 1 --port 0 --allow-python /usr/bin/python3 --ready-file /tmp/address 2> /tmp/log & "
                  "for i in $(seq 600); do [ -e /tmp/address ] && break; sleep 0.1; done; python3 -c 'import feedmill as fm\n"
                  "print(sum(int(x) for x in fm.Dataset.range(9).map(lambda x: x * x, python=True).read(open(\"/tmp/address\").read().strip())))'"
                  " || cat /tmp/log; kill $!")
        printed = subprocess.run(["buildah", "run", "--isolation", "chroot", container, "--", "sh", "-c", script], check=True,
                                 capture_output=True, text=True).stdout
        assert printed == "204\n", printed
    finally:
        subprocess.run(["buildah", "rm", container], check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=["build", "debs", "wheel", "tarball", "development", "image", "image_with_python"])
    globals()[parser.parse_args().check]()


if __name__ == "__main__":
    sys.exit(main())
