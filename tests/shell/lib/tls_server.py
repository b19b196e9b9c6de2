"""Kubernetes' API for one pod over TLS: tls_server.py FOLDER, with ca.pem and
key.pem in it; prints its port."""
import http.server
import json
import pathlib
import ssl
import sys

POD = {"metadata": {"name": "w"},
       "status": {"phase": "Running", "podIP": "10.0.0.1",
                  "conditions": [{"type": "Ready", "status": "True"}]}}


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Bearer secret"
        body = json.dumps({"items": [POD]} if known else {}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # clients that do not trust it hang up


folder = pathlib.Path(sys.argv[1])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
server = Server(("127.0.0.1", 0), Api)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
