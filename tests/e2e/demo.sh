#!/bin/sh
# What `make demo` runs does what it says, and cleans up behind it.
set -eu

"$(dirname "$0")/../demo/demo.sh" "$PADDOCK" >"$TMPDIR/output" || {
    cat "$TMPDIR/output"
    exit 1
}
left=$(ls -d "$TMPDIR"/paddock-demo.* 2>/dev/null || true)
[ -z "$left" ] || {
    echo "FAILED: left behind: $left"
    exit 1
}
