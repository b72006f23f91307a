/* The table of families, and what tests do with any of them. */
#include "law/law_families.h"

#include "law/case_rows.h"
#include "model/family.h"

const law_family *const law_families[] = {&law_kmeans, &law_sums, &law_segmented, &law_forest,
                                          &law_logistic};
const size_t law_n_families = sizeof law_families / sizeof law_families[0];

const law_family *law_family_at(uint64_t number) {
    return law_families[number % law_n_families];
}

const law_family *law_family_for(const law_family *family, uint32_t n_columns) {
    size_t number = 0;
    while (law_families[number] != family)
        number++;
    while (law_family_at(number)->least_columns > n_columns)
        number++;
    return law_family_at(number);
}

const law_family *law_case_family_at(uint64_t number) {
    while (law_family_at(number)->draw_case == NULL)
        number++;
    return law_family_at(number);
}

/* ---------------------------------------------------------------- rows and cases */

law_rows law_make_rows(size_t n, uint32_t d) {
    law_rows rows = {.n = n, .d = d, .kind = "made"};
    rows.values = make(n * d, sizeof *rows.values);
    rows.ids = make(n, sizeof *rows.ids);
    rows.weights = make(n, sizeof *rows.weights);
    rows.labels = make(n, sizeof *rows.labels);
    for (size_t i = 0; i < n; i++) {
        rows.ids[i] = i;
        rows.weights[i] = 1;
        rows.labels[i] = EFFACE_NO_LABEL;
    }
    return rows;
}

void law_free_rows(law_rows *rows) {
    free(rows->values);
    free(rows->ids);
    free(rows->weights);
    free(rows->labels);
}

void law_draw_rows(law_rows *rows, uint64_t *stream) {
    static const uint32_t wide[] = {63, 64, 65, 100, 128, 130};
    rng_state = *stream;
    const size_t n = one_in(30) ? 0 : one_in(25) ? below(301) : one_in(3) ? below(12) : below(81);
    const uint32_t d = (uint32_t)(one_in(8) ? wide[below(6)] : 1 + below(one_in(3) ? 3 : 40));
    *rows = law_make_rows(n, d);
    fill_values(rows);
    if (one_in(12))
        fill_skewed(rows, next());
    const given_parts has = fill_ids_and_weights(rows);
    const uint64_t n_labels = 1 + below(6);
    for (size_t i = 0; i < n; i++) {
        rows->ids[i] = has.ids ? rows->ids[i] : i;
        rows->labels[i] = one_in(8) ? EFFACE_NO_LABEL : (int64_t)below(n_labels) - 2;
    }
    *stream = rng_state;
}

void law_draw_case(const law_family *family, law_case *c, const law_wish *wish, uint64_t *stream) {
    memset(c, 0, sizeof *c);
    if (family->draw_case != NULL) {
        family->draw_case(c, wish, stream);
        return;
    }
    *stream = mix(wish->seed);
    law_draw_rows(&c->rows, stream);
    family->draw(&c->params, &c->rows, wish->calm, stream);
}

/* ---------------------------------------------------------------- models */

efface_status law_fit(const efface_data *data, const law_params *params, efface_model **out,
                      efface_error *error) {
    return ef_model_fit(data, &params->common, out, error);
}

bool law_allows(const law_family *family, const law_params *params, const float *values,
                uint32_t d) {
    return family->allows == NULL || family->allows(params, values, d);
}

size_t law_name_ids(const law_family *family, const efface_model *model, const efface_data *data,
                    uint64_t *ids, size_t most, uint64_t *stream) {
    return family->name_ids != NULL ? family->name_ids(model, data, ids, most, stream) : 0;
}

void law_difference(const law_family *family, const law_params *params, const unsigned char *a,
                    size_t n_a, const unsigned char *b, size_t n_b, char text[LAW_TEXT_BYTES]) {
    size_t at = 0;
    if (family->differ != NULL) {
        family->differ(params, a, n_a, b, n_b, text);
        return;
    }
    while (at < n_a && at < n_b && a[at] == b[at])
        at++;
    (void)snprintf(text, LAW_TEXT_BYTES, "byte %zu; there are %zu and %zu", at, n_a, n_b);
}

void law_check(const law_family *family, const efface_model *model, const efface_model *fresh,
               const efface_data *data) {
    if (family->compare != NULL)
        family->compare(model, fresh, data);
    if (family->check != NULL)
        family->check(model, data);
}
