/* efface-load: the command line, and what is printed. */
#include "load.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: efface-load PORT --store NAME --mix KIND=PARTS,... [OPTIONS]\n"
    "Asks a service on 127.0.0.1 and prints, as JSON, how many requests were answered and how "
    "long\n"
    "that took, in milliseconds. Ends when the time or the requests are over, nothing is left to\n"
    "ask for, or the service is gone.\n"
    "  --mix LIST          predict, forget, learn, update, read: predict=8,forget=1\n"
    "  --clients N         connections that stay open, each with one request at a time (64)\n"
    "  --seconds S, --requests N, --rate N   for how long; how many; how many a second at most\n"
    "  --model NAME        for predictions (default)\n"
    "  --points FILE       for predictions: a JSON array of numbers a line\n"
    "  --rows FILE         to learn and update: members of a row a line, without the id, such as\n"
    "                      \"values\":[1,2],\"owner_key\":\"u1\"\n"
    "  --ids FROM-TO       rows that are there, TO too: they may be forgotten and updated\n"
    "  --id-file FILE      further ones, an id a line\n"
    "  --new-id N          the first id of rows that are learned (1000000000)\n"
    "  --batch N           rows that are learned with one request (1)\n"
    "  --ledger FILE       a line for each row that was asked to change (load_requests.c)\n"
    "  --sync FOLDER       also try for two seconds how often this disk syncs 4 KiB\n"
    "  --seed N            for the order of kinds (1)\n"
    "The token is in the environment: EFFACE_TOKEN; or in a file: --token-file FILE.\n";

static int fail_usage(const char *what, const char *name) {
    fprintf(stderr, "efface-load: %s%s\n", what, name);
    return 2;
}

static bool read_lines(const char *path, load_lines *out) {
    FILE *file = fopen(path, "rb");
    size_t n = 0, size = 0, got;
    if (file == NULL)
        return false;
    do {
        char *grown = realloc(out->text, size + 65536 + 1);
        if (grown == NULL)
            break;
        out->text = grown;
        size += 65536;
        got = fread(out->text + n, 1, size - n, file);
        n += got;
    } while (n == size);
    (void)fclose(file);
    if (out->text == NULL)
        return false;
    out->text[n] = 0;
    size_t most = 1;
    for (size_t i = 0; i < n; i++)
        most += out->text[i] == '\n';
    out->lines = malloc(most * sizeof *out->lines);
    if (out->lines == NULL)
        return false;
    for (char *line = strtok(out->text, "\r\n"); line != NULL; line = strtok(NULL, "\r\n"))
        out->lines[out->n_lines++] = line;
    return out->n_lines > 0;
}

static void free_lines(load_lines *lines) {
    free(lines->lines);
    free(lines->text);
}

static bool read_number(const char *text, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || number > most)
        return false;
    *out = number;
    return true;
}

static bool read_real(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == 0 && *out >= 0;
}

static bool read_mix(char *text, load_options *options) {
    for (char *item = strtok(text, ","); item != NULL; item = strtok(NULL, ",")) {
        char *equals = strchr(item, '=');
        uint64_t parts = 1;
        int kind = 0;
        if (equals != NULL) {
            *equals = 0;
            if (!read_number(equals + 1, 1000000, &parts))
                return false;
        }
        while (kind < LOAD_KINDS && strcmp(item, load_kind_names[kind]) != 0)
            kind++;
        if (kind == LOAD_KINDS)
            return false;
        options->parts[kind] = (unsigned)parts;
    }
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        if (options->parts[kind] > 0)
            return true;
    return false;
}

static bool read_range(char *text, load_options *options) {
    char *dash = strchr(text, '-');
    if (dash == NULL)
        return false;
    *dash = 0;
    if (!read_number(text, UINT64_MAX - 1, &options->first_id) ||
        !read_number(dash + 1, UINT64_MAX - 1, &options->end_id))
        return false;
    options->end_id++;
    return options->first_id < options->end_id;
}

typedef struct load_files {
    const char *ledger, *sync, *token;
    load_lines token_lines;
} load_files;

static bool read_option(const char *name, char *value, load_options *options, load_files *files) {
    uint64_t number = 0;
    bool ok = true;
    if (strcmp(name, "--store") == 0)
        options->store = value;
    else if (strcmp(name, "--model") == 0)
        options->model = value;
    else if (strcmp(name, "--mix") == 0)
        ok = read_mix(value, options);
    else if (strcmp(name, "--clients") == 0) {
        ok = read_number(value, 100000, &number) && number > 0;
        options->n_clients = (unsigned)number;
    } else if (strcmp(name, "--seconds") == 0)
        ok = read_real(value, &options->seconds);
    else if (strcmp(name, "--requests") == 0)
        ok = read_number(value, UINT64_MAX, &options->n_requests);
    else if (strcmp(name, "--rate") == 0)
        ok = read_real(value, &options->rate);
    else if (strcmp(name, "--points") == 0)
        ok = read_lines(value, &options->points);
    else if (strcmp(name, "--rows") == 0)
        ok = read_lines(value, &options->rows);
    else if (strcmp(name, "--ids") == 0)
        ok = read_range(value, options);
    else if (strcmp(name, "--id-file") == 0)
        ok = read_lines(value, &options->ids);
    else if (strcmp(name, "--new-id") == 0)
        ok = read_number(value, UINT64_MAX / 2, &options->new_id);
    else if (strcmp(name, "--batch") == 0) {
        ok = read_number(value, 100000, &number) && number > 0;
        options->batch = (unsigned)number;
    } else if (strcmp(name, "--seed") == 0)
        ok = read_number(value, UINT64_MAX, &options->seed);
    else if (strcmp(name, "--ledger") == 0)
        files->ledger = value;
    else if (strcmp(name, "--sync") == 0)
        files->sync = value;
    else if (strcmp(name, "--token-file") == 0)
        files->token = value;
    else
        ok = false;
    return ok;
}

static json_t *times_json(const load_times *times, double seconds) {
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "requests", (json_int_t)times->n,
                     "per_second", seconds > 0 ? (double)times->n / seconds : 0, "p50",
                     load_times_quantile(times, 0.5), "p90", load_times_quantile(times, 0.9), "p99",
                     load_times_quantile(times, 0.99), "p99.9", load_times_quantile(times, 0.999),
                     "max", (double)times->most / 1e6);
}

static bool print_result(const load_options *options, const load_result *result, double syncs) {
    static load_times all;
    json_t *kinds = json_object(), *statuses = json_object();
    for (int kind = 0; kind < LOAD_KINDS; kind++) {
        if (result->times[kind].n == 0)
            continue;
        load_times_merge(&all, &result->times[kind]);
        (void)json_object_set_new(kinds, load_kind_names[kind],
                                  times_json(&result->times[kind], result->seconds));
    }
    for (int status = 0; status < 600; status++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%d", status);
        if (result->statuses[status] > 0)
            (void)json_object_set_new(statuses, text,
                                      json_integer((json_int_t)result->statuses[status]));
    }
    json_t *json =
        json_pack("{s:i, s:f, s:I, s:I, s:o, s:o, s:o}", "clients", (int)options->n_clients,
                  "seconds", result->seconds, "lost", (json_int_t)result->n_lost, "garbled",
                  (json_int_t)result->n_garbled, "statuses", statuses, "all",
                  times_json(&all, result->seconds), "kinds", kinds);
    if (syncs >= 0)
        (void)json_object_set_new(json, "syncs_per_second", json_real(syncs));
    const int bad = json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(json);
    return bad == 0 && putchar('\n') != EOF && fflush(stdout) == 0;
}

static int measure_load(load_options *options, const load_files *files) {
    static load_result result;
    char message[200];
    double syncs = -1;
    if (files->sync != NULL && (syncs = load_sync_rate(files->sync, 2)) < 0)
        return fail_usage("cannot write in ", files->sync);
    if (files->ledger != NULL && (options->ledger = fopen(files->ledger, "w")) == NULL)
        return fail_usage("cannot write ", files->ledger);
    bool ok = load_run(options, &result, message, sizeof message);
    if (options->ledger != NULL && fclose(options->ledger) != 0)
        return fail_usage("cannot write ", files->ledger);
    if (!ok)
        return fail_usage(message, "");
    return print_result(options, &result, syncs) ? 0 : 1;
}

int main(int n_arguments, char **arguments) {
    load_options options = {.model = "default",
                            .n_clients = 64,
                            .new_id = 1000000000,
                            .batch = 1,
                            .seed = 1,
                            .token = getenv("EFFACE_TOKEN")};
    load_files files = {.ledger = NULL};
    uint64_t port = 0;
    if (n_arguments < 2 || strcmp(arguments[1], "--help") == 0) {
        fputs(usage, stdout);
        return n_arguments < 2 ? 2 : 0;
    }
    if (!read_number(arguments[1], 65535, &port))
        return fail_usage("not a port: ", arguments[1]);
    options.port = (uint16_t)port;
    for (int i = 2; i < n_arguments; i += 2)
        if (i + 1 == n_arguments || !read_option(arguments[i], arguments[i + 1], &options, &files))
            return fail_usage("wrong option, or its value: ", arguments[i]);
    if (files.token != NULL) {
        if (!read_lines(files.token, &files.token_lines))
            return fail_usage("cannot read ", files.token);
        options.token = files.token_lines.lines[0];
    }
    if (options.store == NULL || (options.parts[LOAD_PREDICT] > 0 && options.points.n_lines == 0) ||
        ((options.parts[LOAD_LEARN] > 0 || options.parts[LOAD_UPDATE] > 0) &&
         options.rows.n_lines == 0))
        return fail_usage("--store, --mix, and --points or --rows for what is mixed, are needed",
                          "");
    unsigned parts = 0;
    for (int kind = 0; kind < LOAD_KINDS; kind++)
        parts += options.parts[kind];
    const int code = parts > 0 ? measure_load(&options, &files) : fail_usage("--mix is needed", "");
    free_lines(&options.points);
    free_lines(&options.rows);
    free_lines(&options.ids);
    free_lines(&files.token_lines);
    return code;
}
