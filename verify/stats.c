#include "verify/stats.h"

#include <math.h>

static const double z95 = 1.959963984540054;

/* C(m, k) / C(n, k) for m <= n: a product of k factors, none above 1, so that nothing overflows. */
static double ratio(size_t m, size_t n, size_t k)
{
    double product = 1;

    if (m < k)
        return 0;
    for (size_t i = 0; i < k; i++)
        product *= (double)(m - i) / (double)(n - i);
    return product;
}

bool pdk_stats_pass_at(size_t n, size_t c, size_t k, double *out)
{
    if (k < 1 || k > n || c > n)
        return false;
    *out = 1 - ratio(n - c, n, k);
    return true;
}

bool pdk_stats_pass_all(size_t n, size_t c, size_t k, double *out)
{
    if (k < 1 || k > n || c > n)
        return false;
    *out = ratio(c, n, k);
    return true;
}

bool pdk_stats_wilson(size_t n, size_t c, struct pdk_interval *out)
{
    double size = (double)n, p, square = z95 * z95, centre, half;

    if (n == 0 || c > n)
        return false;
    p = (double)c / size;
    centre = (p + square / (2 * size)) / (1 + square / size);
    half = z95 / (1 + square / size) *
            sqrt(p * (1 - p) / size + square / (4 * size * size));
    out->low = c == 0 ? 0 : fmax(0, centre - half);
    out->high = c == n ? 1 : fmin(1, centre + half);
    return true;
}

/* The 0.975 quantile of Student's t. Beyond the table the expansion in 1/df is right to 4 digits. */
static double student(size_t df)
{
    static const double table[] = { 0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
        2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101,
        2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
        2.042 };
    double cube = z95 * z95 * z95;

    if (df < sizeof(table) / sizeof(*table))
        return table[df];
    return z95 + (cube + z95) / (4 * (double)df);
}

bool pdk_stats_clustered(const struct pdk_cluster *clusters, size_t len, double *mean,
        struct pdk_interval *out)
{
    double n = 0, passed = 0, squares = 0, p, half;
    size_t used = 0;

    for (size_t i = 0; i < len; i++) {
        n += (double)clusters[i].n;
        passed += (double)clusters[i].passed;
        used += clusters[i].n > 0;
    }
    if (used < 2)
        return false;
    p = passed / n;
    for (size_t i = 0; i < len; i++) {
        double residual = (double)clusters[i].passed - p * (double)clusters[i].n;

        squares += residual * residual;
    }
    half = student(used - 1) * sqrt(squares) / n;
    *mean = p;
    *out = (struct pdk_interval){ fmax(0, p - half), fmin(1, p + half) };
    return true;
}

/* Two-sided exact binomial with one half: twice the smaller tail, at most 1. */
static double sign_test(size_t a, size_t b)
{
    size_t n = a + b, few = a < b ? a : b;
    double tail = 0;

    for (size_t i = 0; i <= few; i++)
        tail += exp(lgamma((double)n + 1) - lgamma((double)i + 1) -
                lgamma((double)(n - i) + 1) - (double)n * log(2));
    return fmin(1, 2 * tail);
}

bool pdk_stats_paired(
        const struct pdk_pair_of_tries *pairs, size_t len, struct pdk_paired *out)
{
    struct pdk_paired made = { .pairs = len };

    if (len == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        made.only_a += pairs[i].a && !pairs[i].b;
        made.only_b += pairs[i].b && !pairs[i].a;
    }
    made.difference = ((double)made.only_a - (double)made.only_b) / (double)len;
    made.p = sign_test(made.only_a, made.only_b);
    *out = made;
    return true;
}

bool pdk_stats_bounds(
        size_t passed, size_t failed, size_t abstained, struct pdk_interval *out)
{
    size_t all = passed + failed + abstained;

    if (all == 0)
        return false;
    out->low = (double)passed / (double)all;
    out->high = (double)(passed + abstained) / (double)all;
    return true;
}
