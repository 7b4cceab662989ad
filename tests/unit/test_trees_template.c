/* Templates: made once, whoever asks and whoever is killed; found out when changed; copied; swept. */
/* wrap: pdk_checkout pdk_fs_write_fd rename link */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/trees.h"
#include "trees/checkout.h"
#include "trees/index.h"
#include "trees/layer.h"
#include "trees/repo.h"
#include "trees/template.h"
#include "trees/vault.h"

#define SETUP                                                                            \
    "printf 'one\\n' > one; : > empty; mkdir -p d/e; printf 'x\\n' > d/x; "              \
    "printf 'y\\n' > d/e/y; printf '#!\\n' > run; chmod +x run; ln -s one link; "        \
    "ln -s nowhere d/dangling; printf '*.log\\nout/\\n' > .gitignore; "                  \
    "head -c 700000 /dev/zero > large; "                                                 \
    "for i in $(seq 300); do printf $i > d/e/$i; done"

enum { MAKERS = 8, ALL_BYTES = 1 << 30 };

/* Seen by forked makers too. */
struct counts {
    atomic_int checkouts;
    atomic_int fuse; /* what is left until the process is killed; 0: it is not */
};

static struct pdk_test_trees t;
static struct pdk_base base;
static struct counts *counts;
static char *dir;

int __real_pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err);
int __wrap_pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err);
int __real_pdk_fs_write_fd(int fd, const void *data, size_t size, struct pdk_err *err);
int __wrap_pdk_fs_write_fd(int fd, const void *data, size_t size, struct pdk_err *err);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

static void burn(void)
{
    if (counts && atomic_load(&counts->fuse) > 0 &&
            atomic_fetch_sub(&counts->fuse, 1) == 1)
        (void)kill(getpid(), SIGKILL);
}

int __wrap_pdk_checkout(struct pdk_vault *vault, const struct pdk_checkout_spec *spec,
        struct pdk_err *err)
{
    (void)atomic_fetch_add(&counts->checkouts, 1);
    burn();
    return __real_pdk_checkout(vault, spec, err);
}

int __wrap_pdk_fs_write_fd(int fd, const void *data, size_t size, struct pdk_err *err)
{
    burn();
    return __real_pdk_fs_write_fd(fd, data, size, err);
}

int __wrap_rename(const char *from, const char *to)
{
    burn();
    return __real_rename(from, to);
}

int __wrap_link(const char *from, const char *to)
{
    burn();
    return __real_link(from, to);
}

static void setup(void)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(counts, MAP_FAILED);
    pdk_test_trees_open(&t, SETUP);
    ck_assert_msg(pdk_repo_resolve(t.repo, "HEAD", &base, &err) == 0, "%s", err.msg);
    dir = pdk_test_path("templates");
}

static void teardown(void)
{
    free(dir);
    pdk_test_trees_close(&t);
    (void)munmap(counts, sizeof(*counts));
    counts = NULL;
    pdk_test_dir_discard();
}

static int try_open(
        struct pdk_vault *vault, unsigned int flags, struct pdk_template **out)
{
    struct pdk_err err = PDK_ERR_INIT;

    return pdk_template_open(vault, t.repo, dir, &base.tree, flags, out, &err);
}

static struct pdk_template *open_flags(unsigned int flags)
{
    struct pdk_template *out = NULL;
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(
            pdk_template_open(t.vault, t.repo, dir, &base.tree, flags, &out, &err) == 0,
            "%s", err.msg);
    return out;
}

static struct pdk_template *open_one(void)
{
    return open_flags(0);
}

static int checkouts(void)
{
    return atomic_load(&counts->checkouts);
}

/* What git itself writes of the tree, and the same again of ours: types, modes, links, bytes. */
static void expect_like_git(const char *root)
{
    PDK_AUTO_FREE char *want = pdk_test_path("by-git");

    if (!pdk_test_exists(want)) {
        pdk_test_mkdirs(want);
        free(pdk_test_sh(t.path,
                "umask 022; export GIT_INDEX_FILE='%s.index'; git read-tree %s && "
                "git --work-tree='%s' checkout-index -a",
                want, base.tree.hex, want));
    }
    free(pdk_test_sh(pdk_test_dir(),
            "list() { cd \"$1\" && find . -name .git -prune -o -mindepth 1 "
            "-printf '%%P %%y %%m %%l\\n' | sort; }; "
            "(list '%s') > want.list; (list '%s') > got.list; diff want.list got.list >&2 && "
            "diff -r --no-dereference --exclude .git '%s' '%s' >&2",
            want, root, want, root));
}

/* Each entry's stat data is that of its file, so that nothing has to be read again. */
static void expect_clean(const char *path, const char *root, const char *tree)
{
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_index_read(path, &index, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(index.tree.hex, tree);
    for (size_t i = 0; i < index.len; i++) {
        PDK_AUTO_FREE char *file = pdk_strf("%s/%s", root, index.entries[i].path);
        struct stat st;

        ck_assert_int_eq(lstat(file, &st), 0);
        ck_assert_msg(pdk_index_is_clean(&index, &index.entries[i], &st), "%s", file);
    }
}

static void expect_whole(const struct pdk_template *one)
{
    expect_like_git(pdk_template_root(one));
    expect_clean(pdk_template_index(one), pdk_template_root(one), base.tree.hex);
}

/* As a git directory is described: out of order, with bytes that are no text. */
static char *make_layer(const struct pdk_template *one, const char *config)
{
    PDK_AUTO_LAYER struct pdk_layer layer = PDK_LAYER_INIT;
    struct pdk_err err = PDK_ERR_INIT;
    char *out = NULL;

    ck_assert_int_eq(pdk_layer_add_dir(&layer, "refs", &err), 0);
    ck_assert_int_eq(pdk_layer_add_dir(&layer, "info", &err), 0);
    ck_assert_int_eq(
            pdk_layer_add_file(&layer, "config", config, strlen(config), &err), 0);
    ck_assert_int_eq(pdk_layer_add_file(&layer, "info/exclude", "a\0b\n", 4, &err), 0);
    ck_assert_msg(pdk_template_layer(one, &layer, &out, &err) == 0, "%s", err.msg);
    return out;
}

static int count_temps(void)
{
    PDK_AUTO_FREE char *out = pdk_test_sh(dir, "ls | grep -c '\\.tmp-' || true");

    return atoi(out);
}

/* ---- made once */

START_TEST(it_is_what_git_would_write)
{
    struct pdk_template *one = open_one();

    expect_whole(one);
    ck_assert_int_eq(count_temps(), 0);
    pdk_template_close(one);
    one = open_one();
    ck_assert_int_eq(checkouts(), 1);
    pdk_template_close(one);
    pdk_template_close(NULL);
}
END_TEST

static void *make_on_thread(void *user)
{
    struct pdk_vault *vault = NULL;
    struct pdk_template *one = NULL;
    int rc;

    (void)user;
    if (pdk_vault_open(t.vault_path, t.repo->objects, &vault, NULL) < 0)
        return &t;
    rc = try_open(vault, 0, &one);
    pdk_template_close(one);
    pdk_vault_close(vault);
    return rc == 0 ? NULL : &t;
}

START_TEST(threads_that_ask_at_once_make_one)
{
    pthread_t threads[MAKERS];

    for (int i = 0; i < MAKERS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_on_thread, NULL), 0);
    for (int i = 0; i < MAKERS; i++) {
        void *failed = NULL;

        ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(checkouts(), 1);
    PDK_AUTO_TEMPLATE struct pdk_template *one = open_one();
    expect_whole(one);
    ck_assert_int_eq(count_temps(), 0);
}
END_TEST

/* A maker in a process of its own. */
static pid_t fork_maker(void)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        _exit(make_on_thread(NULL) ? 1 : 0);
    return pid;
}

static int wait_maker(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    return status;
}

START_TEST(processes_that_ask_at_once_make_one)
{
    pid_t pids[MAKERS];

    for (int i = 0; i < MAKERS; i++)
        pids[i] = fork_maker();
    for (int i = 0; i < MAKERS; i++)
        ck_assert_int_eq(wait_maker(pids[i]), 0);
    ck_assert_int_eq(checkouts(), 1);
    PDK_AUTO_TEMPLATE struct pdk_template *one = open_one();
    expect_whole(one);
    ck_assert_int_eq(count_temps(), 0);
}
END_TEST

/* ---- killed makers */

static void expect_recovery(void)
{
    struct pdk_template_sweep sweep = { .max_age_ms = 60000, .max_bytes = ALL_BYTES };
    struct pdk_err err = PDK_ERR_INIT;
    PDK_AUTO_FREE char *published = pdk_strf("%s/%s", dir, base.tree.hex);
    struct pdk_template *one;

    if (pdk_test_exists(published)) {
        /* Half ones are never seen under the name: trust alone has to do. */
        one = open_flags(PDK_TEMPLATE_TRUST);
        expect_whole(one);
        pdk_template_close(one);
    }
    one = open_one();
    expect_whole(one);
    pdk_template_close(one);
    ck_assert_msg(pdk_template_sweep(dir, &sweep, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(count_temps(), 0);
    ck_assert_int_eq(sweep.kept, 1);
    pdk_test_remove(dir);
}

START_TEST(a_maker_may_be_killed_at_any_step)
{
    bool killed = true;

    for (int fuse = 1; killed; fuse += fuse < 5 || fuse > 300 ? 1 : 37) {
        atomic_store(&counts->fuse, fuse);
        int status = wait_maker(fork_maker());

        atomic_store(&counts->fuse, 0);
        killed = WIFSIGNALED(status);
        ck_assert(killed || status == 0);
        expect_recovery();
        ck_assert_int_lt(fuse, 400);
    }
}
END_TEST

START_TEST(a_maker_may_be_killed_at_any_moment)
{
    unsigned int seed = 7;

    for (int i = 0; i < 12; i++) {
        pid_t pid = fork_maker();
        PDK_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        struct pollfd end = { .fd = pidfd, .events = POLLIN };
        struct timespec moment = { 0, rand_r(&seed) % 15000000 };

        ck_assert_int_ge(ppoll(&end, 1, &moment, NULL), 0); /* or its own end */
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        (void)wait_maker(pid);
        expect_recovery();
    }
}
END_TEST

/* Who waits for a maker that is killed makes it himself. */
START_TEST(those_who_wait_for_a_killed_one_go_on)
{
    pid_t pids[MAKERS];
    int killed = 0;

    atomic_store(&counts->fuse, 20);
    for (int i = 0; i < MAKERS; i++)
        pids[i] = fork_maker();
    for (int i = 0; i < MAKERS; i++)
        killed += WIFSIGNALED(wait_maker(pids[i]));
    ck_assert_int_eq(killed, 1);
    ck_assert_int_eq(checkouts(), 2);
    expect_recovery();
}
END_TEST

/* ---- changed by somebody */

static const char *const damages[] = {
    "printf 'ONE\\n' > tree/one",
    "printf more >> tree/d/x",
    "touch tree/one",
    "chmod +x tree/one",
    "chmod -x tree/run",
    "rm tree/one",
    "rm -r tree/d",
    "rm tree/link; ln -s two tree/link",
    "rm tree/one; mkdir tree/one",
    "rm tree/one; ln -s link tree/one",
    "printf n > tree/new",
    "printf n > tree/new.log",
    "mkdir tree/out; printf n > tree/out/new",
    "mkdir -p tree/d/new/deep; printf n > tree/d/new/deep/x",
    "mkfifo tree/fifo",
    "printf '*\\n' > tree/.gitignore; printf n > tree/hidden",
    "printf '*\\n' > tree/d/.gitignore; printf n > tree/d/hidden",
    "mkdir tree/.git; printf n > tree/.git/config",
    "printf n > tree/d/.git",
    "mkdir tree/hollow",
    "rm index",
    ": > index",
    "rm -r git-*/.git",
    "rm git-*/.git/index",
    "cd git-*/.git; cp index new; mv new index",
    "cd git-*/.git; printf n > config",
    "cd git-*/.git; printf n > new",
    "cd git-*/.git; mkdir hooks",
    "cd git-*/.git; rm config; ln -s index config",
    "cd git-*/.git; rm -r info; printf n > info",
    "cd git-*; printf n > new",
    "mkdir git-0123",
    "printf n > new",
    "rm -r tree",
    "rm -r tree; ln -s / tree",
};

START_TEST(a_changed_one_is_made_anew)
{
    struct pdk_template *one = open_one();
    PDK_AUTO_FREE char *top = pdk_strf("%s/%s", dir, base.tree.hex);

    free(make_layer(one, "x"));
    pdk_template_close(one);
    free(pdk_test_sh(top, "%s", damages[_i]));
    one = open_one();
    ck_assert_msg(checkouts() == 2, "not seen: %s", damages[_i]);
    expect_whole(one);
    pdk_template_close(one);
    one = open_one();
    ck_assert_int_eq(checkouts(), 2);
    pdk_template_close(one);
}
END_TEST

START_TEST(a_layer_is_made_once_for_each_content)
{
    struct pdk_template *one = open_one();
    PDK_AUTO_FREE char *x = make_layer(one, "x");
    PDK_AUTO_FREE char *again = make_layer(one, "x");
    PDK_AUTO_FREE char *y = make_layer(one, "y");
    PDK_AUTO_FREE char *index = pdk_strf("%s/.git/index", x);
    PDK_AUTO_FREE char *found = pdk_test_sh(x,
            "find . -type f | sort; cat .git/config; wc -c < .git/info/exclude;"
            " stat -c %%a . .git .git/refs .git/config");

    ck_assert_str_eq(x, again);
    ck_assert_str_ne(x, y);
    ck_assert_str_eq(found,
            "./.git/config\n./.git/index\n./.git/info/exclude\nx4\n755\n755\n755\n644");
    expect_clean(index, pdk_template_root(one), base.tree.hex);
    ck_assert_int_eq(count_temps(), 0);
    pdk_template_close(one);
    pdk_template_close(open_one());
    ck_assert_int_eq(checkouts(), 1);
}
END_TEST

static pid_t fork_layer_maker(const struct pdk_template *one)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    free(make_layer(one, "x"));
    _exit(0);
}

/* Half a layer is never found under its name. */
START_TEST(a_killed_maker_leaves_no_half_layer)
{
    struct pdk_template *one = open_one();
    bool killed = true;

    for (int fuse = 1; killed; fuse++) {
        atomic_store(&counts->fuse, fuse);
        int status = wait_maker(fork_layer_maker(one));

        atomic_store(&counts->fuse, 0);
        killed = WIFSIGNALED(status);
        pdk_template_close(open_one());
        ck_assert_int_eq(checkouts(), 1);
        ck_assert_int_lt(fuse, 10);
    }
    free(make_layer(one, "x"));
    pdk_template_close(one);
}
END_TEST

START_TEST(a_trusted_one_is_not_looked_at)
{
    struct pdk_template *held =
            open_flags(PDK_TEMPLATE_TRUST); /* a missing one is made */
    PDK_AUTO_FREE char *one = pdk_strf("%s/one", pdk_template_root(held));

    ck_assert_int_eq(checkouts(), 1);
    pdk_test_write_text(one, "changed");
    pdk_template_close(open_flags(PDK_TEMPLATE_TRUST));
    ck_assert_int_eq(checkouts(), 1);
    pdk_template_close(held);
    pdk_template_close(open_one());
    ck_assert_int_eq(checkouts(), 2);
}
END_TEST

/* Files that the tree's own rules would ignore, and submodules, are no damage. */
START_TEST(odd_trees_are_sound)
{
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_sh(t.path,
            "printf l > kept.log; mkdir out; printf o > out/o; git add -f kept.log out; "
            "git update-index --add --cacheinfo 160000,%s,sub/module; git commit -qm odd; "
            "rm -rf sub",
            base.commit.hex));
    ck_assert_msg(pdk_repo_resolve(t.repo, "HEAD", &base, &err) == 0, "%s", err.msg);
    pdk_template_close(open_one());
    pdk_template_close(open_one());
    ck_assert_int_eq(checkouts(), 1);
}
END_TEST

START_TEST(the_empty_tree_is_one_too)
{
    ck_assert(pdk_oid_parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904", &base.tree));
    pdk_template_close(open_one());
    pdk_template_close(open_one());
    ck_assert_int_eq(checkouts(), 1);
}
END_TEST

/* Line ends are settings of the user's: other files, another template. */
START_TEST(other_settings_make_another_one)
{
    struct pdk_template *one = open_one();

    free(pdk_test_sh(t.path, "git config core.autocrlf true"));
    pdk_repo_free(t.repo);
    t.repo = NULL;
    ck_assert_int_eq(pdk_repo_open(t.path, &t.repo, NULL), 0);
    struct pdk_template *other = open_one();
    PDK_AUTO_FREE char *path = pdk_strf("%s/one", pdk_template_root(other));
    PDK_AUTO_FREE char *text = pdk_test_read(path, NULL);

    ck_assert_str_eq(text, "one\r\n");
    ck_assert_str_ne(pdk_template_root(one), pdk_template_root(other));
    pdk_template_close(other);
    pdk_template_close(one);
}
END_TEST

/* ---- copies */

static int copy(const struct pdk_template *one, struct pdk_err *err)
{
    PDK_AUTO_FREE char *git_index = pdk_strf("%s/.git/index", t.copy);

    pdk_test_remove(t.copy);
    pdk_test_repo_init(t.copy);
    return pdk_template_copy(one, t.copy, t.index, git_index, err);
}

static void expect_git_reads_nothing(void)
{
    PDK_AUTO_FREE char *seen = NULL;

    free(pdk_test_sh(t.copy,
            "echo '%s' > .git/objects/info/alternates; echo %s > .git/refs/heads/main",
            t.repo->objects, base.commit.hex));
    /* It compares stat data alone: what would have to be read again is listed. */
    seen = pdk_test_sh(t.copy,
            "cp .git/index before; git diff-files; mv before ../before; "
            "git status --porcelain --ignored; cmp .git/index ../before");
    ck_assert_str_eq(seen, "");
}

START_TEST(a_copy_is_what_git_would_write)
{
    PDK_AUTO_TEMPLATE struct pdk_template *one = open_one();
    PDK_AUTO_FREE char *git_index = pdk_strf("%s/.git/index", t.copy);
    struct pdk_err err = PDK_ERR_INIT;
    mode_t mask = umask(077); /* the umask is not the tree's business */
    int rc = copy(one, &err);

    (void)umask(mask);
    ck_assert_msg(rc == 0, "%s", err.msg);
    free(pdk_test_sh(t.copy, "find . -type d -exec chmod 755 {} +")); /* git's umask */
    expect_like_git(t.copy);
    expect_clean(t.index, t.copy, base.tree.hex);
    expect_clean(git_index, t.copy, ""); /* git's does not name its tree */
    free(pdk_test_sh(pdk_test_dir(),
            "stamps() { cd \"$1\" && find . -name .git -prune -o ! -type d -printf '%%P %%T@\\n' | sort; }; "
            "(stamps '%s') > a; (stamps '%s') > b; diff a b >&2",
            pdk_template_root(one), t.copy));
    expect_git_reads_nothing();
}
END_TEST

START_TEST(a_copy_shares_nothing_with_its_template)
{
    PDK_AUTO_TEMPLATE struct pdk_template *one = open_one();
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(copy(one, &err) == 0, "%s", err.msg);
    free(pdk_test_sh(t.copy,
            "find . -name .git -prune -o -type f -print | "
            "while read f; do echo more >> \"$f\"; done; chmod 600 one"));
    expect_whole(one);
    ck_assert_int_eq(pdk_template_copy(one, t.copy, t.index, NULL, &err), PDK_EIO);
}
END_TEST

START_TEST(a_copy_finds_damage)
{
    static const char *const found[] = { "printf 'ONE\\n' > one", "touch d/x", "rm one",
        "rm one; ln -s link one", "rm link; ln -s two link", "rm link; printf x > link",
        "chmod +x one", "rm one; mkdir one", "rm -r d" };
    PDK_AUTO_TEMPLATE struct pdk_template *one = open_one();
    struct pdk_err err = PDK_ERR_INIT;

    free(pdk_test_sh(pdk_template_root(one), "%s", found[_i]));
    ck_assert_int_eq(copy(one, &err), PDK_ECORRUPT);
    ck_assert(!pdk_test_exists(t.index));
}
END_TEST

/* ---- uses and sweeps */

static void age(const char *key, int seconds)
{
    free(pdk_test_sh(dir, "touch -d '%d seconds ago' '%s.lock'", seconds, key));
}

static struct pdk_template_sweep sweep(
        int64_t max_age_ms, int64_t max_bytes, bool dry_run)
{
    struct pdk_template_sweep out = {
        .max_age_ms = max_age_ms, .max_bytes = max_bytes, .dry_run = dry_run
    };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_template_sweep(dir, &out, &err) == 0, "%s", err.msg);
    return out;
}

static bool there(const struct pdk_oid *tree)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/%s", dir, tree->hex);

    return pdk_test_exists(path);
}

START_TEST(a_sweep_takes_the_old)
{
    struct pdk_template_sweep swept;

    swept = sweep(0, 0, false); /* there is no directory yet */
    ck_assert_int_eq(swept.removed + swept.kept, 0);
    pdk_template_close(open_one());
    swept = sweep(60000, ALL_BYTES, false);
    ck_assert_int_eq(swept.removed, 0);
    ck_assert_int_eq(swept.kept, 1);
    ck_assert_int_ge(swept.left, 700000);
    age(base.tree.hex, 3600);
    swept = sweep(60000, ALL_BYTES, true);
    ck_assert_int_eq(swept.removed, 1);
    ck_assert_int_ge(swept.freed, 700000);
    ck_assert_int_eq(swept.left, 0);
    ck_assert(there(&base.tree));
    pdk_template_close(open_one()); /* an open makes it young again */
    ck_assert_int_eq(sweep(60000, ALL_BYTES, false).removed, 0);
    age(base.tree.hex, 3600);
    ck_assert_int_eq(sweep(60000, ALL_BYTES, false).removed, 1);
    ck_assert(!there(&base.tree));
    ck_assert_int_eq(checkouts(), 1);
    PDK_AUTO_TEMPLATE struct pdk_template *again = open_one();
    expect_whole(again);
}
END_TEST

START_TEST(a_sweep_leaves_what_is_in_use)
{
    struct pdk_template *one = open_one();
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_int_eq(pdk_template_use(one, "r1.c1", &err), 0);
    ck_assert_int_eq(pdk_template_use(one, "r1.c1", &err), 0);
    ck_assert_int_eq(pdk_template_use(one, "r1.c2", &err), 0);
    age(base.tree.hex, 3600);
    ck_assert_int_eq(sweep(0, 0, true).removed, 0);
    ck_assert_int_eq(sweep(0, 0, false).removed, 0); /* locked and used */
    pdk_template_close(one);
    ck_assert_int_eq(sweep(0, 0, false).removed, 0); /* used */
    ck_assert_int_eq(pdk_template_release(dir, "r1.c1", &err), 0);
    ck_assert_int_eq(pdk_template_release(dir, "r1.c1", &err), 0);
    ck_assert_int_eq(pdk_template_release(dir, "c2", &err), 0); /* somebody else */
    ck_assert_int_eq(sweep(0, 0, false).removed, 0);
    ck_assert_int_eq(pdk_template_release(dir, "r1.c2", &err), 0);
    one = open_one();
    age(base.tree.hex, 3600);
    ck_assert_int_eq(sweep(0, 0, false).removed, 0); /* locked */
    ck_assert_int_eq(sweep(0, 0, true).kept, 1);
    pdk_template_close(one);
    ck_assert_int_eq(sweep(0, 0, false).removed, 1);
    ck_assert_int_eq(pdk_template_release("/nowhere/at/all", "x", &err), 0);
}
END_TEST

START_TEST(a_sweep_keeps_the_youngest_within_the_size)
{
    struct pdk_oid first = base.tree, second;
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_template_sweep swept;

    pdk_template_close(open_one());
    free(pdk_test_sh(t.path, "echo two > one; git commit -qam second"));
    ck_assert_msg(pdk_repo_resolve(t.repo, "HEAD", &base, &err) == 0, "%s", err.msg);
    second = base.tree;
    pdk_template_close(open_one());
    age(first.hex, 10);
    age(second.hex, 100);
    swept = sweep(3600000, ALL_BYTES, false);
    ck_assert_int_eq(swept.removed, 0);
    swept = sweep(3600000, swept.left - 1, false);
    ck_assert_int_eq(swept.removed, 1);
    ck_assert_int_eq(swept.kept, 1);
    ck_assert(there(&first) && !there(&second));
    ck_assert_int_eq(sweep(3600000, 0, false).removed, 1);
}
END_TEST

START_TEST(what_makers_left_goes_unless_they_are_at_it)
{
    struct pdk_template *one = open_one();

    free(pdk_test_sh(dir,
            "mkdir -p %s.tmp-abcdef/tree %s.tmp-ghijkl; echo x > %s.tmp-abcdef/tree/x",
            base.tree.hex, base.tree.hex, base.tree.hex));
    (void)sweep(60000, ALL_BYTES, false);
    ck_assert_int_eq(count_temps(), 2); /* the lock is held: it might be a maker */
    pdk_template_close(one);
    (void)sweep(60000, ALL_BYTES, true);
    ck_assert_int_eq(count_temps(), 2);
    (void)sweep(60000, ALL_BYTES, false);
    ck_assert_int_eq(count_temps(), 0);
    ck_assert(there(&base.tree));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trees_template");
    TCase *tc = tcase_create("template");

    tcase_set_timeout(tc, 100);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, it_is_what_git_would_write);
    tcase_add_test(tc, threads_that_ask_at_once_make_one);
    tcase_add_test(tc, processes_that_ask_at_once_make_one);
    tcase_add_test(tc, a_maker_may_be_killed_at_any_step);
    tcase_add_test(tc, a_maker_may_be_killed_at_any_moment);
    tcase_add_test(tc, those_who_wait_for_a_killed_one_go_on);
    tcase_add_loop_test(
            tc, a_changed_one_is_made_anew, 0, sizeof(damages) / sizeof(damages[0]));
    tcase_add_test(tc, a_layer_is_made_once_for_each_content);
    tcase_add_test(tc, a_killed_maker_leaves_no_half_layer);
    tcase_add_test(tc, a_trusted_one_is_not_looked_at);
    tcase_add_test(tc, odd_trees_are_sound);
    tcase_add_test(tc, the_empty_tree_is_one_too);
    tcase_add_test(tc, other_settings_make_another_one);
    tcase_add_test(tc, a_copy_is_what_git_would_write);
    tcase_add_test(tc, a_copy_shares_nothing_with_its_template);
    tcase_add_loop_test(tc, a_copy_finds_damage, 0, 9);
    tcase_add_test(tc, a_sweep_takes_the_old);
    tcase_add_test(tc, a_sweep_leaves_what_is_in_use);
    tcase_add_test(tc, a_sweep_keeps_the_youngest_within_the_size);
    tcase_add_test(tc, what_makers_left_goes_unless_they_are_at_it);
    suite_add_tcase(suite, tc);
    return pdk_test_main(suite);
}
