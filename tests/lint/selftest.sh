#!/bin/sh
# selftest.sh: the lints see what they are there to see. Each case is a small tree with one thing wrong in it.
set -eu

lint=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# check NAME pass|fail LINT FILE CONTENT: the tree that holds only FILE.
check() {
    tree=$work/$1
    mkdir -p "$tree/$(dirname "$4")" "$tree/tests"
    echo "The tests." >"$tree/tests/README.md"
    printf '%s\n' "$5" >"$tree/$4"
    verdict=pass
    "$lint/$3" "$tree" >"$work/output" 2>&1 || verdict=fail
    if [ "$verdict" != "$2" ]; then
        echo "$1: $3 should $2 on $4, but:"
        cat "$work/output"
        status=1
    fi
}

check down pass layers.sh trees/a.c '#include "base/error.h"'
check own-folder pass layers.sh trees/a.c '#include "trees/b.h"'
check up fail layers.sh base/a.c '#include "trees/b.h"'
check same-floor fail layers.sh store/a.c '#include "trees/b.h"'
check sibling fail layers.sh verify/a.c '#include "promote/b.h"'
check plan pass layers.sh verify/a.c '#include "plan/b.h"'
check plan-process fail layers.sh plan/a.c '#include "process/b.h"'
check backend-common pass layers.sh backends/overlay/a.c '#include "backends/backend_impl.h"'
check backend-other fail layers.sh backends/overlay/a.c '#include "backends/directory/b.h"'
check port-to-agent fail layers.sh sandbox/a.c '#include "sandbox/agent/b.h"'
check agent-to-port pass layers.sh sandbox/agent/a.c '#include "sandbox/b.h"'
check agent-to-trees fail layers.sh sandbox/agent/a.c '#include "trees/b.h"'
check engine-to-cli fail layers.sh orchestrator/engine/a.c '#include "orchestrator/cli/b.h"'
check relative fail layers.sh base/a.c '#include "error.h"'
check foreign-home pass layers.sh trees/a.c '#include <git2.h>'
check foreign-part fail layers.sh verify/a.c '#include <git2/tree.h>'
check foreign-away fail layers.sh store/a.c '#include <git2.h>'
check foreign-header fail layers.sh trees/a.h '  #  include <git2.h>'
check system pass layers.sh trees/a.h '#include <stddef.h>'

body=$(yes '    x++;' | head -n 68)
check function-70 fail stats base/a.c "$(printf 'int f(int x)\n{\n%s\n    return x;\n}' "$body")"
body=$(yes '    x++;' | head -n 10)
check function-14 pass stats base/a.c "$(printf 'int f(int x)\n{\n%s\n    return x;\n}' "$body")"
check file-801 fail stats base/a.c "$(yes '/* filler */' | head -n 801)"
check file-800 pass stats base/a.c "$(yes '/* filler */' | head -n 800)"

check readme-missing fail readmes.sh base/a.c 'int x;'
check readme-long fail readmes.sh tests/README.md "$(yes line | head -n 9)"
check readme-there pass readmes.sh tests/README.md "Short."
exit "$status"
