# tests/shell/lib/cluster.bash in a script of its own, as users take it; and
# restarts, signals, exit codes and logs of what it runs.
load lib/feedmill

setup_file() { make_data; }
teardown() { stop_all; }

# script <<'BASH': runs it with the library, without bats, in an empty RUN_DIR.
script() {
  mkdir -p "$BATS_TEST_TMPDIR/run"
  { echo 'set -euo pipefail; source "$LIBRARY"; trap stop_all EXIT'; cat; } \
    > "$BATS_TEST_TMPDIR/script.bash"
  env -u BATS_TEST_TMPDIR LIBRARY="$SHELL_TESTS/lib/cluster.bash" FEEDMILL="$FEEDMILL" \
    RUN_DIR="$BATS_TEST_TMPDIR/run" DATA="$DATA" \
    timeout -k 5 100 bash "$BATS_TEST_TMPDIR/script.bash" 3>&-
}

@test "a script starts a cluster, reads, and leaves nothing behind" {
  run -0 script <<'BASH'
start_cluster 2
wait_for 10 "two workers" workers_are 2
cmp <("$FEEDMILL" read "$DATA/design.yaml" --service "$service") \
  <("$FEEDMILL" read "$DATA/design.yaml" --local)
stop "${worker_pids[0]}"
echo "worker: $ended"
wait_for 10 "one worker" workers_are 1
echo "${PIDS[@]}" > "$RUN_DIR/pids"
BASH
  [[ $output == *"worker: 0"* ]]
  for each in $(cat "$BATS_TEST_TMPDIR/run/pids"); do gone "$each"; done
  grep -q "registered" "$BATS_TEST_TMPDIR/run/worker1.log"
  [[ -z $(find "$BATS_TEST_TMPDIR/run" -name '*.ready') ]]
}

@test "without RUN_DIR a script has a folder of its own" {
  run -0 env -u BATS_TEST_TMPDIR -u RUN_DIR bash -c \
    'source "$0/lib/cluster.bash" && [[ -d $RUN_DIR ]] && echo "$RUN_DIR" && rmdir "$RUN_DIR"' \
    "$SHELL_TESTS"
  [[ $output == */feedmill-* ]]
}

@test "waits are bounded and say what for" {
  run -1 script <<'BASH'
wait_for 0 "what never comes" false
BASH
  [[ $output == *"waited 0 s for what never comes"* ]]
  run -1 script <<'BASH'
start_and_wait d dispatcher --port 0 --host 192.0.2.1
BASH
  [[ $output == *"d ended before it was ready"*"192.0.2.1"* ]]
}

@test "a killed dispatcher and a killed worker come back where they were" {
  run -0 script <<'BASH'
start_and_wait d dispatcher --port 0 --work-dir "$RUN_DIR/state"
service=$address port=${address##*:}
first=$pid
start_and_wait w worker --dispatcher "$service"
worker=$pid
mkfifo "$RUN_DIR/pipe"
"$FEEDMILL" read "$DATA/long.yaml" --service "$service" > "$RUN_DIR/pipe" &
PIDS+=("$!")
exec 9< "$RUN_DIR/pipe"
read -r line <&9
stop "$first" KILL
echo "dispatcher: $ended"
start_and_wait d dispatcher --port "$port" --work-dir "$RUN_DIR/state"
stop "$worker" KILL
start_and_wait w worker --dispatcher "$service"
{ echo "$line"; cat <&9; } | md5sum > "$RUN_DIR/sum"
cmp "$RUN_DIR/sum" <("$FEEDMILL" read "$DATA/long.yaml" --local | md5sum)
BASH
  [[ $output == *"dispatcher: 137"* ]]
}

@test "a second signal ends a worker that drains" {
  run -0 script <<'BASH'
start_cluster 1
kill -TERM "${worker_pids[0]}"
kill -INT "${worker_pids[0]}" 2> /dev/null || true
wait_for_end "${worker_pids[0]}"
echo "ended: $ended"
BASH
  [[ $output == *"ended: 0"* ]]
}

@test "logs name the role, in text and in JSON" {
  start_and_wait d dispatcher --port 0 --log-format json
  stop "$pid"
  grep -q '"dispatcher"' "$RUN_DIR/d.log"
  start_and_wait d dispatcher --port 0 --log-level off
  stop "$pid"
  [[ ! -s $RUN_DIR/d.log ]]
}
