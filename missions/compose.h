/*
 * YAML text to a tree of nodes that know where they stand.
 *
 * What a hostile file may cost is bounded: bytes, depth, nodes, anchors and what aliases amount to;
 * the counters say what was used. Text stays text: what a value means is for the key table to say.
 */
#ifndef PDK_MISSIONS_COMPOSE_H
#define PDK_MISSIONS_COMPOSE_H

#include <stdbool.h>
#include <stddef.h>

struct pdk_diags;
struct pdk_err;

enum {
    PDK_YAML_MAX_DEPTH = 64,
    PDK_YAML_MAX_NODES = 200000,
    PDK_YAML_MAX_ANCHORS = 1000,
    PDK_YAML_MAX_ALIASED = 10000 /* values that all aliases together stand for */
};

/* Named text; borrowed, and outlives every node made from it. */
struct pdk_source {
    const char *name;
    const char *text;
    size_t len;
    int shift; /* characters of text that stand before the YAML in it */
    bool flag; /* a flag's value: places have no line and column */
};

struct pdk_pos {
    const struct pdk_source *source;
    int line, col; /* from 1 */
};

enum pdk_node_kind { PDK_NODE_SCALAR, PDK_NODE_LIST, PDK_NODE_MAP };

/* Shared where aliases are used, so it is a graph without cycles. Strings belong to the document. */
struct pdk_node {
    enum pdk_node_kind kind;
    bool plain; /* a scalar without quotes */
    bool open;  /* still being read: an alias to it would be a cycle */
    struct pdk_pos pos;
    const char *text;        /* of a scalar; without NUL inside */
    struct pdk_node **keys;  /* of a map; scalars */
    struct pdk_node **items; /* of a map or list */
    size_t len;
    size_t height; /* levels below it */
    size_t weight; /* nodes in it, aliases counted in full */
};

/* What reading cost. */
struct pdk_work {
    size_t events;
    size_t nodes;
    size_t bytes; /* of memory for nodes and texts */
};

struct pdk_doc {
    struct pdk_chunk *chunks;
    struct pdk_node *root;
    struct pdk_work work;
};

#define PDK_DOC_INIT                                                                     \
    {                                                                                    \
        NULL, NULL,                                                                      \
        {                                                                                \
            0, 0, 0                                                                      \
        }                                                                                \
    }

void pdk_doc_fini(struct pdk_doc *doc);
#define PDK_AUTO_DOC __attribute__((cleanup(pdk_doc_fini)))

/*
 * Reads one document into doc->root. May be called again to read another text into the same
 * memory. PDK_EINVAL: diags says why (reading ends at the first fault of syntax, but goes on after
 * duplicate keys, of which the first stays). PDK_ENOMEM.
 */
int pdk_yaml_compose(struct pdk_doc *doc, const struct pdk_source *source,
        struct pdk_diags *diags, struct pdk_err *err);

/* Memory that goes with the document, zeroed; NULL when there is none. */
void *pdk_doc_alloc(struct pdk_doc *doc, size_t n, size_t size);
/* A scalar at pos with a copy of text. NULL: out of memory. */
struct pdk_node *pdk_doc_scalar(struct pdk_doc *doc, const struct pdk_pos *pos,
        const char *text, size_t len, bool plain);
struct pdk_node *pdk_doc_collection(
        struct pdk_doc *doc, const struct pdk_pos *pos, enum pdk_node_kind kind);
/* Adds a member, or replaces the map's member of that key. key is NULL for lists. PDK_ENOMEM. */
int pdk_node_put(struct pdk_doc *doc, struct pdk_node *node, struct pdk_node *key,
        struct pdk_node *item);
/* The member's index in a map, or -1. */
long pdk_node_find(const struct pdk_node *map, const char *key);
/* The map's member, or NULL; also where map is none. */
struct pdk_node *pdk_node_get(const struct pdk_node *map, const char *key);

/*
 * Checks the bytes before YAML sees them: UTF-16, NUL, bad UTF-8, size. Each is a diagnostic;
 * false when there was one.
 */
bool pdk_yaml_bytes_ok(const struct pdk_source *source, struct pdk_diags *diags);

#endif
