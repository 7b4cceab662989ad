/* What a run's candidates say as numbers, from its document. */
#ifndef PDK_ORCHESTRATOR_CLI_STATISTICS_H
#define PDK_ORCHESTRATOR_CLI_STATISTICS_H

struct pdk_buf;
struct pdk_json;

/*
 * {candidates, passed, failed, abstained, censored, bounds {low, high}, wilson {low, high},
 * pass_at: [{k, any, all}], clustered {rate, low, high}, arms: [{axis, a, b, pairs, only_a, only_b,
 * difference, p}], agreement {groups, largest, agrees}}. What is not defined is null, or no member of
 * its list: no k above the tries of a task, none at all where some were censored. Owned by the caller.
 */
struct pdk_json *pdk_statistics(const struct pdk_json *doc);

/* The same as lines for people; nothing for one candidate alone. */
void pdk_statistics_text(const struct pdk_json *statistics, struct pdk_buf *out);

#endif
