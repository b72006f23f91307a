/* Whether the Host header of a request names this service. A page of another host that a browser
 * was led to, or a name that was made to point here, has another one. */
#ifndef SV_HOSTS_H
#define SV_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `listen` is the address that was asked for, such as "127.0.0.1:8741"; `port` the one there is.
 * Right are: that address, localhost, 127.0.0.1 and [::1], each with the port (or without, if it is
 * 80); and further names with any port or none. */
bool sv_host_ok(const char *host, const char *listen, uint16_t port, char *const *names,
                size_t n_names);

#endif
