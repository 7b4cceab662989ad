#include "process/ladder.h"

#include <signal.h>

struct rung {
    enum pdk_ladder_state state;
    int signal;
};

static const struct rung rungs[] = {
    { PDK_LADDER_INT, SIGINT },
    { PDK_LADDER_TERM, SIGTERM },
    { PDK_LADDER_KILL, SIGKILL },
};

static int64_t grace_of(const struct pdk_ladder *l, enum pdk_ladder_state state)
{
    switch (state) {
    case PDK_LADDER_INT:
        return l->graces.int_ms;
    case PDK_LADDER_TERM:
        return l->graces.term_ms;
    case PDK_LADDER_KILL:
        return l->graces.kill_ms;
    case PDK_LADDER_IDLE:
    case PDK_LADDER_GIVEN_UP:
        break;
    }
    return 0;
}

void pdk_ladder_start(
        struct pdk_ladder *l, const struct pdk_graces *graces, int64_t now_ms)
{
    if (l->started)
        return;
    l->graces = *graces;
    l->until_ms = now_ms; /* the first step() enters the first rung that has a grace */
    l->started = true;
}

void pdk_ladder_now(struct pdk_ladder *l, int64_t now_ms)
{
    if (l->state == PDK_LADDER_KILL || l->state == PDK_LADDER_GIVEN_UP)
        return;
    l->started = true;
    l->state = PDK_LADDER_TERM; /* the rung below KILL, and its time is over */
    l->until_ms = now_ms;
    if (l->graces.kill_ms == 0)
        l->graces = (struct pdk_graces)PDK_GRACES_DEFAULT;
}

/* Enters the next rung that has a grace (KILL always counts) and returns its signal. */
static int climb(struct pdk_ladder *l, int64_t now_ms)
{
    for (unsigned int i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        int64_t grace = grace_of(l, rungs[i].state);

        if (rungs[i].state <= l->state ||
                (grace == 0 && rungs[i].state != PDK_LADDER_KILL))
            continue;
        l->state = rungs[i].state;
        l->until_ms = now_ms + grace;
        return rungs[i].signal;
    }
    l->state = PDK_LADDER_GIVEN_UP;
    return 0;
}

int pdk_ladder_step(struct pdk_ladder *l, int64_t now_ms, int64_t *wait_ms)
{
    int signal = 0;

    *wait_ms = -1;
    if (!l->started || l->state == PDK_LADDER_GIVEN_UP)
        return 0;
    if (now_ms >= l->until_ms)
        signal = climb(l, now_ms);
    else if (l->state == PDK_LADDER_KILL)
        signal = SIGKILL;
    if (l->state == PDK_LADDER_GIVEN_UP)
        return 0;
    *wait_ms = l->until_ms - now_ms;
    return signal;
}
