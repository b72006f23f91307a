/*
 * A segmented regression follows a change: k-means first, then the sums.
 *
 * Why this is exact: sums are sums over the rows of each segment, and the segment of a row follows
 * from the row and the dividers alone. So while these stay, a row that leaves is in the segment
 * that it was added to. Where they move, the rows are compared one by one: all others are summed
 * where they belong already.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "model/segmented/regressions.h"
#include "model/segmented/segmented.h"

#include <string.h>

#define MAX_MOVED 8      /* if one in so many rows moves or changes, all are summed up again */
#define FEW_ROWS 256     /* that change are never many */
#define MAX_PRODUCTS 2e8 /* that change their place in one go: a tenth of a second or so */

static const char bound_moved[] = "the range of a column changes";
static const char many_rows[] = "so many rows change that adding up all is quicker";

/* What becomes of a state: other sums, or rows that leave, come, and move. */
typedef struct promise {
    void *kmeans;     /* what becomes of k-means */
    ef_moments *made; /* the sums of segments as they will be, n_made of them, */
    uint32_t n_made;  /* on grids with these exponents; */
    int32_t *exponents;
    size_t n_rows;            /* or NULL, and these rows leave or come: */
    int32_t *points;          /* their coordinates, */
    uint32_t *segments;       /* where they belong by the dividers as they were, */
    int64_t *weights;         /* negative: it leaves, */
    const ef_change *change;  /* and where they stand; */
    ef_segment_labels before; /* and, unless there are none, all rows of a set move from here */
    const efface_data *rows;  /* to the labels that are to be kept */
    int32_t *point;           /* room for the coordinates of one of them */
    ef_segment_labels labels; /* to be kept; if no row moves, they are still those of now, with room
                                 for rows that come */
    size_t n_labels;          /* rows of this rank, if none moves and rows are at hand */
} promise;

void ef_segmented_drop(void *next) {
    promise *const p = next;
    if (p == NULL)
        return;
    if (p->kmeans != NULL)
        ef_kmeans_drop(p->kmeans);
    ef_segments_free(p->made, p->n_made);
    ef_segment_labels_free(&p->before);
    ef_segment_labels_free(&p->labels);
    ef_free(p->point);
    ef_free(p->exponents);
    ef_free(p->points);
    ef_free(p->segments);
    ef_free(p->weights);
    ef_free(p);
}

/* ---------------------------------------------------------------- the dividers */

/* What a change means for the segments. */
typedef struct outlook {
    const ef_news *news;
    ef_division was, is;
    bool regrids; /* the grid of k-means may be another */
    bool divided; /* rows may belong to other segments */
    bool anew;    /* all is to be summed up again */
    uint64_t rows_visited;
} outlook;

static outlook look_segments(const ef_segmented *s, const ef_news *news, const promise *p) {
    const ef_map *const map = ef_kmeans_next_map(p->kmeans);
    outlook o = {.news = news, .regrids = map != NULL};
    o.was.map = &s->kmeans->domain.map;
    o.is.map = o.regrids ? map : o.was.map;
    o.was.centers = ef_kmeans_dividers(s->kmeans, &o.was.n);
    o.is.centers = ef_kmeans_next_dividers(p->kmeans, &o.is.n);
    const size_t n_values = (size_t)o.is.n * s->coordinates.n_columns;
    o.divided = o.regrids || o.was.n != o.is.n ||
                (n_values != 0 &&
                 memcmp(o.was.centers, o.is.centers, n_values * sizeof *o.is.centers) != 0);
    return o;
}

/* ---------------------------------------------------------------- rows of the change */

/* By the dividers as they were: rows that come move on with all others. */
static efface_status find_changed(const ef_segmented *s, const outlook *o, promise *p,
                                  efface_error *error) {
    const ef_change *const change = o->news->change;
    const size_t n = change->n_rows;
    p->points = ef_alloc(n, s->coordinates.n * sizeof *p->points);
    p->segments = ef_alloc(n, sizeof *p->segments);
    p->weights = ef_alloc(n, sizeof *p->weights);
    const efface_status status = p->points != NULL && p->segments != NULL && p->weights != NULL
                                     ? ef_segments_of_change(&o->was, change, p->segments, error)
                                     : ef_fail_memory(error);
    if (status != EFFACE_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        p->weights[i] = ef_change_weight(change, i);
        ef_coordinates_of_row(&s->coordinates, ef_change_first(change, i),
                              p->points + i * s->coordinates.n);
    }
    p->n_rows = n;
    p->change = change;
    return EFFACE_OK;
}

/* Room for the labels of rows that come; without it, labels are not kept any more. */
static void reserve_labels(const ef_segmented *s, const outlook *o, promise *p) {
    const size_t n = o->news->rows != NULL ? o->news->rows->n_rows : 0;
    p->n_labels = n;
    if (s->labels.of == NULL || n <= s->labels.capacity || !ef_segment_labels_init(&p->labels, n))
        return;
    p->labels.n_rows = s->labels.n_rows;
    memcpy(p->labels.of, s->labels.of, s->labels.n_rows * sizeof *s->labels.of);
}

/* ---------------------------------------------------------------- all rows */

static efface_status sum_up(const ef_segmented *s, outlook *o, const uint32_t *segment_of,
                            promise *p, efface_error *error) {
    const efface_data *const rows = o->news->rows;
    ef_coordinates grid = s->coordinates; /* with the exponents to be */
    float *const step = ef_alloc(grid.n_columns, sizeof *step);
    p->made = ef_segments_make(o->is.n, grid.n);
    p->n_made = p->made != NULL ? o->is.n : 0;
    if (step == NULL || p->made == NULL) {
        ef_free(step);
        return ef_fail_memory(error);
    }
    for (uint32_t j = 0; j < grid.n_columns; j++)
        step[j] = ef_step_bound(p->exponents[j]);
    grid.map.step = step;
    o->rows_visited += rows->n_rows;
    const efface_status status =
        ef_segments_sum_up(s, &grid, rows, segment_of, p->made, p->n_made, error);
    ef_free(step);
    return status;
}

/* The segments of all rows by the dividers to be. */
static efface_status find_after(const ef_segmented *s, outlook *o, const promise *p,
                                uint32_t *after, efface_error *error) {
    const efface_data *const rows = o->news->rows;
    size_t n_known = 0;
    if (ef_kmeans_next_labels(p->kmeans, after))
        while (n_known < rows->n_rows && after[n_known] < o->is.n)
            n_known++;
    if (n_known == rows->n_rows)
        return EFFACE_OK;
    o->rows_visited += rows->n_rows;
    return ef_segments_of_rows(s, &o->is, rows, after, error);
}

/* Those by the dividers as they were: kept, or found again. */
static efface_status find_before(const ef_segmented *s, outlook *o, promise *p,
                                 efface_error *error) {
    const efface_data *const rows = o->news->rows;
    const size_t n = s->labels.n_rows > rows->n_rows ? s->labels.n_rows : rows->n_rows;
    const efface_status status = find_changed(s, o, p, error);
    if (status != EFFACE_OK)
        return status;
    p->point = ef_alloc(s->coordinates.n, sizeof *p->point);
    if (p->point == NULL || !ef_segment_labels_init(&p->before, n))
        return ef_fail_memory(error);
    p->rows = rows;
    if (s->labels.of != NULL) {
        p->before.n_rows = s->labels.n_rows;
        memcpy(p->before.of, s->labels.of, s->labels.n_rows * sizeof *p->before.of);
        ef_segment_labels_follow(&p->before, o->news->change, p->segments);
        return EFFACE_OK;
    }
    o->rows_visited += rows->n_rows;
    return ef_segments_of_rows(s, &o->was, rows, p->before.of, error);
}

/* Whether few enough rows move to be moved one by one, and that without a question. */
static bool moves_few(const ef_segmented *s, const promise *p) {
    const size_t n = p->rows->n_rows;
    const double products = (double)s->coordinates.n * s->coordinates.n;
    size_t n_moved = 0;
    for (size_t i = 0; i < n; i++)
        n_moved += p->before.of[i] != p->labels.of[i];
    return n_moved <= n / MAX_MOVED && (double)n_moved * products <= MAX_PRODUCTS;
}

/* Segments of all rows. In a group they are always summed up again: what moves on the ranks would
 * have to be added up too. */
static efface_status divide_segments(const ef_segmented *s, outlook *o, promise *p,
                                     efface_error *error) {
    const bool compares =
        !o->anew && !o->regrids && o->was.n == o->is.n && o->news->rows->part == NULL;
    if (!ef_segment_labels_init(&p->labels, o->news->rows->n_rows))
        return ef_fail_memory(error);
    efface_status status = find_after(s, o, p, p->labels.of, error);
    if (status == EFFACE_OK && compares)
        status = find_before(s, o, p, error);
    if (status != EFFACE_OK || (compares && moves_few(s, p)))
        return status;
    return sum_up(s, o, p->labels.of, p, error);
}

/* ---------------------------------------------------------------- follow */

/* Whether so many rows change that adding them one by one takes longer than summing up. */
static bool is_much(const ef_news *news) {
    const size_t n = news->change->n_rows;
    return news->rows != NULL && n >= FEW_ROWS && n >= news->counts->n_rows / MAX_MOVED;
}

/* Says what is to be done beside what k-means does; the same for a look and for what then happens.
 */
static void put_report(bool moved, bool much, bool divided, const ef_news *news,
                       efface_report *report) {
    const uint64_t n = ef_news_n_rows(news);
    if (!divided && !moved && !much)
        return;
    if (!divided)
        report->reason = moved ? bound_moved : many_rows;
    if (report->action == EFFACE_ACTION_ADJUSTED)
        report->action = EFFACE_ACTION_REPAIRED;
    if (news->only_look)
        report->rows_visited += divided ? 3 * n : 2 * n;
}

/* The exponents of the grids as they will be. */
static efface_status find_exponents(const ef_segmented *s, const ef_counts *counts,
                                    int32_t *exponents, efface_error *error) {
    const bool any = counts->n_rows != 0;
    return ef_coordinates_find(&s->coordinates, s->params->bound, any ? counts->ranges.least : NULL,
                               any ? counts->ranges.most : NULL, exponents, error);
}

/* Works out the sums, k-means having been done; `done` is false if that takes rows. */
static efface_status make_sums(const ef_segmented *s, const ef_news *news, bool anew, promise *p,
                               bool *done, efface_report *report, efface_error *error) {
    outlook o = look_segments(s, news, p);
    o.anew = anew;
    const bool passes = anew || o.divided;
    *done = !passes || news->rows != NULL;
    if (!*done)
        return EFFACE_OK;
    const efface_status status =
        passes ? divide_segments(s, &o, p, error) : find_changed(s, &o, p, error);
    if (!passes && status == EFFACE_OK)
        reserve_labels(s, &o, p);
    report->rows_visited += o.rows_visited;
    return status;
}

efface_status ef_segmented_follow(void *state, const ef_news *news, void **next, bool *done,
                                  efface_report *report, efface_error *error) {
    ef_segmented *const s = state;
    const uint32_t d = s->coordinates.n_columns;
    promise *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    p->exponents = ef_alloc(d, sizeof *p->exponents);
    efface_status status = p->exponents != NULL
                               ? find_exponents(s, news->counts, p->exponents, error)
                               : ef_fail_memory(error);
    EF_THEN(status, ef_kmeans_follow(s->kmeans, news, &p->kmeans, done, report, error));
    if (status == EFFACE_OK && *done) {
        const bool moved =
            memcmp(p->exponents, s->coordinates.exponents, d * sizeof *p->exponents) != 0;
        /* Where nothing has happened to k-means, its dividers stay. */
        const bool touched =
            report->action != EFFACE_ACTION_ADJUSTED || report->reason != ef_because_nothing;
        const bool much = is_much(news);
        put_report(moved, much, touched, news, report);
        if (!news->only_look)
            status = make_sums(s, news, moved || much, p, done, report, error);
    }
    if (status == EFFACE_OK && *done && !news->only_look)
        *next = p;
    else
        ef_segmented_drop(p);
    return status;
}

/* ---------------------------------------------------------------- commit */

static void apply_changed(ef_segmented *s, const promise *p) {
    const uint32_t n = s->coordinates.n;
    for (size_t i = 0; i < p->n_rows; i++)
        ef_moments_add_row(&s->segments[p->segments[i]], p->points + i * n, p->weights[i]);
}

static void move_rows(ef_segmented *s, const promise *p) {
    for (size_t i = 0; i < p->rows->n_rows; i++) {
        const uint32_t from = p->before.of[i], to = p->labels.of[i];
        if (from == to)
            continue;
        ef_coordinates_of_row(&s->coordinates, ef_data_first(p->rows, i), p->point);
        ef_moments_add_row(&s->segments[from], p->point, -ef_data_weight(p->rows, i));
        ef_moments_add_row(&s->segments[to], p->point, ef_data_weight(p->rows, i));
    }
}

/* What was made beside takes the place of what there was. */
static void take_made(ef_segmented *s, promise *p) {
    ef_moments *const was = s->segments;
    const uint32_t n_was = s->n_segments;
    s->segments = p->made;
    s->n_segments = p->n_made;
    p->made = was;
    p->n_made = n_was;
    ef_coordinates_set(&s->coordinates, p->exponents);
}

/* Labels that are to be kept take the place of those that are, or these follow the change, if there
 * is room. */
static void take_labels(ef_segmented *s, promise *p, bool follow) {
    if (p->labels.of != NULL) {
        const ef_segment_labels was = s->labels;
        s->labels = p->labels;
        p->labels = was;
    }
    if (!follow || s->labels.of == NULL)
        return;
    if (s->labels.capacity >= p->n_labels)
        ef_segment_labels_follow(&s->labels, p->change, p->segments);
    else
        ef_segment_labels_free(&s->labels);
}

void ef_segmented_commit(void *state, void *next) {
    ef_segmented *const s = state;
    promise *const p = next;
    const bool stays = p->made == NULL && p->before.of == NULL; /* every row where it is */
    ef_regressions_free(atomic_exchange(&s->regressions, NULL));
    ef_kmeans_commit(s->kmeans, p->kmeans);
    p->kmeans = NULL;
    if (p->made != NULL) {
        take_made(s, p);
    } else {
        apply_changed(s, p);
        if (!stays)
            move_rows(s, p);
    }
    take_labels(s, p, stays);
    ef_segmented_drop(p);
}
