/* Differences between random trees, against git's own word. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/diff.h"
#include "trees/vault.h"

struct pair {
    char *path, *vault_path;
    struct pdk_vault *vault;
    struct pdk_oid from, to;
};

/* A few paths that files, directories and links take turns at. */
static void scramble(const char *path, unsigned int *seed)
{
    static const char *const makes[] = { "printf 'a\\nb\\nc\\n' > %s",
        "printf 'a\\nB' > %s", "printf 'x\\0%d' > %s", "ln -s to %s",
        "printf '#!\\n' > %s; chmod +x %s", "mkdir %s; printf 'q\\n' > %s/in", "true %s",
        "printf '\\344\\366\\r\\n' > %s" };
    static const char *const names[] = { "a", "a.b", "\"$(printf 'q\"\\nz')\"",
        "\"$(printf '\\377')\"", "d" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        PDK_AUTO_FREE char *clear = pdk_strf("rm -rf %s", names[i]);
        const char *make = makes[(size_t)rand_r(seed) % 8];
        PDK_AUTO_BUF struct pdk_buf command = PDK_BUF_INIT;

        for (; *make; make += *make == '%' ? 2 : 1) {
            if (*make != '%')
                pdk_buf_addc(&command, *make);
            else if (make[1] == 's')
                pdk_buf_adds(&command, names[i]);
            else
                pdk_buf_addf(&command, "%d", rand_r(seed) % 8);
        }
        free(pdk_test_sh(path, "%s; %s", clear, pdk_buf_str(&command)));
    }
}

static void take_tree(const char *path, struct pdk_oid *out)
{
    free(pdk_test_git(path, "add -A"));
    PDK_AUTO_FREE char *tree = pdk_test_git(path, "write-tree");
    tree[40] = '\0';
    ck_assert(pdk_oid_parse(tree, out));
}

static void pair_open(struct pair *p, unsigned int seed)
{
    struct pdk_err err = PDK_ERR_INIT;

    p->path = pdk_test_path("repo");
    p->vault_path = pdk_test_path("vault");
    pdk_test_repo_init(p->path);
    scramble(p->path, &seed);
    take_tree(p->path, &p->from);
    scramble(p->path, &seed);
    take_tree(p->path, &p->to);
    PDK_AUTO_FREE char *objects = pdk_test_path("repo/.git/objects");
    ck_assert_msg(
            pdk_vault_open(p->vault_path, objects, &p->vault, &err) == 0, "%s", err.msg);
}

static void pair_close(struct pair *p)
{
    pdk_vault_close(p->vault);
    free(p->path);
    free(p->vault_path);
}

START_TEST(git_apply_takes_the_patch)
{
    struct pair p = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid got;
    PDK_AUTO_BUF struct pdk_buf patch = PDK_BUF_INIT;
    PDK_AUTO_FREE char *file = pdk_test_path("patch");

    pair_open(&p, (unsigned int)_i + 1);
    ck_assert_msg(
            pdk_diff_patch(p.vault, &p.from, &p.to, &patch, &err) == 0, "%s", err.msg);
    pdk_test_write(file, pdk_buf_str(&patch), patch.len);
    free(pdk_test_git(p.path, "read-tree %s", p.from.hex));
    if (patch.len > 0)
        free(pdk_test_git(p.path, "apply --cached %s", file));
    PDK_AUTO_FREE char *tree = pdk_test_git(p.path, "write-tree");
    tree[40] = '\0';
    ck_assert(pdk_oid_parse(tree, &got));
    ck_assert_str_eq(got.hex, p.to.hex);
    pair_close(&p);
}
END_TEST

START_TEST(a_transplant_onto_the_start_is_the_end)
{
    struct pair p = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_oid got;

    pair_open(&p, (unsigned int)_i + 1);
    ck_assert_msg(pdk_diff_transplant(p.vault, &p.from, &p.to, &p.from, &got, &err) == 0,
            "%s", err.msg);
    ck_assert_str_eq(got.hex, p.to.hex);
    pair_close(&p);
}
END_TEST

START_TEST(as_many_lines_and_paths_as_git_counts)
{
    struct pair p = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_DIFF struct pdk_diff diff = { 0 };
    long added = 0, deleted = 0;

    pair_open(&p, (unsigned int)_i + 1);
    ck_assert_int_eq(
            pdk_diff_trees(p.vault, &p.from, &p.to, PDK_DIFF_LINES, &diff, &err), 0);
    PDK_AUTO_FREE char *text = pdk_test_git(
            p.path, "diff --numstat --no-renames %s %s", p.from.hex, p.to.hex);
    for (char *at = text, *end; at && *at; at = end ? end + 1 : NULL) {
        end = strchr(at, '\n');
        added += strtol(at, NULL, 10);
        deleted += strtol(strchr(at, '\t') + 1, NULL, 10);
    }
    ck_assert_int_eq(diff.added, added);
    ck_assert_int_eq(diff.deleted, deleted);
    pair_close(&p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_diff");
    TCase *tc = tcase_create("diff");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, pdk_test_dir_setup, pdk_test_dir_discard);
    tcase_add_loop_test(tc, git_apply_takes_the_patch, 0, 20);
    tcase_add_loop_test(tc, a_transplant_onto_the_start_is_the_end, 0, 20);
    tcase_add_loop_test(tc, as_many_lines_and_paths_as_git_counts, 0, 20);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
