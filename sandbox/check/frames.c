/* Cases about the conversation itself: order, misuse, time, the end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "sandbox/check/talk.h"

static bool goes_on(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *result = pdk_talk_ask(t, "descriptor", "%s", "");

    return result != NULL;
}

static bool descriptor(struct pdk_talk *t)
{
    const struct pdk_json *verbs = pdk_json_get(t->descriptor, "verbs");
    PDK_AUTO_JSON struct pdk_json *again = pdk_talk_ask(t, "descriptor", "%s", "");

    if (!again || !pdk_talk_int(t, t->descriptor, "protocol", PDK_PROTOCOL_VERSION))
        return false;
    for (size_t i = 0; i < pdk_json_len(verbs); i++) {
        const char *verb = pdk_json_text(pdk_json_at(verbs, i), NULL);

        if (!verb || pdk_verb_find(verb) == PDK_VERB_COUNT)
            return pdk_talk_wrong(t, "'verbs' holds what is no verb");
    }
    return PDK_TALK_EXPECT(
                   t, pdk_talk_offers(t, "descriptor"), "it offers no descriptor") &&
            PDK_TALK_EXPECT(t, pdk_json_get_str(again, "agent", NULL) != NULL,
                    "'agent' is no text") &&
            PDK_TALK_EXPECT(t, pdk_json_get_str(again, "containment", NULL) != NULL,
                    "'containment' is no text") &&
            PDK_TALK_EXPECT(t, pdk_json_get_str(again, "location", NULL) != NULL,
                    "'location' is no text");
}

static bool initialize_first(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "bad_frame", "descriptor", "%s", "") &&
            pdk_talk_refused(t, "bad_params", "initialize", "{\"protocol\":99}") &&
            (t->descriptor = pdk_talk_ask(t, "initialize", "{\"protocol\":1}")) != NULL;
}

static bool initialize_once(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "bad_frame", "initialize", "{\"protocol\":1}") &&
            goes_on(t);
}

static bool unknown_method(struct pdk_talk *t)
{
    return pdk_talk_refused(t, "unknown_method", "no_such_method", "%s", "") &&
            goes_on(t);
}

static bool not_offered(struct pdk_talk *t)
{
    for (int verb = 0; verb < PDK_VERB_COUNT; verb++) {
        const char *name = pdk_verb_name((enum pdk_verb)verb);

        if (!pdk_talk_offers(t, name) &&
                !pdk_talk_refused(t, "not_built", name, "%s", ""))
            return false;
    }
    return true;
}

static bool malformed(struct pdk_talk *t)
{
    static const char *const texts[] = { "this is no JSON\n", "{\"jsonrpc\":\"2.0\"\n",
        "[]\n", "{\"id\":1,\"method\":\"descriptor\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"descriptor\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"descriptor\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"id\":8,\"method\":\"descriptor\"}\n" };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (!pdk_talk_say(t, texts[i], strlen(texts[i])) ||
                !pdk_talk_misunderstood(t, "bad_frame"))
            return false;
    return goes_on(t);
}

static bool oversized(struct pdk_talk *t)
{
    size_t len = PDK_FRAME_MAX + 100;
    char *line = malloc(len);
    bool ok = line != NULL;

    if (ok) {
        memset(line, 'x', len);
        line[len - 1] = '\n';
        ok = pdk_talk_say(t, line, len) && pdk_talk_misunderstood(t, "bad_frame") &&
                goes_on(t);
    }
    free(line);
    return ok;
}

static bool leniency(struct pdk_talk *t)
{
    static const char text[] =
            "\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"of.a.later.version\"}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"call\":4711}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":90,\"method\":\"descriptor\",\"more\":[1],"
            "\"params\":{\"unknown\":true}}\r\n";
    PDK_AUTO_JSON struct pdk_json *frame = NULL;

    if (!pdk_talk_say(t, text, sizeof(text) - 1))
        return false;
    frame = pdk_talk_answer(t, 90);
    return frame &&
            PDK_TALK_EXPECT(t, pdk_json_get(frame, "result"),
                    "members that it does not know are no reason to refuse") &&
            goes_on(t);
}

/* A frame in two parts, and two in one. */
static bool pieces(struct pdk_talk *t)
{
    static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":70,\"met";
    static const char rest[] =
            "hod\":\"descriptor\"}\n{\"jsonrpc\":\"2.0\",\"id\":71,\"method\":\"descriptor\"}\n";
    PDK_AUTO_JSON struct pdk_json *one = NULL;
    PDK_AUTO_JSON struct pdk_json *two = NULL;

    if (!pdk_talk_say(t, first, sizeof(first) - 1) ||
            !pdk_talk_say(t, rest, sizeof(rest) - 1))
        return false;
    two = pdk_talk_answer(t, 71);
    one = pdk_talk_answer(t, 70);
    return one && two;
}

static bool answers_once(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *first = pdk_talk_ask(t, "descriptor", "%s", "");
    int64_t id = t->last_id;
    PDK_AUTO_JSON struct pdk_json *second = pdk_talk_ask(t, "descriptor", "%s", "");

    for (size_t i = 0; i < pdk_json_len(t->frames); i++)
        if (pdk_json_get_int(pdk_json_at(t->frames, i), "id", 0) == id)
            return pdk_talk_wrong(t, "one request was answered twice");
    return first && second;
}

static bool heartbeat(struct pdk_talk *t)
{
    PDK_AUTO_JSON struct pdk_json *first = pdk_talk_heard(t, "ping");
    PDK_AUTO_JSON struct pdk_json *second = first ? pdk_talk_heard(t, "ping") : NULL;

    return second != NULL;
}

static bool lease(struct pdk_talk *t)
{
    return pdk_talk_ends(t);
}

static bool end_of_input(struct pdk_talk *t)
{
    (void)close(t->in);
    t->in = -1;
    return pdk_talk_ends(t);
}

static bool shutdown_ends(struct pdk_talk *t)
{
    return pdk_talk_notify(t, "shutdown", "%s", "") && pdk_talk_ends(t);
}

const struct pdk_check_case pdk_check_frames[] = {
    { "frames: the descriptor says what it is", PDK_VERB_COUNT, NULL, descriptor },
    { "frames: initialize comes first", PDK_VERB_COUNT, "", initialize_first },
    { "frames: initialize comes once", PDK_VERB_COUNT, NULL, initialize_once },
    { "frames: an unknown method is refused", PDK_VERB_COUNT, NULL, unknown_method },
    { "frames: a verb that is not offered is refused", PDK_VERB_COUNT, NULL,
            not_offered },
    { "frames: what is no frame is refused and the talk goes on", PDK_VERB_COUNT, NULL,
            malformed },
    { "frames: a frame over the limit is refused once", PDK_VERB_COUNT, NULL, oversized },
    { "frames: what a later version may add is ignored", PDK_VERB_COUNT, NULL, leniency },
    { "frames: frames come in pieces", PDK_VERB_COUNT, NULL, pieces },
    { "frames: one request has one answer", PDK_VERB_COUNT, NULL, answers_once },
    { "time: a heartbeat comes", PDK_VERB_COUNT, "{\"protocol\":1,\"heartbeat_ms\":100}",
            heartbeat },
    { "time: without a word for its lease it ends", PDK_VERB_COUNT,
            "{\"protocol\":1,\"lease_ms\":300}", lease },
    { "end: the end of its input is its end", PDK_VERB_COUNT, NULL, end_of_input },
    { "end: shutdown is its end", PDK_VERB_COUNT, NULL, shutdown_ends },
    { NULL, PDK_VERB_COUNT, NULL, NULL },
};
