#include "promote/judge.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = {
    [PDK_ANSWER_NONE] = "none",
    [PDK_ANSWER_A] = "A",
    [PDK_ANSWER_B] = "B",
    [PDK_ANSWER_TIE] = "tie",
};

const char *pdk_answer_name(enum pdk_answer answer)
{
    return names[answer];
}

enum pdk_answer pdk_answer_read(const char *text, size_t len)
{
    size_t from = 0, n = 0;

    while (from < len && isspace((unsigned char)text[from]))
        from++;
    while (from + n < len && isalnum((unsigned char)text[from + n]))
        n++;
    for (int i = PDK_ANSWER_A; i <= PDK_ANSWER_TIE; i++)
        if (strlen(names[i]) == n && strncasecmp(text + from, names[i], n) == 0)
            return (enum pdk_answer)i;
    return PDK_ANSWER_NONE;
}

int pdk_judge_pair(enum pdk_answer there, enum pdk_answer back, int *by_place)
{
    *by_place = there == back && (there == PDK_ANSWER_A || there == PDK_ANSWER_B);
    if (there == PDK_ANSWER_A && back == PDK_ANSWER_B)
        return 1;
    if (there == PDK_ANSWER_B && back == PDK_ANSWER_A)
        return -1;
    return 0;
}
