/* Walks blocks: which key is known, which one is missing, and where each value goes. */
#include "missions/fill.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "missions/mission.h"
#include "missions/scalar.h"
#include "plan/plan.h"

size_t pdk_fill_enter(struct pdk_fill *f, const char *key)
{
    size_t mark = f->path.len;

    if (mark > 0 && key[0] != '[')
        pdk_buf_addc(&f->path, '.');
    pdk_buf_adds(&f->path, key);
    f->oom |= f->path.failed;
    return mark;
}

void pdk_fill_leave(struct pdk_fill *f, size_t mark)
{
    f->path.len = mark;
    if (f->path.data)
        f->path.data[mark] = '\0';
}

void pdk_fill_fault(struct pdk_fill *f, const struct pdk_node *node, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut when long */
    va_end(args);
    pdk_diags_add(
            f->diags, PDK_DIAG_ERROR, &node->pos, "'%s' %s", pdk_buf_str(&f->path), text);
}

static char *where(const struct pdk_pos *pos)
{
    if (pos->source->flag)
        return strdup(pos->source->name);
    return pdk_strf("%s:%d:%d", pos->source->name, pos->line, pos->col);
}

void pdk_fill_later(struct pdk_fill *f, const struct pdk_node *node)
{
    struct pdk_plan *plan = f->plan;

    if (!f->recording || f->fallback)
        return;
    struct pdk_unbuilt *grown =
            reallocarray(plan->unbuilt, plan->unbuilt_len + 1, sizeof(*plan->unbuilt));
    if (!grown) {
        f->oom = true;
        return;
    }
    plan->unbuilt = grown;
    struct pdk_unbuilt *made = &grown[plan->unbuilt_len++];
    made->key = strdup(pdk_buf_str(&f->path));
    made->where = where(&node->pos);
    f->oom |= !made->key || !made->where;
}

bool pdk_fill_is(struct pdk_fill *f, const struct pdk_node *node, enum pdk_node_kind kind)
{
    static const char *const names[] = { "one value", "a list", "a mapping" };

    if (node->kind == kind)
        return true;
    pdk_fill_fault(f, node, "must be %s, not %s", names[kind],
            node->kind == PDK_NODE_SCALAR && (node->plain && pdk_scalar_null(node->text))
                    ? "nothing"
                    : names[node->kind]);
    if (kind == PDK_NODE_LIST && node->kind == PDK_NODE_SCALAR)
        pdk_diags_hint(f->diags, "write it as a list: [%s]", node->text);
    return false;
}

bool pdk_fill_count(
        struct pdk_fill *f, const struct pdk_key *key, const struct pdk_node *node)
{
    if (key->max == 0 || node->len <= (size_t)key->max)
        return true;
    pdk_fill_fault(
            f, node, "has %zu entries, %lld are allowed", node->len, (long long)key->max);
    return false;
}

/* Is the value other than what the key means when it is not there? */
static bool needed(const struct pdk_key *key, const struct pdk_node *node)
{
    if (node->kind != PDK_NODE_SCALAR)
        return node->len > 0;
    return !key->fallback || strcmp(key->fallback, node->text) != 0;
}

static void fill_checks(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_check **items = (void *)(base + key->at);
    size_t *len = (void *)(base + key->count_at);

    if (!pdk_fill_is(f, node, PDK_NODE_LIST) || !pdk_fill_count(f, key, node) ||
            node->len == 0)
        return;
    *items = calloc(node->len, sizeof(struct pdk_check));
    f->oom |= !*items;
    for (size_t i = 0; *items && i < node->len; i++) {
        struct pdk_check *check = &(*items)[(*len)++];
        char index[32];
        (void)snprintf(index, sizeof(index), "[%zu]", i);
        size_t mark = pdk_fill_enter(f, index);
        pdk_fill_fallbacks(f, key->block, check);
        pdk_fill_block(f, key->block, node->items[i], check, NULL);
        for (size_t j = 0; check->name && j < i; j++)
            if (pdk_streq((*items)[j].name, check->name))
                pdk_fill_fault(f, pdk_node_get(node->items[i], "name"),
                        "'%s' is the name of check [%zu] already", check->name, j);
        pdk_fill_leave(f, mark);
    }
}

static void fill_member(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base, const struct pdk_node *over)
{
    bool recording = f->recording;

    if (key->state == PDK_KEY_LATER && needed(key, node)) {
        pdk_fill_later(f, node);
        f->recording = false; /* what it consists of need not be named too */
    }
    if (key->type == PDK_KEY_OBJECT)
        pdk_fill_block(f, key->block, node, base + key->at, over);
    else if (key->type == PDK_KEY_CHECKS)
        fill_checks(f, key, node, base);
    else if (key->type != PDK_KEY_DEFAULTS && key->type != PDK_KEY_TASKS)
        pdk_fill_value(f, key, node, base);
    f->recording = recording;
}

static void unknown_key(
        struct pdk_fill *f, const struct pdk_block *block, const struct pdk_node *key)
{
    const char *nearest = pdk_block_nearest(block, key->text);

    if (pdk_starts_with(key->text, "x-"))
        return;
    pdk_diags_add(f->diags, PDK_DIAG_ERROR, &key->pos, "unknown key '%s'%s%s", key->text,
            f->path.len ? " in " : "", pdk_buf_str(&f->path));
    if (nearest)
        pdk_diags_hint(f->diags, "did you mean '%s'?", nearest);
    else if (block == &pdk_fleet_block && pdk_block_key(&pdk_mission_block, key->text))
        pdk_diags_hint(f->diags, "in a fleet it stands under 'defaults', or in a task");
}

static char *base_of(struct pdk_fill *f, const struct pdk_key *key, void *base)
{
    return (key->flags & PDK_KEY_OF_TASK) ? (char *)f->task : base;
}

/* Does a later map take this key's place as a whole? */
static bool covered(const struct pdk_key *key, const struct pdk_node *over)
{
    return over && key->type != PDK_KEY_OBJECT && key->type != PDK_KEY_ENV;
}

void pdk_fill_block(struct pdk_fill *f, const struct pdk_block *block,
        const struct pdk_node *node, void *base, const struct pdk_node *over)
{
    if (!pdk_fill_is(f, node, PDK_NODE_MAP))
        return;
    for (size_t i = 0; i < node->len; i++) {
        const struct pdk_key *key = pdk_block_key(block, node->keys[i]->text);
        const struct pdk_node *over_it = pdk_node_get(over, node->keys[i]->text);
        if (!key)
            unknown_key(f, block, node->keys[i]);
        if (!key || covered(key, over_it))
            continue;
        size_t mark = pdk_fill_enter(f, key->name);
        fill_member(f, key, node->items[i], base_of(f, key, base), over_it);
        pdk_fill_leave(f, mark);
    }
    for (size_t i = 0; i < block->len; i++) {
        if (!(block->keys[i].flags & PDK_KEY_REQUIRED) ||
                pdk_node_get(node, block->keys[i].name))
            continue;
        pdk_diags_add(f->diags, PDK_DIAG_ERROR, &node->pos, "'%s' is missing%s%s",
                block->keys[i].name, f->path.len ? " in " : "", pdk_buf_str(&f->path));
        pdk_diags_hint(f->diags, "%s: %s", block->keys[i].name, block->keys[i].doc);
    }
}

void pdk_fill_fallbacks(struct pdk_fill *f, const struct pdk_block *block, void *base)
{
    static const struct pdk_source none = { "", "", 0, 0, true };

    f->fallback = true;
    for (size_t i = 0; i < block->len; i++) {
        const struct pdk_key *key = &block->keys[i];
        struct pdk_node node = { .kind = PDK_NODE_SCALAR,
            .plain = true,
            .pos = { &none, 1, 1 },
            .text = key->fallback };
        char *at = base_of(f, key, base);
        if (key->type == PDK_KEY_OBJECT && !(key->flags & PDK_KEY_ALIAS))
            pdk_fill_fallbacks(f, key->block, at + key->at);
        else if (key->fallback)
            pdk_fill_value(f, key, &node, at);
        f->fallback = true;
    }
    f->fallback = false;
}
