/*
 * What the clients ask for, and the ledger.
 *
 * Rows that may be forgotten or updated stand in a queue. A request takes its id out of it, so no
 * two requests are about the same row at the same time; the id comes back when an update, or a
 * request that was refused, has its answer. Rows that were learned join the queue.
 *
 * The ledger has a line for each row of a request that changes the store:
 *     RESULT KIND ID LINE RECEIPT REQUEST
 * RESULT is "done" (status 200), the status of a refusal, or "lost": there was no answer. LINE is
 * the line, from 0, of the file of rows that the row was given, or -1. RECEIPT is the number of the
 * receipt, or 0. REQUEST counts requests: rows that were learned together have the same.
 */
#include "load.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const load_kind_names[LOAD_KINDS] = {"predict", "forget", "learn", "update", "read"};

struct load_requests {
    const load_options *options;
    uint64_t *queue; /* a ring */
    size_t n_queue, head, size;
    uint64_t new_id, n_requests;
    size_t next_line, next_point;
    unsigned sum; /* of options->parts */
    uint64_t random;
    char *body;
    size_t n_body, body_size;
};

/* SplitMix64. */
static uint64_t draw_number(load_requests *requests) {
    uint64_t x = requests->random += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

static void put_id(load_requests *requests, uint64_t id) {
    if (requests->n_queue == requests->size) {
        const size_t size = requests->size * 2 + 1024;
        uint64_t *queue = malloc(size * sizeof *queue);
        if (queue == NULL)
            return; /* the row stays in the store, and nobody asks for it again */
        for (size_t i = 0; i < requests->n_queue; i++)
            queue[i] = requests->queue[(requests->head + i) % requests->size];
        free(requests->queue);
        requests->queue = queue;
        requests->size = size;
        requests->head = 0;
    }
    requests->queue[(requests->head + requests->n_queue++) % requests->size] = id;
}

static uint64_t take_id(load_requests *requests) {
    const uint64_t id = requests->queue[requests->head];
    requests->head = (requests->head + 1) % requests->size;
    requests->n_queue--;
    return id;
}

load_requests *load_requests_new(const load_options *options) {
    load_requests *requests = calloc(1, sizeof *requests);
    if (requests == NULL)
        return NULL;
    requests->options = options;
    requests->new_id = options->new_id;
    requests->random = options->seed;
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        requests->sum += options->parts[kind];
    for (uint64_t id = options->first_id; id < options->end_id; id++)
        put_id(requests, id);
    for (size_t i = 0; i < options->ids.n_lines; i++)
        put_id(requests, strtoull(options->ids.lines[i], NULL, 10));
    return requests;
}

void load_requests_free(load_requests *requests) {
    if (requests == NULL)
        return;
    free(requests->queue);
    free(requests->body);
    free(requests);
}

/* Writes to the end of a text, which grows as it must. */
static bool add_text(char **text, size_t *n_text, size_t *size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static bool add_text(char **text, size_t *n_text, size_t *size, const char *format, ...) {
    for (;;) {
        va_list arguments;
        const size_t room = *size - *n_text;
        va_start(arguments, format);
        const int n = vsnprintf(*text == NULL ? NULL : *text + *n_text, room, format, arguments);
        va_end(arguments);
        if (n < 0)
            return false;
        if ((size_t)n < room) {
            *n_text += (size_t)n;
            return true;
        }
        char *grown = realloc(*text, *size + (size_t)n + 4096);
        if (grown == NULL)
            return false;
        *text = grown;
        *size += (size_t)n + 4096;
    }
}

#define ADD_BODY(...)                                                                              \
    add_text(&requests->body, &requests->n_body, &requests->body_size, __VA_ARGS__)

/* A kind that is possible now. Without ids, rows are learned instead, if that is wanted at all. */
static bool choose_kind(load_requests *requests, load_kind *out) {
    unsigned number = (unsigned)(draw_number(requests) % requests->sum);
    load_kind kind = LOAD_PREDICT;
    while (number >= requests->options->parts[kind])
        number -= requests->options->parts[kind++];
    if ((kind == LOAD_FORGET || kind == LOAD_UPDATE) && requests->n_queue == 0) {
        if (requests->options->parts[LOAD_LEARN] == 0)
            return false;
        kind = LOAD_LEARN;
    }
    *out = kind;
    return true;
}

static bool write_rows(load_requests *requests, const load_work *work) {
    const load_lines *rows = &requests->options->rows;
    if (!ADD_BODY("{\"rows\":["))
        return false;
    for (unsigned i = 0; i < work->n_rows; i++) {
        if (!ADD_BODY("%s{\"id\":%" PRIu64 ",%s}", i == 0 ? "" : ",", work->id + i,
                      rows->lines[(work->line + i) % rows->n_lines]))
            return false;
    }
    return ADD_BODY("]}");
}

/* Writes the body of a request to requests->body, and says in `work` what it is about. */
static bool write_body(load_requests *requests, load_work *work) {
    const load_options *options = requests->options;
    requests->n_body = 0;
    switch (work->kind) {
    case LOAD_PREDICT:
        return ADD_BODY("{\"rows\":[%s]}",
                        options->points.lines[requests->next_point++ % options->points.n_lines]);
    case LOAD_FORGET:
        work->id = take_id(requests);
        work->n_rows = 1;
        return ADD_BODY("{\"ids\":[%" PRIu64 "]}", work->id);
    case LOAD_LEARN:
        work->id = requests->new_id;
        work->n_rows = options->batch;
        requests->new_id += work->n_rows;
        break;
    case LOAD_UPDATE:
        work->id = take_id(requests);
        work->n_rows = 1;
        break;
    default: return ADD_BODY("%s", "");
    }
    work->line = requests->next_line;
    requests->next_line = (requests->next_line + work->n_rows) % options->rows.n_lines;
    return write_rows(requests, work);
}

bool load_requests_next(load_requests *requests, load_work *work, char **text, size_t *n_text,
                        size_t *size) {
    const load_options *options = requests->options;
    *work = (load_work){.number = ++requests->n_requests};
    *n_text = 0;
    if (!choose_kind(requests, &work->kind) || !write_body(requests, work))
        return false;
    const char *name = load_kind_names[work->kind];
    bool ok;
    if (work->kind == LOAD_READ)
        ok = add_text(text, n_text, size, "GET /v1/stores/%s", options->store);
    else if (work->kind == LOAD_PREDICT)
        ok = add_text(text, n_text, size, "POST /v1/stores/%s/models/%s/predict", options->store,
                      options->model);
    else
        ok = add_text(text, n_text, size, "POST /v1/stores/%s/%s", options->store, name);
    ok = ok && add_text(text, n_text, size, " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n",
                        (unsigned)options->port);
    if (ok && options->token != NULL)
        ok = add_text(text, n_text, size, "Authorization: Bearer %s\r\n", options->token);
    if (ok && work->kind != LOAD_READ)
        ok =
            add_text(text, n_text, size,
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n", requests->n_body);
    return ok && add_text(text, n_text, size, "\r\n%s", requests->body);
}

static void write_ledger(const load_requests *requests, const load_work *work, const char *result,
                         uint64_t receipt) {
    const bool given = work->kind == LOAD_LEARN || work->kind == LOAD_UPDATE;
    if (requests->options->ledger == NULL)
        return;
    for (unsigned i = 0; i < work->n_rows; i++)
        fprintf(requests->options->ledger,
                "%s %s %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", result,
                load_kind_names[work->kind], work->id + i,
                given ? (int64_t)((work->line + i) % requests->options->rows.n_lines) : -1, receipt,
                work->number);
}

void load_requests_answered(load_requests *requests, const load_work *work, int status,
                            const char *body, size_t n_body) {
    char text[16];
    if (work->n_rows == 0)
        return;
    if (status == 200) {
        json_t *json = json_loadb(body, n_body, 0, NULL);
        const json_t *receipt = json_object_get(json, "receipt");
        write_ledger(requests, work, "done", (uint64_t)json_integer_value(receipt));
        json_decref(json);
    } else {
        (void)snprintf(text, sizeof text, "%d", status);
        write_ledger(requests, work, text, 0);
    }
    /* A row is still there after a refusal for want of time or space, not after a 404. */
    const bool there =
        status == 200 ? work->kind != LOAD_FORGET : work->kind != LOAD_LEARN && status >= 429;
    for (unsigned i = 0; there && i < work->n_rows; i++)
        put_id(requests, work->id + i);
}

void load_requests_lost(load_requests *requests, const load_work *work) {
    write_ledger(requests, work, "lost", 0);
}
