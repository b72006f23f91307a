/*
 * A store with everything in it, for tests of damage: rows of ids in order and of ids that are
 * spread, with and without owners and labels, texts, models, signed receipts; what it has, in
 * memory; and all questions, each answered rightly or refused.
 */
#ifndef EF_TESTS_SEALED_STORE_H
#define EF_TESTS_SEALED_STORE_H

#include "store/scenes/sql_scene.h"
#include "store/seals/head.h"
#include "store/seals/seals.h"
#include "store/store.h"

#include <inttypes.h>
#include <sodium.h>

#define SEALED "sealed.efface"
#define SEALED_COLUMNS 3
#define SEALED_ROWS 66

typedef struct sealed_row {
    efface_row row;
    float values[SEALED_COLUMNS];
    char text[24];
} sealed_row;

typedef struct sealed_store {
    sealed_row rows[SEALED_ROWS];
    size_t n_rows;
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    image file;
    ef_head head;
} sealed_store;

static const char *const sealed_models[] = {"alpha", "beta"};

static inline sealed_row make_sealed_row(uint64_t id, size_t i) {
    sealed_row r = {.row = {.id = id,
                            .owner = i % 7 == 3 ? EFFACE_NO_OWNER : 500 + i / 3,
                            .weight = 1 + (int64_t)(i % 3),
                            .label = i % 5 == 4 ? EFFACE_NO_LABEL : (int64_t)(i % 4)}};
    (void)snprintf(r.text, sizeof r.text, "id-%" PRIu64, id);
    for (uint32_t j = 0; j < SEALED_COLUMNS; j++)
        r.values[j] = (float)(i % 3) * 10.0F + (float)((i * 7 + j * 13) % 17) * 0.25F;
    return r;
}

/* A set without rows; its columns have offsets, as those of the store. */
static inline efface_data *empty_sealed(void) {
    double offsets[SEALED_COLUMNS] = {0.0};
    efface_data *data = NULL;
    offsets[1] = -1e9;
    REQUIRE_OK(efface_data_create(SEALED_COLUMNS, &data, error));
    REQUIRE_OK(efface_data_set_offsets(data, offsets, error));
    return data;
}

static inline efface_data *data_of_sealed(const sealed_row *rows, size_t n) {
    efface_data *const data = empty_sealed();
    for (size_t i = 0; i < n; i++) {
        const efface_rows row = {.n_rows = 1,
                                 .values = rows[i].values,
                                 .ids = &rows[i].row.id,
                                 .weights = &rows[i].row.weight,
                                 .owners = &rows[i].row.owner,
                                 .labels = &rows[i].row.label};
        REQUIRE_OK(efface_data_add(data, &row, error));
    }
    return data;
}

static inline void owner_text(uint64_t owner, char to[24]) {
    (void)snprintf(to, 24, "owner-%" PRIu64, owner);
}

static inline efface_texts *texts_of_sealed(const sealed_row *rows, size_t n) {
    static const char *const labels[] = {"red", "green", "blue", "grey"};
    efface_texts *texts = NULL;
    REQUIRE_OK(efface_texts_create(&texts, error));
    for (size_t i = 0; i < n; i++) {
        const efface_row *const r = &rows[i].row;
        char owner[24];
        owner_text(r->owner, owner);
        REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_ID, r->id, rows[i].text,
                                    strlen(rows[i].text), error));
        if (r->owner != EFFACE_NO_OWNER)
            REQUIRE_OK(
                efface_texts_add(texts, EFFACE_TEXT_OWNER, r->owner, owner, strlen(owner), error));
        if (r->label != EFFACE_NO_LABEL)
            REQUIRE_OK(efface_texts_add(texts, EFFACE_TEXT_LABEL, (uint64_t)r->label,
                                        labels[r->label], strlen(labels[r->label]), error));
    }
    return texts;
}

static inline efface_store_options sealed_options(const sealed_store *s, efface_access access) {
    efface_store_options options = plain_options(access);
    options.keep_texts = 1;
    options.secret_key = s->secret_key;
    return options;
}

static inline efface_status open_sealed(const sealed_store *s, efface_access access,
                                        efface_store **store, efface_error *error) {
    const efface_store_options options = sealed_options(s, access);
    return efface_store_open(in_folder(SEALED), &options, store, error);
}

static inline void restore_sealed(const sealed_store *s) {
    (void)unlink(in_folder(SEALED "-journal"));
    write_image(in_folder(SEALED), s->file.bytes, s->file.n_bytes);
}

/* Ids 0 to 57 but for 5 and 40, and ten that are spread; then two rows leave, one changes, and one
 * comes. */
static inline void make_sealed(sealed_store *s) {
    static const uint32_t some[] = {2, 0};
    *s = (sealed_store){.n_rows = 0};
    REQUIRE_OK(efface_keys_make(s->secret_key, s->public_key, error));
    for (uint64_t i = 0; s->n_rows < SEALED_ROWS; i++)
        if (i != 5 && i != 40) {
            s->rows[s->n_rows] = make_sealed_row(i < 58 ? i : i * UINT64_C(0x9E3779B97F4A7C15), i);
            s->n_rows++;
        }
    efface_data *data = data_of_sealed(s->rows, s->n_rows);
    efface_texts *const texts = texts_of_sealed(s->rows, s->n_rows);
    efface_kmeans_params params[2];
    for (int i = 0; i < 2; i++) {
        efface_kmeans_params_init(&params[i]);
        params[i].method = i == 0 ? EFFACE_METHOD_LLOYD : EFFACE_METHOD_QUANTIZED;
        params[i].candidates = 1;
        params[i].n_clusters = 3;
        params[i].iterations = 2;
        params[i].common.n_threads = 1;
    }
    REQUIRE_OK(efface_data_name_column(data, 0, "height", error));
    REQUIRE_OK(efface_data_name_column(data, 2, "depth", error));
    const efface_new_model models[] = {
        {.name = "alpha", .params = &params[0].common},
        {.name = "beta", .params = &params[1].common, .columns = some, .n_columns = 2}};
    efface_store *store = NULL;
    const efface_store_options options = sealed_options(s, EFFACE_ACCESS_WRITE);
    empty_folder();
    REQUIRE_OK(
        efface_store_create(in_folder(SEALED), data, texts, &options, models, 2, &store, error));
    efface_data_free(data);
    const uint64_t gone[] = {s->rows[20].row.id, s->rows[60].row.id};
    const efface_request request = {.ids = gone, .n_ids = 2};
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    s->rows[60] = s->rows[--s->n_rows];
    s->rows[20] = s->rows[--s->n_rows];
    s->rows[7].values[1] = 3.75F;
    data = data_of_sealed(&s->rows[7], 1);
    REQUIRE_OK(efface_store_update(store, data, texts, NULL, error));
    efface_data_free(data);
    s->rows[s->n_rows] = make_sealed_row(UINT64_C(0xF00000000000000D), 99);
    data = data_of_sealed(&s->rows[s->n_rows++], 1);
    REQUIRE_OK(efface_store_learn(store, data, NULL, NULL, error));
    efface_data_free(data);
    s->rows[s->n_rows - 1].text[0] = '\0'; /* none was given */
    check_whole(store);
    s->head = store->head;
    efface_store_close(store);
    efface_texts_free(texts);
    s->file = read_image(in_folder(SEALED));
}

static inline const sealed_row *find_sealed(const sealed_store *s, uint64_t id) {
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].row.id == id)
            return &s->rows[i];
    return NULL;
}

static inline uint64_t rows_of_owner(const sealed_store *s, uint64_t owner) {
    uint64_t n = 0;
    for (size_t i = 0; i < s->n_rows; i++)
        n += s->rows[i].row.owner == owner;
    return n;
}

/* An id that no row has, in the bucket of another. */
static inline uint64_t absent_beside(const sealed_store *s, uint64_t id) {
    for (uint64_t k = 1;; k++) {
        const uint64_t other = id < s->head.dense ? k : k * UINT64_C(0xD1342543DE82EF95);
        if (find_sealed(s, other) == NULL &&
            ef_bucket_of(&s->head, other) == ef_bucket_of(&s->head, id))
            return other;
    }
}

/* ------------------------------------------------------------------ questions */

typedef enum question {
    ASK_FIND = 1,
    ASK_FIND_ABSENT = 1 << 1,
    ASK_FIND_OWNER = 1 << 2,
    ASK_LOOK = 1 << 3,
    ASK_OWNERS = 1 << 4,
    ASK_TEXT_ID = 1 << 5,
    ASK_TEXT_OWNER = 1 << 6,
    ASK_LOAD = 1 << 7,
    ASK_MODELS = 1 << 8,
    ASK_ENCODE = 1 << 9,
    ASK_VERIFY = 1 << 10,
    FORGET_ID = 1 << 11,
    FORGET_ABSENT = 1 << 12,
    FORGET_OWNER = 1 << 13,
    FORGET_ABSENT_OWNER = 1 << 14,
    LEARN_ROW = 1 << 15,
    LEARN_NEW = 1 << 16,
    UPDATE_ROW = 1 << 17,
    QUESTIONS = 18
} question;

#define FIRST_CHANGE FORGET_ID

/* What the questions are about: a row that is there and has an owner, an id that is not in its
 * bucket, an owner that is not there, a model. */
typedef struct subject {
    const sealed_row *row;
    uint64_t absent, absent_owner;
    const char *model;
} subject;

static inline subject subject_of(const sealed_store *s, const sealed_row *row) {
    return (subject){row, absent_beside(s, row->row.id), 77, "alpha"};
}

/* An answer that is wrong; NULL if it is right. */
static inline const char *wrong_rows(const sealed_store *s, const efface_data *rows, uint64_t n) {
    if (efface_data_n_rows(rows) != n)
        return "another number of rows";
    for (size_t i = 0; i < efface_data_n_rows(rows); i++) {
        const efface_row row = efface_data_row(rows, i);
        const sealed_row *const right = find_sealed(s, row.id);
        float values[SEALED_COLUMNS];
        efface_data_values(rows, i, values);
        if (right == NULL || right->row.owner != row.owner || right->row.weight != row.weight ||
            right->row.label != row.label || memcmp(values, right->values, sizeof values) != 0)
            return "another row";
    }
    return NULL;
}

typedef struct owner_count {
    const sealed_store *s;
    uint64_t n_rows;
    const char *wrong;
} owner_count;

static inline void take_owner(void *context, uint64_t owner, const char *name, uint64_t n_rows) {
    owner_count *const c = context;
    char right[24];
    owner_text(owner, right);
    c->n_rows += n_rows;
    if (rows_of_owner(c->s, owner) != n_rows || (name != NULL && strcmp(name, right) != 0))
        c->wrong = "another owner";
}

static inline efface_status ask_find(const sealed_store *s, efface_store *store,
                                     const efface_request *request, uint64_t n, const char **wrong,
                                     efface_error *error) {
    efface_data *rows = NULL;
    const efface_status status = efface_store_find(store, request, &rows, error);
    if (status == EFFACE_OK)
        *wrong = wrong_rows(s, rows, n);
    efface_data_free(rows);
    return status;
}

typedef efface_status (*asking)(efface_store *store, const efface_request *request,
                                efface_store_report *report, efface_error *error);

static inline efface_status ask_to(asking ask, efface_store *store, const efface_request *request,
                                   uint64_t n, uint64_t n_missing, const char **wrong,
                                   efface_error *error) {
    efface_store_report report = {0};
    const efface_status status = ask(store, request, &report, error);
    if (status == EFFACE_OK && (report.n_forgotten != n || report.n_missing != n_missing))
        *wrong = "another number of rows forgotten, or missing";
    efface_store_report_free(&report);
    return status;
}

static inline efface_status ask_text(efface_store *store, efface_text_kind kind, uint64_t number,
                                     const char *right, const char **wrong, efface_error *error) {
    char *found = NULL;
    const efface_status status = efface_store_text(store, kind, number, &found, error);
    if (status == EFFACE_OK && (found == NULL) != (right[0] == '\0'))
        *wrong = "a text is there or not";
    else if (status == EFFACE_OK && found != NULL && strcmp(found, right) != 0)
        *wrong = "another text";
    efface_text_free(found);
    return status;
}

static inline efface_status ask_models(efface_store *store, const char **wrong,
                                       efface_error *error) {
    efface_stored_model *models = NULL;
    size_t n = 0;
    const efface_status status = efface_store_models(store, &models, &n, error);
    if (status == EFFACE_OK &&
        (n != 2 || strcmp(models[0].name, sealed_models[0]) != 0 ||
         strcmp(models[1].name, sealed_models[1]) != 0 || models[1].n_columns != 2 ||
         models[0].family != EFFACE_FAMILY_KMEANS))
        *wrong = "other models";
    efface_model_list_free(models);
    return status;
}

static inline efface_status ask_change(const sealed_store *s, efface_store *store,
                                       const subject *about, question q, const char **wrong,
                                       efface_error *error) {
    sealed_row row = *about->row;
    if (q != UPDATE_ROW)
        row.row.id = about->absent;
    row.values[0] += 0.5F;
    efface_data *data = data_of_sealed(&row, 1);
    if (q == LEARN_NEW) {
        efface_data_free(data);
        const efface_rows plain = {.n_rows = 1, .values = row.values};
        data = empty_sealed();
        assert_int_equal(efface_data_add(data, &plain, error), EFFACE_OK);
    }
    efface_store_report report = {0};
    const efface_status status = q == UPDATE_ROW
                                     ? efface_store_update(store, data, NULL, &report, error)
                                     : efface_store_learn(store, data, NULL, &report, error);
    (void)s;
    if (status == EFFACE_OK && report.n_updated + report.n_learned != 1)
        *wrong = "another number of rows came";
    efface_store_report_free(&report);
    efface_data_free(data);
    return status;
}

/* Asks, and says what is wrong with the answer if there is one. */
static inline efface_status ask(const sealed_store *s, efface_store *store, const subject *about,
                                question q, const char **wrong, efface_error *error) {
    const efface_row *const r = &about->row->row;
    const efface_request by_id = {.ids = &r->id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    const efface_request absent = {
        .ids = &about->absent, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    const efface_request by_owner = {
        .owners = &r->owner, .n_owners = 1, .missing = EFFACE_MISSING_SKIP};
    const efface_request no_owner = {
        .owners = &about->absent_owner, .n_owners = 1, .missing = EFFACE_MISSING_SKIP};
    const uint64_t n_owned = rows_of_owner(s, r->owner);
    efface_status status = EFFACE_OK;
    char name[24];
    *wrong = NULL;
    switch (q) {
    case ASK_FIND: return ask_find(s, store, &by_id, 1, wrong, error);
    case ASK_FIND_ABSENT: return ask_find(s, store, &absent, 0, wrong, error);
    case ASK_FIND_OWNER: return ask_find(s, store, &by_owner, n_owned, wrong, error);
    case ASK_LOOK: return ask_to(efface_store_preview, store, &by_id, 1, 0, wrong, error);
    case ASK_OWNERS: {
        owner_count c = {s, 0, NULL};
        status = efface_store_owners(store, take_owner, &c, error);
        if (status == EFFACE_OK)
            *wrong = c.wrong != NULL ? c.wrong
                     : c.n_rows + rows_of_owner(s, EFFACE_NO_OWNER) != s->n_rows
                         ? "owners of another number of rows"
                         : NULL;
        return status;
    }
    case ASK_TEXT_ID: return ask_text(store, EFFACE_TEXT_ID, r->id, about->row->text, wrong, error);
    case ASK_TEXT_OWNER:
        owner_text(r->owner, name);
        return ask_text(store, EFFACE_TEXT_OWNER, r->owner, name, wrong, error);
    case ASK_LOAD: {
        efface_data *rows = NULL;
        status = efface_store_load(store, NULL, &rows, NULL, error);
        if (status == EFFACE_OK)
            *wrong = wrong_rows(s, rows, s->n_rows);
        efface_data_free(rows);
        return status;
    }
    case ASK_MODELS: return ask_models(store, wrong, error);
    case ASK_ENCODE: {
        image bytes = {NULL, 0};
        status = efface_store_encode(store, about->model, &bytes.bytes, &bytes.n_bytes, error);
        efface_bytes_free(bytes.bytes);
        return status;
    }
    case ASK_VERIFY: {
        efface_difference difference;
        status = efface_store_verify(store, about->model, &difference, error);
        if (status == EFFACE_OK && !difference.identical)
            *wrong = "a model that is not that of its rows";
        return status;
    }
    case FORGET_ID: return ask_to(efface_store_forget, store, &by_id, 1, 0, wrong, error);
    case FORGET_ABSENT: return ask_to(efface_store_forget, store, &absent, 0, 1, wrong, error);
    case FORGET_OWNER:
        return ask_to(efface_store_forget, store, &by_owner, n_owned, 0, wrong, error);
    case FORGET_ABSENT_OWNER:
        return ask_to(efface_store_forget, store, &no_owner, 0, 1, wrong, error);
    default: return ask_change(s, store, about, q, wrong, error);
    }
}

#endif
