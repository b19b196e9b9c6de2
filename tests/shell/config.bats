# Options from flags, variables and files; completion and manual pages.
load lib/feedmill

setup() {
  unset "${!FEEDMILL_@}"
  FILE=$BATS_TEST_TMPDIR/options.yaml
}
teardown() { stop_all; }

# option COMMAND NAME ARGUMENTS…: its line of --print-config.
option() {
  local command=$1 name=$2
  shift 2
  "$FEEDMILL" "$command" --print-config "$@" | grep "^$name:"
}

@test "a flag wins over a variable, and that over the file" {
  printf 'threads: 2\nmemory: 1GiB\ndispatcher: "h:1"\n' > "$FILE"
  [[ $(option worker threads --config "$FILE") == "threads: 2  # $FILE" ]]
  export FEEDMILL_WORKER_THREADS=3
  [[ $(option worker threads --config "$FILE") == "threads: 3  # FEEDMILL_WORKER_THREADS" ]]
  [[ $(option worker threads --config "$FILE" --threads 4) == "threads: 4  # --threads" ]]
  [[ $(option worker memory --config "$FILE") == "memory: 1GiB  # $FILE" ]]
  [[ $(option worker drain_timeout) == "drain_timeout: 8s" ]]
  export FEEDMILL_WORKER_CONFIG=$FILE
  [[ $(option worker memory) == "memory: 1GiB  # $FILE" ]]
}

@test "every limit of the services is an option" {
  export FEEDMILL_DISPATCHER_JOBS_MAX=7
  [[ $(option dispatcher jobs_max) == "jobs_max: 7  # FEEDMILL_DISPATCHER_JOBS_MAX" ]]
  printf 'split_time: 5ms\nwindow_min: 4\nsessions_max: 9\n' > "$FILE"
  [[ $(option dispatcher split_time --config "$FILE") == "split_time: 5ms  # $FILE" ]]
  [[ $(option server window_min --config "$FILE") == "window_min: 4  # $FILE" ]]
  expect_error 2 "--workers-max" "'0'" -- feedmill dispatcher --workers-max 0
  [[ $(option worker frame_bytes) == "frame_bytes: 512KiB" ]]
  expect 0 feedmill worker --print-config
  [[ $output == *$'\n# shared_memory:\n'* ]]  # as much as memory
  start_and_wait d dispatcher --jobs-max 1 --sessions-max 1
  expect 0 feedmill status --service "$address"
}

@test "--print-config prints a file that gives the same settings" {
  for command in dispatcher worker server; do
    "$FEEDMILL" "$command" --print-config --cluster-id "a b: #c" --log-format json > "$FILE"
    cmp <("$FEEDMILL" "$command" --config "$FILE" --print-config | sed 's/  # .*//') \
      <(sed 's/  # --.*//' "$FILE")
    expect 0 feedmill "$command" --config "$FILE" --print-config
    [[ $command != server || $output == *$'\n# task:\n'* ]]  # not given is not 0
    [[ $output == *'cluster_id: "a b: #c"'* && $output == *'log_format: "json"'* ]]
  done
}

@test "a server runs with a file and variables alone" {
  printf 'port: 0\nlog_format: json\nready_file: "%s"\n' "$BATS_TEST_TMPDIR/d.ready" > "$FILE"
  FEEDMILL_DISPATCHER_CONFIG=$FILE FEEDMILL_DISPATCHER_LOG_LEVEL=debug \
    "$FEEDMILL" dispatcher 2> "$BATS_TEST_TMPDIR/log" 3>&- &
  PIDS+=("$!")
  wait_for_file d.ready 10
  expect 0 feedmill status --service "$(cat "$BATS_TEST_TMPDIR/d.ready")"
  grep -q '^{' "$BATS_TEST_TMPDIR/log"
}

@test "errors name the variable" {
  FEEDMILL_WORKER_THREADS=0 expect_error 2 "variable FEEDMILL_WORKER_THREADS" "'0'" -- \
    feedmill worker --dispatcher h:1
  FEEDMILL_WORKER_THREDS=1 expect_error 2 \
    'unknown variable FEEDMILL_WORKER_THREDS; did you mean FEEDMILL_WORKER_THREADS' -- \
    feedmill worker --dispatcher h:1
  FEEDMILL_DISPATCHER_FAULT_TOLERANT_MODE=yes expect_error 2 \
    "FAULT_TOLERANT_MODE" "neither true nor false" -- feedmill dispatcher
  FEEDMILL_DISPATCHER_WORK_DIR= expect_error 2 "WORK_DIR" "empty" -- feedmill dispatcher
}

@test "variables that Kubernetes sets for Services do no harm" {
  export FEEDMILL_WORKER_PORT=tcp://10.0.0.1:6000 FEEDMILL_WORKER_SERVICE_HOST=10.0.0.1
  export FEEDMILL_WORKER_SERVICE_PORT=6000 FEEDMILL_WORKER_PORT_6000_TCP=tcp://10.0.0.1:6000
  export FEEDMILL_WORKER_PORT_6000_TCP_PROTO=tcp FEEDMILL_WORKER_PORT_6000_TCP_ADDR=10.0.0.1
  [[ $(option worker port) == "port: 0" ]]
  export FEEDMILL_WORKER_PORT=6000
  [[ $(option worker port) == "port: 6000  # FEEDMILL_WORKER_PORT" ]]
}

@test "errors name the file, the line and the option" {
  bad() {
    printf '%b' "$1" > "$FILE"
    shift
    expect_error 2 "$FILE" "$@" -- feedmill dispatcher --config "$FILE"
  }
  bad 'port: 1\nwork-dir: x\n' "line 2" 'unknown option "work-dir"; did you mean "work_dir"'
  bad 'port: x\n' "line 1" "port: 'x'"
  bad 'port: 1\nport: 2\n' "line 2" "twice"
  bad 'port: [1]\n' "one value"
  bad 'port:\n' "no value"
  bad '- port\n' "no map"
  bad 'config: x\n' "unknown option"
  bad 'a: &x 1\nport: *x\n' "alias"
  bad '{' "line"
  expect_error 2 "/no/such/file" -- feedmill dispatcher --config /no/such/file
  expect_error 2 "--config" -- feedmill dispatcher --config "$BATS_TEST_TMPDIR"
  expect_error 2 "--config" -- feedmill dispatcher --config ""
  : > "$FILE"
  expect 0 feedmill dispatcher --config "$FILE" --print-config
}

# complete_words WORDS…: what bash offers for the last of them.
complete_words() {
  bash -c 'source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _feedmill; printf "%s\n" "${COMPREPLY[@]}"' "$FEEDMILL" "$@"
}

@test "bash completes commands, flags, choices and files" {
  [[ $(complete_words feedmill wor) == worker ]]
  [[ $(complete_words feedmill worker --drain) == --drain-timeout ]]
  [[ $(complete_words feedmill worker --log-format j) == json ]]
  touch "$BATS_TEST_TMPDIR/some.yaml"
  cd "$BATS_TEST_TMPDIR"
  [[ $(complete_words feedmill read so) == some.yaml ]]
  [[ $(complete_words feedmill dispatcher --config so) == some.yaml ]]
  [[ -z $(complete_words feedmill worker --threads "") ]]
}

@test "zsh takes its completion" {
  "$FEEDMILL" completion zsh > "$BATS_TEST_TMPDIR/_feedmill"
  zsh -n "$BATS_TEST_TMPDIR/_feedmill"
  run -0 zsh -fc "fpath=($BATS_TEST_TMPDIR \$fpath); autoload -Uz compinit; compinit -u -d $BATS_TEST_TMPDIR/dump
    print \$_comps[feedmill]; autoload +X _feedmill; whence -w _feedmill"
  [[ $output == *_feedmill*"_feedmill: function"* ]]
}

@test "completion and man refuse what they do not know" {
  expect_error 2 "bash or zsh" -- feedmill completion
  expect_error 2 "'fish'" -- feedmill completion fish
  expect_error 2 'unknown command "wroker"; did you mean "worker"' -- feedmill man wroker
}

@test "every command has a manual page that man takes without a warning" {
  commands=$("$FEEDMILL" --help | sed -n 's/^  \([a-z]\+\)  .*/\1/p')
  [[ $(wc -w <<< "$commands") -ge 9 ]]
  for command in "" $commands; do
    expect 0 feedmill man $command
    page=$output
    run --separate-stderr groff -man -Tutf8 -ww <<< "$page"
    [[ $status == 0 && -z $stderr ]] || { echo "$command: $stderr"; false; }
  done
  run -0 bash -c '"$0" man worker | groff -man -Tascii -P-cbou' "$FEEDMILL"
  [[ $output == *"--drain-timeout"* && $output == *"FEEDMILL_WORKER_LOG_LEVEL"* ]]
}
