/* What copy-on-write sandboxes take on disk: what changed in them, whatever the size of the tree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/world.h"

enum { SANDBOXES = 20, FILES = 500 /* of 8 KiB */, KIB_EACH = 160 };

static struct pdk_test_world world;
static struct pdk_err err;

static void setup(void)
{
    pdk_test_dir_setup();
    err = (struct pdk_err)PDK_ERR_INIT;
    pdk_test_world_open(&world);
    free(pdk_test_sh(world.user,
            "mkdir many; head -c 8192 /dev/urandom > many/0; "
            "for i in $(seq %d); do cp many/0 many/$i; done; git add many; git commit -qm many",
            FILES));
    ck_assert_int_eq(pdk_repo_resolve(world.repo, "HEAD", &world.base, &err), 0);
}

static void teardown(void)
{
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

static int kib_of(const char *name)
{
    PDK_AUTO_FREE char *out = pdk_test_sh(world.state, "du -sxk %s | cut -f1", name);

    return atoi(out);
}

START_TEST(many_copies_take_what_changed)
{
    const struct pdk_backend *be = NULL;
    struct pdk_sandbox *made[SANDBOXES];
    int before, tree;

    pdk_test_ok(pdk_backend_find("overlay", &be, &err), &err);
    if (!pdk_test_world_can(&world, be))
        return;
    for (int i = 0; i < SANDBOXES; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "a%d", i);
        made[i] = pdk_test_world_make(&world, be, id);
    }
    /* What ten changed files leave in an upper layer, whoever can see the mount. */
    before = kib_of("sandboxes");
    tree = kib_of("templates");
    ck_assert_int_gt(tree, (intmax_t)FILES * 8);
    ck_assert_msg(before <= SANDBOXES * (KIB_EACH - 80), "%d KiB", before);
    for (int i = 0; i < SANDBOXES; i++)
        free(pdk_test_sh(pdk_sandbox_get_record(made[i])->dir,
                "if test -e tree/many/1; then cd tree; else mkdir -p upper/many; cd upper; fi;"
                " for i in 1 2 3 4 5 6 7 8 9 10; do echo changed > many/$i; done"));
    ck_assert_msg(kib_of("sandboxes") <= SANDBOXES * KIB_EACH, "%d KiB after %d",
            kib_of("sandboxes"), before);
    for (int i = 0; i < SANDBOXES; i++)
        pdk_test_world_unmake(&world, made[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backends_disk");
    TCase *tc = tcase_create("overlay");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, many_copies_take_what_changed);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
