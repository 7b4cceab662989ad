/* From nodes to the plan, by the key table. One fill belongs to one thread. */
#ifndef PDK_MISSIONS_FILL_H
#define PDK_MISSIONS_FILL_H

#include <stdbool.h>

#include "base/str.h"
#include "missions/compose.h"
#include "missions/keys.h"

struct pdk_diags;
struct pdk_mission_hooks;
struct pdk_plan;
struct pdk_plan_task;

/* All borrowed but path. */
struct pdk_fill {
    struct pdk_plan *plan;
    struct pdk_plan_task *task; /* keys "of the task" go here */
    struct pdk_diags *diags;
    const struct pdk_mission_hooks *hooks;
    const struct pdk_node *matrix; /* whose axes strings may name */
    bool templates;                /* check what strings name */
    bool recording;                /* note what is not built */
    bool fallback;                 /* the value is the table's own */
    bool oom;
    struct pdk_buf path; /* of the key at hand, dotted */
};

/* Gives every key of the block that has one its fallback. */
void pdk_fill_fallbacks(struct pdk_fill *f, const struct pdk_block *block, void *base);
/*
 * Fills base (the block's struct) from the map. Keys that `over` also has are left out, since over
 * will be filled after; NULL: none. Complaints go to diags; a want of memory sets f->oom.
 */
void pdk_fill_block(struct pdk_fill *f, const struct pdk_block *block,
        const struct pdk_node *node, void *base, const struct pdk_node *over);

/* Enters a key (or "[index]") of the path; leave with the returned mark. */
size_t pdk_fill_enter(struct pdk_fill *f, const char *key);
void pdk_fill_leave(struct pdk_fill *f, size_t mark);
/* An error at the place, beginning with the path in quotes. */
__attribute__((format(printf, 3, 4))) void pdk_fill_fault(
        struct pdk_fill *f, const struct pdk_node *node, const char *fmt, ...);
/* Notes that the plan needs what path names, which is not built. */
void pdk_fill_later(struct pdk_fill *f, const struct pdk_node *node);

/* The setter of a type that is no block: base is the struct that key->at counts in. */
void pdk_fill_value(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);

/* The text of a scalar that is to be text: NULL after a complaint. Borrowed. */
const char *pdk_fill_text(struct pdk_fill *f, const struct pdk_node *node);
/* As above, and what it names in {{}} is checked. */
const char *pdk_fill_template(struct pdk_fill *f, const struct pdk_node *node);
/* The setters of what has more than one part (set_group.c). */
void pdk_fill_env(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);
void pdk_fill_slots(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);
void pdk_fill_matrix(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);
void pdk_fill_select(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base);
struct pdk_command;
/* Empty after a complaint. */
void pdk_fill_command(
        struct pdk_fill *f, const struct pdk_node *node, struct pdk_command *out);
/* Complains unless the node is of that kind. */
bool pdk_fill_is(
        struct pdk_fill *f, const struct pdk_node *node, enum pdk_node_kind kind);
/* Complains when a list is longer than the key allows. */
bool pdk_fill_count(
        struct pdk_fill *f, const struct pdk_key *key, const struct pdk_node *node);

#endif
