/* The state of `sums`: made from rows, and changed with them. */
#include "model/sums/sums.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/sums/views/views.h"

#include <stdlib.h>
#include <string.h>

static const char bound_moved[] = "the range of a column changes";
static const char unit_moved[] = "the unit of a column changes";
static const char many_rows[] = "so many rows change that adding up all is quicker";

/* ---------------------------------------------------------------- making */

efface_status ef_sums_make(const efface_sums_params *params, uint32_t d, ef_sums **out,
                           efface_error *error) {
    ef_sums *const s = ef_alloc_zero(1, sizeof *s);
    if (s == NULL)
        return ef_fail_memory(error);
    const ef_coordinates_params of = {.n_columns = d,
                                      .targets = params->targets,
                                      .n_targets = params->n_targets,
                                      .n_fourier = params->n_fourier,
                                      .gamma = params->gamma,
                                      .seed = params->common.seed,
                                      .is_scaled = params->scale == EFFACE_SCALE_STANDARD};
    const efface_summed summed = ef_sums_needed(params), by_class = ef_sums_needed_by_class(params);
    s->summed = params->summed > summed ? params->summed : summed;
    s->by_class = params->by_class > by_class ? params->by_class : by_class;
    efface_status status = ef_coordinates_init(&s->coordinates, &of, error);
    if (status == EFFACE_OK) {
        s->params = (efface_sums_params *)(void *)ef_sums_copy_params(&params->common, d);
        s->views = ef_alloc(2, sizeof *s->views);
        for (int i = 0; s->views != NULL && i < 2; i++)
            atomic_init(&s->views[i], NULL);
        if (s->params == NULL || s->views == NULL ||
            !ef_moments_init(&s->all, s->coordinates.n, s->summed))
            status = ef_fail_memory(error);
    }
    if (status == EFFACE_OK)
        *out = s;
    else
        ef_sums_free(s);
    return status;
}

static void free_classes(int64_t *labels, ef_moments *classes, uint32_t n) {
    for (uint32_t c = 0; classes != NULL && c < n; c++)
        ef_moments_free(&classes[c]);
    ef_free(classes);
    ef_free(labels);
}

void ef_sums_free(void *state) {
    ef_sums *const s = state;
    if (s == NULL)
        return;
    for (int i = 0; s->views != NULL && i < 2; i++)
        ef_view_free(atomic_load(&s->views[i]));
    ef_free(s->views);
    free_classes(s->labels, s->classes, s->n_classes);
    ef_moments_free(&s->all);
    ef_coordinates_free(&s->coordinates);
    ef_free(s->params);
    ef_free(s);
}

/* ---------------------------------------------------------------- classes */

static int compare_labels(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

uint32_t ef_sums_find_class(const int64_t *labels, uint32_t n, int64_t label) {
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && labels[low] == label ? low : n;
}

/* Puts labels in order, each once and without that of no class. Returns how many are left. */
static size_t order_labels(int64_t *labels, size_t n) {
    size_t n_kept = 0;
    if (n != 0)
        qsort(labels, n, sizeof *labels, compare_labels);
    for (size_t i = 0; i < n; i++)
        if (labels[i] != EFFACE_NO_LABEL && (n_kept == 0 || labels[n_kept - 1] != labels[i]))
            labels[n_kept++] = labels[i];
    return n_kept;
}

/* The labels of all ranks, in order, in place of those of this one. */
static efface_status share_labels(ef_team *team, int64_t **labels, size_t *n, efface_error *error) {
    ef_gathered all;
    const efface_status status =
        ef_team_gather(team, *labels, *n * sizeof **labels, EFFACE_EVERY_RANK, &all, error);
    if (status != EFFACE_OK)
        return status;
    ef_free(*labels);
    *labels = (void *)all.bytes;
    *n = order_labels(*labels, all.begins[team->group.size] / sizeof **labels);
    all.bytes = NULL;
    ef_gathered_free(&all);
    return EFFACE_OK;
}

/* The classes of the rows of a set, with sums of no rows. */
static efface_status make_classes(ef_sums *s, const efface_data *data, efface_error *error) {
    const size_t n = data->labels != NULL ? data->n_rows : 0;
    int64_t *all = ef_alloc(n, sizeof *all);
    if (all == NULL)
        return ef_fail_memory(error);
    if (n != 0)
        memcpy(all, data->labels, n * sizeof *all);
    size_t n_classes = order_labels(all, n);
    if (data->part != NULL) {
        const efface_status status = share_labels(ef_data_team(data), &all, &n_classes, error);
        if (status != EFFACE_OK) {
            ef_free(all);
            return status;
        }
    }
    if (n_classes >= EF_NO_GROUP) {
        ef_free(all);
        return ef_fail(error, EFFACE_E_LIMIT, "there are more than 2^32 classes");
    }
    s->labels = ef_alloc(n_classes, sizeof *s->labels);
    s->classes = ef_alloc_zero(n_classes, sizeof *s->classes);
    bool ok = s->labels != NULL && s->classes != NULL;
    for (size_t c = 0; ok && c < n_classes; c++) {
        s->labels[c] = all[c];
        ok = ef_moments_init(&s->classes[c], s->coordinates.n, s->by_class);
        s->n_classes += ok;
    }
    ef_free(all);
    return ok ? EFFACE_OK : ef_fail_memory(error);
}

/* ---------------------------------------------------------------- fit */

/* Sums up all rows, and those of each class. */
static efface_status sum_up(ef_sums *s, const efface_data *data, const uint32_t *class_of,
                            const uint32_t *takes_part, efface_error *error) {
    const efface_params *const common = &s->params->common;
    ef_progress progress = {.told = common->progress, .context = common->interrupt_context};
    ef_summing all = {
        .data = data,
        .points = ef_coordinates_points(&s->coordinates),
        .groups = &s->all,
        .n_groups = 1,
        .group_of = takes_part,
        .n_threads = common->n_threads,
        .interrupt = {common->interrupted, common->interrupt_context,
                      common->progress != NULL ? &progress : NULL},
    };
    ef_summing by_class = all;
    by_class.groups = s->classes;
    by_class.n_groups = s->n_classes;
    by_class.group_of = class_of;
    progress.expected = ef_summing_work(&all) + ef_summing_work(&by_class) + 1.0;
    efface_status status = ef_sum_up(&all, error);
    if (status == EFFACE_OK && s->n_classes != 0)
        status = ef_sum_up(&by_class, error);
    if (status == EFFACE_OK && common->progress != NULL)
        ef_tell(&progress, 1.0);
    return status;
}

static efface_status sum_up_by_class(ef_sums *s, const efface_data *data, efface_error *error) {
    const size_t n = data->n_rows;
    uint32_t *const class_of = ef_alloc(n, sizeof *class_of);
    uint32_t *const takes_part = ef_alloc(n, sizeof *takes_part);
    efface_status status = class_of != NULL && takes_part != NULL ? make_classes(s, data, error)
                                                                  : ef_fail_memory(error);
    bool all = true;
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        const int64_t label = data->labels != NULL ? data->labels[i] : EFFACE_NO_LABEL;
        const bool has_class = label != EFFACE_NO_LABEL;
        class_of[i] = has_class ? ef_sums_find_class(s->labels, s->n_classes, label) : EF_NO_GROUP;
        takes_part[i] = has_class ? 0 : EF_NO_GROUP;
        all &= has_class;
    }
    EF_THEN(status, sum_up(s, data, class_of, all ? NULL : takes_part, error));
    ef_free(class_of);
    ef_free(takes_part);
    return status;
}

efface_status ef_sums_fit(const efface_data *data, const efface_params *common, void **state,
                          efface_error *error) {
    const efface_sums_params *const params = (const void *)common;
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_sums *s = NULL;
    efface_status status = ef_ask(&interrupt, error);
    EF_THEN(status, ef_sums_make(params, data->n_columns, &s, error));
    EF_THEN(status, ef_coordinates_find_of(&s->coordinates, params->bound, data,
                                           s->coordinates.exponents, error));
    if (status == EFFACE_OK && s->coordinates.is_scaled)
        status = ef_coordinates_find_units(&s->coordinates, data, common->seed, common->n_threads,
                                           interrupt, error);
    if (status == EFFACE_OK) {
        ef_coordinates_set(&s->coordinates, s->coordinates.exponents);
        s->totals = (ef_totals){ef_data_whole(data)->n_rows, ef_data_whole(data)->total_weight};
        status = s->by_class != EFFACE_SUMMED_NEEDED ? sum_up_by_class(s, data, error)
                                                     : sum_up(s, data, NULL, NULL, error);
    }
    if (status == EFFACE_OK)
        *state = s;
    else
        ef_sums_free(s);
    return status;
}

/* ---------------------------------------------------------------- follow */

/* What becomes of a state: another one; or rows to be added and taken out. */
typedef struct revision {
    ef_sums *fresh;
    ef_spreads *spreads; /* of inputs of Fourier features, or NULL */
    ef_totals totals;
    size_t n_rows;
    int32_t *points;  /* coordinates of each row */
    int64_t *weights; /* negative: it leaves */
    int64_t *labels;
    uint32_t n_classes; /* the classes as they will be, before those without rows go; those that */
    int64_t *class_labels; /* there are now have no sums here yet. NULL: no class comes */
    ef_moments *classes;
} revision;

void ef_sums_drop(void *next) {
    revision *const r = next;
    if (r == NULL)
        return;
    ef_sums_free(r->fresh);
    ef_spreads_free(r->spreads);
    free_classes(r->class_labels, r->classes, r->n_classes);
    ef_free(r->points);
    ef_free(r->weights);
    ef_free(r->labels);
    ef_free(r);
}

/* Makes room for classes that rows bring. */
static efface_status bring_classes(revision *r, const ef_sums *s, efface_error *error) {
    size_t n_new = 0;
    for (size_t i = 0; i < r->n_rows; i++)
        n_new += r->weights[i] > 0 && r->labels[i] != EFFACE_NO_LABEL &&
                 ef_sums_find_class(s->labels, s->n_classes, r->labels[i]) == s->n_classes;
    if (n_new == 0)
        return EFFACE_OK;
    int64_t *const labels = ef_alloc(s->n_classes + n_new, sizeof *labels);
    r->class_labels = labels;
    if (labels == NULL)
        return ef_fail_memory(error);
    size_t n = s->n_classes;
    if (n != 0)
        memcpy(labels, s->labels, n * sizeof *labels);
    for (size_t i = 0; i < r->n_rows; i++)
        if (r->weights[i] > 0 &&
            ef_sums_find_class(s->labels, s->n_classes, r->labels[i]) == s->n_classes)
            if (r->labels[i] != EFFACE_NO_LABEL)
                labels[n++] = r->labels[i];
    n = order_labels(labels, n);
    r->classes = ef_alloc_zero(n, sizeof *r->classes);
    if (r->classes == NULL || n >= EF_NO_GROUP)
        return ef_fail_memory(error);
    r->n_classes = (uint32_t)n;
    for (size_t c = 0; c < n; c++)
        if (ef_sums_find_class(s->labels, s->n_classes, labels[c]) == s->n_classes &&
            !ef_moments_init(&r->classes[c], s->coordinates.n, s->by_class))
            return ef_fail_memory(error);
    return EFFACE_OK;
}

static efface_status note_rows(revision *r, const ef_sums *s, const ef_change *change,
                               efface_error *error) {
    const size_t n = change->n_rows;
    r->points = ef_alloc(n, s->coordinates.n * sizeof *r->points);
    r->weights = ef_alloc(n, sizeof *r->weights);
    r->labels = ef_alloc(n, sizeof *r->labels);
    if (r->points == NULL || r->weights == NULL || r->labels == NULL)
        return ef_fail_memory(error);
    r->n_rows = n;
    for (size_t i = 0; i < n; i++) {
        ef_coordinates_of_row(&s->coordinates, ef_change_first(change, i),
                              r->points + i * s->coordinates.n);
        r->weights[i] = ef_change_weight(change, i);
        r->labels[i] = change->rows[i].label;
    }
    return s->by_class != EFFACE_SUMMED_NEEDED ? bring_classes(r, s, error) : EFFACE_OK;
}

/* The spreads of the inputs after the change; says why they cannot stand, if they cannot. */
static efface_status look_at_units(revision *r, const ef_sums *s, const ef_news *news,
                                   const char **moved, efface_error *error) {
    const ef_coordinates *const c = &s->coordinates;
    if (c->spreads == NULL)
        return EFFACE_OK;
    if (!ef_spreads_stand(c->spreads, news->counts, c->ignored)) {
        *moved = bound_moved;
        return EFFACE_OK;
    }
    r->spreads = ef_spreads_copy(c->spreads);
    if (r->spreads == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < news->change->n_rows; i++)
        ef_spreads_change(r->spreads, ef_change_first(news->change, i),
                          ef_change_weight(news->change, i));
    ef_spreads_place(r->spreads, s->params->common.seed);
    if (memcmp(r->spreads->units, c->spreads->units, c->n_columns * sizeof(double)) != 0)
        *moved = unit_moved;
    return EFFACE_OK;
}

/* Whether summing up anew takes less time. */
static bool is_much(const ef_sums *s, const ef_news *news) {
    const bool is_full = s->summed == EFFACE_SUMMED_FULL || s->by_class == EFFACE_SUMMED_FULL;
    return is_full && news->rows != NULL && news->change->n_rows >= 256 &&
           news->change->n_rows * 8 >= news->counts->n_rows;
}

efface_status ef_sums_follow(void *state, const ef_news *news, void **next, bool *done,
                             efface_report *report, efface_error *error) {
    const ef_sums *const s = state;
    const ef_counts *const counts = news->counts;
    const uint32_t d = s->coordinates.n_columns;
    int32_t *const exponents = ef_alloc(d, sizeof *exponents);
    revision *const r = ef_alloc_zero(1, sizeof *r);
    const bool any = counts->n_rows != 0;
    efface_status status =
        exponents != NULL && r != NULL
            ? ef_coordinates_find(&s->coordinates, s->params->bound,
                                  any ? counts->ranges.least : NULL,
                                  any ? counts->ranges.most : NULL, exponents, error)
            : ef_fail_memory(error);
    const char *moved = NULL;
    EF_THEN(status, look_at_units(r, s, news, &moved, error));
    if (status == EFFACE_OK) {
        if (memcmp(exponents, s->coordinates.exponents, d * sizeof *exponents) != 0)
            moved = bound_moved;
        const bool refits = moved != NULL || is_much(s, news);
        *done = news->only_look || !refits || news->rows != NULL;
        report->action = refits ? EFFACE_ACTION_REFITTED : EFFACE_ACTION_ADJUSTED;
        report->reason = moved != NULL ? moved : refits ? many_rows : ef_because_nothing;
        report->rows_visited = refits ? ef_news_n_rows(news) : 0;
        r->totals = (ef_totals){counts->n_rows, counts->total_weight};
        if (*done && !news->only_look) {
            void *fresh = NULL;
            status = refits ? ef_sums_fit(news->rows, &s->params->common, &fresh, error)
                            : note_rows(r, s, news->change, error);
            r->fresh = fresh;
        }
    }
    ef_free(exponents);
    if (status == EFFACE_OK && *done && !news->only_look)
        *next = r;
    else
        ef_sums_drop(r);
    return status;
}

/* ---------------------------------------------------------------- commit */

/* Takes over the sums of classes that are there already. */
static void take_classes(ef_sums *s, revision *r) {
    for (uint32_t c = 0; c < s->n_classes; c++)
        r->classes[ef_sums_find_class(r->class_labels, r->n_classes, s->labels[c])] = s->classes[c];
    ef_free(s->classes);
    ef_free(s->labels);
    s->labels = r->class_labels;
    s->classes = r->classes;
    s->n_classes = r->n_classes;
    r->class_labels = NULL;
    r->classes = NULL;
    r->n_classes = 0;
}

static void drop_empty_classes(ef_sums *s) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < s->n_classes; c++) {
        if (s->classes[c].n_rows == 0) {
            ef_moments_free(&s->classes[c]);
            continue;
        }
        s->labels[n] = s->labels[c];
        s->classes[n++] = s->classes[c];
    }
    if (n < s->n_classes) /* nothing of a class that is gone stays behind */
        ef_wipe(s->labels + n, (s->n_classes - n) * sizeof *s->labels);
    s->n_classes = n;
}

static void apply_rows(ef_sums *s, const revision *r) {
    for (size_t i = 0; i < r->n_rows; i++) {
        const int32_t *const point = r->points + i * s->coordinates.n;
        if (s->by_class == EFFACE_SUMMED_NEEDED) {
            ef_moments_add_row(&s->all, point, r->weights[i]);
            continue;
        }
        /* A state that was made of damaged bytes may lack the class of a row that leaves. */
        const uint32_t c = ef_sums_find_class(s->labels, s->n_classes, r->labels[i]);
        if (r->labels[i] == EFFACE_NO_LABEL || c == s->n_classes)
            continue;
        ef_moments_add_row(&s->all, point, r->weights[i]);
        ef_moments_add_row(&s->classes[c], point, r->weights[i]);
    }
}

void ef_sums_commit(void *state, void *next) {
    ef_sums *const s = state;
    revision *const r = next;
    for (int i = 0; i < 2; i++)
        ef_view_free(atomic_exchange(&s->views[i], NULL));
    if (r->fresh != NULL) {
        const ef_sums was = *s;
        *s = *r->fresh;
        *r->fresh = was;
    } else {
        if (r->class_labels != NULL)
            take_classes(s, r);
        apply_rows(s, r);
        drop_empty_classes(s);
        s->totals = r->totals;
        ef_spreads *const was = s->coordinates.spreads;
        s->coordinates.spreads = r->spreads;
        r->spreads = was;
    }
    ef_sums_drop(r);
}
