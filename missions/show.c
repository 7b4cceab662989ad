/* The resolved plan, as a file would say it: the table read backwards. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "missions/keys.h"
#include "missions/mission.h"
#include "missions/scalar.h"
#include "plan/plan.h"

static struct pdk_json *block_json(
        const struct pdk_block *block, const char *base, const char *task);

static struct pdk_json *list_json(const struct pdk_strv *list)
{
    return pdk_json_strv((const char *const *)list->items, list->len);
}

static struct pdk_json *command_json(const struct pdk_command *command)
{
    return command->shell ? pdk_json_str(command->argv.items[2])
                          : list_json(&command->argv);
}

static struct pdk_json *commands_json(const struct pdk_command *items, size_t len)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < len; i++)
        (void)pdk_json_append(list, command_json(&items[i])); /* pdk_json_ok() tells */
    return list;
}

static struct pdk_json *ints_json(const int *items, size_t len)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < len; i++)
        (void)pdk_json_append(list, pdk_json_int(items[i])); /* pdk_json_ok() tells */
    return list;
}

static struct pdk_json *pairs_json(const struct pdk_pairs *pairs, bool numbers)
{
    struct pdk_json *map = pdk_json_object();

    for (size_t i = 0; i < pairs->len; i++) {
        int64_t value = 0;
        const struct pdk_pair *pair = &pairs->items[i];
        if (numbers && pdk_scalar_int(pair->value, &value) == PDK_SCALAR_OK)
            (void)pdk_json_set_int(map, pair->key, value); /* pdk_json_ok() tells */
        else
            (void)pdk_json_set_str(map, pair->key, pair->value);
    }
    return map;
}

static struct pdk_json *matrix_json(const struct pdk_plan_task *task)
{
    struct pdk_json *map = pdk_json_object();

    assert(task);
    for (size_t i = 0; i < task->axes_len; i++) /* pdk_json_ok() tells */
        (void)pdk_json_set(map, task->axes[i].key, list_json(&task->axes[i].values));
    return map;
}

static struct pdk_json *select_json(const struct pdk_plan_task *task)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < task->select.len; i++) {
        const char *word = task->select.items[i];
        if (strcmp(word, "judge") != 0) {
            (void)pdk_json_append(list, pdk_json_str(word)); /* pdk_json_ok() tells */
            continue;
        }
        struct pdk_json *judge = pdk_json_object();
        struct pdk_json *entry = pdk_json_object();
        (void)pdk_json_set(judge, "run", command_json(&task->judge));
        (void)pdk_json_set(entry, "judge", judge);
        (void)pdk_json_append(list, entry);
    }
    return list;
}

static struct pdk_json *blocks_json(
        const struct pdk_block *block, const char *items, size_t len)
{
    struct pdk_json *list = pdk_json_array();

    for (size_t i = 0; i < len; i++) {
        const char *item = items + i * block->size;
        (void)pdk_json_append(
                list, block_json(block, item, item)); /* pdk_json_ok() tells */
    }
    return list;
}

static struct pdk_json *exit_json(const struct pdk_expect *expect)
{
    assert(expect);
    return expect->has_exit ? pdk_json_int(expect->exit) : pdk_json_str("any");
}

static struct pdk_json *measure_json(const struct pdk_key *key, int64_t value)
{
    char text[32];

    if (value == 0)
        return NULL;
    if (key->type == PDK_KEY_DURATION)
        pdk_scalar_show_duration(value, text);
    else
        pdk_scalar_show_size(value, text);
    return pdk_json_str(text);
}

/* Integers below their bounds, and numbers that are 0, were not given. */
static struct pdk_json *number_json(const struct pdk_key *key, const void *at)
{
    int64_t value = 0;

    if (key->type == PDK_KEY_NUMBER)
        return *(const double *)at > 0 ? pdk_json_real(*(const double *)at) : NULL;
    value = key->type == PDK_KEY_INT ? *(const int *)at : *(const int64_t *)at;
    return value >= key->min ? pdk_json_int(value) : NULL;
}

static struct pdk_json *unless_empty(struct pdk_json *json)
{
    if (pdk_json_len(json) > 0 || pdk_json_type(json) == PDK_JSON_STRING)
        return json;
    pdk_json_free(json);
    return NULL;
}

static size_t count_of(const struct pdk_key *key, const char *base)
{
    const void *at = base + key->count_at;

    return *(const size_t *)at;
}

/* A value of one part; NULL: not given. */
static struct pdk_json *single_json(const struct pdk_key *key, const char *base)
{
    const void *at = base + key->at;

    assert(at); /* base is a plan's part */
    switch ((int)key->type) {
    case PDK_KEY_FIXED:
        return pdk_json_str(key->words[0].text);
    case PDK_KEY_STRING:
    case PDK_KEY_ID:
    case PDK_KEY_WORD:
    case PDK_KEY_BACKEND:
    case PDK_KEY_PATTERN:
        return *(char *const *)at ? pdk_json_str(*(char *const *)at) : NULL;
    case PDK_KEY_ENUM:
        return pdk_json_str(key->words[*(const int *)at].text);
    case PDK_KEY_CHOICE:
        return pdk_json_str(key->words[*(const bool *)at].text);
    case PDK_KEY_BOOL:
        return pdk_json_bool(*(const bool *)at);
    case PDK_KEY_INT:
    case PDK_KEY_LONG:
    case PDK_KEY_NUMBER:
        return number_json(key, at);
    case PDK_KEY_DURATION:
    case PDK_KEY_SIZE:
        return measure_json(key, *(const int64_t *)at);
    case PDK_KEY_EXIT:
        return exit_json((const void *)base);
    }
    return NULL;
}

/* A value of many parts; empty ones come as empty. */
static struct pdk_json *many_json(
        const struct pdk_key *key, const char *base, const char *task)
{
    const void *at = base + key->at;

    assert(at); /* base is a plan's part */
    switch ((int)key->type) {
    case PDK_KEY_COMMAND:
        return command_json(at);
    case PDK_KEY_COMMANDS:
        return commands_json(*(struct pdk_command *const *)at, count_of(key, base));
    case PDK_KEY_STRINGS:
    case PDK_KEY_IDS:
    case PDK_KEY_NAMES:
    case PDK_KEY_PATTERNS:
        return list_json(at);
    case PDK_KEY_INTS:
        return ints_json(*(int *const *)at, count_of(key, base));
    case PDK_KEY_ENV:
    case PDK_KEY_SLOTS:
        return pairs_json(at, key->type == PDK_KEY_SLOTS);
    case PDK_KEY_MATRIX:
        return matrix_json((const void *)base);
    case PDK_KEY_SELECT:
        return select_json((const void *)base);
    case PDK_KEY_OBJECT:
        return block_json(key->block, at, task);
    case PDK_KEY_CHECKS:
    case PDK_KEY_TASKS:
        return blocks_json(key->block, *(char *const *)at, count_of(key, base));
    }
    return pdk_json_object();
}

/* A block whose required keys have no value was not given. */
static bool absent(const struct pdk_block *block, const char *base)
{
    for (size_t i = 0; i < block->len; i++) {
        const void *at = base + block->keys[i].at;
        enum pdk_key_type type = block->keys[i].type;
        if ((block->keys[i].flags & PDK_KEY_REQUIRED) &&
                (type == PDK_KEY_PATTERN || type == PDK_KEY_WORD) && !*(char *const *)at)
            return true;
    }
    return false;
}

static struct pdk_json *block_json(
        const struct pdk_block *block, const char *base, const char *task)
{
    struct pdk_json *map = pdk_json_object();

    if (absent(block, base))
        return map;
    for (size_t i = 0; i < block->len; i++) {
        const struct pdk_key *key = &block->keys[i];
        if (key->flags & PDK_KEY_ALIAS)
            continue;
        const char *from = (key->flags & PDK_KEY_OF_TASK) ? task : base;
        struct pdk_json *value = key->type < PDK_KEY_COMMAND
                ? single_json(key, from)
                : unless_empty(many_json(key, from, task));
        if (value)
            (void)pdk_json_set(map, key->name, value); /* pdk_json_ok() tells */
    }
    return map;
}

struct pdk_json *pdk_plan_json(const struct pdk_plan *plan)
{
    PDK_AUTO_JSON struct pdk_json *made = plan->kind == PDK_PLAN_FLEET
            ? block_json(&pdk_fleet_block, (const void *)plan, NULL)
            : block_json(
                      &pdk_mission_block, (const void *)plan, (const void *)plan->tasks);

    return pdk_json_ok(made, NULL) < 0 ? NULL : pdk_take_ptr(&made);
}

/* ---- the same as text ---- */

struct show {
    struct pdk_buf *out;
    struct pdk_err *err;
    int indent;
    bool inlined; /* the first key stands behind a "- " */
};

static bool plain_fits(const char *text)
{
    bool value;

    return pdk_scalar_id(text) && strcspn(text, "0123456789.") > 0 &&
            !pdk_scalar_null(text) && !pdk_scalar_bool(text, &value) &&
            !pdk_scalar_old_bool(text, &value);
}

static int show_flow(struct show *s, const struct pdk_json *value)
{
    const char *text = pdk_json_text(value, NULL);

    if (text && plain_fits(text)) {
        pdk_buf_adds(s->out, text);
        return 0;
    }
    return pdk_json_write(value, PDK_JSON_COMPACT, s->out, s->err);
}

static void show_indent(struct show *s)
{
    if (!s->inlined)
        pdk_buf_addf(s->out, "%*s", s->indent, "");
    s->inlined = false;
}

static int show_member(const char *key, struct pdk_json *value, void *user);

static bool list_of_maps(const struct pdk_json *value)
{
    return pdk_json_type(value) == PDK_JSON_ARRAY &&
            pdk_json_type(pdk_json_at(value, 0)) == PDK_JSON_OBJECT;
}

static int show_entries(struct show *s, const struct pdk_json *list)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < pdk_json_len(list); i++) {
        pdk_buf_addf(s->out, "%*s- ", s->indent, "");
        s->indent += 2;
        s->inlined = true;
        rc = pdk_json_each(pdk_json_at(list, i), show_member, s);
        s->inlined = false;
        s->indent -= 2;
    }
    return rc;
}

static int show_member(const char *key, struct pdk_json *value, void *user)
{
    struct show *s = user;
    int rc;

    show_indent(s);
    if (plain_fits(key))
        pdk_buf_addf(s->out, "%s:", key);
    else
        pdk_buf_addf(s->out, "\"%s\":", key); /* keys of ours need no escapes */
    if (pdk_json_type(value) != PDK_JSON_OBJECT && !list_of_maps(value)) {
        pdk_buf_addc(s->out, ' ');
        rc = show_flow(s, value);
        pdk_buf_addc(s->out, '\n');
        return rc;
    }
    pdk_buf_addc(s->out, '\n');
    s->indent += 2;
    rc = list_of_maps(value) ? show_entries(s, value)
                             : pdk_json_each(value, show_member, s);
    s->indent -= 2;
    return rc;
}

int pdk_plan_show(const struct pdk_plan *plan, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *json = pdk_plan_json(plan);
    struct show s = { out, err, 0, false };

    if (!json)
        return pdk_fail_nomem(err);
    int rc = pdk_json_each(json, show_member, &s);
    return rc < 0 ? rc : pdk_buf_ok(out, err);
}

int pdk_plan_require_built(const struct pdk_plan *plan, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf list = PDK_BUF_INIT;

    if (plan->unbuilt_len == 0)
        return 0;
    for (size_t i = 0; i < plan->unbuilt_len; i++)
        pdk_buf_addf(&list, "%s%s (%s)", i ? ", " : "", plan->unbuilt[i].key,
                plan->unbuilt[i].where);
    (void)pdk_fail(err, PDK_EUNSUPPORTED, 0, "not built yet: %s", pdk_buf_str(&list));
    return pdk_hint(err,
            "this version reads and checks these keys, but they have no effect; "
            "leave them out");
}
