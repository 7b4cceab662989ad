/* Which patches vote for the same result. */
#include <check.h>
#include <string.h>

#include "promote/votes.h"
#include "tests/support/fixture.h"

#define HEAD(file)                                                                       \
    "diff --git a/" file " b/" file "\nindex 1..2 100644\n--- a/" file "\n+++ b/" file   \
    "\n"

static const struct {
    const char *a, *b;
    bool equal;
} table[] = {
    { "", "", true },
    { HEAD("f") "@@ -1 +1 @@\n-one\n+two\n", HEAD("f") "@@ -1 +1 @@\n-one\n+two\n",
            true },
    { HEAD("f") "@@ -1 +1 @@\n-one\n+two\n",
            HEAD("f") "@@ -9,2 +9 @@\n x\n-one\n+\ttwo \n+\n", true },
    { HEAD("f") "@@ -1 +1 @@\n-one\n+two\n", HEAD("g") "@@ -1 +1 @@\n-one\n+two\n",
            false },
    { HEAD("f") "@@ -1 +1 @@\n-one\n+two\n", HEAD("f") "@@ -1 +1 @@\n-one\n+three\n",
            false },
    { HEAD("f") "@@ -1 +1 @@\n-one\n+two\n", HEAD("f") "@@ -1 +1 @@\n+two\n-one\n",
            false },
    { "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "diff --git a/f b/f\n",
            false },
    { HEAD("b") "GIT binary patch\nliteral 1\nIc\n\n",
            HEAD("b") "GIT binary patch\nliteral 1\nId\n\n", false },
};

START_TEST(equal_but_for_blanks_and_places)
{
    char a[65], b[65];

    ck_assert_int_eq(pdk_votes_digest(table[_i].a, strlen(table[_i].a), a, NULL), 0);
    ck_assert_int_eq(pdk_votes_digest(table[_i].b, strlen(table[_i].b), b, NULL), 0);
    ck_assert_int_eq(strcmp(a, b) == 0, table[_i].equal);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("promote_votes");
    TCase *tc = tcase_create("votes");

    tcase_add_loop_test(tc, equal_but_for_blanks_and_places, 0,
            (int)(sizeof(table) / sizeof(*table)));
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
