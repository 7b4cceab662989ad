#include "sandbox/check/check.h"

#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "sandbox/check/talk.h"

struct report {
    struct pdk_json *items;
    int passed, failed, skipped;
};

static void add_item(struct report *r, const struct pdk_check_spec *spec,
        const struct pdk_check_case *c, const char *status, const char *why, int64_t ms)
{
    struct pdk_json *item = pdk_json_object();

    (void)pdk_json_set_str(item, "name", c->name);
    (void)pdk_json_set_str(item, "status", status);
    (void)pdk_json_set_bytes(item, "why", why, strlen(why));
    (void)pdk_json_set_int(item, "duration_ms", ms);
    (void)pdk_json_append(r->items, item);
    if (spec->on_case)
        spec->on_case(c->name, status, why, spec->user);
}

static void run_case(struct report *r, const struct pdk_check_spec *spec,
        const struct pdk_check_case *c)
{
    int64_t began = pdk_clock_ms();
    struct pdk_talk t;
    bool ok = pdk_talk_open(&t, spec, c->init);

    if (ok && c->needs < PDK_VERB_COUNT &&
            !pdk_talk_offers(&t, pdk_verb_name(c->needs))) {
        r->skipped++;
        add_item(r, spec, c, "skip", "the verb is not offered", 0);
    } else if (ok && c->run(&t)) {
        r->passed++;
        add_item(r, spec, c, "pass", "", pdk_clock_ms() - began);
    } else {
        r->failed++;
        add_item(r, spec, c, "fail", t.why, pdk_clock_ms() - began);
    }
    pdk_talk_close(&t);
}

static const struct pdk_check_case *const tables[] = { pdk_check_frames, pdk_check_files,
    pdk_check_commands };

int pdk_check(
        const struct pdk_check_spec *spec, struct pdk_json **out, struct pdk_err *err)
{
    struct report r = { .items = pdk_json_array() };
    struct pdk_json *doc = pdk_json_object();

    (void)signal(SIGPIPE, SIG_IGN); /* a provider that ends is a case, not our end */
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct pdk_check_case *c = tables[i]; c->name; c++)
            if (!spec->only || strstr(c->name, spec->only))
                run_case(&r, spec, c);
    if (r.passed + r.failed + r.skipped == 0) {
        pdk_json_free(r.items);
        pdk_json_free(doc);
        return pdk_fail(err, PDK_EINVAL, 0, "no case has '%s' in its name", spec->only);
    }
    (void)pdk_json_set_bool(doc, "conforms", r.failed == 0);
    (void)pdk_json_set_int(doc, "passed", r.passed);
    (void)pdk_json_set_int(doc, "failed", r.failed);
    (void)pdk_json_set_int(doc, "skipped", r.skipped);
    (void)pdk_json_set(doc, "items", r.items);
    if (pdk_json_ok(doc, err) < 0) {
        pdk_json_free(doc);
        return PDK_ENOMEM;
    }
    *out = doc;
    return 0;
}
