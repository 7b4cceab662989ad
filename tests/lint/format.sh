#!/bin/sh
# format.sh: every source file is as clang-format would write it (`make format` does).
set -eu

cd "$(dirname "$0")/../.."
find . -path ./build -prune -o -name '*.[ch]' -print0 | xargs -0 -r clang-format --dry-run -Werror
