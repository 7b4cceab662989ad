/* glob: paths by pattern, in git's order. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/ignore.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/select.h"
#include "sandbox/scan.h"

enum { LIMIT = 10000, LIMIT_MAX = 100000, PATH_ROOM = 24, FULL = 1 };

struct glob {
    struct pdk_agent_select select;
    int64_t limit, found;
    size_t room; /* of the frame */
    bool truncated;
    struct pdk_json *paths;
};

static int glob_on_path(const char *path, enum pdk_scan_kind kind, void *user)
{
    struct glob *g = user;
    size_t len = strlen(path);

    if (kind == PDK_SCAN_DIRECTORY || !pdk_agent_selects(&g->select, path))
        return 0;
    if (g->found == g->limit || g->room < PATH_ROOM ||
            pdk_agent_fit(path, len, &g->room) < len) {
        g->truncated = true;
        return FULL;
    }
    g->room -= PATH_ROOM;
    g->found++;
    pdk_agent_append_path(g->paths, path);
    return 0;
}

static void answer_glob(struct agent *a, int64_t id, struct glob *g)
{
    struct pdk_scan_spec spec = {
        .root_fd = a->root_fd,
        .path = g->select.path,
        .ignored = g->select.ignored,
        .visit = glob_on_path,
        .user = g,
    };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_json *result;

    if (pdk_scan(&spec, &err) < 0) {
        pdk_json_free(g->paths);
        pdk_agent_scan_failed(a, id, &err);
        return;
    }
    result = pdk_json_object();
    (void)pdk_json_set(result, "paths", g->paths);
    (void)pdk_json_set_bool(result, "truncated", g->truncated);
    pdk_agent_result(a, id, result);
}

void pdk_agent_glob(struct agent *a, int64_t id, const struct pdk_json *params)
{
    struct glob g = { .room = PDK_FRAME_MAX - 4096,
        .limit = pdk_json_get_int(params, "limit", LIMIT) };

    if (pdk_agent_select_init(&g.select, params, "patterns") < 0 ||
            g.select.patterns.len == 0 || g.limit < 1 || g.limit > LIMIT_MAX) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS,
                "glob takes patterns, and a limit of 1 to 100000");
    } else {
        g.paths = pdk_json_array();
        answer_glob(a, id, &g);
    }
    pdk_agent_select_fini(&g.select);
}
