/* The times of receipts, which never go back: a clock that was set back would put a receipt before
 * the one that it names. */
#define _POSIX_C_SOURCE 200809L
#include "base/memory/memory.h"
#include "store/receipts/receipts.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>
#include <time.h>

#define TIME_LENGTH (EF_TIME_BYTES - 1)

/* The time that a receipt has; "" if there is none in it. */
static void read_time(ef_decoder body, char time[EF_TIME_BYTES]) {
    static const char field[] = "\"time\":\"";
    const size_t n = sizeof field - 1;
    time[0] = '\0';
    for (size_t at = 0; at + n + TIME_LENGTH <= body.n_bytes; at++)
        if (memcmp(body.bytes + at, field, n) == 0) {
            memcpy(time, body.bytes + at + n, TIME_LENGTH);
            time[TIME_LENGTH] = '\0';
            if (strspn(time, "0123456789-:TZ") != TIME_LENGTH)
                time[0] = '\0';
            return;
        }
}

static efface_status read_last_time(efface_store *store, char time[EF_TIME_BYTES],
                                    efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = false;
    time[0] = '\0';
    efface_status status =
        ef_sql_prepare(store, "SELECT body FROM receipts WHERE number = ?", &statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)store->head.n_receipts);
        status = ef_sql_step(store, statement, &row, error);
    }
    if (status == EFFACE_OK && row)
        read_time(ef_sql_bytes(statement, 0), time);
    (void)sqlite3_finalize(statement);
    return status;
}

/* Times of one length in this form are in the order of their texts. */
efface_status ef_receipt_time(efface_store *store, char out[EF_TIME_BYTES], efface_error *error) {
    const time_t now = time(NULL);
    struct tm utc;
    char last[EF_TIME_BYTES];
    out[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(out, EF_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const efface_status status =
        store->head.n_receipts != 0 ? read_last_time(store, last, error) : EFFACE_OK;
    if (status == EFFACE_OK && store->head.n_receipts != 0 && strcmp(last, out) > 0)
        memcpy(out, last, EF_TIME_BYTES);
    return status;
}
