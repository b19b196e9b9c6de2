"""The chart's texts, without a cluster: `helm lint`, `helm template` and the schema."""

import re
import subprocess
import unittest
from pathlib import Path
from typing import Any

import yaml
from cluster import BIN

SOURCE = Path(__file__).resolve().parents[2]
CHART = SOURCE / "deploy/helm/feedmill"
KEYS = ["--set", "keys.secret=feedmill-keys"]
# Values that switch everything on that needs no file of monitoring.
ALL = [
    *KEYS,
    "--set",
    "autoscaling.hpa.enabled=true,monitoring.podMonitor.enabled=true,keys.clients={alice}",
]
Json = dict[str, Any]


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BIN / "helm"), *map(str, arguments)], capture_output=True, text=True, check=False
    )


def template(*arguments: str) -> list[Json]:
    done = helm("template", "mill", CHART, *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return [item for item in yaml.safe_load_all(done.stdout) if item]


def of_kind(items: list[Json], kind: str) -> list[Json]:
    return [item for item in items if item["kind"] == kind]


def pods(items: list[Json]) -> list[Json]:
    """The specification of each pod, of workloads and of tests."""
    found = [
        item["spec"]["template"]["spec"]
        for kind in ["Deployment", "StatefulSet"]
        for item in of_kind(items, kind)
    ]
    return found + [item["spec"] for item in of_kind(items, "Pod")]


class Chart(unittest.TestCase):
    def test_the_version_is_the_projects(self) -> None:
        project = (SOURCE / "CMakeLists.txt").read_text()
        version = project.split("project(feedmill VERSION ")[1].split()[0]
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))
        for example in (SOURCE / "deploy/k8s").glob("*.yaml"):
            self.assertIn(f"image: feedmill:{version}\n", example.read_text(), example.name)

    def test_the_dispatcher_knows_the_bounds_of_an_autoscaler(self) -> None:
        for items, expected in [(template(*KEYS), False), (template(*ALL), True)]:
            arguments = of_kind(items, "StatefulSet")[0]["spec"]["template"]["spec"]["containers"][
                0
            ]["args"]
            self.assertEqual("--scale=1..16" in arguments, expected)

    def test_lint_has_no_complaint(self) -> None:
        done = helm("lint", "--strict", CHART, *ALL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_keys_are_given_or_refused_by_name(self) -> None:
        done = helm("template", "mill", CHART)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("keys.insecure=true", done.stderr)
        arguments = [
            argument
            for pod in pods(template("--set", "keys.insecure=true"))
            for argument in pod["containers"][0]["args"]
        ]
        self.assertIn("--insecure-bind", arguments)
        self.assertFalse([argument for argument in arguments if argument.startswith("--keys")])

    def test_the_schema_refuses_what_no_template_reads(self) -> None:
        for wrong in [
            "worker.replica=3",
            "worker.drainSeconds=soon",
            "log.level=loud",
            "keys.clients={client}",
            "dispatcher.port=70000",
            "worker.memory=lots",
            "surprise=1",
        ]:
            done = helm("template", "mill", CHART, *KEYS, "--set", wrong)
            self.assertNotEqual(done.returncode, 0, wrong)
            self.assertIn("values don't meet the specifications of the schema", done.stderr, wrong)

    def test_pods_are_restricted(self) -> None:
        found = pods(template(*ALL))
        self.assertEqual(len(found), 4)
        for pod in found:
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertIs(pod["automountServiceAccountToken"], False)
            context = pod["containers"][0]["securityContext"]
            self.assertIs(context["readOnlyRootFilesystem"], True)
            self.assertIs(context["allowPrivilegeEscalation"], False)
            self.assertEqual(context["capabilities"], {"drop": ["ALL"]})

    def test_readiness_is_of_readyz_and_workers_may_drain(self) -> None:
        items = template(*ALL, "--set", "worker.drainSeconds=100")
        for kind in ["Deployment", "StatefulSet"]:
            pod = of_kind(items, kind)[0]["spec"]["template"]["spec"]
            self.assertEqual(
                pod["containers"][0]["readinessProbe"]["httpGet"],
                {"path": "/readyz", "port": "http"},
            )
        worker = of_kind(items, "Deployment")[0]["spec"]["template"]["spec"]
        self.assertGreater(worker["terminationGracePeriodSeconds"], 100)
        self.assertIn("--drain-timeout=100s", worker["containers"][0]["args"])
        self.assertIn("--advertise=$(POD_IP)", worker["containers"][0]["args"])

    def test_the_dispatchers_name_is_known_before_it_is_ready(self) -> None:
        service = of_kind(template(*ALL), "Service")[0]["spec"]
        self.assertEqual(service["clusterIP"], "None")
        self.assertIs(service["publishNotReadyAddresses"], True)

    def test_of_two_dispatchers_one_waits(self) -> None:
        two = ["--set", "dispatcher.replicas=2,dispatcher.workDir=s3://bucket/mill"]
        items = template(*ALL, *two)
        dispatcher = of_kind(items, "StatefulSet")[0]["spec"]
        pod = dispatcher["template"]["spec"]
        self.assertEqual(dispatcher["replicas"], 2)
        self.assertNotIn("volumeClaimTemplates", dispatcher)
        self.assertIn({"name": "state", "emptyDir": {}}, pod["volumes"])
        arguments = pod["containers"][0]["args"]
        self.assertTrue({"--standby", "--work-dir=s3://bucket/mill"} <= set(arguments))
        probe = pod["containers"][0]["readinessProbe"]["httpGet"]["path"]
        self.assertEqual(probe, "/healthz")  # an update waits until a standby is ready
        self.assertIn("podAntiAffinity", pod["affinity"])
        hpa = of_kind(items, "HorizontalPodAutoscaler")[0]["spec"]["metrics"][0]["external"]
        self.assertEqual(hpa["metric"]["selector"]["matchLabels"], {"namespace": "default"})
        keda = template(*KEYS, *two, "--set", "autoscaling.keda.enabled=true")
        query = of_kind(keda, "ScaledObject")[0]["spec"]["triggers"][0]["metadata"]["query"]
        self.assertIn('pod=~"mill-feedmill-dispatcher-[0-9]+"', query)
        affinity = "dispatcher.affinity.nodeAffinity.a=b"
        given = of_kind(template(*ALL, *two, "--set", affinity), "StatefulSet")[0]["spec"]
        self.assertEqual(given["template"]["spec"]["affinity"], {"nodeAffinity": {"a": "b"}})

    def test_a_dispatcher_alone_keeps_its_volume_or_store(self) -> None:
        dispatcher = of_kind(template(*ALL), "StatefulSet")[0]["spec"]
        self.assertEqual(len(dispatcher["volumeClaimTemplates"]), 1)
        self.assertNotIn("--standby", dispatcher["template"]["spec"]["containers"][0]["args"])
        stored = template(*ALL, "--set", "dispatcher.workDir=gs://bucket/mill")
        dispatcher = of_kind(stored, "StatefulSet")[0]["spec"]
        self.assertNotIn("volumeClaimTemplates", dispatcher)
        # It waits for the end of the lease of the one before it.
        self.assertIn("--standby", dispatcher["template"]["spec"]["containers"][0]["args"])
        refused = helm("template", "mill", CHART, *KEYS, "--set", "dispatcher.replicas=2")
        self.assertIn("dispatcher.workDir", refused.stderr)

    def test_an_autoscaler_alone_decides_the_number_of_workers(self) -> None:
        self.assertNotIn("replicas", of_kind(template(*ALL), "Deployment")[0]["spec"])
        items = template(*KEYS, "--set", "autoscaling.keda.enabled=true")
        query = of_kind(items, "ScaledObject")[0]["spec"]["triggers"][0]["metadata"]["query"]
        self.assertEqual(
            query,
            'max(feedmill_workers_wanted{namespace="default",pod="mill-feedmill-dispatcher-0"})',
        )
        self.assertNotIn("replicas", of_kind(items, "Deployment")[0]["spec"])
        both = helm("template", "mill", CHART, *ALL, "--set", "autoscaling.keda.enabled=true")
        self.assertIn("enable one of", both.stderr)

    def test_the_documented_rule_makes_the_metric_that_the_hpa_asks_for(self) -> None:
        pages = [SOURCE / "docs/kubernetes.md", CHART / "README.md"]
        texts = [
            block
            for page in pages
            for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.M | re.S)
            if "seriesQuery" in block
        ]
        rules = [yaml.safe_load(text)["rules"]["external"] for text in texts]
        self.assertEqual(len(rules), 2)
        self.assertEqual(rules[0], rules[1])
        hpa = of_kind(template(*ALL), "HorizontalPodAutoscaler")[0]["spec"]["metrics"][0]
        metric = hpa["external"]["metric"]
        self.assertEqual(rules[0][0]["name"]["as"], metric["name"])
        self.assertTrue(rules[0][0]["seriesQuery"].startswith(metric["name"] + "{"))
        for label in metric["selector"]["matchLabels"]:
            self.assertIn(label, rules[0][0]["metricsQuery"])

    def test_each_component_has_a_policy_and_a_budget(self) -> None:
        items = template(*ALL)
        for kind in ["NetworkPolicy", "PodDisruptionBudget"]:
            components = {
                str(item["spec"]).split("component': '")[1].split("'")[0]
                for item in of_kind(items, kind)
            }
            self.assertEqual(components, {"dispatcher", "worker"}, kind)

    def test_the_pods_of_helm_test_may_read_whoever_the_clients_are(self) -> None:
        clients = "networkPolicy.clients[0].namespaceSelector.matchLabels.team=a"
        items = template(*ALL, "--set", clients)
        labels = [pod["metadata"]["labels"] for pod in of_kind(items, "Pod")]
        self.assertEqual(len(labels), 2)
        for policy in of_kind(items, "NetworkPolicy"):
            peers = policy["spec"]["ingress"][0]["from"]
            self.assertIn({"namespaceSelector": {"matchLabels": {"team": "a"}}}, peers)
            selected = [peer["podSelector"]["matchLabels"] for peer in peers if "podSelector" in peer]
            for pod in labels:
                self.assertTrue(any(wanted.items() <= pod.items() for wanted in selected))

    def test_threads_are_the_cpu_limit_or_request_of_the_worker(self) -> None:
        for sets, expected in [
            ("worker.memory=256MiB", ("requests.cpu", [])),
            ("worker.resources.limits.cpu=4", ("limits.cpu", [])),
            ("worker.resources.requests.cpu=null", (None, [])),
            ("worker.threads=3", (None, ["--threads=3"])),
        ]:
            items = template(*KEYS, "--set", sets)
            worker = of_kind(items, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]
            threads = [each for each in worker["env"] if each["name"] == "FEEDMILL_WORKER_THREADS"]
            resource = threads[0]["valueFrom"]["resourceFieldRef"]["resource"] if threads else None
            given = [word for word in worker["args"] if word.startswith("--threads")]
            self.assertEqual((resource, given), expected, sets)

    def test_a_worker_can_write_indexes(self) -> None:
        for sets, expected in [
            ("worker.memory=256MiB", {"emptyDir": {}}),
            ("worker.cacheVolume.hostPath.path=/ssd", {"hostPath": {"path": "/ssd"}}),
        ]:
            items = template(*KEYS, "--set", sets)
            pod = of_kind(items, "Deployment")[0]["spec"]["template"]["spec"]
            self.assertIn({"name": "cache", **expected}, pod["volumes"])
            mounts = {each["mountPath"]: each["name"] for each in pod["containers"][0]["volumeMounts"]}
            self.assertEqual(mounts["/var/cache/feedmill"], "cache")

    def test_the_image_has_the_user_of_the_chart(self) -> None:
        user = of_kind(template(*KEYS), "Deployment")[0]["spec"]["template"]["spec"]
        containerfile = (SOURCE / "deploy/container/Containerfile").read_text()
        uid = user["securityContext"]["runAsUser"]
        self.assertIn(f"USER {uid}:{uid}\n", containerfile)

    def test_monitoring_is_a_copy_of_the_published_files(self) -> None:
        for name, switch in {"alerts.yaml": "alerts", "grafana.json": "dashboard"}.items():
            published, copy = SOURCE / "deploy" / name, CHART / "files" / name
            self.assertEqual(published.exists(), copy.exists(), f"copy {published} to {copy}")
            done = helm(
                "template", "mill", CHART, *KEYS, "--set", f"monitoring.{switch}.enabled=true"
            )
            if copy.exists():
                self.assertEqual(
                    published.read_bytes(), copy.read_bytes(), f"copy {published} to {copy}"
                )
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assertIn(f"files/{name} is not in this chart", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
