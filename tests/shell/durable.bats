# A dispatcher with a work-dir: killed and back, one at a time, damaged.
load lib/feedmill

setup_file() { make_data; }
setup() { WORK=$BATS_TEST_TMPDIR/work; }
teardown() { stop_all; }

# start_durable [PORT]: a dispatcher on $WORK, at $service.
start_durable() {
  start_and_wait dispatcher dispatcher --port "${1:-0}" --work-dir "$WORK"
  service=$address dispatcher_pid=$pid
}

# read_past_a_kill PROCESS: reads long.yaml to $BATS_TEST_TMPDIR/sum, its md5;
# kills PROCESS when the first line is there and calls `after_the_kill`.
read_past_a_kill() {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$DATA/long.yaml" --service "$service" \
    > "$BATS_TEST_TMPDIR/pipe" 2> "$BATS_TEST_TMPDIR/read.log" 3>&- &
  reader=$!
  PIDS+=("$reader")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  read -r line <&9
  kill -KILL "$1"
  after_the_kill "$1"
  { echo "$line"; cat <&9; } | md5sum > "$BATS_TEST_TMPDIR/sum"
  exec 9<&-
  wait_for_end "$reader"
  [[ $ended == 0 ]] || { cat "$BATS_TEST_TMPDIR/read.log"; return 1; }
}

same_as_local() {
  [[ $(cat "$BATS_TEST_TMPDIR/sum") == "$(feedmill read "$DATA/long.yaml" --local | md5sum)" ]]
}

@test "a read continues when its dispatcher is killed and started again" {
  start_durable
  for index in 0 1; do start "worker$index" worker --dispatcher "$service" --threads 1; done
  wait_for 20 "the workers" workers_are 2
  after_the_kill() {
    wait_for_end "$1"
    rm "$BATS_TEST_TMPDIR/dispatcher.ready"
    start_durable "${service##*:}"
  }
  read_past_a_kill "$dispatcher_pid"
  same_as_local
  stop "$dispatcher_pid"
  [[ $ended == 0 ]]
}

@test "up with a work-dir continues when its dispatcher is killed" {
  start_and_wait up up --workers 2 --work-dir "$WORK"
  service=$address
  after_the_kill() { :; }
  read_past_a_kill "$(pgrep -P "$pid" -f "feedmill dispatcher")"
  same_as_local
  [[ -e $WORK/journal.db ]]
}

@test "a second dispatcher on a work-dir is refused, naming the first" {
  start_durable
  expect_error 1 "process $dispatcher_pid at $service" "in use" "$WORK" -- \
    feedmill dispatcher --work-dir "$WORK" --log-level off
  stop "$dispatcher_pid"
  start_durable
}

@test "a damaged work-dir is an error that says how to continue" {
  start_durable
  stop "$dispatcher_pid"
  cp -r "$WORK" "$WORK.good"
  rm "$WORK/journal.db"
  expect_error 1 "journal.db is gone" "$WORK" "restore" "delete" -- \
    feedmill dispatcher --work-dir "$WORK" --log-level off
  printf 'not a database at all, whatever it says it is' > "$WORK/journal.db"
  expect_error 1 "journal.db" "restore" "delete" -- \
    feedmill dispatcher --work-dir "$WORK" --log-level off
  rm -r "$WORK"
  cp -r "$WORK.good" "$WORK"
  start_durable
}

@test "a work-dir that cannot be is a usage error" {
  expect_error 2 "ftp://db/feedmill" "postgresql://" "s3://" -- \
    feedmill dispatcher --work-dir ftp://db/feedmill --log-level off
  touch "$BATS_TEST_TMPDIR/file"
  expect_error 2 "$BATS_TEST_TMPDIR/file" "folder" -- \
    feedmill dispatcher --work-dir "$BATS_TEST_TMPDIR/file" --log-level off
}
