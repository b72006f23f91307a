/* The sample of the method pyramid: who takes part. */
#include "model/kmeans/sample.h"

#include "base/checked.h"
#include "base/status.h"
#include "base/tape.h"

static uint32_t leading_zeros(uint64_t bits) {
    const uint32_t zeros = bits != 0 ? (uint32_t)__builtin_clzll(bits) : 64;
    return zeros < EF_MEMBER_MAX ? zeros : EF_MEMBER_MAX;
}

uint32_t ef_member_exponent(uint64_t seed, uint64_t id) {
    return leading_zeros(ef_tape(seed, EF_TAPE_MEMBER, 0, id, 0));
}

/* The member exponents of the rows of a panel, most of them from the leading half of the number. */
static void panel_exponents(const efface_data *data, const ef_kernels *kernels, uint64_t seed,
                            size_t first, unsigned n, uint32_t exponents[EF_PANEL]) {
    uint64_t ids[EF_PANEL];
    uint32_t high[EF_PANEL];
    ef_row_ids_panel(&data->ids, first, n, ids);
    kernels->tape_high(seed, EF_TAPE_MEMBER, ids, 0, high);
    for (unsigned i = 0; i < n; i++)
        exponents[i] = high[i] != 0 ? leading_zeros((uint64_t)high[i] << 32)
                                    : ef_member_exponent(seed, ids[i]);
}

void ef_members_count(ef_members *members, const efface_data *data, const ef_kernels *kernels,
                      uint64_t seed) {
    *members = (ef_members){{0}};
    for (size_t first = 0; first < data->n_rows; first += EF_PANEL) {
        const size_t rest = data->n_rows - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        uint32_t exponents[EF_PANEL];
        panel_exponents(data, kernels, seed, first, n, exponents);
        for (unsigned i = 0; i < n; i++)
            members->rows[exponents[i]]++;
    }
}

uint32_t ef_members_rate(const ef_members *members, uint32_t wanted, uint64_t least) {
    uint64_t n = 0;
    for (uint32_t j = EF_MEMBER_MAX; j > 0; j--) {
        n += members->rows[j];
        if (j <= wanted && n >= least)
            return j;
    }
    return 0;
}

void ef_sample_mark(const efface_data *data, const ef_kernels *kernels, uint64_t seed,
                    uint32_t sample, uint8_t *codes) {
    for (size_t first = 0; first < data->n_rows; first += EF_PANEL) {
        const size_t rest = data->n_rows - first;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        uint32_t exponents[EF_PANEL];
        panel_exponents(data, kernels, seed, first, n, exponents);
        for (unsigned i = 0; i < n; i++)
            codes[first + i] = ef_marks(exponents[i], sample);
    }
}

efface_status ef_sample_find(const uint8_t *codes, size_t n_rows, size_t **positions,
                             size_t *n_jury, size_t *n_sample, efface_error *error) {
    size_t n = 0, m = 0;
    for (size_t i = 0; i < n_rows; i++) {
        n += (codes[i] & EF_IN_JURY) != 0;
        m += (codes[i] & EF_IN_SAMPLE) != 0;
    }
    *positions = ef_alloc(n, sizeof **positions);
    if (*positions == NULL)
        return ef_fail_memory(error);
    *n_jury = n;
    *n_sample = m;
    n = 0;
    for (size_t i = 0; i < n_rows; i++)
        if ((codes[i] & EF_MARKS) != 0)
            (*positions)[(codes[i] & EF_IN_SAMPLE) != 0 ? n++ : m++] = i;
    return EFFACE_OK;
}
