/* The table of functions of `forest`, and what only forests have. */
#define _POSIX_C_SOURCE 200809L
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/families.h"
#include "model/forest/forest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- states */

static const efface_params *params_of(const void *state) {
    return &((const ef_forest *)state)->params->common;
}

static ef_totals totals_of(const void *state) {
    return ((const ef_forest *)state)->totals;
}

/* While trees are looked at that may not be settled, nobody else settles them. A forest that was
 * published has no lock, and needs none. */
static void stop_settling(const ef_forest *f) {
    if (f->lock != NULL)
        ef_lock_take(f->lock);
}

static void let_settle(const ef_forest *f) {
    if (f->lock != NULL)
        ef_lock_leave(f->lock);
}

static size_t n_bytes(const void *state) {
    const ef_forest *const f = state;
    size_t n = sizeof *f + ef_forest_slots_bytes(&f->rows) + f->n_trees * sizeof *f->trees +
               f->classes.n_ids * (sizeof(int64_t) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
    stop_settling(f);
    for (uint32_t t = 0; t < f->n_trees; t++) {
        const ef_dtree *const tree = &f->trees[t];
        n += tree->capacity * sizeof *tree->nodes + tree->tally_bytes +
             2 * tree->n_chained * sizeof *tree->next +
             tree->noted_capacity * sizeof *tree->unsettled;
    }
    let_settle(f);
    return n;
}

static uint64_t n_visited(const void *state, const efface_data *data) {
    (void)state;
    return data->n_rows;
}

static bool takes_missing(const efface_params *common) {
    return ((const efface_forest_params *)(const void *)common)->missing != 0;
}

static uint32_t categories(const efface_params *common, uint32_t *columns, uint32_t capacity) {
    const efface_forest_params *const params = (const void *)common;
    for (uint32_t i = 0; i < params->n_categories && i < capacity; i++)
        columns[i] = params->categories[i];
    return params->n_categories;
}

static void tell_forest(ef_listener to, const char *name, uint64_t value) {
    to.each(to.context, &(efface_fact){.name = name, .whole = value});
}

/* How large trees are. */
static efface_forest_info measure_forest(const ef_forest *f) {
    efface_forest_info info = {.n_trees = f->n_trees, .n_rows = f->n_taking_part};
    stop_settling(f);
    for (uint32_t t = 0; t < f->n_trees; t++) {
        ef_walk walk = ef_walk_from(&f->trees[t], 0, 0);
        while (ef_walk_next(&walk)) {
            info.n_nodes++;
            info.n_leaves += !ef_is_split(&f->trees[t].nodes[walk.node]);
            info.depth = walk.depth > info.depth ? walk.depth : info.depth;
        }
        ef_walk_end(&walk);
        info.n_unsettled += f->trees[t].n_unsettled;
    }
    let_settle(f);
    return info;
}

static void describe_forest(const void *state, ef_listener to) {
    const ef_forest *const f = state;
    const efface_forest_info info = measure_forest(f);
    if (ef_forest_of_classes(f))
        tell_forest(to, "classes", f->classes.n);
    tell_forest(to, ef_forest_of_classes(f) ? "rows_without_class" : "rows_without_target",
                f->totals.n_rows - f->n_taking_part);
    tell_forest(to, "columns_tried", f->rules.n_candidates);
    tell_forest(to, "nodes", info.n_nodes);
    tell_forest(to, "leaves", info.n_leaves);
    tell_forest(to, "depth", info.depth);
}

/* ---------------------------------------------------------------- predictors */

/* A forest that was published, or that of a model. */
typedef struct ef_forest_predictor {
    const ef_forest *of;
    ef_forest *own;
} predictor;

static void lend_forest(const void *state, ef_lent *room) {
    const predictor lent = {.of = state};
    memcpy(room, &lent, sizeof lent);
}

static const ef_forest *forest_of(const void *by) {
    return ((const predictor *)by)->of;
}

static void write_predictor(ef_writer *w, const void *by) {
    ef_forest_write_predictor(w, forest_of(by));
}

static efface_status read_predictor(ef_decoder *r, uint32_t d, void **out, efface_error *error) {
    predictor *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    const efface_status status = ef_forest_read_predictor(r, d, &p->own, error);
    p->of = p->own;
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_free(p);
    return status;
}

static void free_predictor(void *by) {
    predictor *const p = by;
    ef_forest_free(p->own);
    ef_free(p);
}

static bool predicts_missing(const void *by) {
    return forest_of(by)->takes_missing;
}

static bool is_category(const void *by, uint32_t column) {
    const ef_forest *const f = forest_of(by);
    return column < f->n_columns && column != f->target &&
           f->are_categories[column - (column > f->target)];
}

/* Whether a tree has rows. A forest of none cannot predict. */
static bool has_rows(const ef_forest *f) {
    bool any = false;
    stop_settling(f);
    for (uint32_t t = 0; !any && t < f->n_trees; t++) {
        const ef_dnode *const root = &f->trees[t].nodes[0];
        any = root->kind != EF_LEAF || root->unsettled ||
              (ef_forest_of_classes(f) ? root->vote.n_classes != 0 : root->mean.weight > 0);
    }
    let_settle(f);
    return any;
}

static efface_predicts predicts_forest(const void *by, uint32_t *n_numbers) {
    const ef_forest *const f = forest_of(by);
    *n_numbers = has_rows(f) ? 1 : 0;
    return ef_forest_of_classes(f) ? EFFACE_PREDICTS_CLASSES : EFFACE_PREDICTS_VALUES;
}

static efface_status check_rows(const ef_forest *f, efface_error *error) {
    return has_rows(f) ? EFFACE_OK
                       : ef_fail(error, EFFACE_E_ARGUMENT,
                                 "the forest cannot predict: no row that has %s is left",
                                 ef_forest_of_classes(f) ? "a class" : "a target");
}

#define BLOCK 1024 /* rows whose votes are counted at once */

/* Votes of some rows after the others. */
static efface_status count_votes(const ef_forest *f, size_t n_rows, const float *values,
                                 size_t stride, efface_number *classes, double *shares,
                                 efface_error *error) {
    const uint32_t n = f->classes.n;
    efface_status status = check_rows(f, error);
    uint64_t *const sums = ef_alloc(n_rows < BLOCK ? n_rows : BLOCK, n * sizeof *sums);
    if (status == EFFACE_OK && sums == NULL)
        status = ef_fail_memory(error);
    for (size_t first = 0; status == EFFACE_OK && first < n_rows; first += BLOCK) {
        const size_t rest = n_rows - first, m = rest < BLOCK ? rest : BLOCK;
        status = ef_forest_vote(f, m, values + first * stride, stride, sums, error);
        for (size_t r = 0; status == EFFACE_OK && r < m; r++) {
            uint64_t total = 0;
            uint32_t best = 0;
            for (uint32_t c = 0; c < n; c++) {
                total += sums[r * n + c];
                best = sums[r * n + c] > sums[r * n + best] ? c : best;
            }
            if (classes != NULL)
                classes[first + r].whole = f->classes.labels[f->classes.ids[best]];
            for (uint32_t c = 0; shares != NULL && c < n; c++)
                shares[(first + r) * n + c] = (double)sums[r * n + c] / (double)total;
        }
    }
    ef_free(sums);
    return status;
}

static efface_status predict_forest(const void *by, size_t n_rows, const float *values,
                                    size_t stride, efface_number *numbers, efface_error *error) {
    const ef_forest *const f = forest_of(by);
    if (ef_forest_of_classes(f))
        return count_votes(f, n_rows, values, stride, numbers, NULL, error);
    const efface_status status = check_rows(f, error);
    return status == EFFACE_OK
               ? ef_forest_mean(f, n_rows, values, stride, (double *)(void *)numbers, error)
               : status;
}

static efface_status score_forest(const void *by, efface_scores scores, size_t n_rows,
                                  const float *values, size_t stride, double *numbers,
                                  efface_error *error) {
    const ef_forest *const f = forest_of(by);
    (void)scores;
    if (!ef_forest_of_classes(f))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the model predicts values, not classes, so that it has no scores");
    return count_votes(f, n_rows, values, stride, NULL, numbers, error);
}

static uint32_t classes_of(const void *by, int64_t *classes, size_t capacity) {
    const ef_forest *const f = forest_of(by);
    for (uint32_t c = 0; c < f->classes.n && c < capacity; c++)
        classes[c] = f->classes.labels[f->classes.ids[c]];
    return f->classes.n;
}

static bool is_input(const void *by, uint32_t column) {
    return column != forest_of(by)->target;
}

static uint32_t value_column(const void *by, uint32_t number) {
    return number == 0 ? forest_of(by)->target : EFFACE_NO_COLUMN;
}

/* ---------------------------------------------------------------- tables */

static bool get_table(const void *by, uint32_t number, efface_table *table) {
    static const char *const names[] = {"share", "gain"};
    const ef_forest *const f = forest_of(by);
    if (number != 0 || f->params == NULL)
        return false;
    *table = (efface_table){.name = "importances",
                            .row_name = "column",
                            .rows = EFFACE_TABLE_COLUMNS,
                            .row_ids = f->input_ids,
                            .n_rows = f->n_inputs,
                            .n_columns = 2,
                            .n_named = 2,
                            .names = names};
    return true;
}

/* Gains are added up when they are asked for first after a change. Threads that ask at the same
 * time do it twice, and one of them gives its own up. */
static bool find_gains(const ef_forest *f, uint64_t *gains) {
    stop_settling(f);
    bool known = *f->gains != NULL;
    if (known)
        memcpy(gains, *f->gains, f->n_inputs * sizeof *gains);
    let_settle(f);
    if (known)
        return true;
    uint64_t *const kept = ef_alloc(f->n_inputs, sizeof *kept);
    if (kept == NULL || !ef_forest_gains(f, kept)) {
        ef_free(kept);
        return false;
    }
    memcpy(gains, kept, f->n_inputs * sizeof *gains);
    stop_settling(f);
    known = *f->gains != NULL;
    if (!known)
        *f->gains = kept;
    let_settle(f);
    if (known)
        ef_free(kept);
    return true;
}

static efface_status read_table(const void *by, uint32_t number, uint64_t row,
                                const double *offsets, double *values, efface_error *error) {
    const ef_forest *const f = forest_of(by);
    uint64_t *const gains = ef_alloc(f->n_inputs, sizeof *gains);
    double total = 0.0;
    (void)number;
    (void)offsets;
    if (gains == NULL || !find_gains(f, gains)) {
        ef_free(gains);
        return ef_fail_memory(error);
    }
    for (uint32_t i = 0; i < f->n_inputs; i++)
        total += (double)gains[i];
    values[0] = total > 0.0 ? (double)gains[row] / total : 0.0;
    values[1] = (double)gains[row];
    ef_free(gains);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- the table of functions */

static const char *kind_of(const efface_params *params, const void *by) {
    const bool of_classes =
        params != NULL
            ? ((const efface_forest_params *)(const void *)params)->target == EFFACE_NO_COLUMN
            : ef_forest_of_classes(forest_of(by));
    return of_classes ? "classification forest" : "regression forest";
}

const ef_family ef_forest_family = {
    .number = EFFACE_FAMILY_FOREST,
    .name = "forest",
    .check_params = ef_forest_check_params,
    .copy_params = ef_forest_copy_params,
    .write_params = ef_forest_write_params,
    .read_params = ef_forest_read_params,
    .describe_params = ef_forest_describe_params,
    .kind = kind_of,
    .takes_missing = takes_missing,
    .categories = categories,
    .predicts_missing = predicts_missing,
    .fit = ef_forest_fit,
    .free = ef_forest_free,
    .params = params_of,
    .totals = totals_of,
    .n_bytes = n_bytes,
    .n_visited = n_visited,
    .describe = describe_forest,
    .follow = ef_forest_follow,
    .commit = ef_forest_commit,
    .drop = ef_forest_drop,
    .write = ef_forest_write,
    .read = ef_forest_read,
    .attach = ef_forest_attach,
    .is_outdated = ef_forest_is_outdated,
    .locate = ef_forest_locate,
    .cut = ef_forest_cut,
    .open = ef_forest_open,
    .lend = lend_forest,
    .write_predictor = write_predictor,
    .read_predictor = read_predictor,
    .free_predictor = free_predictor,
    .predicts = predicts_forest,
    .predict = predict_forest,
    .table = get_table,
    .read_table = read_table,
    .is_input = is_input,
    .is_category = is_category,
    .value_column = value_column,
    .classes = classes_of,
    .score = score_forest,
};

/* ---------------------------------------------------------------- what only forests have */

efface_status efface_forest_fit(const efface_data *data, const efface_forest_params *params,
                                efface_model **out, efface_error *error) {
    return ef_model_fit_as(&ef_forest_family, data, params != NULL ? &params->common : NULL, out,
                           error);
}

efface_forest_params efface_forest_get_params(const efface_model *model) {
    const ef_forest *const f = ef_model_state(model, &ef_forest_family, NULL);
    efface_forest_params params;
    efface_forest_params_init(&params);
    if (f == NULL)
        return params;
    const efface_params common = params.common;
    params = *f->params;
    params.common = common;
    params.common.n_threads = f->params->common.n_threads;
    return params;
}

efface_forest_info efface_forest_get_info(const efface_model *model) {
    const ef_forest *const f = ef_model_state(model, &ef_forest_family, NULL);
    return f != NULL ? measure_forest(f) : (efface_forest_info){0};
}

efface_status efface_forest_settle(const efface_model *model, efface_error *error) {
    const ef_forest *const f = ef_model_state(model, &ef_forest_family, error);
    if (f == NULL)
        return EFFACE_E_ARGUMENT;
    return ef_forest_settle_all(f) ? EFFACE_OK : ef_fail_memory(error);
}

efface_status efface_forest_leaves(const efface_model *model, size_t n_rows, const float *values,
                                   size_t stride, uint32_t *leaves, efface_error *error) {
    const ef_forest *const f = ef_model_state(model, &ef_forest_family, error);
    if (f == NULL)
        return EFFACE_E_ARGUMENT;
    if (n_rows != 0 && (values == NULL || leaves == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT, "values and leaves must not be NULL");
    ef_lent room;
    lend_forest(f, &room);
    const efface_status status =
        ef_matrix_check(&ef_forest_family, &room, f->n_columns, n_rows, values, &stride, error);
    return status == EFFACE_OK ? ef_forest_find_leaves(f, n_rows, values, stride, leaves, error)
                               : status;
}

efface_status efface_forest_importances(const efface_model *model, uint64_t *importances,
                                        efface_error *error) {
    const ef_forest *const f = ef_model_state(model, &ef_forest_family, error);
    if (f == NULL)
        return EFFACE_E_ARGUMENT;
    if (importances == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "importances must not be NULL");
    uint64_t *const gains = ef_alloc(f->n_inputs, sizeof *gains);
    if (gains == NULL || !find_gains(f, gains)) {
        ef_free(gains);
        return ef_fail_memory(error);
    }
    for (uint32_t j = 0; j < f->n_columns; j++)
        importances[j] = j == f->target ? 0 : gains[j - (j > f->target)];
    ef_free(gains);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- export */

static efface_status fail_file(const char *path, efface_error *error) {
    const int reason = errno;
    (void)ef_fail(error, EFFACE_E_IO, "%s cannot be written: %s", path, strerror(reason));
    ef_note_system(error, reason);
    return EFFACE_E_IO;
}

/* Writes bytes to a file beside its place, which it takes when it is complete. */
static efface_status write_file(const char *path, const ef_writer *w, efface_error *error) {
    static const char ending[] = ".efface-new";
    struct stat there;
    const size_t n = strlen(path);
    char *const beside = ef_alloc(n + sizeof ending, 1);
    if (beside == NULL)
        return ef_fail_memory(error);
    memcpy(beside, path, n);
    memcpy(beside + n, ending, sizeof ending);
    efface_status status = EFFACE_OK;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode))
        status = ef_fail(error, EFFACE_E_ARGUMENT,
                         "%s is not a regular file, and cannot be replaced", path);
    FILE *const file = status == EFFACE_OK ? fopen(beside, "wb") : NULL;
    if (status == EFFACE_OK && file == NULL)
        status = fail_file(path, error);
    if (file != NULL) {
        if (fwrite(w->bytes, 1, w->n_bytes, file) != w->n_bytes || fflush(file) != 0 ||
            fsync(fileno(file)) != 0)
            status = fail_file(path, error);
        if (fclose(file) != 0 && status == EFFACE_OK)
            status = fail_file(path, error);
        if (status == EFFACE_OK && rename(beside, path) != 0)
            status = fail_file(path, error);
        if (status != EFFACE_OK)
            (void)remove(beside);
    }
    ef_free(beside);
    return status;
}

efface_status efface_forest_export(const efface_model *model, const efface_data *data,
                                   const efface_texts *texts, const char *path,
                                   efface_error *error) {
    if (data == NULL || path == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and path must not be NULL");
    if (ef_model_state(model, &ef_forest_family, error) == NULL)
        return EFFACE_E_ARGUMENT;
    if (efface_data_n_columns(data) != model->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the set has another number of columns than the model");
    ef_writer w = {0};
    ef_predictor_write(&w, model, data, texts);
    const efface_status status = w.failed ? ef_fail_memory(error) : write_file(path, &w, error);
    ef_free(w.bytes);
    return status;
}
