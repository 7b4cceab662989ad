/*
 * Pairwise comparison by a judge that may favour a place: each pair is shown both ways round, and only
 * an answer that follows the candidate and not the place counts. Pure.
 */
#ifndef PDK_PROMOTE_JUDGE_H
#define PDK_PROMOTE_JUDGE_H

#include <stddef.h>

enum pdk_answer {
    PDK_ANSWER_NONE, /* it gave none: counts as a tie */
    PDK_ANSWER_A,
    PDK_ANSWER_B,
    PDK_ANSWER_TIE
};

/* The first word of what it printed: "A", "B" or "tie", in either case; NONE else. */
enum pdk_answer pdk_answer_read(const char *text, size_t len);
const char *pdk_answer_name(enum pdk_answer answer); /* "A", "B", "tie", "none" */

/*
 * there: the answer with the first candidate as A; back: with it as B. 1: the first is better, -1: the
 * second is, 0: a tie. *by_place is 1 where both answers name the same place, else 0.
 */
int pdk_judge_pair(enum pdk_answer there, enum pdk_answer back, int *by_place);

#endif
