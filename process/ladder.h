/*
 * The stop ladder: INT, then TERM, then KILL, with a grace after each. Pure: it is told the time
 * and says what to send. The owner sends, and stops asking once the process tree is gone.
 */
#ifndef PDK_PROCESS_LADDER_H
#define PDK_PROCESS_LADDER_H

#include <stdbool.h>
#include <stdint.h>

struct pdk_graces {
    int64_t int_ms;  /* after INT; 0 skips INT */
    int64_t term_ms; /* after TERM; 0 skips TERM */
    int64_t kill_ms; /* after KILL, before the tree counts as unkillable */
};

#define PDK_GRACES_DEFAULT                                                               \
    {                                                                                    \
        2000, 3000, 5000                                                                 \
    }

enum pdk_ladder_state {
    PDK_LADDER_IDLE,
    PDK_LADDER_INT,
    PDK_LADDER_TERM,
    PDK_LADDER_KILL,
    PDK_LADDER_GIVEN_UP
};

struct pdk_ladder {
    struct pdk_graces graces;
    enum pdk_ladder_state state;
    int64_t until_ms; /* when the present step ends */
    bool started;
};

/* Starts it at its first step (or at KILL at once). No effect when it is already further. */
void pdk_ladder_start(
        struct pdk_ladder *l, const struct pdk_graces *graces, int64_t now_ms);
void pdk_ladder_now(struct pdk_ladder *l, int64_t now_ms); /* straight to KILL */
/*
 * Moves on when its time has come and returns the signal to send now, or 0. KILL is returned
 * again on each call in state KILL (a fork bomb needs more than one). *wait_ms: when to ask next at
 * the latest; -1 where there is nothing to wait for.
 */
int pdk_ladder_step(struct pdk_ladder *l, int64_t now_ms, int64_t *wait_ms);

#endif
