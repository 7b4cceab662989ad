/*
 * The composer: libyaml's events, one at a time, to nodes. Limits are checked at each event, since
 * libyaml's own work grows with the square of the depth.
 */
#include "missions/compose.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/auto.h"
#include "base/error.h"
#include "base/str.h"
#include "missions/mission.h"

/* A collection being read; its members move to the document when it ends. */
struct frame {
    struct pdk_node *node;
    struct pdk_node *key; /* of a map: read, its value comes next */
    struct pdk_node **keys, **items;
    size_t len, cap;
};

struct anchor {
    char *name;
    struct pdk_node *node;
};

struct composer {
    yaml_parser_t parser;
    struct pdk_doc *doc;
    const struct pdk_source *source;
    struct pdk_diags *diags;
    struct pdk_err *err;
    struct pdk_node *root;
    struct pdk_pos document; /* where the first one began */
    size_t documents;
    struct frame frames[PDK_YAML_MAX_DEPTH];
    size_t depth;
    struct anchor *anchors;
    size_t anchors_len;
    size_t aliased;
};

static struct pdk_pos place(const struct composer *c, const yaml_mark_t *mark)
{
    return (struct pdk_pos){ c->source, (int)mark->line + 1,
        (int)mark->column + 1 + (mark->line == 0 ? c->source->shift : 0) };
}

/* One message that ends the reading. */
__attribute__((format(printf, 3, 4))) static int fault(
        struct composer *c, const struct pdk_pos *pos, const char *fmt, ...)
{
    va_list args;
    char text[512];

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut when long */
    va_end(args);
    pdk_diags_add(c->diags, PDK_DIAG_ERROR, pos, "%s", text);
    return PDK_EINVAL;
}

static int out_of_memory(struct composer *c)
{
    return pdk_fail_nomem(c->err);
}

static int frame_add(struct composer *c, struct pdk_node *node)
{
    struct frame *top = &c->frames[c->depth - 1];

    if (top->len == top->cap) {
        size_t cap = top->cap ? top->cap * 2 : 8;
        struct pdk_node **keys = reallocarray(top->keys, cap, sizeof(struct pdk_node *));
        if (keys)
            top->keys = keys;
        struct pdk_node **items =
                reallocarray(top->items, cap, sizeof(struct pdk_node *));
        if (items)
            top->items = items;
        if (!keys || !items)
            return out_of_memory(c);
        top->cap = cap;
    }
    top->keys[top->len] = top->key;
    top->items[top->len++] = node;
    top->key = NULL;
    top->node->weight += node->weight + (top->node->kind == PDK_NODE_MAP);
    if (node->height + 1 > top->node->height)
        top->node->height = node->height + 1;
    return 0;
}

static int key_ok(
        struct composer *c, const struct pdk_node *key, const struct pdk_pos *pos)
{
    if (key->kind != PDK_NODE_SCALAR)
        return fault(c, pos, "a key must be text, not a list or a mapping");
    if (key->plain && strcmp(key->text, "<<") == 0) {
        (void)fault(c, pos, "merge keys ('<<') are not read");
        pdk_diags_hint(
                c->diags, "write the keys out; a fleet has 'defaults' for common ones");
        return PDK_EINVAL;
    }
    return 0;
}

/* A finished node goes where the reading stands: the root, a key, or a value. */
static int place_node(
        struct composer *c, struct pdk_node *node, const struct pdk_pos *pos)
{
    if (c->depth == 0) {
        c->root = node;
        return 0;
    }
    struct frame *top = &c->frames[c->depth - 1];
    if (top->node->kind == PDK_NODE_MAP && !top->key) {
        int rc = key_ok(c, node, pos);
        if (rc == 0)
            top->key = node;
        return rc;
    }
    return frame_add(c, node);
}

static int compare_keys(const void *left, const void *right, void *user)
{
    struct pdk_node *const *keys = user;
    size_t a = *(const size_t *)left;
    size_t b = *(const size_t *)right;
    int order = strcmp(keys[a]->text, keys[b]->text);

    return order ? order : (a < b ? -1 : a > b);
}

/* Reports members whose key stood before and marks their keys with NULL. */
static int frame_duplicates(struct composer *c, struct frame *frame)
{
    PDK_AUTO_FREE size_t *order = calloc(frame->len, sizeof(*order));
    const struct pdk_node *first;

    if (!order)
        return out_of_memory(c);
    for (size_t i = 0; i < frame->len; i++)
        order[i] = i;
    qsort_r(order, frame->len, sizeof(*order), compare_keys, frame->keys);
    first = frame->keys[order[0]];
    for (size_t i = 1; i < frame->len; i++) {
        struct pdk_node **key = &frame->keys[order[i]];
        if (strcmp(first->text, (*key)->text) != 0) {
            first = *key;
            continue;
        }
        pdk_diags_add(c->diags, PDK_DIAG_ERROR, &(*key)->pos,
                "duplicate key '%s', first at %d:%d", first->text, first->pos.line,
                first->pos.col);
        pdk_diags_hint(c->diags, "remove one of the two");
        *key = NULL;
    }
    return 0;
}

static int frame_finish(struct composer *c, struct frame *frame)
{
    struct pdk_node *node = frame->node;
    bool map = node->kind == PDK_NODE_MAP;
    int rc = map && frame->len > 1 ? frame_duplicates(c, frame) : 0;

    if (rc < 0 || frame->len == 0)
        return rc;
    node->items = pdk_doc_alloc(c->doc, frame->len, sizeof(struct pdk_node *));
    node->keys = pdk_doc_alloc(c->doc, frame->len, sizeof(struct pdk_node *));
    if (!node->items || !node->keys)
        return out_of_memory(c);
    for (size_t i = 0; i < frame->len; i++) {
        if (map && !frame->keys[i])
            continue;
        node->keys[node->len] = frame->keys[i];
        node->items[node->len++] = frame->items[i];
    }
    return 0;
}

static void frame_fini(struct frame *frame)
{
    free(frame->keys);
    free(frame->items);
    *frame = (struct frame){ 0 };
}

static int on_end(struct composer *c)
{
    struct frame *top = &c->frames[--c->depth];
    struct pdk_node *node = top->node;
    int rc = frame_finish(c, top);

    frame_fini(top);
    node->open = false;
    return rc < 0 ? rc : place_node(c, node, &node->pos);
}

static bool tag_known(const char *tag, enum pdk_node_kind kind)
{
    static const char *const prefix = "tag:yaml.org,2002:";
    static const char *const of_scalars[] = { "str", "int", "float", "bool", "null" };

    if (strcmp(tag, "!") == 0)
        return true;
    if (!pdk_starts_with(tag, prefix))
        return false;
    tag += strlen(prefix);
    if (kind != PDK_NODE_SCALAR)
        return strcmp(tag, kind == PDK_NODE_MAP ? "map" : "seq") == 0;
    for (size_t i = 0; i < sizeof(of_scalars) / sizeof(*of_scalars); i++)
        if (strcmp(tag, of_scalars[i]) == 0)
            return true;
    return false;
}

static int tag_ok(struct composer *c, const yaml_char_t *tag, enum pdk_node_kind kind,
        const struct pdk_pos *pos)
{
    const char *text = (const char *)tag;

    if (!text || tag_known(text, kind))
        return 0;
    (void)fault(c, pos, "unknown tag '%s'", text);
    pdk_diags_hint(c->diags, "a mission file has text, lists and mappings only");
    return PDK_EINVAL;
}

static int add_anchor(struct composer *c, const yaml_char_t *name, struct pdk_node *node)
{
    if (!name)
        return 0;
    if (c->anchors_len == PDK_YAML_MAX_ANCHORS)
        return fault(c, &node->pos, "more than %d anchors", PDK_YAML_MAX_ANCHORS);
    struct anchor *grown =
            reallocarray(c->anchors, c->anchors_len + 1, sizeof(*c->anchors));
    char *copy = strdup((const char *)name);
    if (grown)
        c->anchors = grown;
    if (!grown || !copy) {
        free(copy);
        return out_of_memory(c);
    }
    grown[c->anchors_len++] = (struct anchor){ copy, node };
    return 0;
}

static struct pdk_node *find_anchor(const struct composer *c, const char *name)
{
    for (size_t i = c->anchors_len; i > 0; i--) /* the last of a name counts */
        if (strcmp(c->anchors[i - 1].name, name) == 0)
            return c->anchors[i - 1].node;
    return NULL;
}

static int on_alias(struct composer *c, const char *name, const struct pdk_pos *pos)
{
    struct pdk_node *node = find_anchor(c, name);

    if (!node)
        return fault(c, pos, "alias '*%s' has no anchor '&%s' before it", name, name);
    if (node->open)
        return fault(c, pos, "alias '*%s' stands inside what it refers to", name);
    if (c->depth + node->height > PDK_YAML_MAX_DEPTH)
        return fault(c, pos, "nested more than %d deep", PDK_YAML_MAX_DEPTH);
    if (node->weight > PDK_YAML_MAX_ALIASED - c->aliased)
        return fault(
                c, pos, "aliases stand for more than %d values", PDK_YAML_MAX_ALIASED);
    c->aliased += node->weight;
    return place_node(c, node, pos);
}

static int on_scalar(
        struct composer *c, const yaml_event_t *event, const struct pdk_pos *pos)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    size_t len = event->data.scalar.length;
    bool text_tag = tag && (strcmp(tag, "!") == 0 || pdk_ends_with(tag, ":str"));
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && !text_tag;
    int rc = tag_ok(c, event->data.scalar.tag, PDK_NODE_SCALAR, pos);

    if (rc < 0)
        return rc;
    if (memchr(text, '\0', len))
        return fault(c, pos, "text may not contain NUL");
    struct pdk_node *node = pdk_doc_scalar(c->doc, pos, text, len, plain);
    if (!node)
        return out_of_memory(c);
    rc = add_anchor(c, event->data.scalar.anchor, node);
    return rc < 0 ? rc : place_node(c, node, pos);
}

static int on_start(struct composer *c, enum pdk_node_kind kind, const yaml_char_t *tag,
        const yaml_char_t *anchor, const struct pdk_pos *pos)
{
    int rc = tag_ok(c, tag, kind, pos);

    if (rc < 0)
        return rc;
    if (c->depth == PDK_YAML_MAX_DEPTH)
        return fault(c, pos, "nested more than %d deep", PDK_YAML_MAX_DEPTH);
    struct pdk_node *node = pdk_doc_collection(c->doc, pos, kind);
    if (!node)
        return out_of_memory(c);
    node->open = true;
    rc = add_anchor(c, anchor, node);
    if (rc < 0)
        return rc;
    c->frames[c->depth++] = (struct frame){ .node = node };
    return 0;
}

static int on_document(
        struct composer *c, const yaml_event_t *event, const struct pdk_pos *pos)
{
    const yaml_version_directive_t *version =
            event->data.document_start.version_directive;

    if (c->documents++ > 0) {
        (void)fault(c, pos, "more than one document; the first begins at %d:%d",
                c->document.line, c->document.col);
        pdk_diags_hint(c->diags, "several tasks are one document of kind 'fleet'");
        return PDK_EINVAL;
    }
    c->document = *pos;
    if (version && version->minor != 2)
        return fault(c, pos, "'%%YAML %d.%d': only YAML 1.2 is read", version->major,
                version->minor);
    return 0;
}

static int on_event(struct composer *c, const yaml_event_t *event)
{
    struct pdk_pos pos = place(c, &event->start_mark);

    c->doc->work.events++;
    if (c->doc->work.nodes > PDK_YAML_MAX_NODES)
        return fault(c, &pos, "more than %d values", PDK_YAML_MAX_NODES);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(c, event, &pos);
    case YAML_ALIAS_EVENT:
        return on_alias(c, (const char *)event->data.alias.anchor, &pos);
    case YAML_SCALAR_EVENT:
        return on_scalar(c, event, &pos);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(c, PDK_NODE_LIST, event->data.sequence_start.tag,
                event->data.sequence_start.anchor, &pos);
    case YAML_MAPPING_START_EVENT:
        return on_start(c, PDK_NODE_MAP, event->data.mapping_start.tag,
                event->data.mapping_start.anchor, &pos);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(c);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return 0;
    }
    return 0;
}

/* Does the text end before this line says anything? */
static bool past_end(const struct pdk_source *source, size_t line)
{
    const char *at = source->text;
    const char *end = at + source->len;

    for (; line > 0 && at; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return !at || at == end;
}

/* Where the line's indentation has a tab: its column, else 0. */
static int tab_in_indent(const struct pdk_source *source, size_t line)
{
    const char *at = source->text;
    const char *end = at + source->len;

    for (; line > 0 && at; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    for (int col = 1; at && at < end && (*at == ' ' || *at == '\t'); at++, col++)
        if (*at == '\t')
            return col;
    return 0;
}

static int on_syntax(struct composer *c)
{
    const yaml_parser_t *p = &c->parser;
    struct pdk_pos pos = place(c, &p->problem_mark);

    if (p->error == YAML_MEMORY_ERROR)
        return out_of_memory(c);
    if (p->context && past_end(c->source, p->problem_mark.line) &&
            !past_end(c->source, p->context_mark.line))
        pos = place(c, &p->context_mark); /* what is open says more than the end */
    else if (c->source->flag && pos.line > 1)
        pos = (struct pdk_pos){ c->source, 1, (int)c->source->len + 1 };
    if (tab_in_indent(c->source, p->problem_mark.line) > 0) {
        pos.col = tab_in_indent(c->source, p->problem_mark.line);
        (void)fault(c, &pos, "tab used for indentation at %d:%d", pos.line, pos.col);
        pdk_diags_hint(c->diags, "indent with spaces");
        return PDK_EINVAL;
    }
    if (strstr(p->problem, "incompatible YAML document"))
        return fault(c, &pos, "only YAML 1.2 is read");
    if (p->error == YAML_READER_ERROR)
        pos = (struct pdk_pos){ c->source, (int)p->mark.line + 1,
            (int)p->mark.column + 1 };
    return fault(c, &pos, "not YAML: %s%s%s", p->problem, p->context ? ", " : "",
            p->context ? p->context : "");
}

static int compose_events(struct composer *c)
{
    for (bool ended = false; !ended;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&c->parser, &event))
            return on_syntax(c);
        ended = event.type == YAML_STREAM_END_EVENT;
        int rc = on_event(c, &event);
        yaml_event_delete(&event);
        if (rc < 0)
            return rc;
    }
    if (!c->root ||
            (c->root->kind == PDK_NODE_SCALAR && c->root->text[0] == '\0' &&
                    c->root->plain && !c->source->flag)) {
        struct pdk_pos pos = { c->source, 1, 1 };
        return fault(c, &pos, "the file is empty");
    }
    return 0;
}

static void composer_fini(struct composer *c)
{
    yaml_parser_delete(&c->parser);
    for (size_t i = 0; i < c->depth; i++)
        frame_fini(&c->frames[i]);
    for (size_t i = 0; i < c->anchors_len; i++)
        free(c->anchors[i].name);
    free(c->anchors);
}

static void feed(struct composer *c)
{
    const char *text = c->source->text + c->source->shift;
    size_t len = c->source->len - (size_t)c->source->shift;

    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        len -= 3;
    }
    yaml_parser_set_encoding(&c->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&c->parser, (const unsigned char *)text, len);
}

int pdk_yaml_compose(struct pdk_doc *doc, const struct pdk_source *source,
        struct pdk_diags *diags, struct pdk_err *err)
{
    struct composer c = { .doc = doc, .source = source, .diags = diags, .err = err };

    if (!pdk_yaml_bytes_ok(source, diags))
        return pdk_fail(err, PDK_EINVAL, 0, "%s cannot be read", source->name);
    if (!yaml_parser_initialize(&c.parser))
        return pdk_fail_nomem(err);
    feed(&c);
    int rc = compose_events(&c);
    doc->root = c.root;
    composer_fini(&c);
    if (rc == PDK_ENOMEM)
        return rc;
    if (rc < 0)
        return pdk_fail(err, rc, 0, "%s cannot be read", source->name);
    return 0;
}
