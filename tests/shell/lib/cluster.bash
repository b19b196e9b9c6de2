# Running feedmill's processes from bash: start them, wait until they are ready,
# stop them, and be sure that none outlives the script. For scripts and tests of
# your own clusters; take this file as it is. It needs bash 4.4 and procps.
#
#   FEEDMILL=/usr/bin/feedmill      # the command; default: feedmill in $PATH
#   source cluster.bash
#   trap stop_all EXIT
#   start_cluster 4                               # $service is its address
#   start_and_wait d dispatcher --port 0          # or one by one: $address, $pid
#   start_and_wait w worker --dispatcher "$address"
#   "$FEEDMILL" read photos.yaml --service "$service"
#   stop "${worker_pids[0]}"                      # drains; exit status in $ended
#   wait_for 10 "three workers" workers_are 3
#
# RUN_DIR is the folder of logs and ready files, one of your own or a fresh one;
# a process NAME has NAME.log, NAME.out and NAME.ready there. Every wait is
# bounded, and says what it waited for; functions return 1 then.
FEEDMILL=${FEEDMILL:-feedmill}
RUN_DIR=${RUN_DIR:-${BATS_TEST_TMPDIR:-$(mktemp -d "${TMPDIR:-/tmp}/feedmill-XXXXXX")}}

# ---- processes
PIDS=()

# start NAME ARGUMENTS…: in the background, log in $RUN_DIR/NAME.log,
# ready file in NAME.ready, process id in $pid.
start() {
  local name=$1
  shift
  "$FEEDMILL" "$@" --ready-file "$RUN_DIR/$name.ready" \
    > "$RUN_DIR/$name.out" 2> "$RUN_DIR/$name.log" 3>&- &
  pid=$!
  PIDS+=("$pid")
}

# start_and_wait NAME ARGUMENTS…: the same; then $address is where it serves.
start_and_wait() {
  start "$@"
  wait_for 20 "$1 to be ready" ready_or_dead "$1" "$pid" || return
  address=$(cat "$RUN_DIR/$1.ready")
}

ready_or_dead() {
  [[ -e $RUN_DIR/$1.ready ]] && return 0
  kill -0 "$2" 2> /dev/null ||
    { echo "$1 ended before it was ready"; cat "$RUN_DIR/$1.log"; exit 1; }
  return 1
}

# start_cluster WORKERS: a dispatcher at $service and workers, each a process
# of its own, in $dispatcher_pid and $worker_pids.
start_cluster() {
  local index
  start_and_wait dispatcher dispatcher --port 0 || return
  service=$address dispatcher_pid=$pid worker_pids=()
  for ((index = 0; index < $1; index++)); do
    start "worker$index" worker --dispatcher "$service" --threads 1
    worker_pids+=("$pid")
  done
  for ((index = 0; index < $1; index++)); do
    wait_for 20 "worker $index" ready_or_dead "worker$index" "${worker_pids[index]}" ||
      return
  done
}

# stop PID [SIGNAL]: asks it to end and puts its exit status into $ended.
stop() {
  kill -"${2:-TERM}" "$1"
  wait_for_end "$1"
}

# wait_for_end PID: bounded; the exit status into $ended.
wait_for_end() {
  wait_for 20 "process $1 to end" gone "$1" || return
  ended=0
  wait "$1" || ended=$?
}
gone() { ! kill -0 "$1" 2> /dev/null || [[ $(ps -o stat= -p "$1") == Z* ]]; }

# Ends the processes that a test left running, by a kill if it must be: the last
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

# wait_for_file NAME SECONDS: until $RUN_DIR/NAME is there.
wait_for_file() { wait_for "$2" "$RUN_DIR/$1" test -e "$RUN_DIR/$1"; }

# workers_are COUNT: as the dispatcher at $service sees it.
workers_are() {
  [[ $("$FEEDMILL" status --service "$service" --format json |
    python3 -c 'import json, sys; print(len(json.load(sys.stdin)["workers"]))') == "$1" ]]
}
