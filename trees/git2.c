/*
 * libgit2, loaded when it is first needed: it brings two dozen libraries along, which would cost every
 * start of the program more than all the rest. The functions that trees/ calls are defined here under
 * their own names and lead to the library's; using another one takes a line more in the table.
 */
#include <assert.h>
#include <dlfcn.h>
#include <git2.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "paddock_config.h"
#include "trees/internal.h"

/* clang-format off */
#define FUNCTIONS(CALL, VOID) \
    CALL(int, git_attr_get_ext, (const char **value_out, git_repository *repo, git_attr_options *opts,       \
            const char *path, const char *name), (value_out, repo, opts, path, name))                       \
    CALL(git_attr_value_t, git_attr_value, (const char *attr), (attr))                                      \
    VOID(git_blob_free, (git_blob *blob), (blob))                                                           \
    CALL(int, git_blob_lookup, (git_blob **blob, git_repository *repo, const git_oid *id), (blob, repo,     \
            id))                                                                                            \
    VOID(git_buf_dispose, (git_buf *buffer), (buffer))                                                      \
    VOID(git_config_free, (git_config *cfg), (cfg))                                                         \
    CALL(int, git_config_open_ondisk, (git_config **out, const char *path), (out, path))                    \
    CALL(const git_error *, git_error_last, (void), ())                                                     \
    CALL(int, git_filter_list_apply_to_blob, (git_buf *out, git_filter_list *filters, git_blob *blob),      \
            (out, filters, blob))                                                                           \
    CALL(int, git_filter_list_apply_to_buffer, (git_buf *out, git_filter_list *filters, const char *in,     \
            size_t in_len), (out, filters, in, in_len))                                                     \
    VOID(git_filter_list_free, (git_filter_list *filters), (filters))                                       \
    CALL(int, git_filter_list_load_ext, (git_filter_list **filters, git_repository *repo, git_blob *blob,   \
            const char *path, git_filter_mode_t mode, git_filter_options *opts), (filters, repo, blob,      \
            path, mode, opts))                                                                              \
    CALL(int, git_index_add, (git_index *index, const git_index_entry *source_entry), (index,               \
            source_entry))                                                                                  \
    CALL(int, git_index_clear, (git_index *index), (index))                                                 \
    VOID(git_index_free, (git_index *index), (index))                                                       \
    CALL(int, git_index_new, (git_index **out), (out))                                                      \
    CALL(int, git_libgit2_init, (void), ())                                                                 \
    CALL(int, git_merge_file, (git_merge_file_result *out, const git_merge_file_input *ancestor,            \
            const git_merge_file_input *ours, const git_merge_file_input *theirs,                           \
            const git_merge_file_options *opts), (out, ancestor, ours, theirs, opts))                       \
    VOID(git_merge_file_result_free, (git_merge_file_result *result), (result))                             \
    VOID(git_object_free, (git_object *object), (object))                                                   \
    CALL(const git_oid *, git_object_id, (const git_object *obj), (obj))                                    \
    CALL(int, git_object_lookup, (git_object **object, git_repository *repo, const git_oid *id,             \
            git_object_t type), (object, repo, id, type))                                                   \
    CALL(int, git_object_peel, (git_object **peeled, const git_object *object, git_object_t target_type),   \
            (peeled, object, target_type))                                                                  \
    CALL(int, git_odb_add_backend, (git_odb *odb, git_odb_backend *backend, int priority), (odb, backend,   \
            priority))                                                                                      \
    CALL(int, git_odb_backend_loose, (git_odb_backend **out, const char *objects_dir,                       \
            int compression_level, int do_fsync, unsigned int dir_mode, unsigned int file_mode), (out,      \
            objects_dir, compression_level, do_fsync, dir_mode, file_mode))                                 \
    CALL(int, git_odb_backend_pack, (git_odb_backend **out, const char *objects_dir), (out, objects_dir))   \
    CALL(int, git_odb_exists, (git_odb *db, const git_oid *id), (db, id))                                   \
    VOID(git_odb_free, (git_odb *db), (db))                                                                 \
    CALL(int, git_odb_hash, (git_oid *out, const void *data, size_t len, git_object_t type), (out, data,    \
            len, type))                                                                                     \
    CALL(int, git_odb_new, (git_odb **out), (out))                                                          \
    CALL(const void *, git_odb_object_data, (git_odb_object *object), (object))                             \
    VOID(git_odb_object_free, (git_odb_object *object), (object))                                           \
    CALL(size_t, git_odb_object_size, (git_odb_object *object), (object))                                   \
    CALL(git_object_t, git_odb_object_type, (git_odb_object *object), (object))                             \
    CALL(int, git_odb_open_wstream, (git_odb_stream **out, git_odb *db, git_object_size_t size,             \
            git_object_t type), (out, db, size, type))                                                      \
    CALL(int, git_odb_read, (git_odb_object **out, git_odb *db, const git_oid *id), (out, db, id))          \
    CALL(int, git_odb_stream_finalize_write, (git_oid *out, git_odb_stream *stream), (out, stream))         \
    VOID(git_odb_stream_free, (git_odb_stream *stream), (stream))                                           \
    CALL(int, git_odb_stream_write, (git_odb_stream *stream, const char *buffer, size_t len), (stream,      \
            buffer, len))                                                                                   \
    CALL(int, git_odb_write, (git_oid *out, git_odb *odb, const void *data, size_t len, git_object_t type), \
            (out, odb, data, len, type))                                                                    \
    CALL(int, git_oid_equal, (const git_oid *a, const git_oid *b), (a, b))                                  \
    CALL(int, git_oid_fromstr, (git_oid *out, const char *str), (out, str))                                 \
    CALL(char *, git_oid_tostr, (char *out, size_t n, const git_oid *id), (out, n, id))                     \
    VOID(git_patch_free, (git_patch *patch), (patch))                                                       \
    CALL(int, git_patch_from_blobs, (git_patch **out, const git_blob *old_blob, const char *old_as_path,    \
            const git_blob *new_blob, const char *new_as_path, const git_diff_options *opts), (out,         \
            old_blob, old_as_path, new_blob, new_as_path, opts))                                            \
    CALL(const git_diff_delta *, git_patch_get_delta, (const git_patch *patch), (patch))                    \
    CALL(int, git_patch_line_stats, (size_t *total_context, size_t *total_additions,                        \
            size_t *total_deletions, const git_patch *patch), (total_context, total_additions,              \
            total_deletions, patch))                                                                        \
    CALL(int, git_reference_remove, (git_repository *repo, const char *name), (repo, name))                 \
    VOID(git_repository_free, (git_repository *repo), (repo))                                               \
    CALL(int, git_repository_init_ext, (git_repository **out, const char *repo_path,                        \
            git_repository_init_options *opts), (out, repo_path, opts))                                     \
    CALL(int, git_repository_init_options_init, (git_repository_init_options *opts, unsigned int version),  \
            (opts, version))                                                                                \
    CALL(int, git_repository_odb, (git_odb **out, git_repository *repo), (out, repo))                       \
    CALL(int, git_repository_open_bare, (git_repository **out, const char *bare_path), (out, bare_path))    \
    CALL(int, git_repository_set_config, (git_repository *repo, git_config *config), (repo, config))        \
    CALL(int, git_repository_set_index, (git_repository *repo, git_index *index), (repo, index))            \
    CALL(const git_tree_entry *, git_tree_entry_byindex, (const git_tree *tree, size_t idx), (tree, idx))   \
    CALL(const git_tree_entry *, git_tree_entry_byname, (const git_tree *tree, const char *filename),       \
            (tree, filename))                                                                               \
    CALL(git_filemode_t, git_tree_entry_filemode, (const git_tree_entry *entry), (entry))                   \
    CALL(const git_oid *, git_tree_entry_id, (const git_tree_entry *entry), (entry))                        \
    CALL(const char *, git_tree_entry_name, (const git_tree_entry *entry), (entry))                         \
    CALL(git_object_t, git_tree_entry_type, (const git_tree_entry *entry), (entry))                         \
    CALL(size_t, git_tree_entrycount, (const git_tree *tree), (tree))                                       \
    VOID(git_tree_free, (git_tree *tree), (tree))                                                           \
    CALL(int, git_tree_lookup, (git_tree **out, git_repository *repo, const git_oid *id), (out, repo, id))  \
    CALL(size_t, git_treebuilder_entrycount, (git_treebuilder *bld), (bld))                                 \
    VOID(git_treebuilder_free, (git_treebuilder *bld), (bld))                                               \
    CALL(const git_tree_entry *, git_treebuilder_get, (git_treebuilder *bld, const char *filename), (bld,   \
            filename))                                                                                      \
    CALL(int, git_treebuilder_insert, (const git_tree_entry **out, git_treebuilder *bld,                    \
            const char *filename, const git_oid *id, git_filemode_t filemode), (out, bld, filename, id,     \
            filemode))                                                                                      \
    CALL(int, git_treebuilder_new, (git_treebuilder **out, git_repository *repo, const git_tree *source),   \
            (out, repo, source))                                                                            \
    CALL(int, git_treebuilder_remove, (git_treebuilder *bld, const char *filename), (bld, filename))        \
    CALL(int, git_treebuilder_write, (git_oid *id, git_treebuilder *bld), (id, bld))
/* clang-format on */

#define CALL_SLOT(type, name, params, args) __typeof__(name) *name;
#define VOID_SLOT(name, params, args)       __typeof__(name) *name;

static struct {
    FUNCTIONS(CALL_SLOT, VOID_SLOT)
    __typeof__(git_libgit2_opts) *git_libgit2_opts; /* variadic: called through here */
} lib;

#define CALL_NAME(type, name, params, args) { #name, offsetof(__typeof__(lib), name) },
#define VOID_NAME(name, params, args)       { #name, offsetof(__typeof__(lib), name) },

static const struct {
    const char *name;
    size_t at;
} names[] = {
    FUNCTIONS(CALL_NAME, VOID_NAME) //
    { "git_libgit2_opts", offsetof(__typeof__(lib), git_libgit2_opts) },
};

#define CALL_BODY(type, name, params, args)                                              \
    type name params                                                                     \
    {                                                                                    \
        assert(lib.name);                                                                \
        return lib.name args;                                                            \
    }
#define VOID_BODY(name, params, args)                                                    \
    void name params                                                                     \
    {                                                                                    \
        assert(lib.name);                                                                \
        lib.name args;                                                                   \
    }

FUNCTIONS(CALL_BODY, VOID_BODY)

/* ---- loading */

static struct pdk_err start_err; /* code 0: it is there */

/* Never closed: its caches live as long as the process. */
static int load(struct pdk_err *err)
{
    void *handle = dlopen(PDK_GIT2_SONAME, RTLD_NOW | RTLD_LOCAL);
    const char *why = handle ? NULL : dlerror();

    for (size_t i = 0; handle && i < sizeof(names) / sizeof(*names); i++) {
        void *at = dlsym(handle, names[i].name);

        if (!at)
            why = names[i].name;
        memcpy((char *)&lib + names[i].at, &at, sizeof(at));
    }
    if (!why)
        return 0;
    (void)pdk_fail(err, PDK_EUNAVAIL, 0, "cannot load %s: %s", PDK_GIT2_SONAME, why);
    return pdk_hint(err, "install the package of libgit2 that has this file");
}

static void start_once(void)
{
    if (load(&start_err) < 0)
        return;
    if (lib.git_libgit2_init() < 0) {
        (void)pdk_fail(&start_err, PDK_EIO, 0, "libgit2 does not start");
        return;
    }
    /* The vault is ours by construction, whoever runs us. */
    (void)lib.git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
    (void)lib.git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    (void)lib.git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
    (void)lib.git_libgit2_opts(GIT_OPT_ENABLE_STRICT_OBJECT_CREATION, 0);
    /* Trees that were looked at once are not worth much memory. */
    (void)lib.git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)4 << 20);
    /* No configuration but the vault's own. */
    (void)lib.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_SYSTEM, "");
    (void)lib.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_GLOBAL, "");
    (void)lib.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG, "");
    (void)lib.git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_PROGRAMDATA, "");
}

int pdk_git2_start(struct pdk_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, start_once);
    if (start_err.code != 0 && err)
        *err = start_err;
    return start_err.code;
}

int pdk_git2_fail(struct pdk_err *err, int rc, const char *fmt, ...)
{
    const git_error *last = git_error_last();
    const char *text = last && last->message ? last->message : "no reason given";
    char what[256];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return pdk_fail(err, rc == GIT_ENOTFOUND ? PDK_ENOTFOUND : PDK_EIO, 0, "%s: %s",
            n < 0 ? "git object" : what, text);
}
