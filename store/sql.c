/* All SQL that runs with parameters. The tables are in schema.c, who binds what in apply.c and rows.c. */
#include <stddef.h>

#include "store/db.h"

#define RUN_COLUMNS                                                                        \
    "id, kind, mission, title, state, verdict, reason, base_commit, base_tree, seed_tree," \
    " plan, winner, created_ms, started_ms, ended_ms, duration_ms, pid, max_concurrent,"   \
    " peak_concurrent, canceled"
#define CANDIDATE_COLUMNS                                                                \
    "c.run, c.task, c.state, c.verdict, c.reason, c.detail, c.tree, c.backend, c.dir,"   \
    " c.matrix, c.idx, c.attempt, c.files, c.added, c.deleted, c.exit_code, c.signal,"   \
    " c.leaked, c.created_ms, c.started_ms, c.ended_ms, c.mission_ms, c.changed,"        \
    " c.timed_out"
#define SANDBOX_COLUMNS                                                                            \
    "id, backend, engine, dir, branch, purpose, status, base_commit, base_tree, tree, start, run," \
    " task, candidate, attempt, created_ms, ended_ms"

const char *const pdk_sql_text[SQL_COUNT] = {
    [SQL_NONE] = "",
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_INTEGRITY] = "SELECT integrity_check FROM pragma_integrity_check(1)",
    [SQL_TABLES] = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN"
                   " ('event', 'run', 'task', 'candidate', 'check_result', 'promotion',"
                   " 'sandbox', 'session')",

    [SQL_EVENT_ADD] =
            "INSERT INTO event (run, task, candidate, attempt, ts_ms, type, body)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_EVENTS] =
            "SELECT seq, ts_ms, run, task, candidate, attempt, type, body FROM event"
            " WHERE seq > ?2 AND (?1 IS NULL OR run = ?1) ORDER BY seq",

    [SQL_RUN_ADD] =
            "INSERT INTO run (id, created_ms, kind, mission, title, state,"
            " base_commit, base_tree, seed_tree, max_concurrent, plan)"
            " VALUES (?1, ?2, ?3, ?4, ?5, 'planned', ?6, ?7, ?8, coalesce(?9, 0), ?10)",
    [SQL_RUN_START] = "UPDATE run SET state = 'running', pid = ?2, started_ms ="
                      " CASE started_ms WHEN 0 THEN ?3 ELSE started_ms END"
                      " WHERE id = ?1 AND state IN ('planned', 'running')",
    [SQL_RUN_END] =
            "UPDATE run SET state = 'ended', ended_ms = ?2, verdict = ?3, reason = ?4,"
            " winner = coalesce(?5, 0), canceled = coalesce(?6, 0),"
            " peak_concurrent = coalesce(?7, 0), duration_ms = coalesce(?8, 0)"
            " WHERE id = ?1 AND state <> 'ended'",
    [SQL_RUN_REJUDGE] = "UPDATE run SET verdict = ?2, reason = ?3,"
                        " winner = coalesce(?4, 0) WHERE id = ?1 AND state = 'ended'",
    [SQL_RUN_STATE] = "SELECT state FROM run WHERE id = ?1",
    [SQL_RUN_GET] = "SELECT " RUN_COLUMNS " FROM run WHERE id = ?1",
    [SQL_RUN_IDS] = "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1"
                    " ORDER BY id LIMIT 6",
    [SQL_RUNS] =
            "SELECT " RUN_COLUMNS " FROM run ORDER BY created_ms DESC, id DESC LIMIT ?1",

    [SQL_TASK_ADD] = "INSERT INTO task (run, id, idx) VALUES (?1, ?2, ?3)",
    [SQL_TASK_JUDGE] =
            "UPDATE task SET verdict = ?3, reason = ?4, winner = coalesce(?5, 0)"
            " WHERE run = ?1 AND id = ?2",
    [SQL_TASK_STATE] = "SELECT coalesce(verdict, 'planned') FROM task"
                       " WHERE run = ?1 AND id = ?2",
    [SQL_TASKS] = "SELECT run, id, verdict, reason, idx, winner FROM task WHERE run = ?1"
                  " ORDER BY idx, id",

    [SQL_CANDIDATE_ADD] =
            "INSERT INTO candidate (run, task, idx, created_ms, state, matrix,"
            " backend) VALUES (?1, ?2, ?3, ?4, 'planned', ?5, ?6)",
    [SQL_CANDIDATE_MOVE] =
            "UPDATE candidate SET state = ?6, attempt = ?4,"
            " started_ms = CASE started_ms WHEN 0 THEN ?7 ELSE started_ms END,"
            " ended_ms = CASE ?6 WHEN 'judged' THEN ?7 ELSE ended_ms END,"
            " tree = CASE WHEN ?4 > attempt THEN NULL ELSE tree END,"
            " changed = CASE WHEN ?4 > attempt THEN 0 ELSE changed END,"
            " files = CASE WHEN ?4 > attempt THEN 0 ELSE files END,"
            " added = CASE WHEN ?4 > attempt THEN 0 ELSE added END,"
            " deleted = CASE WHEN ?4 > attempt THEN 0 ELSE deleted END,"
            " exit_code = CASE WHEN ?4 > attempt THEN -1 ELSE exit_code END,"
            " signal = CASE WHEN ?4 > attempt THEN 0 ELSE signal END,"
            " timed_out = CASE WHEN ?4 > attempt THEN 0 ELSE timed_out END,"
            " leaked = CASE WHEN ?4 > attempt THEN 0 ELSE leaked END,"
            " mission_ms = CASE WHEN ?4 > attempt THEN 0 ELSE mission_ms END"
            " WHERE run = ?1 AND task = ?2 AND idx = ?3 AND state = ?5 AND attempt <= ?4",
    [SQL_CANDIDATE_SANDBOX] = "UPDATE candidate SET backend = ?4, dir = ?5 WHERE run = ?1"
                              " AND task = ?2 AND idx = ?3 AND ?6 = 'mission'",
    [SQL_CANDIDATE_COMMAND] =
            "UPDATE candidate SET leaked = leaked + coalesce(?5, 0),"
            " exit_code = CASE ?4 WHEN 'mission' THEN coalesce(?6, -1) ELSE exit_code END,"
            " signal = CASE ?4 WHEN 'mission' THEN coalesce(?7, 0) ELSE signal END,"
            " timed_out = CASE ?4 WHEN 'mission' THEN coalesce(?8, 0) ELSE timed_out END,"
            " mission_ms = CASE ?4 WHEN 'mission' THEN coalesce(?9, 0) ELSE mission_ms END"
            " WHERE run = ?1 AND task = ?2 AND idx = ?3",
    [SQL_CANDIDATE_CAPTURE] = "UPDATE candidate SET tree = ?4, changed = ?5,"
                              " files = coalesce(?6, 0), added = coalesce(?7, 0),"
                              " deleted = coalesce(?8, 0)"
                              " WHERE run = ?1 AND task = ?2 AND idx = ?3",
    [SQL_CANDIDATE_JUDGE] = "UPDATE candidate SET verdict = ?4, reason = ?5, detail = ?6"
                            " WHERE run = ?1 AND task = ?2 AND idx = ?3",
    [SQL_CANDIDATE_STATE] = "SELECT state FROM candidate"
                            " WHERE run = ?1 AND task = ?2 AND idx = ?3",
    [SQL_CANDIDATE_GET] = "SELECT " CANDIDATE_COLUMNS " FROM candidate c"
                          " WHERE c.run = ?1 AND c.task = ?2 AND c.idx = ?3",
    [SQL_CANDIDATES] = "SELECT " CANDIDATE_COLUMNS " FROM candidate c"
                       " JOIN task t ON t.run = c.run AND t.id = c.task"
                       " WHERE c.run = ?1 AND (?2 IS NULL OR c.task = ?2)"
                       " ORDER BY t.idx, t.id, c.idx",

    [SQL_CHECK_ADD] =
            "INSERT INTO check_result (run, task, candidate, attempt, idx, name,"
            " severity, verdict, reason, detail, exit_code, signal, timed_out,"
            " duration_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
            " coalesce(?11, -1), coalesce(?12, 0), coalesce(?13, 0),"
            " coalesce(?14, 0))",
    [SQL_CHECKS] =
            "SELECT k.run, k.task, k.name, k.severity, k.verdict, k.reason, k.detail,"
            " k.candidate, k.attempt, k.idx, k.exit_code, k.signal, k.duration_ms,"
            " k.timed_out FROM check_result k JOIN candidate c ON c.run = k.run"
            " AND c.task = k.task AND c.idx = k.candidate AND c.attempt = k.attempt"
            " WHERE k.run = ?1 AND k.task = ?2 AND k.candidate = ?3 ORDER BY k.idx",

    [SQL_SANDBOX_ADD] =
            "INSERT INTO sandbox (id, run, task, candidate, attempt, created_ms,"
            " backend, dir, purpose, branch, base_commit, base_tree, tree, engine, status)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
            " 'intended')",
    [SQL_SANDBOX_MAKE] = "UPDATE sandbox SET status = 'created', start = ?2"
                         " WHERE id = ?1 AND status = 'intended'",
    [SQL_SANDBOX_MOVE] = "UPDATE sandbox SET status = ?2 WHERE id = ?1"
                         " AND status NOT IN ('intended', 'discarded', 'released')",
    [SQL_SANDBOX_END] = "UPDATE sandbox SET ended_ms = ?2, status ="
                        " CASE ?3 WHEN 1 THEN 'discarded' ELSE 'released' END"
                        " WHERE id = ?1 AND status NOT IN ('discarded', 'released')",
    [SQL_SANDBOX_STATE] = "SELECT status FROM sandbox WHERE id = ?1",
    [SQL_SANDBOX_GET] = "SELECT " SANDBOX_COLUMNS " FROM sandbox WHERE id = ?1",
    [SQL_SANDBOX_IDS] = "SELECT id FROM sandbox WHERE substr(id, 1, length(?1)) = ?1"
                        " AND (?2 OR status NOT IN ('discarded', 'released'))"
                        " ORDER BY id LIMIT 6",
    /* ?1 is an enum pdk_sandbox_filter. */
    [SQL_SANDBOXES] = "SELECT " SANDBOX_COLUMNS " FROM sandbox WHERE ?1 = 1"
                      " OR (status NOT IN ('discarded', 'released')"
                      " AND (purpose = 'named') = (?1 = 0)) ORDER BY created_ms, rowid",

    [SQL_PROMOTION_ADD] =
            "INSERT INTO promotion (id, run, task, candidate, created_ms, how,"
            " target, tree, state)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'intent')",
    [SQL_PROMOTION_END] = "UPDATE promotion SET state = CASE ?3 WHEN 'promotion.done'"
                          " THEN 'done' ELSE 'failed' END, ended_ms = ?2, detail = ?4"
                          " WHERE id = ?1 AND state = 'intent'",
    [SQL_PROMOTION_STATE] = "SELECT state FROM promotion WHERE id = ?1",
    [SQL_PROMOTIONS] =
            "SELECT id, run, task, how, target, tree, state, detail, candidate,"
            " created_ms, ended_ms FROM promotion WHERE ?1 IS NULL OR run = ?1"
            " ORDER BY created_ms DESC, rowid DESC",

    [SQL_SESSION_ADD] = "INSERT INTO session (id, sandbox, mode, approval, created_ms)"
                        " VALUES (?1, ?2, ?3, ?4, ?5)",
    [SQL_SESSION_MODE] = "UPDATE session SET mode = ?2, preset = NULL WHERE id = ?1",
    [SQL_SESSION_APPROVAL] =
            "UPDATE session SET approval = ?2, preset = NULL WHERE id = ?1",
    [SQL_SESSION_PRESET] = "UPDATE session SET preset = ?2 WHERE id = ?1",
    [SQL_SESSION_STATE] = "SELECT mode FROM session WHERE id = ?1",
    [SQL_SESSION_GET] = "SELECT id, sandbox, mode, approval, preset, created_ms"
                        " FROM session WHERE id = ?1",
};
