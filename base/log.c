#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/utf8.h"

static enum pdk_log_level current_level = PDK_LOG_WARN;
static const char *const level_names[] = { "error", "warning", "info", "debug" };

void pdk_log_set_level(enum pdk_log_level level)
{
    current_level = level;
}

void pdk_log(enum pdk_log_level level, const char *fmt, ...)
{
    PDK_AUTO_BUF struct pdk_buf line = PDK_BUF_INIT;
    char text[1024];
    va_list args;
    int n;

    if (level > current_level)
        return;
    va_start(args, fmt);
    n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (n < 0)
        return;
    pdk_buf_addf(&line, "paddock: %s: ", level_names[level]);
    pdk_utf8_printable(text, strlen(text), &line);
    pdk_buf_addc(&line, '\n');
    if (!line.failed)
        (void)!write(STDERR_FILENO, line.data, line.len); /* nowhere to report it */
}
