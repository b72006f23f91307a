/*
 * A logistic model follows a change: the walk of a fit is done again, and the points that it asks
 * for are answered by those that there are, less what the rows of the change had added.
 *
 * Why this is exact: the sums at a point are sums of whole numbers over rows, each of which depends
 * on its row and the point alone. So correcting them gives the sums over the rows that there are
 * now, and the walk does what that of a fit would. From the first point that it asks for and that is not
 * the next one, it gets its answers from the rows.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/logistic/logistic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_POINTS_OF_LEVEL 33 /* eleven on each lattice */
#define FEW_ROWS 256           /* that change are never many */
#define MANY 8                 /* one in so many is */

static const char bound_moved[] = "the range of a column changes";
static const char classes_changed[] = "the classes of the rows change";
static const char size_moved[] = "the size of the sample changes";
static const char in_sample[] = "other rows are in the sample";
static const char width_moved[] = "coefficients are rounded to another width";
static const char spread_moved[] = "the spread of a column changes";
static const char many_rows[] = "so many rows change that adding up all is quicker";
static const char step_differs[] = "a step of the fit ends at another point";

/* What becomes of a state: another one, or other runs. */
typedef struct revision {
    ef_logistic *fresh;
    ef_logistic_counts counts;
    ef_newton_run *runs;
    uint32_t n_runs;
} revision;

void ef_logistic_drop(void *next) {
    revision *const r = next;
    if (r == NULL)
        return;
    ef_logistic_free(r->fresh);
    ef_logistic_counts_free(&r->counts);
    for (uint32_t i = 0; i < r->n_runs; i++)
        ef_run_free(&r->runs[i]);
    ef_free(r->runs);
    ef_free(r);
}

/* A change as it is followed. */
typedef struct following {
    const ef_logistic *s;
    const ef_news *news;
    revision *r;
    int32_t *terms;      /* of one row */
    double *c;           /* coefficients times 2^-23 */
    ef_passing *passing; /* once rows are needed, or NULL */
    uint64_t n_passes;
    uint32_t run;     /* the one that follows, */
    int64_t label;    /* its class, */
    bool is_same;     /* and whether all its points so far are those that there were */
    uint32_t changed; /* the first run that differs; n_runs for none, */
    uint32_t from;    /* and the number of its first step that does */
} following;

/* ---------------------------------------------------------------- what is counted */

static void row_terms(const following *f, size_t i) {
    ef_logistic_terms_of_row(f->s, ef_change_first(f->news->change, i), f->terms);
}

/* Whether a class gets its first row, or loses its last; else the rows of classes are counted. */
static bool recount_classes(const following *f) {
    const ef_change *const change = f->news->change;
    ef_logistic_counts *const counts = &f->r->counts;
    for (size_t i = 0; i < change->n_rows; i++) {
        const int64_t label = change->rows[i].label;
        const uint32_t c = ef_logistic_find_class(counts, label);
        if (label == EFFACE_NO_LABEL)
            continue;
        if (c == counts->n_classes)
            return true;
        counts->class_rows[c] += change->leaves[i] ? UINT64_MAX : 1;
    }
    for (uint32_t c = 0; c < counts->n_classes; c++)
        if (counts->class_rows[c] == 0)
            return true;
    return false;
}

static efface_status count_rows(following *f, bool *classes_differ, efface_error *error) {
    const ef_logistic_counts *const was = &f->s->counts;
    const ef_change *const change = f->news->change;
    ef_logistic_counts *const counts = &f->r->counts;
    counts->totals = (ef_totals){f->news->counts->n_rows, f->news->counts->total_weight};
    if (!ef_logistic_take_classes(counts, was->n_classes) ||
        !ef_moments_init(&counts->all, f->s->n_terms, EFFACE_SUMMED_DIAGONAL))
        return ef_fail_memory(error);
    for (uint32_t c = 0; c < was->n_classes; c++) {
        counts->labels[c] = was->labels[c];
        counts->class_rows[c] = was->class_rows[c];
    }
    ef_moments_add(&counts->all, &was->all);
    for (size_t i = 0; i < change->n_rows; i++) {
        if (change->rows[i].label == EFFACE_NO_LABEL)
            continue;
        row_terms(f, i);
        ef_moments_add_row(&counts->all, f->terms, ef_change_weight(change, i));
    }
    *classes_differ = recount_classes(f);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- what takes a fit */

static bool is_much(const ef_news *news) {
    const size_t n = news->change->n_rows;
    return news->rows != NULL && n >= FEW_ROWS && n * MANY >= news->counts->n_rows;
}

static bool has_sampled(const following *f, unsigned shift) {
    const ef_change *const change = f->news->change;
    for (size_t i = 0; i < change->n_rows; i++)
        if (change->rows[i].label != EFFACE_NO_LABEL &&
            ef_lattice_samples(f->s->params->common.seed, shift, change->rows[i].id))
            return true;
    return false;
}

static bool spreads_differ(const following *f) {
    for (uint32_t j = 0; j < f->s->n_terms; j++)
        if (ef_lattice_spread(f->r->counts.all.products[j]) !=
            ef_lattice_spread(f->s->counts.all.products[j]))
            return true;
    return false;
}

/* Why all has to be fitted again, or NULL. */
static const char *reason_to_fit(const following *f) {
    const ef_lattice_basis was = ef_logistic_basis(f->s, &f->s->counts),
                           is = ef_logistic_basis(f->s, &f->r->counts);
    if (was.shift != is.shift)
        return size_moved;
    if (has_sampled(f, is.shift))
        return in_sample;
    if (memcmp(was.widths, is.widths, sizeof is.widths) != 0)
        return width_moved;
    if (spreads_differ(f))
        return spread_moved;
    return is_much(f->news) ? many_rows : NULL;
}

static efface_status exponents_differ(const ef_logistic *s, const ef_counts *counts, bool *differ,
                                      efface_error *error) {
    const uint32_t d = s->coordinates.n_columns;
    const bool any = counts->n_rows != 0;
    int32_t *const exponents = ef_alloc(d, sizeof *exponents);
    if (exponents == NULL)
        return ef_fail_memory(error);
    const efface_status status =
        ef_coordinates_find(&s->coordinates, s->params->bound, any ? counts->ranges.least : NULL,
                            any ? counts->ranges.most : NULL, exponents, error);
    *differ = status == EFFACE_OK &&
              memcmp(exponents, s->coordinates.exponents, d * sizeof *exponents) != 0;
    ef_free(exponents);
    return status;
}

/* ---------------------------------------------------------------- the sums at a point */

/* The sums that there are, corrected by the rows of the change. */
static void correct_sums(following *f, const ef_run_point *was, const double *b,
                         ef_run_point *point) {
    const ef_change *const change = f->news->change;
    const uint32_t n = f->s->n_terms;
    const ef_run_point whole = *point;
    point->loss = was->loss;
    point->is_partial = !was->is_level;
    if (was->is_level) {
        memcpy(point->slopes, was->slopes, n * sizeof *was->slopes);
        if (was->curvatures != NULL)
            memcpy(point->curvatures, was->curvatures, ef_n_pairs(n) * sizeof *was->curvatures);
    } else { /* the loss alone */
        point->slopes = point->curvatures = NULL;
    }
    for (uint32_t j = 0; j < n; j++)
        f->c[j] = b[j] * 0x1p-23;
    for (size_t i = 0; i < change->n_rows; i++) {
        if (change->rows[i].label == EFFACE_NO_LABEL)
            continue;
        row_terms(f, i);
        ef_run_point_add_row(point, f->s->params->loss, f->c, f->terms, n,
                             ef_change_weight(change, i), change->rows[i].label == f->label);
    }
    point->slopes = whole.slopes;
    point->curvatures = whole.curvatures;
}

/* How many steps of a run lead to the point with a number. */
static uint32_t steps_before(const ef_newton_run *run, uint32_t number) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < number && i < run->n_points; i++)
        n += run->points[i].is_level;
    return n;
}

static bool is_there(const following *f, uint32_t number, const ef_run_point *point) {
    const ef_newton_run *const was = &f->s->runs[f->run];
    return f->is_same && !point->is_partial && number < was->n_points &&
           was->points[number].stage == point->stage &&
           memcmp(was->points[number].steps, point->steps, f->s->n_terms * sizeof *point->steps) ==
               0;
}

static efface_status answer_by_change(void *context, uint32_t number, ef_run_point *point,
                                      const double *b, bool *known, efface_error *error) {
    following *const f = context;
    const ef_newton_run *const was = &f->s->runs[f->run];
    *known = true;
    if (is_there(f, number, point)) {
        correct_sums(f, &was->points[number], b, point);
        return EFFACE_OK;
    }
    if (f->changed == f->s->n_runs) {
        f->changed = f->run;
        f->from = steps_before(was, number) + 1;
    }
    f->is_same = false;
    *known = f->news->rows != NULL && !f->news->only_look;
    if (!*known)
        return EFFACE_OK;
    efface_status status = EFFACE_OK;
    if (f->passing == NULL)
        status = ef_passing_begin(f->s, f->news->rows, &f->passing, error);
    f->n_passes++;
    point->loss = 0;
    return status == EFFACE_OK ? ef_passing_sum(f->passing, f->label, b, point, error) : status;
}

/* ---------------------------------------------------------------- the runs */

/* Lets all runs follow; `known` is false if one needs rows. */
static efface_status follow_runs(following *f, bool *known, efface_error *error) {
    const ef_logistic *const s = f->s;
    const ef_walk_rules rules = {&s->lattice, s->params->loss, s->params->steps};
    efface_status status = EFFACE_OK;
    *known = true;
    f->changed = s->n_runs;
    f->r->runs = ef_alloc_zero(s->n_runs, sizeof *f->r->runs);
    if (f->r->runs == NULL)
        return ef_fail_memory(error);
    for (f->run = 0; status == EFFACE_OK && *known && f->run < s->n_runs; f->run++) {
        f->label = ef_logistic_class(&s->counts, f->run);
        f->is_same = true;
        f->r->n_runs = f->run + 1;
        status = ef_run_walk(&rules, (ef_sums_source){answer_by_change, f}, &f->r->runs[f->run],
                             known, error);
        /* A run may also end before the last point that there was. */
        if (status == EFFACE_OK && *known && f->is_same && f->changed == s->n_runs &&
            f->r->runs[f->run].n_points != s->runs[f->run].n_points) {
            f->changed = f->run;
            f->from = steps_before(&s->runs[f->run], f->r->runs[f->run].n_points) + 1;
        }
    }
    return status;
}

static void put_where(const following *f, efface_report *report) {
    if (f->s->n_runs > 1)
        (void)snprintf(report->where, sizeof report->where, "class %" PRId64 ", from step %u on",
                       ef_logistic_class(&f->s->counts, f->changed), (unsigned)f->from);
    else
        (void)snprintf(report->where, sizeof report->where, "from step %u on", (unsigned)f->from);
}

static efface_status adjust(following *f, bool *done, efface_report *report, efface_error *error) {
    const ef_news *const news = f->news;
    const uint64_t n_rows = ef_news_n_rows(news);
    bool known;
    const efface_status status = follow_runs(f, &known, error);
    *done = known || news->only_look;
    report->action = EFFACE_ACTION_ADJUSTED;
    report->reason = ef_because_nothing;
    report->rows_visited = f->n_passes * n_rows;
    if (status != EFFACE_OK || f->changed == f->s->n_runs)
        return status;
    report->action = EFFACE_ACTION_REPAIRED;
    report->reason = step_differs;
    put_where(f, report);
    if (!known)
        report->rows_visited =
            n_rows * f->s->n_runs * MAX_POINTS_OF_LEVEL * (uint64_t)f->s->params->steps;
    return EFFACE_OK;
}

static efface_status fit_again(following *f, const char *reason, bool *done, efface_report *report,
                               efface_error *error) {
    const ef_news *const news = f->news;
    const ef_logistic *const s = f->s;
    const uint64_t n_rows = ef_news_n_rows(news);
    void *fresh = NULL;
    *done = news->only_look || news->rows != NULL;
    report->action = EFFACE_ACTION_REFITTED;
    report->reason = reason;
    report->rows_visited = n_rows * (2 + ((uint64_t)s->n_runs + news->change->n_rows + 1) *
                                             MAX_POINTS_OF_LEVEL * s->params->steps);
    if (!*done || news->only_look)
        return EFFACE_OK;
    const efface_status status = ef_logistic_fit(news->rows, &s->params->common, &fresh, error);
    f->r->fresh = fresh;
    if (status == EFFACE_OK)
        report->rows_visited = ef_logistic_visits(f->r->fresh, n_rows);
    return status;
}

efface_status ef_logistic_follow(void *state, const ef_news *news, void **next, bool *done,
                                 efface_report *report, efface_error *error) {
    const ef_logistic *const s = state;
    following f = {.s = s,
                   .news = news,
                   .r = ef_alloc_zero(1, sizeof *f.r),
                   .terms = ef_alloc(s->n_terms, sizeof *f.terms),
                   .c = ef_alloc(s->n_terms, sizeof *f.c)};
    bool moved = false, classes_differ = false;
    efface_status status =
        f.r != NULL && f.terms != NULL && f.c != NULL ? EFFACE_OK : ef_fail_memory(error);
    EF_THEN(status, exponents_differ(s, news->counts, &moved, error));
    if (status == EFFACE_OK && !moved)
        status = count_rows(&f, &classes_differ, error);
    if (status == EFFACE_OK) {
        const char *const reason = moved            ? bound_moved
                                   : classes_differ ? classes_changed
                                                    : reason_to_fit(&f);
        status = reason != NULL ? fit_again(&f, reason, done, report, error)
                                : adjust(&f, done, report, error);
    }
    ef_passing_end(f.passing);
    ef_free(f.terms);
    ef_free(f.c);
    if (status == EFFACE_OK && *done && !news->only_look)
        *next = f.r;
    else
        ef_logistic_drop(f.r);
    return status;
}

/* ---------------------------------------------------------------- commit */

void ef_logistic_commit(void *state, void *next) {
    ef_logistic *const s = state;
    revision *const r = next;
    if (r->fresh != NULL) {
        const ef_logistic was = *s;
        *s = *r->fresh;
        *r->fresh = was;
    } else {
        const ef_logistic_counts counts = s->counts;
        ef_newton_run *const runs = s->runs;
        const uint32_t n_runs = s->n_runs;
        s->counts = r->counts;
        s->runs = r->runs;
        s->n_runs = r->n_runs;
        r->counts = counts;
        r->runs = runs;
        r->n_runs = n_runs;
    }
    ef_logistic_drop(r);
}
