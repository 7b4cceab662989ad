/* What glob and grep look at: a directory to begin with, patterns that paths must match. */
#ifndef PDK_SANDBOX_AGENT_SELECT_H
#define PDK_SANDBOX_AGENT_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct agent;
struct pdk_err;
struct pdk_json;

struct pdk_agent_select {
    char *path;               /* NULL: the root */
    struct pdk_strv patterns; /* none: everything */
    bool ignored;
};

/* From a request's path, ignored, and the list named key. PDK_EINVAL. Fini in any case. */
int pdk_agent_select_init(
        struct pdk_agent_select *s, const struct pdk_json *params, const char *key);
void pdk_agent_select_fini(struct pdk_agent_select *s);
/* Patterns are as git's `:(glob)`: relative to the root, * and ? stop at a slash, ** does not. */
bool pdk_agent_selects(const struct pdk_agent_select *s, const char *path);
/* Answers with the error of a walk. */
void pdk_agent_scan_failed(struct agent *a, int64_t id, const struct pdk_err *err);

#endif
