/*
 * Cleanup attributes: a local that owns something is declared with one of these,
 * initialised at once, and leaves its function only through pdk_take_ptr() or pdk_take_fd().
 */
#ifndef PDK_BASE_AUTO_H
#define PDK_BASE_AUTO_H

#include <dirent.h>
#include <stdio.h>

void pdk_cleanup_free(void *ptr_to_ptr);
void pdk_cleanup_fd(const int *fd);
void pdk_cleanup_file(FILE **file);
void pdk_cleanup_dir(DIR **dir);

/* free() of what a pointer variable holds. */
#define PDK_AUTO_FREE __attribute__((cleanup(pdk_cleanup_free)))
/* close() of a descriptor that is not negative; errno is kept. */
#define PDK_AUTO_FD   __attribute__((cleanup(pdk_cleanup_fd)))
#define PDK_AUTO_FILE __attribute__((cleanup(pdk_cleanup_file)))
#define PDK_AUTO_DIR  __attribute__((cleanup(pdk_cleanup_dir)))

/*
 * Empties the variable and yields what it held. Evaluates its argument more than once,
 * so it takes a plain variable.
 */
#define pdk_take_ptr(ptr_to_var)                                                         \
    (__extension__({                                                                     \
        __typeof__(ptr_to_var) take_ = (ptr_to_var);                                     \
        __typeof__(*take_) taken_ = *take_;                                              \
        *take_ = NULL;                                                                   \
        taken_;                                                                          \
    }))

/* Takes the descriptor out of the variable; -1 stays behind. */
int pdk_take_fd(int *fd);

/*
 * Defines static void <name>_cleanup(struct <type> **p) for PDK_AUTO(<name>); the
 * destructor must accept NULL.
 */
#define PDK_DEFINE_AUTO(type, destructor)                                                \
    static inline void destructor##_cleanup(type **p)                                    \
    {                                                                                    \
        destructor(*p);                                                                  \
    }
#define PDK_AUTO(destructor) __attribute__((cleanup(destructor##_cleanup)))

#endif
