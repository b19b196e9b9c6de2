"""The S3 server versitygw (tools/setup --stores), a client that fills it, and a
proxy in front of it that fails as a test says."""
import datetime
import hashlib
import hmac
import http.client
import http.server
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import urllib.parse

from local_server import LocalServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import listens, pass_time  # noqa: E402

BINARY = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "feedmill/stores/versitygw"
ACCESS_KEY, SECRET_KEY = "AKIATEST", "s3cr3tK3y"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Gateway:
    """A server with the bucket "data", in a folder of its own."""

    def __init__(self, folder, flags=()):
        self.folder = pathlib.Path(folder)
        self.flags = flags
        (self.folder / "buckets/data").mkdir(parents=True)
        self.process = None
        for _ in range(5):  # another process may take the port first
            self.port = free_port()
            if self.start():
                return
        raise AssertionError((self.folder / "log").read_text())

    def start(self):
        environment = dict(os.environ, ROOT_ACCESS_KEY=ACCESS_KEY, ROOT_SECRET_KEY=SECRET_KEY)
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([BINARY, "--port", self.host, *self.flags, "posix", self.folder / "buckets"],
                                            env=environment, stdout=log, stderr=log)
        if listens(self.port, self.process):
            return True
        self.close()
        return False

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def close(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def request(self, method, path, body=b"", query=()):
        """A signed request (AWS Signature Version 4); `query`: (name, value). Returns the body of the answer."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        path = urllib.parse.quote(path)
        asked = "&".join(f"{name}={urllib.parse.quote(value, safe='')}" for name, value in sorted(query))
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        names = "host;x-amz-content-sha256;x-amz-date"
        canonical = "\n".join((method, path, asked, f"host:{self.host}", f"x-amz-content-sha256:{digest}",
                               f"x-amz-date:{now}", "", names, digest))
        text = "\n".join(("AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()))
        key = b"AWS4" + SECRET_KEY.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.request(method, f"{path}?{asked}" if asked else path, body, {
            "x-amz-content-sha256": digest, "x-amz-date": now,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/{scope}, SignedHeaders={names}, "
                             f"Signature={signature}"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status < 300, (method, path, answer.status, text)
        return text

    def put(self, key, body):
        self.request("PUT", f"/data/{key}", body)

    def put_folder(self, folder):
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file():
                self.put(path.relative_to(folder).as_posix(), path.read_bytes())


class Request:
    """A request as faults see it."""

    def __init__(self, number, method, path, headers):
        self.number = number  # from 0, of all requests
        self.method = method
        self.path = path
        self.headers = headers

    @property
    def is_range(self):
        header = self.headers.get("Range") or self.headers.get("x-ms-range")
        return bool(header) and header != "bytes=0-15"

    @property
    def begin(self):
        """The first byte of the range; -1 without one."""
        header = self.headers.get("Range") or self.headers.get("x-ms-range") or "bytes=-1-"
        return int(re.match(r"bytes=(-?\d+)", header)[1])


class FaultProxy(LocalServer):
    """Hands requests to a gateway, and answers itself where `fault` says so.

    delay: seconds before each answer
    certificate: (certificate, key): answers CONNECT as a proxy does, and itself
           plays the server behind it, over TLS
    fault: called with each Request; None, or ("status", code, {header: value},
           body), ("cut", bytes), ("drop",) for a connection that ends without an
           answer, ("delay", seconds), ("hang",), ("stall", bytes)
           for a hang after the head and some bytes of the answer, ("longer",
           bytes) for so many bytes more than asked for, ("short", bytes) for a
           whole answer of so many bytes
    """

    def __init__(self, gateway, delay=0.0, fault=None, certificate=None):
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.gateway = gateway
        self.delay = delay
        self.fault = fault
        self.adds = lambda _: ()  # called with each Request: further headers for the gateway
        self.joins_answers = False  # sends "100 Continue" together with the answer to a request without a body
        self.log = []  # (path, range header)
        self.seen = []  # all headers
        self.methods = []  # (method, path)
        super().__init__(_Handler)

    @property
    def count(self):
        return len(self.log)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    owner = None  # the FaultProxy

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.upstream = http.client.HTTPConnection(self.owner.gateway.host, timeout=60)

    def finish(self):
        self.upstream.close()
        super().finish()

    def handle_expect_100(self):
        super().handle_expect_100()
        if not self.owner.joins_answers or self.headers.get("Content-Length") != "0":
            self.wfile.flush()  # Azure's client waits for it
        return True

    def do_CONNECT(self):
        self.send_response_only(200)
        self.end_headers()
        self.wfile.flush()
        self.connection = self.owner.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", 1 << 16)
        self.close_connection = False

    def do_HEAD(self):
        self.do_GET()

    def do_PUT(self):
        self.do_GET()

    def do_POST(self):
        self.do_GET()

    def do_DELETE(self):
        self.do_GET()

    def body(self):
        """The bytes that the request has; None if it has no body."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        length = self.headers.get("Content-Length")
        return None if length is None else self.rfile.read(int(length))

    def do_GET(self):
        owner = self.owner
        sent = self.body()
        with owner.lock:
            request = Request(len(owner.log), self.command, self.path, self.headers)
            owner.log.append((self.path, self.headers.get("Range") or self.headers.get("x-ms-range")))
            owner.seen.append(dict(self.headers))
            owner.methods.append((self.command, self.path))
        fault = owner.fault(request) if owner.fault else None
        kind = fault[0] if fault else None
        if owner.delay:
            pass_time(owner.delay)
        if kind == "status":
            headers = fault[2] if len(fault) > 2 else {}
            return self.answer(fault[1], headers.items(), fault[3] if len(fault) > 3 else b"")
        if kind in ("hang", "drop"):
            owner.closing.wait(300 if kind == "hang" else 0)
            self.close_connection = True
            return None
        if kind == "delay":
            pass_time(fault[1])
        # The signature is over the Host header, so it stays as it is.
        self.upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("transfer-encoding", "expect"):
                self.upstream.putheader(name, value)
        for name, value in self.owner.adds(request):
            self.upstream.putheader(name, value)
        if sent is not None and "Content-Length" not in self.headers:
            self.upstream.putheader("Content-Length", str(len(sent)))
        self.upstream.endheaders(sent)
        answer = self.upstream.getresponse()
        body = answer.read()
        headers = [(name, value) for name, value in answer.getheaders()
                   if name.lower() not in ("content-length", "connection", "transfer-encoding")]
        size = answer.getheader("Content-Length") if self.command == "HEAD" else None
        if kind == "stall":
            return self.stall(answer.status, headers, body, fault[1])
        if kind == "longer":
            body += b"x" * fault[1]
        if kind == "short":
            body = body[:fault[1]]
        return self.answer(answer.status, headers, body, fault[1] if kind == "cut" else None, size)

    def stall(self, status, headers, body, count):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:count])
        self.wfile.flush()
        self.owner.closing.wait(300)
        self.close_connection = True

    def answer(self, status, headers, body, cut=None, size=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", size or str(len(body)))
        self.end_headers()
        if cut is not None and cut < len(body):
            body = body[:cut]
            self.close_connection = True
        try:
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
