#!/bin/sh
# scripts.sh: every shell script passes shellcheck, and is executable if it starts with #!.
set -eu

cd "$(dirname "$0")/../.."
status=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find . \( -path ./build -o -path ./.git -o -path ./tests/fuzz/corpus -o -path ./tests/data \) -prune -o -type f -print |
    while IFS= read -r file; do
        case $(head -c 64 "$file" | tr -d '\0' | head -n 1) in
        '#!'*sh) echo "$file" ;;
        esac
    done | sort >"$list"

xargs -r -d '\n' shellcheck -x <"$list" || status=1
while IFS= read -r file; do
    if [ ! -x "$file" ]; then
        echo "$file: not executable"
        status=1
    fi
done <"$list"
exit "$status"
