/*
 * Any bytes as the body of a request to the service, from the bytes to the reply. Where a store
 * would be there is a set of facts and two models in memory; a change ends where the writer of a
 * room would take it, after its rows were looked at. The first byte says what is asked:
 *
 *     bits 0 to 2   forget, preview, find, learn, update, predict clusters, predict classes,
 *                   predict with an answer in CSV
 *     bit 3         the body is CSV
 *     bit 4         ids, owners and labels are texts
 *     bits 5 to 7   which columns of the CSV are named; bit 5 also, that values may be missing
 */
#include "api/api.h"
#include "api/rows/row_bodies.h"
#include "api/rows/whom.h"
#include "fuzz_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

enum { N_COLUMNS = 3 };

static char name_a[] = "a", name_b[] = "b", name_c[] = "c,\"d\"";
static char *names[N_COLUMNS] = {name_a, name_b, name_c};
static double offsets[N_COLUMNS] = {0.0, 1000.0, 0.0};
static sv_facts facts;
static bool categories[N_COLUMNS] = {true}; /* the first column has categories */
static sv_snapshot clusters, classes;
static unsigned char choice;
static bool answered;

/* ---------------------------------------------------------------- what stands for the service */

const char *sv_query(const sv_request *request, const char *name) {
    (void)request;
    switch (choice >> 5) {
    case 1: return strcmp(name, "id") == 0 ? "id" : NULL;
    case 2: return strcmp(name, "id") == 0 ? "1" : strcmp(name, "owner") == 0 ? "owner" : NULL;
    case 3: return strcmp(name, "label") == 0 ? "y" : strcmp(name, "id") == 0 ? "id" : NULL;
    case 4: return name;
    default: return NULL;
    }
}

double sv_now(void) {
    return 0.0;
}

void sv_hold(sv_request *request) {
    require(request->at == SV_HERE);
}

void sv_move(sv_request *request, sv_where where) {
    require(where != SV_HERE && where != request->at);
    request->at = where;
}

void sv_go_on_later(sv_request *request) {
    (void)request;
    require(false); /* no time goes by */
}

double sv_worked(void) {
    return 0.0;
}

void sv_note_reading(sv_request *request, double seconds) {
    (void)request;
    require(seconds >= 0.0);
}

bool sv_reads_much(const sv_request *request) {
    (void)request;
    return (choice & 8) != 0;
}

void sv_finish(sv_request *request) {
    (void)request;
    answered = true;
}

const char *sv_room_name(const sv_room *room) {
    (void)room;
    return "store";
}

sv_job_added sv_jobs_add_forget(sv_jobs *jobs, const char *who, const char *store,
                                const efface_request *whom, char id[SV_JOB_ID_BYTES]) {
    (void)jobs;
    (void)who;
    (void)store;
    (void)id;
    require(whom->n_ids + whom->n_owners > SV_MAX_NAMES);
    return SV_JOB_TOO_MANY;
}

sv_when sv_reply_added(sv_request *request, sv_job_added added, const char *id) {
    (void)added;
    (void)id;
    return sv_refuse(request, 503, "busy", "too many jobs wait; try again later");
}

efface_status sv_room_open(const sv_room *room, efface_store **store, efface_store_info *info,
                           efface_error *error) {
    (void)room;
    (void)info;
    *store = NULL;
    *error = (efface_error){.status = EFFACE_E_BUSY, .message = "busy"};
    return EFFACE_E_BUSY;
}

efface_status sv_facts_take(sv_room *room, const sv_facts **out, efface_error *error) {
    (void)room;
    (void)error;
    *out = &facts;
    return EFFACE_OK;
}

void sv_facts_drop(sv_room *room, const sv_facts *taken) {
    (void)room;
    require(taken == &facts);
}

efface_status sv_snapshot_take(sv_room *room, const char *name, bool only_ready, sv_snapshot **out,
                               efface_error *error) {
    (void)room;
    (void)only_ready;
    (void)error;
    *out = strcmp(name, "classes") == 0 ? &classes : &clusters;
    return EFFACE_OK;
}

void sv_snapshot_drop(sv_room *room, sv_snapshot *snapshot) {
    (void)room;
    (void)snapshot;
}

/* Looks at everything that the store would look at. */
void sv_writer_add(sv_room *room, sv_change *change) {
    const efface_store_change *const asked = &change->asked;
    (void)room;
    if (asked->kind == EFFACE_CHANGE_FORGET) {
        require(asked->request->n_ids + asked->request->n_owners != 0);
        for (size_t i = 1; i < asked->request->n_ids; i++)
            require(asked->request->ids[i - 1] < asked->request->ids[i]);
        for (size_t i = 0; i < asked->request->n_owners; i++)
            require(asked->request->owners[i] != EFFACE_NO_OWNER);
    } else {
        float values[N_COLUMNS];
        require(efface_data_n_columns(asked->data) == N_COLUMNS);
        for (size_t i = 0; i < efface_data_n_rows(asked->data); i++) {
            efface_data_values(asked->data, i, values);
            for (size_t j = 0; j < N_COLUMNS; j++)
                require(values[j] - values[j] == 0.0F ||
                        (facts.columns.missing && isnan(values[j])));
            require(efface_data_row(asked->data, i).weight >= 1);
        }
    }
    change->asked.status = EFFACE_E_BUSY;
    change->asked.error = (efface_error){.status = EFFACE_E_BUSY, .message = "busy"};
    change->done(change);
}

/* ---------------------------------------------------------------- models */

static efface_data *make_rows(void) {
    enum { N_ROWS = 12 };
    float values[N_ROWS * N_COLUMNS];
    int64_t labels[N_ROWS];
    efface_data *data = NULL;
    for (size_t i = 0; i < N_ROWS; i++) {
        labels[i] = (int64_t)(i % 2);
        for (size_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = (float)(i * i + 7 * j * (i % 2));
    }
    const efface_rows rows = {.n_rows = N_ROWS, .values = values, .labels = labels};
    require(efface_data_create(N_COLUMNS, &data, NULL) == EFFACE_OK);
    require(efface_data_add(data, &rows, NULL) == EFFACE_OK);
    return data;
}

static void make_snapshot(sv_snapshot *s, efface_model *model) {
    static uint32_t inputs[N_COLUMNS] = {0, 1, 2};
    static bool no_categories[N_COLUMNS];
    static int64_t numbers[2];
    static char text[] = "one, \"two\"";
    static char *texts[2] = {NULL, text};
    s->model = model;
    s->predictor = efface_model_predictor(model);
    memcpy(s->name, "model", sizeof "model");
    s->info = efface_model_get_info(model);
    s->names = names;
    s->offsets = offsets;
    s->inputs = inputs;
    s->input_columns = (sv_columns){N_COLUMNS, names, offsets, no_categories, false};
    s->classes = numbers;
    s->class_texts = texts;
    efface_predictor_classes(s->predictor, numbers, 2);
}

static void make_models(void) {
    efface_kmeans_params kmeans;
    efface_sums_params sums;
    efface_model *model = NULL;
    efface_data *const data = make_rows();
    efface_kmeans_params_init(&kmeans);
    kmeans.n_clusters = 3;
    require(efface_kmeans_fit(data, &kmeans, &model, NULL) == EFFACE_OK);
    make_snapshot(&clusters, model);
    efface_sums_params_init(&sums);
    sums.view = EFFACE_VIEW_BAYES;
    require(efface_sums_fit(data, &sums, &model, NULL) == EFFACE_OK);
    make_snapshot(&classes, model);
    efface_data_free(data);
}

/* ---------------------------------------------------------------- requests */

static void check_reply(const sv_request *request) {
    const sv_reply *const reply = &request->reply;
    require(reply->status >= 200 && reply->status < 600);
    require(reply->body != NULL && reply->n_body != 0);
    if (strcmp(reply->content_type, "application/json") == 0) {
        json_t *const json = json_loadb(reply->body, reply->n_body, 0, NULL);
        require(json_is_object(json));
        require((json_object_get(json, "error") != NULL) == (reply->status >= 400));
        json_decref(json);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    static sv_when (*const handlers[8])(sv_request *) = {
        sv_post_forget, sv_post_preview, sv_post_find,    sv_post_learn,
        sv_post_update, sv_post_predict, sv_post_predict, sv_post_predict};
    if (n_bytes == 0)
        return 0;
    if (clusters.model == NULL)
        make_models();
    choice = bytes[0];
    answered = false;
    const efface_ids kind = (choice & 16) != 0 ? EFFACE_IDS_TEXT : EFFACE_IDS_NUMBERS;
    facts = (sv_facts){.ids = kind,
                       .owners = (choice & 0xC0) == 0xC0 ? EFFACE_IDS_DETECT : kind,
                       .labels = kind,
                       .columns = {N_COLUMNS, names, offsets, categories, (choice & 32) != 0}};
    static const sv_options options = {.max_body = 1 << 20, .max_rows = 1 << 20};
    sv_service service = {.options = &options};
    sv_request request = {.service = &service,
                          .parts = {"store", (choice & 7) == 6 ? "classes" : "clusters"},
                          .content_type = (choice & 8) != 0 ? "text/csv" : "application/json",
                          .accept = (choice & 7) == 7 ? "text/csv" : "*/*",
                          .n_body = n_bytes - 1};
    request.body = malloc(n_bytes);
    require(request.body != NULL);
    memcpy(request.body, bytes + 1, n_bytes - 1);
    request.body[n_bytes - 1] = 0;
    sv_when when;
    do
        when = handlers[choice & 7](&request);
    while (when == SV_LATER && !answered); /* it was moved */
    require(answered == (when == SV_LATER));
    check_reply(&request);
    free(request.reply.body);
    free(request.body);
    return 0;
}
