/* The git directory of a sandbox of its own: written by hand, with nothing in it but the start. */
#ifndef PDK_BACKENDS_DIRECTORY_GITDIR_H
#define PDK_BACKENDS_DIRECTORY_GITDIR_H

struct pdk_err;
struct pdk_repo;

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

#endif
