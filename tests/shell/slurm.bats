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

# job_is ID STATE: as Slurm says it, of all components.
job_is() { [[ $(squeue -h -j "$1" -o %T 2> /dev/null | sort -u) == "$2" ]]; }
job_is_gone() { [[ -z $(squeue -h -j "$1" -o %T 2> /dev/null) ]]; }

# submit ARGUMENTS…: sbatch in a folder of the test, $job is its id.
submit() {
  cd "$BATS_TEST_TMPDIR"
  export FEEDMILL_SLURM=$SHELL_TESTS/../../deploy/slurm
  job=$(sbatch --parsable "$@")
}

# slow_pipeline: in $slow, 6,000 elements of 10 ms each.
slow_pipeline() {
  slow=$BATS_TEST_TMPDIR/slow.yaml
  cat > "$slow" <<'YAML'
source: {range: {stop: 6000}}
steps: [shuffle, {map: "sleep_ms(x, 10)"}]
options: {seed: 4}
YAML
}

# local_read FLAGS…: what a read of $slow prints in one process.
local_read() { timeout -k 5 200 "$FEEDMILL_SLEEPY" read "$slow" --local --threads 16 "$@"; }

# preempt JOB: a job of a partition that comes first takes all nodes, and then JOB may start again.
preempt() {
  local component
  submit -p urgent --exclusive -N4 -o urgent.out --wrap 'echo taken'
  wait_for 60 "the preemption" job_is "$1" PENDING || { cat slurm-*.out; squeue; return 1; }
  wait_for 60 "the urgent job" job_is_gone "$job"
  # Slurm holds a requeued job back for two minutes. Its daemons refuse a job that
  # starts in the second in which it was ended ("credential revoked").
  for component in $(squeue -h -j "$1" -o %i); do
    scontrol update "JobId=$component" StartTime=now+2
  done
}

@test "a heterogeneous job: CPU nodes serve the ranks of another group" {
  # The line of docs/slurm.md, with a pipeline of this test.
  export TRAIN='$FEEDMILL read $DATA/design.yaml --service $SERVICE --job t --consumer $SLURM_PROCID/$SLURM_NTASKS --format summary > $SLURM_SUBMIT_DIR/rank-$SLURM_PROCID'
  FEEDMILL="$FEEDMILL" submit --export=ALL "$SHELL_TESTS/../../deploy/slurm/hetjob.sbatch"
  wait_for 90 "the job to end" job_is_gone "$job" || { cat slurm-*.out; return 1; }
  [[ $(field order_hash < rank-0) == "$(order_hash feedmill read "$DATA/design.yaml" --local)" ]] ||
    { cat slurm-*.out; return 1; }
  # The service was asked to stop, and was not killed.
  grep -q "drained" slurm-*.out
}

@test "a heterogeneous job of two ranks that is preempted and requeued continues exactly" {
  slow_pipeline
  sed '$!N; s/\(hetjob\n#SBATCH --nodes=1\).*/\1 --ntasks-per-node=2 --cpus-per-task=1/; P; D' \
    "$SHELL_TESTS/../../deploy/slurm/hetjob.sbatch" > "$BATS_TEST_TMPDIR/two.sbatch"
  export TRAIN='bash $FEEDMILL_SLURM/rank.bash $SLOW' SLOW=$slow
  FEEDMILL=$FEEDMILL_SLEEPY submit --export=ALL "$BATS_TEST_TMPDIR/two.sbatch"
  first=$job
  state=$BATS_TEST_TMPDIR/feedmill-$first
  for rank in 0 1; do
    wait_for 60 "elements of rank $rank" test -s "$state/elements-$rank" || { cat slurm-*.out; return 1; }
  done
  preempt "$first"
  for rank in 0 1; do
    before=$(wc -l < "$state/elements-$rank")
    ((before > 0 && before < 3000))
  done
  wait_for 120 "the job to end" job_is_gone "$first" || { cat slurm-*.out; return 1; }
  for rank in 0 1; do
    grep -q "life 1 of rank $rank continues from" slurm-*.out || { cat slurm-*.out; return 1; }
    cmp "$state/elements-$rank" <(local_read --consumer "$rank/2")
  done
}

@test "a preempted and requeued job with keys continues exactly" {
  slow_pipeline
  "$FEEDMILL" keygen --dir "$BATS_TEST_TMPDIR/keys"
  PIPELINE=$slow FEEDMILL=$FEEDMILL_SLEEPY FEEDMILL_KEYS=$BATS_TEST_TMPDIR/keys \
    submit --export=ALL "$SHELL_TESTS/../../deploy/slurm/preemptible.sbatch"
  first=$job
  state=$BATS_TEST_TMPDIR/feedmill-$first
  wait_for 60 "elements" test -s "$state/elements-0" || { cat slurm-*.out; return 1; }
  expect 1 feedmill status --service "$(cat "$state/service")" --timeout 2s
  expect 0 feedmill status --service "$(cat "$state/service")" --keys "$BATS_TEST_TMPDIR/keys"
  preempt "$first"
  before=$(wc -l < "$state/elements-0")
  ((before > 0 && before < 6000))
  wait_for 120 "the job to end" job_is_gone "$first" || { cat slurm-*.out; return 1; }
  grep -q "life 1 of rank 0 continues from" slurm-*.out || { cat slurm-*.out; return 1; }
  cmp "$state/elements-0" <(local_read)
}

@test "workers of another job help a job that runs" {
  slow_pipeline
  PIPELINE=$slow FEEDMILL=$FEEDMILL_SLEEPY \
    submit --export=ALL "$SHELL_TESTS/../../deploy/slurm/preemptible.sbatch"
  first=$job
  state=$BATS_TEST_TMPDIR/feedmill-$first
  wait_for 60 "elements" test -s "$state/elements-0" || { cat slurm-*.out; return 1; }
  service=$(cat "$state/service")
  workers_are 1
  # The line of docs/slurm.md, with 2 workers and the command of this test.
  submit -n2 --wrap "srun $FEEDMILL_SLEEPY worker --dispatcher $service --host 0.0.0.0 --insecure-bind"
  wait_for 60 "three workers" workers_are 3 || { cat slurm-*.out; return 1; }
  scancel --signal=TERM "$job"
  wait_for 60 "two workers to drain" workers_are 1
  wait_for 120 "the job to end" job_is_gone "$first" || { cat slurm-*.out; return 1; }
  cmp "$state/elements-0" <(local_read)
}
