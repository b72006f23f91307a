/*
 * Damage behind a store's back, one value at a time, through SQL (store.c, invariant 7).
 *
 * For each kind of value, in each table, bits are turned over, values taken away, rows of tables
 * removed and added. Then a check must name it or the store must not open; every question that
 * rests on the value must be refused with EFFACE_E_CORRUPT; every other is answered rightly or
 * refused; and a request that is refused changes no byte of the file.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/sealed_store.h"

static sealed_store sealed;

static struct { unsigned long damages, not_opened, refused, answered; } seen;

/* ---------------------------------------------------------------- what rests on what */

#define ALL_CHANGES_OF_ROW (FORGET_ID | FORGET_OWNER | LEARN_ROW | UPDATE_ROW)

/* A row, or its bucket. */
#define ON_ROW                                                                                     \
    (ASK_FIND | ASK_FIND_ABSENT | ASK_FIND_OWNER | ASK_LOOK | ASK_TEXT_ID | ASK_LOAD |             \
     ASK_VERIFY | ALL_CHANGES_OF_ROW | FORGET_ABSENT)
/* An owner, or its bucket: here there is one bucket for all. */
#define ON_OWNER                                                                                   \
    (ASK_FIND_OWNER | ASK_OWNERS | ASK_TEXT_OWNER | ALL_CHANGES_OF_ROW | FORGET_ABSENT_OWNER)
#define ON_LABEL (ASK_OWNERS | ALL_CHANGES_OF_ROW)
/* A model: all that changes rows changes it. */
#define ON_MODEL (ASK_MODELS | ASK_ENCODE | ASK_VERIFY | ASK_LOOK | ALL_CHANGES_OF_ROW | LEARN_NEW)
#define ON_STATE (ON_MODEL & ~ASK_MODELS)
/* Whole parts forged so that they agree with each other; only the head knows better. */
#define ON_ALL_ROWS (ASK_LOAD | ASK_VERIFY)

typedef struct damage {
    const char *what;
    unsigned must_refuse;
    bool forged; /* a question may not find what was taken out together with its count */
} damage;

/* ---------------------------------------------------------------- one damage */

static void count_problem(void *context, const char *problem) {
    assert_true(problem[0] != '\0');
    ++*(unsigned *)context;
}

/* The answer to one question. Whether it was OK, so that the file may have changed. */
static bool check_answer(const damage *d, efface_store *store, const subject *about, question q,
                         const image *damaged) {
    const char *wrong = NULL;
    efface_error error = {.message = ""};
    const efface_status status = ask(&sealed, store, about, q, &wrong, &error);
    if (status == EFFACE_OK && wrong != NULL && !d->forged)
        fail_msg("%s: question %x is answered wrongly: %s", d->what, (unsigned)q, wrong);
    if (status == EFFACE_OK && (d->must_refuse & q) != 0)
        fail_msg("%s: question %x is answered", d->what, (unsigned)q);
    if (status != EFFACE_OK && status != EFFACE_E_CORRUPT &&
        !(d->forged && status == EFFACE_E_NOT_FOUND))
        fail_msg("%s: question %x: status %d, %s", d->what, (unsigned)q, (int)status,
                 error.message);
    if (status != EFFACE_OK) {
        image after = read_image(in_folder(SEALED));
        check_same_image(damaged, &after);
        free(after.bytes);
    }
    seen.refused += status != EFFACE_OK;
    seen.answered += status == EFFACE_OK;
    return status == EFFACE_OK;
}

/* The file in the folder has the damage. */
static void examine(const damage *d, const subject *about) {
    image damaged = read_image(in_folder(SEALED));
    efface_store *store = NULL;
    efface_error problem = {.message = ""};
    seen.damages++;
    efface_status status = open_sealed(&sealed, EFFACE_ACCESS_READ, &store, &problem);
    if (status == EFFACE_OK) {
        unsigned n = 0;
        REQUIRE_OK(efface_store_check(store, count_problem, &n, error));
        if (n == 0)
            fail_msg("%s: a check finds nothing", d->what);
        for (unsigned q = 1; q < FIRST_CHANGE; q <<= 1)
            (void)check_answer(d, store, about, (question)q, &damaged);
    } else if (status != EFFACE_E_CORRUPT && status != EFFACE_E_FORMAT) {
        fail_msg("%s: opening: status %d, %s", d->what, (int)status, problem.message);
    }
    efface_store_close(store);
    store = NULL;
    const efface_status again = open_sealed(&sealed, EFFACE_ACCESS_WRITE, &store, &problem);
    assert_int_equal(again, status);
    seen.not_opened += status != EFFACE_OK;
    for (unsigned q = FIRST_CHANGE; status == EFFACE_OK && q < 1u << QUESTIONS; q <<= 1) {
        if (!check_answer(d, store, about, (question)q, &damaged))
            continue;
        efface_store_close(store);
        store = NULL;
        (void)unlink(in_folder(SEALED "-journal"));
        write_image(in_folder(SEALED), damaged.bytes, damaged.n_bytes);
        REQUIRE_OK(open_sealed(&sealed, EFFACE_ACCESS_WRITE, &store, error));
    }
    efface_store_close(store);
    image after = read_image(in_folder(SEALED));
    if (status != EFFACE_OK)
        check_same_image(&damaged, &after);
    free(after.bytes);
    free(damaged.bytes);
}

/* Does some SQL to a whole store and examines what became of it. */
static void try_sql(const char *sql, unsigned must_refuse, const subject *about) {
    const damage d = {.what = sql, .must_refuse = must_refuse};
    restore_sealed(&sealed);
    run_sql(in_folder(SEALED), sql);
    examine(&d, about);
}

/* ---------------------------------------------------------------- values, bit by bit */

/* Turns one bit of a value over: of a blob or a text, in the byte `at`; of a number, the bit `at`.
 * `where` says which row of the table. False if there is no such bit. */
static bool flip(const char *table, const char *column, const char *where, size_t at) {
    char sql[400];
    sqlite3 *const db = open_sql(in_folder(SEALED));
    sqlite3_stmt *read = NULL, *write = NULL;
    (void)snprintf(sql, sizeof sql, "SELECT %s FROM %s WHERE %s", column, table, where);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &read, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(read), SQLITE_ROW);
    (void)snprintf(sql, sizeof sql, "UPDATE %s SET %s = ? WHERE %s", table, column, where);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &write, NULL), SQLITE_OK);
    const int type = sqlite3_column_type(read, 0);
    bool there = true;
    if (type == SQLITE_INTEGER) {
        there = at < 64;
        if (there)
            (void)sqlite3_bind_int64(
                write, 1, sqlite3_column_int64(read, 0) ^ (sqlite3_int64)(UINT64_C(1) << at));
    } else if (type == SQLITE_NULL) {
        there = at == 0;
        (void)sqlite3_bind_int64(write, 1, 1);
    } else {
        const size_t n = (size_t)sqlite3_column_bytes(read, 0);
        unsigned char *const copy = malloc(n + 1);
        assert_non_null(copy);
        if (n != 0)
            memcpy(copy, sqlite3_column_blob(read, 0), n);
        there = at < n;
        if (there)
            copy[at] = (unsigned char)(copy[at] ^ (type == SQLITE_TEXT ? 1u : 1u << at % 8));
        (void)(type == SQLITE_TEXT
                   ? sqlite3_bind_text(write, 1, (char *)copy, (int)n, SQLITE_TRANSIENT)
                   : sqlite3_bind_blob(write, 1, copy, (int)n, SQLITE_TRANSIENT));
        free(copy);
    }
    (void)sqlite3_finalize(read);
    if (there && sqlite3_step(write) != SQLITE_DONE)
        there = false; /* a key that is there already */
    (void)sqlite3_finalize(write);
    (void)sqlite3_close(db);
    return there;
}

/* Every `step`-th bit position of a value. */
static void flip_all(const char *table, const char *column, const char *where, size_t step,
                     unsigned must_refuse, const subject *about) {
    char what[200];
    const damage d = {.what = what, .must_refuse = must_refuse};
    for (size_t at = 0; at < 4096; at += step) {
        restore_sealed(&sealed);
        (void)snprintf(what, sizeof what, "%s.%s where %.120s, %zu", table, column, where, at);
        if (!flip(table, column, where, at)) {
            if (at >= 64)
                break;
            continue;
        }
        examine(&d, about);
    }
}

/* Flags that mean nothing stay zero, whatever the seal says. */
static void zeros_of_the_head(void **state) {
    (void)state;
    static const struct {
        size_t at;
        unsigned char bit;
    } zeros[] = {{4, 64}, {5, 1}, {7, 128}};
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        unsigned char seal[EFFACE_DIGEST_BYTES];
        char hex[1000], seal_hex[2 * sizeof seal + 1], sql[2000];
        restore_sealed(&sealed);
        image head = sql_bytes(in_folder(SEALED), "SELECT value FROM facts WHERE name = 'head'");
        assert_int_equal(head.n_bytes, 304);
        assert_int_equal(head.bytes[zeros[i].at] & zeros[i].bit, 0);
        head.bytes[zeros[i].at] |= zeros[i].bit;
        (void)crypto_generichash(seal, sizeof seal, head.bytes, head.n_bytes, NULL, 0);
        (void)sodium_bin2hex(hex, sizeof hex, head.bytes, head.n_bytes);
        (void)sodium_bin2hex(seal_hex, sizeof seal_hex, seal, sizeof seal);
        (void)snprintf(sql, sizeof sql,
                       "REPLACE INTO facts VALUES ('head', x'%s'), ('seal', x'%s')", hex, seal_hex);
        run_sql(in_folder(SEALED), sql);
        for (int access = 0; access < 2; access++) {
            efface_store *store = NULL;
            assert_int_equal(open_sealed(&sealed, (efface_access)access, &store, NULL),
                             EFFACE_E_CORRUPT);
        }
        free(head.bytes);
    }
    restore_sealed(&sealed);
}

static void the_head(void **state) {
    (void)state;
    const subject about = subject_of(&sealed, &sealed.rows[0]);
    flip_all("facts", "value", "name = 'head'", 1, 0, &about); /* the key of texts is in it */
    flip_all("facts", "value", "name = 'seal'", 1, 0, &about);
    flip_all("facts", "value", "name = 'signature'", 9, 0, &about);
    flip_all("facts", "value", "name = 'offsets'", 1, 0, &about);
    assert_true(seen.not_opened > 300);
    try_sql("DELETE FROM facts WHERE name = 'head'", 0, &about);
    try_sql("DELETE FROM facts WHERE name = 'seal'", 0, &about);
    try_sql("DELETE FROM facts WHERE name = 'offsets'", 0, &about);
    try_sql("DELETE FROM facts", 0, &about);
    try_sql("UPDATE facts SET value = substr(value, 1, 100) WHERE name = 'head'", 0, &about);
    try_sql("UPDATE facts SET value = CAST(value || x'00' AS BLOB) WHERE name = 'head'", 0, &about);
    flip_all("columns", "name", "number = 1", 1, 0, &about);
    flip_all("columns", "name", "number = 2", 1, 0, &about);
    try_sql("DELETE FROM columns WHERE number = 3", 0, &about);
    try_sql("DELETE FROM columns", 0, &about);
    try_sql("INSERT INTO columns VALUES (4, 'more')", 0, &about);
    try_sql("UPDATE columns SET name = NULL WHERE number = 1", 0, &about);
}

/* ---------------------------------------------------------------- rows */

/* Rows of both kinds of buckets, with an owner. */
static const size_t victims[] = {0, 35, 58};

static void rows_and_buckets(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        const sealed_row *const row = &sealed.rows[victims[i]];
        const subject about = subject_of(&sealed, row);
        assert_true(row->row.owner != EFFACE_NO_OWNER);
        const uint64_t bucket = ef_bucket_of(&sealed.head, row->row.id);
        char where[80], sql[400];
        (void)snprintf(where, sizeof where, "id = %" PRId64, (int64_t)row->row.id);
        flip_all("rows", "vals", where, 1, ON_ROW, &about);
        flip_all("rows", "text", where, 2, ON_ROW, &about);
        flip_all("rows", "owner", where, 21, ON_ROW, &about);
        flip_all("rows", "weight", where, 21, ON_ROW, &about);
        flip_all("rows", "class", where, 21, ON_ROW, &about);
        flip_all("rows", "bucket", where, 1, ON_ROW, &about);
        flip_all("rows", "id", where, 13, ON_ROW, &about);
        static const char *const ways[] = {
            "DELETE FROM rows WHERE %s",
            "UPDATE rows SET owner = NULL WHERE %s",
            "UPDATE rows SET class = NULL WHERE %s",
            "UPDATE rows SET text = NULL WHERE %s",
            "UPDATE rows SET text = '' WHERE %s",
            "UPDATE rows SET vals = substr(vals, 1, 8) WHERE %s",
            "UPDATE rows SET vals = zeroblob(12) WHERE %s",
            "UPDATE rows SET vals = x'0000c07f0000c07f0000c07f' WHERE %s",
            "UPDATE rows SET weight = 0 WHERE %s",
            "UPDATE rows SET weight = -weight WHERE %s",
            "INSERT INTO rows SELECT bucket, 5 + 1000 * bucket, owner, weight, class, text, vals"
            " FROM rows WHERE %s",
            "INSERT INTO rows SELECT bucket + 1, id, owner, weight, class, text, vals"
            " FROM rows WHERE %s",
        };
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
            (void)snprintf(sql, sizeof sql, ways[k], where);
            /* A doubled row stands in a bucket that these questions do not read, but for all. */
            try_sql(sql, k == 11 ? ON_ALL_ROWS : ON_ROW, &about);
        }
        (void)snprintf(where, sizeof where, "number = %" PRIu64, bucket);
        flip_all("buckets", "n_rows", where, 21, ON_ROW, &about);
        flip_all("buckets", "sum", where, 1, ON_ROW, &about);
        flip_all("buckets", "number", where, 13, ON_ROW, &about);
        (void)snprintf(sql, sizeof sql, "DELETE FROM buckets WHERE %s", where);
        try_sql(sql, ON_ROW, &about);
        (void)snprintf(sql, sizeof sql, "UPDATE buckets SET sum = substr(sum, 1, 15) WHERE %s",
                       where);
        try_sql(sql, ON_ROW, &about);
        /* The values of the first and the last row of the bucket exchanged. */
        (void)snprintf(sql, sizeof sql,
                       "WITH ends AS (SELECT min(id) AS low, max(id) AS high FROM rows"
                       " WHERE bucket = %" PRIu64 ") UPDATE rows SET vals ="
                       " (SELECT b.vals FROM rows b, ends WHERE b.bucket = rows.bucket"
                       " AND b.id = CASE rows.id WHEN low THEN high ELSE low END)"
                       " WHERE bucket = %" PRIu64 " AND id IN"
                       " (SELECT low FROM ends UNION SELECT high FROM ends)",
                       bucket, bucket);
        try_sql(sql, ON_ROW, &about);
        /* A bucket emptied together with what is kept of it. */
        (void)snprintf(
            sql, sizeof sql,
            "DELETE FROM rows WHERE bucket = %" PRIu64
            "; UPDATE buckets SET n_rows = 0, sum = zeroblob(16) WHERE number = %" PRIu64,
            bucket, bucket);
        const damage forged = {.what = sql, .must_refuse = ON_ALL_ROWS, .forged = true};
        restore_sealed(&sealed);
        run_sql(in_folder(SEALED), sql);
        examine(&forged, &about);
    }
}

/* ---------------------------------------------------------------- the index of owners */

/* Runs SQL while SQLite does not know of the index, so that it is not kept up to date. */
static void run_without_index(const char *with, const char *without) {
    const int64_t page = sql_number(
        in_folder(SEALED), "SELECT rootpage FROM sqlite_schema WHERE name = 'rows_by_owner'");
    char sql[400];
    if (with[0] != '\0')
        run_sql(in_folder(SEALED), with);
    image made =
        sql_bytes(in_folder(SEALED), "SELECT sql FROM sqlite_schema WHERE name = 'rows_by_owner'");
    made.bytes[made.n_bytes] = '\0';
    run_sql(in_folder(SEALED), "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name ="
                               " 'rows_by_owner'");
    run_sql(in_folder(SEALED), without);
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES ('index',"
                   " 'rows_by_owner', 'rows', %" PRId64 ", '%s')",
                   page, (const char *)made.bytes);
    run_sql(in_folder(SEALED), sql);
    free(made.bytes);
}

static void the_index(void **state) {
    (void)state;
    const sealed_row *const row = &sealed.rows[35];
    const subject about = subject_of(&sealed, row);
    char with[300], without[300], keep[200];
    const damage lacks = {.what = "an entry of the index is missing",
                          .must_refuse = ASK_FIND_OWNER | FORGET_OWNER};
    (void)snprintf(keep, sizeof keep, "CREATE TABLE kept AS SELECT * FROM rows WHERE id = %" PRIu64,
                   row->row.id);
    (void)snprintf(with, sizeof with, "%s; DELETE FROM rows WHERE id = %" PRIu64, keep,
                   row->row.id);
    (void)snprintf(without, sizeof without, "INSERT INTO rows SELECT * FROM kept; DROP TABLE kept");
    restore_sealed(&sealed);
    run_without_index(with, without);
    examine(&lacks, &about);
    /* An entry too many: of a row that is not there, so its bucket is wrong as well. */
    const damage more = {.what = "an entry of the index leads to no row", .must_refuse = ON_ROW};
    (void)snprintf(without, sizeof without, "DELETE FROM rows WHERE id = %" PRIu64, row->row.id);
    restore_sealed(&sealed);
    run_without_index("", without);
    examine(&more, &about);
    /* An index that is empty but there: no owner has rows. */
    const damage empty = {.what = "the index is empty",
                          .must_refuse = ASK_FIND_OWNER | FORGET_OWNER};
    restore_sealed(&sealed);
    run_without_index("CREATE TABLE kept AS SELECT * FROM rows; DELETE FROM rows",
                      "INSERT INTO rows SELECT * FROM kept; DROP TABLE kept");
    examine(&empty, &about);
}

/* ---------------------------------------------------------------- owners and labels */

static void owners_and_labels(void **state) {
    (void)state;
    const sealed_row *const row = &sealed.rows[0];
    const subject about = subject_of(&sealed, row);
    char where[80], sql[300];
    assert_int_equal(sealed.head.group_slots, 1);
    for (int kind = 0; kind < 2; kind++) {
        const unsigned must = kind == 0 ? ON_OWNER : ON_LABEL;
        const int64_t number = kind == 0 ? (int64_t)row->row.owner : row->row.label;
        (void)snprintf(where, sizeof where, "bucket = %d AND number = %" PRId64, kind, number);
        flip_all("groups", "n_rows", where, 21, must, &about);
        flip_all("groups", "members", where, 1, must, &about);
        flip_all("groups", "text", where, 2, must, &about);
        flip_all("groups", "number", where, 13, must, &about);
        flip_all("groups", "bucket", where, 1, must, &about);
        static const char *const ways[] = {
            "DELETE FROM groups WHERE %s",
            "UPDATE groups SET text = NULL WHERE %s",
            "UPDATE groups SET members = zeroblob(16) WHERE %s",
            "UPDATE groups SET members = zeroblob(15) WHERE %s",
            "UPDATE groups SET n_rows = 0 WHERE %s",
            "INSERT INTO groups SELECT bucket, 77, n_rows, members, text FROM groups WHERE %s",
        };
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
            (void)snprintf(sql, sizeof sql, ways[k], where);
            try_sql(sql, must, &about);
        }
        (void)snprintf(where, sizeof where, "number = %d", kind);
        flip_all("group_buckets", "n_groups", where, 21, must, &about);
        flip_all("group_buckets", "sum", where, 1, must, &about);
        (void)snprintf(sql, sizeof sql, "DELETE FROM group_buckets WHERE %s", where);
        try_sql(sql, must, &about);
        /* All owners, or labels, taken out with their count: the head knows. */
        (void)snprintf(sql, sizeof sql,
                       "DELETE FROM groups WHERE bucket = %d; UPDATE group_buckets SET n_groups ="
                       " 0, sum = zeroblob(16) WHERE number = %d",
                       kind, kind);
        const damage forged = {.what = sql, .must_refuse = ASK_OWNERS, .forged = true};
        restore_sealed(&sealed);
        run_sql(in_folder(SEALED), sql);
        examine(&forged, &about);
    }
}

/* ---------------------------------------------------------------- models */

static void models(void **state) {
    (void)state;
    subject about = subject_of(&sealed, &sealed.rows[0]);
    for (int i = 0; i < 2; i++) {
        char where[80], sql[300];
        about.model = sealed_models[i];
        (void)snprintf(where, sizeof where, "name = '%s'", about.model);
        flip_all("models", "params", where, 5, ON_MODEL, &about);
        flip_all("models", "columns", where, 1, ON_MODEL, &about);
        flip_all("models", "counts", where, 11, ON_MODEL, &about);
        flip_all("models", "digest", where, 3, ON_MODEL, &about);
        flip_all("models", "salt", where, 3, ON_MODEL, &about);
        flip_all("models", "seal", where, 1, ON_MODEL, &about);
        flip_all("models", "family", where, 1, ON_MODEL, &about);
        flip_all("models", "parts", where, 1, ON_MODEL, &about);
        flip_all("models", "number", where, 21, ON_STATE, &about);
        flip_all("models", "state", where, 37, ON_STATE, &about);
        flip_all("models", "name", where, 1, ON_MODEL, &about);
        static const char *const ways[] = {
            "DELETE FROM models WHERE %s",
            "UPDATE models SET digest = zeroblob(31) WHERE %s",
            "UPDATE models SET counts = substr(counts, 1, 100) WHERE %s",
            "UPDATE models SET params = substr(params, 1, 50) WHERE %s",
            "UPDATE models SET columns = x'09000000' WHERE %s",
            "UPDATE models SET columns = x'' WHERE %s AND columns <> x''",
            "UPDATE models SET name = 'a b' WHERE %s",
            ("INSERT INTO models SELECT 9, 'gamma', family, params, columns, counts, digest,"
             " salt, parts, seal, state FROM models WHERE %s"),
        };
        for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
            if (k == 5 && i == 0)
                continue;
            (void)snprintf(sql, sizeof sql, ways[k], where);
            /* One model more harms the others in nothing but their number. */
            try_sql(sql, k == 7 ? ON_MODEL & ~(ASK_ENCODE | ASK_VERIFY) : ON_MODEL, &about);
        }
        static const char *const on_state[] = {
            "UPDATE models SET state = x'' WHERE %s",
            "UPDATE models SET state = CAST(state AS TEXT) WHERE %s",
            "UPDATE models SET state = substr(state, 1, length(state) - 1) WHERE %s",
        };
        for (size_t k = 0; k < sizeof on_state / sizeof on_state[0]; k++) {
            (void)snprintf(sql, sizeof sql, on_state[k], where);
            try_sql(sql, ON_STATE, &about);
        }
    }
    about.model = sealed_models[0];
    try_sql("UPDATE models SET state = (SELECT b.state FROM models b WHERE b.name <> models.name)",
            ON_STATE, &about);
    try_sql("UPDATE models SET name = CASE name WHEN 'alpha' THEN 'delta' ELSE name END", ON_MODEL,
            &about);
}

/* ---------------------------------------------------------------- receipts */

static void receipts(void **state) {
    (void)state;
    const subject about = subject_of(&sealed, &sealed.rows[0]);
    for (int number = 1; number <= 3; number++) {
        char where[40], sql[200];
        (void)snprintf(where, sizeof where, "number = %d", number);
        flip_all("receipts", "body", where, 97, 0, &about);
        (void)snprintf(sql, sizeof sql, "DELETE FROM receipts WHERE %s", where);
        try_sql(sql, 0, &about);
        (void)snprintf(sql, sizeof sql, "UPDATE receipts SET number = 9 WHERE %s", where);
        try_sql(sql, 0, &about);
        (void)snprintf(sql, sizeof sql, "UPDATE receipts SET body = '' WHERE %s", where);
        try_sql(sql, 0, &about);
    }
    try_sql("INSERT INTO receipts SELECT 4, body FROM receipts WHERE number = 3",
            ALL_CHANGES_OF_ROW | LEARN_NEW | FORGET_ABSENT | FORGET_ABSENT_OWNER, &about);
    try_sql("UPDATE receipts SET number = 10 WHERE number = 1; UPDATE receipts SET number = 1 WHERE"
            " number = 2; UPDATE receipts SET number = 2 WHERE number = 10",
            0, &about);
    try_sql("DELETE FROM receipts", 0, &about);
    try_sql("DELETE FROM facts WHERE name = 'signature'; DELETE FROM receipts WHERE number = 3", 0,
            &about);
}

/* ---------------------------------------------------------------- */

/* The questions themselves: all are answered if nothing is wrong. */
static void a_whole_store_answers(void **state) {
    (void)state;
    efface_store *store = NULL;
    const subject about = subject_of(&sealed, &sealed.rows[35]);
    for (unsigned q = 1; q < 1u << QUESTIONS; q <<= 1) {
        const char *wrong = NULL;
        restore_sealed(&sealed);
        REQUIRE_OK(open_sealed(&sealed, EFFACE_ACCESS_WRITE, &store, error));
        REQUIRE_OK(ask(&sealed, store, &about, (question)q, &wrong, error));
        if (wrong != NULL)
            fail_msg("question %x: %s", q, wrong);
        check_whole(store);
        efface_store_close(store);
    }
}

static int begin_all(void **state) {
    if (sodium_init() < 0 || begin_folder(state) != 0)
        return -1;
    make_sealed(&sealed);
    return 0;
}

static int end_all(void **state) {
    print_message("%lu damages: %lu times not opened, else %lu questions refused, %lu answered\n",
                  seen.damages, seen.not_opened, seen.refused, seen.answered);
    free(sealed.file.bytes);
    return end_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_store_answers),
        cmocka_unit_test(zeros_of_the_head),
        cmocka_unit_test(the_head),
        cmocka_unit_test(rows_and_buckets),
        cmocka_unit_test(the_index),
        cmocka_unit_test(owners_and_labels),
        cmocka_unit_test(models),
        cmocka_unit_test(receipts),
    };
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
