#include "missions/override.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "missions/keys.h"
#include "missions/mission.h"

enum { PATH_MAX_LEN = 256, PARTS_MAX = 16 };

/* One override being applied. */
struct apply {
    struct pdk_doc *doc;
    struct pdk_diags *diags;
    const struct pdk_override *given;
    const struct pdk_source *source;
    struct pdk_pos pos;
    char path[PATH_MAX_LEN];
    char *parts[PARTS_MAX];
    size_t parts_len;
};

void pdk_overrides_fini(struct pdk_overrides *overrides)
{
    for (size_t i = 0; i < overrides->len; i++)
        free(overrides->texts[i]);
    free(overrides->texts);
    free(overrides->sources);
    *overrides = (struct pdk_overrides)PDK_OVERRIDES_INIT;
}

static struct pdk_node *fresh(struct apply *a, const char *text)
{
    return pdk_doc_scalar(a->doc, &a->pos, text, strlen(text), true);
}

static bool split(struct apply *a)
{
    char *rest = NULL;

    if (strlen(a->given->key) >= sizeof(a->path))
        return false;
    memcpy(a->path, a->given->key, strlen(a->given->key) + 1);
    for (char *part = strtok_r(a->path, ".", &rest); part;
            part = strtok_r(NULL, ".", &rest)) {
        if (a->parts_len == PARTS_MAX)
            return false;
        a->parts[a->parts_len++] = part;
    }
    return a->parts_len > 0;
}

/* The list's entry of that number, or NULL. */
static struct pdk_node *entry(const struct pdk_node *list, const char *number)
{
    char *end;
    unsigned long index = strtoul(number, &end, 10);

    return *end == '\0' && index < list->len ? list->items[index] : NULL;
}

/* The map or list that part i leads into, made when a map lacks it. */
static int step(struct apply *a, struct pdk_node **at, const char *part)
{
    struct pdk_node *next = NULL;

    if ((*at)->kind == PDK_NODE_LIST)
        next = entry(*at, part);
    else if ((*at)->kind == PDK_NODE_MAP)
        next = pdk_node_get(*at, part);
    if (!next && (*at)->kind != PDK_NODE_MAP) {
        pdk_diags_add(a->diags, PDK_DIAG_ERROR, &a->pos, "'%s' leads nowhere at '%s'",
                a->given->key, part);
        return PDK_EINVAL;
    }
    if (!next) {
        next = pdk_doc_collection(a->doc, &a->pos, PDK_NODE_MAP);
        struct pdk_node *key = fresh(a, part);
        if (!next || !key || pdk_node_put(a->doc, *at, key, next) < 0)
            return PDK_ENOMEM;
    }
    *at = next;
    return 0;
}

/* A check of that command, named after its number: "check-2". */
static struct pdk_node *new_check(
        struct apply *a, const struct pdk_node *list, struct pdk_node *run)
{
    struct pdk_node *check = pdk_doc_collection(a->doc, &a->pos, PDK_NODE_MAP);
    PDK_AUTO_FREE char *name = pdk_strf("check-%zu", list->len + 1);
    struct pdk_node *keys[] = { fresh(a, "name"), fresh(a, "run") };
    struct pdk_node *name_node = name ? fresh(a, name) : NULL;

    if (!check || !name_node || !keys[0] || !keys[1] ||
            pdk_node_put(a->doc, check, keys[0], name_node) < 0 ||
            pdk_node_put(a->doc, check, keys[1], run) < 0)
        return NULL;
    return check;
}

static int append(
        struct apply *a, struct pdk_node *map, const char *key, struct pdk_node *run)
{
    struct pdk_node *old = pdk_node_get(map, key);
    struct pdk_node *list = pdk_doc_collection(a->doc, &a->pos, PDK_NODE_LIST);
    struct pdk_node *name = fresh(a, key);

    if (!list || !name)
        return PDK_ENOMEM;
    if (old && old->kind == PDK_NODE_LIST) { /* a copy: others may share the old one */
        list->items = old->items;
        list->len = old->len;
    }
    bool checks = strcmp(key, "checks") == 0; /* any other list is one of commands */
    struct pdk_node *check = checks ? new_check(a, list, run) : run;
    if (!check || pdk_node_put(a->doc, list, NULL, check) < 0)
        return PDK_ENOMEM;
    return pdk_node_put(a->doc, map, name, list);
}

static int put(struct apply *a, struct pdk_node *at, struct pdk_node *value)
{
    const char *last = a->parts[a->parts_len - 1];

    for (size_t i = 0; i + 1 < a->parts_len; i++) {
        int rc = step(a, &at, a->parts[i]);
        if (rc < 0)
            return rc;
    }
    if (at->kind != PDK_NODE_MAP) {
        pdk_diags_add(a->diags, PDK_DIAG_ERROR, &a->pos, "'%s' leads nowhere at '%s'",
                a->given->key, last);
        return PDK_EINVAL;
    }
    if (a->given->kind == PDK_OVERRIDE_APPEND)
        return append(a, at, last, value);
    struct pdk_node *key = fresh(a, last);
    return key ? pdk_node_put(a->doc, at, key, value) : PDK_ENOMEM;
}

/* A key that the fleet itself does not have belongs to its tasks. */
static bool of_tasks(const struct apply *a, const struct pdk_node *root)
{
    const struct pdk_node *kind = pdk_node_get(root, "kind");
    const struct pdk_key *tasks = pdk_block_key(&pdk_fleet_block, "tasks");

    return kind && kind->kind == PDK_NODE_SCALAR && strcmp(kind->text, "fleet") == 0 &&
            !pdk_block_key(&pdk_fleet_block, a->parts[0]) &&
            pdk_block_key(tasks->block, a->parts[0]);
}

static int put_all(struct apply *a, struct pdk_node *root, struct pdk_node *value)
{
    const struct pdk_node *tasks = pdk_node_get(root, "tasks");
    int rc = 0;

    if (!of_tasks(a, root))
        return put(a, root, value);
    for (size_t i = 0; tasks && rc == 0 && tasks->kind == PDK_NODE_LIST && i < tasks->len;
            i++)
        rc = put(a, tasks->items[i], value);
    return rc;
}

static int read_value(struct apply *a, struct pdk_node **out, struct pdk_err *err)
{
    if (a->given->kind == PDK_OVERRIDE_YAML) {
        struct pdk_node *root = a->doc->root;
        int rc = pdk_yaml_compose(a->doc, a->source, a->diags, err);
        *out = a->doc->root;
        a->doc->root = root;
        return rc;
    }
    *out = pdk_doc_scalar(
            a->doc, &a->pos, a->given->value, strlen(a->given->value), false);
    return *out ? 0 : PDK_ENOMEM;
}

static int apply_one(struct apply *a, struct pdk_node *root, struct pdk_err *err)
{
    struct pdk_node *value = NULL;

    if (!split(a)) {
        pdk_diags_add(a->diags, PDK_DIAG_ERROR, &a->pos, "'%s' is no key", a->given->key);
        return PDK_EINVAL;
    }
    int rc = read_value(a, &value, err);
    return rc < 0 ? rc : put_all(a, root, value);
}

/* The flag's text as it was typed: "--set KEY=VALUE", else the value alone. */
static int add_source(
        struct pdk_overrides *o, const struct pdk_override *given, struct pdk_err *err)
{
    bool set = given->kind == PDK_OVERRIDE_YAML && strcmp(given->flag, "--set") == 0;
    char *text = set ? pdk_strf("%s=%s", given->key, given->value) : strdup(given->value);

    if (!text)
        return pdk_fail_nomem(err);
    o->texts[o->len] = text;
    o->sources[o->len++] = (struct pdk_source){ given->flag, text, strlen(text),
        set ? (int)strlen(given->key) + 1 : 0, true };
    return 0;
}

int pdk_overrides_apply(struct pdk_overrides *overrides, struct pdk_doc *doc,
        struct pdk_node *root, const struct pdk_mission_source *source,
        struct pdk_diags *diags, struct pdk_err *err)
{
    size_t len = source->overrides_len;

    if (len == 0 || root->kind != PDK_NODE_MAP)
        return 0;
    overrides->sources = calloc(len, sizeof(*overrides->sources));
    overrides->texts = calloc(len, sizeof(char *));
    if (!overrides->sources || !overrides->texts)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < len; i++) {
        int rc = add_source(overrides, &source->overrides[i], err);
        if (rc < 0)
            return rc;
        struct apply a = { .doc = doc,
            .diags = diags,
            .given = &source->overrides[i],
            .source = &overrides->sources[i] };
        a.pos = (struct pdk_pos){ a.source, 1, 1 + a.source->shift };
        rc = apply_one(&a, root, err);
        if (rc == PDK_ENOMEM)
            return pdk_fail_nomem(err);
    }
    return 0;
}
