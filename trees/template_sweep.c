/* Templates that nobody needs any more: by age, by size, and what killed makers left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/path.h"
#include "base/str.h"
#include "trees/index.h"
#include "trees/template_internal.h"

struct found {
    char *path;
    int64_t bytes, used_ms; /* size by its index; when it was last opened */
};

struct list {
    struct found *items;
    size_t len;
};

static void list_fini(struct list *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->items[i].path);
    free(list->items);
}

/* What it takes on disk: whole blocks of each file, as its index has the sizes. */
static int64_t size_of(const char *path)
{
    PDK_AUTO_FREE char *file = pdk_path_join(path, "index");
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_err err = PDK_ERR_INIT;
    int64_t bytes = 0;

    if (!file || pdk_index_read(file, &index, &err) < 0)
        return 0;
    for (size_t i = 0; i < index.len; i++)
        bytes += ((int64_t)index.entries[i].stat.size + 4095) / 4096 * 4096;
    return bytes;
}

static int add_found(
        struct list *list, const char *dir, const char *name, struct pdk_err *err)
{
    struct found *grown = reallocarray(list->items, list->len + 1, sizeof(*grown));
    PDK_AUTO_FREE char *lock = pdk_strf("%s/%s.lock", dir, name);
    struct found made = { .path = pdk_path_join(dir, name) };
    struct stat st;

    if (grown)
        list->items = grown;
    if (!grown || !lock || !made.path) {
        free(made.path);
        return pdk_fail_nomem(err);
    }
    made.bytes = size_of(made.path);
    if (stat(lock, &st) == 0)
        made.used_ms = (int64_t)st.st_mtim.tv_sec * 1000;
    grown[list->len++] = made;
    return 0;
}

/* Half-made ones are as old as the world: their maker is gone when their lock can be had. */
static int list_all(const char *dir, struct list *list, struct pdk_err *err)
{
    PDK_AUTO_DIR DIR *d = opendir(dir);
    const struct dirent *entry;

    if (!d)
        return errno == ENOENT ? 0
                               : pdk_fail(err, PDK_EIO, errno, "cannot open '%s'", dir);
    while ((entry = readdir(d))) {
        if (entry->d_name[0] != '.' && !strstr(entry->d_name, ".use.") &&
                !pdk_ends_with(entry->d_name, ".lock") &&
                !pdk_ends_with(entry->d_name, ".make") &&
                add_found(list, dir, entry->d_name, err) < 0)
            return err->code;
    }
    return 0;
}

static int oldest_first(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return (x->used_ms > y->used_ms) - (x->used_ms < y->used_ms);
}

/* The template's own path, also of one that is being made, or was damaged: "<key>.tmp-x", "<key>.old-x". */
static char *key_of(const char *path)
{
    const char *name = pdk_path_basename(path);
    const char *tail = strstr(name, ".tmp-");

    tail = tail ? tail : strstr(name, ".old-");
    return tail ? strndup(path, (size_t)(tail - path)) : strdup(path);
}

/* Does a sandbox stand on it? */
static bool in_use(const char *path)
{
    PDK_AUTO_FREE char *dir_path = pdk_path_dirname(path);
    PDK_AUTO_FREE char *prefix = pdk_strf("%s.use.", pdk_path_basename(path));
    PDK_AUTO_DIR DIR *dir = dir_path ? opendir(dir_path) : NULL;
    const struct dirent *entry;

    while (dir && prefix && (entry = readdir(dir)))
        if (pdk_starts_with(entry->d_name, prefix))
            return true;
    return !dir || !prefix;
}

/* Alone with the template key, which no sandbox stands on: 0 with the lock, 1 where that cannot be. */
static int hold_alone(const char *key, int *lock, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s.lock", key);
    int rc = path ? pdk_fs_lock(path, false, lock, err) : pdk_fail_nomem(err);

    if (rc == PDK_ECONFLICT)
        return 1;
    if (rc < 0)
        return rc;
    return in_use(key) || !pdk_template_lock_holds(path, *lock) ? 1 : 0;
}

/* 1 where somebody uses it. */
static int remove_one(const struct found *found, bool dry_run, struct pdk_err *err)
{
    PDK_AUTO_FREE char *key = key_of(found->path);
    PDK_AUTO_FD int lock = -1;
    int rc = key ? hold_alone(key, &lock, err) : pdk_fail_nomem(err);

    if (rc != 0 || dry_run)
        return rc;
    return pdk_fs_remove_tree(found->path, err);
}

/* The locks of a template that is no more. Whoever waits for one sees that it was taken away. */
static int remove_locks(const char *key, struct pdk_err *err)
{
    PDK_AUTO_FREE char *make = pdk_strf("%s.make", key);
    PDK_AUTO_FREE char *path = pdk_strf("%s.lock", key);
    PDK_AUTO_FD int lock = -1;
    int rc = make && path ? hold_alone(key, &lock, err) : pdk_fail_nomem(err);

    if (rc != 0 || pdk_fs_exists(key))
        return rc < 0 ? rc : 0;
    if ((unlink(make) < 0 && errno != ENOENT) || unlink(path) < 0)
        return pdk_fail(err, PDK_EIO, errno, "cannot remove '%s'", path);
    return 0;
}

static int sweep_locks(const char *dir, struct pdk_err *err)
{
    static const char tail[] = ".lock";
    PDK_AUTO_DIR DIR *d = opendir(dir);
    const struct dirent *entry;

    while (d && (entry = readdir(d))) {
        size_t len = strlen(entry->d_name);
        PDK_AUTO_FREE char *key = NULL;

        if (strstr(entry->d_name, ".use.") || !pdk_ends_with(entry->d_name, tail))
            continue;
        key = pdk_strf("%s/%.*s", dir, (int)(len - (sizeof(tail) - 1)), entry->d_name);
        if (!key)
            return pdk_fail_nomem(err);
        if (!pdk_fs_exists(key) && remove_locks(key, err) < 0)
            return err->code;
    }
    return 0;
}

int pdk_template_sweep(
        const char *dir, struct pdk_template_sweep *sweep, struct pdk_err *err)
{
    __attribute__((cleanup(list_fini))) struct list list = { NULL, 0 };
    int64_t now = pdk_clock_wall_ms();

    if (list_all(dir, &list, err) < 0)
        return err->code;
    if (list.len > 1)
        qsort(list.items, list.len, sizeof(*list.items), oldest_first);
    for (size_t i = 0; i < list.len; i++)
        sweep->left += list.items[i].bytes;
    for (size_t i = 0; i < list.len; i++) {
        const struct found *found = &list.items[i];
        int rc = 1;

        if (now - found->used_ms > sweep->max_age_ms || sweep->left > sweep->max_bytes)
            rc = remove_one(found, sweep->dry_run, err);
        if (rc < 0)
            return rc;
        sweep->removed += rc == 0;
        sweep->kept += rc != 0;
        sweep->freed += rc == 0 ? found->bytes : 0;
        sweep->left -= rc == 0 ? found->bytes : 0;
    }
    return sweep->dry_run ? 0 : sweep_locks(dir, err);
}
