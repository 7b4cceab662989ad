/* Cases about files. What a case writes it removes: by remove, or by exec where that is not offered. */
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "sandbox/check/talk.h"

static bool put(struct pdk_talk *t, const char *path, const char *data)
{
    PDK_AUTO_JSON struct pdk_json *result =
            pdk_talk_ask(t, "write", "{\"path\":\"%s\",\"data\":\"%s\"}", path, data);

    return result != NULL;
}

static bool write_receipt(struct pdk_talk *t)
{
    static const char abc[] =
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    PDK_AUTO_JSON struct pdk_json *first =
            pdk_talk_ask(t, "write", "{\"path\":\"check-w\",\"data\":\"1\\n2\\n3\\n\"}");
    PDK_AUTO_JSON struct pdk_json *second =
            pdk_talk_ask(t, "write", "{\"path\":\"check-w\",\"data\":\"abc\"}");

    return first && second && pdk_talk_flag(t, first, "existed_before", false) &&
            pdk_talk_int(t, first, "bytes_written", 6) &&
            pdk_talk_int(t, first, "line_delta", 3) &&
            pdk_talk_flag(t, second, "existed_before", true) &&
            pdk_talk_int(t, second, "bytes_written", 3) &&
            pdk_talk_int(t, second, "line_delta", -2) &&
            pdk_talk_text(t, second, "digest", abc);
}

static bool write_refusals(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "bad_params", "write", "{\"data\":\"x\"}") &&
            pdk_talk_refused(
                    t, "outside", "write", "{\"path\":\"../check-x\",\"data\":\"x\"}") &&
            pdk_talk_refused(t, "outside", "write",
                    "{\"path\":\"/tmp/check-x\",\"data\":\"x\"}") &&
            pdk_talk_refused(
                    t, "not_found", "write", "{\"path\":\"no/dir/f\",\"data\":\"x\"}");
}

struct window {
    const char *params, *data;
    bool eof;
};

static bool read_windows(struct pdk_talk *t)
{
    static const struct window windows[] = {
        { "", "one\ntwo\nthree\n", true },
        { ",\"offset\":4,\"length\":3", "two", false },
        { ",\"offset\":100", "", true },
        { ",\"line_from\":2,\"line_count\":1", "two\n", false },
        { ",\"line_from\":3", "three\n", true },
    };

    if (!put(t, "check-r", "one\\ntwo\\nthree\\n"))
        return false;
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        const struct window *w = &windows[i];
        PDK_AUTO_JSON struct pdk_json *r =
                pdk_talk_ask(t, "read", "{\"path\":\"check-r\"%s}", w->params);

        if (!r || !pdk_talk_bytes(t, r, "data", w->data, strlen(w->data)) ||
                !pdk_talk_int(t, r, "size", 14) ||
                !pdk_talk_int(t, r, "length", (int64_t)strlen(w->data)) ||
                !pdk_talk_flag(t, r, "eof", w->eof))
            return false;
    }
    return true;
}

static bool any_bytes(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *put = pdk_talk_ask(t, "write",
            "{\"path\":\"check-b\",\"data\":\"?\",\"data_base64\":\"/wD+Cg==\"}");
    PDK_AUTO_JSON struct pdk_json *got =
            put ? pdk_talk_ask(t, "read", "{\"path\":\"check-b\"}") : NULL;

    return got && pdk_talk_bytes(t, got, "data", "\xff\0\xfe\n", 4) &&
            PDK_TALK_EXPECT(t, pdk_json_get_str(got, "data_base64", NULL),
                    "bytes that are no UTF-8 come without 'data_base64'");
}

static bool read_refusals(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "not_found", "read", "{\"path\":\"check-none\"}") &&
            pdk_talk_refused(t, "not_a_file", "read", "{\"path\":\".\"}") &&
            pdk_talk_refused(t, "outside", "read", "{\"path\":\"../x\"}") &&
            pdk_talk_refused(t, "outside", "read", "{\"path\":\"/etc/hostname\"}") &&
            pdk_talk_refused(t, "bad_params", "read", "%s", "") &&
            pdk_talk_refused(t, "bad_params", "read", "{\"path\":\"x\",\"offset\":-1}");
}

static bool read_many(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *r = put(t, "check-m", "text")
            ? pdk_talk_ask(t, "read_many",
                      "{\"paths\":[\"check-m\",\"check-none\",{\"path\":\"check-m\","
                      "\"offset\":2},\"../x\"]}")
            : NULL;
    const struct pdk_json *items = pdk_json_get(r, "items");

    return r && PDK_TALK_EXPECT(t, pdk_json_len(items) == 4, "not one item a path") &&
            pdk_talk_bytes(t, pdk_json_at(items, 0), "data", "text", 4) &&
            pdk_talk_text(t, pdk_json_at(items, 1), "error", "not_found") &&
            pdk_talk_bytes(t, pdk_json_at(items, 2), "data", "xt", 2) &&
            pdk_talk_text(t, pdk_json_at(items, 3), "error", "outside");
}

static bool stat_many(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *r = put(t, "check-s", "four")
            ? pdk_talk_ask(
                      t, "stat_many", "{\"paths\":[\"check-none\",\"check-s\",\".\"]}")
            : NULL;
    const struct pdk_json *items = pdk_json_get(r, "items");

    return r && PDK_TALK_EXPECT(t, pdk_json_len(items) == 3, "not one item a path") &&
            PDK_TALK_EXPECT(t, pdk_json_type(pdk_json_at(items, 0)) == PDK_JSON_NULL,
                    "what is not there is not null") &&
            pdk_talk_text(t, pdk_json_at(items, 1), "type", "file") &&
            pdk_talk_int(t, pdk_json_at(items, 1), "size", 4) &&
            pdk_talk_text(t, pdk_json_at(items, 2), "type", "directory") &&
            pdk_talk_refused(t, "bad_params", "stat_many", "{\"paths\":7}");
}

static bool removes(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *first = put(t, "check-d", "x")
            ? pdk_talk_ask(t, "remove", "{\"path\":\"check-d\"}")
            : NULL;
    PDK_AUTO_JSON struct pdk_json *second =
            first ? pdk_talk_ask(t, "remove", "{\"path\":\"check-d\"}") : NULL;

    return second && pdk_talk_flag(t, first, "existed_before", true) &&
            pdk_talk_text(t, first, "type", "file") &&
            pdk_talk_flag(t, second, "existed_before", false) &&
            pdk_talk_refused(t, "bad_params", "remove", "{\"path\":\".\"}") &&
            pdk_talk_refused(t, "outside", "remove", "{\"path\":\"../check-d\"}");
}

static bool globs(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *r = put(t, "check-g.x", "") && put(t, "check-g.y", "")
            ? pdk_talk_ask(t, "glob", "{\"patterns\":[\"check-g.*\"]}")
            : NULL;
    PDK_AUTO_JSON struct pdk_json *one = r
            ? pdk_talk_ask(t, "glob", "{\"patterns\":[\"check-g.?\"],\"limit\":1}")
            : NULL;
    const struct pdk_json *paths = pdk_json_get(r, "paths");
    const char *last = pdk_json_text(pdk_json_at(paths, 1), NULL);

    return one && PDK_TALK_EXPECT(t, pdk_json_len(paths) == 2, "not the two paths") &&
            PDK_TALK_EXPECT(t, last && strcmp(last, "check-g.y") == 0,
                    "paths are not in order") &&
            pdk_talk_flag(t, r, "truncated", false) &&
            pdk_talk_flag(t, one, "truncated", true) &&
            pdk_talk_refused(t, "bad_params", "glob", "{\"patterns\":[]}");
}

static bool greps(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *r = put(t, "check-p", "one\\ntwo\\nthree\\n")
            ? pdk_talk_ask(t, "grep",
                      "{\"pattern\":\"^t\",\"paths\":[\"check-p\"],\"context\":1}")
            : NULL;
    PDK_AUTO_JSON struct pdk_json *one = r
            ? pdk_talk_ask(t, "grep",
                      "{\"pattern\":\"^t\",\"paths\":[\"check-p\"],\"limit\":1}")
            : NULL;
    const struct pdk_json *items = pdk_json_get(r, "items");
    const struct pdk_json *first = pdk_json_at(items, 0);

    return one && PDK_TALK_EXPECT(t, pdk_json_len(items) == 2, "not the two lines") &&
            pdk_talk_text(t, first, "path", "check-p") &&
            pdk_talk_int(t, first, "line", 2) && pdk_talk_int(t, first, "column", 1) &&
            pdk_talk_text(t, first, "text", "two") &&
            pdk_talk_text(
                    t, pdk_json_at(pdk_json_get(first, "before"), 0), "text", "one") &&
            pdk_talk_flag(t, r, "truncated", false) &&
            pdk_talk_flag(t, one, "truncated", true) &&
            pdk_talk_text(t, one, "truncated_by", "limit") &&
            pdk_talk_refused(t, "bad_params", "grep", "{\"pattern\":\"(\"}");
}

static bool fingerprints(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *before =
            put(t, "check-f", "x") ? pdk_talk_ask(t, "fingerprint", "%s", "") : NULL;
    PDK_AUTO_JSON struct pdk_json *same =
            before ? pdk_talk_ask(t, "fingerprint", "%s", "") : NULL;
    PDK_AUTO_JSON struct pdk_json *after = same && put(t, "check-f", "yy")
            ? pdk_talk_ask(t, "fingerprint", "%s", "")
            : NULL;
    const char *text = pdk_json_get_str(before, "fingerprint", "");

    return after && PDK_TALK_EXPECT(t, text[0], "no 'fingerprint'") &&
            PDK_TALK_EXPECT(t,
                    strcmp(text, pdk_json_get_str(same, "fingerprint", "")) == 0,
                    "it changes without a change") &&
            PDK_TALK_EXPECT(t,
                    strcmp(text, pdk_json_get_str(after, "fingerprint", "")) != 0,
                    "it does not see a write");
}

static bool round_trip(struct pdk_talk *t, const char *run)
{
    PDK_AUTO_JSON struct pdk_json *result = pdk_talk_run(t, run, 0);

    return result != NULL;
}

/* A link that leads out is no way out. */
static bool links(struct pdk_talk *t)
{
    return round_trip(t, "rm -rf check-l; ln -s / check-l") &&
            pdk_talk_refused(
                    t, "outside", "read", "{\"path\":\"check-l/etc/hostname\"}") &&
            round_trip(t, "rm -rf check-*");
}

const struct pdk_check_case pdk_check_files[] = {
    { "write: the receipt tells what changed", PDK_VERB_WRITE, NULL, write_receipt },
    { "write: refusals", PDK_VERB_WRITE, NULL, write_refusals },
    { "read: windows of bytes and of lines", PDK_VERB_READ, NULL, read_windows },
    { "read: any bytes come through", PDK_VERB_READ, NULL, any_bytes },
    { "read: refusals", PDK_VERB_READ, NULL, read_refusals },
    { "read_many: each path has its item", PDK_VERB_READ_MANY, NULL, read_many },
    { "stat_many: each path has its item", PDK_VERB_STAT_MANY, NULL, stat_many },
    { "remove: the receipt tells what went", PDK_VERB_REMOVE, NULL, removes },
    { "glob: paths by pattern, in order", PDK_VERB_GLOB, NULL, globs },
    { "grep: lines by pattern, with those around", PDK_VERB_GREP, NULL, greps },
    { "fingerprint: it changes with the tree alone", PDK_VERB_FINGERPRINT, NULL,
            fingerprints },
    { "links: none leads out", PDK_VERB_EXEC, NULL, links },
    { NULL, PDK_VERB_COUNT, NULL, NULL },
};
