/*
 * Random damage of the file of a store: pages exchanged, set to zero or to those of another time,
 * bits turned over, bytes anywhere changed. Whatever is asked then is answered rightly or refused;
 * a row that is there is never said not to be.
 *
 * EFFACE_TEST_CASES sets the number of damages, EFFACE_TEST_SEED runs one.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/scenes/sealed_store.h"

#define DEFAULT_CASES 340
#define PAGE_BYTES 4096

static sealed_store sealed;
static image earlier; /* the same store, a request before */
static uint64_t random_state;

static struct { unsigned long cases, not_opened, found, refused, answered; } seen;

static uint64_t draw(uint64_t limit) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % limit;
}

static const char *damage(unsigned char *bytes, size_t n_bytes) {
    unsigned char page[PAGE_BYTES];
    const size_t n_pages = n_bytes / PAGE_BYTES;
    unsigned char *const a = bytes + PAGE_BYTES * draw(n_pages);
    unsigned char *const b = bytes + PAGE_BYTES * draw(n_pages);
    switch (draw(6)) {
    case 0:
        memcpy(page, a, PAGE_BYTES);
        memmove(a, b, PAGE_BYTES);
        memcpy(b, page, PAGE_BYTES);
        return "two pages exchanged";
    case 1: memset(a, 0, PAGE_BYTES); return "a page of zeros";
    case 2: a[draw(PAGE_BYTES)] ^= (unsigned char)(1u << draw(8)); return "a bit turned over";
    case 3:
        for (int i = 0; i < 8; i++)
            a[draw(PAGE_BYTES)] ^= (unsigned char)(1u << draw(8));
        return "bits of a page turned over";
    case 4:
        for (int i = 0; i < 20; i++)
            bytes[draw(n_bytes)] = (unsigned char)draw(256);
        return "bytes anywhere changed";
    default: memcpy(a, earlier.bytes + (a - bytes), PAGE_BYTES); return "a page of an earlier time";
    }
}

static void count_problem(void *context, const char *problem) {
    assert_true(problem[0] != '\0');
    ++*(unsigned *)context;
}

static void lay_out(const unsigned char *bytes, size_t n_bytes) {
    empty_folder();
    write_image(in_folder(SEALED), bytes, n_bytes);
}

/* Whether the answer was OK. */
static bool check_answer(efface_store *store, const subject *about, question q, const char *what,
                         uint64_t seed) {
    const char *wrong = NULL;
    efface_error error = {.message = ""};
    const efface_status status = ask(&sealed, store, about, q, &wrong, &error);
    if (wrong != NULL || status == EFFACE_E_NOT_FOUND || status == EFFACE_E_ARGUMENT ||
        (status != EFFACE_OK && error.message[0] == '\0'))
        fail_msg("EFFACE_TEST_SEED=%" PRIu64 ", %s: question %x: %s, status %d, %s", seed, what,
                 (unsigned)q, wrong != NULL ? wrong : "", (int)status, error.message);
    seen.refused += status != EFFACE_OK;
    seen.answered += status == EFFACE_OK;
    return status == EFFACE_OK;
}

static void run_case(uint64_t seed) {
    random_state = seed * UINT64_C(0xD1342543DE82EF95);
    image file = {malloc(sealed.file.n_bytes), sealed.file.n_bytes};
    assert_non_null(file.bytes);
    memcpy(file.bytes, sealed.file.bytes, file.n_bytes);
    const char *const what = damage(file.bytes, file.n_bytes);
    const bool is_damage = memcmp(file.bytes, sealed.file.bytes, file.n_bytes) != 0;
    const sealed_row *row = NULL;
    do
        row = &sealed.rows[draw(sealed.n_rows)];
    while (row->row.owner == EFFACE_NO_OWNER || row->text[0] == '\0');
    subject about = subject_of(&sealed, row);
    about.model = sealed_models[draw(2)];
    efface_store *store = NULL;
    lay_out(file.bytes, file.n_bytes);
    if (open_sealed(&sealed, EFFACE_ACCESS_READ, &store, NULL) == EFFACE_OK) {
        unsigned n = 0;
        const efface_status status = efface_store_check(store, count_problem, &n, NULL);
        seen.found += is_damage && (n != 0 || status != EFFACE_OK);
        for (unsigned q = 1; q < FIRST_CHANGE; q <<= 1)
            (void)check_answer(store, &about, (question)q, what, seed);
        efface_store_close(store);
    } else
        seen.not_opened++;
    for (unsigned q = FIRST_CHANGE; q < 1u << QUESTIONS; q <<= 1) {
        lay_out(file.bytes, file.n_bytes);
        if (open_sealed(&sealed, EFFACE_ACCESS_WRITE, &store, NULL) != EFFACE_OK)
            break;
        (void)check_answer(store, &about, (question)q, what, seed);
        efface_store_close(store);
    }
    free(file.bytes);
    seen.cases++;
}

static void answers_are_right_or_refused(void **state) {
    (void)state;
    const char *const given = getenv("EFFACE_TEST_SEED"), *const many = getenv("EFFACE_TEST_CASES");
    const unsigned long n = many != NULL ? strtoul(many, NULL, 0) : DEFAULT_CASES;
    if (given != NULL) {
        run_case(strtoull(given, NULL, 0));
        return;
    }
    for (unsigned long i = 0; i < n; i++)
        run_case(i + 1);
    print_message("%lu damages: not opened %lu, found by a check %lu; questions refused %lu, "
                  "answered %lu\n",
                  seen.cases, seen.not_opened, seen.found, seen.refused, seen.answered);
    assert_true(seen.found > n / 4 && seen.not_opened > n / 20 && seen.answered > n);
}

static int begin_all(void **state) {
    if (sodium_init() < 0 || begin_folder(state) != 0)
        return -1;
    make_sealed(&sealed);
    earlier = sealed.file;
    efface_store *store = NULL;
    const efface_request request = {.ids = &sealed.rows[3].row.id, .n_ids = 1};
    REQUIRE_OK(open_sealed(&sealed, EFFACE_ACCESS_WRITE, &store, error));
    REQUIRE_OK(efface_store_forget(store, &request, NULL, error));
    sealed.rows[3] = sealed.rows[--sealed.n_rows];
    sealed.head = store->head;
    efface_store_close(store);
    sealed.file = read_image(in_folder(SEALED));
    assert_true(sealed.file.n_bytes >= earlier.n_bytes);
    earlier.bytes = realloc(earlier.bytes, sealed.file.n_bytes); /* pages that came: zeros */
    assert_non_null(earlier.bytes);
    memset(earlier.bytes + earlier.n_bytes, 0, sealed.file.n_bytes - earlier.n_bytes);
    earlier.n_bytes = sealed.file.n_bytes;
    return 0;
}

static int end_all(void **state) {
    free(sealed.file.bytes);
    free(earlier.bytes);
    return end_folder(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_right_or_refused)};
    return cmocka_run_group_tests(tests, begin_all, end_all);
}
