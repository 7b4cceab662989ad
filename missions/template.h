/* {{names}} in strings: which there are, and whether a string names others. */
#ifndef PDK_MISSIONS_TEMPLATE_H
#define PDK_MISSIONS_TEMPLATE_H

struct pdk_err;
struct pdk_node;

/* 0, or PDK_EINVAL with message and hint for a name that is neither run, candidate nor an axis of matrix. */
int pdk_template_check(
        const char *text, const struct pdk_node *matrix, struct pdk_err *err);

#endif
