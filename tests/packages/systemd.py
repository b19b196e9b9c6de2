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
import subprocess
import sys

from debian_root import DebianRoot, wait_for

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


def upgrade(root):
    """An installation over another restarts the services that run; a removal ends them."""
    before = [root.show(unit, "MainPID") for unit in (DISPATCHER, *WORKERS)]
    root.run("dpkg -i /packages/feedmill_*.deb")
    after = [root.show(unit, "MainPID") for unit in (DISPATCHER, *WORKERS)]
    assert not set(before) & set(after) and "0" not in after, (before, after)
    root.run("dpkg --remove feedmill")
    assert [root.run(f"systemctl is-active {unit}", check=False).strip() for unit in (DISPATCHER, *WORKERS)] == ["inactive"] * 3


def main():
    with DebianRoot("bookworm-systemd") as root:
        root.run("apt-get -q update")
        root.install("feedmill")
        root.boot()
        assert root.run(f"systemctl is-active {DISPATCHER}", check=False).strip() == "inactive"
        start(root)
        security(root)
        processes_killed(root)
        many_quick_deaths(root)
        hung_loop(root, DISPATCHER, ["fm-dispatcher"])
        hung_loop(root, WORKERS[0], ["fm-worker", "fm-maker"])  # either may run the loop
        upgrade(root)


if __name__ == "__main__":
    sys.exit(main())
