/* Values and CSV in the bodies of requests (row_bodies.h). CSV goes through a file in memory to the
 * loader of the library: it has no name, and no disk sees it. */
#define _GNU_SOURCE /* memfd_create */
#include "api/rows/row_bodies.h"

#include "service.h"
#include "wiping.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

/* ---------------------------------------------------------------- values */

static bool refuse_body(sv_request *request, const char *message) {
    return sv_refuse(request, 400, "rows", message);
}

/* A text in a column of categories means what it means in a CSV file: a number is that number. */
static double category_of(const json_t *text) {
    const char *const value = json_string_value(text);
    const size_t n = json_string_length(text);
    char *end;
    const double number = strtod(value, &end);
    const bool is_number = end != value && (size_t)(end - value) == n && isfinite(number) &&
                           fabs(number) <= EFFACE_MAX_MAGNITUDE;
    return is_number ? number : (double)efface_text_category(value, n);
}

static bool read_value(sv_request *request, const json_t *value, const sv_columns *columns,
                       uint32_t column, double *out) {
    if (json_is_number(value))
        *out = json_number_value(value);
    else if (json_is_null(value) && columns->missing)
        *out = (double)NAN;
    else if (json_is_string(value) && json_string_length(value) > 0 && columns->categories[column])
        *out = category_of(value);
    else
        return refuse_body(request, json_is_null(value) ? "a value of a row is missing"
                                                        : "a value of a row is not a number");
    return true;
}

static bool read_array(sv_request *request, const json_t *values, const sv_columns *columns,
                       double *out) {
    char message[160];
    if (json_array_size(values) != columns->n) {
        (void)snprintf(message, sizeof message, "a row must have %" PRIu32 " values", columns->n);
        return refuse_body(request, message);
    }
    for (uint32_t j = 0; j < columns->n; j++)
        if (!read_value(request, json_array_get(values, j), columns, j, &out[j]))
            return false;
    return true;
}

static bool read_object(sv_request *request, const json_t *values, const sv_columns *columns,
                        double *out) {
    if (json_object_size(values) != columns->n)
        return refuse_body(request,
                           "a row must have a value for each column, and no others; the model "
                           "or the store lists its columns");
    for (uint32_t j = 0; j < columns->n; j++) {
        if (columns->names[j] == NULL)
            return refuse_body(request, "a column has no name: give values as an array");
        const json_t *const value = json_object_get(values, columns->names[j]);
        if (value == NULL)
            return refuse_body(request, "a row lacks a column; the model or the store lists its "
                                        "columns");
        if (!read_value(request, value, columns, j, &out[j]))
            return false;
    }
    return true;
}

bool sv_read_values(sv_request *request, const json_t *values, const sv_columns *columns,
                    double *out) {
    if (json_is_array(values))
        return read_array(request, values, columns, out);
    if (json_is_object(values))
        return read_object(request, values, columns, out);
    return refuse_body(request, "the values of a row must be an array or an object");
}

/* ---------------------------------------------------------------- CSV */

bool sv_is_csv(const sv_request *request) {
    const size_t n = strcspn(request->content_type, "; ");
    return n == 8 && strncasecmp(request->content_type, "text/csv", n) == 0;
}

static bool has_names(const efface_data *data) {
    for (uint32_t j = 0; j < efface_data_n_columns(data); j++)
        if (efface_data_column_name(data, j) != NULL)
            return true;
    return false;
}

static bool are_named(const sv_columns *columns) {
    for (uint32_t j = 0; j < columns->n; j++)
        if (columns->names[j] == NULL)
            return false;
    return columns->n != 0;
}

/* For each column, the column of the set that has its name; UINT32_MAX if none has. */
static void match_names(const sv_columns *columns, const efface_data *data, uint32_t *source) {
    for (uint32_t j = 0; j < columns->n; j++) {
        source[j] = UINT32_MAX;
        for (uint32_t i = 0; i < efface_data_n_columns(data) && source[j] == UINT32_MAX; i++) {
            const char *const name = efface_data_column_name(data, i);
            if (name != NULL && strcmp(name, columns->names[j]) == 0)
                source[j] = i;
        }
    }
}

/* Puts the columns of a set in order. */
static bool put_in_order(sv_request *request, const sv_columns *columns, efface_data *data) {
    efface_error error;
    if (efface_data_n_columns(data) != columns->n)
        return refuse_body(request,
                           "the lines do not have a field for each column, and no others; name "
                           "those that are not values (id, owner, label, weight)");
    if (!has_names(data) || !are_named(columns))
        return true;
    uint32_t *const source = calloc((size_t)columns->n + 1, sizeof *source);
    if (source == NULL)
        return sv_refuse_memory(request);
    match_names(columns, data, source);
    /* A name that comes twice, or is missing, is refused here. */
    const efface_status status = efface_data_order_columns(data, source, &error);
    free(source);
    if (status == EFFACE_OK)
        return true;
    return refuse_body(request,
                       "the first line must have the name of each column once; the model or "
                       "the store lists its columns");
}

/* Where an error is, without what stands there. */
static bool refuse_file(sv_request *request, const efface_error *error) {
    char message[200];
    if (error->status == EFFACE_E_DUPLICATE)
        return sv_refuse(request, 409, "duplicate", "an id comes twice");
    if (error->status != EFFACE_E_FORMAT && error->status != EFFACE_E_LIMIT &&
        error->status != EFFACE_E_ARGUMENT)
        return sv_refuse_error(request, error);
    if (error->line != 0)
        (void)snprintf(message, sizeof message,
                       "line %" PRIu64 ", field %" PRIu64 " of the CSV cannot be read", error->line,
                       error->column);
    else
        (void)snprintf(message, sizeof message,
                       "the CSV cannot be read: check its first line, and the names of the columns "
                       "of ids, owners, labels and weights");
    return refuse_body(request, message);
}

/* What zlib lets go of had rows in it. */
static void wipe_zlib(void *context, void *memory) {
    (void)context;
    sv_wipe_free(memory, memory != NULL ? malloc_usable_size(memory) : 0);
}

typedef struct unpacked {
    size_t n_bytes, n_lines;
    unsigned char last; /* byte */
} unpacked;

/* A line ends with CR, LF or both. */
static void count_bytes(unpacked *u, const unsigned char *bytes, size_t n) {
    u->n_bytes += n;
    for (size_t i = 0; i < n; i++) {
        u->n_lines += bytes[i] == '\r' || (bytes[i] == '\n' && u->last != '\r');
        u->last = bytes[i];
    }
}

/* What a body, which may be packed, comes to. It stops counting beyond `max` bytes. Damage ends the
 * count: the loader finds it as well. */
static unpacked count_unpacked(char *body, size_t n_body, size_t max) {
    unsigned char piece[4096];
    z_stream z = {.zfree = wipe_zlib, .next_in = (unsigned char *)body};
    size_t n_left = n_body;
    unpacked n = {0, 0, 0};
    int result = Z_OK;
    if (n_body < 2 || memcmp(body, "\x1f\x8b", 2) != 0 || inflateInit2(&z, 15 + 16) != Z_OK) {
        count_bytes(&n, (const unsigned char *)body, n_body);
        return n;
    }
    while (n.n_bytes <= max && result == Z_OK) {
        const uInt part = n_left < UINT_MAX ? (uInt)n_left : UINT_MAX;
        z.avail_in = part;
        z.next_out = piece;
        z.avail_out = sizeof piece;
        result = inflate(&z, Z_NO_FLUSH);
        n_left -= part - z.avail_in;
        count_bytes(&n, piece, sizeof piece - z.avail_out);
        if (result == Z_STREAM_END && n_left != 0)
            result = inflateReset(&z); /* another part follows */
    }
    (void)inflateEnd(&z);
    sodium_memzero(piece, sizeof piece);
    return n;
}

bool sv_rows_fit(sv_request *request, size_t n_rows) {
    return n_rows <= request->service->options->max_rows ||
           sv_refuse(request, 413, "too_long", "the body has too many rows; send several requests");
}

/* Before the loader makes rows of it: at least as many lines as records, one of them the header. */
static bool check_size(sv_request *request) {
    const size_t max = request->service->options->max_body;
    if (request->n_body == 0)
        return true;
    const unpacked n = count_unpacked(request->body, request->n_body, max);
    if (n.n_bytes > max)
        return sv_refuse(request, 413, "too_long",
                         "the body is too long when it is unpacked; send fewer rows at once");
    return n.n_lines == 0 || sv_rows_fit(request, n.n_lines - 1);
}

/* Writes bytes to a new file in memory; -1 if that is not possible. */
static int file_of(const char *bytes, size_t n_bytes) {
    const int file = memfd_create("rows", MFD_CLOEXEC);
    size_t n_written = 0;
    while (file >= 0 && n_written < n_bytes) {
        const ssize_t n = write(file, bytes + n_written, n_bytes - n_written);
        if (n <= 0) {
            (void)close(file);
            return -1;
        }
        n_written += (size_t)n;
    }
    return file;
}

bool sv_load_csv(sv_request *request, const sv_columns *columns, efface_load_options *load,
                 efface_data **out) {
    char path[64];
    efface_error error;
    efface_data *data = NULL;
    if (!check_size(request))
        return false;
    efface_offset *const offsets = calloc((size_t)columns->n + 1, sizeof *offsets);
    efface_category *const categories = calloc((size_t)columns->n + 1, sizeof *categories);
    const int file = file_of(request->body != NULL ? request->body : "", request->n_body);
    if (file < 0 || offsets == NULL || categories == NULL) {
        if (file >= 0)
            (void)close(file);
        free(offsets);
        free(categories);
        return sv_refuse_memory(request);
    }
    for (uint32_t j = 0; j < columns->n; j++) {
        const char *const name = columns->names[j];
        if (columns->offsets[j] != 0.0)
            offsets[load->n_offsets++] =
                (efface_offset){.column = name, .place = j + 1, .value = columns->offsets[j]};
        if (columns->categories[j])
            categories[load->n_categories++] = (efface_category){.column = name, .place = j + 1};
    }
    load->offsets = offsets;
    load->categories = categories;
    load->missing = columns->missing;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const efface_status status = efface_data_load(path, load, &data, &error);
    (void)close(file);
    free(offsets);
    free(categories);
    load->offsets = NULL;
    load->categories = NULL;
    if (status != EFFACE_OK)
        return refuse_file(request, &error);
    if (!put_in_order(request, columns, data)) {
        efface_data_free(data);
        return false;
    }
    *out = data;
    return true;
}
