/* The git directory of a sandbox of its own: written by hand, with nothing in it but the start. */
#ifndef PDK_BACKENDS_GITDIR_H
#define PDK_BACKENDS_GITDIR_H

struct pdk_err;
struct pdk_layer;
struct pdk_oid;
struct pdk_repo;
struct pdk_sandbox;
struct pdk_sandbox_spec;
struct pdk_strv;

/*
 * What pdk_gitdir_make() writes, added to out as plain data; and the HEAD of pdk_gitdir_start(), whose
 * branch is none or named by nothing yet.
 */
int pdk_gitdir_describe(
        const struct pdk_repo *repo, struct pdk_layer *out, struct pdk_err *err);
int pdk_gitdir_describe_head(struct pdk_layer *out, const char *commit,
        const char *branch, struct pdk_err *err);

/*
 * Makes path with configuration, exclude rules, an empty object directory that leads to the user's
 * (<path>/objects), no refs. It is no repository yet: HEAD comes last, with pdk_gitdir_start().
 */
int pdk_gitdir_make(const char *path, const struct pdk_repo *repo, struct pdk_err *err);

/*
 * HEAD on commit ("": unborn), detached or on branch. An unborn one without a branch is on main.
 */
int pdk_gitdir_start(
        const char *path, const char *commit, const char *branch, struct pdk_err *err);

/* For the tables of backends whose sandboxes have one at <root>/.git (backend_impl.h). */
int pdk_gitdir_materialize(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        struct pdk_strv *warnings, struct pdk_err *err);
int pdk_gitdir_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err);
int pdk_gitdir_find_head(
        struct pdk_sandbox *sb, struct pdk_oid *out, char **objects, struct pdk_err *err);

#endif
