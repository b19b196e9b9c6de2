# feedmill read --save-token and --token: stopping anywhere and continuing there.
load lib/feedmill

setup() {
  FILES=$BATS_TEST_TMPDIR
  cat > "$FILES/p.yaml" <<'Y'
source: {range: {stop: 3000}}
steps: [{shuffle: {}}, {filter: "x % 7 != 0"}, {repeat: 2}, {batch: {size: 5}}]
options: {seed: 4}
Y
  cat > "$FILES/mixture.yaml" <<'Y'
source:
  mixture:
    weights: [3, 1.5, 1]
    stop: all_exhausted
    inputs:
      - source: {range: 1000}
        steps: [shuffle]
      - source: {concatenate: [{source: {range: 300}}, {source: {range: 200}, steps: [shuffle]}]}
      - source: {interleave: {inputs: [{source: {range: 90}}, {source: {range: 30}}], block_length: 4}}
steps: [{shuffle: {}}, {filter: "x % 7 != 0"}, {repeat: 2}, {batch: {size: 5}}]
options: {seed: 4}
Y
}

teardown() {
  stop_all
}

@test "two reads print together the output of one" {
  start_cluster 2
  for pipeline in p mixture; do parts_are_the_whole "$FILES/$pipeline.yaml"; done
}

parts_are_the_whole() {
  feedmill read "$1" --local > "$FILES/whole"
  for first in "--local" "--service $service"; do
    for second in "--local" "--service $service" "--service $service --job named-${1##*/}"; do
      expect 0 feedmill read "$1" $first --limit 123 --save-token "$FILES/token"
      echo "$output" > "$FILES/parts"
      expect 0 feedmill read "$1" $second --token "$FILES/token" --limit 50 --save-token "$FILES/token"
      echo "$output" >> "$FILES/parts"
      expect 0 feedmill read "$1" $first --token "$FILES/token"
      echo "$output" >> "$FILES/parts"
      cmp "$FILES/whole" "$FILES/parts"
    done
  done
}

@test "ranks take turns, and continue from their merged token in another number" {
  start_cluster 2
  feedmill read "$FILES/p.yaml" --local > "$FILES/whole"
  local read="feedmill read $FILES/p.yaml --service $service --job ranks"
  for c in 0 1; do
    expect 0 $read --consumer $c/2 --limit 100 --save-token "$FILES/t$c"
    echo "$output" > "$FILES/part$c"
  done
  paste -d '\n' "$FILES/part0" "$FILES/part1" > "$FILES/parts"
  expect 0 feedmill token merge "$FILES/t0" "$FILES/t1" --output "$FILES/all"
  expect 0 feedmill token show "$FILES/all"
  [[ $output == *'"consumer":"0/1","next_element":200,'* ]]
  # 829 more: 277, 276 and 276 of them, from element 200 on.
  for c in 2 0 1; do
    expect 0 feedmill read "$FILES/p.yaml" --local --consumer $c/3 --token "$FILES/all"
    echo "$output" > "$FILES/part$c"
  done
  paste -d '\n' "$FILES/part2" "$FILES/part0" "$FILES/part1" | sed '/^$/d' >> "$FILES/parts"
  cmp "$FILES/whole" "$FILES/parts"
  expect_error 2 'consumer 1/2 is missing' -- feedmill token merge "$FILES/t0" --output "$FILES/x"
  expect_error 2 'consumer 0/2 alone' -- feedmill read "$FILES/p.yaml" --local --token "$FILES/t0"
  expect_error 2 '0/N to N-1/N' -- feedmill read "$FILES/p.yaml" --local --consumer 2
  expect_error 2 'name the job' '--job NAME' -- feedmill read "$FILES/p.yaml" --service "$service" --consumer 0/2
}

@test "batches that are skipped are as if they were not there" {
  start_cluster 2
  feedmill read "$FILES/p.yaml" --local | sed '11,20d;31,40d' > "$FILES/rest"
  for where in "--local" "--service $service"; do
    expect 0 feedmill read "$FILES/p.yaml" $where --skip-batches 10:20,30:40
    cmp "$FILES/rest" <(echo "$output")
  done
  expect_error 2 'FIRST:END' -- feedmill read "$FILES/p.yaml" --local --skip-batches 7
  expect_error 2 'out of step' -- feedmill read "$FILES/p.yaml" --local --consumer 0/3 --skip-batches 10:20
}

@test "a batch that was delivered is shown again, with the records that made it" {
  feedmill read "$FILES/p.yaml" --local --limit 601 --save-token "$FILES/token" > "$FILES/read"
  for options in "" "--token $FILES/token"; do
    expect 0 feedmill read "$FILES/p.yaml" --local --show-batch 600 $options
    # Elements of a range are their records; batch 600 is of the second pass.
    [[ $output == '{"batch":600,"iteration":0,"seed":4,"records":[{"record":'*'"epoch":1}],"element":'* ]]
    [ "${output##*\"element\":}" = "$(tail -1 "$FILES/read")}" ]
    [ "$(grep -o '"record":[0-9]*' <<< "$output" | cut -d: -f2 | paste -sd,)" = "$(tail -1 "$FILES/read" | tr -d '[]')" ]
  done
  expect_error 1 'the sequence has 1029' -- feedmill read "$FILES/p.yaml" --local --show-batch 1029
  sed '/seed/d' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 'options.seed' -- feedmill read "$FILES/other.yaml" --local --show-batch 0
}

@test "a token of something else is wrong input" {
  feedmill read "$FILES/p.yaml" --local --limit 1 --save-token "$FILES/token"
  sed 's/% 7/% 8/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 'steps\[1\] is not this one' -- feedmill read "$FILES/other.yaml" --local --token "$FILES/token"
  sed 's/seed: 4/seed: 5/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 'seed 4, the pipeline has seed 5' -- feedmill read "$FILES/other.yaml" --local --token "$FILES/token"
  expect_error 2 'no token of a reader' -- feedmill read "$FILES/p.yaml" --local --token "$FILES/p.yaml"
  expect_error 2 'no such file' -- feedmill read "$FILES/p.yaml" --local --token "$FILES/nothing"
  sed 's/seed: 4/seed: 4, order: any/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 'order deterministic' -- feedmill read "$FILES/other.yaml" --local --save-token "$FILES/token"
}

@test "--save-token writes to a pipe, and never replaces it" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  echo 'source: {range: 10}' > "$BATS_TEST_TMPDIR/p.yaml"
  cat "$BATS_TEST_TMPDIR/pipe" > "$BATS_TEST_TMPDIR/token" &
  expect 0 feedmill read "$BATS_TEST_TMPDIR/p.yaml" --local --limit 4 --save-token "$BATS_TEST_TMPDIR/pipe"
  wait $!
  [ -p "$BATS_TEST_TMPDIR/pipe" ]
  expect 0 feedmill read "$BATS_TEST_TMPDIR/p.yaml" --local --token "$BATS_TEST_TMPDIR/token"
  [ "$output" = "$(seq 4 9)" ]
}

@test "--save-every saves the token of whole lines while the read continues" {
  echo 'source: {range: 10000000}' > "$FILES/long.yaml"
  for every in 50 5ms; do
    mkfifo "$FILES/out"
    "$FEEDMILL" read "$FILES/long.yaml" --local --save-token "$FILES/token" --save-every "$every" > "$FILES/out" 3>&- &
    PIDS+=("$!")
    exec 9< "$FILES/out"
    rm "$FILES/out"
    next=0
    until ((next > 0)); do  # more is read where time alone saves a token
      if [[ $every == 5ms ]]; then head -c 65536 <&9 >> "$FILES/$every"; fi
      next=$(feedmill token show "$FILES/token" 2> /dev/null | field next_element || echo 0)
    done
    kill -9 "$!"
    cat <&9 >> "$FILES/$every"
    exec 9<&-
    next=$(feedmill token show "$FILES/token" | field next_element)
    [[ $every != 50 || $((next % 50)) == 0 ]]
    ((next <= $(grep -c '' "$FILES/$every")))
    expect 0 feedmill read "$FILES/long.yaml" --local --token "$FILES/token" --limit 3
    [ "$output" = "$(seq "$next" $((next + 2)))" ]
  done
}

@test "--save-every needs a file and an interval" {
  echo 'source: {range: 10}' > "$FILES/p.yaml"
  expect_error 2 'save-every needs --save-token' -- feedmill read "$FILES/p.yaml" --local --save-every 5
  for every in 0 -1 often 0s 5x; do
    expect_error 2 'save-every' -- feedmill read "$FILES/p.yaml" --local --save-token "$FILES/token" --save-every "$every"
  done
  mkfifo "$FILES/pipe"
  expect_error 2 'is no file' -- feedmill read "$FILES/p.yaml" --local --save-token "$FILES/pipe" --save-every 5
}
