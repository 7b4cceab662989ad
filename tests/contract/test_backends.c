/* What every backend keeps to: each test runs once a backend. Making a sandbox, and looking at it. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/error.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/world.h"
#include "trees/vault.h"

static struct pdk_test_world world;
static struct pdk_err err;

static void setup(void)
{
    pdk_test_dir_setup();
    memset(&err, 0, sizeof(err));
    pdk_test_world_open(&world);
}

static void teardown(void)
{
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

static void expect_git(const char *root, const char *command, const char *want)
{
    char *got = pdk_test_git(root, "%s", command);

    ck_assert_msg(strcmp(got, want) == 0, "git %s: '%s', not '%s'", command, got, want);
    free(got);
}

static void expect_dirt(struct pdk_sandbox *sb, const char *want)
{
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    pdk_test_ok(pdk_sandbox_collect_dirt(sb, world.vault, &dirt, &err), &err);
    for (size_t i = 0; i < dirt.len; i++)
        pdk_buf_addf(&text, "%c %s|", dirt.entries[i].status, dirt.entries[i].path);
    ck_assert_str_eq(pdk_buf_str(&text), want);
}

static struct pdk_oid capture(struct pdk_sandbox *sb)
{
    PDK_AUTO_CAPTURE struct pdk_capture captured = { 0 };

    pdk_test_ok(pdk_sandbox_capture(sb, world.vault, &captured, &err), &err);
    return captured.tree;
}

static int commits(struct pdk_sandbox *sb)
{
    int count = -1;

    pdk_test_ok(pdk_sandbox_count_commits(sb, 0, &count, &err), &err);
    return count;
}

static bool shares_refs(const struct pdk_backend *be)
{
    return strcmp(pdk_backend_name(be), "git-worktree") == 0;
}

START_TEST(a_new_sandbox_holds_its_tree_and_nothing_else)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *before = pdk_test_world_fingerprint(&world);
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);

    /* Nothing that git would have to read again, before anything of git's brings its index up to date. */
    expect_git(root, "diff-files", "");
    expect_git(root, "status --porcelain --ignored", "");
    expect_git(root, "rev-parse HEAD", world.base.commit.hex);
    expect_git(root, "rev-parse --abbrev-ref HEAD", "HEAD");
    expect_git(root, "fsck --no-dangling", "");
    expect_dirt(sb, "");
    struct pdk_oid tree = capture(sb);
    ck_assert_str_eq(tree.hex, world.base.tree.hex);
    ck_assert_int_eq(commits(sb), 0);
    ck_assert_str_eq(record->id, "a1");
    ck_assert_str_eq(record->backend, pdk_backend_name(be));
    ck_assert_str_eq(record->start.hex, world.base.commit.hex);
    ck_assert_ptr_null(record->branch);
    pdk_test_world_unmake(&world, sb);
    char *after = pdk_test_world_fingerprint(&world);
    pdk_test_same(before, after);
    free(after);
    free(before);
}
END_TEST

START_TEST(dirt_has_exact_names)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");

    free(pdk_test_sh(pdk_sandbox_root(sb),
            "touch 'a b' \"$(printf 'n\\nl')\" ' lead' -- -dash 'q\"uote' '*' \"$(printf '\\377')\""
            " x.ignored; git add -- 'a b'; rm README; chmod +x src/main.c;"
            " git config status.showUntrackedFiles no; echo '*' >>.git/info/exclude || true"));
    expect_dirt(sb,
            "?  lead|? *|? -dash|D README|? a b|? n\nl|? q\"uote|M src/main.c|? \377|");
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(setup_dirt_can_be_made_the_baseline)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    PDK_AUTO_CAPTURE struct pdk_capture captured = { 0 };

    free(pdk_test_sh(pdk_sandbox_root(sb), "echo built >out; echo more >>README"));
    expect_dirt(sb, "M README|? out|");
    (void)capture(sb);
    expect_dirt(sb, "M README|? out|"); /* a capture does not hide it */
    pdk_test_ok(pdk_sandbox_rebase(sb, world.vault, &captured, &err), &err);
    ck_assert_str_ne(captured.tree.hex, world.base.tree.hex);
    expect_dirt(sb, "");
    free(pdk_test_sh(pdk_sandbox_root(sb), "echo again >out; echo new >late"));
    expect_dirt(sb, "? late|M out|");
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(a_seed_is_sealed_and_never_dirt)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    free(pdk_test_sh(world.user,
            "echo staged >>README; git add README; echo unstaged >>README;"
            " printf '\\0bin' >blob; rm src/main.c; ln -s README link"));
    char *before = pdk_test_world_fingerprint(&world);
    pdk_test_ok(pdk_repo_snapshot(world.repo, world.vault, &world.base, &spec.tree, &err),
            &err);
    ck_assert_str_ne(spec.tree.hex, world.base.tree.hex);
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    const char *root = pdk_sandbox_root(sb);
    expect_git(root, "status --porcelain", "");
    expect_git(root, "rev-parse HEAD^{tree}", spec.tree.hex);
    expect_git(root, "rev-parse HEAD~1", world.base.commit.hex);
    expect_git(root, "show HEAD:README", "hello\nstaged\nunstaged");
    expect_git(root, "fsck --no-dangling", "");
    expect_dirt(sb, "");
    ck_assert_int_eq(commits(sb), 0);
    ck_assert_str_eq(capture(sb).hex, spec.tree.hex);
    pdk_test_world_unmake(&world, sb);
    char *after = pdk_test_world_fingerprint(&world);
    pdk_test_same(before, after);
    free(after);
    free(before);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(include_brings_ignored_files)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;
    PDK_AUTO_STRV struct pdk_strv include = PDK_STRV_INIT;
    PDK_AUTO_STRV struct pdk_strv warnings = PDK_STRV_INIT;

    free(pdk_test_sh(world.user, "echo secret >env.ignored; echo x >other.ignored"));
    pdk_strv_add(&include, "env.*");
    spec.include = &include;
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, &warnings, &err), &err);
    char *listed = pdk_test_sh(pdk_sandbox_root(sb), "cat env.ignored; ls *.ignored");
    ck_assert_str_eq(listed, "secret\nenv.ignored");
    expect_dirt(sb, "");
    expect_git(pdk_sandbox_root(sb), "status --porcelain", "");
    pdk_test_world_unmake(&world, sb);
    free(listed);
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(git_works_inside)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);

    free(pdk_test_sh(root, "echo one >>README"));
    free(pdk_test_repo_commit(root, "work"));
    ck_assert_int_eq(commits(sb), 1);
    free(pdk_test_sh(root, "echo two >>README"));
    free(pdk_test_git(root, "stash -q"));
    expect_git(root, "status --porcelain", "");
    free(pdk_test_git(root, "stash pop -q"));
    free(pdk_test_git(root, "gc -q"));
    expect_git(root, "log --format=%s", "work\nsecond\nfirst");
    expect_git(root, "fsck --no-dangling", "");
    ck_assert_int_eq(commits(sb), 1);
    expect_dirt(sb, "M README|");
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(commits_are_counted_wherever_something_of_it_holds_them)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);

    /* Only HEAD's log holds it. */
    free(pdk_test_repo_commit(root, "lost"));
    free(pdk_test_git(root, "checkout -q --detach HEAD~1"));
    ck_assert_int_eq(commits(sb), 1);
    /* A branch holds it: one of the sandbox itself, or one of the user's repository, where it stays. */
    free(pdk_test_git(root, "checkout -q -b other"));
    free(pdk_test_repo_commit(root, "held"));
    free(pdk_test_git(root, "pack-refs --all"));
    free(pdk_test_git(root, "checkout -q --detach HEAD~1"));
    ck_assert_int_eq(commits(sb), shares_refs(be) ? 1 : 2);
    /* Going back in history is no work. */
    free(pdk_test_git(root, "checkout -q --detach HEAD~1"));
    ck_assert_int_eq(commits(sb), shares_refs(be) ? 1 : 2);
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(what_is_committed_is_no_dirt)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);
    PDK_AUTO_CAPTURE struct pdk_capture captured = { 0 };

    free(pdk_test_sh(root, "echo built >out; echo set >src/main.c"));
    pdk_test_ok(pdk_sandbox_rebase(sb, world.vault, &captured, &err), &err);
    free(pdk_test_sh(root, "echo a >a; echo b >b; echo more >>README"));
    expect_dirt(sb, "M README|? a|? b|");
    free(pdk_test_git(root, "checkout -q -b work"));
    free(pdk_test_git(root, "add a README"));
    free(pdk_test_git(root, "commit -q -m work"));
    free(pdk_test_git(root, "pack-refs --all"));
    expect_dirt(sb, "? b|"); /* and set-up's files never are */
    free(pdk_test_sh(root, "rm a; echo again >>out"));
    expect_dirt(sb, "D a|? b|? out|");
    ck_assert_int_eq(commits(sb), shares_refs(be) ? 0 : 1);
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(commits_that_the_user_fetched_are_no_longer_its_own)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);

    char *id = pdk_test_repo_commit(root, "work");
    ck_assert_int_eq(commits(sb), 1);
    free(pdk_test_git(root, "-C '%s' -c protocol.file.allow=always fetch -q '%s' HEAD",
            world.user, root));
    free(pdk_test_git(world.user, "update-ref refs/heads/mine %s", id));
    ck_assert_int_eq(commits(sb), 0);
    pdk_test_world_unmake(&world, sb);
    free(id);
}
END_TEST

START_TEST(nothing_that_its_git_directory_says_runs_on_the_host)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *pwned = pdk_test_path("pwned");
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);

    free(pdk_test_repo_commit(root, "work"));
    /* A linked worktree shares the user's configuration: there only its own files can be bent. */
    if (!shares_refs(be))
        free(pdk_test_sh(root,
                "git config core.fsmonitor 'touch %s; false';"
                " git config filter.x.clean 'touch %s; cat'; git config core.worktree /etc;"
                " git config core.hooksPath '%s'",
                pwned, pwned, root));
    free(pdk_test_sh(root, "echo '* filter=x' >.gitattributes; echo more >>README"));
    expect_dirt(sb, "? .gitattributes|M README|");
    (void)capture(sb);
    ck_assert_int_eq(commits(sb), 1);
    ck_assert(!pdk_test_exists(pwned));
    pdk_test_world_unmake(&world, sb);
    free(pwned);
}
END_TEST

START_TEST(a_redirected_git_file_changes_nothing)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *before = pdk_test_world_fingerprint(&world);
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const char *root = pdk_sandbox_root(sb);
    int count = 0;

    free(pdk_test_sh(
            root, "rm -rf .git; echo 'gitdir: %s/.git' >.git; echo y >new", world.user));
    expect_dirt(sb, "? new|");
    (void)capture(sb);
    if (shares_refs(be))
        ck_assert_int_eq(commits(sb), 0);
    else
        ck_assert_int_eq(pdk_sandbox_count_commits(sb, 0, &count, &err), PDK_ECONFLICT);
    pdk_test_world_unmake(&world, sb);
    char *after = pdk_test_world_fingerprint(&world);
    pdk_test_same(before, after);
    free(after);
    free(before);
}
END_TEST

START_TEST(hooks_and_the_environment_have_no_say)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *other = pdk_test_path("other");
    char *ran = pdk_test_path("ran");

    pdk_test_repo_sample(other);
    free(pdk_test_sh(world.user,
            "mkdir -p .git/hooks; for h in post-checkout reference-transaction post-index-change;"
            " do printf '#!/bin/sh\\ntouch \"%s\"; sleep 99\\n' >.git/hooks/$h;"
            " chmod +x .git/hooks/$h; done",
            ran));
    char *before = pdk_test_sh(other, "find . -type f | xargs sha256sum");
    char *git_dir = pdk_test_path("other/.git");
    char *index = pdk_test_path("other/.git/index");
    (void)setenv("GIT_DIR", git_dir, 1);
    (void)setenv("GIT_INDEX_FILE", index, 1);
    (void)setenv("GIT_WORK_TREE", other, 1);
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;
    spec.branch = "sandbox/a1";
    pdk_test_ok(pdk_sandbox_materialize(be, &spec, &sb, NULL, &err), &err);
    ck_assert_str_eq(capture(sb).hex, world.base.tree.hex);
    ck_assert_int_eq(commits(sb), 0);
    pdk_test_world_unmake(&world, sb);
    (void)unsetenv("GIT_DIR");
    (void)unsetenv("GIT_INDEX_FILE");
    (void)unsetenv("GIT_WORK_TREE");
    char *after = pdk_test_sh(other, "find . -type f | xargs sha256sum");
    ck_assert_str_eq(before, after);
    ck_assert(!pdk_test_exists(ran));
    pdk_test_world_spec_fini(&spec);
    free(after);
    free(index);
    free(git_dir);
    free(before);
    free(ran);
    free(other);
}
END_TEST

START_TEST(a_record_opens_it_again)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    const struct pdk_sandbox_record *record = pdk_sandbox_get_record(sb);
    struct pdk_sandbox *again = NULL;
    int unused = 0;

    free(pdk_test_sh(pdk_sandbox_root(sb), "echo y >new"));
    pdk_test_ok(pdk_sandbox_open(record, world.repo, world.lock, &again, &err), &err);
    expect_dirt(again, "? new|");
    ck_assert_str_eq(pdk_sandbox_root(again), pdk_sandbox_root(sb));
    pdk_sandbox_close(again);
    again = NULL;
    if (pdk_sandbox_namespace(sb)) {
        pdk_test_world_unmake(&world, sb);
        return;
    }
    if (pdk_sandbox_way(sb)) {
        /* A mount point cannot be swapped, but it can lose its mount. */
        free(pdk_test_sh(record->dir, "umount -l tree"));
        ck_assert_int_eq(pdk_sandbox_count_commits(sb, 0, &unused, &err), PDK_ECONFLICT);
        ck_assert_int_eq(pdk_sandbox_open(record, world.repo, world.lock, &again, &err),
                PDK_ENOTFOUND);
        pdk_test_world_unmake(&world, sb);
        return;
    }
    /* Its root swapped for a link is noticed by those who hold it and by those who come. */
    free(pdk_test_sh(record->dir, "mv tree moved; ln -s moved tree"));
    ck_assert_int_eq(pdk_sandbox_count_commits(sb, 0, &unused, &err), PDK_ECONFLICT);
    ck_assert_int_eq(pdk_sandbox_open(record, world.repo, world.lock, &again, &err),
            PDK_ECONFLICT);
    free(pdk_test_sh(record->dir, "rm tree"));
    ck_assert_int_eq(pdk_sandbox_count_commits(sb, 0, &unused, &err), PDK_ENOTFOUND);
    ck_assert_int_eq(pdk_sandbox_open(record, world.repo, world.lock, &again, &err),
            PDK_ENOTFOUND);
    ck_assert_ptr_null(again);
    pdk_test_world_unmake(&world, sb);
}
END_TEST

/* Two mounts of one upper layer would spoil it: one is shared while anybody holds it. */
START_TEST(a_mount_in_a_namespace_is_joined_or_made_again)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    struct pdk_sandbox_record record = *pdk_sandbox_get_record(sb);
    struct pdk_sandbox *joined = NULL, *again = NULL;

    if (!pdk_sandbox_namespace(sb)) {
        pdk_test_world_unmake(&world, sb);
        return;
    }
    record.id = strdup(record.id);
    record.backend = strdup(record.backend);
    record.dir = strdup(record.dir);
    pdk_test_ok(pdk_sandbox_open(&record, world.repo, world.lock, &joined, &err), &err);
    char *first = pdk_test_sh(NULL, "readlink %s", pdk_sandbox_namespace(sb));
    char *second = pdk_test_sh(NULL, "readlink %s", pdk_sandbox_namespace(joined));
    ck_assert_str_eq(first, second);
    pdk_sandbox_close(sb);
    free(pdk_test_sh(pdk_sandbox_root(joined), "test -f README; echo y >new"));
    expect_dirt(joined, "? new|");
    pdk_sandbox_close(joined);
    /* Nobody holds it now. */
    pdk_test_ok(pdk_sandbox_open(&record, world.repo, world.lock, &again, &err), &err);
    expect_dirt(again, "? new|");
    free(pdk_test_sh(pdk_sandbox_root(again), "rm README"));
    expect_dirt(again, "D README|? new|");
    pdk_sandbox_close(again);
    again = NULL;
    /* After a reboot its files cannot be trusted. */
    free(pdk_test_sh(record.dir, "sed -i s/./x/ layers"));
    ck_assert_int_eq(pdk_sandbox_open(&record, world.repo, world.lock, &again, &err),
            PDK_ENOTFOUND);
    pdk_test_ok(pdk_sandbox_teardown(&record, world.repo, world.lock, 0, &err), &err);
    ck_assert(!pdk_test_exists(record.dir));
    pdk_sandbox_record_fini(&record);
    free(second);
    free(first);
}
END_TEST

/* What a user may do must not depend on how the copy is mounted; nor may a command change the mounts. */
START_TEST(the_way_it_is_mounted_is_told)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);
    const char *way = "unset";

    if (!pdk_test_world_can(&world, be))
        return;
    pdk_test_ok(pdk_backend_probe(be, world.state, &way, &err), &err);
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");
    if (!pdk_backend_needs_template(be)) {
        ck_assert_ptr_null(way);
        ck_assert_ptr_null(pdk_sandbox_way(sb));
    } else {
        ck_assert_str_eq(way, pdk_sandbox_way(sb));
        ck_assert_str_eq(way, pdk_sandbox_namespace(sb) ? "user-namespace" : "direct");
    }
    if (pdk_sandbox_namespace(sb))
        free(pdk_test_sh(pdk_sandbox_root(sb),
                "! umount -l . && grep -q 'CapEff:.0*$' /proc/self/status"));
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(a_repository_without_a_commit)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    pdk_test_world_close(&world);
    pdk_test_remove(pdk_test_dir());
    pdk_test_mkdirs(pdk_test_dir());
    world.user = pdk_test_path("user");
    pdk_test_repo_init(world.user);
    pdk_test_world_open_on(&world, "HEAD");
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    int rc = pdk_sandbox_materialize(be, &spec, &sb, NULL, &err);
    if (shares_refs(be)) {
        ck_assert_int_eq(rc, PDK_EUNAVAIL);
        ck_assert_ptr_nonnull(strstr(err.hint, "--backend directory"));
        ck_assert(!pdk_test_exists(spec.dir));
    } else {
        pdk_test_ok(rc, &err);
        ck_assert_str_eq(pdk_sandbox_get_record(sb)->start.hex, "");
        expect_git(pdk_sandbox_root(sb), "status --porcelain", "");
        expect_git(pdk_sandbox_root(sb), "symbolic-ref HEAD", "refs/heads/main");
        ck_assert_str_eq(capture(sb).hex, PDK_EMPTY_TREE);
        pdk_test_repo_write(pdk_sandbox_root(sb), "f", "x\n");
        free(pdk_test_repo_commit(pdk_sandbox_root(sb), "root"));
        ck_assert_int_eq(commits(sb), 1);
        expect_dirt(sb, "");
        pdk_test_world_unmake(&world, sb);
    }
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_seed_on_a_repository_without_a_commit)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    pdk_test_world_close(&world);
    pdk_test_remove(pdk_test_dir());
    pdk_test_mkdirs(pdk_test_dir());
    world.user = pdk_test_path("user");
    pdk_test_repo_init(world.user);
    pdk_test_repo_write(world.user, "deep/f", "x\n");
    pdk_test_world_open_on(&world, "HEAD");
    struct pdk_sandbox_spec spec = pdk_test_world_spec(&world, "a1");
    struct pdk_sandbox *sb = NULL;

    pdk_test_ok(pdk_repo_snapshot(world.repo, world.vault, &world.base, &spec.tree, &err),
            &err);
    int rc = pdk_sandbox_materialize(be, &spec, &sb, NULL, &err);
    if (shares_refs(be)) {
        ck_assert_int_eq(rc, PDK_EUNAVAIL);
    } else {
        pdk_test_ok(rc, &err);
        expect_git(pdk_sandbox_root(sb), "status --porcelain", "");
        expect_git(pdk_sandbox_root(sb), "rev-parse HEAD^{tree}", spec.tree.hex);
        expect_git(pdk_sandbox_root(sb), "rev-list --count HEAD", "1");
        ck_assert_int_eq(commits(sb), 0);
        expect_dirt(sb, "");
        pdk_test_world_unmake(&world, sb);
    }
    pdk_test_world_spec_fini(&spec);
}
END_TEST

START_TEST(a_shallow_repository)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *origin = pdk_test_path("origin");
    pdk_test_world_close(&world);
    free(pdk_test_sh(pdk_test_dir(), "mv user origin; rm -rf state"));
    free(pdk_test_git(pdk_test_dir(), "clone -q --depth 1 'file://%s' user", origin));
    world.user = pdk_test_path("user");
    pdk_test_world_open_on(&world, "HEAD");
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");

    expect_git(pdk_sandbox_root(sb), "log --format=%s", "second");
    expect_git(pdk_sandbox_root(sb), "fsck --no-dangling", "");
    free(pdk_test_repo_commit(pdk_sandbox_root(sb), "work"));
    ck_assert_int_eq(commits(sb), 1);
    pdk_test_world_unmake(&world, sb);
    free(origin);
}
END_TEST

START_TEST(a_sparse_repository)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    pdk_test_world_close(&world);
    pdk_test_remove(pdk_test_dir());
    pdk_test_mkdirs(pdk_test_dir());
    world.user = pdk_test_path("user");
    pdk_test_repo_sample(world.user);
    pdk_test_repo_write(world.user, "docs/page", "text\n");
    free(pdk_test_repo_commit(world.user, "second"));
    free(pdk_test_git(world.user, "sparse-checkout set src"));
    pdk_test_world_open_on(&world, "HEAD");
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");

    /* The whole tree: a check may need what its user does not look at. */
    expect_git(pdk_sandbox_root(sb), "status --porcelain", "");
    ck_assert_str_eq(capture(sb).hex, world.base.tree.hex);
    free(pdk_test_sh(pdk_sandbox_root(sb), "grep -q text docs/page"));
    pdk_test_world_unmake(&world, sb);
}
END_TEST

START_TEST(from_a_linked_worktree_of_the_user)
{
    const struct pdk_backend *be = pdk_backend_at((size_t)_i);

    if (!pdk_test_world_can(&world, be))
        return;
    char *linked = pdk_test_path("linked");
    char *main_tree = pdk_test_path("user");
    free(pdk_test_git(world.user, "worktree add -q -b side '%s'", linked));
    pdk_test_repo_write(linked, "side", "x\n");
    free(pdk_test_repo_commit(linked, "side"));
    pdk_test_world_close(&world);
    world.user = strdup(linked);
    pdk_test_world_open_on(&world, "HEAD");
    char *before = pdk_test_sh(main_tree, "git worktree list; git for-each-ref");
    struct pdk_sandbox *sb = pdk_test_world_make(&world, be, "a1");

    expect_git(pdk_sandbox_root(sb), "status --porcelain", "");
    expect_git(pdk_sandbox_root(sb), "log -1 --format=%s", "side");
    ck_assert_int_eq(commits(sb), 0);
    free(pdk_test_repo_commit(pdk_sandbox_root(sb), "work"));
    ck_assert_int_eq(commits(sb), 1);
    pdk_test_world_unmake(&world, sb);
    char *after = pdk_test_sh(main_tree, "git worktree list; git for-each-ref");
    pdk_test_same(before, after);
    free(after);
    free(before);
    free(main_tree);
    free(linked);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = { a_new_sandbox_holds_its_tree_and_nothing_else,
        dirt_has_exact_names, setup_dirt_can_be_made_the_baseline,
        a_seed_is_sealed_and_never_dirt, include_brings_ignored_files, git_works_inside,
        commits_are_counted_wherever_something_of_it_holds_them,
        what_is_committed_is_no_dirt, commits_that_the_user_fetched_are_no_longer_its_own,
        nothing_that_its_git_directory_says_runs_on_the_host,
        a_redirected_git_file_changes_nothing, hooks_and_the_environment_have_no_say,
        a_record_opens_it_again, a_mount_in_a_namespace_is_joined_or_made_again,
        the_way_it_is_mounted_is_told, a_repository_without_a_commit,
        a_seed_on_a_repository_without_a_commit, a_shallow_repository,
        a_sparse_repository, from_a_linked_worktree_of_the_user };
    Suite *suite = suite_create("backends");
    TCase *each = tcase_create("each");

    tcase_add_checked_fixture(each, setup, teardown);
    tcase_set_timeout(each, 60);
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_loop_test(each, tests[i], 0, (int)pdk_backend_count());
    suite_add_tcase(suite, each);
    return pdk_test_main(suite);
}
