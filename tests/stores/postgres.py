"""Debian's PostgreSQL, a server of a test."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gateway import free_port

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import listens, wait_for  # noqa: E402


def programs():
    """The folder of PostgreSQL's programs; None if it is not installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Postgres:
    """A server with the database "feedmill", in a folder of its own."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.user = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}  # it refuses root
        if self.user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.port = free_port()
        self.process = None
        self.make()
        return self

    def make(self):
        self.run("initdb", "--auth", "trust", "--username", "feedmill", "--no-sync", "--pgdata", self.data)
        self.start()
        self.run("createdb", *self.place, "--username", "feedmill", "feedmill")

    def __exit__(self, *_):
        self.stop("immediate")
        shutil.rmtree(self.folder)

    @property
    def data(self):
        return self.folder / "data"

    @property
    def place(self):
        return ["--host", "127.0.0.1", "--port", str(self.port)]

    @property
    def url(self):
        return f"postgresql://feedmill@127.0.0.1:{self.port}/feedmill"

    def run(self, program, *arguments):
        done = subprocess.run([programs() / program, *arguments], cwd=self.folder, text=True, capture_output=True, **self.user)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        with open(self.folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [programs() / "postgres", "-D", self.data, "-p", str(self.port), "-h", "127.0.0.1", "-k", self.folder],
                cwd=self.folder, stdout=log, stderr=log, **self.user)
        assert listens(self.port, self.process), (self.folder / "log").read_text()
        wait_for(self.is_ready, "PostgreSQL to take connections", 30)

    def is_ready(self):
        return subprocess.run([programs() / "pg_isready", "--quiet", *self.place], check=False).returncode == 0

    def stop(self, how):
        if self.process is not None and self.process.poll() is None:
            self.run("pg_ctl", "stop", "--pgdata", self.data, "--mode", how)
            self.process.wait(30)


class Replica(Postgres):
    """A streaming copy of a server, whose commits wait for it."""

    def __init__(self, of):
        self.of = of

    def make(self):
        self.run("pg_basebackup", *self.of.place, "--username", "feedmill", "--write-recovery-conf", "--no-sync",
                 "--checkpoint", "fast", "--pgdata", self.data)
        self.start()
        for command in ("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"):
            self.run("psql", *self.of.place, "--username", "feedmill", "--command", command, "feedmill")

    @property
    def url(self):
        """Both servers."""
        return f"postgresql://feedmill@127.0.0.1:{self.of.port},127.0.0.1:{self.port}/feedmill"

    def promote(self):
        self.run("pg_ctl", "promote", "--pgdata", self.data)
