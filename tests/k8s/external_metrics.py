"""A server of Kubernetes' external metrics that asks the pod itself: what
prometheus-adapter does, without the Prometheus between.

external_metrics.py HOST PORT PKI API PODPORT

answers for METRIC with the selector namespace=N,pod=P what P's /metrics on PODPORT
says now, which it gets through the API server at API. PKI has the keys.
"""

import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GROUP = "external.metrics.k8s.io/v1beta1"
METRIC = "feedmill_workers_wanted"
HOST, PORT, PKI, API, POD_PORT = sys.argv[1:]
CLIENT = ssl.create_default_context(cafile=str(Path(PKI) / "ca.crt"))
CLIENT.load_cert_chain(Path(PKI) / "admin.crt", Path(PKI) / "admin.key")


def value_of(namespace: str, pod: str) -> str | None:
    """The metric's value in the pod's /metrics; None if the pod does not say it."""
    url = f"{API}/api/v1/namespaces/{namespace}/pods/{pod}:{POD_PORT}/proxy/metrics"
    try:
        with urllib.request.urlopen(url, context=CLIENT, timeout=5) as answer:
            text = answer.read().decode()
    except (urllib.error.URLError, TimeoutError):
        return None
    found = re.search(rf"^{METRIC} (\d+)$", text, re.MULTILINE)
    return found[1] if found else None


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urllib.parse.urlsplit(self.path)
        if path.path.rstrip("/") == f"/apis/{GROUP}":
            resource = {"name": METRIC, "namespaced": True, "kind": "ExternalMetricValueList"}
            resources = [resource | {"singularName": "", "verbs": ["get"]}]
            self.answer(
                {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP}
                | {"resources": resources}
            )
        elif path.path.endswith(f"/{METRIC}"):
            selector = urllib.parse.parse_qs(path.query).get("labelSelector", [""])[0]
            labels = dict(part.split("=", 1) for part in selector.split(",") if "=" in part)
            value = value_of(labels["namespace"], labels["pod"])
            items: list[dict[str, Any]] = [
                {
                    "metricName": METRIC,
                    "metricLabels": labels,
                    "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "value": value,
                }
            ]
            self.answer(
                {"kind": "ExternalMetricValueList", "apiVersion": GROUP, "metadata": {}}
                | {"items": items if value is not None else []}
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
context.load_cert_chain(Path(PKI) / "server.crt", Path(PKI) / "server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
