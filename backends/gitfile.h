/* The small text files of a git directory that we write by hand. */
#ifndef PDK_BACKENDS_GITFILE_H
#define PDK_BACKENDS_GITFILE_H

struct pdk_buf;
struct pdk_err;

/* Makes the file name in the directory dir, 0644; PDK_ECONFLICT where it exists, be it a link. */
int pdk_gitfile_put(
        const char *dir, const char *name, const char *text, struct pdk_err *err);

/* Appends text in double quotes, escaped as git reads paths in alternates and in its environment. */
void pdk_gitfile_quote_path(struct pdk_buf *out, const char *text);
/* The same as git reads values in configuration files. */
void pdk_gitfile_quote_value(struct pdk_buf *out, const char *text);

/* "<id>\n", or "ref: refs/heads/<branch>\n": what HEAD says. */
void pdk_gitfile_head(struct pdk_buf *out, const char *id, const char *branch);

#endif
