/*
 * Walks of a group: a walk (exact/walk.h) is made in one process and written down, step by step,
 * with the canonical bytes after each. Then the ranks of a group, each with a part of the rows, do
 * the same steps, and have the same bytes after each. A family that does not work in groups has to
 * refuse them instead. For tests, which include this file after cmocka.h.
 */
#ifndef EF_TESTS_GROUP_WALK_H
#define EF_TESTS_GROUP_WALK_H

#include "exact/walk.h"
#include "group/team/thread_group.h"

typedef enum step_kind { STEP_FIT, STEP_FORGET, STEP_LEARN, STEP_UPDATE } step_kind;

typedef struct step {
    step_kind kind;
    law_rows rows; /* that begin in the set, leave, come, or get other values */
    bool also;     /* and is there more to do before it: a preview and a copy made of bytes */
    uint64_t salt; /* rows that come go to ranks by it and their ids */
    unsigned char *bytes; /* of the model after it */
    size_t n_bytes;
    efface_report report;
} step;

#define MOST_STEPS 24

typedef struct recording {
    const law_family *family;
    walk walk;
    step steps[MOST_STEPS];
    size_t n_steps;
} recording;

/* ---------------------------------------------------------------- in one process */

static inline step *write_down(recording *r, step_kind kind, const size_t *which, size_t n) {
    step *const s = &r->steps[r->n_steps++];
    *s =
        (step){.kind = kind, .rows = gather(&r->walk, which, n), .also = one_in(4), .salt = next()};
    return s;
}

static inline void write_bytes(recording *r, step *s) {
    assert_int_equal(efface_model_encode(r->walk.model, &s->bytes, &s->n_bytes, NULL), EFFACE_OK);
}

/* Rows inside get the values, labels and perhaps a weight of other rows. */
static inline void record_update(recording *r, const size_t *which, size_t n) {
    walk *const w = &r->walk;
    for (size_t i = 0; i < n; i++) {
        const size_t other = below(w->c.rows.n);
        if (!law_allows(w->family, &w->c.params, w->c.rows.values + other * w->c.rows.d,
                        w->c.rows.d))
            continue;
        w->stands[which[i]] = other;
        w->weights[which[i]] = 1 + w->weights[which[i]] / 2;
    }
    step *const s = write_down(r, STEP_UPDATE, which, n);
    const efface_rows batch = batch_of(&s->rows);
    assert_int_equal(efface_model_update(w->model, w->data, &batch, &s->report, NULL), EFFACE_OK);
    write_bytes(r, s);
}

static inline void record_step(recording *r) {
    walk *const w = &r->walk;
    size_t *const which = make(w->c.rows.n, sizeof *which);
    const size_t most = one_in(3) ? 1 + below(12) : 1;
    const uint64_t kind = below(5);
    size_t n = pick(w, kind != 0, most, which);
    uint64_t ids[64];
    if (kind == 1) { /* whom an adversary would pick */
        const size_t n_named = law_name_ids(w->family, w->model, w->data, ids, 64, &rng_state);
        n = n_named != 0 ? 1 : n;
        if (n_named != 0)
            which[0] = row_of(w, ids[below(n_named)]);
    }
    if (n == 0) {
        free(which);
        return;
    }
    if (kind >= 3) {
        record_update(r, which, n);
    } else {
        step *const s = write_down(r, kind == 0 ? STEP_LEARN : STEP_FORGET, which, n);
        if (kind == 0)
            learn_rows(w, which, n);
        else
            forget_rows(w, which, n);
        write_bytes(r, s);
    }
    free(which);
}

static inline void begin_recording(recording *r, const law_family *family, uint64_t seed,
                                   size_t n_steps) {
    *r = (recording){.family = family};
    begin_walk(&r->walk, family, seed, 70);
    size_t *const which = make(r->walk.c.rows.n, sizeof *which);
    const size_t n = pick(&r->walk, true, r->walk.c.rows.n, which);
    write_bytes(r, write_down(r, STEP_FIT, which, n));
    free(which);
    while (r->n_steps <= n_steps && r->n_steps < MOST_STEPS && n_steps-- > 0)
        record_step(r);
    efface_difference difference;
    assert_int_equal(efface_model_verify(r->walk.model, r->walk.data, &difference, NULL),
                     EFFACE_OK);
    assert_true(difference.identical);
}

static inline void end_recording(recording *r) {
    for (size_t i = 0; i < r->n_steps; i++) {
        law_free_rows(&r->steps[i].rows);
        efface_bytes_free(r->steps[i].bytes);
    }
    end_walk(&r->walk);
}

/* ---------------------------------------------------------------- on a rank */

/* What a rank has of rows that come: by their ids, or all are on one rank. */
static inline law_rows own_part(const step *s, const efface_group *group) {
    law_rows own = law_make_rows(s->rows.n, s->rows.d);
    const size_t d = s->rows.d;
    own.n = 0;
    for (size_t i = 0; i < s->rows.n; i++) {
        const uint64_t by = s->salt % 8 == 0 ? s->salt : mix(s->rows.ids[i] ^ s->salt);
        if ((by >> 3) % group->size != group->rank)
            continue;
        memcpy(own.values + own.n * d, s->rows.values + i * d, d * sizeof *own.values);
        own.ids[own.n] = s->rows.ids[i];
        own.weights[own.n] = s->rows.weights[i];
        own.labels[own.n++] = s->rows.labels[i];
    }
    return own;
}

static inline bool same_bytes(const efface_model *model, const step *s) {
    unsigned char *bytes = NULL;
    size_t n = 0;
    RANK_ASSERT(efface_model_encode(model, &bytes, &n, NULL) == EFFACE_OK);
    const bool same = n == s->n_bytes && memcmp(bytes, s->bytes, n) == 0;
    efface_bytes_free(bytes);
    return same;
}

/* A rank whose model differs says where. */
static inline void check_bytes(const recording *r, const efface_model *model, const step *s,
                               const efface_group *group) {
    if (same_bytes(model, s))
        return;
    unsigned char *bytes = NULL;
    size_t n = 0;
    char text[LAW_TEXT_BYTES] = "";
    RANK_ASSERT(efface_model_encode(model, &bytes, &n, NULL) == EFFACE_OK);
    law_difference(r->family, &r->walk.c.params, bytes, n, s->bytes, s->n_bytes, text);
    (void)fprintf(stderr, "seed 0x%" PRIx64 ", %s: rank %u of %u, step %td (%d, %zu rows): %s\n",
                  now.seed, r->family->name, (unsigned)group->rank, (unsigned)group->size,
                  s - r->steps, (int)s->kind, s->rows.n, text);
    abort();
}

/* A model made of the bytes of the model takes its place. */
static inline void read_again(const recording *r, efface_model **model, const efface_data *data) {
    unsigned char *bytes = NULL;
    size_t n = 0;
    efface_model *copy = NULL;
    RANK_ASSERT(efface_model_encode(*model, &bytes, &n, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_model_decode(bytes, n, &r->walk.c.params.common, data, &copy, NULL) ==
                EFFACE_OK);
    efface_bytes_free(bytes);
    efface_model_free(*model);
    *model = copy;
}

static inline void do_step(const step *s, efface_model *model, efface_data *data,
                           const efface_group *group) {
    const efface_request request = {.ids = s->rows.ids, .n_ids = s->rows.n};
    efface_report report, preview;
    efface_error error;
    efface_status status = EFFACE_OK;
    if (s->kind == STEP_FORGET) {
        if (s->also)
            RANK_ASSERT(efface_model_preview(model, data, &request, &preview, &error) == EFFACE_OK);
        status = efface_model_forget(model, data, &request, &report, &error);
    } else if (s->kind == STEP_LEARN) {
        law_rows own = own_part(s, group);
        const efface_rows batch = batch_of(&own);
        status = efface_model_learn(model, data, &batch, &report, &error);
        law_free_rows(&own);
    } else {
        const efface_rows batch = batch_of(&s->rows);
        status = efface_model_update(model, data, &batch, &report, &error);
    }
    if (status != EFFACE_OK)
        (void)fprintf(stderr, "%s\n", error.message);
    RANK_ASSERT(status == EFFACE_OK);
}

/* A family whose models are of one process says so, on all ranks and in plain words, and nothing is
 * lost: the set can be used for other families. */
static inline void be_refused(const recording *r, const efface_data *data) {
    const step *const first = &r->steps[0];
    efface_model *model = NULL;
    efface_error error = {.message = ""};
    law_params other;
    RANK_ASSERT(law_fit(data, &r->walk.c.params, &model, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(model == NULL && error.status == EFFACE_E_ARGUMENT);
    RANK_ASSERT(strstr(error.message, "group") != NULL);
    error = (efface_error){.message = ""};
    RANK_ASSERT(efface_model_decode(first->bytes, first->n_bytes, &r->walk.c.params.common, data,
                                    &model, &error) == EFFACE_E_ARGUMENT);
    RANK_ASSERT(model == NULL && strstr(error.message, "group") != NULL);
    law_sums.choose(&other, 0, efface_data_n_columns(data));
    RANK_ASSERT(law_fit(data, &other, &model, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_model_get_info(model).n_rows == first->rows.n);
    efface_model_free(model);
}

/* All steps on one rank. */
static inline void replay(const efface_group *group, void *context) {
    const recording *const r = context;
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_error error;
    law_rows own = own_part(&r->steps[0], group);
    const efface_rows batch = batch_of(&own);
    RANK_ASSERT(efface_data_create(own.d, &data, NULL) == EFFACE_OK);
    RANK_ASSERT(efface_data_add(data, &batch, NULL) == EFFACE_OK);
    law_free_rows(&own);
    RANK_ASSERT(efface_data_join(data, group, &error) == EFFACE_OK);
    if (r->family->alone) {
        be_refused(r, data);
        efface_data_free(data);
        return;
    }
    RANK_ASSERT(law_fit(data, &r->walk.c.params, &model, &error) == EFFACE_OK);
    check_bytes(r, model, &r->steps[0], group);
    for (size_t i = 1; i < r->n_steps; i++) {
        if (r->steps[i].also)
            read_again(r, &model, data);
        do_step(&r->steps[i], model, data, group);
        check_bytes(r, model, &r->steps[i], group);
    }
    efface_difference difference;
    RANK_ASSERT(efface_model_verify(model, data, &difference, &error) == EFFACE_OK);
    if (!difference.identical)
        (void)fprintf(stderr, "rank %u: %s %s %s\n", (unsigned)group->rank, r->family->name,
                      difference.what, difference.where);
    RANK_ASSERT(difference.identical);
    efface_model_free(model);
    efface_data_free(data);
}

#endif
