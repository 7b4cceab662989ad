/*
 * Numbers about candidates that were tried. Pure; no clock, no chance. Where a number is not defined
 * the functions say so (false) rather than give one.
 *
 * n tries of which c passed. Tries that abstained or were censored are no tries: callers leave them
 * out, and show with pdk_stats_bounds() what they could have been.
 */
#ifndef PDK_VERIFY_STATS_H
#define PDK_VERIFY_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct pdk_interval {
    double low, high;
};

/*
 * That at least one of k drawn without replacement from n passed: 1 - C(n-c, k) / C(n, k), the unbiased
 * estimator of pass@k. Undefined for k < 1, k > n, c > n.
 */
bool pdk_stats_pass_at(size_t n, size_t c, size_t k, double *out);
/* That all of k so drawn passed: C(c, k) / C(n, k), unbiased for pass^k. Undefined likewise. */
bool pdk_stats_pass_all(size_t n, size_t c, size_t k, double *out);

/* Wilson's 95 % interval of a proportion, without continuity correction. Undefined for n = 0, c > n. */
bool pdk_stats_wilson(size_t n, size_t c, struct pdk_interval *out);

/* The tries of one task: its candidates stand or fall together more than others do. */
struct pdk_cluster {
    size_t n, passed;
};

/*
 * The proportion over all tries and its 95 % interval by the clustered standard error
 * (sqrt of the sum over tasks of the squared sum of residuals, over N), with Student's t for as many
 * degrees of freedom as there are tasks less one; cut at 0 and 1. Undefined for fewer than 2 tasks
 * with tries.
 */
bool pdk_stats_clustered(const struct pdk_cluster *clusters, size_t len, double *mean,
        struct pdk_interval *out);

/* One pair of tries that differ in one arm alone. */
struct pdk_pair_of_tries {
    bool a, b; /* passed */
};

struct pdk_paired {
    size_t pairs, only_a, only_b;
    double difference; /* of the proportions, a less b */
    double p; /* exact two-sided sign test on those that differ (McNemar); 1 for none */
};

/* Undefined without pairs. */
bool pdk_stats_paired(
        const struct pdk_pair_of_tries *pairs, size_t len, struct pdk_paired *out);

/* The proportion where all that abstained had failed, or had passed. Undefined for none at all. */
bool pdk_stats_bounds(
        size_t passed, size_t failed, size_t abstained, struct pdk_interval *out);

#endif
