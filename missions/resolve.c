#include "missions/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "missions/fill.h"
#include "missions/mission.h"
#include "plan/plan.h"

enum { CANDIDATES_MAX = 1000 };

/* ---- candidates ---- */

static size_t combinations(const struct pdk_plan_task *task)
{
    size_t n = task->candidates_each > 0 ? (size_t)task->candidates_each : 1;

    for (size_t i = 0; i < task->axes_len; i++)
        if (__builtin_mul_overflow(n, task->axes[i].values.len, &n))
            return SIZE_MAX;
    return n;
}

/* The last axis turns fastest; tries of one combination stand together. */
static int combine(const struct pdk_plan_task *task, size_t number, struct pdk_pairs *out)
{
    size_t left = number / (size_t)task->candidates_each;
    size_t chosen[16];

    for (size_t i = task->axes_len; i > 0; i--) {
        chosen[i - 1] = left % task->axes[i - 1].values.len;
        left /= task->axes[i - 1].values.len;
    }
    for (size_t i = 0; i < task->axes_len; i++) {
        const struct pdk_plan_axis *axis = &task->axes[i];
        if (pdk_pairs_add(out, axis->key, axis->values.items[chosen[i]]) < 0)
            return -1;
    }
    return 0;
}

static void expand(struct pdk_fill *f, const struct pdk_node *node)
{
    struct pdk_plan_task *task = f->task;
    size_t n = combinations(task);
    const struct pdk_node *place = pdk_node_get(node, "matrix");

    if (n > CANDIDATES_MAX) {
        pdk_diags_add(f->diags, PDK_DIAG_ERROR, place ? &place->pos : &node->pos,
                "matrix and 'candidates' make more than %d candidates", CANDIDATES_MAX);
        return;
    }
    task->candidates = n ? calloc(n, sizeof(*task->candidates)) : NULL;
    f->oom |= n && !task->candidates;
    for (size_t i = 0; task->candidates && i < n; i++) {
        struct pdk_plan_candidate *made = &task->candidates[task->candidates_len++];
        made->index = (int)i + 1;
        f->oom |= combine(task, i, &made->matrix) < 0;
    }
}

void pdk_resolve_task(struct pdk_fill *f, const struct pdk_node *node)
{
    const struct pdk_node *mission = pdk_node_get(node, "mission");
    bool fleet = f->plan->kind == PDK_PLAN_FLEET;

    if (f->task->run.argv.len == 0 && f->diags->errors == 0 && (fleet || mission)) {
        pdk_diags_add(f->diags, PDK_DIAG_ERROR, fleet ? &node->pos : &mission->pos,
                fleet ? "the task has no 'run'" : "'run' is missing in mission");
        pdk_diags_hint(f->diags, "run: the command, as text or as a list");
    }
    if (f->diags->errors == 0)
        expand(f, node);
}

/* ---- tasks ---- */

/* Tasks in the order of their ids; needs by number. */
struct graph {
    struct pdk_fill *f;
    struct pdk_node *const *nodes;
    struct pdk_plan_task *tasks;
    size_t len;
    size_t *by_id;
    unsigned char *state; /* of the walk: 0 unseen, 1 on the path, 2 done */
    size_t *path;
    size_t *next; /* for each on the path: the need to look at */
};

static int compare_ids(const void *left, const void *right, void *user)
{
    const struct pdk_plan_task *tasks = user;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    int order = strcmp(tasks[a].id, tasks[b].id);

    return order ? order : (a < b ? -1 : a > b);
}

static const struct pdk_node *place_of(
        const struct graph *g, size_t task, const char *key, const char *entry)
{
    const struct pdk_node *list = pdk_node_get(g->nodes[task], key);

    for (size_t i = 0; list && list->kind == PDK_NODE_LIST && i < list->len; i++)
        if (entry && list->items[i]->kind == PDK_NODE_SCALAR &&
                strcmp(list->items[i]->text, entry) == 0)
            return list->items[i];
    return list ? list : g->nodes[task];
}

static void report_duplicates(struct graph *g)
{
    size_t first = 0;

    for (size_t i = 1; i < g->len; i++) {
        const struct pdk_plan_task *task = &g->tasks[g->by_id[i]];
        if (strcmp(g->tasks[g->by_id[first]].id, task->id) != 0) {
            first = i;
            continue;
        }
        const struct pdk_node *before = place_of(g, g->by_id[first], "id", NULL);
        pdk_diags_add(g->f->diags, PDK_DIAG_ERROR,
                &place_of(g, g->by_id[i], "id", NULL)->pos,
                "duplicate task id '%s', first at %d:%d", task->id, before->pos.line,
                before->pos.col);
    }
}

static size_t find_task(const struct graph *g, const char *id)
{
    size_t low = 0;
    size_t high = g->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(g->tasks[g->by_id[middle]].id, id);
        if (order == 0)
            return g->by_id[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

static const char *nearest_id(const struct graph *g, const char *id)
{
    const char *names[256];
    size_t n = 0;

    for (; n < g->len && n < sizeof(names) / sizeof(*names); n++)
        names[n] = g->tasks[n].id;
    return pdk_nearest(id, names, n);
}

static void check_needs(struct graph *g, size_t index)
{
    const struct pdk_plan_task *task = &g->tasks[index];

    for (size_t i = 0; i < task->needs.len; i++) {
        const char *need = task->needs.items[i];
        const struct pdk_pos *pos = &place_of(g, index, "needs", need)->pos;
        if (strcmp(need, task->id) == 0) {
            pdk_diags_add(
                    g->f->diags, PDK_DIAG_ERROR, pos, "task '%s' needs itself", need);
        } else if (find_task(g, need) == SIZE_MAX) {
            pdk_diags_add(g->f->diags, PDK_DIAG_ERROR, pos,
                    "task '%s' needs '%s', which is no task", task->id, need);
            const char *nearest = nearest_id(g, need);
            if (nearest)
                pdk_diags_hint(g->f->diags, "did you mean '%s'?", nearest);
        }
    }
}

static void check_slots(struct graph *g, size_t index)
{
    const struct pdk_plan_task *task = &g->tasks[index];

    for (size_t i = 0; i < task->uses.len; i++) {
        const char *slot = task->uses.items[i];
        if (pdk_pairs_get(&g->f->plan->slots, slot))
            continue;
        pdk_diags_add(g->f->diags, PDK_DIAG_ERROR, &place_of(g, index, "uses", slot)->pos,
                "task '%s' uses '%s', which 'limits' does not have", task->id, slot);
    }
}

static void report_cycle(const struct graph *g, size_t depth, size_t again)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    size_t from = depth;
    size_t last = g->path[depth - 1];

    while (from > 0 && g->path[from - 1] != again)
        from--;
    for (size_t i = from - 1; i < depth; i++)
        pdk_buf_addf(&text, "%s -> ", g->tasks[g->path[i]].id);
    pdk_buf_adds(&text, g->tasks[again].id);
    pdk_diags_add(g->f->diags, PDK_DIAG_ERROR,
            &place_of(g, last, "needs", g->tasks[again].id)->pos,
            "tasks need each other: %s", pdk_buf_str(&text));
}

/* Walks from one task without recursion, since a chain may be as long as the fleet. */
static void walk(struct graph *g, size_t start)
{
    size_t depth = 1;

    g->path[0] = start;
    g->next[0] = 0;
    g->state[start] = 1;
    while (depth > 0) {
        size_t at = g->path[depth - 1];
        if (g->next[depth - 1] == g->tasks[at].needs.len) {
            g->state[at] = 2;
            depth--;
            continue;
        }
        size_t need = find_task(g, g->tasks[at].needs.items[g->next[depth - 1]++]);
        if (g->state[need] == 1)
            report_cycle(g, depth, need);
        if (g->state[need] != 0)
            continue;
        g->state[need] = 1;
        g->path[depth] = need;
        g->next[depth++] = 0;
    }
}

static void check_graph(struct graph *g)
{
    for (size_t i = 0; i < g->len; i++)
        g->by_id[i] = i;
    qsort_r(g->by_id, g->len, sizeof(*g->by_id), compare_ids, g->tasks);
    report_duplicates(g);
    for (size_t i = 0; i < g->len; i++) {
        check_needs(g, i);
        check_slots(g, i);
    }
    for (size_t i = 0; i < g->len && g->f->diags->errors == 0; i++)
        if (g->state[i] == 0)
            walk(g, i);
}

void pdk_resolve_fleet(struct pdk_fill *f, struct pdk_node *const *nodes)
{
    size_t len = f->plan->tasks_len;
    PDK_AUTO_FREE size_t *numbers = calloc(3 * len + 1, sizeof(size_t));
    PDK_AUTO_FREE unsigned char *state = calloc(len + 1, 1);
    struct graph g = { f, nodes, f->plan->tasks, len, numbers, state, NULL, NULL };

    if (!numbers || !state) {
        f->oom = true;
        return;
    }
    for (size_t i = 0; i < len; i++)
        if (!g.tasks[i].id)
            return; /* said already; without ids the rest would mislead */
    g.path = numbers + len;
    g.next = numbers + 2 * len;
    check_graph(&g);
}
