# Wrong pipelines and broken data: the same clear errors locally and through a
# service, and a good read after each.
load lib/feedmill

setup_file() {
  make_data
}
setup() { start_cluster 2; }
teardown() { stop_all; }

# refused PATTERN… -- FILE: exit 2 in both modes, with these words.
refused() {
  local patterns=() mode
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  for mode in --local "--service $service"; do
    # shellcheck disable=SC2086
    expect_error 2 "${patterns[@]}" -- feedmill read "$1" $mode
  done
}

# fails PATTERN… -- FILE: exit 1 in both modes, with these words and the same
# bytes on stdout; then a good read.
fails() {
  local patterns=() mode
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  for mode in --local "--service $service"; do
    # shellcheck disable=SC2086
    timeout 30 "$FEEDMILL" read "$1" $mode \
      > "$BATS_TEST_TMPDIR/${mode%% *}.out" 2> "$BATS_TEST_TMPDIR/err" && status=0 || status=$?
    stderr=$(cat "$BATS_TEST_TMPDIR/err")
    [[ $status == 1 ]] || { echo "$mode: exit $status: $stderr"; return 1; }
    error_says "${patterns[@]}"
  done
  cmp "$BATS_TEST_TMPDIR/--local.out" "$BATS_TEST_TMPDIR/--service.out"
  good_read
}

good_read() {
  local name
  for name in photos records; do
    [[ $(order_hash feedmill read "$DATA/$name.yaml" --service "$service") == \
      $(order_hash feedmill read "$DATA/$name.yaml" --local) ]]
  done
}

@test "a pipeline that is not there, a folder, not YAML" {
  refused "no such file" -- "$DATA/none.yaml"
  refused "folder" -- "$DATA"
  refused "torn.yaml:[12]:[0-9]*: " -- "$(pipeline torn <<< 'source: {range: ')"
  refused "source" -- "$(pipeline empty <<< '{}')"
  head -c 100000 /dev/urandom > "$DATA/random.yaml"
  refused "random.yaml" -- "$DATA/random.yaml"
}

@test "unknown keys and steps name the nearest" {
  refused 'stpo' 'did you mean "stop"' 'key.yaml:1:18: ' -- "$(pipeline key <<< 'source: {range: {stpo: 3}}')"
  refused 'fliter' 'did you mean "filter"' 'step.yaml:2:10: steps\[0\]: ' -- \
    "$(pipeline step <<< 'source: {range: {stop: 3}}
steps: [{fliter: "x > 1"}]')"
  refused 'sedd' 'seed' -- "$(pipeline option <<< 'source: {range: {stop: 3}}
options: {sedd: 3}')"
}

@test "files that expressions name" {
  printf 'a\nb\na\n' > "$DATA/twice.txt"
  refused 'none.txt' -- "$(pipeline vocabulary <<< 'source: {range: {stop: 3}}
steps: [{map: "vocabulary(to_string(x), '"'none.txt'"')"}]')"
  refused 'twice.txt' 'line 3 is line 1 again' -- "$(pipeline twice <<< 'source: {range: {stop: 3}}
steps: [{map: "vocabulary(to_string(x), '"'twice.txt'"', 0)"}]')"
  refused 'twice.txt' 'SentencePiece model' -- "$(pipeline pieces <<< 'source: {range: {stop: 3}}
steps: [{map: "sentencepiece(to_string(x), '"'twice.txt'"')"}]')"
  refused 'steps\[1\]' 'before' -- "$(pipeline late <<< 'source: {range: {stop: 3}}
steps: [{filter: "x > 0"}, {batch: 2}, {map: "vocabulary(to_string(x), '"'twice.txt'"', 0)"}]')"
  good_read
}

@test "unknown functions and names in expressions" {
  refused 'minimun' 'minimum' 'steps\[0\]' -- \
    "$(pipeline function <<< 'source: {range: {stop: 3}}
steps: [{map: "minimun(x, 1)"}]')"
  refused 'steps\[0\]' 'y' -- "$(pipeline name <<< 'source: {range: {stop: 3}}
steps: [{filter: "y > 1"}]')"
  refused 'steps\[0\]' -- "$(pipeline syntax <<< 'source: {range: {stop: 3}}
steps: [{map: "x +* 2"}]')"
}

@test "types and shapes that do not fit are found before anything runs" {
  refused 'steps\[0\]' 'bool' -- "$(pipeline filter <<< 'source: {range: {stop: 3}}
steps: [{filter: "x + 1"}]')"
  refused 'steps\[0\]' 'decode_image' -- "$(pipeline image <<< 'source: {range: {stop: 3}}
steps: [{decode_image: {}}]')"
  refused 'steps\[1\]' 'shuffle' -- "$(pipeline endless_shuffle <<< 'source: {range: {stop: 3}}
steps: [repeat, shuffle]')"
}

@test "globs that match nothing" {
  refused "none-\*.jpg" -- "$(pipeline glob <<< 'source: {images: {files: "none-*.jpg"}}')"
  refused "none.tfrecord" -- "$(pipeline file <<< 'source: {tfrecord: {files: "none.tfrecord"}}')"
}

@test "a corrupt TFRecord names file, record and offset" {
  fails "corrupt.tfrecord" "record 123" "offset" -- \
    "$(pipeline corrupt <<< 'source: {tfrecord: {files: "corrupt.tfrecord"}}
options: {seed: 1}')"
  [[ $(wc -l < "$BATS_TEST_TMPDIR/--local.out") == 123 ]]
}

@test "a TFRecord that ends too early names file and record" {
  fails "cut.tfrecord" "record 123|offset" -- \
    "$(pipeline cut <<< 'source: {tfrecord: {files: "cut.tfrecord"}}
options: {seed: 1}')"
}

@test "a corrupt JPEG names the file; what is before it is delivered" {
  fails "005.jpg" -- "$(pipeline broken <<< 'source: {images: {files: "broken/*/*.jpg"}}
steps:
  - decode_image: {component: image}
  - map: {label: "label", sum: "sum(image)"}
options: {seed: 1}')"
}

@test "integer division by zero is an error of the data" {
  fails "zero" -- "$(pipeline zero <<< 'source: {range: {stop: 100}}
steps: [{map: "100 // (x - 50)"}]
options: {seed: 1}')"
  [[ $(wc -l < "$BATS_TEST_TMPDIR/--service.out") == 50 ]]
}

@test "random bytes to every port harm no process" {
  local target
  for target in "$service" $(cat "$BATS_TEST_TMPDIR"/worker*.ready); do
    python3 "$SHELL_TESTS/lib/send_noise.py" "$target"
  done
  kill -0 "$dispatcher_pid" "${worker_pids[@]}"
  workers_are 2
  good_read
}

@test "with on_error: skip what is bad is left out, counted and named, once" {
  local mode name
  for name in corrupt cut; do
    pipeline "skip_$name" <<< "source: {tfrecord: {files: $name.tfrecord}}
steps: [{on_error: {policy: skip, cap: 1, quarantine: bad_$name.jsonl}}]
options: {seed: 1}" > /dev/null
    for mode in --local "--service $service" "--service $service"; do
      # shellcheck disable=SC2086
      timeout 30 "$FEEDMILL" read "$DATA/skip_$name.yaml" $mode \
        > "$BATS_TEST_TMPDIR/$name${mode%% *}.out" 2> "$BATS_TEST_TMPDIR/err"
      grep "1 element could not be made and was left out; named in .*bad_$name.jsonl" \
        "$BATS_TEST_TMPDIR/err"
    done
    cmp "$BATS_TEST_TMPDIR/$name--local.out" "$BATS_TEST_TMPDIR/$name--service.out"
    [[ $(wc -l < "$DATA/bad_$name.jsonl") == 1 ]]
    grep '"records":\[{"file":".*/'"$name"'.tfrecord","record":[0-9]*,"epoch":0}\],"error":"' \
      "$DATA/bad_$name.jsonl"
  done
  grep '"record":123,' "$DATA/bad_corrupt.jsonl"
  timeout 30 "$FEEDMILL" read "$DATA/skip_corrupt.yaml" --local --format summary | grep '"skipped":1}'
  "$FEEDMILL" read "$DATA/skip_corrupt.yaml" --explain | grep 'steps\[0\] on_error: skip, at most 1'
}

@test "on_error fails beyond its cap, and names the last" {
  fails "2 elements could not be made" "cap of 1" "record 7 of the range" "zero" -- \
    "$(pipeline capped <<< 'source: {range: {stop: 100}}
steps: [{map: "100 // (x % 4 - 3)"}, {on_error: {policy: skip, cap: 1}}]
options: {seed: 1}')"
}

@test "an error of a step names the file and the line of the step" {
  refused 'unknown.yaml:4: steps\[1\] map: there is no component "lable"' -- "$(pipeline unknown <<'YAML'
source: {range: 3}
steps:
  - map: {label: x}
  - map: {y: lable + 1}
YAML
)"
  refused 'inside.yaml:6: zip inputs\[1\]: steps\[0\] map: .*there is no function "nothing"' -- "$(pipeline inside <<'YAML'
source:
  zip:
    - source: {range: 3}
    - source: {range: 3}
      steps:
        - map: nothing(x)
YAML
)"
  expect_error 2 'inside.yaml:6: ' -- feedmill read "$DATA/inside.yaml" --explain
  expect_error 2 'inside.yaml:6: ' -- feedmill index "$DATA/inside.yaml"
  expect_error 2 'standard input:2: steps\[0\] filter' -- \
    feedmill read - --local <<< $'source: {range: 3}\nsteps: [{filter: x}]'
}

@test "names of other libraries are answered" {
  refused 'no step "prefetch"; feedmill reads ahead by itself' -- \
    "$(pipeline prefetch <<< 'source: {range: 3}
steps: [{prefetch: 2}]')"
  refused 'no "num_workers"; all threads are used' 'worker --threads N' -- \
    "$(pipeline workers <<< 'source: {range: 3}
options: {num_workers: 2}')"
  expect_error 2 'unknown flag "--prefetch-factor"; feedmill reads ahead by itself' -- \
    feedmill read "$DATA/prefetch.yaml" --local --prefetch-factor 2
}

@test "files that a worker does not find: which worker, and what to do" {
  expect_error 2 'worker [^ ]*:[0-9]*: /nowhere/\*.txt: no such file' 'same absolute path' -- \
    feedmill read "$(pipeline nowhere <<< 'source: {text: "/nowhere/*.txt"}')" --service "$service"
}
