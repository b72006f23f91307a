/*
 * The mean silhouette of a labelling.
 *
 * For a row with the mean distance a to the other rows of its cluster and the smallest mean
 * distance b to the rows of another cluster, the silhouette is (b - a) / max(a, b). It is 0 for
 * the only row of a cluster, and where a and b are both 0. Every row counts once, whatever its
 * weight.
 *
 * All pairs of n rows are too many, so a sample takes part: the rows with the smallest tape
 * numbers, whose choice depends on their ids alone. The tape's seed is 0 and not the model's, so
 * that two models over the same set are measured on the same rows.
 *
 * The sample is sorted by cluster and id and packed into panels. Each block of rows goes through
 * all panels, so that a panel is read from memory once for a block. Distances are float32, as
 * kernels->sqdist makes them; they are added up in double in the order of the sample, and the
 * silhouettes too, so that the result depends neither on the order of the rows in the set nor on
 * the number of threads. Cost O(m^2 d) for a sample of m rows, memory 4 m d bytes.
 */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "base/workers/threads.h"
#include "data/set/rows.h"
#include "kernel/kernels.h"
#include "model/families.h"
#include "model/kmeans/prediction/kmeans_predictor.h"
#include "model/request/missing_values.h"

#include <math.h>

#define DEFAULT_ROWS 10000
#define BLOCK_ROWS 32

/* Rows of the sample may lie outside the bounds of the fit. So far outside (two thousand million
 * times the domain) they stay there, and squared distances stay finite. */
#define FARTHEST 0x1p54F

typedef struct member {
    uint64_t number; /* from the tape */
    uint64_t id;
    size_t position;
    uint32_t label;
} member;

typedef struct sample {
    size_t n_rows;
    uint32_t n_columns;
    uint32_t n_clusters;
    member *members;    /* by label and id */
    uint32_t *clusters; /* the cluster of each row, from 0, ascending */
    size_t *sizes;      /* n_clusters of them; room for n_rows */
    float *panels;      /* the rows on the grid, */
    float *low, *step;  /* and the map that leaves them there */
    double *scores;     /* the silhouette of each row */
} sample;

/* ---------------------------------------------------------------- which rows */

static bool draws_before(const member *a, const member *b) {
    return a->number != b->number ? a->number < b->number : a->id < b->id;
}

/* Restores the heap, whose first member draws last, after members[i] was changed. */
static void sift_down(member *members, size_t n, size_t i) {
    for (;;) {
        size_t last = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (draws_before(&members[last], &members[child]))
                last = child;
        if (last == i)
            return;
        const member swap = members[i];
        members[i] = members[last];
        members[last] = swap;
        i = last;
    }
}

/* The n_members rows with the smallest tape numbers, in no particular order. */
static void choose_rows(const efface_data *data, member *members, size_t n_members) {
    for (size_t i = 0; i < data->n_rows; i++) {
        const uint64_t id = ef_data_id(data, i);
        const member row = {
            .number = ef_tape(0, EF_TAPE_SAMPLE, 0, id, 0), .id = id, .position = i};
        if (i < n_members) {
            members[i] = row;
            if (i + 1 == n_members)
                for (size_t j = n_members / 2; j-- > 0;)
                    sift_down(members, n_members, j);
        } else if (draws_before(&row, &members[0])) {
            members[0] = row;
            sift_down(members, n_members, 0);
        }
    }
}

static int compare_members(const void *left, const void *right) {
    const member *const a = left;
    const member *const b = right;
    if (a->label != b->label)
        return a->label < b->label ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* ---------------------------------------------------------------- which clusters */

/* Asks the model for the labels of the members; the panels, not in use yet, hold their rows. */
static efface_status predict_labels(const ef_kmeans *model, const efface_data *data, sample *s,
                                    efface_error *error) {
    const size_t d = s->n_columns;
    for (size_t i = 0; i < s->n_rows; i++)
        efface_data_values(data, s->members[i].position, s->panels + i * d);
    const ef_kmeans_predictor by = ef_predictor_of(model);
    const efface_status status =
        ef_kmeans_predict_labels(&by, s->n_rows, s->panels, s->clusters, error);
    if (status == EFFACE_OK)
        for (size_t i = 0; i < s->n_rows; i++)
            s->members[i].label = s->clusters[i];
    return status;
}

/* Sorts the members and numbers their clusters without gaps. */
static void number_clusters(sample *s) {
    qsort(s->members, s->n_rows, sizeof *s->members, compare_members);
    s->n_clusters = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (i == 0 || s->members[i].label != s->members[i - 1].label)
            s->sizes[s->n_clusters++] = 0;
        s->clusters[i] = s->n_clusters - 1;
        s->sizes[s->n_clusters - 1]++;
    }
}

/* ---------------------------------------------------------------- distances */

/* Snapping is done here and not by kernels because rows may be outside the bounds of the fit. */
static void pack_panels(const ef_map *map, const efface_data *data, sample *s) {
    const size_t n_panels = (s->n_rows + EF_PANEL - 1) / EF_PANEL;
    for (size_t i = 0; i < n_panels * EF_PANEL; i++) {
        /* The last panel is filled up with its last row. */
        const size_t row = i < s->n_rows ? i : s->n_rows - 1;
        const float *const values = ef_data_first(data, s->members[row].position);
        float *const panel = s->panels + i / EF_PANEL * EF_PANEL * s->n_columns;
        for (uint32_t j = 0; j < s->n_columns; j++) {
            const float x =
                (float)ef_snap_wide(values[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
            panel[(size_t)j * EF_PANEL + i % EF_PANEL] = x > FARTHEST    ? FARTHEST
                                                         : x < -FARTHEST ? -FARTHEST
                                                                         : x;
        }
    }
}

/* Adds the distances of one point to the rows of a panel to the sums of their clusters. */
static void add_distances(const ef_kernels *kernels, const sample *s, size_t panel,
                          const float *point, double *sums) {
    float squares[EF_PANEL];
    const float *const rows = s->panels + panel * EF_PANEL * s->n_columns;
    const ef_map identity = {s->n_columns, s->low, s->step};
    kernels->sqdist(&identity, rows, point, rows, squares);
    const size_t first = panel * EF_PANEL;
    const size_t n = s->n_rows - first < EF_PANEL ? s->n_rows - first : EF_PANEL;
    for (size_t i = 0; i < n; i++)
        sums[s->clusters[first + i]] += sqrt((double)squares[i]);
}

/* The silhouette of a row from the sums of its distances to each cluster. */
static double score_silhouette(const sample *s, uint32_t own, const double *sums) {
    if (s->sizes[own] == 1)
        return 0.0;
    const double a = sums[own] / (double)(s->sizes[own] - 1);
    double b = INFINITY;
    for (uint32_t c = 0; c < s->n_clusters; c++) {
        const double mean = sums[c] / (double)s->sizes[c];
        if (c != own && mean < b)
            b = mean;
    }
    const double larger = a > b ? a : b;
    return larger > 0.0 ? (b - a) / larger : 0.0;
}

typedef struct scratch {
    float *points; /* BLOCK_ROWS rows, row by row */
    double *sums;  /* BLOCK_ROWS times n_clusters */
} scratch;

typedef struct scoring {
    const ef_kernels *kernels;
    sample *sample;
    scratch *scratch; /* one for each worker */
    ef_pool *pool;
    const ef_interrupt *interrupt;
    efface_status status; /* of asking, which the calling thread does */
    efface_error *error;
} scoring;

static void score_block(const ef_kernels *kernels, sample *s, scratch *w, size_t block) {
    const size_t first = block * BLOCK_ROWS;
    const size_t n = s->n_rows - first < BLOCK_ROWS ? s->n_rows - first : BLOCK_ROWS;
    const size_t d = s->n_columns;
    for (size_t i = 0; i < n; i++) {
        const size_t row = first + i;
        const float *const panel = s->panels + row / EF_PANEL * EF_PANEL * d;
        for (size_t j = 0; j < d; j++)
            w->points[i * d + j] = panel[j * EF_PANEL + row % EF_PANEL];
        for (size_t c = 0; c < s->n_clusters; c++)
            w->sums[i * s->n_clusters + c] = 0.0;
    }
    const size_t n_panels = (s->n_rows + EF_PANEL - 1) / EF_PANEL;
    for (size_t panel = 0; panel < n_panels; panel++)
        for (size_t i = 0; i < n; i++)
            add_distances(kernels, s, panel, w->points + i * d, w->sums + i * s->n_clusters);
    for (size_t i = 0; i < n; i++)
        s->scores[first + i] =
            score_silhouette(s, s->clusters[first + i], w->sums + i * s->n_clusters);
}

static void score_blocks(void *context, unsigned worker, size_t first, size_t last) {
    scoring *const job = context;
    for (size_t block = first; block < last && !ef_pool_stopped(job->pool); block++) {
        if (worker == 0)
            job->status = ef_ask(job->interrupt, job->error);
        if (worker == 0 && job->status != EFFACE_OK)
            ef_pool_stop(job->pool);
        else
            score_block(job->kernels, job->sample, &job->scratch[worker], block);
    }
}

static efface_status score_all(const ef_kernels *kernels, sample *s, const ef_kmeans_plan *plan,
                               efface_error *error) {
    ef_pool *const pool = ef_pool_create(plan->n_threads);
    if (pool == NULL)
        return ef_fail_memory(error);
    efface_status status = EFFACE_OK;
    const unsigned n_workers = ef_pool_size(pool);
    scratch *const workers = ef_alloc_zero(n_workers, sizeof *workers);
    if (workers == NULL) {
        status = ef_fail_memory(error);
        goto out;
    }
    for (unsigned i = 0; i < n_workers; i++) {
        workers[i].points = ef_alloc(s->n_columns, BLOCK_ROWS * sizeof *workers[i].points);
        workers[i].sums = ef_alloc(s->n_clusters, BLOCK_ROWS * sizeof *workers[i].sums);
        if (workers[i].points == NULL || workers[i].sums == NULL) {
            status = ef_fail_memory(error);
            goto out;
        }
    }
    scoring job = {.kernels = kernels,
                   .sample = s,
                   .scratch = workers,
                   .pool = pool,
                   .interrupt = &plan->interrupt,
                   .error = error};
    ef_pool_run(pool, (s->n_rows + BLOCK_ROWS - 1) / BLOCK_ROWS, 1, score_blocks, &job);
    status = job.status;
out:
    for (unsigned i = 0; workers != NULL && i < n_workers; i++) {
        ef_free(workers[i].points);
        ef_free(workers[i].sums);
    }
    ef_free(workers);
    ef_pool_free(pool);
    return status;
}

/* ---------------------------------------------------------------- the metric */

static bool sample_alloc(sample *s) {
    size_t n_padded, n_floats;
    if (!ef_add_size(s->n_rows, EF_PANEL, &n_padded) ||
        !ef_mul_size(n_padded, s->n_columns, &n_floats))
        return false;
    s->members = ef_alloc(s->n_rows, sizeof *s->members);
    s->clusters = ef_alloc(s->n_rows, sizeof *s->clusters);
    s->sizes = ef_alloc(s->n_rows, sizeof *s->sizes);
    s->scores = ef_alloc(s->n_rows, sizeof *s->scores);
    s->panels = ef_alloc_aligned(n_floats, sizeof *s->panels);
    s->low = ef_alloc_zero(s->n_columns, sizeof *s->low);
    s->step = ef_alloc(s->n_columns, sizeof *s->step);
    for (uint32_t j = 0; s->step != NULL && j < s->n_columns; j++)
        s->step[j] = 1.0F;
    return s->members != NULL && s->clusters != NULL && s->sizes != NULL && s->scores != NULL &&
           s->panels != NULL && s->low != NULL && s->step != NULL;
}

static void sample_free(sample *s) {
    ef_free(s->members);
    ef_free(s->clusters);
    ef_free(s->sizes);
    ef_free(s->scores);
    ef_free(s->panels);
    ef_free(s->low);
    ef_free(s->step);
}

efface_status efface_kmeans_silhouette(const efface_model *of, const efface_data *data,
                                       const uint32_t *labels, size_t max_rows, double *silhouette,
                                       efface_error *error) {
    const ef_kmeans *const model = ef_kmeans_of(of, error);
    if (model == NULL)
        return EFFACE_E_ARGUMENT;
    const ef_map *const map = &model->domain.map;
    if (data->n_columns != map->n_columns)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the rows have %u columns, but the model was fitted to %u", data->n_columns,
                       map->n_columns);
    efface_status status = ef_check_missing(&ef_kmeans_family, NULL, data, error);
    if (status != EFFACE_OK)
        return status;
    const size_t most = max_rows != 0 ? max_rows : DEFAULT_ROWS;
    sample s = {.n_rows = data->n_rows < most ? data->n_rows : most, .n_columns = data->n_columns};
    if (s.n_rows < 2)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "a silhouette needs at least two rows, but there are %zu", s.n_rows);
    const ef_kernels *kernels;
    status = ef_kernels_require(&kernels, error);
    if (status != EFFACE_OK)
        return status;
    if (!sample_alloc(&s)) {
        status = ef_fail_memory(error);
        goto out;
    }
    choose_rows(data, s.members, s.n_rows);
    if (labels != NULL) {
        for (size_t i = 0; i < s.n_rows; i++)
            s.members[i].label = labels[s.members[i].position];
    } else {
        status = predict_labels(model, data, &s, error);
        if (status != EFFACE_OK)
            goto out;
    }
    number_clusters(&s);
    if (s.n_clusters < 2) {
        status = ef_fail(
            error, EFFACE_E_ARGUMENT,
            "a silhouette needs at least two clusters, but all rows that were used are in one");
        goto out;
    }
    pack_panels(map, data, &s);
    status = score_all(kernels, &s, &model->plan, error);
    if (status != EFFACE_OK)
        goto out;

    double sum = 0.0;
    for (size_t i = 0; i < s.n_rows; i++)
        sum += s.scores[i];
    *silhouette = sum / (double)s.n_rows;
out:
    sample_free(&s);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}
