/*
 * A hospital predicts what a stay costs, and a patient withdraws.
 *
 * The table is made by a fixed formula: stays of patients with age, blood pressure, smoking, days
 * and cost. A store keeps it with a linear regression of the cost. Patient 17 withdraws. The
 * coefficients after that are compared, bit for bit, with those of a model that never saw a stay of
 * patient 17, and the receipt says what was done.
 *
 *     build/examples/hospital
 */
#define _POSIX_C_SOURCE 200809L /* for mkdtemp */

#include <efface/efface.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_PATIENTS 200u
#define N_STAYS (3 * N_PATIENTS)
#define N_COLUMNS 5u
#define COST 4u /* the column that is predicted */
#define PATIENT 17u
#define NOBODY N_PATIENTS

/* An intercept, and a coefficient for each column but the cost. */
typedef double coefficients[N_COLUMNS];

/* ------------------------------------------------------------------ the table */

static void make_stay(uint32_t stay, uint32_t patient, float values[N_COLUMNS]) {
    const float age = (float)(20 + patient * 37 % 61);
    const float pressure = (float)(100 + (patient * 13 + stay * 7) % 61);
    const float smoker = patient % 4 == 1 ? 1.0F : 0.0F;
    const float days = (float)(1 + (stay * stay + patient * 5) % 14);
    const float chance = (float)(stay * 7919 % 401) - 200.0F;
    values[0] = age;
    values[1] = pressure;
    values[2] = smoker;
    values[3] = days;
    values[COST] =
        500.0F + 12.0F * age + 4.0F * pressure + 650.0F * smoker + 900.0F * days + chance;
}

/* The stays of all patients but one, or of all patients if that is NOBODY. */
static efface_status make_table(uint32_t without, efface_data **out, efface_error *error) {
    static const char *const names[N_COLUMNS] = {"age", "pressure", "smoker", "days", "cost"};
    static float values[N_STAYS][N_COLUMNS];
    uint64_t ids[N_STAYS], owners[N_STAYS];
    efface_rows rows = {.values = values[0], .ids = ids, .owners = owners};
    for (uint32_t stay = 0; stay < N_STAYS; stay++) {
        const uint32_t patient = stay % N_PATIENTS;
        if (patient == without)
            continue;
        make_stay(stay, patient, values[rows.n_rows]);
        ids[rows.n_rows] = stay;
        owners[rows.n_rows++] = patient;
    }
    efface_data *data = NULL;
    efface_status status = efface_data_create(N_COLUMNS, &data, error);
    for (uint32_t j = 0; status == EFFACE_OK && j < N_COLUMNS; j++)
        status = efface_data_name_column(data, j, names[j], error);
    if (status == EFFACE_OK)
        status = efface_data_add(data, &rows, error);
    if (status == EFFACE_OK)
        *out = data;
    else
        efface_data_free(data);
    return status;
}

/* ------------------------------------------------------------------ the model */

/* Reads a table with one row: coefficients, or their standard errors. */
static efface_status read_coefficients(const efface_model *model, const char *table,
                                       coefficients values, efface_error *error) {
    return efface_predictor_read_table(efface_model_predictor(model), table, 0, NULL, values,
                                       error);
}

static efface_status show_model(efface_store *store, coefficients found, efface_error *error) {
    static const char *const names[N_COLUMNS] = {"intercept", "age", "pressure", "smoker", "days"};
    efface_data *data = NULL;
    efface_model *model = NULL;
    coefficients errors;
    efface_status status = efface_store_load(store, "cost", &data, &model, error);
    if (status == EFFACE_OK)
        status = read_coefficients(model, "coefficients", found, error);
    if (status == EFFACE_OK)
        status = read_coefficients(model, "errors", errors, error);
    if (status == EFFACE_OK) {
        printf("%zu stays\n", efface_data_n_rows(data));
        for (uint32_t j = 0; j < N_COLUMNS; j++)
            printf("  %-9s %10.4f  (standard error %.4f)\n", names[j], found[j], errors[j]);
    }
    efface_model_free(model);
    efface_data_free(data);
    return status;
}

/* What a model has that never saw a stay of the patient. */
static efface_status fit_without(uint32_t patient, const efface_sums_params *params,
                                 coefficients found, efface_error *error) {
    efface_data *others = NULL;
    efface_model *model = NULL;
    efface_status status = make_table(patient, &others, error);
    if (status == EFFACE_OK)
        status = efface_sums_fit(others, params, &model, error);
    if (status == EFFACE_OK)
        status = read_coefficients(model, "coefficients", found, error);
    efface_model_free(model);
    efface_data_free(others);
    return status;
}

/* ------------------------------------------------------------------ the withdrawal */

static efface_status withdraw(efface_store *store, const efface_sums_params *params, bool *same,
                              efface_error *error) {
    const uint64_t owner = PATIENT;
    const efface_request request = {.owners = &owner, .n_owners = 1};
    efface_store_report report = {0};
    coefficients before, after, never;
    char *receipt = NULL;
    efface_status status = show_model(store, before, error);
    if (status == EFFACE_OK)
        status = efface_store_forget(store, &request, &report, error);
    if (status == EFFACE_OK)
        printf("\npatient %u withdraws: %" PRIu64 " stays are forgotten, %" PRIu64
               " others were looked at\n\n",
               PATIENT, report.n_forgotten, report.models[0].report.rows_visited);
    if (status == EFFACE_OK)
        status = show_model(store, after, error);
    if (status == EFFACE_OK)
        status = fit_without(PATIENT, params, never, error);
    if (status == EFFACE_OK)
        status = efface_store_receipt(store, report.receipt, &receipt, error);
    if (status == EFFACE_OK) {
        *same = memcmp(after, never, sizeof after) == 0 && memcmp(before, after, sizeof after) != 0;
        printf("\nThe coefficients have %s bits as those of a model that never saw patient %u.\n",
               *same ? "the same" : "NOT the same", PATIENT);
        printf("receipt: %s\n", receipt);
    }
    efface_text_free(receipt);
    efface_store_report_free(&report);
    return status;
}

int main(void) {
    char folder[] = "/tmp/hospital-XXXXXX", path[sizeof folder + sizeof "/stays.store"];
    efface_data *stays = NULL;
    efface_store *store = NULL;
    efface_error error;
    bool same = false;
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return EXIT_FAILURE;
    }
    (void)snprintf(path, sizeof path, "%s/stays.store", folder);

    /* A linear regression of the cost on the other columns. */
    const uint32_t target = COST;
    efface_sums_params params;
    efface_sums_params_init(&params);
    params.view = EFFACE_VIEW_LINEAR;
    params.targets = &target;
    params.n_targets = 1;
    const efface_new_model cost = {.name = "cost", .params = &params.common};

    const bool done =
        make_table(NOBODY, &stays, &error) == EFFACE_OK &&
        efface_store_create(path, stays, NULL, NULL, &cost, 1, &store, &error) == EFFACE_OK &&
        withdraw(store, &params, &same, &error) == EFFACE_OK;
    if (!done)
        fprintf(stderr, "%s\n", error.message);
    efface_store_close(store);
    efface_data_free(stays);
    (void)unlink(path);
    (void)rmdir(folder);
    return done && same ? EXIT_SUCCESS : EXIT_FAILURE;
}
