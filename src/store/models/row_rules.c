/*
 * What rows may be that come to a store, as its models have it: whether values may be missing in
 * some column, and which columns have categories. Those who load rows for the store ask for it.
 *
 * It is read when the store is opened, and when this handle adds or drops a model. A model that is
 * damaged is not found out here: it takes no missing values, and has no categories.
 */
#include "store/rows/store_columns.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/request/missing_values.h"
#include "store/models/records.h"
#include "store/store.h"

typedef struct rules {
    bool takes_none;  /* there are no models, or one is damaged */
    bool *refuses;    /* of each column of the store: a model takes no missing values there */
    bool *categories; /* the same: a model has them there */
} rules;

/* Adds the categories of a model. */
static efface_status add_categories(const ef_record *record, rules *r, efface_error *error) {
    const ef_family *const family = record->family;
    const uint32_t n = family->categories != NULL ? family->categories(record->params, NULL, 0) : 0;
    if (n == 0)
        return EFFACE_OK;
    uint32_t *const own = ef_alloc(n, sizeof *own);
    if (own == NULL)
        return ef_fail_memory(error);
    (void)family->categories(record->params, own, n);
    for (uint32_t i = 0; i < n; i++)
        if (own[i] < record->n_columns)
            r->categories[record->columns != NULL ? record->columns[own[i]] : own[i]] = true;
    ef_free(own);
    return EFFACE_OK;
}

static void add_refused(const ef_record *record, rules *r) {
    if (!ef_takes_missing(record->family, record->params))
        for (uint32_t j = 0; j < record->n_columns; j++)
            r->refuses[record->columns != NULL ? record->columns[j] : j] = true;
}

static efface_status read_rules_of(efface_store *store, const char *name, rules *r,
                                   efface_error *error) {
    ef_record record;
    efface_status status = ef_record_read(store, name, false, &record, error);
    if (status == EFFACE_OK) {
        add_refused(&record, r);
        status = add_categories(&record, r, error);
        ef_record_free(&record);
    }
    return status;
}

/* Damage is for others to tell. */
static efface_status forgive(efface_status status, rules *r) {
    if (status != EFFACE_E_CORRUPT && status != EFFACE_E_FORMAT)
        return status;
    r->takes_none = true;
    return EFFACE_OK;
}

static efface_status read_rules_of_all(efface_store *store, rules *r, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status = forgive(ef_models_list(store, &names, &n, error), r);
    r->takes_none |= n == 0;
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++)
        status = forgive(read_rules_of(store, names[i], r, error), r);
    ef_free(names);
    return status;
}

static efface_status keep_rules(efface_store *store, const rules *r, efface_error *error) {
    const uint32_t d = store->head.n_columns;
    efface_category *const made = ef_alloc(d, sizeof *made);
    efface_category *const complete = ef_alloc(d, sizeof *complete);
    if (made == NULL || complete == NULL) {
        ef_free(made);
        ef_free(complete);
        return ef_fail_memory(error);
    }
    ef_free(store->categories);
    ef_free(store->complete);
    store->categories = made;
    store->complete = complete;
    store->n_categories = store->n_complete = 0;
    store->takes_missing = false;
    for (uint32_t j = 0; j < d; j++) {
        const efface_category column = {.column = efface_store_column(store, j), .place = j + 1};
        store->takes_missing |= !r->takes_none && !r->refuses[j];
        if (r->refuses[j])
            complete[store->n_complete++] = column;
        if (r->categories[j])
            made[store->n_categories++] = column;
    }
    return EFFACE_OK;
}

efface_status ef_store_read_rules(efface_store *store, efface_error *error) {
    const uint32_t d = store->head.n_columns;
    rules r = {.refuses = ef_alloc_zero(d, sizeof *r.refuses),
               .categories = ef_alloc_zero(d, sizeof *r.categories)};
    efface_status status = r.refuses != NULL && r.categories != NULL
                               ? read_rules_of_all(store, &r, error)
                               : ef_fail_memory(error);
    if (status == EFFACE_OK)
        status = keep_rules(store, &r, error);
    ef_free(r.refuses);
    ef_free(r.categories);
    return status;
}
