/* Stores in parts do what stores of one file do (store.c, invariants 1 to 5): random requests to
 * both, with 1 to 7 ranks, across closing, opening and spreading over other numbers of parts. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group/store/parts_scene.h"
#include "store/scenes/store_scene.h"

#define N_ROWS 64

/* ------------------------------------------------------------------ a walk */

typedef struct walk {
    char parts[96], plain[96];
    uint32_t size;
    uint64_t random;
    uint64_t ids[SCENE_MOST_ROWS]; /* that are there */
    size_t n_ids;
    uint64_t next_id;
    unsigned n_steps;
} walk;

static uint64_t draw(walk *w, uint64_t below) {
    w->random += UINT64_C(0x9E3779B97F4A7C15);
    return scene_mix(w->random) % below;
}

static void walk_begin(walk *w, uint32_t size, uint64_t seed) {
    *w = (walk){.size = size, .random = seed, .n_ids = N_ROWS};
    (void)snprintf(w->parts, sizeof w->parts, "%s/parts", folder);
    (void)snprintf(w->plain, sizeof w->plain, "%s/plain.efface", folder);
    for (size_t i = 0; i < N_ROWS; i++)
        w->ids[i] = 3 * i + i / 7;
    w->next_id = 1000;
}

static void take_id_out(walk *w, uint64_t id) {
    for (size_t i = 0; i < w->n_ids; i++)
        if (w->ids[i] == id)
            w->ids[i] = w->ids[--w->n_ids];
}

/* Every rank has its own copy of the walk, and draws the same. */
static void check_reports(const scene_pair *pair, const efface_store_report *parts,
                          const efface_store_report *plain) {
    if (scene_leads(pair)) {
        RANK_ASSERT(parts->n_requested == plain->n_requested);
        RANK_ASSERT(parts->n_missing == plain->n_missing);
        RANK_ASSERT(parts->n_forgotten == plain->n_forgotten);
        RANK_ASSERT(parts->n_learned == plain->n_learned);
        RANK_ASSERT(parts->n_updated == plain->n_updated);
        RANK_ASSERT(parts->receipt == plain->receipt && parts->receipt != 0);
        RANK_ASSERT(parts->n_models == plain->n_models);
        RANK_ASSERT(parts->n_row_hashes == plain->n_row_hashes);
        for (uint32_t i = 0; i < plain->n_models; i++) {
            const efface_model_report *const a = &parts->models[i], *const b = &plain->models[i];
            RANK_ASSERT(a->report.action == b->report.action);
            RANK_ASSERT(strcmp(a->report.reason, b->report.reason) == 0);
        }
    } else {
        RANK_ASSERT(parts->receipt != 0 && parts->models == NULL);
    }
}

static void step_forget(walk *w, scene_pair *pair) {
    efface_store_report parts = {0}, plain = {0};
    uint64_t ids[4], owners[1];
    const size_t n = 1 + (size_t)draw(w, 3);
    const bool by_owner = draw(w, 3) == 0;
    efface_request request = {.missing = EFFACE_MISSING_SKIP, .ids = ids, .owners = owners};
    for (size_t i = 0; i < n; i++) {
        ids[request.n_ids++] = w->ids[draw(w, w->n_ids)];
        if (by_owner && scene_owner(ids[0]) != EFFACE_NO_OWNER) {
            owners[request.n_owners++] = scene_owner(ids[0]);
            break;
        }
    }
    if (draw(w, 4) == 0)
        ids[request.n_ids++] = 999999; /* is not there */
    RANK_OK(efface_store_preview(pair->parts, scene_leads(pair) ? &request : NULL, &parts, error));
    efface_store_report_free(&parts);
    RANK_OK(efface_store_forget(pair->parts, scene_leads(pair) ? &request : NULL, &parts, error));
    if (scene_leads(pair))
        RANK_OK(efface_store_forget(pair->plain, &request, &plain, error));
    check_reports(pair, &parts, &plain);
    efface_store_report_free(&parts);
    efface_store_report_free(&plain);
    for (size_t i = 0; i < request.n_ids; i++)
        take_id_out(w, ids[i]);
    for (size_t i = w->n_ids; request.n_owners != 0 && i > 0; i--)
        if (scene_owner(w->ids[i - 1]) == owners[0])
            take_id_out(w, w->ids[i - 1]);
}

/* Rows without ids get the same ones in both stores. */
static void learn_nameless(walk *w, scene_pair *pair) {
    efface_store_report parts = {0}, plain = {0};
    const float values[2 * SCENE_COLUMNS] = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.5F};
    efface_rows rows = {.n_rows = 2, .values = values};
    efface_data *data = NULL;
    RANK_OK(efface_data_create(SCENE_COLUMNS, &data, error));
    RANK_OK(efface_data_add(data, &rows, error));
    RANK_OK(efface_store_learn(pair->parts, scene_leads(pair) ? data : NULL, NULL, &parts, error));
    efface_data_free(data);
    RANK_ASSERT(parts.new_ids != NULL && parts.n_learned == 2);
    if (scene_leads(pair)) {
        rows.ids = parts.new_ids;
        RANK_OK(efface_data_create(SCENE_COLUMNS, &data, error));
        RANK_OK(efface_data_add(data, &rows, error));
        RANK_OK(efface_store_learn(pair->plain, data, NULL, &plain, error));
        efface_data_free(data);
    }
    check_reports(pair, &parts, &plain);
    for (int i = 0; i < 2; i++)
        w->ids[w->n_ids++] = parts.new_ids[i];
    efface_store_report_free(&parts);
    efface_store_report_free(&plain);
}

static void step_rows(walk *w, scene_pair *pair, bool learns) {
    efface_store_report parts = {0}, plain = {0};
    uint64_t ids[6];
    const size_t n = 1 + (size_t)draw(w, 6);
    size_t n_ids = 0;
    for (size_t i = 0; i < n; i++) {
        ids[n_ids] = learns ? w->next_id + draw(w, 100) : w->ids[draw(w, w->n_ids)];
        w->next_id += 100;
        bool twice = false;
        for (size_t k = 0; k < n_ids; k++)
            twice |= ids[k] == ids[n_ids];
        n_ids += !twice;
    }
    efface_texts *texts = NULL;
    efface_data *const rows = scene_rows(ids, n_ids, w->n_steps, &texts);
    const efface_data *const given = scene_leads(pair) ? rows : NULL;
    RANK_OK((learns ? efface_store_learn : efface_store_update)(pair->parts, given, texts, &parts,
                                                                error));
    if (scene_leads(pair))
        RANK_OK((learns ? efface_store_learn : efface_store_update)(pair->plain, rows, texts,
                                                                    &plain, error));
    check_reports(pair, &parts, &plain);
    efface_store_report_free(&parts);
    efface_store_report_free(&plain);
    efface_data_free(rows);
    efface_texts_free(texts);
    for (size_t i = 0; learns && i < n_ids; i++)
        w->ids[w->n_ids++] = ids[i];
}

static void step(walk *w, scene_pair *pair) {
    const uint64_t kind = draw(w, 10);
    w->n_steps++;
    if (kind < 4 && w->n_ids > 8)
        step_forget(w, pair);
    else if (kind < 7)
        step_rows(w, pair, true);
    else if (kind < 9)
        step_rows(w, pair, false);
    else
        learn_nameless(w, pair);
    scene_compare(pair, w->n_steps % 8 == 0);
}

static void create_and_walk(const efface_group *group, void *context) {
    walk own = *(const walk *)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, own.parts, own.plain, own.ids, own.n_ids, SCENE_MODELS);
    scene_compare(&pair, true);
    for (int i = 0; i < 12; i++)
        step(&own, &pair);
    scene_close(&pair);
    RANK_ASSERT(group->size <= THREAD_GROUP_MOST_RANKS);
    if (group->rank == 0)
        *(walk *)context = own;
}

static void open_and_walk(const efface_group *group, void *context) {
    walk own = *(const walk *)context;
    scene_pair pair = {.group = group};
    scene_open(&pair, own.parts, own.plain);
    scene_compare(&pair, true);
    for (int i = 0; i < 8; i++)
        step(&own, &pair);
    scene_compare(&pair, true);
    scene_close(&pair);
    if (group->rank == 0)
        *(walk *)context = own;
}

static void remove_all(void) {
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'/*", folder);
    assert_int_equal(system(command), 0);
}

static void test_walks(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        walk w;
        walk_begin(&w, sizes[i], 20260131 + i);
        thread_group_run(sizes[i], create_and_walk, &w);
        thread_group_run(sizes[i], open_and_walk, &w);
        remove_all();
    }
}

/* ------------------------------------------------------------------ few rows */

/* All rows leave, some come, and again; models stay what they should be. */
static void empty_and_fill(const efface_group *group, void *context) {
    walk own = *(const walk *)context;
    scene_pair pair = {.group = group};
    scene_create(&pair, own.parts, own.plain, own.ids, own.n_ids, SCENE_MODELS);
    scene_compare(&pair, true);
    for (int round = 0; round < 2; round++) {
        while (own.n_ids != 0) {
            step_forget(&own, &pair);
            scene_compare(&pair, own.n_ids <= 2);
        }
        scene_close(&pair);
        scene_open(&pair, own.parts, own.plain);
        step_rows(&own, &pair, true);
        scene_compare(&pair, true);
    }
    scene_close(&pair);
}

static void test_few_rows(void **state) {
    (void)state;
    static const struct {
        uint32_t size;
        size_t n_rows;
    } cases[] = {{1, 0}, {3, 0}, {4, 1}, {7, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        walk w;
        walk_begin(&w, cases[i].size, 77 + i);
        w.n_ids = cases[i].n_rows;
        thread_group_run(cases[i].size, empty_and_fill, &w);
        remove_all();
    }
}

/* ------------------------------------------------------------------ spreading */

static const unsigned char *signing; /* with this key; NULL: receipts of spreading are not signed */

/* That has a receipt, and so has a request for nobody. */
static void match_spread(const efface_group *group, const walk *w) {
    efface_store_options options = scene_options(NULL, EFFACE_ACCESS_WRITE);
    const efface_request nobody = {.n_ids = 0};
    efface_store *store = NULL;
    if (group->rank != 0)
        return;
    RANK_OK(efface_store_open(w->plain, &options, &store, error));
    RANK_OK(efface_store_forget(store, &nobody, NULL, error));
    efface_store_close(store);
}

static void spread(const efface_group *group, void *context) {
    const walk *const w = context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    char line[700];
    efface_error why;
    RANK_ASSERT(efface_store_open(w->parts, &options, &store, &why) == EFFACE_E_ARGUMENT);
    (void)snprintf(line, sizeof line, "mpirun -n %u efface-mpi spread %s", group->size, w->parts);
    RANK_ASSERT(strstr(why.message, line) != NULL);
    options.secret_key = signing;
    RANK_OK(efface_store_spread(w->parts, &options, error));
    match_spread(group, w);
}

static void see_file(const char *name, void *context) {
    unsigned *const n = context;
    *n += strncmp(name, "part-", 5) == 0 && strstr(name, "-journal") == NULL;
}

static void test_spreading(void **state) {
    (void)state;
    static const uint32_t sizes[] = {2, 5, 1, 4};
    walk w;
    walk_begin(&w, 3, 1905);
    thread_group_run(3, create_and_walk, &w);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned n_parts = 0;
        thread_group_run(sizes[i], spread, &w);
        (void)visit_files(w.parts, see_file, &n_parts);
        assert_int_equal(n_parts, sizes[i]);
        thread_group_run(sizes[i], open_and_walk, &w);
    }
    remove_all();
}

/* ------------------------------------------------------------------ the ends of files */

static const char *folder_of_parts;

/* As a compact that was killed leaves it. */
static void add_excess(const char *name, void *context) {
    char path[400];
    unsigned n = 0;
    see_file(name, &n);
    if (n == 0)
        return;
    (void)snprintf(path, sizeof path, "%s/%.255s", folder_of_parts, name);
    FILE *const file = fopen(path, "ab");
    assert_non_null(file);
    for (int i = 0; i < 9000; i++)
        assert_int_not_equal(fputc('a', file), EOF);
    assert_int_equal(fclose(file), 0);
    ++*(unsigned *)context;
}

static void hear_of_end(void *context, const char *problem) {
    RANK_ASSERT(strstr(problem, "9000 bytes stand behind its last page") != NULL);
    ++*(unsigned *)context;
}

/* Each rank says so of its part, and cuts it. */
static void check_and_cut(const efface_group *group, void *context) {
    const walk *const w = context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_READ);
    efface_store *store = NULL;
    unsigned n_problems = 0;
    RANK_OK(efface_store_open(w->parts, &options, &store, error));
    RANK_OK(efface_store_check(store, hear_of_end, &n_problems, error));
    RANK_ASSERT(n_problems == 1);
    efface_store_close(store);
    options.access = EFFACE_ACCESS_WRITE;
    store = NULL;
    RANK_OK(efface_store_open(w->parts, &options, &store, error));
    RANK_OK(efface_store_check(store, scene_problem, NULL, error));
    efface_store_close(store);
}

static void test_ends_of_files(void **state) {
    (void)state;
    walk w;
    unsigned n_parts = 0;
    walk_begin(&w, 3, 1912);
    thread_group_run(3, create_and_walk, &w);
    folder_of_parts = w.parts;
    (void)visit_files(w.parts, add_excess, &n_parts);
    assert_int_equal(n_parts, 3);
    thread_group_run(3, check_and_cut, &w);
    thread_group_run(3, open_and_walk, &w);
    remove_all();
}

/* ------------------------------------------------------------------ receipts */

static unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];

static void sign(const efface_group *group, void *context) {
    const walk *const w = context;
    efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    const efface_request request = {.ids = &w->ids[w->n_steps], .n_ids = 1};
    options.secret_key = secret_key;
    RANK_OK(efface_store_open(w->parts, &options, &store, error));
    RANK_OK(efface_store_forget(store, &request, NULL, error));
    efface_store_close(store);
}

static void check_signature(const efface_group *group, void *context) {
    const walk *const w = context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_READ);
    efface_store *store = NULL;
    RANK_OK(efface_store_open(w->parts, &options, &store, error));
    RANK_OK(efface_store_verify_receipts(store, public_key, error));
    efface_store_close(store);
}

static void create_only(const efface_group *group, void *context) {
    const walk *const w = context;
    scene_pair pair = {.group = group};
    scene_create(&pair, w->parts, w->plain, w->ids, w->n_ids, 1);
    scene_close(&pair);
}

static void test_signed_receipts(void **state) {
    (void)state;
    walk w;
    walk_begin(&w, 3, 5);
    assert_int_equal(efface_keys_make(secret_key, public_key, NULL), EFFACE_OK);
    thread_group_run(3, create_only, &w);
    thread_group_run(3, sign, &w);
    thread_group_run(3, check_signature, &w);
    signing = secret_key;
    thread_group_run(2, spread, &w);
    signing = NULL;
    thread_group_run(2, check_signature, &w);
    w.n_steps++;
    thread_group_run(2, sign, &w);
    thread_group_run(2, check_signature, &w);
    remove_all();
}

/* ------------------------------------------------------------------ handles that are open */

/* Who had the store open before does not write to parts that are gone. */
static void open_stale(const efface_group *group, void *context) {
    const walk *const w = context;
    const efface_store_options options = scene_options(group, EFFACE_ACCESS_WRITE);
    efface_store *store = NULL;
    RANK_OK(efface_store_open(w->parts, &options, &store, error));
    efface_store_info info;
    const efface_request request = {.ids = w->ids, .n_ids = 1};
    RANK_OK(efface_store_spread(w->parts, &options, error));
    RANK_ASSERT(efface_store_get_info(store, &info, NULL) == EFFACE_E_CORRUPT);
    RANK_ASSERT(efface_store_forget(store, &request, NULL, NULL) == EFFACE_E_CORRUPT);
    efface_store_close(store);
    match_spread(group, w);
}

static void test_spread_while_open(void **state) {
    (void)state;
    walk w;
    walk_begin(&w, 2, 3);
    thread_group_run(2, create_and_walk, &w);
    thread_group_run(2, open_stale, &w);
    thread_group_run(2, open_and_walk, &w);
    remove_all();
}

/* ------------------------------------------------------------------ other calls */

static void count_fact(void *context, const efface_fact *fact) {
    (void)fact;
    ++*(unsigned *)context;
}

typedef struct owner_sum {
    uint64_t n_owners, n_rows, hash;
} owner_sum;

static void add_owner(void *context, uint64_t owner, const char *text, uint64_t n_rows) {
    owner_sum *const sum = context;
    char should[32];
    scene_text(should, "owner", owner);
    RANK_ASSERT(text != NULL && strcmp(text, should) == 0);
    sum->n_owners++;
    sum->n_rows += n_rows;
    sum->hash += scene_mix(owner * 1000 + n_rows);
}

/* What a store says of itself, to be compared between both. */
typedef struct answers {
    unsigned n_facts;
    owner_sum owners;
    uint32_t n_columns, columns[2];
    uint64_t prediction;
    uint64_t n_found;
    double found[SCENE_COLUMNS];
} answers;

static void ask(efface_store *store, const walk *w, answers *a) {
    efface_model *model = NULL;
    efface_data *rows = NULL;
    uint32_t *columns = NULL;
    efface_stored_model info;
    efface_number number;
    const float row[2] = {9.0F, 1.0F};
    const uint64_t owner = scene_owner(w->ids[11]);
    const efface_request request = {.ids = &w->ids[3], .n_ids = 1, .owners = &owner, .n_owners = 1};
    RANK_OK(efface_store_describe(store, "quantized", count_fact, &a->n_facts, error));
    RANK_OK(efface_store_owners(store, add_owner, &a->owners, error));
    RANK_OK(efface_store_find_model(store, "quantized", &info, error));
    RANK_OK(efface_store_model_columns(store, "quantized", &columns, error));
    a->n_columns = info.n_columns;
    memcpy(a->columns, columns, sizeof a->columns);
    efface_columns_free(columns);
    RANK_OK(efface_store_model(store, "quantized", &model, error));
    RANK_OK(efface_predictor_predict(efface_model_predictor(model), 1, row, 0, &number, error));
    a->prediction = (uint64_t)number.whole;
    efface_model_free(model);
    RANK_OK(efface_store_find(store, &request, &rows, error));
    a->n_found = efface_data_n_rows(rows);
    for (size_t i = 0; i < a->n_found; i++) {
        float values[SCENE_COLUMNS];
        efface_data_values(rows, i, values);
        for (uint32_t j = 0; j < SCENE_COLUMNS; j++)
            a->found[j] += values[j];
    }
    efface_data_free(rows);
}

static void check_texts(efface_store *store, const walk *w) {
    char *text = NULL, should[32];
    for (size_t i = 0; i < w->n_ids; i += 9) {
        scene_text(should, "id", w->ids[i]);
        RANK_OK(efface_store_text(store, EFFACE_TEXT_ID, w->ids[i], &text, error));
        RANK_ASSERT(text != NULL && strcmp(text, should) == 0);
        efface_text_free(text);
    }
    RANK_OK(efface_store_text(store, EFFACE_TEXT_OWNER, 1, &text, error));
    RANK_ASSERT(text == NULL);
    RANK_OK(efface_store_text(store, EFFACE_TEXT_LABEL, 1, &text, error));
    RANK_ASSERT(text != NULL && strcmp(text, "label-1-of-scene") == 0);
    efface_text_free(text);
}

/* A model and the rows of this rank, which outlive the store. */
static void load_and_verify(const scene_pair *pair, efface_data **rows, efface_model **model) {
    uint64_t n = 0;
    RANK_OK(efface_store_load(pair->parts, "tree", rows, model, error));
    n = efface_data_n_rows(*rows);
    RANK_ASSERT(pair->group->sum_64(pair->group->context, &n, 1) == 0);
    RANK_ASSERT(n == N_ROWS);
}

static void make_calls(const efface_group *group, void *context) {
    const walk *const w = context;
    scene_pair pair = {.group = group};
    scene_models models;
    answers is = {0}, should = {0};
    char *receipt = NULL;
    efface_data *rows = NULL;
    efface_model *model = NULL, *fitted = NULL;
    efface_difference difference;
    scene_models_init(&models);
    scene_create(&pair, w->parts, w->plain, w->ids, w->n_ids, 0);
    for (int i = 0; i < SCENE_MODELS; i++) {
        RANK_OK(efface_store_fit(pair.parts, &models.asked[i], &fitted, error));
        efface_model_free(fitted);
        if (scene_leads(&pair))
            RANK_OK(efface_store_fit(pair.plain, &models.asked[i], NULL, error));
    }
    RANK_ASSERT(efface_store_fit(pair.parts, &models.asked[0], NULL, NULL) == EFFACE_E_DUPLICATE);
    scene_compare(&pair, true);
    ask(pair.parts, w, &is);
    if (scene_leads(&pair)) {
        ask(pair.plain, w, &should);
        RANK_ASSERT(memcmp(&is, &should, sizeof is) == 0);
    }
    check_texts(pair.parts, w);
    RANK_OK(efface_store_receipt(pair.parts, SCENE_MODELS, &receipt, error));
    RANK_ASSERT(strstr(receipt, "\"kind\":\"add\"") != NULL);
    efface_text_free(receipt);
    receipt = NULL;
    RANK_ASSERT(efface_store_receipt(pair.parts, SCENE_MODELS + 1, &receipt, NULL) ==
                EFFACE_E_NOT_FOUND);
    RANK_OK(efface_store_rekey(pair.parts, NULL, 99, error));
    RANK_OK(efface_store_rekey(pair.parts, "tree", 98, error));
    RANK_OK(efface_store_drop(pair.parts, "pyramid", error));
    RANK_ASSERT(efface_store_drop(pair.parts, "pyramid", NULL) == EFFACE_E_NOT_FOUND);
    if (scene_leads(&pair)) {
        RANK_OK(efface_store_rekey(pair.plain, NULL, 99, error));
        RANK_OK(efface_store_rekey(pair.plain, "tree", 98, error));
        RANK_OK(efface_store_drop(pair.plain, "pyramid", error));
    }
    RANK_OK(efface_store_compact(pair.parts, error));
    scene_compare(&pair, true);
    load_and_verify(&pair, &rows, &model);
    walk own = *w;
    own.n_steps = 0;
    step_forget(&own, &pair);
    RANK_OK(efface_store_receipt(pair.parts, SCENE_MODELS + 4, &receipt, error));
    RANK_ASSERT(strstr(receipt, "\"kind\":\"forget\"") != NULL);
    efface_text_free(receipt);
    scene_close(&pair);
    RANK_OK(efface_model_verify(model, rows, &difference, error));
    RANK_ASSERT(difference.identical);
    efface_model_free(model);
    efface_data_free(rows);
}

static void test_calls(void **state) {
    (void)state;
    for (uint32_t size = 1; size <= 4; size++) {
        walk w;
        walk_begin(&w, size, size);
        thread_group_run(size, make_calls, &w);
        remove_all();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),           cmocka_unit_test(test_walks),
        cmocka_unit_test(test_few_rows),        cmocka_unit_test(test_spreading),
        cmocka_unit_test(test_ends_of_files),   cmocka_unit_test(test_spread_while_open),
        cmocka_unit_test(test_signed_receipts),
    };
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
