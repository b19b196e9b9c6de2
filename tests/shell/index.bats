# feedmill index: indexes that reads find ready.
load lib/feedmill

setup_file() {
  make_data
  mkdir "$DATA/large"
  seq 400000 > "$DATA/large/a.txt"         # 2.7 MB each
  seq 400001 800000 > "$DATA/large/b.txt"
  printf 'one\ntwo\n' > "$DATA/large/small.txt"
  python3 - "$DATA/large" <<'PY'
import struct, sys, zlib
# A TFRecord's lengths only are read here; its checksums must be right.
table = []
for k in range(256):
    c = k
    for _ in range(8):
        c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
    table.append(c)
def crc(data):
    c = 0xFFFFFFFF
    for b in data:
        c = table[(c ^ b) & 255] ^ (c >> 8)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF
data = b"x" * 1000
length = struct.pack("<Q", len(data))
record = length + struct.pack("<I", crc(length)) + data + struct.pack("<I", crc(data))
with open(sys.argv[1] + "/r.tfrecord", "wb") as out:
    out.write(record * 2000)
PY
}
setup() {
  unset "${!FEEDMILL_@}"
  export FEEDMILL_INDEXES=$BATS_TEST_TMPDIR/indexes
}

kept() { find "$FEEDMILL_INDEXES" -name '*.index' 2> /dev/null | wc -l; }

@test "files are indexed once, several at a time" {
  expect 0 feedmill index "$DATA/large/*.t*" --threads 2
  [[ $output == "4 files of 802002 records, "*": 3 indexed, 0 already there, 1 too small"* ]]
  [[ $output == *"$FEEDMILL_INDEXES: "*" of indexes of them" && -z $stderr ]]
  [[ $(kept) == 3 ]]
  expect 0 feedmill index "$DATA/large" --format json
  [[ $(field there <<< "$output") == 3 && $(field indexed <<< "$output") == 0 ]]
  [[ $(field records <<< "$output") == 802002 && $(field small <<< "$output") == 1 ]]
  [[ $(kept) == 3 ]]
  echo more >> "$DATA/large/a.txt"
  expect 0 feedmill index "$DATA/large/a.txt"
  [[ $output == "1 file of 400001 records, "*": 1 indexed, 0 already there"* ]]
}

@test "a pipeline's files are indexed as its read needs them" {
  local file
  file=$(pipeline shuffled <<'YAML'
source: {text: large/b.txt}
steps: [shuffle, take: 3]
options: {seed: 1}
YAML
)
  expect 0 feedmill index "$file"
  [[ $output == "1 file of 400000 records, "*": 1 indexed"* && $(kept) == 1 ]]
  expect 0 feedmill read "$file" --local
  [[ $(kept) == 1 ]]  # it was found: a read keeps what it lacks
  local index time
  index=$(find "$FEEDMILL_INDEXES" -name '*.index')
  # One that a read believes: without it the same elements come.
  rm "$index"
  cmp <(feedmill read "$file" --local) <(echo "$output")
  # In order nothing is looked up.
  sed -i 's/shuffle, //' "$file"
  expect 0 feedmill index "$file"
  [[ $output == "0 files of 0 records"* ]]
}

@test "a bad file is named, and the other files are indexed" {
  printf 'not a record file, but long enough' > "$DATA/bad.tfrecord"
  expect 1 feedmill index "$DATA/bad.tfrecord" "$DATA/large/b.txt"
  [[ $output == "1 file of 400000 records"* && $(kept) == 1 ]]
  error_says "bad.tfrecord"
  expect 2 feedmill index "$DATA/none.txt" "$DATA/large/b.txt"
  [[ $output == *"1 already there"* ]]
  error_says "none.txt: no such file"
  expect_error 2 "b.bin: the name does not tell the format; give --as FORMAT" -- \
    feedmill index "$(touch "$DATA/b.bin" && echo "$DATA/b.bin")"
  expect_error 2 "b.txt.gz: a compressed file" -- \
    feedmill index "$(touch "$DATA/b.txt.gz" && echo "$DATA/b.txt.gz")" --as text
  expect_error 2 "there is no such file" -- feedmill index "$DATA/none.yaml"
  expect_error 2 "are missing" "--help" -- feedmill index
  FEEDMILL_INDEXES='' expect_error 2 "set FEEDMILL_INDEXES" -- feedmill index "$DATA/large/b.txt"
  FEEDMILL_INDEXES=/proc/none expect_error 1 "b.txt: cannot keep its index in '/proc/none'" -- \
    feedmill index "$DATA/large/b.txt"
}

@test "the command has help, a manual page and completion" {
  expect 0 feedmill index --help
  [[ $output == *"by-name: from"*".csv, .tsv, .jsonl, .ndjson, .txt, .tfrecord, .tfrecords, .tar"* ]]
  [[ $output == *"Examples:"*"feedmill index train.yaml"* ]]
  expect 0 feedmill --help
  [[ $output == *"  index "* ]]
  expect 0 feedmill man index
  [[ $output == *"FEEDMILL_INDEXES"* ]]
  expect 0 feedmill completion bash
  [[ $output == *index* && $output == *webdataset* ]]
}
