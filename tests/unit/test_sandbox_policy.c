/* Whose mode holds, what a request for more comes to, and the closed lists of names. */
#include <check.h>
#include <string.h>

#include "base/error.h"
#include "sandbox/confine/confine.h"
#include "sandbox/policy.h"
#include "tests/support/fixture.h"

#define FULL PDK_CONFINE_NONE
#define WORK PDK_CONFINE_WORKSPACE
#define READ PDK_CONFINE_READ_ONLY

/* Approval over session over default, at all values of the three. */
START_TEST(an_approval_goes_before_the_session_and_that_before_the_default)
{
    enum pdk_confine approved = (enum pdk_confine)(_i % 3),
                     session = (enum pdk_confine)(_i / 3 % 3),
                     fallback = (enum pdk_confine)(_i / 9);
    struct pdk_mode_inputs in = { &approved, &session, fallback };

    ck_assert_int_eq((int)pdk_mode_effective(&in), (int)approved);
    in.approved = NULL;
    ck_assert_int_eq((int)pdk_mode_effective(&in), (int)session);
    in.session = NULL;
    ck_assert_int_eq((int)pdk_mode_effective(&in), (int)fallback);
}
END_TEST

static const struct request {
    const char *permissions, *justification;
    enum pdk_confine base;
    enum pdk_approval approval;
    int rc;
    enum pdk_ask ask;
} requests[] = {
    { NULL, NULL, READ, PDK_APPROVAL_ASK, 0, PDK_ASK_NOBODY },
    { NULL, NULL, READ, PDK_APPROVAL_NEVER, 0, PDK_ASK_NOBODY },
    { "workspace-write", "why", READ, PDK_APPROVAL_ASK, 0, PDK_ASK_APPROVER },
    { "danger-full-access", "why", READ, PDK_APPROVAL_ASK, 0, PDK_ASK_APPROVER },
    { "danger-full-access", "why", WORK, PDK_APPROVAL_ASK, 0, PDK_ASK_APPROVER },
    { "danger-full-access", "why", WORK, PDK_APPROVAL_NEVER, 0, PDK_ASK_REFUSED },
    { "read-only", "why", READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "workspace-write", "why", WORK, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "read-only", "why", WORK, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "danger-full-access", "why", FULL, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "read-only", "why", WORK, PDK_APPROVAL_NEVER, PDK_EINVAL, PDK_ASK_NOBODY },
    { "workspace-write", NULL, READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { NULL, "why", READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "workspace-write", "", READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "workspace-write", " \t\n", READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
    { "everything", "why", READ, PDK_APPROVAL_ASK, PDK_EINVAL, PDK_ASK_NOBODY },
};

enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

START_TEST(a_request_asks_or_is_wrong_or_is_refused_unasked)
{
    const struct request *r = &requests[_i];
    struct pdk_escalation asked = { r->permissions, r->justification };
    struct pdk_err err = PDK_ERR_INIT;
    enum pdk_confine wanted = READ;
    enum pdk_ask ask = PDK_ASK_NOBODY;

    ck_assert_int_eq(
            pdk_escalation_plan(&asked, r->base, r->approval, &wanted, &ask, &err),
            r->rc);
    ck_assert_int_eq((int)ask, (int)r->ask);
    ck_assert(
            ask == PDK_ASK_NOBODY || strcmp(pdk_mode_name(wanted), r->permissions) == 0);
}
END_TEST

START_TEST(decisions_are_four_with_texts_of_their_own)
{
    for (int i = 0; i < PDK_DECISION_COUNT; i++) {
        enum pdk_decision d = (enum pdk_decision)i;

        ck_assert_int_eq((int)pdk_decision_find(pdk_decision_name(d)), i);
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(
                    pdk_decision_text(d), pdk_decision_text((enum pdk_decision)k));
    }
    ck_assert_int_eq((int)pdk_decision_find("yes"), PDK_DECISION_UNAVAILABLE);
    ck_assert_int_eq((int)pdk_decision_find("allowed-once "), PDK_DECISION_UNAVAILABLE);
}
END_TEST

START_TEST(presets_and_approvals_are_found_by_name)
{
    const struct pdk_preset *preset = NULL;
    enum pdk_approval approval;
    struct pdk_err err = PDK_ERR_INIT;

    for (size_t i = 0; i < pdk_preset_count(); i++) {
        ck_assert_int_eq(pdk_preset_find(pdk_preset_at(i)->name, &preset, &err), 0);
        ck_assert_ptr_eq(preset, pdk_preset_at(i));
        ck_assert_ptr_nonnull(pdk_mode_name(preset->mode));
    }
    ck_assert_int_eq(pdk_preset_find("x", &preset, &err), PDK_EINVAL);
    ck_assert_int_eq(pdk_approval_find("ask", &approval, &err), 0);
    ck_assert_int_eq((int)approval, PDK_APPROVAL_ASK);
    ck_assert_int_eq(pdk_approval_find("never", &approval, &err), 0);
    ck_assert_int_eq((int)approval, PDK_APPROVAL_NEVER);
    ck_assert_int_eq(pdk_approval_find("always", &approval, &err), PDK_EINVAL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sandbox: policy");
    TCase *tc = tcase_create("policy");

    tcase_add_loop_test(
            tc, an_approval_goes_before_the_session_and_that_before_the_default, 0, 27);
    tcase_add_loop_test(
            tc, a_request_asks_or_is_wrong_or_is_refused_unasked, 0, REQUESTS);
    tcase_add_test(tc, decisions_are_four_with_texts_of_their_own);
    tcase_add_test(tc, presets_and_approvals_are_found_by_name);
    suite_add_tcase(s, tc);
    return pdk_test_main(s);
}
