# feedmill on a real Slurm cluster: four nodes on this machine.
load lib/feedmill
load lib/slurm_cluster

setup_file() {
  local sleepy=$FEEDMILL_SLEEPY
  unset "${!FEEDMILL_@}" "${!SLURM@}"
  export FEEDMILL_SLEEPY=$sleepy
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
  # After SIGTERM, all end well.
  scancel --signal=TERM "$(squeue -h -n mill -o %A)"
  wait_for_end "$srun_pid"
  [[ $ended == 0 ]] || { cat "$BATS_TEST_TMPDIR/srun.log"; return 1; }
}

# job_is ID STATE: as Slurm says it.
job_is() { [[ $(squeue -h -j "$1" -o %T 2> /dev/null) == "$2" ]]; }
job_is_gone() { [[ -z $(squeue -h -j "$1" -o %T 2> /dev/null) ]]; }

# submit ARGUMENTS…: sbatch in a folder of the test, $job is its id.
submit() {
  cd "$BATS_TEST_TMPDIR"
  export FEEDMILL_SLURM=$SHELL_TESTS/../../deploy/slurm
  job=$(sbatch --parsable "$@")
}

@test "a heterogeneous job: CPU nodes serve the ranks of another group" {
  TRAIN='"$FEEDMILL" read "$DATA/design.yaml" --service "$SERVICE" --job t \
    --consumer "$SLURM_PROCID/$SLURM_NTASKS" > "$SLURM_SUBMIT_DIR/rank-$SLURM_PROCID"' \
    FEEDMILL="$FEEDMILL" submit --export=ALL "$SHELL_TESTS/../../deploy/slurm/hetjob.sbatch"
  wait_for 90 "the job to end" job_is_gone "$job" || { cat slurm-*.out; return 1; }
  cmp rank-0 <(feedmill read "$DATA/design.yaml" --local) || { cat slurm-*.out; return 1; }
  # The service was asked to stop, and was not killed.
  grep -q "drained" slurm-*.out
}

@test "a preempted and requeued job continues exactly" {
  cat > "$BATS_TEST_TMPDIR/slow.yaml" <<'YAML'
source: {range: {stop: 6000}}
steps: [shuffle, {map: "sleep_ms(x, 10)"}]
options: {seed: 4}
YAML
  PIPELINE=$BATS_TEST_TMPDIR/slow.yaml FEEDMILL=$FEEDMILL_SLEEPY \
    submit --export=ALL "$SHELL_TESTS/../../deploy/slurm/preemptible.sbatch"
  first=$job
  elements=$BATS_TEST_TMPDIR/feedmill-$first/elements
  wait_for 60 "elements" test -s "$elements" || { cat slurm-*.out; return 1; }
  # A job of a partition that comes first takes all nodes.
  submit -p urgent --exclusive -N4 -o urgent.out --wrap 'echo taken'
  wait_for 60 "the preemption" job_is "$first" PENDING || { cat slurm-*.out; return 1; }
  wait_for 60 "the urgent job" job_is_gone "$job"
  before=$(wc -l < "$elements")
  ((before > 0 && before < 6000))
  # Slurm holds a requeued job back for two minutes.
  scontrol update "JobId=$first" StartTime=now
  wait_for 120 "the job to end" job_is_gone "$first" || { cat slurm-*.out; return 1; }
  grep -q "life 1 goes on from" slurm-*.out
  cmp "$elements" <(timeout -k 5 200 "$FEEDMILL_SLEEPY" read \
    "$BATS_TEST_TMPDIR/slow.yaml" --local --threads 16)
}
