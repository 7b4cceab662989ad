/*
 * Which files of the tree a check's command runs: its program, and the script that it gives to an
 * interpreter. Not what it only reads: that may be what the mission is to make. Pure. verify's own.
 */
#ifndef PDK_VERIFY_NAMED_H
#define PDK_VERIFY_NAMED_H

struct pdk_command;
struct pdk_strv;

/*
 * Adds paths relative to the top, as far as the words tell: of a shell's line each simple command is
 * looked at, `cd DIR` counts, what a variable or a command gives does not. A path need not be there.
 */
void pdk_named_files(const struct pdk_command *command, struct pdk_strv *out);

#endif
