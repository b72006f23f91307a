/*
 * The state of a model, in parts.
 *
 * A state may have gigabytes, and a request changes little of it. So it stands in the file as parts
 * of some pages, and a request writes those whose bytes changed.
 *
 *     models    ..., number, state   state: the first part
 *     states    number, bytes        number: the model's << 43 | section << 23 | piece
 *
 * The first part stands in the row of the model, which every request writes: a small state needs no
 * page more than the row. The other parts of a model are one range of numbers, in the order of the
 * bytes. How a state is divided follows from its bytes and the cuts of its writer alone
 * (base/encode.h):
 *
 *   - The bytes between two cuts are a section. Sections are numbered; if there are very many, the
 *     last takes all that is left.
 *   - Sections that begin at a multiple of 2^b and have at most PART_BYTES together, 2^b of them,
 *     are one part under the number of the first; b is as large as it can be. So a section that
 *     changes its length moves no others but those that it shares a part with.
 *   - A section of more bytes has pieces of PART_BYTES, and the rest; or pieces that end where their
 *     bytes say so (state_index.c).
 *
 * Readers put parts together in the order of their numbers and know nothing of that. The row of the
 * model has the digest of the state, and how many parts there are with a seal of their numbers and
 * lengths; the model's seal covers both.
 */
#include "store/models/state_parts.h"

#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "store/seals/seals.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

#define PART_BYTES EF_PART_BYTES
#define PIECE_BITS EF_PIECE_BITS
#define PLACE_BITS (EF_SECTION_BITS + PIECE_BITS)
#define MAX_PIECES ((size_t)1 << PIECE_BITS)
#define MAX_SECTIONS EF_MAX_SECTIONS
#define MAX_MODELS ((int64_t)1 << (63 - PLACE_BITS))

void ef_state_free(ef_state *state) {
    ef_free(state->bytes);
    ef_free(state->parts);
    *state = (ef_state){0};
}

static bool add_part(ef_state *state, size_t *room, ef_state_part part) {
    if (!ef_list_reserve(&state->parts, room, state->n_parts, 1, sizeof *state->parts))
        return false;
    state->parts[state->n_parts++] = part;
    return true;
}

/* ---------------------------------------------------------------- dividing */

typedef struct sections {
    const ef_cuts *cuts;
    size_t n;
    size_t n_bytes; /* of all */
} sections;

static size_t begin_of(const sections *s, size_t section) {
    return section == 0 ? 0 : section < s->n ? s->cuts->at[section - 1] : s->n_bytes;
}

/* How many sections, from one on, are a part together. */
static size_t join_parts(const sections *s, size_t first) {
    const size_t begin = begin_of(s, first);
    size_t n = 1;
    while (first % (2 * n) == 0 && first + n < s->n &&
           begin_of(s, first + 2 * n) - begin <= PART_BYTES)
        n *= 2;
    return n;
}

efface_status ef_state_lay_out(size_t n_bytes, const ef_cuts *cuts, const ef_cuts *pieces,
                               ef_state *state, efface_error *error) {
    const sections s = {cuts, cuts->n < MAX_SECTIONS ? cuts->n + 1 : MAX_SECTIONS, n_bytes};
    ef_state made = {.n_bytes = n_bytes};
    size_t room = 0, next = 0;
    bool fits = true;
    if (n_bytes / PART_BYTES >= MAX_PIECES)
        return ef_fail(error, EFFACE_E_LIMIT,
                       "the state of a model has %zu bytes, but a store can hold at most %zu; use "
                       "fewer clusters, columns or iterations",
                       n_bytes, MAX_PIECES * PART_BYTES - 1);
    for (size_t first = 0; fits && first < s.n;) {
        const size_t n = join_parts(&s, first), end = begin_of(&s, first + n);
        size_t begin = begin_of(&s, first);
        for (uint64_t piece = 0; fits && begin < end; piece++) {
            size_t part_end = end - begin < PART_BYTES ? end : begin + PART_BYTES;
            while (pieces != NULL && next < pieces->n && pieces->at[next] <= begin)
                next++;
            if (pieces != NULL && next < pieces->n && pieces->at[next] < part_end)
                part_end = pieces->at[next];
            const ef_state_part part = {.place = (uint64_t)first << PIECE_BITS | piece,
                                        .begin = begin,
                                        .n_bytes = part_end - begin};
            fits = add_part(&made, &room, part);
            begin += part.n_bytes;
        }
        first += n;
    }
    if (!fits) {
        ef_state_free(&made);
        return ef_fail_memory(error);
    }
    *state = made;
    return EFFACE_OK;
}

efface_status ef_state_divide(unsigned char *bytes, size_t n_bytes, const ef_cuts *cuts,
                              const ef_cuts *pieces, ef_state *state, efface_error *error) {
    const efface_status status = ef_state_lay_out(n_bytes, cuts, pieces, state, error);
    if (status == EFFACE_OK)
        state->bytes = bytes;
    return status;
}

/* ---------------------------------------------------------------- in the file */

int64_t ef_part_number(int64_t model, uint64_t place) {
    return (int64_t)((uint64_t)model << PLACE_BITS | place);
}

int64_t ef_last_part_number(int64_t model) {
    return ef_part_number(model, ((uint64_t)1 << PLACE_BITS) - 1);
}

/* One more than the largest, or, when that is used up, one that is free. */
efface_status ef_state_number(efface_store *store, int64_t *number, efface_error *error) {
    efface_status status =
        ef_sql_number(store, "SELECT coalesce(max(number), 0) + 1 FROM models", number, error);
    if (status == EFFACE_OK && *number >= MAX_MODELS)
        status = ef_sql_number(store,
                               "SELECT min(number) + 1 FROM (SELECT 0 AS number UNION ALL SELECT"
                               " number FROM models) AS m WHERE NOT EXISTS"
                               " (SELECT 1 FROM models WHERE models.number = m.number + 1)",
                               number, error);
    return status == EFFACE_OK && (*number <= 0 || *number >= MAX_MODELS)
               ? ef_fail(error, EFFACE_E_LIMIT, "a store can have at most %lld models",
                         (long long)MAX_MODELS - 1)
               : status;
}

/* Prepares a statement whose parameters 1 and 2 are the first and the last number of a state. */
static efface_status prepare_range(efface_store *store, const char *sql, int64_t number,
                                   sqlite3_stmt **statement, efface_error *error) {
    const efface_status status = ef_sql_prepare(store, sql, statement, error);
    if (status == EFFACE_OK) {
        (void)sqlite3_bind_int64(*statement, 1, ef_part_number(number, 0));
        (void)sqlite3_bind_int64(*statement, 2, ef_last_part_number(number));
    }
    return status;
}

ef_decoder ef_state_sum(const ef_head *head, int64_t number, const ef_state *state,
                        unsigned char bytes[EF_PARTS_BYTES]) {
    ef_u128 sum = 0;
    for (size_t i = 0; i < state->n_parts; i++) {
        const uint64_t part[] = {(uint64_t)ef_part_number(number, state->parts[i].place),
                                 state->parts[i].n_bytes};
        unsigned char words[16];
        for (int b = 0; b < 16; b++)
            words[b] = (unsigned char)(part[b / 8] >> (8 * (b % 8)));
        sum += ef_seal_named(head, "part", words, sizeof words);
    }
    for (int b = 0; b < 8; b++)
        bytes[b] = (unsigned char)((uint64_t)state->n_parts >> (8 * b));
    for (int b = 0; b < 16; b++)
        bytes[8 + b] = (unsigned char)(sum >> (8 * b));
    return (ef_decoder){.bytes = bytes, .n_bytes = EF_PARTS_BYTES};
}

/* What is wrong with the parts that were found; a state has bytes. */
static efface_status verify_parts(const ef_head *head, int64_t number, const ef_state *found,
                                  uint64_t n_parts, const unsigned char sum[EF_PARTS_BYTES],
                                  efface_error *error) {
    unsigned char bytes[EF_PARTS_BYTES];
    (void)ef_state_sum(head, number, found, bytes);
    if (found->n_parts < n_parts || found->n_bytes == 0)
        return ef_store_corrupt(error, "a part of the state of a model is missing");
    if (found->n_parts > n_parts)
        return ef_store_corrupt(error, "the state of a model has too many parts");
    return memcmp(bytes, sum, sizeof bytes) == 0
               ? EFFACE_OK
               : ef_store_corrupt(error, "the parts of the state of a model are not in their "
                                         "places, or have the wrong lengths");
}

/* Reads the parts after the first. */
static efface_status read_others(efface_store *store, int64_t number, ef_writer *bytes,
                                 ef_state *read, size_t *room, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    bool row = true;
    efface_status status = prepare_range(
        store, "SELECT number, bytes FROM states WHERE number BETWEEN ? AND ? ORDER BY number",
        number, &statement, error);
    while (status == EFFACE_OK) {
        status = ef_sql_step(store, statement, &row, error);
        if (status != EFFACE_OK || !row)
            break;
        const ef_decoder found = ef_sql_bytes(statement, 1);
        const ef_state_part part = {.place = (uint64_t)sqlite3_column_int64(statement, 0) &
                                             (((uint64_t)1 << PLACE_BITS) - 1),
                                    .begin = bytes->n_bytes,
                                    .n_bytes = found.n_bytes};
        ef_write_bytes(bytes, found.bytes, found.n_bytes);
        if (!ef_sql_has(statement, "ib"))
            status = ef_store_corrupt(error, "a part of the state of a model is of the wrong kind");
        else if (part.place <= read->parts[read->n_parts - 1].place)
            status = ef_store_corrupt(
                error, "parts of the state of a model are doubled, or in the wrong order");
        else if (bytes->failed || !add_part(read, room, part))
            status = ef_fail_memory(error);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

ef_decoder ef_state_first(const ef_state *state) {
    return state->n_parts != 0
               ? (ef_decoder){.bytes = state->bytes, .n_bytes = state->parts[0].n_bytes}
               : (ef_decoder){.bytes = (const unsigned char *)""};
}

/* A copy of the bytes of a part that a statement is at. */
static efface_status copy_part(sqlite3_stmt *statement, const ef_state_part *part,
                               unsigned char **bytes, efface_error *error) {
    ef_decoder found = ef_sql_bytes(statement, 0);
    if (!ef_sql_has(statement, "b") || found.n_bytes != part->n_bytes)
        return ef_store_corrupt(error,
                                "a part of the state of a model is of the wrong kind, or has "
                                "the wrong length");
    *bytes = ef_alloc(part->n_bytes, 1);
    if (*bytes == NULL)
        return ef_fail_memory(error);
    ef_read_bytes(&found, *bytes, part->n_bytes);
    return EFFACE_OK;
}

efface_status ef_part_read(efface_store *store, sqlite3_stmt **statement, int64_t number,
                           const ef_state_part *part, unsigned char **bytes, efface_error *error) {
    bool row = false;
    efface_status status =
        *statement == NULL
            ? ef_sql_prepare(store, "SELECT bytes FROM states WHERE number = ?", statement, error)
            : EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    (void)sqlite3_bind_int64(*statement, 1, ef_part_number(number, part->place));
    status = ef_sql_step(store, *statement, &row, error);
    if (status == EFFACE_OK)
        status = row ? copy_part(*statement, part, bytes, error)
                     : ef_store_corrupt(error, "a part of the state of a model is missing");
    (void)sqlite3_reset(*statement);
    return status;
}

efface_status ef_state_read(efface_store *store, int64_t number, ef_decoder first,
                            const unsigned char sum[EF_PARTS_BYTES], ef_state *state,
                            efface_error *error) {
    ef_writer bytes = {0};
    ef_state read = {0};
    size_t room = 0;
    if (number <= 0 || number >= MAX_MODELS)
        return ef_store_corrupt(error, "the number of a model is invalid");
    ef_decoder count = {.bytes = sum, .n_bytes = EF_PARTS_BYTES};
    const uint64_t n_parts = ef_read_u64(&count);
    ef_write_bytes(&bytes, first.bytes, first.n_bytes);
    efface_status status =
        !bytes.failed && add_part(&read, &room, (ef_state_part){.n_bytes = first.n_bytes})
            ? EFFACE_OK
            : ef_fail_memory(error);
    /* Most models are small. A part too many of theirs is found by a check. */
    if (status == EFFACE_OK && n_parts != 1)
        status = read_others(store, number, &bytes, &read, &room, error);
    read.bytes = bytes.bytes;
    read.n_bytes = bytes.n_bytes;
    EF_THEN(status, verify_parts(&store->head, number, &read, n_parts, sum, error));
    if (status == EFFACE_OK)
        *state = read;
    else
        ef_state_free(&read);
    return status;
}

efface_status ef_state_drop(efface_store *store, int64_t number, efface_error *error) {
    sqlite3_stmt *statement = NULL;
    efface_status status = prepare_range(store, "DELETE FROM states WHERE number BETWEEN ? AND ?",
                                         number, &statement, error);
    EF_THEN(status, ef_sql_do(store, statement, error));
    (void)sqlite3_finalize(statement);
    return status;
}

/* Statements that are prepared when they are needed first. */
typedef struct part_writer {
    efface_store *store;
    int64_t number;
    sqlite3_stmt *update, *insert, *remove;
} part_writer;

/* `bytes` is NULL for a part that goes. */
static efface_status run_on(part_writer *w, sqlite3_stmt **statement, const char *sql,
                            const ef_state_part *part, const unsigned char *bytes,
                            efface_error *error) {
    const efface_status status =
        *statement == NULL ? ef_sql_prepare(w->store, sql, statement, error) : EFFACE_OK;
    if (status != EFFACE_OK)
        return status;
    (void)sqlite3_bind_int64(*statement, 1, ef_part_number(w->number, part->place));
    if (bytes != NULL)
        ef_sql_bind_bytes(*statement, 2, bytes + part->begin, part->n_bytes);
    return ef_sql_do(w->store, *statement, error);
}

static bool same_bytes(const ef_state *a, const ef_state_part *of_a, const ef_state *b,
                       const ef_state_part *of_b) {
    return of_a->n_bytes == of_b->n_bytes &&
           memcmp(a->bytes + of_a->begin, b->bytes + of_b->begin, of_a->n_bytes) == 0;
}

efface_status ef_state_write(efface_store *store, int64_t number, const ef_state *before,
                             const ef_state *state, efface_error *error) {
    part_writer w = {.store = store, .number = number};
    /* What is there of a state that is not known, or of a model that is no more, must go. */
    efface_status status = before->n_parts == 0 ? ef_state_drop(store, number, error) : EFFACE_OK;
    /* Both lists are in the order of places. The first parts are elsewhere. */
    size_t i = before->n_parts != 0 ? 1 : 0, j = state->n_parts != 0 ? 1 : 0;
    while (status == EFFACE_OK && (i < before->n_parts || j < state->n_parts)) {
        const ef_state_part *const old = i < before->n_parts ? &before->parts[i] : NULL;
        const ef_state_part *const new = j < state->n_parts ? &state->parts[j] : NULL;
        if (new == NULL || (old != NULL && old->place < new->place)) {
            status =
                run_on(&w, &w.remove, "DELETE FROM states WHERE number = ?1", old, NULL, error);
            i++;
            continue;
        }
        const bool replaces = old != NULL && old->place == new->place;
        /* An update writes only those pages of a part that change, if its length stays. */
        if (!replaces)
            status = run_on(&w, &w.insert, "INSERT INTO states VALUES (?1, ?2)", new, state->bytes,
                            error);
        else if (!same_bytes(before, old, state, new))
            status = run_on(&w, &w.update, "UPDATE states SET bytes = ?2 WHERE number = ?1", new,
                            state->bytes, error);
        i += replaces;
        j++;
    }
    (void)sqlite3_finalize(w.update);
    (void)sqlite3_finalize(w.insert);
    (void)sqlite3_finalize(w.remove);
    return status;
}
