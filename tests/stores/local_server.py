"""A web server of this machine for tests, on a port that the system chooses."""
import http.server
import threading


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def handle_error(self, *_):
        pass  # clients hang up


class LocalServer:
    """Answers with handlers of the type `handler`, whose `owner` it is, until it is closed."""

    def __init__(self, handler, context=None):
        """`context`: of TLS, or None."""
        self.closing = threading.Event()
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), type("Handler", (handler,), {"owner": self}))
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def host(self):
        return f"127.0.0.1:{self.server.server_port}"

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
