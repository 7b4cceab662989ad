#include "backends/dirt.h"

#include <stdlib.h>
#include <string.h>

#include "backends/gitfile.h"
#include "base/auto.h"
#include "base/error.h"
#include "trees/repo.h"
#include "trees/vault.h"

/* ---- git's word on two trees */

static int add_entry(
        struct pdk_dirt *to, char status, const char *path, struct pdk_err *err)
{
    struct pdk_dirt_entry *more =
            reallocarray(to->entries, to->len + 1, sizeof(*to->entries));

    if (!more)
        return pdk_fail_nomem(err);
    to->entries = more;
    more[to->len].status = status;
    more[to->len].path = strdup(path);
    if (!more[to->len].path)
        return pdk_fail_nomem(err);
    to->len++;
    return 0;
}

static int by_path(const void *a, const void *b)
{
    const struct pdk_dirt_entry *left = a;
    const struct pdk_dirt_entry *right = b;

    return strcmp(left->path, right->path);
}

/* "M\0path\0" again and again. */
static int parse(const struct pdk_buf *text, struct pdk_dirt *out, struct pdk_err *err)
{
    const char *at = text->data;
    const char *end = text->data + text->len;
    int rc = 0;

    while (rc == 0 && at && at < end) {
        const char *path = at + strlen(at) + 1;

        if (path >= end)
            return pdk_fail(err, PDK_EPROTO, 0, "git's list of changes ends half-way");
        rc = add_entry(out, *at, path, err);
        if (rc == 0 && *at == 'A')
            out->entries[out->len - 1].status = '?'; /* as capture.h has it */
        at = path + strlen(path) + 1;
    }
    if (out->len > 0)
        qsort(out->entries, out->len, sizeof(*out->entries), by_path);
    return rc;
}

static int list_objects(
        const struct pdk_dirt_query *query, struct pdk_buf *env, struct pdk_err *err)
{
    PDK_AUTO_FREE char *vault = pdk_strf("%s/objects", pdk_vault_path(query->vault));

    if (!vault)
        return pdk_fail_nomem(err);
    pdk_buf_adds(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
    pdk_gitfile_quote_path(env, vault);
    if (query->objects) {
        pdk_buf_addc(env, ':');
        pdk_gitfile_quote_path(env, query->objects);
    }
    return pdk_buf_ok(env, err);
}

static int changes(const struct pdk_dirt_query *query, const char *from, const char *to,
        struct pdk_dirt *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf objects = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    const char *const args[] = { "diff-tree", "-r", "-z", "--no-renames", "--name-status",
        *from ? from : PDK_EMPTY_TREE, to, NULL };
    int rc = list_objects(query, &objects, err);
    const char *const env[] = { objects.data, NULL };

    if (rc == 0)
        rc = pdk_repo_git(query->repo, args, env, &text, err);
    return rc < 0 ? rc : parse(&text, out, err);
}

/* ---- putting them together */

static bool has(const struct pdk_dirt *in, const struct pdk_dirt_entry *entry)
{
    return in->len > 0 &&
            bsearch(entry, in->entries, in->len, sizeof(*entry), by_path) != NULL;
}

int pdk_dirt_uncommitted(
        const struct pdk_dirt_query *query, struct pdk_dirt *dirt, struct pdk_err *err)
{
    PDK_AUTO_DIRT struct pdk_dirt committed = { 0 };
    PDK_AUTO_DIRT struct pdk_dirt open = { 0 };
    size_t kept = 0;
    int rc = changes(query, query->start.hex, query->head.hex, &committed, err);

    if (rc == 0)
        rc = changes(query, query->head.hex, query->now.hex, &open, err);
    if (rc < 0)
        return pdk_wrap(err, "cannot compare with its last commit");
    for (size_t i = 0; i < open.len; i++) {
        if (has(dirt, &open.entries[i]) || has(&committed, &open.entries[i]))
            open.entries[kept++] = open.entries[i];
        else
            free(open.entries[i].path);
    }
    open.len = kept;
    pdk_dirt_fini(dirt);
    *dirt = open;
    open = (struct pdk_dirt){ 0 };
    return 0;
}
