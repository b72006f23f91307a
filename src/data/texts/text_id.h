/*
 * Texts as numbers. A text is hashed to 128 bits under the caller's key: the first 64 are its id,
 * the other 64 tell a text that comes again from another text with the same id.
 */
#ifndef EF_TEXT_ID_H
#define EF_TEXT_ID_H

#include "data/set/id_index.h"
#include "efface/efface.h"

typedef struct ef_text_hash {
    uint64_t id;
    uint64_t check;
} ef_text_hash;

#define EF_UUID_BYTES 36

/* Whether a text is a UUID: hexadecimal digits as 8-4-4-4-12, in capitals or not, in braces or not,
 * after "urn:uuid:" or not. If so, `plain` becomes the one form of all these: small letters and
 * nothing around them. */
bool ef_uuid_read(const char *text, size_t n_bytes, char plain[EF_UUID_BYTES]);

/* All forms of a UUID have the hash of its plain one. */
ef_text_hash ef_hash_text(const char *text, size_t n_bytes,
                          const unsigned char key[EFFACE_HASH_KEY_BYTES]);

/* The same of a name in its one form (name_form.h). */
ef_text_hash ef_hash_form(const char *form, size_t n_bytes,
                          const unsigned char key[EFFACE_HASH_KEY_BYTES]);

/* The same for labels, without a key and as they stand: a model orders classes by their numbers,
 * and may not depend on the key of a store. */
ef_text_hash ef_hash_label(const char *text, size_t n_bytes);

/* The different texts seen so far, numbered from 0 in the order of their first appearance. Begins
 * as all zeros. */
typedef struct ef_text_numbers {
    size_t n_texts;
    size_t capacity;
    uint64_t *ids;
    uint64_t *checks;
    ef_id_index index;
} ef_text_numbers;

#define EF_TEXT_COLLISION SIZE_MAX

/* Sets *number to the number of a text, which is entered if it is new; or to EF_TEXT_COLLISION if
 * another text has its id. False if there is no memory. */
bool ef_text_numbers_enter(ef_text_numbers *texts, ef_text_hash hash, size_t *number);

void ef_text_numbers_free(ef_text_numbers *texts);

#endif
