/* Nodes and their memory: an arena that goes in one piece. */
#include "missions/compose.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { CHUNK_SIZE = 16384, ALIGN = 16 };

struct pdk_chunk {
    struct pdk_chunk *next;
    size_t used, size;
    _Alignas(ALIGN) unsigned char data[];
};

void pdk_doc_fini(struct pdk_doc *doc)
{
    while (doc->chunks) {
        struct pdk_chunk *next = doc->chunks->next;
        free(doc->chunks);
        doc->chunks = next;
    }
    doc->root = NULL;
}

static struct pdk_chunk *chunk_with_room(struct pdk_doc *doc, size_t bytes)
{
    struct pdk_chunk *first = doc->chunks;

    if (first && first->size - first->used >= bytes)
        return first;
    size_t size = bytes > CHUNK_SIZE / 4 ? bytes : CHUNK_SIZE;
    struct pdk_chunk *made = calloc(1, sizeof(*made) + size);
    if (!made)
        return NULL;
    made->size = size;
    doc->work.bytes += sizeof(*made) + size;
    /* A chunk made for one large thing is full at once: the one in use stays in front. */
    if (first && size != CHUNK_SIZE) {
        made->next = first->next;
        first->next = made;
    } else {
        made->next = first;
        doc->chunks = made;
    }
    return made;
}

void *pdk_doc_alloc(struct pdk_doc *doc, size_t n, size_t size)
{
    if (size != 0 && n > (SIZE_MAX / 2 - ALIGN) / size)
        return NULL;
    size_t bytes = (n * size + ALIGN - 1) / ALIGN * ALIGN;
    struct pdk_chunk *chunk = chunk_with_room(doc, bytes);

    if (!chunk)
        return NULL;
    void *at = chunk->data + chunk->used;
    chunk->used += bytes;
    return at;
}

struct pdk_node *pdk_doc_collection(
        struct pdk_doc *doc, const struct pdk_pos *pos, enum pdk_node_kind kind)
{
    struct pdk_node *node = pdk_doc_alloc(doc, 1, sizeof(*node));

    if (!node)
        return NULL;
    doc->work.nodes++;
    node->kind = kind;
    node->pos = *pos;
    node->weight = 1;
    return node;
}

struct pdk_node *pdk_doc_scalar(struct pdk_doc *doc, const struct pdk_pos *pos,
        const char *text, size_t len, bool plain)
{
    struct pdk_node *node = pdk_doc_collection(doc, pos, PDK_NODE_SCALAR);
    char *copy = pdk_doc_alloc(doc, len + 1, 1);

    if (!node || !copy)
        return NULL;
    memcpy(copy, text, len);
    node->text = copy;
    node->plain = plain;
    return node;
}

static struct pdk_node **grown(
        struct pdk_doc *doc, struct pdk_node **old, size_t len, struct pdk_node *added)
{
    struct pdk_node **made = pdk_doc_alloc(doc, len + 1, sizeof(struct pdk_node *));

    if (!made)
        return NULL;
    if (len > 0)
        memcpy(made, old, len * sizeof(struct pdk_node *));
    made[len] = added;
    return made;
}

int pdk_node_put(struct pdk_doc *doc, struct pdk_node *node, struct pdk_node *key,
        struct pdk_node *item)
{
    long at = key ? pdk_node_find(node, key->text) : -1;

    if (at >= 0) {
        node->items[at] = item;
        return 0;
    }
    struct pdk_node **items = grown(doc, node->items, node->len, item);
    struct pdk_node **keys = key ? grown(doc, node->keys, node->len, key) : NULL;
    if (!items || (key && !keys))
        return PDK_ENOMEM;
    node->items = items;
    node->keys = keys;
    node->len++;
    return 0;
}

long pdk_node_find(const struct pdk_node *map, const char *key)
{
    for (size_t i = 0; i < map->len; i++)
        if (strcmp(map->keys[i]->text, key) == 0)
            return (long)i;
    return -1;
}

struct pdk_node *pdk_node_get(const struct pdk_node *map, const char *key)
{
    if (!map || map->kind != PDK_NODE_MAP)
        return NULL;
    long at = pdk_node_find(map, key);

    return at < 0 ? NULL : map->items[at];
}
