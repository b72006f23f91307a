/* Checking the Host header (hosts.h). */
#include "access/hosts.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* How long the name is that "name", "name:port" or "[address]:port" begins with; 0 if it is none of
 * these. `port` gets the text of the port, "" if there is none. */
static size_t divide_host(const char *host, const char **port) {
    size_t n;
    if (host[0] == '[') {
        n = strcspn(host, "]");
        if (host[n] != ']')
            return 0;
        n++;
    } else {
        n = strcspn(host, ":");
    }
    if (host[n] == ':') {
        *port = host + n + 1;
        const size_t n_digits = strspn(*port, "0123456789");
        return n_digits > 0 && n_digits <= 5 && (*port)[n_digits] == 0 ? n : 0;
    }
    *port = "";
    return host[n] == 0 ? n : 0;
}

static bool same_name(const char *a, size_t n_a, const char *b, size_t n_b) {
    return n_a == n_b && strncasecmp(a, b, n_a) == 0;
}

bool sv_host_ok(const char *host, const char *listen, uint16_t port, char *const *names,
                size_t n_names) {
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *given, *unused;
    const size_t n = divide_host(host, &given);
    if (n == 0)
        return false;
    for (size_t i = 0; i < n_names; i++)
        if (same_name(host, n, names[i], strlen(names[i])))
            return true;
    char expected[8];
    (void)snprintf(expected, sizeof expected, "%u", (unsigned)port);
    if (strcmp(given, expected) != 0 && !(given[0] == 0 && port == 80))
        return false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (same_name(host, n, own[i], strlen(own[i])))
            return true;
    return same_name(host, n, listen, divide_host(listen, &unused));
}
