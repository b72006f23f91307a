/* Rows as they are read: one by one, and put together to a set. */
#include "store/rows/stored_rows.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/set/rows.h"
#include "store/rows/store_columns.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

efface_status ef_row_read(efface_store *store, sqlite3_stmt *statement, ef_stored_row *row,
                          uint64_t *bucket, efface_error *error) {
    if (!ef_sql_has(statement, "iininub"))
        return ef_store_corrupt(error, "a row has values of the wrong kind");
    const ef_decoder values = ef_sql_bytes(statement, 6);
    if (values.n_bytes != (size_t)store->head.n_columns * 4)
        return ef_store_corrupt(error, "a row has the wrong number of values");
    *row = (ef_stored_row){
        .row = {.id = (uint64_t)sqlite3_column_int64(statement, 1),
                .owner = EFFACE_NO_OWNER,
                .weight = sqlite3_column_int64(statement, 3),
                .label = EFFACE_NO_LABEL},
        .values = values.bytes,
    };
    if (sqlite3_column_type(statement, 5) != SQLITE_NULL) {
        const efface_status status = ef_sql_text(store, statement, 5, &row->text, error);
        if (status != EFFACE_OK)
            return status;
    }
    if (sqlite3_column_type(statement, 2) != SQLITE_NULL)
        row->row.owner = (uint64_t)sqlite3_column_int64(statement, 2);
    if (sqlite3_column_type(statement, 4) != SQLITE_NULL)
        row->row.label = sqlite3_column_int64(statement, 4);
    *bucket = (uint64_t)sqlite3_column_int64(statement, 0);
    return *bucket == ef_bucket_of(&store->head, row->row.id)
               ? EFFACE_OK
               : ef_store_corrupt(error, "a row is in the wrong bucket");
}

/* ---------------------------------------------------------------- batches of rows to a set */

void ef_found_free(ef_found *found) {
    for (size_t i = 0; i < found->n_texts; i++)
        ef_free(found->texts[i]);
    ef_free(found->texts);
    efface_data_free(found->data);
    *found = (ef_found){NULL, NULL, 0};
}

efface_status ef_batch_begin(ef_row_batch *b, const efface_store *store, const uint32_t *columns,
                             uint32_t n_columns, bool keeps_texts, efface_error *error) {
    *b = (ef_row_batch){.columns = columns,
                        .n_columns = columns != NULL ? n_columns : store->head.n_columns,
                        .keeps_texts = keeps_texts};
    b->values = ef_alloc((size_t)EF_BATCH_ROWS * b->n_columns, sizeof *b->values);
    b->ids = ef_alloc(EF_BATCH_ROWS, sizeof *b->ids);
    b->owners = ef_alloc(EF_BATCH_ROWS, sizeof *b->owners);
    b->weights = ef_alloc(EF_BATCH_ROWS, sizeof *b->weights);
    b->labels = ef_alloc(EF_BATCH_ROWS, sizeof *b->labels);
    if (b->values == NULL || b->ids == NULL || b->owners == NULL || b->weights == NULL ||
        b->labels == NULL)
        return ef_fail_memory(error);
    const efface_status status = efface_data_create(b->n_columns, &b->found.data, error);
    if (status != EFFACE_OK)
        return status;
    efface_data_allow_missing(b->found.data);
    return ef_store_give_units(store, columns, b->found.data, error);
}

/* A field that no row of a batch has is left out, so that a set without owners has no memory for
 * them. */
static efface_status batch_flush(ef_row_batch *b, efface_error *error) {
    bool owned = false, labelled = false;
    for (size_t i = 0; i < b->n; i++) {
        owned |= b->owners[i] != EFFACE_NO_OWNER;
        labelled |= b->labels[i] != EFFACE_NO_LABEL;
    }
    const efface_rows rows = {.n_rows = b->n,
                              .values = b->values,
                              .ids = b->ids,
                              .weights = b->weights,
                              .owners = owned ? b->owners : NULL,
                              .labels = labelled ? b->labels : NULL};
    efface_status status = efface_data_add(b->found.data, &rows, error);
    if (status != EFFACE_OK && status != EFFACE_E_MEMORY)
        status = ef_store_corrupt(error, "a row has invalid values");
    b->n = 0;
    return status;
}

static efface_status batch_keep_text(ef_row_batch *b, const char *text, efface_error *error) {
    ef_found *const found = &b->found;
    if ((found->n_texts & (found->n_texts - 1)) == 0) {
        char **const more =
            ef_realloc(found->texts, found->n_texts != 0 ? 2 * found->n_texts : 1, sizeof *more);
        if (more == NULL)
            return ef_fail_memory(error);
        found->texts = more;
    }
    char *copy = NULL;
    if (text != NULL) {
        copy = ef_alloc(strlen(text) + 1, 1);
        if (copy == NULL)
            return ef_fail_memory(error);
        memcpy(copy, text, strlen(text) + 1);
    }
    found->texts[found->n_texts++] = copy;
    return EFFACE_OK;
}

efface_status ef_batch_add(ef_row_batch *b, const ef_stored_row *row, efface_error *error) {
    float *const values = b->values + b->n * b->n_columns;
    for (uint32_t j = 0; j < b->n_columns; j++) {
        const unsigned char *const at =
            row->values + 4 * (size_t)(b->columns != NULL ? b->columns[j] : j);
        const uint32_t bits =
            (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        memcpy(&values[j], &bits, sizeof bits);
        /* A row that leaves is taken out of sums by the bytes that a set has of it. */
        if (values[j] != values[j] && bits != EF_MISSING_BITS)
            return ef_store_corrupt(error, "a row has invalid values");
    }
    b->ids[b->n] = row->row.id;
    b->owners[b->n] = row->row.owner;
    b->weights[b->n] = row->row.weight;
    b->labels[b->n] = row->row.label;
    const efface_status status = b->keeps_texts ? batch_keep_text(b, row->text, error) : EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    b->n++;
    return b->n == EF_BATCH_ROWS ? batch_flush(b, error) : EFFACE_OK;
}

efface_status ef_batch_end(ef_row_batch *b, const efface_store *store, efface_status status,
                           ef_found *out, efface_error *error) {
    if (status == EFFACE_OK && b->n != 0)
        status = batch_flush(b, error);
    for (uint32_t j = 0; status == EFFACE_OK && store->names != NULL && j < b->n_columns; j++)
        status = efface_data_name_column(
            b->found.data, j, store->names[b->columns != NULL ? b->columns[j] : j], error);
    if (status == EFFACE_OK)
        *out = b->found;
    else
        ef_found_free(&b->found);
    ef_free(b->values);
    ef_free(b->ids);
    ef_free(b->owners);
    ef_free(b->weights);
    ef_free(b->labels);
    return status;
}
