#!/usr/bin/env bash
# build_consumer.sh CMAKE BUILD_DIRECTORY CXX: installs the build into an empty
# prefix. From nothing but that it configures, builds and runs consumer/,
# README.md's first pipeline and the example of a plugin.
set -euo pipefail
cmake=$1 build=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$cmake" --install "$build" --prefix "$folder/prefix" > "$folder/install.log" ||
  { tail -n 5 "$folder/install.log"; exit 1; }
# Moved: nothing in it may know where it was installed.
mv "$folder/prefix" "$folder/moved"
for kind in OFF ON; do  # archives, and libfeedmill.so
  "$cmake" -S "$here/consumer" -B "$folder/build-$kind" -G Ninja -Wno-dev \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" -DBUILD_SHARED_LIBS=$kind \
    -DCMAKE_PREFIX_PATH="$folder/moved" > "$folder/configure.log"
  "$cmake" --build "$folder/build-$kind"
  output=$("$folder/build-$kind/consumer")
  [[ $output == $'0 1 4 9 16 and 4 after the first\n0 1 4 9 16 and 4 after the first' ]] ||
    { echo "consumer printed: $output"; exit 1; }
done
# Not by `ldd | grep -q`: grep may end before ldd does, which pipefail takes for a failure.
loaded=$(ldd "$folder/build-ON/consumer")
[[ $loaded == *"libfeedmill.so.0.1 => $folder/moved/"* ]] ||
  { echo "the consumer does not use libfeedmill.so: $loaded"; exit 1; }
# Each installed header by itself, the one of plugins in C, too.
for header in "$folder"/moved/include/feedmill/*.h; do
  echo "#include <feedmill/${header##*/}>" > "$folder/alone.cc"
  "$compiler" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I "$folder/moved/include" "$folder/alone.cc" ||
    { echo "${header##*/} does not compile by itself"; exit 1; }
  [[ $header == */plugin.h ]] || continue
  "$compiler" -x c -std=c11 -Wall -Wextra -Werror -fsyntax-only -I "$folder/moved/include" "$folder/alone.cc" ||
    { echo "${header##*/} is no C"; exit 1; }
done
python3 "$here/exports.py" "$folder/moved/lib/libfeedmill.so" "$folder/moved/include/feedmill"
# The first pipeline of README.md and the program of docs/cpp.md, as the pages say to run them.
python3 "$here/first_pipeline.py" commands "$folder/moved" "$compiler"
# The example of a plugin, by itself as docs/plugins.md has it.
cp -r "$here/../../examples/plugin" "$folder/plugin"
"$cmake" -S "$folder/plugin" -B "$folder/plugin/build" -G Ninja -Wno-dev \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/moved" > "$folder/configure-plugin.log"
"$cmake" --build "$folder/plugin/build"
if [[ -e $folder/moved/bin/feedmill ]]; then
  echo '{source: {range: 3}, steps: [map: "example.scale(x / 1, 0.5)"]}' > "$folder/scaled.yaml"
  output=$("$folder/moved/bin/feedmill" read "$folder/scaled.yaml" --local \
    --op-plugin "$folder/plugin/build/example_op_plugin.so")
  [[ $output == $'0.0\n0.5\n1.0' ]] || { echo "the plugin gives: $output"; exit 1; }
  "$folder/moved/bin/feedmill" --version
  for page in man/man1/feedmill.1 man/man1/feedmill-worker.1 \
    bash-completion/completions/feedmill zsh/site-functions/_feedmill \
    feedmill/cluster.bash; do
    [[ -s $folder/moved/share/$page ]] || { echo "share/$page is not installed"; exit 1; }
  done
fi
