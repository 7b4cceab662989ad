/* What a working copy may hold, row by row, and what becomes of it in a tree. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/trees.h"
#include "trees/capture.h"
#include "trees/repo.h"
#include "trees/vault.h"

#define SETUP                                                                            \
    "printf 'one\\n' > one; printf 'two\\n' > two; mkdir d; printf 'x\\n' > d/x; "       \
    "printf '#!\\n' > run; chmod +x run; ln -s one link; "                               \
    "printf '*.log\\n!keep.log\\nout/\\n' > .gitignore"

static struct pdk_test_trees t;

static void setup(void)
{
    pdk_test_dir_setup();
    pdk_test_trees_open(&t, SETUP);
    pdk_test_trees_checkout(&t);
}

static void teardown(void)
{
    pdk_test_trees_close(&t);
    pdk_test_dir_discard();
}

static void edit(const char *script)
{
    free(pdk_test_sh(t.copy, "%s", script));
}

static bool warned(const struct pdk_capture *capture, const char *text)
{
    for (size_t i = 0; i < capture->warnings.len; i++)
        if (strstr(capture->warnings.items[i], text))
            return true;
    return false;
}

/* Does the captured tree hold the path? */
static bool holds(const struct pdk_oid *tree, const char *path)
{
    PDK_AUTO_FREE char *out =
            pdk_test_git(t.vault_path, "ls-tree --name-only %s -- '%s'", tree->hex, path);

    return out[0] != '\0';
}

/* ---- as git sees it */

struct row {
    const char *script;
    const char *dirt;
};

static const struct row rows[] = {
    { "true", "" },
    { "touch one", "" },
    { "printf 'ONE\n' > one", "M one\n" },
    { "printf 'x\\0y' > one", "M one\n" },
    { "rm one", "D one\n" },
    { "rm -r d", "D d/x\n" },
    { "chmod -x run; chmod +x one", "M one\nM run\n" },
    { "rm one; ln -s two one", "T one\n" },
    { "rm link; printf 'one' > link", "T link\n" },
    { "ln -sfn two link", "M link\n" },
    { "rm -r d; printf 'f' > d", "? d\nD d/x\n" },
    { "rm one; mkdir one; printf 'in' > one/in", "D one\n? one/in\n" },
    { "printf n > new; mkdir -p e/f; printf g > e/f/g", "? e/f/g\n? new\n" },
    { "printf n > 'q\"uote'; printf n > ' lead'; printf n > ./-dash",
            "?  lead\n? -dash\n? q\"uote\n" },
    { "printf n > \"$(printf 'a\\nb')\"", "? a\nb\n" },
    { "printf n > \"$(printf 'i\\377')\"", "? i\377\n" },
    { "printf n > a.log; printf n > keep.log; mkdir out; printf n > out/keep.log",
            "? keep.log\n" },
    { "printf '/new\\n' > d/.gitignore; printf n > new; printf n > d/new",
            "? d/.gitignore\n? new\n" },
    { "printf '*\\n' > .gitignore; printf n > new; printf M > one",
            "M .gitignore\nM one\n" },
    { "ln -s /nowhere dangling; ln -s . self", "? dangling\n? self\n" },
    { "mkdir -p empty/inside", "" },
    { "mv one moved", "? moved\nD one\n" },
    { "printf n > d.x; printf n > d-x; printf n > d/y", "? d-x\n? d.x\n? d/y\n" },
};

START_TEST(each_row_is_what_git_makes_of_it)
{
    const struct row *row = &rows[_i];
    struct pdk_oid ours, theirs;

    edit(row->script);
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(dirt, row->dirt);
    theirs = pdk_test_trees_git(&t);
    ours = pdk_test_trees_capture(&t, NULL);
    ck_assert_str_eq(ours.hex, theirs.hex);
    PDK_AUTO_FREE char *after = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(after, "");
}
END_TEST

START_TEST(rules_of_the_repository_hold_and_no_others)
{
    PDK_AUTO_FREE char *rules = pdk_test_path("rules");
    PDK_AUTO_FREE char *link = pdk_test_path("link");

    pdk_test_write_text(rules, "*.user\n*.both\n");
    ck_assert_int_eq(symlink(rules, link), 0);
    free(pdk_test_git(t.path, "config core.excludesFile '%s'", link));
    pdk_test_repo_write(t.path, ".git/info/exclude", "*.info\n!x.both\n");
    pdk_repo_free(t.repo);
    t.repo = NULL;
    ck_assert_int_eq(pdk_repo_open(t.path, &t.repo, NULL), 0);
    edit("printf n > a.user; printf n > b.info; printf n > c.both; printf n > x.both");
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(dirt, "? x.both\n");
}
END_TEST

/* ---- the copy's own git is not looked at */

START_TEST(what_git_did_inside_does_not_matter)
{
    struct pdk_oid ours;

    edit("git init -q . && printf 'staged\n' > one && git add -A && git commit -qm inside && "
         "printf 'more\n' > two && git add two && printf 'most\n' > two && printf n > left");
    PDK_AUTO_FREE char *config = pdk_test_path("copy/.git/config");
    pdk_test_write_text(
            config, "[core]\n\tautocrlf = true\n\texcludesFile = /etc/passwd\n[broken");
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(dirt, "? left\nM one\nM two\n");
    ours = pdk_test_trees_capture(&t, NULL);
    PDK_AUTO_FREE char *text =
            pdk_test_git(t.vault_path, "cat-file blob %s:two", ours.hex);
    ck_assert_str_eq(text, "most");
}
END_TEST

START_TEST(files_of_nested_repositories_are_in)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };
    struct pdk_oid tree;

    edit("mkdir n m; git init -q n; git init -q m; printf a > n/a; printf b > m/b; "
         "cd n; git add -A; git commit -qm inside");
    tree = pdk_test_trees_capture(&t, &capture);
    ck_assert(holds(&tree, "n/a"));
    ck_assert(holds(&tree, "m/b"));
    ck_assert(!holds(&tree, "n/.git"));
    ck_assert(!holds(&tree, "n/.git/HEAD"));
    ck_assert(warned(&capture, "n is a repository of its own"));
    ck_assert(warned(&capture, "m is a repository of its own"));
}
END_TEST

START_TEST(look_alikes_of_dotgit_stay_out)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("mkdir .GIT d/git~1; printf n > .GIT/config; printf n > d/git~1/x; printf n > '.git.'; "
         "printf n > \"$(printf '.g\\342\\200\\214it')\"; printf n > .gitx");
    struct pdk_oid tree = pdk_test_trees_capture(&t, &capture);
    PDK_AUTO_FREE char *list = pdk_test_git(
            t.vault_path, "diff-tree -r --name-only %s %s", t.tree.hex, tree.hex);
    ck_assert_str_eq(list, ".gitx");
    ck_assert_uint_eq(capture.warnings.len, 4);
    ck_assert(warned(&capture, ".GIT spells .git"));
}
END_TEST

START_TEST(special_files_are_named_and_left_out)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("mkfifo fifo; rm one; mkfifo one; "
         "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'");
    struct pdk_oid tree = pdk_test_trees_capture(&t, &capture);
    ck_assert(!holds(&tree, "fifo"));
    ck_assert(!holds(&tree, "one"));
    ck_assert(!holds(&tree, "sock"));
    ck_assert(warned(&capture, "fifo is a FIFO"));
    ck_assert(warned(&capture, "sock is a FIFO, socket"));
}
END_TEST

START_TEST(bits_that_git_cannot_hold_are_named)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("chmod u+s run; mkdir void");
    struct pdk_oid tree = pdk_test_trees_capture(&t, &capture);
    ck_assert_str_eq(tree.hex, t.tree.hex);
    ck_assert(warned(&capture, "run has mode bits"));
    ck_assert(warned(&capture, "void is an empty directory"));
}
END_TEST

START_TEST(ignored_new_files_are_counted)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("printf n > a.log; mkdir out; printf n > out/a; printf n > out/b");
    (void)pdk_test_trees_capture(&t, &capture);
    ck_assert_uint_eq(capture.ignored_files, 2); /* out/ is met once */
}
END_TEST

START_TEST(warnings_are_bounded)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("i=0; while [ $i -lt 60 ]; do mkdir void$i; i=$((i+1)); done");
    (void)pdk_test_trees_capture(&t, &capture);
    ck_assert_uint_eq(capture.warnings.len, 51);
    ck_assert(warned(&capture, "and 10 more warnings"));
}
END_TEST

/* ---- what cannot be read */

static void check_closed(
        const struct pdk_oid *tree, const struct pdk_capture *capture, bool root)
{
    ck_assert(holds(tree, "one"));
    ck_assert(holds(tree, "d/x"));
    ck_assert(holds(tree, "new") == root);
    ck_assert(warned(capture, "one cannot be read") != root);
    ck_assert(warned(capture, "d cannot be read") != root);
    ck_assert(warned(capture, "new cannot be read") != root);
}

START_TEST(what_cannot_be_read_stays_as_it_was)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    edit("printf changed > one; printf n > new; chmod 0 one new d");
    struct pdk_oid tree = pdk_test_trees_capture(&t, &capture);
    edit("chmod 755 d");
    check_closed(&tree, &capture, geteuid() == 0);
}
END_TEST

START_TEST(as_another_user_too)
{
    PDK_AUTO_CAPTURE struct pdk_capture capture = { .warnings = PDK_STRV_INIT };

    if (geteuid() != 0)
        return;
    edit("printf changed > one; printf n > new; chmod 0 one new d");
    free(pdk_test_sh(pdk_test_dir(), "chmod o+x . .. ../..; chown -R 65534:65534 ."));
    ck_assert_int_eq(setegid(65534), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    struct pdk_oid tree = pdk_test_trees_capture(&t, &capture);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
    free(pdk_test_sh(pdk_test_dir(), "chown -R 0:0 .; chmod 755 copy/d"));
    check_closed(&tree, &capture, false);
}
END_TEST

/* ---- the root */

START_TEST(a_root_that_has_gone_is_said)
{
    struct pdk_capture_spec spec = {
        .repo = t.repo, .root_fd = t.root_fd, .index = t.index
    };
    struct pdk_capture capture = { .warnings = PDK_STRV_INIT };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_remove(t.copy);
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), PDK_ENOTFOUND);
    ck_assert_ptr_nonnull(strstr(err.msg, "gone"));
}
END_TEST

START_TEST(a_link_in_the_roots_place_is_not_followed)
{
    PDK_AUTO_FREE char *aside = pdk_test_path("aside");

    ck_assert_int_eq(rename(t.copy, aside), 0);
    ck_assert_int_eq(symlink("/etc", t.copy), 0);
    struct pdk_oid tree = pdk_test_trees_capture(&t, NULL);
    ck_assert_str_eq(tree.hex, t.tree.hex);
}
END_TEST

START_TEST(directories_that_became_links_are_not_followed)
{
    edit("rm -r d; ln -s /etc d");
    struct pdk_oid tree = pdk_test_trees_capture(&t, NULL);
    PDK_AUTO_FREE char *list = pdk_test_git(t.vault_path, "ls-tree %s d", tree.hex);
    ck_assert_int_eq(strncmp(list, "120000 ", 7), 0);
}
END_TEST

/* ---- size */

START_TEST(a_file_that_is_too_large_is_named)
{
    struct pdk_capture_spec spec = {
        .repo = t.repo, .root_fd = t.root_fd, .index = t.index, .max_file = 1 << 20
    };
    struct pdk_capture capture = { .warnings = PDK_STRV_INIT };
    struct pdk_err err = PDK_ERR_INIT;

    edit("truncate -s 1T huge");
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "huge"));
    ck_assert_str_ne(err.hint, "");
    edit("truncate -s 1M huge");
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), 0);
    pdk_capture_fini(&capture);
}
END_TEST

START_TEST(many_files_in_one_directory)
{
    struct pdk_oid theirs, ours;

    edit("mkdir many; cd many; seq 5000 | xargs touch; seq 5000 > 77");
    theirs = pdk_test_trees_git(&t);
    ours = pdk_test_trees_capture(&t, NULL);
    ck_assert_str_eq(ours.hex, theirs.hex);
}
END_TEST

/* Deeper than a path can be named at once: made step by step, and as many descriptors as ever. */
START_TEST(deep_directories)
{
    struct rlimit limit, before;
    struct pdk_oid tree;

    edit("python3 -c 'import os\n"
         "for i in range(2000): os.mkdir(\"a\"); os.chdir(\"a\")\n"
         "open(\"f\", \"w\").write(\"deep\")'");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 64;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    tree = pdk_test_trees_capture(&t, NULL);
    ck_assert_str_ne(tree.hex, t.tree.hex);
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    ck_assert_str_eq(dirt, "");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
}
END_TEST

START_TEST(paths_past_the_limit_are_said)
{
    struct pdk_capture_spec spec = {
        .repo = t.repo, .root_fd = t.root_fd, .index = t.index
    };
    struct pdk_capture capture = { .warnings = PDK_STRV_INIT };
    struct pdk_err err = PDK_ERR_INIT;

    edit("python3 -c 'import os\n"
         "for i in range(2100): os.mkdir(\"a\"); os.chdir(\"a\")'");
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), PDK_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "longer than"));
    edit("rm -rf a"); /* more than the fixture could */
}
END_TEST

/* ---- again */

static char *object_names(void)
{
    return pdk_test_sh(t.vault_path, "find objects -type f | sort");
}

START_TEST(a_second_capture_writes_nothing)
{
    edit("printf changed > one; seq 100 > new");
    struct pdk_oid first = pdk_test_trees_capture(&t, NULL);
    PDK_AUTO_FREE char *before = object_names();
    struct pdk_oid second = pdk_test_trees_capture(&t, NULL);
    PDK_AUTO_FREE char *after = object_names();
    ck_assert_str_eq(first.hex, second.hex);
    ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(looking_for_dirt_writes_nothing)
{
    edit("printf changed > one; seq 100 > new");
    PDK_AUTO_FREE char *before = object_names();
    PDK_AUTO_FREE char *index = pdk_test_sh(NULL, "md5sum < '%s'", t.index);
    PDK_AUTO_FREE char *dirt = pdk_test_trees_dirt(&t);
    PDK_AUTO_FREE char *after = object_names();
    PDK_AUTO_FREE char *index_after = pdk_test_sh(NULL, "md5sum < '%s'", t.index);
    ck_assert_str_eq(dirt, "? new\nM one\n");
    ck_assert_str_eq(before, after);
    ck_assert_str_eq(index, index_after);
}
END_TEST

/* Same size, same tick, times set back: what was read last must not stand for what is there. */
START_TEST(racy_writes_are_seen)
{
    PDK_AUTO_FREE char *file = pdk_test_path("copy/one");

    for (int i = 0; i < 200; i++) {
        char text[4];
        struct stat st;
        ck_assert_int_eq(stat(file, &st), 0);
        struct timespec times[2] = { st.st_atim, st.st_mtim };

        text[0] = (char)('a' + i % 26);
        text[1] = (char)('a' + i / 26);
        text[2] = '!';
        text[3] = '\n';
        int fd = open(file, O_WRONLY | O_CLOEXEC);
        ck_assert_int_eq(write(fd, text, 4), 4);
        (void)close(fd);
        ck_assert_int_eq(utimensat(AT_FDCWD, file, times, 0), 0);
        struct pdk_oid tree = pdk_test_trees_capture(&t, NULL), blob;
        struct pdk_err err = PDK_ERR_INIT;
        ck_assert_int_eq(pdk_vault_write_blob(t.vault, text, 4, &blob, &err), 0);
        PDK_AUTO_FREE char *list =
                i % 20 ? NULL : pdk_test_git(t.vault_path, "rev-parse %s:one", tree.hex);
        if (list)
            ck_assert_str_eq(list, blob.hex);
    }
}
END_TEST

START_TEST(a_missing_or_damaged_index_is_said)
{
    struct pdk_capture_spec spec = {
        .repo = t.repo, .root_fd = t.root_fd, .index = t.index
    };
    struct pdk_capture capture = { .warnings = PDK_STRV_INIT };
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_write_text(t.index, "DIRC nonsense that is long enough for a header");
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), PDK_ECORRUPT);
    pdk_test_remove(t.index);
    ck_assert_int_eq(pdk_capture_tree(t.vault, &spec, &capture, &err), PDK_ENOTFOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_capture");
    TCase *tc = tcase_create("capture");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, each_row_is_what_git_makes_of_it, 0,
            (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tc, rules_of_the_repository_hold_and_no_others);
    tcase_add_test(tc, what_git_did_inside_does_not_matter);
    tcase_add_test(tc, files_of_nested_repositories_are_in);
    tcase_add_test(tc, look_alikes_of_dotgit_stay_out);
    tcase_add_test(tc, special_files_are_named_and_left_out);
    tcase_add_test(tc, bits_that_git_cannot_hold_are_named);
    tcase_add_test(tc, ignored_new_files_are_counted);
    tcase_add_test(tc, warnings_are_bounded);
    tcase_add_test(tc, what_cannot_be_read_stays_as_it_was);
    tcase_add_test(tc, as_another_user_too);
    tcase_add_test(tc, a_root_that_has_gone_is_said);
    tcase_add_test(tc, a_link_in_the_roots_place_is_not_followed);
    tcase_add_test(tc, directories_that_became_links_are_not_followed);
    tcase_add_test(tc, a_file_that_is_too_large_is_named);
    tcase_add_test(tc, many_files_in_one_directory);
    tcase_add_test(tc, deep_directories);
    tcase_add_test(tc, paths_past_the_limit_are_said);
    tcase_add_test(tc, a_second_capture_writes_nothing);
    tcase_add_test(tc, looking_for_dirt_writes_nothing);
    tcase_add_test(tc, racy_writes_are_seen);
    tcase_add_test(tc, a_missing_or_damaged_index_is_said);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
