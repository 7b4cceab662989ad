/*
 * The program's own log on stderr, for people who debug it: one line an event,
 * "paddock: <level> <event> key=value …". Values never hold the environment's content.
 * Level is set once, at start; safe on every thread after.
 */
#ifndef PDK_BASE_LOG_H
#define PDK_BASE_LOG_H

enum pdk_log_level { PDK_LOG_ERROR, PDK_LOG_WARN, PDK_LOG_INFO, PDK_LOG_DEBUG };

void pdk_log_set_level(enum pdk_log_level level); /* PDK_LOG_WARN at start */
/* The formatted text is made printable: control characters of untrusted text come out as \xNN. */
__attribute__((format(printf, 2, 3))) void pdk_log(
        enum pdk_log_level level, const char *fmt, ...);

#endif
