#include "promote/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"

enum { BY_TREE, BY_DIFF, BY_OUTPUT, VOTES };

/* A candidate, and how many that passed agree with it. */
struct entry {
    const struct pdk_select_candidate *c;
    int votes[VOTES];
};

/* Below 0: a is better. */
typedef int (*comparison)(const struct entry *a, const struct entry *b);

static bool eligible(const struct pdk_select_candidate *c)
{
    return c->passed && (c->changed || c->allow_empty);
}

static int by_verdict(const struct entry *a, const struct entry *b)
{
    return eligible(b->c) - eligible(a->c);
}

static int by_size(const struct entry *a, const struct entry *b)
{
    if (a->c->lines != b->c->lines)
        return a->c->lines < b->c->lines ? -1 : 1;
    return (a->c->files > b->c->files) - (a->c->files < b->c->files);
}

static int by_index(const struct entry *a, const struct entry *b)
{
    return (a->c->index > b->c->index) - (a->c->index < b->c->index);
}

static int by_score(const struct entry *a, const struct entry *b)
{
    if (!a->c->has_score || !b->c->has_score)
        return b->c->has_score - a->c->has_score;
    return (a->c->score < b->c->score) - (a->c->score > b->c->score);
}

static int by_cost(const struct entry *a, const struct entry *b)
{
    if (!a->c->has_cost || !b->c->has_cost)
        return b->c->has_cost - a->c->has_cost;
    return (a->c->cost > b->c->cost) - (a->c->cost < b->c->cost);
}

static int by_trees(const struct entry *a, const struct entry *b)
{
    return b->votes[BY_TREE] - a->votes[BY_TREE];
}

static int by_diffs(const struct entry *a, const struct entry *b)
{
    return b->votes[BY_DIFF] - a->votes[BY_DIFF];
}

static int by_outputs(const struct entry *a, const struct entry *b)
{
    return b->votes[BY_OUTPUT] - a->votes[BY_OUTPUT];
}

static int by_judge(const struct entry *a, const struct entry *b)
{
    return b->c->judged - a->c->judged;
}

struct criterion {
    const char *name;
    comparison compare;
};

static const struct criterion criteria[] = {
    { "verdict", by_verdict },
    { "smaller-diff", by_size },
    { "index", by_index },
    { "score", by_score },
    { "votes", by_diffs },
    { "votes:tree", by_trees },
    { "votes:output", by_outputs },
    { "judge", by_judge },
    { "cost", by_cost },
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
        out->items[out->len++] = c;
    }
    out->items[out->len++] = &criteria[2];
    return 0;
}

/* The comparison of two, and which criterion made the difference. */
static int compare(const struct order *order, const struct entry *a,
        const struct entry *b, const char **decided_by)
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
static void rank(const struct order *order, struct entry *sorted, size_t n)
{
    const char *ignored;

    for (size_t i = 1; i < n; i++) {
        for (size_t j = i;
                j > 0 && compare(order, &sorted[j], &sorted[j - 1], &ignored) < 0; j--) {
            struct entry other = sorted[j];

            sorted[j] = sorted[j - 1];
            sorted[j - 1] = other;
        }
    }
}

static const char *vote(const struct pdk_select_candidate *c, size_t by)
{
    const char *const keys[VOTES] = { c->tree, c->diff, c->output };

    return keys[by];
}

static void count_votes(struct entry *entries, size_t n)
{
    for (size_t by = 0; by < VOTES; by++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; vote(entries[i].c, by) && j < n; j++)
                entries[i].votes[by] += eligible(entries[j].c) &&
                        pdk_streq(vote(entries[i].c, by), vote(entries[j].c, by));
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
    PDK_AUTO_FREE struct entry *sorted = calloc(n + 1, sizeof(*sorted));
    PDK_AUTO_FREE int *ranking = calloc(n + 1, sizeof(*ranking));
    struct order order = { .len = 0 };

    if (!sorted || !ranking)
        return pdk_fail_nomem(err);
    if (make_order(order_names, &order, err) < 0)
        return err ? err->code : PDK_EINVAL;
    for (size_t i = 0; i < n; i++)
        sorted[i].c = &candidates[i];
    count_votes(sorted, n);
    rank(&order, sorted, n);
    for (size_t i = 0; i < n; i++)
        ranking[i] = sorted[i].c->index;
    *out = (struct pdk_selection){ .none = why_none(candidates, n), .len = n };
    if (n > 0 && eligible(sorted[0].c)) {
        out->winner = sorted[0].c->index;
        out->none = PDK_SELECT_FOUND;
        out->decided_by = "verdict"; /* the only one there is */
        if (n > 1)
            (void)compare(&order, &sorted[0], &sorted[1], &out->decided_by);
    }
    out->ranking = pdk_take_ptr(&ranking);
    return 0;
}
