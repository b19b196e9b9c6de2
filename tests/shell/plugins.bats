# Functions of plugins, in this process and through a service.
load lib/feedmill

EXAMPLE=${FEEDMILL_EXAMPLE_OP_PLUGIN-}  # setup unsets all such variables
ODD=${FEEDMILL_ODD_OP_PLUGIN-}
RESOLVER_PLUGIN=${FEEDMILL_EXAMPLE_PLUGIN-}

setup_file() { make_data; }
setup() {
  unset "${!FEEDMILL_@}" ODD_OP_PLUGIN
  SCALE=$(pipeline scale <<'YAML'
source: {range: 1000}
steps:
  - map: {half: "example.scale(x / 1, 0.5)", ratio: "example.ratio(x, 4)", word: "example.words(to_string(x))"}
  - filter: "half >= 1"
  - shuffle
options: {seed: 7}
YAML
)
  ROWS=$(pipeline rows <<'YAML'
source: {range: 10}
steps: [map: "odd.rows() * 0 + x"]
YAML
)
}
teardown() { stop_all; }

# given_service WORKER-ARGUMENTS…: a dispatcher with the example and a worker.
given_service() {
  start_and_wait d dispatcher --op-plugin "$EXAMPLE:$ODD"
  service=$address
  start_and_wait w worker --dispatcher "$service" "$@"
}

@test "expressions call functions of a plugin" {
  expect 0 feedmill read "$SCALE" --local --op-plugin "$EXAMPLE" --limit 998
  [[ $(wc -l <<< "$output") == 998 ]]
  grep -qxF '{"half":1.0,"ratio":0.5,"word":["2"]}' <<< "$output"
  local first=$output
  export FEEDMILL_OP_PLUGINS=$EXAMPLE
  expect 0 feedmill read "$SCALE" --local
  [[ $output == "$first" ]]
  unset FEEDMILL_OP_PLUGINS
  FEEDMILL_READ_OP_PLUGIN=$EXAMPLE expect 0 feedmill read "$SCALE" --explain
  [[ $output == *"the function example.scale comes from the plugin example 1.0"* ]]
  expect_error 2 'no function "example.scale"; if it is of a plugin, --op-plugin' -- \
    feedmill read "$SCALE" --local
}

@test "on_error leaves out elements that a plugin reports as bad data" {
  DIVIDED=$(pipeline divided <<'YAML'
source: {range: 5}
steps: [map: "example.ratio(12, x - 2)", on_error: skip]
YAML
)
  expect 0 feedmill read "$DIVIDED" --local --op-plugin "$EXAMPLE"
  [[ $output == $'-6.0\n-12.0\n12.0\n6.0' && $stderr == *"1 element could not be made"* ]]
  sed -i 's/, on_error: skip//' "$DIVIDED"
  expect 1 feedmill read "$DIVIDED" --local --op-plugin "$EXAMPLE"
  [[ $output == $'-6.0\n-12.0' && $stderr == *"example.ratio: the divisor is 0"* ]]
}

@test "a service gives what a local read gives" {
  given_service --op-plugin "$EXAMPLE"
  cmp <(feedmill read "$SCALE" --service "$service" --op-plugin "$EXAMPLE") \
    <(feedmill read "$SCALE" --local --op-plugin "$EXAMPLE")
}

@test "up hands plugins to its processes" {
  start_and_wait u up --workers 1 --op-plugin "$EXAMPLE"
  export FEEDMILL_OP_PLUGINS=$EXAMPLE
  cmp <(feedmill read "$SCALE" --service "$address") <(feedmill read "$SCALE" --local)
  expect_error 2 "--op-plugin: cannot load the plugin /no/such.so" -- feedmill up --op-plugin /no/such.so
}

@test "a worker without the plugin fails the job and says what to set" {
  given_service
  expect_error 1 "example.ratio of the plugin example 1.0, which a worker lacks" "--op-plugin FILE" \
    FEEDMILL_OP_PLUGINS -- feedmill read "$SCALE" --service "$service" --op-plugin "$EXAMPLE"
  kill -0 "$pid"  # the worker lives, and does what it can
  cmp <(feedmill read "$DATA/design.yaml" --service "$service") <(feedmill read "$DATA/design.yaml" --local)
}

@test "a dispatcher without the plugin says so" {
  start_and_wait d dispatcher
  expect_error 1 "of the plugin example 1.0, which the dispatcher lacks" -- \
    feedmill read "$SCALE" --service "$address" --op-plugin "$EXAMPLE"
}

@test "a worker with another version is refused" {
  export ODD_OP_PLUGIN=version2
  start_and_wait d dispatcher --op-plugin "$ODD"
  unset ODD_OP_PLUGIN
  service=$address
  start_and_wait w worker --dispatcher "$service" --op-plugin "$ODD"
  expect_error 1 "odd.rows of the plugin odd 1.0, but the dispatcher has that of odd 2.0" -- \
    feedmill read "$ROWS" --service "$service" --op-plugin "$ODD"
  ODD_OP_PLUGIN=version2 expect_error 1 "odd.rows of the plugin odd 2.0, but a worker has that of odd 1.0" -- \
    feedmill read "$ROWS" --service "$service" --op-plugin "$ODD"
}

@test "a plugin that is none or of another contract is refused with its reason" {
  for command in "read $ROWS --local" dispatcher "worker --dispatcher h:1" up; do
    # shellcheck disable=SC2086
    ODD_OP_PLUGIN=abi expect_error 2 "--op-plugin: the plugin $ODD: it was built for version 2" \
      "has version 1: build it again" -- feedmill $command --op-plugin "$ODD"
  done
  FEEDMILL_OP_PLUGINS=/no/such.so expect_error 2 "variable FEEDMILL_OP_PLUGINS: cannot load" -- \
    feedmill read "$ROWS" --local
  expect_error 2 "is no op plugin: it has no feedmill_op_plugin_entry" -- \
    feedmill read "$ROWS" --local --op-plugin "$RESOLVER_PLUGIN"
  ODD_OP_PLUGIN=built-in expect_error 2 "function image.resize already, a built-in one" -- \
    feedmill read "$ROWS" --local --op-plugin "$ODD"
}

@test "a batch that an operator looks at is made with the dispatcher's plugins" {
  (umask 077; echo 0123456789abcdef > "$BATS_TEST_TMPDIR/token")
  start_and_wait d dispatcher --op-plugin "$EXAMPLE" --http 127.0.0.1:0 \
    --http-ready-file "$BATS_TEST_TMPDIR/http" --http-token-file "$BATS_TEST_TMPDIR/token"
  service=$address
  start_and_wait w worker --dispatcher "$service" --op-plugin "$EXAMPLE"
  expect 0 feedmill read "$SCALE" --service "$service" --op-plugin "$EXAMPLE" --job train --format none
  wait_for_file http 10
  expect 0 python3 - "$(cat "$BATS_TEST_TMPDIR/http")/api/jobs/sample" <<'EOF'
import json, sys, urllib.request
request = urllib.request.Request(sys.argv[1], json.dumps({"job": "train", "batch": 3}).encode(), {
    "Authorization": "Bearer 0123456789abcdef", "X-Feedmill": "1", "Content-Type": "application/json"})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(request, timeout=30).read().decode())
EOF
  [[ $output == *'"half"'*'"ratio"'*'"word"'* ]]
}

@test "a plugin that throws fails the job, and not the worker" {
  THROWS=$(pipeline throws <<'YAML'
source: {range: 10}
steps: [map: "odd.throws(x)"]
YAML
)
  given_service --op-plugin "$ODD"
  expect_error 1 "odd.throws of the plugin odd 1.0 .* exception" -- \
    feedmill read "$THROWS" --service "$service" --op-plugin "$ODD"
  kill -0 "$pid"
}

@test "the option comes from a file, too" {
  echo "op_plugin: $EXAMPLE" > "$BATS_TEST_TMPDIR/options.yaml"
  for command in read worker dispatcher server up; do
    expect 0 feedmill "$command" --config "$BATS_TEST_TMPDIR/options.yaml" --print-config
    [[ $output == *"op_plugin: \"$EXAMPLE\""* ]]
  done
}
