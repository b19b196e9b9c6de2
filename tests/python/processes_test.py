"""Forks, and children that read on their own."""

import subprocess
import sys

import pytest

# A child of a process with readers and servers: each use of them is an error,
# and the child ends by itself.
FORK = """
import contextlib, os, sys
import feedmill as fm
dispatcher = fm.DispatchServer()
worker = fm.WorkerServer(dispatcher.target)
metrics = fm.MetricsServer()
dataset = fm.Dataset.range(100000).map("x * 2")
local, remote = dataset.read(), dataset.read(dispatcher.target)
kept = [next(local), next(remote)]
stack = contextlib.ExitStack()
for entered in (dispatcher, worker, metrics, local, remote):
    stack.enter_context(entered)
child = os.fork()
if child == 0:
    for use in (lambda: next(local), lambda: next(remote), lambda: local.state_dict(),
                lambda: remote.close(), lambda: dispatcher.stop(), lambda: worker.join()):
        try:
            use()
        except fm.FailedPreconditionError as error:
            assert "forked" in str(error), error
        else:
            sys.exit("it was not refused")
    # It knows where they are, and leaves them to its parent.
    assert fm.Dataset.range(3).read(dispatcher.target).seed >= 0
    assert worker.target.startswith("tcp://")
    stack.close()
    del local, remote, dispatcher, worker, metrics
    assert kept == [0, 0]
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert len(list(local)) == len(list(remote)) == 99999
print("done")
"""

# A child reads from the start, although its parent used threads.
READ_IN_CHILD = """
import os, sys
import feedmill as fm
dataset = fm.Dataset.range(300000).map("x * 2 + 1").filter("x % 3 != 0").batch(10)
whole = [batch.tolist() for batch in dataset.read(threads=2)]
child = os.fork()
if child == 0:
    again = [batch.tolist() for batch in dataset.read(threads=2)]
    os._exit(0 if again == whole else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
print("done")
"""

# Interpreters end with readers and servers alive.
EXIT = """
import feedmill as fm
dispatcher = fm.DispatchServer()
worker = fm.WorkerServer(dispatcher.target)
reader = fm.Dataset.range(100000).read(dispatcher.target)
kept = next(reader)
other = fm.Dataset.range(100000).repeat().read()
next(other)
print("done")
"""

SPAWN = """
import multiprocessing
import feedmill as fm
DATASET = fm.Dataset.range(1000).batch(10)
def total(target):
    return sum(int(batch.sum()) for batch in DATASET.read(target))
if __name__ == "__main__":
    with fm.DispatchServer() as dispatcher, fm.WorkerServer(dispatcher.target):
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            assert pool.map(total, [dispatcher.target, None]) == [499500, 499500]
    print("done")
"""


@pytest.mark.parametrize("program", [FORK, READ_IN_CHILD, EXIT, SPAWN])
def test_a_program_ends_well(program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
    assert done.returncode == 0
