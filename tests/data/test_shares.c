/* Shares of a file: every row is in one of them, with the id and the values that it has in all. */
#define _POSIX_C_SOURCE 200809L

#include "load_scene.h"

#include <stdint.h>

/* Every row of the shares is in the whole, and there are as many. */
static void expect_shares(const char *path, efface_load_options options, uint32_t n_shares) {
    const outcome whole = load_path(path, &options);
    assert_int_equal(whole.status, EFFACE_OK);
    const uint32_t d = efface_data_n_columns(whole.data);
    float want[8], got[8];
    size_t n_rows = 0;
    options.n_shares = n_shares;
    for (options.share = 0; options.share < n_shares; options.share++) {
        const outcome part = load_path(path, &options);
        assert_int_equal(part.status, EFFACE_OK);
        assert_int_equal(efface_data_n_columns(part.data), d);
        assert_int_equal(part.data->id_kind, whole.data->id_kind);
        assert_int_equal(part.data->owner_kind, whole.data->owner_kind);
        for (size_t i = 0; i < efface_data_n_rows(part.data); i++) {
            const efface_row row = efface_data_row(part.data, i);
            size_t position;
            assert_int_equal(efface_data_find(whole.data, row.id, &position), EFFACE_OK);
            const efface_row there = efface_data_row(whole.data, position);
            assert_true(row.owner == there.owner && row.label == there.label);
            efface_data_values(part.data, i, got);
            efface_data_values(whole.data, position, want);
            assert_memory_equal(got, want, d * sizeof *want);
        }
        n_rows += efface_data_n_rows(part.data);
        efface_data_free(part.data);
    }
    assert_int_equal(n_rows, efface_data_n_rows(whole.data));
    efface_data_free(whole.data);
}

/* The bytes as a file and as a gzipped one, in several numbers of shares. */
static void expect_all_ways(const void *bytes, size_t n_bytes, const efface_load_options *options) {
    static const uint32_t numbers[] = {1, 2, 3, 7, 100};
    const char *const plain = write_plain(bytes, n_bytes);
    const char *const gzipped = write_gzip(bytes, n_bytes, "wb");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        expect_shares(plain, *options, numbers[i]);
        expect_shares(gzipped, *options, numbers[i]);
    }
}

/* An .npy file of int16; its numbers differ. */
static size_t make_npy(unsigned char *bytes, size_t n_rows) {
    char text[118];
    (void)snprintf(text, sizeof text,
                   "{'descr': '<i2', 'fortran_order': False, 'shape': (%zu, 3), }", n_rows);
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    (void)snprintf((char *)bytes + 10, 119, "%-117s\n", text);
    for (size_t i = 0; i < 3 * n_rows; i++) {
        bytes[128 + 2 * i] = (unsigned char)i;
        bytes[129 + 2 * i] = (unsigned char)(i >> 8);
    }
    return 128 + 6 * n_rows;
}

static void test_npy(void **state) {
    static const size_t sizes[] = {1, 2, 99, 100, 3000};
    static unsigned char bytes[128 + 6 * 3000];
    efface_load_options options;
    (void)state;
    efface_load_options_init(&options);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        expect_all_ways(bytes, make_npy(bytes, sizes[i]), &options);
}

static void test_npy_is_short(void **state) {
    static unsigned char bytes[128 + 6 * 3000];
    efface_load_options options;
    (void)state;
    efface_load_options_init(&options);
    options.n_shares = 3;
    const char *const path = write_plain(bytes, make_npy(bytes, 3000) - 1);
    for (options.share = 0; options.share < 3; options.share++)
        assert_int_equal(load_path(path, &options).status, EFFACE_E_FORMAT);
}

/* Rows of a CSV file: the first owner is empty, the second is a text; ids and labels are too, with
 * a letter in front of them. */
static size_t make_csv(char *text, size_t n_rows, const char *letter) {
    size_t n = (size_t)sprintf(text, "id,who,kind,a,b\n");
    for (size_t i = 0; i < n_rows; i++)
        n += (size_t)sprintf(text + n, "%s%zu,%s%.0zu,%szz,%zu,%zu\n", letter, 1000 - i,
                             i == 0 ? "" : "p", i, letter, i, 3 * i);
    return n;
}

static void test_csv(void **state) {
    static const size_t sizes[] = {1, 2, 63, 64, 65, 500};
    static char text[500 * 64];
    efface_load_options options;
    (void)state;
    efface_load_options_init(&options);
    options.id_column = "id";
    options.owner_column = "who";
    options.label_column = "kind";
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_all_ways(text, make_csv(text, sizes[i], "r"), &options);
        expect_all_ways(text, make_csv(text, sizes[i], ""), &options);
    }
}

static void test_csv_without_ids(void **state) {
    static char text[500 * 16];
    size_t n = 0;
    efface_load_options options;
    (void)state;
    efface_load_options_init(&options);
    for (size_t i = 0; i < 500; i++)
        n += (size_t)sprintf(text + n, "%zu,%zu\n", i, 7 * i % 11);
    expect_all_ways(text, n, &options);
}

/* A row that is wrong is found by the share that has it, and a duplicate told by its number. */
static void test_wrong_rows(void **state) {
    char text[500 * 16];
    size_t n = (size_t)sprintf(text, "id,a\n");
    efface_load_options options;
    (void)state;
    efface_load_options_init(&options);
    options.id_column = "id";
    options.n_shares = 2;
    for (size_t i = 0; i < 200; i++)
        n += (size_t)sprintf(text + n, "%zu,%zu%s\n", i == 199 ? 70 : i, i, i == 3 ? ",x" : "");
    const char *const path = write_plain(text, n);
    const outcome first = load_path(path, &options);
    assert_int_equal(first.status, EFFACE_E_FORMAT);
    assert_int_equal(first.error.line, 5);
    options.share = 1;
    const outcome second = load_path(path, &options);
    assert_int_equal(second.status, EFFACE_E_DUPLICATE);
    assert_int_equal(second.error.line, 201);
    assert_non_null(strstr(second.error.message, "row 71;"));
    options.share = 2;
    assert_int_equal(load_path(path, &options).status, EFFACE_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),        cmocka_unit_test(test_npy_is_short),
        cmocka_unit_test(test_csv),        cmocka_unit_test(test_csv_without_ids),
        cmocka_unit_test(test_wrong_rows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
