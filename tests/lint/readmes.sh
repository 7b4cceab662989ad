#!/bin/sh
# readmes.sh [ROOT]: each folder of code says in a few lines what it is, what it may use, and how to add one.
set -eu

cd "${1:-$(dirname "$0")/../..}"
limit=8
status=0
for folder in $(find base plan process store trees sandbox backends missions verify promote orchestrator providers tests \
    bench -name '*.c' -printf '%h\n' 2>/dev/null | grep -v '^tests/' | sort -u) tests; do
    if [ ! -f "$folder/README.md" ]; then
        echo "$folder: no README.md"
        status=1
    elif [ "$folder" != bench ] && [ "$(wc -l <"$folder/README.md")" -gt "$limit" ]; then # which has its results there
        echo "$folder/README.md: more than $limit lines"
        status=1
    fi
done
exit "$status"
