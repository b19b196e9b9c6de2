#!/usr/bin/env bash
# configure_by_hand.sh CMAKE SOURCE CXX: configures the command and the libraries
# alone, as docs/install.md says, on a machine without ccache, mold and <jpegint.h>.
# Builds one library.
set -euo pipefail
cmake=$1 source=$2 compiler=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$1"; tail -n 20 "$folder/configure.log"; exit 1; }

cd "$source"
"$cmake" --preset release -B "$folder/build" -DCMAKE_CXX_COMPILER="$compiler" -DFEEDMILL_BUILD_TESTS=OFF \
  -DFEEDMILL_CCACHE=OFF -DFEEDMILL_MOLD=OFF -DFEEDMILL_JPEGINT=OFF > "$folder/configure.log" 2>&1 ||
  fail "it does not configure"
tr -s ' \n' ' ' < "$folder/configure.log" | grep -q 'There is no <jpegint.h> in .*-DFEEDMILL_QUICK_JPEG=ON' ||
  fail "nothing says that <jpegint.h> is missing"
grep -q '^FEEDMILL_QUICK_JPEG:BOOL=OFF$' "$folder/build/CMakeCache.txt" || fail "FEEDMILL_QUICK_JPEG is not off"
! grep -qE 'ccache|-fuse-ld=mold|gtest|googletest' "$folder/build/build.ninja" ||
  fail "build.ninja has ccache, mold or GTest: $(grep -mE1 'ccache|mold|gtest|googletest' "$folder/build/build.ninja")"
grep -q -- '-O2 -DNDEBUG' "$folder/build/build.ninja" || fail "it does not optimise"
# All that the command and the libraries need can be built, in order.
# Without the rule that configures again: a dry run would end with it.
sed '/^build build\.ninja /,/^$/d' "$folder/build/build.ninja" > "$folder/build/plan.ninja"
"$cmake" --build "$folder/build" -- -f plan.ninja -n > "$folder/plan.log" || fail "there is no way to build all"
for made in bin/feedmill client/libfeedmill_client_reader.a; do
  grep -q " $made\$" "$folder/plan.log" || fail "$made is not built"
done
"$cmake" --build "$folder/build" --target feedmill_core_base > "$folder/configure.log" 2>&1 || fail "it does not build"
