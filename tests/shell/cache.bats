# The step cache on disk: what is read again, and what never is.
load lib/feedmill

setup() { export DATA=$BATS_TEST_TMPDIR; }

teardown() { stop_all; }

# About 60 MB in the folder kept/ of $DATA; STEP instead of the cache.
kept_pipeline() {
  pipeline "$1" <<YAML
source: {range: 60000}
steps:
  - map: {x: 'x * 3 + 1', hot: 'one_hot(x % 128, 128)'}
  - filter: 'x % 7 != 3'
  - ${2:-cache: kept}
  - map: {x: x, hot: 'sum(hot, 0) + x'}
  - repeat: 2
options: {seed: 7}
YAML
}

# read_profiled FILE: its order hash; $ran becomes whether step 0 ran.
read_profiled() {
  expect 0 feedmill read "$1" --local --format summary --profile
  hash=$(field order_hash <<< "$output")
  ran=$(awk '/steps\[0\] map/ {print $(NF - 2)}' <<< "$stderr")
  ran=${ran:-0}  # it is not listed where it did not run
}

@test "a cache on disk is there for the next process" {
  local file expected
  expected=$(order_hash feedmill read "$(kept_pipeline plain 'skip: 0')" --local)
  file=$(kept_pipeline kept)
  read_profiled "$file"
  [[ $hash == "$expected" ]]
  echo "$stderr"
  read_profiled "$file"
  echo "$stderr"
  [[ $hash == "$expected" && $ran == 0 ]]
}

written() { compgen -G "$DATA/kept/*/*.rows" > "$DATA/files"; }

@test "a writer that is killed leaves nothing that is half there" {
  local file expected
  expected=$(order_hash feedmill read "$(kept_pipeline plain 'skip: 0')" --local)
  file=$(kept_pipeline kept)
  "$FEEDMILL" read "$file" --local --threads 2 --format none &
  local reader=$!
  wait_for 30 "a file of the cache" written
  kill -9 "$reader"
  wait "$reader" || true
  read_profiled "$file"
  [[ $hash == "$expected" && $ran -lt 60000 ]]
  read_profiled "$file"
  [[ $hash == "$expected" && $ran == 0 ]]
}

@test "damaged files are found out and made again" {
  local file expected damaged
  file=$(kept_pipeline kept)
  expected=$(order_hash feedmill read "$file" --local)
  damaged=("$DATA"/kept/*/*.rows)
  python3 - "${damaged[@]:0:2}" <<'PYTHON'
import os, sys
with open(sys.argv[1], "r+b") as file:  # in the values
    file.seek(-5000, os.SEEK_END)
    byte = file.read(1)
    file.seek(-5000, os.SEEK_END)
    file.write(bytes([byte[0] ^ 1]))
os.truncate(sys.argv[2], os.path.getsize(sys.argv[2]) // 2)
PYTHON
  read_profiled "$file"
  [[ $hash == "$expected" && $ran -gt 0 && $ran -lt 60000 ]]
  [[ $(grep -c "made again" <<< "$stderr") == 2 ]]
}

@test "two processes share a folder, and workers too" {
  local file expected
  file=$(kept_pipeline kept)
  expected=$(order_hash feedmill read "$(kept_pipeline plain 'skip: 0')" --local)
  order_hash feedmill read "$file" --local > "$DATA/one" &
  order_hash feedmill read "$file" --local > "$DATA/two"
  wait $!
  [[ $(cat "$DATA/one") == "$expected" && $(cat "$DATA/two") == "$expected" ]]
  start_cluster 2
  [[ $(order_hash feedmill read "$file" --service "$service") == "$expected" ]]
}

@test "a changed file is not served from a cache of what it was" {
  local file
  printf 'one\ntwo\n' > "$DATA/lines.txt"
  file=$(pipeline lines <<< 'source: {text: {files: lines.txt}}
steps: [{filter: "x != \"two\""}, {cache: kept}]
options: {seed: 1}')
  expect 0 feedmill read "$file" --local
  [[ $output == '"one"' ]]
  printf 'ten\ntwo\nsix\n' > "$DATA/lines.txt"
  expect 0 feedmill read "$file" --local
  [[ $output == $'"ten"\n"six"' ]]
}

@test "an unwritable folder is reported, and no element is lost" {
  local file
  touch "$DATA/file"
  file=$(pipeline nowhere <<< 'source: {range: 4}
steps: [{cache: file/kept}, {repeat: 2}]
options: {seed: 1}')
  expect 0 feedmill read "$file" --local
  [[ $output == $'0\n1\n2\n3\n0\n1\n2\n3' ]]
  [[ $stderr == *"cannot write a cache in"* ]]
}

@test "feedmill cache lists what is kept, and deletes what is longest unused" {
  local file name keys
  for name in old new; do
    file=$(pipeline "$name" <<< "source: {range: 1000}
steps: [{map: {$name: x}}, {cache: kept}]
options: {seed: 1}")
    expect 0 feedmill read "$file" --local --format none
  done
  # Used long ago, all but the newer one.
  keys=("$DATA"/kept/*)
  [[ ${#keys[@]} == 2 ]]
  touch -d '40 days ago' "$DATA"/kept/*
  expect 0 feedmill read "$file" --local --format none
  expect 0 feedmill cache "$DATA/kept"
  [[ ${#lines[@]} == 3 && ${lines[2]} == "2 caches, "* ]]
  [[ ${lines[0]} == *" in 1 file, used "* && $output != *deleted* ]]
  expect 0 feedmill cache "$DATA/kept" --unused-days 30 --dry-run
  [[ ${lines[0]} == *"; to be deleted" && ${lines[1]} != *deleted && ${lines[2]} == "1 cache, "* ]]
  expect 0 feedmill cache "$DATA/kept" --unused-days 30
  [[ ${lines[0]} == *"; deleted" ]]
  keys=("$DATA"/kept/*)
  [[ ${#keys[@]} == 1 ]]
  expect 0 feedmill cache "$DATA/kept" --max-size 1KiB --format json
  [[ $(field deleted <<< "$output") == True ]]
  expect 0 feedmill cache "$DATA/kept"
  [[ $output == "0 caches, 0 B" ]]
  expect_error 1 "nowhere" -- feedmill cache "$DATA/nowhere"
  expect_error 2 "a folder is missing" -- feedmill cache
}
