/*
 * Confinement of commands: what was asked for (policy), what this host has (means), what is then
 * run (argv or ruleset), and what may be said of it (enforcement, and what is not covered).
 *
 * Modes are about effects on files alone: nothing is claimed about network or processes. Whoever
 * runs the command runs exactly what comes out of here. Where a policy cannot be had nothing is run
 * (PDK_EUNAVAIL, "SANDBOX_UNAVAILABLE: …"). Not bound to a thread.
 */
#ifndef PDK_SANDBOX_CONFINE_CONFINE_H
#define PDK_SANDBOX_CONFINE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "plan/plan.h"

struct pdk_err;
struct pdk_json;

enum pdk_dialect {
    PDK_DIALECT_NONE,
    PDK_DIALECT_BUBBLEWRAP,
    PDK_DIALECT_LANDLOCK,
    PDK_DIALECT_RUNNER,
    PDK_DIALECT_COUNT
};

enum pdk_enforced { PDK_ENFORCED_NONE, PDK_ENFORCED_PARTIAL, PDK_ENFORCED_FULL };

/* A program of the operator's that confines: trusted, not probed, taken for full. */
struct pdk_runner {
    struct pdk_strv
            argv; /* before the command; "{root}", "{tmp}" and "{mode}" are replaced; empty: none */
    struct pdk_strv signatures; /* texts in stderr that mean a denial; at least one */
    struct pdk_strv
            failures; /* texts in stderr that mean that the runner itself failed */
    int failure_exit; /* the exit code that goes with them */
};

struct pdk_policy {
    enum pdk_confine
            mode; /* PDK_CONFINE_NONE: not confined, the rest counts for nothing */
    bool require_full;
    enum pdk_dialect dialect; /* NONE: the best of what a probe finds */
    struct pdk_strv
            visible; /* paths that stay readable where temporary directories are masked */
    struct pdk_runner runner;
};

void pdk_policy_fini(struct pdk_policy *policy);
int pdk_policy_copy(
        struct pdk_policy *to, const struct pdk_policy *from, struct pdk_err *err);

/* "danger-full-access", "workspace-write", "read-only": the closed list, as in mission files. */
const char *pdk_mode_name(enum pdk_confine mode);
int pdk_mode_find(const char *name, enum pdk_confine *out, struct pdk_err *err);
bool pdk_mode_is_wider(enum pdk_confine a, enum pdk_confine b); /* strictly */

const char *pdk_dialect_name(enum pdk_dialect dialect);    /* "none", "bubblewrap", … */
const char *pdk_enforced_name(enum pdk_enforced enforced); /* "none", "partial", "full" */

/* What a host has, as probed. */
struct pdk_means {
    char *bubblewrap;     /* the program; NULL: none, or its profile does not hold here */
    char *bubblewrap_why; /* why not; NULL where it can be used */
    int landlock;         /* ABI version; 0: none */
    char *landlock_why;
};

void pdk_means_fini(struct pdk_means *means);
#define PDK_AUTO_MEANS __attribute__((cleanup(pdk_means_fini)))
int pdk_means_to_json(
        const struct pdk_means *means, struct pdk_json **out, struct pdk_err *err);
int pdk_means_from_json(
        const struct pdk_json *v, struct pdk_means *out, struct pdk_err *err);

/*
 * The dialect for a policy: its own, else its runner, else bubblewrap, else Landlock. means NULL: one that
 * is named is taken unprobed and fails when it is used. PDK_EUNAVAIL says what was tried.
 */
int pdk_confine_choose(const struct pdk_policy *policy, const struct pdk_means *means,
        enum pdk_dialect *out, struct pdk_err *err);
/* What a dialect amounts to; landlock: the kernel's ABI version. */
enum pdk_enforced pdk_confine_enforced(enum pdk_dialect dialect, int landlock);
/* What it does not cover, a line each. */
int pdk_confine_missing(enum pdk_dialect dialect, int landlock, struct pdk_strv *out,
        struct pdk_err *err);

/*
 * Directories, resolved (those that are not there are left out), none below another, none twice; the
 * first that holds others stands for them.
 */
int pdk_confine_roots(
        const char *const *paths, size_t n, struct pdk_strv *out, struct pdk_err *err);
bool pdk_path_is_within(
        const char *path, const char *dir); /* or the same; both absolute */

/* ---- wire.c */

int pdk_policy_to_json(
        const struct pdk_policy *policy, struct pdk_json **out, struct pdk_err *err);
/* PDK_EINVAL for what does not keep its form. */
int pdk_policy_from_json(
        const struct pdk_json *v, struct pdk_policy *out, struct pdk_err *err);
/* {"argv", "signatures", "failures", "failure_exit"}: also the form of the operator's file. */
int pdk_runner_from_json(
        const struct pdk_json *v, struct pdk_runner *out, struct pdk_err *err);
/* The names of dialect and enforcement back; -1 for none of them. */
int pdk_dialect_find(const char *name);
int pdk_enforced_find(const char *name);

#endif
