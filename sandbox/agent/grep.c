/*
 * grep: lines by a PCRE2 pattern. One search:
 *
 *   asked (loop) -> walk, then files in turn on some threads (a worker of the loop) -> answered (loop)
 *
 * Threads take files in order and finish what they took, so that where the limit ends it the first
 * matches are exactly the first. The inside of a search reads files and its own memory only; the
 * loop may set stop.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "sandbox/agent/agent.h"
#include "sandbox/agent/lines.h"
#include "sandbox/agent/select.h"
#include "sandbox/scan.h"

enum {
    LIMIT = 1000,
    LIMIT_MAX = 20000,
    CONTEXT_MAX = 20,
    TIME_MS = 10000,
    TIME_MAX_MS = 60000,
    THREADS_MAX = 8,
    SEARCHES_MAX = 8,
    STEP = 16, /* files that a thread takes at once */
    FILE_MAX = 32 << 20,
    ITEM_ROOM = 160
};

struct search {
    struct search *next;
    uv_work_t work;
    struct agent *agent;
    int64_t call, limit, deadline_ms;
    struct pdk_agent_select select;
    struct pdk_lines *lines;
    struct pdk_strv paths;
    struct pdk_json **found; /* of each path: an array, or NULL */
    int walked;              /* what the walk said */
    struct pdk_err err;
    atomic_size_t taken;
    atomic_int_fast64_t matches, files, binary, too_large, failed;
    atomic_bool stop, late;
};

/* ---- one file */

enum content { CONTENT_TEXT, CONTENT_BINARY, CONTENT_LARGE, CONTENT_NONE };

static enum content read_content(int root_fd, const char *path, struct pdk_buf *out)
{
    PDK_AUTO_FD int fd = pdk_scan_open(root_fd, path, O_RDONLY | O_NOFOLLOW);
    size_t want = out->cap > 64 << 10 ? out->cap - 1 : 64 << 10;

    pdk_buf_reset(out);
    while (fd >= 0) {
        char *to = pdk_buf_room(out, want);
        ssize_t n = to ? read(fd, to, want) : -1;

        if (n < 0 && to && errno == EINTR)
            continue;
        if (n < 0)
            return CONTENT_NONE;
        out->len += (size_t)n;
        if (memchr(to, '\0', out->len - (size_t)n < PDK_LINES_SAMPLE ? (size_t)n : 0))
            return CONTENT_BINARY;
        if (out->len > FILE_MAX)
            return CONTENT_LARGE;
        if ((size_t)n < want)
            return CONTENT_TEXT;
        want = out->len;
    }
    return CONTENT_NONE;
}

static void search_file(struct search *s, struct pdk_lines_user *user, size_t at)
{
    int64_t n = 0;

    switch (read_content(s->agent->root_fd, s->paths.items[at], &user->text)) {
    case CONTENT_TEXT:
        atomic_fetch_add(&s->files, 1);
        n = pdk_lines_find(s->lines, user, &s->found[at]);
        if (n < 0 || user->undecided)
            atomic_fetch_add(&s->failed, 1);
        if (n > 0)
            atomic_fetch_add(&s->matches, n);
        return;
    case CONTENT_BINARY:
        atomic_fetch_add(&s->binary, 1);
        return;
    case CONTENT_LARGE:
        atomic_fetch_add(&s->too_large, 1);
        return;
    case CONTENT_NONE:
        atomic_fetch_add(&s->failed, 1);
        return;
    }
}

static bool is_over(struct search *s)
{
    if (atomic_load(&s->stop) || atomic_load(&s->matches) > s->limit)
        return true;
    if (pdk_clock_ms() < s->deadline_ms)
        return false;
    atomic_store(&s->late, true);
    return true;
}

static void *search_files(void *search)
{
    struct search *s = search;
    struct pdk_lines_user user = PDK_LINES_USER_INIT;

    user.deadline_ms = s->deadline_ms;
    user.stop = &s->stop;
    while (pdk_lines_user_init(s->lines, &user) == 0 && !is_over(s)) {
        size_t at = atomic_fetch_add(&s->taken, STEP);

        if (at >= s->paths.len)
            break;
        for (size_t i = at; i < at + STEP && i < s->paths.len; i++)
            search_file(s, &user, i);
    }
    pdk_lines_user_fini(&user);
    return NULL;
}

/* ---- all of it */

static int search_on_path(const char *path, enum pdk_scan_kind kind, void *user)
{
    struct search *s = user;

    if (kind == PDK_SCAN_FILE && pdk_agent_selects(&s->select, path))
        pdk_strv_add(&s->paths, path);
    if (s->paths.failed)
        return PDK_ENOMEM;
    return is_over(s) ? 1 : 0;
}

static size_t thread_count(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return n > THREADS_MAX ? THREADS_MAX : (size_t)n;
}

static void search_all(struct search *s)
{
    pthread_t threads[THREADS_MAX];
    size_t n = 0, want = s->paths.len > STEP ? thread_count() : 1;

    while (n + 1 < want && pthread_create(&threads[n], NULL, search_files, s) == 0)
        n++;
    (void)search_files(s);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
}

static void search_on_work(uv_work_t *work)
{
    struct search *s = work->data;
    struct pdk_scan_spec spec = { .root_fd = s->agent->root_fd,
        .path = s->select.path,
        .ignored = s->select.ignored,
        .visit = search_on_path,
        .user = s };

    s->walked = pdk_scan(&spec, &s->err);
    if (s->walked < 0)
        return;
    s->found = calloc(s->paths.len + 1, sizeof(struct pdk_json *));
    if (s->found)
        search_all(s);
    else
        s->walked = pdk_fail_nomem(&s->err);
}

/* ---- the answer */

static void free_search(struct search *s)
{
    for (size_t i = 0; s->found && i < s->paths.len; i++)
        pdk_json_free(s->found[i]);
    free(s->found);
    pdk_strv_fini(&s->paths);
    pdk_agent_select_fini(&s->select);
    pdk_lines_free(s->lines);
    free(s);
}

/* Moves matches over while there is room; what ended it, or NULL. */
static const char *gather(struct search *s, struct pdk_json *items)
{
    size_t room = PDK_FRAME_MAX - 4096;
    int64_t n = 0;

    for (size_t i = 0; i < s->paths.len; i++) {
        const char *path = s->paths.items[i];

        for (size_t k = 0; k < pdk_json_len(s->found[i]); k++) {
            struct pdk_json *item = pdk_json_at(s->found[i], k);
            size_t need = (size_t)pdk_json_get_int(item, "room", 0), rest;

            if (n == s->limit)
                return "limit";
            rest = room > need + ITEM_ROOM ? room - need - ITEM_ROOM : 0;
            if (pdk_agent_fit(path, strlen(path), &rest) < strlen(path) || rest == 0)
                return "size";
            room = rest;
            n++;
            pdk_json_remove(item, "room");
            (void)pdk_json_set_bytes(item, "path", path, strlen(path));
            (void)pdk_json_append(items, pdk_json_ref(item));
        }
    }
    return atomic_load(&s->late) ? "time" : NULL;
}

static void answer(struct search *s)
{
    struct pdk_json *result = pdk_json_object(), *items = pdk_json_array();
    const char *ended = gather(s, items);

    (void)pdk_json_set(result, "items", items);
    (void)pdk_json_set_bool(result, "truncated", ended != NULL);
    if (ended)
        (void)pdk_json_set_str(result, "truncated_by", ended);
    (void)pdk_json_set_int(result, "files", atomic_load(&s->files));
    (void)pdk_json_set_int(result, "binary", atomic_load(&s->binary));
    (void)pdk_json_set_int(result, "too_large", atomic_load(&s->too_large));
    (void)pdk_json_set_int(result, "failed", atomic_load(&s->failed));
    pdk_agent_result(s->agent, s->call, result);
}

static void search_on_done(uv_work_t *work, int status)
{
    struct search *s = work->data;
    struct agent *a = s->agent;
    struct search **at = &a->searches;

    (void)status;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (atomic_load(&s->stop))
        pdk_agent_error(a, s->call, PDK_WIRE_CANCELED, "the search was canceled");
    else if (s->walked < 0)
        pdk_agent_scan_failed(a, s->call, &s->err);
    else
        answer(s);
    free_search(s);
    pdk_agent_idle(a);
}

/* ---- asking */

static int take_params(
        struct search *s, const struct pdk_json *params, struct pdk_err *err)
{
    PDK_AUTO_BUF struct pdk_buf pattern = PDK_BUF_INIT;
    int64_t context = pdk_json_get_int(params, "context", 0);
    int64_t time_ms = pdk_json_get_int(params, "timeout_ms", TIME_MS);
    struct pdk_lines_spec spec = { .fixed = pdk_json_get_bool(params, "fixed", false),
        .ignore_case = pdk_json_get_bool(params, "ignore_case", false),
        .context = (int)context };

    s->limit = pdk_json_get_int(params, "limit", LIMIT);
    if (pdk_agent_select_init(&s->select, params, "paths") < 0)
        return pdk_fail(
                err, PDK_EINVAL, 0, "'path' is a path and 'paths' a list of patterns");
    if (s->limit < 1 || s->limit > LIMIT_MAX || context < 0 || context > CONTEXT_MAX ||
            time_ms < 1 || time_ms > TIME_MAX_MS)
        return pdk_fail(err, PDK_EINVAL, 0,
                "limit is 1 to 20000, context 0 to 20, timeout_ms 1 to 60000");
    if (pdk_json_get_bytes(params, "pattern", &pattern, err) < 0)
        return err->code;
    if (pattern.len == 0)
        return pdk_fail(err, PDK_EINVAL, 0, "grep takes a pattern");
    spec.limit = s->limit + 1;
    s->deadline_ms = pdk_clock_ms() + time_ms;
    return pdk_lines_new(pattern.data, pattern.len, &spec, &s->lines, err);
}

static int count(const struct agent *a)
{
    int n = 0;

    for (const struct search *s = a->searches; s; s = s->next)
        n++;
    return n;
}

void pdk_agent_grep(struct agent *a, int64_t id, const struct pdk_json *params)
{
    struct search *s = count(a) < SEARCHES_MAX ? calloc(1, sizeof(*s)) : NULL;
    struct pdk_err err = PDK_ERR_INIT;

    if (!s) {
        pdk_agent_error(a, id, PDK_WIRE_BUSY, "too many searches are running");
        return;
    }
    s->agent = a;
    s->call = id;
    s->work.data = s;
    if (take_params(s, params, &err) < 0) {
        pdk_agent_error(a, id, PDK_WIRE_BAD_PARAMS, err.msg);
        free_search(s);
        return;
    }
    s->next = a->searches;
    a->searches = s;
    (void)uv_queue_work(
            a->loop, &s->work, search_on_work, search_on_done); /* cannot fail */
}

void pdk_agent_grep_cancel(struct agent *a, int64_t call)
{
    for (struct search *s = a->searches; s; s = s->next)
        if (call == 0 || s->call == call)
            atomic_store(&s->stop, true);
}
