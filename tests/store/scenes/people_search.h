/* Rows that stand for themselves in a store, and the search for them in all its files. For
 * test_leftovers.c, which includes this file after cmocka. */
#ifndef EF_PEOPLE_SEARCH_H
#define EF_PEOPLE_SEARCH_H

#include "law/law_families.h"
#include "store/scenes/store_scene.h"

#include <inttypes.h>

#define N_COLUMNS 6
#define MAX_COLUMNS 1500
#define N_ROWS 3000
#define MAX_ROWS 6000
#define N_OWNERS 700
#define STORE "rest.efface"

static uint64_t random_state;

static inline uint64_t next(void) {
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline size_t below(size_t limit) {
    return (size_t)(next() % limit);
}

/* ---------------------------------------------------------------- rows that stand for themselves
 */

typedef struct person {
    uint64_t id, owner;
    float *values;
    bool is_there;
} person;

static person people[MAX_ROWS];
static size_t n_people;
static uint32_t n_columns = N_COLUMNS;

/* 0.5 to 1 times a power of two, with all bits of the significand in use. */
static inline float make_value(void) {
    float x = (float)(0x800000 + (next() >> 41)) * 0x1p-24f;
    for (size_t e = below(3); e > 0; e--)
        x *= 2.0f;
    return next() % 2 == 0 ? x : -x;
}

static inline person *make_person(bool lone) {
    assert_true(n_people < MAX_ROWS);
    person *const p = &people[n_people++];
    p->is_there = true;
    p->id = next() | UINT64_C(0x0100000000000000); /* eight bytes in any encoding */
    p->owner = lone ? next() : people[below(n_people)].owner;
    if (p->owner == 0)
        p->owner = next();
    free(p->values);
    p->values = malloc(n_columns * sizeof *p->values);
    assert_non_null(p->values);
    for (uint32_t j = 0; j < n_columns; j++)
        p->values[j] = make_value();
    return p;
}

static inline efface_data *data_of(size_t first) {
    const size_t n = n_people - first;
    efface_data *data = NULL;
    REQUIRE_OK(efface_data_create(n_columns, &data, error));
    for (size_t i = 0; i < n; i++) {
        const person *const p = &people[first + i];
        const int64_t label = (int64_t)(p->id % 5); /* what classes are of; nobody is known by it */
        const efface_rows row = {
            .n_rows = 1, .values = p->values, .ids = &p->id, .owners = &p->owner, .labels = &label};
        REQUIRE_OK(efface_data_add(data, &row, error));
    }
    return data;
}

/* Every third model is of the two columns that have an extreme. */
static inline void fit_model(efface_store *store, const law_family *family, unsigned way) {
    static const uint32_t some[] = {3, 2};
    law_params params;
    char name[EFFACE_MODEL_NAME_BYTES];
    const bool all = way % 3 != 0;
    (void)snprintf(name, sizeof name, "%s-%u", family->name, way);
    family->choose(&params, way, all ? n_columns : 2);
    const efface_new_model asked = {.name = name,
                                    .params = &params.common,
                                    .columns = all ? NULL : some,
                                    .n_columns = all ? 0 : 2};
    REQUIRE_OK(efface_store_fit(store, &asked, NULL, error));
}

static inline efface_store *begin(size_t n_rows, bool with_models) {
    empty_folder();
    random_state = 20240229;
    n_people = 0;
    for (size_t i = 0; i < n_rows; i++)
        (void)make_person(i < N_OWNERS || i % 2 == 0);
    people[0].values[2] = 100.5433f; /* extreme: kept by name in the models */
    people[1].values[3] = -77.12345f;
    efface_data *const data = data_of(0);
    efface_store *store = NULL;
    REQUIRE_OK(create_plain(in_folder(STORE), data, &store, error));
    efface_data_free(data);
    if (!with_models)
        return store;
    for (size_t f = 0; f < law_n_families; f++)
        /* The ways of later families share their parts: every other one will do. */
        for (unsigned way = 0; way < law_families[f]->n_ways; way += f == 0 ? 1 : 2)
            fit_model(store, law_families[f], way);
    return store;
}

/* ---------------------------------------------------------------- the search */

/* Bytes that are searched for, and what they are of whom. */
typedef struct form {
    unsigned char bytes[24];
    size_t n_bytes;
    const char *what;
    const person *of;
} form;

/* Those of eight bytes and more are found by their first eight, all in one pass over a file. */
#define N_SLOTS (1u << 20)

typedef struct search {
    form *forms;
    size_t n_forms, capacity, n_found;
    uint32_t *slots; /* form + 1, by the first eight bytes */
    const person *of;
    bool quiet;
} search;

static inline uint64_t first_eight(const unsigned char *bytes) {
    uint64_t x;
    memcpy(&x, bytes, sizeof x);
    return x;
}

static inline size_t slot_of(const unsigned char *bytes) {
    return (size_t)((first_eight(bytes) * UINT64_C(0x9E3779B97F4A7C15)) >> 44);
}

static inline void add_form(search *s, const char *what, const void *bytes, size_t n_bytes) {
    if (s->n_forms == s->capacity) {
        s->capacity = 2 * s->capacity + 64;
        s->forms = realloc(s->forms, s->capacity * sizeof *s->forms);
        assert_non_null(s->forms);
    }
    form *const f = &s->forms[s->n_forms++];
    assert_true(n_bytes <= sizeof f->bytes && s->n_forms < N_SLOTS / 2);
    memcpy(f->bytes, bytes, n_bytes);
    f->n_bytes = n_bytes;
    f->what = what;
    f->of = s->of;
    if (n_bytes < 8)
        return;
    if (s->slots == NULL)
        s->slots = calloc(N_SLOTS, sizeof *s->slots);
    assert_non_null(s->slots);
    size_t slot = slot_of(f->bytes);
    while (s->slots[slot] != 0)
        slot = (slot + 1) % N_SLOTS;
    s->slots[slot] = (uint32_t)s->n_forms;
}

static inline void free_search(search *s) {
    free(s->forms);
    free(s->slots);
    *s = (search){.forms = NULL};
}

static inline void add_number(search *s, const char *what, uint64_t number) {
    unsigned char little[8], big[8], varint[9];
    char text[24];
    uint64_t rest = number >> 8;
    for (int i = 0; i < 8; i++) {
        little[i] = (unsigned char)(number >> (8 * i));
        big[7 - i] = little[i];
    }
    varint[8] = (unsigned char)number;
    for (int i = 7; i >= 0; i--, rest >>= 7)
        varint[i] = (unsigned char)(rest & 0x7F) | 0x80;
    add_form(s, what, little, 8);
    add_form(s, what, big, 8);
    add_form(s, what, varint, 9);
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    add_form(s, what, text, strlen(text));
    for (int order = 0; order < 2; order++) {
        for (int i = 0; i < 8; i++)
            (void)snprintf(text + (size_t)2 * (size_t)i, 3, "%02x",
                           (unsigned)(order == 0 ? little : big)[i]);
        add_form(s, what, text, 16);
    }
}

static inline void turn(unsigned char *bytes, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes / 2; i++) {
        const unsigned char b = bytes[i];
        bytes[i] = bytes[n_bytes - 1 - i];
        bytes[n_bytes - 1 - i] = b;
    }
}

static inline void add_values(search *s, const person *p) {
    unsigned char run[8];
    const uint32_t step = n_columns == N_COLUMNS ? 1 : 50;
    for (uint32_t j = 0; j < n_columns; j += step) {
        const double wide = (double)p->values[j];
        memcpy(run, &wide, 8);
        add_form(s, "a value as float64", run, 8);
        if (j + 1 == n_columns)
            break;
        memcpy(run, &p->values[j], 8);
        add_form(s, "two values", run, 8);
        turn(run, 8);
        add_form(s, "two values", run, 8);
        const float swapped[2] = {p->values[j + 1], p->values[j]};
        memcpy(run, swapped, 8);
        add_form(s, "two values", run, 8);
    }
}

static inline void found(search *s, const form *f, size_t at, const char *name) {
    s->n_found++;
    if (!s->quiet && s->n_found < 10)
        print_message("%s of row %td of %zu, %zu bytes, at %zu of %s\n", f->what,
                      f->of != NULL ? f->of - people : -1, n_people, f->n_bytes, at, name);
}

static inline void search_file(const char *name, void *context) {
    search *const s = context;
    image file = read_image(in_folder(name));
    for (size_t at = 0; s->slots != NULL && at + 8 <= file.n_bytes; at++) {
        for (size_t slot = slot_of(file.bytes + at); s->slots[slot] != 0;
             slot = (slot + 1) % N_SLOTS) {
            const form *const f = &s->forms[s->slots[slot] - 1];
            if (at + f->n_bytes <= file.n_bytes &&
                memcmp(file.bytes + at, f->bytes, f->n_bytes) == 0)
                found(s, f, at, name);
        }
    }
    for (size_t i = 0; i < s->n_forms; i++)
        for (size_t at = 0; s->forms[i].n_bytes < 8 && at + s->forms[i].n_bytes <= file.n_bytes;
             at++)
            if (memcmp(file.bytes + at, s->forms[i].bytes, s->forms[i].n_bytes) == 0)
                found(s, &s->forms[i], at, name);
    free(file.bytes);
}

static inline size_t search_all(search *s) {
    s->n_found = 0;
    (void)visit_files(folder, search_file, s);
    return s->n_found;
}

static inline bool owner_remains(uint64_t owner) {
    for (size_t i = 0; i < n_people; i++)
        if (people[i].is_there && people[i].owner == owner)
            return true;
    return false;
}

/* The row can be found: its id, its owner, and all its values. */
static inline void check_present(const person *p) {
    for (int what = 0; what < 3; what++) {
        search s = {.quiet = true};
        if (what == 0)
            add_number(&s, "the id", p->id);
        else if (what == 1)
            add_number(&s, "the owner", p->owner);
        else
            add_values(&s, p);
        assert_true(search_all(&s) >= (what == 2 ? N_COLUMNS - 1 : 1));
        free_search(&s);
    }
}

/* No file beside the store's two, the journal empty, and no temporary file. */
static inline void check_files(void) {
    assert_int_equal(visit_files("leftovers_tmp", NULL, NULL), 0);
    image journal = read_image(in_folder(STORE "-journal"));
    assert_int_equal(journal.n_bytes, 0);
    free(journal.bytes);
    assert_true(visit_files(folder, NULL, NULL) <= 2);
}

/* Nothing is left of one who left, or of all who did so far (NULL). */
static inline void check_gone(const person *who, const char *after) {
    search s = {.quiet = false};
    check_files();
    for (size_t i = 0; i < n_people; i++) {
        const person *const p = &people[i];
        if (p->is_there || (who != NULL && who != p))
            continue;
        s.of = p;
        add_number(&s, "the id", p->id);
        if (!owner_remains(p->owner))
            add_number(&s, "the owner", p->owner);
        add_values(&s, p);
    }
    assert_true(s.n_forms != 0);
    if (search_all(&s) != 0)
        fail_msg("something is left after %s", after);
    free_search(&s);
}

#endif
