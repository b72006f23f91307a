/*
 * Any bytes as a CSV file with any options, as rows and as labels. The first four bytes are the
 * options:
 *
 *     byte 0   header (3 values, and one that is none), ids (the same), delimiter (8 values),
 *              whether texts are kept
 *     byte 1   id column (lower half) and owner column (upper half), from the list below
 *     byte 2   weight column and label column
 *     byte 3   hash key; and a column of categories (lower half), from the list too; and one that
 *              is not read, or the only one that is
 *
 * They are loaded once more with that column, and with missing values; then without the last one,
 * with it alone, and with it as a column that has a type.
 */
#include "fuzz_load.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

static const char *const columns[16] = {NULL, "1", "2",  "3",     "4",   "5", "id", "owner",
                                        "w",  "y", "x1", "alice", "1.5", "0", "",   "99"};
static const char delimiters[8] = {0, ',', ';', '\t', ' ', '|', ':', '"'};

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    if (n_bytes < 4)
        return 0;
    efface_load_options options;
    efface_load_options_init(&options);
    options.header = (efface_header)(bytes[0] & 3);
    options.ids = (efface_ids)(bytes[0] >> 2 & 3);
    options.delimiter = delimiters[bytes[0] >> 4 & 7];
    options.id_column = columns[bytes[1] & 15];
    options.owner_column = columns[bytes[1] >> 4];
    options.weight_column = columns[bytes[2] & 15];
    options.label_column = columns[bytes[2] >> 4];
    options.hash_key[0] = bytes[3];
    if ((bytes[0] & 0x80) != 0)
        require(efface_texts_create(&options.texts, NULL) == EFFACE_OK);
    load_twice(bytes + 4, n_bytes - 4, &options);
    const efface_category category = {.column = columns[bytes[3] & 15]};
    options.missing = 1;
    options.categories = &category;
    options.n_categories = category.column != NULL;
    load_twice(bytes + 4, n_bytes - 4, &options);
    const char *const skipped = columns[bytes[3] >> 4];
    options.ignored = &skipped;
    options.n_ignored = skipped != NULL;
    load_twice(bytes + 4, n_bytes - 4, &options);
    options.n_ignored = 0;
    options.columns = &skipped;
    options.n_columns = skipped != NULL;
    load_twice(bytes + 4, n_bytes - 4, &options);
    const efface_typed_column typed = {.column = skipped,
                                       .type = (efface_column_type)(bytes[2] % 5)};
    options.n_columns = 0;
    options.types = &typed;
    options.n_types = skipped != NULL;
    load_twice(bytes + 4, n_bytes - 4, &options);
    efface_texts_free(options.texts);
    load_labels_checked(bytes + 4, n_bytes - 4);
    return 0;
}
