# A step from outside, in the command: YAML, locally, through a service, --explain
# and tokens. FEEDMILL_EXTENDED is the command with the steps of tests/extension.
load lib/feedmill

setup() {
  FEEDMILL=$FEEDMILL_EXTENDED
  FILES=$BATS_TEST_TMPDIR
  cat > "$FILES/p.yaml" <<'Y'
source: {range: {stop: 500}}
steps:
  - shuffle
  - map: "cast(x, uint8)"
  - scale_bytes: 3
  - filter: "x % 7 != 0"
  - batch: 5
options: {seed: 4}
Y
}

teardown() {
  stop_all
}

@test "a step from outside makes the same locally and through a service, from a token on, too" {
  start_cluster 2
  expect 0 feedmill read "$FILES/p.yaml" --local
  echo "$output" > "$FILES/whole"
  # It means what the same arithmetic in a map means.
  sed 's/  - scale_bytes: 3/  - map: "cast(cast(x, int64) * 3 % 256, uint8)"/' "$FILES/p.yaml" > "$FILES/map.yaml"
  expect 0 feedmill read "$FILES/map.yaml" --local
  diff <(echo "$output") "$FILES/whole"
  for how in --local "--service $service"; do
    expect 0 feedmill read "$FILES/p.yaml" $how
    diff <(echo "$output") "$FILES/whole"
    expect 0 feedmill read "$FILES/p.yaml" $how --limit 23 --save-token "$FILES/token"
    echo "$output" > "$FILES/parts"
    expect 0 feedmill read "$FILES/p.yaml" --local --token "$FILES/token"
    echo "$output" >> "$FILES/parts"
    cmp "$FILES/whole" "$FILES/parts"
  done
}

@test "--explain shows it, and errors name it" {
  expect 0 feedmill read "$FILES/p.yaml" --explain
  [[ $output == *"worker  steps[2] scale_bytes: x by 3 -> uint8"* ]]
  [[ $output == *"steps[1] map + steps[2] scale_bytes + steps[3] filter in one pass"* ]]
  sed 's/scale_bytes: 3/scale_bytes: 300/' "$FILES/p.yaml" > "$FILES/bad.yaml"
  expect_error 2 'bad.yaml:5: steps.2. scale_bytes: factor must be 0 to 255' -- feedmill read "$FILES/bad.yaml" --local
  sed 's/scale_bytes: 3/scale_bytes: {faktor: 3}/' "$FILES/p.yaml" > "$FILES/bad.yaml"
  expect_error 2 'there is no "faktor".*factor' -- feedmill read "$FILES/bad.yaml" --local
}

@test "a token is refused by a pipeline with other options of the step" {
  expect 0 feedmill read "$FILES/p.yaml" --local --limit 23 --save-token "$FILES/token"
  sed 's/scale_bytes: 3/scale_bytes: 4/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 "its steps.2. is not this one's scale_bytes" -- feedmill read "$FILES/other.yaml" --local --token "$FILES/token"
}
