#include "orchestrator/cli/statistics.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "verify/stats.h"

enum { K_MAX = 10, PAIRS_MAX = 4096 };

struct counts {
    size_t all, passed, failed, abstained, censored;
};

static bool has_verdict(const struct pdk_json *c, const char *verdict)
{
    return pdk_streq(pdk_json_get_str(c, "verdict", NULL), verdict);
}

static bool is_censored(const struct pdk_json *c)
{
    const char *reason = pdk_json_get_str(c, "reason", "");

    return pdk_streq(reason, "censored") || pdk_streq(reason, "canceled") ||
            !pdk_json_get_str(c, "verdict", NULL);
}

static struct counts count(const struct pdk_json *candidates)
{
    struct counts n = { .all = pdk_json_len(candidates) };

    for (size_t i = 0; i < n.all; i++) {
        const struct pdk_json *c = pdk_json_at(candidates, i);

        n.passed += has_verdict(c, "pass");
        n.failed += has_verdict(c, "fail");
        n.censored += is_censored(c);
        n.abstained += has_verdict(c, "abstain") && !is_censored(c);
    }
    return n;
}

/* A mission's document is its task. */
static size_t tasks_len(const struct pdk_json *doc)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");

    return tasks ? pdk_json_len(tasks) : 1;
}

static const struct pdk_json *candidates_of(const struct pdk_json *doc, size_t task)
{
    const struct pdk_json *tasks = pdk_json_get(doc, "tasks");

    return pdk_json_get(tasks ? pdk_json_at(tasks, task) : doc, "candidates");
}

static struct pdk_json *interval_json(bool defined, const struct pdk_interval *i)
{
    struct pdk_json *v;

    if (!defined)
        return pdk_json_null();
    v = pdk_json_object();
    (void)pdk_json_set(v, "low", pdk_json_real(i->low)); /* pdk_json_ok() tells for all */
    (void)pdk_json_set(v, "high", pdk_json_real(i->high));
    return v;
}

/* ---- pass@k and pass^k: means over tasks that were tried often enough, all of them */

static bool mean_over_tasks(
        const struct pdk_json *doc, size_t k, double *any, double *all)
{
    size_t tasks = tasks_len(doc);

    *any = *all = 0;
    for (size_t i = 0; i < tasks; i++) {
        struct counts n = count(candidates_of(doc, i));
        double one = 0, every = 0;

        if (n.censored > 0 ||
                !pdk_stats_pass_at(n.passed + n.failed, n.passed, k, &one) ||
                !pdk_stats_pass_all(n.passed + n.failed, n.passed, k, &every))
            return false;
        *any += one / (double)tasks;
        *all += every / (double)tasks;
    }
    return tasks > 0;
}

static struct pdk_json *pass_json(const struct pdk_json *doc)
{
    struct pdk_json *list = pdk_json_array();
    double any = 0, all = 0;

    for (size_t k = 1; k <= K_MAX && mean_over_tasks(doc, k, &any, &all); k++) {
        struct pdk_json *v = pdk_json_object();

        (void)pdk_json_set_int(v, "k", (int64_t)k);
        (void)pdk_json_set(v, "any", pdk_json_real(any));
        (void)pdk_json_set(v, "all", pdk_json_real(all));
        (void)pdk_json_append(list, v);
    }
    return list;
}

static struct pdk_json *clustered_json(const struct pdk_json *doc)
{
    size_t tasks = tasks_len(doc);
    struct pdk_cluster *clusters = calloc(tasks + 1, sizeof(*clusters));
    struct pdk_interval i = { 0, 0 };
    struct pdk_json *v;
    double rate = 0;
    bool defined;

    for (size_t t = 0; clusters && t < tasks; t++) {
        struct counts n = count(candidates_of(doc, t));

        clusters[t] = (struct pdk_cluster){ n.passed + n.failed, n.passed };
    }
    defined = clusters && pdk_stats_clustered(clusters, tasks, &rate, &i);
    v = interval_json(defined, &i);
    if (defined)
        (void)pdk_json_set(v, "rate", pdk_json_real(rate));
    free(clusters);
    return v;
}

/* ---- arms of a matrix: candidates that differ in one axis alone, in the order of their numbers */

struct arms {
    const struct pdk_json *doc;
    const char *axis, *a, *b;
    struct pdk_pair_of_tries pairs[PAIRS_MAX];
    size_t len;
};

static const char *value_of(const struct pdk_json *c, const char *axis)
{
    return pdk_json_get_str(pdk_json_get(c, "matrix"), axis, NULL);
}

struct same {
    const struct pdk_json *other;
    const char *axis;
};

static int differs(const char *key, struct pdk_json *value, void *user)
{
    const struct same *s = user;

    return strcmp(key, s->axis) != 0 &&
            !pdk_streq(pdk_json_text(value, NULL), pdk_json_get_str(s->other, key, NULL));
}

static bool like(const struct pdk_json *a, const struct pdk_json *b, const char *axis)
{
    struct same s = { pdk_json_get(b, "matrix"), axis };

    return pdk_json_each(pdk_json_get(a, "matrix"), differs, &s) == 0;
}

/* How many candidates before `at` have all of its values. */
static size_t rank_of(const struct pdk_json *all, size_t at)
{
    size_t n = 0;

    for (size_t i = 0; i < at; i++)
        n += like(pdk_json_at(all, at), pdk_json_at(all, i), "");
    return n;
}

static bool is_try(const struct pdk_json *c)
{
    return has_verdict(c, "pass") || has_verdict(c, "fail");
}

static void pair_up(struct arms *arms, const struct pdk_json *all)
{
    for (size_t i = 0; i < pdk_json_len(all); i++) {
        const struct pdk_json *a = pdk_json_at(all, i);

        for (size_t j = 0; pdk_streq(value_of(a, arms->axis), arms->a) && is_try(a) &&
                j < pdk_json_len(all);
                j++) {
            const struct pdk_json *b = pdk_json_at(all, j);

            if (arms->len < PAIRS_MAX && is_try(b) &&
                    pdk_streq(value_of(b, arms->axis), arms->b) &&
                    like(a, b, arms->axis) && rank_of(all, i) == rank_of(all, j))
                arms->pairs[arms->len++] =
                        (struct pdk_pair_of_tries){ has_verdict(a, "pass"),
                            has_verdict(b, "pass") };
        }
    }
}

static void compare_arms(struct arms *arms, struct pdk_json *list)
{
    struct pdk_paired result = { 0 };
    struct pdk_json *v;

    arms->len = 0;
    for (size_t t = 0; t < tasks_len(arms->doc); t++)
        pair_up(arms, candidates_of(arms->doc, t));
    if (!pdk_stats_paired(arms->pairs, arms->len, &result))
        return;
    v = pdk_json_object();
    (void)pdk_json_set_str(v, "axis", arms->axis);
    (void)pdk_json_set_str(v, "a", arms->a);
    (void)pdk_json_set_str(v, "b", arms->b);
    (void)pdk_json_set_int(v, "pairs", (int64_t)result.pairs);
    (void)pdk_json_set_int(v, "only_a", (int64_t)result.only_a);
    (void)pdk_json_set_int(v, "only_b", (int64_t)result.only_b);
    (void)pdk_json_set(v, "difference", pdk_json_real(result.difference));
    (void)pdk_json_set(v, "p", pdk_json_real(result.p));
    (void)pdk_json_append(list, v);
}

/* The values of an axis, each once, in the order of candidates. */
static void read_values(
        const struct pdk_json *doc, const char *axis, struct pdk_strv *out)
{
    for (size_t t = 0; t < tasks_len(doc); t++) {
        const struct pdk_json *all = candidates_of(doc, t);

        for (size_t i = 0; i < pdk_json_len(all); i++) {
            const char *value = value_of(pdk_json_at(all, i), axis);

            if (value && !pdk_strv_has(out, value))
                pdk_strv_add(out, value);
        }
    }
}

struct axes {
    struct arms *arms;
    struct pdk_json *list;
};

static int compare_axis(const char *axis, struct pdk_json *value, void *user)
{
    PDK_AUTO_STRV struct pdk_strv values = PDK_STRV_INIT;
    struct axes *axes = user;

    (void)value;
    axes->arms->axis = axis;
    read_values(axes->arms->doc, axis, &values);
    for (size_t i = 0; i < values.len; i++) {
        for (size_t j = i + 1; j < values.len; j++) {
            axes->arms->a = values.items[i];
            axes->arms->b = values.items[j];
            compare_arms(axes->arms, axes->list);
        }
    }
    return 0;
}

static struct pdk_json *arms_json(const struct pdk_json *doc)
{
    PDK_AUTO_FREE struct arms *arms = calloc(1, sizeof(*arms));
    struct pdk_json *list = pdk_json_array();
    struct axes axes = { arms, list };

    if (!arms)
        return list;
    arms->doc = doc;
    for (size_t t = 0; t < tasks_len(doc) && t < 1; t++)
        (void)pdk_json_each(pdk_json_get(pdk_json_at(candidates_of(doc, t), 0), "matrix"),
                compare_axis, &axes);
    return list;
}

/* ---- how far candidates that passed made the same tree */

static size_t alike(const struct pdk_json *all, size_t at, bool *first)
{
    const char *tree = pdk_json_get_str(pdk_json_at(all, at), "tree", "");
    size_t n = 0;

    *first = true;
    for (size_t i = 0; i < pdk_json_len(all); i++) {
        const struct pdk_json *c = pdk_json_at(all, i);

        if (!has_verdict(c, "pass") ||
                !pdk_streq(pdk_json_get_str(c, "tree", NULL), tree))
            continue;
        *first = *first && i >= at;
        n++;
    }
    return n;
}

static struct pdk_json *agreement_json(const struct pdk_json *doc)
{
    struct pdk_json *v = pdk_json_object();
    size_t groups = 0, largest = 0;

    for (size_t t = 0; t < tasks_len(doc); t++) {
        const struct pdk_json *all = candidates_of(doc, t);

        for (size_t i = 0; i < pdk_json_len(all); i++) {
            bool first = false;
            size_t n =
                    has_verdict(pdk_json_at(all, i), "pass") ? alike(all, i, &first) : 0;

            groups += n > 0 && first;
            largest = n > largest ? n : largest;
        }
    }
    (void)pdk_json_set_int(v, "groups", (int64_t)groups);
    (void)pdk_json_set_int(v, "largest", (int64_t)largest);
    (void)pdk_json_set_bool(v, "agrees", largest >= 2); /* one alone agrees with nobody */
    return v;
}

/* ---- the whole */

struct pdk_json *pdk_statistics(const struct pdk_json *doc)
{
    struct pdk_json *v = pdk_json_object();
    struct pdk_interval i = { 0, 0 };
    struct counts sum = { 0 };

    for (size_t t = 0; t < tasks_len(doc); t++) {
        struct counts n = count(candidates_of(doc, t));

        sum.all += n.all;
        sum.passed += n.passed;
        sum.failed += n.failed;
        sum.abstained += n.abstained;
        sum.censored += n.censored;
    }
    (void)pdk_json_set_int(v, "candidates", (int64_t)sum.all);
    (void)pdk_json_set_int(v, "passed", (int64_t)sum.passed);
    (void)pdk_json_set_int(v, "failed", (int64_t)sum.failed);
    (void)pdk_json_set_int(v, "abstained", (int64_t)sum.abstained);
    (void)pdk_json_set_int(v, "censored", (int64_t)sum.censored);
    bool bounded =
            pdk_stats_bounds(sum.passed, sum.failed, sum.abstained + sum.censored, &i);
    (void)pdk_json_set(v, "bounds", interval_json(bounded, &i));
    /* One that stopped early is no sample of so many tries. */
    bool sampled = sum.censored == 0 &&
            pdk_stats_wilson(sum.passed + sum.failed, sum.passed, &i);
    (void)pdk_json_set(v, "wilson", interval_json(sampled, &i));
    (void)pdk_json_set(v, "pass_at", pass_json(doc));
    (void)pdk_json_set(
            v, "clustered", sum.censored ? pdk_json_null() : clustered_json(doc));
    (void)pdk_json_set(v, "arms", arms_json(doc));
    (void)pdk_json_set(v, "agreement", agreement_json(doc));
    return v;
}

static void add_interval(
        struct pdk_buf *out, const char *name, const struct pdk_json *interval)
{
    if (pdk_json_type(interval) == PDK_JSON_OBJECT)
        pdk_buf_addf(out, "  %s: %.3f to %.3f\n", name,
                pdk_json_get_real(interval, "low", 0),
                pdk_json_get_real(interval, "high", 0));
}

void pdk_statistics_text(const struct pdk_json *s, struct pdk_buf *out)
{
    const struct pdk_json *passes = pdk_json_get(s, "pass_at");
    const struct pdk_json *arms = pdk_json_get(s, "arms");

    if (pdk_json_get_int(s, "candidates", 0) < 2)
        return;
    pdk_buf_addf(out,
            "of %lld: %lld passed, %lld failed, %lld abstained, %lld censored\n",
            (long long)pdk_json_get_int(s, "candidates", 0),
            (long long)pdk_json_get_int(s, "passed", 0),
            (long long)pdk_json_get_int(s, "failed", 0),
            (long long)pdk_json_get_int(s, "abstained", 0),
            (long long)pdk_json_get_int(s, "censored", 0));
    for (size_t i = 0; i < pdk_json_len(passes); i++) {
        const struct pdk_json *one = pdk_json_at(passes, i);
        long long k = (long long)pdk_json_get_int(one, "k", 0);

        pdk_buf_addf(out, "  pass@%lld %.3f  pass^%lld %.3f\n", k,
                pdk_json_get_real(one, "any", 0), k, pdk_json_get_real(one, "all", 0));
    }
    add_interval(out, "95 % (Wilson)", pdk_json_get(s, "wilson"));
    add_interval(out, "95 % (clustered by task)", pdk_json_get(s, "clustered"));
    add_interval(out, "with abstentions either way", pdk_json_get(s, "bounds"));
    for (size_t i = 0; i < pdk_json_len(arms); i++) {
        const struct pdk_json *arm = pdk_json_at(arms, i);

        pdk_buf_addf(out, "  %s: %s less %s %+.3f over %lld pairs, p %.3f\n",
                pdk_json_get_str(arm, "axis", ""), pdk_json_get_str(arm, "a", ""),
                pdk_json_get_str(arm, "b", ""), pdk_json_get_real(arm, "difference", 0),
                (long long)pdk_json_get_int(arm, "pairs", 0),
                pdk_json_get_real(arm, "p", 1));
    }
}
