#!/bin/sh
# as_user.sh COMMAND [ARG...]: run a test again as an ordinary user. Started by isolate.sh, whose directories it hands over.
set -eu

ids="--reuid 65534 --regid 65534 --clear-groups"
if [ "$(id -u)" -ne 0 ]; then
    echo "skipped: not root, so the test itself ran as an ordinary user"
    exit 77
fi
# The ids are meant to be split into words.
# shellcheck disable=SC2086
if ! setpriv $ids test -x "$1" 2>/dev/null; then
    echo "skipped: an ordinary user cannot be had here, or cannot reach $1"
    exit 77
fi
chown -R 65534:65534 "$HOME" "$TMPDIR" "$XDG_STATE_HOME"
# shellcheck disable=SC2086
exec setpriv $ids "$@"
