"""Health checks of a dispatcher beside 300 clients that send and read slowly, and the memory that these take.

    slow_clients.py CHECK --binary feedmill_sleepy    (a function below)
"""
import collections
import os
import pathlib
import random
import selectors
import socket
import threading
import time

from monitoring import CHEAP, main, wait_for

CLIENTS = 300
CONNECTIONS_MAX = 128 + 32  # of HttpServer and EventStreams
GROWTH_MAX_MIB = 200  # unread answers may take 64 MiB, and their texts as much while they are made
HOST = b" HTTP/1.1\r\nHost: localhost\r\n"


class SlowClients:
    """Each client sends or reads a few bytes now and then, and connects again when it is dropped."""

    KINDS = {
        "silent": b"",
        "head": b"GET /healthz" + HOST + b"X: " + b"a" * 5000,
        "body": b"POST /api/jobs/cancel" + HOST + b"Content-Length: 60000\r\n\r\n" + b"a" * 59999,
        "page": b"GET /" + HOST + b"\r\n",
        "status": b"GET /api/status" + HOST + b"\r\n",
        "metrics": b"GET /metrics" + HOST + b"\r\n",
        "stream": b"GET /api/stream" + HOST + b"\r\n",
    }

    def __init__(self, url):
        self.at = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.ends = False
        self.connected = collections.Counter()  # by kind
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        rest, chance = {}, random.Random(7)
        kinds = list(self.KINDS)
        with selectors.DefaultSelector() as waiting:
            while not self.ends:
                while len(rest) < CLIENTS:
                    client = socket.socket()
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
                    client.connect(self.at)
                    client.setblocking(False)
                    kind = chance.choice(kinds)
                    self.connected[kind] += 1
                    request = self.KINDS[kind]
                    late = 1000 if kind in ("head", "body") else 0  # bytes that are sent one by one
                    rest[client] = request[len(request) - late:]
                    self.send(client, request[:len(request) - late])
                    waiting.register(client, selectors.EVENT_READ)
                for client, text in list(rest.items()):
                    if chance.random() < 0.1 and text:
                        self.send(client, text[:1])
                        rest[client] = text[1:]
                for key, _ in waiting.select(0.1):
                    if chance.random() < 0.5:
                        continue  # it reads slowly, or does not see that it was dropped
                    if not self.receive(key.fileobj):
                        waiting.unregister(key.fileobj)
                        key.fileobj.close()
                        del rest[key.fileobj]
            for client in rest:
                client.close()

    @staticmethod
    def send(client, text):
        try:
            client.send(text)
        except OSError:
            pass  # dropped: the next read says so

    @staticmethod
    def receive(client):
        try:
            return client.recv(100) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def close(self):
        self.ends = True
        self.thread.join()


def memory_mib(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def probe(cluster, path):
    """Seconds that the answer took."""
    begun = time.monotonic()
    assert cluster.get(path) == {"/healthz": "ok\n", "/readyz": "ready\n"}[path]
    return time.monotonic() - begun


def beside_slow_clients(cluster, ends):
    """Yields seconds of health checks until `ends(clients)`; checks memory and connections meanwhile."""
    dispatcher = cluster.dispatcher()
    cluster.worker("w0")
    cluster.read(CHEAP)
    wait_for(lambda: cluster.job().get("positions_taken", 0) > 0, cluster.logs)
    files = len(os.listdir(f"/proc/{dispatcher.pid}/fd"))
    memory = memory_mib(dispatcher)
    clients = SlowClients(cluster.http)
    try:
        while not ends(clients):
            for path in ("/healthz", "/readyz"):
                yield probe(cluster, path)
            open_files = len(os.listdir(f"/proc/{dispatcher.pid}/fd"))
            assert open_files <= files + CONNECTIONS_MAX + 10, (files, open_files)
    finally:
        clients.close()
    grown = memory_mib(dispatcher) - memory
    print(f"{clients.connected.total()} connections {dict(clients.connected)}; the dispatcher grew by {grown} MiB")
    assert grown <= GROWTH_MAX_MIB, f"{grown} MiB"


def answers(cluster):
    """No health check is refused while every client was dropped, and came again, about five times."""
    for _ in beside_slow_clients(cluster, lambda clients: clients.connected.total() >= 5 * CLIENTS):
        pass


def answers_within_a_second(cluster):
    """Every health check of a minute is answered within a second."""
    end = time.monotonic() + 60
    slowest = 0
    for seconds in beside_slow_clients(cluster, lambda _: time.monotonic() > end):
        slowest = max(slowest, seconds)
    print(f"the slowest health check took {slowest:.3f} s")
    assert slowest <= 1


if __name__ == "__main__":
    main(globals())
