/* Bytes in sections (encode.h), of which each is read when it is asked for. */
#ifndef EF_SECTION_READING_H
#define EF_SECTION_READING_H

#include "base/bytes/encode.h"
#include "efface/efface.h"

/* Begins what the owner of the bytes keeps of them. `read` hands out a verified section, for as long
 * as no other one is read. `copy` does not verify what it hands out, to be released with ef_free;
 * `verify` does that, for several threads at once. */
typedef struct ef_sections {
    size_t n;
    efface_status (*read)(struct ef_sections *sections, size_t section, ef_decoder *bytes,
                          efface_error *error);
    efface_status (*copy)(struct ef_sections *sections, size_t section, unsigned char **bytes,
                          size_t *n_bytes, efface_error *error);
    efface_status (*verify)(const struct ef_sections *sections, size_t section,
                            const unsigned char *bytes, size_t n_bytes, efface_error *error);
} ef_sections;

#endif
