/* Files that are part of the program (cmake/EmbedFiles.cmake). */
#ifndef SV_EMBEDDED_H
#define SV_EMBEDDED_H

#include <stddef.h>

typedef struct sv_file {
    const char *name; /* without its folder; NULL ends a table */
    const char *content_type;
    const unsigned char *bytes; /* followed by a 0 that is not counted */
    size_t n_bytes;
} sv_file;

extern const sv_file sv_page_files[];      /* the page, of serve/page */
extern const sv_file sv_interface_files[]; /* openapi.json */

#endif
