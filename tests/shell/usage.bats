# Help, usage errors and their exit statuses; nothing runs.
load lib/feedmill

setup_file() { make_data; }

@test "help of every command exits 0 and has examples" {
  expect 0 feedmill --help
  for command in up dispatcher worker read status; do
    [[ $output == *"  $command "* ]]
  done
  for command in up dispatcher worker read status; do
    expect 0 feedmill "$command" --help
    [[ $output == *"Examples:"*"feedmill $command"* ]]
    [[ $output == *"--"* ]]
    [[ -z $stderr ]]
  done
  expect 0 feedmill --version
  [[ $output =~ ^feedmill\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "no command and unknown commands exit 2" {
  expect_error 2 "command is missing" "--help" -- feedmill
  expect_error 2 'unknown command "raed"; did you mean "read"' -- feedmill raed
  expect_error 2 'unknown command "zzzzzz"' -- feedmill zzzzzz
  expect_error 2 "unknown command" -- feedmill --bogus
}

@test "unknown flags exit 2 and name the nearest" {
  expect_error 2 'unknown flag "--servce"; did you mean "--service"' \
    -- feedmill read x.yaml --servce localhost:1
  expect_error 2 'unknown flag "--rank"' -- feedmill read x.yaml --local --rank 0
  for command in up dispatcher worker status; do
    expect_error 2 'unknown flag "--bogus"' "feedmill $command --help" -- feedmill "$command" --bogus
  done
}

@test "wrong values exit 2 and name the flag" {
  expect_error 2 "--limit" "'-3'|-3" -- feedmill read x.yaml --local --limit=-3
  expect_error 2 "--timeout" "'20'" "20s" -- feedmill read x.yaml --local --timeout 20
  expect_error 2 "--format" "jsonl" -- feedmill read x.yaml --local --format csv
  expect_error 2 "--threads" -- feedmill read x.yaml --local --threads 0
  expect_error 2 "--port" "65535" -- feedmill dispatcher --port 70000
  expect_error 2 "--memory" "MiB" -- feedmill worker --dispatcher h:1 --memory 1GB
  expect_error 2 "--workers" -- feedmill up --workers none
  expect_error 2 "--log-format" -- feedmill dispatcher --log-format xml
}

@test "missing and contradictory flags exit 2" {
  expect_error 2 "PIPELINE" -- feedmill read
  expect_error 2 "--service .* or --local" -- feedmill read "$DATA/design.yaml"
  expect_error 2 "exclude" -- feedmill read "$DATA/design.yaml" --local --service h:1
  expect_error 2 "--job needs --service" -- feedmill read "$DATA/design.yaml" --local --job j
  expect_error 2 "--take-over needs" -- feedmill read "$DATA/design.yaml" --local --take-over
  expect_error 2 "--threads is for --local" -- feedmill read "$DATA/design.yaml" --service h:1 --threads 2
  expect_error 2 'unexpected argument "b.yaml"' -- feedmill read a.yaml b.yaml --local
  expect_error 2 "--dispatcher" -- feedmill worker
  expect_error 2 "--service" -- feedmill status
}

@test "malformed addresses exit 2" {
  for bad in localhost tcp://h tcp://:5050 http://h:1 h:0 h:99999 tcp://h:x '[::1:5'; do
    expect_error 2 "address" -- feedmill read "$DATA/design.yaml" --service "$bad"
    expect_error 2 "address" -- feedmill status --service "$bad"
    expect 2 feedmill worker --dispatcher "$bad"
  done
}

@test "ready files that cannot be exit 2" {
  expect_error 2 "ready-file" "no folder" -- feedmill dispatcher --ready-file /no/such/folder/f
  expect_error 2 "ready-file" "is a folder" -- feedmill dispatcher --ready-file "$BATS_TEST_TMPDIR"
  expect_error 2 "ready-file" -- feedmill worker --dispatcher h:1 --ready-file /no/such/folder/f
}

@test "functions lists the functions of expressions, and explains those that are named" {
  expect 0 feedmill functions
  [[ $output == *"image.resize(x, h, w, 'bilinear')"*"as OpenCV"* ]]
  [[ $(grep -c 'strip(s)' <<< "$output") == 1 ]]
  expect 0 feedmill functions image.resize length
  [[ $output == "image.resize(x, h, w, 'bilinear'), (x, h, w, 'bilinear', 'antialias')
  as OpenCV: "*"
length(s)
  of bytes"* ]]
  expect_error 2 'no function "image.resice"; did you mean "image.resize"' -- feedmill functions image.resice
  expect_error 2 'no function "reduce_mean"; write `mean' -- feedmill functions reduce_mean
  expect 0 feedmill functions --json
  python3 -c 'import json, sys; assert {"names", "written", "notes"} == set(json.load(sys.stdin)[0])' <<< "$output"
}

@test "steps lists sources and steps, and the options of those that are named" {
  expect 0 feedmill steps
  [[ $output == *"Sources"*"  csv "*"  mixture "*"Steps"*"  cache "*"  resize "* ]]
  expect 0 feedmill steps csv padded_batch resize
  [[ $output == *"csv: Reads records"*"files"*"required"*"delimiter"*"missing"* ]]
  [[ $output == *"padded_batch: "*"shapes"*"values"*"resize: "*"bilinear or nearest"* ]]
  expect_error 2 'no source or step "resise"; did you mean "resize"' -- feedmill steps resise
  expect_error 2 'no source or step "prefetch"; feedmill reads ahead by itself' -- feedmill steps prefetch
}

@test "steps shows each option's default, in lines of at most 80 columns" {
  expect 0 feedmill steps resize window
  [[ $output == 'resize: Resizes uint8 images [h, w, c] to [height, width, c], or by the length
  of one side.
  component  component; default: image
             The component that holds the image.
  height     integer; default: none
             Rows of pixels; with a width, and without shorter and longer.
  width      integer; default: none
             Columns of pixels.
  shorter    integer; default: none
             Pixels of the shorter side; the other one keeps the ratio.
  longer     integer; default: none
             Pixels of the longer side; the other one keeps the ratio.
  method     bilinear or nearest; default: bilinear
             How pixels are interpolated.
  antialias  true or false; default: false
             Weighs all pixels that a smaller pixel covers; bilinear only.
  e.g. resize: {height: 224, width: 224}

window: Stacks the elements w * shift + k * stride, k < size, for w = 0, 1, …
'*'  shift           integer; default: the size
'* ]]
  expect 0 feedmill steps csv shuffle cache padded_batch jsonl
  for line in 'delimiter        text; default: ","' 'missing          texts; default: [""]' \
    'header           true or false; default: true' 'encoding         utf-8 or latin-1 or utf-16; default: utf-8' \
    'zstd_window_log  integer; default: 27' 'fields           types by name; default: inferred from the first records' \
    "seed    integer; default: the pipeline's" 'window  integer; default: all elements; 8 blocks' \
    'memory_bytes  integer; default: 1 GiB' 'shapes          by component; default: the longest'; do
    [[ $'\n'$output$'\n' == *$'\n'"  $line"$'\n'* ]] || { echo "there is no line '$line' in: $output"; return 1; }
  done
  # Every source and step: the words of the list that stand at the beginning of a line.
  names=$("$FEEDMILL" steps | sed -n 's/^  \([a-z_][a-z_, ]*\)  .*/\1/p; s/^  \([a-z_][a-z_, ]*\)$/\1/p' | tr -d ',')
  [[ $names == *csv*padded_batch*zip* || $names == *csv*zip*padded_batch* ]]
  for output in "$("$FEEDMILL" steps)" "$("$FEEDMILL" steps $names)"; do
    python3 -c 'import sys
for line in sys.argv[1].splitlines():
    assert len(line) <= 80, line' "$output"
  done
}
