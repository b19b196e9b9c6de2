# feedmill server: one task of a cluster, found by a URI.
load lib/feedmill

setup_file() { make_data; }
setup() {
  unset "${!FEEDMILL_@}" "${!SLURM@}" "${!SM_@}" TF_CONFIG
  BOARD=$BATS_TEST_TMPDIR/board
  mkdir "$BOARD"
  CLUSTER=$BATS_TEST_TMPDIR/cluster.yaml
  cat > "$CLUSTER" <<'YAML'
dispatcher: ["localhost:0"]
worker: {0: "localhost:0", 3: "localhost:%port%"}
ps: ["localhost:0"]
YAML
}
teardown() { stop_all; }

# start_task NAME JOB INDEX ARGUMENTS…: of the cluster in $CLUSTER.
start_task() {
  local name=$1 job=$2 index=$3
  shift 3
  start "$name" server --cluster "file:$CLUSTER" --job "$job" --task "$index" \
    --publish "$BOARD" "$@"
}

@test "one line per task starts a cluster, in any order" {
  start_task w3 worker 3
  w3=$pid
  start_task w0 worker 0
  start_task ps ps 0
  start_task d dispatcher 0
  for name in w3 w0 ps d; do wait_for_file "$name.ready" 20; done
  service=$(cat "$BATS_TEST_TMPDIR/d.ready")
  workers_are 2
  cmp <(feedmill read "$DATA/design.yaml" --service "$service") \
    <(feedmill read "$DATA/design.yaml" --local)
  # Everyone's address is on the board, and goes with its owner.
  cmp "$BOARD/worker-3" "$BATS_TEST_TMPDIR/w3.ready"
  stop "$w3"
  [[ $ended == 0 && ! -e $BOARD/worker-3 && -e $BOARD/worker-0 ]]
  wait_for 10 "one worker" workers_are 1
}

@test "a job without a service says who it is, and ends on SIGTERM" {
  start_task ps ps 0
  wait_for_file ps.ready 10
  address=$(cat "$BATS_TEST_TMPDIR/ps.ready")
  expect 0 feedmill status --service "$address"
  [[ $output == *ps* && $output == *"localhost:0"* ]]
  expect_error 2 'task 0 of job "ps" serves no data' "the dispatcher is" -- \
    feedmill read "$DATA/design.yaml" --service "$address"
  stop "$pid"
  [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/ps.ready ]]
}

@test "a worker follows its dispatcher to a new port" {
  start_task d dispatcher 0
  first=$pid
  wait_for_file d.ready 10
  start_task w worker 0
  wait_for_file w.ready 20
  stop "$first" KILL
  start_task d2 dispatcher 0
  wait_for_file d2.ready 10
  service=$(cat "$BATS_TEST_TMPDIR/d2.ready")
  wait_for 20 "the worker" workers_are 1
}

@test "the environment names the cluster and the task" {
  export FEEDMILL_CLUSTER='{"local": ["localhost:0"]}' FEEDMILL_JOB=local
  start_and_wait local server --cluster env:
  cmp <(feedmill read "$DATA/photos.yaml" --service "$address") \
    <(feedmill read "$DATA/photos.yaml" --local)
  stop "$pid"
  [[ $ended == 0 ]]
}

@test "TF_CONFIG names the cluster and the task" {
  export TF_CONFIG='{"cluster": {"dispatcher": ["localhost:0"], "worker": ["localhost:0"]},
    "task": {"type": "dispatcher", "index": 0}}'
  start_and_wait dispatcher server --cluster tf_config: --publish "$BOARD"
  service=$address
  start_and_wait worker server --cluster tf_config: --publish "$BOARD" --job worker
  workers_are 1
}

@test "--jobs says which jobs of a trainers' cluster are the service" {
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  cluster='"cluster": {"worker": ["localhost:1", "localhost:2"], "ps": ["localhost:'$port'"], "data": ["localhost:0"]}'
  roles=(--cluster tf_config: --jobs dispatcher=ps,worker=data)
  export TF_CONFIG="{$cluster, \"task\": {\"type\": \"ps\", \"index\": 0}}"
  start_and_wait dispatcher server "${roles[@]}"
  service=$address
  [[ $service == *:$port ]]
  start_and_wait data server "${roles[@]}" --job data
  wait_for 20 "a worker" workers_are 1
  # A worker that the cluster does not list finds the dispatcher, too.
  start_and_wait more worker "${roles[@]}"
  wait_for 20 "two workers" workers_are 2
  # The trainer is a "worker" of its own cluster, and no worker of the service.
  export TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 1}}"
  expect 0 feedmill resolve 'tf_config:?roles=dispatcher=ps,worker=data' --format json
  [[ $output == *'"other_worker"'* ]]
  cmp <(feedmill read "$DATA/photos.yaml" "${roles[@]}") \
    <(feedmill read "$DATA/photos.yaml" --local)
}

@test "read --cluster waits for a dispatcher, and says what is wrong" {
  reads() { feedmill read "$DATA/photos.yaml" "$@"; }
  echo '{worker: ["localhost:1"], ps: ["localhost:2", "localhost:3"]}' > "$CLUSTER"
  expect_error 1 "no dispatcher in the cluster" "1s .--timeout" -- reads --cluster "file:$CLUSTER" --timeout 1s
  expect_error 2 "dispatcher.* has 2 tasks" -- reads --cluster "file:$CLUSTER" --jobs dispatcher=ps
  expect_error 2 "'trainer=ps' gives no job a role" -- reads --cluster "file:$CLUSTER" --jobs trainer=ps
  expect_error 2 "--jobs needs --cluster" -- reads --local --jobs dispatcher=ps
  expect_error 2 "--service and --cluster exclude" -- reads --service h:1 --cluster env:
  expect_error 2 "--local and --cluster exclude" -- reads --local --cluster env:
  echo '{dispatcher: ["localhost:0"]}' > "$CLUSTER"
  expect_error 2 "has no port" -- reads --cluster "file:$CLUSTER"
  expect_error 2 "TF_CONFIG is not set" -- reads --cluster tf_config:
}

@test "a dispatcher of a cluster keeps its state in --work-dir" {
  start_task d dispatcher 0 --work-dir "$BATS_TEST_TMPDIR/state"
  wait_for_file d.ready 10
  [[ -d $BATS_TEST_TMPDIR/state ]]
}

@test "a task that cannot be served exits 2 and says why" {
  server() { feedmill server --log-level off "$@"; }
  expect_error 2 "--cluster URI is missing" -- server
  expect_error 2 "did you mean" -- server --cluster "flie:$CLUSTER"
  expect_error 2 "cluster.yml" -- server --cluster file:cluster.yml
  expect_error 2 "3 jobs" "--job" -- server --cluster "file:$CLUSTER"
  expect_error 2 'no job "wroker"; did you mean "worker"' -- \
    server --cluster "file:$CLUSTER" --job wroker
  expect_error 2 "2 tasks" "--task" -- server --cluster "file:$CLUSTER" --job worker
  expect_error 2 "no task 1 in job .worker" -- server --cluster "file:$CLUSTER" --job worker --task 1
  expect_error 2 "has no port yet" "--publish" -- \
    server --cluster "file:$CLUSTER" --job worker --task 0
  expect_error 2 "publish" "/no/such" -- \
    server --cluster "file:$CLUSTER" --job ps --publish /no/such
  expect_error 2 "FEEDMILL_CLUSTER" -- \
    env FEEDMILL_CLUSTER='{' "$FEEDMILL" server --cluster env:
  expect_error 2 "no jobs" -- server --cluster env:
  echo 'dispatcher: ["localhost:0"]' > "$CLUSTER"
  expect_error 2 "ftp://bucket" "folder" -- \
    server --cluster "file:$CLUSTER" --work-dir ftp://bucket/state
  expect_error 2 "fault_tolerant_mode needs a work_dir" -- \
    server --cluster "file:$CLUSTER" --fault-tolerant-mode
}

@test "a taken port and a host of another machine exit 1" {
  start_and_wait d dispatcher --port 0
  echo "dispatcher: [\"localhost:${address##*:}\"]" > "$CLUSTER"
  expect_error 1 "${address##*:}" "in use|taken" -- \
    feedmill server --cluster "file:$CLUSTER" --log-level off
  echo 'dispatcher: ["192.0.2.1:5050"]' > "$CLUSTER"
  expect_error 1 "192.0.2.1" -- feedmill server --cluster "file:$CLUSTER" --insecure-bind --log-level off
}

@test "a dispatcher that never publishes is an error in time" {
  expect 1 feedmill server --cluster "file:$CLUSTER" --job worker --task 0 \
    --publish "$BOARD" --dispatcher-timeout 300ms
  [[ $stderr == *"waiting for a dispatcher to publish"* ]]
  [[ $stderr == *"no dispatcher published its address in '$BOARD'"* ]]
}

@test "a worker finds its dispatcher in a cluster that does not list it" {
  start_and_wait d dispatcher --port 0
  service=$address
  printf 'dispatcher: ["%s"]\nworker: ["elsewhere:1"]\n' "${service#tcp://}" > "$CLUSTER"
  start_and_wait w1 worker --cluster "file:$CLUSTER" --threads 1 --watch 20ms
  w1=$pid
  [[ $address == tcp://127.0.0.1:* ]]
  start_and_wait w2 worker --cluster "file:$CLUSTER" --threads 1
  workers_are 2
  cmp <(feedmill read "$DATA/design.yaml" --service "$service") \
    <(feedmill read "$DATA/design.yaml" --local)
  # It follows its dispatcher, and drains like any other.
  start_and_wait other dispatcher --port 0
  printf '{"dispatcher": ["%s"]}\n' "${address#tcp://}" > "$CLUSTER.new"
  mv "$CLUSTER.new" "$CLUSTER"
  service=$address
  wait_for 20 "the worker at the second dispatcher" workers_are 1
  stop "$w1"
  [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/w1.ready ]]
}

@test "a worker that finds no dispatcher in a cluster exits 2 and says why" {
  worker() { feedmill worker --log-level off "$@"; }
  expect_error 2 "--dispatcher HOST:PORT or --cluster URI is missing" -- worker
  expect_error 2 "exclude each other" -- worker --cluster "file:$CLUSTER" --dispatcher h:1
  expect_error 2 "--watch needs --cluster" -- worker --dispatcher h:1 --watch 1s
  expect_error 2 "did you mean" -- worker --cluster "flie:$CLUSTER"
  expect_error 2 "has no port" "feedmill server" -- worker --cluster "file:$CLUSTER"
  echo 'dispatcher: ["a:1", "b:1"]' > "$CLUSTER"
  expect_error 2 "has 2 tasks" "one dispatcher" -- worker --cluster "file:$CLUSTER"
}

@test "a worker waits for a dispatcher that its cluster does not list yet" {
  for command in "worker" "server --job worker"; do
    echo 'worker: ["localhost:0"]' > "$CLUSTER"
    # shellcheck disable=SC2086
    start w $command --cluster "file:$CLUSTER" --watch 20ms
    waits() { grep -q "waiting for a dispatcher in the cluster 'file:$CLUSTER'" "$BATS_TEST_TMPDIR/w.log"; }
    wait_for 10 "the word that it waits" waits
    start_and_wait d dispatcher --port 0
    service=$address
    printf '{"dispatcher": ["%s"], "worker": ["localhost:0"]}\n' "${service#tcp://}" > "$CLUSTER.new"
    mv "$CLUSTER.new" "$CLUSTER"
    wait_for_file w.ready 20
    workers_are 1
    stop_all
    rm -f "$BATS_TEST_TMPDIR"/w.*
  done
}

@test "a worker's wait for a dispatcher has a bound, and ends on SIGTERM" {
  echo 'worker: ["localhost:0"]' > "$CLUSTER"
  for command in "worker" "server --job worker"; do
    # shellcheck disable=SC2086
    expect 1 feedmill $command --cluster "file:$CLUSTER" --dispatcher-timeout 200ms
    [[ $stderr == *"waiting for a dispatcher"* ]]
    [[ $stderr == *"no dispatcher in the cluster 'file:$CLUSTER' for 200ms (--dispatcher-timeout)"* ]]
    # shellcheck disable=SC2086
    start w $command --cluster "file:$CLUSTER"
    wait_for 10 "the word that it waits" grep -q "waiting for a dispatcher" "$BATS_TEST_TMPDIR/w.log"
    stop "$pid"
    [[ $ended == 0 ]]
    rm "$BATS_TEST_TMPDIR/w.log"
  done
}

@test "a task is where --advertise says" {
  start_task ps ps 0 --advertise mill.example.org:7000
  wait_for_file ps.ready 10
  [[ $(cat "$BATS_TEST_TMPDIR/ps.ready") == tcp://mill.example.org:7000 ]]
  cmp "$BOARD/ps-0" "$BATS_TEST_TMPDIR/ps.ready"
  expect_error 2 "advertise" -- feedmill server --cluster "file:$CLUSTER" --job ps --advertise a:b:c
}

@test "a worker goes over to another dispatcher when its cluster says so" {
  start_and_wait d1 dispatcher --port 0
  first=$address
  start_and_wait d2 dispatcher --port 0
  second=$address
  describe() { # the dispatcher's address: replaces the file whole
    printf 'dispatcher: ["%s"]\nworker: ["localhost:0"]\n' "${1#tcp://}" > "$CLUSTER.new"
    mv "$CLUSTER.new" "$CLUSTER"
  }
  describe "$first"
  start w server --cluster "file:$CLUSTER" --job worker --watch 20ms
  wait_for_file w.ready 20
  service=$first
  workers_are 1
  printf 'dispatcher: oops\n' > "$CLUSTER"
  wait_for 20 "the trouble in the log" grep -q "cannot look whether the cluster" "$BATS_TEST_TMPDIR/w.log"
  describe "$second"
  service=$second
  wait_for 20 "the worker at the second dispatcher" workers_are 1
  grep -q "dispatcher/0 moved from ${first#tcp://} to ${second#tcp://}" "$BATS_TEST_TMPDIR/w.log"
  cmp <(feedmill read "$DATA/design.yaml" --service "$service") \
    <(feedmill read "$DATA/design.yaml" --local)
}
