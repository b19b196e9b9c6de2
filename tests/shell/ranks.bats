# Ranks that are killed and started again with --take-over: nothing is lost or
# repeated, and nobody's place is taken but a former life's.
load lib/feedmill

setup() {
  FILES=$BATS_TEST_TMPDIR
  cat > "$FILES/p.yaml" <<'Y'
source: {range: {stop: 900}}
steps: [{shuffle: {}}, {map: "x + 1"}, {batch: {size: 5}}]
options: {seed: 4}
Y
  cat > "$FILES/long.yaml" <<< 'source: {range: {stop: 100000000}}
options: {seed: 4}'
}

teardown() {
  stop_all
}

@test "ranks under a supervisor that always takes over read everything once" {
  start_cluster 2
  for seed in 1 2 3 4 5 6 7 8 9 10; do
    timeout 240 python3 "$SHELL_TESTS/lib/rank_supervisor.py" "$FEEDMILL" "$service" "$FILES" --seed $seed
  done
}

rank() {  # C/N JOB FLAGS…
  feedmill read "$FILES/p.yaml" --service "$service" --consumer "$1" --job "$2" "${@:3}"
}

@test "a rank that is ahead waits as long as it was told to, and says for whom" {
  start_cluster 1
  expect 0 rank 0/3 waits --take-over
  for flags in "" "--take-over"; do
    expect_error 1 'consumer 0 of job "waits" has waited 1[.0-9]*s for consumers 1 and 2 of 3' '--take-over' \
      -- rank 0/3 waits --timeout 1s $flags
    [[ $stderr == *'waits for consumers 1 and 2 of 3'* ]]
  done
  for c in 1 2; do
    expect 0 rank $c/3 waits --take-over
    [[ $(wc -l <<< "$output") == 60 ]]
  done
  expect 0 rank 0/3 waits --take-over
  [[ $(wc -l <<< "$output") == 60 ]]
}

@test "another number of ranks takes over, and says who did" {
  start_cluster 1
  mkfifo "$FILES/out"
  "$FEEDMILL" read "$FILES/long.yaml" --service "$service" --consumer 1/3 --job n > "$FILES/out" 2> "$FILES/old.err" 3>&- &
  old=$!
  PIDS+=("$old")
  exec 9< "$FILES/out"
  read -r line <&9
  expect 0 feedmill read "$FILES/long.yaml" --service "$service" --consumer 0/2 --job n --limit 3 --take-over
  cat <&9 > /dev/null 3>&- &
  PIDS+=("$!")
  wait_for_end "$old"
  [[ $ended == 1 ]]
  grep "read by 2 consumers by now: '0/2' took it over; this one, '1/3' of 3, stops" "$FILES/old.err"
  exec 9<&-
}

@test "--save-token is there from the beginning" {
  start_cluster 1
  mkfifo "$FILES/out"
  "$FEEDMILL" read "$FILES/long.yaml" --service "$service" --consumer 1/3 --job k --save-token "$FILES/token" > "$FILES/out" 3>&- &
  PIDS+=("$!")
  exec 9< "$FILES/out"
  read -r line <&9
  expect 0 feedmill token show "$FILES/token"
  [[ $output == *'"consumer":"1/3","next_element":0,"iteration":0,'* ]]
  exec 9<&-
}
