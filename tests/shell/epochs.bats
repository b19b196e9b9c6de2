# feedmill read --epoch: each epoch has an order of its own, in every way of reading.
load lib/feedmill

setup() {
  FILES=$BATS_TEST_TMPDIR
  cat > "$FILES/p.yaml" <<'Y'
source: {range: {stop: 1000}}
steps: [{shuffle: {}}, {filter: "x % 7 != 0"}, {batch: {size: 5}}]
options: {seed: 4}
Y
}

teardown() {
  stop_all
}

@test "an epoch is the same in this process, through a service, and in a job" {
  start_cluster 2
  for epoch in 0 2 1; do
    expect 0 feedmill read "$FILES/p.yaml" --local --epoch $epoch
    echo "$output" > "$FILES/$epoch"
    for job in "" "--job named"; do
      expect 0 feedmill read "$FILES/p.yaml" --service "$service" $job --epoch $epoch
      diff <(echo "$output") "$FILES/$epoch"
    done
  done
  [[ $(cat "$FILES"/[012] | sort -u | wc -l) -gt 400 ]]
  expect 0 feedmill read "$FILES/p.yaml" --local
  diff <(echo "$output") "$FILES/0"
}

@test "a token is of an epoch, and another one is refused" {
  feedmill read "$FILES/p.yaml" --local --epoch 3 > "$FILES/whole"
  expect 0 feedmill read "$FILES/p.yaml" --local --epoch 3 --limit 7 --save-token "$FILES/token"
  echo "$output" > "$FILES/read"
  expect 0 feedmill read "$FILES/p.yaml" --local --token "$FILES/token"
  echo "$output" >> "$FILES/read"
  diff "$FILES/read" "$FILES/whole"
  expect_error 2 'epoch 4 was asked for, and the token is of epoch 3' \
    -- feedmill read "$FILES/p.yaml" --local --epoch 4 --token "$FILES/token"
  expect 0 feedmill read "$FILES/p.yaml" --local --epoch 3 --show-batch 6
  [[ $output == *"\"iteration\":3,"*"\"element\":$(tail -n +7 "$FILES/whole" | head -n 1)}" ]]
}
