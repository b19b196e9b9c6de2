# Reading through a service: the same bytes as --local, also with faults.
load lib/feedmill

setup_file() {
  make_data
  for name in design photos records mixture; do
    feedmill read "$DATA/$name.yaml" --local > "$DATA/$name.local"
  done
}
teardown() { stop_all; }

# same_as_local NAME [flags]: through $service, byte for byte.
same_as_local() {
  local name=$1
  shift
  feedmill read "$DATA/$name.yaml" --service "$service" "$@" > "$BATS_TEST_TMPDIR/out"
  [[ -s $BATS_TEST_TMPDIR/out ]]
  cmp "$DATA/$name.local" "$BATS_TEST_TMPDIR/out"
}

@test "1, 2 and 3 workers print what --local prints" {
  for workers in 1 2 3; do
    start_cluster "$workers"
    workers_are "$workers"
    for name in design photos records mixture; do same_as_local "$name"; done
    stop_all
  done
}

@test "the service's order hash is local's and the naive interpreter's" {
  start_cluster 2
  for name in design photos records mixture; do
    by_reference=$("$FEEDMILL_REFERENCE" "$DATA/$name.yaml" | field order_hash)
    [[ $by_reference =~ ^[0-9a-f]{16}$ ]]
    [[ $(order_hash feedmill read "$DATA/$name.yaml" --local) == "$by_reference" ]]
    [[ $(order_hash feedmill read "$DATA/$name.yaml" --service "$service") == "$by_reference" ]]
  done
}

@test "up serves, and an address needs no tcp://" {
  start_and_wait up up --workers 2
  service=${address#tcp://}
  workers_are 2
  same_as_local photos
}

@test "a named job read again is its next iteration, in another order" {
  start_cluster 1
  file=$(pipeline shuffled <<< 'source: {range: {stop: 1000}}
steps: [shuffle]
options: {seed: 4}')
  first=$(feedmill read "$file" --service "$service" --job epochs)
  second=$(feedmill read "$file" --service "$service" --job epochs)
  [[ $first != "$second" ]]
  [[ $first == "$(feedmill read "$file" --local)" ]]
  [[ $(sort -n <<< "$first") == $(seq 0 999) && $(sort -n <<< "$second") == $(seq 0 999) ]]
}

@test "a second reader of a job is refused, unless it takes over" {
  start_cluster 1
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$DATA/endless.yaml" --service "$service" --job one \
    > "$BATS_TEST_TMPDIR/pipe" 2> "$BATS_TEST_TMPDIR/first.log" 3>&- &
  first=$!
  PIDS+=("$first")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  read -r line <&9
  [[ $line == 0 ]]
  expect_error 1 "one" -- feedmill read "$DATA/endless.yaml" --service "$service" --job one --limit 1
  expect 0 feedmill read "$DATA/endless.yaml" --service "$service" --job one --limit 3 --take-over
  [[ $(wc -l <<< "$output") == 3 ]]
  cat <&9 > "$BATS_TEST_TMPDIR/rest" 3>&- &
  PIDS+=("$!")
  wait_for_end "$first"
  [[ $ended == 1 ]]
  exec 9<&-
}

# job_has_sessions NAME COUNT: as the dispatcher at $service sees it.
job_has_sessions() {
  "$FEEDMILL" status --service "$service" --format json 2> /dev/null | python3 -c '
import json, sys
jobs = [job for job in json.load(sys.stdin)["jobs"] if job["name"] == sys.argv[1]]
sys.exit(not jobs or len(jobs[0]["sessions"]) != int(sys.argv[2]))' "$@"
}

@test "sharers of an any-order job see each element once" {
  start_cluster 2
  file=$(pipeline any <<< 'source: {range: {stop: 200000}}
steps: [{map: "x + 0"}]
options: {order: any, seed: 1}')
  # The first reader stops at a full pipe until all have joined: the job does not
  # end before. A reader that came later would read the next iteration.
  mkfifo "$BATS_TEST_TMPDIR/held"
  for reader in 1 2 3; do
    output=$BATS_TEST_TMPDIR/reader$reader
    if ((reader == 1)); then output=$BATS_TEST_TMPDIR/held; fi
    "$FEEDMILL" read "$file" --service "$service" --job shared \
      > "$output" 2> "$BATS_TEST_TMPDIR/reader$reader.log" 3>&- &
    PIDS+=("$!")
    readers[reader]=$!
    if ((reader == 1)); then
      exec 9< "$BATS_TEST_TMPDIR/held"
      read -r first <&9  # byte by byte: nothing else is taken
    fi
  done
  wait_for 20 "three readers of the job" job_has_sessions shared 3
  { echo "$first"; cat <&9; } > "$BATS_TEST_TMPDIR/reader1"
  for reader in 1 2 3; do
    wait_for_end "${readers[reader]}"
    [[ $ended == 0 ]]
  done
  [[ $(cat "$BATS_TEST_TMPDIR"/reader[123] | sort -n | md5sum) == $(seq 0 199999 | md5sum) ]]
}

@test "a killed worker changes nothing but the time" {
  start_cluster 3
  local_sum=$(feedmill read "$DATA/long.yaml" --local | md5sum)
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$DATA/long.yaml" --service "$service" \
    > "$BATS_TEST_TMPDIR/pipe" 2> "$BATS_TEST_TMPDIR/read.log" 3>&- &
  reader=$!
  PIDS+=("$reader")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  head -n 1 <&9 > "$BATS_TEST_TMPDIR/begun"
  kill -KILL "${worker_pids[0]}"
  # head has taken a buffer of the pipe: the rest must be whole nevertheless.
  cat <&9 > "$BATS_TEST_TMPDIR/rest"
  exec 9<&-
  wait_for_end "$reader"
  [[ $ended == 0 ]]
  feedmill read "$DATA/long.yaml" --service "$service" > "$BATS_TEST_TMPDIR/again"
  [[ $(md5sum < "$BATS_TEST_TMPDIR/again") == "$local_sum" ]]
  tail -c "$(stat -c %s "$BATS_TEST_TMPDIR/rest")" "$BATS_TEST_TMPDIR/again" |
    cmp - "$BATS_TEST_TMPDIR/rest"
}

@test "--limit and a closed stdout end a read of an infinite job" {
  start_cluster 1
  expect 0 feedmill read "$DATA/endless.yaml" --service "$service" --limit 2500
  [[ $(wc -l <<< "$output") == 2500 && $(tail -n 1 <<< "$output") == 499 ]]
  statuses=$(set +o pipefail; feedmill read "$DATA/endless.yaml" --service "$service" |
    head -n 5 > /dev/null; echo "${PIPESTATUS[0]}")
  [[ $statuses == 0 ]]
}

@test "SIGINT of a read exits 130 and leaves no job behind" {
  start_cluster 1
  "$FEEDMILL" read "$DATA/endless.yaml" --service "$service" > "$BATS_TEST_TMPDIR/out" 3>&- &
  reader=$!
  PIDS+=("$reader")
  wait_for 10 "output" test -s "$BATS_TEST_TMPDIR/out"
  stop "$reader" INT
  [[ $ended == 130 ]]
  wait_for 10 "the job to end" no_jobs
}
no_jobs() {
  [[ $("$FEEDMILL" status --service "$service" --format json |
    python3 -c 'import json, sys; print(sum(j["state"] in ("planning", "running") for j in json.load(sys.stdin)["jobs"]))') == 0 ]]
}

@test "status shows workers and jobs" {
  start_cluster 2
  expect 0 feedmill status --service "$service"
  [[ $output == *"workers (2)"* && $output == *"$(cat "$BATS_TEST_TMPDIR/worker0.ready")"* ]]
  expect 0 feedmill status --service "$service" --format json
  python3 -c 'import json, sys; json.loads(sys.argv[1])' "$output"
}

@test "a pipeline names its job, unless --job does" {
  start_cluster 1
  yaml=$(pipeline named <<'YAML'
source: {range: 50}
steps: [shuffle]
options: {job: mill, seed: 7}
YAML
)
  jobs() {
    feedmill status --service "$service" --format json |
      python3 -c 'import json, sys; print(*sorted(j["name"] for j in json.load(sys.stdin)["jobs"]))'
  }
  expect 0 feedmill read "$yaml" --service "$service"
  first=$output
  expect 0 feedmill read "$yaml" --service "$service"  # its next iteration
  [[ $output != "$first" && $(sort <<< "$output") == "$(sort <<< "$first")" ]]
  expect 0 feedmill read "$yaml" --service "$service" --job other
  [[ $output == "$first" && $(jobs) == "mill other" ]]
  cmp <(feedmill read "$yaml" --local) - <<< "$first"
}

@test "mode off gives the whole dataset for each worker, dynamic once" {
  start_cluster 2
  yaml=$(pipeline off <<'YAML'
source: {range: 5}
options: {processing_mode: parallel_epochs}
YAML
)
  expect 0 feedmill read "$yaml" --service "$service"
  [[ $output == "$(printf '%s\n' 0 1 2 3 4 0 1 2 3 4)" ]]
  sed -i s/parallel_epochs/distributed_epoch/ "$yaml"
  expect 0 feedmill read "$yaml" --service "$service"
  [[ $output == "$(printf '%s\n' 0 1 2 3 4)" ]]
}

@test "--profile of a service names its workers' steps, and the reader's side" {
  start_cluster 1
  local file
  file=$(pipeline profiled <<'YAML'
source: {range: 200000}
steps:
  - map: {x: "sin(x / 1000)", n: x}
  - filter: "n % 2 == 0"
  - batch: 1000
options: {seed: 1}
YAML
)
  expect 0 feedmill read "$file" --service "$service" --format none --profile
  grep -qE '^source  range\(0, 200000, 1\) .* 200000 ' <<< "$stderr"
  grep -qE '^worker  steps\[0\] map .* 200000 +200000 ' <<< "$stderr"
  grep -qE '^worker  steps\[1\] filter .* 200000 +100000 ' <<< "$stderr"
  grep -qE '^client  steps\[2\] batch .* 100000 +100 ' <<< "$stderr"
  expect 0 feedmill read "$DATA/design.yaml" --service "$service" --format none --profile
  [[ $stderr == *"profile "*" s CPU; "*" time"* ]]
  grep -qE '^client  waiting for the service' <<< "$stderr"
  grep -qE '^client  receiving, and other work' <<< "$stderr"
}
