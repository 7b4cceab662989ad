/*
 * From what one finished check left behind to its outcome. Pure but for reading the captured
 * output. Patterns are PCRE2, "^" and "$" match at lines, text is UTF-8 where the output is valid
 * UTF-8 and bytes else; match, depth and heap limits bound the work.
 * Compiled patterns may be used by several threads at once.
 */
#ifndef PDK_VERIFY_EVIDENCE_H
#define PDK_VERIFY_EVIDENCE_H

#include <stddef.h>

#include "base/auto.h"
#include "verify/verdict.h"

struct pdk_err;
struct pdk_check;
struct pdk_exec_result;

/*
 * Whether a pattern compiles: 0, or PDK_EINVAL with what is wrong; *offset (NULL allowed) is then
 * the byte in it. For checking plans: missions/ takes it as a hook.
 */
int pdk_pattern_check(const char *pattern, size_t *offset, struct pdk_err *err);

struct pdk_patterns; /* opaque, heap: the compiled patterns of one check */

int pdk_patterns_compile(
        const struct pdk_check *check, struct pdk_patterns **out, struct pdk_err *err);
void pdk_patterns_free(struct pdk_patterns *patterns);
PDK_DEFINE_AUTO(struct pdk_patterns, pdk_patterns_free)
#define PDK_AUTO_PATTERNS PDK_AUTO(pdk_patterns_free)

struct pdk_evidence {
    const struct pdk_exec_result *result; /* NULL: none came, the agent was lost */
    const char *out_path, *err_path; /* captured output; read only where patterns ask */
    const char *results_path;        /* of the file that the check wrote; NULL: none */
};

struct pdk_outcome {
    struct pdk_judgement judgement; /* detail names the unmet expectation */
    const char *pattern; /* the first that was not met, borrowed from the check */
};

/*
 * Judges one check, borrowed throughout. A manual check needs no evidence (NULL allowed) and
 * abstains. Fails only for want of memory.
 *
 * A string command that its shell could not find (exit 127, a plain command line, and nothing but
 * the shell's own message on stderr) could not be started, as an argv that is not there could not:
 * both abstain. Any other 126 or 127 is an exit code like others.
 */
int pdk_evidence_judge(const struct pdk_check *check, const struct pdk_patterns *patterns,
        const struct pdk_evidence *evidence, struct pdk_outcome *out,
        struct pdk_err *err);

#endif
