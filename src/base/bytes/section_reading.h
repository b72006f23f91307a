/* Bytes in sections (encode.h), of which each is read when it is asked for. */
#ifndef EF_SECTION_READING_H
#define EF_SECTION_READING_H

#include "base/bytes/encode.h"
#include "efface/efface.h"

/* Begins what the owner of the bytes keeps of them. `read` hands out a verified section, for as long
 * as no other one is read. */
typedef struct ef_sections {
    size_t n;
    efface_status (*read)(struct ef_sections *sections, size_t section, ef_decoder *bytes,
                          efface_error *error);
} ef_sections;

#endif
