#!/bin/sh
# An installation under DESTDIR has what it should where it should, also once it was moved as a whole; the agent needs
# nothing but itself.
set -eu

build=$(dirname "$(dirname "$PADDOCK")")
DESTDIR=$TMPDIR/dest cmake --install "$build" --prefix /opt/paddock >/dev/null
moved=$TMPDIR/moved
mv "$TMPDIR/dest/opt/paddock" "$moved"

fail() {
    echo "FAILED: $*"
    exit 1
}
[ "$("$moved/bin/paddock" --version)" = "$("$PADDOCK" --version)" ] || fail "the installed program tells another version"
[ -x "$moved/libexec/paddock/paddock-agent" ] || fail "the agent is not in libexec/paddock"
[ -f "$moved/share/doc/paddock/LICENSE" ] || fail "the licence is missing"

if [ "$PADDOCK_AGENT_STATIC" = 1 ]; then
    ldd "$PADDOCK_AGENT" 2>&1 | grep -q 'statically linked' || fail "the agent is not static"
fi
if [ "$PADDOCK_AGENT_STATIC" = 1 ] && [ "$(id -u)" -eq 0 ]; then
    mkdir "$TMPDIR/empty"
    cp "$PADDOCK_AGENT" "$TMPDIR/empty/agent"
    status=0
    timeout 60 chroot "$TMPDIR/empty" /agent --root / </dev/null >/dev/null 2>&1 || status=$?
    # 124 to 127 are timeout's and chroot's own; above is a signal.
    [ "$status" -lt 124 ] || fail "the agent does not run in an empty root (status $status)"
fi

# The moved program finds the moved agent, not the one of the build.
git init -q "$TMPDIR/repo"
cd "$TMPDIR/repo"
echo hello >file
git add file
git commit -qm first
unset PADDOCK_AGENT
"$moved/bin/paddock" mission run --cmd 'echo more >>file' --check 'grep -q more file' -n 1 >"$TMPDIR/output" 2>&1 || {
    cat "$TMPDIR/output"
    fail "a mission run from the moved installation"
}
