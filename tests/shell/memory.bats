# Readers on the workers' host see the workers' memory: nothing changes but the
# cost, and nothing stays when processes are killed.
load lib/feedmill

setup_file() {
  export DATA=$BATS_FILE_TMPDIR
  pipeline large <<< 'source: {range: {stop: 3000}}
steps: [{map: "full([300000], cast(x % 251, uint8))"}]
options: {seed: 1}' > /dev/null
  pipeline endless <<< 'source: {range: {stop: 3000}}
steps: [repeat, {map: "full([300000], cast(x % 251, uint8))"}]
options: {seed: 1}' > /dev/null
  LOCAL_HASH=$(order_hash feedmill read "$DATA/large.yaml" --local)
  export LOCAL_HASH
}
teardown() { stop_all; }

shares() { grep -q "shares this worker's memory" "$BATS_TEST_TMPDIR/$1.log"; }
lends_no_more() { ! ls -l "/proc/$1/fd" | grep -q feedmill-parts; }

# The abstract sockets that process $1 listens at.
names_of() {
  ls -l "/proc/$1/fd" | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p' |
    while read -r inode; do awk -v i="$inode" '$7 == i { print $8 }' /proc/net/unix; done |
    grep '^@feedmill-' | sort -u
}

@test "elements come through shared memory, or over TCP, and are the same" {
  start_cluster 1
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service" --transport tcp) == "$LOCAL_HASH" ]]
  ! shares worker0
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service") == "$LOCAL_HASH" ]]
  shares worker0
}

@test "a worker that shares no memory serves over TCP" {
  start_and_wait dispatcher dispatcher --port 0
  service=$address
  start_and_wait worker0 worker --dispatcher "$service" --transport tcp
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service") == "$LOCAL_HASH" ]]
  ! shares worker0
}

@test "a worker killed while its memory is read loses nothing" {
  start_cluster 2
  order_hash feedmill read "$DATA/large.yaml" --service "$service" > "$BATS_TEST_TMPDIR/hash" &
  reader=$!
  wait_for 20 "the reader to share" shares worker0
  kill -9 "${worker_pids[0]}"
  wait "$reader"
  [[ $(cat "$BATS_TEST_TMPDIR/hash") == "$LOCAL_HASH" ]]
}

@test "a killed reader returns its memory, and a killed worker leaves nothing behind" {
  start_cluster 1
  before=$(ls /dev/shm /tmp | sort)
  "$FEEDMILL" read "$DATA/endless.yaml" --service "$service" --format none 2> /dev/null 3>&- &
  reader=$!
  PIDS+=("$reader")
  wait_for 20 "the reader to share" shares worker0
  names=$(names_of "${worker_pids[0]}")
  [[ -n $names ]]
  kill -9 "$reader"
  wait_for 20 "the worker to notice" lends_no_more "${worker_pids[0]}"
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service") == "$LOCAL_HASH" ]]
  kill -9 "${worker_pids[0]}"
  wait_for 20 "the worker's end" gone "${worker_pids[0]}"
  ! grep -qF "$names" /proc/net/unix
  [[ -z $(comm -13 <(echo "$before") <(ls /dev/shm /tmp | sort) | grep -i feedmill) ]]
}

# ---- other ways

# A worker that advertises an address where no process listens.
start_out_of_reach() {
  start_and_wait dispatcher dispatcher --port 0
  service=$address dispatcher_pid=$pid
  start_and_wait worker0 worker --dispatcher "$service" --threads 1 --advertise 127.0.0.1:1
}
relay_waiting() {
  feedmill status --service "$service" --format json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["relay"]["waiting_bytes"])'
}
relays() { (($(relay_waiting) > 0)); }
reader_is_parked() { feedmill status --service "$service" | grep -q parked; }

@test "a reader that cannot reach the worker reads through the dispatcher" {
  start_out_of_reach
  expect 1 feedmill read "$DATA/large.yaml" --service "$service" --timeout 3s
  [[ $stderr == *"no data for"* ]]
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service" --via dispatcher) == "$LOCAL_HASH" ]]
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service" --via dispatcher --compression lz4) == "$LOCAL_HASH" ]]
}

@test "a relayed reader that stands still holds a bounded part of the dispatcher, and delays no other" {
  start_out_of_reach
  "$FEEDMILL" read "$DATA/endless.yaml" --service "$service" --via dispatcher --format none 2> /dev/null 3>&- &
  reader=$!
  PIDS+=("$reader")
  wait_for 20 "frames to be relayed" relays
  kill -STOP "$reader"
  wait_for 20 "the reader to be noticed" reader_is_parked
  (($(relay_waiting) < 12 << 20))
  [[ $(order_hash feedmill read "$DATA/large.yaml" --service "$service" --via dispatcher) == "$LOCAL_HASH" ]]
  kill -KILL "$reader"
}

@test "status says how elements come" {
  start_cluster 1
  "$FEEDMILL" read "$DATA/endless.yaml" --service "$service" --transport tcp --compression lz4 --format none 2> /dev/null 3>&- &
  PIDS+=("$!")
  says_packed() { feedmill status --service "$service" | grep -Eq 'tcp +lz4'; }
  wait_for 20 "the link's report" says_packed
}
