/* A user's repository, our state directory beside it, and sandboxes in that: what tests of backends stand on. */
#ifndef PDK_TESTS_SUPPORT_WORLD_H
#define PDK_TESTS_SUPPORT_WORLD_H

#include <stdbool.h>

#include "backends/backend.h"
#include "base/error.h"
#include "trees/repo.h"

struct pdk_vault;

struct pdk_test_world {
    char *user; /* the repository: pdk_test_repo_sample() and a .gitignore with *.ignored */
    char *state; /* holds the lock, the vault, sandboxes/ */
    char *lock;
    char *vault_path;
    struct pdk_repo *repo;
    struct pdk_vault *vault;
    struct pdk_base base; /* of HEAD */
};

/* In the directory of the running test (fixture.h). */
void pdk_test_world_open(struct pdk_test_world *world);
/* Opens repository, vault and base on a repository that the test has made at world.user's place. */
void pdk_test_world_open_on(struct pdk_test_world *world, const char *revision);
void pdk_test_world_close(struct pdk_test_world *world);

/* A specification of a detached sandbox of the base, below sandboxes/<id>; id is borrowed. */
struct pdk_sandbox_spec pdk_test_world_spec(
        const struct pdk_test_world *world, const char *id);
void pdk_test_world_spec_fini(struct pdk_sandbox_spec *spec);
/* Whether this host and user can have the backend at all; says so once where not. */
bool pdk_test_world_can(const struct pdk_test_world *world, const struct pdk_backend *be);
/* Makes it and expects that to work. */
struct pdk_sandbox *pdk_test_world_make(
        const struct pdk_test_world *world, const struct pdk_backend *be, const char *id);
/* Removes it with its handle, to the last file, and expects that to work. */
void pdk_test_world_unmake(const struct pdk_test_world *world, struct pdk_sandbox *sb);

/* Every file of the user's repository but for objects, with its digest; and what git says of it. Owned by the caller. */
char *pdk_test_world_fingerprint(const struct pdk_test_world *world);
/* Expects two fingerprints to be equal, and shows the first lines that are not. */
void pdk_test_same(const char *before, const char *after);

/* Expects success, and shows the message where there is none. */
void pdk_test_ok(int rc, const struct pdk_err *err);

#endif
