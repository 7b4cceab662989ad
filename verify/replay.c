#include "verify/replay.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "store/event.h"
#include "verify/verdict.h"

/* The run that the lines are of; "" before the first. */
struct replay {
    struct pdk_fold *fold;
    char run[160];
};

static int take_line(struct replay *r, const char *line, size_t len, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *v = NULL;
    struct pdk_event event = { .seq = 0 };
    const char *run;

    if (pdk_json_parse(line, len, &v, err) < 0)
        return err->code;
    run = pdk_json_get_str(v, "run", NULL);
    if (!run || !pdk_json_get_str(v, "type", NULL))
        return pdk_fail(err, PDK_EINVAL, 0, "no event: it has no run or no type");
    if (r->run[0] && strcmp(r->run, run) != 0)
        return pdk_fail(err, PDK_EINVAL, 0, "an event of another run, '%.80s'", run);
    (void)snprintf(r->run, sizeof(r->run), "%s", run); /* ids are shorter */
    event.run = run;
    event.task = pdk_json_get_str(v, "task", NULL);
    event.candidate = (int)pdk_json_get_int(v, "candidate", 0);
    event.attempt = (int)pdk_json_get_int(v, "attempt", 0);
    event.type = pdk_event_find(pdk_json_get_str(v, "type", ""));
    event.body = pdk_json_get(v, "body");
    return event.type == PDK_EVENT_COUNT ? 0 : pdk_fold_event(r->fold, &event, err);
}

static size_t count_blanks(const char *line, size_t len)
{
    size_t n = 0;

    while (n < len && strchr(" \t\r", line[n]) && line[n] != '\0')
        n++;
    return n;
}

int pdk_replay(struct pdk_fold *fold, const char *text, size_t len, struct pdk_err *err)
{
    struct replay r = { .fold = fold, .run = "" };
    const char *end = text + len;
    size_t number = 0;

    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((newline ? newline : end) - line);

        number++;
        if (count_blanks(line, n) < n && take_line(&r, line, n, err) < 0) {
            int rc = err->code == PDK_ENOMEM ? PDK_ENOMEM : PDK_EINVAL;

            err->code = rc;
            return pdk_wrap(err, "line %zu", number);
        }
        line += n + 1;
    }
    return 0;
}
