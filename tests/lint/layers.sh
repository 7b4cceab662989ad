#!/bin/sh
# layers.sh [ROOT]: who includes whom. A folder includes itself and lower floors (ARCHITECTURE.md has the table), a
# backend no other backend, the port not its far side; third-party headers stay in the few .c files that wrap them.
set -eu

cd "${1:-$(dirname "$0")/../..}"

# The program is awk's, dollars and all.
# shellcheck disable=SC2016
find base plan process store trees sandbox backends missions verify promote orchestrator providers \
    -name '*.[ch]' -print0 2>/dev/null | xargs -0 -r awk '
function bad(why) {
    printf "%s:%d: %s\n    %s\n", FILENAME, FNR, why, $0
    failed = 1
}

# The part of a folder that others are judged by: sandbox/agent, backends/overlay, orchestrator/cli … or the folder.
function part(path,    n, piece) {
    n = split(path, piece, "/")
    return n > 2 ? piece[1] "/" piece[2] : piece[1]
}

function top(path) {
    sub("/.*", "", path)
    return path
}

function check_own(path,    from, to) {
    if (path == "paddock_config.h")
        return
    from = part(FILENAME)
    to = part(path)
    if (path !~ "/" || !(top(path) in floor)) {
        bad("include project headers by their path from the root")
    } else if (top(from) == top(to)) {
        if (top(from) == "backends" && to ~ "/" && from != to)
            bad(from " must not include another backend, " to)
        if (from == "sandbox" && to == "sandbox/agent")
            bad("the port must not include its far side, the agent")
        if (from == "orchestrator/engine" && to == "orchestrator/cli")
            bad("the engine must not include the command line")
    } else if (floor[top(to)] >= floor[top(from)]) {
        bad(top(from) " (floor " floor[top(from)] ") must not include " top(to) " (floor " floor[top(to)] ")")
    } else if (from == "sandbox/agent" && top(to) ~ /^(store|trees)$/) {
        bad("the agent must not include " top(to) ": it runs where neither git nor a store is")
    }
}

function check_foreign(header,    i, folders, n, from) {
    sub("/.*", ".h", header)
    if (!(header in home))
        return
    if (FILENAME ~ /\.h$/) {
        bad(header " belongs in .c files only")
        return
    }
    from = part(FILENAME)
    n = split(home[header], folders, " ")
    for (i = 1; i <= n; i++)
        if (from == folders[i] || top(from) == folders[i])
            return
    bad(header " belongs in " home[header] " only")
}

BEGIN {
    floor["base"] = 0
    floor["plan"] = floor["process"] = 1
    floor["store"] = floor["trees"] = 2
    floor["sandbox"] = 3
    floor["backends"] = floor["providers"] = 4
    floor["missions"] = floor["verify"] = floor["promote"] = 5
    floor["orchestrator"] = 6

    home["jansson.h"] = home["md5.h"] = home["sha1.h"] = home["sha2.h"] = "base"
    home["sha.h"] = home["sha256.h"] = home["sha512.h"] = "base"
    home["uv.h"] = "process sandbox orchestrator"
    home["sqlite3.h"] = "store"
    home["git2.h"] = "trees"
    home["yaml.h"] = "missions"
    home["pcre2.h"] = "verify sandbox/agent"
    home["curl.h"] = "backends"
    home["check.h"] = "tests"
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    check_own(quoted[2])
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    check_foreign(header)
}

END {
    exit failed
}
'
