"""A Debian 12 system in a folder, from a root of tools/setup --packages.

Commands run in it by systemd-nspawn, in the host's network, or with the system
booted in a network of its own. It needs root.
"""
import contextlib
import os
import pathlib
import sys
import re
import shutil
import signal
import subprocess
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import wait_for  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "feedmill/packages"
PACKAGES = REPOSITORY / "build/packages"


def package(name):
    """The file of a package that tools/package has made."""
    found = sorted(PACKAGES.glob(f"{name}_*.deb"))
    assert found, f"no {name}_*.deb in {PACKAGES}: run tools/package deb"
    return found[-1]


class DebianRoot:
    """A folder with a Debian system: DebianRoot("bookworm")."""

    def __init__(self, name):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="debian-root-", dir="/var/tmp"))
        self.path = self.folder / "root"
        self.path.mkdir()
        # systemd refuses a machine's name that ends with "-" or holds "_", as the folder's random name may.
        self.machine = f"debian-{uuid.uuid4().hex[:12]}"
        self.init = None
        self.booted = None
        subprocess.run(["tar", "-C", self.path, "-xf", CACHE / f"{name}.tar"], check=True)
        # Packages of Debian are fetched once for all roots.
        (CACHE / "archives/partial").mkdir(parents=True, exist_ok=True)
        (self.path / "packages").mkdir()
        (self.path / "first").mkdir()
        # An installed system has this file; mmdebstrap leaves it out.
        (self.path / "etc/hosts").write_text("127.0.0.1 localhost\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.booted:
            self.power_off()
        shutil.rmtree(self.folder, ignore_errors=True)

    def nspawn(self, *arguments):
        return ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--directory", str(self.path),
                "--machine", self.machine, f"--bind={CACHE}/archives:/var/cache/apt/archives",
                f"--bind-ro={PACKAGES}:/packages", f"--bind-ro={REPOSITORY}/examples/first_pipeline:/first", *arguments]

    def run(self, command, check=True, seconds=900):
        """Runs a shell command, booted or not; returns what it prints."""
        if self.booted:
            words = ["nsenter", "--target", str(self.init), "--all", "--", "sh", "-c", command]
        else:
            words = self.nspawn("--as-pid2", "--resolv-conf=copy-host", "--setenv=DEBIAN_FRONTEND=noninteractive",
                                "--pipe", "sh", "-c", command)
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds)
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def start(self, command, **streams):
        """Starts a shell command in the booted system."""
        return subprocess.Popen(["nsenter", "--target", str(self.init), "--all", "--", "sh", "-c", command], text=True, **streams)

    def install(self, *names):
        files = " ".join(f"/packages/{package(name).name}" for name in names)
        return self.run(f"apt-get -q -o Acquire::Retries=3 install -y --no-install-recommends {files}")

    def boot(self):
        self.console = open(self.folder / "console", "wb")
        self.booted = subprocess.Popen(self.nspawn("--boot", "--private-network"), stdin=subprocess.DEVNULL,
                                       stdout=self.console, stderr=self.console)
        self.init = wait_for(lambda: self.child_of(self.booted.pid), "the system to start")
        wait_for(lambda: self.run("systemctl is-system-running", check=False).strip() in ("running", "degraded"),
                 lambda: f"the system to boot\n{(self.folder / 'console').read_text(errors='replace')[-2000:]}", 120)

    @staticmethod
    def child_of(process):
        children = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for child in children:
            with contextlib.suppress(OSError):
                # Its first program sets namespaces up; then it is systemd.
                if re.search(r"systemd$|/init$", os.readlink(f"/proc/{child}/exe")) and \
                        b"nspawn" not in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
        return None

    def power_off(self):
        self.booted.send_signal(signal.SIGTERM)  # systemd-nspawn powers the system off
        try:
            self.booted.wait(60)
        except subprocess.TimeoutExpired:
            self.booted.kill()
            self.booted.wait()
        self.console.close()
        self.booted = None

    # ---- of a booted system

    def show(self, unit, name):
        return self.run(f"systemctl show --value --property={name} {unit}").strip()

    def main_process(self, unit):
        """The process in the host's numbers."""
        inner = self.show(unit, "MainPID")
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                numbers = re.search(r"^NSpid:\s*\d+\s+(\d+)$", status.read_text(), re.M)
                process = int(status.parent.name)
                if numbers and numbers[1] == inner and os.stat(f"/proc/{process}/ns/pid").st_ino == \
                        os.stat(f"/proc/{self.init}/ns/pid").st_ino:
                    return process
        raise AssertionError(f"{unit} has no process")
