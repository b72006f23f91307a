/* For tests of the CSV loader: texts, what they must give, and what must be wrong with them. */
#ifndef CSV_SCENE_H
#define CSV_SCENE_H

#include "load_scene.h"

static inline efface_load_options options_of(const char *id, const char *owner, const char *weight,
                                             const char *label) {
    efface_load_options options;
    efface_load_options_init(&options);
    options.id_column = id;
    options.owner_column = owner;
    options.weight_column = weight;
    options.label_column = label;
    return options;
}

/* Loads text and compares all values with n_rows * n_columns doubles, rounded to float. */
static inline efface_data *expect(const char *text, const efface_load_options *options,
                                  size_t n_rows, uint32_t n_columns, const double *values) {
    efface_data *const data = load_ok(text, strlen(text), options);
    assert_int_equal(efface_data_n_rows(data), n_rows);
    assert_int_equal(efface_data_n_columns(data), n_columns);
    for (size_t i = 0; i < n_rows * n_columns; i++) {
        const float value = ef_data_value(data, i / n_columns, (uint32_t)(i % n_columns));
        if (value != (float)values[i])
            fail_msg("\"%s\": value %zu is %g, not %g", text, i, (double)value, values[i]);
    }
    return data;
}

static inline void expect_values(const char *text, size_t n_rows, uint32_t n_columns,
                                 const double *values) {
    efface_data_free(expect(text, NULL, n_rows, n_columns, values));
}

static inline void bad(const char *text, const efface_load_options *options, efface_status status,
                       uint64_t line, uint64_t column, const char *words) {
    load_bad(text, strlen(text), options, status, line, column, words);
}

#endif
