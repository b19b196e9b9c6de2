# Reads that stop before the end: what they printed, what their tokens say and
# what the readers that share their job print.
load lib/feedmill

teardown() {
  stop_all
}

stop_reads() { python3 "$SHELL_TESTS/lib/stop_reads.py" "$1" "$FEEDMILL" "$BATS_TEST_TMPDIR"; }

@test "sharers that stop anywhere print each element once" {
  run stop_reads sharers
  echo "$output"
  [[ $status == 0 ]]
}

@test "a token marks the end of the output, for a reader that stops anywhere" {
  run stop_reads tokens
  echo "$output"
  [[ $status == 0 ]]
}

@test "a sharer that was frozen within a chunk prints nothing that others have" {
  run stop_reads frozen
  echo "$output"
  [[ $status == 0 ]]
}

@test "a sharer with --limit 1 takes one element from the others" {
  start_and_wait dispatcher dispatcher --port 0
  service=$address
  file=$BATS_TEST_TMPDIR/any.yaml
  echo '{source: {range: {stop: 9000}}, options: {order: any, seed: 1}}' > "$file"
  for reader in 1 2 3; do
    "$FEEDMILL" read "$file" --service "$service" --job shared $([[ $reader == 1 ]] && echo --limit 1) \
      > "$BATS_TEST_TMPDIR/reader$reader" 2> "$BATS_TEST_TMPDIR/reader$reader.log" 3>&- &
    PIDS+=("$!")
    readers[reader]=$!
  done
  # Nothing can be read before all have joined.
  wait_for 10 "three readers" readers_are 3
  for worker in 1 2; do start_and_wait "worker$worker" worker --dispatcher "$service" --threads 1; done
  for reader in 1 2 3; do
    wait_for_end "${readers[reader]}"
    [[ $ended == 0 ]]
  done
  [[ $(wc -l < "$BATS_TEST_TMPDIR/reader1") == 1 ]]
  cmp <(cat "$BATS_TEST_TMPDIR"/reader[123] | sort -n) <(seq 0 8999)
}

readers_are() {
  [[ $("$FEEDMILL" status --service "$service" --format json |
    python3 -c 'import json, sys; print(sum(len(j["sessions"]) for j in json.load(sys.stdin)["jobs"]))') == "$1" ]]
}

@test "SIGTERM ends a read whose output is not taken" {
  file=$BATS_TEST_TMPDIR/long.yaml
  # Lines of 5 MB, which no pipe holds.
  echo '{source: {range: {stop: 9}}, steps: [{map: "x + full([500000], 1000000000)"}], options: {seed: 1}}' > "$file"
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$file" --local --save-token "$BATS_TEST_TMPDIR/token" \
    > "$BATS_TEST_TMPDIR/pipe" 2> "$BATS_TEST_TMPDIR/log" 3>&- &
  reader=$!
  PIDS+=("$reader")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  head -c 1 <&9 > "$BATS_TEST_TMPDIR/begun"
  stop "$reader" TERM
  [[ $ended == 143 ]]
  expect 0 feedmill token show "$BATS_TEST_TMPDIR/token"
  [[ $output == *'"next_element":0,'* ]]
  exec 9<&-
}
