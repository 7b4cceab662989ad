#include "backends/commits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/gitfile.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "trees/repo.h"

enum {
    HEX = 40,
    MAX_TIPS = 10000, /* they go on a command line */
    MAX_DEPTH = 32,   /* of directories below refs/ */
    MAX_FILE = 64 << 20
};

/* ---- reading names from files that anybody may have written */

static int add_hex(struct pdk_strv *tips, const char *text, struct pdk_err *err)
{
    char hex[HEX + 1] = "";
    struct pdk_oid id;

    (void)snprintf(hex, sizeof(hex), "%.*s", HEX, text);
    if (!pdk_oid_parse(hex, &id) || strspn(hex, "0") == HEX)
        return 0;
    if (tips->len >= MAX_TIPS)
        return pdk_fail(err, PDK_EUNAVAIL, 0, "it names more than %d commits", MAX_TIPS);
    pdk_strv_add(tips, hex);
    return pdk_strv_ok(tips, err);
}

/* A regular file's bytes; anything else reads as empty. */
static int read_plain(int at, const char *name, struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (pdk_fs_read_fd(fd, MAX_FILE, out, err) < 0)
        return pdk_wrap(err, "reading '%s' of its git directory", name);
    return 0;
}

/* Ids at `column` of each line: packed-refs has them at 0, a log the new one at 41. */
static int add_lines(int at, const char *name, size_t column, struct pdk_strv *tips,
        struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    int rc = read_plain(at, name, &text, err);
    char last[HEX + 1] = "";

    for (const char *line = pdk_buf_str(&text); rc == 0 && line && *line;) {
        const char *end = strchr(line, '\n');
        size_t len = end ? (size_t)(end - line) : strlen(line);

        /* A log repeats itself where HEAD moves between branches. */
        if (len >= column + HEX && strncmp(line + column, last, HEX) != 0) {
            memcpy(last, line + column, HEX);
            rc = add_hex(tips, last, err);
        }
        line = end ? end + 1 : NULL;
    }
    return rc;
}

static int add_refs(
        int at, const char *name, int depth, struct pdk_strv *tips, struct pdk_err *err)
{
    PDK_AUTO_FD int fd =
            openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_DIR DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int rc = 0;

    if (!dir)
        return fd < 0 && (errno == ENOTDIR || errno == ELOOP)
                ? add_lines(at, name, 0, tips, err)
                : 0;
    int inside = pdk_take_fd(&fd); /* dir owns it now */
    if (depth > MAX_DEPTH)
        return pdk_fail(err, PDK_EUNAVAIL, 0, "its references nest too deep");
    while (rc == 0) {
        entry = readdir(dir);
        if (!entry)
            break;
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc = add_refs(inside, entry->d_name, depth + 1, tips, err);
    }
    return rc;
}

static void drop_repeats(struct pdk_strv *v)
{
    size_t kept = 0;

    pdk_strv_sort(v);
    for (size_t i = 0; i < v->len; i++) {
        if (kept > 0 && strcmp(v->items[kept - 1], v->items[i]) == 0)
            free(v->items[i]);
        else
            v->items[kept++] = v->items[i];
    }
    v->len = kept;
    if (v->items)
        v->items[kept] = NULL;
}

int pdk_commits_tips(int fd, struct pdk_strv *tips, struct pdk_err *err)
{
    PDK_AUTO_FD int logs =
            openat(fd, "logs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int rc = add_lines(fd, "HEAD", 0, tips, err);

    if (rc == 0 && logs >= 0)
        rc = add_lines(logs, "HEAD", HEX + 1, tips, err);
    if (rc == 0)
        rc = add_lines(fd, "packed-refs", 0, tips, err);
    if (rc == 0)
        rc = add_refs(fd, "refs", 0, tips, err);
    drop_repeats(tips);
    return rc;
}

/* ---- HEAD */

static bool starts_with_id(const char *text, struct pdk_oid *out)
{
    char hex[HEX + 1] = "";

    (void)strncat(hex, text, HEX);
    return pdk_oid_parse(hex, out);
}

int pdk_commits_head(int fd, struct pdk_oid *out, char **ref, struct pdk_err *err)
{
    static const char prefix[] = "ref: ";
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    int rc = read_plain(fd, "HEAD", &text, err);

    out->hex[0] = '\0';
    *ref = NULL;
    if (rc < 0 || starts_with_id(pdk_buf_str(&text), out) ||
            !pdk_starts_with(pdk_buf_str(&text), prefix))
        return rc;
    const char *name = pdk_buf_str(&text) + sizeof(prefix) - 1;
    size_t len = strcspn(name, "\n");
    if (!pdk_starts_with(name, "refs/") || !pdk_path_is_safe(name, len))
        return 0;
    *ref = strndup(name, len);
    return *ref ? 0 : pdk_fail_nomem(err);
}

int pdk_commits_resolve(int fd, const char *ref, struct pdk_oid *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf loose = PDK_BUF_INIT;
    PDK_AUTO_BUF struct pdk_buf packed = PDK_BUF_INIT;
    PDK_AUTO_FREE char *line = pdk_strf(" %s\n", ref);
    int rc = line ? read_plain(fd, ref, &loose, err) : pdk_fail_nomem(err);

    out->hex[0] = '\0';
    if (rc < 0 || starts_with_id(pdk_buf_str(&loose), out))
        return rc;
    rc = read_plain(fd, "packed-refs", &packed, err);
    if (rc < 0)
        return rc;
    const char *found = strstr(pdk_buf_str(&packed), line);
    if (found && found - packed.data >= HEX)
        (void)starts_with_id(found - HEX, out); /* or it stays empty */
    return 0;
}

/* ---- counting */

static bool only_start(const struct pdk_commits_query *query)
{
    for (size_t i = 0; i < query->tips->len; i++)
        if (strcmp(query->tips->items[i], query->start.hex) != 0)
            return false;
    return true;
}

/*
 * A commit-graph in the sandbox's objects could lie about parents, so none is read. --single-worktree
 * leaves the HEAD of a linked worktree, which may be the sandbox's own, out of --all.
 */
static void fill_args(const struct pdk_commits_query *query, struct pdk_strv *args)
{
    pdk_strv_add(args, "-c");
    pdk_strv_add(args, "core.commitGraph=false");
    pdk_strv_add(args, "rev-list");
    pdk_strv_add(args, "--count");
    pdk_strv_add(args, "--ignore-missing");
    pdk_strv_add(args, "--single-worktree");
    for (size_t i = 0; i < query->tips->len; i++)
        pdk_strv_add(args, query->tips->items[i]);
    pdk_strv_add(args, "--not");
    if (*query->start.hex)
        pdk_strv_add(args, query->start.hex);
    if (query->exclude_ref)
        pdk_strv_addf(args, "--exclude=%s", query->exclude_ref);
    pdk_strv_add(args, "--all");
}

static int run(const struct pdk_commits_query *query, const char *const *env, int *out,
        struct pdk_err *err)
{
    PDK_AUTO_STRV struct pdk_strv args = PDK_STRV_INIT;
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;

    fill_args(query, &args);
    int rc = pdk_strv_ok(&args, err);
    if (rc == 0)
        rc = pdk_repo_git(query->repo, (const char *const *)args.items, env, &text, err);
    if (rc < 0)
        return rc;
    long count = strtol(pdk_buf_str(&text), NULL, 10);
    *out = count > INT32_MAX ? INT32_MAX : (int)count;
    return 0;
}

int pdk_commits_count(
        const struct pdk_commits_query *query, int *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf alternate = PDK_BUF_INIT;

    if (only_start(query)) {
        *out = 0;
        return 0;
    }
    if (query->objects) {
        pdk_buf_adds(&alternate, "GIT_ALTERNATE_OBJECT_DIRECTORIES=");
        pdk_gitfile_quote_path(&alternate, query->objects);
    }
    const char *const env[] = { query->objects ? pdk_buf_str(&alternate) : NULL, NULL };
    int rc = pdk_buf_ok(&alternate, err);
    if (rc == 0)
        rc = run(query, env, out, err);
    return rc < 0 ? pdk_wrap(err, "cannot count its commits") : 0;
}
