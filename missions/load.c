/* From a file, a text, or flags alone, to a plan. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "missions/fill.h"
#include "missions/mission.h"
#include "missions/override.h"
#include "missions/resolve.h"
#include "plan/plan.h"

/* One load: what it reads and what it makes. */
struct load {
    struct pdk_doc doc;
    struct pdk_fill fill;
    struct pdk_node *root;
};

static bool is_fleet(const struct pdk_node *root)
{
    const struct pdk_node *kind = pdk_node_get(root, "kind");

    return kind && kind->kind == PDK_NODE_SCALAR && strcmp(kind->text, "fleet") == 0;
}

/* A kind that is neither is said once, with both names. */
static bool kind_ok(struct load *l)
{
    const struct pdk_node *kind = pdk_node_get(l->root, "kind");

    if (!kind || is_fleet(l->root) || kind->kind != PDK_NODE_SCALAR ||
            strcmp(kind->text, "mission") == 0)
        return true;
    pdk_diags_add(l->fill.diags, PDK_DIAG_ERROR, &kind->pos,
            "'kind' must be mission or fleet, not '%s'", kind->text);
    return false;
}

static void load_mission(struct load *l)
{
    struct pdk_fill *f = &l->fill;

    f->plan->tasks = calloc(1, sizeof(*f->plan->tasks));
    if (!f->plan->tasks) {
        f->oom = true;
        return;
    }
    f->plan->tasks_len = 1;
    f->task = f->plan->tasks;
    f->matrix = pdk_node_get(l->root, "matrix");
    f->templates = true;
    pdk_fill_fallbacks(f, &pdk_mission_block, f->plan);
    pdk_fill_block(f, &pdk_mission_block, l->root, f->plan, NULL);
    pdk_resolve_task(f, l->root);
    if (f->plan->id) {
        f->task->id = strdup(f->plan->id);
        f->oom |= !f->task->id;
    }
}

/* The defaults by themselves, so that each fault in them is said once. */
static void check_defaults(struct load *l, const struct pdk_node *defaults)
{
    struct pdk_fill *f = &l->fill;
    const struct pdk_key *key = pdk_block_key(&pdk_fleet_block, "defaults");
    PDK_AUTO_PLAN struct pdk_plan *scratch = calloc(1, sizeof(*scratch));

    f->oom |= !scratch;
    if (!scratch || !defaults)
        return;
    scratch->tasks = calloc(1, sizeof(*scratch->tasks));
    f->oom |= !scratch->tasks;
    if (!scratch->tasks)
        return;
    scratch->tasks_len = 1;
    f->task = scratch->tasks;
    size_t mark = pdk_fill_enter(f, key->name);
    pdk_fill_block(f, key->block, defaults, f->task, NULL);
    pdk_fill_leave(f, mark);
}

static void load_task(struct load *l, const struct pdk_node *defaults,
        const struct pdk_node *node, const struct pdk_key *key)
{
    struct pdk_fill *f = &l->fill;
    const struct pdk_block *defaults_block =
            pdk_block_key(&pdk_fleet_block, "defaults")->block;
    const struct pdk_node *matrix = pdk_node_get(node, "matrix");

    f->templates = true;
    f->matrix = matrix ? matrix : pdk_node_get(defaults, "matrix");
    pdk_fill_fallbacks(f, key->block, f->task);
    if (defaults) {
        f->diags->muted = true;
        f->recording = false;
        pdk_fill_block(f, defaults_block, defaults, f->task, node);
        f->diags->muted = false;
        f->recording = true;
    }
    pdk_fill_block(f, key->block, node, f->task, NULL);
    if (node->kind == PDK_NODE_MAP)
        pdk_resolve_task(f, node);
}

static void load_tasks(
        struct load *l, const struct pdk_node *defaults, const struct pdk_node *tasks)
{
    struct pdk_fill *f = &l->fill;
    const struct pdk_key *key = pdk_block_key(&pdk_fleet_block, "tasks");
    size_t mark = pdk_fill_enter(f, key->name);

    if (pdk_fill_is(f, tasks, PDK_NODE_LIST) && pdk_fill_count(f, key, tasks)) {
        f->plan->tasks = calloc(tasks->len + 1, sizeof(*f->plan->tasks));
        f->oom |= !f->plan->tasks;
    }
    for (size_t i = 0; f->plan->tasks && i < tasks->len; i++) {
        char index[32];
        (void)snprintf(index, sizeof(index), "[%zu]", i);
        size_t inner = pdk_fill_enter(f, index);
        f->task = &f->plan->tasks[f->plan->tasks_len++];
        load_task(l, defaults, tasks->items[i], key);
        pdk_fill_leave(f, inner);
    }
    pdk_fill_leave(f, mark);
    if (f->plan->tasks_len > 0)
        pdk_resolve_fleet(f, tasks->items);
}

static void load_fleet(struct load *l)
{
    struct pdk_fill *f = &l->fill;
    const struct pdk_node *defaults = pdk_node_get(l->root, "defaults");
    const struct pdk_node *tasks = pdk_node_get(l->root, "tasks");

    f->plan->kind = PDK_PLAN_FLEET;
    pdk_fill_fallbacks(f, &pdk_fleet_block, f->plan);
    pdk_fill_block(f, &pdk_fleet_block, l->root, f->plan, NULL);
    check_defaults(l, defaults);
    if (defaults && defaults->kind != PDK_NODE_MAP)
        defaults = NULL;
    if (tasks)
        load_tasks(l, defaults, tasks);
    if (!f->plan->tasks_len && !f->plan->tasks_from_file && !f->plan->tasks_from_csv &&
            f->diags->errors == 0) {
        pdk_diags_add(f->diags, PDK_DIAG_ERROR, tasks ? &tasks->pos : &l->root->pos,
                "the fleet has no tasks");
        pdk_diags_hint(f->diags, "tasks: [{id: ..., run: ...}]");
    }
}

static int read_text(const struct pdk_mission_source *source, struct pdk_buf *text,
        struct pdk_err *err)
{
    static const char flags_only[] = "schema: paddock/v1\nkind: mission\nid: mission\n"
                                     "mission: {}\n";

    if (source->text) {
        pdk_buf_add(text, source->text, source->len);
    } else if (!source->path) {
        pdk_buf_adds(text, flags_only);
    } else {
        int rc = strcmp(source->path, "-") == 0
                ? pdk_fs_read_fd(STDIN_FILENO, PDK_MISSION_MAX_BYTES, text, err)
                : pdk_fs_read(source->path, PDK_MISSION_MAX_BYTES, text, err);
        if (rc < 0)
            return rc;
    }
    return pdk_buf_ok(text, err);
}

static int fill_plan(struct load *l, struct pdk_err *err)
{
    struct pdk_fill *f = &l->fill;

    if (l->root->kind != PDK_NODE_MAP) {
        pdk_diags_add(f->diags, PDK_DIAG_ERROR, &l->root->pos,
                "a mission file is a mapping of keys");
        pdk_diags_hint(f->diags, "it begins with 'schema: paddock/v1'");
    } else if (kind_ok(l) && is_fleet(l->root)) {
        load_fleet(l);
    } else if (kind_ok(l)) {
        load_mission(l);
    }
    return f->oom || f->diags->failed ? pdk_fail_nomem(err) : 0;
}

static int load_source(struct load *l, const struct pdk_source *text,
        const struct pdk_mission_source *source, struct pdk_overrides *overrides,
        struct pdk_err *err)
{
    int rc = pdk_yaml_compose(&l->doc, text, l->fill.diags, err);

    if (rc < 0)
        return rc;
    l->root = l->doc.root;
    rc = pdk_overrides_apply(overrides, &l->doc, l->root, source, l->fill.diags, err);
    return rc < 0 ? rc : fill_plan(l, err);
}

static int verdict(
        const struct pdk_diags *diags, const char *name, int rc, struct pdk_err *err)
{
    if (rc == PDK_ENOMEM || (rc < 0 && diags->errors == 0))
        return rc;
    if (diags->errors == 0)
        return 0;
    return pdk_fail(err, PDK_EINVAL, 0, "%s: %zu error%s", name, diags->errors,
            diags->errors == 1 ? "" : "s");
}

int pdk_mission_load(const struct pdk_mission_source *source,
        const struct pdk_mission_hooks *hooks, struct pdk_plan **out,
        struct pdk_diags *diags, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_PLAN struct pdk_plan *plan = calloc(1, sizeof(*plan));
    PDK_AUTO_OVERRIDES struct pdk_overrides overrides = PDK_OVERRIDES_INIT;
    const char *name = source->path ? source->path : "flags";
    int rc = plan ? read_text(source, &text, err) : pdk_fail_nomem(err);

    if (rc < 0)
        return rc;
    struct pdk_source from = { strcmp(name, "-") == 0 ? "stdin" : name,
        pdk_buf_str(&text), text.len, 0, !source->path && !source->text };
    struct load l = { .doc = PDK_DOC_INIT,
        .fill = { .plan = plan, .diags = diags, .hooks = hooks, .recording = true } };

    rc = load_source(&l, &from, source, &overrides, err);
    pdk_diags_sort(diags);
    rc = verdict(diags, from.name, rc, err);
    pdk_buf_fini(&l.fill.path);
    pdk_doc_fini(&l.doc);
    if (rc == 0)
        *out = pdk_take_ptr(&plan);
    return rc;
}
