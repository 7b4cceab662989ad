/* Who watches a run while it goes on. Calls come from the loop thread; all pointers are borrowed. */
#ifndef PDK_ORCHESTRATOR_ENGINE_LISTENER_H
#define PDK_ORCHESTRATOR_ENGINE_LISTENER_H

#include <stddef.h>
#include <stdint.h>

struct pdk_event;

/* One candidate as it stands. */
struct pdk_candidate_view {
    size_t place;        /* 0… over the whole run, in declaration order */
    const char *name;    /* "c1"; "task/c1" in a fleet */
    const char *state;   /* "running", …; "judged" at the end */
    const char *stage;   /* the check under way; "" for none */
    const char *verdict; /* NULL before the end */
    const char *reason;  /* NULL for none */
    int64_t started_ms;  /* pdk_clock_ms() when it was started */
    int64_t ended_ms;    /* 0 before the end */
};

struct pdk_engine_listener {
    /* A candidate changed its state or stage. */
    void (*on_change)(const struct pdk_candidate_view *view, void *user);
    /* Output of its command, raw bytes, bounded in rate. */
    void (*on_output)(size_t place, const char *data, size_t len, void *user);
    /* An event was recorded. */
    void (*on_event)(const struct pdk_event *event, void *user);
    /* Ten times a second at most. */
    void (*on_tick)(int64_t now_ms, void *user);
    void *user;
};

#endif
