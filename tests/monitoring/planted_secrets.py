"""URLs with a secret in their login, query or fragment are read through a service and without one. No error, log, status,
metric or event has the secret, and other accounts cannot read the dispatcher's work-dir, which has whole URLs.

    planted_secrets.py CHECK --binary feedmill    (a function below)
"""
import concurrent.futures
import http.server
import json
import os
import random
import stat
import string
import subprocess
import threading
import urllib.parse

from monitoring import main

SECRET = "gEhEiM7"
# By the end of the path. Other paths are not found.
BODIES = {".txt": b"1\n2\nthree\n", ".csv": b"a,b\n1,2\n3\n", ".jsonl": b'{"a": 1}\n{"a": \n', ".gz": b"\x1f\x8b\x08damaged",
          ".jpg": b"\xff\xd8\xff\xe0damaged", ".tfrecord": b"damaged" * 10}
SOURCES = ("text", "csv", "jsonl", "tfrecord", "images")


class WebServer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        body = next((body for end, body in BODIES.items() if path.endswith(end)), None)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body or b"")

    do_HEAD = do_GET

    def log_message(self, *arguments):
        pass


def secret_text(chance, without):
    """The secret between characters that a URL can have, or cannot have without an escape."""
    letters = [c for c in string.ascii_letters + string.digits + string.punctuation + " " if c not in without]
    if chance.random() < 0.5:
        letters = string.ascii_letters
    return "".join((*chance.choices(letters, k=chance.randrange(5)), SECRET, *chance.choices(letters, k=chance.randrange(5))))


def url(chance, port):
    scheme = chance.choice(("http",) * 6 + ("HTTP", "Https", "ftp", "s3a"))
    # The characters that url_secrets.cc names: a blank in a query, and "/" in a password with "@" or digits at its front.
    password = "x" + secret_text(chance, chance.choice(("/?#", "@")))
    login = chance.choice(("", f"me:{password}@", f"{urllib.parse.quote(password, '')}@", f"me:{urllib.parse.quote(password, '')}@"))
    query = chance.choice(("", "", "?sig=" + secret_text(chance, " #"), "?" + urllib.parse.quote(secret_text(chance, "")),
                           "#" + secret_text(chance, " ")))
    folder = chance.choice(("", "/a b", "/*", "/ä", "/%zz", "/x@y"))
    name = "/" + chance.choice("abc") + chance.choice((*BODIES, "", ".none", ".txt.gz"))
    return f"{scheme}://{login}127.0.0.1:{port}{folder}{name}{query}"


def pipeline(chance, port):
    files = [url(chance, port) for _ in range(chance.choice((1, 1, 2)))]
    steps = []
    if chance.random() < 0.5:
        steps = [{"map": {"n": "to_number(x, int64)"}}, {"on_error": "skip"}]
    return json.dumps({"source": {chance.choice(SOURCES): {"files": files if chance.random() < 0.5 else files[0]}},
                       "steps": steps, "options": {"seed": 1}})


def read(cluster, port, seed):
    """Reads random URLs; returns the exit status."""
    chance = random.Random(seed)
    path = cluster.folder / f"pipeline{seed}.json"
    path.write_text(pipeline(chance, port))
    where = chance.choice((("--local",), ("--local", "--explain"), *(("--service", cluster.service, "--job", f"job{seed}"),) * 3))
    done = subprocess.run([cluster.binary, "read", path, *where, "--timeout", "5s", "--format", "jsonl"], capture_output=True,
                          text=True, errors="replace", timeout=120,
                          env=dict(cluster.environment, FEEDMILL_HTTP_PATIENCE="1s"))
    text = path.read_text()
    path.unlink()
    assert SECRET not in done.stderr, f"{text}\n{done.stderr}"
    # The component "path" of images is a whole name.
    assert '"images"' in text or SECRET not in done.stdout, f"{text}\n{done.stdout}"
    return done.returncode


def look(cluster, work):
    """Everything that operators see of the service."""
    status = [cluster.binary, "status", "--service", cluster.service]
    seen = {path: cluster.get(path) for path in ("/metrics", "/api/status", "/api/events")}
    for flags in ((), ("--format", "json"), ("--events",), ("--events", "--format", "json")):
        seen[flags] = subprocess.run([*status, *flags], capture_output=True, text=True, check=True, timeout=60).stdout
    for log in cluster.folder.glob("*.log"):
        seen[log.name] = log.read_text(errors="replace")
    for name, text in seen.items():
        at = text.find(SECRET)
        assert at < 0, f"{name}: {text[max(at - 300, 0):at + 100]}"
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    for path in work.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert any(SECRET.encode() in path.read_bytes() for path in work.iterdir()), "the journal has no URL: nothing was tested"


def read_all(cluster, count):
    os.umask(0o022)
    work = cluster.folder / "work"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), WebServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster.environment["FEEDMILL_HTTP_PATIENCE"] = "1s"
    cluster.dispatcher("--work-dir", work, "--log-level", "debug")
    cluster.worker("w0", "--log-level", "debug", threads=2)
    with concurrent.futures.ThreadPoolExecutor(4) as readers:
        codes = list(readers.map(lambda seed: read(cluster, server.server_port, seed), range(count)))
    assert 0 in codes and 1 in codes and 2 in codes, codes
    look(cluster, work)
    server.shutdown()


def some(cluster):
    """40 reads."""
    read_all(cluster, 40)


def ten_thousand(cluster):
    """10,000 reads, of more URLs."""
    read_all(cluster, 10_000)


if __name__ == "__main__":
    main(globals())
