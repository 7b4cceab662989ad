#include "backends/gitfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/str.h"

int pdk_gitfile_put(
        const char *dir, const char *name, const char *text, struct pdk_err *err)
{
    PDK_AUTO_FREE char *path = pdk_strf("%s/%s", dir, name);
    PDK_AUTO_FD int fd = -1;

    if (!path)
        return pdk_fail_nomem(err);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return pdk_fail(err, pdk_code_of_errno(errno), errno, "cannot make '%s'", path);
    if (pdk_fs_write_fd(fd, text, strlen(text), err) < 0)
        return pdk_wrap(err, "'%s'", path);
    return 0;
}

void pdk_gitfile_quote_path(struct pdk_buf *out, const char *text)
{
    pdk_buf_addc(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            pdk_buf_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            pdk_buf_addf(out, "\\%03o", (unsigned int)c);
        else
            pdk_buf_addc(out, *text);
    }
    pdk_buf_addc(out, '"');
}

void pdk_gitfile_quote_value(struct pdk_buf *out, const char *text)
{
    pdk_buf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            pdk_buf_addf(out, "\\%c", *text);
        else if (*text == '\n')
            pdk_buf_adds(out, "\\n");
        else
            pdk_buf_addc(out, *text);
    }
    pdk_buf_addc(out, '"');
}

void pdk_gitfile_head(struct pdk_buf *out, const char *id, const char *branch)
{
    if (branch)
        pdk_buf_addf(out, "ref: refs/heads/%s\n", branch);
    else
        pdk_buf_addf(out, "%s\n", id);
}
