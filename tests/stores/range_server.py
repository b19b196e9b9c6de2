"""A web server of one folder that knows ranges and versions, for tests, and that
fails as a test says. Its port is chosen by the system."""
import email.utils
import gzip
import http.server
import os
import pathlib
import re
import socket
import ssl
import sys
import urllib.parse

from local_server import LocalServer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from waits import pass_time  # noqa: E402


class Request:
    """A request as faults see it."""

    def __init__(self, number, path, headers):
        self.number = number  # from 0, of all requests
        self.path = path
        self.headers = headers


class RangeServer(LocalServer):
    """Answers GET for the files below `folder`.

    version: "etag", "modified" (Last-Modified only), "weak" (a weak ETag only),
             "weak_modified" (both) or "none"
    ranges:  False: answers 200 with the whole file to each request
    delay:   seconds before each answer
    fault:   called with each Request; None, or what to do instead:
             ("status", code, {header: value}), ("cut", bytes), ("short", bytes),
             ("delay", seconds), ("hang",), ("redirect", url), ("longer", bytes)
             and ("shifted", bytes) for another range than asked, ("chunked", bytes)
             for more bytes than the range that is named, ("behind", data) for
             bytes behind the answer, which come with the next request of the
             connection, ("undelimited", bytes) for a body without a length that
             ends with the connection after so many bytes, ("coded", name) for
             a Content-Encoding, ("decompressed",) for what Google's store does
             with an object of Content-Encoding gzip
    """

    def __init__(self, folder, version="etag", ranges=True, delay=0.0, fault=None, certificate=None):
        self.folder = pathlib.Path(folder)
        self.version = version
        self.ranges = ranges
        self.delay = delay
        self.fault = fault
        self.log = []  # (path, range header, status)
        self.under_way = 0
        self.most_under_way = 0
        self.count = 0
        self.scheme = "https" if certificate else "http"
        context = None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
        super().__init__(_Handler, context)

    @property
    def url(self):
        return f"{self.scheme}://{self.host}"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    owner = None  # the RangeServer
    behind = b""  # bytes of the last answer that are not sent yet

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_GET(self):
        owner = self.owner
        self.wfile.write(self.behind)
        self.behind = b""
        with owner.lock:
            request = Request(owner.count, self.path, self.headers)
            owner.count += 1
            owner.under_way += 1
            owner.most_under_way = max(owner.most_under_way, owner.under_way)
        try:
            if owner.delay:
                pass_time(owner.delay)
            self.answer(owner.fault(request) if owner.fault else None)
        finally:
            with owner.lock:
                owner.under_way -= 1

    def empty(self, status, headers=()):
        self.owner.log.append((self.path, self.headers.get("Range"), status))
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def answer(self, fault):
        kind = fault[0] if fault else None
        if kind == "status":
            return self.empty(fault[1], fault[2] if len(fault) > 2 else {})
        if kind == "redirect":
            return self.empty(302, {"Location": fault[1]})
        if kind == "hang":
            self.owner.closing.wait(60)
            self.close_connection = True
            return None
        if kind == "delay":
            pass_time(fault[1])
        path = self.owner.folder / urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).lstrip("/")
        try:
            file = open(path, "rb")
        except OSError:
            return self.empty(404)
        with file:
            # The name may mean another file by now, and its version would stand before the content of this one.
            return self.send_file(file, os.fstat(file.fileno()), kind, fault)

    def send_file(self, file, stat, kind, fault):
        size = stat.st_size
        etag = f'"{stat.st_mtime_ns:x}-{size:x}"'
        modified = email.utils.formatdate(stat.st_mtime, usegmt=True)
        version = {"etag": {"ETag": etag}, "modified": {"Last-Modified": modified}, "none": {}, "weak": {"ETag": f"W/{etag}"},
                   "weak_modified": {"ETag": f"W/{etag}", "Last-Modified": modified}}[self.owner.version]
        # A weak ETag never matches.
        if self.headers.get("If-Match", etag) != etag:
            return self.empty(412)
        since = self.headers.get("If-Unmodified-Since")
        if since and int(stat.st_mtime) > email.utils.parsedate_to_datetime(since).timestamp():
            return self.empty(412)
        begin, end, status = 0, size, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and self.owner.ranges and kind != "decompressed":
            begin, end, status = int(asked[1]), min(int(asked[2]) + 1, size), 206
            if begin >= size:
                return self.empty(416, {"Content-Range": f"bytes */{size}"})
            if kind == "short":
                end = min(end, begin + fault[1])
            if kind == "longer":
                end = min(end + fault[1], size)
            if kind == "shifted":
                begin = min(begin + fault[1], end - 1)
        file.seek(begin)
        data = file.read(end - begin)
        if kind == "decompressed":
            data = gzip.decompress(data)
        self.owner.log.append((self.path, self.headers.get("Range"), status))
        self.send_response(status)
        for name, value in version.items():
            self.send_header(name, value)
        if kind == "decompressed":
            self.send_header("x-goog-stored-content-encoding", "gzip")
        if kind == "coded":
            self.send_header("Content-Encoding", fault[1])
        if status == 206:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        if kind == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        elif kind == "undelimited":
            self.send_header("Connection", "close")
            data = data[:fault[1]]
        else:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if kind == "chunked":
            data += b"x" * fault[1]
            data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
        if kind == "cut" and fault[1] < len(data):
            data = data[:fault[1]]
            self.close_connection = True
        if kind == "behind":
            self.behind = fault[1]
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        return None
