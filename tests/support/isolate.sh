#!/bin/sh
# isolate.sh COMMAND [ARG...]: run a test with a home, a temporary directory and a git configuration of its own, so
# that it neither sees nor changes anything of the person who runs it. All of it is removed afterwards.
set -u

private=$(mktemp -d "${TMPDIR:-/tmp}/pdk-test.XXXXXX") || exit 99
private=$(cd "$private" && pwd -P) || exit 99
clean_up() {
    chmod -R u+rwX "$private" 2>/dev/null
    rm -rf "$private"
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

mkdir "$private/home" "$private/tmp" "$private/state" || exit 99
# Tests that give their rights up must still find what they made.
chmod 711 "$private"
cat >"$private/home/.gitconfig" <<'EOF'
[user]
    name = Tester
    email = tester@example.org
[init]
    defaultBranch = main
[commit]
    gpgSign = false
[core]
    fsync = none
EOF

for name in $(env | sed -n 's/^\(GIT_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
unset PADDOCK_STATE XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
export HOME="$private/home" TMPDIR="$private/tmp" XDG_STATE_HOME="$private/state" GIT_CONFIG_NOSYSTEM=1
export LC_ALL=C.UTF-8 TZ=UTC
# Of each test in a program: a deadline is there to end what hangs, not to judge a busy machine.
export CK_DEFAULT_TIMEOUT="${CK_DEFAULT_TIMEOUT:-60}"

# These compilers' sanitizers cannot place their shadow memory where the kernel randomises more bits than this.
if [ "${PDK_SANITIZED:-0}" = 1 ] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] &&
    setarch -R true 2>/dev/null; then
    set -- setarch -R "$@"
fi
"$@"
