/* The trial of pyramid's starts: running, judging, and following a change (trial.h). */
#include "model/kmeans/sampling/trial.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "base/random/tape.h"
#include "model/kmeans/following/revision.h"

#include <string.h>

/* Changed rows of the sample, as a part of it, from which on all starts are run again. */
#define AGAIN_FROM_PART 8

#define FREE_BYTES (UINT64_C(1) << 20) /* a trial may always take these */

/* ---------------------------------------------------------------- memory */

ef_trial *ef_trial_create(uint32_t n_starts) {
    ef_trial *const t = ef_alloc_zero(1, sizeof *t);
    ef_start *const starts = ef_alloc_zero(n_starts, sizeof *starts);
    if (t == NULL || starts == NULL) {
        ef_free(t);
        ef_free(starts);
        return NULL;
    }
    *t = (ef_trial){.n_starts = n_starts, .starts = starts};
    return t;
}

void ef_trial_drop(ef_trial *t, uint32_t start) {
    ef_kmeans_free(t->starts[start].run);
    ef_kmeans_free(t->starts[start].verdict);
    t->starts[start] = (ef_start){NULL, NULL};
}

void ef_trial_free(ef_trial *t) {
    if (t == NULL)
        return;
    for (uint32_t r = 0; r < t->n_starts; r++)
        ef_trial_drop(t, r);
    ef_free(t->starts);
    efface_data_free(t->sample);
    efface_data_free(t->jury);
    ef_free(t);
}

size_t ef_trial_bytes(const ef_trial *t) {
    size_t n = sizeof *t + ef_data_bytes(t->sample) + ef_data_bytes(t->jury);
    for (uint32_t r = 0; r < t->n_starts; r++)
        n += sizeof *t->starts + ef_kmeans_bytes(t->starts[r].run) +
             ef_kmeans_bytes(t->starts[r].verdict);
    return n;
}

/* An estimate from above: of a row its values, ids, weights and an index, and two bytes for each
 * start; of a level centers, counts and sums. */
bool ef_trial_fits(const ef_kmeans *model, size_t n_sample, size_t n_jury) {
    const double k = model->plan.n_clusters, d = model->domain.map.n_columns;
    const double rows = (double)(n_sample + n_jury) * (4 * d + 64 + 2.0 * model->plan.starts);
    const double level = k * (12 * d + 8) + 64;
    const double n_bytes = rows + model->plan.starts * (model->plan.iterations + 1.0) * level;
    const double of_all = 4 * d * (double)model->n_rows;
    return n_bytes <= (of_all > (double)FREE_BYTES ? of_all : (double)FREE_BYTES);
}

/* ---------------------------------------------------------------- running and judging */

/* Takes the plan and the domain of the model that this is a start of. */
static void borrow(ef_kmeans *m, const ef_kmeans *from, uint32_t start, const efface_data *set) {
    m->plan = from->plan;
    m->plan.method = EFFACE_METHOD_LLOYD;
    m->plan.seed = ef_tape(from->plan.seed, EF_TAPE_START, 0, start, 0);
    m->plan.passes = 1;
    m->domain = from->domain;
    m->n_rows = set->n_rows;
    m->total_weight = set->total_weight;
}

static ef_kmeans *begin(const ef_kmeans *from, uint32_t start, const efface_data *set) {
    ef_kmeans *const m = ef_alloc_zero(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->params = from->params;
    m->params.lloyd.keep_margins = 0; /* passes over so few rows cost less than margins do */
    m->is_start = true;
    borrow(m, from, start, set);
    return m;
}

/* Brings the verdict to where the centers of the run are. */
static efface_status judge(ef_start *s, ef_level_builder *builder, efface_error *error) {
    ef_kmeans *const v = s->verdict;
    const size_t n_values = (size_t)v->plan.n_clusters * v->domain.map.n_columns;
    ef_level old = v->n_levels != 0 ? v->levels[0] : (ef_level){0};
    v->n_levels = 0;
    ef_level *const level = ef_kmeans_add_level(v, false);
    efface_status status = level != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        memcpy(level->centers, ef_kmeans_centers(s->run), n_values * sizeof *level->centers);
        builder->previous = old.has_partition && ef_labels_kept(v) != NULL ? &old : NULL;
        status = ef_by_kept_labels(builder, v, 0, error);
    }
    ef_level_free(&old);
    return status;
}

efface_status ef_trial_run(ef_trial *t, const ef_kmeans *model, uint32_t start, bool keeps,
                           ef_level_builder *running, ef_level_builder *judging,
                           efface_error *error) {
    ef_start *const s = &t->starts[start];
    s->run = begin(model, start, t->sample);
    s->verdict = begin(model, start, t->jury);
    if (s->run == NULL || s->verdict == NULL)
        return ef_fail_memory(error);
    if (keeps) {
        uint8_t *const codes = ef_alloc_zero(t->jury->n_rows, sizeof *codes);
        if (codes == NULL)
            return ef_fail_memory(error);
        ef_kept_take_marks(s->verdict, codes, t->jury->n_rows);
    }
    const efface_status status = ef_make_run(running, s->run, error);
    return status == EFFACE_OK ? judge(s, judging, error) : status;
}

void ef_trial_tell(ef_trial *t, uint32_t start, ef_starts *to, ef_work_done *work) {
    const ef_start *const s = &t->starts[start];
    const size_t n_values = (size_t)s->run->plan.n_clusters * s->run->domain.map.n_columns;
    memcpy(to->centers + start * n_values, ef_kmeans_centers(s->run),
           n_values * sizeof *to->centers);
    to->losses[start] = ef_level_loss(s->verdict, &s->verdict->levels[0]);
    ef_work_add(work, &s->run->work);
    ef_work_add(work, &s->verdict->work);
    s->run->work = s->verdict->work = (ef_work_done){0};
}

efface_status ef_trial_tell_all(ef_trial *t, ef_starts *to, ef_work_done *work,
                                efface_error *error) {
    const ef_kmeans *const first = t->starts[0].run;
    if (!ef_starts_init(to, t->n_starts, first->plan.n_clusters, first->domain.map.n_columns))
        return ef_fail_memory(error);
    for (uint32_t r = 0; r < t->n_starts; r++)
        ef_trial_tell(t, r, to, work);
    return EFFACE_OK;
}

/* ---------------------------------------------------------------- following */

/* Changes one of the sets by the changed rows that are among its rows with this shift. */
static efface_status change_set(ef_change *own, efface_data *set, const ef_revision *r,
                                uint32_t shift, uint32_t cut, efface_error *error) {
    const ef_change *const change = r->change;
    efface_status status = EFFACE_OK;
    size_t n = 0;
    for (size_t i = 0; i < change->n_rows; i++)
        n += r->ranks[i].need <= shift;
    if (!ef_change_init(own, set->n_columns, n))
        return ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < change->n_rows; i++) {
        const efface_row *const row = &change->rows[i];
        if (r->ranks[i].need > shift)
            continue;
        if (change->leaves[i]) {
            status = ef_change_forget(own, set, &row->id, 1, error);
            continue;
        }
        const int64_t weight =
            ef_cut_weight(ef_member_weight(r->ranks[i].base, shift, row->weight), cut);
        const efface_rows rows = {
            .n_rows = 1, .values = own->row, .ids = &row->id, .weights = &weight};
        for (uint32_t j = 0; j < set->n_columns; j++)
            own->row[j] = ef_change_first(change, i)[(size_t)j * EF_PANEL];
        status = ef_change_learn(own, set, &rows, error);
    }
    return status;
}

/* Rows of the jury leave and come; no center moves. `labels` and `point` are room. */
static void change_verdict(ef_kmeans *v, const ef_change *change, const ef_kernels *kernels,
                           uint32_t *labels, int32_t *point) {
    const ef_map *const map = &v->domain.map;
    const uint32_t k = v->plan.n_clusters, d = map->n_columns;
    ef_level *const level = &v->levels[0];
    ef_kept_labels *const kept = ef_labels_kept(v);
    for (size_t i = 0; i < change->n_rows; i++) {
        const float *const row = ef_change_first(change, i);
        const int64_t weight = ef_change_weight(change, i);
        int64_t distance, square = 0;
        for (uint32_t j = 0; j < d; j++) {
            point[j] = ef_snap(row[(size_t)j * EF_PANEL], map->low[j], map->step[j]);
            square += (int64_t)point[j] * point[j];
        }
        labels[i] = ef_nearest_point(level->centers, k, d, point, &distance);
        level->counts[labels[i]] += weight;
        kernels->move_row(map, row, weight, level->sums + (size_t)labels[i] * d, NULL);
        v->square_sum += (ef_i128)weight * square;
    }
    if (kept == NULL)
        return;
    if (ef_kept_labels_follow(kept, change, (size_t)v->n_rows, labels, NULL, 0))
        ef_kept_labels_forget(kept, change, map, k);
    else
        ef_kept_labels_free(kept);
}

/* The jury changes. */
static efface_status change_jury(ef_trial *t, const ef_revision *r, efface_error *error) {
    const ef_pilot *const pilot = &r->model->pilot;
    const uint32_t d = t->jury->n_columns;
    ef_change own;
    efface_status status = change_set(&own, t->jury, r, pilot->shift + EF_JURY_SHIFT,
                                      ef_weight_cut(pilot->jury_weight), error);
    uint32_t *const room = ef_alloc(own.n_rows + d, sizeof *room);
    if (status == EFFACE_OK && room == NULL)
        status = ef_fail_memory(error);
    for (uint32_t s = 0; status == EFFACE_OK && s < t->n_starts; s++) {
        borrow(t->starts[s].verdict, r->model, s, t->jury);
        change_verdict(t->starts[s].verdict, &own, r->kernels, room + d, (int32_t *)room);
    }
    ef_free(room);
    ef_change_free(&own);
    return status;
}

/* The sample changes: each start follows, and is judged if it moved. */
static efface_status change_sample(ef_trial *t, const ef_revision *r, efface_error *error) {
    ef_level_builder judging = {.data = t->jury};
    ef_change own;
    efface_status status =
        change_set(&own, t->sample, r, r->model->pilot.shift, ef_weight_cut(t->weight), error);
    for (uint32_t i = 0; status == EFFACE_OK && i < t->n_starts; i++) {
        ef_start *const s = &t->starts[i];
        const ef_kmeans *const v = s->verdict;
        const size_t n_values = (size_t)v->plan.n_clusters * t->sample->n_columns;
        ef_revision of_run;
        borrow(s->run, r->model, i, t->sample);
        status = ef_revision_make(&of_run, s->run, t->sample, &own, error);
        if (status == EFFACE_OK)
            ef_revision_commit(&of_run, s->run);
        ef_revision_free(&of_run);
        if (status == EFFACE_OK && memcmp(v->levels[0].centers, ef_kmeans_centers(s->run),
                                          n_values * sizeof(int32_t)) != 0)
            status = judge(s, &judging, error);
    }
    ef_builder_free(&judging);
    ef_change_free(&own);
    return status;
}

efface_status ef_trial_follow(ef_trial **trial, const ef_revision *r, efface_error *error) {
    ef_trial *const t = *trial;
    const ef_pilot *const pilot = &r->model->pilot;
    const ef_i128 before = t->weight;
    size_t n_sample = 0, n_jury = 0;
    for (size_t i = 0; i < r->change->n_rows; i++)
        n_jury += r->ranks[i].need <= pilot->shift + EF_JURY_SHIFT;
    if (n_jury == 0)
        return EFFACE_OK;
    for (size_t i = 0; i < r->change->n_rows; i++) {
        const ef_i128 weight =
            ef_member_weight(r->ranks[i].base, pilot->shift, r->change->rows[i].weight);
        if (r->ranks[i].need > pilot->shift)
            continue;
        n_sample++;
        t->weight += r->change->leaves[i] ? -weight : weight;
    }
    /* Otherwise all weights are others. */
    const bool stands =
        ef_weight_cut(t->weight) == ef_weight_cut(before) &&
        ef_weight_cut(r->next.pilot.jury_weight) == ef_weight_cut(pilot->jury_weight) &&
        n_sample <= t->sample->n_rows / AGAIN_FROM_PART;
    efface_status status = stands ? EFFACE_OK : EFFACE_E_MEMORY;
    EF_THEN(status, change_jury(t, r, error));
    if (n_sample != 0)
        EF_THEN(status, change_sample(t, r, error));
    if (status != EFFACE_OK) {
        ef_trial_free(t);
        *trial = NULL;
    }
    return status == EFFACE_E_INTERRUPTED ? status : EFFACE_OK;
}
