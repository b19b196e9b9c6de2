"""Servers that speak the protocols of Google's and Azure's stores
(tools/setup --stores), filled by pyarrow."""
import os
import pathlib
import sys
import signal
import subprocess

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import listens  # noqa: E402
import pyarrow.fs  # noqa: E402
from gateway import free_port  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "feedmill/stores"
# The account that each Azurite has.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class Server:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.process = None
        for _ in range(5):  # another process may take the port first
            self.port = free_port()
            if self.start():
                break
        else:
            raise AssertionError((self.folder / "log").read_text())
        self.files = self.client()
        self.files.create_dir("data")

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, start_new_session=True)
        if listens(self.port, self.process):
            return True
        self.close()
        return False

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def put(self, key, body):
        with self.files.open_output_stream(f"data/{key}", compression=None) as out:
            out.write(body)

    def delete(self, key):
        self.files.delete_file(f"data/{key}")

    def put_folder(self, folder):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                self.put(path.relative_to(folder).as_posix(), path.read_bytes())


class Google(Server):
    scheme = "gs"

    def command(self):
        return [CACHE / "fake-gcs-server", "-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port),
                "-backend", "memory"]

    def client(self):
        return pyarrow.fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=self.host, project_id="x")

    @staticmethod
    def environment(host):
        return {"STORAGE_EMULATOR_HOST": f"http://{host}"}


class Azure(Server):
    scheme = "az"

    def command(self):
        return [CACHE / "azurite/node_modules/.bin/azurite-blob", "--skipApiVersionCheck", "--disableTelemetry",
                "--silent", "--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", self.folder / "data"]

    def client(self):
        return pyarrow.fs.AzureFileSystem(ACCOUNT, account_key=KEY, blob_storage_authority=self.host,
                                          dfs_storage_authority=self.host, blob_storage_scheme="http",
                                          dfs_storage_scheme="http")

    @staticmethod
    def environment(host, key=KEY):
        return {"AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={key};"
                                                   f"BlobEndpoint=http://{host}/{ACCOUNT};"}
