# feedmill read --save-token and --token: stopping anywhere and going on there.
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

@test "what two reads print together is what one prints" {
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
