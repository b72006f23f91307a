/*
 * A store in parts: each rank of a group (efface_group.h) has a file with its rows.
 *
 * A folder has the manifest and the parts, which are stores of format 4. Part 0 also has the
 * models, whose counts are those of the rows of all parts, and the receipts. A handle of such a
 * store is that of the rank's own part, with a cluster; calls are made by all ranks together, and
 * agree on failures (base/team.h). Where a call would read or write a model or a receipt, rank 0
 * does, and shares what it read.
 *
 * A request is a transaction of every part, all under way together. What decides is the commit of
 * part 0: it has the models, the receipt and, in its facts, a journal with what the other parts
 * have to do. They have done it, and wait; when they know that it is decided, they commit. Then the
 * journal is taken out. Whoever dies before the decision leaves everything as it was. A part that
 * dies after it has followed one request less than part 0, and the journal is there: the next
 * transaction that writes finishes the request first.
 */
#ifndef EF_CLUSTER_H
#define EF_CLUSTER_H

#include "data/set/shards.h"
#include "store/parts.h"
#include "store/store.h"

/* ------------------------------------------------------------------ the folder (manifest.c) */

typedef struct ef_manifest {
    uint32_t n_parts;
    uint64_t generation; /* advances when rows are spread over other parts */
    unsigned char id[EF_CLUSTER_ID_BYTES];
} ef_manifest;

/* Errors: FORMAT if the folder is not a store in parts, or of a newer version; IO; MEMORY. */
efface_status ef_manifest_read(const char *folder, ef_manifest *manifest, efface_error *error);

/* Writes the manifest to a file that will have this path. */
efface_status ef_manifest_write(int file, const ef_manifest *manifest, const char *path,
                                efface_error *error);
char *ef_manifest_path(const char *folder);

/* The path of a part; NULL if out of memory. */
char *ef_part_path(const char *folder, const ef_manifest *manifest, uint32_t part);

/* Removes the files of parts that are not those of the manifest (NULL: all of them). */
void ef_folder_clean(const char *folder, const ef_manifest *manifest);

/* Whether a store can be made in a folder. Parts without a manifest may be all that is left of a
 * store, and stay; unless they are from an attempt to make one, which left its manifest beside.
 * `leads`: of rank 0, which finds out by itself that there is a manifest. The folder of another
 * rank may lie on another disk: then it has no manifest, and parts that are not complete are from
 * an attempt. Errors: ARGUMENT. */
efface_status ef_folder_check_free(const char *folder, bool leads, efface_error *error);

/* ------------------------------------------------------------------ the handle (opening_parts.c)
 */

typedef struct ef_cluster {
    char *folder;
    ef_manifest manifest;
    efface_data *anchor; /* a set without rows that has joined the group: sets join its team */
    ef_team *team;
    uint64_t n_rows; /* of all parts, as the transaction under way found them */
    int64_t total_weight;
    ef_writer journal; /* of the request under way: on rank 0, if there are other parts */
    bool is_request;   /* the transaction under way changes all parts */
} ef_cluster;

efface_status ef_cluster_make(const efface_group *group, ef_cluster **out, efface_error *error);
void ef_cluster_free(ef_cluster *cluster);

/* The manifest that rank 0 reads comes to all. */
efface_status ef_shared_manifest(ef_team *team, const char *folder, ef_manifest *manifest,
                                 efface_error *error);

/* Opens a part alone, and sees that it is the one that the manifest means. */
efface_status ef_part_open(const char *folder, const ef_manifest *manifest, uint32_t part,
                           const efface_store_options *options, efface_store **out,
                           efface_error *error);

/* The table of a handle that has a cluster (parts_table.c). */
extern const ef_parts ef_parts_together;

/* Makes what is known of this rank's part what is known of all (opening_parts.c). */
efface_status ef_cluster_info(efface_store *store, efface_store_info *info, efface_error *error);

static inline ef_team *ef_store_team(const efface_store *store) {
    return store->cluster->team;
}

/* Whether this is the file with models and receipts. */
static inline bool ef_store_leads(const efface_store *store) {
    return store->head.part == 0;
}

/* ------------------------------------------------------------------ transactions of all parts
 * (joint_transactions.c) */

efface_status ef_cluster_begin(efface_store *store, bool writes, efface_error *error);
efface_status ef_cluster_end(efface_store *store, efface_status status, efface_error *error);

/* ------------------------------------------------------------------ what ranks tell each other
 * (sharing.c) */

/* Bytes of rank 0 come to all: on the others `bytes` is made, and released with ef_free. */
efface_status ef_team_share(ef_team *team, unsigned char **bytes, size_t *n_bytes,
                            efface_error *error);

/* What rank 0 reads of models comes to all. A record that came has its state in no parts. */
efface_status ef_shared_names(efface_store *store, char (**names)[EFFACE_MODEL_NAME_BYTES],
                              uint32_t *n_names, efface_error *error);
efface_status ef_shared_record(efface_store *store, const char *name, bool with_state,
                               ef_record *record, efface_error *error);

/* A record that rank 0 has comes to the others, with its state. */
efface_status ef_record_share(efface_store *store, ef_record *record, efface_error *error);

/* Owners or labels of all parts, each once, in the order of numbers, with all its rows. */
typedef struct ef_member_set_list {
    ef_member_set *groups;
    size_t n_groups;
} ef_member_set_list;

efface_status ef_shared_member_sets(efface_store *store, ef_member_kind kind, bool with_texts,
                                    ef_member_set_list *list, efface_error *error);
void ef_member_set_list_free(ef_member_set_list *list);

/* ------------------------------------------------------------------ rows as bytes (row_bytes.c)
 *
 *     u64  id       u64  weight    n_columns times f32  value
 *     u64  owner    u64  label     texts of id, owner, label: u32 length + 1 (0: none), bytes
 *
 * With a head, texts become what the store keeps of them, so that the journal has nothing else. */
void ef_row_bytes_write(ef_writer *w, const efface_data *rows, size_t position, uint64_t id,
                        const char *text, const efface_texts *texts, const ef_head *head);

/* Reads n rows to the end of a set, and their texts if `texts` is not NULL. */
efface_status ef_row_bytes_read(ef_decoder *r, uint64_t n, efface_data *rows, efface_texts *texts,
                                efface_error *error);

/* ------------------------------------------------------------------ what parts have to do
 * (part_tasks.c)
 *
 *     u32  kind of change    u32  kinds of ids, of owners    u64  rows, and then their ids, or, if
 *                                                            they come or change, all of them
 */
typedef struct ef_part_tasks {
    efface_change_kind kind;
    efface_ids id_kind, owner_kind; /* of the store afterwards */
    const uint64_t *ids;
    const efface_data *rows; /* that come, or the changed rows as they will be */
    const efface_texts *texts;
    const size_t *order;  /* positions, part by part; NULL: they are in that order */
    const size_t *begins; /* where in the order those of each part begin; one more than parts */
} ef_part_tasks;

void ef_part_task_write(ef_writer *w, const ef_part_tasks *tasks, uint32_t part);

/* Does what a part has to do, within a transaction of its file. */
efface_status ef_part_task_do(efface_store *store, ef_decoder task, efface_error *error);

/* ------------------------------------------------------------------ the journal (journal.c) */

void ef_journal_make(ef_writer *w, const ef_part_tasks *tasks, const ef_head *head);

/* In part 0, within a transaction: whether there is one; writes it; reads it; takes it out. */
efface_status ef_journal_find(efface_store *store, bool *found, efface_error *error);
efface_status ef_journal_write(efface_store *store, const ef_writer *journal, efface_error *error);
efface_status ef_journal_read(efface_store *store, unsigned char **bytes, size_t *n_bytes,
                              efface_error *error);
efface_status ef_journal_drop(efface_store *store, efface_error *error);

/* What a part has to do by a journal. */
efface_status ef_journal_task(const unsigned char *bytes, size_t n_bytes, uint32_t part,
                              ef_decoder *task, efface_error *error);

/* ------------------------------------------------------------------ requests (cluster_steps.c) */

/* A step of one request over all parts; the request is that of rank 0. */
efface_status ef_cluster_step(efface_store *store, ef_task *task, size_t n, bool only_look,
                              efface_error *error);

/* Models of all parts follow a change, or one is added (models_of_parts.c). */
efface_status ef_cluster_follow(efface_store *store, const ef_row_change *change,
                                efface_store_report *report, efface_error *error);
efface_status ef_cluster_add(efface_store *store, const efface_new_model *asked,
                             efface_model **model, efface_error *error);

/* The rows of a request, from all parts, to every rank (rows_of_parts.c). */
efface_status ef_cluster_find(efface_store *store, const efface_request *request,
                              efface_data **rows, efface_error *error);

#endif
