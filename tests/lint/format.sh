#!/usr/bin/env bash
# Every C++ file is as clang-format leaves it; names those that are not. Files of
# the current git repository.
set -euo pipefail
if ! found=$(git ls-files -z '*.h' '*.cc' |
  xargs -0 -r clang-format-16 --dry-run --Werror --ferror-limit=1 2>&1); then
  grep -E 'error:' <<< "$found" || echo "$found"
  echo "run clang-format-16 -i on these files"
  exit 1
fi
