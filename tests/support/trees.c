#include "tests/support/trees.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "tests/support/command.h"
#include "tests/support/fixture.h"
#include "tests/support/repo.h"
#include "trees/capture.h"
#include "trees/checkout.h"
#include "trees/repo.h"
#include "trees/vault.h"

void pdk_test_trees_open(struct pdk_test_trees *t, const char *setup)
{
    struct pdk_err err = PDK_ERR_INIT;

    *t = (struct pdk_test_trees){ .path = pdk_test_path("repo"),
        .copy = pdk_test_path("copy"),
        .index = pdk_test_path("index"),
        .vault_path = pdk_test_path("vault"),
        .root_fd = -1 };
    pdk_test_repo_init(t->path);
    free(pdk_test_sh(t->path, "%s", setup));
    free(pdk_test_repo_commit(t->path, "first"));
    ck_assert_msg(pdk_repo_open(t->path, &t->repo, &err) == 0, "%s", err.msg);
    ck_assert_msg(pdk_vault_open(t->vault_path, t->repo->objects, &t->vault, &err) == 0,
            "%s", err.msg);
}

void pdk_test_trees_close(struct pdk_test_trees *t)
{
    if (t->root_fd >= 0)
        (void)close(t->root_fd);
    pdk_vault_close(t->vault);
    pdk_repo_free(t->repo);
    free(t->path);
    free(t->copy);
    free(t->index);
    free(t->vault_path);
}

/* The clock that stamps files moves on by ticks: waits for the next one, a few milliseconds. */
static void next_tick(void)
{
    struct timespec start, now;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &start);
    do
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_sec == start.tv_sec && now.tv_nsec == start.tv_nsec);
}

int pdk_test_trees_try(
        struct pdk_test_trees *t, const struct pdk_oid *tree, struct pdk_err *err)
{
    struct pdk_checkout_spec spec = {
        .repo = t->repo, .tree = *tree, .dir = t->copy, .index = t->index
    };
    int rc;

    pdk_test_mkdirs(t->copy);
    t->root_fd = open(t->copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(t->root_fd, 0);
    t->tree = *tree;
    rc = pdk_checkout(t->vault, &spec, err);
    next_tick();
    return rc;
}

void pdk_test_trees_checkout(struct pdk_test_trees *t)
{
    struct pdk_err err = PDK_ERR_INIT;
    struct pdk_base base;

    ck_assert_msg(pdk_repo_resolve(t->repo, "HEAD", &base, &err) == 0, "%s", err.msg);
    ck_assert_msg(pdk_test_trees_try(t, &base.tree, &err) == 0, "%s", err.msg);
}

struct pdk_oid pdk_test_trees_capture(
        struct pdk_test_trees *t, struct pdk_capture *capture)
{
    PDK_AUTO_CAPTURE struct pdk_capture own = { .warnings = PDK_STRV_INIT };
    struct pdk_capture *to = capture ? capture : &own;
    struct pdk_capture_spec spec = {
        .repo = t->repo, .root_fd = t->root_fd, .index = t->index
    };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_capture_tree(t->vault, &spec, to, &err) == 0, "%s", err.msg);
    return to->tree;
}

char *pdk_test_trees_dirt(struct pdk_test_trees *t)
{
    PDK_AUTO_DIRT struct pdk_dirt dirt = { 0 };
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_capture_spec spec = {
        .repo = t->repo, .root_fd = t->root_fd, .index = t->index
    };
    struct pdk_err err = PDK_ERR_INIT;

    ck_assert_msg(pdk_capture_dirt(t->vault, &spec, &dirt, &err) == 0, "%s", err.msg);
    for (size_t i = 0; i < dirt.len; i++)
        pdk_buf_addf(&text, "%c %s\n", dirt.entries[i].status, dirt.entries[i].path);
    return pdk_buf_take(&text);
}

struct pdk_oid pdk_test_trees_git(struct pdk_test_trees *t)
{
    PDK_AUTO_FREE char *objects = pdk_test_path("scratch-objects");
    PDK_AUTO_FREE char *index = pdk_test_path("scratch-index");
    PDK_AUTO_FREE char *text = NULL;
    struct pdk_oid out;

    pdk_test_mkdirs(objects);
    pdk_test_remove(index);
    text = pdk_test_sh(t->path,
            "export GIT_INDEX_FILE='%s' GIT_OBJECT_DIRECTORY='%s' "
            "GIT_ALTERNATE_OBJECT_DIRECTORIES='%s:%s/objects' GIT_DIR='%s/.git' "
            "GIT_WORK_TREE='%s' GIT_CONFIG_NOSYSTEM=1; cd '%s' && git read-tree %s && "
            "git add -A 2>/dev/null && git write-tree",
            index, objects, t->repo->objects, t->vault_path, t->path, t->copy, t->copy,
            t->tree.hex);
    ck_assert_msg(pdk_oid_parse(text, &out), "%s", text);
    return out;
}

char *pdk_test_trees_list(const struct pdk_test_trees *t, const struct pdk_oid *tree)
{
    return pdk_test_git(t->vault_path, "ls-tree -r %s", tree->hex);
}
