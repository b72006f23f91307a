/* Sums of many rows. */
#include "model/exact/summing.h"

#include "base/errors/status.h"
#include "base/memory/arrays.h"
#include "base/memory/memory.h"
#include "base/workers/threads.h"
#include "model/exact/passes.h"

#include <string.h>

#define BLOCK EF_STRIP_ROWS
#define STRIP_DOUBLES ((size_t)BLOCK * EF_STRIP)
#define MAX_BLOCKS 1000      /* whose sums of at most 2^53 fit 64 bits together */
#define WORTH_A_QUESTION 2e7 /* multiply-adds, of which there are some ten in a nanosecond */

/* What a worker has. */
typedef struct worker {
    float *values; /* a panel of rows that are not neighbours */
    float *points;
    double *strips;    /* of a block: FULL */
    int64_t *sums;     /* FULL: n */
    int64_t *products; /* FULL: as a square of whole strips */
    ef_moments *own;   /* else: groups of its own */
    void *block;
} worker;

/* A run over rows: those at `positions`, or all. */
typedef struct run {
    const ef_summing *of;
    const ef_kernels *kernels;
    worker *workers;
    size_t width; /* coordinates, rounded up to whole strips */
    const size_t *positions;
    size_t first, n_rows; /* those from the first on, a multiple of BLOCK, and before the last */
} run;

static size_t n_strips(uint32_t n) {
    return ((size_t)n + EF_STRIP - 1) / EF_STRIP;
}

static bool is_full(const ef_summing *s) {
    return s->groups[0].summed == EFFACE_SUMMED_FULL;
}

static double row_work(const ef_summing *s) {
    const double n = s->points.n;
    return (is_full(s) ? n * n / 2.0 : 0.0) + 16.0 * n;
}

double ef_summing_work(const ef_summing *s) {
    return s->n_groups != 0 ? (double)s->data->n_rows * row_work(s) : 0.0;
}

/* ---------------------------------------------------------------- workers */

static void free_worker(worker *w, const ef_summing *s) {
    for (uint32_t g = 0; w->own != NULL && g < s->n_groups; g++)
        ef_moments_free(&w->own[g]);
    ef_free(w->own);
    ef_free(w->block);
}

static bool init_worker(worker *w, const ef_summing *s) {
    const size_t n = s->points.n, strips = is_full(s) ? n_strips(s->points.n) : 0,
                 width = strips * EF_STRIP;
    const ef_array arrays[] = {
        {&w->values, (size_t)s->data->n_columns * EF_PANEL, sizeof *w->values},
        {&w->points, n * EF_PANEL, sizeof *w->points},
        {&w->strips, strips * STRIP_DOUBLES, sizeof *w->strips},
        {&w->sums, is_full(s) ? n : 0, sizeof *w->sums},
        {&w->products, width * width, sizeof *w->products},
    };
    *w = (worker){0};
    w->block = EF_ARRAYS_TAKE(arrays, true);
    bool ok = w->block != NULL;
    if (!is_full(s)) {
        w->own = ef_alloc_zero(s->n_groups, sizeof *w->own);
        ok &= w->own != NULL;
        for (uint32_t g = 0; ok && g < s->n_groups; g++)
            ok = ef_moments_init(&w->own[g], s->points.n, s->groups[0].summed);
    }
    return ok;
}

/* Up to sixteen rows of a run, from number `first` on, as coordinates. */
static void make_points(const run *r, worker *w, size_t first, unsigned n) {
    const efface_data *const data = r->of->data;
    const float *values = w->values;
    if (r->positions == NULL)
        values = ef_data_panel(data, first / EF_PANEL);
    else
        for (unsigned i = 0; i < n; i++)
            ef_data_gather(data, r->positions[first + i], w->values + i);
    r->of->points.make(r->of->points.context, values, n, w->points);
}

/* ---------------------------------------------------------------- products of all pairs */

static void add_sums(const run *r, worker *w, unsigned n) {
    for (uint32_t j = 0; j < r->of->points.n; j++) {
        const float *const point = w->points + (size_t)j * EF_PANEL;
        int64_t sum = 0;
        for (unsigned i = 0; i < n; i++)
            sum += (int32_t)point[i];
        w->sums[j] += sum;
    }
}

static void work_on_blocks(void *context, unsigned number, size_t first, size_t last) {
    const run *const r = context;
    worker *const w = &r->workers[number];
    const uint32_t n = r->of->points.n;
    const size_t strips = n_strips(n);
    for (size_t block = first; block < last; block++) {
        const size_t begin = r->first + block * BLOCK, rest = r->n_rows - begin;
        const unsigned n_rows = rest < BLOCK ? (unsigned)rest : BLOCK;
        for (unsigned at = 0; at < n_rows; at += EF_PANEL) {
            const unsigned some = n_rows - at < EF_PANEL ? n_rows - at : EF_PANEL;
            make_points(r, w, begin + at, some);
            add_sums(r, w, some);
            r->kernels->pack_strips(w->points, n, some, w->strips + (size_t)at * EF_STRIP,
                                    STRIP_DOUBLES);
        }
        for (size_t a = 0; a < strips; a++)
            r->kernels->add_products(w->strips + a * STRIP_DOUBLES, w->strips + a * STRIP_DOUBLES,
                                     STRIP_DOUBLES, (unsigned)(strips - a), n_rows,
                                     w->products + (a * r->width + a) * EF_STRIP, r->width);
    }
}

/* Adds what workers have to a group, multiplied, and clears it. */
static void flush_blocks(const run *r, unsigned n_workers, ef_moments *to, int64_t factor) {
    for (unsigned i = 0; i < n_workers; i++) {
        worker *const w = &r->workers[i];
        ef_i128 *at = to->products;
        for (uint32_t j = 0; j < to->n; j++) {
            to->sums[j] += factor * w->sums[j];
            for (uint32_t l = j; l < to->n; l++)
                *at++ += (ef_i128)w->products[j * r->width + l] * factor;
        }
        memset(w->sums, 0, to->n * sizeof *w->sums);
        memset(w->products, 0, r->width * r->width * sizeof *w->products);
    }
}

/* Adds the rows of a run, all with the same weight, to the sums of a group. */
static efface_status run_blocks(run *r, ef_pool *pool, ef_moments *to, int64_t weight,
                                efface_error *error) {
    const ef_summing *const s = r->of;
    const unsigned n_workers = ef_pool_size(pool);
    const size_t n_blocks = r->n_rows / BLOCK + (r->n_rows % BLOCK != 0);
    const double work = BLOCK * row_work(s);
    size_t at_once = n_workers * (1 + (size_t)(WORTH_A_QUESTION / work)), pending = 0;
    at_once = at_once < MAX_BLOCKS ? at_once : MAX_BLOCKS;
    efface_status status = EFFACE_OK;
    for (size_t done = 0; status == EFFACE_OK && done < n_blocks; done += at_once) {
        const size_t rest = n_blocks - done, n = rest < at_once ? rest : at_once;
        status = ef_ask(&s->interrupt, error);
        if (status != EFFACE_OK)
            break;
        if (pending + n > MAX_BLOCKS) {
            flush_blocks(r, n_workers, to, weight);
            pending = 0;
        }
        r->first = done * BLOCK;
        ef_pool_run(pool, n, 1, work_on_blocks, r);
        pending += n;
        ef_tell_work(s->interrupt.progress, (double)n * work);
    }
    flush_blocks(r, n_workers, to, weight);
    return status;
}

/* Adds rows to a group: those at n positions, or all of the set. `room` has space for as many
 * positions. */
static efface_status add_group(run *r, ef_pool *pool, ef_moments *to, const size_t *positions,
                               size_t n, size_t *room, efface_error *error) {
    const efface_data *const data = r->of->data;
    uint64_t any = 0, all = UINT64_MAX; /* bits that some weights have, and that all have */
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t weight = ef_data_weight(data, positions != NULL ? positions[i] : i);
        any |= (uint64_t)weight;
        all &= (uint64_t)weight;
        total += weight;
    }
    to->n_rows += n;
    to->weight += total;
    r->positions = positions;
    r->n_rows = n;
    if (any == all || n == 0)
        return n != 0 ? run_blocks(r, pool, to, (int64_t)any, error) : EFFACE_OK;
    efface_status status = EFFACE_OK;
    for (unsigned bit = 0; status == EFFACE_OK && any >> bit != 0; bit++) {
        size_t n_some = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t position = positions != NULL ? positions[i] : i;
            if ((ef_data_weight(data, position) >> bit & 1) != 0)
                room[n_some++] = position;
        }
        r->positions = room;
        r->n_rows = n_some;
        if (n_some != 0)
            status = run_blocks(r, pool, to, INT64_C(1) << bit, error);
    }
    return status;
}

/* Orders positions by group; begins[g] is where those of group g begin. */
static void order(const ef_summing *s, size_t *positions, size_t *begins) {
    memset(begins, 0, ((size_t)s->n_groups + 1) * sizeof *begins);
    for (size_t i = 0; i < s->data->n_rows; i++)
        if (s->group_of[i] != EF_NO_GROUP)
            begins[s->group_of[i] + 1]++;
    for (uint32_t g = 0; g < s->n_groups; g++)
        begins[g + 1] += begins[g];
    for (size_t i = 0; i < s->data->n_rows; i++)
        if (s->group_of[i] != EF_NO_GROUP)
            positions[begins[s->group_of[i]]++] = i;
    memmove(begins + 1, begins, s->n_groups * sizeof *begins);
    begins[0] = 0;
}

static efface_status sum_products(run *r, ef_pool *pool, efface_error *error) {
    const ef_summing *const s = r->of;
    const size_t n = s->data->n_rows;
    size_t *const room = ef_alloc(s->data->weights != NULL ? n : 0, sizeof *room);
    size_t *const positions = ef_alloc(s->group_of != NULL ? n : 0, sizeof *positions);
    size_t *const begins = ef_alloc((size_t)s->n_groups + 1, sizeof *begins);
    efface_status status = EFFACE_OK;
    if (room == NULL || positions == NULL || begins == NULL) {
        status = ef_fail_memory(error);
    } else if (s->group_of == NULL) {
        status = add_group(r, pool, &s->groups[0], NULL, n, room, error);
    } else {
        order(s, positions, begins);
        for (uint32_t g = 0; status == EFFACE_OK && g < s->n_groups; g++)
            status = add_group(r, pool, &s->groups[g], positions + begins[g],
                               begins[g + 1] - begins[g], room, error);
    }
    ef_free(room);
    ef_free(positions);
    ef_free(begins);
    return status;
}

/* ---------------------------------------------------------------- sums and squares */

static void work_on_panels(void *context, unsigned number, size_t first, size_t last) {
    const run *const r = context;
    const ef_summing *const s = r->of;
    worker *const w = &r->workers[number];
    const bool squares = s->groups[0].summed == EFFACE_SUMMED_DIAGONAL;
    for (size_t panel = first; panel < last; panel++) {
        const size_t begin = panel * EF_PANEL, rest = s->data->n_rows - begin;
        const unsigned n = rest < EF_PANEL ? (unsigned)rest : EF_PANEL;
        make_points(r, w, begin, n);
        for (unsigned i = 0; i < n; i++) {
            const uint32_t group = s->group_of != NULL ? s->group_of[begin + i] : 0;
            if (group == EF_NO_GROUP)
                continue;
            ef_moments *const to = &w->own[group];
            const int64_t weight = ef_data_weight(s->data, begin + i);
            to->n_rows++;
            to->weight += weight;
            for (uint32_t j = 0; j < s->points.n; j++) {
                const int64_t g = (int64_t)w->points[(size_t)j * EF_PANEL + i];
                to->sums[j] += weight * g;
                if (squares)
                    to->products[j] += (ef_i128)(weight * g) * g;
            }
        }
    }
}

static efface_status sum_columns(run *r, ef_pool *pool, efface_error *error) {
    const ef_summing *const s = r->of;
    const size_t n_panels = s->data->n_rows / EF_PANEL + (s->data->n_rows % EF_PANEL != 0);
    const unsigned n_workers = ef_pool_size(pool);
    ef_passes passes = {.data = s->data,
                        .kernels = r->kernels,
                        .pool = pool,
                        .n_workers = n_workers,
                        .n_panels = n_panels,
                        .interrupt = s->interrupt};
    const efface_status status =
        ef_passes_run(&passes, (size_t)(EF_PANEL * row_work(s)) + 1, work_on_panels, r, error);
    for (unsigned i = 0; status == EFFACE_OK && i < n_workers; i++)
        for (uint32_t g = 0; g < s->n_groups; g++)
            ef_moments_add(&s->groups[g], &r->workers[i].own[g]);
    return status;
}

/* ---------------------------------------------------------------- all */

/* Makes the sums of this rank's rows those of the rows of all ranks. */
static efface_status share_groups(const ef_summing *s, efface_error *error) {
    ef_team *const team = ef_data_team(s->data);
    const size_t n = s->points.n, n_sums = 2 + n;
    const size_t n_products = ef_moments_n_products(s->points.n, s->groups[0].summed);
    if (team == NULL)
        return EFFACE_OK;
    int64_t *const sums = ef_alloc(s->n_groups, n_sums * sizeof *sums);
    ef_i128 *const products = ef_alloc(s->n_groups, n_products * sizeof *products);
    efface_status status = sums != NULL && products != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (size_t g = 0; status == EFFACE_OK && g < s->n_groups; g++) {
        const ef_moments *const m = &s->groups[g];
        int64_t *const to = sums + g * n_sums;
        to[0] = (int64_t)m->n_rows;
        to[1] = m->weight;
        memcpy(to + 2, m->sums, n * sizeof *to);
        if (n_products != 0)
            memcpy(products + g * n_products, m->products, n_products * sizeof *products);
    }
    EF_THEN(status, ef_team_sum(team, sums, s->n_groups * n_sums, error));
    if (status == EFFACE_OK && n_products != 0)
        status = ef_team_sum_wide(team, products, s->n_groups * n_products, error);
    for (size_t g = 0; status == EFFACE_OK && g < s->n_groups; g++) {
        ef_moments *const m = &s->groups[g];
        const int64_t *const from = sums + g * n_sums;
        m->n_rows = (uint64_t)from[0];
        m->weight = from[1];
        memcpy(m->sums, from + 2, n * sizeof *from);
        if (n_products != 0)
            memcpy(m->products, products + g * n_products, n_products * sizeof *products);
    }
    ef_free(sums);
    ef_free(products);
    return status;
}

/* The rows of this rank. */
static efface_status sum_own(const ef_summing *s, efface_error *error) {
    if (s->data->n_rows == 0)
        return EFFACE_OK;
    run r = {.of = s, .width = n_strips(s->points.n) * EF_STRIP};
    efface_status status = ef_kernels_require(&r.kernels, error);
    if (status != EFFACE_OK)
        return status;
    const size_t n_panels = s->data->n_rows / EF_PANEL + 1;
    ef_pool *const pool = ef_pool_create(
        ef_pass_threads(s->n_threads, n_panels, (size_t)(EF_PANEL * row_work(s)) + 1));
    const unsigned n_workers = pool != NULL ? ef_pool_size(pool) : 0;
    r.workers = ef_alloc_zero(n_workers, sizeof *r.workers);
    bool ok = pool != NULL && r.workers != NULL;
    for (unsigned i = 0; ok && i < n_workers; i++)
        ok = init_worker(&r.workers[i], s);
    if (!ok)
        status = ef_fail_memory(error);
    else
        status = is_full(s) ? sum_products(&r, pool, error) : sum_columns(&r, pool, error);
    for (unsigned i = 0; r.workers != NULL && i < n_workers; i++)
        free_worker(&r.workers[i], s);
    ef_free(r.workers);
    ef_pool_free(pool);
    return status;
}

efface_status ef_sum_up(const ef_summing *s, efface_error *error) {
    if (s->n_groups == 0)
        return EFFACE_OK;
    const efface_status status = sum_own(s, error);
    return status == EFFACE_OK ? share_groups(s, error) : status;
}
