#!/bin/sh
# demo.sh PADDOCK: the best of three tries at a failing test, in a sample repository of its own. Everything is made in
# a temporary directory and removed again. Exits non-zero when something is not as it should be.
set -eu

paddock=$(realpath "${1:?usage: demo.sh PADDOCK}")
work=$(mktemp -d "${TMPDIR:-/tmp}/paddock-demo.XXXXXX")
clean_up() {
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    echo "demo: $*" >&2
    exit 1
}

# A home without anybody's settings, and no repository around.
for name in $(env | sed -n 's/^\(GIT_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
mkdir "$work/home" "$work/median"
export HOME="$work/home" PADDOCK_STATE="$work/state" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C.UTF-8
unset XDG_CONFIG_HOME XDG_STATE_HOME
cd "$work/median"

# ---- the sample: a median with a bug, its test, and something that tries to fix it

cat >median.c <<'END'
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int n = argc - 1, *v = calloc(n, sizeof(*v));

    for (int i = 0; i < n; i++)
        v[i] = atoi(argv[i + 1]);
    qsort(v, n, sizeof(*v), compare);
    printf("%d\n", v[n / 2 + 1]);
    free(v);
    return 0;
}
END
cat >test.sh <<'END'
#!/bin/sh
set -eu
cc -o median median.c
for row in "5 5" "2 3 1 2" "7 9 7 1 8 2"; do
    # The first word is what the median of the rest should be.
    set -- $row
    want=$1
    shift
    got=$(./median "$@")
    [ "$got" = "$want" ] || { echo "median $*: $got, not $want"; exit 1; }
done
echo OK
END
cat >fix.sh <<'END'
#!/bin/sh
# Stands for an agent that is right now and then.
case $PADDOCK_CANDIDATE in
1) sed -i 's|n / 2 + 1|(n + 1) / 2|' median.c ;;
2) sed -i 's|n / 2 + 1|n / 2|' median.c ;;
*) echo "no idea" ;;
esac
END
cat >mission.yaml <<'END'
schema: paddock/v1
kind: mission
id: fix-median
candidates: 3
mission:
  run: ./fix.sh
verify:
  baseline: skip
  checks:
    - name: unit
      run: ./test.sh
      expect: {exit: 0, stdout: "^OK"}
END
echo median >.gitignore
chmod +x test.sh fix.sh
git init -q -b main
git config user.name Demo
git config user.email demo@example.org
git add .
git commit -q -m "a median, not quite"
head=$(git rev-parse HEAD)

# ---- the run

echo '$ cat mission.yaml'
cat mission.yaml
echo
echo '$ paddock mission run mission.yaml --promote'
status=0
"$paddock" --quiet mission run mission.yaml --run-id demo --promote >"$work/table" || status=$?
cat "$work/table"
[ "$status" -eq 0 ] || fail "the run ended with exit code $status"
echo
echo '$ git diff'
git --no-pager diff --no-color --no-ext-diff | tee "$work/diff"

# ---- is it as it should be?

grep -q 'winner: c2' "$work/table" || fail "the second candidate should have won"
grep -q '^+.*v\[n / 2\]' "$work/diff" || fail "the winner's change is not in the working tree"
./test.sh >/dev/null || fail "the test fails after promotion"
[ "$(git rev-parse HEAD)" = "$head" ] || fail "HEAD has moved"
[ "$(git status --porcelain)" = " M median.c" ] || fail "more has changed than median.c: $(git status --porcelain)"
git for-each-ref --format='%(refname)' | grep -v '^refs/heads/main$' && fail "a reference was left behind"
for want in "c1 .*fail" "c2 .*pass" "c3 .*fail"; do
    grep -q "$want" "$work/table" || fail "no line '$want' in the table"
done
echo
echo "The second of three tries passed the test; its change is in the working tree, not committed."
