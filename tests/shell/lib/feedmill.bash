# Functions of every shell test: the command, data, pipelines, output of
# commands; and, from cluster.bash, processes that end with their test, and
# waiting for facts. Tests only; cluster.bash is for users, too.
#
# FEEDMILL is the command under test, FEEDMILL_REFERENCE the naive interpreter;
# ctest sets them.
bats_require_minimum_version 1.5.0
FEEDMILL=${FEEDMILL:-$BATS_TEST_DIRNAME/../../build/release/bin/feedmill}
FEEDMILL_REFERENCE=${FEEDMILL_REFERENCE:-${FEEDMILL}_reference}
SHELL_TESTS=$BATS_TEST_DIRNAME
RUN_DIR=${BATS_TEST_TMPDIR:-$BATS_RUN_TMPDIR}
source "$SHELL_TESTS/lib/cluster.bash"

# Call it from setup_file: FOLDER with data, and the pipelines of pipelines/.
make_data() {
  export DATA=$BATS_FILE_TMPDIR/data
  mkdir -p "$DATA"
  python3 "$SHELL_TESTS/lib/make_data.py" "$DATA"
  cp "$SHELL_TESTS"/pipelines/*.yaml "$DATA"
}

# pipeline NAME <<'YAML': writes $DATA/NAME.yaml and prints its path.
pipeline() { cat > "$DATA/$1.yaml" && echo "$DATA/$1.yaml"; }

# feedmill …: runs it, for at most 60 s.
feedmill() { timeout -k 5 60 "$FEEDMILL" "$@"; }

# expect STATUS feedmill …: runs it, keeps $output and $stderr, checks status.
expect() {
  local expected=$1
  shift
  run --separate-stderr "$@"
  if [[ $status -ne $expected ]]; then
    echo "exit $status instead of $expected: $*"
    echo "stdout: ${output:0:2000}"
    echo "stderr: ${stderr:0:2000}"
    return 1
  fi
}

# expect_error STATUS PATTERN… -- COMMAND: fails so, prints nothing on stdout,
# and one to five lines on stderr that hold every pattern (extended regexes).
expect_error() {
  local expected=$1 patterns=()
  shift
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  expect "$expected" "$@"
  [[ -z $output ]] || { echo "stdout is not empty: ${output:0:500}"; return 1; }
  error_says "${patterns[@]}"
}

# error_says PATTERN…: of $stderr after expect.
error_says() {
  local pattern lines
  lines=$(grep -c '' <<< "$stderr")
  if [[ -z $stderr ]] || ((lines > 5)); then
    echo "stderr has $lines lines: $stderr"
    return 1
  fi
  for pattern in "$@"; do
    grep -qiE -- "$pattern" <<< "$stderr" ||
      { echo "stderr does not say '$pattern': $stderr"; return 1; }
  done
}

# order_hash COMMAND…: the hash of a read's summary.
order_hash() { "$@" --format summary | field order_hash; }

# field NAME: of the JSON object on standard input.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
