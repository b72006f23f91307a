/* Loading a file: its format is told from the first bytes, and the format's own file does the
 * rest. */
#include "base/errors/status.h"
#include "base/memory/memory.h"
#include "data/files/loaders.h"
#include "data/set/rows.h"

#include <string.h>

#define OPTIONS_VERSION 1

void efface_load_options_init(efface_load_options *options) {
    *options = (efface_load_options){.version = OPTIONS_VERSION};
}

static bool begins_with(const ef_reader *reader, const char *bytes, size_t n_bytes) {
    return ef_reader_available(reader) >= n_bytes &&
           memcmp(ef_reader_at(reader), bytes, n_bytes) == 0;
}

efface_status ef_tell_format(ef_reader *reader, ef_format *found, efface_error *error) {
    const efface_status status = ef_reader_fill(reader, 6, error);
    if (status != EFFACE_OK)
        return status;
    const char *foreign = NULL;
    if (ef_reader_available(reader) == 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0,
                          "the file is empty: there is nothing to load");
    if (begins_with(reader, "PK\x03\x04", 4))
        foreign = "a zip archive (.npz, .xlsx?); save its array as .npy or its sheet as CSV";
    if (begins_with(reader, "\xFF\xFE", 2) || begins_with(reader, "\xFE\xFF", 2))
        foreign = "text in UTF-16; save it as UTF-8";
    if (foreign != NULL)
        return ef_fail_at(error, EFFACE_E_FORMAT, reader->name, 0, 0, "the file is %s", foreign);
    *found = begins_with(reader, "\x93NUMPY", 6) ? EF_FORMAT_NPY
             : begins_with(reader, "\0\0", 2)    ? EF_FORMAT_IDX
                                                 : EF_FORMAT_CSV;
    return EFFACE_OK;
}

efface_status ef_check_load_options(const efface_load_options *options, efface_error *error) {
    if (options->version != OPTIONS_VERSION)
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the load options have the unknown version %u; fill them with "
                       "efface_load_options_init",
                       options->version);
    if (options->header != EFFACE_HEADER_DETECT && options->header != EFFACE_HEADER_YES &&
        options->header != EFFACE_HEADER_NO)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is not a value of the option header",
                       (int)options->header);
    if (options->ids != EFFACE_IDS_DETECT && options->ids != EFFACE_IDS_NUMBERS &&
        options->ids != EFFACE_IDS_TEXT)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is not a value of the option ids",
                       (int)options->ids);
    if (options->owners != EFFACE_IDS_DETECT && options->owners != EFFACE_IDS_NUMBERS &&
        options->owners != EFFACE_IDS_TEXT)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is not a value of the option owners",
                       (int)options->owners);
    if (options->labels != EFFACE_IDS_DETECT && options->labels != EFFACE_IDS_NUMBERS &&
        options->labels != EFFACE_IDS_TEXT)
        return ef_fail(error, EFFACE_E_ARGUMENT, "%d is not a value of the option labels",
                       (int)options->labels);
    if (options->share >= options->n_shares && options->n_shares != 0)
        return ef_fail(error, EFFACE_E_ARGUMENT, "of %u shares, there is no number %u",
                       options->n_shares, options->share);
    if (options->n_offsets != 0 && options->offsets == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the offsets must not be NULL");
    if (options->n_categories != 0 && options->categories == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the categories must not be NULL");
    if (options->n_complete != 0 && options->complete == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "the complete columns must not be NULL");
    if ((options->n_columns != 0 && options->columns == NULL) ||
        (options->n_ignored != 0 && options->ignored == NULL) ||
        (options->n_known != 0 && options->known == NULL) ||
        (options->n_types != 0 && options->types == NULL))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the columns to read, to ignore, those that are known and those with a type "
                       "must not be NULL");
    /* Whatever may be part of a number, a quote or a line end would not separate fields. */
    const unsigned char c = (unsigned char)options->delimiter;
    if (c != 0 && (strchr("\"\r\n+-.", c) != NULL || (c >= '0' && c <= '9') ||
                   (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80))
        return ef_fail(error, EFFACE_E_ARGUMENT,
                       "the byte %02X cannot be a delimiter; use a comma, semicolon, tab, space or "
                       "another character",
                       c);
    return EFFACE_OK;
}

efface_status ef_load(ef_reader *reader, const efface_load_options *options, efface_data **out,
                      efface_error *error) {
    efface_load_options defaults;
    efface_load_options_init(&defaults);
    if (options == NULL)
        options = &defaults;
    efface_status status = ef_check_load_options(options, error);
    ef_format found = EF_FORMAT_CSV;
    reader->progress = options->progress;
    reader->progress_context = options->progress_context;
    EF_THEN(status, ef_tell_format(reader, &found, error));
    if (status != EFFACE_OK)
        return status;
    if (found == EF_FORMAT_CSV)
        return ef_csv_load(reader, options, out, error);
    ef_file_array array;
    status = found == EF_FORMAT_NPY ? ef_npy_header(reader, &array, error)
                                    : ef_idx_header(reader, &array, error);
    return status == EFFACE_OK ? ef_array_load(reader, &array, options, out, error) : status;
}

static efface_status read_labels(ef_reader *reader, int64_t *labels, size_t n_rows,
                                 efface_error *error) {
    ef_format found = EF_FORMAT_CSV;
    efface_status status = ef_tell_format(reader, &found, error);
    if (status != EFFACE_OK)
        return status;
    if (found == EF_FORMAT_CSV)
        return ef_csv_load_labels(reader, labels, n_rows, error);
    ef_file_array array;
    status = found == EF_FORMAT_NPY ? ef_npy_header(reader, &array, error)
                                    : ef_idx_header(reader, &array, error);
    return status == EFFACE_OK ? ef_array_load_labels(reader, &array, labels, n_rows, error)
                               : status;
}

efface_status ef_load_labels(ef_reader *reader, efface_data *data, efface_error *error) {
    const size_t n_rows = efface_data_n_rows(data);
    int64_t *const labels = ef_alloc(n_rows, sizeof *labels);
    if (labels == NULL)
        return ef_fail_memory(error);
    efface_status status = read_labels(reader, labels, n_rows, error);
    EF_THEN(status, ef_data_set_labels(data, labels, error));
    ef_free(labels);
    return status;
}

efface_status efface_data_load(const char *path, const efface_load_options *options,
                               efface_data **out, efface_error *error) {
    if (path == NULL || out == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "path and out must not be NULL");
    ef_reader reader;
    efface_status status = ef_reader_open(&reader, path, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_load(&reader, options, out, error);
    ef_reader_close(&reader);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}

efface_status efface_data_load_labels(efface_data *data, const char *path, efface_error *error) {
    if (data == NULL || path == NULL)
        return ef_fail(error, EFFACE_E_ARGUMENT, "data and path must not be NULL");
    ef_reader reader;
    efface_status status = ef_reader_open(&reader, path, error);
    if (status != EFFACE_OK)
        return status;
    status = ef_load_labels(&reader, data, error);
    ef_reader_close(&reader);
    ef_wipe_stack(EF_DEEP_STACK);
    return status;
}
