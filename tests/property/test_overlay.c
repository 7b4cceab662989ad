/*
 * The same edits in an overlay and in a plain directory: captures and dirt are the same. What the kernel
 * makes of renames, removals and opaque directories in the upper layer must be no difference.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "tests/support/world.h"
#include "trees/vault.h"

enum { ROUNDS = 60, STEPS = 10, PHASES = 3 };

static struct pdk_test_world world;
static const struct pdk_backend *overlay, *directory;

static void setup(void)
{
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_dir_setup();
    memset(&world, 0, sizeof(world));
    world.user = pdk_test_path("user");
    pdk_test_repo_init(world.user);
    free(pdk_test_sh(world.user,
            "mkdir -p a/b/c d/e out; for f in one two a/x a/b/y a/b/c/z d/x d/e/y d/e/z; do "
            "printf \"$f\\n\" > $f; done; printf '#!\\n' > run; chmod +x run; ln -s one link; "
            "ln -s b a/dirlink; printf '*.log\\n!keep.log\\nout/\\n' > .gitignore; "
            "printf 'l\\n' > d/kept.log; printf o > out/o; git add -f d/kept.log out/o"));
    free(pdk_test_repo_commit(world.user, "first"));
    pdk_test_world_open_on(&world, "HEAD");
    pdk_test_ok(pdk_backend_find("overlay", &overlay, &err), &err);
    pdk_test_ok(pdk_backend_find("directory", &directory, &err), &err);
}

/* What a failed test left mounted, else its directory cannot go. Also outside of a test. */
static int unmount_below(const char *top)
{
    PDK_AUTO_FREE char *line = pdk_strf(
            "awk -v top='%s/' 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo | "
            "while read -r at; do umount -l \"$at\"; done",
            top);

    return line ? system(line) : -1;
}

static void teardown(void)
{
    (void)unmount_below(pdk_test_dir()); /* the removal tells */
    pdk_test_world_close(&world);
    pdk_test_dir_discard();
}

/* ---- scripts */

static size_t pick(unsigned int *seed, size_t n)
{
    return (size_t)rand_r(seed) % n;
}

static const char *const names[] = { "one", "two", "run", "link", "a", "a/x", "a/b",
    "a/b/y", "a/b/c", "a/b/c/z", "a/dirlink", "d", "d/x", "d/e", "d/e/y", "d/e/z",
    "d/kept.log", "out", "out/o", "out/new", "new", "new/n", "new/deep/er", "x.log",
    "keep.log", "a/x.log", "a.b", "a-b", "' s p'" };

/* $1 and $2 are names, "$r" a thing to write. Whatever a step cannot do, it does in neither place. */
static const char *const edits[] = {
    "rm -rf $1",
    "rm -f $1",
    "put $1 changed",
    "put $1 longer-than-it-was-before",
    "put $1 ''",
    "rm -rf $1; put $1 again",
    "rm -rf $1; mkdir -p $1",
    "rm -rf $1; mkdir -p $1; put $1/in inside",
    "rm -rf $1; put $1 file; rm -rf $1; put $1/in inside; rm -rf $1; put $1 file",
    "mv -T $1 $2",
    "mv $1 $2",
    "mv -T $1 $2; mv -T $2 $1",
    "mv -T $1 swap && mv -T $2 $1; mv -T swap $2",
    "cp -a $1 $2",
    "ln -f $1 $2",
    "ln -f $1 $2; put $2 both",
    "rm -rf $1; ln -s one $1",
    "rm -rf $1; ln -s a/b $1",
    "ln -sfn $2 $1",
    "chmod +x $1",
    "chmod -x $1",
    "chmod 600 $1",
    "touch $1",
    "touch -d '1 hour ago' $1",
    "[ -f $1 ] && cp $1 ../saved && put $1 other && cat ../saved > $1",
    "[ -f $1 ] && cp -p $1 ../saved && rm -f $1 && cp -p ../saved $1",
    "[ -d $1 ] && mv $1 ../moved && mv ../moved $1",
    "[ -d $1 ] && cp -a $1 ../moved && rm -rf $1 && mv ../moved $1",
    "rm -rf $1; mkdir -p $1 && git -C $1 init -q && put $1/in nested",
    "printf '%s\\n' x.log 'new/' > .gitignore",
    "printf '%s\\n' '/d' '!d/e' '*.b' > .gitignore",
    "rm -f .gitignore",
    "put a/.gitignore '*'",
    "rm -f a/.gitignore",
    "mkdir -p $1/empty/inside",
    "rm -rf a d; mkdir a d; put a/x fresh",
    "git add -A; git commit -qm step",
    "git stash -q -u",
    "git stash pop -q",
    "git checkout -q -- .",
    "git clean -qfd",
    "mkfifo $1",
    "rm -rf $1; mkfifo $1",
    "chmod 4755 $1",
};

static char *script_of(unsigned int *seed)
{
    PDK_AUTO_BUF struct pdk_buf script = PDK_BUF_INIT;

    pdk_buf_adds(&script,
            "exec >/dev/null 2>&1\nexport GIT_AUTHOR_DATE=@1700000000 GIT_COMMITTER_DATE=@1700000000 "
            "GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=n "
            "GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=e@x\n"
            "put() { mkdir -p \"$(dirname \"$1\")\"; [ -d \"$1\" ] || [ -p \"$1\" ] || printf '%s' \"$2\" "
            "> \"$1\"; }\n");
    for (int i = 0; i < STEPS; i++) {
        const char *const words[] = { names[pick(seed, sizeof(names) / sizeof(names[0]))],
            names[pick(seed, sizeof(names) / sizeof(names[0]))] };

        for (const char *edit = edits[pick(seed, sizeof(edits) / sizeof(edits[0]))];
                *edit; edit++) {
            if (edit[0] == '$' && (edit[1] == '1' || edit[1] == '2')) {
                pdk_buf_adds(&script, words[*++edit - '1']);
            } else {
                pdk_buf_addc(&script, *edit);
            }
        }
        pdk_buf_adds(&script, "\n");
    }
    pdk_buf_adds(&script, "true\n");
    return pdk_buf_take(&script);
}

/* ---- comparing */

static char *dirt_of(struct pdk_sandbox *sb)
{
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_ok(pdk_sandbox_collect_dirt(sb, world.vault, &dirt, &err), &err);
    for (size_t i = 0; i < dirt.len; i++)
        pdk_buf_addf(&text, "%c %s\n", dirt.entries[i].status, dirt.entries[i].path);
    return pdk_buf_take(&text);
}

static char *list_of(struct pdk_sandbox *sb, bool rebase)
{
    PDK_AUTO_CAPTURE struct pdk_capture got = { .warnings = PDK_STRV_INIT };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err err = PDK_ERR_INIT;

    pdk_test_ok(rebase ? pdk_sandbox_rebase(sb, world.vault, &got, &err)
                       : pdk_sandbox_capture(sb, world.vault, &got, &err),
            &err);
    PDK_AUTO_FREE char *list =
            pdk_test_git(world.vault_path, "ls-tree -r %s", got.tree.hex);
    pdk_buf_addf(&text, "%s\n%s\n", got.tree.hex, list);
    return pdk_buf_take(&text);
}

static void compare(
        const char *what, const char *ours, const char *want, const char *done)
{
    ck_assert_msg(strcmp(ours, want) == 0,
            "%s: in the overlay:\n%s\nin the directory:\n%s\nafter:\n%s", what, ours,
            want, done);
}

static void compare_dirt(struct pdk_sandbox *a, struct pdk_sandbox *b, const char *done)
{
    PDK_AUTO_FREE char *ours = dirt_of(a);
    PDK_AUTO_FREE char *want = dirt_of(b);

    compare("dirt", ours, want, done);
}

static void compare_tree(
        struct pdk_sandbox *a, struct pdk_sandbox *b, bool rebase, const char *done)
{
    PDK_AUTO_FREE char *ours = list_of(a, rebase);
    PDK_AUTO_FREE char *want = list_of(b, rebase);

    compare("tree", ours, want, done);
}

static void run_both(struct pdk_sandbox *a, struct pdk_sandbox *b, const char *script)
{
    struct pdk_sandbox *both[] = { a, b };

    for (int i = 0; i < 2; i++) {
        PDK_AUTO_FREE char *path = pdk_test_path("script");

        pdk_test_write_text(path, script);
        free(pdk_test_sh(pdk_sandbox_root(both[i]),
                "rm -rf ../saved ../moved; umask 022; sh '%s'", path));
    }
}

static void run_phase(struct pdk_sandbox *a, struct pdk_sandbox *b, unsigned int *seed,
        struct pdk_buf *done)
{
    PDK_AUTO_FREE char *script = script_of(seed);
    size_t look = pick(seed, 4);

    pdk_buf_adds(done, script);
    run_both(a, b, script);
    compare_dirt(a, b, pdk_buf_str(done));
    if (look == 0)
        return;
    pdk_buf_addf(done, "# %s\n", look == 1 ? "rebase" : "capture");
    compare_tree(a, b, look == 1, pdk_buf_str(done));
    compare_dirt(a, b, pdk_buf_str(done));
}

START_TEST(an_overlay_is_captured_as_a_directory_is)
{
    unsigned int seed = (unsigned int)_i * 15485863U + 11;
    PDK_AUTO_BUF struct pdk_buf done = PDK_BUF_INIT;

    if (!pdk_test_world_can(&world, overlay))
        return;
    struct pdk_sandbox *a = pdk_test_world_make(&world, overlay, "over");
    struct pdk_sandbox *b = pdk_test_world_make(&world, directory, "plain");
    for (int i = 0; i < PHASES; i++)
        run_phase(a, b, &seed, &done);
    compare_tree(a, b, false, pdk_buf_str(&done));
    pdk_test_world_unmake(&world, a);
    pdk_test_world_unmake(&world, b);
}
END_TEST

int main(void)
{
    const char *rounds = getenv("PDK_OVERLAY_ROUNDS"), *own = getenv("TMPDIR");
    Suite *suite = suite_create("property_overlay");
    TCase *tc = tcase_create("overlay");

    if (geteuid() != 0)
        (void)fprintf(stderr, "SKIPPED: overlays take root; nothing is compared here\n");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, an_overlay_is_captured_as_a_directory_is, 0,
            rounds ? (int)strtol(rounds, NULL, 10) : ROUNDS);
    suite_add_tcase(suite, tc);
    int status = pdk_test_main(suite);
    /* A test that failed in a process of its own had no teardown; the directory is this program's alone. */
    if (geteuid() == 0 && own && strstr(own, "/pdk-test."))
        status |= unmount_below(own) != 0;
    return status;
}
