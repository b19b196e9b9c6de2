"""A server of Kubernetes' external metrics with one number, which a file holds.

external_metrics.py HOST PORT CERTIFICATE KEY METRIC FILE
"""

import json
import ssl
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GROUP = "external.metrics.k8s.io/v1beta1"
HOST, PORT, CERTIFICATE, KEY, METRIC, FILE = sys.argv[1:]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.split("?")[0].rstrip("/")
        if path == f"/apis/{GROUP}":
            resource = {"name": METRIC, "namespaced": True, "kind": "ExternalMetricValueList"}
            resources = [resource | {"singularName": "", "verbs": ["get"]}]
            self.answer(
                {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP}
                | {"resources": resources}
            )
        elif path.startswith(f"/apis/{GROUP}/namespaces/") and path.endswith(f"/{METRIC}"):
            value: dict[str, Any] = {
                "metricName": METRIC,
                "metricLabels": {},
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "value": Path(FILE).read_text().strip(),
            }
            self.answer(
                {"kind": "ExternalMetricValueList", "apiVersion": GROUP, "metadata": {}}
                | {"items": [value]}
            )
        else:
            self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass  # the API server asks each second

    def answer(self, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer((HOST, int(PORT)), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
