/*
 * A run as a document: the JSON of `mission run --json` and `show --json`, folded from the events,
 * and the same document as text for people.
 */
#ifndef PDK_ORCHESTRATOR_CLI_RENDER_H
#define PDK_ORCHESTRATOR_CLI_RENDER_H

#include <stdbool.h>

struct pdk_buf;
struct pdk_err;
struct pdk_json;
struct pdk_store;

/* run: a whole id. The document is the caller's. */
int pdk_render_run(struct pdk_store *store, const char *run, struct pdk_json **out,
        struct pdk_err *err);
/* Appends the verdict table as text: no control character of anybody's gets into it but newlines. */
void pdk_render_table(const struct pdk_json *doc, struct pdk_buf *out);
/* Prints it on stdout. */
int pdk_render_text(const struct pdk_json *doc, struct pdk_err *err);
/* The candidate named "c2" of a task (NULL: the only one); NULL where there is none. Borrowed. */
struct pdk_json *pdk_render_candidate(
        const struct pdk_json *doc, const char *task, const char *candidate);

#endif
