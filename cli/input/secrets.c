/* Random numbers, and the files of keys. Nothing here is ever printed. */
#include "input/secrets.h"

#include "output/escape.h"
#include "output/messages.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_random(void *bytes, size_t n_bytes) {
    unsigned char *const out = bytes;
    size_t done = 0;
    while (done < n_bytes) {
        const ssize_t n = getrandom(out + done, n_bytes - done, 0);
        if (n < 0 && errno != EINTR)
            return cli_failed("the system gives no random numbers: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
    }
    return CLI_DONE;
}

int cli_shared_random(void *bytes, size_t n_bytes) {
    int code = cli_is_first() ? cli_random(bytes, n_bytes) : CLI_DONE;
    CLI_THEN(code, cli_share(bytes, n_bytes));
    return code;
}

void cli_wipe(void *bytes, size_t n_bytes) {
    explicit_bzero(bytes, n_bytes);
}

static size_t bytes_of(cli_key kind) {
    switch (kind) {
    case CLI_SECRET_KEY: return EFFACE_SECRET_KEY_BYTES;
    case CLI_PUBLIC_KEY: return EFFACE_PUBLIC_KEY_BYTES;
    case CLI_RECEIPT_KEY: break;
    }
    return EFFACE_RECEIPT_KEY_BYTES;
}

static const char *key_name(cli_key kind) {
    static const char *const names[] = {"secret", "public", "receipt"};
    return names[kind];
}

static int write_new_file(const char *path, mode_t mode, const char *text, size_t n_bytes) {
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0 && errno == EEXIST)
        return cli_failed("%s exists already, and keys are not overwritten; choose another name",
                          path);
    bool ok = file >= 0 && write(file, text, n_bytes) == (ssize_t)n_bytes && fsync(file) == 0;
    ok = file >= 0 && close(file) == 0 && ok;
    if (ok)
        return CLI_DONE;
    const int code = cli_failed("cannot write %s: %s", path, strerror(errno));
    if (file >= 0)
        (void)unlink(path);
    return code;
}

int cli_write_key(const char *path, cli_key kind, const unsigned char *key) {
    const size_t n_bytes = bytes_of(kind);
    char text[2 * EFFACE_SECRET_KEY_BYTES + 2];
    cli_hex(key, n_bytes, text);
    text[2 * n_bytes] = '\n';
    const int code =
        write_new_file(path, kind == CLI_PUBLIC_KEY ? 0644 : 0600, text, 2 * n_bytes + 1);
    cli_wipe(text, sizeof text);
    return code;
}

bool cli_from_hex(const char *text, size_t n_text, unsigned char *key, size_t n_bytes) {
    static const char digits[] = "0123456789abcdef";
    if (n_text < 2 * n_bytes || strspn(text, digits) < 2 * n_bytes ||
        strspn(text + 2 * n_bytes, "\r\n") != n_text - 2 * n_bytes)
        return false;
    for (size_t i = 0; i < n_bytes; i++)
        key[i] = (unsigned char)(16 * (strchr(digits, text[2 * i]) - digits) +
                                 (strchr(digits, text[2 * i + 1]) - digits));
    return true;
}

int cli_read_key(const char *path, cli_key kind, unsigned char *key) {
    char text[2 * EFFACE_SECRET_KEY_BYTES + 4] = "";
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT
                   ? cli_not_found("there is no file '%s'; efface receipt keys makes keys", path)
                   : cli_failed("cannot read %s: %s", path, strerror(errno));
    const ssize_t n = read(file, text, sizeof text - 1);
    if (kind != CLI_PUBLIC_KEY && fstat(file, &about) == 0 && (about.st_mode & 077) != 0)
        cli_warn("other users can read the %s key %s; run chmod 600 on it", key_name(kind), path);
    (void)close(file);
    const bool ok = n > 0 && cli_from_hex(text, (size_t)n, key, bytes_of(kind));
    cli_wipe(text, sizeof text);
    return ok ? CLI_DONE
              : cli_failed("%s is not a %s key; efface receipt keys makes keys", path,
                           key_name(kind));
}
