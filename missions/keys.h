/*
 * The table of all keys of mission and fleet files. Parser, resolved plan, schema and reference
 * are four readers of it.
 */
#ifndef PDK_MISSIONS_KEYS_H
#define PDK_MISSIONS_KEYS_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the value is; in brackets, what the plan holds at the key's place. Those before
 * PDK_KEY_COMMAND have one part.
 */
enum pdk_key_type {
    PDK_KEY_FIXED,    /* one of words, not stored (nothing) */
    PDK_KEY_STRING,   /* text, source text of plain scalars (char *) */
    PDK_KEY_ID,       /* an identifier (char *) */
    PDK_KEY_WORD,     /* one of words (char *) */
    PDK_KEY_BACKEND,  /* one of words, or an identifier: a provider (char *) */
    PDK_KEY_ENUM,     /* one of words, by index (an enum) */
    PDK_KEY_CHOICE,   /* one of two words (bool) */
    PDK_KEY_BOOL,     /* (bool) */
    PDK_KEY_INT,      /* (int) */
    PDK_KEY_LONG,     /* (int64_t) */
    PDK_KEY_NUMBER,   /* (double) */
    PDK_KEY_DURATION, /* (int64_t, ms) */
    PDK_KEY_SIZE,     /* (int64_t, bytes) */
    PDK_KEY_EXIT,     /* exit code or "any" (struct pdk_expect) */
    PDK_KEY_PATTERN,  /* PCRE2 (char *) */
    PDK_KEY_COMMAND,  /* text or argv (struct pdk_command) */
    PDK_KEY_COMMANDS, /* a list of commands (pointer and count) */
    PDK_KEY_STRINGS,  /* a list of texts (struct pdk_strv) */
    PDK_KEY_IDS,      /* a list of identifiers (struct pdk_strv) */
    PDK_KEY_NAMES,    /* a list of environment names (struct pdk_strv) */
    PDK_KEY_PATTERNS, /* one PCRE2 or a list (struct pdk_strv) */
    PDK_KEY_INTS,     /* a list (pointer and count) */
    PDK_KEY_ENV,      /* names to texts (struct pdk_pairs) */
    PDK_KEY_SLOTS,    /* identifiers to counts (struct pdk_pairs) */
    PDK_KEY_MATRIX,   /* axes to lists of values (in struct pdk_plan_task) */
    PDK_KEY_SELECT,   /* words and {judge: …} (in struct pdk_plan_task) */
    PDK_KEY_OBJECT,   /* a block (a struct) */
    PDK_KEY_CHECKS,   /* a list of blocks (pointer and count) */
    PDK_KEY_DEFAULTS, /* a block that stands under each task (nothing) */
    PDK_KEY_TASKS     /* a list of blocks (pointer and count) */
};

enum { PDK_KEY_TYPES = PDK_KEY_TASKS + 1 };

/* Later: read and checked, but its effect is not built; a mission that needs it says so. */
enum pdk_key_state { PDK_KEY_BUILT, PDK_KEY_LATER };

struct pdk_word {
    const char *text; /* NULL ends the array */
    enum pdk_key_state state;
};

enum pdk_key_flags {
    PDK_KEY_REQUIRED = 1U << 0,
    PDK_KEY_OF_TASK =
            1U << 1,         /* at: in the task, also where the block is the file's own */
    PDK_KEY_ALIAS = 1U << 2, /* another way to say other keys: never printed */
    PDK_KEY_DISTINCT = 1U << 3 /* no entry twice */
};

struct pdk_key {
    const char *name;
    enum pdk_key_type type;
    enum pdk_key_state state;
    unsigned int flags;
    size_t at;            /* offset in the block's struct */
    size_t count_at;      /* of the count, where there is one */
    const char *fallback; /* as a file would say it; NULL: unset */
    int64_t min, max;     /* of a value, or how many of a list */
    const struct pdk_word *words;
    const struct pdk_block *block;
    const char *doc;
};

struct pdk_block {
    const char *name; /* in the schema and the reference */
    const char *title;
    const struct pdk_key *keys;
    size_t len;
    size_t size; /* of the struct of a list's entry; else 0 */
};

extern const struct pdk_block pdk_mission_block;
extern const struct pdk_block pdk_fleet_block;

/* All blocks, each before those that it uses; NULL ends it. */
extern const struct pdk_block *const pdk_blocks[];

/* The key of that name, or NULL. */
const struct pdk_key *pdk_block_key(const struct pdk_block *block, const char *name);
/* The nearest key's name, or NULL. */
const char *pdk_block_nearest(const struct pdk_block *block, const char *name);
/* Index of the word, or -1. */
int pdk_word_find(const struct pdk_word *words, const char *text);
/* "a, b or c", cut when it does not fit. */
void pdk_word_list(const struct pdk_word *words, char *out, size_t size);

#endif
