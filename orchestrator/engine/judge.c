/*
 * select's judge: a command that sees two diffs and says which is better. Every pair of a task's passing
 * candidates with different trees, each both ways round, in a sandbox of the base; by the candidate that
 * ended last, whose slot is still held.
 *
 *   open -> (write a.diff, b.diff -> run -> read its answer) … -> close -> pdk_run_task_confirmed()
 *
 * A pair without two answers is a tie. The diffs name no candidate.
 */
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/path.h"
#include "orchestrator/engine/internal.h"
#include "orchestrator/engine/work.h"
#include "promote/judge.h"

enum { JUDGE_MS = 600000, ANSWER_MAX = 4096, PAIRS_MAX = 500 };

struct pair {
    struct candidate *first, *second;
    enum pdk_answer answers[2]; /* with the first as A, with it as B */
};

struct judging {
    struct candidate *c; /* in whose name it runs */
    struct pdk_session *session;
    char *id;
    struct pair pairs[PAIRS_MAX];
    size_t len, at; /* at: comparisons done, two a pair */
    bool lost;
};

static void next(struct judging *j);

static bool takes_part(const struct candidate *c, size_t task)
{
    return c->task_place == task && c->judgement.verdict == PDK_VERDICT_PASS &&
            c->tree.hex[0];
}

static void find_pairs(struct judging *j, struct run *run, size_t task)
{
    for (size_t i = 0; i < run->candidates_len; i++) {
        struct candidate *a = &run->candidates[i];

        for (size_t k = i + 1; k < run->candidates_len && j->len < PAIRS_MAX; k++) {
            struct candidate *b = &run->candidates[k];

            if (takes_part(a, task) && takes_part(b, task) &&
                    !pdk_oid_equal(&a->tree, &b->tree))
                j->pairs[j->len++] =
                        (struct pair){ a, b, { PDK_ANSWER_NONE, PDK_ANSWER_NONE } };
        }
    }
}

/* ---- what came of it */

static struct pdk_json *pair_json(const struct pair *p, int result)
{
    struct pdk_json *v = pdk_json_object(), *answers = pdk_json_array();
    int winner = result > 0 ? p->first->plan->index
            : result < 0    ? p->second->plan->index
                            : 0;

    for (size_t i = 0; i < 2; i++)
        (void)pdk_json_append(answers, pdk_json_str(pdk_answer_name(p->answers[i])));
    (void)pdk_json_set_int(v, "first", p->first->plan->index);
    (void)pdk_json_set_int(v, "second", p->second->plan->index);
    (void)pdk_json_set(v, "answers", answers);
    if (winner > 0)
        (void)pdk_json_set_int(v, "winner", winner);
    return v;
}

static void settle(struct judging *j)
{
    struct pdk_json *body = pdk_json_object(), *pairs = pdk_json_array();
    int64_t by_place = 0;

    for (size_t i = 0; i < j->len; i++) {
        struct pair *p = &j->pairs[i];
        int biased = 0;
        int result = pdk_judge_pair(p->answers[0], p->answers[1], &biased);

        p->first->judged += result;
        p->second->judged -= result;
        by_place += biased;
        (void)pdk_json_append(pairs, pair_json(p, result));
    }
    (void)pdk_json_set(body, "pairs", pairs);
    (void)pdk_json_set_int(body, "position_bias", by_place);
    pdk_record_task(j->c->run, PDK_EVENT_JUDGE_ENDED, j->c->task->id, body);
}

static void finish(struct judging *j)
{
    struct run *run = j->c->run;
    size_t task = j->c->task_place;

    settle(j);
    j->c->judging = NULL;
    free(j->id);
    free(j);
    pdk_run_task_judged(run, task);
}

static void judge_on_closed(const struct pdk_err *why, void *user)
{
    struct judging *j = user;

    pdk_record_released(j->c, j->id, why);
    finish(j);
}

/* ---- one comparison */

static void judge_on_end(
        const struct pdk_exec_result *result, const struct pdk_err *why, void *user)
{
    struct judging *j = user;
    PDK_AUTO_FREE char *path = pdk_strf("%s/judge-%zu.stdout", j->c->logs, j->at + 1);
    PDK_AUTO_BUF struct pdk_buf text = PDK_BUF_INIT;
    struct pdk_err ignored = PDK_ERR_INIT; /* what cannot be read is no answer */

    pdk_record_command_end(j->c, "judge", result, why);
    if (result && result->start == PDK_EXEC_STARTED && result->exit_code == 0 && path &&
            pdk_fs_read(path, ANSWER_MAX, &text, &ignored) == 0)
        j->pairs[j->at / 2].answers[j->at % 2] =
                pdk_answer_read(pdk_buf_str(&text), text.len);
    j->lost = !result || result->canceled || result->root_gone || j->c->canceled;
    j->at++;
    next(j);
}

/* On a worker: what each of both changed. */
static int judge_write(void *user, struct pdk_err *err)
{
    const struct judging *j = user;
    const struct pdk_engine_spec *spec = j->c->run->spec;
    const struct pair *p = &j->pairs[j->at / 2];
    const struct candidate *shown[2] = { p->first, p->second };
    PDK_AUTO_VAULT struct pdk_vault *vault = NULL;

    if (pdk_vault_open(spec->state->vault, spec->repo->objects, &vault, err) < 0)
        return err->code;
    for (size_t i = 0; i < 2; i++) {
        PDK_AUTO_BUF struct pdk_buf patch = PDK_BUF_INIT;
        PDK_AUTO_FREE char *path =
                pdk_path_join(j->c->logs, i == 0 ? "a.diff" : "b.diff");

        if (!path)
            return pdk_fail_nomem(err);
        if (pdk_diff_patch(vault, &j->c->run->start, &shown[(i + j->at) % 2]->tree,
                    &patch, err) < 0 ||
                pdk_fs_write(path, pdk_buf_str(&patch), patch.len, 0644, 0, err) < 0)
            return err->code;
    }
    return 0;
}

static void judge_on_written(const struct pdk_err *why, void *user)
{
    static const struct pdk_exec_handlers handlers = { NULL, judge_on_end };
    struct judging *j = user;
    PDK_AUTO_FREE char *log = pdk_strf("judge-%zu", j->at + 1);

    if (why->code != 0) {
        pdk_record_warning(j->c, why->msg);
        j->lost = true;
        next(j);
        return;
    }
    pdk_candidate_show(j->c, "judge");
    pdk_start_command(j->c, j->session, &j->c->task->judge, "judge", log ? log : "judge",
            JUDGE_MS, &handlers, j);
}

static void next(struct judging *j)
{
    static const struct pdk_work_handlers handlers = { judge_write, judge_on_written };

    if (j->lost || j->c->canceled || j->at == 2 * j->len)
        pdk_session_close(j->session, false, judge_on_closed, j);
    else
        pdk_work_queue(j->c->run->loop, &handlers, j);
}

static void judge_on_open(const struct pdk_err *why, void *user)
{
    struct judging *j = user;

    if (pdk_session_record(j->session))
        pdk_record_made(j->c, j->session);
    if (why->code != 0) {
        pdk_record_warning(j->c, why->msg);
        j->lost = true;
    }
    next(j);
}

static void open_session(struct candidate *c)
{
    pdk_session_open(c->judging->session, judge_on_open, c->judging);
}

bool pdk_judge_start(struct candidate *c)
{
    struct task_run *task = &c->run->tasks[c->task_place];
    struct judging *j;
    struct pdk_err err = PDK_ERR_INIT;

    if (task->judged || c->task->judge.argv.len == 0 || pdk_run_stopping(c->run))
        return false;
    task->judged = true;
    j = calloc(1, sizeof(*j));
    if (j)
        find_pairs(j, c->run, c->task_place);
    if (!j || j->len == 0) {
        free(j);
        return false;
    }
    j->c = c;
    j->id = pdk_strf("%s.judge", c->attempt_id);
    if (!j->id ||
            pdk_session_for(c, ".judge", &c->run->start, "check", &j->session, &err) <
                    0) {
        free(j->id);
        free(j);
        pdk_record_warning(c, err.msg);
        return false;
    }
    c->judging = j;
    pdk_record_then(c, open_session);
    return true;
}

void pdk_judge_stop(struct judging *j, bool at_once)
{
    pdk_session_stop(j->session, at_once);
}
