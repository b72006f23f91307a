/*
 * Published models: a file says what the model says, to the bit, and nothing else; the store goes
 * on with the seed of what was published; and what must not be written over is not.
 */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/kmeans/kmeans.h"
#include "model/report_scene.h"
#include "store/scenes/plain_store.h"
#include "store/scenes/sql_scene.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/wait.h>

#define FILE_NAME "out.model"
#define MAX_ROWS 80

static uint64_t next_random(void) {
    static uint64_t state = 20191105;
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* From -spread to spread. */
static float next_value(float spread) {
    return ((float)(next_random() >> 40) * 0x1p-23F - 1.0F) * spread;
}

static efface_status publish_to(efface_store *store, const char *name, const char *path,
                                int replace, efface_store_report *report, efface_error *error) {
    const efface_publishing asked = {.name = name, .path = path, .replace = replace};
    return efface_store_publish(store, &asked, report, error);
}

static efface_store_report publish(efface_store *store, const char *name) {
    efface_store_report report;
    REQUIRE_OK(publish_to(store, name, in_folder(FILE_NAME), 1, &report, error));
    return report;
}

static efface_predictor *load(const char *name) {
    efface_predictor *p = NULL;
    REQUIRE_OK(efface_predictor_load(in_folder(name), &p, error));
    return p;
}

/* ---------------------------------------------------------------- what a file says */

typedef struct scene {
    efface_method method;
    efface_scale scale;
    uint32_t n_clusters;
    bool weighed, shifted, named, some; /* columns */
} scene;

static const double shifts[N_COLUMNS] = {1e9, 0.0, -2.5, 0.0};

static efface_store *make_scene(const scene *s) {
    float values[MAX_ROWS * N_COLUMNS];
    int64_t weights[MAX_ROWS];
    uint64_t ids[MAX_ROWS];
    static const uint32_t some[] = {3, 0};
    efface_data *data = NULL;
    efface_store *store = NULL;
    for (size_t i = 0; i < MAX_ROWS; i++) {
        ids[i] = next_random() >> 1;
        weights[i] = 1 + (int64_t)(next_random() % 9);
        for (size_t j = 0; j < N_COLUMNS; j++)
            values[i * N_COLUMNS + j] = (float)(i % 4) * 3.0F + next_value(2.0F);
    }
    const efface_rows rows = {
        .n_rows = MAX_ROWS, .values = values, .ids = ids, .weights = s->weighed ? weights : NULL};
    REQUIRE_OK(efface_data_create(N_COLUMNS, &data, error));
    if (s->shifted)
        REQUIRE_OK(efface_data_set_offsets(data, shifts, error));
    if (s->named)
        REQUIRE_OK(efface_data_name_column(data, 3, "the fourth", error));
    REQUIRE_OK(efface_data_add(data, &rows, error));
    empty_folder();
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    efface_kmeans_params params = params_of(s->method);
    params.n_clusters = s->n_clusters;
    params.scale = s->scale;
    REQUIRE_OK(fit_plain(store, "m", &params, s->some ? some : NULL, s->some ? 2 : 0, error));
    return store;
}

/* Labels, distances and centroids of rows, some of which are outside of the bounds. */
static void check_answers(const efface_predictor *p, const efface_model *model,
                          const efface_data *data) {
    enum { N = 50 };
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    const efface_predictor_info said = efface_predictor_get_info(p);
    const uint32_t d = info.n_columns, k = info.n_clusters;
    float rows[N * (N_COLUMNS + 1)];
    efface_number a[N], b[N];
    double x[N * MAX_ROWS], y[N * MAX_ROWS];
    efface_table table;
    REQUIRE_OK(efface_predictor_find_table(p, "centroids", &table, error));
    assert_int_equal(table.n_rows, k);
    assert_int_equal(said.n_columns, d);
    assert_int_equal(said.family, EFFACE_FAMILY_KMEANS);
    assert_int_equal(said.predicts, EFFACE_PREDICTS_CLUSTERS);
    assert_int_equal(said.n_numbers, 1);
    assert_true(k <= MAX_ROWS);
    for (size_t i = 0; i < N * (d + 1); i++)
        rows[i] = next_value(i % 7 == 0 ? 1e5F : 12.0F);
    REQUIRE_OK(efface_predictor_predict(p, N, rows, d + 1, a, error));
    REQUIRE_OK(efface_predictor_predict(efface_model_predictor(model), N, rows, d + 1, b, error));
    assert_memory_equal(a, b, sizeof a);
    REQUIRE_OK(efface_predictor_square_distances(p, N, rows, d + 1, x, error));
    REQUIRE_OK(
        efface_predictor_square_distances(efface_model_predictor(model), N, rows, d + 1, y, error));
    assert_memory_equal(x, y, (size_t)N * k * sizeof *x);
    for (uint32_t c = 0; c < k; c++) {
        REQUIRE_OK(efface_predictor_read_table(p, "centroids", c, NULL, x, error));
        REQUIRE_OK(efface_kmeans_centroid(model, c, y, error));
        efface_data_add_offsets(data, y);
        assert_memory_equal(x, y, d * sizeof *x);
    }
    const double *const offsets = efface_data_offsets(data);
    assert_true((offsets == NULL) == (efface_predictor_offsets(p) == NULL));
    if (offsets != NULL)
        assert_memory_equal(offsets, efface_predictor_offsets(p), d * sizeof *offsets);
    for (uint32_t j = 0; j < d; j++) {
        const char *const name = efface_data_column_name(data, j);
        const char *const found = efface_predictor_column(p, j);
        assert_true((name == NULL) == (found == NULL));
        assert_true(name == NULL || strcmp(name, found) == 0);
    }
}

static bool has_bytes(const image *file, const void *bytes, size_t n) {
    for (size_t at = 0; at + n <= file->n_bytes; at++)
        if (memcmp(file->bytes + at, bytes, n) == 0)
            return true;
    return false;
}

/* The file is as long as what belongs there, and has no seed, no id, and no two values of a row. */
static void check_bytes(const image *file, const efface_model *model, const efface_data *data,
                        uint64_t old_seed) {
    const efface_kmeans_info info = efface_kmeans_get_info(model);
    const size_t d = info.n_columns;
    size_t n_bytes = 16 + 56 + 12 + 4 * d * info.n_clusters + 32, n_names = 0;
    if (inside(model)->params.scale == EFFACE_SCALE_MINMAX)
        n_bytes += 8 * d;
    if (efface_data_offsets(data) != NULL)
        n_bytes += 8 * d;
    for (uint32_t j = 0; j < d; j++)
        if (efface_data_column_name(data, j) != NULL)
            n_names += strlen(efface_data_column_name(data, j));
    n_bytes += n_names != 0 ? n_names + 4 * d : 0;
    assert_int_equal(file->n_bytes, n_bytes);
    assert_false(has_bytes(file, &old_seed, sizeof old_seed));
    assert_false(has_bytes(file, &inside(model)->params.common.seed,
                           sizeof inside(model)->params.common.seed));
    for (size_t i = 0; i < efface_data_n_rows(data); i++) {
        const uint64_t id = efface_data_row(data, i).id;
        float values[N_COLUMNS];
        efface_data_values(data, i, values);
        assert_false(has_bytes(file, &id, sizeof id));
        for (size_t j = 0; j + 1 < d; j++)
            assert_false(has_bytes(file, values + j, 2 * sizeof *values));
    }
}

static void check_scene(const scene *s) {
    efface_store *const store = make_scene(s);
    efface_data *data = NULL;
    efface_model *model = NULL;
    REQUIRE_OK(efface_store_load(store, "m", &data, &model, error));
    const uint64_t old_seed = inside(model)->params.common.seed;
    efface_model_free(model);
    efface_data_free(data);
    efface_store_report report = publish(store, "m");
    REQUIRE_OK(efface_store_load(store, "m", &data, &model, error));
    assert_true(inside(model)->params.common.seed != old_seed);
    unsigned char digest[EFFACE_DIGEST_BYTES];
    REQUIRE_OK(efface_model_digest(model, digest, error));
    assert_int_equal(report.n_models, 1);
    assert_string_equal(report.models[0].name, "m");
    assert_memory_not_equal(report.models[0].after, digest, sizeof digest);
    efface_stored_model stored;
    REQUIRE_OK(efface_store_find_model(store, "m", &stored, error));
    assert_memory_equal(report.models[0].after, stored.commitment, sizeof digest);
    assert_memory_not_equal(report.models[0].before, stored.commitment, sizeof digest);
    efface_predictor *const p = load(FILE_NAME);
    check_answers(p, model, data);
    image file = read_image(in_folder(FILE_NAME));
    check_bytes(&file, model, data, old_seed);
    (void)crypto_generichash(digest, sizeof digest, file.bytes, file.n_bytes, NULL, 0);
    assert_memory_equal(report.published, digest, sizeof digest);
    assert_int_equal(report.n_published_bytes, file.n_bytes);
    check_whole(store);
    free(file.bytes);
    efface_predictor_free(p);
    efface_store_report_free(&report);
    efface_model_free(model);
    efface_data_free(data);
    efface_store_close(store);
}

static void a_file_says_what_the_model_says(void **state) {
    (void)state;
    static const uint32_t clusters[] = {1, 4, 17, 200};
    for (unsigned i = 0; i < 64; i++) {
        const scene s = {.method = (efface_method)(i % 4),
                         .scale = i / 4 % 2 != 0 ? EFFACE_SCALE_MINMAX : EFFACE_SCALE_NONE,
                         .n_clusters = clusters[i / 8 % 4],
                         .weighed = i % 3 == 0,
                         .shifted = i / 32 != 0,
                         .named = i % 5 < 2,
                         .some = i % 7 < 3};
        /* With as many clusters as rows, centroids are rows: the page says so. */
        if (s.n_clusters < MAX_ROWS)
            check_scene(&s);
    }
}

/* More clusters than rows: each centroid is a row, and that is what is published. */
static void there_may_be_fewer_rows_than_clusters(void **state) {
    (void)state;
    const scene s = {.method = EFFACE_METHOD_LLOYD, .n_clusters = 200};
    efface_store *const store = make_scene(&s);
    efface_data *data = NULL;
    efface_model *model = NULL;
    efface_store_report report = publish(store, "m");
    REQUIRE_OK(efface_store_load(store, "m", &data, &model, error));
    efface_predictor *const p = load(FILE_NAME);
    efface_table table;
    REQUIRE_OK(efface_predictor_get_table(p, 0, &table, error));
    assert_int_equal(table.n_rows, MAX_ROWS);
    check_answers(p, model, data);
    efface_predictor_free(p);
    efface_model_free(model);
    efface_data_free(data);
    efface_store_report_free(&report);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- receipts and seeds */

static uint64_t seed_of(efface_store *store, const char *name) {
    efface_data *data = NULL;
    efface_model *model = NULL;
    REQUIRE_OK(efface_store_load(store, name, &data, &model, error));
    const uint64_t seed = inside(model)->params.common.seed;
    efface_model_free(model);
    efface_data_free(data);
    return seed;
}

static void each_publication_has_a_seed_and_a_receipt(void **state) {
    (void)state;
    enum { N = 6, N_ADDED = 2 };
    unsigned char secret_key[EFFACE_SECRET_KEY_BYTES], public_key[EFFACE_PUBLIC_KEY_BYTES];
    REQUIRE_OK(efface_keys_make(secret_key, public_key, error));
    efface_store *store = make_store();
    efface_store_close(store);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.secret_key = secret_key;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    fit(store, "one", EFFACE_METHOD_LLOYD);
    fit(store, "two", EFFACE_METHOD_PYRAMID);
    const uint64_t other = seed_of(store, "two");
    uint64_t seeds[N + 1] = {seed_of(store, "one")};
    for (size_t i = 0; i < N; i++) {
        char hex[2 * EFFACE_DIGEST_BYTES + 1], wanted[200];
        efface_store_report report = publish(store, "one");
        assert_int_equal(report.receipt, N_ADDED + 2 * i + 1);
        char *const line = receipt_of(store, report.receipt);
        (void)sodium_bin2hex(hex, sizeof hex, report.published, sizeof report.published);
        (void)snprintf(wanted, sizeof wanted, "\"published\":{\"digest\":\"%s\"}", hex);
        assert_non_null(strstr(line, wanted));
        (void)sodium_bin2hex(hex, sizeof hex, report.models[0].after, EFFACE_DIGEST_BYTES);
        assert_non_null(strstr(line, hex));
        assert_non_null(strstr(line, "\"kind\":\"publish\""));
        assert_non_null(strstr(line, "\"rows\":{\"count\":0,"));
        REQUIRE_OK(efface_receipt_verify(line, public_key, error));
        free(line);
        efface_store_report_free(&report);
        seeds[i + 1] = seed_of(store, "one");
        for (size_t j = 0; j <= i; j++)
            assert_true(seeds[j] != seeds[i + 1]);
        forget(store, 10 + i); /* its receipt follows, without a file */
        char *const next = receipt_of(store, N_ADDED + 2 * i + 2);
        assert_null(strstr(next, "published"));
        free(next);
    }
    assert_true(seed_of(store, "two") == other);
    REQUIRE_OK(efface_store_verify_receipts(store, public_key, error));
    check_whole(store);
    efface_store_close(store);
}

/* ---------------------------------------------------------------- damage */

/* As whoever makes files would: the digest fits. */
static void seal(image *file) {
    (void)crypto_generichash(file->bytes + file->n_bytes - 32, 32, file->bytes, file->n_bytes - 32,
                             NULL, 0);
}

/* What is accepted can be used. */
static bool try_bytes(const image *file) {
    efface_predictor *p = NULL;
    efface_error why = {.message = ""};
    const efface_status status = efface_predictor_decode(file->bytes, file->n_bytes, &p, &why);
    if (status != EFFACE_OK) {
        assert_int_equal(status, EFFACE_E_FORMAT);
        assert_true(p == NULL && why.message[0] != '\0');
        return false;
    }
    const efface_predictor_info info = efface_predictor_get_info(p);
    float *const row = calloc(info.n_columns, sizeof *row);
    double *const centroid = calloc(info.n_columns, sizeof *centroid);
    efface_number label = {.whole = -1};
    assert_true(row != NULL && centroid != NULL);
    REQUIRE_OK(efface_predictor_predict(p, 1, row, 0, &label, error));
    REQUIRE_OK(
        efface_predictor_read_table(p, "centroids", (uint64_t)label.whole, NULL, centroid, error));
    free(row);
    free(centroid);
    efface_predictor_free(p);
    return true;
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    const scene scenes[] = {
        {.scale = EFFACE_SCALE_MINMAX, .n_clusters = 2, .shifted = true, .named = true},
        {.scale = EFFACE_SCALE_NONE, .n_clusters = 3}};
    static const uint32_t words[] = {0,           1,           2,           0x7FFFFFFFu,
                                     0x80000000u, 0xFFFFFFFFu, 0x7FC00000u, 0x01000000u,
                                     0x00800001u, 0xFF7FFFFFu};
    unsigned n_refused = 0, n_taken = 0;
    for (size_t number = 0; number < 2; number++) {
        efface_store *const store = make_scene(&scenes[number]);
        efface_store_report report = publish(store, "m");
        efface_store_report_free(&report);
        efface_store_close(store);
        image file = read_image(in_folder(FILE_NAME));
        assert_true(try_bytes(&file));
        for (size_t at = 0; at < file.n_bytes; at++)
            for (int bit = 0; bit < 8; bit++) {
                file.bytes[at] ^= (unsigned char)(1 << bit);
                assert_false(try_bytes(&file));
                file.bytes[at] ^= (unsigned char)(1 << bit);
            }
        for (size_t n = 0; n < file.n_bytes; n++) {
            image part = {malloc(n + 1), n}; /* so that a sanitizer knows where it ends */
            assert_non_null(part.bytes);
            memcpy(part.bytes, file.bytes, n);
            assert_false(try_bytes(&part));
            if (n > 84) {
                seal(&part);
                assert_false(try_bytes(&part));
            }
            free(part.bytes);
        }
        for (size_t at = 16; at + 36 <= file.n_bytes;
             at += at == 19 ? 33 : 1) /* not the random bytes */
            for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
                image copy = {malloc(file.n_bytes), file.n_bytes};
                assert_non_null(copy.bytes);
                memcpy(copy.bytes, file.bytes, file.n_bytes);
                memcpy(copy.bytes + at, &words[i], 4);
                seal(&copy);
                const bool taken = try_bytes(&copy);
                n_taken += taken;
                n_refused += !taken;
                /* The first numbers fit nothing but the rest of the file. */
                if (at < 72 && at % 4 == 0 && memcmp(copy.bytes + at, file.bytes + at, 4) != 0 &&
                    at != 64)
                    assert_false(taken);
                /* Centroids, which come last, are points of the grid. */
                const int64_t point = (int32_t)words[i];
                const size_t n_points = N_COLUMNS * scenes[number].n_clusters;
                if (at >= file.n_bytes - 32 - 4 * n_points && (file.n_bytes - at) % 4 == 0)
                    assert_true(taken == (point >= -(1 << 23) && point <= 1 << 23));
                free(copy.bytes);
            }
        free(file.bytes);
    }
    assert_true(n_refused > 500 && n_taken > 100);
}

/* ---------------------------------------------------------------- refusals */

static size_t n_files(void) {
    return visit_files(folder, NULL, NULL);
}

static void what_cannot_be_published_is_refused(void **state) {
    (void)state;
    efface_store *store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    const size_t n = n_files();
    const char *const path = in_folder(FILE_NAME);
    REFUSED(EFFACE_E_NOT_FOUND, "no model", publish_to(store, "n", path, 0, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "the name", publish_to(store, NULL, path, 0, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", publish_to(store, "m", NULL, 0, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "NULL", efface_store_publish(store, NULL, NULL, error));
    REFUSED(EFFACE_E_IO, "cannot be written", publish_to(store, "m", "", 0, NULL, error));
    REFUSED(EFFACE_E_IO, "cannot be written",
            publish_to(store, "m", in_folder("no/where"), 0, NULL, error));
    REFUSED(EFFACE_E_IO, "cannot be written",
            publish_to(store, "m", in_folder(""), 1, NULL, error));
    assert_int_equal(n_files(), n);
    efface_store_close(store);
    store = open_store(in_folder(STORE), EFFACE_ACCESS_READ);
    REFUSED(EFFACE_E_ARGUMENT, "for reading only", publish_to(store, "m", path, 0, NULL, error));
    efface_store_close(store);
    assert_int_equal(n_files(), n);
}

static void what_is_there_is_not_written_over(void **state) {
    (void)state;
    efface_store *const store = make_store();
    efface_store *other = NULL;
    efface_data *const data = make_rows(5, 0, true);
    fit(store, "m", EFFACE_METHOD_LLOYD);
    REQUIRE_OK(create_plain(in_folder("other"), data, &other, error));
    efface_store_close(other);
    efface_data_free(data);
    write_image(in_folder("text"), "text", 4);
    assert_int_equal(symlink("text", in_folder("link")), 0);
    assert_int_equal(symlink(STORE, in_folder("store-link")), 0);
    assert_int_equal(symlink("nothing", in_folder("dangling")), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    const size_t n = n_files();
    static const char *const there[] = {"text", "link", "dangling", "pipe", "store-link"};
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        REFUSED(EFFACE_E_ARGUMENT, "is there already",
                publish_to(store, "m", in_folder(there[i]), 0, NULL, error));
    for (int replace = 0; replace < 2; replace++) {
        REFUSED(EFFACE_E_ARGUMENT, "of the store itself",
                publish_to(store, "m", in_folder(STORE), replace, NULL, error));
        REFUSED(EFFACE_E_ARGUMENT, "of the store itself",
                publish_to(store, "m", in_folder(STORE "-journal"), replace, NULL, error));
        REFUSED(EFFACE_E_ARGUMENT, "of the store itself",
                publish_to(store, "m", in_folder("./" STORE "-wal"), replace, NULL, error));
        REFUSED(EFFACE_E_ARGUMENT, "that SQLite keeps beside a store",
                publish_to(store, "m", in_folder("other-journal"), replace, NULL, error));
        REFUSED(EFFACE_E_ARGUMENT, replace != 0 ? "is a store" : "is there already",
                publish_to(store, "m", in_folder("other"), replace, NULL, error));
    }
    REFUSED(EFFACE_E_ARGUMENT, "of the store itself",
            publish_to(store, "m", in_folder("store-link"), 1, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "not a regular file",
            publish_to(store, "m", in_folder("pipe"), 1, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "not a regular file",
            publish_to(store, "m", folder, 1, NULL, error));
    REFUSED(EFFACE_E_ARGUMENT, "not a regular file",
            publish_to(store, "m", "/dev/full", 1, NULL, error));
    REFUSED(EFFACE_E_IO, "cannot be written",
            publish_to(store, "m", in_folder("dangling"), 1, NULL, error));
    image kept = read_image(in_folder("text"));
    assert_int_equal(kept.n_bytes, 4);
    free(kept.bytes);
    /* What a link stands for is replaced, and the link is still one. */
    struct stat found;
    REQUIRE_OK(publish_to(store, "m", in_folder("link"), 1, NULL, error));
    assert_int_equal(lstat(in_folder("link"), &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    efface_predictor_free(load("text"));
    assert_int_equal(n_files(), n);
    check_whole(store);
    efface_store_close(store);
}

/* Another handle of this process is in the middle of a request, on the store that is to be written
 * over: it must not lose its locks, as it would if anybody here opened and closed its file. */
static efface_store *publisher;
static unsigned n_asked_meanwhile;

/* As another process sees it: SQLite's lock of who is about to write. */
static bool is_locked(const char *path) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000001, .l_len = 1};
        const int file = open(path, O_RDWR);
        _exit(file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK ? 1 : 0);
    }
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) && WEXITSTATUS(how) == 0;
}

static int publish_over_it(void *context, efface_phase phase, double part) {
    (void)phase;
    (void)context;
    (void)part;
    efface_error why = {.message = ""};
    assert_true(is_locked(in_folder("other")));
    const efface_status status = publish_to(publisher, "m", in_folder("hard-link"), 1, NULL, &why);
    assert_int_equal(status, EFFACE_E_ARGUMENT);
    assert_non_null(strstr(why.message, "is a store"));
    assert_true(is_locked(in_folder("other")));
    n_asked_meanwhile++;
    return 0;
}

static void locks_of_others_stay(void **state) {
    (void)state;
    efface_store *victim = NULL;
    publisher = make_store();
    fit(publisher, "m", EFFACE_METHOD_LLOYD);
    efface_data *const data = make_rows(30, 0, true);
    REQUIRE_OK(create_plain(in_folder("other"), data, &victim, error));
    efface_data_free(data);
    fit(victim, "m", EFFACE_METHOD_LLOYD);
    efface_store_close(victim);
    assert_int_equal(link(in_folder("other"), in_folder("hard-link")), 0);
    assert_false(is_locked(in_folder("other")));
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.progress = publish_over_it;
    REQUIRE_OK(efface_store_open(in_folder("other"), &options, &victim, error));
    REQUIRE_OK(publish_to(victim, "m", in_folder(FILE_NAME), 0, NULL, error));
    assert_true(n_asked_meanwhile > 0);
    efface_store_close(victim);
    efface_store_close(publisher);
}

static void folders_without_rights_are_refused(void **state) {
    (void)state;
    if (geteuid() == 0)
        return; /* for whom there are none */
    efface_store *const store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    char closed[200];
    (void)snprintf(closed, sizeof closed, "%s", in_folder("closed"));
    assert_int_equal(mkdir(closed, 0500), 0);
    REFUSED(EFFACE_E_IO, "cannot be written",
            publish_to(store, "m", in_folder("closed/x"), 0, NULL, error));
    assert_int_equal(rmdir(closed), 0);
    efface_store_close(store);
}

static void a_model_without_centroids_is_refused(void **state) {
    (void)state;
    efface_store *const store = make_store();
    fit(store, "m", EFFACE_METHOD_QUANTIZED);
    uint64_t ids[N_ROWS];
    for (uint64_t i = 0; i < N_ROWS; i++)
        ids[i] = i;
    REQUIRE_OK(forget_ids(store, ids, N_ROWS - 1, EFFACE_MISSING_FAIL, NULL, error));
    REQUIRE_OK(publish_to(store, "m", in_folder("one"), 0, NULL, error));
    forget(store, N_ROWS - 1);
    const size_t n = n_files();
    REFUSED(EFFACE_E_ARGUMENT, "no rows",
            publish_to(store, "m", in_folder(FILE_NAME), 0, NULL, error));
    assert_int_equal(n_files(), n);
    check_whole(store);
    efface_store_close(store);
}

static int stop_at_once(void *context, efface_phase phase, double part) {
    (void)phase;
    ++*(unsigned *)context;
    return part > 0.0;
}

static void publishing_can_be_interrupted(void **state) {
    (void)state;
    unsigned n_asked = 0;
    efface_store *store = make_store();
    fit(store, "m", EFFACE_METHOD_LLOYD);
    efface_store_close(store);
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.progress = stop_at_once;
    options.progress_context = &n_asked;
    REQUIRE_OK(efface_store_open(in_folder(STORE), &options, &store, error));
    const size_t n = n_files();
    REFUSED(EFFACE_E_INTERRUPTED, "", publish_to(store, "m", in_folder(FILE_NAME), 0, NULL, error));
    assert_true(n_asked > 0);
    assert_int_equal(n_files(), n);
    efface_store_close(store);
}

static void arguments_of_predictors_are_checked(void **state) {
    (void)state;
    const scene s = {.method = EFFACE_METHOD_LLOYD, .n_clusters = 3};
    efface_store *const store = make_scene(&s);
    efface_store_report report = publish(store, "m");
    efface_store_report_free(&report);
    efface_predictor *const p = load(FILE_NAME), *none = NULL;
    float row[N_COLUMNS] = {0};
    double numbers[N_COLUMNS];
    efface_number label;
    efface_error error;
    assert_int_equal(efface_predictor_predict(NULL, 1, row, 0, &label, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_predictor_predict(p, 1, NULL, 0, &label, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_predictor_predict(p, 1, row, 1, &label, &error), EFFACE_E_ARGUMENT);
    assert_int_equal(efface_predictor_predict(p, 0, NULL, 0, NULL, &error), EFFACE_OK);
    row[1] = -1.0F / 0.0F;
    assert_int_equal(efface_predictor_predict(p, 1, row, 0, &label, &error), EFFACE_E_LIMIT);
    assert_int_equal(efface_predictor_read_table(p, "centroids", 3, NULL, numbers, &error),
                     EFFACE_E_ARGUMENT);
    assert_null(efface_predictor_column(p, 77));
    assert_int_equal(efface_predictor_load(in_folder("nothing"), &none, &error), EFFACE_E_IO);
    assert_int_equal(efface_predictor_load(in_folder(STORE), &none, &error), EFFACE_E_FORMAT);
    assert_non_null(strstr(error.message, STORE));
    assert_int_equal(efface_predictor_load("/dev/zero", &none, &error), EFFACE_E_FORMAT);
    assert_int_equal(efface_predictor_load("/dev/null", &none, &error), EFFACE_E_FORMAT);
    assert_int_equal(efface_predictor_load(folder, &none, &error), EFFACE_E_IO);
    assert_null(none);
    efface_predictor_free(NULL);
    efface_predictor_free(p);
    efface_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_what_the_model_says),
        cmocka_unit_test(there_may_be_fewer_rows_than_clusters),
        cmocka_unit_test(each_publication_has_a_seed_and_a_receipt),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(what_cannot_be_published_is_refused),
        cmocka_unit_test(what_is_there_is_not_written_over),
        cmocka_unit_test(locks_of_others_stay),
        cmocka_unit_test(folders_without_rights_are_refused),
        cmocka_unit_test(a_model_without_centroids_is_refused),
        cmocka_unit_test(publishing_can_be_interrupted),
        cmocka_unit_test(arguments_of_predictors_are_checked),
    };
    return sodium_init() >= 0 ? cmocka_run_group_tests(tests, begin_folder, end_folder) : 1;
}
