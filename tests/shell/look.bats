# feedmill head, schema and count: a look at pipelines and at data files.
load lib/feedmill

setup_file() {
  make_data
  cd "$DATA" || return
  printf 'rooms,area\n3,70.5\n1,24\n4,112\n' > houses.csv
  tr , ';' < houses.csv > semicolons.csv
  tr , '\t' < houses.csv > tabs.tsv
  printf '{"a": 1, "b": "x\\ty\\u001b"}\n' > object.json
  gzip -k houses.csv
  tar cf members.tar -C photos/0 000.jpg 003.jpg
  for name in good.tfrecord members.tar houses.csv.gz lines.txt object.json photos/0/000.jpg; do
    cp "$name" "nameless-$(tr -c 'a-z\n' _ <<< "${name##*/}")"
  done
  pipeline evens <<< '{source: {range: 10}, steps: [filter: "x % 2 == 0"]}' > /dev/null
}
setup() { cd "$DATA" || return; }

@test "head shows elements as a table, and as JSON lines in a pipe" {
  expect 0 feedmill head houses.csv -n 2 --table
  [[ $output == "rooms  area
-----  ----
    3  70.5
    1  24.0" ]]
  expect 0 feedmill head houses.csv --elements 1
  [[ $output == '{"rooms":3,"area":70.5}' ]]
  run script -qec "\"$FEEDMILL\" head houses.csv -n 1" /dev/null
  [[ $status == 0 && $output == *"rooms  area"*"-----"*"    3  70.5"* ]]
  run script -qec "\"$FEEDMILL\" head houses.csv -n 1 --json" /dev/null
  [[ $output == '{"rooms":3,"area":70.5}'* ]]
  expect 0 feedmill head evens.yaml -n 9
  [[ $output == $'0\n2\n4\n6\n8' ]]
  expect 0 feedmill head - < evens.yaml
  [[ $output == $'0\n2\n4\n6\n8' ]]
  expect 0 feedmill head evens.yaml -n 0 --table
  [[ $output == "no elements" ]]
}

@test "a table shortens values, and blocks stand for lines that are too long" {
  expect 0 feedmill head object.json --table
  [[ $output == *'x\ty\x1b'* && $output != *$'\x1b'* ]]
  pipeline wide <<< '{source: {range: 1}, steps: [map: {image: "full([9, 8], x)", few: "full([3], x)"}]}' > /dev/null
  expect 0 feedmill head wide.yaml --table
  [[ $output == *"int64[9, 8]  [0, 0, 0]" ]]
  run script -qec "stty cols 20; \"$FEEDMILL\" head wide.yaml" /dev/null
  [[ ${output//$'\r'/} == *"image  int64[9, 8]
few    [0, 0, 0]"* ]]
}

@test "images are pictures on terminals that draw them" {
  unset TMUX STY KITTY_WINDOW_ID TERM_PROGRAM LC_TERMINAL
  expect 0 feedmill head photos/0/000.jpg -n 1 --table --pictures always
  [[ $output == *$'\e]1337;File=inline=1;size='* ]]
  expect 0 env KITTY_WINDOW_ID=1 "$FEEDMILL" head photos/0/000.jpg -n 1 --table
  [[ $output != *$'\e'* ]]
  run script -qec "KITTY_WINDOW_ID=1 \"$FEEDMILL\" head photos/0/000.jpg -n 1" /dev/null
  [[ $output == *$'\e_Ga=T,f=100,'* && $output == *"JPEG"* ]]
  run script -qec "KITTY_WINDOW_ID=1 \"$FEEDMILL\" head photos/0/000.jpg -n 1 --pictures never" /dev/null
  [[ $status == 0 && $output == *"JPEG"* && $output != *$'\e'* ]]
}

@test "the elements before a damaged record are shown" {
  expect 1 feedmill head corrupt.tfrecord -n 200
  [[ $(grep -c record <<< "$output") == 123 && $stderr == *"corrupt.tfrecord"* ]]
  expect 1 feedmill head corrupt.tfrecord -n 200 --table
  [[ $(grep -c record <<< "$output") == 123 ]]
}

@test "names say the source of data files" {
  for name in houses.csv.gz semicolons.csv tabs.tsv HOUSES.CSV; do
    [[ -e $name ]] || cp houses.csv "$name"
    expect 0 feedmill head "$name" -n 1
    [[ $output == '{"rooms":3,"area":70.5}' ]] || { echo "$name: $output"; return 1; }
  done
  expect 0 feedmill schema semicolons.csv --table
  [[ $output == 'source: {csv: {files: semicolons.csv, delimiter: ";"}}'*"rooms  int64"* ]]
  expect 0 feedmill head photos --table
  [[ $output == *"JPEG 40x30, 851 bytes"*"…"* ]]
  expect 0 feedmill count 'photos/*/*.jpg'
  [[ $output == 24 ]]
  expect 0 feedmill head members.tar
  [[ $output == '{"__key__":"000","jpg":'* ]]
}

@test "first bytes say the source where names do not" {
  local name value
  for name in good_tfrecord:'record 0' lines_txt:'line 0' houses_csv_gz:'rooms,area' \
      members_tar:'{"__key__":"000"' object_json:'{"a":1' ____jpg:'{"image":'; do
    value=${name#*:}
    name=nameless-${name%%:*}
    expect 0 feedmill head "$name" -n 1
    [[ $output == *"$value"* ]] || { echo "$name: $output"; return 1; }
  done
  expect 0 feedmill head nameless-houses_csv_gz --as csv -n 1
  [[ $output == '{"rooms":3,"area":70.5}' ]]
  printf '\x01\x02' > noise
  : > nothing
  for name in noise nothing; do
    expect_error 2 "$name: neither its name nor its first bytes" "--as" -- feedmill head "$name"
  done
  mkdir -p mixed
  cp houses.csv lines.txt mixed
  expect_error 2 "mixed: it has files of several kinds .1 of csv, 1 of text." "\*.csv" -- feedmill count mixed
  expect_error 2 "houses.csv is of csv and lines.txt of text" -- feedmill count houses.csv lines.txt
  expect_error 2 "none.csv: no such file" -- feedmill schema none.csv
}

@test "schema shows components, without reading elements" {
  expect 0 feedmill schema houses.csv
  [[ $output == '{"name":"rooms","dtype":"int64","shape":[]}
{"name":"area","dtype":"float64","shape":[]}' ]]
  pipeline batches <<< '{source: {range: 10}, steps: [batch: 4]}' > /dev/null
  expect 0 feedmill schema batches.yaml
  [[ $output == '{"name":"","dtype":"int64","shape":[null]}' ]]
  expect 0 feedmill schema batches.yaml --table
  [[ $output == *"value  int64  [?]" ]]
  pipeline nulls <<< '{source: {csv: {files: nulls.csv, types: {n: "int64?"}}}, steps: [batch: 2]}' > /dev/null
  printf 'a,n\n1,5\n2,\n' > nulls.csv
  expect 0 feedmill schema nulls.yaml
  [[ $output == *'{"name":"n","dtype":"int64","shape":[null],"nullable":true}' && $output != *valid* ]]
  expect 0 feedmill schema nulls.yaml --table
  [[ $output == *"n     int64?  [?]" ]]
  expect 0 feedmill head nulls.yaml --table
  [[ $output == *"[1, 2]  [5, null]" && $output != *valid* ]]
  pipeline wrong <<< $'source: {range: 10}\nsteps:\n  - filter: "y > 1"' > /dev/null
  expect_error 2 "wrong.yaml:3: steps.0. filter" -- feedmill schema wrong.yaml
}

@test "count takes the number from indexes, or reads only what decides it" {
  expect 0 feedmill count evens.yaml
  [[ $output == 5 ]]
  expect 0 feedmill count lines.txt
  [[ $output == 1000 ]]
  expect 0 feedmill count good.tfrecord
  [[ $output == 300 ]]
  pipeline undecoded <<< '{source: {images: broken}, steps: [filter: "label == 1", decode_image: {component: image}]}' > /dev/null
  expect 0 feedmill count undecoded.yaml  # one of them cannot be decoded
  [[ $output == 5 ]]
  pipeline skipping <<< '{source: {images: broken}, steps: [decode_image: {component: image}, on_error: skip]}' > /dev/null
  expect 0 feedmill count skipping.yaml
  [[ $output == 9 ]]
  pipeline endless_range <<< '{source: {range: 3}, steps: [repeat]}' > /dev/null
  expect_error 2 "repeats without end" -- feedmill count endless_range.yaml
}

@test "wrong flags exit 2" {
  for command in head schema count; do
    expect_error 2 "data file, is missing" -- feedmill $command
    expect_error 2 "one pipeline's file, or data files" -- feedmill $command evens.yaml houses.csv
    expect_error 2 "--as is for data files" -- feedmill $command evens.yaml --as csv
    expect_error 2 "--as" "by-name" -- feedmill $command houses.csv --as cvs
  done
  expect_error 2 "--elements" -- feedmill head houses.csv -n few
  expect_error 2 "exclude each other" -- feedmill head houses.csv --json --table
}
