/*
 * Spreading the rows of a store over other parts, by their ids.
 *
 * Old parts are locked and read; each new part is a file of the next generation, made as any new
 * store is. Rows go round by round: in each, every rank reads one of its old parts, and the ranks
 * get their rows of it one after the other. Part 0 also gets the models and receipts of the old
 * part 0, byte for byte, its key, and a receipt of the spreading. What changes everything at once
 * is the manifest. A request that waits in the journal is done to the old parts before they are
 * read, within transactions that are taken back in the end.
 */
#define _POSIX_C_SOURCE 200809L
#include "store/cluster/cluster.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "store/file/new_file.h"
#include "store/file/transactions.h"
#include "store/receipts/receipts.h"
#include "store/sql/schema.h"
#include "store/sql/sql.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

typedef struct spreading {
    ef_team *team;
    const char *folder;
    const efface_store_options *options;
    ef_manifest from, to;
    efface_store **old; /* this rank's old parts: rank, rank + size, and so on */
    uint32_t n_old;
    ef_head head;         /* of the old part 0 */
    efface_data *columns; /* a set without rows, with the names and offsets of the columns */
    uint64_t n_rows;      /* of all parts */
} spreading;

static uint32_t n_rounds(const spreading *s) {
    const uint32_t size = s->team->group.size;
    return (s->from.n_parts + size - 1) / size;
}

/* ---------------------------------------------------------------- the old parts */

static efface_status open_old(spreading *s, efface_error *error) {
    const efface_group *const g = &s->team->group;
    efface_store_options how = *s->options;
    how.access = EFFACE_ACCESS_WRITE; /* to lock them; nothing is written */
    s->old = ef_alloc_zero(n_rounds(s), sizeof *s->old);
    efface_status status = s->old != NULL ? EFFACE_OK : ef_fail_memory(error);
    for (uint32_t part = g->rank; status == EFFACE_OK && part < s->from.n_parts; part += g->size) {
        status = ef_part_open(s->folder, &s->from, part, &how, &s->old[s->n_old], error);
        s->n_old += status == EFFACE_OK;
    }
    return ef_team_agree(s->team, status, error);
}

/* Part 0 is locked first, as by a request. */
static efface_status lock_old(spreading *s, efface_error *error) {
    const bool leads = s->team->group.rank == 0;
    ef_manifest now;
    efface_status status = leads ? ef_file_begin(s->old[0], true, error) : EFFACE_OK;
    status = ef_team_agree(s->team, status, error);
    for (uint32_t i = leads ? 1 : 0; status == EFFACE_OK && i < s->n_old; i++)
        status = ef_file_begin(s->old[i], true, error);
    EF_THEN(status, ef_shared_manifest(s->team, s->folder, &now, error));
    if (status == EFFACE_OK && now.generation != s->from.generation)
        status = ef_fail(error, EFFACE_E_BUSY, "other processes spread the store; try again");
    return ef_team_agree(s->team, status, error);
}

/* Parts that have not followed the last request do so. */
static efface_status catch_up_old(spreading *s, efface_error *error) {
    unsigned char *bytes = NULL;
    size_t n_bytes = 0;
    bool found = false;
    efface_status status = EFFACE_OK;
    if (s->team->group.rank == 0) {
        s->head = s->old[0]->head;
        status = ef_journal_find(s->old[0], &found, error);
        if (status == EFFACE_OK && found)
            status = ef_journal_read(s->old[0], &bytes, &n_bytes, error);
    }
    EF_THEN(status, ef_team_broadcast(s->team, &s->head, sizeof s->head, 0, error));
    EF_THEN(status, ef_team_share(s->team, &bytes, &n_bytes, error));
    int64_t n_rows = 0;
    for (uint32_t i = 0; status == EFFACE_OK && i < s->n_old; i++) {
        efface_store *const old = s->old[i];
        ef_decoder task = {.bytes = NULL};
        const uint64_t lag = s->head.n_requests - old->head.n_requests;
        if (lag > (n_bytes != 0 ? 1 : 0))
            status = ef_store_corrupt(error, "its parts are copies of different age");
        if (status == EFFACE_OK && lag != 0)
            status = ef_journal_task(bytes, n_bytes, old->head.part, &task, error);
        if (status == EFFACE_OK && lag != 0)
            status = ef_part_task_do(old, task, error);
        n_rows += (int64_t)old->head.n_rows;
    }
    EF_THEN(status, ef_team_sum(s->team, &n_rows, 1, error));
    s->n_rows = (uint64_t)n_rows;
    ef_free(bytes);
    return status;
}

/* Ranks without an old part have to be told of the columns. */
static efface_status share_columns(spreading *s, efface_error *error) {
    const bool leads = s->team->group.rank == 0;
    const efface_store *const first = leads ? s->old[0] : NULL;
    ef_writer w = {0};
    for (uint32_t j = 0; leads && j < s->head.n_columns; j++) {
        const char *const name = efface_store_column(first, j);
        ef_write_f64(&w, efface_store_offset(first, j));
        ef_write_u32(&w, (uint32_t)efface_store_type(first, j));
        ef_write_u64(&w, name != NULL ? strlen(name) + 1 : 0);
        if (name != NULL)
            ef_write_bytes(&w, name, strlen(name) + 1);
    }
    efface_status status =
        w.failed ? ef_fail_memory(error) : ef_team_share(s->team, &w.bytes, &w.n_bytes, error);
    double *const offsets = ef_alloc(s->head.n_columns, sizeof *offsets);
    efface_column_type *const types = ef_alloc(s->head.n_columns, sizeof *types);
    bool any = false;
    ef_decoder r = {.bytes = w.bytes, .n_bytes = w.n_bytes};
    if (status == EFFACE_OK)
        status = offsets != NULL && types != NULL
                     ? efface_data_create(s->head.n_columns, &s->columns, error)
                     : ef_fail_memory(error);
    for (uint32_t j = 0; status == EFFACE_OK && j < s->head.n_columns; j++) {
        offsets[j] = ef_read_f64(&r);
        types[j] = (efface_column_type)ef_read_u32(&r);
        any |= offsets[j] != 0.0;
        const size_t n = (size_t)ef_read_u64(&r);
        if (n != 0)
            status = efface_data_name_column(s->columns, j, (const char *)r.bytes, error);
        r.bytes += n;
        r.n_bytes -= n;
    }
    if (status == EFFACE_OK && any)
        status = efface_data_set_offsets(s->columns, offsets, error);
    EF_THEN(status, efface_data_set_types(s->columns, types, error));
    ef_free(offsets);
    ef_free(types);
    ef_free(w.bytes);
    return status;
}

/* ---------------------------------------------------------------- rows */

static efface_status add_old_text(void *context, const ef_member_set *group, efface_error *error) {
    efface_texts *const texts = context;
    return group->text != NULL
               ? efface_texts_add(
                     texts, group->kind == EF_MEMBER_OWNER ? EFFACE_TEXT_OWNER : EFFACE_TEXT_LABEL,
                     group->number, group->text, strlen(group->text), error)
               : EFFACE_OK;
}

/* The rows of an old part, and the texts of its owners and labels. */
static efface_status read_old(efface_store *old, ef_found *rows, efface_texts **texts,
                              efface_error *error) {
    efface_status status = efface_texts_create(texts, error);
    EF_THEN(status, ef_member_sets_each(old, add_old_text, *texts, error));
    return status == EFFACE_OK ? ef_rows_load_texts(old, rows, error) : status;
}

/* The rows that one rank gets of those that this rank has read. */
static void write_rows(ef_writer *w, const ef_found *rows, const efface_texts *texts, uint32_t to,
                       const ef_manifest *parts) {
    uint64_t n = 0;
    for (size_t i = 0; i < rows->data->n_rows; i++)
        n += ef_part_of(parts->id, ef_data_id(rows->data, i), parts->n_parts) == to;
    ef_write_u64(w, n);
    for (size_t i = 0; i < rows->data->n_rows; i++) {
        const uint64_t id = ef_data_id(rows->data, i);
        if (ef_part_of(parts->id, id, parts->n_parts) == to)
            ef_row_bytes_write(w, rows->data, i, id, rows->texts != NULL ? rows->texts[i] : NULL,
                               texts, NULL);
    }
}

static efface_status insert_rows(efface_store *store, const ef_gathered *all, uint32_t n_ranks,
                                 efface_error *error) {
    efface_data *rows = NULL;
    efface_texts *texts = NULL;
    ef_decoder r = {.bytes = all->bytes, .n_bytes = all->begins[n_ranks]};
    efface_status status = efface_data_create(store->head.n_columns, &rows, error);
    if (status == EFFACE_OK) {
        efface_data_allow_missing(rows);
        status = efface_texts_create(&texts, error);
    }
    while (status == EFFACE_OK && r.n_bytes != 0) {
        const uint64_t n = ef_read_u64(&r);
        status = ef_row_bytes_read(&r, n, rows, texts, error);
    }
    EF_THEN(status, ef_buckets_fit(store, store->head.n_rows + rows->n_rows, error));
    EF_THEN(status, ef_rows_insert(store, rows, NULL, texts, error));
    efface_texts_free(texts);
    efface_data_free(rows);
    return status;
}

/* One old part of each rank. */
static efface_status spread_round(const spreading *s, efface_store *store, uint32_t round,
                                  efface_error *error) {
    const efface_group *const g = &s->team->group;
    ef_found rows = {NULL, NULL, 0};
    efface_texts *texts = NULL;
    efface_status status =
        round < s->n_old ? read_old(s->old[round], &rows, &texts, error) : EFFACE_OK;
    for (uint32_t to = 0; status == EFFACE_OK && to < g->size; to++) {
        ef_writer w = {0};
        ef_gathered all = {0};
        if (rows.data != NULL)
            write_rows(&w, &rows, texts, to, &s->to);
        status = w.failed ? ef_fail_memory(error)
                          : ef_team_gather(s->team, w.bytes, w.n_bytes, to, &all, error);
        if (status == EFFACE_OK && to == g->rank)
            status = insert_rows(store, &all, g->size, error);
        ef_gathered_free(&all);
        ef_free(w.bytes);
    }
    ef_found_free(&rows);
    efface_texts_free(texts);
    return status;
}

/* ---------------------------------------------------------------- the new parts */

/* Copies what a statement gives into a table of another file. */
static efface_status copy_table(efface_store *from, const char *read, efface_store *to,
                                const char *write, efface_error *error) {
    sqlite3_stmt *rows = NULL, *insert = NULL;
    bool row = true;
    efface_status status = ef_sql_prepare(from, read, &rows, error);
    EF_THEN(status, ef_sql_prepare(to, write, &insert, error));
    while (status == EFFACE_OK) {
        status = ef_sql_step(from, rows, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        for (int i = 0; i < sqlite3_column_count(rows); i++)
            (void)sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i));
        status = ef_sql_do(to, insert, error);
    }
    (void)sqlite3_finalize(rows);
    (void)sqlite3_finalize(insert);
    return status;
}

static efface_status copy_models(efface_store *from, efface_store *to, efface_error *error) {
    efface_status status = copy_table(from, "SELECT * FROM models", to,
                                      "INSERT INTO models VALUES (?,?,?,?,?,?,?,?,?,?,?)", error);
    EF_THEN(status,
            copy_table(from, "SELECT * FROM states", to, "INSERT INTO states VALUES (?,?)", error));
    EF_THEN(status, copy_table(from, "SELECT * FROM sections", to,
                               "INSERT INTO sections VALUES (?,?)", error));
    EF_THEN(status, copy_table(from, "SELECT * FROM receipts ORDER BY number", to,
                               "INSERT INTO receipts VALUES (?,?)", error));
    EF_THEN(status, copy_table(from, "SELECT name, value FROM facts WHERE name = 'signature'", to,
                               "INSERT INTO facts VALUES (?,?)", error));
    return status;
}

/* The states are as they were, and the receipt says so. */
static efface_status append_spread(efface_store *store, efface_error *error) {
    char(*names)[EFFACE_MODEL_NAME_BYTES] = NULL;
    uint32_t n = 0;
    efface_status status = ef_models_list(store, &names, &n, error);
    efface_model_report *const reports = ef_alloc_zero(n, sizeof *reports);
    if (status == EFFACE_OK && reports == NULL)
        status = ef_fail_memory(error);
    for (uint32_t i = 0; status == EFFACE_OK && i < n; i++) {
        ef_record record;
        status = ef_record_read(store, names[i], false, &record, error);
        if (status != EFFACE_OK)
            break;
        reports[i] = ef_record_report(&record, "the rows were spread over other parts");
        memcpy(reports[i].after, reports[i].before, sizeof reports[i].after);
        ef_record_free(&record);
    }
    EF_THEN(status, ef_receipt_of_models(store, "spread", reports, n, error));
    ef_free(reports);
    ef_free(names);
    return status;
}

static efface_status fill_new_part(efface_store *store, const void *what, efface_error *error) {
    const spreading *const s = what;
    efface_status status = ef_store_write_empty(store, s->columns, error);
    for (uint32_t round = 0; status == EFFACE_OK && round < n_rounds(s); round++)
        status = spread_round(s, store, round, error);
    EF_THEN(status, ef_sql_run(store, ef_schema_late, error));
    if (status == EFFACE_OK && ef_store_leads(store))
        status = copy_models(s->old[0], store, error);
    if (status == EFFACE_OK && ef_store_leads(store))
        status = append_spread(store, error);
    return status;
}

/* The head of a part without rows. */
static ef_head new_head(const spreading *s) {
    ef_head head = s->head;
    head.part = s->team->group.rank;
    head.n_parts = s->to.n_parts;
    head.dense = ef_dense_for(s->n_rows / s->to.n_parts);
    head.n_rows = head.n_unowned = 0;
    head.total_weight = 0;
    head.rows_sum = 0;
    memset(head.n_groups, 0, sizeof head.n_groups);
    memset(head.groups_sum, 0, sizeof head.groups_sum);
    if (head.part == 0)
        return head; /* the seals of models are under its key */
    randombytes_buf(head.row_key, sizeof head.row_key);
    head.n_models = 0;
    head.models_sum = 0;
    head.n_receipts = 0;
    memset(head.last_receipt, 0, sizeof head.last_receipt);
    return head;
}

static efface_status replace_manifest(const spreading *s, efface_error *error) {
    ef_new_file file;
    char *const path = ef_manifest_path(s->folder);
    if (path == NULL)
        return ef_fail_memory(error);
    efface_status status = ef_new_file_begin(&file, path, true, error);
    EF_THEN(status, ef_manifest_write(file.file, &s->to, path, error));
    EF_THEN(status, ef_new_file_place(&file, error));
    ef_new_file_end(&file);
    ef_free(path);
    return status;
}

/* Rank 0 replaces the manifest. If that is done but for the disk, which failed, all is as if it
 * were done; and the error remains. So it is if the manifest cannot be read then. */
static efface_status change_over(const spreading *s, bool *changed, efface_error *error) {
    efface_status status = EFFACE_OK;
    uint64_t done = 0;
    if (s->team->group.rank == 0) {
        ef_manifest now;
        status = replace_manifest(s, error);
        done = status == EFFACE_OK || ef_manifest_read(s->folder, &now, NULL) != EFFACE_OK ||
               now.generation != s->from.generation;
    }
    const efface_status told = ef_team_broadcast(s->team, &done, sizeof done, 0, NULL);
    /* If ranks cannot reach each other, nobody knows: what is not needed is removed later. */
    *changed = told != EFFACE_OK || done != 0;
    return ef_team_agree(s->team, status != EFFACE_OK ? status : told, error);
}

static efface_status make_new(spreading *s, efface_error *error) {
    bool made = false, changed = false;
    ef_head head = new_head(s);
    efface_store_options how = *s->options;
    how.group = NULL;
    char *const path = ef_part_path(s->folder, &s->to, head.part);
    efface_status status = path != NULL ? EFFACE_OK : ef_fail_memory(error);
    if (status == EFFACE_OK) {
        (void)unlink(path); /* of an attempt that was not finished */
        made = true;        /* even a failure may leave the file, if only its name is in doubt */
        status = ef_store_make(path, &how, &head, fill_new_part, s, error);
    }
    status = ef_team_agree(s->team, status, error);
    EF_THEN(status, change_over(s, &changed, error));
    if (!changed && made)
        (void)unlink(path);
    sodium_memzero(&head, sizeof head);
    ef_free(path);
    return status;
}

static efface_status spread_rows(spreading *s, efface_error *error) {
    efface_status status =
        ef_team_agree(s->team, ef_shared_manifest(s->team, s->folder, &s->from, error), error);
    if (status == EFFACE_OK) {
        s->to = s->from;
        s->to.n_parts = s->team->group.size;
        s->to.generation++;
        status = open_old(s, error);
    }
    EF_THEN(status, lock_old(s, error));
    EF_THEN(status, catch_up_old(s, error));
    EF_THEN(status, share_columns(s, error));
    status = ef_team_agree(s->team, status, error);
    return status == EFFACE_OK ? make_new(s, error) : status;
}

efface_status efface_store_spread(const char *path, const efface_store_options *options,
                                  efface_error *error) {
    if (path == NULL || options == NULL || options->group == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path, options and their group must not be NULL");
    efface_status status = ef_store_options_check(options, error);
    ef_cluster *cluster = NULL;
    EF_THEN(status, ef_cluster_make(options->group, &cluster, error));
    if (status != EFFACE_OK)
        return status;
    spreading s = {.team = cluster->team, .folder = path, .options = options};
    status = spread_rows(&s, error);
    /* What the old parts did to be read is taken back. */
    for (uint32_t i = 0; i < s.n_old; i++)
        efface_store_close(s.old[i]);
    if (status == EFFACE_OK)
        ef_folder_clean(path, &s.to);
    ef_free(s.old);
    efface_data_free(s.columns);
    sodium_memzero(&s.head, sizeof s.head);
    ef_cluster_free(cluster);
    return status;
}
