# Keys: who gets in and who does not, and what attackers cannot do to a service.
load lib/feedmill

setup_file() { make_data; }
setup() {
  KEYS=$BATS_TEST_TMPDIR/keys
  SQUARES=$(pipeline secure <<'YAML'
source: {range: {stop: 20000}}
steps:
  - map: "x * x + 1"
  - shuffle: {seed: 7}
options: {seed: 7}
YAML
  )
}
teardown() { stop_all; }

# secure_cluster: a dispatcher and a worker with keys; all commands have them.
secure_cluster() {
  feedmill keygen --dir "$KEYS" > /dev/null
  export FEEDMILL_DISPATCHER_KEYS=$KEYS FEEDMILL_WORKER_KEYS=$KEYS
  export FEEDMILL_READ_KEYS=$KEYS FEEDMILL_STATUS_KEYS=$KEYS
  start_cluster 1
  worker=$(cat "$BATS_TEST_TMPDIR/worker0.ready")
}

# serves: a good read has the right hash.
serves() {
  local local_hash service_hash
  local_hash=$(order_hash feedmill read "$SQUARES" --local)
  service_hash=$(order_hash feedmill read "$SQUARES" --service "$service" --timeout 30s)
  [[ -n $local_hash && $local_hash == "$service_hash" ]]
}

attack() { timeout -k 5 60 python3 "$SHELL_TESTS/lib/attack.py" "$@"; }

# others_key FILE ROLE TO: the key in FILE, made to look like one of ROLE.
others_key() {
  mkdir -p "$3"
  cp "$KEYS/dispatcher.pub" "$3"
  sed "s/^role .*/role $2/" "$1" > "$3/$2.key"
  chmod 600 "$3/$2.key"
}

@test "keygen makes a folder that works, with secrets that only the owner can read" {
  expect 0 feedmill keygen --dir "$KEYS"
  for name in dispatcher worker client operator; do
    [[ $(stat -c %a "$KEYS/$name.key") == 600 ]]
    [[ $output == *"$KEYS/$name.key"* ]]
    secret=$(sed -n 's/^secret //p' "$KEYS/$name.key")
    [[ ${#secret} == 64 ]]
    [[ $(grep -rl "$secret" "$KEYS") == "$KEYS/$name.key" ]]
  done
  expect 0 feedmill keygen --dir "$KEYS" --role client --name alice
  [[ -f $KEYS/alice.key && -f $KEYS/clients/alice.pub ]]
}

@test "keygen never writes over a key" {
  feedmill keygen --dir "$KEYS" > /dev/null
  cp -r "$KEYS" "$KEYS.before"
  expect_error 1 'dispatcher.key: is there already' -- feedmill keygen --dir "$KEYS"
  expect_error 1 'client.key: is there already' -- feedmill keygen --dir "$KEYS" --role client
  diff -r "$KEYS" "$KEYS.before"
  expect_error 2 'letters' -- feedmill keygen --dir "$KEYS" --role client --name ../x
  expect_error 2 '--role' -- feedmill keygen --dir "$KEYS" --name x
}

@test "with keys a read through the service gives what a local one gives" {
  secure_cluster
  serves
  expect 0 feedmill status --service "$service"
  [[ $output == *"workers (1)"* && $output == *"$worker"* ]]
  ! grep -r -f <(sed -n 's/^secret //p' "$KEYS"/*.key) "$BATS_TEST_TMPDIR"/*.log
}

@test "another address than loopback needs keys or --insecure-bind" {
  expect_error 2 'feedmill keygen' '--insecure-bind' -- feedmill dispatcher --host 0.0.0.0
  expect_error 2 'feedmill keygen' '--insecure-bind' -- \
    feedmill worker --dispatcher localhost:1 --host 0.0.0.0
  start_and_wait open dispatcher --host 0.0.0.0 --insecure-bind
  feedmill keygen --dir "$KEYS" > /dev/null
  start_and_wait closed dispatcher --host 0.0.0.0 --keys "$KEYS"
}

@test "wrong and missing keys say what to do" {
  feedmill keygen --dir "$KEYS" > /dev/null
  expect_error 2 "dispatcher.key" 'keygen' -- feedmill dispatcher --keys "$BATS_TEST_TMPDIR/none"
  chmod 644 "$KEYS/dispatcher.key"
  expect_error 2 'chmod 600' -- feedmill dispatcher --keys "$KEYS"
  chmod 600 "$KEYS/dispatcher.key"
  mv "$KEYS/worker.key" "$KEYS/w" && cp "$KEYS/client.key" "$KEYS/worker.key"
  expect_error 2 'has the role client' -- \
    feedmill worker --dispatcher localhost:1 --keys "$KEYS"
  mv "$KEYS/w" "$KEYS/worker.key"
  cp "$KEYS/workers/worker.pub" "$KEYS/clients/x.pub"
  expect_error 2 'clients/x.pub' 'has the role worker' -- feedmill dispatcher --keys "$KEYS"
  rm "$KEYS/clients/x.pub"
  expect_error 2 'server key' -- \
    feedmill read "$SQUARES" --service localhost:1 --keys "$KEYS" --server-key nonsense
  expect_error 2 'keygen' -- \
    feedmill read "$SQUARES" --service localhost:1 --server-key "$KEYS/dispatcher.pub"
}

@test "peers without a listed key get nothing" {
  secure_cluster
  unset FEEDMILL_READ_KEYS FEEDMILL_STATUS_KEYS
  expect_error 1 'is encrypted|hung up' -- \
    feedmill read "$SQUARES" --service "$service" --timeout 2s
  feedmill keygen --dir "$KEYS.other" > /dev/null
  cp "$KEYS/dispatcher.pub" "$KEYS.other"
  expect_error 1 'does not accept this key' -- \
    feedmill read "$SQUARES" --service "$service" --keys "$KEYS.other" --timeout 20s
  expect_error 1 'does not accept this key' -- \
    feedmill status --service "$service" --keys "$KEYS.other"
  rm "$KEYS.other/dispatcher.pub"
  feedmill keygen --dir "$KEYS.third" > /dev/null
  expect_error 1 'server key' -- feedmill read "$SQUARES" --service "$service" --keys "$KEYS" \
    --server-key "$KEYS.third/dispatcher.pub" --timeout 2s
  start stranger worker --dispatcher "$service" --keys "$KEYS.third" --dispatcher-timeout 2s
  wait_for_end "$pid"
  [[ $ended == 1 ]]
  export FEEDMILL_READ_KEYS=$KEYS FEEDMILL_STATUS_KEYS=$KEYS
  workers_are 1
  serves
  grep -q 'dropped .* in the handshake.*not listed in' "$BATS_TEST_TMPDIR/dispatcher.log"
}

@test "peers with a key of another role get nothing" {
  secure_cluster
  others_key "$KEYS/client.key" worker "$KEYS.1"
  mkdir -p "$KEYS.1/clients"
  start stranger worker --dispatcher "$service" --keys "$KEYS.1"
  wait_for 20 "the refusal" grep -q "role client, and only the role worker" "$BATS_TEST_TMPDIR/stranger.log"
  workers_are 1
  others_key "$KEYS/client.key" operator "$KEYS.2"
  expect_error 1 'role client, and only the role operator' -- \
    feedmill status --service "$service" --keys "$KEYS.2"
  others_key "$KEYS/operator.key" client "$KEYS.3"
  expect_error 1 'role operator, and only the role client' -- \
    feedmill read "$SQUARES" --service "$service" --keys "$KEYS.3" --timeout 20s
  # A worker's port takes clients only.
  others_key "$KEYS/worker.key" operator "$KEYS.4"
  expect_error 1 'does not accept this key' -- feedmill status --service "$worker" \
    --keys "$KEYS.4" --server-key "$(sed -n 's/^public //p' "$KEYS/worker.key")"
  serves
}

@test "keys that are listed or removed count without a restart" {
  secure_cluster
  feedmill keygen --dir "$KEYS" --role client --name alice > /dev/null
  mkdir "$KEYS.alice"
  cp "$KEYS/alice.key" "$KEYS.alice/client.key"
  cp "$KEYS/dispatcher.pub" "$KEYS.alice"
  export FEEDMILL_READ_KEYS=$KEYS.alice
  wait_for 20 "alice to get in" serves
  rm "$KEYS/clients/alice.pub"
  refused() { ! feedmill read "$SQUARES" --service "$service" --timeout 2s > /dev/null 2>&1; }
  wait_for 20 "alice to be kept out" refused
}

@test "a replayed hello gets nothing" {
  secure_cluster
  attack record "$service" "$BATS_TEST_TMPDIR/said" > "$BATS_TEST_TMPDIR/proxy" 3>&- &
  PIDS+=("$!")
  wait_for 10 "the recorder" test -s "$BATS_TEST_TMPDIR/proxy"
  expect 0 feedmill status --service "$(cat "$BATS_TEST_TMPDIR/proxy")" --timeout 20s
  attack replay "$service" "$BATS_TEST_TMPDIR/said"
  serves
}

for_each_port() {
  for port in "$service" "$worker"; do
    attack "$1" "$port" || return
    serves || return
  done
}

@test "a port scan leaves the service serving" { secure_cluster; for_each_port scan; }
@test "random bytes leave the service serving" {
  secure_cluster
  for_each_port random
  grep -q 'dropped .* in the handshake' "$BATS_TEST_TMPDIR/dispatcher.log"
  # At a bounded rate: one line a second at most.
  [[ $(grep 'in the handshake' "$BATS_TEST_TMPDIR/dispatcher.log" | cut -c 1-19 | uniq -c |
    awk '$1 > 2' | wc -l) == 0 ]]
}
@test "truncated ZMTP leaves the service serving" { secure_cluster; for_each_port truncated; }
@test "announcements of 2 GiB leave the service serving, with keys and without" {
  secure_cluster
  for_each_port huge
  stop_all
  unset FEEDMILL_DISPATCHER_KEYS FEEDMILL_WORKER_KEYS FEEDMILL_READ_KEYS FEEDMILL_STATUS_KEYS
  start_cluster 1
  worker=$(cat "$BATS_TEST_TMPDIR/worker0.ready")
  for_each_port huge
}

@test "messages that do not end are dropped before they fill the memory" {
  start_cluster 1
  worker=$(cat "$BATS_TEST_TMPDIR/worker0.ready")
  attack endless "$worker"
  serves
  grep -q "no whole message" "$BATS_TEST_TMPDIR/worker0.log"
}

@test "10,000 half-open connections leave the service serving" {
  secure_cluster
  for port in "$service" "$worker"; do
    mkfifo "$BATS_TEST_TMPDIR/hold"
    attack half-open "$port" 10000 < "$BATS_TEST_TMPDIR/hold" > "$BATS_TEST_TMPDIR/held" 3>&- &
    attacker=$!
    PIDS+=("$attacker")
    exec {hold}> "$BATS_TEST_TMPDIR/hold"
    wait_for 60 "10,000 connections" grep -q "open 10000" "$BATS_TEST_TMPDIR/held"
    serves
    exec {hold}>&-
    wait_for_end "$attacker"
    [[ $ended == 0 ]]
    serves
    rm "$BATS_TEST_TMPDIR/hold"
  done
}
