/*
 * States of which only the parts that are needed are read.
 *
 * The index of a state (state_index.c) says how long its sections are, and so where its parts stand
 * in the file. It is verified when a state is opened: its digests must give the digest of the
 * state, its lengths the sum of the parts. Then each section is verified by its own digest when it
 * is read, and those that are not read stay as they are.
 */
#include "store/models/opened_states.h"

#include "base/bytes/digest.h"
#include "base/errors/status.h"
#include "base/memory/list.h"
#include "base/memory/memory.h"
#include "store/sql/sql.h"
#include "store/store.h"

#include <string.h>

static efface_status read_section(ef_sections *sections, size_t section, ef_decoder *bytes,
                                  efface_error *error);
static efface_status copy_section(ef_sections *sections, size_t section, unsigned char **bytes,
                                  size_t *n_bytes, efface_error *error);
static efface_status verify_section(const ef_sections *sections, size_t section,
                                    const unsigned char *bytes, size_t n_bytes,
                                    efface_error *error);

void ef_opened_free(ef_opened *o) {
    if (o == NULL)
        return;
    for (size_t i = 0; o->parts != NULL && i < o->layout.n_parts; i++)
        ef_free(o->parts[i]);
    ef_free(o->parts);
    (void)sqlite3_finalize(o->reading);
    ef_free(o->joined.bytes);
    ef_state_free(&o->layout);
    ef_state_index_free(&o->index);
    ef_free(o);
}

/* The first part stands in the row of the model. */
static efface_status take_first(ef_opened *o, ef_decoder first, efface_error *error) {
    o->parts = ef_alloc_zero(o->layout.n_parts, sizeof *o->parts);
    if (o->layout.n_parts == 0 || first.n_bytes != o->layout.parts[0].n_bytes)
        return ef_store_corrupt(error, "the first part of the state of a model has the wrong "
                                       "length");
    if (o->parts != NULL)
        o->parts[0] = ef_alloc(first.n_bytes, 1);
    if (o->parts == NULL || o->parts[0] == NULL)
        return ef_fail_memory(error);
    ef_read_bytes(&first, o->parts[0], first.n_bytes);
    return EFFACE_OK;
}

static efface_status verify_opened(ef_opened *o, const unsigned char sum[EF_PARTS_BYTES],
                                   const unsigned char digest[EFFACE_DIGEST_BYTES],
                                   efface_error *error) {
    unsigned char found[EFFACE_DIGEST_BYTES], parts[EF_PARTS_BYTES];
    ef_decoder header;
    (void)ef_state_sum(&o->store->head, o->number, &o->layout, parts);
    if (memcmp(parts, sum, sizeof parts) != 0)
        return ef_store_corrupt(error, "the sections of the state of a model do not match its "
                                       "parts");
    const efface_status status = read_section(&o->sections, 0, &header, error);
    if (status != EFFACE_OK)
        return status;
    ef_digest_joined(header.bytes, header.n_bytes, o->index.digests, o->index.cuts.n, found);
    return memcmp(found, digest, sizeof found) == 0
               ? EFFACE_OK
               : ef_store_corrupt(error, "the state of a model does not match its digest");
}

/* The lengths of an index are verified with its parts. What cannot fit into as many parts as the
 * seal says is not laid out: damage would take memory, or be called a limit. */
static efface_status check_index_length(const ef_opened *o, const unsigned char sum[EF_PARTS_BYTES],
                                        efface_error *error) {
    ef_decoder count = {.bytes = sum, .n_bytes = EF_PARTS_BYTES};
    const uint64_t n_parts = ef_read_u64(&count);
    return (o->index.n_bytes - 1) / EF_PART_BYTES < n_parts
               ? EFFACE_OK
               : ef_store_corrupt(error,
                                  "the sections of the state of a model have more bytes than "
                                  "its parts");
}

efface_status ef_opened_make(efface_store *store, int64_t number, ef_decoder first,
                             const unsigned char sum[EF_PARTS_BYTES],
                             const unsigned char digest[EFFACE_DIGEST_BYTES], ef_opened **opened,
                             efface_error *error) {
    ef_opened *const o = ef_alloc_zero(1, sizeof *o);
    *opened = NULL;
    if (o == NULL)
        return ef_fail_memory(error);
    o->store = store;
    o->number = number;
    efface_status status = ef_state_index_read(store, number, &o->index, error);
    const bool there = o->index.n_bytes != 0;
    if (status == EFFACE_OK && there) {
        o->sections = (ef_sections){.n = o->index.cuts.n + 1,
                                    .read = read_section,
                                    .copy = copy_section,
                                    .verify = verify_section};
        status = check_index_length(o, sum, error);
        EF_THEN(status, ef_state_lay_out(o->index.n_bytes, &o->index.cuts, &o->index.pieces,
                                         &o->layout, error));
        EF_THEN(status, take_first(o, first, error));
        EF_THEN(status, verify_opened(o, sum, digest, error));
    }
    if (status == EFFACE_OK && there)
        *opened = o;
    else
        ef_opened_free(o);
    return status;
}

/* ---------------------------------------------------------------- reading */

/* The part that has a byte. */
static size_t part_with(const ef_state *layout, size_t at) {
    size_t low = 0, high = layout->n_parts;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (layout->parts[middle].begin <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static efface_status read_part(ef_opened *o, size_t i, efface_error *error) {
    return o->parts[i] != NULL ? EFFACE_OK
                               : ef_part_read(o->store, &o->reading, o->number, &o->layout.parts[i],
                                              &o->parts[i], error);
}

/* Hands out the bytes of a section where they are in one part; else copies them to `to`. */
static efface_status join_section(ef_opened *o, size_t section, ef_writer *to, ef_decoder *bytes,
                                  efface_error *error) {
    const size_t begin = ef_section_begin(&o->index, section),
                 end = ef_section_begin(&o->index, section + 1);
    *bytes = (ef_decoder){.bytes = (const unsigned char *)""};
    if (begin == end)
        return EFFACE_OK;
    size_t i = part_with(&o->layout, begin);
    const ef_state_part *part = &o->layout.parts[i];
    efface_status status = read_part(o, i, error);
    bytes->n_bytes = end - begin;
    if (status == EFFACE_OK && end <= part->begin + part->n_bytes) {
        bytes->bytes = o->parts[i] + (begin - part->begin);
        return EFFACE_OK;
    }
    to->n_bytes = 0;
    ef_write_reserve(to, end - begin);
    for (size_t at = begin; status == EFFACE_OK && at < end; i++) {
        part = &o->layout.parts[i];
        status = read_part(o, i, error);
        const size_t last = part->begin + part->n_bytes < end ? part->begin + part->n_bytes : end;
        if (status == EFFACE_OK)
            ef_write_bytes(to, o->parts[i] + (at - part->begin), last - at);
        at = last;
    }
    bytes->bytes = to->bytes;
    return status == EFFACE_OK && to->failed ? ef_fail_memory(error) : status;
}

/* The first section is verified with the digest of the state, and empty ones have no digest. */
static efface_status verify_section(const ef_sections *sections, size_t section,
                                    const unsigned char *bytes, size_t n_bytes,
                                    efface_error *error) {
    const ef_opened *const o = (const ef_opened *)(const void *)sections;
    unsigned char digest[EFFACE_DIGEST_BYTES];
    if (section == 0 || n_bytes == 0)
        return EFFACE_OK;
    ef_digest(bytes, n_bytes, digest);
    return memcmp(digest, o->index.digests + (section - 1) * sizeof digest, sizeof digest) == 0
               ? EFFACE_OK
               : ef_store_corrupt(error, "the state of a model does not match its digest");
}

static efface_status read_section(ef_sections *sections, size_t section, ef_decoder *bytes,
                                  efface_error *error) {
    ef_opened *const o = (ef_opened *)(void *)sections;
    const efface_status status = join_section(o, section, &o->joined, bytes, error);
    return status == EFFACE_OK
               ? verify_section(sections, section, bytes->bytes, bytes->n_bytes, error)
               : status;
}

static efface_status copy_section(ef_sections *sections, size_t section, unsigned char **bytes,
                                  size_t *n_bytes, efface_error *error) {
    ef_writer to = {0};
    ef_decoder found;
    efface_status status = join_section((ef_opened *)(void *)sections, section, &to, &found, error);
    if (status == EFFACE_OK && to.bytes == NULL) {
        ef_write_bytes(&to, found.bytes, found.n_bytes);
        ef_write_reserve(&to, 1); /* of an empty section, too */
        status = to.failed ? ef_fail_memory(error) : EFFACE_OK;
    }
    *bytes = to.bytes;
    *n_bytes = to.n_bytes;
    if (status != EFFACE_OK) {
        ef_free(to.bytes);
        *bytes = NULL;
    }
    return status;
}

/* ---------------------------------------------------------------- changing */

size_t ef_opened_bytes_read(const ef_opened *o) {
    size_t n_bytes = 0;
    for (size_t i = 0; i < o->layout.n_parts; i++)
        n_bytes += o->parts[i] != NULL ? o->layout.parts[i].n_bytes : 0;
    return n_bytes;
}

void ef_opened_change_free(ef_opened_change *change) {
    ef_state_index_free(&change->index);
    ef_state_free(&change->layout);
    ef_state_free(&change->before);
    ef_state_free(&change->after);
}

/* Sections that are parts together, or one that has parts of its own: `first` to `end`, whose parts
 * are `part` to `end_part`. */
typedef struct group {
    size_t first, end, part, end_part;
} group;

static group next_group(const ef_state *layout, size_t n_sections, group last) {
    group g = {.first = last.end, .end = n_sections, .part = last.end_part};
    const uint64_t place =
        g.part < layout->n_parts ? layout->parts[g.part].place >> EF_PIECE_BITS : UINT64_MAX;
    g.end_part = g.part;
    while (g.end_part < layout->n_parts &&
           layout->parts[g.end_part].place >> EF_PIECE_BITS == place)
        g.end_part++;
    g.first = (size_t)place;
    if (g.end_part < layout->n_parts)
        g.end = (size_t)(layout->parts[g.end_part].place >> EF_PIECE_BITS);
    return g;
}

/* The bytes and the parts of a state that may change, as they come. */
typedef struct collected {
    ef_writer bytes;
    ef_state state;
    size_t room;
} collected;

static bool collect_parts(collected *to, const ef_state *layout, group g) {
    size_t at = to->bytes.n_bytes;
    if (!ef_list_reserve(&to->state.parts, &to->room, to->state.n_parts, g.end_part - g.part,
                         sizeof *to->state.parts))
        return false;
    for (size_t i = g.part; i < g.end_part; i++) {
        to->state.parts[to->state.n_parts] = layout->parts[i];
        to->state.parts[to->state.n_parts++].begin = at;
        at += layout->parts[i].n_bytes;
    }
    return true;
}

static efface_status collect_before(ef_opened *o, collected *to, group g, efface_error *error) {
    efface_status status = collect_parts(to, &o->layout, g) ? EFFACE_OK : ef_fail_memory(error);
    for (size_t i = g.part; status == EFFACE_OK && i < g.end_part; i++) {
        status = read_part(o, i, error);
        if (status == EFFACE_OK)
            ef_write_bytes(&to->bytes, o->parts[i], o->layout.parts[i].n_bytes);
    }
    return status == EFFACE_OK && to->bytes.failed ? ef_fail_memory(error) : status;
}

static efface_status collect_after(ef_opened *o, const ef_writer *w, const bool *kept,
                                   const ef_state *layout, collected *to, group g,
                                   efface_error *error) {
    efface_status status = collect_parts(to, layout, g) ? EFFACE_OK : ef_fail_memory(error);
    for (size_t s = g.first; status == EFFACE_OK && s < g.end; s++) {
        const size_t begin = s != 0 ? w->cuts->at[s - 1] : 0;
        ef_decoder bytes = {.bytes = w->bytes + begin,
                            .n_bytes = (s < w->cuts->n ? w->cuts->at[s] : w->n_bytes) - begin};
        if (kept[s])
            status = read_section(&o->sections, s, &bytes, error);
        if (status == EFFACE_OK)
            ef_write_bytes(&to->bytes, bytes.bytes, bytes.n_bytes);
    }
    return status == EFFACE_OK && to->bytes.failed ? ef_fail_memory(error) : status;
}

/* Whether a group is in both states, and all of its sections were kept. */
static bool stays(group a, group b, const bool *kept) {
    bool same = a.first == b.first && a.end == b.end && a.first != 0;
    for (size_t s = a.first; same && s < a.end; s++)
        same = kept[s];
    return same;
}

/* Goes through both states, group by group: both have theirs in the order of sections. */
static efface_status collect_changes(ef_opened *o, const ef_writer *w, const bool *kept,
                                     const ef_state *layout, collected *before, collected *after,
                                     efface_error *error) {
    const size_t n = w->cuts->n + 1, n_before = o->index.cuts.n + 1;
    group a = next_group(&o->layout, n_before, (group){.end = 0});
    group b = next_group(layout, n, (group){.end = 0});
    efface_status status = EFFACE_OK;
    while (status == EFFACE_OK && (a.part < o->layout.n_parts || b.part < layout->n_parts)) {
        const bool has_a = a.part < o->layout.n_parts, has_b = b.part < layout->n_parts;
        const bool skips = has_a && has_b && stays(a, b, kept);
        const bool takes_a = has_a && (!has_b || a.first <= b.first);
        const bool takes_b = has_b && (!has_a || b.first <= a.first);
        if (takes_a && !skips)
            status = collect_before(o, before, a, error);
        if (status == EFFACE_OK && takes_b && !skips)
            status = collect_after(o, w, kept, layout, after, b, error);
        if (takes_a)
            a = next_group(&o->layout, n_before, a);
        if (takes_b)
            b = next_group(layout, n, b);
    }
    return status;
}

efface_status ef_opened_follow(ef_opened *o, const ef_writer *w, ef_opened_change *change,
                               efface_error *error) {
    collected before = {.room = 0}, after = {.room = 0};
    bool *const kept = ef_alloc_zero(w->cuts->n + 1, sizeof *kept);
    *change = (ef_opened_change){.index = {.n_bytes = 0}};
    ef_write_reserve(&before.bytes, ef_opened_bytes_read(o));
    ef_write_reserve(&after.bytes, ef_opened_bytes_read(o) + EF_PART_BYTES);
    efface_status status = kept != NULL ? ef_state_index_make(w, &o->index, &change->index, error)
                                        : ef_fail_memory(error);
    for (size_t i = 0; status == EFFACE_OK && i < w->kept->n; i++)
        kept[w->kept->at[i]] = true;
    EF_THEN(status, ef_state_lay_out(change->index.n_bytes, &change->index.cuts,
                                     &change->index.pieces, &change->layout, error));
    EF_THEN(status, collect_changes(o, w, kept, &change->layout, &before, &after, error));
    ef_free(kept);
    change->before = before.state;
    change->before.bytes = before.bytes.bytes;
    change->before.n_bytes = before.bytes.n_bytes;
    change->after = after.state;
    change->after.bytes = after.bytes.bytes;
    change->after.n_bytes = after.bytes.n_bytes;
    if (status != EFFACE_OK)
        ef_opened_change_free(change);
    return status;
}
