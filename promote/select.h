/*
 * Choosing the winner among candidates by a total order. Pure and deterministic: the same summaries
 * give the same winner, in whatever order they finished.
 *
 * A candidate that did not pass never wins; one whose tree is unchanged wins only with allow_empty.
 */
#ifndef PDK_PROMOTE_SELECT_H
#define PDK_PROMOTE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pdk_err;
struct pdk_strv;

struct pdk_select_candidate {
    int index; /* 1…, unique */
    bool passed, changed, allow_empty;
    int64_t files, lines; /* how much it changed */
    bool has_score, has_cost;
    double score; /* more is better */
    double cost;  /* less is better */
    /*
     * What votes are counted by: candidates that passed with the same tree, the same diff but for
     * blanks, the same output of their checks. Borrowed; NULL: no votes.
     */
    const char *tree, *diff, *output;
    int judged; /* comparisons by the judge: won less lost */
};

enum pdk_select_none {
    PDK_SELECT_FOUND,
    PDK_SELECT_NO_CANDIDATE_PASSED,
    PDK_SELECT_ALL_UNCHANGED /* those that passed changed nothing */
};

struct pdk_selection {
    int winner; /* index; 0: none */
    enum pdk_select_none none;
    const char *decided_by; /* a criterion's name; NULL without a winner. Static */
    int *ranking;           /* len indices, best first; owned */
    size_t len;
};

void pdk_selection_fini(struct pdk_selection *selection);

/*
 * order: names from the mission's `select`, in turn; `index` decides where they do not. One without a
 * score or a cost comes after those with one. A name that is none is PDK_EINVAL.
 */
int pdk_select(const struct pdk_strv *order,
        const struct pdk_select_candidate *candidates, size_t n,
        struct pdk_selection *out, struct pdk_err *err);

#endif
