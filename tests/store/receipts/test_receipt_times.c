/* Times of receipts when the clock is set back. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/plain_store.h"

#include <time.h>

static time_t now;

/* That of the library comes through here (--wrap). */
time_t __wrap_time(time_t *out);

time_t __wrap_time(time_t *out) {
    if (out != NULL)
        *out = now;
    return now;
}

static void expect_time(efface_store *store, uint64_t number, const char *text) {
    char *const line = receipt_of(store, number);
    if (strstr(line, text) == NULL)
        fail_msg("%s is not in %s", text, line);
    free(line);
}

static void times_never_go_back(void **state) {
    (void)state;
    static const struct {
        time_t clock;
        const char *time;
    } steps[] = {{1000000000, "\"time\":\"2001-09-09T01:46:40Z\""},
                 {1000000005, "\"time\":\"2001-09-09T01:46:45Z\""},
                 {900000000, "\"time\":\"2001-09-09T01:46:45Z\""},
                 {-5, "\"time\":\"2001-09-09T01:46:45Z\""},
                 {1000000006, "\"time\":\"2001-09-09T01:46:46Z\""}};
    efface_store *const store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        now = steps[i].clock;
        forget(store, 10 + i);
        expect_time(store, i + 2, steps[i].time); /* the first is that of the model */
    }
    check_whole(store);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_never_go_back)};
    return cmocka_run_group_tests(tests, begin_folder, end_folder);
}
