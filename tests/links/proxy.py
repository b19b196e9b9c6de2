"""A TCP proxy that behaves like a network: a link of limited rate, late by a fixed delay, whose connections may be reset."""
import collections, os, pathlib, random, socket, struct, sys, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import waits  # noqa: E402

CHUNK = 256 << 10


class Direction:
    """One way of one connection: bytes arrive `delay` after they came, no faster than the link carries them."""

    def __init__(self, proxy, source, target, link):
        self.proxy, self.source, self.target, self.link = proxy, source, target, link
        self.waiting, self.bytes, self.ended = collections.deque(), 0, False
        self.changed = threading.Condition()
        for work in (self.receive, self.deliver):
            threading.Thread(target=work, daemon=True).start()

    def receive(self):
        try:
            while data := self.source.recv(CHUNK):
                with self.changed:
                    # Bytes on the link, and in a queue before it as routers have.
                    self.changed.wait_for(lambda: self.bytes < self.proxy.queue_bytes or self.ended)
                    self.waiting.append((time.monotonic() + self.proxy.delay, data))
                    self.bytes += len(data)
                    self.changed.notify_all()
        except OSError:
            pass
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def deliver(self):
        try:
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.waiting or self.ended)
                    if not self.waiting:
                        break
                    due, data = self.waiting[0]
                waits.pass_time(max(due, self.link.take(len(data))) - time.monotonic())
                self.target.sendall(data)
                with self.changed:
                    self.waiting.popleft()
                    self.bytes -= len(data)
                    self.changed.notify_all()
            self.target.shutdown(socket.SHUT_WR)
        except OSError:
            with self.changed:
                self.ended = True
                self.changed.notify_all()


class Link:
    """Shared by all connections: the time when the next bytes have passed."""

    def __init__(self, rate):
        self.rate, self.free, self.lock = rate, 0.0, threading.Lock()

    def take(self, size):
        if not self.rate:
            return 0.0
        with self.lock:
            self.free = max(self.free, time.monotonic() - 0.005) + size / self.rate
            return self.free


class Proxy:
    """Listens at `port` of loopback for what goes to set_target's port. `rate` in bytes a second, 0: any; `queue_bytes`
    wait before that link."""

    def __init__(self, delay=0.0, rate=0, queue_bytes=4 << 20):
        self.delay, self.queue_bytes = delay, int(rate * delay) + queue_bytes
        self.up, self.down = Link(rate), Link(rate)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port, self.target = self.listener.getsockname()[1], None
        self.pairs, self.lock = [], threading.Lock()
        self.accepted = self.resets = 0
        self.nothing = os.open(os.devnull, os.O_RDWR)
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def set_target(self, port):
        self.target = port

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            self.accepted += 1
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except (OSError, TypeError):  # no process listens there (yet)
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.pairs.append((client, server))
            Direction(self, client, server, self.up)
            Direction(self, server, client, self.down)

    def reset(self, chooser=random):
        """Breaks one of the connections; False if there is none."""
        with self.lock:
            self.pairs = [p for p in self.pairs if all(map(self.alive, p))]
            if not self.pairs:
                return False
            pair = self.pairs.pop(chooser.randrange(len(self.pairs)))
        for end in pair:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in pair:
            # Threads that wait in recv hold the socket: it ends for them, too.
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            # Not close(): a thread that is about to use the descriptor would find the next connection there.
            os.dup2(self.nothing, end.fileno(), inheritable=False)
        self.resets += 1
        return True

    def describe(self):
        """Facts for a search for why nothing comes."""
        with self.lock:
            ends = [[end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] for end in pair] for pair in self.pairs]
        return (f"proxy at {self.port} of {self.target}: {self.accepted} accepted, {self.resets} reset, TCP states {ends}, "
                f"it {'accepts' if self.acceptor.is_alive() else 'has stopped to accept'}")

    @staticmethod
    def alive(end):
        try:
            state = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        except OSError:
            return False
        return state == 1  # TCP_ESTABLISHED


def listening_port(pid):
    """The TCP port that a process listens at."""
    inodes = set()
    for fd in os.scandir(f"/proc/{pid}/fd"):
        try:
            link = os.readlink(fd.path)
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    with open(f"/proc/{pid}/net/tcp") as table:
        for line in table.readlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and cells[9] in inodes:
                return int(cells[1].rsplit(":", 1)[1], 16)
    return None
