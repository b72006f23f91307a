/*
 * CSV records. A record is looked for in the bytes that the reader holds; if it goes on beyond
 * them the reader is asked for more, at least for twice as many, and the search begins again at
 * the start of the record. That costs a second look at one record in a buffer's worth, and keeps
 * the search free of states in the middle of something.
 */
#include "data/files/csv_records.h"

#include "base/errors/status.h"
#include "base/memory/memory.h"

#include <inttypes.h>
#include <string.h>

#define MAX_RECORD_BYTES ((size_t)16 * 1024 * 1024)
#define MAX_FIELDS (EFFACE_MAX_COLUMNS + 4u) /* values, and id, owner, weight and label */

/* Kinds of bytes. */
enum { PLAIN, DELIMITER, LINE_END, QUOTE, ZERO };

typedef enum outcome {
    FOUND,
    BEYOND, /* the record is not complete in the bytes there are */
    FAILED  /* the error is filled */
} outcome;

/* A search in progress: bytes[at .. end), and whether the file ends there. */
typedef struct search {
    unsigned char *bytes;
    size_t at;
    size_t end;
    bool last;
    efface_error *error;
    efface_status status;
} search;

static outcome fail(const ef_csv *csv, search *s, efface_status status, const char *what) {
    s->status =
        ef_fail_at(s->error, status, csv->reader->name, csv->line, csv->n_fields + 1, "%s", what);
    return FAILED;
}

/* Passes over the line end at s->at, if it is known to be complete. */
static outcome pass_line_end(ef_csv *csv, search *s) {
    if (s->bytes[s->at] == '\r') {
        if (s->at + 1 == s->end && !s->last)
            return BEYOND; /* a line feed may follow */
        if (s->at + 1 < s->end && s->bytes[s->at + 1] == '\n')
            s->at++;
    }
    s->at++;
    csv->n_line_ends++;
    return FOUND;
}

static void pass_spaces(const ef_csv *csv, search *s) {
    if (csv->delimiter != ' ')
        while (s->at < s->end && s->bytes[s->at] == ' ')
            s->at++;
}

/* The rest of a field in quotes, after the opening one. Doubled quotes are left as they are, and
 * *doubled tells that there are some. */
static outcome pass_quoted(ef_csv *csv, search *s, size_t *n_bytes, bool *doubled) {
    const size_t begin = s->at;
    for (; s->at < s->end; s->at++) {
        const unsigned char c = s->bytes[s->at];
        if (c == '\n' || c == '\r') {
            const outcome end = pass_line_end(csv, s);
            if (end != FOUND)
                return end;
            s->at--;
        } else if (c == '\0') {
            return fail(csv, s, EFFACE_E_FORMAT,
                        "the file contains a zero byte, so it is not a text file");
        } else if (c == '"') {
            if (s->at + 1 < s->end && s->bytes[s->at + 1] == '"') {
                *doubled = true;
                s->at++;
                continue;
            }
            *n_bytes = s->at++ - begin;
            pass_spaces(csv, s);
            return FOUND;
        }
    }
    if (!s->last)
        return BEYOND;
    return fail(csv, s, EFFACE_E_FORMAT, "the quote that opens this field is never closed");
}

static outcome pass_plain(ef_csv *csv, search *s, size_t *n_bytes) {
    const size_t begin = s->at;
    size_t at = begin;
    const size_t end = s->end;
    while (at < end && csv->kinds[s->bytes[at]] == PLAIN)
        at++;
    s->at = at;
    if (at < end && s->bytes[at] == '\0')
        return fail(csv, s, EFFACE_E_FORMAT,
                    "the file contains a zero byte, so it is not a text file");
    if (at < end && s->bytes[at] == '"')
        return fail(csv, s, EFFACE_E_FORMAT,
                    "there is a quote inside the field; put the field in quotes and double the "
                    "quotes inside it");
    while (at > begin && s->bytes[at - 1] == ' ')
        at--;
    *n_bytes = at - begin;
    return FOUND;
}

/* "" becomes ", in place. */
static size_t undouble(unsigned char *text, size_t n_bytes) {
    size_t n = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        text[n++] = text[i];
        i += text[i] == '"';
    }
    return n;
}

static bool add_field(ef_csv *csv, const unsigned char *text, size_t n_bytes) {
    if (csv->n_fields == csv->capacity) {
        const size_t capacity = 2 * csv->capacity + 16;
        ef_csv_field *const fields = ef_realloc(csv->fields, capacity, sizeof *fields);
        if (fields == NULL)
            return false;
        csv->fields = fields;
        csv->capacity = capacity;
    }
    csv->fields[csv->n_fields++] = (ef_csv_field){(const char *)text, n_bytes};
    return true;
}

/* One field, and the delimiter or line end after it; *more tells which. */
static outcome pass_field(ef_csv *csv, search *s, bool *doubled, bool *more) {
    pass_spaces(csv, s);
    const bool quoted = s->at < s->end && s->bytes[s->at] == '"';
    s->at += quoted;
    const unsigned char *const text = s->bytes + s->at;
    size_t n_bytes = 0;
    const outcome field =
        quoted ? pass_quoted(csv, s, &n_bytes, doubled) : pass_plain(csv, s, &n_bytes);
    if (field != FOUND)
        return field;
    if (s->at == s->end && !s->last)
        return BEYOND; /* only the byte that follows tells where the field ends */
    const int kind = s->at < s->end ? csv->kinds[s->bytes[s->at]] : LINE_END;
    if (kind != DELIMITER && kind != LINE_END)
        return fail(csv, s, EFFACE_E_FORMAT,
                    "text follows the closing quote; double the quotes inside a field");
    if (csv->n_fields == MAX_FIELDS)
        return fail(
            csv, s, EFFACE_E_LIMIT,
            "the line has more fields than a set can have columns (32767); use fewer columns");
    if (!add_field(csv, text, n_bytes)) {
        s->status = ef_fail_memory(s->error);
        return FAILED;
    }
    *more = kind == DELIMITER;
    if (s->at == s->end)
        return FOUND;
    if (kind == LINE_END)
        return pass_line_end(csv, s);
    s->at++;
    return FOUND;
}

/* A record in bytes that the reader holds. Nothing is changed unless it is complete. */
static outcome find_record(ef_csv *csv, search *s) {
    bool any_doubled = false, more = true;
    csv->n_fields = 0;
    csv->n_line_ends = 0;
    while (more) {
        bool doubled = false;
        const outcome field = pass_field(csv, s, &doubled, &more);
        if (field != FOUND)
            return field;
        any_doubled |= doubled;
    }
    csv->n_record_bytes = s->at;
    for (size_t i = 0; any_doubled && i < csv->n_fields; i++) {
        ef_csv_field *const field = &csv->fields[i];
        unsigned char *const text = s->bytes + ((const unsigned char *)field->text - s->bytes);
        field->n_bytes = undouble(text, field->n_bytes);
    }
    return FOUND;
}

/* The next record, blank or not; n_fields is 0 at the end of the file. */
static efface_status next_record(ef_csv *csv, efface_error *error) {
    ef_reader *const reader = csv->reader;
    ef_reader_take(reader, csv->n_record_bytes);
    csv->line += csv->n_line_ends;
    csv->n_record_bytes = 0;
    csv->n_line_ends = 0;
    csv->n_fields = 0;
    for (size_t wanted = 1;;) {
        const efface_status status = ef_reader_fill(reader, wanted, error);
        if (status != EFFACE_OK)
            return status;
        const size_t available = ef_reader_available(reader);
        if (available == 0)
            return EFFACE_OK;
        search s = {ef_reader_at(reader), 0, available, reader->ended, error, EFFACE_OK};
        const outcome record = find_record(csv, &s);
        if (record == FOUND)
            return EFFACE_OK;
        if (record == FAILED)
            return s.status;
        if (available >= MAX_RECORD_BYTES)
            return ef_fail_at(error, EFFACE_E_LIMIT, reader->name, csv->line, 0,
                              "the row that begins here is longer than 16 MiB; look for a quote "
                              "that is not closed");
        wanted = 2 * available;
    }
}

static bool is_blank(const ef_csv *csv) {
    return csv->n_fields == 1 && csv->fields[0].n_bytes == 0 &&
           memchr(ef_reader_at(csv->reader), '"', csv->n_record_bytes) == NULL;
}

efface_status ef_csv_next(ef_csv *csv, efface_error *error) {
    efface_status status = next_record(csv, error);
    if (status != EFFACE_OK || !is_blank(csv))
        return status;
    const uint64_t blank = csv->line;
    while (status == EFFACE_OK && is_blank(csv))
        status = next_record(csv, error);
    if (status == EFFACE_OK && csv->n_fields > 0)
        return ef_fail_at(error, EFFACE_E_FORMAT, csv->reader->name, blank, 0,
                          "the line is blank, but rows follow it; remove the line, or fill in the "
                          "values of the row");
    return status;
}

/* Counts delimiters outside of quotes in the first line; false if the line goes on. */
static bool count_delimiters(const ef_reader *reader, size_t counts[256]) {
    const unsigned char *const bytes = ef_reader_at(reader);
    const size_t n_bytes = ef_reader_available(reader);
    bool quoted = false;
    memset(counts, 0, 256 * sizeof *counts);
    for (size_t i = 0; i < n_bytes; i++) {
        quoted ^= bytes[i] == '"';
        if (!quoted && (bytes[i] == '\n' || bytes[i] == '\r'))
            return true;
        counts[bytes[i]] += !quoted;
    }
    return reader->ended || n_bytes >= MAX_RECORD_BYTES;
}

static efface_status find_delimiter(ef_reader *reader, char *delimiter, efface_error *error) {
    size_t counts[256];
    while (!count_delimiters(reader, counts)) {
        const efface_status status =
            ef_reader_fill(reader, 2 * ef_reader_available(reader) + 1, error);
        if (status != EFFACE_OK)
            return status;
    }
    *delimiter = ',';
    if (counts[';'] > counts[(unsigned char)*delimiter])
        *delimiter = ';';
    if (counts['\t'] > counts[(unsigned char)*delimiter])
        *delimiter = '\t';
    return EFFACE_OK;
}

efface_status ef_csv_open(ef_csv *csv, ef_reader *reader, char delimiter, efface_error *error) {
    *csv = (ef_csv){.reader = reader, .delimiter = delimiter, .line = 1};
    efface_status status = ef_reader_fill(reader, 3, error);
    if (status == EFFACE_OK && ef_reader_available(reader) >= 3 &&
        memcmp(ef_reader_at(reader), "\xEF\xBB\xBF", 3) == 0)
        ef_reader_take(reader, 3);
    if (status == EFFACE_OK && delimiter == 0)
        status = find_delimiter(reader, &csv->delimiter, error);
    csv->kinds['\n'] = csv->kinds['\r'] = LINE_END;
    csv->kinds['"'] = QUOTE;
    csv->kinds['\0'] = ZERO;
    csv->kinds[(unsigned char)csv->delimiter] = DELIMITER;
    return status;
}

void ef_csv_close(ef_csv *csv) {
    ef_free(csv->fields);
    csv->fields = NULL;
}
