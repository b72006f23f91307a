/* All columns of rows at once. */
#include "model/forest/growth/whole_rows.h"

#include "base/memory/memory.h"

bool ef_whole_rows_init(ef_whole_rows *w, uint32_t n_inputs) {
    const uint32_t n = (n_inputs + EF_CODES - 1) / EF_CODES * EF_CODES;
    const ef_kernels *const chosen = ef_kernels_get();
    /* All tables give the same: where a name for one is wrong, others say so. */
    *w = (ef_whole_rows){.kernels = chosen != NULL ? chosen : &ef_kernels_ref, .n_codes = n};
    w->least = ef_alloc_zero(n, sizeof *w->least);
    w->most = ef_alloc_zero(n, sizeof *w->most);
    w->limits = ef_alloc_zero(n, sizeof *w->limits);
    w->counts = ef_alloc_zero(n, sizeof *w->counts);
    w->sums = ef_alloc_zero(n, sizeof *w->sums);
    return w->least != NULL && w->most != NULL && w->limits != NULL && w->counts != NULL &&
           w->sums != NULL;
}

void ef_whole_rows_clear(ef_whole_rows *w) {
    ef_free(w->least);
    ef_free(w->most);
    ef_free(w->limits);
    ef_free(w->counts);
    ef_free(w->sums);
    *w = (ef_whole_rows){.n_codes = 0};
}

bool ef_whole_rows_are_quicker(const ef_forest_slots *rows, const bool *are_categories,
                               uint32_t n_drawn) {
    bool plain = !rows->may_miss && rows->n_inputs <= EF_CODES * n_drawn;
    for (uint32_t i = 0; plain && i < rows->n_inputs; i++)
        plain = !are_categories[i] && rows->formats[i].width == sizeof(int32_t) &&
                rows->formats[i].offset == i * sizeof(int32_t);
    return plain;
}

void ef_whole_rows_range(ef_whole_rows *w, const ef_forest_slots *rows, const uint32_t *slots,
                         size_t n) {
    for (uint32_t i = 0; i < w->n_codes; i += EF_CODES)
        w->kernels->code_ranges(rows->by_row + i * sizeof(int32_t), rows->row_bytes, slots, n,
                                w->least + i, w->most + i);
}

void ef_whole_rows_count(ef_whole_rows *w, const ef_forest_slots *rows, const uint32_t *slots,
                         const int32_t *targets, size_t n) {
    for (uint32_t i = 0; i < w->n_codes; i += EF_CODES)
        w->kernels->code_counts(rows->by_row + i * sizeof(int32_t), rows->row_bytes, slots, targets,
                                n, w->limits + i, w->counts + i, w->sums + i);
}
