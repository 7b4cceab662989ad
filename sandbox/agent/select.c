#include "sandbox/agent/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/ignore.h"
#include "base/json.h"
#include "sandbox/agent/agent.h"

int pdk_agent_select_init(
        struct pdk_agent_select *s, const struct pdk_json *params, const char *key)
{
    const struct pdk_json *list = pdk_json_get(params, key);

    *s = (struct pdk_agent_select){
        .ignored = pdk_json_get_bool(params, "ignored", false),
    };
    if (pdk_json_get(params, "path") || pdk_json_get(params, "path_base64")) {
        s->path = pdk_agent_take_path(params, "path");
        if (!s->path)
            return PDK_EINVAL;
        for (size_t n = strlen(s->path); n > 1 && s->path[n - 1] == '/'; n--)
            s->path[n - 1] = '\0';
    }
    if (list && pdk_json_type(list) != PDK_JSON_ARRAY)
        return PDK_EINVAL;
    for (size_t i = 0; i < pdk_json_len(list); i++) {
        PDK_AUTO_FREE char *word = pdk_agent_take_word(pdk_json_at(list, i), "word");

        if (!word)
            return PDK_EINVAL;
        pdk_strv_take(&s->patterns, pdk_take_ptr(&word));
    }
    return s->patterns.failed ? PDK_EINVAL : 0;
}

void pdk_agent_select_fini(struct pdk_agent_select *s)
{
    free(s->path);
    pdk_strv_fini(&s->patterns);
}

bool pdk_agent_selects(const struct pdk_agent_select *s, const char *path)
{
    for (size_t i = 0; i < s->patterns.len; i++)
        if (pdk_ignore_wildmatch(s->patterns.items[i], path))
            return true;
    return s->patterns.len == 0;
}

void pdk_agent_scan_failed(struct agent *a, int64_t id, const struct pdk_err *err)
{
    if (err->os_errno)
        pdk_agent_fail_errno(a, id, err->os_errno);
    else
        pdk_agent_error(a, id, PDK_WIRE_IO, err->msg);
}
