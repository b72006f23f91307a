/* Any bytes as an .npy file, as rows, with missing values or not, and as labels. Bytes that begin
 * otherwise get its magic. */
#include "fuzz_load.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes) {
    const bool gzipped = n_bytes >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
    unsigned char *const file = malloc(n_bytes + 1);
    if (file == NULL)
        return 0;
    memcpy(file, bytes, n_bytes);
    if (!gzipped && n_bytes >= 6)
        memcpy(file, "\x93NUMPY", 6);
    load_twice(file, n_bytes, NULL);
    efface_load_options options;
    efface_load_options_init(&options);
    options.missing = 1;
    load_twice(file, n_bytes, &options);
    load_labels_checked(file, n_bytes);
    free(file);
    return 0;
}
