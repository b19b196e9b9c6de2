# feedmill_simulate: whole clusters from seeds.
load lib/feedmill

@test "seeds hold and are summed up" {
  expect 0 "$FEEDMILL_SIMULATE" --seeds 0-9 --jobs 2
  [[ $output == *"fault: "*"messages lost"*"10 seeds in "*", all hold"* ]]
}

@test "a planted bug is found, and its seed is the same each time" {
  expect 1 "$FEEDMILL_SIMULATE" --seeds 0-499 --jobs 2 --bug grant-as-difference
  first=$(grep -o -e '--seeds [0-9]* --trace --bug grant-as-difference' <<<"$stderr")
  [[ -n $first ]]
  expect 1 "$FEEDMILL_SIMULATE" $first
  [[ $output == *"VIOLATION"* && $stderr == *"$first"* ]]
}

@test "wrong flags are usage errors" {
  for words in "--seeds 9-3" "--seeds x" "--seeds 1-2 --trace" "--bug none" "--jobs 0"; do
    expect 2 "$FEEDMILL_SIMULATE" $words
  done
}
