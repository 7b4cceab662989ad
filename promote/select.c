#include "promote/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"

/* Below 0: a is better. */
typedef int (*comparison)(
        const struct pdk_select_candidate *a, const struct pdk_select_candidate *b);

static bool eligible(const struct pdk_select_candidate *c)
{
    return c->passed && (c->changed || c->allow_empty);
}

static int by_verdict(
        const struct pdk_select_candidate *a, const struct pdk_select_candidate *b)
{
    return eligible(b) - eligible(a);
}

static int by_size(
        const struct pdk_select_candidate *a, const struct pdk_select_candidate *b)
{
    if (a->lines != b->lines)
        return a->lines < b->lines ? -1 : 1;
    return (a->files > b->files) - (a->files < b->files);
}

static int by_index(
        const struct pdk_select_candidate *a, const struct pdk_select_candidate *b)
{
    return (a->index > b->index) - (a->index < b->index);
}

struct criterion {
    const char *name;
    comparison compare; /* NULL: of a later version */
};

static const struct criterion criteria[] = {
    { "verdict", by_verdict },
    { "smaller-diff", by_size },
    { "index", by_index },
    { "score", NULL },
    { "votes", NULL },
    { "judge", NULL },
    { "cost", NULL },
};

enum { MAX_ORDER = 16 };

struct order {
    const struct criterion *items[MAX_ORDER];
    size_t len;
};

static const struct criterion *find_criterion(const char *name)
{
    for (size_t i = 0; i < sizeof(criteria) / sizeof(criteria[0]); i++)
        if (strcmp(criteria[i].name, name) == 0)
            return &criteria[i];
    return NULL;
}

/* Eligibility comes first and the index last, whatever the mission says between. */
static int make_order(
        const struct pdk_strv *names, struct order *out, struct pdk_err *err)
{
    out->items[out->len++] = &criteria[0];
    for (size_t i = 0; i < names->len && out->len < MAX_ORDER - 1; i++) {
        const struct criterion *c = find_criterion(names->items[i]);

        if (!c)
            return pdk_fail(
                    err, PDK_EINVAL, 0, "unknown criterion '%s'", names->items[i]);
        if (!c->compare)
            return pdk_fail(err, PDK_EUNSUPPORTED, 0,
                    "selection by '%s' is not built yet", c->name);
        out->items[out->len++] = c;
    }
    out->items[out->len++] = &criteria[2];
    return 0;
}

/* The comparison of two, and which criterion made the difference. */
static int compare(const struct order *order, const struct pdk_select_candidate *a,
        const struct pdk_select_candidate *b, const char **decided_by)
{
    for (size_t i = 0; i < order->len; i++) {
        int rc = order->items[i]->compare(a, b);

        if (rc == 0)
            continue;
        *decided_by = order->items[i]->name;
        return rc;
    }
    return 0;
}

/* Insertion sort: few candidates, and the order must not depend on a library's. */
static void rank(
        const struct order *order, const struct pdk_select_candidate **sorted, size_t n)
{
    const char *ignored;

    for (size_t i = 1; i < n; i++) {
        for (size_t j = i;
                j > 0 && compare(order, sorted[j], sorted[j - 1], &ignored) < 0; j--) {
            const struct pdk_select_candidate *other = sorted[j];

            sorted[j] = sorted[j - 1];
            sorted[j - 1] = other;
        }
    }
}

void pdk_selection_fini(struct pdk_selection *selection)
{
    free(selection->ranking);
    selection->ranking = NULL;
    selection->len = 0;
}

static enum pdk_select_none why_none(
        const struct pdk_select_candidate *candidates, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (candidates[i].passed)
            return PDK_SELECT_ALL_UNCHANGED;
    return PDK_SELECT_NO_CANDIDATE_PASSED;
}

int pdk_select(const struct pdk_strv *order_names,
        const struct pdk_select_candidate *candidates, size_t n,
        struct pdk_selection *out, struct pdk_err *err)
{
    PDK_AUTO_FREE const struct pdk_select_candidate **sorted = calloc(
            n + 1, sizeof(*sorted)); /* NOLINT(bugprone-sizeof-expression): of pointers */
    PDK_AUTO_FREE int *ranking = calloc(n + 1, sizeof(*ranking));
    struct order order = { .len = 0 };

    if (!sorted || !ranking)
        return pdk_fail_nomem(err);
    if (make_order(order_names, &order, err) < 0)
        return err ? err->code : PDK_EINVAL;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &candidates[i];
    rank(&order, sorted, n);
    for (size_t i = 0; i < n; i++)
        ranking[i] = sorted[i]->index;
    *out = (struct pdk_selection){ .none = why_none(candidates, n), .len = n };
    if (n > 0 && eligible(sorted[0])) {
        out->winner = sorted[0]->index;
        out->none = PDK_SELECT_FOUND;
        out->decided_by = "verdict"; /* the only one there is */
        if (n > 1)
            (void)compare(&order, sorted[0], sorted[1], &out->decided_by);
    }
    out->ranking = pdk_take_ptr(&ranking);
    return 0;
}
