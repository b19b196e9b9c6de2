"""A real Kubernetes cluster on this machine, in namespaces of its own.

  cluster.py [--nodes N] [--folder DIR] [--image NAME:TAG=BINARY] [--base ARCHIVE] COMMAND...

starts etcd, the API server, the controllers, the scheduler, CoreDNS and N nodes
(each containerd and kubelet in a network namespace). Then it runs COMMAND with
KUBECONFIG set, and removes all of it. Exits with COMMAND's status.

All of it is in a network, a mount and a process namespace that `unshare` makes,
so that no process and no mount outlives it. Pods have addresses of bridges in
there. It needs root, `tools/setup --k8s`, and cgroups of version 1 or 2.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import waits  # noqa: E402
import images  # noqa: E402

BIN = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "feedmill/k8s/bin"
HOST = "10.88.0.1"  # of the control plane and of DNS
DOMAIN = "cluster.local"
CURVE = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]  # of keys; quicker than RSA
PAUSE = "feedmill.test/pause:1"
CGROUPS = Path("/sys/fs/cgroup")
# Settings of the machine that the kubelet changes: in here it changes a copy.
SYSCTLS = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
]


def sh(*command: str | Path, text: str | None = None) -> str:
    """Runs a command with `text` as its input; its output. RuntimeError has its error."""
    line = [str(part) for part in command]
    done = subprocess.run(line, capture_output=True, text=True, check=False, input=text)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}{done.stdout}")
    return done.stdout


def wait_for(what: str, ready: Callable[[], bool], seconds: float = 240) -> None:
    """Waits until `ready()`; AssertionError names `what` after `seconds`."""
    waits.wait_for(ready, what, seconds, poll_seconds=0.2)


class Cluster:
    """The processes of a cluster and its files in `folder`."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder = folder
        self.nodes = [f"n{index}" for index in range(1, nodes + 1)]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.kubeconfig = folder / "admin.conf"

    # ---- processes

    def start(self, name: str, *command: str | Path, netns: str = "") -> None:
        """Starts a daemon; its log is NAME.log."""
        line = [str(part) for part in command]
        if netns:
            line = ["nsenter", f"--net=/run/netns/{netns}", *line]
        log = (self.folder / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(
            line, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )

    def check(self) -> None:
        """RuntimeError if a daemon has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                log = (self.folder / f"{name}.log").read_text(errors="replace")
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{log[-3000:]}")

    def wait(self, what: str, ready: Callable[[], bool]) -> None:
        def looks() -> bool:
            self.check()
            return ready()

        wait_for(what, looks)

    def kubectl(self, *arguments: str) -> str:
        return sh(BIN / "kubectl", "--kubeconfig", self.kubeconfig, *arguments)

    # ---- certificates

    def certificates(self) -> None:
        keys = self.folder / "pki"
        keys.mkdir()
        sh(
            "openssl",
            "req",
            "-x509",
            "-newkey",
            *CURVE,
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=feedmill-test",
            "-keyout",
            keys / "ca.key",
            "-out",
            keys / "ca.crt",
        )
        sh(
            "openssl",
            "ecparam",
            "-genkey",
            "-name",
            "prime256v1",
            "-noout",
            "-out",
            keys / "sa.key",
        )
        names = {
            "admin": "/O=system:masters/CN=admin",
            "server": "/CN=kube-apiserver",
            "proxy": "/CN=front-proxy",
        }
        for name, subject in names.items():
            extra = keys / f"{name}.ext"
            extra.write_text(f"subjectAltName=IP:{HOST},IP:127.0.0.1,DNS:kubernetes.default.svc\n")
            sh(
                "openssl",
                "req",
                "-newkey",
                *CURVE,
                "-nodes",
                "-subj",
                subject,
                "-keyout",
                keys / f"{name}.key",
                "-out",
                keys / f"{name}.csr",
            )
            sh(
                "openssl",
                "x509",
                "-req",
                "-in",
                keys / f"{name}.csr",
                "-CA",
                keys / "ca.crt",
                "-CAkey",
                keys / "ca.key",
                "-CAcreateserial",
                "-days",
                "2",
                "-extfile",
                extra,
                "-out",
                keys / f"{name}.crt",
            )
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "c",
                    "cluster": {
                        "server": f"https://{HOST}:6443",
                        "certificate-authority": str(keys / "ca.crt"),
                    },
                }
            ],
            "users": [
                {
                    "name": "u",
                    "user": {
                        "client-certificate": str(keys / "admin.crt"),
                        "client-key": str(keys / "admin.key"),
                    },
                }
            ],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        self.kubeconfig.write_text(json.dumps(config))

    # ---- networks

    def network(self) -> None:
        sh("mount", "-t", "tmpfs", "tmpfs", "/run")
        for path in ["/var/lib/cni", "/var/log/pods", "/var/log/containers", "/etc/cni"]:
            Path(path).mkdir(parents=True, exist_ok=True)
            sh("mount", "-t", "tmpfs", "tmpfs", path)
        for name in SYSCTLS:
            copy = self.folder / name.replace("/", "_")
            copy.write_text(Path("/proc/sys", name).read_text())
            sh("mount", "--bind", copy, f"/proc/sys/{name}")
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "link", "add", "nodes", "type", "bridge")
        sh("ip", "address", "add", f"{HOST}/16", "dev", "nodes")
        sh("ip", "link", "set", "nodes", "up")
        sh("sysctl", "-qw", "net.ipv4.ip_forward=1")
        for index, node in enumerate(self.nodes, 1):
            sh("ip", "netns", "add", node)
            sh(
                "ip",
                "link",
                "add",
                f"to-{node}",
                "master",
                "nodes",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                node,
            )
            sh("ip", "link", "set", f"to-{node}", "up")
            inside = ["nsenter", f"--net=/run/netns/{node}"]
            sh(*inside, "ip", "link", "set", "lo", "up")
            sh(*inside, "ip", "address", "add", f"10.88.1.{index}/16", "dev", "eth0")
            sh(*inside, "ip", "link", "set", "eth0", "up")
            sh(*inside, "ip", "route", "add", "default", "via", HOST)
            sh(*inside, "sysctl", "-qw", "net.ipv4.ip_forward=1")
            sh("ip", "route", "add", f"10.89.{index}.0/24", "via", f"10.88.1.{index}")

    # ---- the control plane

    def control_plane(self) -> None:
        keys = self.folder / "pki"
        state = self.folder / "etcd"
        state.mkdir(mode=0o700)
        sh("mount", "-t", "tmpfs", "tmpfs", state)  # it syncs each write
        self.start(
            "etcd",
            "etcd",
            "--data-dir",
            self.folder / "etcd",
            "--unsafe-no-fsync",
            "--listen-client-urls",
            "http://127.0.0.1:2379",
            "--advertise-client-urls",
            "http://127.0.0.1:2379",
            "--listen-peer-urls",
            "http://127.0.0.1:2380",
        )
        self.start(
            "apiserver",
            BIN / "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            "--secure-port=6443",
            f"--tls-cert-file={keys}/server.crt",
            f"--tls-private-key-file={keys}/server.key",
            f"--client-ca-file={keys}/ca.crt",
            "--authorization-mode=RBAC",
            "--allow-privileged=true",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={keys}/sa.key",
            f"--service-account-signing-key-file={keys}/sa.key",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-client-certificate={keys}/admin.crt",
            f"--kubelet-client-key={keys}/admin.key",
            f"--requestheader-client-ca-file={keys}/ca.crt",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={keys}/proxy.crt",
            f"--proxy-client-key-file={keys}/proxy.key",
            "--enable-aggregator-routing=true",
            "--endpoint-reconciler-type=none",
        )
        self.wait("the API server", lambda: self.answers("/readyz"))
        for name in ["kube-controller-manager", "kube-scheduler"]:
            extra = [
                f"--service-account-private-key-file={keys}/sa.key",
                f"--root-ca-file={keys}/ca.crt",
                "--use-service-account-credentials=true",
                "--horizontal-pod-autoscaler-sync-period=2s",
                "--node-monitor-grace-period=5m",
            ]
            self.start(
                name,
                BIN / name,
                f"--kubeconfig={self.kubeconfig}",
                "--leader-elect=false",
                f"--authentication-kubeconfig={self.kubeconfig}",
                f"--authorization-kubeconfig={self.kubeconfig}",
                "--bind-address=127.0.0.1",
                *(extra if "controller" in name else []),
            )
        corefile = self.folder / "Corefile"
        corefile.write_text(
            f"{DOMAIN}:53 {{\n  bind {HOST}\n  errors\n  kubernetes {DOMAIN} {{\n"
            f"    kubeconfig {self.kubeconfig}\n"
            "    ttl 1\n  }\n}\n"
        )
        self.start("coredns", BIN / "coredns", "-conf", corefile)

    def answers(self, path: str) -> bool:
        try:
            self.kubectl("get", "--raw", path)
        except RuntimeError:
            return False
        return True

    # ---- nodes

    def node(self, index: int, node: str) -> None:
        folder = self.folder / node
        for part in ["cni", "kubelet", "volumeplugins"]:
            (folder / part).mkdir(parents=True)
        (folder / "cni/10-bridge.conf").write_text(
            json.dumps(
                {
                    "cniVersion": "0.4.0",
                    "name": node,
                    "type": "bridge",
                    "bridge": "pods",
                    "isGateway": True,
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "ranges": [[{"subnet": f"10.89.{index}.0/24"}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                }
            )
        )
        socket = folder / "containerd.sock"
        (folder / "containerd.toml").write_text(f"""
version = 2
root = "{folder}/containerd"
state = "{folder}/state"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/usr/sbin/runc"
      SystemdCgroup = false
""")
        self.start(
            f"containerd-{node}", "containerd", "--config", folder / "containerd.toml", netns=node
        )
        self.wait(f"containerd of {node}", lambda: self.pulled(node))
        for archive in sorted(self.folder.glob("*.oci")):
            sh("ctr", "--address", socket, "-n", "k8s.io", "images", "import", archive)
        (folder / "resolv.conf").write_text(f"nameserver {HOST}\n")
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.folder / "pki/ca.crt")},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{socket}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self.cgroup(node)}",
            "enforceNodeAllocatable": [],
            "clusterDNS": [HOST],
            "clusterDomain": DOMAIN,
            "resolvConf": str(folder / "resolv.conf"),
            "podLogsDir": str(folder / "logs"),
            "volumePluginDir": str(folder / "volumeplugins"),
            "evictionHard": {"memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "localStorageCapacityIsolation": False,
            "nodeStatusUpdateFrequency": "5s",
            "syncFrequency": "5s",
            "containerLogMaxSize": "100Mi",
            "systemReserved": {"cpu": "0"},
            "maxPods": 60,
        }
        (folder / "kubelet.json").write_text(json.dumps(kubelet))
        self.start(
            f"kubelet-{node}",
            BIN / "kubelet",
            "--config",
            folder / "kubelet.json",
            "--kubeconfig",
            self.kubeconfig,
            "--hostname-override",
            node,
            "--node-ip",
            f"10.88.1.{index}",
            "--root-dir",
            folder / "kubelet",
            "--cert-dir",
            folder / "kubelet/pki",
            "--v=2",
            netns=node,
        )

    def pulled(self, node: str) -> bool:
        try:
            sh("ctr", "--address", self.folder / node / "containerd.sock", "version")
        except RuntimeError:
            return False
        return True

    def cgroup(self, node: str) -> str:
        return f"feedmill-{self.folder.name}-{node}"

    def controllers(self) -> list[Path]:
        """The folders in which cgroups of a node are made: one of each hierarchy."""
        if (CGROUPS / "cgroup.controllers").exists():
            return [CGROUPS]
        return [
            path
            for path in CGROUPS.iterdir()
            if path.is_dir() and not path.is_symlink() and path.name != "unified"
        ]

    def make_cgroups(self) -> None:
        self.remove_cgroups()  # of a run that was killed
        for controller in self.controllers():
            for node in self.nodes:
                path = controller / self.cgroup(node)
                path.mkdir()
                for setting in (
                    ["cpuset.cpus", "cpuset.mems"] if controller.name == "cpuset" else []
                ):
                    (path / setting).write_text((controller / setting).read_text())

    def remove_cgroups(self) -> None:
        for controller in self.controllers():
            for node in self.nodes:
                for path, _, _ in os.walk(controller / self.cgroup(node), topdown=False):
                    Path(path).rmdir()

    def run(self, command: list[str]) -> int:
        """All of it, in the namespaces."""
        self.network()
        self.certificates()
        self.control_plane()
        for index, node in enumerate(self.nodes, 1):
            self.node(index, node)
        self.wait("all nodes to be ready", self.nodes_are_ready)
        environment = os.environ | {
            "KUBECONFIG": str(self.kubeconfig),
            "K8S_FOLDER": str(self.folder),
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HELM_CACHE_HOME": str(self.folder / "helm"),
            "HELM_CONFIG_HOME": str(self.folder / "helm"),
            "HELM_DATA_HOME": str(self.folder / "helm"),
        }
        return subprocess.run(command, env=environment, check=False).returncode

    def nodes_are_ready(self) -> bool:
        listed = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        ready = [
            node
            for node in listed
            for condition in node["status"].get("conditions", [])
            if condition["type"] == "Ready" and condition["status"] == "True"
        ]
        return len(ready) == len(self.nodes)


def make_images(folder: Path, binaries: list[str], base: Path | None) -> None:
    """The images of all nodes: the pause image, and NAME:TAG=BINARY of the command, in the image `base`."""
    sh("gcc", "-Os", "-static", "-o", folder / "pause", Path(__file__).parent / "pause.c")
    images.write_image(folder / "pause.oci", PAUSE, str(folder / "pause"), "/pause")
    for binary in binaries:
        name, path = binary.split("=", 1)
        file = name.replace("/", "_").replace(":", "_")
        if base and base.exists():
            images.extend_image(folder / f"{file}.oci", base, name, path, "/usr/bin/feedmill")
        else:
            images.write_image(folder / f"{file}.oci", name, path, "/usr/bin/feedmill")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--folder", help="folder of logs and state; default: a temporary one")
    parser.add_argument(
        "--image", action="append", default=[], help="NAME:TAG=BINARY, an image of the command"
    )
    parser.add_argument(
        "--base",
        type=Path,
        help="archive of tools/package image, if it is there: BINARY takes the place of its command",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.inside:
        sh("mount", "--make-rshared", "/")
        return Cluster(Path(options.folder), options.nodes).run(options.command)
    # An end by a signal ends the cluster, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(options.folder or tempfile.mkdtemp(prefix="k8s-"))
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(folder, options.nodes)
    try:
        make_images(folder, options.image, options.base)
        cluster.make_cgroups()
        inside = [
            "unshare",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--propagation",
            "private",
            sys.executable,
            __file__,
            "--inside",
            "--nodes",
            str(options.nodes),
            "--folder",
            str(folder),
            *options.command,
        ]
        return subprocess.run(inside, check=False).returncode
    finally:
        wait_for("processes of the cluster to end", lambda: removed(cluster), 60)
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)


def removed(cluster: Cluster) -> bool:
    try:
        cluster.remove_cgroups()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
