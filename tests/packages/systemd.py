"""The units of the package feedmill under a real systemd, booted by systemd-nspawn.

    systemd.py
"""
import contextlib
import ctypes
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from debian_root import REPOSITORY, DebianRoot, package, wait_for

DISPATCHER = "feedmill-dispatcher.service"
WORKERS = ("feedmill-worker@1.service", "feedmill-worker@2.service")
SERVICE = "localhost:5050"
PIPELINE = """source: {{range: {{stop: {elements}}}}}
steps:
  - map: "sin(x / 1000) * cos(x / 7) + sqrt(x / 3)"
  - shuffle
  - batch: {{size: 1000}}
options: {{seed: 7}}
"""


# A function for JIT compilers: they need memory that is both writable and executable.
PYTHON = """
import mmap, sys
import feedmill as fm, numpy as np
def plain(x):
    return {"y": np.sin(x), "n": x * x}
def compiled(x):
    import mmap
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    return x
which = {"plain": plain, "compiled": compiled}[sys.argv[1]]
numbers = fm.Dataset.range(1000).map(which, python=True, memory_bytes=200 << 20)
if sys.argv[1] == "plain":
    print(sum(int(e["n"]) for e in numbers.read("localhost:5050", timeout=60)))
else:
    print(sum(int(e) for e in numbers.read("localhost:5050", timeout=60)))
"""


def commands(page, section):
    """The blocks of commands of a section of a page in docs."""
    text = (REPOSITORY / "docs" / page).read_text()
    body = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1]
    return re.findall(r"^```sh\n(.*?)^```$", body, re.M | re.S)


def status(root):
    printed = root.run(f"feedmill status --service {SERVICE} --format json", check=False)
    return json.loads(printed) if printed else {}


def start(root):
    """The units as installed start, become ready and read a file."""
    root.run(f"systemctl start {DISPATCHER} {' '.join(WORKERS)}")
    for unit in (DISPATCHER, *WORKERS):
        assert root.show(unit, "ActiveState") == "active", root.run(f"journalctl -u {unit} --no-pager")
    wait_for(lambda: len(status(root).get("workers", [])) == 2, lambda: f"two workers: {status(root)}")
    wait_for(lambda: root.show(DISPATCHER, "StatusText").startswith("2 workers"), lambda: root.show(DISPATCHER, "StatusText"))
    wait_for(lambda: root.show(WORKERS[0], "StatusText").startswith("works for"), lambda: root.show(WORKERS[0], "StatusText"))
    printed = root.run(f"cd /first && feedmill read houses.yaml --service {SERVICE}")
    assert printed.startswith('{"area":[0.705,1.4,0.66]'), printed
    assert root.run("stat -c '%U %a' /var/lib/feedmill/dispatcher") == "feedmill 700\n"
    for unit in (DISPATCHER, *WORKERS):
        assert root.run(f"stat -c %U /proc/{root.show(unit, 'MainPID')}") == "feedmill\n"


def keys_by_role(root):
    """The commands of docs/systemd.md: each role has its own keys and no other's, and the service reads and answers."""
    make, server, reader = commands("systemd.md", "Several machines")
    folder = "/etc/feedmill/keys"
    root.run(f"mkdir /root/made && cd /root/made\n{make}")
    assert root.run("cd /root/made && cat *.tar | wc -c") != "0\n"
    # The machines of the roles are folders here.
    for role in ("dispatcher", "worker"):
        root.run(f"cd /root/made && cp {role}.tar {role}.copy\n" +
                 server.replace("role=dispatcher", f"role={role}").replace(folder, f"{folder}-{role}"))
    root.run(f"cd /root/made\n{reader}")
    root.run("mkdir -m 0700 /root/operator && tar -C /root/operator --no-same-owner -xf /root/made/operator.tar")
    secrets = root.run("cd / && find etc/feedmill root/.feedmill root/operator -name '*.key' | sort")
    assert secrets == ("etc/feedmill/keys-dispatcher/dispatcher.key\netc/feedmill/keys-worker/worker.key\n"
                       "root/.feedmill/client.key\nroot/operator/operator.key\n"), secrets
    for role in ("dispatcher", "worker"):
        root.run(f"cp /etc/feedmill/{role}.yaml /root/{role}.yaml && "
                 f"printf 'host: 0.0.0.0\\nkeys: {folder}-{role}\\n' >> /etc/feedmill/{role}.yaml")
    root.run(f"systemctl restart {DISPATCHER} {' '.join(WORKERS)}")
    printed = root.run(f"cd /first && feedmill read houses.yaml --service {SERVICE} --keys /root/.feedmill")
    assert printed.startswith('{"area":[0.705,1.4,0.66]'), printed
    asked = f"feedmill status --service {SERVICE} --timeout 3s --format json"
    wait_for(lambda: len(json.loads(root.run(f"{asked} --keys /root/operator"))["workers"]) == 2, "two workers with keys")
    for stranger in ("", " --keys /root/.feedmill"):
        assert not root.run(asked + stranger, check=False), f"the status was shown to a stranger: {stranger}"
    root.run("mv /root/dispatcher.yaml /root/worker.yaml /etc/feedmill/ && "
             f"systemctl restart {DISPATCHER} {' '.join(WORKERS)}")
    wait_for(lambda: len(status(root).get("workers", [])) == 2, "two workers without keys")


def python_functions(root):
    """docs/python_functions.md: Debian's packages and a line of worker.yaml; a drop-in for JIT compilers."""
    root.path.joinpath("srv/functions.py").write_text(PYTHON)
    refused = root.run("python3 /srv/functions.py plain 2>&1", check=False)
    assert "Python" in refused and "FailedPrecondition" in refused, refused
    root.run("echo 'allow_python: /usr/bin/python3' >> /etc/feedmill/worker.yaml && "
             f"systemctl restart {' '.join(WORKERS)}")
    wait_for(lambda: len(status(root).get("workers", [])) == 2, "two workers with Python")
    assert root.run("python3 /srv/functions.py plain") == f"{sum(x * x for x in range(1000))}\n"
    denied = root.run("python3 /srv/functions.py compiled 2>&1", check=False)
    assert "PermissionError" in denied, denied
    drop_in, = [block for block in commands("python_functions.md", "What each engine needs") if "MemoryDeny" in block]
    root.run(drop_in + f"systemctl restart {' '.join(WORKERS)}")
    assert root.run("python3 /srv/functions.py compiled") == f"{sum(range(1000))}\n"


def security(root):
    for unit in (DISPATCHER, WORKERS[0]):
        printed = root.run(f"systemd-analyze security --no-pager {unit}", check=False)
        exposure = float(re.search(r"exposure level for .*: ([\d.]+)", printed)[1])
        print(f"{unit}: exposure {exposure}")
        assert exposure <= 2.5, printed


def processes_killed(root):
    """SIGKILL of a worker and of the dispatcher, and a drain, in the middle of a read: the same order hash."""
    def pipeline(elements):
        root.path.joinpath("srv/p.yaml").write_text(PIPELINE.format(elements=elements))
    def local_read():
        return json.loads(root.run("feedmill read /srv/p.yaml --local --format summary"))
    pipeline(5_000_000)
    # Enough elements for 40 s here, so that all of it happens meanwhile.
    elements = int(5_000_000 * 40 / local_read()["seconds"]) // 1000 * 1000
    pipeline(elements)
    local = local_read()
    reader = root.start(f"feedmill read /srv/p.yaml --service {SERVICE} --job whole --format summary",
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def leases():
        return sum(worker.get("leases", 0) for worker in status(root).get("workers", []))

    def in_mid_read():
        wait_for(lambda: reader.poll() is not None or leases() > 0, "leases")
        assert reader.poll() is None, f"the read was over too early: {reader.communicate()}"

    def killed(unit):
        in_mid_read()
        before = root.show(unit, "MainPID")
        root.run(f"systemctl kill --signal=KILL {unit}")
        wait_for(lambda: root.show(unit, "ActiveState") == "active" and root.show(unit, "MainPID") not in (before, "0"),
                 f"{unit} to run again")

    killed(WORKERS[0])
    killed(DISPATCHER)
    wait_for(lambda: len(status(root).get("workers", [])) == 2, "two workers")
    in_mid_read()
    root.run(f"systemctl restart {WORKERS[1]}")
    journal = root.run(f"journalctl --no-pager -u {WORKERS[1]}")
    assert "draining" in journal and root.show(WORKERS[1], "Result") == "success", journal
    killed(DISPATCHER)
    in_mid_read()
    output, errors = reader.communicate(timeout=300)
    assert reader.returncode == 0, errors
    read = json.loads(output)
    assert (read["order_hash"], read["elements"]) == (local["order_hash"], local["elements"]), (read, local)
    print(f"order hash {read['order_hash']} of {elements:,} elements, as --local: a worker and twice the dispatcher killed, "
          f"a worker drained; {read['seconds']:.1f} s, local {local['seconds']:.1f} s")
    return elements


def backup_and_restore(root, elements):
    """The commands of docs/operate.md in the middle of a read, which continues exactly."""
    root.path.joinpath("srv/p.yaml").write_text(PIPELINE.format(elements=elements))
    save, restore = [block for block in commands("operate.md", "Backup and restore") if "systemctl" in block]
    reader = root.start(f"feedmill read /srv/p.yaml --service {SERVICE} --job moved --format summary",
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: any(job.get("name") == "moved" for job in status(root).get("jobs", [])), "the read to begin")
    root.run(f"cd /root\n{save}")
    root.run("rm -r /var/lib/feedmill/dispatcher")
    root.run(f"cd /root\n{restore}")
    assert reader.poll() is None, f"the read was over too early: {reader.communicate()}"
    output, errors = reader.communicate(timeout=300)
    assert reader.returncode == 0, errors
    local = json.loads(root.run("feedmill read /srv/p.yaml --local --format summary"))
    assert json.loads(output)["order_hash"] == local["order_hash"], (output, local)


def many_quick_deaths(root):
    """More deaths than systemd's default limit, which would stop the unit."""
    for deaths in range(7):
        before = int(root.show(DISPATCHER, "NRestarts"))
        root.run(f"systemctl kill --signal=KILL {DISPATCHER}")
        wait_for(functools.partial(restarted, root, DISPATCHER, before), f"a restart after death {deaths + 1}")


def restarted(root, unit, before):
    return int(root.show(unit, "NRestarts")) > before and root.show(unit, "ActiveState") == "active"


def hung_loop(root, unit, threads):
    """A process whose event loop hangs, while its other threads run, is killed by the watchdog and started again."""
    root.run(f"mkdir -p /run/systemd/system/{unit}.d && printf '[Service]\\nWatchdogSec=3s\\nTimeoutAbortSec=2s\\n' > /run/systemd/system/{unit}.d/w.conf"
             f" && systemctl daemon-reload && systemctl restart {unit}")
    process = root.main_process(unit)
    tasks = [int(task.name) for task in pathlib.Path(f"/proc/{process}/task").iterdir()
             if (task / "comm").read_text().strip() in threads]
    assert len(tasks) == len(threads), tasks
    before = int(root.show(unit, "NRestarts"))
    fed = int(root.show(unit, "WatchdogTimestampMonotonic"))
    wait_for(lambda: int(root.show(unit, "WatchdogTimestampMonotonic")) > fed + 4_000_000, "a fed watchdog")
    assert int(root.show(unit, "NRestarts")) == before, "the watchdog ended a service that answers"
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt = 0x4206, 0x4207
    for task in tasks:
        assert libc.ptrace(seize, task, None, None) == 0, ctypes.get_errno()
        assert libc.ptrace(interrupt, task, None, None) == 0, ctypes.get_errno()
    wait_for(lambda: "Watchdog timeout" in root.run(f"journalctl --no-pager -u {unit}"), "the watchdog")

    def reap():
        """A process that is traced ends when its tracer has seen the threads end."""
        for task in tasks:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(task, os.WNOHANG | 0x40000000)  # __WALL
        return restarted(root, unit, before)
    wait_for(reap, f"{unit} to run again")
    root.run(f"rm -r /run/systemd/system/{unit}.d && systemctl daemon-reload && systemctl restart {unit}")


def newer_package(root, version, configuration=""):
    """The package feedmill with another version in /srv, and with more text in a file of /etc."""
    folder, file = root.path / "srv/newer", root.path / f"srv/feedmill_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "-R", package("feedmill"), folder], check=True)
    control = folder / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.M))
    with open(folder / "etc/feedmill/worker.yaml", "a", encoding="utf-8") as file_of_worker:
        file_of_worker.write(configuration)
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-b", folder, file], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder)
    return f"/srv/{file.name}"


def upgrade(root):
    """An installation over another keeps edited files and restarts the services that run; a removal ends them."""
    before = [root.show(unit, "MainPID") for unit in (DISPATCHER, *WORKERS)]
    mine = "echo 'threads: 1  # mine' >> /etc/feedmill/worker.yaml && cat /etc/feedmill/worker.yaml"
    edited = root.run(mine)
    root.run(f"dpkg -i {newer_package(root, '0.1.0-2')}")
    after = [root.show(unit, "MainPID") for unit in (DISPATCHER, *WORKERS)]
    assert not set(before) & set(after) and "0" not in after, (before, after)
    assert root.run("dpkg-query -W -f '${Version}' feedmill") == "0.1.0-2"
    assert root.run("cat /etc/feedmill/worker.yaml") == edited
    # The new version has another file, too.
    newer = newer_package(root, "0.1.0-3", "# a new option\n")
    root.run(f"apt-get -q -o Dpkg::Options::=--force-confold install -y {newer}")
    assert root.run("cat /etc/feedmill/worker.yaml") == edited
    assert root.run("tail -n 1 /etc/feedmill/worker.yaml.dpkg-dist") == "# a new option\n"
    wait_for(lambda: len(status(root).get("workers", [])) == 2, "two workers of the new version")
    root.run("dpkg --remove feedmill")
    assert [root.run(f"systemctl is-active {unit}", check=False).strip() for unit in (DISPATCHER, *WORKERS)] == ["inactive"] * 3


def main():
    with DebianRoot("bookworm-systemd") as root:
        root.run("apt-get -q update")
        root.install("feedmill", "python3-feedmill")
        root.run("apt-get -q install -y --no-install-recommends python3-cloudpickle")
        root.boot()
        assert root.run(f"systemctl is-active {DISPATCHER}", check=False).strip() == "inactive"
        start(root)
        security(root)
        keys_by_role(root)
        elements = processes_killed(root)
        backup_and_restore(root, elements // 4000 * 1000)
        python_functions(root)
        many_quick_deaths(root)
        hung_loop(root, DISPATCHER, ["fm-dispatcher"])
        hung_loop(root, WORKERS[0], ["fm-worker", "fm-maker"])  # either may run the loop
        upgrade(root)


if __name__ == "__main__":
    sys.exit(main())
