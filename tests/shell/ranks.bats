# Ranks that are killed and started again with --take-over: nothing is lost or
# repeated, and a rank replaces only its own former life.
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

@test "a rank that is ahead waits until its timeout and names the missing ranks" {
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

@test "consumers without a seed are refused where no service draws one for all" {
  sed -i '/options/d' "$FILES/p.yaml"
  for c in 0 1; do
    expect_error 2 "rank $c of 2: the dataset uses random numbers and has no seed" 'options: {seed: 7}' -- \
      feedmill read "$FILES/p.yaml" --local --consumer $c/2
  done
  sed -i 's/shuffle: {}/shuffle: {seed: 3}/' "$FILES/p.yaml"
  for c in 0 1; do
    expect 0 feedmill read "$FILES/p.yaml" --local --consumer $c/2 --limit 2 --save-token "$FILES/token$c"
    [[ $stderr != *'was drawn'* ]]
  done
  feedmill token merge "$FILES/token0" "$FILES/token1" --output "$FILES/merged"
  expect 0 feedmill read "$FILES/p.yaml" --local --token "$FILES/merged" --format summary
  grep -qF '"elements":176' <<< "$output"
}

@test "--even gives all consumers as many elements, in one process and through a service" {
  start_cluster 2
  echo 'source: {range: 5}' > "$FILES/five.yaml"
  for how in "--local" "--service $service --job even-drop" "--service $service --job even-pad"; do
    even=${how##*-}
    [[ $how == *service* ]] || even=drop
    for c in 0 1; do
      expect 0 feedmill read "$FILES/five.yaml" $how --consumer $c/2 --even "$even" --save-token "$FILES/even$c"
      echo "$output" > "$FILES/part$c"
    done
    if [[ $even == drop ]]; then
      [ "$(paste -sd' ' "$FILES/part0") $(paste -sd' ' "$FILES/part1")" = "0 2 1 3" ]
    else
      [ "$(paste -sd' ' "$FILES/part0") $(paste -sd' ' "$FILES/part1")" = "0 2 4 1 3 3" ]
    fi
    for c in 0 1; do
      expect 0 feedmill read "$FILES/five.yaml" --local --consumer $c/2 --even "$even" --token "$FILES/even$c"
      [ -z "$output" ]
    done
  done
  echo 'options: {even: drop}' >> "$FILES/five.yaml"
  expect 0 feedmill read "$FILES/five.yaml" --local --consumer 0/2
  [ "$output" = $'0\n2' ]
  expect 0 feedmill read "$FILES/five.yaml" --local --consumer 0/2 --even exact
  [ "$output" = $'0\n2\n4' ]
  echo 'steps: [{filter: "x > 1"}]' >> "$FILES/five.yaml"
  expect 0 feedmill read "$FILES/five.yaml" --local --consumer 0/2
  [ "$output" = 2 ]  # of 2, 3 and 4
}
