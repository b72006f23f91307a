/* Reading key files. */
#include "command/key_files.h"

#include "command/saying.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KEY_BYTES 64

/* Lower-case digits and the end of a line, of which there may be none. */
static bool from_hex(const char *text, size_t n_text, unsigned char *key, size_t n_bytes) {
    return n_text >= 2 * n_bytes && strspn(text, "0123456789abcdef") == 2 * n_bytes &&
           strspn(text + 2 * n_bytes, "\r\n") == n_text - 2 * n_bytes &&
           sodium_hex2bin(key, n_bytes, text, 2 * n_bytes, NULL, NULL, NULL) == 0;
}

bool sv_read_key(const char *path, const char *kind, unsigned char *key, size_t n_bytes,
                 int *code) {
    char text[2 * MAX_KEY_BYTES + 4] = "";
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        *code = errno == ENOENT
                    ? sv_not_found("there is no file '%s'; efface receipt keys makes keys", path)
                    : sv_failed("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    const ssize_t n = read(file, text, sizeof text - 1);
    if (fstat(file, &about) == 0 && (about.st_mode & 077) != 0)
        sv_warn("other users can read the %s key %s; run chmod 600 on it", kind, path);
    (void)close(file);
    const bool good = n > 0 && from_hex(text, (size_t)n, key, n_bytes);
    sodium_memzero(text, sizeof text);
    if (!good)
        *code = sv_failed("%s is not a %s key; efface receipt keys makes keys", path, kind);
    return good;
}
