#!/usr/bin/env bash
# Every C++ file is as clang-format leaves it; names those that are not.
set -euo pipefail
git ls-files -z '*.h' '*.cc' |
  xargs -0 -r clang-format-16 --dry-run --Werror --ferror-limit=1 2>&1 |
  grep -E 'error:' && { echo "run clang-format-16 -i on these files"; exit 1; }
exit 0
