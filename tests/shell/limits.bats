# A process that is refused something reports it by name: elements that are too
# large, memory, threads, file space. Never a signal, an abort or a hang.
load lib/feedmill
load lib/limits

setup_file() {
  make_data
  chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$DATA"
  pipeline numbers <<< 'source: {range: {stop: 400000}}
steps: [shuffle, {map: "x * x"}, {batch: 100}]
options: {seed: 5}' > /dev/null
  feedmill read "$DATA/numbers.yaml" --local > "$DATA/numbers.local"
}
teardown() { stop_all; }

# ---- elements

# large KIND: a pipeline whose elements are too large from a random one on.
large() {
  local good=$((RANDOM % 500))
  local source="source: {range: {stop: 1000000000000}}"
  case $1 in
    batch) echo "$source
steps: [{batch: $((1 << 28 | RANDOM))}]" ;;
    map) echo "$source
steps: [{map: \"sum(full([$(((1 << 28) - RANDOM))], x))\"}]" ;;
    product) echo "$source
steps: [{map: \"full([$((1 << 20 | RANDOM))], x)\"}, {batch: 1000000}]" ;;
    shuffled) echo "$source
steps: [shuffle, {batch: $((1 << 30 | RANDOM))}]" ;;
    petabyte) echo "$source
steps: [{map: \"full([$((1 << 16 | RANDOM))], x)\"}, {batch: 4294967295}]" ;;
    client) echo "$source
steps: [{filter: 'x >= 0'}, {batch: $((1 << 15 | RANDOM))}, {map: \"sum(full([$((1 << 28))], 1))\"}]" ;;
    late) echo "source: {concatenate: [{source: {range: {stop: $good}}, steps: [{map: 'x + 0'}]},
  {source: {range: {stop: 9}}, steps: [{map: 'sum(full([$((1 << 28))], x))'}]}]}" ;;
    padded) echo "$source
steps: [{map: '[x, x]'}, {padded_batch: {size: $((2 + RANDOM % 5)), shapes: {x: [$((1 << 30))]}}}]" ;;
  esac
  echo "options: {seed: 1}"
}

# as_before: workers that start_cluster started live, and are the same ones.
incarnations() {
  feedmill status --service "$service" --format json |
    python3 -c 'import json, sys
print(sorted((w["address"], w["incarnation"]) for w in json.load(sys.stdin)["workers"]))'
}
as_before() {
  local each
  for each in "${worker_pids[@]}"; do kill -0 "$each" || return 1; done
  [[ $(incarnations) == "$1" ]]
}

@test "an element that is too large is its reader's error; workers and other jobs continue" {
  start_cluster 2
  workers_are 2
  local kind=0 kinds=(batch map product shuffled petabyte client late padded) before flags
  before=$(incarnations)
  RANDOM=1
  for ((k = 0; k < 16; k++)); do
    kind=${kinds[k % ${#kinds[@]}]}
    flags=()
    case $((RANDOM % 4)) in
      1) flags=(--transport tcp) ;;
      2) flags=(--via dispatcher) ;;
      3) flags=(--transport tcp --compression lz4) ;;
    esac
    feedmill read "$DATA/numbers.yaml" --service "$service" > "$RUN_DIR/other" 3>&- &
    other=$!
    large "$kind" > "$RUN_DIR/large.yaml"
    expect 1 feedmill read "$RUN_DIR/large.yaml" --service "$service" "${flags[@]}"
    error_says 'steps\[[0-9]+\] ' 'needs [0-9.]+ [GTP]iB' 'limit is .*--element-max'
    ! grep -q advertise <<< "$stderr"
    wait "$other"
    cmp "$DATA/numbers.local" "$RUN_DIR/other"
    as_before "$before"
  done
}

@test "a local read says the same" {
  RANDOM=2
  for kind in batch map product shuffled petabyte client late padded; do
    large "$kind" > "$RUN_DIR/large.yaml"
    expect 1 feedmill read "$RUN_DIR/large.yaml" --local
    error_says 'steps\[[0-9]+\] ' 'needs [0-9.]+ [GTP]iB' 'limit is .*--element-max'
  done
}

@test "the limit is an option of workers and of readers" {
  file=$(pipeline batches <<< 'source: {range: {stop: 4000000}}
steps: [{batch: 2000000}]
options: {seed: 1}')
  filtered=$(pipeline filtered <<< 'source: {range: {stop: 4000000}}
steps: [{filter: "x >= 0"}, {batch: 2000000}]
options: {seed: 1}')
  expect 0 feedmill read "$file" --local --format none --element-max 16000000
  expect_error 1 'steps\[0\] batch' 'needs 15.3 MiB' 'limit is 15.3 MiB' -- feedmill read "$file" --local --element-max 15999999
  expect_error 2 '--element-max' '8.0 MiB' -- feedmill read "$file" --local --element-max 1MiB
  start_and_wait dispatcher dispatcher --port 0
  service=$address
  start_and_wait worker worker --dispatcher "$service" --element-max 8MiB
  expect 1 feedmill read "$file" --service "$service" --format none
  error_says 'steps\[0\] batch' 'limit is 8.0 MiB'
  expect 0 feedmill read "$filtered" --service "$service" --format none
  expect 1 feedmill read "$filtered" --service "$service" --format none --element-max 8MiB
  error_says 'steps\[1\] batch' 'limit is 8.0 MiB'
  expect_error 2 '--element-max' '1.0 GiB' -- feedmill worker --dispatcher "$service" --element-max 2GiB
}

# ---- memory

@test "a local read that gets little memory is right, or says that there is none" {
  starts_in 1048576 || skip "a sanitizer takes more address space than any limit"
  under_memory 1 "$FEEDMILL" read "$DATA/design.yaml" --local --threads 2
  under_memory 2 "$FEEDMILL" read "$DATA/numbers.yaml" --local --threads 4
}

@test "a reader that gets little memory is right, or says that there is none" {
  starts_in 1048576 || skip "a sanitizer takes more address space than any limit"
  start_cluster 1
  under_memory 3 "$FEEDMILL" read "$DATA/design.yaml" --service "$service"
  under_memory 4 "$FEEDMILL" read "$DATA/numbers.yaml" --service "$service" --transport tcp
  kill -0 "${worker_pids[0]}"
}

@test "other commands that get little memory succeed, or say that there is none" {
  starts_in 1048576 || skip "a sanitizer takes more address space than any limit"
  start_cluster 1
  expected=any
  under_memory 5 "$FEEDMILL" status --service "$service"
  under_memory 6 "$FEEDMILL" read "$DATA/design.yaml" --explain
  under_memory 7 "$FEEDMILL_SIMULATE" --seeds 0-3
}

ready_or_gone() { [[ -e $RUN_DIR/$1.ready ]] || gone "$2"; }

# serve_in ROLE KIB: a dispatcher and a worker, of which ROLE gets that much. A
# reader gets all, or an error; and ROLE lives, or has printed why not.
serve_in() {
  local role=$1 kib=$2 unlimited=$FEEDMILL limited=$RUN_DIR/limited each pids=()
  rm -f "$RUN_DIR"/*.ready
  printf '#!/bin/bash\nulimit -v %s\nexec "%s" "$@"\n' "$kib" "$FEEDMILL" > "$limited"
  chmod +x "$limited"
  service=127.0.0.1:1
  for each in dispatcher worker; do
    [[ $each == "$role" ]] && FEEDMILL=$limited
    if [[ $each == dispatcher ]]; then
      start dispatcher dispatcher --port 0
    else
      start worker worker --dispatcher "$service" --threads 2 --dispatcher-timeout 2s
    fi
    FEEDMILL=$unlimited
    pids+=("$pid")
    [[ $each == "$role" ]] && limited_pid=$pid
    wait_for 20 "$each to be ready, or to end" ready_or_gone "$each" "$pid"
    if [[ $each == dispatcher && -e $RUN_DIR/dispatcher.ready ]]; then
      service=$(cat "$RUN_DIR/dispatcher.ready")
    fi
  done
  expected=$(cat "$DATA/numbers.local")
  said=.
  run --separate-stderr feedmill read "$DATA/numbers.yaml" --service "$service" --timeout 4s
  ended_well "the reader, $role in $kib KiB"
  if gone "$limited_pid"; then
    ended=0
    wait "$limited_pid" || ended=$?
    if ((ended != 1)) || ! tail -n 5 "$RUN_DIR/$role.log" | grep -Eq 'memory|threads'; then
      echo "$role in $kib KiB: exit $ended"
      cat "$RUN_DIR/$role.log"
      return 1
    fi
  fi
  stop_all
}

@test "servers that get little memory serve, or say that there is none" {
  starts_in 1048576 || skip "a sanitizer takes more address space than any limit"
  local least k
  least=$(least_memory)
  for role in worker dispatcher; do
    RANDOM=8
    for ((k = 0; k < AMOUNTS; k++)); do
      serve_in "$role" $((least + $(random 300000)))
    done
  done
}

# ---- threads

@test "a process that gets few threads works, or names the limit" {
  local threads file
  start_cluster 1
  expected=$(cat "$DATA/numbers.local")
  for threads in 1 2 3 4 5 6 7 8 9 10 12 16; do
    under_threads "$threads" "$FEEDMILL" read "$DATA/numbers.yaml" --local --threads 8
    under_threads "$threads" "$FEEDMILL" read "$DATA/numbers.yaml" --service "$service" --transport tcp
  done
  # With these threads they would serve until a signal.
  for threads in 1 2 3 4 5 6 7 8 9; do
    under_threads "$threads" "$FEEDMILL" worker --dispatcher "$service" --threads 4
    ((status == 1))
  done
  for threads in 1 2 3 4; do
    under_threads "$threads" "$FEEDMILL" dispatcher --port 0
    ((status == 1))
  done
  for threads in 1 2 6 8; do
    under_threads "$threads" "$FEEDMILL" up --workers 2 --threads 2 --log-level error
    ((status == 1))
  done
}

# ---- file space (ulimit -f, in KiB)

# in_files KIB COMMAND…: what it writes may be that large.
in_files() {
  timeout -k 5 60 bash -c 'ulimit -f "$1" && shift && exec "$@"' - "$@"
}

# names_file NAME -- COMMAND…: it fails, and names that file and the limit.
names_file() {
  local name=$1 stderr status=0
  shift 2
  # A pipe: stderr in a file would be as short.
  stderr=$("$@" 2>&1 > /dev/null) || status=$?
  if ((status != 1)) || ! grep -q -- "$name" <<< "$stderr" || ! grep -q 'ulimit -f' <<< "$stderr"; then
    echo "exit $status: $*"
    echo "stderr: $stderr"
    return 1
  fi
}

# to_file PATH COMMAND…: with its output there.
to_file() {
  local path=$1
  shift
  "$@" > "$path"
}

@test "output, tokens and quarantine files that reach the limit of a file are named" {
  local kib size
  RANDOM=9
  for ((k = 0; k < AMOUNTS; k++)); do
    kib=$((RANDOM % 200))
    names_file output -- to_file "$RUN_DIR/out" in_files "$kib" "$FEEDMILL" read "$DATA/numbers.yaml" --local
    # The file holds the right lines, whole ones, up to the limit.
    size=$(stat -c %s "$RUN_DIR/out")
    ((size <= kib << 10 && size > (kib << 10) - 2048))  # a line is shorter
    cmp -n "$size" "$RUN_DIR/out" "$DATA/numbers.local"
    [[ $size == 0 || -z $(tail -c 1 "$RUN_DIR/out") ]]
  done
  names_file token -- in_files 0 "$FEEDMILL" read "$DATA/numbers.yaml" --local --limit 3 --save-token "$RUN_DIR/token"
  [[ ! -e $RUN_DIR/token && ! -e $RUN_DIR/token.partial ]]
  bad=$(pipeline bad <<< 'source: {range: {stop: 10000}}
steps: [{map: "100 // (x % 10)"}, {on_error: {policy: skip, quarantine: bad.jsonl}}]
options: {seed: 1}')
  names_file bad.jsonl -- in_files 4 "$FEEDMILL" read "$bad" --local --format none
}

@test "indexes, caches, keys, ready files and journals that reach it are named" {
  names_file "$RUN_DIR/keys" -- in_files 0 "$FEEDMILL" keygen --dir "$RUN_DIR/keys"
  names_file ready -- in_files 0 "$FEEDMILL" dispatcher --port 0 --ready-file "$RUN_DIR/a.ready"
  names_file "$RUN_DIR/state" -- in_files 0 "$FEEDMILL" dispatcher --port 0 --work-dir "$RUN_DIR/state"
  names_file state2 -- in_files 8 "$FEEDMILL" dispatcher --port 0 --work-dir "$RUN_DIR/state2"
  # A cache that cannot be written changes no element.
  cached=$(pipeline cached <<< "source: {range: {stop: 100000}}
steps: [{map: 'x * 3'}, {cache: {path: $RUN_DIR/cache}}]
options: {seed: 1}")
  in_files 16 "$FEEDMILL" read "$cached" --local --format summary 2>&1 | cat > "$RUN_DIR/said"
  grep -q 'ulimit -f' "$RUN_DIR/said"
  [[ $(grep '^{' "$RUN_DIR/said" | field elements) == 100000 ]]
}

@test "a dispatcher whose journal reaches it says so and ends; a worker serves over TCP" {
  local unlimited=$FEEDMILL ended=0
  printf '#!/bin/bash\nulimit -f 256\nexec "%s" "$@"\n' "$FEEDMILL" > "$RUN_DIR/limited"
  chmod +x "$RUN_DIR/limited"
  FEEDMILL=$RUN_DIR/limited start_and_wait dispatcher dispatcher --port 0 --work-dir "$RUN_DIR/work"
  service=$address dispatcher_pid=$pid
  FEEDMILL=$RUN_DIR/limited start_and_wait worker worker --dispatcher "$service"
  worker_pid=$pid
  FEEDMILL=$unlimited
  for ((k = 0; k < 200; k++)); do
    gone "$dispatcher_pid" && break
    feedmill read "$DATA/numbers.yaml" --service "$service" --job "job-$k" --timeout 3s > "$RUN_DIR/out" 2> /dev/null || continue
    cmp "$DATA/numbers.local" "$RUN_DIR/out"
  done
  kill -0 "$worker_pid"
  if gone "$dispatcher_pid"; then
    wait "$dispatcher_pid" || ended=$?
    ((ended == 1))
    grep -q 'ulimit -f' "$RUN_DIR/dispatcher.log"
  fi
}
