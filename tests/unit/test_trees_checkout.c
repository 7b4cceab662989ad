/* Files as git would write them, and nothing outside of the directory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/trees.h"
#include "trees/checkout.h"
#include "trees/repo.h"

#define CONTENT                                                                                \
    "printf 'a\\n' > a; printf '#!\\n' > run; chmod +x run; mkdir -p d/e/f; ln -s ../a d/l; "  \
    "printf 'x\\0y' > d/e/f/bin; : > d/empty; ln -s /nowhere dangling; "                       \
    "printf o > ' odd'; printf o > \"$(printf 'n\\nl')\"; printf o > \"$(printf 'i\\377')\"; " \
    "printf 'c\\r\\nd\\r\\n' > crlf; printf 'c\\nd\\n' > lf; seq 1 3 | sed p > d.x; "          \
    "for i in $(seq 300); do printf $i > d/e/$i; done"

static struct pdk_test_trees t;

static void setup(void)
{
    pdk_test_dir_setup();
}

static void teardown(void)
{
    pdk_test_trees_close(&t);
    pdk_test_dir_discard();
}

/* Types, modes, link targets and bytes of all that is in a directory but .git. */
static char *listing(const char *dir)
{
    return pdk_test_sh(dir,
            "find . -mindepth 1 -path ./.git -prune -o -printf '%%P|%%y|%%m|%%l\\n' "
            "| LC_ALL=C sort; find . -path ./.git -prune -o -type f -print0 | "
            "LC_ALL=C sort -z | xargs -0 md5sum | md5sum");
}

static void same_as_git(void)
{
    PDK_AUTO_FREE char *theirs = pdk_test_path("theirs");
    PDK_AUTO_FREE char *wanted = pdk_test_path("wanted");
    PDK_AUTO_FREE char *had = pdk_test_path("had");

    free(pdk_test_sh(
            t.path, "umask 022; git worktree add -q --detach '%s' HEAD", theirs));
    PDK_AUTO_FREE char *want = listing(theirs);
    PDK_AUTO_FREE char *have = listing(t.copy);
    if (strcmp(want, have) == 0)
        return;
    pdk_test_write_text(wanted, want);
    pdk_test_write_text(had, have);
    PDK_AUTO_FREE char *text = pdk_test_sh(pdk_test_dir(),
            "(diff wanted had; diff -r -x .git theirs copy) | cat -A | head -30");
    ck_abort_msg("the checkout differs from git's:\n%s", text);
}

static void reopen(const char *config)
{
    free(pdk_test_sh(t.path, "%s", config));
    pdk_repo_free(t.repo);
    t.repo = NULL;
    ck_assert_int_eq(pdk_repo_open(t.path, &t.repo, NULL), 0);
}

START_TEST(the_files_are_gits)
{
    mode_t before = umask(077);

    pdk_test_trees_open(&t, CONTENT);
    pdk_test_trees_checkout(&t);
    (void)umask(before);
    same_as_git();
}
END_TEST

static const char *const settings[] = { "true", "git config core.autocrlf true",
    "git config core.autocrlf input", "git config core.eol crlf" };

START_TEST(line_ends_are_gits)
{
    pdk_test_trees_open(&t,
            CONTENT "; printf '*.x text\\nlf text eol=crlf\\ncrlf -text\\n"
                    "a text=auto\\nrun ident\\n' > .gitattributes; "
                    "printf '$Id$\\n' >> run");
    reopen(settings[_i]);
    pdk_test_trees_checkout(&t);
    same_as_git();
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(dirt, "");
}
END_TEST

START_TEST(line_ends_without_attributes)
{
    pdk_test_trees_open(&t, CONTENT);
    reopen(settings[_i]);
    pdk_test_trees_checkout(&t);
    same_as_git();
}
END_TEST

START_TEST(submodules_are_empty_directories)
{
    pdk_test_trees_open(&t,
            "printf a > a; git update-index --add --cacheinfo "
            "160000,0123456789012345678901234567890123456789,d/sub; "
            "git commit -qm sub; mkdir -p d/sub; true");
    /* the fixture's `add -A` drops what is no repository: put it back */
    free(pdk_test_git(t.path,
            "update-index --add --cacheinfo "
            "160000,0123456789012345678901234567890123456789,d/sub; "
            "git commit -q --allow-empty -m again"));
    pdk_test_trees_checkout(&t);
    PDK_AUTO_FREE char *sub = pdk_test_path("copy/d/sub");
    PDK_AUTO_FREE char *listed = pdk_test_sh(sub, "ls -A");
    ck_assert_str_eq(listed, "");
    struct pdk_oid tree = pdk_test_trees_capture(&t, NULL);
    ck_assert_str_eq(tree.hex, t.tree.hex);
}
END_TEST

START_TEST(git_needs_not_hash_again)
{
    PDK_AUTO_FREE char *git_index = pdk_test_path("copy/.git/index");
    struct pdk_base base;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_trees_open(&t, CONTENT);
    pdk_test_mkdirs(t.copy);
    free(pdk_test_sh(t.copy, "git init -q; echo '%s' > .git/objects/info/alternates",
            t.repo->objects));
    ck_assert_int_eq(pdk_repo_resolve(t.repo, "HEAD", &base, &err), 0);
    free(pdk_test_git(t.copy, "update-ref HEAD %s", base.commit.hex));
    struct pdk_checkout_spec spec = { .repo = t.repo,
        .tree = base.tree,
        .dir = t.copy,
        .index = t.index,
        .git_index = git_index,
        .threads = 3 };
    ck_assert_msg(pdk_checkout(t.vault, &spec, &err) == 0, "%s", err.msg);
    /* In the index's own moment git would look: a later index shows that it has no need to. */
    PDK_AUTO_FREE char *trace = pdk_test_sh(t.copy,
            "touch -d 'now + 2 sec' .git/index; GIT_OPTIONAL_LOCKS=0 git diff-files; "
            "GIT_OPTIONAL_LOCKS=0 git status --porcelain");
    ck_assert_str_eq(trace, "");
}
END_TEST

START_TEST(the_empty_tree_is_no_files)
{
    struct pdk_oid tree = { PDK_EMPTY_TREE };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_trees_open(&t, CONTENT);
    ck_assert_int_eq(pdk_test_trees_try(&t, &tree, &err), 0);
    PDK_AUTO_FREE char *listed = pdk_test_sh(t.copy, "ls -A");
    ck_assert_str_eq(listed, "");
}
END_TEST

/* ---- hostile trees */

/* "mode type id\tname" lines, whatever they are, as a tree. %B: a blob, %T: a tree with one file. */
static struct pdk_oid craft(const char *lines)
{
    struct pdk_oid oid;
    PDK_AUTO_FREE char *text = pdk_test_sh(t.path,
            "python3 - \"$(git rev-parse HEAD:a)\" \"$(git rev-parse HEAD:d)\" <<'END'\n"
            "import subprocess, sys\n"
            "out = b''\n"
            "for line in '''%s'''.split('|'):\n"
            "    mode, which, name = line.split(' ', 2)\n"
            "    id = {'B': sys.argv[1], 'T': sys.argv[2], 'N': '01' * 20}[which]\n"
            "    out += mode.encode() + b' ' + name.encode('latin1') + b'\\0' + bytes.fromhex(id)\n"
            "print(subprocess.run(['git', 'hash-object', '-t', 'tree', '-w', '--stdin', "
            "'--literally'], input=out, capture_output=True, check=True).stdout.decode().strip())\n"
            "END",
            lines);

    ck_assert_msg(pdk_oid_parse(text, &oid), "%s", text);
    return oid;
}

static const char *const hostile[] = { "100644 B ..", "40000 T ..", "100644 B .",
    "100644 B .git", "40000 T .GIT", "40000 T git~1", "100644 B .git ", "40000 T .git.",
    "40000 T .g\\xe2\\x80\\x8cit", "100644 B a/b", "100644 B /etc/x",
    "100644 B a|100644 B a", "120000 B a|40000 T a", "100644 B z|100644 B a" };

START_TEST(unsafe_trees_are_refused)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_trees_open(&t, "printf a > a; mkdir d; printf x > d/x");
    struct pdk_oid tree = craft(hostile[_i]);
    ck_assert_int_lt(pdk_test_trees_try(&t, &tree, &err), 0);
    PDK_AUTO_FREE char *outside = pdk_test_sh(pdk_test_dir(), "ls -A");
    ck_assert_str_eq(outside, "copy\nrepo\nvault\nvault.lock");
    PDK_AUTO_FREE char *inside = pdk_test_sh(t.copy, "find . -type f");
    ck_assert_str_eq(inside, "");
}
END_TEST

START_TEST(a_missing_object_is_named)
{
    static const char *const rows[] = { "100644 N gone", "40000 N gone" };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_trees_open(&t, "printf a > a; mkdir d; printf x > d/x");
    struct pdk_oid tree = craft(rows[_i]);
    ck_assert_int_eq(pdk_test_trees_try(&t, &tree, &err), PDK_ENOTFOUND);
    ck_assert_msg(strstr(err.msg, "0101010101") != NULL, "%s", err.msg);
}
END_TEST

START_TEST(what_is_there_is_not_overwritten)
{
    PDK_AUTO_FREE char *file = pdk_test_path("copy/a");
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_base base;

    pdk_test_trees_open(&t, "printf a > a");
    pdk_test_write_text(file, "mine");
    ck_assert_int_eq(pdk_repo_resolve(t.repo, "HEAD", &base, &err), 0);
    ck_assert_int_lt(pdk_test_trees_try(&t, &base.tree, &err), 0);
    PDK_AUTO_FREE char *text = pdk_test_read(file, NULL);
    ck_assert_str_eq(text, "mine");
}
END_TEST

START_TEST(a_link_as_the_directory_is_refused)
{
    PDK_AUTO_FREE char *aside = pdk_test_path("aside");
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_base base;

    pdk_test_trees_open(&t, "printf a > a");
    pdk_test_mkdirs(aside);
    ck_assert_int_eq(symlink(aside, t.copy), 0);
    ck_assert_int_eq(pdk_repo_resolve(t.repo, "HEAD", &base, &err), 0);
    struct pdk_checkout_spec spec = {
        .repo = t.repo, .tree = base.tree, .dir = t.copy, .index = t.index
    };
    ck_assert_int_lt(pdk_checkout(t.vault, &spec, &err), 0);
    PDK_AUTO_FREE char *listed = pdk_test_sh(aside, "ls -A");
    ck_assert_str_eq(listed, "");
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

int main(void)
{
    Suite *suite = suite_create("trees_checkout");
    TCase *tc = tcase_create("checkout");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_files_are_gits);
    tcase_add_loop_test(tc, line_ends_are_gits, 0, COUNT(settings));
    tcase_add_loop_test(tc, line_ends_without_attributes, 0, COUNT(settings));
    tcase_add_test(tc, submodules_are_empty_directories);
    tcase_add_test(tc, git_needs_not_hash_again);
    tcase_add_test(tc, the_empty_tree_is_no_files);
    tcase_add_loop_test(tc, unsafe_trees_are_refused, 0, COUNT(hostile));
    tcase_add_loop_test(tc, a_missing_object_is_named, 0, 2);
    tcase_add_test(tc, what_is_there_is_not_overwritten);
    tcase_add_test(tc, a_link_as_the_directory_is_refused);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
