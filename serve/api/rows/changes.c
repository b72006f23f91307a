/* Requests that change a store: forget, learn, update; and what forgetting would take (preview).
 * The writer of the room does them; the reply is made when they are on the disk. */
#include "api/api.h"
#include "api/rows/row_bodies.h"
#include "api/rows/whom.h"
#include "api/values.h"
#include "rooms/jobs.h"
#include "wiping.h"

#include <stdio.h>

#define MAX_PREVIEWED 1000 /* names: changes wait for a preview */

/* A change under way. */
typedef struct change_task {
    sv_change queued;
    sv_request *request;
    sv_whom whom;
    efface_data *data;
    efface_texts *texts;
    bool hashes; /* the reply lists them */
} change_task;

static void free_task(change_task *t) {
    efface_store_report_free(&t->queued.asked.report);
    sv_whom_free(&t->whom);
    efface_data_free(t->data);
    efface_texts_free(t->texts);
    sv_wipe_free(t, sizeof *t); /* an error names ids and owners */
}

/* ---------------------------------------------------------------- replies */

static json_t *describe_model(const efface_model_report *m, bool only_look) {
    json_t *const json = json_pack("{s:s,s:s?,s:s,s:s,s:s}", "name", m->name, "kind", m->kind,
                                   "action", efface_action_name(m->report.action), "reason",
                                   m->report.reason, "where", m->report.where);
    if (only_look) {
        sv_json_set(json, "rows_visited", sv_json_count(m->report.rows_visited));
    } else {
        sv_json_set(json, "before", sv_json_digest(m->before));
        sv_json_set(json, "after", sv_json_digest(m->after));
    }
    return json;
}

static json_t *describe_models(const efface_store_report *report, bool only_look) {
    json_t *const models = json_array();
    for (uint32_t i = 0; i < report->n_models; i++)
        sv_json_add(models, describe_model(&report->models[i], only_look));
    return models;
}

static void add_lists(const change_task *t, json_t *json) {
    const efface_store_report *const report = &t->queued.asked.report;
    if (report->new_ids != NULL) {
        json_t *const ids = json_array();
        for (uint64_t i = 0; i < report->n_learned; i++)
            sv_json_add(ids, sv_json_number(report->new_ids[i]));
        sv_json_set(json, "new_ids", ids);
    }
    if (t->hashes) {
        json_t *const hashes = json_array();
        for (uint64_t i = 0; i < report->n_row_hashes; i++)
            sv_json_add(hashes, sv_json_hex(report->row_hashes + i * EFFACE_ROW_HASH_BYTES,
                                            EFFACE_ROW_HASH_BYTES));
        sv_json_set(json, "hashes", hashes);
    }
}

static json_t *describe_change(const change_task *t) {
    static const char *const done[] = {"forgotten", "learned", "updated"};
    const efface_store_report *const report = &t->queued.asked.report;
    const uint64_t counts[] = {report->n_forgotten, report->n_learned, report->n_updated};
    const efface_change_kind kind = t->queued.asked.kind;
    json_t *const json =
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "receipt", sv_json_count(report->receipt), "group",
                  sv_json_count(report->group), "requested", sv_json_count(report->n_requested),
                  "missing", sv_json_count(report->n_missing), done[kind],
                  sv_json_count(counts[kind]), "models", describe_models(report, false));
    if (json != NULL)
        add_lists(t, json);
    return json;
}

static json_t *describe_preview(const change_task *t) {
    const efface_store_report *const report = &t->queued.asked.report;
    return json_pack("{s:b,s:o,s:o,s:o}", "dry_run", 1, "rows", sv_json_count(report->n_forgotten),
                     "missing", sv_json_count(report->n_missing), "models",
                     describe_models(report, true));
}

static const char *word_of(efface_ids kind) {
    return kind == EFFACE_IDS_NUMBERS ? "numbers" : kind == EFFACE_IDS_TEXT ? "texts" : "not known";
}

static void refuse_whom(const change_task *t) {
    char message[240];
    (void)snprintf(message, sizeof message,
                   "some of those who were named are not there, and nothing was changed; "
                   "skip_missing passes over them (the ids of this store are %s, its owners %s)",
                   word_of(t->whom.id_kind), word_of(t->whom.owner_kind));
    sv_refuse(t->request, 404, "not_found", message);
}

static void refuse_change(const change_task *t) {
    const efface_error *const error = &t->queued.asked.error;
    if (error->status == EFFACE_E_NOT_FOUND && t->queued.asked.kind == EFFACE_CHANGE_FORGET)
        refuse_whom(t);
    else if (error->status == EFFACE_E_NOT_FOUND)
        sv_refuse(t->request, 404, "not_found", "a row is not there, and nothing was changed");
    else if (error->status == EFFACE_E_DUPLICATE && t->queued.asked.kind == EFFACE_CHANGE_FORGET)
        sv_refuse(
            t->request, 409, "duplicate",
            "a name has the same number as another one in the store, and nothing was changed");
    else if (error->status == EFFACE_E_DUPLICATE)
        sv_refuse(t->request, 409, "duplicate",
                  "a row of the request is there already, and nothing was changed");
    else
        sv_refuse_error(t->request, error);
}

/* On the writer's thread. */
static void answer_change(sv_change *change) {
    change_task *const t = change->context;
    sv_request *const request = t->request;
    if (change->asked.status == EFFACE_OK) {
        request->reply.receipt = change->asked.report.receipt;
        sv_reply_json(request, 200, change->only_look ? describe_preview(t) : describe_change(t));
    } else {
        refuse_change(t);
    }
    free_task(t);
    sv_finish(request);
}

/* ---------------------------------------------------------------- handlers */

static change_task *make_task(sv_request *request, efface_change_kind kind) {
    change_task *const t = calloc(1, sizeof *t);
    if (t == NULL) {
        sv_refuse_memory(request);
        return NULL;
    }
    t->request = request;
    t->queued.asked.kind = kind;
    t->queued.done = answer_change;
    t->queued.context = t;
    return t;
}

static sv_when hand_to_writer(change_task *t) {
    t->queued.asked.request = &t->whom.request;
    t->queued.asked.data = t->data;
    t->queued.asked.texts = t->texts;
    t->queued.who = t->request->caller.name;
    sv_hold(t->request);
    sv_writer_add(t->request->room, &t->queued);
    return SV_LATER;
}

static bool read_flag(sv_request *request, const json_t *body, const char *name, bool *out) {
    const json_t *const value = json_object_get(body, name);
    *out = json_is_true(value);
    if (value == NULL || json_is_boolean(value))
        return true;
    return sv_refuse(request, 400, "member", "skip_missing and hashes must be true or false");
}

static bool read_forget(sv_request *request, const sv_facts *facts, change_task *t) {
    static const char *const members[] = {"ids",          "keys",   "owners", "owner_keys",
                                          "skip_missing", "hashes", NULL};
    bool skips = false;
    json_t *const body = sv_body_json(request);
    const bool ok = body != NULL && sv_check_members(request, body, members) &&
                    read_flag(request, body, "skip_missing", &skips) &&
                    read_flag(request, body, "hashes", &t->hashes) &&
                    sv_whom_read(request, body, facts,
                                 t->queued.only_look   ? MAX_PREVIEWED
                                 : skips && !t->hashes ? SIZE_MAX
                                                       : SV_MAX_NAMES,
                                 &t->whom);
    t->whom.request.missing = skips ? EFFACE_MISSING_SKIP : EFFACE_MISSING_FAIL;
    json_decref(body);
    return ok;
}

/* Too many to be forgotten at once: they are forgotten in slices. */
static bool is_for_job(const change_task *t) {
    return t->whom.request.n_ids + t->whom.request.n_owners > SV_MAX_NAMES;
}

static void start_job(change_task *t) {
    char id[SV_JOB_ID_BYTES];
    sv_request *const request = t->request;
    sv_reply_added(request,
                   sv_jobs_add_forget(request->service->jobs, request->caller.name,
                                      sv_room_name(request->room), &t->whom.request, id),
                   id);
}

static sv_when start_change(sv_request *request, efface_change_kind kind, bool only_look) {
    const sv_facts *facts = NULL;
    efface_error error;
    sv_room *const room = request->room;
    change_task *const t = make_task(request, kind);
    if (t == NULL)
        return SV_NOW;
    t->queued.only_look = only_look;
    bool ok = sv_facts_take(room, &facts, &error) == EFFACE_OK;
    if (!ok)
        sv_refuse_error(request, &error);
    else if (kind == EFFACE_CHANGE_FORGET)
        ok = read_forget(request, facts, t);
    else
        ok = sv_read_rows(request, facts, kind == EFFACE_CHANGE_UPDATE, &t->data, &t->texts);
    if (facts != NULL)
        sv_facts_drop(room, facts);
    if (ok && !is_for_job(t))
        return hand_to_writer(t);
    if (ok)
        start_job(t);
    free_task(t);
    return SV_NOW;
}

sv_when sv_post_forget(sv_request *request) {
    return start_change(request, EFFACE_CHANGE_FORGET, false);
}

sv_when sv_post_preview(sv_request *request) {
    return start_change(request, EFFACE_CHANGE_FORGET, true);
}

sv_when sv_post_learn(sv_request *request) {
    return start_change(request, EFFACE_CHANGE_LEARN, false);
}

sv_when sv_post_update(sv_request *request) {
    return start_change(request, EFFACE_CHANGE_UPDATE, false);
}
