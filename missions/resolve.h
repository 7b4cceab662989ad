/* What can be checked only once everything is read: across keys, and across tasks. */
#ifndef PDK_MISSIONS_RESOLVE_H
#define PDK_MISSIONS_RESOLVE_H

struct pdk_fill;
struct pdk_node;

/* Candidates of f->task from matrix and count. node: the task's map, for places. */
void pdk_resolve_task(struct pdk_fill *f, const struct pdk_node *node);
/* Ids, needs, cycles, slots over all tasks; nodes has one map a task, in order. */
void pdk_resolve_fleet(struct pdk_fill *f, struct pdk_node *const *nodes);

#endif
