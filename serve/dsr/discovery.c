/* What this processor can do, and the key of its signatures. */
#include "dsr/dsr.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The address of the key as the caller sees this service; null if nothing is signed. */
static json_t *address_of_key(const sv_request *request) {
    if (request->service->secret_key == NULL)
        return json_null();
    return json_sprintf("%s://%s/opendsr/v2/certificate",
                        request->service->options->behind_tls ? "https" : "http",
                        sv_dsr_host(request));
}

sv_when sv_dsr_discover(sv_request *request) {
    return sv_dsr_reply(request, 200,
                        json_pack("{s:s,s:[{s:s,s:s}],s:[s],s:o}", "api_version", "2.0",
                                  "supported_identities", "identity_type", "controller_customer_id",
                                  "identity_format", "raw", "supported_subject_request_types",
                                  "erasure", "processor_certificate", address_of_key(request)));
}

/* The public key as SubjectPublicKeyInfo (RFC 8410) in PEM. */
sv_when sv_dsr_get_certificate(sv_request *request) {
    static const unsigned char head[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                         0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
    unsigned char info[sizeof head + crypto_sign_PUBLICKEYBYTES];
    char base64[sodium_base64_ENCODED_LEN(sizeof info, sodium_base64_VARIANT_ORIGINAL)];
    const size_t n_max = 160;
    const unsigned char *const secret_key = request->service->secret_key;
    if (secret_key == NULL)
        return sv_refuse(request, 404, "no_key", "replies are not signed here; see --sign");
    memcpy(info, head, sizeof head);
    (void)crypto_sign_ed25519_sk_to_pk(info + sizeof head, secret_key);
    (void)sodium_bin2base64(base64, sizeof base64, info, sizeof info,
                            sodium_base64_VARIANT_ORIGINAL);
    char *const pem = malloc(n_max);
    if (pem == NULL)
        return sv_refuse_memory(request);
    const int n =
        snprintf(pem, n_max, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", base64);
    return sv_reply_text(request, 200, "application/x-pem-file", pem, (size_t)n);
}
