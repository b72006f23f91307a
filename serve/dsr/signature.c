/* Replies of OpenDSR, with their headers. */
#include "dsr/dsr.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

const char *sv_dsr_host(const sv_request *request) {
    const char *const host = request->host;
    return host != NULL && host[0] != 0 ? host : request->service->options->listen;
}

/* The host without its port. */
static void add_domain(sv_request *request) {
    char domain[160];
    const char *const host = sv_dsr_host(request);
    const char *const bracket = strrchr(host, ']');
    const char *const port = strrchr(bracket != NULL ? bracket : host, ':');
    const size_t n = port != NULL ? (size_t)(port - host) : strlen(host);
    (void)snprintf(domain, sizeof domain, "%.*s", (int)(n < sizeof domain ? n : sizeof domain - 1),
                   host);
    sv_reply_header(request, "X-OpenDSR-Processor-Domain", domain);
}

/* Ed25519 over the SHA-256 digest of the body. */
static void add_signature(sv_request *request, const unsigned char *secret_key) {
    unsigned char digest[crypto_hash_sha256_BYTES], signature[crypto_sign_BYTES];
    char text[sodium_base64_ENCODED_LEN(crypto_sign_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    const sv_reply *const reply = &request->reply;
    (void)crypto_hash_sha256(digest, (const unsigned char *)reply->body, reply->n_body);
    (void)crypto_sign_detached(signature, NULL, digest, sizeof digest, secret_key);
    (void)sodium_bin2base64(text, sizeof text, signature, sizeof signature,
                            sodium_base64_VARIANT_ORIGINAL);
    sv_reply_header(request, "X-OpenDSR-Signature", text);
}

sv_when sv_dsr_reply(sv_request *request, int status, json_t *json) {
    sv_reply_json(request, status, json);
    if (request->reply.body == NULL)
        return SV_NOW; /* there was no memory */
    add_domain(request);
    if (request->service->secret_key != NULL)
        add_signature(request, request->service->secret_key);
    return SV_NOW;
}
