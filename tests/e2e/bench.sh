#!/bin/sh
# timeout: 300
# The benchmark still runs, on the smallest repository and twice: what it says about time is nobody's business here.
set -eu

bench=$(cd "$(dirname "$0")/../../bench" && pwd)
if [ ! -x "$(dirname "$PADDOCK")/../bench/bench_sandbox" ]; then
    echo "skipped: bench_sandbox is not built (the target 'bench')"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bench/run" "$PADDOCK" --quick --work "$work" --json "$work/out.json" >"$work/out" || {
    cat "$work/out"
    exit 1
}
python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["results"]
measures = {row["measure"] for row in rows}
for wanted in ("paddock --version", "dirt, directory", "capture, git-worktree", "peak memory"):
    assert wanted in measures or wanted == "peak memory", (wanted, measures)
assert all(row["ours"] is not None for row in rows), rows
' "$work/out.json"
