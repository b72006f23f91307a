/*
 * Any bytes as the state of a model. The first ones are a family, parameters and a set of rows
 * (decode_scene.h), the rest is the state. A state that is accepted must give its bytes again when
 * it is encoded; and whatever was accepted, the model can forget, learn and be verified: with an
 * error or with another result than a sound one, but without harm.
 *
 * Bytes that begin as a published model does are taken for one, with a digest that fits.
 */
#include "base/bytes/digest.h"
#include "fuzz/decode_scene.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

static void require(int holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_bytes(const efface_model *model, const unsigned char *right, size_t n_right) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    require(efface_model_encode(model, &bytes, &n_bytes, NULL) == EFFACE_OK, "no bytes");
    require(n_bytes == n_right && memcmp(bytes, right, n_bytes) == 0,
            "a state that was accepted is encoded to other bytes");
    efface_bytes_free(bytes);
}

/* What a model or a predictor says of two rows. Clusters are those of the first table. */
static void predict(const efface_model *m, const efface_predictor *p, uint32_t d,
                    uint32_t n_numbers) {
    float *const rows = calloc(2 * (size_t)d, sizeof *rows);
    efface_number *const numbers = calloc(2 * (size_t)n_numbers + 1, sizeof *numbers);
    require(rows != NULL && numbers != NULL, "no memory");
    for (uint32_t j = 0; j < d; j++)
        rows[d + j] = (float)j * 1e20f - 0.75f;
    const efface_status status =
        m != NULL ? efface_predictor_predict(efface_model_predictor(m), 2, rows, 0, numbers, NULL)
                  : efface_predictor_predict(p, 2, rows, 0, numbers, NULL);
    require(status == EFFACE_OK || m != NULL, "no prediction");
    const efface_predicts what =
        m != NULL ? efface_model_get_info(m).predicts : efface_predictor_get_info(p).predicts;
    efface_table table;
    if (status == EFFACE_OK && what == EFFACE_PREDICTS_CLUSTERS) {
        require((m != NULL ? efface_predictor_get_table(efface_model_predictor(m), 0, &table, NULL)
                           : efface_predictor_get_table(p, 0, &table, NULL)) == EFFACE_OK,
                "no table of clusters");
        for (size_t i = 0; i < 2 * (size_t)n_numbers; i++)
            require(numbers[i].whole >= 0 && (uint64_t)numbers[i].whole < table.n_rows,
                    "a label of no cluster");
    }
    free(rows);
    free(numbers);
}

#define MOST_TABLE_ROWS 100

static void read_tables(const efface_model *m, const efface_predictor *p) {
    efface_table table;
    for (uint32_t number = 0;
         (m != NULL ? efface_predictor_get_table(efface_model_predictor(m), number, &table, NULL)
                    : efface_predictor_get_table(p, number, &table, NULL)) == EFFACE_OK;
         number++) {
        double *const values = calloc((size_t)table.n_columns + 1, sizeof *values);
        require(values != NULL, "no memory");
        for (uint64_t row = 0; row < table.n_rows && row < MOST_TABLE_ROWS; row++)
            require((m != NULL ? efface_predictor_read_table(efface_model_predictor(m), table.name,
                                                             row, NULL, values, NULL)
                               : efface_predictor_read_table(p, table.name, row, NULL, values,
                                                             NULL)) == EFFACE_OK,
                    "no row of a table");
        free(values);
    }
}

static void use(const law_family *family, efface_model *model, efface_data *data) {
    static const uint64_t new_id = UINT64_C(1) << 40;
    const uint32_t d = efface_data_n_columns(data);
    const size_t n = efface_data_n_rows(data);
    float values[SCENE_MOST_COLUMNS];
    efface_difference difference;
    for (uint32_t j = 0; j < d; j++)
        values[j] = (float)j - 0.75f;
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &new_id};
    (void)efface_model_verify(model, data, &difference, NULL);
    predict(model, NULL, d, efface_model_get_info(model).n_numbers);
    read_tables(model, NULL);
    if (family->use != NULL)
        family->use(model, data);
    if (n != 0) {
        const uint64_t id = efface_data_row(data, n / 2).id;
        const efface_request request = {.ids = &id, .n_ids = 1};
        (void)efface_model_preview(model, data, &request, NULL, NULL);
        if (efface_model_forget(model, data, &request, NULL, NULL) == EFFACE_OK)
            require(efface_data_n_rows(data) == n - 1, "a row was not forgotten");
    }
    (void)efface_model_verify(model, data, &difference, NULL);
    (void)efface_model_learn(model, data, &row, NULL, NULL);
    (void)efface_model_verify(model, data, &difference, NULL);
}

/* ---------------------------------------------------------------- published models */

static void use_predictor(const efface_predictor *p) {
    const efface_predictor_info info = efface_predictor_get_info(p);
    for (uint32_t j = 0; j < info.n_columns; j++) {
        const char *const name = efface_predictor_column(p, j);
        require(name == NULL || name[0] != '\0', "an empty name");
    }
    predict(NULL, p, info.n_columns, info.n_numbers);
    read_tables(NULL, p);
}

static void try_predictor(const unsigned char *bytes, size_t n_bytes) {
    unsigned char *const sealed = malloc(n_bytes);
    efface_predictor *p = NULL;
    efface_error error = {.message = ""};
    require(sealed != NULL, "no memory");
    memcpy(sealed, bytes, n_bytes);
    if (n_bytes >= 16 + EFFACE_DIGEST_BYTES)
        ef_digest(sealed, n_bytes - EFFACE_DIGEST_BYTES, sealed + n_bytes - EFFACE_DIGEST_BYTES);
    const efface_status status = efface_predictor_decode(sealed, n_bytes, &p, &error);
    require(status == EFFACE_OK || (p == NULL && error.message[0] != '\0'),
            "refused without a reason, or with a predictor");
    if (status == EFFACE_OK)
        use_predictor(p);
    efface_predictor_free(p);
    free(sealed);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    if (n_bytes >= 16 && memcmp(bytes, EFFACE_PREDICTOR_MAGIC, 16) == 0) {
        try_predictor(bytes, n_bytes);
        return 0;
    }
    static scene s;
    efface_model *model = NULL;
    efface_error error;
    const size_t n_taken = scene_read(&s, bytes, n_bytes);
    const unsigned char *const state = bytes + n_taken;
    const size_t n_state = n_bytes - n_taken;
    const efface_status status =
        efface_model_decode(state, n_state, &s.params.common, s.data, &model, &error);
    require(status == EFFACE_OK || (model == NULL && error.message[0] != '\0'),
            "refused without a reason, or with a model");
    if (status == EFFACE_OK) {
        check_bytes(model, state, n_state);
        use(s.family, model, s.data);
    }
    efface_model_free(model);
    efface_data_free(s.data);
    return 0;
}
