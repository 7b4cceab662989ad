#include "trees/index.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/id.h"
#include "base/path.h"
#include "base/str.h"

enum {
    FIXED_LEN = 62, /* of an entry, before its path */
    OID_LEN = 20,
    NAME_MASK = 0xfff,
    UPPER_BIT =
            0x8000, /* git's "assume unchanged", which has no place in an index of ours */
    MAX_ENTRIES = 50000000
};

static const char extension[] = "PDKT";

void pdk_index_fini(struct pdk_index *index)
{
    for (size_t i = 0; i < index->len; i++)
        if (!index->entries[i].borrowed)
            free(index->entries[i].path);
    free(index->entries);
    free(index->bytes);
    *index = (struct pdk_index){ 0 };
}

void pdk_stat_data_of(const struct stat *st, struct pdk_stat_data *out)
{
    *out = (struct pdk_stat_data){
        .ctime_s = (uint32_t)st->st_ctim.tv_sec,
        .ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
        .mtime_s = (uint32_t)st->st_mtim.tv_sec,
        .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
        .dev = (uint32_t)st->st_dev,
        .ino = (uint32_t)st->st_ino,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .size = (uint32_t)st->st_size,
    };
}

/* Room for one more at the end; NULL when out of memory. */
static struct pdk_index_entry *add_entry(struct pdk_index *index, struct pdk_err *err)
{
    if (index->len == index->cap) {
        size_t cap = index->cap ? index->cap * 2 : 256;
        struct pdk_index_entry *grown = reallocarray(index->entries, cap, sizeof(*grown));

        if (!grown) {
            (void)pdk_fail_nomem(err);
            return NULL;
        }
        index->entries = grown;
        index->cap = cap;
    }
    index->entries[index->len] = (struct pdk_index_entry){ 0 };
    return &index->entries[index->len];
}

int pdk_index_add(struct pdk_index *index, const char *path, uint32_t mode,
        const struct pdk_oid *oid, struct pdk_err *err)
{
    struct pdk_index_entry *made = add_entry(index, err);

    if (!made)
        return err->code;
    made->mode = mode;
    made->oid = *oid;
    made->path = strdup(path);
    if (!made->path)
        return pdk_fail_nomem(err);
    index->len++;
    return 0;
}

int pdk_index_keep(
        struct pdk_index *index, const struct pdk_index_entry *old, struct pdk_err *err)
{
    struct pdk_index_entry *made = add_entry(index, err);

    if (!made)
        return err->code;
    *made = *old;
    made->borrowed = true;
    index->len++;
    return 0;
}

/* The first entry whose path is not below `path` in byte order. */
static size_t lower_bound(const struct pdk_index *index, const char *path)
{
    size_t low = 0, high = index->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(index->entries[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pdk_index_entry *pdk_index_find(const struct pdk_index *index, const char *path)
{
    size_t at = lower_bound(index, path);

    if (at < index->len && strcmp(index->entries[at].path, path) == 0)
        return &index->entries[at];
    return NULL;
}

struct pdk_index_entry *pdk_index_below(
        const struct pdk_index *index, const char *dir, size_t *n)
{
    PDK_AUTO_FREE char *prefix = pdk_strf("%s%s", dir, dir[0] ? "/" : "");
    size_t at = prefix ? lower_bound(index, prefix) : index->len;

    *n = 0;
    while (at + *n < index->len && pdk_starts_with(index->entries[at + *n].path, prefix))
        ++*n;
    return index->entries ? &index->entries[at] : NULL;
}

/* How path compares with "<name>/", before whatever comes after that. */
static int compare_below(const char *path, const char *name, size_t len)
{
    int order = strncmp(path, name, len);

    return order != 0 ? order : (unsigned char)path[len] - '/';
}

/* The first entry of the range that is not before what is below name, or (past) after it. */
static size_t bound_below(const struct pdk_index *index,
        const struct pdk_index_range *range, const char *name, bool past)
{
    size_t low = range->first, high = range->end, len = strlen(name);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_below(index->entries[middle].path + range->skip, name, len);

        if (order < 0 || (past && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pdk_index_range pdk_index_all(const struct pdk_index *index)
{
    return (struct pdk_index_range){ 0, index->len, 0 };
}

struct pdk_index_range pdk_index_range_below(const struct pdk_index *index,
        const struct pdk_index_range *range, const char *name)
{
    struct pdk_index_range below = { .skip = range->skip + strlen(name) + 1 };
    struct pdk_index_range rest = *range;

    below.first = rest.first = bound_below(index, range, name, false);
    below.end = bound_below(index, &rest, name, true);
    return below;
}

struct pdk_index_entry *pdk_index_find_in(const struct pdk_index *index,
        const struct pdk_index_range *range, const char *name)
{
    size_t low = range->first, high = range->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(index->entries[middle].path + range->skip, name);

        if (order == 0)
            return &index->entries[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool pdk_index_has_below(const struct pdk_index *index, const char *dir)
{
    struct pdk_index_range all = pdk_index_all(index);
    struct pdk_index_range below = pdk_index_range_below(index, &all, dir);

    return below.first < below.end;
}

static bool before(uint32_t s, uint32_t ns, const struct timespec *than)
{
    if (s != (uint32_t)than->tv_sec)
        return s < (uint32_t)than->tv_sec;
    return ns < (uint32_t)than->tv_nsec;
}

bool pdk_index_is_clean(const struct pdk_index *index,
        const struct pdk_index_entry *entry, const struct stat *st)
{
    struct pdk_stat_data now;

    pdk_stat_data_of(st, &now);
    now.dev =
            entry->stat.dev; /* as git: an overlay shows another device than its layers */
    if (memcmp(&now, &entry->stat, sizeof(now)) != 0)
        return false;
    return before(entry->stat.mtime_s, entry->stat.mtime_ns, &index->written);
}

/* ---- bytes */

static uint32_t get32(const char *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof(v));
    return ntohl(v);
}

static void put32(struct pdk_buf *out, uint32_t v)
{
    v = htonl(v);
    pdk_buf_add(out, &v, sizeof(v));
}

static void hex_of(const char *raw, struct pdk_oid *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < OID_LEN; i++) {
        out->hex[2 * i] = digits[(unsigned char)raw[i] >> 4];
        out->hex[2 * i + 1] = digits[(unsigned char)raw[i] & 15];
    }
    out->hex[(size_t)2 * OID_LEN] = '\0';
}

static unsigned char digit_of(char c)
{
    return (unsigned char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void raw_of(const struct pdk_oid *oid, char out[OID_LEN])
{
    for (size_t i = 0; i < OID_LEN; i++)
        out[i] = (char)(digit_of(oid->hex[2 * i]) << 4 | digit_of(oid->hex[2 * i + 1]));
}

/* One addition an entry: there are thousands. */
static void put_entry(struct pdk_buf *out, const struct pdk_index_entry *e, bool ours)
{
    static const char zeros[8] = "";
    const uint32_t numbers[] = { e->stat.ctime_s, e->stat.ctime_ns, e->stat.mtime_s,
        e->stat.mtime_ns, e->stat.dev, e->stat.ino, e->mode, e->stat.uid, e->stat.gid,
        e->stat.size };
    size_t len = strlen(e->path);
    uint16_t flags = (uint16_t)(len < NAME_MASK ? len : NAME_MASK);
    char fixed[FIXED_LEN];

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uint32_t v = htonl(numbers[i]);

        memcpy(fixed + i * sizeof(v), &v, sizeof(v));
    }
    raw_of(&e->oid, fixed + sizeof(numbers));
    flags = htons((uint16_t)(flags | (ours && e->upper ? UPPER_BIT : 0)));
    memcpy(fixed + sizeof(numbers) + OID_LEN, &flags, sizeof(flags));
    pdk_buf_add(out, fixed, sizeof(fixed));
    pdk_buf_add(out, e->path, len);
    pdk_buf_add(out, zeros, 8 - (FIXED_LEN + len) % 8);
}

static int write_index(
        const char *path, const struct pdk_index *index, bool ours, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf out = PDK_BUF_INIT;
    unsigned char sum[OID_LEN];
    char tree[OID_LEN];

    pdk_buf_adds(&out, "DIRC");
    put32(&out, 2);
    put32(&out, (uint32_t)index->len);
    for (size_t i = 0; i < index->len; i++)
        put_entry(&out, &index->entries[i], ours);
    if (ours && index->tree.hex[0]) {
        pdk_buf_adds(&out, extension);
        put32(&out, OID_LEN);
        raw_of(&index->tree, tree);
        pdk_buf_add(&out, tree, sizeof(tree));
    }
    if (pdk_buf_ok(&out, err) < 0)
        return err->code;
    pdk_digest_sha1(out.data, out.len, sum);
    pdk_buf_add(&out, sum, sizeof(sum));
    if (pdk_buf_ok(&out, err) < 0)
        return err->code;
    return pdk_fs_write(path, out.data, out.len, 0600, 0, err);
}

int pdk_index_write(const char *path, const struct pdk_index *index, struct pdk_err *err)
{
    return write_index(path, index, true, err);
}

int pdk_index_write_git(
        const char *path, const struct pdk_index *index, struct pdk_err *err)
{
    return write_index(path, index, false, err);
}

static int corrupt(const char *path, const char *what, struct pdk_err *err)
{
    return pdk_fail(err, PDK_ECORRUPT, 0, "the index '%s' is damaged: %s", path, what);
}

static bool is_attributes(const char *path, size_t len)
{
    return path[len - 1] == 's' && strcmp(pdk_path_basename(path), ".gitattributes") == 0;
}

/* One entry at `at`; returns its length, or 0 where it does not fit. */
static size_t read_entry(
        char *at, size_t left, struct pdk_index *index, struct pdk_err *err)
{
    struct pdk_index_entry *e;
    uint16_t flags;
    size_t len;

    if (left < FIXED_LEN + 1)
        return 0;
    len = strnlen(at + FIXED_LEN, left - FIXED_LEN);
    if (len == 0 || len == left - FIXED_LEN)
        return 0;
    e = add_entry(index, err);
    if (!e)
        return 0;
    memcpy(&flags, at + FIXED_LEN - sizeof(flags), sizeof(flags));
    e->path = at + FIXED_LEN;
    e->borrowed = true;
    e->mode = get32(at + 24);
    e->upper = (ntohs(flags) & UPPER_BIT) != 0;
    hex_of(at + 40, &e->oid);
    e->stat = (struct pdk_stat_data){ get32(at), get32(at + 4), get32(at + 8),
        get32(at + 12), get32(at + 16), get32(at + 20), get32(at + 28), get32(at + 32),
        get32(at + 36) };
    index->len++;
    index->has_attributes = index->has_attributes || is_attributes(e->path, len);
    len = (FIXED_LEN + len + 8) & ~(size_t)7;
    return len <= left ? len : 0;
}

static int read_entries(const char *path, struct pdk_index *out, struct pdk_err *err)
{
    uint32_t n = get32(out->bytes + 8);
    size_t at = 12, end = out->bytes_len - OID_LEN;

    if (n > MAX_ENTRIES || n > (end - at) / FIXED_LEN)
        return corrupt(path, "too many entries", err);
    out->entries = calloc((size_t)n + 1, sizeof(*out->entries));
    if (!out->entries)
        return pdk_fail_nomem(err);
    out->cap = (size_t)n + 1;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = read_entry(out->bytes + at, end - at, out, err);

        if (len == 0)
            return err->code ? err->code
                             : corrupt(path, "an entry that does not fit", err);
        if (i > 0 && strcmp(out->entries[i - 1].path, out->entries[i].path) >= 0)
            return corrupt(path, "entries out of order", err);
        at += len;
    }
    if (end - at >= 8 + OID_LEN && memcmp(out->bytes + at, extension, 4) == 0)
        hex_of(out->bytes + at + 8, &out->tree);
    return 0;
}

int pdk_index_read(const char *path, struct pdk_index *out, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf bytes = PDK_BUF_INIT;
    PDK_AUTO_INDEX struct pdk_index index = { 0 };
    struct pdk_err why = PDK_ERR_INIT;
    unsigned char sum[OID_LEN];
    struct stat st;

    if (pdk_fs_read(path, (size_t)4 << 30, &bytes, err) < 0)
        return err->code;
    if (stat(path, &st) < 0 || bytes.len < 12 + OID_LEN ||
            memcmp(bytes.data, "DIRC", 4) != 0 || get32(bytes.data + 4) != 2)
        return corrupt(path, "no version 2 index", err);
    pdk_digest_sha1(bytes.data, bytes.len - OID_LEN, sum);
    if (memcmp(sum, bytes.data + bytes.len - OID_LEN, OID_LEN) != 0)
        return corrupt(path, "its checksum is wrong", err);
    index.bytes_len = bytes.len;
    index.bytes = pdk_buf_take(&bytes);
    if (read_entries(path, &index, &why) < 0) {
        if (err)
            *err = why;
        return why.code;
    }
    index.written = st.st_mtim;
    *out = index;
    index = (struct pdk_index){ 0 };
    return 0;
}
