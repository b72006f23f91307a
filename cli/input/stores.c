/* Opening stores, choosing models, and the names of things. */
#include "input/stores.h"

#include "input/secrets.h"
#include "output/opening_file.h"
#include "ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_store_options(const cli_open *how, efface_store_options *options, cli_keys *keys) {
    int code = CLI_DONE;
    efface_store_options_init(options);
    options->access = how->access;
    options->progress = cli_progress_part;
    options->group = how->alone ? NULL : cli_group();
    if (how->wait >= 0)
        options->wait_seconds = how->wait;
    if (how->sign != NULL) {
        code = cli_read_key(how->sign, CLI_SECRET_KEY, keys->secret);
        options->secret_key = keys->secret;
    }
    if (how->receipt_key != NULL) {
        CLI_THEN(code, cli_read_key(how->receipt_key, CLI_RECEIPT_KEY, keys->receipt));
        options->receipt_key = keys->receipt;
    }
    CLI_THEN(code, cli_openings_to(how->opening, options));
    return code;
}

bool cli_is_file(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* A pipe would lose what is read here. */
static bool file_begins(const char *path, const char *magic, size_t n_bytes) {
    char bytes[32];
    FILE *const file = cli_is_file(path) && n_bytes <= sizeof bytes ? fopen(path, "rb") : NULL;
    const bool whole = file != NULL && fread(bytes, 1, n_bytes, file) == n_bytes;
    if (file != NULL)
        (void)fclose(file);
    return whole && memcmp(bytes, magic, n_bytes) == 0;
}

bool cli_is_published(const char *path) {
    return file_begins(path, EFFACE_PREDICTOR_MAGIC, sizeof EFFACE_PREDICTOR_MAGIC - 1);
}

bool cli_looks_like_store(const char *path) {
    static const char begins[] = "SQLite format 3";
    struct stat about;
    return (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) ||
           file_begins(path, begins, sizeof begins);
}

int cli_open_store(const char *path, const cli_open *how, efface_store **store) {
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return cli_not_found("there is no store '%s'; efface fit DATA -o STORE creates one", path);
    if (cli_is_published(path))
        return cli_failed(
            "%s is a published model, which predict, export and info can use; this needs "
            "the store that it was published from",
            path);
    efface_store_options options;
    efface_error error;
    cli_keys keys;
    int code = cli_store_options(how, &options, &keys);
    CLI_THEN(code, cli_outcome(efface_store_open(path, &options, store, &error), &error));
    cli_wipe(&keys, sizeof keys);
    return code;
}

int cli_find_model(efface_store *store, const char *name, efface_stored_model *info) {
    efface_error error;
    const efface_status status = efface_store_find_model(store, name, info, &error);
    if (status == EFFACE_E_NOT_FOUND)
        return cli_not_found("the store has no model '%s'; efface info lists the models", name);
    return cli_outcome(status, &error);
}

int cli_list_models(efface_store *store, const char *name, efface_stored_model **models,
                    size_t *n) {
    efface_stored_model one, *all = NULL;
    efface_error error;
    *models = NULL;
    *n = 1;
    int code = name != NULL ? cli_find_model(store, name, &one)
                            : cli_outcome(efface_store_models(store, &all, n, &error), &error);
    if (code == CLI_DONE && (*models = malloc((*n + 1) * sizeof one)) == NULL)
        code = cli_out_of_memory();
    if (code == CLI_DONE && *n > 0)
        memcpy(*models, name != NULL ? &one : all, *n * sizeof one);
    efface_model_list_free(all);
    *n = code == CLI_DONE ? *n : 0;
    return code;
}

int cli_choose_model(efface_store *store, const char *wanted, efface_stored_model *info) {
    efface_stored_model *models;
    size_t n;
    int code = cli_list_models(store, wanted, &models, &n);
    if (code == CLI_DONE && n == 1)
        *info = models[0];
    free(models);
    if (code != CLI_DONE || n == 1)
        return code;
    if (n == 0)
        return cli_not_found("the store has no models; efface fit -o STORE adds one");
    return cli_wrong(
        "the store has %zu models: choose one with --model NAME (efface info lists the models)", n);
}
