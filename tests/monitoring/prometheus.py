"""A real Prometheus and promtool: metrics, the board and the alerts of deploy/.

    prometheus.py CHECK --binary feedmill_sleepy    (a function below)
"""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import yaml
from monitoring import SLOW_STEP, main, wait_for

TESTS = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = TESTS.parent / "deploy"


def scrape(cluster):
    """promtool finds nothing in the metrics of a dispatcher, a worker and a reader under load."""
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: apt-get install prometheus"
    cluster.dispatcher()
    cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    cluster.read(SLOW_STEP, "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "reader-http")
    wait_for(lambda: cluster.metric("feedmill_step_measured_seconds_total", job_name="train"), "steps to be measured")
    for http in (cluster.http, cluster.file("worker-http"), cluster.file("reader-http")):
        cluster.http = http
        text = cluster.get("/metrics")
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and not done.stderr and not done.stdout, f"{done.stdout}{done.stderr}"


def watch_by_prometheus(cluster, rules=None):
    """Starts a Prometheus that scrapes the dispatcher and the worker w0 each second; returns ask(query)."""
    binary = shutil.which("prometheus")
    assert binary, "prometheus is missing: apt-get install prometheus"
    targets = [url.removeprefix("http://") for url in (cluster.http, cluster.file("worker-http"))]
    config = cluster.folder / "prometheus.yml"
    config.write_text(json.dumps({
        "global": {"evaluation_interval": "1s"}, "rule_files": [str(rules)] if rules else [],
        "scrape_configs": [{"job_name": "feedmill", "scrape_interval": "1s", "static_configs": [{"targets": targets}]}]}))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = open(cluster.folder / "prometheus.log", "w", encoding="utf-8")
    with log:
        cluster.processes.append(subprocess.Popen(
            [binary, f"--config.file={config}", f"--storage.tsdb.path={cluster.folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log))

    def ask(query):
        url = f"http://127.0.0.1:{port}/api/v1/query?query=" + urllib.request.quote(query)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it starts
                return []
            raise AssertionError(f"{query}: {error.read().decode()}") from error
        except OSError:
            return []
    wait_for(lambda: len(ask("up == 1")) == 2, "both targets to be up")
    return ask


def board_queries():
    """Every query of the board, with all jobs and processes chosen."""
    board = json.loads((DEPLOY / "grafana.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$instance", ".*").replace("$job_name", ".*")


def prometheus(cluster):
    """A real Prometheus scrapes both, and answers every query of the board and of the alerts."""
    cluster.dispatcher("--work-dir", cluster.folder / "work", "--standby")
    cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    cluster.read(SLOW_STEP)
    ask = watch_by_prometheus(cluster)
    wait_for(lambda: ask("rate(feedmill_job_elements_total{job_name='train'}[5s]) > 0"), "a rate of elements")
    joined = "feedmill_worker_step_measured_seconds_total * on(plan) group_left(job_name) topk by(plan) (1, feedmill_job_plan_info)"
    wait_for(lambda: [row for row in ask(joined) if (row["metric"]["job_name"], row["metric"]["step"]) == ("train", "steps[0] map")],
             "the workers' steps by job")
    assert ask(f"feedmill_worker_plan_streams{{plan='{cluster.job()['plan']}'}}"), cluster.job()
    queries = list(board_queries())
    assert len(queries) > 20
    for title, query in queries:
        wait_for(lambda: ask(query), f"an answer for the panel '{title}': {query}")  # noqa: B023
    for rule in alert_rules():
        ask(rule["expr"])
        for name in re.findall(r"(?:feedmill|process)_\w+|\bup\b", rule["expr"]):
            wait_for(lambda: ask(name), f"{rule['alert']}: the metric {name}")  # noqa: B023


def alert_rules():
    return yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]


def alerts(_cluster):
    """promtool understands the alerts, and each of them fires and clears on made-up series."""
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: apt-get install prometheus"
    subprocess.run([promtool, "check", "rules", DEPLOY / "alerts.yaml"], check=True, timeout=60, stdout=subprocess.DEVNULL)
    made_up = TESTS / "monitoring" / "alerts_test.yaml"
    done = subprocess.run([promtool, "test", "rules", made_up], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    tested = yaml.safe_load(made_up.read_text())["tests"]
    fires = {case["alertname"] for test in tested for case in test["alert_rule_test"] if case.get("exp_alerts")}
    clears = {case["alertname"] for test in tested for case in test["alert_rule_test"] if not case.get("exp_alerts")}
    assert fires == clears == {rule["alert"] for rule in alert_rules()}, (fires, clears)


def hasty_rules(cluster):
    """Returns a copy of the alerts that wait for one second and look back ten."""
    rules = cluster.folder / "alerts.yaml"
    text = (DEPLOY / "alerts.yaml").read_text()
    rules.write_text(re.sub(r"for: \S+", "for: 1s", text).replace("[5m]", "[10s]").replace("[10m]", "[10s]"))
    return rules


def firing_alerts(ask):
    return {alert["metric"]["alertname"] for alert in ask('ALERTS{alertstate="firing"}')}


def failed_jobs(cluster):
    """A failed job makes its alert fire, which clears by itself; so does a job without a name."""
    cluster.dispatcher()
    cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    ask = watch_by_prometheus(cluster, hasty_rules(cluster))
    wait_for(lambda: ask("feedmill_dispatcher_jobs_failed_total == 0"), "a dispatcher without failed jobs")
    missing = f"source: {{text: {{files: '{cluster.folder}/missing.txt'}}}}\n"
    assert cluster.read(missing, name="broken").wait(60) == 2
    assert cluster.metric("feedmill_job_state", job_name="broken", state="failed") == 1
    assert cluster.metric("feedmill_dispatcher_jobs_failed_total") == 1
    wait_for(lambda: "FeedmillJobFailed" in firing_alerts(ask), "FeedmillJobFailed")
    wait_for(lambda: "FeedmillJobFailed" not in firing_alerts(ask), "FeedmillJobFailed to clear")
    assert cluster.metric("feedmill_job_state", job_name="broken", state="failed") == 1
    unnamed = cluster.start("unnamed", "read", cluster.pipeline(missing), "--service", cluster.service, "--format", "none")
    assert unnamed.wait(60) == 2
    assert cluster.metric("feedmill_dispatcher_jobs_failed_total") == 2
    wait_for(lambda: "FeedmillJobFailed" in firing_alerts(ask), "FeedmillJobFailed")


def incident(cluster):
    """Alerts fire when the last worker dies, and clear when one is back; their waiting times are made one second."""
    cluster.dispatcher()
    worker = cluster.worker("w0", "--http", "127.0.0.1:0", "--http-ready-file", cluster.folder / "worker-http")
    cluster.read(SLOW_STEP, "--timeout", "5m")
    ask = watch_by_prometheus(cluster, hasty_rules(cluster))

    def firing():
        return firing_alerts(ask)
    wait_for(lambda: "FeedmillTrainerWaits" in firing(), lambda: f"FeedmillTrainerWaits; {firing()} fire")
    assert "FeedmillNoWorkers" not in firing()
    worker.kill()
    wait_for(lambda: {"FeedmillNoWorkers", "FeedmillNotScraped"} <= firing(), lambda: f"FeedmillNoWorkers; {firing()} fire")
    cluster.worker("w1")
    wait_for(lambda: "FeedmillNoWorkers" not in firing(), lambda: f"FeedmillNoWorkers to clear; {firing()} fire")


if __name__ == "__main__":
    main(globals())
