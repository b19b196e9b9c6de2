# Starting, ready files, being unreachable, being stopped, dying.
load lib/feedmill

setup_file() { make_data; }
teardown() { stop_all; }

@test "a dispatcher's ready file replaces a stale one and goes at exit" {
  echo "tcp://stale:1" > "$BATS_TEST_TMPDIR/d.ready"
  start d dispatcher --port 0
  wait_for 10 "the new address" grep -q 127.0.0.1 "$BATS_TEST_TMPDIR/d.ready"
  [[ $(cat "$BATS_TEST_TMPDIR/d.ready") =~ ^tcp://127\.0\.0\.1:[0-9]+$ ]]
  [[ $(tail -c 1 "$BATS_TEST_TMPDIR/d.ready" | od -An -c | tr -d ' ') == '\n' ]]
  stop "$pid"
  [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/d.ready ]]
}

@test "SIGTERM and SIGINT stop a dispatcher and a worker with exit 0" {
  for signal in TERM INT; do
    start_cluster 1
    stop "${worker_pids[0]}" "$signal"
    [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/worker0.ready ]]
    wait_for 10 "the worker to be gone" workers_are 0
    stop "$dispatcher_pid" "$signal"
    [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/dispatcher.ready ]]
  done
}

@test "a drained worker returns its splits" {
  start_cluster 2
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$DATA/long.yaml" --service "$service" \
    > "$BATS_TEST_TMPDIR/pipe" 2> "$BATS_TEST_TMPDIR/read.log" 3>&- &
  reader=$!
  PIDS+=("$reader")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  read -r line <&9
  kill -TERM "${worker_pids[0]}"
  { echo "$line"; cat <&9; } | md5sum > "$BATS_TEST_TMPDIR/sum"
  exec 9<&-
  wait_for_end "$reader"
  [[ $ended == 0 ]]
  wait_for_end "${worker_pids[0]}"
  [[ $ended == 0 ]]
  [[ $(cat "$BATS_TEST_TMPDIR/sum") == "$(feedmill read "$DATA/long.yaml" --local | md5sum)" ]]
}

@test "a taken port is an error with exit 1" {
  start_cluster 1
  port=${service##*:}
  expect_error 1 "$port" "in use|taken" -- feedmill dispatcher --port "$port" --log-level off
  expect_error 1 "$port" "in use|taken" -- \
    feedmill worker --dispatcher "$service" --port "$port" --log-level off
  expect 1 feedmill up --port "$port"
  [[ $stderr == *"$port"* ]]
}

@test "a host that is not of this machine is an error" {
  expect_error 1 "192.0.2.1" -- feedmill dispatcher --host 192.0.2.1 --insecure-bind --log-level off
}

@test "an unreachable dispatcher is an error within the time given" {
  expect_error 1 "127.0.0.1:1" "dispatcher" -- \
    feedmill read "$DATA/design.yaml" --service 127.0.0.1:1 --timeout 500ms
  expect_error 1 "127.0.0.1:1" -- feedmill status --service 127.0.0.1:1 --timeout 500ms
  expect 1 feedmill worker --dispatcher 127.0.0.1:1 --dispatcher-timeout 1s
  [[ $stderr == *"waiting for the dispatcher"*"no dispatcher answered"* ]]
}

@test "--timeout without workers is an error that says so" {
  start_cluster 0
  expect_error 1 "worker" -- feedmill read "$DATA/design.yaml" --service "$service" --timeout 700ms
  expect_error 1 "worker" -- feedmill read "$DATA/photos.yaml" --service "$service" --timeout 700ms
}

@test "a worker waits for its dispatcher, a read for its worker" {
  start_and_wait dispatcher dispatcher --port 0
  service=$address
  "$FEEDMILL" read "$DATA/records.yaml" --service "$service" \
    > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/read.log" 3>&- &
  reader=$!
  PIDS+=("$reader")
  start_and_wait worker worker --dispatcher "$service"
  wait_for_end "$reader"
  [[ $ended == 0 ]]
  cmp "$BATS_TEST_TMPDIR/out" <(feedmill read "$DATA/records.yaml" --local)
}

@test "another cluster is refused" {
  start_and_wait dispatcher dispatcher --port 0 --cluster-id east
  expect 1 feedmill read "$DATA/design.yaml" --service "$address" --cluster-id west --timeout 3s
  [[ $stderr == *west* || $stderr == *east* ]]
  expect 0 feedmill status --service "$address" --cluster-id east
}

@test "up stops all its children on SIGTERM" {
  start_and_wait up up --workers 2
  up=$pid
  children=$(pgrep -P "$up")
  [[ $(wc -l <<< "$children") == 3 ]]
  stop "$up"
  [[ $ended == 0 && ! -e $BATS_TEST_TMPDIR/up.ready ]]
  for child in $children; do gone "$child"; done
}

@test "up restarts a child that dies, and says so" {
  start_and_wait up up --workers 2
  up=$pid service=$address
  victim=$(pgrep -P "$up" -f "feedmill worker" | head -n 1)
  kill -KILL "$victim"
  wait_for 10 "the message" grep -q "process $victim.*killed by signal 9" "$BATS_TEST_TMPDIR/up.log"
  wait_for 10 "the restart" grep -q "started worker-. again" "$BATS_TEST_TMPDIR/up.log"
  wait_for 10 "two workers" workers_are 2
  cmp <(feedmill read "$DATA/photos.yaml" --service "$service") \
    <(feedmill read "$DATA/photos.yaml" --local)
}

@test "up restarts a dispatcher that dies where it was" {
  start_and_wait up up --workers 2
  up=$pid service=$address
  kill -KILL "$(pgrep -P "$up" -f "feedmill dispatcher")"
  wait_for 15 "the workers to come back" workers_are 2
  cmp <(feedmill read "$DATA/photos.yaml" --service "$service") \
    <(feedmill read "$DATA/photos.yaml" --local)
}

@test "the children of a killed up end by themselves" {
  start_and_wait up up --workers 2
  children=$(pgrep -P "$pid")
  kill -KILL "$pid"
  for child in $children; do wait_for 15 "child $child to end" gone "$child"; done
}

@test "up whose children cannot start fails with their status" {
  expect 1 feedmill up --host 192.0.2.1 --insecure-bind
  [[ $stderr == *192.0.2.1* ]]
}

@test "json logs are JSON" {
  start_and_wait dispatcher dispatcher --port 0 --log-format json
  stop "$pid"
  python3 - "$BATS_TEST_TMPDIR/dispatcher.log" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines
PYTHON
}
