# The address that a worker advertises, in a network and a name space of its own.
bats_require_minimum_version 1.5.0

setup() { load lib/feedmill.bash; }
teardown() { stop_all; }

@test "a worker finds its address when the dispatcher's name resolves, and follows a change" {
  unshare --map-root-user --net --mount true || skip "no network namespace can be made here"
  unshare --map-root-user --net --mount bash "$BATS_TEST_DIRNAME/lib/late_name.bash"
}

@test "a bare address is advertised with the port that was bound" {
  start_and_wait d dispatcher --port 0
  start_and_wait w worker --dispatcher "$address" --advertise 127.0.0.2
  [[ $address =~ ^tcp://127\.0\.0\.2:[0-9]+$ ]]
  start_and_wait v worker --dispatcher "$(cat "$RUN_DIR/d.ready")" --advertise ::1
  [[ $address =~ ^tcp://\[::1\]:[0-9]+$ ]]
}
