#include "tests/support/fake_backend.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/backend_impl.h"
#include "backends/fill.h"
#include "base/error.h"

struct script {
    int code, skip, times, calls;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct script scripts[PDK_FAKE_STEPS];
static int commits_made, alive, peak;

static int take_step(enum pdk_fake_step step, struct pdk_err *err)
{
    struct script *script = &scripts[step];

    (void)pthread_mutex_lock(&mutex);
    int call = script->calls++;
    bool fails = call >= script->skip && call < script->skip + script->times;
    int code = script->code;
    (void)pthread_mutex_unlock(&mutex);
    return fails ? pdk_fail(err, code, 0, "the script says so (call %d)", call + 1) : 0;
}

static void count_alive(int by)
{
    (void)pthread_mutex_lock(&mutex);
    alive += by;
    if (alive > peak)
        peak = alive;
    (void)pthread_mutex_unlock(&mutex);
}

static int fake_materialize(struct pdk_sandbox *sb, const struct pdk_sandbox_spec *spec,
        struct pdk_strv *warnings, struct pdk_err *err)
{
    int rc = take_step(PDK_FAKE_MATERIALIZE, err);

    (void)warnings;
    if (rc == 0 && mkdir(sb->root, 0755) < 0)
        rc = pdk_fail(err, PDK_EIO, errno, "cannot make '%s'", sb->root);
    sb->record.start = spec->base.commit;
    if (rc == 0)
        rc = pdk_sandbox_fill(sb, spec, NULL, err);
    if (rc == 0)
        rc = take_step(PDK_FAKE_FILLED, err);
    if (rc == 0)
        count_alive(1);
    return rc;
}

static int fake_teardown(const struct pdk_sandbox_record *record,
        const struct pdk_repo *repo, const char *lock, unsigned int flags,
        struct pdk_err *err)
{
    (void)record;
    (void)repo;
    (void)lock;
    (void)flags;
    int rc = take_step(PDK_FAKE_TEARDOWN, err);
    if (rc == 0)
        count_alive(-1);
    return rc;
}

static int fake_count_commits(
        struct pdk_sandbox *sb, unsigned int flags, int *out, struct pdk_err *err)
{
    int rc = take_step(PDK_FAKE_COUNT, err);

    (void)sb;
    (void)flags;
    if (rc == 0)
        *out = commits_made;
    return rc;
}

static int fake_collect_dirt(struct pdk_sandbox *sb, struct pdk_vault *vault,
        struct pdk_dirt *out, struct pdk_err *err)
{
    struct pdk_capture_spec spec = {
        .repo = sb->repo, .root_fd = sb->root_fd, .index = sb->baseline
    };
    int rc = take_step(PDK_FAKE_DIRT, err);

    return rc < 0 ? rc : pdk_capture_dirt(vault, &spec, out, err);
}

static const struct pdk_backend table = {
    .name = "fake",
    .claim = "a plain directory, for tests",
    .materialize = fake_materialize,
    .teardown = fake_teardown,
    .count_commits = fake_count_commits,
    .collect_dirt = fake_collect_dirt,
};

/* backends/backend.c lists it where it is linked. */
extern const struct pdk_backend *const pdk_backend_extra;
const struct pdk_backend *const pdk_backend_extra = &table;

const struct pdk_backend *pdk_fake_backend(void)
{
    return &table;
}

void pdk_fake_reset(void)
{
    memset(scripts, 0, sizeof(scripts));
    commits_made = alive = peak = 0;
}

void pdk_fake_fail(enum pdk_fake_step step, int code, int skip, int times)
{
    scripts[step].code = code;
    scripts[step].skip = skip;
    scripts[step].times = times;
}

void pdk_fake_set_commits(int commits)
{
    commits_made = commits;
}

int pdk_fake_calls(enum pdk_fake_step step)
{
    return scripts[step].calls;
}

int pdk_fake_alive(void)
{
    return alive;
}

int pdk_fake_peak(void)
{
    return peak;
}
