# A step and a source from outside, in the command: YAML, locally, through a
# service, --explain and tokens. FEEDMILL_EXTENDED is the command with the
# kinds of tests/extension.
load lib/feedmill

setup() {
  FEEDMILL=$FEEDMILL_EXTENDED
  FILES=$BATS_TEST_TMPDIR
  cat > "$FILES/p.yaml" <<'Y'
source: {range: {stop: 500}}
steps:
  - shuffle
  - map: "cast(x, uint8)"
  - scale_bytes: 3
  - filter: "x % 7 != 0"
  - batch: 5
options: {seed: 4}
Y
}

teardown() {
  stop_all
}

@test "a step from outside makes the same locally and through a service, from a token on, too" {
  start_cluster 2
  expect 0 feedmill read "$FILES/p.yaml" --local
  echo "$output" > "$FILES/whole"
  # It means what the same arithmetic in a map means.
  sed 's/  - scale_bytes: 3/  - map: "cast(cast(x, int64) * 3 % 256, uint8)"/' "$FILES/p.yaml" > "$FILES/map.yaml"
  expect 0 feedmill read "$FILES/map.yaml" --local
  diff <(echo "$output") "$FILES/whole"
  for how in --local "--service $service"; do
    expect 0 feedmill read "$FILES/p.yaml" $how
    diff <(echo "$output") "$FILES/whole"
    expect 0 feedmill read "$FILES/p.yaml" $how --limit 23 --save-token "$FILES/token"
    echo "$output" > "$FILES/parts"
    expect 0 feedmill read "$FILES/p.yaml" --local --token "$FILES/token"
    echo "$output" >> "$FILES/parts"
    cmp "$FILES/whole" "$FILES/parts"
  done
}

@test "--explain shows it, and errors name it" {
  expect 0 feedmill read "$FILES/p.yaml" --explain
  [[ $output == *"worker  steps[2] scale_bytes: x by 3 -> uint8"* ]]
  [[ $output == *"steps[1] map + steps[2] scale_bytes + steps[3] filter in one pass"* ]]
  sed 's/scale_bytes: 3/scale_bytes: 300/' "$FILES/p.yaml" > "$FILES/bad.yaml"
  expect_error 2 'bad.yaml:5: steps.2. scale_bytes: factor must be 0 to 255' -- feedmill read "$FILES/bad.yaml" --local
  sed 's/scale_bytes: 3/scale_bytes: {faktor: 3}/' "$FILES/p.yaml" > "$FILES/bad.yaml"
  expect_error 2 'there is no "faktor".*factor' -- feedmill read "$FILES/bad.yaml" --local
}

@test "a token is refused by a pipeline with other options of the step" {
  expect 0 feedmill read "$FILES/p.yaml" --local --limit 23 --save-token "$FILES/token"
  sed 's/scale_bytes: 3/scale_bytes: 4/' "$FILES/p.yaml" > "$FILES/other.yaml"
  expect_error 2 "its steps.2. is not this one's scale_bytes" -- feedmill read "$FILES/other.yaml" --local --token "$FILES/token"
}

# Writes records of the lengths 0, 1, …, 149, again and again, to files of 400.
write_sized() {
  python3 - "$FILES" <<'P'
import gzip, sys
for f in range(3):
    data = b"SIZE" + b"".join(bytes([n % 150]) + bytes([65 + n % 26]) * (n % 150) for n in range(f, f + 400))
    open(f"{sys.argv[1]}/{f}.sized", "wb").write(data)
    gzip.open(f"{sys.argv[1]}/{f}.sized.gz", "wb").write(data)
P
}

@test "a source from outside is read in order, shuffled, compressed, through a service and from a token on" {
  write_sized
  start_cluster 2
  for steps in '[batch: 7]' '[shuffle, batch: 7]' '[map: {n: "length(data)"}, batch: 7]'; do
    echo "{source: {sized: {files: '*.sized', magic: SIZE}}, steps: $steps, options: {seed: 4}}" > "$FILES/s.yaml"
    expect 0 feedmill read "$FILES/s.yaml" --local
    echo "$output" > "$FILES/whole"
    [ "$(wc -l < "$FILES/whole")" = 172 ]
    expect 0 feedmill read "$FILES/s.yaml" --service $service
    diff <(echo "$output") "$FILES/whole"
    expect 0 feedmill read "$FILES/s.yaml" --service $service --limit 23 --save-token "$FILES/token"
    echo "$output" > "$FILES/parts"
    expect 0 feedmill read "$FILES/s.yaml" --local --token "$FILES/token"
    echo "$output" >> "$FILES/parts"
    cmp "$FILES/whole" "$FILES/parts"
  done
  # Compressed, its files are read in order.
  for files in '*.sized' '*.sized.gz'; do
    echo "{source: {sized: {files: '$files', magic: SIZE}}, steps: [batch: 7]}" > "$FILES/s.yaml"
    expect 0 feedmill read "$FILES/s.yaml" --local
    echo "$output" > "$FILES/${files#*.sized}.out"
  done
  cmp "$FILES/.out" "$FILES/.gz.out"
}

@test "a source from outside has an explanation and errors with file and record" {
  write_sized
  echo "source: {sized: {files: 0.sized, magic: SIZE}}" > "$FILES/s.yaml"
  expect 0 feedmill read "$FILES/s.yaml" --explain
  [[ $output == *"source  sized("*"0.sized) -> {data: bytes}"* ]]
  sed 's/magic/magik/' "$FILES/s.yaml" > "$FILES/bad.yaml"
  expect_error 2 'there is no "magik".*magic' -- feedmill read "$FILES/bad.yaml" --local
  truncate -s -1 "$FILES/0.sized"
  expect_error 1 '0.sized: record 399 at offset [0-9]+: it is cut short' -- feedmill read "$FILES/s.yaml" --local
}

@test "a token is refused by a pipeline with other options of the source" {
  write_sized
  echo "source: {sized: {files: 0.sized, magic: SIZE}}" > "$FILES/s.yaml"
  expect 0 feedmill read "$FILES/s.yaml" --local --limit 23 --save-token "$FILES/token"
  sed 's/SIZE/SIZ/' "$FILES/s.yaml" > "$FILES/other.yaml"
  expect_error 2 "its source differs" -- feedmill read "$FILES/other.yaml" --local --token "$FILES/token"
}

@test "feedmill index indexes a source from outside, by --as and by the ends of its files' names" {
  export FEEDMILL_INDEXES=$FILES/indexes
  python3 - "$FILES" <<'P'
import sys
data = b"".join(bytes([n % 250]) + b"r" * (n % 250) for n in range(20_000))
for name in ("plain.sized", "plain.bin"):
    open(f"{sys.argv[1]}/{name}", "wb").write(data)
P
  expect 0 feedmill index --help
  [[ $output == *".tar, .sized"* ]]
  expect_error 2 "--as" "sized" -- feedmill index "$FILES/plain.bin" --as fixed_length
  expect_error 2 "plain.bin: the name does not tell the format" -- feedmill index "$FILES/plain.bin"
  expect 0 feedmill index "$FILES/plain.bin" --as sized
  [[ $output == "1 file of 20000 records, "*": 1 indexed, 0 already there"* ]]
  expect 0 feedmill index "$FILES/plain.sized"
  [[ $output == "1 file of 20000 records, "*": 1 indexed, 0 already there"* ]]
  # A read uses it: no other one is made.
  echo "{source: {sized: {files: plain.sized}}, steps: [shuffle, take: 2], options: {seed: 4}}" > "$FILES/s.yaml"
  expect 0 feedmill read "$FILES/s.yaml" --local
  [ "$(find "$FEEDMILL_INDEXES" -name '*.index' | wc -l)" = 2 ]
  expect 0 feedmill index "$FILES/s.yaml"
  [[ $output == "1 file of 20000 records, "*": 0 indexed, 1 already there"* ]]
  # The product does not know it.
  FEEDMILL=${FEEDMILL_EXTENDED%/tests/*}/bin/feedmill
  expect_error 2 "--as" -- feedmill index "$FILES/plain.bin" --as sized
}
