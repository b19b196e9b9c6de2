# read --local: what it prints, and how it refuses.
load lib/feedmill

setup_file() { make_data; }

@test "the design pipeline has the right elements in a shuffled order" {
  feedmill read "$DATA/design.yaml" --local > "$BATS_TEST_TMPDIR/out"
  python3 - "$BATS_TEST_TMPDIR/out" <<'PYTHON'
import json, sys
batches = [json.loads(line) for line in open(sys.argv[1])]
assert [len(b) for b in batches] == [32] * 31250, len(batches)
flat = [x for b in batches for x in b]
expected = [x * x + 1 for x in range(1000000) if (x * x + 1) % 3 != 0]
assert sorted(flat) == expected
assert flat != expected
PYTHON
}

@test "any number of threads prints the same bytes" {
  for name in design photos records; do
    feedmill read "$DATA/$name.yaml" --local --threads 1 > "$BATS_TEST_TMPDIR/one"
    feedmill read "$DATA/$name.yaml" --local --threads 3 > "$BATS_TEST_TMPDIR/three"
    [[ -s $BATS_TEST_TMPDIR/one ]]
    cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/three"
  done
}

@test "records and components print as the contract says" {
  expect 0 feedmill read "$DATA/records.yaml" --local --limit 1
  [[ $output == '["record 100","record 101","record 102","record 103","record 104","record 105","record 106"]' ]]
  file=$(pipeline components <<< 'source: {range: {stop: 3}}
steps: [{map: {a: "x", half: "x / 2", even: "x % 2 == 0"}}]
options: {seed: 1}')
  expect 0 feedmill read "$file" --local
  [[ $output == '{"a":0,"half":0.0,"even":true}
{"a":1,"half":0.5,"even":false}
{"a":2,"half":1.0,"even":true}' ]]
}

@test "photos are decoded, labelled and batched" {
  feedmill read "$DATA/photos.yaml" --local > "$BATS_TEST_TMPDIR/out"
  python3 - "$BATS_TEST_TMPDIR/out" <<'PYTHON'
import json, sys
batches = [json.loads(line) for line in open(sys.argv[1])]
assert [len(b["label"]) for b in batches] == [5, 5, 5, 5, 4] * 3
labels = [l for b in batches for l in b["label"]]
assert sorted(labels) == [0] * 24 + [1] * 24 + [2] * 24
image = batches[0]["image"][0]
assert len(image) == 12 and len(image[0]) == 16 and len(image[0][0]) == 3
PYTHON
}

@test "--limit counts printed elements" {
  expect 0 feedmill read "$DATA/endless.yaml" --local --limit 1003
  [[ $(wc -l <<< "$output") == 1003 ]]
  [[ $(tail -n 1 <<< "$output") == 2 ]]
  expect 0 feedmill read "$DATA/endless.yaml" --local --limit 0
  [[ -z $output ]]
}

@test "summary has every field, none prints nothing" {
  expect 0 feedmill read "$DATA/design.yaml" --local --format summary
  python3 - "$output" <<'PYTHON'
import json, re, sys
summary = json.loads(sys.argv[1])
assert summary["elements"] == 31250 and summary["bytes"] == 8000000
assert summary["seconds"] > 0 and summary["elements_per_s"] > 0
assert 0 < summary["first_element_s"] <= summary["seconds"]
assert re.fullmatch("[0-9a-f]{16}", summary["order_hash"])
PYTHON
  expect 0 feedmill read "$DATA/design.yaml" --local --format none
  [[ -z $output ]]
}

@test "a drawn seed is printed, and gives the order again" {
  file=$(pipeline drawn <<< 'source: {range: {stop: 100}}
steps: [shuffle]')
  expect 0 feedmill read "$file" --local
  first=$output
  [[ $stderr =~ seed\ ([0-9]+) ]]
  printf 'options: {seed: %s}\n' "${BASH_REMATCH[1]}" >> "$file"
  expect 0 feedmill read "$file" --local
  [[ $output == "$first" && -z $stderr ]]
}

@test "a pipeline comes from standard input, too" {
  cd "$DATA"
  run --separate-stderr feedmill read - --local --limit 1 < "$DATA/records.yaml"
  [[ $status == 0 && $output == '["record 100'* ]]
}

@test "a seed is announced only where something is drawn" {
  local file
  file=$(pipeline undrawn <<< 'source: {range: 3}
steps: [{map: x + 1}, {batch: 2}]')
  expect 0 feedmill read "$file" --local
  [[ -z $stderr ]]
  expect 0 feedmill read "$file" --local --show-batch 1
  sed -i 's/x + 1/random.uniform()/' "$file"
  expect 0 feedmill read "$file" --local
  [[ $stderr == *"was drawn; write options: {seed: "* ]]
}

@test "--explain lists the labels of images" {
  mkdir -p "$DATA/pets/cat" "$DATA/pets/bird"
  touch "$DATA/pets/cat/a.jpg" "$DATA/pets/bird/a.jpg"
  expect 0 feedmill read "$(pipeline pets <<< 'source: {images: "pets/*/*.jpg"}')" --explain
  grep -qF 'labels  bird = 0, cat = 1' <<< "$output"
}

@test "--explain prints the cut and reads nothing" {
  expect 0 feedmill read "$DATA/photos.yaml" --explain
  for word in source plan worker shuffle decode_image batch; do
    [[ $output == *"$word"* ]]
  done
  expect 0 feedmill read "$DATA/design.yaml" --explain
  [[ $output == *client* ]]
}

@test "--explain prints passes, moves, splits and memory" {
  local file
  file=$(pipeline explained <<'YAML'
source: {range: 10000000}
steps:
  - map: "x * 2"
  - filter: "x % 3 == 0"
  - repeat: 2
  - batch: 100
YAML
)
  expect 0 feedmill read "$file" --explain
  grep -qF 'fused   worker: steps[0] map + steps[1] filter in one pass' <<< "$output"
  grep -qF 'moved   steps[2] repeat before steps[0] map, steps[1] filter' <<< "$output"
  grep -qE '^splits  20000000 positions \(records\); .* 16 MiB at most; at least 10 splits$' <<< "$output"
  grep -qE '^memory  a worker, or a local read: at most [0-9.]+ [MG]iB of elements ' <<< "$output"
  grep -qF 'steps[3] batch holds 99 elements, 792 B' <<< "$output"
}

@test "a closed stdout ends the reading with exit 0" {
  for file in "$DATA/endless.yaml" "$DATA/long.yaml"; do
    statuses=$(set +o pipefail; feedmill read "$file" --local | head -n 1 > /dev/null; echo "${PIPESTATUS[0]}")
    [[ $statuses == 0 ]]
  done
  run --separate-stderr bash -c "timeout 20 '$FEEDMILL' read '$DATA/design.yaml' --local >&-"
  [[ $status == 0 ]]
}

@test "a full disk is an error" {
  [[ -e /dev/full ]]
  run --separate-stderr bash -c "timeout 20 '$FEEDMILL' read '$DATA/design.yaml' --local > /dev/full"
  [[ $status == 1 ]]
  error_says "cannot write" "space"
}

@test "SIGINT exits 130" {
  "$FEEDMILL" read "$DATA/endless.yaml" --local > "$BATS_TEST_TMPDIR/out" 3>&- &
  pid=$!
  PIDS+=("$pid")
  wait_for 10 "output" test -s "$BATS_TEST_TMPDIR/out"
  stop "$pid" INT
  [[ $ended == 130 ]]
}

@test "SIGINT ends a read that is blocked on its output" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  "$FEEDMILL" read "$DATA/endless.yaml" --local > "$BATS_TEST_TMPDIR/pipe" 3>&- &
  pid=$!
  PIDS+=("$pid")
  exec 9< "$BATS_TEST_TMPDIR/pipe"
  read -r line <&9
  [[ $line == 0 ]]
  stop "$pid" INT
  exec 9<&-
  [[ $ended == 130 ]]
}

teardown() { stop_all; }

@test "--profile says where time went and which step bounds it" {
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
  expect 0 feedmill read "$file" --local --format summary --profile
  [[ $(field elements <<< "$output") == 100 ]]
  [[ $stderr == *"profile "*" s CPU; "*" times faster"* ]]
  grep -qE '^source  range\(0, 200000, 1\) .* 200000 ' <<< "$stderr"
  grep -qE '^worker  steps\[0\] map .* 200000 +200000 ' <<< "$stderr"
  grep -qE '^worker  steps\[1\] filter .* 200000 +100000 ' <<< "$stderr"
  grep -qE '^client  steps\[2\] batch .* 100000 +100 ' <<< "$stderr"
  grep -qE '^client  waiting for elements' <<< "$stderr"
  expect 0 feedmill read "$file" --local --format none
  [[ -z $stderr ]]
  expect_error 2 "--profile and --explain exclude each other" -- feedmill read "$file" --explain --profile
}
