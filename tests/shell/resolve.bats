# feedmill resolve: which tasks a cluster has, and which of them this is.
load lib/feedmill

PLUGIN=${FEEDMILL_EXAMPLE_PLUGIN-}  # setup unsets all such variables

setup() {
  FILES=$BATS_TEST_TMPDIR
  unset "${!FEEDMILL_@}" "${!SLURM@}" "${!SM_@}" TF_CONFIG
}
teardown() { stop_all; }

# The variables of a cluster with a dispatcher and two workers; this is worker 1.
given_variables() {
  export FEEDMILL_CLUSTER='{"dispatcher": ["d:5050"], "worker": ["w0:1", "w1:1"]}'
  export FEEDMILL_JOB=worker FEEDMILL_TASK=1
}

@test "help has the kinds of cluster and examples" {
  expect 0 feedmill resolve --help
  [[ $output == *"slurm:"*"Examples:"*"feedmill resolve file:cluster.yaml"* ]]
  expect 0 feedmill --help
  [[ $output == *"  resolve "* ]]
}

@test "a cluster prints as YAML, JSON and a table" {
  given_variables
  expect 0 feedmill resolve env:
  [[ $output == 'cluster:
  dispatcher:
    - d:5050
  worker:
    - w0:1
    - w1:1
task:
  type: "worker"
  index: 1' ]]
  expect 0 feedmill resolve env: --format json
  [[ $output == '{"cluster":{"dispatcher":["d:5050"],"worker":["w0:1","w1:1"]},"task":{"type":"worker","index":1}}' ]]
  expect 0 feedmill resolve env: --format table
  [[ $output == '  JOB         INDEX  ADDRESS
  dispatcher      0  d:5050
  worker          0  w0:1
* worker          1  w1:1' ]]
}

@test "an empty cluster and a process without a task print as such" {
  expect 0 feedmill resolve env:
  [[ $output == $'cluster: {}\ntask: null' ]]
  expect 0 feedmill resolve tf_config: --format json
  [[ $output == '{"cluster":{},"task":null}' ]]
  expect 0 feedmill resolve env: --format table
  [[ $output == '  JOB  INDEX  ADDRESS' ]]
}

@test "the printed cluster is a file that resolves to the same" {
  export FEEDMILL_CLUSTER='{"ps": {"0": "p:1", "7": "[::1]:2"}, "1e3": [], "w": ["h:%port%"]}'
  export FEEDMILL_JOB=ps FEEDMILL_TASK=7
  expect 0 feedmill resolve env: --format json
  wanted=$output
  [[ $wanted == *'"7":"[::1]:2"'* ]]
  for format in yaml json; do
    feedmill resolve env: --format "$format" > "$FILES/cluster"
    expect 0 feedmill resolve "file:$FILES/cluster" --format json
    [[ $output == "$wanted" ]]
  done
}

@test "a file may hold the jobs alone, and the URI says the task" {
  printf 'worker: {3: w3:1}\n' > "$FILES/a b.yaml"
  expect 0 feedmill resolve "file:$FILES/a%20b.yaml?job=worker&task=3" --format json
  [[ $output == '{"cluster":{"worker":{"3":"w3:1"}},"task":{"type":"worker","index":3}}' ]]
}

@test "a task's type may be any bytes" {
  for format in yaml json table; do
    expect 0 feedmill resolve 'env:?job=%ff&task=0' --format "$format"
  done
}

@test "tf_config: reads TF_CONFIG" {
  export TF_CONFIG='{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": "1"}}'
  expect 0 feedmill resolve tf_config: --format json
  [[ $output == '{"cluster":{"worker":["a:1","b:1"]},"task":{"type":"worker","index":1}}' ]]
}

@test "slurm: reads the step, in Slurm's order" {
  export SLURM_STEP_NODELIST='n[2,10],n1' SLURM_STEP_TASKS_PER_NODE='2,1(x2)'
  export SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 SLURMD_NODENAME=n10
  expect 0 feedmill resolve slurm: --format json
  [[ $output == '{"cluster":{"dispatcher":["n2:8888"],"worker":["n2:8889","n10:8888","n1:8888"]},"task":{"type":"worker","index":1}}' ]]
  expect 0 feedmill resolve 'slurm:?port=5050&jobs=worker,ps:1' --format json
  [[ $output == '{"cluster":{"ps":["n1:5050"],"worker":["n2:5050","n2:5051","n10:5050"]},"task":{"type":"worker","index":2}}' ]]
}

@test "sagemaker: reads the hosts, in the order of their numbers" {
  export SM_HOSTS='["algo-10", "algo-9"]' SM_CURRENT_HOST=algo-10
  expect 0 feedmill resolve sagemaker: --format json
  [[ $output == '{"cluster":{"worker":["algo-9:2223","algo-10:2223"]},"task":{"type":"worker","index":1}}' ]]
}

@test "bad URIs exit 2 and say what to write" {
  expect_error 2 "URI is missing" "resolve --help" -- feedmill resolve
  expect_error 2 'no resolver .slrum:.' 'did you mean "slurm"' -- feedmill resolve slrum:
  expect_error 2 "no scheme" "file:cluster.yaml" -- feedmill resolve cluster.yaml
  expect_error 2 'no parameter .prot.' 'did you mean "port"' -- feedmill resolve 'slurm:?prot=1'
  expect_error 2 "--format" "table" -- feedmill resolve env: --format xml
  expect_error 2 'unexpected argument "b"' -- feedmill resolve env: b
}

@test "bad sources exit 2 and name the variable or file" {
  expect_error 2 "SLURM_STEP_NODELIST" "not run inside a Slurm job" -- feedmill resolve slurm:
  expect_error 2 "SM_HOSTS" -- feedmill resolve sagemaker:
  expect_error 2 "no file .*/none.yaml" -- feedmill resolve "file:$FILES/none.yaml"
  expect_error 2 "is a folder" -- feedmill resolve "file:$FILES"
  printf 'worker: [h]\n' > "$FILES/port.yaml"
  expect_error 2 "port.yaml: job 'worker', task 0" "no port" -- feedmill resolve "file:$FILES/port.yaml"
  TF_CONFIG='{' expect_error 2 "TF_CONFIG" "JSON" -- feedmill resolve tf_config:
  FEEDMILL_TASK=1 expect_error 2 "FEEDMILL_TASK" "FEEDMILL_JOB" -- feedmill resolve env:
  SLURM_JOB_NODELIST='n[3-1]' expect_error 2 "SLURM_JOB_NODELIST" "runs down" -- feedmill resolve slurm:
}

@test "union: several clusters are one" {
  given_variables
  printf 'worker: [w9:1]\n' > "$FILES/more.yaml"
  expect 0 feedmill resolve "union:?1=env%3A&2=file%3A$FILES/more.yaml" --format json
  [[ $output == '{"cluster":{"dispatcher":["d:5050"],"worker":["w0:1","w1:1","w9:1"]},"task":{"type":"worker","index":1}}' ]]
  expect_error 2 "part '2'" 'did you mean "file"' -- feedmill resolve "union:?1=env%3A&2=fiel%3Ax"
}

@test "--watch prints each change until it is stopped" {
  printf '{"worker": ["w0:1"]}\n' > "$FILES/c"
  "$FEEDMILL" resolve "file:$FILES/c" --format json --watch 20ms \
    > "$FILES/out" 2> "$FILES/err" 3>&- &
  pid=$!
  PIDS+=("$pid")
  wait_for 10 "the first cluster" grep -q w0 "$FILES/out"
  printf '{"worker": ["w0:1", "w1:1"]}\n' > "$FILES/new" && mv "$FILES/new" "$FILES/c"
  wait_for 10 "the second" grep -q w1 "$FILES/out"
  rm "$FILES/c"
  wait_for 10 "the trouble" grep -q "no file $FILES/c" "$FILES/err"
  stop "$pid"
  [[ $ended == 0 && $(wc -l < "$FILES/out") == 2 ]]
}

@test "a plugin adds a kind of cluster" {
  FEEDMILL_RESOLVER_PLUGINS=/no/such.so \
    expect_error 2 "FEEDMILL_RESOLVER_PLUGINS" "cannot load the plugin /no/such.so" -- feedmill resolve env:
  export FEEDMILL_RESOLVER_PLUGINS=$PLUGIN
  expect 0 feedmill resolve 'example:mill?workers=2&job=worker&task=0' --format json
  [[ $output == '{"cluster":{"dispatcher":["mill:1"],"worker":["mill-0:1","mill-1:1"]},"task":{"type":"worker","index":0}}' ]]
}

# The TLS of Kubernetes' API, with an authority of its own: a server of one
# fixed answer, which takes one token.
@test "kubernetes: speaks TLS with the authority of the kubeconfig only" {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
    -subj /CN=mill -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$FILES/key.pem" -out "$FILES/ca.pem" 2> "$FILES/openssl.log"
  python3 "$BATS_TEST_DIRNAME/lib/tls_server.py" "$FILES" > "$FILES/port" 3>&- &
  PIDS+=("$!")
  wait_for 10 "the API" test -s "$FILES/port"
  for authority in ca.pem none; do
    cat > "$FILES/kubeconfig.$authority" <<YAML
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:$(cat "$FILES/port")", certificate-authority: $authority}}]
users: [{name: u, user: {token: secret}}]
YAML
  done
  sed -i 's/, certificate-authority: none//' "$FILES/kubeconfig.none"
  expect 0 feedmill resolve "kubernetes:?worker=app%3Dmill&kubeconfig=$FILES/kubeconfig.ca.pem" --format json
  [[ $output == *'{"worker":["10.0.0.1:8470"]}'* ]]
  expect_error 1 "cannot speak TLS with https://127.0.0.1" "certificate" -- \
    feedmill resolve "kubernetes:?worker=app%3Dmill&kubeconfig=$FILES/kubeconfig.none"
}
