/*
 * Runs a fuzz target on the files of a corpus without libFuzzer, so that what fuzzing once found
 * stays found: in every build, by any compiler.
 *
 *     fuzz_NAME FOLDER
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n_bytes);

/* Memory of just the right size, so that a sanitizer sees a read beyond it. */
static int replay(const char *path) {
    FILE *const file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return -1;
    const long size = ftell(file);
    rewind(file);
    unsigned char *const bytes = malloc(size > 0 ? (size_t)size : 1);
    const int whole =
        size >= 0 && bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size;
    fclose(file);
    if (whole)
        LLVMFuzzerTestOneInput(bytes, (size_t)size);
    free(bytes);
    return whole ? 0 : -1;
}

int main(int n_arguments, char **arguments) {
    DIR *const folder = n_arguments == 2 ? opendir(arguments[1]) : NULL;
    if (folder == NULL) {
        fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
        return 2;
    }
    unsigned n_files = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", arguments[1], entry->d_name);
        printf("%s\n", path);
        fflush(stdout); /* the last line names the file, should the target end the process */
        if (replay(path) != 0) {
            fprintf(stderr, "cannot read %s\n", path);
            return 1;
        }
        n_files++;
    }
    closedir(folder);
    printf("%u files\n", n_files);
    return n_files > 0 ? 0 : 1;
}
