/*
 * Any bytes as a family, parameters, rows and calls: forget, learn, update, preview, rekey, encode
 * and decode, with ids that are there and ids that are not, values within bounds and beyond them. A
 * plain list of rows says what each call must answer and what the set must hold; after every call
 * the model's bytes must be those of a fresh fit to a set made anew from that list, and at times
 * those of the oracle. A call that fails must have changed nothing.
 *
 * The bytes: a family and what rows are like (read_setup), the parameters of the family, then rows,
 * then calls, each of one byte for what, and more for with what. Bytes that are missing count as 0;
 * the calls end with them.
 */
#include "law/law_families.h"
#include "model/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 24
#define MOST_COLUMNS 6
#define MOST_CALLS 10
#define NOBODY 3u              /* among two bits that say whose a row is; 0 is somebody */
#define MISSING_SLOT MOST_ROWS /* an id that no row ever has */

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

/* What a row is, whether it is in the set or waits outside. */
typedef struct listed {
    bool inside;
    float values[MOST_COLUMNS];
    int64_t weight, label;
    uint64_t owner;
} listed;

typedef struct world {
    const law_family *family;
    law_params params;
    uint32_t d;
    unsigned value_kind, id_kind, weight_kind;
    listed rows[MOST_ROWS];
    efface_data *data;
    efface_model *model;
    unsigned n_calls;
    const char *doing; /* the call, for messages */
} world;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3), noreturn))
#endif
static void
broken(const world *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "call %u, %s: ", w->n_calls, w->doing);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

static void require(const world *w, bool holds, const char *what) {
    if (!holds)
        broken(w, "%s", what);
}

/* ---------------------------------------------------------------- from bytes */

static uint64_t id_of(const world *w, size_t slot) {
    switch (w->id_kind) {
    case 0: return slot;
    case 1: return UINT64_MAX - slot;
    case 2: return (uint64_t)slot << 32;
    default: return (slot + 1) * UINT64_C(0x9E3779B97F4A7C15);
    }
}

static float value_of(unsigned kind, unsigned byte) {
    static const float extremes[] = {0.0f,    -0.0f,     1.0f,      -1.0f,  0x1p126f, -0x1p126f,
                                     0x1p60f, -0x1p-60f, 0x1p-149f, 1e-40f, 3.0f,     0x1p23f,
                                     0.5f,    -0.5f,     0x1p-24f,  1e6f};
    switch (kind) {
    case 0: return (float)(byte & 7) - 3.0f;        /* ties */
    case 1: return (float)(byte & 1);               /* many equal rows */
    case 2: return (float)byte / 64.0f - 2.0f;      /* spread */
    case 3: return extremes[byte & 15];             /* any size */
    case 4: return ((float)byte + 0.5f) * 0x1p-23f; /* halves of grid steps */
    case 5: return (float)(byte >> 5) * 10.0f + (float)(byte & 31) * 0x1p-6f; /* groups */
    case 6: return byte < 250 ? (float)(byte & 15) : (float)byte * 1000.0f;   /* outliers */
    default: return (float)(byte >> 4) + ((byte & 15) == 0 ? 0x1p-20f : 0.0f);
    }
}

static uint64_t owner_of(unsigned bits) {
    return bits != NOBODY ? bits : EFFACE_NO_OWNER;
}

static void read_row(world *w, law_bytes *in, listed *row) {
    static const int64_t heavy[] = {1, 2, 1000, INT64_C(1) << 30};
    for (uint32_t j = 0; j < w->d; j++)
        row->values[j] = value_of(w->value_kind, law_take(in));
    const unsigned beside = w->weight_kind != 0 ? law_take(in) : NOBODY << 6;
    row->weight = w->weight_kind == 1 ? 1 + (beside & 3) : heavy[beside & 3];
    const unsigned label = beside >> 2 & 15;
    row->label = label != 0 ? (int64_t)label - 8 : EFFACE_NO_LABEL;
    row->owner = owner_of(beside >> 6);
}

/*
 *     byte 0   family
 *     byte 1   columns - 1 (3 bits), kind of values (3 bits), of ids (2 bits)
 *     byte 2   kind of weights, and whether rows have owners
 */
static void read_setup(world *w, law_bytes *in) {
    const unsigned a = law_take(in), b = law_take(in), c = law_take(in);
    w->family = law_family_at(a);
    w->d = 1 + (b & 7) % MOST_COLUMNS;
    w->family = law_family_for(w->family, w->d);
    w->value_kind = b >> 3 & 7;
    w->id_kind = b >> 6;
    w->weight_kind = c % 3;
    w->family->read(&w->params, w->d, in);
}

/* ---------------------------------------------------------------- the law */

typedef struct encoding {
    unsigned char *bytes;
    size_t n_bytes;
} encoding;

static encoding encode(const world *w, const efface_model *model) {
    encoding e = {NULL, 0};
    require(w, efface_model_encode(model, &e.bytes, &e.n_bytes, NULL) == EFFACE_OK, "no bytes");
    return e;
}

static bool same(const encoding *a, const encoding *b) {
    return a->n_bytes == b->n_bytes && memcmp(a->bytes, b->bytes, a->n_bytes) == 0;
}

/* The rows of the list that are inside. */
typedef struct table {
    size_t n;
    float values[MOST_ROWS * MOST_COLUMNS];
    uint64_t ids[MOST_ROWS], owners[MOST_ROWS];
    int64_t weights[MOST_ROWS], labels[MOST_ROWS];
} table;

static void add_to_table(const world *w, table *t, size_t slot, const listed *row) {
    memcpy(t->values + t->n * w->d, row->values, w->d * sizeof(float));
    t->ids[t->n] = id_of(w, slot);
    t->weights[t->n] = row->weight;
    t->labels[t->n] = row->label;
    t->owners[t->n++] = row->owner;
}

/* Owners and labels are left out where no row has one, as callers do that know none. */
static efface_rows rows_of(const table *t) {
    bool owned = false, labelled = false;
    for (size_t i = 0; i < t->n; i++) {
        owned |= t->owners[i] != EFFACE_NO_OWNER;
        labelled |= t->labels[i] != EFFACE_NO_LABEL;
    }
    return (efface_rows){.n_rows = t->n,
                         .values = t->values,
                         .ids = t->ids,
                         .weights = t->weights,
                         .owners = owned ? t->owners : NULL,
                         .labels = labelled ? t->labels : NULL};
}

static table inside_of(const world *w) {
    table t;
    memset(&t, 0, sizeof t);
    for (size_t slot = 0; slot < MOST_ROWS; slot++)
        if (w->rows[slot].inside)
            add_to_table(w, &t, slot, &w->rows[slot]);
    return t;
}

static void check_set(const world *w, const table *t) {
    int64_t total = 0;
    require(w, efface_data_n_rows(w->data) == t->n, "wrong number of rows in the set");
    for (size_t i = 0; i < t->n; i++) {
        size_t position = SIZE_MAX;
        float values[MOST_COLUMNS];
        require(w, efface_data_find(w->data, t->ids[i], &position) == EFFACE_OK, "a row is lost");
        const efface_row row = efface_data_row(w->data, position);
        efface_data_values(w->data, position, values);
        require(w,
                row.weight == t->weights[i] && row.owner == t->owners[i] &&
                    row.label == t->labels[i],
                "weight, owner or label of a row changed");
        for (uint32_t j = 0; j < w->d; j++)
            require(w, values[j] == t->values[i * w->d + j], "a value changed");
        total += t->weights[i];
    }
    require(w, efface_data_total_weight(w->data) == total, "wrong total weight");
}

static efface_data *make_set(const world *w, const table *t) {
    efface_data *data = NULL;
    const efface_rows rows = rows_of(t);
    require(w,
            efface_data_create(w->d, &data, NULL) == EFFACE_OK &&
                efface_data_add(data, &rows, NULL) == EFFACE_OK,
            "no set");
    return data;
}

static efface_model *fit(const world *w, const efface_data *data) {
    efface_model *model = NULL;
    efface_error error;
    if (law_fit(data, &w->params, &model, &error) != EFFACE_OK)
        broken(w, "no fit: %s", error.message);
    return model;
}

static void check_state(const world *w) {
    table t = inside_of(w);
    check_set(w, &t);
    efface_data *const data = make_set(w, &t);
    efface_model *const fresh = fit(w, data);
    const encoding ours = encode(w, w->model), right = encode(w, fresh);
    require(w, same(&ours, &right), "not the bytes of a fresh fit");
    if (w->n_calls % 2 != 0) { /* what is kept beside the bytes goes by positions in the set */
        efface_model *const beside = fit(w, w->data);
        law_check(w->family, w->model, beside, w->data);
        efface_model_free(beside);
    }
    if (w->n_calls % 4 == 3) {
        const law_rows rows = {t.n, w->d, t.values, t.ids, t.weights, t.labels, "fuzzed"};
        encoding plain;
        plain.bytes = w->family->oracle(&rows, &w->params, &plain.n_bytes);
        require(w, same(&ours, &plain), "not the bytes of the oracle");
        free(plain.bytes);
    }
    efface_bytes_free(ours.bytes);
    efface_bytes_free(right.bytes);
    efface_model_free(fresh);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- calls */

/* The ids of a request: one or several, of rows and of nobody, perhaps one of them twice. */
typedef struct request {
    uint64_t ids[8];
    size_t slots[8];
    size_t n, n_missing;
    bool twice; /* one that is there */
    efface_missing missing;
} request;

static request read_request(const world *w, law_bytes *in) {
    request r;
    memset(&r, 0, sizeof r);
    const unsigned how = law_take(in);
    r.n = (how & 3) == 0 ? how >> 2 & 7 : 1;
    r.missing = how >= 128 ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    for (size_t i = 0; i < r.n; i++) {
        const size_t slot = law_take(in) % (MOST_ROWS + 2);
        r.slots[i] = slot < MOST_ROWS ? slot : MISSING_SLOT;
        r.ids[i] = id_of(w, r.slots[i]);
        const bool there = slot < MOST_ROWS && w->rows[slot].inside;
        r.n_missing += !there;
        for (size_t before = 0; before < i && there; before++)
            r.twice |= r.slots[before] == slot;
    }
    return r;
}

static efface_status answer_to(const request *r) {
    if (r->n_missing != 0 && r->missing == EFFACE_MISSING_FAIL)
        return EFFACE_E_NOT_FOUND;
    return r->twice ? EFFACE_E_DUPLICATE : EFFACE_OK;
}

static void check_answer(const world *w, efface_status status, efface_status right,
                         const efface_error *error) {
    if (status != right)
        broken(w, "answers %d (%s), not %d", (int)status,
               status == EFFACE_OK ? "fine" : error->message, (int)right);
    require(w, status == EFFACE_OK || error->message[0] != '\0', "fails without a reason");
}

/* Whether a request was to a model with parts. Its preview may take from them what makes the
 * request fast, so that this visits more rows (efface_model_preview). */
static bool has_parts(const efface_report *report) {
    return strncmp(report->where, "up to depth", strlen("up to depth")) == 0;
}

static void call_forget(world *w, law_bytes *in) {
    const request r = read_request(w, in);
    efface_report preview = {.seconds = -1.0}, report = {.seconds = -1.0};
    efface_error error;
    w->doing = "preview";
    const encoding before = encode(w, w->model);
    const efface_status looked = efface_model_preview(
        w->model, w->data, &(efface_request){.ids = r.ids, .n_ids = r.n, .missing = r.missing},
        &preview, &error);
    const encoding after = encode(w, w->model);
    require(w, same(&before, &after), "changed the model");
    efface_bytes_free(before.bytes);
    efface_bytes_free(after.bytes);
    check_answer(w, looked, answer_to(&r), &error);
    const table t = inside_of(w);
    check_set(w, &t);
    w->doing = "forget";
    const efface_status status = efface_model_forget(
        w->model, w->data, &(efface_request){.ids = r.ids, .n_ids = r.n, .missing = r.missing},
        &report, &error);
    check_answer(w, status, answer_to(&r), &error);
    if (status != EFFACE_OK) {
        require(w, report.seconds < 0.0 && preview.seconds < 0.0,
                "wrote a report though it failed");
        return;
    }
    for (size_t i = 0; i < r.n; i++)
        if (r.slots[i] != MISSING_SLOT)
            w->rows[r.slots[i]].inside = false;
    require(w,
            report.rows_missing == r.n_missing && report.rows_forgotten == r.n - r.n_missing &&
                report.rows_learned == 0,
            "reports other numbers of rows");
    require(w,
            preview.action == report.action &&
                preview.reason == ef_reason_told(report.reason, true) &&
                strcmp(preview.where, report.where) == 0 &&
                preview.rows_missing == report.rows_missing &&
                preview.rows_forgotten == report.rows_forgotten &&
                (has_parts(&report) || preview.rows_visited >= report.rows_visited),
            "does something else than the preview said");
}

static void call_forget_owner(world *w, law_bytes *in) {
    const unsigned byte = law_take(in);
    const uint64_t owner = owner_of(byte & 3);
    const efface_missing missing = byte >= 128 ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    size_t n = 0;
    for (size_t slot = 0; slot < MOST_ROWS; slot++)
        n += w->rows[slot].inside && w->rows[slot].owner == owner;
    efface_status right = EFFACE_OK;
    if (owner == EFFACE_NO_OWNER)
        right = EFFACE_E_ARGUMENT;
    else if (n == 0 && missing == EFFACE_MISSING_FAIL)
        right = EFFACE_E_NOT_FOUND;
    efface_report report;
    efface_error error;
    w->doing = "forget an owner";
    const efface_status status = efface_model_forget(
        w->model, w->data,
        &(efface_request){.owners = (const uint64_t[]){owner}, .n_owners = 1, .missing = missing},
        &report, &error);
    check_answer(w, status, right, &error);
    if (status != EFFACE_OK)
        return;
    require(w, report.rows_forgotten == n, "reports another number of rows");
    for (size_t slot = 0; slot < MOST_ROWS && n != 0; slot++)
        if (w->rows[slot].owner == owner)
            w->rows[slot].inside = false;
}

/* Learns or updates one row or several; now and then rows that must be refused. */
static void call_write(world *w, law_bytes *in, bool update) {
    listed rows[4];
    size_t slots[4];
    table t;
    memset(&t, 0, sizeof t);
    const unsigned how = law_take(in);
    const size_t n = (how & 3) == 0 ? how >> 2 & 3 : 1;
    const bool spoil = how >= 240;
    efface_status right = EFFACE_OK;
    bool absent = false, twice = false, beyond = spoil && n > 0;
    w->doing = update ? "update" : "learn";
    for (size_t i = 0; i < n; i++) {
        const unsigned byte = law_take(in);
        slots[i] = byte % MOST_ROWS;
        rows[i] = w->rows[slots[i]];
        if (byte >= MOST_ROWS || update)
            read_row(w, in, &rows[i]);
        const bool there = rows[i].inside;
        absent |= update && !there;
        twice |= !update && there;
        for (size_t before = 0; before < i; before++)
            twice |= slots[before] == slots[i];
        beyond |= !law_allows(w->family, &w->params, rows[i].values, w->d);
        add_to_table(w, &t, slots[i], &rows[i]);
    }
    if (spoil && n > 0)
        t.values[how % (n * w->d)] = how % 2 != 0 ? NAN : 0x1p127f;
    /* The set looks for ids that are not there, then for ids that come twice, then at values; it
     * checks the values of new rows first. Bounds of the fit come last. */
    const efface_status spoilt = spoil && n > 0 ? EFFACE_E_LIMIT : EFFACE_OK;
    if (update)
        right = absent ? EFFACE_E_NOT_FOUND : twice ? EFFACE_E_DUPLICATE : spoilt;
    else
        right = spoilt != EFFACE_OK ? spoilt : twice ? EFFACE_E_DUPLICATE : EFFACE_OK;
    if (right == EFFACE_OK && beyond)
        right = EFFACE_E_LIMIT;
    efface_rows batch = rows_of(&t);
    if (update) { /* without them, those of before would stay */
        batch.owners = t.owners;
        batch.labels = t.labels;
    }
    efface_report report;
    efface_error error;
    const efface_status status =
        update ? efface_model_update(w->model, w->data, &batch, &report, &error)
               : efface_model_learn(w->model, w->data, &batch, &report, &error);
    check_answer(w, status, right, &error);
    if (status != EFFACE_OK)
        return;
    require(w, report.rows_learned == n && report.rows_forgotten == (update ? n : 0),
            "reports other numbers of rows");
    for (size_t i = 0; i < n; i++) {
        w->rows[slots[i]] = rows[i];
        w->rows[slots[i]].inside = true;
    }
}

static void call_rekey(world *w, law_bytes *in) {
    efface_report report;
    w->params.common.seed = law_take(in);
    w->doing = "rekey";
    require(w,
            efface_model_rekey(w->model, w->data, w->params.common.seed, &report, NULL) ==
                    EFFACE_OK &&
                report.action == EFFACE_ACTION_REFITTED &&
                strcmp(report.reason, ef_because_rekeyed) == 0,
            "fails");
}

static void call_verify(world *w) {
    efface_difference difference;
    w->doing = "verify";
    require(w,
            efface_model_verify(w->model, w->data, &difference, NULL) == EFFACE_OK &&
                difference.identical && difference.what == NULL,
            "finds a difference");
}

/* The model goes through its bytes, and goes on as what comes out of them. */
static void call_decode(world *w) {
    efface_model *model = NULL;
    efface_error error;
    w->doing = "decode";
    const encoding e = encode(w, w->model);
    if (efface_model_decode(e.bytes, e.n_bytes, &w->params.common, w->data, &model, &error) !=
        EFFACE_OK)
        broken(w, "refused: %s", error.message);
    efface_bytes_free(e.bytes);
    efface_model_free(w->model);
    w->model = model;
}

static void call(world *w, law_bytes *in) {
    const unsigned what = law_take(in);
    switch (what % 16) {
    case 0:
        if (what / 16 % 2 != 0)
            call_decode(w);
        else
            call_verify(w);
        break;
    case 1: call_rekey(w, in); break;
    case 2: call_forget_owner(w, in); break;
    case 3:
    case 4:
    case 5: call_write(w, in, true); break;
    case 6:
    case 7:
    case 8:
    case 9: call_write(w, in, false); break;
    default: call_forget(w, in); break;
    }
    check_state(w);
    w->n_calls++;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    law_bytes in = {bytes, n_bytes, 0};
    world w;
    memset(&w, 0, sizeof w);
    w.doing = "fit";
    read_setup(&w, &in);
    const size_t n = law_take(&in) % (MOST_ROWS + 1);
    for (size_t slot = 0; slot < MOST_ROWS; slot++) {
        if (slot < n)
            read_row(&w, &in, &w.rows[slot]);
        else
            w.rows[slot] =
                (listed){.weight = 1, .label = EFFACE_NO_LABEL, .owner = EFFACE_NO_OWNER};
        w.rows[slot].inside = slot < n && law_allows(w.family, &w.params, w.rows[slot].values, w.d);
    }
    const table t = inside_of(&w);
    w.data = make_set(&w, &t);
    w.model = fit(&w, w.data);
    while (in.at < in.n_bytes && w.n_calls < MOST_CALLS)
        call(&w, &in);
    efface_model_free(w.model);
    efface_data_free(w.data);
    return 0;
}
