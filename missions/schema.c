/* The table as JSON Schema (draft-07) and as Markdown. */
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "missions/keys.h"
#include "missions/mission.h"

static const char id_pattern[] = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
static const char name_pattern[] = "^[A-Za-z_][A-Za-z0-9_]*$";
static const char duration_pattern[] = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h|d))+$";
static const char size_pattern[] = "^[0-9]+(\\.[0-9]+)?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$";

/* In this file pdk_json_ok() on the whole document tells of failed setters. */

static struct pdk_json *typed(const char *type)
{
    struct pdk_json *made = pdk_json_object();

    (void)pdk_json_set_str(made, "type", type);
    return made;
}

/* Text takes the source text of any scalar, so an editor may see a number or a bool. */
static struct pdk_json *text_schema(void)
{
    static const char *const types[] = { "string", "number", "boolean" };
    struct pdk_json *made = pdk_json_object();

    (void)pdk_json_set(made, "type", pdk_json_strv(types, 3));
    return made;
}

static struct pdk_json *pattern_schema(const char *pattern)
{
    struct pdk_json *made = text_schema();

    (void)pdk_json_set_str(made, "pattern", pattern);
    return made;
}

static struct pdk_json *string_pattern(const char *pattern)
{
    struct pdk_json *made = typed("string");

    (void)pdk_json_set_str(made, "pattern", pattern);
    return made;
}

static struct pdk_json *words_schema(const struct pdk_word *words)
{
    struct pdk_json *made = pdk_json_object();
    struct pdk_json *list = pdk_json_array();

    for (; words->text; words++)
        (void)pdk_json_append(list, pdk_json_str(words->text));
    (void)pdk_json_set(made, "enum", list);
    return made;
}

static struct pdk_json *int_schema(const struct pdk_key *key)
{
    struct pdk_json *made = typed("integer");

    (void)pdk_json_set_int(made, "minimum", key->min);
    (void)pdk_json_set_int(made, "maximum", key->max);
    return made;
}

static struct pdk_json *number_schema(const struct pdk_key *key)
{
    struct pdk_json *made = typed("number");

    (void)pdk_json_set_int(made, "exclusiveMinimum", key->min);
    (void)pdk_json_set_int(made, "maximum", key->max);
    return made;
}

static struct pdk_json *list_schema(struct pdk_json *entry, int64_t min, int64_t max)
{
    struct pdk_json *made = typed("array");

    (void)pdk_json_set(made, "items", entry);
    if (min > 0)
        (void)pdk_json_set_int(made, "minItems", min);
    if (max > 0)
        (void)pdk_json_set_int(made, "maxItems", max);
    return made;
}

static struct pdk_json *either(struct pdk_json *a, struct pdk_json *b)
{
    struct pdk_json *made = pdk_json_object();
    struct pdk_json *list = pdk_json_array();

    (void)pdk_json_append(list, a);
    (void)pdk_json_append(list, b);
    (void)pdk_json_set(made, "anyOf", list);
    return made;
}

static struct pdk_json *command_schema(void)
{
    return either(pattern_schema("[^ \\t\\n]"), list_schema(text_schema(), 1, 0));
}

static struct pdk_json *ref_schema(const struct pdk_block *block)
{
    struct pdk_json *made = pdk_json_object();
    PDK_AUTO_FREE char *ref = pdk_strf("#/definitions/%s", block->name);

    (void)pdk_json_set_str(made, "$ref", ref);
    return made;
}

static struct pdk_json *map_schema(const char *names, struct pdk_json *value)
{
    struct pdk_json *made = typed("object");

    (void)pdk_json_set(made, "propertyNames", string_pattern(names));
    (void)pdk_json_set(made, "additionalProperties", value);
    return made;
}

/* A map with that one key and no other. */
static struct pdk_json *one_key_schema(const char *name, struct pdk_json *value)
{
    struct pdk_json *made = typed("object");
    struct pdk_json *properties = pdk_json_object();

    (void)pdk_json_set(properties, name, value);
    (void)pdk_json_set(made, "properties", properties);
    (void)pdk_json_set(made, "required", pdk_json_strv(&name, 1));
    (void)pdk_json_set(made, "additionalProperties", pdk_json_bool(false));
    return made;
}

static struct pdk_json *select_schema(const struct pdk_key *key)
{
    struct pdk_json *judge =
            one_key_schema("judge", one_key_schema("run", command_schema()));

    return list_schema(either(words_schema(key->words), judge), key->min, key->max);
}

static struct pdk_json *exit_schema(const struct pdk_key *key)
{
    static const struct pdk_word any[] = { { "any", PDK_KEY_BUILT },
        { NULL, PDK_KEY_BUILT } };

    return either(int_schema(key), words_schema(any));
}

static struct pdk_json *slots_schema(void)
{
    static const struct pdk_key count = { .min = 1, .max = 10000 };

    return map_schema(id_pattern, int_schema(&count));
}

static struct pdk_json *key_schema(const struct pdk_key *key)
{
    switch (key->type) {
    case PDK_KEY_FIXED:
    case PDK_KEY_WORD:
    case PDK_KEY_ENUM:
    case PDK_KEY_CHOICE:
        return words_schema(key->words);
    case PDK_KEY_STRING:
        return key->min > 0 ? pattern_schema(".") : text_schema();
    case PDK_KEY_ID:
    case PDK_KEY_BACKEND:
        return pattern_schema(id_pattern);
    case PDK_KEY_PATTERN:
        return text_schema();
    case PDK_KEY_BOOL:
        return typed("boolean");
    case PDK_KEY_INT:
    case PDK_KEY_LONG:
        return int_schema(key);
    case PDK_KEY_NUMBER:
        return number_schema(key);
    case PDK_KEY_DURATION:
        return string_pattern(duration_pattern);
    case PDK_KEY_SIZE:
        return string_pattern(size_pattern);
    case PDK_KEY_EXIT:
        return exit_schema(key);
    case PDK_KEY_COMMAND:
        return command_schema();
    case PDK_KEY_COMMANDS:
        return list_schema(command_schema(), 0, key->max);
    case PDK_KEY_STRINGS:
        return list_schema(pattern_schema("."), 0, key->max);
    case PDK_KEY_IDS:
        return list_schema(pattern_schema(id_pattern), 0, key->max);
    case PDK_KEY_NAMES:
        return list_schema(pattern_schema(name_pattern), 0, key->max);
    case PDK_KEY_PATTERNS:
        return either(text_schema(), list_schema(text_schema(), 0, key->max));
    case PDK_KEY_INTS:
        return list_schema(int_schema(key), 0, 0);
    case PDK_KEY_ENV:
        return map_schema(name_pattern, text_schema());
    case PDK_KEY_SLOTS:
        return slots_schema();
    case PDK_KEY_MATRIX:
        return map_schema(name_pattern, list_schema(text_schema(), 1, 0));
    case PDK_KEY_SELECT:
        return select_schema(key);
    case PDK_KEY_OBJECT:
    case PDK_KEY_DEFAULTS:
        return ref_schema(key->block);
    case PDK_KEY_CHECKS:
    case PDK_KEY_TASKS:
        return list_schema(ref_schema(key->block), 0, key->max);
    }
    return NULL;
}

static struct pdk_json *property(const struct pdk_key *key)
{
    struct pdk_json *made = key_schema(key);

    if (key->type != PDK_KEY_OBJECT && key->type != PDK_KEY_DEFAULTS)
        (void)pdk_json_set_str(made, "description", key->doc); /* not beside a $ref */
    return made;
}

static struct pdk_json *block_schema(const struct pdk_block *block)
{
    struct pdk_json *made = typed("object");
    struct pdk_json *properties = pdk_json_object();
    struct pdk_json *required = pdk_json_array();
    struct pdk_json *own = pdk_json_object();

    for (size_t i = 0; i < block->len; i++) {
        (void)pdk_json_set(properties, block->keys[i].name, property(&block->keys[i]));
        if (block->keys[i].flags & PDK_KEY_REQUIRED)
            (void)pdk_json_append(required, pdk_json_str(block->keys[i].name));
    }
    (void)pdk_json_set(own, "^x-", pdk_json_object());
    (void)pdk_json_set_str(made, "description", block->title);
    (void)pdk_json_set(made, "properties", properties);
    (void)pdk_json_set(made, "patternProperties", own);
    (void)pdk_json_set(made, "required", required);
    (void)pdk_json_set(made, "additionalProperties", pdk_json_bool(false));
    return made;
}

static struct pdk_json *fleet_condition(void)
{
    struct pdk_json *made = one_key_schema("kind", pdk_json_object());
    struct pdk_json *kind = pdk_json_object();
    struct pdk_json *properties = pdk_json_object();

    (void)pdk_json_set_str(kind, "const", "fleet");
    (void)pdk_json_set(properties, "kind", kind);
    (void)pdk_json_set(made, "properties", properties);
    (void)pdk_json_set(made, "additionalProperties", pdk_json_bool(true));
    return made;
}

int pdk_mission_schema(struct pdk_buf *out, struct pdk_err *err)
{
    PDK_AUTO_JSON struct pdk_json *made = pdk_json_object();
    struct pdk_json *definitions = pdk_json_object();

    (void)pdk_json_set_str(made, "$schema", "http://json-schema.org/draft-07/schema#");
    (void)pdk_json_set_str(made, "title", "Paddock mission or fleet");
    (void)pdk_json_set(made, "if", fleet_condition());
    (void)pdk_json_set(made, "then", ref_schema(&pdk_fleet_block));
    (void)pdk_json_set(made, "else", ref_schema(&pdk_mission_block));
    for (size_t i = 0; pdk_blocks[i]; i++)
        (void)pdk_json_set(definitions, pdk_blocks[i]->name, block_schema(pdk_blocks[i]));
    (void)pdk_json_set(made, "definitions", definitions);
    int rc = pdk_json_write(made, PDK_JSON_PRETTY, out, err);
    if (rc < 0)
        return rc;
    pdk_buf_addc(out, '\n');
    return pdk_buf_ok(out, err);
}

/* ---- Markdown ---- */

static const char *type_name(const struct pdk_key *key)
{
    static const char *const names[PDK_KEY_TYPES] = { "", "text", "identifier", "", "",
        "", "", "true or false", "whole number", "whole number", "number", "duration",
        "size", "exit code or `any`", "pattern", "command", "list of commands",
        "list of texts", "list of identifiers", "list of names",
        "pattern or list of them", "list of whole numbers", "names to texts",
        "identifiers to counts", "axes to lists of values", "list", "block",
        "list of blocks", "block", "list of blocks" };

    return names[key->type];
}

static void add_words(const struct pdk_key *key, struct pdk_buf *out)
{
    for (size_t i = 0; key->words && key->words[i].text; i++)
        pdk_buf_addf(out, "%s`%s`%s", i ? ", " : (*type_name(key) ? ": " : ""),
                key->words[i].text,
                key->words[i].state == PDK_KEY_LATER && key->state == PDK_KEY_BUILT ? " †"
                                                                                    : "");
}

static void add_row(const struct pdk_key *key, struct pdk_buf *out)
{
    pdk_buf_addf(out, "| `%s`%s%s | %s", key->name,
            (key->flags & PDK_KEY_REQUIRED) ? " *" : "",
            key->state == PDK_KEY_LATER ? " †" : "", type_name(key));
    add_words(key, out);
    if (key->block)
        pdk_buf_addf(out, " [%s](#%s)", key->block->name, key->block->name);
    pdk_buf_addf(out, " | %s%s%s | %s |\n", key->fallback ? "`" : "",
            key->fallback ? key->fallback : "", key->fallback ? "`" : "", key->doc);
}

int pdk_mission_reference(struct pdk_buf *out, struct pdk_err *err)
{
    for (size_t i = 0; pdk_blocks[i]; i++) {
        pdk_buf_addf(out,
                "### %s\n\n%s.\n\n| key | value | default | |\n|---|---|---|---|\n",
                pdk_blocks[i]->name, pdk_blocks[i]->title);
        for (size_t j = 0; j < pdk_blocks[i]->len; j++)
            add_row(&pdk_blocks[i]->keys[j], out);
        pdk_buf_addc(out, '\n');
    }
    return pdk_buf_ok(out, err);
}
