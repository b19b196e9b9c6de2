# feedmill on a real Slurm cluster: four nodes on this machine.
load lib/feedmill
load lib/slurm_cluster

setup_file() {
  unset "${!FEEDMILL_@}" "${!SLURM@}"
  make_data
  start_slurm "$BATS_FILE_TMPDIR/slurm"
  echo "${PIDS[*]}" > "$BATS_FILE_TMPDIR/slurm.pids"
}
teardown_file() {
  read -ra PIDS < "$BATS_FILE_TMPDIR/slurm.pids"
  stop_all
}
teardown() { stop_all; }

# on_slurm ARGUMENTS…: srun, as far as $SECONDS of patience go.
on_slurm() { timeout -k 5 60 srun "$@"; }

# The ranks, hosts and ports that Slurm and feedmill give must be the same, for
# each way of spreading tasks: the resolver refuses to answer on another host
# than its own rank's, and rank k's task is at that host.
@test "every task of a step finds the same cluster, and itself in it" {
  for spread in "-N4 -n4" "-N2 -n4 -m block" "-N2 -n4 -m cyclic" "-N2 -n4 -m plane=2"; do
    # shellcheck disable=SC2086
    on_slurm $spread --label bash -c '
      echo "$SLURMD_NODENAME $("$0" resolve "slurm:?port=5050" --format json)"' \
      "$FEEDMILL" > "$BATS_TEST_TMPDIR/out" || { cat "$BATS_TEST_TMPDIR/out"; return 1; }
    python3 - "$BATS_TEST_TMPDIR/out" <<'PYTHON' || { echo "$spread"; cat "$BATS_TEST_TMPDIR/out"; return 1; }
import json, sys
seen, specs = set(), set()
for line in open(sys.argv[1]):
    rank, node, text = line.strip().split(None, 2)
    view = json.loads(text)
    task, cluster = view["task"], view["cluster"]
    specs.add(json.dumps(cluster))
    want = ("dispatcher", 0) if rank == "0:" else ("worker", int(rank[:-1]) - 1)
    assert (task["type"], task["index"]) == want, (rank, task)
    assert cluster[task["type"]][task["index"]].split(":")[0] == node, (rank, node)
    seen.add(rank)
assert len(seen) == 4 and len(specs) == 1, (seen, specs)
everyone = [a for job in json.loads(specs.pop()).values() for a in job]
assert len(set(everyone)) == 4, everyone
PYTHON
  done
}

@test "outside a step there is no cluster" {
  expect_error 2 "SLURM_STEP_NODELIST" "not run inside a Slurm job" -- feedmill resolve slurm:
}

@test "one srun starts a dispatcher and three workers, which deliver a dataset" {
  port=$(free_ports 127.0.0.2)
  service=127.0.0.2:$port
  srun -N4 -n4 --job-name mill "$FEEDMILL" server --cluster "slurm:?port=$port" --insecure-bind \
    > "$BATS_TEST_TMPDIR/srun.log" 2>&1 3>&- &
  srun_pid=$!
  PIDS+=("$srun_pid")
  wait_for 60 "three workers" workers_are 3 || { cat "$BATS_TEST_TMPDIR/srun.log"; return 1; }
  cmp <(feedmill read "$DATA/design.yaml" --service "$service") \
    <(feedmill read "$DATA/design.yaml" --local)
  # Told to stop, all end well.
  scancel --signal=TERM "$(squeue -h -n mill -o %A)"
  wait_for_end "$srun_pid"
  [[ $ended == 0 ]] || { cat "$BATS_TEST_TMPDIR/srun.log"; return 1; }
}
