#!/bin/sh
# Commands that only look make nothing: no state before the first run, no byte of it changed after.
set -eu

fail() {
    echo "FAILED: $*"
    exit 1
}
git init -q "$TMPDIR/repo"
cd "$TMPDIR/repo"
export PADDOCK_STATE="$TMPDIR/state"

# ---- nothing is recorded yet

for command in "runs" "sandbox list"; do
    # The list is meant to be split into words.
    # shellcheck disable=SC2086
    output=$("$PADDOCK" $command) || fail "'$command' where nothing is recorded"
    [ -z "$output" ] || fail "'$command' lists: $output"
    # shellcheck disable=SC2086
    "$PADDOCK" $command --json | grep -q '"items": \[\]' || fail "'$command --json' has no empty list"
done
for command in "show r" "events r" "logs r/c1" "diff r/c1" "sandbox status s" "sandbox diff s"; do
    status=0
    # shellcheck disable=SC2086
    output=$("$PADDOCK" $command 2>&1) || status=$?
    [ "$status" -eq 2 ] || fail "'$command' where nothing is recorded ends with $status"
    echo "$output" | grep -q 'nothing is recorded' || fail "'$command' says: $output"
done
[ ! -e "$PADDOCK_STATE" ] || fail "looking has made a state directory"

# ---- something is

echo hello >file
git add file
git commit -qm first
"$PADDOCK" -q mission run --cmd 'echo more >>file' --check 'grep -q more file' -n 2 --run-id r >/dev/null
"$PADDOCK" -q sandbox create s >/dev/null
digest() {
    (cd "$PADDOCK_STATE" && find . -type f ! -empty ! -name '*.db-shm' -exec sha256sum {} + | sort)
}
digest >"$TMPDIR/before"
for command in "runs" "show r" "show r --json" "show r/c1" "events r" "logs r/c1" "diff r/c1" "diff r/c1 r/c2" \
    "sandbox list" "sandbox status s"; do
    # shellcheck disable=SC2086
    "$PADDOCK" $command >"$TMPDIR/output" || fail "'$command'"
done
digest >"$TMPDIR/after"
cmp "$TMPDIR/before" "$TMPDIR/after" || {
    diff "$TMPDIR/before" "$TMPDIR/after" || true
    fail "looking has changed the state"
}
