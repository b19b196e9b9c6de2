# What every shell test uses: the command, data, pipelines, processes that end
# with their test, and waiting for facts.
#
# FEEDMILL is the command under test, FEEDMILL_REFERENCE the naive interpreter;
# ctest sets them.
bats_require_minimum_version 1.5.0
FEEDMILL=${FEEDMILL:-$BATS_TEST_DIRNAME/../../build/release/bin/feedmill}
FEEDMILL_REFERENCE=${FEEDMILL_REFERENCE:-${FEEDMILL}_reference}
SHELL_TESTS=$BATS_TEST_DIRNAME

# Call it from setup_file: FOLDER with data, and design.md's pipelines in it.
make_data() {
  export DATA=$BATS_FILE_TMPDIR/data
  mkdir -p "$DATA"
  python3 "$SHELL_TESTS/lib/make_data.py" "$DATA"
  cp "$SHELL_TESTS"/pipelines/*.yaml "$DATA"
}

# pipeline NAME <<'YAML': writes $DATA/NAME.yaml and prints its path.
pipeline() { cat > "$DATA/$1.yaml" && echo "$DATA/$1.yaml"; }

# feedmill …: runs it within 60 s, whatever happens.
feedmill() { timeout -k 5 60 "$FEEDMILL" "$@"; }

# expect STATUS feedmill …: runs it, keeps $output and $stderr, checks status.
expect() {
  local expected=$1
  shift
  run --separate-stderr "$@"
  if [[ $status -ne $expected ]]; then
    echo "exit $status instead of $expected: $*"
    echo "stdout: ${output:0:2000}"
    echo "stderr: ${stderr:0:2000}"
    return 1
  fi
}

# expect_error STATUS PATTERN… -- COMMAND: fails so, prints nothing on stdout,
# and one to five lines on stderr that hold every pattern (extended regexes).
expect_error() {
  local expected=$1 patterns=()
  shift
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  expect "$expected" "$@"
  [[ -z $output ]] || { echo "stdout is not empty: ${output:0:500}"; return 1; }
  error_says "${patterns[@]}"
}

# error_says PATTERN…: of $stderr after expect.
error_says() {
  local pattern lines
  lines=$(grep -c '' <<< "$stderr")
  if [[ -z $stderr ]] || ((lines > 5)); then
    echo "stderr has $lines lines: $stderr"
    return 1
  fi
  for pattern in "$@"; do
    grep -qiE -- "$pattern" <<< "$stderr" ||
      { echo "stderr does not say '$pattern': $stderr"; return 1; }
  done
}

# ---- processes
PIDS=()

# start NAME ARGUMENTS…: in the background, log in $BATS_TEST_TMPDIR/NAME.log,
# ready file in NAME.ready, process id in $pid.
start() {
  local name=$1
  shift
  "$FEEDMILL" "$@" --ready-file "$BATS_TEST_TMPDIR/$name.ready" \
    > "$BATS_TEST_TMPDIR/$name.out" 2> "$BATS_TEST_TMPDIR/$name.log" 3>&- &
  pid=$!
  PIDS+=("$pid")
}

# start_and_wait NAME ARGUMENTS…: the same; then $address is where it serves.
start_and_wait() {
  start "$@"
  wait_for 20 "$1 to be ready" ready_or_dead "$1" "$pid"
  address=$(cat "$BATS_TEST_TMPDIR/$1.ready")
}

ready_or_dead() {
  [[ -e $BATS_TEST_TMPDIR/$1.ready ]] && return 0
  kill -0 "$2" 2> /dev/null ||
    { echo "$1 ended before it was ready"; cat "$BATS_TEST_TMPDIR/$1.log"; exit 1; }
  return 1
}

# start_cluster WORKERS: a dispatcher at $service and workers, each a process
# of its own, in $dispatcher_pid and $worker_pids.
start_cluster() {
  local index
  start_and_wait dispatcher dispatcher --port 0
  service=$address dispatcher_pid=$pid worker_pids=()
  for ((index = 0; index < $1; index++)); do
    start "worker$index" worker --dispatcher "$service" --threads 1
    worker_pids+=("$pid")
  done
  for ((index = 0; index < $1; index++)); do
    wait_for 20 "worker $index" ready_or_dead "worker$index" "${worker_pids[index]}"
  done
}

# stop PID [SIGNAL]: asks it to end and puts its exit status into $ended.
stop() {
  kill -"${2:-TERM}" "$1"
  wait_for_end "$1"
}

# wait_for_end PID: bounded; the exit status into $ended.
wait_for_end() {
  wait_for 20 "process $1 to end" gone "$1"
  ended=0
  wait "$1" || ended=$?
}
gone() { ! kill -0 "$1" 2> /dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }

# Whatever a test left running ends with it, killed if it must be: the last
# started first, so that workers still have a dispatcher to drain to.
stop_all() {
  local each k
  for ((k = ${#PIDS[@]} - 1; k >= 0; k--)); do
    each=${PIDS[k]}
    kill -TERM "$each" 2> /dev/null || true
    wait_for 12 "process $each to end" gone "$each" || kill -KILL "$each" 2> /dev/null || true
    wait "$each" 2> /dev/null || true
  done
  PIDS=()
}

# ---- facts
# wait_for SECONDS WHAT COMMAND…: polls until the command is true.
wait_for() {
  local limit=$1 what=$2 end=$((SECONDS + $1 + 1))
  shift 2
  until "$@"; do
    if ((SECONDS >= end)); then
      echo "waited $limit s for $what"
      return 1
    fi
    sleep 0.02
  done
}

# workers_are COUNT: as the dispatcher at $service sees it.
workers_are() {
  [[ $("$FEEDMILL" status --service "$service" --format json |
    python3 -c 'import json, sys; print(len(json.load(sys.stdin)["workers"]))') == "$1" ]]
}

# order_hash COMMAND…: the hash of a read's summary.
order_hash() { "$@" --format summary | field order_hash; }

# field NAME: of the JSON object on standard input.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
