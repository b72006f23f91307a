/*
 * Groups: the owners of rows, and their labels, with the number of their rows.
 *
 * A group has the sum of the seals of its members, which verifies the index from an owner to its
 * rows. A bucket of groups has the sum of the seals of its groups, which verifies "there is no such
 * owner". A group whose last row leaves is removed, with its text.
 */
#include "store/seals/owners_and_labels.h"

#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define FULL 128 /* groups a bucket, on average */

/* The groups of a bucket, and what is kept of them. */
typedef struct bucket {
    uint64_t number;
    ef_member_set *groups;
    size_t n_groups;
    size_t n_read; /* the first n_read are sorted by number; the others were added since */
    size_t n_gone; /* that have no rows any more */
    size_t capacity;
    ef_u128 sum; /* of the seals of all groups */
} bucket;

typedef struct statements {
    sqlite3_stmt *read_bucket, *read_sets, *write_bucket, *write_group, *drop_group;
} statements;

static void close_statements(statements *s) {
    (void)sqlite3_finalize(s->read_bucket);
    (void)sqlite3_finalize(s->read_sets);
    (void)sqlite3_finalize(s->write_bucket);
    (void)sqlite3_finalize(s->write_group);
    (void)sqlite3_finalize(s->drop_group);
}

static efface_status open_to_read(efface_store *store, statements *s, efface_error *error) {
    efface_status status = ef_sql_prepare(
        store, "SELECT n_groups, sum FROM group_buckets WHERE number = ?", &s->read_bucket, error);
    EF_THEN(status, ef_sql_prepare(
                        store, "SELECT number, n_rows, members, text FROM groups WHERE bucket = ?",
                        &s->read_sets, error));
    return status;
}

static efface_status open_to_write(efface_store *store, statements *s, efface_error *error) {
    efface_status status = open_to_read(store, s, error);
    EF_THEN(status, ef_sql_prepare(store, "INSERT OR REPLACE INTO group_buckets VALUES (?, ?, ?)",
                                   &s->write_bucket, error));
    EF_THEN(status, ef_sql_prepare(store, "INSERT OR REPLACE INTO groups VALUES (?, ?, ?, ?, ?)",
                                   &s->write_group, error));
    EF_THEN(status, ef_sql_prepare(store, "DELETE FROM groups WHERE bucket = ? AND number = ?",
                                   &s->drop_group, error));
    return status;
}

/* ---------------------------------------------------------------- a bucket */

static void bucket_clear(bucket *b) {
    for (size_t i = 0; i < b->n_groups; i++)
        ef_free(b->groups[i].text);
    b->n_groups = b->n_read = b->n_gone = 0;
    b->sum = 0;
}

static ef_member_kind kind_of_bucket(const efface_store *store, uint64_t number) {
    return number < store->head.group_slots ? EF_MEMBER_OWNER : EF_MEMBER_LABEL;
}

static ef_member_set *bucket_append(bucket *b) {
    if (!ef_list_reserve(&b->groups, &b->capacity, b->n_groups, 1, sizeof *b->groups))
        return NULL;
    b->groups[b->n_groups] = (ef_member_set){.n_rows = 0};
    return &b->groups[b->n_groups++];
}

/* False if out of memory. A set may have no text. */
static bool copy_text(const char *text, char **out) {
    *out = NULL;
    if (text == NULL)
        return true;
    const size_t n_bytes = strlen(text) + 1;
    *out = ef_alloc(n_bytes, 1);
    if (*out != NULL)
        memcpy(*out, text, n_bytes);
    return *out != NULL;
}

static efface_status read_member_sets(efface_store *store, sqlite3_stmt *read, bucket *b,
                                      efface_error *error) {
    bool row = true;
    (void)sqlite3_bind_int64(read, 1, (sqlite3_int64)b->number);
    for (;;) {
        const efface_status status = ef_sql_step(store, read, &row, error);
        if (status != EFFACE_OK || !row)
            return status;
        ef_member_set *const group = bucket_append(b);
        if (group == NULL)
            return ef_fail_memory(error);
        group->kind = kind_of_bucket(store, b->number);
        if (!ef_sql_has(read, "iibu"))
            return ef_store_corrupt(error, "an owner or a label is invalid");
        group->number = (uint64_t)sqlite3_column_int64(read, 0);
        group->n_rows = (uint64_t)sqlite3_column_int64(read, 1);
        if (!ef_sql_read_sum(read, 2, &group->members))
            return ef_store_corrupt(error, "an owner or a label is invalid");
        if (!ef_sql_copy_text(read, 3, &group->text))
            return ef_fail_memory(error);
        b->sum += ef_seal_member_set(&store->head, group);
    }
}

static int compare_numbers(const void *a, const void *b) {
    const uint64_t x = ((const ef_member_set *)a)->number, y = ((const ef_member_set *)b)->number;
    return (x > y) - (x < y);
}

/* Reads a bucket and verifies it. Whatever is changed below was verified here first. */
static efface_status read_bucket(efface_store *store, const statements *s, uint64_t number,
                                 bucket *b, efface_error *error) {
    bool row = false, ok = false;
    bucket_clear(b);
    b->number = number;
    efface_status status = read_member_sets(store, s->read_sets, b, error);
    (void)sqlite3_reset(s->read_sets);
    if (status != EFFACE_OK)
        return status;
    b->n_read = b->n_groups;
    if (b->n_groups > 1)
        qsort(b->groups, b->n_groups, sizeof *b->groups, compare_numbers);
    (void)sqlite3_bind_int64(s->read_bucket, 1, (sqlite3_int64)number);
    status = ef_sql_step(store, s->read_bucket, &row, error);
    if (status == EFFACE_OK && row) {
        ef_u128 sum;
        ok = ef_sql_has(s->read_bucket, "ib") &&
             (uint64_t)sqlite3_column_int64(s->read_bucket, 0) == b->n_groups &&
             ef_sql_read_sum(s->read_bucket, 1, &sum) && sum == b->sum;
    }
    (void)sqlite3_reset(s->read_bucket);
    if (status == EFFACE_OK && !ok)
        status = ef_store_corrupt(error, "owners or labels do not match their checksum");
    return status;
}

static efface_status write_bucket(efface_store *store, const statements *s, const bucket *b,
                                  efface_error *error) {
    unsigned char sum[16];
    (void)sqlite3_bind_int64(s->write_bucket, 1, (sqlite3_int64)b->number);
    (void)sqlite3_bind_int64(s->write_bucket, 2, (sqlite3_int64)(b->n_groups - b->n_gone));
    ef_sql_bind_sum(s->write_bucket, 3, b->sum, sum);
    return ef_sql_do(store, s->write_bucket, error);
}

static efface_status write_member_set(efface_store *store, const statements *s, uint64_t number,
                                      const ef_member_set *group, efface_error *error) {
    unsigned char sum[16];
    (void)sqlite3_bind_int64(s->write_group, 1, (sqlite3_int64)number);
    (void)sqlite3_bind_int64(s->write_group, 2, (sqlite3_int64)group->number);
    (void)sqlite3_bind_int64(s->write_group, 3, (sqlite3_int64)group->n_rows);
    ef_sql_bind_sum(s->write_group, 4, group->members, sum);
    ef_sql_bind_text(s->write_group, 5, group->text);
    return ef_sql_do(store, s->write_group, error);
}

/* Finds a group that was read. Groups that were added since need not be found: all changes of a
 * group are made together. */
static ef_member_set *bucket_find(bucket *b, uint64_t number) {
    size_t from = 0, to = b->n_read;
    while (from < to) {
        const size_t half = from + (to - from) / 2;
        if (b->groups[half].number == number)
            return &b->groups[half];
        if (b->groups[half].number < number)
            from = half + 1;
        else
            to = half;
    }
    return NULL;
}

/* ---------------------------------------------------------------- changes */

static int compare_members(const void *a, const void *b) {
    const ef_member *const x = a, *const y = b;
    if (x->bucket != y->bucket)
        return x->bucket > y->bucket ? 1 : -1;
    if (x->number != y->number)
        return x->number > y->number ? 1 : -1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Gives a group the text that a member brings, or makes sure that it is the one the group has. */
static efface_status name_group(const ef_head *head, ef_member_set *group, const char *text,
                                efface_error *error) {
    char mark[EF_MARK_BYTES];
    const bool owner = group->kind == EF_MEMBER_OWNER;
    const char *const kept = owner ? ef_kept_text(head, text, mark) : text;
    if (group->text != NULL || kept == NULL)
        return ef_refuse_other_text(group->text, kept, owner ? "an owner" : "a label", error);
    return copy_text(kept, &group->text) ? EFFACE_OK : ef_fail_memory(error);
}

/* Changes one group by n members that join or leave it. */
static efface_status change_member_set(efface_store *store, const statements *s, bucket *b,
                                       const ef_member *members, size_t n, efface_error *error) {
    ef_head *const head = &store->head;
    const ef_member_kind kind = members->kind;
    ef_member_set *group = bucket_find(b, members->number);
    const bool is_new = group == NULL;
    if (is_new) {
        group = bucket_append(b);
        if (group == NULL)
            return ef_fail_memory(error);
        group->kind = kind;
        group->number = members->number;
    }
    const ef_u128 before = is_new ? 0 : ef_seal_member_set(head, group);
    const char *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const ef_u128 seal = ef_seal_member(head, kind, group->number, members[i].id);
        if (members[i].leaves && group->n_rows == 0)
            return ef_store_corrupt(error,
                                    "an owner or a label has fewer rows than the request removes");
        group->n_rows += members[i].leaves ? UINT64_MAX : 1;
        group->members += members[i].leaves ? -seal : seal;
        /* Rows of one owner come with one text. */
        const efface_status named = members[i].leaves || members[i].text == last
                                        ? EFFACE_OK
                                        : name_group(head, group, members[i].text, error);
        if (named != EFFACE_OK)
            return named;
        last = members[i].leaves ? last : members[i].text;
    }
    ef_u128 after = 0;
    efface_status status = EFFACE_OK;
    /* The bucket's sum changes by the difference of the group's seals; a group that does not exist
     * counts as 0. */
    if (group->n_rows != 0) {
        after = ef_seal_member_set(head, group);
        status = write_member_set(store, s, b->number, group, error);
        head->n_groups[kind] += is_new;
    } else {
        (void)sqlite3_bind_int64(s->drop_group, 1, (sqlite3_int64)b->number);
        (void)sqlite3_bind_int64(s->drop_group, 2, (sqlite3_int64)group->number);
        status = ef_sql_do(store, s->drop_group, error);
        /* Owner and text must be gone from the file, so a group that stays is damage. */
        if (status == EFFACE_OK && !is_new && sqlite3_changes(store->db) != 1)
            status = ef_store_corrupt(error, "an owner or a label cannot be removed");
        head->n_groups[kind] -= !is_new;
        b->n_gone++;
    }
    b->sum += after - before;
    head->groups_sum[kind] += after - before;
    return status;
}

static efface_status fit_buckets(efface_store *store, uint64_t n_groups, efface_error *error);

/* Puts members in the order of groups, by buckets or, if `head` is NULL, by kinds. */
static void sort_members(ef_member *members, size_t n, const ef_head *head) {
    for (size_t i = 0; i < n; i++)
        members[i].bucket = head != NULL
                                ? ef_member_bucket_of(head, members[i].kind, members[i].number)
                                : (uint64_t)members[i].kind;
    qsort(members, n, sizeof *members, compare_members);
}

/* Makes more buckets if the groups that are about to come are too many for those there are. There
 * are no more new groups than members, so a few members need not be counted. */
static efface_status fit_buckets_to(efface_store *store, ef_member *members, size_t n,
                                    efface_error *error) {
    if (n / FULL < store->head.group_slots)
        return EFFACE_OK;
    uint64_t n_groups[EF_MEMBER_KINDS] = {store->head.n_groups[0], store->head.n_groups[1]};
    sort_members(members, n, NULL);
    for (size_t i = 0; i < n; i++)
        n_groups[members[i].kind] += i == 0 || members[i].number != members[i - 1].number ||
                                     members[i].kind != members[i - 1].kind;
    return fit_buckets(store, n_groups[0] > n_groups[1] ? n_groups[0] : n_groups[1], error);
}

efface_status ef_member_sets_change(efface_store *store, ef_member *members, size_t n,
                                    efface_error *error) {
    if (n == 0)
        return EFFACE_OK;
    statements s = {.read_bucket = NULL};
    bucket b = {.number = 0};
    /* Sorting by group must keep the order in which one row leaves and joins again. */
    for (size_t i = 0; i < n; i++)
        members[i].order = i;
    efface_status status = fit_buckets_to(store, members, n, error);
    if (status == EFFACE_OK) {
        sort_members(members, n, &store->head);
        status = open_to_write(store, &s, error);
    }
    for (size_t i = 0; status == EFFACE_OK && i < n;) {
        /* Each bucket is read, verified and written once, whatever number of its groups change. */
        const uint64_t number = members[i].bucket;
        status = read_bucket(store, &s, number, &b, error);
        while (status == EFFACE_OK && i < n && members[i].bucket == number) {
            size_t same = 1;
            while (i + same < n && members[i + same].bucket == number &&
                   members[i + same].number == members[i].number)
                same++;
            status = change_member_set(store, &s, &b, members + i, same, error);
            i += same;
        }
        EF_THEN(status, write_bucket(store, &s, &b, error));
    }
    store->head_changed = true;
    bucket_clear(&b);
    ef_free(b.groups);
    close_statements(&s);
    const uint64_t *const n_groups = store->head.n_groups;
    return status == EFFACE_OK
               ? fit_buckets(store, n_groups[0] > n_groups[1] ? n_groups[0] : n_groups[1], error)
               : status;
}

/* ---------------------------------------------------------------- looking */

/* A set to look for, and its place among those that were asked for. */
typedef struct looked_for {
    uint64_t bucket, number;
    size_t asked;
} looked_for;

static int compare_looked_for(const void *a, const void *b) {
    const looked_for *const x = a, *const y = b;
    if (x->bucket != y->bucket)
        return x->bucket > y->bucket ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Copies the sets of one bucket that are looked for. */
static efface_status take_from_bucket(bucket *b, const looked_for *list, size_t n,
                                      ef_member_set *sets, efface_error *error) {
    for (size_t i = 0; i < n; i++) {
        const ef_member_set *const there = bucket_find(b, list[i].number);
        if (there == NULL)
            continue;
        ef_member_set *const set = &sets[list[i].asked];
        *set = *there;
        if (!copy_text(there->text, &set->text))
            return ef_fail_memory(error);
    }
    return EFFACE_OK;
}

efface_status ef_member_sets_find(efface_store *store, ef_member_kind kind, const uint64_t *numbers,
                                  size_t n, ef_member_set *sets, efface_error *error) {
    statements s = {.read_bucket = NULL};
    bucket b = {.number = 0};
    looked_for *const list = ef_alloc(n, sizeof *list);
    if (list == NULL)
        return ef_fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        list[i] = (looked_for){ef_member_bucket_of(&store->head, kind, numbers[i]), numbers[i], i};
        sets[i] = (ef_member_set){.n_rows = 0};
    }
    /* Each bucket is read once, however many of its sets are asked for. */
    if (n > 1)
        qsort(list, n, sizeof *list, compare_looked_for);
    efface_status status = open_to_read(store, &s, error);
    for (size_t i = 0, same; status == EFFACE_OK && i < n; i += same) {
        for (same = 1; i + same < n && list[i + same].bucket == list[i].bucket;)
            same++;
        status = read_bucket(store, &s, list[i].bucket, &b, error);
        EF_THEN(status, take_from_bucket(&b, list + i, same, sets, error));
    }
    bucket_clear(&b);
    ef_free(b.groups);
    ef_free(list);
    close_statements(&s);
    if (status != EFFACE_OK)
        ef_member_sets_clear(sets, n);
    return status;
}

void ef_member_sets_clear(ef_member_set *sets, size_t n) {
    for (size_t i = 0; i < n; i++)
        ef_free(sets[i].text);
    memset(sets, 0, n * sizeof *sets);
}

efface_status ef_member_sets_each(efface_store *store, ef_member_set_each *each, void *context,
                                  efface_error *error) {
    const ef_head *const head = &store->head;
    statements s = {.read_bucket = NULL};
    bucket b = {.number = 0};
    uint64_t n_groups[EF_MEMBER_KINDS] = {0};
    ef_u128 sums[EF_MEMBER_KINDS] = {0};
    efface_status status = open_to_read(store, &s, error);
    for (uint64_t i = 0; status == EFFACE_OK && i < ef_member_buckets(head); i++) {
        const ef_member_kind kind = kind_of_bucket(store, i);
        status = read_bucket(store, &s, i, &b, error);
        n_groups[kind] += b.n_groups;
        sums[kind] += b.sum;
        for (size_t j = 0; status == EFFACE_OK && j < b.n_groups; j++)
            status = each(context, &b.groups[j], error);
    }
    for (int kind = 0; status == EFFACE_OK && kind < EF_MEMBER_KINDS; kind++)
        if (n_groups[kind] != head->n_groups[kind] || sums[kind] != head->groups_sum[kind])
            status = ef_store_corrupt(error, kind == EF_MEMBER_OWNER
                                                 ? "its owners do not match their checksum"
                                                 : "its labels do not match their checksum");
    bucket_clear(&b);
    ef_free(b.groups);
    close_statements(&s);
    return status;
}

/* ---------------------------------------------------------------- all buckets */

efface_status ef_member_sets_make(efface_store *store, uint64_t n_groups, efface_error *error) {
    statements s = {.read_bucket = NULL};
    bucket b = {.number = 0};
    store->head.group_slots = ef_member_slots_for(n_groups);
    store->head_changed = true;
    efface_status status = open_to_write(store, &s, error);
    for (; status == EFFACE_OK && b.number < ef_member_buckets(&store->head); b.number++)
        status = write_bucket(store, &s, &b, error);
    close_statements(&s);
    return status;
}

typedef struct all_groups {
    ef_member_set *groups;
    size_t n_groups;
    size_t capacity;
} all_groups;

static efface_status keep_member_set(void *context, const ef_member_set *group,
                                     efface_error *error) {
    all_groups *const all = context;
    bucket b = {.groups = all->groups, .n_groups = all->n_groups, .capacity = all->capacity};
    ef_member_set *const copy = bucket_append(&b);
    if (copy == NULL)
        return ef_fail_memory(error);
    *all = (all_groups){b.groups, b.n_groups, b.capacity};
    *copy = *group;
    return copy_text(group->text, &copy->text) ? EFFACE_OK : ef_fail_memory(error);
}

/* Spreads the groups over more buckets when n_groups of a kind are too many for those there are.
 * All groups are read and verified first, and their seals stay; only the sums of buckets are
 * new. */
static efface_status fit_buckets(efface_store *store, uint64_t n_groups, efface_error *error) {
    ef_head *const head = &store->head;
    if (n_groups / FULL <= head->group_slots)
        return EFFACE_OK;
    all_groups all = {NULL, 0, 0};
    statements s = {.read_bucket = NULL};
    efface_status status = ef_member_sets_each(store, keep_member_set, &all, error);
    EF_THEN(status, ef_sql_run(store, "DELETE FROM groups; DELETE FROM group_buckets", error));
    EF_THEN(status, ef_member_sets_make(store, n_groups, error));
    const size_t n_buckets = (size_t)ef_member_buckets(head);
    bucket *const buckets = ef_alloc_zero(n_buckets, sizeof *buckets);
    if (status == EFFACE_OK && buckets == NULL)
        status = ef_fail_memory(error);
    EF_THEN(status, open_to_write(store, &s, error));
    for (size_t i = 0; status == EFFACE_OK && i < all.n_groups; i++) {
        const ef_member_set *const group = &all.groups[i];
        const uint64_t number = ef_member_bucket_of(head, group->kind, group->number);
        buckets[number].n_groups++;
        buckets[number].sum += ef_seal_member_set(head, group);
        status = write_member_set(store, &s, number, group, error);
    }
    for (size_t i = 0; status == EFFACE_OK && i < n_buckets; i++) {
        buckets[i].number = i;
        status = write_bucket(store, &s, &buckets[i], error);
    }
    close_statements(&s);
    ef_free(buckets);
    for (size_t i = 0; i < all.n_groups; i++)
        ef_free(all.groups[i].text);
    ef_free(all.groups);
    return status;
}
