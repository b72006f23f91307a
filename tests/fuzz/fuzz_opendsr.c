/*
 * Any bytes as the body of an OpenDSR request, from the bytes to the signed reply. Where the
 * register would take a request, what it must be able to rely on is checked. The first byte says
 * what the register answers.
 */
#include "dsr/register.h"
#include "fuzz_load.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

static unsigned char choice;
static sv_dsr_entry *taken;

/* ---------------------------------------------------------------- what stands for the register */

void sv_dsr_entry_free(sv_dsr_entry *entry) {
    if (entry == NULL)
        return;
    for (size_t i = 0; i < entry->n_people; i++)
        free(entry->people[i]);
    free(entry->people);
    free(entry);
}

sv_dsr_adding sv_dsr_add(sv_dsr *dsr, sv_dsr_entry **entry, const char *token, const void *body,
                         size_t n_body) {
    (void)dsr;
    (void)token;
    (void)body;
    require(n_body != 0);
    require(strlen((*entry)->id) == 36 && (*entry)->id[14] == '4');
    require(strspn((*entry)->id, "0123456789abcdef-") == 36);
    require((*entry)->n_people >= 1 && (*entry)->n_people <= 100);
    for (size_t i = 0; i < (*entry)->n_people; i++) {
        const size_t n = strlen((*entry)->people[i]);
        require(n >= 1 && n <= 1024);
    }
    require((*entry)->received < (*entry)->expected && (*entry)->ended == 0);
    taken = *entry;
    switch (choice % 5) {
    case 0: return SV_DSR_NEW;
    case 1: return SV_DSR_SAME;
    case 2: return SV_DSR_OTHER;
    case 3: return SV_DSR_FAILED;
    default: return SV_DSR_DISK_FULL;
    }
}

/* ---------------------------------------------------------------- requests */

static void check_reply(const sv_request *request) {
    const sv_reply *const reply = &request->reply;
    require(reply->body != NULL && reply->n_body != 0);
    json_t *const json = json_loadb(reply->body, reply->n_body, 0, NULL);
    require(json_is_object(json));
    const json_t *const error = json_object_get(json, "error");
    require((reply->status == 201) == (error == NULL));
    require(error == NULL || json_integer_value(json_object_get(error, "code")) == reply->status);
    require((reply->status == 201) == (taken != NULL && choice % 5 < 2));
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    static const unsigned char key[EFFACE_SECRET_KEY_BYTES] = {1};
    static const sv_options options = {.listen = "127.0.0.1:0"};
    static const sv_route route = {.method = "POST", .path = "/opendsr/v2/requests"};
    sv_service service = {.options = &options, .secret_key = key};
    if (n_bytes == 0)
        return 0;
    choice = bytes[0];
    taken = NULL;
    sv_request request = {.service = &service,
                          .route = &route,
                          .content_type = "application/json",
                          .host = (choice & 128) != 0 ? "[::1]:8741" : "",
                          .caller = {.name = "fuzz"},
                          .n_body = n_bytes - 1};
    request.body = malloc(n_bytes);
    require(request.body != NULL);
    memcpy(request.body, bytes + 1, n_bytes - 1);
    request.body[n_bytes - 1] = 0;
    require(sv_dsr_create(&request) == SV_NOW);
    check_reply(&request);
    sv_dsr_entry_free(taken);
    free(request.reply.body);
    free(request.body);
    return 0;
}
