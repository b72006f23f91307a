/* Rows as bytes, for other ranks and for the journal. */
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/sql/sql.h"

#include <string.h>

static void write_row_text(ef_writer *w, const char *text) {
    const size_t n = text != NULL ? strlen(text) : 0;
    ef_write_u32(w, text != NULL ? (uint32_t)n + 1 : 0);
    if (n != 0)
        ef_write_bytes(w, text, n);
}

void ef_row_bytes_write(ef_writer *w, const efface_data *rows, size_t position, uint64_t id,
                        const char *text, const efface_texts *texts, const ef_head *head) {
    char mark[EF_MARK_BYTES];
    const efface_row row = efface_data_row(rows, position);
    ef_write_u64(w, id);
    ef_write_u64(w, row.owner);
    ef_write_u64(w, (uint64_t)row.weight);
    ef_write_u64(w, (uint64_t)row.label);
    for (uint32_t j = 0; j < rows->n_columns; j++)
        ef_write_f32(w, ef_data_value(rows, position, j));
    if (text == NULL)
        text = efface_texts_find(texts, EFFACE_TEXT_ID, id);
    write_row_text(w, head != NULL ? ef_kept_text(head, text, mark) : text);
    text = row.owner != EFFACE_NO_OWNER ? efface_texts_find(texts, EFFACE_TEXT_OWNER, row.owner)
                                        : NULL;
    write_row_text(w, head != NULL ? ef_kept_text(head, text, mark) : text);
    write_row_text(w, row.label != EFFACE_NO_LABEL
                          ? efface_texts_find(texts, EFFACE_TEXT_LABEL, (uint64_t)row.label)
                          : NULL);
}

static efface_status read_row_text(ef_decoder *r, efface_texts *texts, efface_text_kind kind,
                                   uint64_t number, efface_error *error) {
    const size_t n = ef_read_u32(r);
    if (n == 0 || !ef_decoder_has(r, n - 1, 1))
        return EFFACE_OK;
    const char *const text = (const char *)r->bytes;
    r->bytes += n - 1;
    r->n_bytes -= n - 1;
    return texts != NULL ? efface_texts_add(texts, kind, number, text, n - 1, error) : EFFACE_OK;
}

static efface_status read_whole_row(ef_decoder *r, float *values, efface_data *rows,
                                    efface_texts *texts, efface_error *error) {
    const uint64_t id = ef_read_u64(r), owner = ef_read_u64(r);
    const int64_t weight = (int64_t)ef_read_u64(r), label = (int64_t)ef_read_u64(r);
    for (uint32_t j = 0; j < rows->n_columns; j++)
        values[j] = ef_read_f32(r);
    efface_status status = read_row_text(r, texts, EFFACE_TEXT_ID, id, error);
    EF_THEN(status, read_row_text(r, texts, EFFACE_TEXT_OWNER, owner, error));
    EF_THEN(status, read_row_text(r, texts, EFFACE_TEXT_LABEL, (uint64_t)label, error));
    if (status != EFFACE_OK || r->failed)
        return status;
    const efface_rows row = {.n_rows = 1,
                             .values = values,
                             .ids = &id,
                             .weights = &weight,
                             .owners = owner != EFFACE_NO_OWNER ? &owner : NULL,
                             .labels = label != EFFACE_NO_LABEL ? &label : NULL};
    return efface_data_add(rows, &row, error);
}

efface_status ef_row_bytes_read(ef_decoder *r, uint64_t n, efface_data *rows, efface_texts *texts,
                                efface_error *error) {
    float *const values = ef_alloc(rows->n_columns, sizeof *values);
    efface_status status = values != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (uint64_t i = 0; status == EFFACE_OK && !r->failed && i < n; i++)
        status = read_whole_row(r, values, rows, texts, error);
    ef_free(values);
    return status == EFFACE_OK && r->failed
               ? ef_store_corrupt(error, "rows of a request are incomplete")
               : status;
}
