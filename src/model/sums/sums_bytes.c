/* The canonical bytes of `sums`, and where two states differ. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/sums/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "EFFACESU"
#define FORMAT 2
#define FORMAT_SCALED 3 /* has the spreads of the inputs of Fourier features */

static uint32_t format_of(const ef_coordinates *coordinates) {
    return coordinates->is_scaled ? FORMAT_SCALED : FORMAT;
}

/* ---------------------------------------------------------------- writing */

void ef_sums_write(ef_writer *w, const void *state) {
    const ef_sums *const s = state;
    const ef_coordinates *const of = &s->coordinates;
    ef_write_bytes(w, MAGIC, sizeof MAGIC - 1);
    ef_write_u32(w, format_of(of));
    ef_write_u32(w, of->n_columns);
    ef_write_u32(w, of->n);
    ef_write_u32(w, (uint32_t)s->summed);
    ef_write_u32(w, (uint32_t)s->by_class);
    ef_write_u64(w, s->totals.n_rows);
    ef_write_u64(w, (uint64_t)s->totals.total_weight);
    for (uint32_t j = 0; j < of->n_columns; j++)
        ef_write_u32(w, (uint32_t)of->exponents[j]);
    if (of->spreads != NULL)
        ef_spreads_write(w, of->spreads);
    ef_moments_write(w, &s->all);
    ef_write_cut(w);
    ef_write_u64(w, s->n_classes);
    for (uint32_t c = 0; c < s->n_classes; c++) {
        ef_write_cut(w);
        ef_write_u64(w, (uint64_t)s->labels[c]);
        ef_moments_write(w, &s->classes[c]);
    }
}

/* ---------------------------------------------------------------- reading */

static efface_status read_exponents(ef_decoder *r, ef_sums *s, efface_error *error) {
    ef_coordinates *const of = &s->coordinates;
    bool ok = true;
    for (uint32_t j = 0; j < of->n_columns; j++) {
        const bool has_grid =
            of->fourier.n_features == 0 || ef_coordinates_target(of, j) != EFFACE_NO_COLUMN;
        of->exponents[j] = (int32_t)ef_read_u32(r);
        ok &= has_grid ? of->exponents[j] >= EF_EXPONENT_MIN && of->exponents[j] <= EF_EXPONENT_MAX
                       : of->exponents[j] == 0;
    }
    if (r->failed || !ok)
        return ef_fail_state(error, "an exponent");
    ef_coordinates_set(of, of->exponents);
    return EFFACE_OK;
}

static efface_status read_units(ef_decoder *r, ef_sums *s, efface_error *error) {
    ef_coordinates *const of = &s->coordinates;
    bool short_of_memory = false;
    if (!of->is_scaled)
        return EFFACE_OK;
    ef_spreads *const spreads =
        ef_spreads_read(r, of->n_columns, s->totals.total_weight, of->ignored, &short_of_memory);
    if (spreads == NULL)
        return short_of_memory ? ef_fail_memory(error)
                               : ef_fail_state(error, "the spread of a column");
    ef_coordinates_take_units(of, spreads, s->params->common.seed);
    return EFFACE_OK;
}

static efface_status read_moments(ef_decoder *r, const ef_sums *s, efface_summed summed,
                                  ef_moments *to, efface_error *error) {
    bool short_of_memory = false;
    if (ef_moments_read(r, s->coordinates.n, summed, to, &short_of_memory))
        return EFFACE_OK;
    return short_of_memory ? ef_fail_memory(error) : ef_fail_state(error, "a sum");
}

static efface_status read_classes(ef_decoder *r, ef_sums *s, efface_error *error) {
    const uint64_t n = ef_read_u64(r);
    uint64_t n_rows = 0;
    int64_t weight = 0;
    if (r->failed || n > s->all.n_rows || n >= EF_NO_GROUP || !ef_decoder_has(r, (size_t)n, 24) ||
        (n != 0 && s->by_class == EFFACE_SUMMED_NEEDED))
        return ef_fail_state(error, "the number of classes");
    s->labels = ef_alloc_zero((size_t)n, sizeof *s->labels);
    s->classes = ef_alloc_zero((size_t)n, sizeof *s->classes);
    if (s->labels == NULL || s->classes == NULL)
        return ef_fail_memory(error);
    for (uint32_t c = 0; c < n; c++) {
        s->labels[c] = (int64_t)ef_read_u64(r);
        if (s->labels[c] == EFFACE_NO_LABEL || (c != 0 && s->labels[c] <= s->labels[c - 1]))
            return ef_fail_state(error, "a class");
        const efface_status status = read_moments(r, s, s->by_class, &s->classes[c], error);
        if (status != EFFACE_OK)
            return status;
        s->n_classes++;
        n_rows += s->classes[c].n_rows;
        weight += s->classes[c].weight;
        if (s->classes[c].n_rows == 0 || n_rows > s->all.n_rows || weight > s->all.weight)
            return ef_fail_state(error, "the rows of a class");
    }
    return s->by_class == EFFACE_SUMMED_NEEDED ||
                   (n_rows == s->all.n_rows && weight == s->all.weight)
               ? EFFACE_OK
               : ef_fail_state(error, "the rows of classes");
}

static efface_status read_body(ef_decoder *r, ef_sums *s, efface_error *error) {
    const uint32_t n = ef_read_u32(r), summed = ef_read_u32(r), by_class = ef_read_u32(r);
    s->totals.n_rows = ef_read_u64(r);
    s->totals.total_weight = (int64_t)ef_read_u64(r);
    if (r->failed || n != s->coordinates.n || summed != (uint32_t)s->summed ||
        by_class != (uint32_t)s->by_class || s->totals.total_weight < 0 ||
        s->totals.total_weight >= EFFACE_MAX_WEIGHT ||
        s->totals.n_rows > (uint64_t)s->totals.total_weight)
        return ef_fail_state(error, "a total");
    efface_status status = read_exponents(r, s, error);
    EF_THEN(status, read_units(r, s, error));
    if (status == EFFACE_OK) {
        ef_moments_free(&s->all);
        status = read_moments(r, s, s->summed, &s->all, error);
    }
    if (status == EFFACE_OK &&
        (s->by_class == EFFACE_SUMMED_NEEDED
             ? s->all.n_rows != s->totals.n_rows || s->all.weight != s->totals.total_weight
             : s->all.n_rows > s->totals.n_rows || s->all.weight > s->totals.total_weight))
        status = ef_fail_state(error, "a total");
    return status == EFFACE_OK ? read_classes(r, s, error) : status;
}

efface_status ef_sums_read(ef_decoder *r, const efface_params *params, uint32_t d, void **state,
                           efface_error *error) {
    char magic[sizeof MAGIC - 1];
    ef_read_bytes(r, magic, sizeof magic);
    const uint32_t format = ef_read_u32(r), n_columns = ef_read_u32(r);
    if (r->failed || memcmp(magic, MAGIC, sizeof magic) != 0 ||
        (format != FORMAT && format != FORMAT_SCALED))
        return ef_fail(error, EFFACE_E_FORMAT, "these bytes are not the state of a model");
    if (n_columns != d)
        return ef_fail_state(error, "the number of columns");
    ef_sums *s = NULL;
    efface_status status =
        ef_sums_make((const efface_sums_params *)(const void *)params, d, &s, error);
    if (status != EFFACE_OK)
        return status;
    status = format == format_of(&s->coordinates) ? read_body(r, s, error)
                                                  : ef_fail_state(error, "its scale");
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_sums_free(s);
    return status;
}

/* Whether these are the rows whose units the state has. */
static efface_status check_units(const ef_sums *s, const efface_data *data, efface_error *error) {
    const ef_interrupt interrupt = {s->params->common.interrupted,
                                    s->params->common.interrupt_context, NULL};
    ef_sums *other = NULL;
    efface_status status = ef_sums_make(s->params, s->coordinates.n_columns, &other, error);
    EF_THEN(status, ef_coordinates_find_units(&other->coordinates, data, s->params->common.seed,
                                              s->params->common.n_threads, interrupt, error));
    if (status == EFFACE_OK &&
        !ef_spreads_equal(other->coordinates.spreads, s->coordinates.spreads))
        status = ef_fail_state(error, "it belongs to other rows");
    ef_sums_free(other);
    return status;
}

efface_status ef_sums_attach(void *state, const efface_data *data, efface_error *error) {
    const ef_sums *const s = state;
    const uint32_t d = s->coordinates.n_columns;
    int32_t *const exponents = ef_alloc(d, sizeof *exponents);
    efface_status status =
        exponents != NULL
            ? ef_coordinates_find_of(&s->coordinates, s->params->bound, data, exponents, error)
            : ef_fail_memory(error);
    if (status == EFFACE_OK &&
        memcmp(exponents, s->coordinates.exponents, d * sizeof *exponents) != 0)
        status = ef_fail_state(error, "it belongs to other rows");
    ef_free(exponents);
    return status == EFFACE_OK && s->coordinates.is_scaled ? check_units(s, data, error) : status;
}

/* ---------------------------------------------------------------- where two differ */

/* A coordinate in words. */
static void name_point(const ef_coordinates *of, uint32_t point, char text[40]) {
    if (of->fourier.n_features != 0 && point < of->n_terms)
        (void)snprintf(text, 40, "feature %" PRIu32, point + 1);
    else
        (void)snprintf(text, 40, "column %" PRIu32,
                       (of->fourier.n_features != 0 ? of->targets[point - of->n_terms] : point) +
                           1);
}

static bool locate_moments(const ef_coordinates *of, const ef_moments *a, const ef_moments *b,
                           const char *class_text, efface_difference *difference) {
    uint32_t j = 0, l = 0;
    char first[40], second[40];
    if (!ef_moments_differ(a, b, &j, &l))
        return false;
    name_point(of, j, first);
    name_point(of, l, second);
    difference->what = "sum";
    (void)snprintf(difference->where, sizeof difference->where, "%s%s%s%s", class_text, first,
                   j != l ? " and " : "", j != l ? second : "");
    return true;
}

void ef_sums_locate(const void *a, const void *b, efface_difference *difference) {
    const ef_sums *const x = a, *const y = b;
    const ef_coordinates *const of = &x->coordinates;
    difference->what = "a total";
    if (of->n != y->coordinates.n || of->n_columns != y->coordinates.n_columns ||
        x->summed != y->summed || x->by_class != y->by_class)
        return;
    for (uint32_t j = 0; j < of->n_columns; j++)
        if (of->exponents[j] != y->coordinates.exponents[j]) {
            difference->what = "exponent";
            (void)snprintf(difference->where, sizeof difference->where, "column %" PRIu32, j + 1);
            return;
        }
    if (of->is_scaled && y->coordinates.is_scaled &&
        !ef_spreads_equal(of->spreads, y->coordinates.spreads)) {
        difference->what = "unit of a column";
        return;
    }
    if (locate_moments(of, &x->all, &y->all, "", difference))
        return;
    for (uint32_t c = 0; c < x->n_classes && c < y->n_classes; c++) {
        char text[48];
        (void)snprintf(text, sizeof text, "class %" PRId64 ", ", x->labels[c]);
        if (x->labels[c] != y->labels[c]) {
            difference->what = "class";
            return;
        }
        if (locate_moments(of, &x->classes[c], &y->classes[c], text, difference))
            return;
    }
}
