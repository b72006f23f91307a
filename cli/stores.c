/* Opening stores, choosing models, and the names of things. */
#include "cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool cli_open_store(const char *path, efface_access access_wanted, efface_store **store,
                    int *code) {
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *code =
            cli_not_found("there is no store '%s'; efface fit DATA -k K -o STORE makes one", path);
        return false;
    }
    efface_error error;
    if (efface_store_open(path, access_wanted, store, &error) == EFFACE_OK)
        return true;
    *code = cli_report_error(&error);
    return false;
}

static bool read_models(efface_store *store, uint32_t *n_models, int *code) {
    efface_store_info info;
    efface_error error;
    if (efface_store_get_info(store, &info, &error) != EFFACE_OK) {
        *code = cli_report_error(&error);
        return false;
    }
    *n_models = info.n_models;
    return true;
}

int cli_find_model(efface_store *store, const char *name, efface_model_info *info) {
    uint32_t n_models;
    efface_error error;
    int code;
    if (!read_models(store, &n_models, &code))
        return code;
    for (uint32_t i = 0; i < n_models; i++) {
        if (efface_store_model(store, i, info, &error) != EFFACE_OK)
            return cli_report_error(&error);
        if (strcmp(info->name, name) == 0)
            return CLI_DONE;
    }
    return cli_not_found("the store has no model '%s'; efface info lists them", name);
}

int cli_choose_model(efface_store *store, const char *wanted, efface_model_info *info) {
    uint32_t n_models;
    efface_error error;
    int code;
    if (wanted != NULL)
        return cli_find_model(store, wanted, info);
    if (!read_models(store, &n_models, &code))
        return code;
    if (n_models == 0)
        return cli_not_found("the store has no models; efface fit -k K -o STORE adds one");
    if (n_models > 1)
        return cli_wrong("the store has %u models: say which with --model NAME (efface info lists "
                         "them)",
                         n_models);
    if (efface_store_model(store, 0, info, &error) != EFFACE_OK)
        return cli_report_error(&error);
    return CLI_DONE;
}

const char *cli_method_name(efface_method method) {
    switch (method) {
    case EFFACE_METHOD_LLOYD: return "lloyd";
    case EFFACE_METHOD_QUANTIZED: return "quantized";
    case EFFACE_METHOD_PYRAMID: return "pyramid";
    case EFFACE_METHOD_TREE: return "tree";
    }
    return "unknown";
}

void cli_hex(const unsigned char *bytes, size_t n_bytes, char *hex) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n_bytes; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * n_bytes] = '\0';
}
