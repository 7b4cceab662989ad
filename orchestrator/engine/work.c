#include "orchestrator/engine/work.h"

#include <stdlib.h>
#include <uv.h>

struct work {
    uv_work_t request;
    struct pdk_work_handlers handlers;
    void *user;
    struct pdk_err err;
};

static void work_on_run(uv_work_t *request)
{
    struct work *w = request->data;

    if (w->handlers.run(w->user, &w->err) == 0)
        w->err.code = 0;
}

static void work_on_done(uv_work_t *request, int status)
{
    struct work *w = request->data;

    if (status < 0)
        (void)pdk_fail(&w->err, PDK_ECANCELED, -status, "work was canceled");
    w->handlers.done(&w->err, w->user);
    free(w);
}

void pdk_work_queue(
        struct uv_loop_s *loop, const struct pdk_work_handlers *handlers, void *user)
{
    struct work *w = calloc(1, sizeof(*w));
    struct pdk_err none = PDK_ERR_INIT;

    if (!w) {
        (void)pdk_fail_nomem(&none);
        handlers->done(&none, user);
        return;
    }
    w->request.data = w;
    w->handlers = *handlers;
    w->user = user;
    /* Fails only for a NULL callback. */
    (void)uv_queue_work(loop, &w->request, work_on_run, work_on_done);
}
