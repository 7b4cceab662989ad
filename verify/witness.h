/* What a task's checks say of its base, and what follows for a candidate. Pure. verify's own. */
#ifndef PDK_VERIFY_WITNESS_H
#define PDK_VERIFY_WITNESS_H

#include <stdbool.h>
#include <stddef.h>

#include "verify/verdict.h"

struct pdk_err;
struct pdk_json;

enum pdk_sight { PDK_SIGHT_NONE, PDK_SIGHT_GREEN, PDK_SIGHT_RED };

struct pdk_base_check {
    char *name;
    enum pdk_sight sight;
    char fingerprint[17]; /* of a failure; "": unknown */
};

enum pdk_witness_mode { PDK_WITNESS_SKIP, PDK_WITNESS_PASS, PDK_WITNESS_FAIL };

/* Zeros: nothing asked, nothing seen. */
struct pdk_witness {
    enum pdk_witness_mode mode;
    bool ended;
    struct pdk_base_check *checks; /* blocking ones */
    size_t len;
};

void pdk_witness_fini(struct pdk_witness *witness);
/* Takes the `baseline` of a task.planned body; unknown words count as skip. */
void pdk_witness_ask(struct pdk_witness *witness, const struct pdk_json *body);
/* Takes the body of a baseline.ended. A timeout or what could not start is no sight. PDK_ENOMEM. */
int pdk_witness_take(
        struct pdk_witness *witness, const struct pdk_json *body, struct pdk_err *err);

/*
 * What a blocking check's record (check.ended) of a candidate means before that base: *reason is
 * changed from the check's own where its verdict does not stand. True: it is a flip.
 */
bool pdk_witness_compare(const struct pdk_witness *witness, const struct pdk_json *body,
        enum pdk_reason *reason);
/* Of a candidate that would pass, with so many flips: NONE, or why it does not. */
enum pdk_reason pdk_witness_judge(
        const struct pdk_witness *witness, size_t flips, const char **check);

#endif
