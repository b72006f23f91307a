/*
 * What the service reads of the head of a request, and of the file of tokens, from any bytes: lines
 * with a method, a path, a Host header, roles, a time of expiry and the name of a token; what
 * follows is a file of tokens.
 *
 * Whatever the bytes, a path has at most one form; its parts are texts without a slash inside the
 * path; a Host that is right begins with one of the names; and what was read is the same when it is
 * written and read again.
 */
#include "access/hosts.h"
#include "access/times.h"
#include "access/token_file.h"
#include "fuzz_load.h"
#include "http/server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

static const sv_route routes[] = {
    {"GET", "/", 0, SV_HERE, NULL, "page"},
    {"GET", "/v1/health", 0, SV_HERE, NULL, "health"},
    {"GET", "/page/{file}", 0, SV_HERE, NULL, "page_file"},
    {"GET", "/v1/stores/{store}", 0, SV_HERE, NULL, "store"},
    {"POST", "/v1/stores/{store}/forget", 0, SV_HERE, NULL, "forget"},
    {"GET", "/v1/stores/{store}/receipts/{number}", 0, SV_HERE, NULL, "receipt"},
    {"POST", "/v1/stores/{store}/receipts/verify", 0, SV_HERE, NULL, "verify_receipts"},
    {"GET", "/v1/stores/{store}/models/{model}/tables/{table}", 0, SV_HERE, NULL, "table"},
    {"GET", "/v1/jobs/{job}", 0, SV_HERE, NULL, "job"},
    {"DELETE", "/v1/jobs/{job}", 0, SV_HERE, NULL, "cancel_job"},
    {NULL, NULL, 0, SV_HERE, NULL, NULL},
};

/* The next line, as a text of its own. */
static char *take_line(const unsigned char **bytes, size_t *n_bytes) {
    const unsigned char *const end = *n_bytes != 0 ? memchr(*bytes, '\n', *n_bytes) : NULL;
    const size_t n = end != NULL ? (size_t)(end - *bytes) : *n_bytes;
    char *const line = malloc(n + 1);
    require(line != NULL);
    memcpy(line, *bytes, n);
    line[n] = 0;
    *bytes += n + (end != NULL);
    *n_bytes -= n + (end != NULL);
    return line;
}

static void find_route(const char *method, char *path) {
    const size_t n_path = strlen(path);
    const sv_route *route = NULL;
    const char *parts[SV_MAX_PARTS] = {NULL};
    char allowed[64];
    switch (sv_route_find(routes, method, path, &route, parts, allowed)) {
    case SV_ROUTED:
        require(strcmp(route->method, method) == 0 ||
                (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0));
        for (size_t i = 0; i < SV_MAX_PARTS && parts[i] != NULL; i++) {
            require(parts[i] > path && parts[i] < path + n_path);
            require(strchr(parts[i], '/') == NULL && strlen(parts[i]) <= n_path);
        }
        require((strcmp(route->action, "receipt") != 0 || strcmp(parts[1], "verify") != 0) ||
                strcmp(method, "POST") != 0);
        break;
    case SV_NO_METHOD: require(allowed[0] != 0); break;
    case SV_NO_PATH: break;
    }
}

static bool begins_with(const char *host, const char *name) {
    const size_t n = strlen(name);
    return strncasecmp(host, name, n) == 0 && (host[n] == 0 || host[n] == ':');
}

static void check_host(const char *host) {
    char name[] = "efface.example", *names[] = {name};
    if (!sv_host_ok(host, "10.0.0.7:8741", 8741, names, 1))
        return;
    const char *const port = strrchr(host, ':');
    const bool with_port = port != NULL && strcmp(port, ":8741") == 0;
    require(begins_with(host, name) ||
            (with_port && (begins_with(host, "localhost") || begins_with(host, "127.0.0.1") ||
                           begins_with(host, "[::1]") || begins_with(host, "10.0.0.7"))));
}

static void check_roles(const char *text) {
    char words[32];
    const unsigned roles = sv_roles_from(text);
    require((roles & ~(unsigned)SV_ANY_ROLE) == 0);
    sv_roles_to(roles, words);
    require(roles == 0 || sv_roles_from(words) == roles);
}

static void check_expiry(const char *text) {
    const int64_t now = 1800000000;
    int64_t time = 0, again = 0;
    char written[32];
    if (!sv_expiry_read(text, now, &time))
        return;
    require(time > 0 && time <= INT64_C(253402300799));
    sv_time_write(time, written);
    require(sv_expiry_read(written, now, &again) && again == time);
}

static void read_tokens(const unsigned char *bytes, size_t n_bytes) {
    sv_token_list list;
    FILE *const file = n_bytes != 0 ? fmemopen((void *)(uintptr_t)bytes, n_bytes, "r") : NULL;
    if (file == NULL)
        return;
    if (sv_token_list_read(file, &list)) {
        for (size_t i = 0; i < list.n_tokens; i++) {
            const sv_caller *const caller = &list.tokens[i].caller;
            require(sv_token_name_ok(caller->name) && caller->roles != 0 && caller->expires >= 0);
            require(strchr(list.tokens[i].line, '\n') == NULL);
        }
        sv_token_list_free(&list);
    }
    (void)fclose(file);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    char *lines[6];
    for (size_t i = 0; i < 6; i++)
        lines[i] = take_line(&bytes, &n_bytes);
    if (lines[0][0] != 0)
        find_route(lines[0], lines[1]);
    check_host(lines[2]);
    check_roles(lines[3]);
    check_expiry(lines[4]);
    require(!sv_token_name_ok(lines[5]) || strlen(lines[5]) < SV_TOKEN_NAME_BYTES);
    read_tokens(bytes, n_bytes);
    for (size_t i = 0; i < 6; i++)
        free(lines[i]);
    return 0;
}
