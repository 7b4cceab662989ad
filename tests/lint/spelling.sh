#!/bin/sh
# spelling.sh: no common misspelling in code, comments or documents. Test data may be misspelt on purpose.
set -eu

cd "$(dirname "$0")/../.."
exec codespell --skip='./build,./.git,./tests/fuzz/corpus,./tests/data' --ignore-words=tests/lint/spelling.ignore .
