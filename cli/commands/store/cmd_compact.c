/* efface compact: the file of a store as small as it can be. */
#include "input/stores.h"
#include "output/json_writer.h"

#include <inttypes.h>

static int compact_store(efface_store *store, uint64_t *before, uint64_t *after) {
    efface_store_info info;
    efface_error error;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    *before = info.file_bytes;
    cli_progress_begin("compacting");
    const efface_status status = efface_store_compact(store, &error);
    cli_progress_end();
    if (status != EFFACE_OK || efface_store_get_info(store, &info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    *after = info.file_bytes;
    return CLI_DONE;
}

static int run_compact(int n_arguments, char **arguments) {
    const char *path = NULL;
    cli_open how = {.access = EFFACE_ACCESS_WRITE, .wait = -1};
    bool as_json = false;
    const cli_option options[] = {
        CLI_STORE_OPTIONS(path, how, as_json),
        {"--receipt-key", CLI_TEXT, &how.receipt_key, NULL},
        {NULL, CLI_FLAG, NULL, NULL},
    };
    efface_store *store = NULL;
    uint64_t before = 0, after = 0;
    int code = cli_parse("compact", options, n_arguments, arguments);
    CLI_THEN(code, cli_open_store(path, &how, &store));
    CLI_THEN(code, compact_store(store, &before, &after));
    efface_store_close(store);
    if (code == CLI_DONE && as_json) {
        cli_json json = cli_json_object(stdout);
        cli_json_text(&json, "store", path);
        cli_json_whole(&json, "before", before);
        cli_json_whole(&json, "after", after);
        cli_json_close(&json);
    } else if (code == CLI_DONE) {
        cli_put_text(stdout, path);
        printf(": %" PRIu64 " bytes before, %" PRIu64 " after\n", before, after);
    }
    return code;
}

const cli_command cli_compact = {
    "compact",
    "make the file of a store as small as possible",
    "usage: efface compact STORE [--receipt-key FILE] [--wait SECONDS] [--json]\n"
    "Makes the file as small as possible. Forgotten rows leave free space in the\n"
    "file. New rows fill it again; compact gives it back to the disk. This takes as\n"
    "much memory as the file has bytes.\n"
    "  --receipt-key FILE   the key of the receipts, if the store does not keep it\n"
    "  --wait SECONDS       how long to wait for a busy store (5)\n"
    "  --json               as JSON: store, before and after (bytes)\n"
    "Exit codes: 0 done, 1 failed, 2 usage, 4 not found, 5 busy, 6 damaged.\n"
    "example: efface compact people.store\n",
    .run = run_compact,
};
