/* Which handler a path belongs to. */
#include "http/server.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX in place; false for what is not such a code, and for a zero byte or a slash, which
 * would be another path. */
static bool decode_part(char *text) {
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        const int high = hex_digit(from[1]), low = high >= 0 ? hex_digit(from[2]) : -1;
        if (low < 0)
            return false;
        const char c = (char)(high * 16 + low);
        if (c == 0 || c == '/')
            return false;
        *to++ = c;
        from += 2;
    }
    *to = 0;
    return true;
}

/* Whether a path has the form of a route. `begins` gets where the variable parts begin, and the
 * number of them is in *n_parts. */
static bool matches(const char *form, char *path, char *begins[SV_MAX_PARTS], size_t *n_parts) {
    size_t n = 0;
    while (*form != 0) {
        if (*form != '{') {
            if (*form++ != *path++)
                return false;
            continue;
        }
        form = strchr(form, '}') + 1;
        begins[n++] = path;
        path += strcspn(path, "/");
        if (path == begins[n - 1])
            return false;
    }
    *n_parts = n;
    return *path == 0;
}

/* The smallest number of variable parts of a form that the path has: /receipts/verify is not a
 * receipt named verify. SV_MAX_PARTS + 1 if it has none. */
static size_t fewest_parts(const sv_route *routes, char *path) {
    char *begins[SV_MAX_PARTS];
    size_t fewest = SV_MAX_PARTS + 1, n;
    for (const sv_route *r = routes; r->method != NULL; r++)
        if (matches(r->path, path, begins, &n) && n < fewest)
            fewest = n;
    return fewest;
}

bool sv_route_is(const sv_route *route, const char *actions) {
    const size_t n = strlen(route->action);
    for (const char *word = actions; *word != 0; word += strspn(word, " ")) {
        const size_t n_word = strcspn(word, " ");
        if (n_word == n && memcmp(word, route->action, n) == 0)
            return true;
        word += n_word;
    }
    return false;
}

bool sv_route_names_store(const sv_route *route) {
    return strncmp(route->path, "/v1/stores/{store}", 18) == 0;
}

static bool same_method(const char *method, const sv_route *route) {
    return strcmp(method, route->method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

static void allow_method(char allowed[64], const char *method) {
    const size_t n = strlen(allowed);
    (void)snprintf(allowed + n, 64 - n, "%s%s", n != 0 ? ", " : "", method);
}

sv_routing sv_route_find(const sv_route *routes, const char *method, char *path,
                         const sv_route **route, const char *parts[SV_MAX_PARTS],
                         char allowed[64]) {
    char *begins[SV_MAX_PARTS];
    sv_routing routing = SV_NO_PATH;
    const size_t n_parts = fewest_parts(routes, path);
    size_t n;
    allowed[0] = 0;
    for (const sv_route *r = routes; r->method != NULL; r++) {
        memset(begins, 0, sizeof begins);
        if (!matches(r->path, path, begins, &n) || n != n_parts)
            continue;
        routing = SV_NO_METHOD;
        allow_method(allowed, r->method);
        if (!same_method(method, r))
            continue;
        for (size_t i = 0; i < SV_MAX_PARTS && begins[i] != NULL; i++) {
            char *const end = begins[i] + strcspn(begins[i], "/");
            *end = 0;
            if (!decode_part(begins[i]))
                return SV_NO_PATH;
        }
        for (size_t i = 0; i < SV_MAX_PARTS; i++)
            parts[i] = begins[i];
        *route = r;
        return SV_ROUTED;
    }
    return routing;
}
