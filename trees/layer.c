#include "trees/layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/str.h"

enum { BYTES_MAX = 64 << 20, DEEPEST = 16 };

void pdk_layer_fini(struct pdk_layer *layer)
{
    for (size_t i = 0; i < layer->len; i++) {
        free(layer->items[i].path);
        free(layer->items[i].text);
    }
    free(layer->items);
    *layer = (struct pdk_layer)PDK_LAYER_INIT;
}

/* Takes text. */
static int add(struct pdk_layer *layer, const char *path, char *text, size_t len,
        struct pdk_err *err)
{
    PDK_AUTO_FREE char *taken = text;
    struct pdk_layer_item *grown =
            reallocarray(layer->items, layer->len + 1, sizeof(*grown));
    char *copy = grown ? strdup(path) : NULL;

    if (grown)
        layer->items = grown;
    if (!copy)
        return pdk_fail_nomem(err);
    grown[layer->len++] = (struct pdk_layer_item){ copy, pdk_take_ptr(&taken), len };
    return 0;
}

int pdk_layer_add_dir(struct pdk_layer *layer, const char *path, struct pdk_err *err)
{
    return add(layer, path, NULL, 0, err);
}

int pdk_layer_add_file(struct pdk_layer *layer, const char *path, const char *text,
        size_t len, struct pdk_err *err)
{
    char *copy = malloc(len + 1);

    if (!copy)
        return pdk_fail_nomem(err);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return add(layer, path, copy, len, err);
}

/* ---- its name */

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct pdk_layer_item *)a)->path,
            ((const struct pdk_layer_item *)b)->path);
}

int pdk_layer_digest(const struct pdk_layer *layer, char out[65], struct pdk_err *err)
{
    PDK_AUTO_FREE struct pdk_layer_item *sorted = calloc(layer->len + 1, sizeof(*sorted));
    struct pdk_digest *digest = sorted ? pdk_digest_new() : NULL;

    if (!digest)
        return pdk_fail_nomem(err);
    if (layer->len > 0) {
        memcpy(sorted, layer->items, layer->len * sizeof(*sorted));
        qsort(sorted, layer->len, sizeof(*sorted), by_path);
    }
    for (size_t i = 0; i < layer->len; i++) {
        uint64_t size = sorted[i].text ? sorted[i].len : UINT64_MAX;

        pdk_digest_add(digest, sorted[i].path, strlen(sorted[i].path) + 1);
        pdk_digest_add(digest, &size, sizeof(size));
        if (sorted[i].text)
            pdk_digest_add(digest, sorted[i].text, sorted[i].len);
    }
    pdk_digest_end(digest, out);
    pdk_digest_free(digest);
    return 0;
}

/* ---- to disk and back */

static int write_item(int dir, const struct pdk_layer_item *item, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = -1;

    if (!item->text) {
        if (mkdirat(dir, item->path, 0755) == 0)
            return 0;
    } else {
        fd = openat(dir, item->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0644);
        if (fd >= 0)
            return pdk_fs_write_fd(fd, item->text, item->len, err);
    }
    return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", item->path);
}

int pdk_layer_write(const struct pdk_layer *layer, const char *dir, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot open '%s'", dir);
    for (size_t i = 0; i < layer->len; i++)
        if (write_item(fd, &layer->items[i], err) < 0)
            return pdk_wrap(err, "in '%s'", dir);
    return 0;
}

static int unfit(const char *path, struct pdk_err *err)
{
    return pdk_fail(err, PDK_ECORRUPT, 0, "'%s' does not belong in a layer", path);
}

static int read_item(
        int root, const char *path, struct pdk_layer *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    PDK_AUTO_FD int fd =
            pdk_beneath_open(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return unfit(path, err);
    if (S_ISDIR(st.st_mode))
        return pdk_layer_add_dir(out, path, err);
    if (!S_ISREG(st.st_mode) || pdk_fs_read_fd(fd, BYTES_MAX, &text, NULL) < 0)
        return unfit(path, err);
    return pdk_layer_add_file(out, path, pdk_buf_str(&text), text.len, err);
}

/* What the directory (an item, or the top) has in it is added to the end. */
static int read_names(int root, const char *dir, const char *skip, struct pdk_layer *out,
        struct pdk_err *err)
{
    PDK_AUTO_FD int fd =
            pdk_beneath_open(root, *dir ? dir : ".", O_RDONLY | O_DIRECTORY, 0);
    PDK_AUTO_DIR DIR *open_dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!open_dir)
        return unfit(dir, err);
    (void)pdk_take_fd(&fd); /* the stream's now */
    while ((entry = readdir(open_dir))) {
        const char *name = entry->d_name;
        PDK_AUTO_FREE char *path = NULL;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
                (!*dir && skip && strcmp(name, skip) == 0))
            continue;
        path = pdk_strf("%s%s%s", dir, *dir ? "/" : "", name);
        if (!path)
            return pdk_fail_nomem(err);
        if (read_item(root, path, out, err) < 0)
            return err->code;
    }
    return 0;
}

static bool is_deep(const char *path)
{
    size_t n = 0;

    for (; *path; path++)
        n += *path == '/';
    return n > DEEPEST;
}

int pdk_layer_read(
        const char *dir, const char *skip, struct pdk_layer *out, struct pdk_err *err)
{
    PDK_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    PDK_AUTO_LAYER struct pdk_layer made = PDK_LAYER_INIT;

    if (fd < 0)
        return unfit(dir, err);
    if (read_names(fd, "", skip, &made, err) < 0)
        return err->code;
    /* Grows while it is gone through: directories are met after they were added. */
    for (size_t i = 0; i < made.len; i++) {
        if (made.items[i].text)
            continue;
        if (is_deep(made.items[i].path))
            return unfit(made.items[i].path, err);
        PDK_AUTO_FREE char *below = strdup(made.items[i].path);
        if (!below)
            return pdk_fail_nomem(err);
        if (read_names(fd, below, NULL, &made, err) < 0)
            return err->code;
    }
    *out = made;
    made = (struct pdk_layer)PDK_LAYER_INIT;
    return 0;
}
