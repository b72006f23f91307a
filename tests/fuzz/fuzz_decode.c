/*
 * Any bytes as the state of a model. The first six are parameters and a set of rows
 * (decode_scene.h), the rest is the state. A state that is accepted must give its bytes again when
 * it is encoded; and whatever was accepted, the model can forget, learn and be verified: with an
 * error or with another result than a sound one, but without harm.
 *
 * Bytes that begin as a published model does are taken for one, with a digest that fits.
 */
#include "base/digest.h"
#include "decode_scene.h"

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

static void use(efface_model *model, efface_data *data) {
    static const uint64_t new_id = UINT64_C(1) << 40;
    const uint32_t d = efface_data_n_columns(data);
    const size_t n = efface_data_n_rows(data);
    float values[SCENE_MOST_COLUMNS];
    double coordinates[SCENE_MOST_COLUMNS], loss;
    efface_difference difference;
    for (uint32_t j = 0; j < d; j++)
        values[j] = (float)j - 0.75f;
    const efface_rows row = {.n_rows = 1, .values = values, .ids = &new_id};
    (void)efface_model_verify(model, data, &difference, NULL);
    (void)efface_kmeans_loss(model, data, &loss, NULL);
    for (uint32_t c = 0; c < efface_kmeans_get_info(model).n_clusters; c++)
        (void)efface_kmeans_centroid(model, c, coordinates, NULL);
    if (n != 0) {
        const uint64_t id = efface_data_row(data, n / 2).id;
        (void)efface_kmeans_is_seed(model, id);
        (void)efface_model_preview(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                   NULL);
        if (efface_model_forget(model, data, &(efface_request){.ids = &id, .n_ids = 1}, NULL,
                                NULL) == EFFACE_OK)
            require(efface_data_n_rows(data) == n - 1, "a row was not forgotten");
    }
    (void)efface_model_verify(model, data, &difference, NULL);
    (void)efface_model_learn(model, data, &row, NULL, NULL);
    (void)efface_model_verify(model, data, &difference, NULL);
}

/* ---------------------------------------------------------------- published models */

static void use_predictor(const efface_predictor *p) {
    const efface_predictor_info info = efface_predictor_get_info(p);
    const size_t d = info.n_columns;
    float *const rows = calloc(2 * d, sizeof *rows);
    double *const numbers = calloc(d, sizeof *numbers);
    efface_number labels[2] = {{.whole = -1}, {.whole = -1}};
    efface_table table;
    require(rows != NULL && numbers != NULL, "no memory");
    for (uint32_t j = 0; j < d; j++) {
        const char *const name = efface_predictor_column(p, j);
        require(name == NULL || name[0] != '\0', "an empty name");
        rows[d + j] = (float)j * 1e20f - 0.75f;
    }
    require(efface_predictor_predict(p, 2, rows, 0, labels, NULL) == EFFACE_OK, "no labels");
    require(efface_predictor_find_table(p, "centroids", &table, NULL) == EFFACE_OK, "no table");
    for (int i = 0; i < 2; i++)
        require(labels[i].whole >= 0 && (uint64_t)labels[i].whole < table.n_rows,
                "a label of no cluster");
    require(efface_predictor_read_table(p, "centroids", (uint64_t)labels[0].whole, numbers, NULL) ==
                EFFACE_OK,
            "no centroid");
    free(rows);
    free(numbers);
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
    if (n_bytes < SCENE_BYTES)
        return 0;
    scene s = {.data = NULL};
    efface_model *model = NULL;
    efface_error error;
    scene_read(&s, bytes);
    const unsigned char *const state = bytes + SCENE_BYTES;
    const size_t n_state = n_bytes - SCENE_BYTES;
    const efface_status status =
        efface_model_decode(state, n_state, &s.params.common, s.data, &model, &error);
    require(status == EFFACE_OK || (model == NULL && error.message[0] != '\0'),
            "refused without a reason, or with a model");
    if (status == EFFACE_OK) {
        check_bytes(model, state, n_state);
        use(model, s.data);
    }
    efface_model_free(model);
    efface_data_free(s.data);
    return 0;
}
