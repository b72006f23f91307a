/*
 * Any bytes as the file of a store. All that can be asked of it is asked, to read and to write;
 * most of it fails. Beyond doing no harm, it must hold that
 *
 *   - reading changes no byte of the file, and neither does a request that fails (invariant 1), but
 *     for the gap before the cells of a page, which is cleaned whenever a page is written;
 *   - a store in which check finds nothing, and of which every model verifies, is still such a
 *     store after a request that succeeded (invariants 3 and 4).
 */
#define _XOPEN_SOURCE 700
#include "store/scenes/plain_calls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES (1u << 20)
#define MOST_MODELS 4

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

static char folder[64], path[96];

static void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---------------------------------------------------------------- the file */

/* What SQLite may leave beside a file that is damaged. */
static void remove_files(void) {
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    char name[128];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
        (void)unlink(name);
    }
}

static void remove_folder(void) {
    remove_files();
    (void)rmdir(folder);
}

/* In memory where there is such a folder. */
static void make_folder(void) {
    static const char *const places[] = {"/dev/shm", "/tmp", "."};
    for (size_t i = 0; folder[0] == '\0' && i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(folder, sizeof folder, "%s/efface-fuzz-XXXXXX", places[i]);
        if (mkdtemp(folder) == NULL)
            folder[0] = '\0';
    }
    require(folder[0] != '\0', "no folder for the file");
    (void)snprintf(path, sizeof path, "%s/store", folder);
    (void)atexit(remove_folder);
}

static void write_file(const unsigned char *bytes, size_t n_bytes) {
    remove_files();
    FILE *const file = fopen(path, "wb");
    require(file != NULL && (n_bytes == 0 || fwrite(bytes, n_bytes, 1, file) == 1) &&
                fclose(file) == 0,
            "the file cannot be written");
}

static size_t u16_at(const unsigned char *bytes) {
    return (size_t)bytes[0] << 8 | bytes[1];
}

/* The size of pages, and how many the file says that it has. */
static size_t page_bytes(const unsigned char *bytes) {
    const size_t size = u16_at(bytes + 16);
    return size == 1 ? 65536 : size;
}

static size_t n_pages(const unsigned char *bytes) {
    return u16_at(bytes + 28) << 16 | u16_at(bytes + 30);
}

/* A file that is not cut off, and has the mode of its journal right: SQLite has no reason to change
 * it as a whole. */
static bool is_whole(const unsigned char *bytes, size_t n_bytes) {
    return n_bytes >= 100 && bytes[18] == 1 && bytes[19] == 1 && page_bytes(bytes) >= 512 &&
           n_bytes % page_bytes(bytes) == 0 && n_bytes / page_bytes(bytes) == n_pages(bytes);
}

/* Sets the gaps in the pages of trees to zero, as page_slack.c has them. */
static void clean(unsigned char *bytes, size_t n_bytes) {
    const size_t size = page_bytes(bytes);
    for (size_t at = size; at + size <= n_bytes; at += size) {
        unsigned char *const page = bytes + at;
        const bool inner = page[0] == 2 || page[0] == 5;
        if (!inner && page[0] != 10 && page[0] != 13)
            continue;
        const size_t gap = (inner ? 12 : 8) + 2 * u16_at(page + 3), cells = u16_at(page + 5);
        if (gap < cells && cells <= size)
            memset(page + gap, 0, cells - gap);
    }
}

static bool file_is(const unsigned char *right, size_t n_right, bool but_for_slack) {
    static unsigned char bytes[MOST_BYTES], copy[MOST_BYTES];
    FILE *const file = fopen(path, "rb");
    require(file != NULL, "the file is gone");
    const size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (n != n_right)
        return false;
    memcpy(copy, right, n);
    if (but_for_slack) {
        clean(bytes, n);
        clean(copy, n);
    }
    return memcmp(bytes, copy, n) == 0;
}

/* ---------------------------------------------------------------- asking */

static void count_problem(void *context, const char *problem) {
    require(problem[0] != '\0', "a problem without a word");
    ++*(unsigned *)context;
}

/* Whether the store is sound: check finds nothing and every model verifies. */
static bool is_sound(efface_store *store) {
    unsigned n_problems = 0;
    efface_store_info info;
    const efface_status status = efface_store_check(store, count_problem, &n_problems, NULL);
    require(status != EFFACE_E_CORRUPT && status != EFFACE_E_FORMAT,
            "check takes damage for an error");
    bool sound = status == EFFACE_OK && n_problems == 0 &&
                 efface_store_get_info(store, &info, NULL) == EFFACE_OK &&
                 info.n_models <= MOST_MODELS;
    for (uint32_t i = 0; sound && i < info.n_models; i++) {
        efface_stored_model model;
        efface_difference difference;
        sound = model_at(store, i, &model, NULL) == EFFACE_OK &&
                efface_store_verify(store, model.name, &difference, NULL) == EFFACE_OK &&
                difference.identical != 0;
    }
    return sound;
}

static void ask_about_models(efface_store *store) {
    for (uint32_t i = 0; i < MOST_MODELS; i++) {
        efface_stored_model info;
        efface_data *data = NULL;
        efface_model *model = NULL;
        unsigned char *bytes = NULL;
        size_t n_bytes;
        float values[16] = {0};
        efface_number number;
        if (model_at(store, i, &info, NULL) != EFFACE_OK)
            continue;
        require(strlen(info.name) < sizeof info.name, "a name that does not end");
        if (efface_store_encode(store, info.name, &bytes, &n_bytes, NULL) == EFFACE_OK)
            efface_bytes_free(bytes);
        if (efface_store_model(store, info.name, &model, NULL) == EFFACE_OK) {
            if (info.n_columns <= 16 && efface_model_get_info(model).n_numbers == 1)
                (void)efface_predictor_predict(efface_model_predictor(model), 1, values, 0, &number,
                                               NULL);
            efface_model_free(model);
        }
        if (efface_store_load(store, info.name, &data, &model, NULL) == EFFACE_OK) {
            efface_model_free(model);
            efface_data_free(data);
        }
    }
}

static void count_owner(void *context, uint64_t owner, const char *text, uint64_t n_rows) {
    (void)owner;
    (void)text;
    *(uint64_t *)context += n_rows;
}

static bool ask_to_read(void) {
    static const unsigned char public_key[EFFACE_PUBLIC_KEY_BYTES] = {1};
    static const uint64_t ids[] = {1, 7}, owner = 0;
    efface_store *store = NULL;
    efface_store_info info;
    efface_data *rows = NULL;
    if (open_plain(path, EFFACE_ACCESS_READ, &store, NULL) != EFFACE_OK)
        return false;
    (void)efface_store_get_info(store, &info, NULL);
    (void)efface_store_column(store, 0);
    ask_about_models(store);
    for (uint64_t number = 0; number < 4; number++) {
        char *json = NULL;
        if (efface_store_receipt(store, number, &json, NULL) != EFFACE_OK)
            continue;
        (void)efface_receipt_verify(json, public_key, NULL);
        efface_text_free(json);
    }
    if (efface_store_load(store, NULL, &rows, NULL, NULL) == EFFACE_OK)
        efface_data_free(rows);
    uint64_t n_owned = 0;
    (void)efface_store_owners(store, count_owner, &n_owned, NULL);
    for (int kind = 0; kind < 3; kind++) {
        char *text = NULL;
        if (efface_store_text(store, (efface_text_kind)kind, 7, &text, NULL) == EFFACE_OK)
            efface_text_free(text);
    }
    const efface_request look = {
        .ids = ids, .n_ids = 2, .owners = &owner, .n_owners = 1, .missing = EFFACE_MISSING_SKIP};
    efface_store_report report;
    if (efface_store_preview(store, &look, &report, NULL) == EFFACE_OK)
        efface_store_report_free(&report);
    const bool sound = is_sound(store);
    efface_store_close(store);
    return sound;
}

static efface_status forget_one(efface_store *store) {
    static const uint64_t id = 7;
    const efface_request request = {.ids = &id, .n_ids = 1, .missing = EFFACE_MISSING_SKIP};
    return efface_store_forget(store, &request, NULL, NULL);
}

static efface_status forget_owner(efface_store *store) {
    static const uint64_t owner = 0;
    const efface_request request = {
        .owners = &owner, .n_owners = 1, .missing = EFFACE_MISSING_SKIP};
    return efface_store_forget(store, &request, NULL, NULL);
}

static efface_status learn_one(efface_store *store, uint32_t n_columns) {
    efface_data *data = NULL;
    float *const values = calloc(n_columns, sizeof *values);
    require(values != NULL && efface_data_create(n_columns, &data, NULL) == EFFACE_OK, "no row");
    values[0] = 1.5f;
    const efface_rows row = {.n_rows = 1, .values = values};
    require(efface_data_add(data, &row, NULL) == EFFACE_OK, "no row");
    const efface_status status = efface_store_learn(store, data, NULL, NULL, NULL);
    efface_data_free(data);
    free(values);
    return status;
}

/* In one transaction, on a handle that keeps rows and models: each may fail by itself, and the next
 * group finds what the first left. OK if any was done. */
static efface_status change_all(efface_store *store) {
    static const uint64_t ids[] = {7, 1, 7};
    efface_request requests[3];
    efface_store_change changes[3];
    efface_status status = EFFACE_E_ARGUMENT;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            requests[i] =
                (efface_request){.ids = &ids[i], .n_ids = 1, .missing = (efface_missing)round};
            changes[i] = (efface_store_change){.request = &requests[i]};
        }
        (void)efface_store_change_all(store, changes, 3, NULL);
        for (int i = 0; i < 3; i++) {
            status = changes[i].status == EFFACE_OK ? EFFACE_OK : status;
            efface_store_report_free(&changes[i].report);
        }
    }
    return status;
}

/* Each request begins with the same file. */
static void ask_to_write(const unsigned char *bytes, size_t n_bytes, bool sound, int request) {
    efface_store *store = NULL;
    efface_store_info info;
    efface_store_options options = plain_options(EFFACE_ACCESS_WRITE);
    options.resident = request == 3;
    write_file(bytes, n_bytes);
    if (efface_store_open(path, &options, &store, NULL) != EFFACE_OK)
        return;
    efface_status status = efface_store_get_info(store, &info, NULL);
    if (status == EFFACE_OK) {
        switch (request) {
        case 0: status = forget_one(store); break;
        case 1: status = learn_one(store, info.n_columns); break;
        case 2: status = forget_owner(store); break;
        case 3: status = change_all(store); break;
        default: status = efface_store_rekey(store, NULL, 5, NULL); break;
        }
        if (status == EFFACE_OK && is_sound(store) != sound)
            require(!sound, "a sound store is not sound after a request");
    }
    efface_store_close(store);
    require(status == EFFACE_OK || !is_whole(bytes, n_bytes) || file_is(bytes, n_bytes, true),
            "a request that failed changed the file");
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    if (n_bytes > MOST_BYTES)
        return 0;
    if (folder[0] == '\0')
        make_folder();
    write_file(bytes, n_bytes);
    const bool sound = ask_to_read();
    require(file_is(bytes, n_bytes, false), "reading changed the file");
    for (int request = 0; request < 5; request++)
        ask_to_write(bytes, n_bytes, sound, request);
    return 0;
}
