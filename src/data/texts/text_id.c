/*
 * Texts as numbers: SipHash-2-4 with 128 bits of output, libsodium's. It is keyed, so that people
 * who choose their own ids cannot aim at the id of someone else.
 */
#include "data/texts/text_id.h"

#include "base/memory/list.h"
#include "base/memory/memory.h"

#include <sodium/crypto_shorthash_siphash24.h>
#include <string.h>

_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == EFFACE_HASH_KEY_BYTES, "key of SipHash");
_Static_assert(crypto_shorthash_siphashx24_BYTES == 16, "output of SipHash");

static uint64_t read_little_endian(const unsigned char bytes[8]) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static char small_letter(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool begins_with(const char *text, size_t n_bytes, const char *start) {
    size_t i = 0;
    while (start[i] != '\0' && i < n_bytes && small_letter(text[i]) == start[i])
        i++;
    return start[i] == '\0';
}

bool ef_uuid_read(const char *text, size_t n_bytes, char plain[EF_UUID_BYTES]) {
    static const char urn[] = "urn:uuid:";
    if (begins_with(text, n_bytes, urn)) {
        text += sizeof urn - 1;
        n_bytes -= sizeof urn - 1;
    }
    if (n_bytes == EF_UUID_BYTES + 2 && text[0] == '{' && text[n_bytes - 1] == '}') {
        text++;
        n_bytes -= 2;
    }
    if (n_bytes != EF_UUID_BYTES)
        return false;
    for (size_t i = 0; i < EF_UUID_BYTES; i++) {
        const char c = small_letter(text[i]);
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        plain[i] = c;
    }
    return true;
}

static ef_text_hash hash_bytes(const char *text, size_t n_bytes,
                               const unsigned char key[EFFACE_HASH_KEY_BYTES]) {
    unsigned char hash[crypto_shorthash_siphashx24_BYTES];
    (void)crypto_shorthash_siphashx24(hash, (const unsigned char *)text, n_bytes, key);
    return (ef_text_hash){read_little_endian(hash), read_little_endian(hash + 8)};
}

/* The number of no owner is nobody's. */
static ef_text_hash avoid_nobody(ef_text_hash found) {
    return found.id != EFFACE_NO_OWNER ? found : (ef_text_hash){found.check >> 1, found.id};
}

ef_text_hash ef_hash_text(const char *text, size_t n_bytes,
                          const unsigned char key[EFFACE_HASH_KEY_BYTES]) {
    char uuid[EF_UUID_BYTES];
    const ef_text_hash found = ef_uuid_read(text, n_bytes, uuid)
                                   ? hash_bytes(uuid, sizeof uuid, key)
                                   : hash_bytes(text, n_bytes, key);
    return avoid_nobody(found);
}

ef_text_hash ef_hash_form(const char *form, size_t n_bytes,
                          const unsigned char key[EFFACE_HASH_KEY_BYTES]) {
    return avoid_nobody(hash_bytes(form, n_bytes, key));
}

ef_text_hash ef_hash_label(const char *text, size_t n_bytes) {
    static const unsigned char no_key[EFFACE_HASH_KEY_BYTES] = {0};
    const ef_text_hash found = hash_bytes(text, n_bytes, no_key);
    return found.id != (uint64_t)EFFACE_NO_LABEL ? found
                                                 : (ef_text_hash){found.check >> 1, found.id};
}

uint64_t efface_text_id(const char *text, size_t n_bytes,
                        const unsigned char key[EFFACE_HASH_KEY_BYTES]) {
    return ef_hash_text(text, n_bytes, key).id;
}

int64_t efface_text_label(const char *text, size_t n_bytes) {
    return (int64_t)ef_hash_label(text, n_bytes).id;
}

float efface_text_category(const char *text, size_t n_bytes) {
    const uint64_t hash = ef_hash_label(text, n_bytes).id;
    const uint32_t sign = (uint32_t)(hash >> 28) & 1, power = (uint32_t)(hash >> 23) & 31;
    const uint32_t bits = sign << 31 | (127 + 64 + power) << 23 | ((uint32_t)hash & 0x7FFFFF);
    float code;
    memcpy(&code, &bits, sizeof code);
    return code;
}

static bool reserve_text(ef_text_numbers *texts) {
    size_t n_ids = texts->capacity;
    if (!ef_list_reserve(&texts->ids, &n_ids, texts->n_texts, 1, sizeof *texts->ids) ||
        !ef_list_reserve(&texts->checks, &texts->capacity, texts->n_texts, 1,
                         sizeof *texts->checks))
        return false;
    return ef_id_index_reserve(&texts->index, texts->ids, texts->n_texts, texts->n_texts + 1);
}

bool ef_text_numbers_enter(ef_text_numbers *texts, ef_text_hash hash, size_t *number) {
    const size_t found = ef_id_index_find(&texts->index, texts->ids, hash.id);
    if (found != EF_NO_POSITION) {
        *number = texts->checks[found] == hash.check ? found : EF_TEXT_COLLISION;
        return true;
    }
    if (!reserve_text(texts))
        return false;
    *number = texts->n_texts++;
    texts->ids[*number] = hash.id;
    texts->checks[*number] = hash.check;
    ef_id_index_insert(&texts->index, texts->ids, *number);
    return true;
}

void ef_text_numbers_free(ef_text_numbers *texts) {
    ef_free(texts->ids);
    ef_free(texts->checks);
    ef_id_index_free(&texts->index);
    *texts = (ef_text_numbers){.n_texts = 0};
}
