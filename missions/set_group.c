/* Setters of values that have names of their own, or more than one form. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "missions/fill.h"
#include "missions/mission.h"
#include "missions/scalar.h"
#include "plan/plan.h"

static void pairs_put(
        struct pdk_fill *f, struct pdk_pairs *pairs, const char *key, const char *value)
{
    for (size_t i = 0; i < pairs->len; i++) {
        if (strcmp(pairs->items[i].key, key) != 0)
            continue;
        char *copy = strdup(value);
        f->oom |= !copy;
        if (!copy)
            return;
        free(pairs->items[i].value);
        pairs->items[i].value = copy;
        return;
    }
    f->oom |= pdk_pairs_add(pairs, key, value) < 0;
}

static bool name_ok(struct pdk_fill *f, const struct pdk_node *name)
{
    if (!pdk_scalar_name(name->text))
        pdk_fill_fault(f, name, "has '%s', which is no name of a variable", name->text);
    else if (pdk_starts_with(name->text, "PADDOCK_"))
        pdk_fill_fault(
                f, name, "has '%s', but names with PADDOCK_ are taken", name->text);
    else
        return true;
    return false;
}

void pdk_fill_env(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_pairs *pairs = (void *)(base + key->at);

    if (!pdk_fill_is(f, node, PDK_NODE_MAP) || !pdk_fill_count(f, key, node))
        return;
    for (size_t i = 0; i < node->len; i++) {
        const char *name = node->keys[i]->text;
        size_t mark = pdk_fill_enter(f, name);
        const char *value = pdk_fill_template(f, node->items[i]);
        pdk_fill_leave(f, mark);
        if (name_ok(f, node->keys[i]) && value)
            pairs_put(f, pairs, name, value);
    }
}

void pdk_fill_slots(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_pairs *pairs = (void *)(base + key->at);

    if (!pdk_fill_is(f, node, PDK_NODE_MAP) || !pdk_fill_count(f, key, node))
        return;
    for (size_t i = 0; i < node->len; i++) {
        const struct pdk_node *item = node->items[i];
        int64_t value = 0;
        bool number = item->kind == PDK_NODE_SCALAR && item->plain &&
                pdk_scalar_int(item->text, &value) == PDK_SCALAR_OK;
        if (!pdk_scalar_id(node->keys[i]->text))
            pdk_fill_fault(f, node->keys[i], "has '%s', which is no identifier",
                    node->keys[i]->text);
        else if (!number || value < 1 || value > 10000)
            pdk_fill_fault(f, item, "has '%s' without a number between 1 and 10000",
                    node->keys[i]->text);
        else
            pairs_put(f, pairs, node->keys[i]->text, item->text);
    }
}

static void axis_values(
        struct pdk_fill *f, const struct pdk_node *node, struct pdk_plan_axis *axis)
{
    for (size_t i = 0; i < node->len; i++) {
        const char *text = pdk_fill_text(f, node->items[i]);
        if (text && axis->values.len <= 1000 && pdk_strv_has(&axis->values, text))
            pdk_fill_fault(f, node->items[i], "has '%s' twice", text);
        else if (text)
            pdk_strv_add(&axis->values, text);
    }
    f->oom |= axis->values.failed;
}

/* The axis becomes PADDOCK_MATRIX_<KEY>, so names differ in more than case. */
static bool axis_ok(struct pdk_fill *f, const struct pdk_node *matrix, size_t index)
{
    const struct pdk_node *name = matrix->keys[index];

    if (!pdk_scalar_name(name->text)) {
        pdk_fill_fault(f, name, "is no name of an axis");
        pdk_diags_hint(f->diags,
                "letters, digits and '_', since commands see "
                "$PADDOCK_MATRIX_<KEY>");
        return false;
    }
    for (size_t i = 0; i < index; i++) {
        if (strcasecmp(matrix->keys[i]->text, name->text) != 0)
            continue;
        pdk_fill_fault(
                f, name, "differs from axis '%s' by case only", matrix->keys[i]->text);
        return false;
    }
    if (!pdk_fill_is(f, matrix->items[index], PDK_NODE_LIST))
        return false;
    if (matrix->items[index]->len == 0)
        pdk_fill_fault(f, matrix->items[index], "has no values");
    return matrix->items[index]->len > 0;
}

void pdk_fill_matrix(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_plan_task *task = (void *)base;

    if (!pdk_fill_is(f, node, PDK_NODE_MAP) || !pdk_fill_count(f, key, node) ||
            node->len == 0)
        return;
    task->axes = calloc(node->len, sizeof(*task->axes));
    f->oom |= !task->axes;
    for (size_t i = 0; task->axes && i < node->len; i++) {
        size_t mark = pdk_fill_enter(f, node->keys[i]->text);
        if (axis_ok(f, node, i)) {
            struct pdk_plan_axis *axis = &task->axes[task->axes_len++];
            axis->key = strdup(node->keys[i]->text);
            f->oom |= !axis->key;
            axis_values(f, node->items[i], axis);
        }
        pdk_fill_leave(f, mark);
    }
}

static void select_add(struct pdk_fill *f, const struct pdk_node *node, const char *word,
        struct pdk_plan_task *task)
{
    if (pdk_strv_has(&task->select, word))
        pdk_fill_fault(f, node, "has '%s' twice", word);
    else
        pdk_strv_add(&task->select, word);
}

static void select_judge(
        struct pdk_fill *f, const struct pdk_node *node, struct pdk_plan_task *task)
{
    const struct pdk_node *judge = pdk_node_get(node, "judge");
    const struct pdk_node *run = pdk_node_get(judge, "run");

    if (!run || node->len != 1 || judge->len != 1) {
        pdk_fill_fault(
                f, node, "has an entry that is neither a word nor {judge: {run: ...}}");
        return;
    }
    pdk_fill_command(f, run, &task->judge);
    select_add(f, node, "judge", task);
}

static void select_entry(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, struct pdk_plan_task *task)
{
    char list[256];

    if (node->kind != PDK_NODE_SCALAR) {
        select_judge(f, node, task);
        return;
    }
    int index = pdk_word_find(key->words, node->text);
    if (index >= 0) {
        if (key->words[index].state == PDK_KEY_LATER)
            pdk_fill_later(f, node);
        select_add(f, node, node->text, task);
        return;
    }
    pdk_word_list(key->words, list, sizeof(list));
    pdk_fill_fault(f, node, "must be made of %s, not '%s'", list, node->text);
}

static void select_words(
        struct pdk_fill *f, const char *words, struct pdk_plan_task *task)
{
    PDK_AUTO_FREE char *copy = strdup(words);
    char *rest = NULL;

    f->oom |= !copy;
    for (char *word = copy ? strtok_r(copy, " ", &rest) : NULL; word;
            word = strtok_r(NULL, " ", &rest))
        pdk_strv_add(&task->select, word);
}

void pdk_fill_select(struct pdk_fill *f, const struct pdk_key *key,
        const struct pdk_node *node, char *base)
{
    struct pdk_plan_task *task = (void *)base;

    if (!f->fallback &&
            (!pdk_fill_is(f, node, PDK_NODE_LIST) || !pdk_fill_count(f, key, node)))
        return;
    pdk_strv_fini(&task->select);
    task->select = (struct pdk_strv)PDK_STRV_INIT;
    if (f->fallback)
        select_words(f, node->text, task);
    else if (node->len == 0)
        pdk_fill_fault(f, node, "is empty");
    for (size_t i = 0; i < node->len; i++)
        select_entry(f, key, node->items[i], task);
    if (!pdk_strv_has(&task->select, "index"))
        pdk_strv_add(&task->select, "index"); /* so that the order is total */
    f->oom |= task->select.failed;
}
