# Started by advertise.bats as the only process of a network and a mount name
# space: the dispatcher's name is made known late, and its address changes.
set -euo pipefail
source "$(dirname "$0")/cluster.bash"
trap stop_all EXIT

name_is() { # ADDRESS of broker.test; none: the name does not resolve
  printf '127.0.0.1 localhost\n%s\n' "${1:+$1 broker.test}" > "$RUN_DIR/hosts"
}
start_dispatcher() { # NAME ADDRESS
  ip address add "$2/32" dev lo
  start_and_wait "$1" dispatcher --host "$2" --port 5050 --insecure-bind --work-dir "$RUN_DIR/work"
  name_is "$2"
}
worker_is_at() {
  "$FEEDMILL" status --service "$1:5050" --format json |
    python3 -c 'import json, sys
workers = [w["address"] for w in json.load(sys.stdin)["workers"]]
sys.exit(not (len(workers) == 1 and workers[0].startswith("tcp://%s:" % sys.argv[1])))' "$1"
}
reads_right() {
  cmp <("$FEEDMILL" read "$RUN_DIR/range.yaml" --service "$1:5050") \
    <("$FEEDMILL" read "$RUN_DIR/range.yaml" --local)
}

ip link set lo up
name_is ''
: > "$RUN_DIR/resolv.conf"
mount --bind "$RUN_DIR/hosts" /etc/hosts
mount --bind "$RUN_DIR/resolv.conf" /etc/resolv.conf
printf 'source: {range: {stop: 1000}}\nsteps: [shuffle]\noptions: {seed: 1}\n' > "$RUN_DIR/range.yaml"

start w worker --dispatcher broker.test:5050 --host 0.0.0.0 --insecure-bind --threads 1
worker=$pid
wait_for 20 "a worker that waits" grep -q 'waiting for the dispatcher at tcp://broker.test:5050' "$RUN_DIR/w.log"
start_dispatcher d1 10.77.0.1
wait_for 20 "the worker to register" ready_or_dead w "$worker"
[[ $(cat "$RUN_DIR/w.ready") == tcp://10.77.0.1:* ]]
worker_is_at 10.77.0.1
reads_right 10.77.0.1

# The name still has an address that answers nothing, not even no.
ip link add silent type veth peer name nowhere
ip address add 10.77.1.1/24 dev silent
ip link set silent up
ip link set nowhere up
ip neighbour add 10.77.1.9 lladdr 02:00:00:00:00:09 dev silent
name_is 10.77.1.9
stop "$pid"
ip address del 10.77.0.1/32 dev lo
attempts_hang() { ss -tn state syn-sent dst 10.77.1.9 | grep -q 10.77.1.9; }
wait_for 20 "an attempt to connect that hangs" attempts_hang
start_dispatcher d2 10.77.0.2
wait_for 20 "the worker to register with another address" worker_is_at 10.77.0.2
reads_right 10.77.0.2
stop "$worker"
[[ $ended == 0 ]]
