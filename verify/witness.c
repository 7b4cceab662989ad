#include "verify/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

void pdk_witness_fini(struct pdk_witness *witness)
{
    for (size_t i = 0; i < witness->len; i++)
        free(witness->checks[i].name);
    free(witness->checks);
    *witness = (struct pdk_witness){ .mode = PDK_WITNESS_SKIP };
}

void pdk_witness_ask(struct pdk_witness *witness, const struct pdk_json *body)
{
    const char *word = pdk_json_get_str(body, "baseline", "skip");

    if (pdk_streq(word, "fail"))
        witness->mode = PDK_WITNESS_FAIL;
    else if (pdk_streq(word, "pass"))
        witness->mode = PDK_WITNESS_PASS;
}

/* A timeout says nothing about the base, whatever it means for a candidate. */
static enum pdk_sight see(const struct pdk_json *check)
{
    const char *reason = pdk_json_get_str(check, "reason", "");
    const char *verdict = pdk_json_get_str(check, "verdict", "");

    if (pdk_streq(verdict, "pass"))
        return PDK_SIGHT_GREEN;
    if (!pdk_streq(verdict, "fail") ||
            pdk_reason_find(reason) == PDK_REASON_CHECK_TIMED_OUT)
        return PDK_SIGHT_NONE;
    return PDK_SIGHT_RED;
}

int pdk_witness_take(
        struct pdk_witness *witness, const struct pdk_json *body, struct pdk_err *err)
{
    const struct pdk_json *checks = pdk_json_get(body, "checks");
    enum pdk_witness_mode mode = witness->mode;

    pdk_witness_fini(witness);
    witness->mode = mode;
    witness->ended = true;
    witness->checks = calloc(pdk_json_len(checks) + 1, sizeof(*witness->checks));
    if (!witness->checks)
        return pdk_fail_nomem(err);
    for (size_t i = 0; i < pdk_json_len(checks); i++) {
        const struct pdk_json *check = pdk_json_at(checks, i);
        struct pdk_base_check *made = &witness->checks[witness->len];

        if (!pdk_streq(pdk_json_get_str(check, "severity", ""), "block"))
            continue;
        made->name = strdup(pdk_json_get_str(check, "name", ""));
        if (!made->name)
            return pdk_fail_nomem(err);
        made->sight = see(check);
        (void)snprintf(made->fingerprint, sizeof(made->fingerprint), "%s",
                pdk_json_get_str(check, "fingerprint", "")); /* 16 digits */
        witness->len++;
    }
    return 0;
}

static const struct pdk_base_check *find(
        const struct pdk_witness *witness, const char *name)
{
    for (size_t i = 0; i < witness->len; i++)
        if (pdk_streq(witness->checks[i].name, name))
            return &witness->checks[i];
    return NULL;
}

bool pdk_witness_compare(const struct pdk_witness *witness, const struct pdk_json *body,
        enum pdk_reason *reason)
{
    const struct pdk_base_check *base = find(witness, pdk_json_get_str(body, "name", ""));
    const char *mark = pdk_json_get_str(body, "fingerprint", "");

    if (witness->mode == PDK_WITNESS_SKIP || !base || base->sight != PDK_SIGHT_RED)
        return false;
    if (pdk_reason_verdict(*reason) == PDK_VERDICT_FAIL) {
        if (*mark && pdk_streq(mark, base->fingerprint))
            *reason = witness->mode == PDK_WITNESS_FAIL ? PDK_REASON_WITNESS_UNSATISFIABLE
                                                        : PDK_REASON_BASELINE_BROKEN;
        return false;
    }
    if (*reason != PDK_REASON_NONE)
        return false;
    if (pdk_json_len(pdk_json_get(pdk_json_get(body, "tests"), "missing")) > 0) {
        *reason = PDK_REASON_TESTS_MISSING;
        return false;
    }
    return true;
}

/* The first check that was seen so, or NULL. */
static const char *first(const struct pdk_witness *witness, enum pdk_sight sight)
{
    for (size_t i = 0; i < witness->len; i++)
        if (witness->checks[i].sight == sight)
            return witness->checks[i].name;
    return NULL;
}

enum pdk_reason pdk_witness_judge(
        const struct pdk_witness *witness, size_t flips, const char **check)
{
    const char *unseen = first(witness, PDK_SIGHT_NONE);
    const char *red = first(witness, PDK_SIGHT_RED);

    *check = "";
    if (witness->mode == PDK_WITNESS_SKIP)
        return PDK_REASON_NONE;
    if (witness->mode == PDK_WITNESS_FAIL && flips > 0)
        return PDK_REASON_NONE;
    if (witness->mode == PDK_WITNESS_PASS && red) {
        *check = red;
        return PDK_REASON_BASELINE_BROKEN;
    }
    if (!witness->ended || unseen || witness->len == 0) {
        *check = unseen ? unseen : "";
        return PDK_REASON_BASELINE_NOT_OBSERVED;
    }
    return witness->mode == PDK_WITNESS_FAIL ? PDK_REASON_NO_FLIP : PDK_REASON_NONE;
}
