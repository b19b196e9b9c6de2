"""The chart on a real cluster. Runs inside of `cluster.py`.

  kubernetes.py --feedmill BINARY --resolver BINARY [CHECK...]

installs the chart with keys and runs the checks, all of them by default. Each
prints one line; the exit status is 1 if one failed.
"""

import argparse
import fcntl
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import waits  # noqa: E402
import yaml  # noqa: E402
from cluster import BIN, HOST, sh, wait_for  # noqa: E402
from documented import blocks  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
CHART = SOURCE / "deploy/helm/feedmill"
EXAMPLES = SOURCE / "deploy/k8s"
FOLDER = Path(os.environ["K8S_FOLDER"])
NAMESPACE = "mill"
IMAGE = ("feedmill.test/feedmill", "test")
MAX_STALL = 5.0  # seconds between two elements while pods go
MAX_STOP = 50.0  # while the dispatcher is stopped; a reader waits for it for 60 s
ELEMENTS = 4000
TRAINED = 30_000  # elements that the autoscaler is seen with
F_SETPIPE_SZ = 1031
FLEET = 1000  # nodes of kwok, and workers on them
FAKE = "kwok.x-k8s.io/node"
# Elements of 10 ms, so that a read lasts while pods are deleted.
SLOW = """source: {{range: {{stop: {elements}}}}}
steps:
  - shuffle
  - map: "sleep_ms(x, {milliseconds})"
options: {{seed: 7}}
"""
Json = dict[str, Any]


def kubectl(*arguments: str, text: str | None = None) -> str:
    return sh(BIN / "kubectl", "-n", NAMESPACE, *arguments, text=text)


def get(*arguments: str) -> Json:
    return Json(json.loads(kubectl("get", "-o", "json", *arguments)))


def stamped(pod: str) -> list[tuple[float, str]]:
    """The log of a pod or Job, each line with its time; [] if there is no such log."""
    try:
        text = kubectl("logs", pod, "--timestamps")
    except RuntimeError:
        return []
    lines = [line.partition(" ") for line in text.splitlines()]
    return [
        (datetime.fromisoformat(stamp[:26].rstrip("Z") + "+00:00").timestamp(), line)
        for stamp, _, line in lines
    ]


class Pulse:
    """Wakes up 20 times a second, and notes when this process did not run for longer."""

    def __init__(self) -> None:
        self.pauses: list[tuple[float, float]] = []
        threading.Thread(target=self.beat, daemon=True).start()

    def beat(self) -> None:
        last = time.time()
        while True:
            waits.pass_time(0.05)
            now = time.time()
            if now - last > 0.5:
                self.pauses.append((last, now))
            last = now

    def paused(self, begin: float, end: float) -> float:
        """Seconds between `begin` and `end` in which this process did not run."""
        return sum(max(0.0, min(end, to) - max(begin, since)) for since, to in self.pauses)


class Checks:
    """The checks, in the order in which they run."""

    def __init__(self, feedmill: str, resolver: str, definitions: str, shipped: bool) -> None:
        self.feedmill = feedmill
        self.resolver = resolver
        self.definitions = definitions
        self.shipped = shipped
        self.reads = 0
        self.pulse = Pulse()

    # ---- what they share

    def install(self) -> str:
        """The namespace, the keys, the dispatcher's volume and the release."""
        sh(BIN / "kubectl", "create", "namespace", NAMESPACE)
        # Pods that violate the standard are refused from here on.
        restricted = "pod-security.kubernetes.io/enforce=restricted"
        sh(BIN / "kubectl", "label", "namespace", NAMESPACE, restricted)
        keys = FOLDER / "keys"
        sh(self.feedmill, "keygen", "--dir", keys)
        files = [
            keys / "dispatcher.key",
            keys / "dispatcher.pub",
            keys / "worker.key",
            keys / "client.key",
            keys / "operator.key",
            keys / "workers/worker.pub",
            keys / "clients/client.pub",
            keys / "operators/operator.pub",
        ]
        kubectl(
            "create",
            "secret",
            "generic",
            "feedmill-keys",
            *[f"--from-file={file}" for file in files],
        )
        state = FOLDER / "volume"
        state.mkdir()
        # In memory, like etcd: the dispatcher syncs each event, and no peer gets an answer
        # meanwhile. On a disk that other programs write to, this takes seconds.
        sh("mount", "-t", "tmpfs", "tmpfs", state)
        state.chmod(0o777)
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "state"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": str(state)},
            },
        }
        kubectl("apply", "-f", "-", text=json.dumps(volume))
        self.helm("install", "feedmill", "--wait", "--timeout", "8m")
        return "helm install --wait succeeded"

    def helm(self, action: str, *arguments: str) -> str:
        (FOLDER / "values.yaml").write_text(yaml.safe_dump(values()))
        return sh(
            BIN / "helm", "-n", NAMESPACE, action, *arguments, "-f", FOLDER / "values.yaml", CHART
        )

    def local(self, milliseconds: int = 0) -> list[str]:
        """The lines of the slow pipeline, in this process."""
        text = SLOW.format(elements=ELEMENTS, milliseconds=milliseconds)
        return sh(self.feedmill, "read", "-", "--local", text=text).splitlines()

    def start_read(self, release: str = "feedmill") -> str:
        """A Job that reads the slow pipeline, from its first lines on."""
        self.reads += 1
        name = f"read-{self.reads}"
        config, job = list(yaml.safe_load_all((EXAMPLES / "trainer-job.yaml").read_text()))
        config["metadata"]["name"] = job["metadata"]["name"] = name
        config["data"] = {"squares.yaml": SLOW.format(elements=ELEMENTS, milliseconds=10)}
        job["spec"]["backoffLimit"] = 0  # a read that ended in the middle is a fault
        pod = job["spec"]["template"]["spec"]
        pod["containers"][0]["image"] = ":".join(IMAGE)
        service = pod["containers"][0]["args"].index("--service=feedmill-dispatcher:5050")
        pod["containers"][0]["args"][service] = f"--service={release}-dispatcher:5050"
        pod["containers"][0]["args"][-2:] = [f"--job={name}"]
        pod["containers"][0]["resources"] = {"requests": {"cpu": "10m"}}
        pod["volumes"][0]["configMap"]["name"] = name
        pod["nodeSelector"] = {"kubernetes.io/hostname": "n1"}  # the drained node is another one
        kubectl("apply", "-f", "-", text=yaml.safe_dump_all([config, job]))
        self.wait_lines(name, ELEMENTS // 10)
        return name

    def lines(self, name: str) -> list[tuple[float, str]]:
        """The lines that the Job has printed, each with its time."""
        return [(at, line) for at, line in stamped(f"job/{name}") if line.isdigit()]

    def wait_lines(self, name: str, count: int) -> None:
        wait_for(f"{count} lines of {name}", lambda: self.came(name) >= count, 180)

    def came(self, name: str) -> int:
        """The number of elements so far; RuntimeError if the Job has failed."""
        if get("job", name)["status"].get("failed"):
            raise RuntimeError(f"{name} failed: {kubectl('logs', f'job/{name}', '--tail=5')}")
        return len(self.lines(name))

    def whole(self, name: str, what: str, longest: float = MAX_STALL) -> str:
        """Waits for the end of the read: its lines equal a local read's."""
        wait_for(f"the end of {name}", lambda: self.ended(name), 240)
        read = self.lines(name)
        expected = self.local()
        got = [line for _, line in read]
        assert len(got) == len(expected), f"{len(got)} elements, not {len(expected)}"
        assert got == expected, "other elements, or in another order"
        times = [time for time, _ in read]
        stall, begin = max((later - sooner, sooner) for sooner, later in itertools.pairwise(times))
        assert stall <= longest, self.why(name, begin, begin + stall)
        return f"{what}: {len(got)} elements, 0 lost, 0 repeated, longest stall {stall:.2f} s"

    def why(self, name: str, begin: float, end: float) -> str:
        """The stall of a read, and what is known of that time."""
        pods = [pod["metadata"]["name"] for pod in self.pods("dispatcher") + self.pods("worker")]
        said = [
            f"{at - begin:6.1f} s {pod}: {line}"
            for pod in [f"job/{name}", *pods]
            for at, line in stamped(pod)
            if begin - 2 <= at <= end + 2 and not line.isdigit()
        ]
        return "\n".join(
            [
                f"no element for {end - begin:.1f} s; this process did not run for "
                f"{self.pulse.paused(begin, end):.1f} s of them. Logs of that time:",
                *said,
            ]
        )

    def ended(self, name: str) -> bool:
        return self.came(name) >= 0 and get("job", name)["status"].get("succeeded") == 1

    def pods(self, component: str) -> list[Json]:
        return list(get("pods", "-l", f"app.kubernetes.io/component={component}")["items"])

    def wait_pods(self, component: str, count: int) -> None:
        wait_for(f"{count} pods", lambda: len(self.pods(component)) == count, 120)

    def wait_rollout(self, what: str) -> None:
        kubectl("rollout", "status", what, "--timeout=4m")

    # ---- checks

    def helm_test(self) -> str:
        """`helm test` succeeds."""
        out = sh(BIN / "helm", "-n", NAMESPACE, "test", "feedmill", "--timeout", "3m")
        assert "Failed" not in out, out
        phases = [pod["status"]["phase"] for pod in self.pods("test")]
        assert phases == ["Succeeded", "Succeeded"], phases
        return "the pods of `feedmill doctor` and `feedmill read` succeeded"

    def hardened(self) -> str:
        """Pod Security `restricted` is enforced, and the image runs as the chart's user."""
        try:
            kubectl("run", "plain", "--image", ":".join(IMAGE), "--dry-run=server")
        except RuntimeError as refused:
            assert 'violates PodSecurity "restricted' in str(refused), refused
        else:
            raise AssertionError("the namespace admits a pod that is not restricted")
        if not self.shipped:
            return "admitted by Pod Security restricted; the image of tools/package was not there"
        script = "id -u && cd /var/cache/feedmill && touch here && stat -c '%u %g' . here && rm here"
        said = kubectl("exec", "deployment/feedmill-worker", "--", "sh", "-c", script).split()
        assert said[0] == "65532", said
        assert said[2] == said[4] == "65532", said
        return "admitted by Pod Security restricted; the image's user is the chart's, and may cache"

    def same_hash(self) -> str:
        """The example's Job has the order hash of a local read."""
        text = (
            (EXAMPLES / "trainer-job.yaml").read_text().replace("feedmill:0.1.0", ":".join(IMAGE))
        )
        kubectl("apply", "-f", "-", text=text)
        wait_for(
            "the trainer's Job", lambda: get("job", "trainer")["status"].get("succeeded") == 1, 180
        )
        read = json.loads(
            [line for line in kubectl("logs", "job/trainer").splitlines() if line.startswith("{")][
                -1
            ]
        )
        pipeline = next(yaml.safe_load_all(text))["data"]["squares.yaml"]
        local = json.loads(
            sh(self.feedmill, "read", "-", "--local", "--format", "summary", text=pipeline)
        )
        assert read["order_hash"] == local["order_hash"], (read, local)
        return f"order hash {read['order_hash']}, as of a local read"

    def strict(self) -> str:
        """The API server accepts each object, and no unknown field."""
        variants = {
            "chart with HPA": "autoscaling.hpa.enabled=true,monitoring.podMonitor.enabled=true",
            "chart with KEDA": "autoscaling.keda.enabled=true,keys.clients={alice},"
            "monitoring.alerts.enabled=true,monitoring.dashboard.enabled=true",
            "chart without keys": "keys.secret=,keys.insecure=true",
        }
        elsewhere = "strict"  # a Job that is there cannot be changed
        sh(BIN / "kubectl", "create", "namespace", elsewhere)
        common: list[str | Path] = [CHART, "-n", elsewhere, "-f", FOLDER / "values.yaml"]
        texts = {
            name: sh(BIN / "helm", "template", "every", *common, "--set", sets)
            for name, sets in variants.items()
        }
        for example in sorted(EXAMPLES.glob("*.yaml")):
            texts[example.name] = example.read_text()
        if self.definitions:
            sh(BIN / "kubectl", "apply", "--server-side", "-f", self.definitions)
            sh(
                BIN / "kubectl",
                "wait",
                "--for=condition=Established",
                "crd",
                "--all",
                "--timeout=5m",
            )
        kinds = {
            line.split()[-1]
            for line in sh(BIN / "kubectl", "api-resources", "--no-headers").splitlines()
        }
        accepted, unknown = 0, set()
        for name, text in texts.items():
            for item in yaml.safe_load_all(text):
                if item is None:
                    continue
                if item["kind"] not in kinds:
                    unknown.add(f"{name}: {item['kind']}")
                    continue
                strict = ["--dry-run=server", "--validate=strict", "-n", elsewhere]
                sh(BIN / "kubectl", "apply", *strict, "-f", "-", text=yaml.safe_dump(item))
                accepted += 1
        assert not (unknown and self.definitions), f"no definition of {', '.join(sorted(unknown))}"
        left = f"; no definition here of {', '.join(sorted(unknown))}" if unknown else ""
        return f"{accepted} objects accepted{left}"

    def quiet(self) -> str:
        """A read that nothing disturbs."""
        return self.whole(self.start_read(), "undisturbed")

    def dispatcher_is_deleted(self) -> str:
        """The dispatcher's pod is deleted by force in the middle of a read."""
        read = self.start_read()
        before = self.pods("dispatcher")[0]["metadata"]["uid"]
        kubectl("delete", "pod", "feedmill-dispatcher-0", "--force", "--grace-period=0")
        result = self.whole(read, "dispatcher deleted by force")
        assert self.pods("dispatcher")[0]["metadata"]["uid"] != before
        self.wait_rollout("statefulset/feedmill-dispatcher")
        return result

    def standby_leads(self) -> str:
        """The leader of two dispatchers, with state in a bucket, is deleted by force in a read."""
        gateway = BIN.parents[1] / "stores/versitygw"
        if not gateway.exists():
            return "not run: tools/setup --stores has not made an S3 server"
        login = {"ROOT_ACCESS_KEY": "mill", "ROOT_SECRET_KEY": "mill-secret"}
        (FOLDER / "buckets/mill").mkdir(parents=True)
        line = [gateway, "--port", f"{HOST}:7070", "posix", FOLDER / "buckets"]
        log = (FOLDER / "gateway.log").open("wb")
        with subprocess.Popen(line, env=os.environ | login, stdout=log, stderr=log) as server:
            try:
                return self.of_two_dispatchers()
            finally:
                server.terminate()

    def of_two_dispatchers(self) -> str:
        environment = {
            "AWS_ACCESS_KEY_ID": "mill",
            "AWS_SECRET_ACCESS_KEY": "mill-secret",
            "AWS_ENDPOINT_URL": f"http://{HOST}:7070",
            "AWS_REGION": "us-east-1",
        }
        pair = values()
        pair["dispatcher"] |= {
            "replicas": 2,
            "workDir": "s3://mill/state",
            "env": [{"name": name, "value": value} for name, value in environment.items()],
        }
        (FOLDER / "pair.yaml").write_text(yaml.safe_dump(pair))
        place: list[str | Path] = ["-n", NAMESPACE, "-f", FOLDER / "pair.yaml"]
        sh(BIN / "helm", "install", "pair", CHART, *place, "--wait", "--timeout", "4m")
        names = [f"pair-feedmill-dispatcher-{k}" for k in range(2)]

        def leaders() -> list[str]:
            return [n for n in names if any(": dispatcher at tcp:" in text for _, text in stamped(n))]

        wait_for("a dispatcher to lead", lambda: len(leaders()) == 1)
        read = self.start_read("pair-feedmill")
        first = leaders()[0]
        other = names[1 - names.index(first)]
        kubectl("delete", "pod", first, "--force", "--grace-period=0")
        result = self.whole(read, "of two dispatchers, the leader deleted by force")
        # The pod that takes the place of the deleted one is a standby, too.
        leads = leaders()
        assert leads, "no standby leads"
        sh(BIN / "helm", "-n", NAMESPACE, "uninstall", "pair")
        return f"{result}; {'the standby' if other in leads else 'the new pod'} leads"

    def workers_are_rolled(self) -> str:
        """All workers are replaced in the middle of a read."""
        read = self.start_read()
        before = self.identities("worker")
        kubectl("rollout", "restart", "deployment/feedmill-worker")
        self.wait_rollout("deployment/feedmill-worker")
        left = len(self.lines(read))
        result = self.whole(read, "workers rolled")
        assert not before & self.identities("worker")
        return f"{result} (rolled when {left} had come)"

    def upgraded(self) -> str:
        """`helm upgrade` in the middle of a read: the dispatcher, then the workers."""
        read = self.start_read()
        before = {part: self.identities(part) for part in ("dispatcher", "worker")}
        kubectl("rollout", "pause", "deployment/feedmill-worker")
        changed = "dispatcher.podAnnotations.release=two,worker.podAnnotations.release=two"
        self.helm("upgrade", "feedmill", "--set", changed)
        self.wait_rollout("statefulset/feedmill-dispatcher")
        assert not before["dispatcher"] & self.identities("dispatcher")
        assert before["worker"] == self.identities("worker"), "workers came before the dispatcher"
        first = len(self.lines(read))
        kubectl("rollout", "resume", "deployment/feedmill-worker")
        self.wait_rollout("deployment/feedmill-worker")
        second = len(self.lines(read))
        result = self.whole(read, "helm upgrade")
        assert not before["worker"] & self.identities("worker")
        return f"{result} (dispatcher upgraded at {first}, workers at {second} elements)"

    def identities(self, component: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(component)}

    def node_is_drained(self) -> str:
        """The node of a worker is drained in the middle of a read."""
        read = self.start_read()
        on = {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods("worker") + self.pods("dispatcher")
        }
        sh(
            BIN / "kubectl",
            "drain",
            "n2",
            "--ignore-daemonsets",
            "--delete-emptydir-data",
            "--timeout=4m",
        )
        moved = sorted(name for name, node in on.items() if node == "n2")
        result = self.whole(read, "node drained")
        assert any("worker" in name for name in moved), f"no worker ran on n2: {on}"
        sh(BIN / "kubectl", "uncordon", "n2")
        self.wait_rollout("deployment/feedmill-worker")
        self.wait_rollout("statefulset/feedmill-dispatcher")
        return f"{result} (moved: {', '.join(moved)})"

    def scaled(self) -> str:
        """2, 7 and 2 workers in the middle of a read."""
        read = self.start_read()
        seen = []
        for count in [7, 2]:
            kubectl("scale", "deployment/feedmill-worker", f"--replicas={count}")
            self.wait_rollout("deployment/feedmill-worker")
            self.wait_pods("worker", count)
            seen.append(len(self.lines(read)))
        result = self.whole(read, "2, 7, 2 workers")
        return f"{result} (7 workers at {seen[0]}, 2 at {seen[1]} elements)"

    def restored(self) -> str:
        """The commands of docs/operate.md save the state, delete it and put it back."""
        if not self.shipped:
            return "not run: the image of tools/package, which has tar, was not there"
        folder = FOLDER / "restored"
        (folder / "deploy/k8s").mkdir(parents=True, exist_ok=True)
        pod = (EXAMPLES / "state.yaml").read_text().replace("feedmill:0.1.0", ":".join(IMAGE))
        (folder / "deploy/k8s/state.yaml").write_text(pod)
        config = folder / "mill.conf"
        config.write_text(Path(os.environ["KUBECONFIG"]).read_text())
        environment = os.environ | {"KUBECONFIG": str(config)}
        commands = [each for each in blocks("operate.md") if "kubectl" in each]
        assert len(commands) == 2, commands
        select = f"kubectl config set-context --current --namespace {NAMESPACE}"
        read = self.start_read()
        before = self.identities("dispatcher")
        for script in [select, *commands]:
            done = subprocess.run(
                ["bash", "-euxo", "pipefail", "-c", script],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=240,
            )
            assert done.returncode == 0, done.stdout + done.stderr
        result = self.whole(read, "state saved, deleted and restored", MAX_STOP)
        assert not before & self.identities("dispatcher")
        log = kubectl("logs", "feedmill-dispatcher-0")
        found = re.search(r"([1-9]\d*) jobs and \d+ splits after \d+ events", log)
        assert found, f"the dispatcher began without its state: {log[:1000]}"
        return f"{result} ({found[0]})"

    def autoscaled(self) -> str:
        """The chart's HPA follows the dispatcher's number from 2 to 7 and to 2 workers."""
        keys = FOLDER / "pki"
        server = [HOST, "8443", keys, f"https://{HOST}:6443", "9090"]
        line = [sys.executable, Path(__file__).parent / "external_metrics.py", *server]
        with subprocess.Popen([str(part) for part in line]) as adapter:
            try:
                for item in metrics_service():
                    kubectl("apply", "-f", "-", text=json.dumps(item))
                sets = [
                    "autoscaling.minReplicas=2",
                    "autoscaling.maxReplicas=7",
                    "autoscaling.scaleDownStabilizationSeconds=0",
                    "autoscaling.hpa.enabled=true",
                    "dispatcher.extraArgs={--scale-interval=5s,--scale-down-after=10s}",
                ]
                flags = [part for each in sets for part in ("--set", each)]
                self.helm("upgrade", "feedmill", "--wait", "--timeout", "4m", *flags)
                self.wait_rollout("statefulset/feedmill-dispatcher")
                self.wait_replicas(2)
                return self.follow_trainer()
            finally:
                adapter.terminate()

    def follow_trainer(self) -> str:
        """A trainer takes 80, then any number of, then 80 elements of 10 ms a second."""
        address = self.pods("dispatcher")[0]["status"]["podIP"] + ":5050"
        trainer = Trainer(self.feedmill, address)
        try:
            trainer.rate = 80  # 0.8 workers
            wait_for("the first elements", lambda: len(trainer.numbers) > 80, 120)
            self.wait_replicas(2)
            trainer.rate = 1e9
            self.wait_replicas(7)
            at_most = len(trainer.numbers)
            trainer.rate = 80
            self.wait_replicas(2)
            at_least = len(trainer.numbers)
            assert at_least < TRAINED, "the read ended before there were 2 workers again"
            trainer.rate = 1e9
            trainer.thread.join(240)
            assert trainer.process.wait(20) == 0, trainer.log()
        finally:
            trainer.process.kill()
        text = SLOW.format(elements=TRAINED, milliseconds=0)
        local = sh(self.feedmill, "read", "-", "--local", text=text).splitlines()
        assert trainer.numbers == list(map(int, local)), "other elements, or in another order"
        return (
            f"HPA on the dispatcher's metric: {len(local)} elements, 0 lost, 0 repeated "
            f"(7 workers at {at_most}, 2 at {at_least} elements)"
        )

    def thousand_nodes(self) -> str:
        """A fleet of 1,000 workers on 1,000 nodes of kwok beside the real release."""
        began = time.monotonic()
        nodes = {"apiVersion": "v1", "kind": "List", "items": [fake_node(i) for i in range(FLEET)]}
        flags = ["--manage-all-nodes=false", f"--manage-nodes-with-annotation-selector={FAKE}=fake"]
        flags += [
            "--config",
            str(Path(__file__).parent / "kwok.yaml"),
            "--node-lease-duration-seconds=240",
            "--cidr=10.100.0.0/16",
        ]
        line = [BIN / "kwok", "--kubeconfig", os.environ["KUBECONFIG"], *flags]
        log = (FOLDER / "kwok.log").open("wb")
        with subprocess.Popen([str(part) for part in line], stdout=log, stderr=log) as kwok:
            try:
                sh(BIN / "kubectl", "create", "--validate=false", "-f", "-", text=json.dumps(nodes))
                wait_for("the nodes of kwok", lambda: ready_nodes() == FLEET + 2, 300)
                fleet = {
                    "image": {"repository": IMAGE[0], "tag": IMAGE[1], "pullPolicy": "Never"},
                    "keys": {"insecure": True},
                    "dispatcher": {
                        "persistence": {"enabled": False},
                        "resources": {"requests": {"cpu": "10m"}},
                    },
                    "worker": {
                        "replicas": FLEET,
                        "nodeSelector": {"type": "kwok"},
                        "tolerations": [{"key": FAKE, "operator": "Exists"}],
                        "resources": {"requests": {"cpu": "1"}},
                    },
                }
                (FOLDER / "fleet.yaml").write_text(yaml.safe_dump(fleet))
                place: list[str | Path] = [
                    "-n",
                    "fleet",
                    "--create-namespace",
                    "-f",
                    FOLDER / "fleet.yaml",
                ]
                sh(BIN / "helm", "install", "fleet", CHART, *place, "--wait", "--timeout", "12m")
                installed = time.monotonic() - began
                labels = "app.kubernetes.io/instance%3Dfleet,app.kubernetes.io/component%3Dworker"
                uri = f"kubernetes:?worker={labels}&namespace=fleet&port=5051"
                began = time.monotonic()
                found = json.loads(sh(self.resolver, "resolve", uri, "--format", "json"))
                resolved = time.monotonic() - began
                tasks = len(found["cluster"]["worker"])
                assert tasks == FLEET, f"{tasks} workers were found"
                read = self.whole(self.start_read(), f"beside {FLEET} nodes")
            finally:
                kwok.terminate()
        return f"{FLEET} workers ready in {installed:.0f} s, resolved in {resolved:.1f} s; {read}"

    def wait_replicas(self, count: int) -> None:
        wait_for(
            f"{count} ready workers",
            lambda: get("deployment", "feedmill-worker")["status"].get("readyReplicas") == count,
            180,
        )


class Trainer:
    """Reads as a pod would, at a rate that can change; keeps the numbers of elements."""

    def __init__(self, feedmill: str, address: str) -> None:
        self.rate = 1e9
        self.numbers: list[int] = []
        pipeline = FOLDER / "trained.yaml"
        pad = "x" * 40_000  # so that little waits in the reader
        text = SLOW.format(elements=TRAINED, milliseconds=10)
        step = '"sleep_ms(x, 10)"'
        pipeline.write_text(text.replace(step, f"{{n: {step}, pad: \"'{pad}'\"}}"))
        line = [feedmill, "read", pipeline, "--service", address, "--keys", FOLDER / "keys"]
        with (FOLDER / "trainer.log").open("wb") as log:
            self.process = subprocess.Popen(
                [str(part) for part in line], stdout=subprocess.PIPE, stderr=log
            )
        assert self.process.stdout is not None
        self.lines = self.process.stdout
        fcntl.fcntl(self.lines, F_SETPIPE_SZ, 4096)
        self.thread = threading.Thread(target=self.train, daemon=True)
        self.thread.start()

    def log(self) -> str:
        return (FOLDER / "trainer.log").read_text()[-2000:]

    def train(self) -> None:
        due = time.monotonic()
        for line in self.lines:
            self.numbers.append(json.loads(line)["n"])
            due = max(due + 1 / self.rate, time.monotonic() - 0.2)
            waits.pass_time(due - time.monotonic())


def fake_node(index: int) -> Json:
    """A node that kwok plays: its pods run at once, and do nothing."""
    size = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"kwok-{index}",
            "labels": {"type": "kwok", "kubernetes.io/hostname": f"kwok-{index}"},
            "annotations": {FAKE: "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"taints": [{"key": FAKE, "value": "fake", "effect": "NoSchedule"}]},
        "status": {"allocatable": size, "capacity": size},
    }


def ready_nodes() -> int:
    nodes = json.loads(sh(BIN / "kubectl", "get", "nodes", "-o", "json"))["items"]
    conditions = [node["status"].get("conditions", []) for node in nodes]
    return sum(
        {"type": "Ready", "status": "True"}.items() <= condition.items()
        for each in conditions
        for condition in each
    )


def metrics_service() -> list[Json]:
    """The API service of external metrics, which the test's own server answers."""
    name = "feedmill-metrics"
    port = {"name": "https", "port": 8443, "protocol": "TCP"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"ports": [port]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [HOST], "conditions": {"ready": True}}],
            "ports": [port],
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.external.metrics.k8s.io"},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": name, "namespace": NAMESPACE, "port": 8443},
            },
        },
    ]


def values() -> Json:
    small = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "512Mi"}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": ["pod-template-hash"],
        "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "worker"}},
    }
    return {
        "image": {"repository": IMAGE[0], "tag": IMAGE[1], "pullPolicy": "Never"},
        "keys": {"secret": "feedmill-keys"},
        "log": {"format": "text"},
        "dispatcher": {"persistence": {"storageClass": ""}, "resources": small},
        "worker": {
            "memory": "64MiB",
            "resources": small,
            "topologySpreadConstraints": [spread],
        },
    }


def report(name: str, check: Callable[[], str]) -> bool:
    began = time.monotonic()
    try:
        text, passed = check(), True
    except (AssertionError, RuntimeError, LookupError, ValueError):
        text, passed = traceback.format_exc(), False
    print(
        f"{'ok' if passed else 'FAILED'} {name} [{time.monotonic() - began:.0f} s]: {text}",
        flush=True,
    )
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--feedmill", required=True, help="the command with sleep_ms, as in the image"
    )
    parser.add_argument("--resolver", required=True, help="the command with resolvers of clouds")
    parser.add_argument(
        "--definitions",
        default="",
        help="folder with CustomResourceDefinitions of JobSet, Kueue, KEDA and the Prometheus "
        "operator; without them their objects are not checked",
    )
    parser.add_argument(
        "--image", type=Path, help="archive in which the image of the nodes was made, if it is there"
    )
    parser.add_argument("checks", nargs="*")
    options = parser.parse_args()
    shipped = options.image is not None and options.image.exists()
    checks = Checks(options.feedmill, options.resolver, options.definitions, shipped)
    names = [
        "helm_test",
        "hardened",
        "same_hash",
        "strict",
        "quiet",
        "dispatcher_is_deleted",
        "standby_leads",
        "workers_are_rolled",
        "upgraded",
        "node_is_drained",
        "scaled",
        "restored",
        "autoscaled",
        "thousand_nodes",
    ]
    chosen = options.checks or names
    if not report("install", checks.install):
        print(kubectl("get", "pods", "-o", "wide"), kubectl("get", "events"), flush=True)
        return 1
    passed = [report(name, getattr(checks, name)) for name in chosen]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
