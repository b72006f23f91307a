/* Opening stores and choosing models. */
#ifndef CLI_STORES_H
#define CLI_STORES_H

#include "input/options.h"
#include "output/progress.h"

/* How a store is opened: what to do there, and key files to sign receipts and to hash ids in them
 * with, or NULL. */
typedef struct cli_open {
    efface_access access;
    const char *sign;
    const char *receipt_key;
    const char *opening; /* file for what opens the receipts, or NULL */
    double wait;         /* seconds for other processes; < 0: the default */
    bool alone;          /* by this rank alone: the store is one file */
} cli_open;

/* The options that all commands have; STORE is the first of the places. */
/* clang-format off */
#define CLI_STORE_OPTIONS(path, open, json)          \
    {"STORE", CLI_PLACE, &(path), NULL},             \
    {"--wait", CLI_SECONDS, &(open).wait, NULL},     \
    {"--json", CLI_FLAG, &(json), NULL}
/* clang-format on */

/* CLI_DONE or, after a message, another exit code. */
int cli_open_store(const char *path, const cli_open *how, efface_store **store);

/* The same as options of the library, for a command that makes a store. They point into `keys`;
 * wipe it afterwards. CLI_DONE or, after a message, another exit code. */
typedef struct cli_keys {
    unsigned char secret[EFFACE_SECRET_KEY_BYTES], receipt[EFFACE_RECEIPT_KEY_BYTES];
} cli_keys;

int cli_store_options(const cli_open *how, efface_store_options *options, cli_keys *keys);

/* The model that was asked for or, if none was (`wanted` NULL), the only one there is. CLI_DONE, or
 * after a message another exit code. */
int cli_choose_model(efface_store *store, const char *wanted, efface_stored_model *info);
int cli_find_model(efface_store *store, const char *name, efface_stored_model *info);

/* The models of a store or, if `name` is not NULL, that one alone; as cli_choose_model. Release
 * them with free in any case. */
int cli_list_models(efface_store *store, const char *name, efface_stored_model **models, size_t *n);

/* Whether there is a file of that name, and not a folder. */
bool cli_is_file(const char *path);

/* Whether a file is a published model, as far as its first bytes tell. */
bool cli_is_published(const char *path);

/* Whether something begins as a store does; a store in parts is a folder. */
bool cli_looks_like_store(const char *path);

#endif
