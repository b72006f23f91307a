/*
 * Passes over the rows of a set, for the sums at a point.
 *
 * Rows of weight 1 go through the kernel for products, 128 at a time: the terms multiplied by q and
 * rounded are the columns on its one side, and the slope, in two parts, two columns more; the terms
 * are on its other side. All of them are whole numbers of at most 2^23, so that doubles are exact
 * (kernels.h). Rows of other weights are added one by one.
 */
#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "model/exact/passes.h"
#include "model/logistic/logistic.h"
#include "model/logistic/losses.h"

#include <string.h>

#define STRIP_DOUBLES ((size_t)EF_STRIP_ROWS * EF_STRIP)
#define BLOCK_PANELS (EF_STRIP_ROWS / EF_PANEL)
#define MAX_BLOCKS 1000 /* whose sums of at most 2^53 fit 64 bits together */
#define LOW_BITS 20     /* of a slope, which has at most 42 and a sign */

/* What a worker has. */
typedef struct worker {
    float *points;     /* a panel of terms */
    int32_t *terms;    /* of one row */
    double *bent;      /* strips of terms times q, and one of slopes */
    double *strips;    /* of terms */
    int64_t *products; /* of blocks that were not flushed yet, */
    int64_t *slopes;   /* and their slopes: eight rows, of which two are in use */
    unsigned n_blocks;
    ef_run_point own; /* everything else */
    void *block;
} worker;

struct ef_passing {
    const ef_logistic *of;
    ef_passes passes;
    ef_points points;
    size_t n_strips, width;
    worker *workers;
    int64_t label; /* of the pass under way, */
    bool bends;    /* which sums curvatures up, or slopes alone; */
    double *c;     /* coefficients times 2^-23 */
};

/* ---------------------------------------------------------------- making */

static size_t panel_work(uint32_t n_terms, bool bends) {
    return EF_PANEL * ((bends ? (size_t)n_terms * n_terms / 2 : 0) + 16 * (size_t)n_terms + 512);
}

static bool init_worker(const ef_passing *p, worker *w) {
    const size_t n = p->of->n_terms;
    const ef_array arrays[] = {
        {&w->points, n * EF_PANEL, sizeof *w->points},
        {&w->terms, n, sizeof *w->terms},
        {&w->bent, (p->n_strips + 1) * STRIP_DOUBLES, sizeof *w->bent},
        {&w->strips, p->n_strips * STRIP_DOUBLES, sizeof *w->strips},
        {&w->products, p->width * p->width, sizeof *w->products},
        {&w->slopes, EF_STRIP * p->width, sizeof *w->slopes},
    };
    w->block = EF_ARRAYS_TAKE(arrays, true);
    return w->block != NULL && ef_run_point_take(&w->own, p->of->n_terms);
}

efface_status ef_passing_begin(const ef_logistic *of, const efface_data *data, ef_passing **out,
                               efface_error *error) {
    const efface_params *const common = &of->params->common;
    const ef_interrupt interrupt = {common->interrupted, common->interrupt_context, NULL};
    ef_passing *const p = ef_alloc_zero(1, sizeof *p);
    if (p == NULL)
        return ef_fail_memory(error);
    p->of = of;
    p->points = ef_logistic_points(of);
    p->n_strips = ((size_t)of->n_terms + EF_STRIP - 1) / EF_STRIP;
    p->width = p->n_strips * EF_STRIP;
    efface_status status =
        ef_passes_init(&p->passes, data, &of->coordinates.map, panel_work(of->n_terms, true),
                       common->n_threads, interrupt, error);
    if (status == EFFACE_OK) {
        p->c = ef_alloc(of->n_terms, sizeof *p->c);
        p->workers = ef_alloc_zero(p->passes.n_workers, sizeof *p->workers);
        bool ok = p->c != NULL && p->workers != NULL;
        for (unsigned i = 0; ok && i < p->passes.n_workers; i++)
            ok = init_worker(p, &p->workers[i]);
        status = ok ? EFFACE_OK : ef_fail_memory(error);
    }
    if (status == EFFACE_OK)
        *out = p;
    else
        ef_passing_end(p);
    return status;
}

void ef_passing_end(ef_passing *p) {
    if (p == NULL)
        return;
    for (unsigned i = 0; p->workers != NULL && i < p->passes.n_workers; i++) {
        ef_free(p->workers[i].block);
        ef_run_point_free(&p->workers[i].own);
    }
    ef_free(p->workers);
    ef_free(p->c);
    if (p->passes.pool != NULL)
        ef_passes_free(&p->passes);
    ef_free(p);
}

/* ---------------------------------------------------------------- rows */

/* Moves what blocks have added up to where it cannot overflow. */
static void flush_blocks(const ef_passing *p, worker *w) {
    const uint32_t n = p->of->n_terms;
    ef_i128 *to = w->own.curvatures;
    for (size_t j = 0; j < n; j++)
        w->own.slopes[j] += (ef_i128)w->slopes[j] * (1 << LOW_BITS) + w->slopes[p->width + j];
    for (size_t j = 0; p->bends && j < n; j++)
        for (size_t l = j; l < n; l++)
            *to++ += w->products[j * p->width + l];
    if (p->bends)
        memset(w->products, 0, p->width * p->width * sizeof *w->products);
    memset(w->slopes, 0, EF_STRIP * p->width * sizeof *w->slopes);
    w->n_blocks = 0;
}

/* Writes the strips of up to sixteen rows, from row `at` of the block on. */
static void pack_rows(const ef_passing *p, worker *w, unsigned at, unsigned n_rows,
                      const double q[EF_PANEL], const int64_t slopes[EF_PANEL]) {
    const size_t place = (size_t)at * EF_STRIP;
    double *const of_slopes = w->bent + p->n_strips * STRIP_DOUBLES + place;
    p->passes.kernels->pack_strips(w->points, p->of->n_terms, n_rows, w->strips + place,
                                   STRIP_DOUBLES);
    for (uint32_t j = 0; p->bends && j < p->of->n_terms; j++) {
        const float *const x = w->points + (size_t)j * EF_PANEL;
        double *const to = w->bent + j / EF_STRIP * STRIP_DOUBLES + place + j % EF_STRIP;
        for (unsigned r = 0; r < n_rows; r++)
            to[r * EF_STRIP] = ef_round_even(q[r] * (double)x[r]);
    }
    for (unsigned r = 0; r < n_rows; r++) {
        const int64_t low = slopes[r] & ((1 << LOW_BITS) - 1);
        of_slopes[r * EF_STRIP] = (double)((slopes[r] - low) / (1 << LOW_BITS));
        of_slopes[r * EF_STRIP + 1] = (double)low;
    }
}

/* A row of a weight of its own. */
static void add_heavy(const ef_passing *p, worker *w, unsigned r, int64_t weight,
                      bool is_of_class) {
    for (uint32_t j = 0; j < p->of->n_terms; j++)
        w->terms[j] = (int32_t)w->points[(size_t)j * EF_PANEL + r];
    ef_run_point to = w->own;
    to.curvatures = p->bends ? w->own.curvatures : NULL;
    ef_run_point_add_row(&to, p->of->params->loss, p->c, w->terms, p->of->n_terms, weight,
                         is_of_class);
    w->own.loss = to.loss;
}

/* The rows of a panel, as rows from `at` on of a block. */
static void add_panel(const ef_passing *p, worker *w, size_t panel, unsigned at) {
    const efface_data *const data = p->passes.data;
    const unsigned n = ef_passes_rows(&p->passes, panel);
    double z[EF_PANEL] = {0}, q[EF_PANEL] = {0};
    int64_t slopes[EF_PANEL] = {0};
    p->points.make(p->points.context, ef_data_panel(data, panel), n, w->points);
    for (uint32_t j = 0; j < p->of->n_terms; j++) {
        const float *const x = w->points + (size_t)j * EF_PANEL;
        for (unsigned r = 0; r < EF_PANEL; r++)
            z[r] += p->c[j] * (double)x[r];
    }
    for (unsigned r = 0; r < n; r++) {
        const size_t position = panel * EF_PANEL + r;
        const int64_t label = data->labels != NULL ? data->labels[position] : EFFACE_NO_LABEL;
        const int64_t weight = ef_data_weight(data, position);
        if (label == EFFACE_NO_LABEL)
            continue;
        if (weight != 1) {
            add_heavy(p, w, r, weight, label == p->label);
            continue;
        }
        const ef_row_part part = ef_loss_part(p->of->params->loss, z[r], label == p->label);
        w->own.loss += part.loss;
        slopes[r] = part.slope;
        q[r] = part.q;
    }
    pack_rows(p, w, at, n, q, slopes);
}

static void add_block(const ef_passing *p, worker *w, unsigned n_rows) {
    const ef_kernels *const kernels = p->passes.kernels;
    for (size_t a = 0; p->bends && a < p->n_strips; a++)
        kernels->add_products(w->bent + a * STRIP_DOUBLES, w->strips + a * STRIP_DOUBLES,
                              STRIP_DOUBLES, (unsigned)(p->n_strips - a), n_rows,
                              w->products + (a * p->width + a) * EF_STRIP, p->width);
    kernels->add_products(w->bent + p->n_strips * STRIP_DOUBLES, w->strips, STRIP_DOUBLES,
                          (unsigned)p->n_strips, n_rows, w->slopes, p->width);
    if (++w->n_blocks == MAX_BLOCKS)
        flush_blocks(p, w);
}

static void work_on_panels(void *context, unsigned number, size_t first, size_t last) {
    const ef_passing *const p = context;
    worker *const w = &p->workers[number];
    for (size_t panel = first; panel < last; panel += BLOCK_PANELS) {
        unsigned n_rows = 0;
        for (size_t i = panel; i < last && i < panel + BLOCK_PANELS; i++) {
            add_panel(p, w, i, n_rows);
            n_rows += ef_passes_rows(&p->passes, i);
        }
        add_block(p, w, n_rows);
    }
}

/* ---------------------------------------------------------------- a pass */

static void clear_own(const ef_passing *p, ef_run_point *own) {
    own->loss = 0;
    memset(own->slopes, 0, p->of->n_terms * sizeof *own->slopes);
    if (p->bends)
        memset(own->curvatures, 0, ef_n_pairs(p->of->n_terms) * sizeof *own->curvatures);
}

static void collect(const ef_passing *p, const ef_run_point *own, ef_run_point *to) {
    to->loss += own->loss;
    for (size_t j = 0; j < p->of->n_terms; j++)
        to->slopes[j] += own->slopes[j];
    for (size_t j = 0; p->bends && j < ef_n_pairs(p->of->n_terms); j++)
        to->curvatures[j] += own->curvatures[j];
}

efface_status ef_passing_sum(ef_passing *p, int64_t label, const double *b, ef_run_point *point,
                             efface_error *error) {
    p->label = label;
    p->bends = point->curvatures != NULL;
    for (uint32_t j = 0; j < p->of->n_terms; j++)
        p->c[j] = b[j] * 0x1p-23;
    for (unsigned i = 0; i < p->passes.n_workers; i++)
        clear_own(p, &p->workers[i].own);
    const efface_status status =
        ef_passes_run(&p->passes, panel_work(p->of->n_terms, p->bends), work_on_panels, p, error);
    for (unsigned i = 0; i < p->passes.n_workers; i++) {
        flush_blocks(p, &p->workers[i]);
        collect(p, &p->workers[i].own, point);
    }
    return status;
}
