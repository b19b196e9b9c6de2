# feedmill dataset: pipelines that a dispatcher keeps under ids.
load lib/feedmill

setup() {
  FILES=$BATS_TEST_TMPDIR
  echo "it's" > "$FILES/one.txt"
  printf '%s\n' "source: {text: {files: one.txt}}" 'steps: [{map: {line: "x"}}]' > "$FILES/p.yaml"
}

teardown() {
  stop_all
}

@test "a dataset is read by its id, and its definition is shown" {
  start_cluster 1
  expect 0 feedmill dataset register "$FILES/p.yaml" --id lines --service "$service"
  [ "$output" = lines ]
  expect 0 feedmill dataset register "$FILES/p.yaml" --service "$service"
  [[ $output == dataset-???????????????? ]]
  derived=$output
  for id in lines "$derived"; do
    expect 0 feedmill read --dataset-id "$id" --service "$service"
    [ "$output" = '{"line":"it'"'"'s"}' ]
  done
  expect 0 feedmill dataset show lines --service "$service"
  echo "$output" > "$FILES/shown.yaml"
  echo 'steps: [{filter: "line != \"x\""}]' >> "$FILES/shown.yaml"
  expect 0 feedmill read "$FILES/shown.yaml" --local
  [ "$output" = '{"line":"it'"'"'s"}' ]
}

@test "a dataset that is not there, or is another, is an error" {
  start_cluster 1
  expect 0 feedmill dataset register "$FILES/p.yaml" --id lines --service "$service"
  sed 's/line:/other:/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 1 'lines.* is registered with another pipeline' -- feedmill dataset register "$FILES/other.yaml" --id lines --service "$service"
  expect_error 2 'no dataset .none.' -- feedmill read --dataset-id none --service "$service"
  expect_error 2 'exclude each other' -- feedmill read "$FILES/p.yaml" --dataset-id lines --service "$service"
  expect_error 2 'needs --service' -- feedmill read --dataset-id lines --local
  expect_error 2 'is not register or show' -- feedmill dataset forget lines --service "$service"
  expect_error 2 'source graph' -- feedmill read <(echo "source: {graph: '{}'}") --local
}

@test "datasets outlive the dispatcher" {
  start_and_wait dispatcher dispatcher --port 0 --work-dir "$FILES/work"; service=$address
  expect 0 feedmill dataset register "$FILES/p.yaml" --id lines --service "$service"
  kill -KILL "$pid"; wait_for_end "$pid"; rm "$RUN_DIR/dispatcher.ready"
  start_and_wait dispatcher dispatcher --port 0 --work-dir "$FILES/work"; service=$address
  expect 0 feedmill dataset show lines --service "$service"
  [[ $output == "source: {graph: "* ]]
}
