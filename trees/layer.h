/*
 * A small tree of files as plain data: written out somewhere, or laid under many overlays. Named by the
 * digest of all that is in it, so that what was changed on disk is found out.
 */
#ifndef PDK_TREES_LAYER_H
#define PDK_TREES_LAYER_H

#include <stddef.h>

struct pdk_err;

struct pdk_layer_item {
    char *path; /* relative; a directory comes before what is in it */
    char *text; /* NULL: a directory */
    size_t len;
};

struct pdk_layer {
    struct pdk_layer_item *items;
    size_t len;
};

#define PDK_LAYER_INIT                                                                   \
    {                                                                                    \
        NULL, 0                                                                          \
    }
void pdk_layer_fini(struct pdk_layer *layer);
#define PDK_AUTO_LAYER __attribute__((cleanup(pdk_layer_fini)))

/* Both copy what they are given. */
int pdk_layer_add_dir(struct pdk_layer *layer, const char *path, struct pdk_err *err);
int pdk_layer_add_file(struct pdk_layer *layer, const char *path, const char *text,
        size_t len, struct pdk_err *err);

/* The same for the same items, in whatever order they were added. */
int pdk_layer_digest(const struct pdk_layer *layer, char out[65], struct pdk_err *err);

/* Writes the items below dir, which is there; none of them may be. PDK_ECONFLICT where one is. */
int pdk_layer_write(const struct pdk_layer *layer, const char *dir, struct pdk_err *err);

/*
 * What is below dir, but for the name skip at its top. PDK_ECORRUPT for what a layer cannot have (a
 * link, a device, more bytes than are sensible).
 */
int pdk_layer_read(
        const char *dir, const char *skip, struct pdk_layer *out, struct pdk_err *err);

#endif
