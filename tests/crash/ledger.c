/* Steps, and a store against its ledger. */
#include "crash/ledger.h"

#include "base/bytes/digest.h"
#include "law/law_families.h"
#include "store/scenes/plain_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROWS 400
#define FIRST_MODELS 4
#define LEDGER_KINDS 840 /* so many that each family, way and choice of columns is among them */
#define OWNER_IDS 16     /* neighbours of which every second has the same owner */

static const uint32_t some_columns[] = {3, 0};

uint64_t dice_below(dice *d, uint64_t limit) {
    d->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = d->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % limit;
}

/* ---------------------------------------------------------------- rows and models by number */

static uint64_t owner_of(uint64_t id) {
    return id / OWNER_IDS * LEDGER_LANES + id % LEDGER_LANES;
}

static int64_t weight_of(uint64_t id) {
    return 1 + (int64_t)(id % 3);
}

static int64_t label_of(uint64_t id) {
    return id % 10 == 0 ? EFFACE_NO_LABEL : (int64_t)(id % 4);
}

/* Eight bytes that are found if they are searched for. */
static uint64_t number_of(uint64_t id) {
    dice d = {id * LEDGER_IDS};
    return dice_below(&d, UINT64_MAX) | UINT64_C(1) << 56;
}

/* Groups that overlap, so that rows matter. */
static float value_of(uint64_t id, uint64_t version, uint32_t column) {
    dice d = {(version * LEDGER_IDS + id) * LEDGER_COLUMNS + column};
    return (float)(id % 7) + (float)dice_below(&d, 4096) * 0x1p-10f;
}

static efface_data *make_set(const uint64_t *ids, const uint64_t *versions, size_t n,
                             const uint32_t *columns, uint32_t d) {
    efface_data *data = NULL;
    efface_status status = efface_data_create(d, &data, NULL);
    for (size_t i = 0; status == EFFACE_OK && i < n; i++) {
        float values[LEDGER_COLUMNS];
        const int64_t weight = weight_of(ids[i]);
        const int64_t label = label_of(ids[i]);
        const uint64_t owner = owner_of(ids[i]), number = number_of(ids[i]);
        for (uint32_t j = 0; j < d; j++)
            values[j] = value_of(ids[i], versions[i], columns != NULL ? columns[j] : j);
        const efface_rows row = {.n_rows = 1,
                                 .values = values,
                                 .ids = &number,
                                 .weights = &weight,
                                 .owners = &owner,
                                 .labels = &label};
        status = efface_data_add(data, &row, NULL);
    }
    if (status == EFFACE_OK)
        return data;
    fputs("ledger: out of memory\n", stderr);
    abort();
}

/* The rows inside, or those that a rank has at first. */
static efface_data *make_inside(const ledger *l, const efface_group *group, const uint32_t *columns,
                                uint32_t d) {
    uint64_t ids[LEDGER_IDS], versions[LEDGER_IDS];
    size_t n = 0;
    for (uint64_t id = 0; id < LEDGER_IDS; id++)
        if (l->inside[id] && (group == NULL || id * group->size / LEDGER_IDS == group->rank)) {
            versions[n] = l->versions[id];
            ids[n++] = id;
        }
    return make_set(ids, versions, n, columns, d);
}

static bool in_groups; /* only families that work there */

void ledger_is_for_groups(void) {
    in_groups = true;
}

static const law_family *family_of(unsigned kind) {
    uint64_t number = kind;
    while (in_groups && law_family_at(number)->alone)
        number++;
    return law_family_at(number);
}

/* A kind is a family, a way in which its models work, and all columns or some. */
static void params_of(unsigned kind, uint64_t seed, uint32_t n_columns, law_params *params) {
    const law_family *const family = family_of(kind);
    family->choose(params, kind / (unsigned)law_n_families % family->n_ways, n_columns);
    params->common.seed = seed;
}

static const uint32_t *columns_of(unsigned kind, uint32_t *d) {
    const bool some = kind / (unsigned)law_n_families / family_of(kind)->n_ways % 2 != 0;
    *d = some ? 2 : LEDGER_COLUMNS;
    return some ? some_columns : NULL;
}

static void name_of(unsigned slot, char name[EFFACE_MODEL_NAME_BYTES]) {
    (void)snprintf(name, EFFACE_MODEL_NAME_BYTES, "m%u", slot);
}

/* Room for what a request for a model refers to. */
typedef struct new_model {
    char name[EFFACE_MODEL_NAME_BYTES];
    law_params params;
} new_model;

static efface_new_model ask_for(const step *s, new_model *model) {
    uint32_t n_columns;
    const uint32_t *const columns = columns_of(s->model_kind, &n_columns);
    name_of(s->slot, model->name);
    params_of(s->model_kind, s->seed, n_columns, &model->params);
    return (efface_new_model){.name = model->name,
                              .params = &model->params.common,
                              .columns = columns,
                              .n_columns = columns != NULL ? n_columns : 0};
}

/* The first models: other families and ways each time. */
static step first_fit(unsigned slot) {
    const unsigned apart = 2 * (unsigned)law_n_families + 1;
    return (step){.kind = STEP_FIT, .slot = slot, .model_kind = slot * apart, .seed = slot};
}

ledger ledger_first(void) {
    ledger l = {.n_receipts = 0};
    for (uint64_t id = 0; id < FIRST_ROWS; id++)
        l.inside[id] = true;
    for (unsigned slot = 0; slot < FIRST_MODELS; slot++) {
        const step s = first_fit(slot);
        step_apply(&s, &l);
    }
    l.n_receipts = 0; /* models that are made with the store have none */
    return l;
}

efface_status ledger_create(const char *path, const efface_group *group, efface_error *error) {
    const ledger l = ledger_first();
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    new_model models[FIRST_MODELS];
    efface_new_model asked[FIRST_MODELS];
    for (unsigned slot = 0; slot < FIRST_MODELS; slot++) {
        const step s = first_fit(slot);
        asked[slot] = ask_for(&s, &models[slot]);
    }
    options.group = group;
    efface_data *const data = make_inside(&l, group, NULL, LEDGER_COLUMNS);
    const efface_status status =
        efface_store_create(path, data, NULL, &options, asked, FIRST_MODELS, &store, error);
    efface_store_close(store);
    efface_data_free(data);
    return status;
}

efface_status ledger_begin(ledger *l, const char *path, efface_error *error) {
    *l = ledger_first();
    return ledger_create(path, NULL, error);
}

/* ---------------------------------------------------------------- steps */

/* Adds up to n ids of the lane that are inside, or outside, each once. */
static void draw_ids(const ledger *l, dice *d, unsigned lane, unsigned n_lanes, bool inside,
                     unsigned n, step *s) {
    for (unsigned i = 0; i < 4 * n && s->n_ids < n; i++) {
        const uint64_t id = dice_below(d, LEDGER_IDS / n_lanes) * n_lanes + lane;
        bool twice = false;
        for (unsigned j = 0; j < s->n_ids; j++)
            twice |= s->ids[j] == id;
        if (l->inside[id] == inside && !twice) {
            s->versions[s->n_ids] = l->versions[id] + 1;
            s->ids[s->n_ids++] = id;
        }
    }
}

static unsigned count_inside(const ledger *l, unsigned lane, unsigned n_lanes) {
    unsigned n = 0;
    for (uint64_t id = lane; id < LEDGER_IDS; id += n_lanes)
        n += l->inside[id];
    return n;
}

/* One of three requests is about a model: it leaves if it is there, or gets another seed. */
static bool draw_model(const ledger *l, dice *d, unsigned lane, unsigned n_lanes, step *s) {
    s->slot = (unsigned)dice_below(d, LEDGER_MODELS / n_lanes) * n_lanes + lane;
    s->model_kind = (unsigned)dice_below(d, LEDGER_KINDS);
    s->seed = dice_below(d, UINT64_MAX);
    if (!l->models[s->slot].there)
        s->kind = STEP_FIT;
    else
        s->kind = s->slot >= LEDGER_LANES && dice_below(d, 2) != 0 ? STEP_DROP : STEP_REKEY;
    return true;
}

step step_draw(const ledger *l, dice *d, unsigned lane, unsigned n_lanes) {
    step s = {.kind = STEP_FORGET};
    const unsigned n_inside = count_inside(l, lane, n_lanes);
    const uint64_t what = dice_below(d, 23);
    if (what < 3 && draw_model(l, d, lane, n_lanes, &s))
        return s;
    if (what >= 20 && n_inside != 0) {
        s.kind = STEP_UPDATE;
        draw_ids(l, d, lane, n_lanes, true, 1 + (unsigned)dice_below(d, 8), &s);
        if (s.n_ids != 0)
            return s;
        s.kind = STEP_FORGET;
    }
    if (what < 8 || n_inside < LEDGER_IDS / n_lanes / 2) {
        s.kind = STEP_LEARN;
        draw_ids(l, d, lane, n_lanes, false, 1 + (unsigned)dice_below(d, 16), &s);
        if (s.n_ids != 0)
            return s;
        s.kind = STEP_FORGET;
    }
    draw_ids(l, d, lane, n_lanes, true, what < 16 ? 1 : 1 + (unsigned)dice_below(d, 12), &s);
    if (what >= 14 && s.n_ids != 0) {
        s.owners[s.n_owners++] = owner_of(s.ids[s.n_ids - 1]);
        s.n_ids -= what < 18; /* the owner alone, or with a row of its own among the ids */
    }
    s.grouped = dice_below(d, 2) != 0;
    return s;
}

/* The numbers of a line behind the first ones. */
static uint64_t *number_at(step *s, unsigned i) {
    if (i < s->n_ids)
        return &s->ids[i];
    i -= s->n_ids;
    return i < s->n_ids ? &s->versions[i] : &s->owners[i - s->n_ids];
}

void step_write(const step *s, char line[LEDGER_LINE]) {
    step own = *s;
    int used = snprintf(line, LEDGER_LINE, "%d %d %u %u %" PRIu64 " %u %u", (int)s->kind,
                        (int)s->grouped, s->slot, s->model_kind, s->seed, s->n_ids, s->n_owners);
    for (unsigned i = 0; i < 2 * s->n_ids + s->n_owners; i++)
        used += snprintf(line + used, LEDGER_LINE - (size_t)used, " %" PRIu64, *number_at(&own, i));
}

bool step_read(step *s, const char *line) {
    int kind = 0, grouped = 0, used = 0;
    *s = (step){.kind = STEP_FORGET};
    if (sscanf(line, "%d %d %u %u %" SCNu64 " %u %u%n", &kind, &grouped, &s->slot, &s->model_kind,
               &s->seed, &s->n_ids, &s->n_owners, &used) != 7 ||
        s->n_ids > 16 || s->n_owners > 2)
        return false;
    s->kind = (step_kind)kind;
    s->grouped = grouped != 0;
    for (unsigned i = 0; i < 2 * s->n_ids + s->n_owners; i++) {
        line += used;
        if (sscanf(line, " %" SCNu64 "%n", number_at(s, i), &used) != 1)
            return false;
    }
    return true;
}

/* Rows come, or get other values. */
static efface_status take_rows(const step *s, efface_store *store, efface_error *error) {
    efface_data *const data = make_set(s->ids, s->versions, s->n_ids, NULL, LEDGER_COLUMNS);
    const efface_status status = s->kind == STEP_LEARN
                                     ? efface_store_learn(store, data, NULL, NULL, error)
                                     : efface_store_update(store, data, NULL, NULL, error);
    efface_data_free(data);
    return status;
}

static efface_status forget(const step *s, efface_store *store, efface_error *error) {
    uint64_t numbers[16];
    for (unsigned i = 0; i < s->n_ids; i++)
        numbers[i] = number_of(s->ids[i]);
    const efface_request request = {
        .ids = numbers, .n_ids = s->n_ids, .owners = s->owners, .n_owners = s->n_owners};
    return efface_store_forget(store, &request, NULL, error);
}

/* A row of an owner may be among the ids, and the owner then has none left: that is no failure. */
static efface_status forget_grouped(const step *s, efface_store *store, efface_error *error) {
    const unsigned n = s->n_ids + s->n_owners;
    uint64_t numbers[16];
    efface_request requests[18];
    efface_store_change changes[18];
    for (unsigned i = 0; i < n; i++) {
        requests[i] = (efface_request){.missing = EFFACE_MISSING_SKIP};
        if (i < s->n_ids) {
            numbers[i] = number_of(s->ids[i]);
            requests[i].ids = &numbers[i];
            requests[i].n_ids = 1;
        } else {
            requests[i].owners = &s->owners[i - s->n_ids];
            requests[i].n_owners = 1;
        }
        changes[i] = (efface_store_change){.kind = EFFACE_CHANGE_FORGET, .request = &requests[i]};
    }
    efface_status status = efface_store_change_all(store, changes, n, error);
    for (unsigned i = 0; i < n; i++) {
        if (status == EFFACE_OK && changes[i].status != EFFACE_OK) {
            status = changes[i].status;
            *error = changes[i].error;
        }
        efface_store_report_free(&changes[i].report);
    }
    return status;
}

efface_status step_do(const step *s, efface_store *store, efface_error *error) {
    new_model model;
    const efface_new_model asked = ask_for(s, &model);
    switch (s->kind) {
    case STEP_FORGET: return s->grouped ? forget_grouped(s, store, error) : forget(s, store, error);
    case STEP_LEARN:
    case STEP_UPDATE: return take_rows(s, store, error);
    case STEP_FIT: return efface_store_fit(store, &asked, NULL, error);
    case STEP_DROP: return efface_store_drop(store, asked.name, error);
    case STEP_REKEY: return efface_store_rekey(store, asked.name, s->seed, error);
    }
    abort();
}

void step_apply(const step *s, ledger *l) {
    ledger_model *const model = &l->models[s->slot];
    for (unsigned i = 0; i < s->n_ids; i++) {
        l->inside[s->ids[i]] = s->kind != STEP_FORGET;
        if (s->kind != STEP_FORGET)
            l->versions[s->ids[i]] = s->versions[i];
    }
    for (unsigned i = 0; i < s->n_owners; i++)
        for (uint64_t id = 0; id < LEDGER_IDS; id++)
            l->inside[id] &= owner_of(id) != s->owners[i];
    if (s->kind == STEP_FORGET || s->kind == STEP_LEARN || s->kind == STEP_UPDATE)
        l->n_receipts += s->grouped ? s->n_ids + s->n_owners : 1;
    if (s->kind == STEP_FIT || s->kind == STEP_DROP || s->kind == STEP_REKEY)
        l->n_receipts++;
    if (s->kind == STEP_FIT)
        *model = (ledger_model){.there = true, .kind = s->model_kind};
    if (s->kind == STEP_DROP)
        model->there = false;
    if (s->kind == STEP_FIT || s->kind == STEP_REKEY)
        model->seed = s->seed;
}

/* ---------------------------------------------------------------- a store against the ledger */

static bool differs(char why[LEDGER_LINE], const char *what, const char *detail) {
    (void)snprintf(why, LEDGER_LINE, "%s%.300s", what, detail);
    return false;
}

static bool row_is(const ledger *l, uint64_t id, const efface_data *rows, size_t position) {
    float values[LEDGER_COLUMNS];
    const efface_row row = efface_data_row(rows, position);
    efface_data_values(rows, position, values);
    bool same =
        row.owner == owner_of(id) && row.weight == weight_of(id) && row.label == label_of(id);
    for (uint32_t j = 0; j < LEDGER_COLUMNS; j++)
        same &= values[j] == value_of(id, l->versions[id], j);
    return same;
}

/* The rows of this process, and those of all ranks of a group, which may be NULL. All ranks find
 * the same: counts[id] is in how many of them a row is, and far more if it is not as it was. */
static bool rows_are(const ledger *l, const efface_data *rows, const efface_group *group,
                     char why[LEDGER_LINE]) {
    const uint64_t wrong = UINT64_C(1) << 32;
    uint64_t counts[LEDGER_IDS + 1] = {0}, n = 0;
    for (uint64_t id = 0; id < LEDGER_IDS; id++) {
        size_t position = 0;
        if (efface_data_find(rows, number_of(id), &position) != EFFACE_OK)
            continue;
        counts[id] = row_is(l, id, rows, position) ? 1 : wrong;
        n++;
    }
    counts[LEDGER_IDS] = efface_data_n_rows(rows) - n;
    if (group != NULL && group->sum_64(group->context, counts, LEDGER_IDS + 1) != 0)
        return differs(why, "the group has failed", "");
    for (uint64_t id = 0; id < LEDGER_IDS; id++) {
        char text[32];
        (void)snprintf(text, sizeof text, "%" PRIu64, id);
        if (counts[id] == 0 && l->inside[id])
            return differs(why, "a row is not there: ", text);
        if (counts[id] != 0 && !l->inside[id])
            return differs(why, "a row is there: ", text);
        if (counts[id] > 1)
            return differs(
                why,
                counts[id] < wrong ? "a row is there twice: " : "a row is not as it was: ", text);
    }
    return counts[LEDGER_IDS] == 0 || differs(why, "rows of nobody", "");
}

/* The bytes of a model against those of a fit to the rows of the ledger. */
static bool model_is(const ledger *l, unsigned slot, efface_store *store, char why[LEDGER_LINE]) {
    const ledger_model *const m = &l->models[slot];
    char name[EFFACE_MODEL_NAME_BYTES];
    uint32_t d;
    name_of(slot, name);
    const uint32_t *const columns = columns_of(m->kind, &d);
    law_params params;
    params_of(m->kind, m->seed, d, &params);
    efface_data *const data = make_inside(l, NULL, columns, d);
    efface_model *model = NULL;
    unsigned char *right = NULL, *bytes = NULL;
    size_t n_right = 0, n_bytes = 0;
    efface_error error = {.message = ""};
    const bool known = law_fit(data, &params, &model, &error) == EFFACE_OK &&
                       efface_model_encode(model, &right, &n_right, &error) == EFFACE_OK &&
                       efface_store_encode(store, name, &bytes, &n_bytes, &error) == EFFACE_OK;
    const bool same = known && n_bytes == n_right && memcmp(bytes, right, n_bytes) == 0;
    efface_bytes_free(bytes);
    efface_bytes_free(right);
    efface_model_free(model);
    efface_data_free(data);
    if (!known)
        return differs(why, "a model cannot be read: ", error.message);
    return same || differs(why, "a model is not that of its rows: ", name);
}

bool ledger_is_of_ranks(const ledger *l, efface_store *store, const efface_group *group,
                        char why[LEDGER_LINE]) {
    efface_store_info info;
    efface_data *rows = NULL;
    efface_error error;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK ||
        efface_store_load(store, NULL, &rows, NULL, &error) != EFFACE_OK)
        return differs(why, "the store cannot be read: ", error.message);
    bool same = rows_are(l, rows, group, why);
    efface_data_free(rows);
    if (same && info.n_receipts != l->n_receipts)
        same = differs(why, "another number of receipts", "");
    uint32_t n_models = 0;
    for (unsigned slot = 0; same && slot < LEDGER_MODELS; slot++)
        if (l->models[slot].there) {
            n_models++;
            same = model_is(l, slot, store, why);
        }
    if (same && info.n_models != n_models)
        same = differs(why, "another number of models", "");
    return same;
}

bool ledger_is_of(const ledger *l, efface_store *store, char why[LEDGER_LINE]) {
    return ledger_is_of_ranks(l, store, NULL, why);
}

/* ---------------------------------------------------------------- what must be gone */

static void write_form(FILE *out, const unsigned char *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        (void)fprintf(out, "%02x", bytes[i]);
    (void)fputc('\n', out);
}

/* An id as SQLite's varint of nine bytes, and as eight bytes in both orders. */
static void write_id_forms(FILE *out, uint64_t number) {
    unsigned char varint[9], up[8], down[8];
    varint[8] = (unsigned char)number;
    for (unsigned i = 0; i < 8; i++) {
        varint[7 - i] = (unsigned char)(0x80 | (number >> (8 + 7 * i) & 0x7F));
        up[i] = (unsigned char)(number >> 8 * i);
        down[7 - i] = up[i];
    }
    write_form(out, varint, sizeof varint);
    write_form(out, up, sizeof up);
    write_form(out, down, sizeof down);
}

static void write_value_forms(FILE *out, uint64_t id, uint64_t version) {
    for (uint32_t j = 0; j + 3 <= LEDGER_COLUMNS; j++) {
        float run[3];
        unsigned char bytes[sizeof run];
        for (uint32_t i = 0; i < 3; i++)
            run[i] = value_of(id, version, j + i);
        memcpy(bytes, run, sizeof run);
        write_form(out, bytes, sizeof bytes);
    }
}

void ledger_write_gone(const ledger *l, FILE *out) {
    for (uint64_t id = 0; id < LEDGER_IDS; id++) {
        if (!l->inside[id])
            write_id_forms(out, number_of(id));
        for (uint64_t v = 0; v < l->versions[id] + !l->inside[id]; v++)
            write_value_forms(out, id, v);
    }
}

void ledger_write_there(const ledger *l, FILE *out) {
    for (uint64_t id = 0; id < LEDGER_IDS; id++)
        if (l->inside[id])
            write_value_forms(out, id, l->versions[id]);
}

/* ---------------------------------------------------------------- soundness */

static void keep_problem(void *context, const char *problem) {
    (void)differs(context, "check: ", problem);
}

static bool receipts_are_chained(efface_store *store, uint64_t n, char why[LEDGER_LINE]) {
    unsigned char digest[EFFACE_DIGEST_BYTES] = {0};
    for (uint64_t number = 1; number <= n; number++) {
        char *json = NULL, begin[64], chain[2 * EFFACE_DIGEST_BYTES + 32];
        (void)snprintf(begin, sizeof begin, "{\"receipt\":%" PRIu64 ",", number);
        int used = snprintf(chain, sizeof chain, "\"previous\":\"");
        for (size_t i = 0; i < sizeof digest; i++)
            used += snprintf(chain + used, sizeof chain - (size_t)used, "%02x", digest[i]);
        const efface_status status = efface_store_receipt(store, number, &json, NULL);
        if (status == EFFACE_E_BUSY)
            return true;
        const bool right = status == EFFACE_OK && strncmp(json, begin, strlen(begin)) == 0 &&
                           strstr(json, chain) != NULL;
        if (right)
            ef_digest(json, strlen(json), digest);
        efface_text_free(json);
        if (!right)
            return differs(why, "receipts are not a chain: ", begin);
    }
    return true;
}

bool store_is_sound(efface_store *store, char why[LEDGER_LINE]) {
    efface_error error;
    efface_store_info info;
    why[0] = '\0';
    efface_status status = efface_store_check(store, keep_problem, why, &error);
    if (status == EFFACE_OK)
        status = efface_store_get_info(store, &info, &error);
    if (status != EFFACE_OK || why[0] != '\0')
        return status == EFFACE_E_BUSY ||
               (why[0] == '\0' && differs(why, "no check: ", error.message));
    for (unsigned slot = 0; slot < LEDGER_MODELS; slot++) {
        char name[EFFACE_MODEL_NAME_BYTES];
        efface_difference difference;
        name_of(slot, name);
        status = efface_store_verify(store, name, &difference, &error);
        if (status == EFFACE_OK && difference.identical == 0)
            return differs(why, "does not verify: ", name);
        if (status != EFFACE_OK && status != EFFACE_E_NOT_FOUND && status != EFFACE_E_BUSY)
            return differs(why, "no verify: ", error.message);
    }
    return receipts_are_chained(store, info.n_receipts, why);
}
