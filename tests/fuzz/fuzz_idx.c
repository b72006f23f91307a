/* Any bytes as an IDX file, as rows and as labels. Bytes that begin otherwise get its zeros. */
#include "fuzz_load.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    const bool gzipped = n_bytes >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
    unsigned char *const file = malloc(n_bytes + 1);
    if (file == NULL)
        return 0;
    memcpy(file, bytes, n_bytes);
    if (!gzipped && n_bytes >= 2)
        memset(file, 0, 2);
    load_twice(file, n_bytes, NULL);
    load_labels_checked(file, n_bytes);
    free(file);
    return 0;
}
