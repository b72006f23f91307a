/*
 * CSV as records of fields, following RFC 4180: load_csv.c knows what the fields mean.
 *
 * Lines end with LF, CR LF or CR. A field in quotes may hold delimiters, line ends and, doubled,
 * quotes; spaces before and after the quotes are passed over. A byte order mark at the start is
 * passed over too, and so are blank lines at the end. Blank lines elsewhere are an error: nobody
 * can tell whether one is a row whose values were lost.
 */
#ifndef EF_CSV_RECORDS_H
#define EF_CSV_RECORDS_H

#include "data/files/reader.h"
#include "data/texts/field.h"
#include "efface/efface.h"

typedef struct ef_csv {
    ef_reader *reader;
    unsigned char kinds[256]; /* what each byte is outside of quotes; see csv_records.c */
    char delimiter;
    uint64_t line;         /* where the record begins, from 1 */
    uint64_t n_line_ends;  /* the record has, inside and after */
    size_t n_record_bytes; /* of the reader's bytes are this record */
    ef_csv_field *fields;  /* valid until the next record */
    size_t n_fields;
    size_t capacity;
} ef_csv;

/* Begins to read records. A delimiter of 0 stands for comma, semicolon or tab, whichever the first
 * line has most of. Close also after a failure. */
efface_status ef_csv_open(ef_csv *csv, ef_reader *reader, char delimiter, efface_error *error);
void ef_csv_close(ef_csv *csv);

/* Reads the next record; n_fields is 0 at the end of the file, otherwise at least 1. */
efface_status ef_csv_next(ef_csv *csv, efface_error *error);

#endif
